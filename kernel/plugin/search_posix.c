/*
 * Where manifests are looked for: files that the application names, the folders of
 * BATON_PLUGIN_PATH, the user's folder, the folder beside libbaton, libbaton itself.
 * BATON_PLUGIN_ONLY replaces all folders. Never the current folder: a relative or
 * empty element is refused. Names are sorted, so that the same files give the same
 * choice.
 */
#define _GNU_SOURCE // dladdr
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/compiler.h>
#include <baton/value.h>

#include "plugin/plugins.h"

#define SUFFIX ".baton.json"

static bt_status add_place(struct bt__plugins *plugins, uint32_t origin, const char *path,
                           const char *result)
{
    bt__place place = { .origin = origin, .path = path, .result = result };
    return path && BT_PUSH(plugins->arena, &plugins->places, place) ? NULL
                                                                    : bt_no_memory();
}

/* What is not a regular file is refused before it is opened: a pipe would wait
 * forever. */
bt_status bt__read_bounded(bt_ctx *ctx, bt_arena *arena, const char *path, size_t limit,
                           const char **out, size_t *nbytes)
{
    const bt_place place = { .file = path };
    struct stat info;
    bt_file *file;
    if (stat(path, &info) != 0)
        return bt_fail_place(ctx, BT_ERR_IO, &place, "there is no such file");
    if (!S_ISREG(info.st_mode))
        return bt_fail_place(ctx, BT_ERR_IO, &place, "is not a regular file");
    uint64_t own_limit = ctx->limits.bytes;
    ctx->limits.bytes = limit < own_limit ? limit : own_limit;
    bt_status status = bt_file_read(ctx, path, &file);
    ctx->limits.bytes = own_limit;
    BT_TRY(status);
    *out = bt_arena_text(arena, file->bytes, file->nbytes);
    *nbytes = file->nbytes;
    bt_file_close(ctx, file);
    return *out ? NULL : bt_no_memory();
}

/* Absolute, so that a later change of the current folder has no effect. */
const char *bt__folder_of(bt_arena *arena, const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *given =
        slash ? bt_arena_text(arena, path, (size_t)(slash - path) + (slash == path))
              : ".";
    if (!given || *given == '/' || !realpath(given, folder))
        return given;
    return bt_arena_text(arena, folder, strlen(folder));
}

const char *bt_variable(const bt_ctx *ctx, const char *name)
{
    if (ctx->registry->ignore_environment || getauxval(AT_SECURE))
        return NULL;
    return getenv(name);
}

/* ---- one folder ---- */

static int is_manifest(const char *name)
{
    size_t n = strlen(name), suffix = strlen(SUFFIX);
    return n > suffix && name[0] != '.' && strcmp(name + n - suffix, SUFFIX) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bt_status read_folder(bt_ctx *ctx, struct bt__plugins *plugins, DIR *folder,
                             const char *path, uint32_t *n)
{
    bt_vec(const char *) names = { 0 };
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (!is_manifest(entry->d_name))
            continue;
        const char *name = bt__format(plugins->arena, "%s/%s", path, entry->d_name);
        if (!name || !BT_PUSH(plugins->arena, &names, name))
            return bt_no_memory();
    }
    if (names.len > 0)
        qsort(names.at, names.len, sizeof(*names.at), compare_names);
    for (uint32_t i = 0; i < names.len; i++)
        BT_TRY(bt__manifest_read(ctx, plugins, names.at[i], plugins->places.len - 1));
    *n = names.len;
    return NULL;
}

/* `path` NULL: there was no memory for it. */
static bt_status search_folder(bt_ctx *ctx, struct bt__plugins *plugins, uint32_t origin,
                               const char *path)
{
    BT_TRY(add_place(plugins, origin, path, "no such folder"));
    bt__place *place = &plugins->places.at[plugins->places.len - 1];
    DIR *folder = opendir(path);
    if (!folder) {
        place->is_refused = origin == BT__PLACE_PATH || origin == BT__PLACE_ONLY;
        place->result = errno == EACCES    ? "the folder may not be read"
                        : errno == ENOTDIR ? "is neither a folder nor a manifest"
                                           : "no such folder";
        return NULL;
    }
    uint32_t n = 0;
    bt_status status = read_folder(ctx, plugins, folder, path, &n);
    closedir(folder);
    BT_TRY(status);
    const char *result =
        bt__format(plugins->arena, "%u manifest%s", n, n == 1 ? "" : "s");
    plugins->places.at[plugins->places.len - 1].result = result;
    return result ? NULL : bt_no_memory();
}

/* ---- lists ---- */

static bt_status search_element(bt_ctx *ctx, struct bt__plugins *plugins, uint32_t origin,
                                const char *path)
{
    if (*path != '/') {
        const char *why = *path
                              ? "refused: the path is relative; give it from \"/\" on"
                              : "refused: an empty element would mean the current folder";
        bt_report(ctx,
                  bt_fail(ctx, BT_ERR_ARGUMENT, "plugin path: \"%s\" %s", path, why));
        BT_TRY(add_place(plugins, origin, path, why));
        plugins->places.at[plugins->places.len - 1].is_refused = 1;
        return NULL;
    }
    if (is_manifest(strrchr(path, '/') + 1)) {
        BT_TRY(add_place(plugins, origin, path, "a manifest"));
        return bt__manifest_read(ctx, plugins, path, plugins->places.len - 1);
    }
    return search_folder(ctx, plugins, origin, path);
}

