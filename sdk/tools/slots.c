#include "slots.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <baton/pass.h>
#include <baton/plugin.h>

#include "output.h"
#include "rule_program.h"

enum { MAX_DEPTH = 64 }; /* of steps inside steps */

/* Slots among the steps of a value: `out` gets an array of pipelines under each name. */
static void collect(const json_t *value, const char *pipeline, int depth, json_t *out)
{
    const char *slot = json_string_value(json_object_get(value, "slot"));
    const char *key;
    json_t *inner;
    size_t i;
    if (depth == MAX_DEPTH)
        return;
    if (slot) {
        if (!json_object_get(out, slot))
            json_object_set_new(out, slot, json_array());
        json_array_append_new(json_object_get(out, slot), json_string(pipeline));
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, inner)
        collect(inner, pipeline, depth + 1, out);
    json_array_foreach(value, i, inner) collect(inner, pipeline, depth + 1, out);
}

static bt_status read_json(bt_ctx *ctx, const char *path, json_t **out)
{
    bt_file *file;
    json_error_t fault;
    BT_TRY(bt_file_read(ctx, path, &file));
    *out = json_loadb(file->bytes, file->nbytes, 0, &fault);
    bt_file_close(ctx, file);
    return *out ? NULL
                : bt_fail(ctx, BT_ERR_FORMAT, "%s:%d: %s", path, fault.line, fault.text);
}

/* The file of a pipeline, which its manifest names relative to itself. */
static bt_status collect_pipeline(bt_ctx *ctx, const bt_provided *item, json_t *out)
{
    const char *manifest = bt_plugin_manifest(item->plugin);
    json_t *row = manifest ? json_loads(item->json, 0, NULL) : NULL, *pipeline;
    const char *path = json_string_value(json_object_get(row, "path"));
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    if (path)
        bt_text_addf(
            &text, "%.*s%s",
            (int)(strrchr(manifest, '/') ? strrchr(manifest, '/') + 1 - manifest : 0),
            manifest, path);
    json_decref(row);
    if (!path) // linked in: its text is not a file
        return NULL;
    if (!bt_text_get(&text))
        return bt_no_memory();
    BT_TRY(read_json(ctx, text.at, &pipeline));
    collect(pipeline, item->name, 0, out);
    json_decref(pipeline);
    return NULL;
}

/* Of all pipelines that are found; a new reference. */
static bt_status find_slots(bt_ctx *ctx, json_t **out)
{
    bt_status status = bt_plugins_scan(ctx);
    json_t *slots = json_object();
    for (uint32_t i = 0; !status && i < bt_provided_len(ctx, "pipeline"); i++) {
        bt_provided item;
        status = bt_provided_at(ctx, "pipeline", i, &item);
        if (!status)
            status = collect_pipeline(ctx, &item, slots);
    }
    if (status)
        json_decref(slots);
    else
        *out = slots;
    return status;
}

int list_slots(struct tool *tool)
{
    json_t *slots, *pipelines;
    const char *name;
    TRY_TOOL(tool, find_slots(tool->ctx, &slots));
    if (option_value(tool, "json"))
        return print_json(tool, slots);
    json_object_foreach(slots, name, pipelines)
    {
        printf("%s  in pipeline", name);
        for (size_t i = 0; i < json_array_size(pipelines); i++)
            printf("%s %s", i ? "," : "",
                   json_string_value(json_array_get(pipelines, i)));
        printf("\n");
    }
    json_decref(slots);
    return EXIT_OK;
}

/* ---- contributions ---- */

