/* From a planned function to a session. */
#include "session.h"

#include <string.h>

#include "order.h"
#include "run.h"

struct loader {
    bt_ctx *ctx;
    bt_arena *arena;
    struct session *s;
    bt_leaf_map leaves; /* items: struct place */
    bt_map blocks;      /* storage -> its number, from 1 */
    const bt_value *at; /* what is loaded: a parameter, a binding */
    bt_vec(struct block) all_blocks;
    bt_vec(struct constant) all_consts;
    bt_vec(struct step) all_steps;
    bt_vec(int64_t) table; /* the first is 0 */
    bt_vec(struct term) all_terms;
    bt_vec(struct fact) all_facts;
};

typedef bt_vec(struct place) place_list;

/* ---- the table ---- */

/* Dims, one after the other; *out: where the first of them is. */
static bt_status add_dims(struct loader *l, uint32_t n, const bt_type *const *dims,
                          uint32_t *out)
{
    const bt_func *func = l->s->entry->func;
    *out = l->table.len;
    for (uint32_t i = 0; i < n; i++) {
        struct term term = { .number = l->table.len, .of = l->at };
        int64_t number = -1;
        if (!bt_dim_is_const(dims[i], &number)) {
            BT_TRY(bt_dim_compile(l->ctx, l->arena, dims[i], func->nvar, func->vars,
                                  &term.code));
            if (!BT_PUSH(l->arena, &l->all_terms, term))
                return bt_no_memory();
        }
        if (!BT_PUSH(l->arena, &l->table, number))
            return bt_no_memory();
    }
    return NULL;
}

/* One dim, an attribute or a size, into the table; NULL: there was no memory to make it.
 * *out: its place; a dim that is 0 is at place 0. */
static bt_status add_dim(struct loader *l, const bt_call *of, const bt_type *dim,
                         uint32_t *out)
{
    int64_t number;
    *out = 0;
    if (!dim)
        return bt_store_why(l->ctx, of->base.type->store);
    return bt_dim_is_const(dim, &number) && number == 0 ? NULL
                                                        : add_dims(l, 1, &dim, out);
}

/* ---- leaves ---- */

int leaf_admits(const struct session *s, const struct leaf *leaf, const bt_tensor *t)
{
    const int64_t *dims = s->table + leaf->dims;
    int same = leaf->dtype == t->dtype && leaf->rank == t->rank;
    for (uint32_t i = 0; same && i < t->rank; i++)
        same = dims[i] == t->dims[i];
    return same;
}

bt_status leaf_tensor(bt_ctx *ctx, const struct session *s, const struct leaf *leaf,
                      bt_tensor **out)
{
    return bt_tensor_create_raw(ctx, leaf->dtype, leaf->rank, s->table + leaf->dims, out);
}

/* ---- operands ---- */

static bt_status add_const(void *self, const bt_tensor *tensor, const void **out)
{
    struct loader *l = self;
    const struct constant constant = { .given = tensor };
    struct place *place = BT_NEW(l->arena, struct place);
    if (!place || !BT_PUSH(l->arena, &l->all_consts, constant))
        return bt_no_memory();
    *place = (struct place){ .kind = PLACE_CONST, .index = l->all_consts.len - 1 };
    *out = place;
    return NULL;
}

static bt_status append(struct loader *l, const bt_value *value, place_list *list)
{
    const bt_leaves *leaves;
    BT_TRY(bt_leaves_find(&l->leaves, value, &leaves));
    for (uint32_t i = 0; i < leaves->n; i++) {
        if (!BT_PUSH(l->arena, list, *(const struct place *)leaves->at[i]))
            return bt_no_memory();
    }
    return NULL;
}

/* The types of leaves, one after the other. */
static bt_status add_leaves(struct loader *l, const bt_type *type, struct leaf *all,
                            uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple) {
        struct leaf *leaf = &all[(*n)++];
        const bt_shape_type *shape = bt_tensor_shape(type);
        leaf->dtype = bt_tensor_dtype(type);
        if (!shape || !leaf->dtype)
            return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                           "graph: an argument or a result is no tensor of known rank: "
                           "executor interp runs it");
        leaf->rank = shape->n;
        return add_dims(l, shape->n, shape->dims, &leaf->dims);
    }
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(add_leaves(l, tuple->at[i], all, n));
    return NULL;
}

