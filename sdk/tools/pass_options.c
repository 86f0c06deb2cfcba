#include "pass_options.h"

int check_one_source(const struct tool *tool)
{
    if (option_value(tool, "passes") && option_value(tool, "pipeline"))
        return tool_usage(tool,
                          "--passes and --pipeline are two lists of passes: give one");
    return EXIT_OK;
}

int read_pass_options(struct tool *tool, bt_pipeline_options *out)
{
    int64_t level = -1;
    int code = option_number(tool, "opt-level", 0, 4, &level);
    *out = (bt_pipeline_options){
        .level = (int32_t)level,
        .require = option_values(tool, "require"),
        .disable = option_values(tool, "disable"),
        .set = option_values(tool, "set"),
        .target = option_value(tool, "target"),
    };
    return code;
}
