/*
 * Relay's `#[metadata]`: a JSON graph of objects that text refers to as
 * meta[relay.Constant][0].
 *
 *   { "nodes": [ { "type_key": "Map", "keys": ["relay.Constant"], "data": [2] },
 *                { "type_key": "Array", "data": [3] },
 *                { "type_key": "relay.Constant", "attrs": { "data": "0" } } ],
 *     "b64ndarrays": ["P6G0lvBAXt0..."] }
 *
 * An array's bytes, little endian: uint64 magic and reserved, int32 device type and id,
 * int32 rank, uint8 class and bits, uint16 lanes, int64 dims, int64 byte count, elements.
 */
#include "text/base64.h"
#include "text/draft.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0xDD5E40F096B4A13Full

struct bt__metadata {
    json_t *root;
    const json_t *nodes, *arrays;
    bt_map constants; /* address of a node -> bt_tensor */
};

void bt__metadata_destroy(struct bt__metadata *meta)
{
    if (meta)
        json_decref(meta->root);
}

/* ---- bytes ---- */

typedef struct bytes {
    const unsigned char *at;
    size_t nbytes;
} bytes;

/* The next n <= 8 bytes as a number; 0 of *ok where they are missing. */
static uint64_t take(bytes *from, size_t n, int *ok)
{
    uint64_t value = 0;
    if (from->nbytes < n) {
        *ok = 0;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)from->at[i] << (8 * i);
    from->at += n;
    from->nbytes -= n;
    return value;
}

typedef struct array {
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bytes data;
} array;

/* NULL, or what is wrong. */
static const char *read_header(bytes from, array *out)
{
    int ok = 1;
    if (take(&from, 8, &ok) != MAGIC)
        return "not an array of TVM: its magic number is missing";
    take(&from, 8, &ok);
    take(&from, 8, &ok);
    uint64_t rank = take(&from, 4, &ok);
    uint32_t class = (uint32_t)take(&from, 1, &ok), bits = (uint32_t)take(&from, 1, &ok);
    uint32_t lanes = (uint32_t)take(&from, 2, &ok);
    if (!ok || rank > BT_MAX_RANK)
        return "an array that is cut off, or of too many dims";
    // TVM's bool is an unsigned integer of one bit, in a byte.
    out->dtype = class == BT_CLASS_UINT && bits == 1 && lanes == 1
                     ? (bt_dtype)BT_BOOL
                     : BT_DTYPE(class, bits, lanes);
    if (!bt_dtype_nbytes(out->dtype)) // Relay has none that are packed
        return "an array of an element type without storage";
    out->rank = (uint32_t)rank;
    for (uint32_t i = 0; i < out->rank; i++) {
        out->dims[i] = (int64_t)take(&from, 8, &ok);
        if (out->dims[i] < 0)
            return "an array with a negative dim";
    }
    uint64_t nbytes = take(&from, 8, &ok);
    if (!ok || nbytes != from.nbytes)
        return "an array that is cut off";
    out->data = from;
    return NULL;
}

static bt_tensor *make_tensor(bt__parser *p, const bt__token *token, const array *a)
{
    bt_tensor *tensor = NULL;
    int64_t nelem = 1;
    size_t nbytes;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (!bt_mul_int64(nelem, a->dims[i], &nelem))
            nelem = INT64_MAX;
    }
    if (!bt_mul_size((size_t)nelem, bt_dtype_nbytes(a->dtype), &nbytes) ||
        nbytes != a->data.nbytes) {
        bt__error_token(p, BT_ERR_FORMAT, token,
                        "an array whose bytes do not fit its shape");
        return NULL;
    }
    bt_status status = bt_tensor_create(p->ctx, a->dtype, a->rank, a->dims, &tensor);
    if (status) {
        bt__error_token(p, status->code, token, "%s", status->message);
        return NULL;
    }
    size_t each = bt_dtype_nbytes(a->dtype);
    bytes from = a->data;
    int ok = 1;
    for (int64_t i = 0; i < nelem; i++) {
        uint64_t bits = take(&from, each, &ok);
        const uint8_t one = (uint8_t)bits;
        const uint16_t two = (uint16_t)bits;
        const uint32_t four = (uint32_t)bits;
        const void *element = each == 1   ? (const void *)&one
                              : each == 2 ? (const void *)&two
                              : each == 4 ? (const void *)&four
                                          : (const void *)&bits;
        memcpy((char *)tensor->data + (size_t)i * each, element, each);
    }
    return tensor;
}