/* The step by itself, as a pipeline of its own. */
static bt_status check_step(bt_ctx *ctx, const char *manifest, const json_t *contribution)
{
    json_t *step = json_copy((json_t *)(uintptr_t)contribution);
    (void)json_object_del(step, "slot");
    (void)json_object_del(step, "order");
    json_t *whole = json_pack("{s:s, s:[o]}", "name", "contribution", "sequence", step);
    char *text = whole ? json_dumps(whole, 0) : NULL;
    bt_pipeline *pipeline;
    json_decref(whole);
    if (!text)
        return bt_no_memory();
    bt_status status = bt_pipeline_parse(ctx, manifest, text, strlen(text), &pipeline);
    if (!status) {
        status = bt_pipeline_check(ctx, pipeline, NULL);
        bt_pipeline_destroy(pipeline);
    }
    free(text);
    return status;
}

/* A pipeline that has the slot, on a program: the contribution runs in its place. */
static bt_status run_on(bt_ctx *ctx, const char *pipeline, const char *program)
{
    const bt_pipeline_options options = { .level = 4 };
    bt_module *typed, *out;
    bt_pipeline *p;
    BT_TRY(rule_program_read(ctx, program, &typed));
    bt_status status = bt_pipeline_read(ctx, pipeline, &p);
    if (!status) {
        status = bt_pipeline_run(ctx, p, &options, typed, &out);
        bt_pipeline_destroy(p);
        if (!status)
            bt_module_unref(out);
    }
    bt_module_unref(typed);
    return status;
}

static bt_status try_pipelines(bt_ctx *ctx, const json_t *pipelines)
{
    static const char *const programs[] = {
        "#[version = \"baton 0.1\"]\n"
        "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3, 3), float32]) {\n"
        "    %0 = nn.relu(nn.dense(multiply(%x, 2f), %w));\n"
        "    (%0, sum(add(exp(%0), 1f), axis=[1]))\n"
        "}\n",
        "#[version = \"baton 0.1\"]\n"
        "def @main<n: Dim>(%x: Tensor[(n, 3), float32]) {\n"
        "    nn.softmax(add(multiply(%x, 2f), const[(3), float32]{0.5 ..}), axis=1)\n"
        "}\n",
    };
    for (size_t k = 0; k < json_array_size(pipelines); k++) {
        for (uint32_t i = 0; i < BT_COUNT(programs); i++)
            BT_TRY(run_on(ctx, json_string_value(json_array_get(pipelines, k)),
                          programs[i]));
    }
    return NULL;
}

/* "; did you mean after-simplify?" */
static const char *nearest_slot(bt_ctx *ctx, const json_t *slots, const char *slot)
{
    size_t n = json_object_size(slots), i = 0;
    const char **names = BT_NEWS(bt_ctx_scratch(ctx), const char *, n + 1), *name;
    json_t *ignored;
    if (!names)
        return "";
    json_object_foreach((json_t *)(uintptr_t)slots, name, ignored) names[i++] = name;
    return bt_nearest(bt_ctx_scratch(ctx), slot, names);
}

static void check_one(struct tool *tool, const char *manifest, const json_t *slots,
                      const json_t *contribution, uint32_t *nbroken)
{
    const char *slot = json_string_value(json_object_get(contribution, "slot"));
    printf("slot %s\n", slot);
    bt_status status = check_step(tool->ctx, manifest, contribution);
    const json_t *pipelines = json_object_get(slots, slot);
    int has_slot = pipelines != NULL;
    if (has_slot && !status)
        status = try_pipelines(tool->ctx, pipelines);
    if (!has_slot)
        printf("  FAILED  no pipeline has slot %s%s\n", slot,
               nearest_slot(tool->ctx, slots, slot));
    if (status)
        printf("  FAILED  %s\n", status->message);
    if (has_slot && !status)
        printf("  ok      its step is known, and runs in its place\n");
    *nbroken += !has_slot || status;
    bt_ctx_clear_diags(tool->ctx);
}

static const bt_plugin_handle *find_plugin(bt_ctx *ctx, const char *id)
{
    for (uint32_t i = 0; i < bt_plugins_len(ctx); i++) {
        if (strcmp(bt_plugin_id(bt_plugins_at(ctx, i)), id) == 0)
            return bt_plugins_at(ctx, i);
    }
    return NULL;
}

