/* Functions that are called: one that keeps a tape, one that goes back. */
#include "common/derivative_attrs.h"
#include "gradients/adjoint_cells.h"
#include "gradients/adjoint_path.h"
#include "gradients/custom.h"

/* ---- which ones ---- */

static struct adjoint_pair *find(const struct differentiation *diff,
                                 const bt_func *primal, const uint8_t *wants)
{
    for (uint32_t i = 0; i < diff->pairs.len; i++) {
        struct adjoint_pair *pair = diff->pairs.at[i];
        uint32_t k = 0;
        if (pair->primal != primal)
            continue;
        while (k < primal->block->nparam && pair->wants[k] == wants[k])
            k++;
        if (k == primal->block->nparam)
            return pair;
    }
    return NULL;
}

/* The function that a call is of, and which arguments something depends on; NULL: it is of no
 * function of the module, or nothing does, and it touches no cell. */
static const bt_func *callee_of(const struct adjoint *a, const bt_value *old,
                                uint8_t *wants)
{
    const bt_call *call = bt_as_call(old);
    const bt_global *global = bt_call_global(a->diff->module, call);
    int any = adjoint_touches(a->diff, old);
    if (!global || global->kind != BT_GLOBAL_FUNC || custom_attr(global, "vjp"))
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++)
        any |= wants[i] = (uint8_t)adjoint_is_active(a, call->args[i]);
    return any ? global->func : NULL;
}

bt_status adjoint_pair_of(const struct adjoint *a, const bt_value *old,
                          struct adjoint_pair **out)
{
    const bt_call *call = bt_as_call(old);
    *out = NULL;
    if (!call)
        return NULL;
    uint8_t *wants = BT_NEWS(a->copy.arena, uint8_t, call->narg);
    if (!wants)
        return bt_no_memory();
    const bt_func *func = callee_of(a, old, wants);
    *out = func ? find(a->diff, func, wants) : NULL;
    return NULL;
}

static bt_status add(struct adjoint *a, const bt_value *old)
{
    struct differentiation *diff = a->diff;
    const bt_call *call = bt_as_call(old);
    if (!call)
        return NULL;
    if (custom_callee(a->diff, old, "vjp"))
        return custom_vjp_want(a, old);
    uint8_t *wants = BT_NEWS(diff->arena, uint8_t, call->narg);
    if (!wants)
        return bt_no_memory();
    const bt_func *func = callee_of(a, old, wants);
    if (!func || find(diff, func, wants))
        return NULL;
    struct adjoint_pair *pair = BT_NEW(diff->arena, struct adjoint_pair);
    if (!pair || !BT_PUSH(diff->arena, &diff->pairs, pair))
        return bt_no_memory();
    *pair = (struct adjoint_pair){
        .primal = func,
        .wants = wants,
        // what it writes would be written twice
        .is_again = bt_dict_find(&func->attrs, DERIVATIVE_CHECKPOINT) != NULL &&
                    !adjoint_may_write(diff, func),
    };
    return adjoint_data_want(diff, func->result);
}

bt_status adjoint_pairs_find(struct adjoint *a, const bt_block *block)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(a->copy.arena, block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            BT_TRY(add(a, blocks.at[b]->bindings[i]));
    }
    return NULL;
}

bt_status adjoint_pair_mark(struct adjoint *a, const struct adjoint_pair *pair)
{
    const bt_block *block = pair->primal->block;
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (!pair->wants[i])
            continue;
        BT_TRY(adjoint_data_want(a->diff, block->params[i]->base.type));
        if (!bt_map_put(&a->active, block->params[i], (void *)1))
            return bt_no_memory();
    }
    return adjoint_mark(a, block);
}

static bt_status close_one(struct differentiation *diff, const struct adjoint_pair *pair)
{
    struct adjoint a;
    BT_TRY(adjoint_init(&a, diff, pair->primal));
    bt_status status = adjoint_pair_mark(&a, pair);
    if (!status)
        status = adjoint_pairs_find(&a, pair->primal->block);
    adjoint_deinit(&a);
    return status;
}

bt_status adjoint_pairs_close(struct differentiation *diff)
{
    for (uint32_t i = 0; i < diff->pairs.len; i++)
        BT_TRY(close_one(diff, diff->pairs.at[i]));
    return NULL;
}

/* ---- types ---- */

static bt_status tuple_of(struct differentiation *diff, const adjoint_types *all,
                          const bt_type **out)
{
    bt_store *store = diff->module->store;
    *out = all->len == 1 ? all->at[0] : bt_type_tuple(store, all->len, all->at);
    return *out ? NULL : bt_store_why(diff->ctx, store);
}