static bt_status load_params(struct loader *l, const bt_block *block)
{
    uint32_t nleaf = 0, filled = 0;
    for (uint32_t i = 0; i < block->nparam; i++)
        nleaf += bt_type_nleaf(block->params[i]->base.type);
    l->s->args = BT_NEWS(l->arena, struct leaf, nleaf);
    if (!l->s->args)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        uint32_t n = bt_type_nleaf(param->type);
        struct place *at = BT_NEWS(l->arena, struct place, n);
        if (!at)
            return bt_no_memory();
        for (uint32_t k = 0; k < n; k++)
            at[k] = (struct place){ .kind = PLACE_ARG, .index = l->s->narg++ };
        l->at = param;
        BT_TRY(add_leaves(l, param->type, l->s->args, &filled));
        BT_TRY(bt_leaves_set(&l->leaves, param, n, at, sizeof(*at)));
    }
    return NULL;
}

/* ---- bindings ---- */

/* The space that storage says that it is in. */
static bt_status find_space(struct loader *l, const bt_call *call, uint32_t *out)
{
    const bt_compiled *c = l->s->compiled;
    const char *const *name =
        bt_attr_find(call->op, call->attrs, "space", BT_ATTR_STRING);
    *out = 0;
    for (uint32_t i = 0; name && **name && !*out && i < c->ntarget; i++) {
        if (strcmp(c->spaces[i], *name) == 0 && c->targets[i]->space)
            *out = i + 1;
    }
    return !name || !**name || *out
               ? NULL
               : bt_fail_at(l->ctx, BT_ERR_VERIFY, call->base.type->store,
                            call->base.span, "graph: no target has the memory \"%s\"",
                            *name);
}

static uint32_t space_of(const struct loader *l, const struct place *place)
{
    return place->kind == PLACE_BLOCK ? l->all_blocks.at[place->index].space : 0;
}

static bt_status load_storage(struct loader *l, const bt_call *call)
{
    struct block block = { .size = -1, .of = &call->base };
    BT_TRY(add_dim(l, call, bt_call_dim(call, "size"), &block.nbytes));
    BT_TRY(find_space(l, call, &block.space));
    return BT_PUSH(l->arena, &l->all_blocks, block) &&
                   bt_map_put(&l->blocks, call, (void *)(uintptr_t)l->all_blocks.len)
               ? NULL
               : bt_no_memory();
}

static bt_status load_tensor(struct loader *l, const bt_call *call)
{
    uintptr_t number = (uintptr_t)bt_map_find(&l->blocks, call->args[0]);
    struct place *place = BT_NEW(l->arena, struct place);
    if (!place)
        return bt_no_memory();
    if (!number)
        return bt_fail_at(l->ctx, BT_ERR_UNSUPPORTED, call->base.type->store,
                          call->base.span, "graph: a tensor without storage of its own");
    l->all_blocks.at[number - 1].ntensor++;
    *place = (struct place){ .kind = PLACE_BLOCK, .index = (uint32_t)number - 1 };
    BT_TRY(add_dim(l, call, bt_call_dim(call, "offset"), &place->offset));
    BT_TRY(add_dim(l, call, bt_tensor_size(call->base.type), &place->nbytes));
    return bt_leaves_set(&l->leaves, &call->base, 1, place, sizeof(*place));
}

/* Buffers of a kernel are in its target's memory; constants are taken there. */
static bt_status check_space(const struct loader *l, const bt_call *call,
                             const struct step *step, const struct place *place)
{
    return place->kind == PLACE_CONST || space_of(l, place) == step->space
               ? NULL
               : bt_fail_at(l->ctx, BT_ERR_VERIFY, call->base.type->store,
                            call->base.span,
                            "graph: kernel %s has a buffer in memory that is not its "
                            "target's",
                            l->s->compiled->kernels[step->kernel]->name);
}

static bt_status load_invoke(struct loader *l, const bt_call *call)
{
    const char *name = bt_invoke_kernel(&call->base);
    const bt_shape_type *dims = bt_invoke_dims(call);
    struct step step = { .value = &call->base };
    place_list buffers = { 0 };
    if (bt_invoke_is_done(call))
        return NULL;
    if (dims)
        BT_TRY(add_dims(l, dims->n, dims->dims, &step.dims));
    step.ndim = dims ? dims->n : 0;
    step.kernel = bt_compiled_find_kernel(l->s->compiled, name);
    if (step.kernel == l->s->compiled->nkernel)
        return bt_fail(l->ctx, BT_ERR_NAME, "graph: the code has no kernel %s", name);
    const uint32_t target = l->s->compiled->kernels[step.kernel]->target;
    step.space = l->s->compiled->targets[target]->space ? 1 + target : 0;
    BT_TRY(append(l, call->args[0], &buffers));
    step.nread = buffers.len;
    BT_TRY(append(l, call->args[1], &buffers));
    if (call->narg > 2) {
        const bt_leaves *workspace;
        BT_TRY(bt_leaves_find(&l->leaves, call->args[2], &workspace));
        step.workspace = workspace->at[0];
        BT_TRY(check_space(l, call, &step, step.workspace));
    }
    for (uint32_t i = 0; i < buffers.len; i++)
        BT_TRY(check_space(l, call, &step, &buffers.at[i]));
    step.nbuffer = buffers.len;
    step.buffers = buffers.at;
    if (buffers.len > l->s->most_buffers)
        l->s->most_buffers = buffers.len;
    return BT_PUSH(l->arena, &l->all_steps, step) ? NULL : bt_no_memory();
}

