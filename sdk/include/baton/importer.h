/*
 * For authors of importers: what reads a foreign model into a module.
 */
#ifndef BATON_IMPORTER_H
#define BATON_IMPORTER_H

#include <baton/ir.h>
#include <baton/op.h>
#include <baton/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bt_import_call {
    const char *path;   /* as the user named it; for messages */
    const char *folder; /* of the model; external data is opened beneath it only
                           (bt_file_read_beneath); NULL: none */
    const void *bytes;
    size_t nbytes;
    /* "n=4": values for symbolic dims; NULL-terminated; NULL: none */
    const char *const *dims;
    const void *options;
    const char *const *fixed; /* "axes=[1, 2]": inputs that are constants; likewise */
    /* What `bytes` are of: tensors may lie within (bt_file_tensor). */
    bt_file *file;
    /* Only types are asked for: constants of more than 64 KiB may hold anything. */
    uint32_t types_only;
} bt_import_call;

typedef struct bt_importer {
    const char *name; /* "onnx" */
    const char *doc;
    const char *suffixes; /* of file names, separated by blanks: ".onnx .pb" */
    const bt_attr *options;
    size_t options_nbytes;
    /* How sure, 0 (no) to 100, from the first bytes of a file. */
    int32_t (*probe)(const void *head, size_t nbytes);
    /* An untyped or typed module with function `main`. Everything unsupported is reported
     * before it fails. The module's attributes describe the source (format, version,
     * producer). */
    bt_status (*import)(bt_ctx *, const bt_import_call *, bt_module **out);
    /* One tensor from a file of this format; NULL: the format has none. */
    bt_status (*read_tensor)(bt_ctx *, const char *place, const void *bytes,
                             size_t nbytes, bt_tensor **out);
} bt_importer;
#define BT_IMPORTERS(array)                              \
    {                                                    \
        "baton.importer/1", sizeof(bt_importer), (array) \
    }

typedef struct bt_import_options {
    /* The function whose dims are given; NULL: main, or the only one. */
    const char *entry;
    /* Symbolic dims of the entry: "n=4", ended by NULL; NULL: none. */
    const char *const *dims;
    /* Inputs of a foreign model that are constants from here on: "axes=[1, 2]", ended by
     * NULL; NULL: none. */
    const char *const *fixed;
    /* Only types are asked for: large constants of the module may hold anything, so that
     * a foreign model's weights need not be read. */
    uint32_t types_only;
    /* Names of globals, "loss.huber", ended by NULL: of a text, those that it imports are read
     * as if it used them. One that there is not is no error. NULL: none. */
    const char *const *wanted;
} bt_import_options;

/* Reads a model of any known format: Baton text, or what an importer claims. NULL
 * options: none. The result is not yet inferred.
 * errors  BT_ERR_NAME, BT_ERR_ARGUMENT: it has no such dim or input; BT_ERR_IO;
 *         BT_ERR_FORMAT: of no known format; what the reader of the format gives */
BT_API bt_status bt_import_sized(bt_ctx *, const char *path, const bt_import_options *,
                                 size_t nbytes, bt_module **out) BT_MUST_USE;
BT_MUST_USE static inline bt_status bt_import(bt_ctx *ctx, const char *path,
                                              const bt_import_options *options,
                                              bt_module **out)
{
    return bt_import_sized(ctx, path, options, sizeof(*options), out);
}
/* An inferred module whose entry, where that is a gradient that is declared, is a function that
 * calls it. dims: as in the options, given to it.
 * errors  BT_ERR_NAME, BT_ERR_ARGUMENT, BT_ERR_SHAPE: it has no such dim */
BT_API bt_status bt_entry_define(bt_ctx *, const bt_module *, const char *entry,
                                 const char *const *dims, bt_module **out) BT_MUST_USE;
/* One tensor: FILE.npy, FILE.npz:KEY, or what an importer reads.
 * errors  BT_ERR_IO, BT_ERR_FORMAT, BT_ERR_NAME: no such key */
BT_API bt_status bt_tensor_read(bt_ctx *, const char *source,
                                bt_tensor **out) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
