/* From a planned function to places and steps. */
#include "plan.h"

#include <inttypes.h>

#include <baton/op.h>

typedef bt_vec(struct place) place_list;

/* ---- places ---- */

static bt_status refuse(const struct plan *p, const bt_value *value, const char *what)
{
    return bt_fail_at(p->ctx, BT_ERR_UNSUPPORTED, value->type->store, value->span,
                      "aot: %s", what);
}

bt_status plan_const(void *self, const bt_tensor *tensor, const void **out)
{
    struct plan *p = self;
    struct place *place = BT_NEW(p->arena, struct place);
    if (!place)
        return bt_no_memory();
    place->kind = PLACE_CONST;
    while (place->index < p->consts.len && p->consts.at[place->index] != tensor)
        place->index++;
    if (place->index == p->consts.len && !BT_PUSH(p->arena, &p->consts, tensor))
        return bt_no_memory();
    *out = place;
    return NULL;
}

static bt_status append(struct plan *p, const bt_value *value, place_list *list)
{
    const bt_leaves *leaves;
    BT_TRY(bt_leaves_find(&p->leaves, value, &leaves));
    for (uint32_t i = 0; i < leaves->n; i++) {
        if (!BT_PUSH(p->arena, list, *(const struct place *)leaves->at[i]))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- parameters and results ---- */

/* The leaves of a type, from *n on, named after what they are of. Recursion is bounded by
 * the depth of types. */
static bt_status add_leaves(struct plan *p, const bt_value *of, const bt_type *type,
                            const char *name, struct leaf *all, uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple) {
        if (!bt_tensor_shape(type) || !bt_tensor_dtype(type))
            return refuse(p, of, "an argument or a result is no tensor of known rank");
        all[*n] = (struct leaf){ .name = plan_word(p, name), .type = type };
        return all[(*n)++].name ? NULL : bt_no_memory();
    }
    for (uint32_t i = 0; i < tuple->n; i++) {
        bt_text field;
        bt_text_init(&field, p->arena);
        bt_text_addf(&field, "%s_%" PRIu32, name, i);
        if (!bt_text_get(&field))
            return bt_no_memory();
        BT_TRY(add_leaves(p, of, tuple->at[i], field.at, all, n));
    }
    return NULL;
}

static bt_status read_params(struct plan *p, const bt_block *block)
{
    uint32_t nleaf = 0;
    for (uint32_t i = 0; i < block->nparam; i++)
        nleaf += bt_type_nleaf(block->params[i]->base.type);
    p->args = BT_NEWS(p->arena, struct leaf, nleaf);
    if (!p->args)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        const uint32_t first = p->narg;
        BT_TRY(add_leaves(p, param, param->type, param->name ? param->name : "input",
                          p->args, &p->narg));
        struct place *at = BT_NEWS(p->arena, struct place, p->narg - first);
        if (!at)
            return bt_no_memory();
        for (uint32_t k = first; k < p->narg; k++)
            at[k - first] = (struct place){ .kind = PLACE_ARG, .index = k };
        BT_TRY(bt_leaves_set(&p->leaves, param, p->narg - first, at, sizeof(*at)));
    }
    return NULL;
}

static bt_status read_results(struct plan *p, const bt_func *func)
{
    const bt_list_type *fields = bt_as_tuple_type(func->result);
    p->results = BT_NEWS(p->arena, struct leaf, bt_type_nleaf(func->result));
    if (!p->results)
        return bt_no_memory();
    for (uint32_t i = 0; i < (fields ? fields->n : 1); i++) {
        const char *name = bt_output_name(p->arena, p->entry->func, i);
        if (!name)
            return bt_no_memory();
        BT_TRY(add_leaves(p, func->block->result, fields ? fields->at[i] : func->result,
                          name, p->results, &p->nresult));
    }
    return NULL;
}

static bt_status read_values(struct plan *p, const bt_func *func)
{
    const bt_block *block = func->block;
    p->args = BT_NEWS(p->arena, struct leaf, block->nparam);
    p->results = BT_NEWS(p->arena, struct leaf, 1);
    if (!p->args || !p->results)
        return bt_no_memory();
    for (; p->narg < block->nparam; p->narg++) {
        const bt_value *param = &block->params[p->narg]->base;
        p->args[p->narg] =
            (struct leaf){ .name = plan_word(p, param->name ? param->name : "input"),
                           .type = param->type };
        if (!p->args[p->narg].name)
            return bt_no_memory();
    }
    const char *name =
        bt_as_tuple_type(func->result) ? "output" : bt_output_name(p->arena, func, 0);
    p->results[p->nresult++] =
        (struct leaf){ .name = name ? plan_word(p, name) : NULL, .type = func->result };
    return p->results->name ? NULL : bt_no_memory();
}

