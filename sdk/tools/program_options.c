#include "program_options.h"

#include <string.h>

#include <baton/artifact.h>
#include <baton/op.h>
#include <baton/target.h>

#include "pass_options.h"

/* ---- targets with threads ---- */

static int has_threads(const bt_target *target)
{
    for (const bt_attr *a = target->options; a && a->name; a++) {
        if (strcmp(a->name, "threads") == 0)
            return 1;
    }
    return 0;
}

/* One of a list of targets, told how many threads to use. */
static int add_target(struct tool *tool, int64_t nthread, const char *one, size_t n,
                      bt_text *out, int *told)
{
    size_t name = strcspn(one, "{ ,"), brace = 0;
    const void *row;
    const char *key = bt_arena_text(bt_ctx_scratch(tool->ctx), one, name < n ? name : n);
    if (!key)
        return tool_fail(tool, bt_no_memory());
    TRY_TOOL(tool,
             bt_registry_row(tool->ctx, "baton.target/1", key, sizeof(bt_target), &row));
    while (brace < n && one[brace] != '{')
        brace++;
    if (!has_threads(row)) {
        bt_text_add(out, one, n);
        return EXIT_OK;
    }
    *told = 1;
    bt_text_add(out, key, strlen(key));
    bt_text_addf(out, "{threads=%lld", (long long)nthread);
    const char *rest = brace < n ? one + brace + 1 : "}";
    bt_text_addf(out, "%s", rest[strspn(rest, " ")] == '}' ? "" : ", ");
    bt_text_add(out, rest, brace < n ? n - brace - 1 : 1);
    return EXIT_OK;
}

/* The list of targets with their number of threads. */
static int add_threads(struct tool *tool, int64_t nthread, const char *list,
                       const char **out)
{
    bt_text text;
    int told = 0;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    while (*list) {
        size_t n = 0;
        for (int inside = 0; list[n] && (inside || list[n] != ','); n++)
            inside += (list[n] == '{') - (list[n] == '}');
        int code = add_target(tool, nthread, list, n, &text, &told);
        if (code)
            return code;
        list += n + (list[n] == ',');
        list += strspn(list, " ");
        bt_text_addf(&text, "%s", *list ? ", " : "");
    }
    if (!told)
        return tool_usage(tool, "--threads needs a target that has threads: give "
                                "--target cpu");
    *out = bt_text_get(&text);
    return *out ? EXIT_OK : tool_fail(tool, bt_no_memory());
}

/* ---- opening ---- */

/* The targets to compile for, told of --threads. */
static int get_target(struct tool *tool, const char *executor, const char **out)
{
    int64_t nthread = 0;
    int code = option_number(tool, "threads", MOST_THREADS, &nthread);
    *out = option_value(tool, "target");
    if (code || !nthread)
        return code;
    if (!executor)
        return tool_usage(tool,
                          "--threads is settled in a compiled program: give "
                          "--target 'cpu{threads=%lld}' to baton compile",
                          (long long)nthread);
    if (strcmp(executor, "interp") == 0)
        return tool_usage(tool, "--threads needs an executor of compiled programs: give "
                                "--executor graph");
    return add_threads(tool, nthread, *out ? *out : "cpu", out);
}

/* NULL: an artifact's own. What is said of targets is meant for one that compiles. */
static const char *choose_executor(struct tool *tool, const char *by_default)
{
    const char *executor = option_value(tool, "executor"),
               *target = option_value(tool, "target");
    if (executor || bt_artifact_is(tool->args[0]))
        return executor;
    if ((target && strcmp(target, "interp") != 0) || option_value(tool, "threads"))
        return "graph";
    return by_default;
}

int open_program(struct tool *tool, const char *default_executor, bt_program **out)
{
    const char *executor = choose_executor(tool, default_executor), *target;
    int64_t level = -1;
    int code = check_one_source(tool);
    if (!code)
        code = option_number(tool, "opt-level", 4, &level);
    if (!code)
        code = get_target(tool, executor, &target);
    if (code)
        return code;
    const char *pipeline = option_value(tool, "pipeline");
    const bt_program_options options = {
        .entry = option_value(tool, "entry"),
        .executor = executor,
        .pipeline = pipeline ? pipeline : option_value(tool, "passes"),
        .level = (int32_t)level + 1,
        .dims = option_values(tool, "dim"),
        .target = target,
        .plan = option_value(tool, "plan"),
        .fixed = option_values(tool, "fix"),
    };
    TRY_TOOL(tool, bt_program_open(tool->ctx, tool->args[0], &options, out));
    return EXIT_OK;
}
