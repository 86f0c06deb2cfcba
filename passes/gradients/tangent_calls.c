/* Functions that are called in forward mode: one for the parameters that move. */
#include "gradients/adjoint_cells.h"
#include "gradients/custom.h"
#include "gradients/tangent.h"

/* ---- which ones ---- */

/* The function that a call is of, and which leaves of its parameters move. *func NULL: there is
 * no tangent to be had. */
static bt_status callee_of(const struct adjoint *a, const bt_call *call,
                           const bt_func **func, const uint8_t **out)
{
    const bt_global *global = bt_call_global(a->diff->module, call);
    uint32_t n = 0, leaf = 0;
    *func = NULL;
    if (!global || global->kind != BT_GLOBAL_FUNC || custom_attr(global, "jvp") ||
        (!adjoint_is_active(a, &call->base) && !adjoint_touches(a->diff, call) &&
         // as long as cells are looked for
         (a->diff->has_shadows || !adjoint_may_write(a->diff, call))))
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++)
        n += bt_type_nleaf(call->args[i]->type);
    uint8_t *all = BT_NEWS(a->diff->arena, uint8_t, n);
    if (!all)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        const uint8_t *moves = tangent_moves(a, call->args[i]);
        for (uint32_t k = 0; k < bt_type_nleaf(call->args[i]->type); k++)
            all[leaf++] = moves && moves[k];
    }
    *func = global->func;
    *out = all;
    return NULL;
}

static uint32_t nleaf_of(const bt_func *func)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < func->block->nparam; i++)
        n += bt_type_nleaf(func->block->params[i]->base.type);
    return n;
}

static const struct tangent_func *find(const struct differentiation *diff,
                                       const bt_func *func, const uint8_t *moves)
{
    const uint32_t n = nleaf_of(func);
    for (uint32_t i = 0; i < diff->tangents.len; i++) {
        const struct tangent_func *f = diff->tangents.at[i];
        uint32_t k = 0;
        if (f->primal != func)
            continue;
        while (k < n && f->moves[k] == moves[k])
            k++;
        if (k == n)
            return f;
    }
    return NULL;
}

bt_status tangent_func_of(const struct adjoint *a, const bt_call *call,
                          const struct tangent_func **out)
{
    const bt_func *func;
    const uint8_t *moves;
    BT_TRY(callee_of(a, call, &func, &moves));
    *out = func ? find(a->diff, func, moves) : NULL;
    return NULL;
}

static bt_status add(struct adjoint *a, const bt_value *old)
{
    struct differentiation *diff = a->diff;
    const bt_call *call = bt_as_call(old);
    const bt_func *func;
    const uint8_t *moves;
    if (!call)
        return NULL;
    BT_TRY(callee_of(a, call, &func, &moves));
    if (!func || find(diff, func, moves))
        return NULL;
    struct tangent_func *made = BT_NEW(diff->arena, struct tangent_func);
    if (!made || !BT_PUSH(diff->arena, &diff->tangents, made))
        return bt_no_memory();
    *made = (struct tangent_func){ .primal = func, .moves = moves };
    return adjoint_data_want(diff, func->result);
}

bt_status tangent_find(struct adjoint *a, const bt_block *block)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(a->copy.arena, block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            BT_TRY(add(a, blocks.at[b]->bindings[i]));
    }
    return NULL;
}

static bt_status flow(struct adjoint *a, const struct tangent_func *f)
{
    const bt_block *block = f->primal->block;
    const uint8_t *moves = f->moves;
    for (uint32_t i = 0; i < block->nparam; i++) {
        BT_TRY(tangent_move(a, &block->params[i]->base, moves));
        moves += bt_type_nleaf(block->params[i]->base.type);
    }
    return tangent_flow(a, block);
}

bt_status tangent_close(struct differentiation *diff)
{
    for (uint32_t i = 0; i < diff->tangents.len; i++) {
        struct adjoint a;
        BT_TRY(adjoint_init(&a, diff, diff->tangents.at[i]->primal));
        bt_status status = flow(&a, diff->tangents.at[i]);
        if (!status)
            status = tangent_find(&a, diff->tangents.at[i]->primal->block);
        adjoint_deinit(&a);
        BT_TRY(status);
    }
    return NULL;
}

/* ---- types ---- */