/* A result that has a block for itself is computed where the caller finds it. */
static bt_status place_results(struct plan *p, const bt_func *func)
{
    const bt_leaves *leaves;
    BT_TRY(bt_leaves_find(&p->leaves, func->block->result, &leaves));
    for (uint32_t i = 0; i < p->nresult; i++) {
        struct place *place = &p->results[i].place;
        *place = *(const struct place *)leaves->at[i];
        struct block *block =
            place->kind == PLACE_BLOCK ? &p->blocks.at[place->index] : NULL;
        if (block && block->ntensor == 1 && !place->offset && !block->result)
            block->result = i + 1;
    }
    return NULL;
}

/* ---- bindings ---- */

static bt_status read_storage(struct plan *p, const bt_call *call)
{
    const char *const *space =
        bt_attr_find(call->op, call->attrs, "space", BT_ATTR_STRING);
    const struct block block = { .nbytes = bt_call_dim(call, "size") };
    if (space && **space)
        return refuse(p, &call->base, "storage in a target's own memory");
    if (!block.nbytes)
        return bt_store_why(p->ctx, call->base.type->store);
    return BT_PUSH(p->arena, &p->blocks, block) &&
                   bt_map_put(&p->storages, call, (void *)(uintptr_t)p->blocks.len)
               ? NULL
               : bt_no_memory();
}

static bt_status read_tensor(struct plan *p, const bt_call *call)
{
    const uintptr_t number = (uintptr_t)bt_map_find(&p->storages, call->args[0]);
    struct place *place = BT_NEW(p->arena, struct place);
    int64_t offset;
    if (!place)
        return bt_no_memory();
    if (!number)
        return refuse(p, &call->base, "a tensor without storage of its own");
    p->blocks.at[number - 1].ntensor++;
    *place =
        (struct place){ PLACE_BLOCK, (uint32_t)number - 1, bt_call_dim(call, "offset") };
    if (!place->offset)
        return bt_store_why(p->ctx, call->base.type->store);
    if (bt_dim_is_const(place->offset, &offset) && offset == 0)
        place->offset = NULL;
    return bt_leaves_set(&p->leaves, &call->base, 1, place, sizeof(*place));
}

static bt_status read_invoke(struct plan *p, const bt_call *call)
{
    const char *name = bt_invoke_kernel(&call->base);
    const bt_shape_type *dims = bt_invoke_dims(call);
    struct step step = { .kind = STEP_INVOKE, .span = call->base.span };
    place_list buffers = { 0 };
    if (bt_invoke_is_done(call))
        return NULL;
    step.kernel = bt_compiled_find_kernel(p->compiled, name);
    if (step.kernel == p->compiled->nkernel)
        return bt_fail(p->ctx, BT_ERR_NAME, "aot: the code has no kernel %s", name);
    if (dims) {
        step.ndim = dims->n;
        step.dims = dims->dims;
    }
    BT_TRY(append(p, call->args[0], &buffers));
    BT_TRY(append(p, call->args[1], &buffers));
    if (call->narg > 2) {
        const bt_leaves *workspace;
        BT_TRY(bt_leaves_find(&p->leaves, call->args[2], &workspace));
        step.workspace = workspace->at[0];
    }
    step.nbuffer = buffers.len;
    step.buffers = buffers.at;
    return BT_PUSH(p->arena, &p->steps, step) ? NULL : bt_no_memory();
}

static bt_status read_copy(struct plan *p, const bt_call *call)
{
    place_list buffers = { 0 };
    for (uint32_t i = 0; i < 2; i++)
        BT_TRY(append(p, call->args[i], &buffers));
    const struct step step = { .kind = STEP_COPY,
                               .nbuffer = 2,
                               .buffers = buffers.at,
                               .nbytes = bt_tensor_size(call->args[0]->type) };
    if (!step.nbytes)
        return bt_store_why(p->ctx, call->base.type->store);
    return BT_PUSH(p->arena, &p->steps, step) ? NULL : bt_no_memory();
}

