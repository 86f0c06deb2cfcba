/*
 * Lowering: a function of primitive calls becomes one of storage and kernels.
 *
 *     %y = @fused_dense_relu(%x, %w);     %s = memory.alloc_storage(size=240);
 *                                         %y = memory.alloc_tensor(%s, ...);
 *                                         memory.invoke((%x, %w), (%y,), kernel=...);
 *
 * Every buffer has storage of its own; to share it is the planner's work.
 */
#include <inttypes.h>

#include <baton/op.h>

#include "compile/lower/lowerer.h"
#include "ir/dim.h"

bt_status bt__lower_refuse(struct bt__lowerer *l, const bt_value *value, const char *why)
{
    bt_text text;
    bt_text_init(&text, l->arena);
    bt_print_operand(value, &text);
    const char *name = bt_text_get(&text);
    return name ? bt_fail_at(l->ctx, BT_ERR_UNSUPPORTED, l->module->store, value->span,
                             "%s %s: executor interp runs it", name, why)
                : bt_no_memory();
}

/* ---- buffers ---- */

/* Names of targets may have quotes. */
static void add_space(const struct bt__lowerer *l, bt_text *out)
{
    const bt_target_use *use = l->kernels->targets[l->space - 1];
    const char *text = use->text;
    if (use->space->align > 64) // the attribute's default
        bt_text_addf(out, ", alignment=%" PRIu64, use->space->align);
    bt_text_addf(out, ", space=\"");
    for (; *text; text++)
        bt_text_addf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    bt_text_addf(out, "\"");
}

/* Attributes of an operator: those of the text, and one that is a dim or a shape. */
bt_status bt__lower_set_term(struct bt__lowerer *l, const bt_op *op, const char *text,
                             const char *name, const bt_type *term, const void **out)
{
    BT_TRY(bt_attrs_parse(l->ctx, l->module->store, op, text, out));
    const bt_call call = { .op = op, .attrs = *out };
    *out = bt_attrs_with(l->arena, &call, name, &term, sizeof(term));
    return *out ? NULL : bt_no_memory();
}

/* A call of an operator of memory on one operand, or on none. */
static bt_status build_memory(struct bt__lowerer *l, const char *name, const char *text,
                              const char *attr, const bt_type *term, const bt_value *of,
                              const bt_value **out)
{
    const bt_op *op;
    const void *attrs;
    BT_TRY(bt_op_get(l->ctx, name, &op));
    BT_TRY(bt__lower_set_term(l, op, text, attr, term, &attrs));
    return bt_build_op(l->b, op, attrs, of != NULL, &of, out);
}

static bt_status alloc(struct bt__lowerer *l, bt_dtype dtype, const bt_shape_type *shape,
                       const bt_value **out)
{
    char name[BT_DTYPE_NAME_SIZE];
    bt_text storage_attrs, attrs;
    const bt_value *storage;
    const bt_type *size = bt_dims_nbytes(l->module->store, dtype, shape->n, shape->dims);
    if (!size)
        return bt_store_why(l->ctx, l->module->store);
    bt_text_init(&storage_attrs, l->arena);
    bt_text_addf(&storage_attrs, "size=0");
    if (l->space)
        add_space(l, &storage_attrs);
    bt_text_init(&attrs, l->arena);
    bt_text_addf(&attrs, "shape=[], dtype=\"%s\"",
                 bt_dtype_name(dtype, name, sizeof(name)));
    if (!bt_text_get(&storage_attrs) || !bt_text_get(&attrs))
        return bt_no_memory();
    BT_TRY(build_memory(l, "memory.alloc_storage", bt_text_get(&storage_attrs), "size",
                        size, NULL, &storage));
    BT_TRY(build_memory(l, "memory.alloc_tensor", bt_text_get(&attrs), "shape",
                        &shape->base, storage, out));
    return bt_map_put(&l->spaces, *out, (void *)(uintptr_t)l->space) ? NULL
                                                                     : bt_no_memory();
}

