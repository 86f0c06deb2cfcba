/*
 * JSON with places. The values are jansson's; a scanner of ours reads them, and finds where
 * in the text one stands, so that every complaint about a field has file, line, column and caret.
 * Manifests and pipelines are checked against a shape, which is data: what a value may
 * be, and what its members may be.
 */
#ifndef PLUGIN_JSON_H
#define PLUGIN_JSON_H

#include <jansson.h>

#include <baton/base.h>

#define BT__JSON_MAX_NBYTES (256u << 10)
#define BT__JSON_MAX_DEPTH  32

typedef struct bt__json_doc {
    const char *file; /* for messages */
    const char *text;
    size_t nbytes;
    uint32_t code; /* of errors: BT_ERR_MANIFEST, BT_ERR_PIPELINE */
    bt_map *index; /* value -> where it stands: filled by parsing, so that many spots cost
                      no more than the document; NULL: found by walking */
} bt__json_doc;

/* A range of a document, for messages that come later. */
typedef struct bt__spot {
    const bt__json_doc *doc;
    uint32_t at, width;
} bt__spot;

/* A value and the path to it: cursors are linked on the C stack of whoever walks. */
typedef struct bt__json {
    const bt__json_doc *doc;
    const struct bt__json *up; /* NULL: the whole document */
    const char *key;           /* member of an object; NULL: element `index` of a list */
    size_t index;
    const json_t *value;
} bt__json;

/* Parses at most BT__JSON_MAX_NBYTES of UTF-8 text.
 * owns  caller json_decrefs */
bt_status bt__json_parse(bt_ctx *, const bt__json_doc *, json_t **out) BT_MUST_USE;
bt__json bt__json_root(const bt__json_doc *, const json_t *);
/* A member; value NULL where there is none. */
bt__json bt__json_member(const bt__json *, const char *key);
bt__json bt__json_element(const bt__json *, size_t index);
/* Adds "/provides/ops/0/name", nothing for the root. */
void bt__json_pointer(const bt__json *, bt_text *out);
/* Where the value stands, or (with `at_key`) its key. */
bt__spot bt__json_spot(const bt__json *, int at_key);
/* The same fault, at a spot; lack of memory stays what it is. */
bt_status bt__spot_wrap(bt_ctx *, bt__spot, bt_status fault) BT_MUST_USE;
bt_status bt__spot_fail(bt_ctx *, bt__spot, const char *format, ...) BT_MUST_USE
    BT_PRINTF(3, 4);
/* Fails at the value: "FILE:3:14: error: /abi/major: expected ..., found ...". */
bt_status bt__json_fail(bt_ctx *, const bt__json *, const char *format, ...) BT_MUST_USE
    BT_PRINTF(3, 4);
bt_status bt__json_fail_key(bt_ctx *, const bt__json *, const char *format,
                            ...) BT_MUST_USE BT_PRINTF(3, 4);
/* The text of a string member, or NULL. */
const char *bt__json_text(const json_t *object, const char *key);
/* Adds a member and takes the value, which may be NULL for lack of memory. 0: no
 * memory. */
int bt__json_put(json_t *object, const char *key, json_t *value);
/* The list of the words of a text, split at blanks; of NULL: an empty one. NULL: no
 * memory. */
json_t *bt__json_words(const char *text);
/* Writes a value; `flags` are jansson's. 0: no memory. */
int bt__json_write(const json_t *, size_t flags, bt_text *out);
/* A value as messages show it: cut to about `limit` bytes, "nothing" for NULL. NULL: no
 * memory. */
const char *bt__json_excerpt(bt_arena *, const json_t *, size_t limit);

/* ---- shapes ---- */

enum {
    BT__JSON_STRING = 1,
    BT__JSON_INT = 2,
    BT__JSON_REAL = 4, /* accepts an integer too */
    BT__JSON_BOOL = 8,
    BT__JSON_LIST = 16,
    BT__JSON_OBJECT = 32
};
typedef struct bt__shape bt__shape;
typedef struct bt__shape_field {
    const char *name; /* zero ends a list */
    const bt__shape *shape;
    uint32_t is_required;
} bt__shape_field;
struct bt__shape {
    uint32_t kinds;                   /* BT__JSON_... that are accepted */
    const char *what;                 /* "a version, as in 0.1.0"; NULL: from the kinds */
    int (*accepts)(const char *);     /* of strings; NULL: any */
    const char *choices;              /* of strings: "linux|any"; NULL: any */
    int64_t low, high;                /* of integers; both 0: any */
    const bt__shape *items;           /* of lists */
    const bt__shape_field *fields;    /* of objects */
    const bt__shape *others;          /* members not in `fields`; NULL: none allowed */
    int (*accepts_key)(const char *); /* of other members */
};
/* Reports (bt_report) every fault when `report_all`, else stops at the first. Returns the
 * first. */
bt_status bt__json_check(bt_ctx *, const bt__json *, const bt__shape *,
                         int report_all) BT_MUST_USE;

/* A text, a name, a flag, an opt level, a path beneath the manifest's folder. */
extern const bt__shape bt__text_shape, bt__name_shape, bt__flag_shape, bt__level_shape,
    bt__path_shape;

/* Grammar of strings. */
int bt__is_name(const char *);      /* nn.conv2d, fold-constant, Broadcast */
int bt__is_interface(const char *); /* quant.scheme/1 */
int bt__is_version(const char *);   /* 0.1.0, 1.2.3-rc1 */
int bt__is_path(const char *);      /* relative, without "." and ".." */
int bt__is_digest(const char *);    /* 64 hexadecimal digits */
int bt__is_filled(const char *);    /* not empty */

#endif
