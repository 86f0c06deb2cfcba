#include "memory/plan_limit.h"

#include <baton/compiled.h>
#include <baton/op.h>

enum { MOST_NAMED = 4 };

/* INT64_MAX: it has no bound. */
static int64_t bound_of(const bt_type *dim)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    return high;
}

static int is_shared(const bt_live_range *range)
{
    return !range->escapes && range->first <= range->last;
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
        if (!is_shared(&ranges[i]) || bt_map_find(&seen, storage))
            continue;
        if (!bt_map_put(&seen, storage, (void *)1))
            return bt_no_memory();
        if (!bt_add_int64(*out, bound_of(bt_call_dim(storage, "size")), out))
            *out = INT64_MAX;
    }
    return NULL;
}

/* The binding where most bytes live. */
static bt_status find_peak(bt_arena *arena, uint32_t n, const bt_live_range *ranges,
                           uint32_t *out)
{
    uint32_t nposition = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (is_shared(&ranges[i]) && ranges[i].last >= nposition)
            nposition = ranges[i].last + 1;
    }
    double *change = BT_NEWS(arena, double, nposition + 1), sum = 0, most = -1;
    if (!change)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (!is_shared(&ranges[i]))
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
    for (uint32_t k = 0; k < MOST_NAMED; k++) {
        const bt_live_range *best = NULL;
        for (uint32_t i = 0; i < n; i++) {
            const int64_t nbytes = bound_of(ranges[i].nbytes);
            if (is_shared(&ranges[i]) && ranges[i].first <= at && at <= ranges[i].last &&
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

static bt_status check_func(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                            const bt_func *func, int64_t most)
{
    uint32_t n, at;
    bt_live_range *ranges;
    int64_t found;
    bt_text names;
    BT_TRY(bt_live_ranges(ctx, arena, func, &n, &ranges));
    BT_TRY(add_storage(arena, n, ranges, &found));
    if (found <= most)
        return NULL;
    bt_text_init(&names, arena);
    BT_TRY(find_peak(arena, n, ranges, &at));
    name_largest(func, n, ranges, at, &names);
    if (!bt_text_get(&names))
        return bt_no_memory();
    if (found == INT64_MAX)
        return bt_fail_at(ctx, BT_ERR_LIMIT, module->store, func->span,
                          "plan-memory: a budget of %lld bytes is for tensors whose dims "
                          "have bounds; --dim gives numbers for them",
                          (long long)most);
    return bt_fail_at(
        ctx, BT_ERR_LIMIT, module->store, func->span,
        "plan-memory: a budget of %lld bytes is not met: tensors take %lld, "
        "most of them where these live: %s",
        (long long)most, (long long)found, bt_text_get(&names));
}

bt_status plan_limit_check(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                           int64_t most)
{
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const bt_global *global = module->globals[i];
        if (global->kind == BT_GLOBAL_FUNC && global->func &&
            !bt_func_is_primitive(global->func))
            BT_TRY(check_func(ctx, arena, module, global->func, most));
    }
    return NULL;
}
