#include "print_view.h"

#include <baton/pass.h>

static bt_status show(bt_ctx *ctx, const bt_module *module, const bt_analysis *analysis,
                      bt_arena *arena, bt_text *text)
{
    const void *result;
    BT_TRY(analysis->compute(ctx, module, arena, &result));
    BT_TRY(analysis->print(ctx, module, result, text));
    return bt_text_get(text) ? NULL : bt_no_memory();
}

int print_view(struct tool *tool, const bt_module *module, const char *name)
{
    const void *row;
    bt_text text;
    TRY_TOOL(tool, bt_registry_row(tool->ctx, "baton.analysis/1", name,
                                   sizeof(bt_analysis), &row));
    const bt_analysis *analysis = row;
    if (!analysis->print)
        return tool_usage(
            tool, "--print %s: this analysis is for passes, it shows nothing", name);
    bt_arena *arena = bt_arena_create(bt_ctx_registry(tool->ctx));
    if (!arena)
        return tool_fail(tool, bt_no_memory());
    bt_text_init(&text, arena);
    bt_status status = show(tool->ctx, module, analysis, arena, &text);
    if (!status)
        fputs(text.at, stdout);
    bt_arena_destroy(arena);
    return status ? tool_fail(tool, status) : EXIT_OK;
}
