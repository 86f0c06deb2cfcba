#include "memory/plan_limit.h"

#include <baton/compiled.h>
#include <baton/compute.h>
#include <baton/op.h>

#include "memory/pieces.h"

enum { MAX_NAMED = 4 };

/* INT64_MAX: it has no bound. */
static int64_t bound_of(const bt_type *dim)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    return high;
}

static void grow(int64_t *sum, int64_t more)
{
    if (!bt_add_int64(*sum, more, sum))
        *sum = INT64_MAX;
}

/* Bytes of the storage in which tensors lie that do not outlive the function. */
static bt_status add_storage(bt_arena *arena, uint32_t n, const bt_live_range *ranges,
                             int64_t *out)
{
    bt_map seen;
    bt_map_init(&seen, arena, 0);
    *out = 0;
    for (uint32_t i = 0; i < n; i++) {
        const bt_call *storage = ranges[i].storage;
        if (!pieces_is_placed(&ranges[i]) || bt_map_find(&seen, storage))
            continue;
        if (!bt_map_put(&seen, storage, (void *)1))
            return bt_no_memory();
        grow(out, bound_of(bt_call_dim(storage, "size")));
    }
    return NULL;
}

/* The binding where most bytes live. */
static bt_status find_peak(bt_arena *arena, uint32_t n, const bt_live_range *ranges,
                           uint32_t *out)
{
    uint32_t nposition = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (pieces_is_placed(&ranges[i]) && ranges[i].last >= nposition)
            nposition = ranges[i].last + 1;
    }
    double *change = BT_NEWS(arena, double, nposition + 1), sum = 0, most = -1;
    if (!change)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (!pieces_is_placed(&ranges[i]))
            continue;
        change[ranges[i].first] += (double)bound_of(ranges[i].nbytes);
        change[ranges[i].last + 1] -= (double)bound_of(ranges[i].nbytes);
    }
    *out = 0;
    for (uint32_t p = 0; p < nposition; p++) {
        sum += change[p];
        if (sum > most) {
            most = sum;
            *out = p;
        }
    }
    return NULL;
}

/* Its own name, else that of the kernel that writes it first. */
static void add_name(const bt_func *func, const bt_live_range *range, bt_text *out)
{
    const char *name = range->tensor->base.name, *kernel = NULL;
    if (!name && range->first < func->block->nbinding)
        kernel = bt_invoke_kernel(func->block->bindings[range->first]);
    bt_text_addf(out, "%s%s%s of %lld", out->len ? ", " : "", name ? "%" : "",
                 name     ? name
                 : kernel ? kernel
                          : "_",
                 (long long)bound_of(range->nbytes));
}

/* The largest that live there, the first of equals. */
static void name_largest(const bt_func *func, uint32_t n, const bt_live_range *ranges,
                         uint32_t at, bt_text *out)
{
    int64_t below = INT64_MAX;
    uint32_t last = UINT32_MAX;
    for (uint32_t k = 0; k < MAX_NAMED; k++) {
        const bt_live_range *best = NULL;
        for (uint32_t i = 0; i < n; i++) {
            const int64_t nbytes = bound_of(ranges[i].nbytes);
            if (pieces_is_placed(&ranges[i]) && ranges[i].first <= at &&
                at <= ranges[i].last &&
                (nbytes < below || (nbytes == below && last != UINT32_MAX && i > last)) &&
                (!best || nbytes > bound_of(best->nbytes)))
                best = &ranges[i];
        }
        if (!best)
            return;
        below = bound_of(best->nbytes);
        last = (uint32_t)(best - ranges);
        add_name(func, best, out);
    }
}

/* ---- what a function needs ---- */

/* Bytes while a function runs, with the functions that it calls: those of tensors that end with
 * their block, and those of what outlives it, on the heap. INT64_MAX: they have no bound. */
struct need {
    int64_t own, frames, heap;
};

struct checker {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_map needs; /* global -> struct need; those that are called are there first */
    int64_t most;
};

/* The tensors that a result is made of, as far as they are in sight. */
static bt_status find_results(struct checker *c, const bt_value *result, bt_map *out)
{
    bt_vec(const bt_value *) rest = { 0 };
    if (!BT_PUSH(c->arena, &rest, result))
        return bt_no_memory();
    while (rest.len) {
        const bt_value *value = rest.at[--rest.len];
        const bt_tuple_value *tuple = bt_as_tuple(value);
        const bt_call *view = bt_as_op_call(value, "memory.view");
        if (view && !BT_PUSH(c->arena, &rest, view->args[0]))
            return bt_no_memory();
        for (uint32_t i = 0; tuple && i < tuple->nfield; i++) {
            if (!BT_PUSH(c->arena, &rest, tuple->fields[i]))
                return bt_no_memory();
        }
        if (!tuple && !view && !bt_map_put(out, value, (void *)1))
            return bt_no_memory();
    }
    return NULL;
}

/* Of a function that is called results count too: its caller holds them. */
static bt_status add_heap(struct checker *c, const bt_func *func, int is_called,
                          uint32_t n, const bt_live_range *ranges, int64_t *out)
{
    bt_map results;
    bt_map_init(&results, c->arena, 0);
    if (!is_called)
        BT_TRY(find_results(c, func->block->result, &results));
    for (uint32_t i = 0; i < n; i++) {
        if (ranges[i].escapes && !bt_map_find(&results, ranges[i].tensor))
            grow(out, bound_of(ranges[i].nbytes));
    }
    return NULL;
}

