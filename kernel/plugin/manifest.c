/*
 * Manifests: one JSON file per plugin, read and judged without opening the plugin. A
 * wrong one becomes a refused handle, which keeps its reason; what it provides is still
 * listed where that could be read, so that a missing name can say which plugin has it.
 */
#include <string.h>

#include "plugin/plugins.h"

#define SUFFIX ".baton.json"

static const bt__shape filled_shape = { .kinds = BT__JSON_STRING,
                                        .what = "a text that is not empty",
                                        .accepts = bt__is_filled };
static const bt__shape id_shape = { .kinds = BT__JSON_STRING,
                                    .what = "a plugin's id, as in org.example.gelu",
                                    .accepts = bt__is_name };
static const bt__shape version_shape = { .kinds = BT__JSON_STRING,
                                         .what = "a version, as in 0.1.0",
                                         .accepts = bt__is_version };
static const bt__shape count_shape = { .kinds = BT__JSON_INT, .low = 0, .high = 1 << 20 };
static const bt__shape_field abi_fields[] = {
    { "major", &count_shape, 1 },
    { "needs", &count_shape, 1 },
    { "built", &count_shape, 1 },
    { 0 },
};
static const bt__shape abi_shape = { .kinds = BT__JSON_OBJECT, .fields = abi_fields };
static const bt__shape digest_shape = { .kinds = BT__JSON_STRING,
                                        .what = "64 hexadecimal digits in lower case",
                                        .accepts = bt__is_digest };
static const bt__shape_field binary_fields[] = {
    { "path", &bt__path_shape, 1 },
    { "os", &filled_shape, 1 },
    { "arch", &filled_shape, 1 },
    { "sha256", &digest_shape, 0 },
    { 0 },
};
static const bt__shape binary_shape = { .kinds = BT__JSON_OBJECT,
                                        .fields = binary_fields };
static const bt__shape binaries_shape = { .kinds = BT__JSON_LIST,
                                          .items = &binary_shape };
static const bt__shape name_shape = { .kinds = BT__JSON_STRING,
                                      .what = "a compiler's name, as in tcc",
                                      .accepts = bt__is_name };
static const bt__shape sources_shape = { .kinds = BT__JSON_LIST,
                                         .items = &bt__path_shape };
/* Looked at further by what the host knows. */
static const bt__shape list_shape = { .kinds = BT__JSON_LIST };
static const bt__shape lists_shape = { .kinds = BT__JSON_OBJECT, .others = &list_shape };
// clang-format off
#define FIELDS(is_built)                                                         \
    { "id", &id_shape, 1 }, { "version", &version_shape, 1 },                    \
    { "license", &filled_shape, 1 }, { "doc", &bt__text_shape, 0 },              \
    { "abi", &abi_shape, (is_built) }, { "binaries", &binaries_shape, 0 },       \
    { "sources", &sources_shape, 0 }, { "compiler", &name_shape, 0 },            \
    { "provides", &lists_shape, (is_built) }, { "contributes", &list_shape, 0 }, \
    { 0 }
// clang-format on
static const bt__shape_field manifest_fields[] = { FIELDS(1) };
static const bt__shape manifest_shape = { .kinds = BT__JSON_OBJECT,
                                          .fields = manifest_fields };
/* What is written by hand; the rest may stand there from an earlier build. */
static const bt__shape_field seed_fields[] = { FIELDS(0) };
static const bt__shape seed_shape = { .kinds = BT__JSON_OBJECT, .fields = seed_fields };

/* ---- judging ---- */

const bt__kind *bt__kind_of_key(const struct bt__host *host, const char *key)
{
    const bt__kind *kind = host->kinds;
    while (kind->kind && strcmp(kind->key, key) != 0)
        kind++;
    return kind->kind ? kind : NULL;
}

const bt__kind *bt__kind_of_interface(const struct bt__host *host, const char *name)
{
    const bt__kind *kind = host->kinds;
    while (kind->kind && strcmp(kind->interface_name, name) != 0)
        kind++;
    return kind->kind && *name ? kind : NULL;
}

/* `provides`: a list for each kind, and for each interface that plugins define. */
static bt_status check_provides(bt_ctx *ctx, bt_arena *arena, const bt__json *root)
{
    static const bt__shape_field other_fields[] = { { "name", &bt__name_shape, 1 },
                                                    { 0 } };
    static const bt__shape other_shape = { .kinds = BT__JSON_OBJECT,
                                           .fields = other_fields };
    static const bt__shape others_shape = { .kinds = BT__JSON_LIST,
                                            .items = &other_shape };
    const bt__kind *kinds = ctx->registry->host->kinds;
    uint32_t n = 0;
    while (kinds[n].kind)
        n++;
    bt__shape *lists = BT_NEWS(arena, bt__shape, n);
    bt__shape_field *fields = BT_NEWS(arena, bt__shape_field, n + 1);
    if (!lists || !fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        lists[i] = (bt__shape){ .kinds = BT__JSON_LIST, .items = kinds[i].shape };
        fields[i] = (bt__shape_field){ kinds[i].key, &lists[i], 0 };
    }
    const bt__shape shape = { .kinds = BT__JSON_OBJECT,
                              .fields = fields,
                              .others = &others_shape,
                              .accepts_key = bt__is_interface };
    bt__json provides = bt__json_member(root, "provides");
    return bt__json_check(ctx, &provides, &shape, 0);
}

