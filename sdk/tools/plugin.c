/* baton plugin: what plugins there are, what they provide, and why a name means what it
 * means. */
#include <string.h>

#include <baton/plugin.h>
#include <baton/value.h>

#include "plugin_check.h"
#include "plugin_new.h"
#include "verbs.h"

static const char *const states[] = { "found", "open", "refused" };

/* What the user named and could not be searched. */
static int list_refused_places(struct tool *tool)
{
    uint32_t nrefused = 0;
    for (uint32_t i = 0; i < bt_plugin_nplace(tool->ctx); i++) {
        bt_plugin_place place;
        TRY_TOOL(tool, bt_plugin_place_at(tool->ctx, i, &place));
        if (!place.is_refused)
            continue;
        printf("%s  \"%s\" (%s): %s\n", nrefused ? "" : "\nnot searched:\n", place.path,
               place.origin, place.result);
        nrefused++;
    }
    return EXIT_OK;
}

static int list(struct tool *tool)
{
    TRY_TOOL(tool, bt_plugins_scan(tool->ctx));
    int width = 2;
    uint32_t n = bt_plugins_len(tool->ctx);
    for (uint32_t i = 0; i < n; i++) {
        int length = (int)strlen(bt_plugin_id(bt_plugins_at(tool->ctx, i)));
        width = length > width ? length : width;
    }
    printf("%-*s  %-8s  %-8s  %s\n", width, "ID", "VERSION", "STATE", "MANIFEST");
    for (uint32_t i = 0; i < n; i++) {
        const bt_plugin_handle *plugin = bt_plugins_at(tool->ctx, i);
        const char *path = bt_plugin_manifest(plugin);
        bt_status refusal = bt_plugin_refusal(plugin);
        printf("%-*s  %-8s  %-8s  %s\n", width, bt_plugin_id(plugin),
               bt_plugin_version(plugin), states[bt_plugin_state(plugin)],
               path ? path : "linked in");
        if (refusal)
            printf("  refused: %s\n", refusal->message);
    }
    return list_refused_places(tool);
}

static int why(struct tool *tool)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_status status = bt_plugin_why(tool->ctx, tool->args[1], &text);
    if (status && status->code != BT_ERR_NAME)
        return tool_fail(tool, status);
    fputs(bt_text_get(&text) ? bt_text_get(&text) : "", stdout);
    return status ? EXIT_INPUT : EXIT_OK; // the text says it all
}

/* dlopen looks a bare name up in the system's folders; a file is meant. */
static const char *as_path(struct tool *tool, const char *file)
{
    return tool_text(tool, strchr(file, '/') ? "%s" : "./%s", file);
}

static int print_or_write(struct tool *tool, const char *path, const bt_text *text)
{
    if (!bt_text_get(text))
        return tool_fail(tool, bt_no_memory());
    if (!path) {
        fputs(bt_text_get(text), stdout);
        return EXIT_OK;
    }
    TRY_TOOL(tool, bt_file_write(tool->ctx, path, text->at, text->len));
    return EXIT_OK;
}

