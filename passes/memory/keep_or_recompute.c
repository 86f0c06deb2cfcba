/*
 * keep-or-recompute: what a backward pass reads is kept, or computed again.
 * The values that live where most bytes do are those that a forward pass leaves for the
 * backward pass. By a minimum cut in bytes it is decided which of them are kept; maps, moves
 * of elements and fills (Threefry's random numbers too) are computed again from these where
 * they are read. Contractions, reductions, scatters, plain C and calls never are. What is
 * forward is found from lives alone, and not from marks: an adjoint need not depend on its
 * seed any more once that is folded, and other long lives are worth as much.
 * needs    effects
 * keeps    fused, matched
 * source   remat_cut.c
 */
#include "memory/remat.h"

enum { MAX_CUTS = 4 };

static bt_status cut(void *state, const struct remat_facts *f, struct remat_plan *plan,
                     int *is_changed)
{
    int is_better = 1;
    (void)state, (void)f;
    for (uint32_t i = 0; i < MAX_CUTS && is_better; i++) {
        BT_TRY(remat_cut(plan, &is_better));
        *is_changed |= is_better;
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return remat_run(ctx, call, cut, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "keep-or-recompute",
        .doc =
            "What a backward pass reads is kept, or computed again.\n"
            "before\n"
            "    def @main(%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32]) {\n"
            "        %0 = nn.dense(%x, %w);\n"
            "        %1 = tanh(%0);\n"
            "        %2 = nn.dense(%1, %w);\n"
            "        %3 = nn.dense(%2, %w);\n"
            "        %4 = nn.dense(%3, %0);\n"
            "        nn.dense(%4, %1)\n"
            "    }\n"
            "after\n"
            "    def @main(%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32]) {\n"
            "        %0 = nn.dense(%x, %w);\n"
            "        %1 = tanh(%0);\n"
            "        %2 = nn.dense(%1, %w);\n"
            "        %3 = nn.dense(%2, %w);\n"
            "        %4 = nn.dense(%3, %0);\n"
            "        %5 = tanh(%0);\n"
            "        nn.dense(%4, %5)\n"
            "    }",
        .level = 1,
        .needs = "effects",
        .keeps = "fused matched",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_memory_keep_or_recompute[] = { BT_PASSES(passes), { 0 } };