/* So many bytes. */
bt_status bt__lower_alloc(struct bt__lowerer *l, const bt_type *size,
                          const bt_value **out)
{
    const bt_type *shape = size ? bt_type_shape(l->module->store, 1, &size) : NULL;
    return shape ? alloc(l, BT_UINT8, bt_as_shape_type(shape), out)
                 : bt_store_why(l->ctx, l->module->store);
}

/* ---- spaces ---- */

static uint32_t space_of(const struct bt__lowerer *l, const bt_value *value)
{
    return (uint32_t)(uintptr_t)bt_map_find(&l->spaces, bt__tensor_of(value));
}

/* Constants are in every space: the executor takes them there once. */
static int is_constant(const bt_value *value)
{
    while (value->kind == BT_VALUE_PROJ)
        value = bt_as_proj(value)->tuple;
    return value->kind == BT_VALUE_CONST;
}

static bt_status copy_to(struct bt__lowerer *l, const bt_value *value, uint32_t space,
                         const bt_value **out)
{
    const uint32_t before = l->space;
    const bt_shape_type *shape = bt_tensor_memory(value->type);
    const bt_value *done;
    if (!shape)
        return bt_store_why(l->ctx, l->module->store);
    l->space = space;
    bt_status status = alloc(l, bt_tensor_dtype(value->type), shape, out);
    l->space = before;
    BT_TRY(status);
    if (value->name)
        BT_TRY(bt_build_name(l->b, *out, value->name));
    const bt_value *both[] = { value, *out };
    BT_TRY(bt_build(l->b, "memory.copy", "", both, 2, &done));
    const struct bt__lower_copy copied = { space, value };
    return bt_map_put(&l->copies[space], value, (void *)(uintptr_t)*out) &&
                   BT_PUSH(l->arena, &l->copied, copied)
               ? NULL
               : bt_no_memory();
}

/* A tensor where it is needed; from one target to another by way of the host. */
static bt_status in_space(struct bt__lowerer *l, const bt_value *value, uint32_t space,
                          const bt_value **out)
{
    *out = value;
    if (space_of(l, value) == space || is_constant(bt__tensor_of(value)))
        return NULL;
    if (space && space_of(l, value))
        BT_TRY(in_space(l, value, 0, &value));
    *out = bt_map_find(&l->copies[space], value);
    return *out ? NULL : copy_to(l, value, space, out);
}

/* The same value with all tensors in the host's memory. Recursion is bounded by the depth
 * of types. */
bt_status bt__lower_on_host(struct bt__lowerer *l, const bt_value *value,
                            const bt_value **out)
{
    const bt_list_type *type = bt_as_tuple_type(value->type);
    const bt_tuple_value *tuple = bt_as_tuple(bt__tensor_of(value));
    if (!type)
        return in_space(l, value, 0, out);
    *out = value;
    if (!tuple)
        return NULL; // a parameter, a constant
    const bt_value **fields = BT_NEWS(l->arena, const bt_value *, tuple->nfield);
    int same = 1;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        BT_TRY(bt__lower_on_host(l, tuple->fields[i], &fields[i]));
        same &= fields[i] == tuple->fields[i];
    }
    return same ? NULL : bt_build_tuple(l->b, tuple->nfield, fields, out);
}

/* Tensors for the leaves of a type, and the value that they make up. owned: by leaf, what
 * it begins with where somebody else's tensor may become it; NULL: it begins empty. */
static bt_status alloc_leaves(struct bt__lowerer *l, const bt_type *type,
                              const bt_value *const *owned, bt__lower_values *leaves,
                              const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple) {
        const bt_shape_type *shape = bt_tensor_memory(type);
        if (!shape && bt_tensor_shape(type))
            return bt_store_why(l->ctx, type->store);
        if (!shape)
            return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                           "a primitive function gives what is no tensor of known rank");
        if (owned[leaves->len])
            BT_TRY(bt_build(l->b, "memory.own", "", &owned[leaves->len], 1, out));
        else
            BT_TRY(alloc(l, bt_tensor_dtype(type), shape, out));
        return BT_PUSH(l->arena, leaves, *out) ? NULL : bt_no_memory();
    }
    const bt_value **fields = BT_NEWS(l->arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(alloc_leaves(l, tuple->at[i], owned, leaves, &fields[i]));
    return bt_build_tuple(l->b, tuple->n, fields, out);
}

