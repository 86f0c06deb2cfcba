/*
 * Plugins that come as C source: each file is compiled when the plugin is opened, the
 * objects are linked with each other and with libbaton's public functions, and the table
 * is made as the build makes it: swish.c beside swish.baton.json states
 * bt_swish_swish[]; a .c file with a .h of the same name is a helper without tables.
 */
#define _GNU_SOURCE // dladdr
#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/c_compile.h"
#include "plugin/code.h"
#include "plugin/plugins.h"

#define SOURCE_MAX_NBYTES (16u << 20)

/* ---- libbaton's public functions ---- */

struct library {
    void *handle, *base;
};

/* What the dynamic linker knows of libbaton, or of the program that it is linked into. */
static void open_library(struct library *out)
{
    Dl_info info = { 0 };
    *out = (struct library){ 0 };
    if (!dladdr(&bt_host_mark, &info))
        return;
    out->base = info.dli_fbase;
    out->handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (!out->handle)
        out->handle = dlopen(NULL, RTLD_NOW);
}

/* Only libbaton's own: what the libraries beside it export is none of a plugin's
 * business. */
static int find_public(const void *self, const char *name, uint64_t *address)
{
    const struct library *library = self;
    Dl_info info;
    const bt_function *common = bt__code_common(name);
    if (common) {
        *address = (uintptr_t)*common;
        return 1;
    }
    void *at = library->handle && strncmp(name, "bt_", 3) == 0
                   ? dlsym(library->handle, name)
                   : NULL;
    if (!at || !dladdr(at, &info) || info.dli_fbase != library->base)
        return 0;
    *address = (uintptr_t)at;
    return 1;
}

/* ---- one plugin ---- */

struct build {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_plugin_handle *h;
    const char *prefix; /* of its tables: bt_<prefix>_<file> */
    const char *folders[3];
    bt__c_compiler compiler;
    uint32_t nobject;
    bt_code_object *objects;
};

/* The name of a file without folder and what follows the first dot, as C allows. */
static const char *identifier_of(bt_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t n = strcspn(base, ".");
    char *out = bt_arena_alloc(arena, n + 1, 1);
    for (size_t i = 0; out && i < n; i++)
        out[i] = isalnum((unsigned char)base[i]) ? base[i] : '_';
    return out;
}

static const char *source_at(const bt_plugin_handle *h, size_t index)
{
    return json_string_value(json_array_get(h->sources, index));
}

static bt_status compile_file(struct build *b, size_t index)
{
    const char *text,
        *path = bt__format(b->arena, "%s/%s", b->h->folder, source_at(b->h, index));
    size_t nbytes;
    if (!path)
        return bt_no_memory();
    BT_TRY(bt__plugin_check_beneath(b->ctx, b->h, path));
    BT_TRY(bt__read_bounded(b->ctx, b->arena, path, SOURCE_MAX_NBYTES, &text, &nbytes));
    const bt_c_source source = {
        .name = path, .text = text, .nbytes = nbytes, .folders = b->folders
    };
    bt_text object;
    bt_text_init(&object, b->arena);
    BT_TRY(bt__c_compile(b->ctx, &b->compiler, &source, &object));
    b->objects[b->nobject++] = (bt_code_object){ path, object.at, object.len };
    return NULL;
}

static bt_status compile_files(struct build *b)
{
    size_t n = json_array_size(b->h->sources);
    b->objects = BT_NEWS(b->arena, bt_code_object, n);
    b->folders[0] = b->h->folder;
    if (!b->objects)
        return bt_no_memory();
    BT_TRY(bt_library_file(b->ctx, b->arena, "include", &b->folders[1]));
    for (size_t i = 0; i < n; i++)
        BT_TRY(compile_file(b, i));
    return NULL;
}

static bt_status link_files(struct build *b)
{
    struct library library;
    open_library(&library);
    const bt__resolver resolver = { &library, find_public };
    bt_status status =
        bt__code_load(b->ctx, b->nobject, b->objects, &resolver, &b->h->code);
    if (library.handle)
        dlclose(library.handle);
    return status;
}