/* more: type parameters behind those of the function. */
static bt_status close_type(struct differentiation *diff, const bt_func *f,
                            const dims_of_type *more, const adjoint_types *args,
                            const bt_type *result, const bt_type **out)
{
    dims_of_type vars = { 0 };
    for (uint32_t i = 0; i < f->nvar + more->len; i++) {
        if (!BT_PUSH(diff->arena, &vars,
                     i < f->nvar ? f->vars[i] : more->at[i - f->nvar]))
            return bt_no_memory();
    }
    *out = bt_func_type_close(diff->module->store, vars.len, vars.at, args->len, args->at,
                              result, f->nwhere, f->wheres);
    return *out ? NULL : bt_store_why(diff->ctx, diff->module->store);
}

static bt_status declare_types(struct differentiation *diff, struct adjoint_pair *pair,
                               const bt_type *tape)
{
    const bt_func *f = pair->primal;
    adjoint_types args = { 0 }, back = { 0 }, outputs = { 0 };
    dims_of_type none = { 0 }, open = { 0 };
    const bt_type *result = bt_type_tuple(diff->module->store, 2,
                                          (const bt_type *[]){ f->result, tape }),
                  *output;
    if (!result)
        return bt_store_why(diff->ctx, diff->module->store);
    if (!BT_PUSH(diff->arena, &back, tape))
        return bt_no_memory();
    BT_TRY(adjoint_leaf_types(diff, f->result, &back));
    pair->nseed = back.len - 1;
    for (uint32_t i = 0; i < pair->nseed; i++)
        BT_TRY(adjoint_name_dims(diff, back.at[i + 1], &back.at[i + 1], &open));
    for (uint32_t i = 0; i < f->block->nparam; i++) {
        const bt_type *type = f->block->params[i]->base.type;
        if (!BT_PUSH(diff->arena, &args, type))
            return bt_no_memory();
        if (pair->wants[i])
            BT_TRY(adjoint_leaf_types(diff, type, &outputs));
        for (uint32_t k = 0; k < bt_type_nleaf(type); k++) {
            if (adjoint_sums(pair, i, k) &&
                !BT_PUSH(diff->arena, &back, adjoint_leaf(type, k)))
                return bt_no_memory();
        }
    }
    BT_TRY(tuple_of(diff, &outputs, &output));
    BT_TRY(close_type(diff, f, &none, &args, result, &pair->forward_type));
    return close_type(diff, f, &open, &back, output, &pair->backward_type);
}

static bt_status set(struct differentiation *diff, const struct adjoint_pair *pair,
                     const char *global_name, const bt_type *type, const bt_func *func)
{
    const bt_global global = { .name = global_name,
                               .kind = func ? BT_GLOBAL_FUNC : BT_GLOBAL_EXTERN,
                               .span = pair->primal->span,
                               .type = type,
                               .func = func };
    return bt_module_builder_set(diff->builder, &global, 0);
}

bt_status adjoint_pairs_declare(struct differentiation *diff)
{
    for (uint32_t i = 0; i < diff->pairs.len; i++) {
        struct adjoint_pair *pair = diff->pairs.at[i];
        const bt_type *tape;
        BT_TRY(adjoint_tape_declare(diff, pair->primal->name, pair->primal, &pair->tape,
                                    &tape));
        BT_TRY(declare_types(diff, pair, tape));
        BT_TRY(adjoint_name(diff, &diff->taken, pair->primal->name, "forward",
                            &pair->forward));
        BT_TRY(adjoint_name(diff, &diff->taken, pair->primal->name, "backward",
                            &pair->backward));
        if (adjoint_touches(diff, pair->primal) &&
            !bt_map_put(&diff->writers, pair->backward, pair))
            return bt_no_memory();
        BT_TRY(set(diff, pair, pair->forward, pair->forward_type, NULL));
        BT_TRY(set(diff, pair, pair->backward, pair->backward_type, NULL));
    }
    return NULL;
}

/* ---- functions ---- */

/* A function with type parameters of its own; `c` copies into it. */
static bt_status begin_func(struct adjoint *a, const struct adjoint_pair *pair,
                            const char *func_name, struct copy *c, bt_func *out)
{
    *out = (bt_func){ .name = func_name, .span = pair->primal->span };
    adjoint_copy_init(a, c);
    return copy_head(c, pair->primal, out);
}

static bt_status make_forward(struct adjoint *a, const struct adjoint_pair *pair,
                              const struct adjoint_path *path)
{
    struct copy c;
    bt_func now;
    const bt_func *func;
    const bt_param **params;
    const bt_value *result;
    BT_TRY(begin_func(a, pair, pair->forward, &c, &now));
    const bt_type *of = bt_type_apply(c.store, pair->tape, now.nvar, now.vars);
    if (!of)
        return bt_store_why(c.ctx, c.store);
    BT_TRY(copy_params(&c, path->joint->nparam, path->joint->params, &params));
    BT_TRY(bt_block_begin(c.b, path->joint->nparam, params));
    BT_TRY(adjoint_path_forward(&c, path, of, &result));
    BT_TRY(bt_block_end(c.b, result, &now.block));
    now.result = result->type;
    BT_TRY(bt_func_create(c.ctx, c.store, &now, &func));
    return set(a->diff, pair, pair->forward, bt_func_type_of(c.store, func), func);
}

