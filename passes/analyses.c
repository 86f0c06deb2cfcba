/*
 * The analyses that passes may ask for, by name; the kernel computes them.
 */
#include <baton/pass.h>

static bt_status compute_effects(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                                 const void **out)
{
    bt_effects *effects = NULL;
    BT_TRY(bt_effects_create(ctx, module, arena, &effects));
    *out = effects;
    return NULL;
}

static bt_status compute_callgraph(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                                   const void **out)
{
    const bt_callgraph *graph = NULL;
    BT_TRY(bt_callgraph_create(ctx, module, arena, &graph));
    *out = graph;
    return NULL;
}

static const bt_analysis analyses[] = {
    { .name = "effects",
      .doc = "What each binding may do besides giving a value: bt_effects.",
      .compute = compute_effects },
    { .name = "call-graph",
      .doc = "Which globals refer to which, and the components of that: bt_callgraph.",
      .compute = compute_callgraph },
    { 0 },
};

const bt_table bt_passes_analyses[] = { BT_ANALYSES(analyses), { 0 } };
