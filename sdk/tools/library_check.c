/* Libraries of a plugin, read as whole programs: imports read only what is used. */
#include "library_check.h"

#include <jansson.h>
#include <string.h>

#include <baton/ir.h>
#include <baton/op.h>
#include <baton/plugin.h>
#include <baton/train.h>
#include <baton/value.h>

#include "list_choices.h"

/* The file with its text. NULL: no memory, or it is linked in and has no file. */
static const char *library_path(const struct tool *tool, const bt_provided *item)
{
    const char *manifest = bt_plugin_manifest(item->plugin);
    const char *slash = manifest ? strrchr(manifest, '/') : NULL;
    json_t *json = json_loads(item->json, 0, NULL);
    bt_text path;
    bt_text_init(&path, bt_ctx_scratch(tool->ctx));
    if (slash)
        bt_text_addf(&path, "%.*s/%s", (int)(slash - manifest), manifest,
                     json_string_value(json_object_get(json, "path")));
    json_decref(json);
    return slash ? bt_text_get(&path) : NULL;
}

/* Functions by whose names a training finds them are of their kind. */
static bt_status check_choices(bt_ctx *ctx, const bt_module *module)
{
    const bt_trainer *trainer;
    const void *row;
    if (bt_registry_row(ctx, BT_TRAINER, "train", sizeof(*trainer), &row))
        return NULL; // there is no training here
    trainer = row;
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const char *name = module->globals[i]->name;
        for (uint32_t k = 0; choices_kind(k); k++) {
            const size_t n = strlen(choices_kind(k));
            if (strncmp(name, choices_kind(k), n) == 0 && name[n] == '.')
                BT_TRY(trainer->check(ctx, module, choices_kind(k), name + n + 1));
        }
    }
    return NULL;
}

static bt_status check_file(bt_ctx *ctx, const char *path)
{
    bt_file *file;
    bt_module *module = NULL, *typed = NULL;
    BT_TRY(bt_file_read(ctx, path, &file));
    bt_status status = bt_parse(ctx, path, NULL, file->bytes, file->nbytes, &module);
    bt_file_close(ctx, file);
    if (!status)
        status = bt_infer(ctx, module, &typed);
    if (!status)
        status = check_choices(ctx, typed);
    bt_module_unref(typed);
    bt_module_unref(module);
    return status;
}

int check_libraries(struct tool *tool, const char *plugin, uint32_t *nbroken)
{
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "library"); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "library", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) != 0)
            continue;
        const char *path = library_path(tool, &item);
        bt_status status = path ? check_file(tool->ctx, path) : NULL;
        printf("  %s  library %s\n", status ? "FAILED" : "ok    ", item.name);
        if (status) {
            fflush(stdout);
            (void)tool_fail(tool, status);
            ++*nbroken;
        }
        bt_ctx_clear_diags(tool->ctx);
    }
    return EXIT_OK;
}
