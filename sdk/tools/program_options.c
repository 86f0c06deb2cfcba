#include "program_options.h"

#include <string.h>

#include <baton/artifact.h>

#include "hot.h"
#include "pass_options.h"
#include "progress.h"
#include "slots.h"
#include "specialise.h"
#include "target_options.h"

/* A budget is of programs whose tensors can be counted before they run (pass plan-memory). */
static int read_budget(struct tool *tool, bt_program_options *out)
{
    const char *executor = option_value(tool, "executor");
    int64_t nbytes = 0;
    int code = option_number(tool, "checkpoint-memory", 1, INT64_MAX, &nbytes);
    if (code || !nbytes)
        return code;
    if (out->fuse || out->plan)
        return tool_usage(
            tool,
            "--checkpoint-memory is for pipelines fuse and plan: --%s names "
            "others, in which passes fit-memory and plan-memory take a budget",
            out->fuse ? "fuse" : "plan");
    if (executor && strncmp(executor, "graph", 5) != 0 &&
        strncmp(executor, "vm", 2) != 0 && strncmp(executor, "aot", 3) != 0)
        return tool_usage(
            tool,
            "--checkpoint-memory is for executors graph, vm and aot, not %s, "
            "which has no plan of memory",
            executor);
    out->memory = nbytes;
    return EXIT_OK;
}

int read_program_options(struct tool *tool, bt_program_options *out)
{
    int64_t level = -1;
    const char *target, *hot, *pipeline = option_value(tool, "pipeline");
    int code = check_one_source(tool);
    if (!code)
        code = option_number(tool, "opt-level", 0, 4, &level);
    if (!code)
        code = read_targets(tool, &target);
    if (!code)
        code = read_hot(tool, &hot);
    if (code)
        return code;
    *out = (bt_program_options){
        .entry = option_value(tool, "entry"),
        .pipeline = pipeline ? pipeline : option_value(tool, "passes"),
        .level = (int32_t)level + 1,
        .dims = option_values(tool, "dim"),
        .target = target,
        .fuse = option_value(tool, "fuse"),
        .plan = option_value(tool, "plan"),
        .hot = hot,
        .fixed = option_values(tool, "fix"),
    };
    return read_budget(tool, out);
}

/* NULL: an artifact's own; or the fastest that can, as what is said of targets is meant for
 * one that compiles. */
static const char *choose_executor(struct tool *tool, const char *by_default)
{
    const char *executor = option_value(tool, "executor"),
               *target = option_value(tool, "target");
    if (executor || bt_artifact_is(tool->args[0]))
        return executor;
    if ((target && strcmp(target, "interp") != 0) || option_value(tool, "threads") ||
        option_value(tool, "tune") || option_value(tool, "checkpoint-memory"))
        return NULL;
    return by_default;
}

int open_program(struct tool *tool, const char *default_executor, bt_program **out,
                 const char *const **inputs)
{
    const char *executor = choose_executor(tool, default_executor);
    bt_program_options options;
    const char *set = option_value(tool, "threads") ? "threads"
                      : option_value(tool, "tune")  ? "tune"
                                                    : NULL;
    if (set && executor && strcmp(executor, "interp") == 0)
        return tool_usage(tool,
                          "--%s needs an executor of compiled programs: give "
                          "--executor graph",
                          set);
    int code = read_program_options(tool, &options);
    if (code)
        return code;
    options.executor = executor;
    options.keeps_source = option_value(tool, "check-kernels") != NULL;
    struct specialise specialise;
    code = begin_specialise(tool, &specialise, &options);
    if (code)
        return code;
    if (!option_value(tool, "passes") && !bt_artifact_is(tool->args[0]))
        TRY_TOOL(tool, remark_lost_contributions(tool->ctx));
    begin_progress(tool);
    bt_status status = bt_program_open(tool->ctx, tool->args[0], &options, out);
    end_progress(tool);
    return status ? tool_fail(tool, status) : end_specialise(&specialise, inputs);
}
