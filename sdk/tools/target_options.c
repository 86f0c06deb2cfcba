#include "target_options.h"

#include <string.h>

#include <baton/artifact.h>
#include <baton/op.h>
#include <baton/target.h>

/* An option of targets that an option of the command line gives. */
struct setting {
    const char *name;       /* of both */
    const char *value;      /* NULL: it is not given */
    const char *text;       /* as the target takes it */
    const char *says, *has; /* "how many threads", "threads" */
    int told;               /* 1: a target has it */
};

struct list {
    struct tool *tool;
    struct setting settings[2];
    int is_artifact; /* numbers of threads that it was compiled with give way */
    bt_text out;
};

static int has_option(const bt_target *target, const char *name)
{
    for (const bt_attr *a = target->options; a && a->name; a++) {
        if (strcmp(a->name, name) == 0)
            return 1;
    }
    return 0;
}

/* The next comma outside braces, brackets and quotes. */
static size_t item_length(const char *text, size_t most)
{
    size_t n = 0, depth = 0;
    int quoted = 0;
    for (; n < most && (quoted || depth || text[n] != ','); n++) {
        quoted ^= text[n] == '"';
        if (!quoted && strchr("{[(", text[n]))
            depth++;
        else if (!quoted && strchr("}])", text[n]) && depth)
            depth--;
    }
    return n;
}

static int is_option(const char *item, size_t n, const char *name)
{
    const size_t nname = strlen(name);
    if (n < nname || memcmp(item, name, nname) != 0)
        return 0;
    for (item += nname, n -= nname; n && *item == ' '; n--)
        item++;
    return n && *item == '=';
}

/* The setting that an option in a target's braces is, too; NULL: none. */
static const struct setting *setting_of(const struct list *l, const char *item, size_t n)
{
    for (size_t i = 0; i < BT_COUNT(l->settings); i++) {
        if (l->settings[i].value && is_option(item, n, l->settings[i].name))
            return &l->settings[i];
    }
    return NULL;
}

/* The options between a target's braces, but for those that are set. */
static int add_options(struct list *l, const char *one, size_t none, const char *options,
                       size_t n)
{
    while (n) {
        size_t nitem = item_length(options, n), end = nitem, skip = 0;
        while (skip < end && options[skip] == ' ')
            skip++;
        while (end > skip && options[end - 1] == ' ')
            end--;
        const struct setting *set = setting_of(l, options + skip, end - skip);
        if (!set) {
            bt_text_addf(&l->out, "%s", end > skip ? ", " : "");
            bt_text_add(&l->out, options + skip, end - skip);
        } else if (!l->is_artifact) {
            return tool_usage(l->tool,
                              "--%s %s and %.*s of --target %.*s both say %s: give one "
                              "of them",
                              set->name, set->value, (int)(end - skip), options + skip,
                              (int)none, one, set->says);
        }
        nitem += nitem < n;
        options += nitem;
        n -= nitem;
    }
    return EXIT_OK;
}

/* One of a list of targets. */
static int add_target(struct list *l, const char *one, size_t n)
{
    struct tool *tool = l->tool;
    const void *row;
    size_t nname = strcspn(one, "{ ,"), brace = 0;
    nname = nname < n ? nname : n;
    const char *name = bt_arena_text(bt_ctx_scratch(tool->ctx), one, nname);
    if (!name)
        return tool_fail(tool, bt_no_memory());
    TRY_TOOL(tool,
             bt_registry_row(tool->ctx, "baton.target/1", name, sizeof(bt_target), &row));
    uint32_t nset = 0;
    for (size_t i = 0; i < BT_COUNT(l->settings); i++) {
        struct setting *set = &l->settings[i];
        if (!set->value || !has_option(row, set->name))
            continue;
        set->told = 1;
        bt_text_addf(&l->out, "%s%s%s=%s", nset ? "" : name, nset ? ", " : "{", set->name,
                     set->text);
        nset++;
    }
    if (!nset) {
        bt_text_add(&l->out, one, n);
        return EXIT_OK;
    }
    while (brace < n && one[brace] != '{')
        brace++;
    size_t end = n;
    while (end > brace && one[end - 1] != '}')
        end--;
    int code = end > brace + 2 ? add_options(l, one, n, one + brace + 1, end - brace - 2)
                               : EXIT_OK;
    bt_text_addf(&l->out, "}");
    return code;
}

