/* baton run: one run of a program, its outputs shown and saved. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include <baton/artifact.h>
#include <baton/compiled.h>

#include "input.h"
#include "kernel_check.h"
#include "memory.h"
#include "output.h"
#include "profile.h"
#include "program_options.h"
#include "step.h"
#include "verbs.h"

/* Quotes a word for the shell where it needs that. */
static void print_word(const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=";
    int quoted = !*word || strspn(word, plain) != strlen(word);
    fputs(quoted ? "'" : "", stdout);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*word);
    }
    fputs(quoted ? "'" : "", stdout);
}

/* The options that say which program this is. */
static void print_given(const struct tool *tool)
{
    for (uint32_t i = 0; i < tool->ngiven; i++) {
        const struct given *given = &tool->given[i];
        printf(" --%s", given->option->name);
        if (given->option->value) {
            putchar(' ');
            print_word(given->value);
        }
    }
}

/* " -i NAME=random:SEED" for each tensor of an input; *nopen counts those whose sizes are a
 * guess. Recursion is bounded by the depth of types. 0: no memory */
static int print_random(struct tool *tool, const bt_port *port, uint32_t *seed,
                        uint32_t *nopen)
{
    bt_text text;
    int ok = 1;
    for (uint32_t i = 0; ok && i < port->nfield; i++)
        ok = print_random(tool, port->fields[i], seed, nopen);
    if (port->kind != BT_OBJECT_TENSOR)
        return ok;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_text_addf(&text, "%s=", port->name);
    *nopen += (uint32_t)add_random_value(&text, port, ++*seed);
    if (!bt_text_get(&text))
        return 0;
    fputs(" -i ", stdout);
    print_word(bt_text_get(&text));
    return 1;
}

/* Inputs that the command line has no form for; gives their number. */
static uint32_t print_obstacles(const bt_program *program)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bt_program_ninput(program); i++) {
        const bt_port *port = bt_program_input(program, i);
        const char *obstacle = input_obstacle(port);
        if (!obstacle)
            continue;
        printf("%s%s cannot be given on the command line: it is %s\n", n ? "" : "\n",
               port->name, obstacle);
        n++;
    }
    if (n)
        printf("to run it, add a function without such inputs, and name it by --entry\n");
    return n;
}

/* What a program takes, and a line to copy. */
static int print_inputs(struct tool *tool, const bt_program *program)
{
    int width = 0;
    uint32_t n = bt_program_ninput(program), seed = 0, nopen = 0;
    for (uint32_t i = 0; i < n; i++) {
        int length = (int)strlen(bt_program_input(program, i)->name);
        width = length > width ? length : width;
    }
    printf("inputs:\n");
    for (uint32_t i = 0; i < n; i++)
        printf("  %-*s  %s\n", width, bt_program_input(program, i)->name,
               bt_program_input(program, i)->type);
    if (print_obstacles(program))
        return EXIT_OK;
    printf("\nto run it on random values:\n  baton run ");
    print_word(tool->args[0]);
    print_given(tool);
    for (uint32_t i = 0; i < n; i++) {
        if (!print_random(tool, bt_program_input(program, i), &seed, &nopen))
            return tool_fail(tool, bt_no_memory());
    }
    printf("%s", nopen
                     ? "\nwhere sizes that are open are the least: give others that fit "
                       "the types above\n"
                     : "\n");
    return EXIT_OK;
}

/* All that was asked for. */
static int print_results(struct tool *tool, bt_program *program)
{
    const bt_profile *profile = NULL;
    const struct profile_facts facts = { bt_program_compiled(program), 0 };
    const char *trace = option_value(tool, "trace");
    int has_profile = option_value(tool, "profile") != NULL, code;
    if (trace || has_profile)
        TRY_TOOL(tool, bt_program_profile(program, &profile));
    if (option_value(tool, "json")) {
        json_t *all = json_pack("{s:o}", "outputs", describe_outputs(tool, program));
        if (has_profile)
            json_object_set_new(all, "profile", describe_profile(profile, &facts));
        if (has_profile && profile->ndim)
            json_object_set_new(all, "dims", describe_dims(profile));
        if (has_profile && profile->nfunction)
            json_object_set_new(all, "functions", describe_functions(profile));
        if (option_value(tool, "memory"))
            json_object_set_new(all, "memory", describe_memory(tool, program));
        code = print_json(tool, all);
    } else {
        code = print_outputs(tool, program);
        if (!code && has_profile)
            print_profile(profile, &facts);
    }
    return !code && trace ? write_trace(tool, profile, trace) : code;
}