static bt_status load_copy(struct loader *l, const bt_call *call)
{
    place_list buffers = { 0 };
    for (uint32_t i = 0; i < 2; i++)
        BT_TRY(append(l, call->args[i], &buffers));
    struct step step = { .value = &call->base,
                         .kernel = COPY,
                         .nread = 1,
                         .nbuffer = 2,
                         .buffers = buffers.at };
    BT_TRY(add_dim(l, call, bt_tensor_size(call->args[0]->type), &step.nbytes));
    const uint32_t from = space_of(l, &buffers.at[0]), to = space_of(l, &buffers.at[1]);
    step.space = from ? from : to;
    if (from && to && from != to)
        return bt_fail_at(l->ctx, BT_ERR_VERIFY, call->base.type->store, call->base.span,
                          "graph: a copy from one target's memory to another's");
    l->s->most_buffers = l->s->most_buffers < 2 ? 2 : l->s->most_buffers;
    return BT_PUSH(l->arena, &l->all_steps, step) ? NULL : bt_no_memory();
}

static bt_status load_check(struct loader *l, const bt_call *call)
{
    const bt_func *func = l->s->entry->func;
    struct fact fact = { .value = &call->base };
    bt_check_read(call->op, call->attrs, &fact.check, &fact.of); // it is verified
    BT_TRY(bt_dim_compile(l->ctx, l->arena, fact.check.left, func->nvar, func->vars,
                          &fact.left));
    BT_TRY(bt_dim_compile(l->ctx, l->arena, fact.check.right, func->nvar, func->vars,
                          &fact.right));
    return BT_PUSH(l->arena, &l->all_facts, fact) ? NULL : bt_no_memory();
}

static bt_status load_binding(struct loader *l, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    int done;
    BT_TRY(bt_leaves_follow(&l->leaves, value, &done));
    if (done)
        return NULL;
    if (bt_as_op_call(value, "memory.alloc_storage"))
        return load_storage(l, call);
    if (bt_as_op_call(value, "memory.alloc_tensor"))
        return load_tensor(l, call);
    if (bt_as_op_call(value, "memory.invoke"))
        return load_invoke(l, call);
    if (bt_as_op_call(value, "memory.copy"))
        return load_copy(l, call);
    if (bt_as_op_call(value, "memory.check"))
        return load_check(l, call);
    if (bt_as_op_call(value, "memory.kill"))
        return NULL;
    return bt_fail_at(l->ctx, BT_ERR_UNSUPPORTED, value->type->store, value->span,
                      "graph: not a planned program: executor interp runs it");
}

/* ---- results ---- */

static bt_status load_results(struct loader *l, const bt_func *func)
{
    const bt_leaves *leaves;
    uint32_t n = 0;
    BT_TRY(bt_leaves_find(&l->leaves, func->block->result, &leaves));
    l->s->nresult = leaves->n;
    l->s->results = BT_NEWS(l->arena, struct leaf, leaves->n);
    if (!l->s->results)
        return bt_no_memory();
    for (uint32_t i = 0; i < leaves->n; i++)
        l->s->results[i].place = *(const struct place *)leaves->at[i];
    return add_leaves(l, func->result, l->s->results, &n);
}

/* A constant where the kernels of a space find it; the host's: plain. */
static bt_status make_const(struct loader *l, uint32_t space, const struct place *place)
{
    struct session *s = l->s;
    if (place->kind != PLACE_CONST)
        return NULL;
    struct constant *c = &s->consts[place->index];
    if (!space)
        return c->plain ? NULL : bt_tensor_plain(l->ctx, c->given, &c->plain);
    return bt_compiled_constant(l->ctx, s->compiled, space - 1, c->given,
                                &s->own_consts[(space - 1) * s->nconst + place->index]);
}

