/* baton import: a foreign model as Baton text. */
#include <baton/importer.h>

#include "program_text.h"
#include "verbs.h"

static int run(struct tool *tool)
{
    bt_module *module, *typed;
    TRY_TOOL(tool,
             bt_import(tool->ctx, tool->args[0], option_values(tool, "dim"), &module));
    bt_status status = bt_infer(tool->ctx, module, &typed);
    bt_module_unref(module);
    TRY_TOOL(tool, status);
    int code = print_program(tool, typed, option_value(tool, "output"));
    bt_module_unref(typed);
    return code;
}

static const struct option options[] = {
    { "output", 'o', "FILE",
      "write there, large constants to a .npz beside it (default: standard output)" },
    { "dim", 0, "NAME=N", "value of a symbolic dim of the model" },
    { "spans", 0, NULL, "print source positions and provenance" },
    { "json", 0, NULL, "print diagnostics as JSON" },
    { 0 },
};

const struct verb verb_import = {
    .name = "import",
    .args = "MODEL",
    .min_arg = 1,
    .max_arg = 1,
    .doc = "Read a model of another format and write it as Baton text.",
    .options = options,
    .run = run,
};