/* Without -i: shows the inputs, or the plan of memory. */
static int print_closed(struct tool *tool, const bt_program *program)
{
    if (!option_value(tool, "memory"))
        return print_inputs(tool, program);
    return option_value(tool, "json")
               ? print_json(tool,
                            json_pack("{s:o}", "memory", describe_memory(tool, program)))
               : EXIT_OK;
}

/* A function as one row: how far its kernels are off, as shares of the largest value. */
static void print_checked(const struct kernel_check *check)
{
    int width = 3;
    for (uint32_t i = 0; i < check->nfunc; i++) {
        const int n = (int)strlen(check->funcs[i].way);
        width = n > width ? n : width;
    }
    printf("%9s %9s %9s %6s  %-*s  %s\n", "error", "bound", "share", "calls", width,
           "way", "function");
    for (uint32_t i = 0; i < check->nfunc; i++) {
        const struct checked_func *f = &check->funcs[i];
        printf("%9.2e %9.2e %7.3g %% %6u  %-*s  %s%s\n", f->error.apart, f->error.bound,
               100 * f->error.share, f->ncall, width, f->way, f->name,
               f->error.share > 1 ? "  wrong" : "");
    }
}

static json_t *describe_checked(const struct kernel_check *check)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < check->nfunc; i++) {
        const struct checked_func *f = &check->funcs[i];
        json_t *item = json_pack("{s:s, s:s, s:i, s:f, s:f}", "function", f->name, "way",
                                 f->way, "calls", (int)f->ncall, "error", f->error.apart,
                                 "bound", f->error.bound);
        json_object_set_new(item, "share_of_bound",
                            isfinite(f->error.share) ? json_real(f->error.share)
                                                     : json_null());
        json_array_append_new(list, item);
    }
    return list;
}

static int run_check(struct tool *tool, bt_program *program)
{
    static const char *const of_runs[] = { "output", "profile", "trace", NULL };
    for (const char *const *name = of_runs; *name; name++) {
        if (option_value(tool, *name))
            return tool_usage(tool,
                              "--check-kernels compares kernels one by one and runs "
                              "nothing that --%s is about: leave out one of them",
                              *name);
    }
    if (bt_artifact_is(tool->args[0]))
        return tool_usage(tool,
                          "--check-kernels is for models: %s is compiled, and what its "
                          "kernels are to compute is not in it",
                          tool->args[0]);
    if (!bt_program_compiled(program))
        return tool_usage(tool, "--check-kernels is of programs that are compiled: give "
                                "--target cpu");
    struct kernel_check check;
    bt_status status =
        check_kernels(tool->ctx, bt_ctx_scratch(tool->ctx), program, &check);
    if (status && !check.nwrong)
        return tool_fail(tool, status);
    if (option_value(tool, "json")) {
        json_t *all = json_pack(
            "{s:i, s:i, s:i, s:i, s:f}", "kernels", (int)check.nkernel, "calls",
            (int)check.ncall, "wrong", (int)check.nwrong, "unchecked",
            (int)(check.nopen + check.ndeclined), "share_of_bound", check.error);
        json_object_set_new(all, "functions", describe_checked(&check));
        int code = print_json(tool, json_pack("{s:o}", "check", all));
        return code || !status ? code : tool_fail(tool, status);
    }
    print_checked(&check);
    printf("%u kernel%s, %u call%s checked, %u wrong", check.nkernel,
           PLURAL(check.nkernel), check.ncall, PLURAL(check.ncall), check.nwrong);
    if (check.nopen)
        printf(", %u not checked, of sizes that no argument shows", check.nopen);
    if (check.ndeclined)
        printf(", %u not checked, whose constants send them to another target",
               check.ndeclined);
    printf("; ");
    const char *rest = check.nwrong ? "the others" : "all";
    if (check.where)
        printf("%s agree: the largest error is %.3g %% of its bound, in @%s\n", rest,
               100 * check.error, check.where);
    else
        printf("%s agree exactly\n", rest);
    return status ? tool_fail(tool, status) : EXIT_OK;
}

