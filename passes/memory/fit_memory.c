/*
 * fit-memory: values are computed again so that a program fits in a budget of memory.
 * Where most bytes live, the value that lives through without being read there, and has the
 * most bytes for the longest time for what it costs to compute it, is computed again where it is
 * read next; with it what it is made of and what is not there any more. Small values are computed
 * before that as soon as they can be (remat_early.c). That is repeated until
 * the tensors fit, packed one beside the other, with what kernels need for themselves. Where that
 * is not enough, copies that stand there become one, and it is chosen anew (remat_merge.c). Calls of
 * primitive functions are what is computed again: this stands behind pass fuse-ops. What they
 * cost their target says, else the work of their operators. Arguments, constants and results are
 * not counted, as computing again does not help there. What fits is an estimate: pass plan-memory
 * has the last word, and fails where the budget is not met (its option max-bytes); what compiles the
 * program has this pass run with a smaller one then.
 * needs    effects
 * keeps    fused, matched
 * option   max-bytes  the budget; 0, the default: none
 * source   T. Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016; M. Kirisame et
 *          al., "Dynamic Tensor Rematerialization", 2021 (bytes and time for the cost)
 */
#include <stdlib.h>

#include "memory/remat.h"

enum { MAX_ROUNDS = 16 };

struct options {
    int64_t max_bytes;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_bytes, INT, "0", 0, INT64_MAX,
                  "that tensors may take at once; 0: as many as they need"),
    { 0 },
};

static void tell(const struct remat_facts *f, const struct remat_plan *before,
                 int64_t from, const struct remat_plan *after, int64_t to)
{
    const double all = remat_ns(before), more = remat_ns(after) - all;
    uint32_t n = 0;
    for (uint32_t s = 0; s < after->steps.len; s++)
        n += after->steps.at[s].kind == REMAT_AGAIN;
    bt_remark(
        f->ctx, BT_REMARK_NOTE,
        bt_fail(
            f->ctx, BT_ERR_LIMIT,
            "fit-memory: tensors take about %lld bytes in place of %lld: %u call%s of "
            "functions come again, about %.1f %% of the time",
            (long long)to, (long long)from, n, n == 1 ? "" : "s",
            all > 0 ? 100 * more / all : 0));
}

/* Packing leaves gaps: where it does not fit yet, as much less may live at once. */
static bt_status fit_packed(struct remat_plan *plan, int64_t max_bytes, int64_t *packed)
{
    int64_t most = max_bytes;
    int fits = 1;
    BT_TRY(remat_pack(plan, packed));
    for (uint32_t i = 0; *packed > max_bytes && fits && most > 0 && i < MAX_ROUNDS; i++) {
        BT_TRY(remat_fit(plan, most, &fits));
        BT_TRY(remat_pack(plan, packed));
        most = plan->peak - (*packed - max_bytes);
    }
    return NULL;
}

static bt_status fit(void *state, const struct remat_facts *f, struct remat_plan *plan,
                     int *is_changed)
{
    const struct options *o = state;
    struct remat_plan merged;
    int64_t from, packed, less;
    int is_merged = 0;
    BT_TRY(remat_costs(f, plan));
    BT_TRY(remat_pack(plan, &from));
    const struct remat_plan before = *plan;
    if (from > o->max_bytes)
        BT_TRY(remat_early(plan, is_changed));
    merged = *plan;
    BT_TRY(fit_packed(plan, o->max_bytes, &packed));
    *is_changed |= plan->steps.len != before.steps.len;
    if (packed > o->max_bytes)
        BT_TRY(remat_merge(f, &merged, &is_merged));
    if (is_merged) {
        BT_TRY(fit_packed(&merged, o->max_bytes, &less));
        if (less < packed) {
            *plan = merged;
            packed = less;
            *is_changed = 1;
        }
    }
    if (*is_changed)
        tell(f, &before, from, plan, packed);
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct options o = *(const struct options *)call->options;
    if (!o.max_bytes) {
        *out = bt_module_ref(call->module);
        return NULL;
    }
    return remat_run(ctx, call, fit, &o, out);
}

static const bt_pass passes[] = {
    {
        .name = "fit-memory",
        .doc =
            "Values are computed again so that a program fits in a budget of memory.\n"
            "before\n"
            "    def @main(%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32]) {\n"
            "        %0 = @layer(%x, %w);\n"
            "        %1 = @layer(%0, %w);\n"
            "        %2 = @layer(%1, %w);\n"
            "        %3 = @layer(%2, %w);\n"
            "        @layer(%3, %0)\n"
            "    }\n"
            "    def @layer(%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32], "
            "primitive=1) { nn.dense(%x, %w) }\n"
            "after, with {max-bytes=512}\n"
            "    def @main(%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32]) {\n"
            "        %0 = @layer(%x, %w);\n"
            "        %1 = @layer(%0, %w);\n"
            "        %2 = @layer(%1, %w);\n"
            "        %3 = @layer(%2, %w);\n"
            "        %4 = @layer(%x, %w);\n"
            "        @layer(%3, %4)\n"
            "    }\n"
            "    def @layer(%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32], "
            "primitive=1) { nn.dense(%x, %w) }",
        .level = 1,
        .needs = "effects",
        .keeps = "fused matched",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_memory_fit_memory[] = { BT_PASSES(passes), { 0 } };
