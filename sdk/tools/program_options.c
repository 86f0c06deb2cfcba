#include "program_options.h"

#include "pass_options.h"

int open_program(struct tool *tool, const char *default_executor, const char *target,
                 bt_program **out)
{
    int64_t level = -1;
    int code = check_one_source(tool);
    if (!code)
        code = option_number(tool, "opt-level", 4, &level);
    if (code)
        return code;
    const char *pipeline = option_value(tool, "pipeline");
    const char *executor = option_value(tool, "executor");
    const bt_program_options options = {
        .entry = option_value(tool, "entry"),
        .executor = executor ? executor : default_executor,
        .pipeline = pipeline ? pipeline : option_value(tool, "passes"),
        .level = (int32_t)level + 1,
        .dims = option_values(tool, "dim"),
        .target = target ? target : option_value(tool, "target"),
        .fixed = option_values(tool, "fix"),
    };
    TRY_TOOL(tool, bt_program_open(tool->ctx, tool->args[0], &options, out));
    return EXIT_OK;
}