bt_status tangent_types(struct differentiation *diff, const bt_type *type,
                        const uint8_t *moves, adjoint_types *out)
{
    for (uint32_t i = 0; i < bt_type_nleaf(type); i++) {
        const bt_type *leaf = adjoint_leaf(type, i);
        if (!moves || !moves[i])
            continue;
        BT_TRY(adjoint_type_of(diff, leaf, &leaf));
        if (!BT_PUSH(diff->arena, out, leaf))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status type_of(struct differentiation *diff, const struct tangent_func *f,
                         const bt_type **out)
{
    const bt_func *func = f->primal;
    const uint8_t *moves = f->moves, *all = tangent_all(diff, func->result);
    adjoint_types args = { 0 }, results = { 0 };
    bt_store *store = diff->module->store;
    if (!all || !BT_PUSH(diff->arena, &results, func->result))
        return bt_no_memory();
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (!BT_PUSH(diff->arena, &args, func->block->params[i]->base.type))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        const bt_type *type = func->block->params[i]->base.type;
        BT_TRY(tangent_types(diff, type, moves, &args));
        moves += bt_type_nleaf(type);
    }
    BT_TRY(tangent_types(diff, func->result, all, &results));
    const bt_type *result = bt_type_tuple(store, results.len, results.at);
    *out = result ? bt_func_type_close(store, func->nvar, func->vars, args.len, args.at,
                                       result, func->nwhere, func->wheres)
                  : NULL;
    return *out ? NULL : bt_store_why(diff->ctx, store);
}

static bt_status set(struct differentiation *diff, const struct tangent_func *f,
                     const bt_type *type, const bt_func *func)
{
    const bt_global global = { .name = f->name,
                               .kind = func ? BT_GLOBAL_FUNC : BT_GLOBAL_EXTERN,
                               .span = f->primal->span,
                               .type = type,
                               .func = func };
    return bt_module_builder_set(diff->builder, &global, 0);
}

bt_status tangent_declare(struct differentiation *diff)
{
    for (uint32_t i = 0; i < diff->tangents.len; i++) {
        struct tangent_func *f = diff->tangents.at[i];
        const bt_type *type;
        BT_TRY(adjoint_name(diff, &diff->taken, f->primal->name, "tangent", &f->name));
        BT_TRY(type_of(diff, f, &type));
        BT_TRY(set(diff, f, type, NULL));
    }
    return NULL;
}

/* ---- functions ---- */

bt_status tangent_param(struct adjoint *a, const bt_value *old, const bt_type *type,
                        const bt_param **out)
{
    bt_text name;
    bt_text_init(&name, a->copy.arena);
    bt_text_addf(&name, "d%s", old->name ? old->name : "");
    if (!bt_text_get(&name))
        return bt_no_memory();
    return bt_build_param(a->copy.b, bt_text_get(&name), type, out);
}

/* The parameters again, and behind them a tangent of each leaf that moves. */
static bt_status make_params(struct adjoint *a, const struct tangent_func *f,
                             const bt_param ***out, uint32_t *n)
{
    const bt_block *block = f->primal->block;
    const uint8_t *moves = f->moves;
    const bt_param **all = *out =
        BT_NEWS(a->copy.arena, const bt_param *, block->nparam + nleaf_of(f->primal));
    const bt_param **params;
    if (!all)
        return bt_no_memory();
    BT_TRY(copy_params(&a->copy, block->nparam, block->params, &params));
    for (*n = 0; *n < block->nparam; ++*n)
        all[*n] = params[*n];
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *old = &block->params[i]->base;
        for (uint32_t k = 0; k < bt_type_nleaf(old->type); k++) {
            const bt_type *type = adjoint_leaf(params[i]->base.type, k);
            if (!*moves++)
                continue;
            BT_TRY(adjoint_type_of(a->diff, type, &type));
            BT_TRY(tangent_param(a, old, type, &all[*n]));
            BT_TRY(adjoint_add(a, old, k, &all[*n]->base));
            ++*n;
        }
    }
    return NULL;
}

static bt_status make(struct tangent *t, const struct tangent_func *f)
{
    struct adjoint *a = &t->adjoint;
    const bt_block *block = f->primal->block;
    const uint8_t *all = tangent_all(a->diff, block->result->type);
    bt_func now = { .name = f->name, .span = f->primal->span };
    const bt_param **params;
    const bt_value *result, *pair;
    const bt_func *func;
    uint32_t n;
    if (!all)
        return bt_no_memory();
    BT_TRY(flow(a, f));
    BT_TRY(copy_head(&a->copy, a->func, &now));
    BT_TRY(make_params(a, f, &params, &n));
    BT_TRY(bt_block_begin(a->copy.b, n, params));
    BT_TRY(copy_bindings(&a->copy, block, f->primal->result, &result));
    BT_TRY(tangent_pair(t, block->result, result, all, &pair));
    BT_TRY(bt_block_end(a->copy.b, pair, &now.block));
    now.result = pair->type;
    BT_TRY(bt_func_create(a->copy.ctx, a->copy.store, &now, &func));
    return set(a->diff, f, bt_func_type_of(a->copy.store, func), func);
}

bt_status tangent_define(struct differentiation *diff)
{
    for (uint32_t i = 0; i < diff->tangents.len; i++) {
        struct tangent t;
        BT_TRY(tangent_init(&t, diff, diff->tangents.at[i]->primal));
        bt_status status = make(&t, diff->tangents.at[i]);
        tangent_deinit(&t);
        BT_TRY(status);
    }
    return NULL;
}
