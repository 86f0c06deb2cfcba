/*
 * What a registry knows of plugins. Everything here is guarded by the registry's lock and
 * lives as long as the registry: handles, items and rows may be used without the lock
 * once they are made.
 *
 *   places      folders and files searched, in order of rank
 *   handles     one per manifest, sorted by id, then rank
 *   items       one per provided name; those of one interface and name are a chain
 */
#ifndef PLUGIN_PLUGINS_H
#define PLUGIN_PLUGINS_H

#include <jansson.h>

#include <baton/op.h>
#include <baton/pass.h>
#include <baton/plugin.h>

#include "base/arena.h"
#include "base/ctx.h"
#include "plugin/json.h"

typedef struct bt__kind bt__kind;

/* A provided name, from its manifest; the row comes when the plugin is opened. */
typedef struct bt__item {
    const bt__kind *kind;       /* NULL: an interface that plugins define */
    const char *interface_name; /* "baton.op/1" */
    const char *name;           /* of a facet: "nn.relu:gradient" */
    const char *doc;
    const json_t *json;
    const char *json_text; /* made when asked for */
    bt_plugin_handle *plugin;
    struct bt__item *next; /* the same name, from a plugin that sorts later */
    const void *row;       /* the plugin's; NULL until it is open */
    size_t row_nbytes;
    const void *copy; /* the host's copy of the row */
    size_t copy_nbytes;
} bt__item;

enum {
    BT__PLACE_EXPLICIT,
    BT__PLACE_PATH,
    BT__PLACE_ONLY,
    BT__PLACE_USER,
    BT__PLACE_PREFIX,
    BT__PLACE_LINKED
};
typedef struct bt__place {
    uint32_t origin; /* BT__PLACE_... */
    const char *path;
    const char *result;  /* "3 manifests", or why it was not searched */
    uint32_t is_refused; /* the user named it, and it was not searched */
} bt__place;

struct bt_plugin_handle {
    bt_registry *registry;
    uint32_t state;
    uint32_t rank;        /* index of the place it was found in */
    uint32_t is_hidden;   /* another manifest of this id is used */
    bt_status refusal;    /* in the registry's memory */
    const char *manifest; /* path of the file; NULL: linked in */
    const char *folder;   /* of the manifest */
    bt__json_doc source;  /* the manifest's text */
    json_t *json;         /* owned; NULL where it did not parse */
    const char *id, *version, *license, *doc;
    const char *binary;    /* path of the shared object for this machine; NULL: none */
    const char *digest;    /* expected SHA-256 of the binary, NULL: any */
    const char *files;     /* SHA-256 of what it is made of; NULL: nobody asked yet */
    const json_t *sources; /* where there is no binary: C files; NULL: none */
    const char *compiler;  /* for them; NULL: the first that works */
    struct bt_code *code;  /* of the sources, while it is open */
    uint32_t is_opening;
    uint32_t nitem;
    bt__item *items;
    const bt_plugin *table; /* the plugin's own; NULL until open, unless linked in */
    const struct bt__linked *linked; /* NULL: not linked in */
};

/* Read without the lock by bt_plugin_state; `refusal` is set before. */
static inline void bt__plugin_set_state(bt_plugin_handle *h, uint32_t state)
{
    __atomic_store_n(&h->state, state, __ATOMIC_RELEASE);
}

struct bt__plugins {
    bt_arena *arena;
    uint32_t is_scanned, is_indexed;
    bt_map use; /* name -> id of the plugin whose entry to use */
    bt_vec(bt__place) places;
    bt_vec(bt_plugin_handle *) handles;
    bt_map interfaces;        /* text -> bt_map * of name -> bt__item * */
    bt_vec(bt__item *) items; /* sorted by kind, name, plugin */
};

/* ---- plugins.c ---- */

/* Locks the registry, with the search done. On failure nothing is locked. */
bt_status bt__plugins_lock(bt_ctx *, struct bt__plugins **out) BT_MUST_USE;
void bt__plugins_unlock(bt_ctx *);
/* First of the chain, NULL: nobody provides it. */
bt__item *bt__plugins_find(const struct bt__plugins *, const char *interface_name,
                           const char *name);
/* Of a chain, the item of the plugin that the user chose for the name. *out NULL where
 * nothing was chosen.
 * errors  BT_ERR_PLUGIN: the chosen one does not have it */
bt_status bt__plugins_chosen(bt_ctx *, const struct bt__plugins *, bt__item *first,
                             const char *name, bt__item **out) BT_MUST_USE;
/* A copy of a status in the registry's memory. */
bt_status bt__plugins_keep(struct bt__plugins *, bt_status);
/* The one item to use for a name of an interface ("" for pipelines), opening nothing.
 * Takes the lock.
 * errors  BT_ERR_NAME, BT_ERR_PLUGIN (ambiguous) */
