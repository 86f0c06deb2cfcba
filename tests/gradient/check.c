/*
 * Derivatives of every operator, at every case.
 *
 *     gradient_check PLUGINS PLUGIN [OPERATOR]
 */
#include <stdio.h>
#include <string.h>

#include "gradient.h"

static bt_status run_cases(struct op_check *w, struct gradient_tally *tally)
{
    const void *facet;
    struct call_case c;
    int is_case;
    BT_TRY(bt_op_facet(w->ctx, w->op, "cases", &facet));
    const char *text = facet ? ((const bt_cases_facet *)facet)->text : "";
    for (;;) {
        BT_TRY(case_next(w->ctx, w->arena, w->op->name, &text, &c, &is_case));
        if (!is_case)
            return NULL;
        BT_TRY(gradient_check(w, &c, tally));
        bt_ctx_clear_diags(w->ctx);
    }
}

static int run_op(bt_ctx *ctx, const char *name)
{
    struct gradient_tally tally = { 0 };
    struct op_check w = { .ctx = ctx, .faults = json_array() };
    w.store = bt_store_create(bt_ctx_registry(ctx));
    w.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status =
        !w.store || !w.arena ? bt_no_memory() : bt_op_get(ctx, name, &w.op);
    if (!status)
        status = run_cases(&w, &tally);
    const size_t nfault = json_array_size(w.faults);
    for (size_t i = 0; i < nfault; i++)
        printf("%s\n", json_string_value(json_array_get(w.faults, i)));
    if (status)
        printf("%s: %s\n", name, status->message);
    printf("%s: %u cases, %u small, %u open, %u of %u points redrawn, %u faults%s%s\n",
           name, tally.ncase, tally.nsmall, tally.nopen, tally.nredrawn, tally.npoint,
           (unsigned)nfault, tally.none ? "; " : "", tally.none ? tally.none : "");
    json_decref(w.faults);
    bt_store_unref(w.store);
    bt_arena_destroy(w.arena);
    return status || nfault;
}

static int run(bt_ctx *ctx, const char *plugin, const char *only)
{
    uint32_t nrun = 0, nwrong = 0;
    bt_status status = bt_plugins_scan(ctx);
    for (uint32_t i = 0; !status && i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        status = bt_provided_at(ctx, "op", i, &item);
        if (status || strcmp(bt_plugin_id(item.plugin), plugin) != 0 ||
            (*only && strcmp(item.name, only) != 0))
            continue;
        nwrong += (uint32_t)run_op(ctx, item.name);
        nrun++;
        fflush(stdout);
    }
    if (status)
        printf("%s\n", status->message);
    printf("%u operators, %u with faults\n", nrun, nwrong);
    return status || nwrong || nrun == 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        printf("usage: gradient_check PLUGINS PLUGIN [OPERATOR]\n");
        return 2;
    }
    bt_registry_options options = { .plugin_only = argv[1], .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    const int failed = ctx ? run(ctx, argv[2], argc > 3 ? argv[3] : "") : 1;
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return failed;
}