static bt_status search_list(bt_ctx *ctx, struct bt__plugins *plugins, uint32_t origin,
                             const char *list)
{
    for (;;) {
        size_t n = strcspn(list, ":");
        const char *path = bt_arena_text(plugins->arena, list, n);
        if (!path)
            return bt_no_memory();
        BT_TRY(search_element(ctx, plugins, origin, path));
        if (list[n] == 0)
            return NULL;
        list += n + 1;
    }
}

static bt_status search_files(bt_ctx *ctx, struct bt__plugins *plugins)
{
    const char *const *file = ctx->registry->plugin_files;
    if (file && *file)
        BT_TRY(add_place(plugins, BT__PLACE_EXPLICIT, "(named by the application)", ""));
    for (; file && *file; file++)
        BT_TRY(bt__manifest_read(ctx, plugins, *file, 0));
    return NULL;
}

static bt_status search_user(bt_ctx *ctx, struct bt__plugins *plugins)
{
    const char *data = bt_variable(ctx, "XDG_DATA_HOME"),
               *home = bt_variable(ctx, "HOME");
    if (data && *data == '/')
        return search_folder(ctx, plugins, BT__PLACE_USER,
                             bt__format(plugins->arena, "%s/baton/plugins", data));
    if (home && *home == '/')
        return search_folder(
            ctx, plugins, BT__PLACE_USER,
            bt__format(plugins->arena, "%s/.local/share/baton/plugins", home));
    return NULL;
}

/* ---- beside the library ---- */

/* The folder of the file that holds libbaton's code; "" where that is unknown.
 * `is_program` tells that it is the program itself, libbaton being linked in. */
static int own_folder(char *out, size_t nbytes, int *is_program)
{
    char program[PATH_MAX], library[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[n > 0 ? n : 0] = 0;
    Dl_info info;
    *is_program = 1;
    const char *path = program;
    if (dladdr(&bt_host_mark, &info) && info.dli_fname && info.dli_fname[0] == '/' &&
        realpath(info.dli_fname, library) && strcmp(library, program) != 0) {
        *is_program = 0;
        path = library;
    }
    const char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) >= nbytes)
        return 0;
    memcpy(out, path, (size_t)(slash - path));
    out[slash - path] = 0;
    return 1;
}

bt_status bt_library_file(bt_ctx *ctx, bt_arena *arena, const char *name,
                          const char **out)
{
    char folder[PATH_MAX];
    int is_program;
    if (!own_folder(folder, sizeof(folder), &is_program))
        return bt_fail(ctx, BT_ERR_PLUGIN, "the folder of libbaton is not known");
    char *slash = is_program ? strrchr(folder, '/') : NULL;
    if (slash)
        *slash = 0;
    const char *path =
        bt__format(arena, "%s%s/baton/%s", folder, is_program ? "/" BT_LIBDIR : "", name);
    if (!path)
        return bt_no_memory();
    *out = path;
    return NULL;
}

static bt_status search_prefix(bt_ctx *ctx, struct bt__plugins *plugins)
{
    const char *folder;
    bt_status status = bt_library_file(ctx, plugins->arena, "plugins", &folder);
    if (status)
        return status->code == BT_ERR_MEMORY ? status : NULL;
    return search_folder(ctx, plugins, BT__PLACE_PREFIX, folder);
}

bt_status bt__plugins_read_use(bt_ctx *ctx, struct bt__plugins *plugins)
{
    const char *list = ctx->registry->plugin_use ? ctx->registry->plugin_use
                                                 : bt_variable(ctx, "BATON_PLUGIN_USE");
    bt_map_init(&plugins->use, plugins->arena, 1);
    for (list = list ? list : ""; *list;) {
        list += strspn(list, " ,");
        size_t n = strcspn(list, " ,"), name = strcspn(list, "= ,");
        const char *key = bt_arena_text(plugins->arena, list, name);
        const char *id =
            name < n ? bt_arena_text(plugins->arena, list + name + 1, n - name - 1) : "";
        if (!key || !id)
            return bt_no_memory();
        if (n > 0 && (!*key || !bt__is_name(id)))
            bt_report(ctx, bt_fail(ctx, BT_ERR_ARGUMENT,
                                   "plugin use: expected NAME=PLUGIN, found \"%.*s\"",
                                   (int)n, list));
        else if (n > 0 && !bt_map_put(&plugins->use, key, (void *)(uintptr_t)id))
            return bt_no_memory();
        list += n;
    }
    return NULL;
}

bt_status bt__plugins_search(bt_ctx *ctx, struct bt__plugins *plugins)
{
    const bt_registry *r = ctx->registry;
    const char *only =
        r->plugin_only ? r->plugin_only : bt_variable(ctx, "BATON_PLUGIN_ONLY");
    BT_TRY(search_files(ctx, plugins));
    if (only) {
        if (*only)
            BT_TRY(search_list(ctx, plugins, BT__PLACE_ONLY, only));
        return bt__linked_add(ctx, plugins);
    }
    const char *path =
        r->plugin_path ? r->plugin_path : bt_variable(ctx, "BATON_PLUGIN_PATH");
    if (path && *path)
        BT_TRY(search_list(ctx, plugins, BT__PLACE_PATH, path));
    BT_TRY(search_user(ctx, plugins));
    BT_TRY(search_prefix(ctx, plugins));
    return bt__linked_add(ctx, plugins);
}
