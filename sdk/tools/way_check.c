#include "way_check.h"

#include <string.h>

#include <baton/cpu.h>
#include <baton/op.h>

#include "case_run.h"
#include "watchdog.h"

/* One way. */
struct way_check {
    struct op_check w;
    uint32_t ncase, nwrong;
};

enum { MAX_PRINTED = 3 };

static void tell_faults(struct way_check *c, const char *op, const char *line)
{
    const size_t n = json_array_size(c->w.faults);
    if (n && c->nwrong++ < MAX_PRINTED) {
        printf("  FAILED  %s: %s\n", op, line);
        for (size_t i = 0; i < n; i++) {
            const char *fault = json_string_value(json_array_get(c->w.faults, i));
            print_below(fault ? fault : "no memory");
        }
    }
    json_array_clear(c->w.faults);
    bt_ctx_clear_diags(c->w.ctx);
}

static bt_status try_case(struct way_check *c, const struct call_case *one)
{
    struct call_result r;
    const char *executor, *why;
    const uint32_t before = c->w.nway;
    bt_status status = call_run(&c->w, one, 1, CASE_RANDOM, &r);
    json_array_clear(c->w.faults); // they are the operator's own
    if (!status && r.call && !r.why) {
        watchdog_begin("way %s, operator %s: %s", c->w.way, c->w.op->name, one->line);
        status = call_run_compiled(&c->w, one, &r, &executor, &why);
        watchdog_end();
    }
    c->ncase += c->w.nway > before || json_array_size(c->w.faults);
    call_result_free(&r);
    return status;
}

static bt_status try_op(struct way_check *c, const char *name)
{
    const void *facet;
    struct call_case one;
    int is_case;
    BT_TRY(bt_op_get(c->w.ctx, name, &c->w.op));
    BT_TRY(bt_op_facet(c->w.ctx, c->w.op, "cases", &facet));
    const char *text = facet ? ((const bt_cases_facet *)facet)->text : "";
    for (;;) {
        const void *mark = bt_arena_mark(c->w.arena);
        BT_TRY(case_next(c->w.ctx, c->w.arena, name, &text, &one, &is_case));
        if (!is_case)
            return NULL;
        BT_TRY(try_case(c, &one));
        tell_faults(c, name, one.line);
        bt_arena_release(c->w.arena, mark);
    }
}

static bt_status try_way(struct way_check *c)
{
    bt_ctx *ctx = c->w.ctx;
    for (uint32_t i = 0; i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(ctx, "op", i, &item));
        bt_status status = try_op(c, item.name);
        if (status && status->code == BT_ERR_MEMORY)
            return status;
        bt_ctx_clear_diags(ctx); // what is wrong with the operator is its own plugin's
    }
    return NULL;
}

/* A way that cannot be used at all fails alike for each case: it is told once. */
static bt_status find_way(bt_ctx *ctx, const char *name)
{
    const void *row;
    BT_TRY(bt_registry_row(ctx, BT_CPU_WAY_INTERFACE, name, sizeof(bt_cpu_way), &row));
    if (!strchr(name, '.'))
        return bt_fail(ctx, BT_ERR_PLUGIN, "its name has no dot");
    return ((const bt_cpu_way *)row)->make
               ? NULL
               : bt_fail(ctx, BT_ERR_PLUGIN, "it does not state make");
}

static int check_way(struct tool *tool, const char *name, struct guard *guard,
                     uint32_t *nbroken)
{
    bt_registry *registry = bt_ctx_registry(tool->ctx);
    bt_provided cpu;
    struct way_check c = { .w = { .ctx = tool->ctx,
                                  .store = bt_store_create(registry),
                                  .arena = bt_arena_create(registry),
                                  .faults = json_array(),
                                  .guard = guard,
                                  .is_brief = 1,
                                  .way = name } };
    bt_status status =
        c.w.store && c.w.arena && c.w.faults ? find_way(tool->ctx, name) : bt_no_memory();
    const int is_tried = find_provided(tool->ctx, "target", "cpu", &cpu);
    printf("way %s of target cpu\n", name);
    (void)fflush(stdout); // what comes may crash
    if (!status && is_tried)
        status = try_way(&c);
    if (status && status->code != BT_ERR_MEMORY) {
        printf("  FAILED  %s\n", status->message);
        c.nwrong++;
        status = NULL;
    } else if (!status && !is_tried) {
        printf("  not tried: there is no target cpu here\n");
    } else if (!status) {
        printf("  %u case%s of operators, %u wrong%s\n", c.ncase, PLURAL(c.ncase),
               c.nwrong, c.ncase ? "" : ": it has a program for none of them");
    }
    *nbroken += c.nwrong > 0;
    bt_ctx_clear_diags(tool->ctx);
    json_decref(c.w.faults);
    bt_store_unref(c.w.store);
    bt_arena_destroy(c.w.arena);
    return status ? tool_fail(tool, status) : EXIT_OK;
}

int check_ways(struct tool *tool, const char *plugin, struct guard *guard,
               uint32_t *nbroken)
{
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, BT_CPU_WAY_INTERFACE); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, BT_CPU_WAY_INTERFACE, i, &item));
        const int code = strcmp(bt_plugin_id(item.plugin), plugin) == 0
                             ? check_way(tool, item.name, guard, nbroken)
                             : EXIT_OK;
        if (code)
            return code;
    }
    return EXIT_OK;
}
