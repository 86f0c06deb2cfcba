/* baton import: a foreign model as Baton text. */
#include "import_options.h"
#include "program_text.h"
#include "verbs.h"

static int run(struct tool *tool)
{
    bt_module *module, *typed;
    bt_import_options import = read_import_options(tool);
    TRY_TOOL(tool, bt_import(tool->ctx, tool->args[0], &import, &module));
    bt_status status = bt_infer(tool->ctx, module, &typed);
    bt_module_unref(module);
    TRY_TOOL(tool, status);
    int code = print_program(tool, typed, option_value(tool, "output"));
    bt_module_unref(typed);
    return code;
}

static const struct option options[] = {
    { "output", 'o', "FILE", "write there, large constants to a .npz beside it" },
    IMPORT_OPTIONS,
    { "entry", 0, "FUNCTION", "whose dims --dim gives (default: main, or the only one)" },
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
    // clang-format off
    .details = "MODEL is a file of a format that an importer knows (baton list importers); - is\n"
               "standard input. Types are inferred; no pass runs.",
    // clang-format on
    .options = options,
    .run = run,
};
