/* Branches and matches, forward and backward. */
#include "common/checked.h"
#include "gradients/adjoint_cells.h"
#include "gradients/adjoint_path.h"

/* What a value with paths has kept. */
struct taped {
    uint32_t npath;
    struct adjoint_path *paths;
    const struct adjoint_pair *pair; /* of a call; NULL: of a branch or a match */
    const bt_value *tape;
    adjoint_outputs wanted; /* what some path gives */
};

/* ---- forward ---- */

static bt_status want(struct adjoint *a, struct taped *t,
                      const struct adjoint_output *output)
{
    if (adjoint_output_of(&t->wanted, output->old, output->leaf))
        return NULL;
    return BT_PUSH(a->copy.arena, &t->wanted, *output) ? NULL : bt_no_memory();
}

static bt_status make_paths(struct adjoint *a, const bt_value *old, struct taped *t)
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
                               const struct taped *t, const bt_type *tape,
                               const bt_value **out)
{
    struct copy *c = &a->copy;
    const bt_match *match = bt_as_match(old);
    const bt_value *data;
    const bt_type *both[2] = { NULL, tape }, *type;
    const bt_block **blocks = BT_NEWS(c->arena, const bt_block *, t->npath);
    bt_clause *clauses = BT_NEWS(c->arena, bt_clause, t->npath);
    if (!blocks || !clauses)
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
    if (!match)
        return bt_build_if(c->b, data, blocks[0], blocks[1], out);
    for (uint32_t i = 0; i < t->npath; i++) {
        clauses[i].block = blocks[i];
        BT_TRY(
            copy_pattern(c, match->clauses[i]->pattern, blocks[i], &clauses[i].pattern));
    }
    return bt_build_match(c->b, data, t->npath, clauses, match->otherwise, out);
}

static bt_status forward_paths(struct adjoint *a, const bt_value *old, struct taped *t,
                               const bt_value **out)
{
    bt_adt_def *def;
    const bt_type *tape;
    BT_TRY(make_paths(a, old, t));
    BT_TRY(adjoint_tape_declare(a->diff, a->func->name ? a->func->name : "fn", a->func,
                                &def, &tape));
    BT_TRY(adjoint_tape_define(a->diff, def, a->func, t->npath, t->paths));
    return build_forward(a, old, t, tape, out);
}

/* Single numbers that are no floats are left to passes that run what is known of a program. */
static int is_worth_marking(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    return bt_dtype_is_float(bt_tensor_dtype(type)) ||
           (bt_tensor_dtype(type) && !(shape && shape->n == 0));
}

/* The value for code that is computed again: what reads its tensors is not taken for what the
 * way forward has computed of them. */
static bt_status mark_again(struct adjoint *a, const bt_value *now, const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(now->type);
    *out = now;
    if (!tuple)
        return is_worth_marking(now->type)
                   ? bt_build(a->copy.b, "annotation.again", NULL, &now, 1, out)
                   : NULL;
    const bt_value **fields = BT_NEWS(a->copy.arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++) {
        BT_TRY(bt_build_proj(a->copy.b, now, i, &fields[i]));
        BT_TRY(mark_again(a, fields[i], &fields[i]));
    }
    return bt_build_tuple(a->copy.b, tuple->n, fields, out);
}

/* What the primal gives is stated; and its tape. */
static bt_status type_forward(struct copy *c, const bt_call *old, const bt_call *call,
                              const bt_type **out)
{
    const bt_func_type *func = bt_as_func_type(call->callee->type);
    const bt_type *both[2];
    if (func->nparam && !(func = bt_func_type_open(c->store, func, call->type_args)))
        return bt_store_why(c->ctx, c->store);
    both[1] = bt_as_tuple_type(func->result)->at[1];
    BT_TRY(copy_type(c, old->base.type, &both[0]));
    *out = bt_type_tuple(c->store, 2, both);
    return *out ? NULL : bt_store_why(c->ctx, c->store);
}

/* The result and the tape. again: on the way back. */
static bt_status forward_call(struct adjoint *a, const bt_call *old,
                              const struct taped *t, int again, const bt_value **out)
{
    struct copy *c = &a->copy;
    const bt_value **args;
    const bt_type *type;
    int same;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = old->narg,
                     .ntype_arg = old->ntype_arg };
    BT_TRY(copy_args(c, old, &args, &same));
    for (uint32_t i = 0; again && i < old->narg; i++)
        BT_TRY(mark_again(a, args[i], &args[i]));
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &call.type_args));
    BT_TRY(bt_build_global(c->b, t->pair->forward, &call.callee));
    call.args = args;
    BT_TRY(type_forward(c, old, &call, &type));
    return copy_call_as(c, old, &call, type, out);
}

