/* Reading models and tensors of any known format: which reader a file is for. */
#include <string.h>

#include <baton/importer.h>

#include "base/ctx.h"
#include "compile/artifact/artifact.h"
#include "compile/program/program.h"
#include "text/given_dims.h"
#include "value/file.h"

static int ends_with(const char *text, const char *suffix, size_t nsuffix)
{
    size_t n = strlen(text);
    return n >= nsuffix && memcmp(text + n - nsuffix, suffix, nsuffix) == 0;
}

/* One of the blank-separated suffixes. */
static int has_suffix(const char *path, const char *suffixes)
{
    while (suffixes && *suffixes) {
        size_t n = strcspn(suffixes, " ");
        if (n && ends_with(path, suffixes, n))
            return 1;
        suffixes += n + strspn(suffixes + n, " ");
    }
    return 0;
}

/* An importer, and whose it is. */
struct reader {
    const bt_importer *importer; /* NULL: none */
    const bt_plugin_handle *plugin;
};

static bt_status get_importer(bt_ctx *ctx, uint32_t index, struct reader *out)
{
    bt_provided item;
    const void *row;
    BT_TRY(bt_provided_at(ctx, "importer", index, &item));
    BT_TRY(
        bt_registry_row(ctx, "baton.importer/1", item.name, sizeof(bt_importer), &row));
    *out = (struct reader){ row, item.plugin };
    return NULL;
}

/* The importer that is surest of a file: by its name first, then by its content. */
static bt_status find_importer(bt_ctx *ctx, const bt_file *file, int for_tensor,
                               struct reader *out)
{
    int32_t best = 0;
    *out = (struct reader){ 0 };
    BT_TRY(bt_plugins_scan(
        ctx)); // an importer that failed to load is reported, not that there is none
    uint32_t n = bt_provided_len(ctx, "importer");
    for (uint32_t i = 0; i < n; i++) {
        struct reader reader;
        BT_TRY(get_importer(ctx, i, &reader));
        const bt_importer *importer = reader.importer;
        if (for_tensor && !importer->read_tensor)
            continue;
        int32_t sure = !for_tensor && importer->probe
                           ? importer->probe(file->bytes, file->nbytes)
                           : 0;
        if (has_suffix(file->path, importer->suffixes))
            sure += 1000;
        if (sure > best) {
            best = sure;
            *out = reader;
        }
    }
    return NULL;
}

/* Text begins with a printable character or white space, and holds no NUL in its first
 * bytes. */
static int looks_like_text(const bt_file *file)
{
    const unsigned char *bytes = file->bytes;
    size_t n = file->nbytes < 512 ? file->nbytes : 512;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] < 9 || (bytes[i] > 13 && bytes[i] < 32))
            return 0;
    }
    return 1;
}

static bt_status fail_unknown(bt_ctx *ctx, const bt_file *file)
{
    enum { NSHOWN = 8 };
    const unsigned char *bytes = file->bytes;
    bt_text start;
    bt_text_init(&start, bt_ctx_scratch(ctx));
    for (size_t i = 0; i < NSHOWN && i < file->nbytes; i++) {
        const int is_shown =
            bytes[i] > 31 && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\';
        bt_text_addf(&start, is_shown ? "%c" : "\\x%02x", (unsigned)bytes[i]);
    }
    const char *shown = bt_text_get(&start);
    return shown
               ? bt_fail(ctx, BT_ERR_FORMAT,
                         "%s: no importer knows this format, which is no text and starts "
                         "with \"%s\"; `baton list importers` shows the known ones",
                         file->path, shown)
               : bt_no_memory();
}

static bt_status folder_of(bt_ctx *ctx, const char *path, const char **out)
{
    const char *slash = strrchr(path, '/');
    *out = !slash ? "."
           : slash == path
               ? "/"
               : bt_arena_text(bt_ctx_scratch(ctx), path, (size_t)(slash - path));
    return *out ? NULL : bt_no_memory();
}

static bt_status import_text(bt_ctx *ctx, const bt_file *file, const char *folder,
                             const bt_import_options *options, bt_module **out)
{
    bt__given_dims given = { .entry = options->entry, .wanted = options->wanted };
    if (options->fixed && *options->fixed)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "%s: %s: inputs of a text program are not fixed; write a constant "
                       "in its place",
                       file->path, *options->fixed);
    BT_TRY(bt__given_dims_read(ctx, bt_ctx_scratch(ctx), options->dims, &given));
    return bt__parse_given(ctx, file->path, folder, file->bytes, file->nbytes, &given,
                           out);
}

static bt_status import_file(bt_ctx *ctx, bt_file *file, const bt_import_options *options,
                             bt_module **out)
{
    const char *folder = NULL;
    struct reader reader;
    if (strcmp(file->path, "-") != 0)
        BT_TRY(folder_of(ctx, file->path, &folder));
    if (file->nbytes >= sizeof(BT__ARTIFACT_MAGIC) - 1 &&
        memcmp(file->bytes, BT__ARTIFACT_MAGIC, sizeof(BT__ARTIFACT_MAGIC) - 1) == 0)
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "%s is an artifact, a compiled program: `baton run` and `baton "
                       "info` take its file; this needs the model that it was compiled "
                       "from",
                       file->path);
    int is_text = looks_like_text(file);
    if (is_text && (ends_with(file->path, ".baton", 6) || !strchr(file->path, '.')))
        return import_text(ctx, file, folder, options, out);
    BT_TRY(find_importer(ctx, file, 0, &reader));
    if (!reader.importer && is_text)
        return import_text(ctx, file, folder, options, out);
    if (!reader.importer)
        return fail_unknown(ctx, file);
    bt_import_call call = { .path = file->path,
                            .folder = folder,
                            .bytes = file->bytes,
                            .nbytes = file->nbytes,
                            .dims = options->dims,
                            .fixed = options->fixed,
                            .file = file,
                            .types_only = options->types_only };
    bt_running_part part = { "importer", reader.importer->name, reader.plugin, NULL };
    bt__part_begin(ctx, &part);
    bt_status status = reader.importer->import(ctx, &call, out);
    bt__part_end(ctx, &part);
    return status;
}