/* A step of the right shape may still be wrong: the host checks what it means. */
static bt_status check_contributions(bt_ctx *ctx, bt_arena *arena, const bt__json *root)
{
    const struct bt__host *host = ctx->registry->host;
    bt__json list = bt__json_member(root, "contributes");
    if (list.value)
        BT_TRY(bt__json_check(ctx, &list, host->contributes, 0));
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        bt__json item = bt__json_element(&list, i);
        BT_TRY(host->check_step(ctx, arena, &item));
    }
    return NULL;
}

bt_status bt__manifest_check_seed(bt_ctx *ctx, const bt__json *root)
{
    BT_TRY(bt__json_check(ctx, root, &seed_shape, 0));
    return check_contributions(ctx, ctx->scratch, root);
}

static bt_status check_abi(bt_ctx *ctx, const bt__json *root)
{
    bt__json abi = bt__json_member(root, "abi");
    bt__json major = bt__json_member(&abi, "major");
    bt__json needs = bt__json_member(&abi, "needs");
    bt__json built = bt__json_member(&abi, "built");
    long long m = json_integer_value(major.value);
    long long n = json_integer_value(needs.value), b = json_integer_value(built.value);
    if (m != BT_ABI_MAJOR)
        return bt__json_fail(ctx, &major,
                             "the plugin has ABI %lld.%lld, this libbaton has %d.%d: "
                             "install a build of the plugin for it",
                             m, b, BT_ABI_MAJOR, BT_ABI_MINOR);
    if (n > b)
        return bt__json_fail(ctx, &needs,
                             "needs %lld is above %lld, which it was built with", n, b);
    if (BT_ABI_MAJOR == 0 && b != BT_ABI_MINOR)
        return bt__json_fail(ctx, &built,
                             "the plugin has ABI %lld.%lld, this libbaton has %d.%d, and "
                             "below 1.0 they must be equal: build the plugin again with "
                             "the headers of this libbaton",
                             m, b, BT_ABI_MAJOR, BT_ABI_MINOR);
    if (n > BT_ABI_MINOR)
        return bt__json_fail(ctx, &needs,
                             "the plugin needs ABI %lld.%lld, this libbaton has %d.%d: "
                             "install a newer libbaton",
                             m, n, BT_ABI_MAJOR, BT_ABI_MINOR);
    return NULL;
}

/* Files (pipelines, libraries) stand for themselves; whatever else is provided is in
 * tables. */
static int provides_rows(const bt_plugin_handle *h, const bt__json *root)
{
    const char *key;
    json_t *list;
    json_object_foreach(json_object_get(root->value, "provides"), key, list)
    {
        const bt__kind *kind = bt__kind_of_key(h->registry->host, key);
        if (!kind || kind->nbytes)
            return 1;
    }
    return 0;
}

/* Picks the binary for this machine, or else the sources. */
static bt_status choose_binary(bt_ctx *ctx, const bt__json *root, bt_plugin_handle *h,
                               bt_arena *arena)
{
    bt__json binaries = bt__json_member(root, "binaries");
    bt_text found;
    bt_text_init(&found, ctx->diags);
    for (size_t i = 0; i < json_array_size(binaries.value); i++) {
        const json_t *row = json_array_get(binaries.value, i);
        const char *os = bt__json_text(row, "os"), *arch = bt__json_text(row, "arch");
        if (strcmp(os, BT__HOST_OS) == 0 && strcmp(arch, BT__HOST_ARCH) == 0) {
            h->binary = bt__format(arena, "%s/%s", h->folder, bt__json_text(row, "path"));
            h->digest = bt__json_text(row, "sha256");
            return h->binary ? NULL : bt_no_memory();
        }
        bt_text_addf(&found, "%s%s/%s", i ? ", " : "", os, arch);
    }
    bt__json sources = bt__json_member(root, "sources");
    if (json_array_size(sources.value) > 0) {
        h->sources = sources.value;
        h->compiler = bt__json_text(root->value, "compiler");
        return NULL;
    }
    if (json_array_size(binaries.value) > 0)
        return bt__json_fail(ctx, &binaries,
                             "expected a binary for %s/%s, found %s: install the plugin "
                             "for this machine",
                             BT__HOST_OS, BT__HOST_ARCH, bt_text_get(&found));
    if (provides_rows(h, root))
        return bt__json_fail(ctx, root,
                             "field \"binaries\" is missing: the shared object that "
                             "provides the names; or \"sources\": its C files");
    return NULL;
}

/* ---- what it provides ---- */