bt_status bt__plugins_item(bt_ctx *, const char *interface_name, const char *name,
                           bt__item **out) BT_MUST_USE;
/* bt_registry_row for who holds the lock. */
bt_status bt__plugins_row(bt_ctx *, struct bt__plugins *, const char *interface_name,
                          const char *name, size_t nbytes, const void **out) BT_MUST_USE;
/* The text of the file beside its manifest that an item's `path` names (a pipeline, a
 * library), of at most `limit` bytes, in `arena`; *path is what messages call it. */
bt_status bt__item_text(bt_ctx *, bt_arena *, const bt__item *, size_t limit,
                        const char **path, const char **text, size_t *nbytes) BT_MUST_USE;
bt_status bt__plugins_has(bt_ctx *, const char *interface_name, const char *name,
                          int *out) BT_MUST_USE;

/* What plugins put into a slot of pipelines: elements of `contributes`, in order of their
 * `order`, then of the plugin's id, then as written. Takes the lock. */
typedef struct bt__contribution {
    bt_plugin_handle *plugin;
    size_t index; /* in contributes */
    json_int_t order;
} bt__contribution;
typedef bt_vec(bt__contribution) bt__contributions;
bt_status bt__plugins_contributions(bt_ctx *, bt_arena *, const char *slot,
                                    bt__contributions *out) BT_MUST_USE;

/* What binaries must match. */
#if defined(__linux__)
#define BT__HOST_OS "linux"
#elif defined(__APPLE__)
#define BT__HOST_OS "macos"
#else
#define BT__HOST_OS "unknown"
#endif
#if defined(__x86_64__)
#define BT__HOST_ARCH "x86_64"
#elif defined(__aarch64__)
#define BT__HOST_ARCH "aarch64"
#elif defined(__riscv) && __riscv_xlen == 64
#define BT__HOST_ARCH "riscv64"
#else
#define BT__HOST_ARCH "unknown"
#endif

/* ---- search_posix.c ---- */

/* Fills places and handles; a place or manifest at fault is recorded there.
 * errors  BT_ERR_MEMORY */
bt_status bt__plugins_search(bt_ctx *, struct bt__plugins *) BT_MUST_USE;

/* Reads plugin_use into plugins->use; what is malformed is reported. */
bt_status bt__plugins_read_use(bt_ctx *, struct bt__plugins *) BT_MUST_USE;
/* A whole regular file of at most `limit` bytes, with a NUL behind. */
bt_status bt__read_bounded(bt_ctx *, bt_arena *, const char *path, size_t limit,
                           const char **out, size_t *nbytes) BT_MUST_USE;

/* The folder of a file. NULL: no memory */
const char *bt__folder_of(bt_arena *, const char *path);

/* ---- manifest.c ---- */

/* Reads one manifest into a new handle; a wrong one becomes a refused handle.
 * errors  BT_ERR_MEMORY */
bt_status bt__manifest_read(bt_ctx *, struct bt__plugins *, const char *path,
                            uint32_t rank) BT_MUST_USE;
/* The plugin of a manifest read before; NULL: none was. */
const bt_plugin_handle *bt__manifest_find(const struct bt__plugins *, const char *path);

/* Lists what a checked manifest provides. */
/* Whether the hand-written part of a manifest is one, before it is built upon. */
bt_status bt__manifest_check_seed(bt_ctx *, const bt__json *root) BT_MUST_USE;
bt_status bt__manifest_list(bt_ctx *, bt_arena *, bt_plugin_handle *) BT_MUST_USE;

/* ---- linked.c ---- */

bt_status bt__linked_add(bt_ctx *, struct bt__plugins *) BT_MUST_USE;
/* The text of a file beside a linked-in plugin's manifest; NULL: none. */
const char *bt__linked_text(const bt_plugin_handle *, const char *path);

/* ---- open_posix.c ---- */

/* Opens a plugin unless it is open, checks it against its manifest, fills its items'
 * rows. A refusal is kept. */
bt_status bt__plugin_open(bt_ctx *, struct bt__plugins *, bt_plugin_handle *) BT_MUST_USE;
/* dlopen and query only.
 * errors  BT_ERR_PLUGIN */
bt_status bt__plugin_load(bt_ctx *, const char *path, const bt_plugin **out) BT_MUST_USE;
/* Whether a file lies beneath the manifest's folder, links followed on both sides. */
bt_status bt__plugin_check_beneath(bt_ctx *, const bt_plugin_handle *,
                                   const char *path) BT_MUST_USE;
/* ABI, sizes and pointers of the table itself. */
bt_status bt__plugin_check_table(bt_ctx *, const char *path,
                                 const bt_plugin *) BT_MUST_USE;