static bt_status read_binding(struct plan *p, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    int done;
    BT_TRY(bt_leaves_follow(&p->leaves, value, &done));
    if (done)
        return NULL;
    if (bt_as_op_call(value, "memory.alloc_storage"))
        return read_storage(p, call);
    if (bt_as_op_call(value, "memory.alloc_tensor"))
        return read_tensor(p, call);
    if (bt_as_op_call(value, "memory.invoke"))
        return read_invoke(p, call);
    if (bt_as_op_call(value, "memory.copy"))
        return read_copy(p, call);
    if (bt_as_op_call(value, "memory.check")) {
        struct step step = { .kind = STEP_CHECK, .span = value->span };
        bt_check_read(call->op, call->attrs, &step.check, &step.of); // it is verified
        return BT_PUSH(p->arena, &p->steps, step) ? NULL : bt_no_memory();
    }
    return bt_as_op_call(value, "memory.kill")
               ? NULL
               : refuse(p, value,
                        "no C is written for this yet; executor interp runs it");
}

/* Whether values of a type are arrays whose sizes the entry's dims give. Types nest to a
 * bounded depth. */
static int is_arrays(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    int is = tuple || (shape && !shape->rest && bt_tensor_dtype(type) &&
                       !(type->has & BT_HAS_OPAQUE));
    for (uint32_t i = 0; is && tuple && i < tuple->n; i++)
        is = is_arrays(tuple->at[i]);
    return is;
}

static int has_arrays(const bt_func *func)
{
    int has = is_arrays(func->result);
    for (uint32_t i = 0; has && i < func->block->nparam; i++)
        has = is_arrays(func->block->params[i]->base.type);
    return has;
}

int plan_is_chain(const struct plan *p)
{
    const bt_block *block = p->entry->func->block;
    int is = has_arrays(p->entry->func);
    for (uint32_t i = 0; is && i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        is = value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ ||
             (bt_value_is_memory_call(value) && !bt_as_op_call(value, "memory.own"));
    }
    return is;
}

/* Whether values of a type are functions, or tuples and references that hold any. */
static int has_function(const bt_type *type)
{
    const bt_list_type *list =
        bt_as_tuple_type(type) ? bt_as_tuple_type(type) : bt_as_ref_type(type);
    int has = bt_as_func_type(type) != NULL;
    for (uint32_t i = 0; !has && list && i < list->n; i++)
        has = has_function(list->at[i]);
    return has;
}

static bt_status refuse_functions(struct plan *p, const bt_func *func)
{
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        const bt_value *param = &func->block->params[i]->base;
        if (has_function(param->type))
            return refuse(p, param,
                          "the entry takes a function, or what holds one: C "
                          "outside of the program cannot make it");
    }
    return has_function(func->result)
               ? refuse(p, func->block->result,
                        "the entry gives a function, or what holds one: C outside of the "
                        "program cannot call it")
               : NULL;
}

bt_status plan_read_interface(struct plan *p)
{
    const bt_func *func = p->entry->func;
    BT_TRY(refuse_functions(p, func));
    p->dims = BT_NEWS(p->arena, const char *, func->nvar);
    if (!p->dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_var_type *var = bt_as_var_type(func->vars[i]);
        p->dims[i] = plan_word(p, var->name ? var->name : "n");
        if (!p->dims[i])
            return bt_no_memory();
    }
    p->names = (struct c_dim_names){ func->nvar, func->vars, p->dims };
    p->has_values = !has_arrays(func);
    if (p->has_values)
        return read_values(p, func);
    BT_TRY(read_params(p, func->block));
    return read_results(p, func);
}

bt_status plan_read(struct plan *p)
{
    const bt_func *func = p->entry->func;
    for (uint32_t i = 0; i < func->block->nbinding; i++)
        BT_TRY(read_binding(p, func->block->bindings[i]));
    return place_results(p, func);
}

bt_status plan_dim_text(struct plan *p, const bt_type *dim, bt_text *out)
{
    bt_status status = c_dim_text(p->ctx, &p->names, dim, out);
    if (!status || status->code != BT_ERR_UNSUPPORTED)
        return status;
    return bt_fail_at(p->ctx, BT_ERR_UNSUPPORTED, dim->store, p->entry->func->span,
                      "aot: @%s has a size that depends on elements, of which no C is "
                      "written; executors vm and interp run it",
                      p->entry->name);
}