/* What is computed outside of kernels, or by another function. */
static bt_status add_call(struct checker *c, const bt_call *call, int64_t *deepest,
                          struct need *to)
{
    const bt_global *callee = bt_call_global(c->module, call);
    if (bt_value_is_memory_call(&call->base) || call->callee_kind == BT_CALLEE_CTOR)
        return NULL;
    if (call->callee_kind == BT_CALLEE_OP || bt_module_primitive(c->module, call)) {
        const int64_t nbytes = bt_type_nbytes(call->base.type);
        if (!bt_type_is_scalar(call->base.type))
            grow(&to->heap, nbytes < 0 ? INT64_MAX : nbytes);
        return NULL;
    }
    if (!callee || callee->kind != BT_GLOBAL_FUNC)
        return bt_fail_at(c->ctx, BT_ERR_LIMIT, c->module->store, call->base.span,
                          "plan-memory: a budget of %lld bytes cannot be promised: which "
                          "function is called here, only a run knows",
                          (long long)c->most);
    const struct need *need = bt_map_find(&c->needs, callee);
    if (!need) // it leads back to itself
        return bt_fail_at(c->ctx, BT_ERR_LIMIT, c->module->store, callee->span,
                          "plan-memory: a budget of %lld bytes cannot be promised: @%s "
                          "calls itself, and how often, only a run knows: leave the "
                          "budget out, or write the loop out",
                          (long long)c->most, callee->name);
    *deepest = need->frames > *deepest ? need->frames : *deepest;
    grow(&to->heap, need->heap);
    return NULL;
}

static bt_status find_need(struct checker *c, const bt_func *func, int is_called,
                           struct need *out)
{
    uint32_t n;
    bt_live_range *ranges;
    bt_blocks blocks = { 0 };
    int64_t deepest = 0;
    *out = (struct need){ 0 };
    BT_TRY(bt_live_ranges(c->ctx, c->arena, func, &n, &ranges));
    BT_TRY(add_storage(c->arena, n, ranges, &out->own));
    BT_TRY(add_heap(c, func, is_called, n, ranges, &out->heap));
    BT_TRY(bt_block_nested(c->arena, func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_call *call = bt_as_call(blocks.at[b]->bindings[i]);
            if (call)
                BT_TRY(add_call(c, call, &deepest, out));
        }
    }
    out->frames = out->own;
    grow(&out->frames, deepest);
    return NULL;
}

/* ---- against the budget ---- */

static bt_status name_peak(struct checker *c, const bt_func *func, bt_text *out)
{
    uint32_t n, at;
    bt_live_range *ranges;
    BT_TRY(bt_live_ranges(c->ctx, c->arena, func, &n, &ranges));
    BT_TRY(find_peak(c->arena, n, ranges, &at));
    name_largest(func, n, ranges, at, out);
    return bt_text_get(out) ? NULL : bt_no_memory();
}

static bt_status check_need(struct checker *c, const bt_func *func,
                            const struct need *need)
{
    int64_t found = need->frames;
    bt_text names;
    grow(&found, need->heap);
    if (found <= c->most)
        return NULL;
    bt_text_init(&names, c->arena);
    BT_TRY(name_peak(c, func, &names));
    if (found == INT64_MAX)
        return bt_fail_at(c->ctx, BT_ERR_LIMIT, c->module->store, func->span,
                          "plan-memory: a budget of %lld bytes is for tensors whose dims "
                          "have bounds; --dim gives numbers for them",
                          (long long)c->most);
    if (found > need->own)
        bt_text_addf(&names,
                     "; %lld are of functions that are called, %lld outlive blocks",
                     (long long)(need->frames - need->own), (long long)need->heap);
    if (!bt_text_get(&names))
        return bt_no_memory();
    return bt_fail_at(
        c->ctx, BT_ERR_LIMIT, c->module->store, func->span,
        "plan-memory: a budget of %lld bytes is not met: tensors take %lld, "
        "most of them where these live: %s",
        (long long)c->most, (long long)found, bt_text_get(&names));
}

bt_status plan_limit_check(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                           int64_t most)
{
    struct checker c = { .ctx = ctx, .arena = arena, .module = module, .most = most };
    uint8_t *is_called = BT_NEWS(arena, uint8_t, module->nglobal);
    const bt_callgraph *graph;
    BT_TRY(bt_callgraph_create(ctx, module, arena, &graph));
    bt_map_init(&c.needs, arena, 0);
    if (!is_called)
        return bt_no_memory();
    for (uint32_t i = 0; i < graph->edge_start[module->nglobal]; i++)
        is_called[graph->edges[i]] = 1;
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const uint32_t g = graph->members[i];
        const bt_global *global = module->globals[g];
        struct need *need = BT_NEW(arena, struct need);
        if (global->kind != BT_GLOBAL_FUNC || bt_func_is_primitive(global->func))
            continue;
        if (!need)
            return bt_no_memory();
        BT_TRY(find_need(&c, global->func, is_called[g], need));
        if (!bt_map_put(&c.needs, global, need))
            return bt_no_memory();
        if (!is_called[g])
            BT_TRY(check_need(&c, global->func, need));
    }
    return NULL;
}
