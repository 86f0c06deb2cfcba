/*
 * unroll: put the iterations of a short loop one behind the other.
 * A loop is a function, global or a closure in sight, that calls itself in tail position
 * only as long as a comparison of a counter with a number holds. Where a call begins with a
 * number from which that holds at most max-trips times, and all iterations have at most
 * max-bindings bindings, they take the place of the call; what follows from the counter is
 * computed. Where it calls itself at several places, each has a copy of what comes behind
 * it. All copies in a program together are bounded by 65536 bindings. dead-code
 * drops the loop.
 * needs    loops
 * keeps    every invariant
 * option   max-trips      most iterations, default 8, at most 64
 * option   max-bindings   most bindings of all iterations, default 64
 */
#include "analysis/loops.h"
#include "common/evaluate.h"
#include "common/rewrite_slots.h"

struct options {
    int64_t max_trips, max_bindings;
};

enum { MAX_TRIPS = 64 };         /* copies stand within copies while they are made */
enum { MAX_BINDINGS = 1 << 16 }; /* of all copies */
enum { MAX_NBYTES = 64 };        /* of what is computed from a counter */

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_trips, INT, "8", 0, MAX_TRIPS, "most iterations"),
    BT_ATTR_RANGE(struct options, max_bindings, INT, "64", 0, MAX_BINDINGS,
                  "most bindings of all iterations"),
    { 0 },
};

struct unroller {
    const bt_module *module;
    const struct loops *loops;
    bt_arena *arena;
    uint32_t depth;  /* of copies in copies */
    uint64_t copied; /* bindings */
    uint64_t budget; /* of the loop at hand, what is left of it */
};

/* ---- which calls ---- */

/* How many bindings a function has. */
static bt_status measure(struct unroller *u, const bt_func *func, uint64_t *out)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(u->arena, func->block, &blocks));
    *out = 0;
    for (uint32_t b = 0; b < blocks.len; b++)
        *out += blocks.at[b]->nbinding;
    return NULL;
}

static const struct loop *loop_of(const struct unroller *u, const bt_call *call)
{
    const bt_value *callee =
        call->callee_kind == BT_CALLEE_VALUE && !call->ncheck ? call->callee : NULL;
    const bt_closure_value *closure = bt_as_closure(callee);
    const bt_global *global = bt_module_global(u->module, callee);
    const bt_func *func = closure ? closure->func : global ? global->func : NULL;
    const struct loop *loop = func ? bt_map_find(&u->loops->by_func, func) : NULL;
    if (!loop || !loop->has_end || func->nvar != call->ntype_arg ||
        func->result != func->block->result->type || (closure && closure->group->n != 1))
        return NULL;
    return loop;
}

/* Bindings of all copies of a loop that goes on so often: each has a copy behind each of its
 * ways back, as which is taken may not be known. More than any limit where it overflows. */
static uint64_t size_of_copies(const struct loop *loop, uint64_t size, int64_t ntrip)
{
    uint64_t all = size;
    for (int64_t i = 0; i < ntrip && all <= MAX_BINDINGS; i++)
        all = all * loop->nback + size;
    return all;
}

/* How often the loop goes on from this call; -1: that is not known, or too often. In a copy
 * it has what is left of the budget of the whole. */
static bt_status count_trips(bt_rewrite *rewrite, const struct loop *loop,
                             const bt_value *start, int64_t *out)
{
    struct unroller *u = bt_rewrite_state(rewrite);
    const struct options *o = bt_rewrite_call(rewrite)->options;
    int64_t from;
    uint64_t size;
    *out = -1;
    if (!loop_integer(u->module, start, &from) || u->depth > MAX_TRIPS)
        return NULL;
    int has_room;
    int64_t ntrip = loop_trips(loop, from);
    if (ntrip < 0 || ntrip > o->max_trips)
        return NULL;
    BT_TRY(rewrite_has_room(rewrite, u->arena, loop->func, &has_room));
    if (!has_room)
        return NULL;
    BT_TRY(measure(u, loop->func, &size));
    if (!u->depth)
        u->budget = (uint64_t)o->max_bindings;
    if (size_of_copies(loop, size, ntrip) > u->budget || u->copied + size > MAX_BINDINGS)
        return NULL;
    u->copied += size;
    u->budget -= size;
    *out = ntrip;
    return NULL;
}

