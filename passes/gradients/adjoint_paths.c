/* Values with paths, forward and backward: branches and matches; calls: adjoint_call_paths.c. */
#include "gradients/adjoint_cells.h"
#include "gradients/adjoint_path.h"
#include "gradients/custom.h"

/* ---- forward ---- */

static bt_status want(struct adjoint *a, struct adjoint_taped *t,
                      const struct adjoint_output *output)
{
    if (adjoint_output_of(&t->wanted, output->old, output->leaf))
        return NULL;
    return BT_PUSH(a->copy.arena, &t->wanted, *output) ? NULL : bt_no_memory();
}

static bt_status make_paths(struct adjoint *a, const bt_value *old,
                            struct adjoint_taped *t)
{
    t->npath = bt_value_nregion(old);
    t->paths = BT_NEWS(a->copy.arena, struct adjoint_path, t->npath);
    if (!t->paths)
        return bt_no_memory();
    for (uint32_t i = 0; i < t->npath; i++) {
        struct adjoint_path *path = &t->paths[i];
        const bt_match *match = bt_as_match(old);
        BT_TRY(adjoint_path_make(a, bt_value_region(old, i),
                                 match ? match->clauses[i]->pattern : NULL,
                                 match ? match->data : NULL, path));
        BT_TRY(adjoint_path_close(a, path));
        for (uint32_t k = 0; k < path->outputs.len; k++)
            BT_TRY(want(a, t, &path->outputs.at[k]));
    }
    return NULL;
}

static bt_status forward_block(struct adjoint *a, const struct adjoint_path *path,
                               const bt_type *tape, const bt_block **out)
{
    struct copy c;
    const bt_param **params;
    const bt_value *result;
    adjoint_copy_init(a, &c);
    BT_TRY(copy_params(&c, path->joint->nparam, path->joint->params, &params));
    BT_TRY(bt_block_begin(c.b, path->joint->nparam, params));
    BT_TRY(adjoint_path_forward(&c, path, tape, &result));
    return bt_block_end(c.b, result, out);
}

static bt_status build_forward(struct adjoint *a, const bt_value *old,
                               const struct adjoint_taped *t, const bt_type *tape,
                               const bt_value **out)
{
    struct copy *c = &a->copy;
    const bt_value *data;
    const bt_type *both[2] = { NULL, tape }, *type;
    const bt_block **blocks = BT_NEWS(c->arena, const bt_block *, t->npath);
    if (!blocks)
        return bt_no_memory();
    for (uint32_t i = 0; i < t->npath; i++)
        BT_TRY(forward_block(a, &t->paths[i], tape, &blocks[i]));
    BT_TRY(copy_operand(c, bt_value_operand(old, 0), NULL, &data));
    BT_TRY(copy_type(c, old->type, &both[0]));
    if (!(type = bt_type_tuple(c->store, 2, both)))
        return bt_store_why(c->ctx, c->store);
    bt_builder_like(c->b, old);
    bt_builder_name(c->b, NULL);
    bt_builder_type(c->b, type);
    return copy_branch(c, old, data, blocks, out);
}

static bt_status forward_paths(struct adjoint *a, const bt_value *old,
                               struct adjoint_taped *t, const bt_value **out)
{
    bt_adt_def *def;
    const bt_type *tape;
    BT_TRY(make_paths(a, old, t));
    BT_TRY(adjoint_tape_declare(a->diff, a->func->name ? a->func->name : "fn", a->func,
                                &def, &tape));
    BT_TRY(adjoint_tape_define(a->diff, def, a->func, t->npath, t->paths));
    return build_forward(a, old, t, tape, out);
}

bt_status adjoint_forward(struct copy *c, const bt_value *old, int *done)
{
    struct adjoint *a = c->state;
    struct adjoint_taped *t;
    const bt_value *both, *result;
    struct adjoint_pair *pair;
    BT_TRY(adjoint_pair_of(a, old, &pair));
    if ((!adjoint_is_active(a, old) && !adjoint_touches(a->diff, old)) ||
        (!pair && old->kind != BT_VALUE_IF && old->kind != BT_VALUE_MATCH))
        return NULL;
    if (!(t = BT_NEW(c->arena, struct adjoint_taped)) || !bt_map_put(&a->tapes, old, t))
        return bt_no_memory();
    t->pair = pair;
    if (pair && pair->is_again)
        return NULL;
    BT_TRY(pair ? adjoint_call_forward(a, bt_as_call(old), pair, &both)
                : forward_paths(a, old, t, &both));
    bt_builder_like(c->b, old);
    BT_TRY(bt_build_proj(c->b, both, 0, &result));
    bt_builder_name(c->b, NULL);
    BT_TRY(bt_build_proj(c->b, both, 1, &t->tape));
    *done = 1;
    return copy_put(c, old, result);
}