static int run_program(struct tool *tool, bt_program *program, const char *const *inputs)
{
    int code = EXIT_OK;
    if (option_value(tool, "memory") && !bt_program_compiled(program))
        return tool_usage(tool, "--memory needs a program that is planned: give "
                                "--executor graph");
    if (option_value(tool, "memory") && !option_value(tool, "json"))
        code = print_memory(tool, program);
    if (!code && !inputs && bt_program_ninput(program))
        return print_closed(tool, program);
    if (!code)
        code = set_inputs(tool, program, inputs, 0);
    if (code)
        return code;
    if (option_value(tool, "check-kernels"))
        return run_check(tool, program);
    if (option_value(tool, "profile") || option_value(tool, "trace"))
        TRY_TOOL(tool, bt_program_record(program, 1));
    const char *folder = option_value(tool, "output");
    if (folder) { // a long run is not to end in an error of the folder's
        TRY_TOOL(tool, bt_folder_make(tool->ctx, folder));
        code = check_saved(tool, program, folder);
        if (code)
            return code;
    }
    int is_over = 0;
    if (option_value(tool, "step"))
        code = run_steps(tool, program, &is_over);
    else
        TRY_TOOL(tool, bt_program_run(program));
    if (code || is_over)
        return code;
    code = print_results(tool, program);
    return code || !folder ? code : save_outputs(tool, program, folder);
}

static int run(struct tool *tool)
{
    bt_program *program;
    const char *const *inputs;
    if (option_value(tool, "step") && strcmp(tool->args[0], "-") == 0)
        return tool_usage(tool, "--step reads commands from standard input, which - says "
                                "the model is: give a file");
    int code = open_program(tool, "interp", &program, &inputs);
    if (code)
        return code;
    code = run_program(tool, program, inputs);
    bt_program_close(program);
    return code;
}

static const struct option options[] = {
    { "input", 'i', "[NAME=]VALUE", "value of an input; once for each" },
    { "output", 'o', "DIR",
      "save each output as DIR/NAME.npy, a tuple as NAME.0.npy and so on" },
    PROGRAM_OPTIONS(
        "interp; where a target or a budget of memory is given graph, or vm if "
        "graph cannot"),
    { "memory", 0, NULL,
      "print the plan of memory, for executor graph; without -i nothing is run" },
    { "check-kernels", 0, NULL, "compare each kernel of the targets with the evaluator" },
    { "profile", 0, NULL,
      "print where the time of this run, the first, went; baton bench has later ones" },
    { "step", 0, NULL,
      "stop before each binding and read from standard input how to go on; h tells" },
    { "trace", 0, "FILE", "write the calls as a trace for Perfetto or chrome://tracing" },
    { "json", 0, NULL, "print one JSON object" },
    { 0 },
};

const struct verb verb_run = {
    .name = "run",
    .args = "MODEL",
    .min_arg = 1,
    .max_arg = 1,
    .doc = "Run a program once and show its outputs.",
    // clang-format off
    .details = "MODEL is a file of Baton or Relay text, or of a format that an importer knows;\n"
               "- is standard input. What baton compile wrote runs as it is, on --threads of its\n"
               "target: --target, --pipeline, --dim and their like are for baton compile.\n"
               "Without -i, the inputs are listed with a command line to copy. What -i gives\n"
               "settles symbolic dims, and small inputs of integers that shapes depend on (of\n"
               "a model that cannot be read without them, whatever is small): a note says so,\n"
               "and --no-specialise leaves them open.\n"
               "\n"
               INPUT_HELP,
    .examples = "  baton run digits.baton -i image=random:1\n"
                "  baton run digits.baton -i image=0.5 -o scores --json\n"
                "  baton run digits.baton -i image=random:1 --target cpu --profile",
    // clang-format on
    .options = options,
    .run = run,
};
