/* baton compile: a program, compiled for a target, in one file. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/artifact.h>

#include "program_options.h"
#include "progress.h"
#include "scaled.h"
#include "verbs.h"
#include "written.h"

/* The artifact must not replace what it is made from. */
static int check_output(const struct tool *tool, const char *output)
{
    const char *tune = option_value(tool, "tune");
    if (!output)
        return tool_usage(tool, "-o FILE is missing: where the compiled program goes");
    if (!*output || strcmp(output, "-") == 0)
        return tool_usage(tool, "an artifact is a file: -o takes its name");
    if (is_same_file(tool->args[0], output))
        return tool_usage(tool, "-o %s is the model itself", output);
    if (tune && is_same_file(tune, output))
        return tool_usage(tool, "-o %s is the file of --tune", output);
    return EXIT_OK;
}

/* Nor what that has beside it, such as its weights. What is no file is read but once. */
static int check_read(struct tool *tool, const char *output)
{
    const struct written file = { output, "the compiled program" };
    const bt_import_options import = read_import_options(tool);
    bt_module *module;
    struct stat s;
    if (access(output, F_OK) != 0 || stat(tool->args[0], &s) != 0 || !S_ISREG(s.st_mode))
        return EXIT_OK;
    TRY_TOOL(tool, bt_import(tool->ctx, tool->args[0], &import, &module));
    bt_module_unref(module);
    return check_written(tool, 1, &file);
}

static int print_written(struct tool *tool, const char *path)
{
    char text[SCALED_NBYTES];
    bt_artifact *a;
    TRY_TOOL(tool, bt_artifact_read(tool->ctx, path, &a));
    printf("%s: for target ", path);
    for (uint32_t i = 0; i < a->ntarget; i++)
        printf("%s%s", i ? ", " : "", a->targets[i].text);
    printf(": %u kernel%s, ", a->nkernel, PLURAL(a->nkernel));
    printf("%s bytes; ", scaled((double)a->nbytes, text));
    printf("constants %s, ", scaled((double)a->packed_nbytes, text));
    printf("%s before they were packed\n", scaled((double)a->unpacked_nbytes, text));
    bt_artifact_close(a);
    return EXIT_OK;
}

static int print_folder(struct tool *tool, const char *folder, bt_text *said)
{
    if (!bt_text_get(said))
        return tool_fail(tool, bt_no_memory());
    printf("%s: %s\n", folder, bt_text_get(said));
    return EXIT_OK;
}

/* Where another executor takes the program that the one asked for has refused. */
static void note_other(struct tool *tool, bt_program_options options)
{
    static const char *const others[] = { "graph", "vm" };
    const char *asked = options.executor;
    options.target = NULL;
    for (size_t i = 0; i < BT_COUNT(others); i++) {
        bt_program *program;
        options.executor = others[i];
        if (bt_program_open(tool->ctx, tool->args[0], &options, &program))
            continue;
        bt_program_close(program);
        fprintf(stderr,
                "note: executor %s was asked for: without an executor and a target the "
                "program is compiled for %s\n",
                asked, others[i]);
        return;
    }
}

static int run(struct tool *tool)
{
    const char *output = option_value(tool, "output");
    bt_program_options options;
    bt_text said;
    int code = check_output(tool, output);
    if (!code)
        code = read_program_options(tool, &options);
    if (!code)
        code = check_read(tool, output);
    if (code)
        return code;
    options.executor = option_value(tool, "executor");
    bt_text_init(&said, bt_ctx_scratch(tool->ctx));
    options.said = &said;
    begin_progress(tool);
    bt_status status = bt_program_compile(tool->ctx, tool->args[0], &options, output);
    end_progress(tool);
    if (status) {
        const int is_refused = options.executor && status->code == BT_ERR_UNSUPPORTED;
        code = tool_fail(tool, status);
        if (is_refused)
            note_other(tool, options);
        return code;
    }
    if (said.len)
        return print_folder(tool, output, &said);
    // of a device or a pipe there is nothing to tell
    return bt_artifact_is(output) ? print_written(tool, output) : EXIT_OK;
}

static const struct option options[] = {
    { "output", 'o', "FILE", "the artifact to write, or the folder" },
    { "executor", 0, "NAME",
      "what the file is for: graph, vm, or aot, which writes a folder of C (default: "
      "graph where it can, else vm)" },
    { "target", 0, "NAME",
      "what to compile for: 'cpu{threads=2}', 'npu, cpu' (default: cpu; with aot c)" },
    { "threads", 0, "N",
      "threads that it may run on, at most (default: as many as this machine has "
      "processors)" },
    { "entry", 0, "FUNCTION", "function to compile (default: main, or the only one)" },
    COMPILE_OPTIONS,
    { 0 },
};

const struct verb verb_compile = {
    .name = "compile",
    .args = "MODEL",
    .min_arg = 1,
    .max_arg = 1,
    .doc = "Compile a program for a target, into one file.",
    // clang-format off
    .details = "MODEL is anything that run takes. The file holds the program, its constants and\n"
               "the target's code: baton run FILE runs it and compiles nothing, baton bench FILE\n"
               "times it, baton info FILE describes it. Dims that inputs show may stay open: the\n"
               "file then runs for all of their values; --dim gives numbers for them, which is\n"
               "faster. A program with branches, recursion, closures, data types, references or\n"
               "shapes that only its values tell is compiled for executor vm.\n"
               "\n"
               "With --executor aot the output is a folder with the program as C99 source, which\n"
               "needs neither Baton nor a C library, a CMakeLists.txt and an example, main.c.\n"
               "\n"
               "Run artifacts of those only whose plugins you would load: they hold code.",
    .examples = "  baton compile digits.baton -o digits.bta\n"
                "  baton compile digits.baton -o digits.bta --target 'cpu{engine=\"bytecode\"}'\n"
                "  baton compile digits.baton --executor aot -o digits\n"
                "  baton run digits.bta -i image=random:1 --threads 1",
    // clang-format on
    .options = options,
    .run = run,
};