static int is_manifest(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

static int describe(struct tool *tool)
{
    bt_text text;
    if (is_manifest(tool->args[1])) {
        bt_text_init(&text, bt_ctx_scratch(tool->ctx));
        TRY_TOOL(tool, bt_plugin_describe_sources(tool->ctx, tool->args[1], &text));
        return print_or_write(tool, option_value(tool, "write") ? tool->args[1] : NULL,
                              &text);
    }
    bt_file *seed;
    const char *path = option_value(tool, "seed"), *binary = option_value(tool, "binary");
    const char *object = as_path(tool, tool->args[1]);
    if (!path)
        return tool_usage(
            tool,
            "describe needs --seed plugin.json, the hand-written part of the manifest");
    if (!object)
        return tool_fail(tool, bt_no_memory());
    TRY_TOOL(tool, bt_file_read(tool->ctx, path, &seed));
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_status status = bt_plugin_describe(tool->ctx, object, seed->bytes,
                                          binary ? binary : tool->args[1], &text);
    bt_file_close(tool->ctx, seed);
    TRY_TOOL(tool, status);
    return print_or_write(tool, NULL, &text);
}

static const struct action {
    const char *name;
    uint32_t min_arg, max_arg; /* the name counted */
    int (*run)(struct tool *);
} actions[] = {
    { "list", 1, 1, list },         { "why", 2, 2, why },
    { "describe", 2, 2, describe }, { "check", 2, 3, plugin_check },
    { "new", 3, 4, plugin_new },
};

static int wrong_count(const struct tool *tool, const char *name, uint32_t low,
                       uint32_t high)
{
    if (high == 0)
        return tool_usage(tool, "%s takes no argument", name);
    if (low == high)
        return tool_usage(tool, "%s takes %u argument%s", name, low, PLURAL(low));
    return tool_usage(tool, "%s takes %u to %u arguments", name, low, high);
}

static int run(struct tool *tool)
{
    for (uint32_t i = 0; i < BT_COUNT(actions); i++) {
        if (strcmp(actions[i].name, tool->args[0]) != 0)
            continue;
        if (tool->narg < actions[i].min_arg || tool->narg > actions[i].max_arg)
            return wrong_count(tool, actions[i].name, actions[i].min_arg - 1,
                               actions[i].max_arg - 1);
        return actions[i].run(tool);
    }
    return tool_usage(tool,
                      "there is no action %s: it is list, why, describe, check or new",
                      tool->args[0]);
}

static const struct option options[] = {
    { "seed", 0, "FILE", "describe: the hand-written part of the manifest" },
    { "binary", 0, "PATH", "describe: the path that the manifest is to name" },
    { "write", 0, NULL, "describe: replace the manifest of sources" },
    { "source", 0, NULL, "new: a plugin of C source, which is not built" },
    { "memory", 0, "own|host",
      "new: a target whose memory the host does not see, with queues; or none of its own "
      "(host)" },
    { "target", 0, "LIST", "check: these targets of the plugin, with options" },
    { "timeout", 0, "SECONDS",
      "check: how long a case of an operator, and a call of a target, a way, a scheme "
      "or a calibration may take (60; 0: any)" },
    { "every", 0, "N", "check: a target gets each N-th call of operators (1: all)" },
    { "id", 0, "ID",
      "new: what the plugin is called in manifests and by check, as in com.example.edge "
      "(else org.NAME, and org.example.NAME of a NAME without a dot)" },
    { "json", 0, NULL, "print diagnostics as JSON" },
    { 0 },
};

const struct verb verb_plugin = {
    .name = "plugin",
    .args = "ACTION [ARGUMENT]...",
    .min_arg = 1,
    .max_arg = 4,
    .doc = "Show, explain, describe and check plugins.",
    // clang-format off
    .details = "list                    all plugins found, by their manifests alone, why some\n"
               "                        are refused, what was not searched\n"
               "why NAME                where a name comes from, every candidate, and why this\n"
               "                        one; exit code 1 where nothing is called so\n"
               "describe FILE.so        the manifest of a shared object, written from its tables\n"
               "                        and from what --seed plugin.json, which must be given,\n"
               "                        says by hand\n"
               "describe M.baton.json   the same of a plugin that comes as C source\n"
               "check ID [OP]           whether a plugin agrees with its manifest and its\n"
               "                        operators (OP: one) do what they say: each is typed and\n"
               "                        run on the cases that it states (BT_CASES); rules are\n"
               "                        tried on values, and targets run programs; exit code 1\n"
               "                        where one fails\n"
               "new KIND NAME [FOLDER]  writes a plugin that builds; KIND is op, eval (an\n"
               "                        operator in plain C), relation, facet, gradient (an\n"
               "                        operator with derivatives of its own), rule, pass,\n"
               "                        analysis, executor, importer, onnx, compiler, target,\n"
               "                        way, scheme or calibrate; into a folder that has a\n"
               "                        plugin one more file; with\n"
               "                        --source one that Baton compiles when it uses it;\n"
               "                        of training loss, optimizer, schedule, initializer:\n"
               "                        texts, of which nothing is built",
    .examples = "  baton plugin why nn.relu\n"
                "  baton plugin check baton.ops.image\n"
                "  baton plugin new op example.swish --source",
    // clang-format on
    .options = options,
    .run = run,
};