static bt_status make_consts(struct loader *l)
{
    struct session *s = l->s;
    s->own_consts = BT_NEWS(l->arena, void *, (size_t)s->compiled->ntarget * s->nconst);
    if (!s->own_consts)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->nstep; i++) {
        const struct step *step = &s->steps[i];
        for (uint32_t k = 0; k < step->nbuffer; k++)
            BT_TRY(
                make_const(l, step->kernel == COPY ? 0 : step->space, &step->buffers[k]));
    }
    for (uint32_t i = 0; i < s->nresult; i++)
        BT_TRY(make_const(l, 0, &s->results[i].place));
    return NULL;
}

/* ---- loading ---- */

/* A result that has a block for itself is computed where the caller finds it. */
static bt_status find_result_blocks(struct loader *l)
{
    for (uint32_t i = 0; i < l->s->nresult; i++) {
        const struct place *place = &l->s->results[i].place;
        struct block *block =
            place->kind == PLACE_BLOCK ? &l->all_blocks.at[place->index] : NULL;
        if (block && block->space)
            return bt_fail(l->ctx, BT_ERR_VERIFY,
                           "graph: result %u is not in the host's memory", i);
        if (block && block->ntensor == 1 && place->offset == 0 && !block->result)
            block->result = i + 1;
    }
    return NULL;
}

/* The memory that calls need, so that they allocate none. */
static bt_status make_room(struct loader *l)
{
    struct session *s = l->s;
    s->in = BT_NEWS(l->arena, const bt_tensor *, s->narg);
    s->out = BT_NEWS(l->arena, bt_tensor *, s->nresult);
    s->made = BT_NEWS(l->arena, bt_tensor *, s->nresult);
    s->addresses = BT_NEWS(l->arena, void *, l->all_blocks.len);
    s->buffers = BT_NEWS(l->arena, void *, s->most_buffers);
    s->offsets = BT_NEWS(l->arena, uint64_t, s->most_buffers);
    s->dims = BT_NEWS(l->arena, int64_t, s->entry->func->nvar);
    return s->in && s->out && s->made && s->addresses && s->buffers && s->offsets &&
                   s->dims
               ? NULL
               : bt_no_memory();
}

static void take_lists(struct loader *l)
{
    struct session *s = l->s;
    s->nblock = l->all_blocks.len;
    s->blocks = l->all_blocks.at;
    s->nconst = l->all_consts.len;
    s->consts = l->all_consts.at;
    s->nstep = l->all_steps.len;
    s->steps = l->all_steps.at;
    s->table = l->table.at;
    s->nterm = l->all_terms.len;
    s->terms = l->all_terms.at;
    s->nfact = l->all_facts.len;
    s->facts = l->all_facts.at;
}

static bt_status load_func(struct loader *l)
{
    const bt_func *func = l->s->entry->func;
    if (!BT_PUSH(l->arena, &l->table, 0))
        return bt_no_memory();
    BT_TRY(load_params(l, func->block));
    for (uint32_t i = 0; i < func->block->nbinding; i++) {
        l->at = func->block->bindings[i];
        BT_TRY(load_binding(l, l->at));
    }
    l->at = func->block->result;
    BT_TRY(load_results(l, func));
    take_lists(l);
    BT_TRY(make_room(l));
    BT_TRY(order_steps(l->arena, l->s));
    BT_TRY(find_result_blocks(l));
    session_find_donors(l->s);
    if (!func->nvar)
        BT_TRY(session_settle(l->ctx, l->s, NULL));
    return make_consts(l);
}

bt_status session_load(bt_ctx *ctx, bt_compiled *compiled, const char *entry,
                       const void *options, void **out)
{
    (void)options;
    bt_arena *arena = bt_arena_create(compiled->registry);
    struct session *s = arena ? BT_NEW(arena, struct session) : NULL;
    if (!s) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    s->arena = arena;
    s->compiled = bt_compiled_ref(compiled);
    struct loader l = { .ctx = ctx, .arena = arena, .s = s };
    l.leaves = (bt_leaf_map){
        .ctx = ctx, .arena = arena, .who = "graph", .constant = add_const, .self = &l
    };
    bt_map_init(&l.leaves.of, arena, 0);
    bt_map_init(&l.blocks, arena, 0);
    bt_status status = bt_module_entry(ctx, compiled->module, entry, &s->entry);
    if (!status)
        status = load_func(&l);
    if (status)
        session_close(s);
    else
        *out = s;
    return status;
}

void session_close(void *opaque)
{
    struct session *s = opaque;
    bt_compiled *compiled = s->compiled;
    if (s->queues)
        close_queues(s);
    session_unsettle(s);
    for (uint32_t i = 0; i < s->nconst; i++)
        bt_tensor_unref(s->consts[i].plain);
    bt_arena_destroy(s->arena);
    bt_compiled_unref(compiled);
}
