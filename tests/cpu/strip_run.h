/* Runs calls of strips in programs of loops, and refuses those that would touch what is
 * not theirs. */
#ifndef STRIP_RUN_H
#define STRIP_RUN_H

#include <string.h>

#include "primitives/callee.h"
#include "primitives/strips.h"

#include <baton/loops.h>

struct strip_run {
    bt_ctx *ctx;
    enum cpu_isa isa;
    uint64_t ncall;
};

static inline int begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static inline int ends(const char *name, const char *with)
{
    size_t n = strlen(name), m = strlen(with);
    return n >= m && strcmp(name + n - m, with) == 0;
}

/* Elements of operand `i` before and after its address. */
static inline void strip_reach(const char *name, uint32_t i, const bt_call_value *args,
                               uint32_t naddress, int64_t *low, int64_t *high)
{
    int64_t count = args[naddress].integer;
    int64_t step = naddress + 1 < 8 && (begins(name, "load.") || begins(name, "store."))
                       ? args[naddress + 1].integer
                       : 1;
    *low = 0;
    *high = count - 1;
    int is_strided =
        (begins(name, "load.") && i == 1) || (begins(name, "store.") && i == 0);
    if (is_strided) {
        *low = step < 0 ? (count - 1) * step : 0;
        *high = step < 0 ? 0 : (count - 1) * step;
    }
    int is_acc = (begins(name, "reduce_") || begins(name, "dot.")) && i == 0;
    is_acc |= begins(name, "reduce_arg") && i == 1;
    if (is_acc || (begins(name, "fill.") && i == 1) || (ends(name, ".s") && i == 2) ||
        (ends(name, ".r") && i == 1))
        *high = 0;
    const int64_t *index = naddress > 2 ? args[2].address : NULL;
    if ((begins(name, "gather.") && i == 1) || (begins(name, "scatter.") && i == 0)) {
        *high = -1;
        for (int64_t k = 0; k < count; k++) {
            *low = index[k] < *low ? index[k] : *low;
            *high = index[k] > *high ? index[k] : *high;
        }
    }
}

static inline bt_status strip_call(void *self, const char *callee, uint32_t narg,
                                   const bt_call_value *args)
{
    struct strip_run *run = self;
    struct cpu_callee known, *row = &known;
    void *p[8];
    int64_t n[24];
    if (!cpu_callee_find(run->isa, callee, row) ||
        narg != row->naddress + row->ninteger || row->naddress > 8 || row->ninteger > 24)
        return bt_fail(run->ctx, BT_ERR_VERIFY, "%s is not called so", callee);
    for (uint32_t i = 0; i < row->naddress; i++)
        p[i] = args[i].address;
    for (uint32_t i = 0; i < row->ninteger; i++)
        n[i] = args[row->naddress + i].integer;
    // what others reach is for their own tests
    int is_strip = bt_cpu_strip_find_for(callee, run->isa) != NULL;
    if (is_strip && n[0] < 0)
        return bt_fail(run->ctx, BT_ERR_VERIFY, "%s: %lld elements", callee,
                       (long long)n[0]);
    for (uint32_t i = 0; is_strip && i < row->naddress && n[0]; i++) {
        int64_t low, high, before = args[i].integer;
        strip_reach(callee, i, args, row->naddress, &low, &high);
        if (before + low < 0 || high >= args[i].nelem)
            return bt_fail(run->ctx, BT_ERR_VERIFY,
                           "%s: operand %u reaches %lld to %lld of %lld", callee, i,
                           (long long)low, (long long)high, (long long)args[i].nelem);
    }
    run->ncall++;
    row->run(p, n);
    return NULL;
}

#endif