static bt_status unroll(bt_rewrite *rewrite, const bt_call *call, const struct loop *loop,
                        const bt_value **out)
{
    struct unroller *u = bt_rewrite_state(rewrite);
    const bt_value **args = BT_NEWS(u->arena, const bt_value *, call->narg);
    int64_t ntrip;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &args[i]));
    BT_TRY(count_trips(rewrite, loop, args[loop->counter], &ntrip));
    if (ntrip < 0)
        return NULL;
    u->depth++;
    bt_status status = bt_rewrite_inline_func(rewrite, loop->func, call->ntype_arg,
                                              call->type_args, call->narg, args, out);
    u->depth--;
    return status;
}

/* ---- what follows from a counter ---- */

/* A small call of integers and truth values: what a count, an index or a shape is made of. */
static bt_status fold(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    const struct unroller *u = bt_rewrite_state(rewrite);
    leaf_list leaves = { 0 };
    if (call->op->effects || call->ncheck || bt_type_layout(call->base.type) ||
        evaluate_nbytes(call->base.type) > MAX_NBYTES)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++) {
        int is_const = evaluate_nbytes(call->args[i]->type) <= MAX_NBYTES;
        if (is_const)
            BT_TRY(evaluate_operand(rewrite, call->args[i], &leaves, &is_const));
        if (!is_const)
            return NULL;
    }
    for (uint32_t i = 0; i < leaves.len; i++) {
        bt_dtype dtype = leaves.at[i]->dtype;
        if (BT_DTYPE_CLASS(dtype) != BT_CLASS_INT && dtype != BT_BOOL)
            return NULL;
    }
    return call->narg
               ? evaluate_call(bt_rewrite_builder(rewrite), u->arena, call, &leaves, out)
               : NULL;
}

static bt_status unroll_call(bt_rewrite *rewrite, const bt_call *call,
                             const bt_value **out)
{
    const struct unroller *u = bt_rewrite_state(rewrite);
    if (u->depth && call->callee_kind == BT_CALLEE_OP)
        return fold(rewrite, call, out);
    const struct loop *loop = loop_of(u, call);
    return loop ? unroll(rewrite, call, loop, out) : NULL;
}

static bt_status take_side(bt_rewrite *rewrite, const bt_if *branch, const bt_value **out)
{
    const struct unroller *u = bt_rewrite_state(rewrite);
    const bt_value *now;
    if (!u->depth)
        return NULL;
    BT_TRY(bt_rewrite_operand(rewrite, branch->condition, &now));
    const bt_tensor *condition = bt_const_tensor(bt_module_constant(u->module, now));
    return condition
               ? bt_rewrite_inline(rewrite,
                                   bt_tensor_get_int(condition, 0) ? branch->then_block
                                                                   : branch->else_block,
                                   0, NULL, out)
               : NULL;
}

static const bt_rewriter rewriter = { .call_ = unroll_call, .if_ = take_side };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct unroller u = { .module = call->module, .arena = call->scratch };
    const void *loops;
    BT_TRY(bt_pass_analysis(ctx, call, "loops", &loops));
    u.loops = loops;
    return bt_rewrite_module(ctx, call, &rewriter, &u, out);
}

static const bt_pass passes[] = {
    {
        .name = "unroll",
        .doc = "Put the iterations of a short loop one behind the other.\n"
               "before\n"
               "    def @loop(%i: int32, %x: float32) -> float32 {\n"
               "        if (less(%i, 2)) { @loop(add(%i, 1), exp(%x)) } else { %x }\n"
               "    }\n"
               "    def @main(%x: float32) { @loop(0, %x) }\n"
               "after\n"
               "    def @loop(%i: int32, %x: float32) -> float32 {\n"
               "        if (less(%i, 2)) { @loop(add(%i, 1), exp(%x)) } else { %x }\n"
               "    }\n"
               "    def @main(%x: float32) { exp(exp(%x)) }",
        .level = 3,
        .needs = "loops",
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_loops_unroll[] = { BT_PASSES(passes), { 0 } };