/* The types of the seeds in the way back, whose type parameters get those of the dims that only
 * the run knows. */
static bt_status seed_types(struct adjoint *a, const struct adjoint_pair *pair,
                            struct copy *c, bt_func *now, adjoint_types *out)
{
    dims_of_type vars = { 0 };
    for (uint32_t i = 0; i < now->nvar; i++) {
        if (!BT_PUSH(c->arena, &vars, now->vars[i]))
            return bt_no_memory();
    }
    BT_TRY(adjoint_leaf_types(a->diff, pair->primal->result, out));
    for (uint32_t i = 0; i < out->len; i++) {
        BT_TRY(copy_type(c, out->at[i], &out->at[i]));
        BT_TRY(adjoint_name_dims(a->diff, out->at[i], &out->at[i], &vars));
    }
    now->nvar = vars.len;
    now->vars = vars.at;
    return NULL;
}

static bt_status make_backward(struct adjoint *a, const struct adjoint_pair *pair,
                               const struct adjoint_path *path)
{
    const uint32_t nseed = path->seeds.len, n = 1 + nseed + path->sums.len;
    struct copy c;
    bt_func now;
    const bt_func *func;
    adjoint_types types = { 0 };
    const bt_param **params = BT_NEWS(a->copy.arena, const bt_param *, n);
    const bt_value **seeds = BT_NEWS(a->copy.arena, const bt_value *, n), *given;
    if (!params || !seeds)
        return bt_no_memory();
    BT_TRY(begin_func(a, pair, pair->backward, &c, &now));
    const bt_type *of = bt_type_apply(c.store, pair->tape, now.nvar, now.vars);
    if (!of)
        return bt_store_why(c.ctx, c.store);
    BT_TRY(bt_build_param(c.b, "tape", of, &params[0]));
    BT_TRY(seed_types(a, pair, &c, &now, &types));
    for (uint32_t i = 0; i < path->sums.len; i++) {
        const bt_type *type;
        BT_TRY(copy_type(&c, path->sums.at[i].adjoint->type, &type));
        if (!BT_PUSH(c.arena, &types, type))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        BT_TRY(bt_build_param(c.b, "d", types.at[i], &params[i + 1]));
        seeds[i] = &params[i + 1]->base;
        if (i >= nseed)
            BT_TRY(copy_put(&c, path->sums.at[i - nseed].adjoint, seeds[i]));
    }
    BT_TRY(bt_block_begin(c.b, n, params));
    BT_TRY(adjoint_path_backward(a->diff, &c, &params[0]->base, 1, path, seeds,
                                 path->outputs.len, path->outputs.at, &given));
    BT_TRY(bt_block_end(c.b, given, &now.block));
    now.result = given->type;
    BT_TRY(bt_func_create(c.ctx, c.store, &now, &func));
    return set(a->diff, pair, pair->backward, bt_func_type_of(c.store, func), func);
}

/* Outputs in the order of the parameters and their leaves. */
static void sort_outputs(const struct adjoint_pair *pair, struct adjoint_path *path)
{
    const bt_block *block = pair->primal->block;
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        for (uint32_t leaf = 0; leaf < bt_type_nleaf(param->type); leaf++) {
            struct adjoint_output *output =
                adjoint_output_of(&path->outputs, param, leaf);
            if (!output)
                continue;
            const struct adjoint_output first = path->outputs.at[n];
            path->outputs.at[n++] = *output;
            *output = first;
        }
    }
    path->outputs.len = n;
}

static bt_status make(struct adjoint *a, const struct adjoint_pair *pair)
{
    struct adjoint_path path;
    BT_TRY(adjoint_pair_mark(a, pair));
    a->pair = pair;
    BT_TRY(adjoint_path_make(a, pair->primal->block, NULL, NULL, &path));
    sort_outputs(pair, &path);
    BT_TRY(adjoint_path_close(a, &path));
    BT_TRY(adjoint_tape_define(a->diff, pair->tape, pair->primal, 1, &path));
    BT_TRY(make_forward(a, pair, &path));
    return make_backward(a, pair, &path);
}

bt_status adjoint_pairs_define(struct differentiation *diff)
{
    for (uint32_t i = 0; i < diff->pairs.len; i++) {
        struct adjoint a;
        BT_TRY(adjoint_init(&a, diff, diff->pairs.at[i]->primal));
        bt_status status = make(&a, diff->pairs.at[i]);
        adjoint_deinit(&a);
        BT_TRY(status);
    }
    return NULL;
}
