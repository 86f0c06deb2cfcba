#include "target_check.h"

#include <string.h>

#include <baton/compiled.h>
#include <baton/pass.h>
#include <baton/plugin.h>

#include "target_queues.h"
#include "target_run.h"
#include "watchdog.h"

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

static uint32_t try_programs(struct tool *tool, const bt_target_use *use)
{
    struct target_run run = { 0 };
    bt_arena *arena = bt_arena_create(bt_ctx_registry(tool->ctx));
    bt_status status = arena ? target_run(tool->ctx, arena, use, &run) : bt_no_memory();
    const char *fault = status ? status->message : run.fault;
    if (fault) {
        printf("  FAILED  programs:\n");
        print_below(fault);
    } else if (!run.nrun)
        printf("  programs  not run: none was found of which it takes a function\n");
    else
        printf(
            "  programs  %u as by interp, of these %u with open dims, %u with a function "
            "of several kernels\n",
            run.nrun, run.nopen, run.nseveral);
    bt_ctx_clear_diags(tool->ctx);
    bt_arena_destroy(arena);
    return fault != NULL;
}

static uint32_t check_use(struct tool *tool, const bt_target_use *use)
{
    const char *const *patterns = use->target->patterns;
    uint32_t npattern = 0, nfault = 0;
    while (patterns && patterns[npattern])
        npattern++;
    printf("target %s: opens, %u pattern%s\n", use->text, npattern, PLURAL(npattern));
    for (uint32_t i = 0; i < npattern; i++)
        nfault += check_pattern(tool, patterns[i]);
    // whatever runs through queues that are wrong is wrong
    const uint32_t nqueue = use->target->enqueue ? try_queues(tool, use) : 0;
    return nfault + nqueue + (nqueue ? 0 : try_programs(tool, use));
}

static bt_status open_targets(struct tool *tool, const char *list, bt_targets **out)
{
    watchdog_begin("target %s, open", list);
    bt_status status = bt_targets_open(tool->ctx, list, out);
    watchdog_end();
    return status;
}

static void close_targets(const char *list, bt_targets *targets)
{
    watchdog_begin("target %s, close", list);
    bt_targets_unref(targets);
    watchdog_end();
}

static uint32_t check_target(struct tool *tool, const char *name)
{
    bt_targets *opened;
    bt_status status = open_targets(tool, name, &opened);
    if (status) {
        printf("target %s\n  FAILED  it does not open: %s\n", name, status->message);
        bt_ctx_clear_diags(tool->ctx);
        return 1;
    }
    uint32_t nfault = check_use(tool, opened->at[0]);
    close_targets(name, opened);
    return nfault;
}

/* Those of --target, with their options. */
static int check_given(struct tool *tool, const char *plugin, const char *list,
                       uint32_t *nbroken)
{
    bt_targets *opened;
    int code = EXIT_OK;
    TRY_TOOL(tool, open_targets(tool, list, &opened));
    for (uint32_t i = 0; !code && i < opened->n; i++) {
        bt_provided item;
        const char *name = opened->at[i]->target->name;
        const char *owner = find_provided(tool->ctx, "target", name, &item)
                                ? bt_plugin_id(item.plugin)
                                : "?";
        if (strcmp(owner, plugin) == 0)
            *nbroken += check_use(tool, opened->at[i]) > 0;
        else
            code = tool_usage(tool, "--target: %s is of plugin %s, and %s is checked",
                              opened->at[i]->text, owner, plugin);
    }
    close_targets(list, opened);
    return code;
}

int check_targets(struct tool *tool, const char *plugin, uint32_t *nbroken)
{
    const char *given = option_value(tool, "target");
    int64_t seconds = WATCHDOG_SECONDS;
    int code = option_number(tool, "timeout", 0, 1000000, &seconds);
    if (code)
        return code;
    watchdog_set((uint32_t)seconds);
    if (given)
        return check_given(tool, plugin, given, nbroken);
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "target"); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "target", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) == 0)
            *nbroken += check_target(tool, item.name) > 0;
    }
    return EXIT_OK;
}
