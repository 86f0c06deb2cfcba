/* baton export: a model of what was learned, without the training. */
#include <string.h>

#include <baton/onnx.h>

#include "import_options.h"
#include "program_text.h"
#include "progress.h"
#include "train.h"
#include "written.h"

static int check_output(const struct tool *tool, const char *path)
{
    if (!path || !*path)
        return tool_usage(tool, "-o FILE is missing: where the model goes");
    return check_target_used(tool, path);
}

static int check_batch(struct tool *tool, const bt_module *model, int64_t batch)
{
    const bt_type *dim = batch ? batch_dim(tool, model) : NULL;
    int64_t own;
    if (dim && bt_dim_is_const(dim, &own) && own != batch)
        return tool_usage(tool, "--batch %lld: the model takes batches of %lld samples",
                          (long long)batch, (long long)own);
    return EXIT_OK;
}

static int freeze(struct train *t, bt_module **out)
{
    struct tool *tool = t->tool;
    const bt_training_options options = { .entry = option_value(tool, "entry"),
                                          .fixed = option_values(tool, "fixed") };
    int64_t batch = 0;
    const void *row;
    int code = option_number(tool, "batch", 1, INT32_MAX, &batch);
    if (!code)
        code = read_trained(tool, batch, &t->model);
    if (!code)
        code = check_batch(tool, t->model, batch);
    if (code)
        return code;
    TRY_TOOL(tool,
             bt_registry_row(tool->ctx, BT_TRAINER, "train", sizeof(*t->trainer), &row));
    t->trainer = row;
    TRY_TOOL(tool, t->trainer->open(tool->ctx, t->model, &options, sizeof(options),
                                    &t->training));
    TRY_TOOL(tool, t->trainer->load(t->training, tool->args[1], 1));
    TRY_TOOL(tool, t->trainer->freeze(t->training, out));
    return EXIT_OK;
}

/* Compiling takes a file: the text lies beside what it becomes. */
static int write_artifact(struct tool *tool, const bt_module *module, const char *path)
{
    const bt_program_options options = { .entry = option_value(tool, "entry"),
                                         .target = option_value(tool, "target") };
    const char *text = tool_text(tool, "%.*s.baton", (int)(strlen(path) - 4), path);
    if (!text)
        return tool_fail(tool, bt_no_memory());
    int code = print_program(tool, module, text);
    if (code)
        return code;
    begin_progress(tool);
    bt_status status = bt_program_compile(tool->ctx, text, &options, path);
    end_progress(tool);
    return status ? tool_fail(tool, status) : EXIT_OK;
}

static int write_onnx(struct tool *tool, const bt_module *module, const char *path)
{
    const struct written files[] = { { path, "the model" } };
    const bt_onnx_writer *writer;
    const void *row;
    int code = check_written(tool, BT_COUNT(files), files);
    if (code)
        return code;
    TRY_TOOL(tool,
             bt_registry_row(tool->ctx, BT_ONNX_WRITER, "onnx", sizeof(*writer), &row));
    writer = row;
    TRY_TOOL(tool, writer->write(tool->ctx, module, option_value(tool, "entry"), path));
    return EXIT_OK;
}

/* Whatever a file is called that is none of the others, it is a text. */
static void tell_text(const struct tool *tool, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *dot = strrchr(name, '.');
    if (dot && dot != name && strcmp(dot, ".baton") != 0)
        bt_remark(tool->ctx, BT_REMARK_NOTE,
                  bt_fail(tool->ctx, BT_ERR_ARGUMENT,
                          "%s is a text of Baton, as FILE.baton would be; FILE.bta and "
                          "FILE.onnx are other forms",
                          path));
}

static int write_text(struct tool *tool, const bt_module *module, const char *path)
{
    tell_text(tool, path);
    return print_program(tool, module, path);
}

static int run(struct tool *tool)
{
    struct train t = { .tool = tool };
    const char *path = option_value(tool, "output");
    bt_module *module = NULL;
    int code = check_output(tool, path);
    if (!code)
        code = freeze(&t, &module);
    if (!code)
        code = has_suffix(path, ".bta")    ? write_artifact(tool, module, path)
               : has_suffix(path, ".onnx") ? write_onnx(tool, module, path)
                                           : write_text(tool, module, path);
    bt_module_unref(module);
    if (t.trainer)
        t.trainer->close(t.training);
    bt_module_unref(t.model);
    return code;
}

static const struct option options[] = {
    { "output", 'o', "FILE",
      "the model to write (must be given), large constants to a .npz beside it; "
      "FILE.bta: compiled, with its text in FILE.baton beside it; FILE.onnx: for "
      "others" },
    { "batch", 0, "N", "samples of a run (default: as open as the model leaves them)" },
    { "fixed", 0, "NAME", "a constant that was not learned" },
    { "target", 0, "NAME", "what FILE.bta is for (default: cpu)" },
    { "entry", 0, "FUNCTION",
      "function that was trained (default: main, or the only one)" },
    IMPORT_OPTIONS,
    { 0 },
};

const struct verb verb_export = {
    .name = "export",
    .args = "MODEL CHECKPOINT",
    .min_arg = 2,
    .max_arg = 2,
    .doc = "Make a model of what baton train has learned.",
    .details =
        "MODEL is what was trained, CHECKPOINT a .safetensors file of the training, or\n"
        "any that has its parameters by name. What is written is a program as any "
        "other,\n"
        "in which parameters are constants: it runs, compiles and quantizes. FILE.onnx "
        "is\n"
        "for other runtimes, where all of it is operators that ONNX has; baton list\n"
        "exports lists these.",
    // clang-format off
    .examples = "  baton train lenet.baton --data samples --labels labels --batch 10\n"
                "  baton export lenet.baton lenet.training/step-000000010.safetensors -o out.bta",
    // clang-format on
    .options = options,
    .hints = training_hints,
    .run = run,
};