static const char *item_name(bt_arena *arena, const bt__kind *kind, const json_t *json)
{
    if (kind && strcmp(kind->kind, "facet") == 0)
        return bt__format(arena, "%s:%s", bt__json_text(json, "op"),
                          bt__json_text(json, "facet"));
    return bt__json_text(json, "name");
}

static bt_status fail_twice(bt_ctx *ctx, const bt__json *item, const char *name)
{
    return bt__json_fail(ctx, item, "\"%s\" is provided twice", name);
}

bt_status bt__manifest_list(bt_ctx *ctx, bt_arena *arena, bt_plugin_handle *h)
{
    bt__json root = bt__json_root(&h->source, h->json);
    bt__json provides = bt__json_member(&root, "provides");
    json_t *object = json_object_get(h->json, "provides");
    const char *key;
    json_t *list;
    size_t n = 0, first;
    json_object_foreach(object, key, list) n += json_array_size(list);
    h->items = BT_NEWS(arena, bt__item, n);
    if (!h->items)
        return bt_no_memory();
    json_object_foreach(object, key, list)
    {
        const bt__kind *kind = bt__kind_of_key(h->registry->host, key);
        bt__json rows = bt__json_member(&provides, key);
        first = h->nitem;
        for (size_t i = 0; i < json_array_size(list); i++) {
            bt__json row = bt__json_element(&rows, i);
            bt__item *item = &h->items[h->nitem];
            *item = (bt__item){ .kind = kind,
                                .interface_name = kind ? kind->interface_name : key,
                                .name = item_name(arena, kind, row.value),
                                .doc = bt__json_text(row.value, "doc"),
                                .json = row.value,
                                .plugin = h };
            if (!item->name)
                return bt_no_memory();
            for (size_t j = first; j < h->nitem; j++) {
                if (strcmp(h->items[j].name, item->name) == 0)
                    return fail_twice(ctx, &row, item->name);
            }
            h->nitem++;
        }
    }
    return NULL;
}

/* ---- reading ---- */

static bt_status judge(bt_ctx *ctx, bt_arena *arena, bt_plugin_handle *h)
{
    BT_TRY(bt__json_parse(ctx, &h->source, &h->json));
    bt__json root = bt__json_root(&h->source, h->json);
    BT_TRY(bt__json_check(ctx, &root, &manifest_shape, 0));
    BT_TRY(check_provides(ctx, arena, &root));
    h->id = bt__json_text(h->json, "id");
    h->version = bt__json_text(h->json, "version");
    h->license = bt__json_text(h->json, "license");
    h->doc = bt__json_text(h->json, "doc");
    BT_TRY(check_contributions(ctx, arena, &root));
    BT_TRY(bt__manifest_list(ctx, arena, h));
    BT_TRY(check_abi(ctx, &root));
    return choose_binary(ctx, &root, h, arena);
}

/* Until the id is known a plugin goes by its file's name. */
static const char *name_of_file(bt_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t n = strlen(base), suffix = strlen(SUFFIX);
    if (n > suffix && strcmp(base + n - suffix, SUFFIX) == 0)
        n -= suffix;
    return bt_arena_text(arena, base, n);
}

const bt_plugin_handle *bt__manifest_find(const struct bt__plugins *plugins,
                                          const char *path)
{
    for (uint32_t i = 0; i < plugins->handles.len; i++) {
        const char *known = plugins->handles.at[i]->manifest;
        if (known && strcmp(known, path) == 0)
            return plugins->handles.at[i];
    }
    return NULL;
}

bt_status bt__manifest_read(bt_ctx *ctx, struct bt__plugins *plugins, const char *path,
                            uint32_t rank)
{
    if (bt__manifest_find(plugins, path)) // a file named twice is one plugin
        return NULL;
    bt_plugin_handle *h = BT_NEW(plugins->arena, bt_plugin_handle);
    if (!h || !BT_PUSH(plugins->arena, &plugins->handles, h))
        return bt_no_memory();
    h->registry = ctx->registry;
    h->rank = rank;
    h->state = BT_PLUGIN_REFUSED; // until everything has been checked
    h->refusal = bt_no_memory();
    h->version = "";
    h->manifest = bt_arena_text(plugins->arena, path, strlen(path));
    h->folder = bt__folder_of(plugins->arena, path);
    h->id = name_of_file(plugins->arena, path);
    if (!h->manifest || !h->folder || !h->id) {
        plugins->handles.len--;
        return bt_no_memory();
    }
    h->source.file = h->manifest;
    h->source.code = BT_ERR_MANIFEST;
    bt_status fault = bt__read_bounded(ctx, plugins->arena, path, BT__JSON_MAX_NBYTES,
                                       &h->source.text, &h->source.nbytes);
    if (!fault)
        fault = judge(ctx, plugins->arena, h);
    bt_status kept = fault ? bt__plugins_keep(plugins, fault) : NULL;
    if (kept && kept->code == BT_ERR_MEMORY) {
        json_decref(h->json);
        plugins->handles.len--;
        return kept;
    }
    h->state = fault ? BT_PLUGIN_REFUSED : BT_PLUGIN_FOUND;
    h->refusal = kept;
    return NULL;
}