/* Whether NAME.h stands beside NAME.c; where there is no table, that of a part of the
 * name will do: NAME_*.c. 0: no memory */
static int is_helper(struct build *b, const char *path, int has_table, int *out)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    size_t n = dot ? (size_t)(dot - path) : strlen(path),
           first = slash ? (size_t)(slash - path) + 1 : 0;
    *out = 0;
    while (!*out && n > first) {
        const char *header =
            bt__format(b->arena, "%s/%.*s.h", b->h->folder, (int)n, path);
        if (!header)
            return 0;
        *out = access(header, F_OK) == 0;
        do
            n--;
        while (n > first && path[n] != '_');
        if (has_table)
            break;
    }
    return 1;
}

static bt_status add_table(struct build *b, const char *path, const bt_table **out,
                           uint32_t *n)
{
    int helper;
    const char *own = identifier_of(b->arena, path);
    const char *name = own ? bt__format(b->arena, "bt_%s_%s", b->prefix, own) : NULL;
    const void *table = name ? bt__code_data(b->h->code, name) : NULL;
    if (!name || !is_helper(b, path, table != NULL, &helper))
        return bt_no_memory();
    if (helper)
        return NULL;
    if (!table)
        return bt_fail_place(
            b->ctx, BT_ERR_PLUGIN,
            &(bt_place){ .file = bt__format(b->arena, "%s/%s", b->h->folder, path) },
            "expected `const bt_table %s[]`, which lists what the file "
            "provides; a helper without it has a .h of the same name",
            name);
    out[(*n)++] = table;
    return NULL;
}

/* The table that the build would write; the headers were this libbaton's. */
static bt_status make_table(struct build *b, bt_arena *arena)
{
    size_t nsource = json_array_size(b->h->sources);
    const bt_table **tables = BT_NEWS(arena, const bt_table *, nsource + 1);
    bt_plugin *plugin = BT_NEW(arena, bt_plugin);
    uint32_t n = 0;
    if (!tables || !plugin)
        return bt_no_memory();
    for (size_t i = 0; i < nsource; i++)
        BT_TRY(add_table(b, source_at(b->h, i), tables, &n));
    *plugin = (bt_plugin)BT_PLUGIN_ROW(b->h->id, b->h->version, tables);
    b->h->table = plugin;
    return NULL;
}

static bt_status build(struct build *b, bt_arena *arena)
{
    b->prefix = identifier_of(b->arena, b->h->manifest);
    if (!b->prefix)
        return bt_no_memory();
    BT_TRY(compile_files(b));
    BT_TRY(link_files(b));
    return make_table(b, arena);
}

bt_status bt__sources_open(bt_ctx *ctx, struct bt__plugins *plugins, bt_plugin_handle *h)
{
    struct build b = { .ctx = ctx, .h = h };
    if (h->is_opening)
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "plugin %s comes as C source, and is itself the compiler for it",
                       h->id);
    h->is_opening = 1;
    bt_status status = bt__c_compiler_get(ctx, plugins, h->compiler, NULL, &b.compiler);
    h->is_opening = 0;
    if (status && status->code != BT_ERR_MEMORY)
        return bt_fail(ctx, BT_ERR_PLUGIN, "plugin %s comes as C source: %s", h->id,
                       status->message);
    BT_TRY(status);
    b.arena = bt_arena_create(ctx->registry);
    status = b.arena ? build(&b, plugins->arena) : bt_no_memory();
    bt_arena_destroy(b.arena);
    bt__c_compiler_put(&b.compiler);
    if (status)
        bt__sources_close(h);
    return status;
}

void bt__sources_close(bt_plugin_handle *h)
{
    if (!h->code)
        return;
    bt_code_unload(h->code);
    h->code = NULL;
    h->table = NULL;
}