/* Tensors of an argument: fields of tuples are taken one by one. */
static bt_status take_leaves(struct bt__lowerer *l, const bt_value *value,
                             bt__lower_values *leaves)
{
    const bt_list_type *type = bt_as_tuple_type(value->type);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    if (!type)
        return BT_PUSH(l->arena, leaves, value) ? NULL : bt_no_memory();
    for (uint32_t i = 0; i < type->n; i++) {
        const bt_value *field = tuple ? tuple->fields[i] : NULL;
        if (!field)
            BT_TRY(bt_build_proj(l->b, value, i, &field));
        BT_TRY(take_leaves(l, field, leaves));
    }
    return NULL;
}

/* ---- bindings ---- */

const bt_value *bt__lower_now(const struct bt__lowerer *l, const bt_value *old)
{
    const bt_value *value = bt_map_find(&l->values, old);
    return value ? value : bt_module_constant(l->module, old);
}

/* Whether a value comes from elsewhere: somebody else may hold it, or nobody. */
static int is_foreign(const bt_value *value)
{
    value = bt__tensor_of(value);
    return value->kind != BT_VALUE_CONST && !bt_as_op_call(value, "memory.alloc_tensor");
}

/* Inputs of which a kernel keeps what it does not write, by the output that it does so in:
 * where nobody else holds such a tensor it need not be copied. */
static bt_status find_owned(struct bt__lowerer *l, const bt_lowering *lowering,
                            const struct bt__lower_buffers *all, uint32_t nout,
                            const bt_value ***out)
{
    const bt_value **owned = *out = BT_NEWS(l->arena, const bt_value *, nout);
    if (!owned)
        return bt_no_memory();
    for (uint32_t i = 0; l->has_control_flow && !l->space && i < lowering->nkernel; i++) {
        const bt_kernel *kernel = lowering->kernels[i];
        for (uint32_t k = 0; k < kernel->nalias; k++) {
            const bt_kernel_alias *alias = &kernel->aliases[k];
            const bt_kernel_buffer *from = &kernel->in[alias->in],
                                   *to = &kernel->out[alias->out];
            if (!alias->keeps || from->kind != BT_BUFFER_INPUT ||
                to->kind != BT_BUFFER_OUTPUT)
                continue;
            const bt_value *in = all->by_kind[BT_BUFFER_INPUT].at[from->index];
            if (is_foreign(in))
                owned[to->index] = in;
        }
    }
    return NULL;
}

/* ---- parts ---- */

/* One part of so many of what is laid together may be copied for it. */
enum { LITTLE = 4 };

/* Bytes of a part that is no tensor of this function; 0: it is one, or has no number of them. */
static int64_t foreign_nbytes(const bt_value *value)
{
    const bt_type *size = bt_tensor_size(value->type);
    int64_t nbytes;
    return !bt_as_op_call(bt__tensor_of(value), "memory.alloc_tensor") && size &&
                   bt_dim_is_const(size, &nbytes)
               ? nbytes
               : 0;
}

/* What is laid into the whole may be tensors of the function alone. A small part that is a constant or
 * an argument is copied to one, so that the others need not be. */
