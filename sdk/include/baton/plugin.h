/*
 * What a plugin hands over: tables, listed by interface name. A plugin exports one
 * symbol, bt_plugin_query, which the build writes; authors write tables.
 *
 * Rules of the border: fixed-width integers, double, pointers and pointers to such
 * structs; no struct by value, enum, bool, bit-field or long double. Structs only grow at
 * the end; the host reads min(its size, the plugin's size) of each element, so that what
 * an older plugin lacks is zero, and zero means absent. Other structs that may grow are
 * made by libbaton, also where a plugin fills them in (bt_lowering_add), and lists of them
 * are lists of pointers: a plugin that was built with shorter ones reads and writes the
 * part that it knows. What a plugin makes itself states its size (bt_kernel_call.nbytes),
 * or does not grow.
 */
#ifndef BATON_PLUGIN_H
#define BATON_PLUGIN_H

#include <baton/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Below 1.0 minors must be equal. */
#define BT_ABI_MAJOR 0
#define BT_ABI_MINOR 1

/* Rows of one interface. Every row's first member is its `const char *` name, and a row
 * with a zero name ends the table. */
typedef struct bt_table {
    const char *interface_name; /* "baton.op/1"; zero ends a list of tables */
    size_t row_nbytes;
    const void *rows;
} bt_table;

/* const bt_table bt_swish_swish[] = { BT_OPS(ops), { 0 } };
 * Of C++, where a const is a file's own: BT_TABLES(bt_swish_swish) = { ... }; */
#define BT_TABLES(name_)                \
    BT_EXTERN_C const bt_table name_[]; \
    const bt_table name_[]

typedef struct bt_plugin {
    uint32_t abi_major, abi_minor;
    uint32_t nbytes; /* sizeof(bt_plugin) of the headers it was built with */
    uint32_t table_nbytes;
    const char *id;      /* "baton.ops.nn" */
    const char *version; /* "0.1.0" */
    /* ended by NULL; each table ended by a zero interface_name */
    const bt_table *const *tables;
    uint32_t attr_nbytes, input_nbytes, facet_nbytes; /* of nested rows */
    uint32_t reserved;
} bt_plugin;

/* Stands in libbaton; its address tells one copy of the library from another. */
BT_API extern const char bt_host_mark;

/* The one exported symbol. `host` is the address of bt_host_mark in the libbaton that
 * asks: the plugin refuses (NULL) when it is linked to another copy. Pure: no allocation,
 * no I/O, called any number of times. */
#define BT_PLUGIN_QUERY "bt_plugin_query"
typedef const bt_plugin *(*bt_plugin_query_fn)(uint32_t host_major, uint32_t host_minor,
                                               const void *host);

/* ---- what a registry knows, from manifests alone ---- */

typedef struct bt_plugin_handle bt_plugin_handle;
enum { BT_PLUGIN_FOUND, BT_PLUGIN_OPEN, BT_PLUGIN_REFUSED };

/* Searches for manifests unless done; refused ones are kept with their reason. */
BT_API bt_status bt_plugins_scan(bt_ctx *) BT_MUST_USE;
BT_API uint32_t bt_plugins_len(bt_ctx *);
BT_API const bt_plugin_handle *bt_plugins_at(bt_ctx *, uint32_t index); /* sorted by id */
BT_API const char *bt_plugin_id(const bt_plugin_handle *);
BT_API const char *bt_plugin_version(const bt_plugin_handle *);
/* Its path; NULL for a plugin that is linked in. */
BT_API const char *bt_plugin_manifest(const bt_plugin_handle *);
BT_API uint32_t bt_plugin_state(const bt_plugin_handle *);
BT_API bt_status bt_plugin_refusal(const bt_plugin_handle *); /* NULL unless refused */

/* A place that was to be searched for manifests, in order. */
typedef struct bt_plugin_place {
    const char *path;    /* as it was given */
    const char *origin;  /* "BATON_PLUGIN_PATH", "the user's folder", ... */
    const char *result;  /* "2 manifests", "no such folder", why it was refused */
    uint32_t is_refused; /* it was named by the user and cannot be searched */
} bt_plugin_place;
BT_API uint32_t bt_plugin_nplace(bt_ctx *);
BT_API bt_status bt_plugin_place_at(bt_ctx *, uint32_t index,
                                    bt_plugin_place *out) BT_MUST_USE;

/* One provided name, as its manifest states it: "op" "nn.relu", with its documentation as
 * JSON text. */
typedef struct bt_provided {
    const char *kind; /* "op", "relation", "pass", "executor", "importer", "pipeline",
                         "facet", ... */
    const char *name;
    const char *doc;  /* first line */
    const char *json; /* the whole item, as in the manifest */
    const bt_plugin_handle *plugin;
} bt_provided;
/* In order of name; kind NULL: all, kind by kind. Names provided twice are all listed. */
BT_API uint32_t bt_provided_len(bt_ctx *, const char *kind);
BT_API bt_status bt_provided_at(bt_ctx *, const char *kind, uint32_t index,
                                bt_provided *out) BT_MUST_USE;
/* The text that a provided library or pipeline is, NUL-terminated, also of one that is linked
 * in and has no file. It lives as long as the arena and the context. */
BT_API bt_status bt_provided_text(bt_ctx *, bt_arena *, const bt_provided *,
                                  const char **out) BT_MUST_USE;

/* The row of a name in an interface ("baton.pass/1", "fold-constant"), the plugin opened
 * if need be. The row is the host's copy, zero beyond what the plugin knows, `nbytes`
 * long. Any interface, also one that plugins define for each other.
 * errors  BT_ERR_NAME (unknown: nearest names), BT_ERR_PLUGIN (refused: reason) */
BT_API bt_status bt_registry_row(bt_ctx *, const char *interface_name, const char *name,
                                 size_t nbytes, const void **out) BT_MUST_USE;
/* Opens a plugin by id and checks it wholly against its manifest. */
BT_API bt_status bt_plugin_open(bt_ctx *, const char *id) BT_MUST_USE;
/* Writes how a name is resolved: every place searched, every candidate, what was chosen
 * and why. errors BT_ERR_NAME: nothing is called so; `out` then tells what is near, and
 * where was searched */
BT_API bt_status bt_plugin_why(bt_ctx *, const char *name, bt_text *out) BT_MUST_USE;
/* Writes the manifest of a shared object: opens it, walks its tables. `seed` is the
 * hand-written part as JSON text (id, version, license, ...); `binary` the path to name
 * in it. */
BT_API bt_status bt_plugin_describe(bt_ctx *, const char *shared_object, const char *seed,
                                    const char *binary, bt_text *out) BT_MUST_USE;
/* Writes anew the manifest of a plugin that comes as C source: compiles it, walks its
 * tables. What stands by hand in the file stays. */
BT_API bt_status bt_plugin_describe_sources(bt_ctx *, const char *manifest_path,
                                            bt_text *out) BT_MUST_USE;
/* What of a plugin the call in progress runs, so that a crash can name it: the function of
 * a row. `around`: what called it in turn. NULL: nothing. May be asked by a signal
 * handler. */
typedef struct bt_running_part {
    const char *what; /* "the pass", "the type relation of" */
    const char *name; /* of the row: "fold-constant", "nn.relu" */
    const bt_plugin_handle *plugin;
    const struct bt_running_part *around;
} bt_running_part;
BT_API const bt_running_part *bt_ctx_running_part(const bt_ctx *);
/* Adds one manifest file to those found. */
BT_API bt_status bt_plugins_add(bt_ctx *, const char *manifest_path) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
