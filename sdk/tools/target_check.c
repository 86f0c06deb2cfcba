#include "target_check.h"

#include <string.h>

#include <baton/compiled.h>
#include <baton/pass.h>
#include <baton/plugin.h>

#include "target_queues.h"

/* A pattern of an operator that does not exist, or with a wrong number of arguments,
 * never matches, and nothing else would say so. */
static uint32_t check_pattern(struct tool *tool, const char *text)
{
    const bt_call_pattern *pattern;
    bt_status status =
        bt_call_pattern_parse(tool->ctx, bt_ctx_scratch(tool->ctx), text, &pattern);
    if (!status)
        status = bt_call_pattern_check(tool->ctx, pattern);
    if (status)
        printf("  FAILED  pattern %s: %s\n", text, status->message);
    bt_ctx_clear_diags(tool->ctx);
    return status != NULL;
}

static uint32_t try_queues(struct tool *tool, const bt_target_use *use)
{
    const char *fault, *why;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(tool->ctx));
    bt_status status =
        arena ? check_queues(tool->ctx, arena, use, &fault, &why) : bt_no_memory();
    if (status)
        fault = status->message;
    if (fault)
        printf("  FAILED  queues: %s\n", fault);
    else
        printf("  queues  %s%s\n", why ? "not tried: " : "keep the order of commands",
               why ? why : "");
    bt_ctx_clear_diags(tool->ctx);
    bt_arena_destroy(arena);
    return fault != NULL;
}

static uint32_t check_target(struct tool *tool, const char *name)
{
    const char *const *patterns;
    bt_targets *opened;
    uint32_t npattern = 0, nfault = 0;
    bt_status status = bt_targets_open(tool->ctx, name, &opened);
    if (status) {
        printf("target %s\n  FAILED  it does not open: %s\n", name, status->message);
        bt_ctx_clear_diags(tool->ctx);
        return 1;
    }
    patterns = opened->at[0]->target->patterns;
    while (patterns && patterns[npattern])
        npattern++;
    printf("target %s: opens, %u pattern%s\n", name, npattern, PLURAL(npattern));
    for (uint32_t i = 0; i < npattern; i++)
        nfault += check_pattern(tool, patterns[i]);
    if (opened->at[0]->target->enqueue)
        nfault += try_queues(tool, opened->at[0]);
    bt_targets_unref(opened);
    return nfault;
}

int check_targets(struct tool *tool, const char *plugin, uint32_t *nbroken)
{
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "target"); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "target", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) == 0)
            *nbroken += check_target(tool, item.name) > 0;
    }
    return EXIT_OK;
}