static bt_status copy_parts(struct bt__lowerer *l, const bt_call *call,
                            const struct bt__primitive *p, bt__lower_values *inputs)
{
    const bt_type *size = p->npart && !l->space ? bt_tensor_size(call->base.type) : NULL;
    int64_t all = 0, sum = 0;
    if (!size || !bt_dim_is_const(size, &all))
        return NULL;
    for (uint32_t i = 0; i < p->npart; i++)
        sum += foreign_nbytes(inputs->at[p->lowering.kernels[0]->in[p->parts[i]].index]);
    for (uint32_t i = 0; i < p->npart && sum <= all / LITTLE; i++) {
        const bt_value **part =
            &inputs->at[p->lowering.kernels[0]->in[p->parts[i]].index];
        const bt_shape_type *shape = bt_tensor_memory((*part)->type);
        const bt_value *own, *done;
        if (!foreign_nbytes(*part))
            continue;
        if (!shape)
            return bt_store_why(l->ctx, l->module->store);
        BT_TRY(alloc(l, bt_tensor_dtype((*part)->type), shape, &own));
        const bt_value *both[] = { *part, own };
        BT_TRY(bt_build(l->b, "memory.copy", "", both, 2, &done));
        *part = own;
    }
    return NULL;
}

/* ---- checks ---- */

const bt_type *bt__lower_dim_of_call(bt_subst *subst, const bt_type *leaf)
{
    const struct bt__lower_dims *d = subst->state;
    for (uint32_t i = 0; i < d->func->nvar; i++) {
        if (d->func->vars[i] == leaf)
            return d->call->type_args[i];
    }
    return NULL;
}

/* The binding that a call was made of, where it is one of these; equal functions are one, so
 * the place in the function may be that of another call. */
static bt_span span_of(const bt_store *store, const bt_call *call, const bt_value *inner)
{
    const uint32_t *ids, *own;
    const uint32_t n = bt_prov_ids(store, call->base.prov, &ids),
                   nown = bt_prov_ids(store, inner->prov, &own);
    for (uint32_t i = 0; nown && i < n; i++) {
        if (ids[i] == own[0])
            return inner->span;
    }
    return call->base.span;
}

static bt_status lower_check(struct bt__lowerer *l, const struct bt__lower_dims *dims,
                             const bt_call *inner, const bt_check *check)
{
    static const char *const words[] = {
#define BT_CHECK(UPPER, word, text) word,
#include <baton/checks.def>
#undef BT_CHECK
    };
    bt_store *store = l->module->store;
    struct bt__lower_dims state = *dims;
    bt_subst subst = { .leaf = bt__lower_dim_of_call, .state = &state };
    const bt_op *op;
    const bt_value *done;
    const char *what = check->what ? check->what : "";
    const bt_type *left = bt_type_subst(store, &subst, check->left),
                  *right = bt_type_subst(store, &subst, check->right);
    if (!left || !right)
        return bt_store_why(l->ctx, store);
    BT_TRY(bt_op_get(l->ctx, "memory.check", &op));
    bt_call call = { .callee_kind = BT_CALLEE_OP, .op = op };
    BT_TRY(bt_attrs_parse(l->ctx, store, op, "left=0, relation=\"\", right=0, of=\"\"",
                          &call.attrs));
    const struct {
        const char *name;
        const void *value;
    } attrs[] = { { "left", &left },
                  { "relation", &words[check->relation] },
                  { "right", &right },
                  { "of", &inner->op->name },
                  { "what", &what } };
    for (uint32_t i = 0; i < BT_COUNT(attrs); i++) {
        call.attrs =
            bt_attrs_with(l->arena, &call, attrs[i].name, attrs[i].value, sizeof(void *));
        if (!call.attrs)
            return bt_no_memory();
    }
    bt_builder_at(l->b, span_of(store, dims->call, &inner->base), inner->base.prov);
    return bt_build_call(l->b, &call, &done);
}

/* What the calls inside leave to run time is checked before any kernel runs. */
static bt_status lower_checks(struct bt__lowerer *l, const struct bt__lower_dims *dims)
{
    const bt_block *block = dims->func->block;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *inner = bt_as_call(block->bindings[i]);
        for (uint32_t k = 0; inner && k < inner->ncheck; k++)
            BT_TRY(lower_check(l, dims, inner, &inner->checks[k]));
    }
    return NULL;
}