bt_status adjoint_forward(struct copy *c, const bt_value *old, int *done)
{
    struct adjoint *a = c->state;
    struct taped *t;
    const bt_value *both, *result;
    struct adjoint_pair *pair;
    BT_TRY(adjoint_pair_of(a, old, &pair));
    if ((!adjoint_is_active(a, old) && !adjoint_touches(a->diff, old)) ||
        (!pair && old->kind != BT_VALUE_IF && old->kind != BT_VALUE_MATCH))
        return NULL;
    if (!(t = BT_NEW(c->arena, struct taped)) || !bt_map_put(&a->tapes, old, t))
        return bt_no_memory();
    t->pair = pair;
    if (pair && pair->is_again)
        return NULL;
    BT_TRY(pair ? forward_call(a, bt_as_call(old), t, 0, &both)
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
        if (!adjoint_has(now.at[i]->type))
            continue;
        if (!seed)
            BT_TRY(adjoint_zero(a->diff, &a->copy, now.at[i], now.at[i]->type, &seed));
        if (!BT_PUSH(a->copy.arena, out, seed))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status add_outputs(struct adjoint *a, const struct taped *t,
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

static bt_status backward_paths(struct adjoint *a, const bt_value *old, struct taped *t,
                                const adjoint_values *seeds)
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

/* Adjoints have the types of what the primal was given. */
static bt_status type_backward(struct adjoint *a, const struct taped *t,
                               const bt_type **out)
{
    struct copy *c = &a->copy;
    const uint32_t n = t->wanted.len;
    const bt_type **types = BT_NEWS(c->arena, const bt_type *, n);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const struct adjoint_output *output = &t->wanted.at[i];
        const bt_type *now =
            adjoint_leaf(adjoint_now(a, output->old)->type, output->leaf);
        BT_TRY(adjoint_type_of(a->diff, now, &types[i]));
    }
    *out = n == 1 ? types[0] : bt_type_tuple(c->store, n, types);
    return *out ? NULL : bt_store_why(c->ctx, c->store);
}

/* Those of the call, and what the dims of the seeds are that only the run knows. */
static bt_status type_args(struct adjoint *a, const bt_call *old, const struct taped *t,
                           const adjoint_values *seeds, bt_call *call)
{
    struct copy *c = &a->copy;
    adjoint_types like = { 0 };
    dims_of_type all = { 0 };
    const bt_type *const *own;
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &own));
    for (uint32_t i = 0; i < old->ntype_arg; i++) {
        if (!BT_PUSH(c->arena, &all, own[i]))
            return bt_no_memory();
    }
    BT_TRY(adjoint_leaf_types(a->diff, t->pair->primal->result, &like));
    for (uint32_t i = 0; i < like.len; i++)
        BT_TRY(adjoint_dims_given(a->diff, like.at[i], seeds->at[i]->type, &all));
    call->ntype_arg = all.len;
    call->type_args = all.at;
    return NULL;
}

/* Adds what a sum is before the call: nothing where there is nothing yet, or another argument
 * goes on with it. */
static bt_status begin_sum(struct adjoint *a, struct taped *t,
                           struct adjoint_output *output, adjoint_values *args)
{
    const bt_value *sum = adjoint_of_leaf(a, output->old, output->leaf);
    output->is_sum = !adjoint_output_of(&t->wanted, output->old, output->leaf);
    if (!sum || !output->is_sum) {
        adjoint_values now = { 0 };
        BT_TRY(adjoint_split(a, adjoint_now(a, output->old), &now));
        const bt_value *like = now.at[output->leaf];
        BT_TRY(adjoint_zero(a->diff, &a->copy, like, like->type, &sum));
    }
    return BT_PUSH(a->copy.arena, args, sum) ? NULL : bt_no_memory();
}

static bt_status backward_call(struct adjoint *a, const bt_call *old, struct taped *t,
                               const adjoint_values *seeds)
{
    struct copy *c = &a->copy;
    const bt_type *type;
    const bt_value *given;
    adjoint_values args = { 0 };
    bt_call call = { .callee_kind = BT_CALLEE_VALUE };
    if (t->pair->is_again) {
        BT_TRY(forward_call(a, old, t, 1, &given));
        BT_TRY(bt_build_proj(c->b, given, 1, &t->tape));
    }
    int is_pushed = BT_PUSH(c->arena, &args, t->tape);
    for (uint32_t i = 0; i < seeds->len; i++)
        is_pushed &= BT_PUSH(c->arena, &args, seeds->at[i]);
    if (!is_pushed)
        return bt_no_memory();
    t->wanted = (adjoint_outputs){ 0 };
    for (uint32_t i = 0; i < old->narg; i++) {
        for (uint32_t k = 0; k < bt_type_nleaf(old->args[i]->type); k++) {
            struct adjoint_output output = { old->args[i], k, NULL, 0 };
            if (!t->pair->wants[i] || !adjoint_has(adjoint_leaf(old->args[i]->type, k)))
                continue;
            if (adjoint_sums(t->pair, i, k))
                BT_TRY(begin_sum(a, t, &output, &args));
            if (!BT_PUSH(c->arena, &t->wanted, output))
                return bt_no_memory();
        }
    }
    call.narg = args.len;
    call.args = args.at;
    BT_TRY(type_args(a, old, t, seeds, &call));
    BT_TRY(bt_build_global(c->b, t->pair->backward, &call.callee));
    if (old->ncheck) {
        BT_TRY(type_backward(a, t, &type));
        BT_TRY(checked_call(c, &call, type, &given));
    } else {
        BT_TRY(bt_build_call(c->b, &call, &given));
    }
    return add_outputs(a, t, given);
}

bt_status adjoint_backward(struct adjoint *a, const bt_value *old)
{
    struct taped *t = bt_map_find(&a->tapes, old);
    adjoint_values seeds = { 0 };
    if (!t)
        return bt_fail_at(a->copy.ctx, BT_ERR_UNSUPPORTED, a->copy.store, old->span,
                          "a %s of a function that is no global of the module has no "
                          "derivative",
                          bt_value_kind_name(old->kind));
    BT_TRY(seeds_of(a, old, &seeds));
    return t->pair ? backward_call(a, bt_as_call(old), t, &seeds)
                   : backward_paths(a, old, t, &seeds);
}
