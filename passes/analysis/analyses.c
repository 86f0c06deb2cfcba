/*
 * The analyses that passes may ask for, and views that `baton opt --print` shows, by name.
 */
#include "analysis/cfg.h"
#include "analysis/liveness.h"
#include "analysis/loops.h"
#include "analysis/nesting.h"
#include "analysis/uses.h"
#include "analysis/view.h"

/* ---- effects ---- */

static bt_status compute_effects(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                                 const void **out)
{
    bt_effects *effects = NULL;
    BT_TRY(bt_effects_create(ctx, module, arena, &effects));
    *out = effects;
    return NULL;
}

static bt_status print_effects_of(void *self, const bt_value *value,
                                  const bt_block *block)
{
    static const char *const names[] = { "reads", "writes", "allocates", "random",
                                         "io",    "fails",  "diverges" };
    const struct view *v = self;
    (void)block;
    if (!bt_value_is_binding(value))
        return NULL;
    uint32_t bits = bt_effects_of(v->result, value);
    bt_text_addf(v->text, "    ");
    bt_printer_name(v->printer, value);
    bt_text_addf(v->text, bits ? ":" : ": none");
    for (uint32_t i = 0; i < BT_COUNT(names); i++)
        bt_text_addf(v->text, bits >> i & 1 ? " %s" : "%.0s", names[i]);
    bt_text_addf(v->text, "\n");
    return NULL;
}

static bt_status print_effects_in(const struct view *v, bt_arena *arena)
{
    (void)arena;
    bt_text_addf(v->text, "\n");
    return view_values(v->global->func->block, print_effects_of, (void *)(uintptr_t)v);
}

static bt_status print_effects(bt_ctx *ctx, const bt_module *module, const void *result,
                               bt_text *text)
{
    return view_functions(ctx, module, result, text, print_effects_in);
}

/* ---- calls ---- */

static bt_status compute_callgraph(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                                   const void **out)
{
    const bt_callgraph *graph = NULL;
    BT_TRY(bt_callgraph_create(ctx, module, arena, &graph));
    *out = graph;
    return NULL;
}

/* Components, those referred to first; of each global those that it refers to. */
static bt_status print_callgraph(bt_ctx *ctx, const bt_module *module, const void *result,
                                 bt_text *text)
{
    const bt_callgraph *graph = result;
    (void)ctx;
    for (uint32_t c = 0; c < graph->ncomponent; c++) {
        for (uint32_t i = graph->member_start[c]; i < graph->member_start[c + 1]; i++) {
            uint32_t g = graph->members[i];
            bt_text_addf(text, "@%s%s:", module->globals[g]->name,
                         graph->is_recursive[c] ? " (recursive)" : "");
            for (uint32_t k = graph->edge_start[g]; k < graph->edge_start[g + 1]; k++)
                bt_text_addf(text, "%s@%s", k > graph->edge_start[g] ? ", " : " ",
                             module->globals[graph->edges[k]]->name);
            bt_text_addf(text, "\n");
        }
    }
    return NULL;
}

static const bt_analysis analyses[] = {
    { .name = "effects",
      .doc = "What each binding may do besides giving a value: bt_effects.",
      .compute = compute_effects,
      .print = print_effects },
    { .name = "call-graph",
      .doc = "Which globals refer to which, and the components of that: bt_callgraph.",
      .compute = compute_callgraph,
      .print = print_callgraph },
    { .name = "uses",
      .doc = "How often each value is used, and by what.",
      .compute = uses_compute,
      .print = uses_print },
    { .name = "cfg",
      .doc = "Functions as basic blocks with arguments.",
      .compute = cfg_compute,
      .print = cfg_print },
    { .name = "dominance",
      .doc = "Which basic block each other one can be reached through only.",
      .compute = cfg_compute,
      .print = cfg_print_dominance },
    { .name = "liveness",
      .doc = "Which values each basic block needs from before it.",
      .compute = liveness_compute,
      .print = liveness_print },
    { .name = "loops",
      .doc = "Functions that call themselves in tail position, and while what holds.",
      .compute = loops_compute,
      .print = loops_print },
    { .name = "graph",
      .doc = "Programs as graphs: what is used once stands inside of what uses it.",
      .compute = nesting_compute,
      .print = nesting_print },
    { 0 },
};

const bt_table bt_passes_analysis_analyses[] = { BT_ANALYSES(analyses), { 0 } };