/* A function that only changes the shape becomes no kernel. */
static bt_status lower_view(struct bt__lowerer *l, const bt_call *call,
                            const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_memory(call->base.type);
    if (!shape)
        return bt_store_why(l->ctx, l->module->store);
    bt_builder_at(l->b, call->base.span, call->base.prov);
    return build_memory(l, "memory.view", "shape=[]", "shape", &shape->base,
                        bt__lower_now(l, call->args[0]), out);
}

static bt_status lower_call(struct bt__lowerer *l, const bt_call *call,
                            const bt_value **out)
{
    const bt_global *global = bt_module_primitive(l->module, call);
    const struct bt__primitive *p;
    struct bt__lower_buffers all = { 0 };
    struct bt__lower_dims dims = { call, global ? global->func : NULL, NULL };
    const bt_value **owned;
    if (!global && l->has_control_flow)
        return bt__lower_control(l, &call->base, out);
    if (!global)
        return bt__lower_refuse(
            l, &call->base,
            call->base.type->has & BT_HAS_OPAQUE
                ? "has dims that are known only once it has run"
            : call->callee_kind == BT_CALLEE_OP
                ? "is not computed by a primitive function, as pass fuse-ops "
                  "makes them, in pipeline fuse or what --fuse names"
                : "is not computed by a primitive function");
    int is_view, is_scalar = 0;
    if (l->has_control_flow)
        BT_TRY(bt__func_is_scalar(l->ctx, l->arena, global->func, &is_scalar));
    if (is_scalar)
        return bt__lower_control(l, &call->base, out);
    BT_TRY(bt__func_is_view(l->ctx, l->arena, global->func, &is_view));
    is_view =
        is_view && !(l->has_control_flow && (bt_type_is_scalar(call->base.type) ||
                                             bt_type_is_scalar(call->args[0]->type)));
    if (!is_view)
        BT_TRY(bt__place_primitive(l->kernels, l->module->store, global, &p));
    if (!is_view && bt__is_apart(l, call, p->target))
        return bt__lower_apart(l, call, global, out);
    BT_TRY(lower_checks(l, &dims));
    if (is_view)
        return lower_view(l, call, out);
    bt_builder_at(l->b, call->base.span, call->base.prov);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(take_leaves(l, bt__lower_now(l, call->args[i]),
                           &all.by_kind[BT_BUFFER_INPUT]));
    l->space = l->kernels->targets[p->target]->space ? 1 + p->target : 0;
    for (uint32_t i = 0; i < all.by_kind[BT_BUFFER_INPUT].len; i++)
        BT_TRY(in_space(l, all.by_kind[BT_BUFFER_INPUT].at[i], l->space,
                        &all.by_kind[BT_BUFFER_INPUT].at[i]));
    BT_TRY(copy_parts(l, call, p, &all.by_kind[BT_BUFFER_INPUT]));
    BT_TRY(find_owned(l, &p->lowering, &all, bt_type_nleaf(call->base.type), &owned));
    BT_TRY(alloc_leaves(l, call->base.type, owned, &all.by_kind[BT_BUFFER_OUTPUT], out));
    if (call->base.name) // outputs of programs are called after their values
        BT_TRY(bt_build_name(l->b, *out, call->base.name));
    dims.values = bt_type_shape(l->module->store, dims.func->nvar, call->type_args);
    if (!dims.values)
        return bt_store_why(l->ctx, l->module->store);
    BT_TRY(bt__lower_invoke(l, &dims, p, &all));
    l->space = 0;
    return NULL;
}