/* ---- sources_posix.c ---- */

/* Compiles and links a plugin's sources; sets `code` and `table`. May open the plugin of
 * the compiler. */
bt_status bt__sources_open(bt_ctx *, struct bt__plugins *,
                           bt_plugin_handle *) BT_MUST_USE;
/* Unmaps them; does nothing where there are none. */
void bt__sources_close(bt_plugin_handle *);

/* ---- tables.c: rows of a plugin, as the host sees them ---- */

typedef struct bt__row {
    const bt__kind *kind; /* NULL: an interface that plugins define */
    const char *interface_name, *name;
    const void *raw; /* the plugin's own */
    size_t raw_nbytes;
    void *copy; /* of the kernel's kinds: the host's size, nested rows copied too */
} bt__row;
typedef bt_vec(bt__row) bt__rows;

/* Copies every row of a plugin into `arena`, and checks it: sizes, names, rows that are
 * wholly filled.
 * errors  BT_ERR_PLUGIN, naming interface, row and member */
bt_status bt__tables_read(bt_ctx *, bt_arena *, const bt_plugin *,
                          bt__rows *out) BT_MUST_USE;
/* The `provides` object that states the rows. NULL: no memory */
json_t *bt__tables_describe(const bt__rows *);

/* ---- agree.c ---- */

/* errors BT_ERR_PLUGIN: the manifest says otherwise than the rows; with both values */
bt_status bt__plugin_agrees(bt_ctx *, const bt_plugin_handle *,
                            const bt__rows *) BT_MUST_USE;

/* ---- what this room is told of the rooms above it (kinds/) ---- */

/* Copies rows with the sizes that the plugin was built with. */
typedef struct bt__copier {
    bt_arena *arena;
    const bt_plugin *from;
    bt_store *store; /* for trying defaults of attributes */
} bt__copier;

struct bt__kind {
    const char *kind;           /* "op" */
    const char *key;            /* "ops", in provides */
    const char *interface_name; /* "baton.op/1"; where files are provided, the kind */
    size_t nbytes, least;       /* of a row: the host's, and what all need */
    const bt__shape *shape;     /* of an item in the manifest */
    int (*copy)(const bt__copier *,
                void *row); /* nested rows; 0: no memory; may be NULL */
    /* Where a row has its attributes or options, and their struct's size; 0: it has
     * none. */
    size_t options[2];
    const char *options_key; /* of their schema in the item; NULL: "options" */
    size_t doc;              /* where a row has its sentence; 0: it has no name and doc */
    /* NULL, or what is wrong with the row. */
    const char *(*check)(bt_arena *, const void *row);
    /* Adds to an item what its row says besides name, doc and options; 0: no memory. NULL:
     * nothing. */
    int (*describe)(const void *row, json_t *item);
};

static inline const char *bt__item_kind(const bt__item *item)
{
    return item->kind ? item->kind->kind : item->interface_name;
}
struct bt__host {
    const bt__kind *kinds; /* the interfaces that the kernel knows; a zero ends them */
    const bt__shape *contributes; /* of manifests: steps with their slots */
    bt_status (*check_step)(bt_ctx *, bt_arena *, const bt__json *);
    bt_status (*attrs)(bt_ctx *, bt_store *, const bt_op *, const char *text,
                       const void **out); /* bt_attrs_parse */
};
/* NULL: none. (manifest.c) */
const bt__kind *bt__kind_of_key(const struct bt__host *, const char *key);
const bt__kind *bt__kind_of_interface(const struct bt__host *, const char *name);

/* ---- schema.c: attribute schemas ---- */

extern const bt__shape bt__schema_shape;      /* a list of rows, as JSON */
json_t *bt__schema_describe(const bt_attr *); /* NULL: no memory */
/* Whether names, kinds, defaults and the layout are right: NULL, or what is wrong. */
const char *bt__schema_check(bt_arena *, const bt_attr *, size_t nbytes);
/* Whether a text is UTF-8: NULL is. */
int bt__is_utf8(const char *);
/* The schema a manifest states, with its layout. NULL: no memory. `json` NULL: an empty
 * schema. */
const bt_attr *bt__schema_read(bt_arena *, const json_t *json, size_t *nbytes);

/* A copy of `nbytes` of each row into rows of `host_nbytes`, up to the row whose first
 * member is zero. NULL: no memory */
void *bt__rows_copy(bt_arena *, const void *rows, size_t nbytes, size_t host_nbytes);
/* bt__format for messages: bt__speechless where there is no memory. */
extern const char bt__speechless[];
const char *bt__say(bt_arena *, const char *format, ...) BT_PRINTF(2, 3);

#endif