static bt_tensor *decode(bt__parser *p, const bt__token *token, const json_t *text)
{
    bt_text out;
    array a;
    bt_text_init(&out, p->arena);
    if (!json_is_string(text) ||
        !bt__base64_read(json_string_value(text), json_string_length(text), &out)) {
        if (out.failed)
            bt__error_memory(p);
        else
            bt__error_token(p, BT_ERR_FORMAT, token,
                            "#[metadata]: an array that is not base64");
        return NULL;
    }
    bytes all = { (const unsigned char *)out.at, out.len };
    const char *wrong = read_header(all, &a);
    if (!wrong)
        return make_tensor(p, token, &a);
    bt__error_token(p, BT_ERR_FORMAT, token, "#[metadata]: %s", wrong);
    return NULL;
}

/* ---- the graph of objects ---- */

static int load(bt__parser *p, const bt__token *token)
{
    bt__module_draft *module = p->module;
    if (module->meta)
        return 1;
    if (!module->metadata)
        return bt__error_token(p, BT_ERR_NAME, token,
                               "the text has no #[metadata] section: print the program "
                               "with show_meta_data=True");
    const char *text = p->text + module->metadata;
    struct bt__metadata *meta = BT_NEW(p->arena, struct bt__metadata);
    if (!meta)
        return bt__error_memory(p);
    json_error_t error;
    meta->root = json_loadb(text, p->nbytes - module->metadata, 0, &error);
    if (!meta->root)
        return bt__error(p, BT_ERR_FORMAT,
                         module->metadata +
                             (error.position > 0 ? (uint32_t)error.position - 1 : 0),
                         1, "#[metadata]: %s", error.text);
    meta->nodes = json_object_get(meta->root, "nodes");
    meta->arrays = json_object_get(meta->root, "b64ndarrays");
    bt_map_init(&meta->constants, p->arena, 0);
    module->meta = meta;
    return 1;
}

/* An index, which TVM writes as a number or as a text. -1: none. */
static int64_t index_of(const json_t *value)
{
    if (json_is_integer(value))
        return json_integer_value(value);
    const char *text = json_string_value(value);
    return text && *text >= '0' && *text <= '9' ? strtol(text, NULL, 10) : -1;
}

static const json_t *at(const json_t *list, int64_t index)
{
    return index >= 0 ? json_array_get(list, (size_t)index) : NULL;
}

/* The node of meta[key][index], NULL if there is none. */
static const json_t *find_node(const struct bt__metadata *meta, const char *key,
                               int64_t index)
{
    size_t i, n = json_array_size(meta->nodes);
    for (i = 0; i < n; i++) {
        const json_t *node = json_array_get(meta->nodes, i);
        const json_t *keys = json_object_get(node, "keys");
        for (size_t j = 0; j < json_array_size(keys); j++) {
            const char *name = json_string_value(json_array_get(keys, j));
            if (!name || strcmp(name, key) != 0)
                continue;
            const json_t *list =
                at(meta->nodes, index_of(at(json_object_get(node, "data"), (int64_t)j)));
            return at(meta->nodes, index_of(at(json_object_get(list, "data"), index)));
        }
    }
    return NULL;
}

static bt_tensor *find_constant(bt__parser *p, const bt__token *token, int64_t index)
{
    struct bt__metadata *meta = p->module->meta;
    const json_t *node = find_node(meta, "relay.Constant", index);
    if (!node) {
        bt__error_token(p, BT_ERR_NAME, token,
                        "#[metadata] has no relay.Constant of index %lld",
                        (long long)index);
        return NULL;
    }
    bt_tensor *known = bt_map_find(&meta->constants, node);
    if (known)
        return known;
    int64_t number = index_of(json_object_get(json_object_get(node, "attrs"), "data"));
    bt_tensor *tensor = decode(p, token, at(meta->arrays, number));
    if (!tensor || !bt__draft_keep(p, &tensor->base))
        return NULL;
    if (bt_map_put(&meta->constants, node, tensor))
        return tensor;
    bt__error_memory(p);
    return NULL;
}

bt__draft *bt__parse_meta(bt__parser *p)
{
    bt__token start = p->token;
    int64_t index;
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_LBRACKET))
        return NULL;
    if (!bt__at_word(p, "relay.Constant")) {
        bt__error_token(p, BT_ERR_UNSUPPORTED, &p->token,
                        "of #[metadata] only relay.Constant is handled, found %s",
                        bt__token_show(p, &p->token));
        return NULL;
    }
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_RBRACKET) || !bt__expect(p, BT_TOKEN_LBRACKET) ||
        !bt__parse_int(p, &index) || !bt__expect(p, BT_TOKEN_RBRACKET))
        return NULL;
    start.nbytes = p->end - start.offset;
    if (!load(p, &start))
        return NULL;
    const bt_tensor *tensor = find_constant(p, &start, index);
    return tensor ? bt__draft_const(p, start.offset, &tensor->base) : NULL;
}