static bt_status lower_binding(struct bt__lowerer *l, const bt_value *value)
{
    const bt_value *out;
    if (value->kind == BT_VALUE_CALL) {
        BT_TRY(lower_call(l, bt_as_call(value), &out));
    } else if (value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ) {
        uint32_t n = bt_value_noperand(value);
        const bt_value **operands = BT_NEWS(l->arena, const bt_value *, n);
        if (!operands)
            return bt_no_memory();
        for (uint32_t i = 0; i < n; i++)
            operands[i] = bt__lower_now(l, bt_value_operand(value, i));
        if (value->kind == BT_VALUE_PROJ && bt_as_tuple(operands[0]))
            return bt_map_put(&l->values, value,
                              (void *)(uintptr_t)bt_as_tuple(operands[0])
                                  ->fields[bt_as_proj(value)->index])
                       ? NULL
                       : bt_no_memory();
        bt_builder_like(l->b, value);
        BT_TRY(bt_build_again(l->b, value, operands, NULL, NULL, &out));
    } else if (l->has_control_flow) {
        BT_TRY(bt__lower_control(l, value, &out));
    } else {
        return bt__lower_refuse(l, value, "is not a chain of calls");
    }
    return bt_map_put(&l->values, value, (void *)(uintptr_t)out) ? NULL : bt_no_memory();
}

/* What callers give and get is row major. */
static bt_status check_row_major(struct bt__lowerer *l, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (bt_type_layout(block->params[i]->base.type))
            return bt__lower_refuse(
                l, &block->params[i]->base,
                "is passed in with a layout, and compiled programs take and "
                "give row major alone");
    }
    return bt_type_layout(block->result->type)
               ? bt__lower_refuse(
                     l, block->result,
                     "is given back with a layout, and compiled programs take and give "
                     "row major alone")
               : NULL;
}

bt_status bt__lower_region(struct bt__lowerer *l, const bt_block *block,
                           const bt_block **out)
{
    const uint32_t ncopied = l->copied.len, nmade = l->all_made.len;
    const bt_value *result;
    const bt_value *const *bindings = block->bindings;
    if (l->has_control_flow)
        BT_TRY(bt__lower_order(l->arena, block, &bindings));
    BT_TRY(bt_block_begin(l->b, block->nparam, block->params));
    for (uint32_t i = 0; i < block->nbinding; i++) {
        bt_status status = lower_binding(l, bindings[i]);
        if (status && status->code == BT_ERR_LIMIT && !status->place.file)
            status = bt_fail_at(l->ctx, status->code, l->module->store, bindings[i]->span,
                                "%s", status->message);
        BT_TRY(status);
    }
    BT_TRY(bt__lower_take(l, block->result, &result));
    while (l->copied.len > ncopied) { // behind the block they are not there
        const struct bt__lower_copy *copy = &l->copied.at[--l->copied.len];
        if (!bt_map_put(&l->copies[copy->space], copy->of, NULL))
            return bt_no_memory();
    }
    BT_TRY(bt__lower_forget_made(l, nmade));
    return bt_block_end(l->b, result, out);
}

static bt_status lower_func(struct bt__lowerer *l, const bt_func *func,
                            const bt_func **out)
{
    bt_func fields = *func;
    BT_TRY(check_row_major(l, func->block));
    BT_TRY(bt__lower_region(l, func->block, &fields.block));
    return bt_func_create(l->ctx, l->module->store, &fields, out);
}

/* The next of its parameters that is a dim with a name; NULL: none. */
static const char *next_dim(const bt_func *func, uint32_t *i)
{
    while (*i < func->nvar) {
        const bt_type *type = func->vars[(*i)++];
        const bt_var_type *var = (const bt_var_type *)(const void *)type;
        if (bt_type_kind_of(type) == BT_KIND_DIM && !var->is_anonymous)
            return var->name;
    }
    return NULL;
}

const char *bt__open_dims(bt_arena *arena, const bt_func *func)
{
    bt_text text;
    uint32_t i = 0;
    bt_text_init(&text, arena);
    for (const char *name; (name = next_dim(func, &i));)
        bt_text_addf(&text, "%s --dim %s=N",
                     text.len ? "" : ": give numbers for its dims,", name);
    return bt_text_get(&text);
}

/* Adds the dims that shapes of tensors tell. Recursion is bounded by the depth of types. 0:
 * no memory. */