/* ---- backward ---- */

/* Adjoints of the float leaves of a value, zeros where there is none. */
static bt_status seeds_of(struct adjoint *a, const bt_value *old, adjoint_values *out)
{
    adjoint_values now = { 0 };
    BT_TRY(adjoint_split(a, bt_map_find(&a->copy.values, old), &now));
    for (uint32_t i = 0; i < now.len; i++) {
        const bt_value *seed = adjoint_of_leaf(a, old, i);
        if (!adjoint_has(a->diff, now.at[i]->type))
            continue;
        if (!seed)
            BT_TRY(adjoint_zero(a->diff, &a->copy, now.at[i], now.at[i]->type, &seed));
        if (!BT_PUSH(a->copy.arena, out, seed))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status add_outputs(struct adjoint *a, const struct adjoint_taped *t,
                             const bt_value *given)
{
    for (uint32_t i = 0; i < t->wanted.len; i++) {
        const struct adjoint_output *wanted = &t->wanted.at[i];
        const bt_value *output = given;
        const bt_type *type;
        if (t->wanted.len > 1)
            BT_TRY(bt_build_proj(a->copy.b, given, i, &output));
        BT_TRY(adjoint_type_of(
            a->diff, adjoint_leaf(adjoint_now(a, wanted->old)->type, wanted->leaf),
            &type));
        BT_TRY(adjoint_fit(&a->copy, output, type, &output));
        BT_TRY((wanted->is_sum ? adjoint_set : adjoint_add)(a, wanted->old, wanted->leaf,
                                                            output));
    }
    return NULL;
}

static bt_status backward_paths(struct adjoint *a, const bt_value *old,
                                struct adjoint_taped *t, const adjoint_values *seeds)
{
    struct copy c;
    const bt_value *given;
    if (!t->wanted.len && !adjoint_touches(a->diff, old))
        return NULL;
    for (uint32_t i = 0; i < t->wanted.len; i++) {
        struct adjoint_output *wanted = &t->wanted.at[i];
        adjoint_values now = { 0 };
        BT_TRY(adjoint_split(a, adjoint_now(a, wanted->old), &now));
        wanted->adjoint = wanted->is_sum ? adjoint_of_leaf(a, wanted->old, wanted->leaf)
                                         : now.at[wanted->leaf];
    }
    adjoint_copy_init(a, &c);
    for (uint32_t i = 0; i < t->npath; i++) {
        const adjoint_outputs *sums = &t->paths[i].sums;
        for (uint32_t k = 0; k < sums->len; k++)
            BT_TRY(copy_put(&c, sums->at[k].adjoint,
                            adjoint_of_leaf(a, sums->at[k].old, sums->at[k].leaf)));
    }
    BT_TRY(adjoint_path_backward(a->diff, &c, t->tape, t->npath, t->paths, seeds->at,
                                 t->wanted.len, t->wanted.at, &given));
    return add_outputs(a, t, given);
}

bt_status adjoint_backward(struct adjoint *a, const bt_value *old)
{
    struct adjoint_taped *t = bt_map_find(&a->tapes, old);
    const bt_call *call = bt_as_call(old);
    const bt_global *global = call ? bt_call_global(a->diff->module, call) : NULL;
    adjoint_values seeds = { 0 };
    const bt_value *given;
    if (!t && global && global->kind == BT_GLOBAL_EXTERN)
        return custom_fail(a->diff, old->span, global, 0);
    if (!t)
        return bt_fail_at(a->copy.ctx, BT_ERR_UNSUPPORTED, a->copy.store, old->span,
                          "a %s of a function that is no global of the module has no "
                          "derivative",
                          bt_value_kind_name(old->kind));
    BT_TRY(seeds_of(a, old, &seeds));
    if (!t->pair)
        return backward_paths(a, old, t, &seeds);
    BT_TRY(adjoint_call_backward(a, call, t, &seeds, &given));
    return add_outputs(a, t, given);
}