/* What a manifest contributes, a new reference; NULL: nothing, or it cannot be read. Most
 * have no such word, and are not taken apart. */
static json_t *read_contributions(bt_ctx *ctx, const char *path)
{
    bt_file *file;
    if (bt_file_read(ctx, path, &file))
        return NULL;
    json_t *manifest = strstr(file->bytes, "\"contributes\"")
                           ? json_loadb(file->bytes, file->nbytes, 0, NULL)
                           : NULL;
    json_t *list = json_incref(json_object_get(manifest, "contributes"));
    bt_file_close(ctx, file);
    json_decref(manifest);
    return list;
}

static void remark_lost(bt_ctx *ctx, const bt_plugin_handle *plugin, const json_t *list,
                        json_t *slots)
{
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
        collect(json_object_get(item, "sequence"), bt_plugin_id(plugin), 1, slots);
    json_array_foreach(list, i, item)
    {
        const char *slot = json_string_value(json_object_get(item, "slot"));
        if (slot && !json_object_get(slots, slot))
            bt_remark(
                ctx, BT_REMARK_NOTE,
                bt_fail(ctx, BT_ERR_PIPELINE,
                        "plugin %s contributes to slot %s, which no pipeline has%s: "
                        "it is not run (%s; baton list slots shows all)",
                        bt_plugin_id(plugin), slot, nearest_slot(ctx, slots, slot),
                        bt_plugin_manifest(plugin)));
    }
}

/* A refused plugin is no error for those who do not use it, but what it would have added
 * to every run is missed. */
static void remark_refused(bt_ctx *ctx, const bt_plugin_handle *plugin)
{
    bt_remark(ctx, BT_REMARK_NOTE,
              bt_note(ctx, bt_plugin_refusal(plugin), NULL, 0,
                      "plugin %s is refused: what it contributes to pipelines is not run "
                      "(%s)",
                      bt_plugin_id(plugin), bt_plugin_manifest(plugin)));
}

bt_status remark_lost_contributions(bt_ctx *ctx)
{
    json_t *slots = NULL;
    bt_status status = bt_plugins_scan(ctx);
    for (uint32_t i = 0; !status && i < bt_plugins_len(ctx); i++) {
        const bt_plugin_handle *plugin = bt_plugins_at(ctx, i);
        const char *path = bt_plugin_manifest(plugin);
        json_t *list = path ? read_contributions(ctx, path) : NULL;
        int is_refused = bt_plugin_refusal(plugin) != NULL;
        if (json_array_size(list) && is_refused)
            remark_refused(ctx, plugin);
        else if (json_array_size(list) && !slots)
            status = find_slots(ctx, &slots);
        if (slots && !is_refused)
            remark_lost(ctx, plugin, list, slots);
        json_decref(list);
    }
    json_decref(slots);
    return status;
}

int check_contributions(struct tool *tool, const char *plugin, uint32_t *nbroken)
{
    const bt_plugin_handle *handle = find_plugin(tool->ctx, plugin);
    const char *path = handle ? bt_plugin_manifest(handle) : NULL;
    json_t *manifest, *slots, *list, *contribution;
    size_t i;
    if (!path)
        return EXIT_OK;
    TRY_TOOL(tool, read_json(tool->ctx, path, &manifest));
    list = json_object_get(manifest, "contributes");
    bt_status status = json_array_size(list) ? find_slots(tool->ctx, &slots) : NULL;
    if (json_array_size(list) && !status) {
        json_array_foreach(list, i, contribution) // slots inside what is contributed
            collect(json_object_get(contribution, "sequence"), plugin, 1, slots);
        json_array_foreach(list, i, contribution)
            check_one(tool, path, slots, contribution, nbroken);
        json_decref(slots);
    }
    json_decref(manifest);
    return status ? tool_fail(tool, status) : EXIT_OK;
}