/* Of a stream: what an importer knows may be of any size. */
static uint64_t most_of_model(bt_ctx *ctx, const bt_file *begun)
{
    struct reader reader;
    if (looks_like_text(begun))
        return BT__STREAM_NBYTES;
    return !find_importer(ctx, begun, 0, &reader) && reader.importer ? UINT64_MAX : 0;
}

bt_status bt__model_open(bt_ctx *ctx, const char *path, bt_file **out)
{
    bt__progress(ctx, "reading %s", path);
    return bt__file_read_asking(ctx, path, most_of_model, out);
}

bt_status bt__model_import(bt_ctx *ctx, bt_file *file, const bt_import_options *options,
                           bt_module **out)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_status status = import_file(ctx, file, options, out);
    bt_arena_release(scratch, mark);
    return status;
}

bt_status bt_import_sized(bt_ctx *ctx, const char *path, const bt_import_options *given,
                          size_t nbytes, bt_module **out)
{
    bt_import_options options;
    bt_file *file;
    BT_TRY(bt__options_take(ctx, &options, sizeof(options), given, nbytes));
    BT_TRY(bt__model_open(ctx, path, &file));
    bt_status status = bt__model_import(ctx, file, &options, out);
    bt_file_close(ctx, file);
    return status;
}

static bt_status pick_member(bt_ctx *ctx, const char *path, const char *key,
                             const bt_npz *npz, bt_tensor **out)
{
    for (uint32_t i = 0; i < npz->len; i++) {
        if (!key || strcmp(npz->at[i].name, key) == 0) {
            if (!key && npz->len > 1)
                return bt_fail(ctx, BT_ERR_ARGUMENT,
                               "%s holds %u arrays: name one, as in %s:%s", path,
                               npz->len, path, npz->at[0].name);
            *out = bt_tensor_ref(npz->at[i].tensor);
            return NULL;
        }
    }
    return bt_fail(ctx, BT_ERR_NAME, "%s holds no array %s%s%s", path,
                   key ? key : "at all", npz->len ? "; its first is " : "",
                   npz->len ? npz->at[0].name : "");
}

static bt_status read_npz(bt_ctx *ctx, const bt_file *file, const char *key,
                          bt_tensor **out)
{
    bt_npz *npz;
    BT_TRY(bt_npz_read(ctx, file->path, file->bytes, file->nbytes, &npz));
    bt_status status = pick_member(ctx, file->path, key, npz, out);
    bt_npz_destroy(ctx, npz);
    return status;
}

static int is_npz(const bt_file *file)
{
    return file->nbytes >= 4 && memcmp(file->bytes, "PK\3\4", 4) == 0;
}

static int is_npy(const bt_file *file)
{
    return file->nbytes >= 6 && memcmp(file->bytes, "\x93NUMPY", 6) == 0;
}

static uint64_t most_of_tensor(bt_ctx *ctx, const bt_file *begun)
{
    struct reader reader;
    if (is_npy(begun))
        return bt__npy_nbytes(ctx, begun->bytes, begun->nbytes);
    int is_known =
        is_npz(begun) || (!find_importer(ctx, begun, 1, &reader) && reader.importer);
    return is_known ? UINT64_MAX : 0;
}

static bt_status read_tensor(bt_ctx *ctx, const bt_file *file, const char *key,
                             bt_tensor **out)
{
    struct reader reader;
    if (is_npz(file))
        return read_npz(ctx, file, key, out);
    if (is_npy(file))
        return bt_npy_read(ctx, file->path, file->bytes, file->nbytes, out);
    BT_TRY(find_importer(ctx, file, 1, &reader));
    if (!reader.importer)
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "%s is no tensor file: npy, npz or one that an importer reads",
                       file->path);
    bt_running_part part = { "importer", reader.importer->name, reader.plugin, NULL };
    bt__part_begin(ctx, &part);
    bt_status status =
        reader.importer->read_tensor(ctx, file->path, file->bytes, file->nbytes, out);
    bt__part_end(ctx, &part);
    return status;
}

/* FILE.npz:KEY names a member; any other colon belongs to the path. */
static bt_status split_key(bt_ctx *ctx, const char *source, const char **path,
                           const char **key)
{
    const char *mark = strstr(source, ".npz:");
    *path = mark ? bt_arena_text(bt_ctx_scratch(ctx), source, (size_t)(mark + 4 - source))
                 : source;
    *key = mark ? mark + 5 : NULL;
    return *path ? NULL : bt_no_memory();
}

bt_status bt_tensor_read(bt_ctx *ctx, const char *source, bt_tensor **out)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const char *path, *key;
    bt_file *file = NULL;
    bt_status status = split_key(ctx, source, &path, &key);
    if (!status)
        status = bt__file_read_asking(ctx, path, most_of_tensor, &file);
    if (!status) {
        status = read_tensor(ctx, file, key, out);
        bt_file_close(ctx, file);
    }
    bt_arena_release(scratch, mark);
    return status;
}