static int find_shown(const bt_type *type, bt_map *shown)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t factor;
    int ok = 1;
    for (uint32_t i = 0; tuple && ok && i < tuple->n; i++)
        ok = find_shown(tuple->at[i], shown);
    for (uint32_t i = 0; shape && ok && i < shape->n; i++) {
        const bt_type *var = bt__dim_shown(shape->dims[i], shown, &factor);
        ok = !var || bt_map_put(shown, var, shown);
    }
    return ok;
}

/* Type parameters are dims, and a call's arguments show each of them (bt_check_args). */
static bt_status check_dims(const struct bt__lowerer *l, const bt_global *entry)
{
    const bt_func *func = entry->func;
    bt_map shown;
    bt_map_init(&shown, l->arena, 0);
    for (uint32_t before = UINT32_MAX; before != shown.len;) {
        before = shown.len;
        for (uint32_t i = 0; func->nvar && i < func->block->nparam; i++) {
            if (!find_shown(func->block->params[i]->base.type, &shown))
                return bt_no_memory();
        }
    }
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_var_type *var = (const bt_var_type *)(const void *)func->vars[i];
        const char *name = var->name ? var->name : "?";
        if (var->param.kind != BT_KIND_DIM)
            return bt_fail_at(l->ctx, BT_ERR_UNSUPPORTED, l->module->store, func->span,
                              "@%s has the type parameter %s, which is no dim: executor "
                              "interp runs it",
                              entry->name, name);
        if (!bt_map_find(&shown, var))
            return bt_fail_at(
                l->ctx, BT_ERR_UNSUPPORTED, l->module->store, func->span,
                "@%s: the shape of no argument tells its dim %s: give a number "
                "for it, --dim %s=N, or run it by executor interp",
                entry->name, name, name);
    }
    return NULL;
}

/* The primitive functions stay in the module: they say what the kernels compute. */
static bt_status lower_funcs(struct bt__lowerer *l, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < l->todo.len; i++) {
        bt_global lowered = *l->todo.at[i];
        BT_TRY(lower_func(l, l->todo.at[i]->func, &lowered.func));
        BT_TRY(bt_module_builder_set(builder, &lowered, 0));
    }
    return NULL;
}

static bt_status init(struct bt__lowerer *l, const bt_global *entry)
{
    const uint32_t nspace = l->kernels->ntarget + 1;
    bt_map_init(&l->values, l->arena, 0);
    bt_map_init(&l->spaces, l->arena, 0);
    bt_map_init(&l->seen, l->arena, 0);
    bt_map_init(&l->apart, l->arena, 0);
    bt_map_init(&l->made, l->arena, 0);
    l->copies = BT_NEWS(l->arena, bt_map, nspace);
    if (!l->copies)
        return bt_no_memory();
    for (uint32_t i = 0; i < nspace; i++)
        bt_map_init(&l->copies[i], l->arena, 0);
    return bt_map_put(&l->seen, entry->func, l) && BT_PUSH(l->arena, &l->todo, entry)
               ? check_dims(l, entry)
               : bt_no_memory();
}

bt_status bt__lower_entry(struct bt__kernels *kernels, const bt_module *module,
                          const bt_global *entry, bt_module **out)
{
    struct bt__lowerer l = { .kernels = kernels,
                             .ctx = kernels->ctx,
                             .arena = kernels->arena,
                             .module = module,
                             .has_control_flow = kernels->has_control_flow };
    bt_module_builder *builder;
    BT_TRY(init(&l, entry));
    BT_TRY(bt_module_builder_create(l.ctx, module->store, module, &builder));
    bt_status status = bt_builder_create(l.ctx, module->store, module, &l.b);
    if (!status)
        status = lower_funcs(&l, builder);
    bt_builder_destroy(l.b);
    if (!status)
        return bt_module_builder_finish(builder, 1, out);
    bt_module_builder_destroy(builder);
    return status;
}