/* Targets that differed in their threads alone are the same one now. */
static int check_once(const struct list *l, size_t first)
{
    const char *all = l->out.at, *last = all + first;
    for (size_t at = 0; at < first; at += item_length(all + at, first - at) + 2) {
        const size_t n = item_length(all + at, first - at);
        if (n == l->out.len - first && memcmp(all + at, last, n) == 0)
            return tool_usage(l->tool,
                              "--threads %s makes two targets of %s one and the same, "
                              "%s: leave it out",
                              l->settings[0].value, l->tool->args[0], last);
    }
    return EXIT_OK;
}

/* The list of targets with what is set. */
static int add_settings(struct list *l, const char *targets, const char **out)
{
    bt_text_init(&l->out, bt_ctx_scratch(l->tool->ctx));
    while (*targets) {
        size_t n = item_length(targets, strlen(targets));
        const size_t first = l->out.len;
        int code = add_target(l, targets, n);
        if (!code && !bt_text_get(&l->out))
            code = tool_fail(l->tool, bt_no_memory());
        if (!code)
            code = check_once(l, first);
        if (code)
            return code;
        targets += n + (targets[n] == ',');
        targets += strspn(targets, " ");
        bt_text_addf(&l->out, "%s", *targets ? ", " : "");
    }
    for (size_t i = 0; i < BT_COUNT(l->settings); i++) {
        const struct setting *set = &l->settings[i];
        if (set->value && !set->told && l->is_artifact)
            return tool_usage(l->tool, "--%s: %s is compiled for no target that has any",
                              set->name, l->tool->args[0]);
        if (set->value && !set->told)
            return tool_usage(l->tool,
                              "--%s needs a target that has %s: give "
                              "--target cpu",
                              set->name, set->has);
    }
    *out = bt_text_get(&l->out);
    return *out ? EXIT_OK : tool_fail(l->tool, bt_no_memory());
}

/* What an artifact was compiled for, as a list. */
static int get_compiled(struct tool *tool, const char **out)
{
    bt_artifact *a;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    TRY_TOOL(tool, bt_artifact_read(tool->ctx, tool->args[0], &a));
    for (uint32_t i = 0; i < a->ntarget; i++)
        bt_text_addf(&text, "%s%s", i ? ", " : "", a->targets[i].text);
    bt_artifact_close(a);
    *out = bt_text_get(&text);
    return *out ? EXIT_OK : tool_fail(tool, bt_no_memory());
}

/* A file's name as the text of an option. */
static int quote(struct tool *tool, const char *file, const char **out)
{
    bt_text text;
    const char **all = option_values(tool, "tune");
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    if (!all)
        return tool_fail(tool, bt_no_memory());
    if (all[1])
        return tool_usage(tool,
                          "--tune %s and --tune %s both say which records: give one "
                          "of them",
                          all[0], all[1]);
    if (!*file || strpbrk(file, "\"\\\n"))
        return tool_usage(tool, "--tune takes the name of a file, without quotes and "
                                "backslashes");
    bt_text_addf(&text, "\"%s\"", file);
    *out = bt_text_get(&text);
    return *out ? EXIT_OK : tool_fail(tool, bt_no_memory());
}

int read_targets(struct tool *tool, const char **out)
{
    const char *targets = option_value(tool, "target");
    const char *threads = option_value(tool, "threads"),
               *tune = option_value(tool, "tune");
    struct list l = {
        .tool = tool,
        .settings = { { "threads", threads, threads, "how many threads", "threads", 0 },
                      { "tune", tune, NULL, "which records", "tuning records", 0 } }
    };
    int64_t nthread = 0;
    int code = option_number(tool, "threads", 0, MAX_THREADS, &nthread);
    if (!code && tune)
        code = quote(tool, tune, &l.settings[1].text);
    *out = targets;
    if (!nthread)
        l.settings[0].value = NULL;
    if (code || (!nthread && !tune))
        return code;
    if (!targets && bt_artifact_is(tool->args[0])) {
        if (tune)
            return tool_usage(tool, "--tune is for models: %s is compiled",
                              tool->args[0]);
        l.is_artifact = 1;
        code = get_compiled(tool, &targets);
    }
    return code ? code : add_settings(&l, targets ? targets : "cpu", out);
}
