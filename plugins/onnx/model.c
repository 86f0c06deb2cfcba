#include "model.h"

#include <string.h>

/* A message being read. */
struct reader {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *path;
    const uint8_t *start; /* of the file, for offsets in messages */
    struct onnx_model *model;
    uint32_t depth; /* of graphs within attributes */
};

static bt_status malformed(struct reader *r, const uint8_t *at, const char *message)
{
    return bt_fail(r->ctx, BT_ERR_FORMAT, "%s: malformed %s at byte %zu", r->path,
                   message, (size_t)(at - r->start));
}

static bt_status get_text(struct reader *r, struct slice bytes, const char **out)
{
    *out = bt_arena_text(r->arena, (const char *)bytes.at, bytes.nbytes);
    return *out ? NULL : bt_no_memory();
}

/* Runs a handler for each field of a message. */
typedef bt_status (*field_fn)(struct reader *, const struct field *, void *out);

static bt_status read_message(struct reader *r, struct slice bytes, const char *what,
                              field_fn handle, void *out)
{
    struct field field;
    for (;;) {
        const uint8_t *at = bytes.at;
        int got = wire_next(&bytes, &field);
        if (got == 0)
            return NULL;
        if (got < 0)
            return malformed(r, at, what);
        BT_TRY(handle(r, &field, out));
    }
}

/* A repeated number: packed, or one of many fields. */
static bt_status add_numbers(struct reader *r, const struct field *field, uint32_t type,
                             int (*add)(struct reader *, void *list, uint64_t),
                             void *list)
{
    if (field->type == type)
        return add(r, list, field->value) ? NULL : bt_no_memory();
    struct slice rest = field->bytes;
    uint64_t value;
    int got;
    if (field->type != WIRE_BYTES)
        return malformed(r, r->start, "list of numbers");
    while ((got = wire_packed(&rest, type, &value)) > 0) {
        if (!add(r, list, value))
            return bt_no_memory();
    }
    return got < 0 ? malformed(r, rest.at, "packed list") : NULL;
}

static int add_int(struct reader *r, void *list, uint64_t value)
{
    int64_list *ints = list;
    return BT_PUSH(r->arena, ints, (int64_t)value);
}

static int add_float(struct reader *r, void *list, uint64_t value)
{
    float_list *floats = list;
    return BT_PUSH(r->arena, floats, wire_float(value));
}

static bt_status add_text(struct reader *r, const struct field *field, text_list *list)
{
    const char *text;
    BT_TRY(get_text(r, field->bytes, &text));
    return BT_PUSH(r->arena, list, text) ? NULL : bt_no_memory();
}

/* ---- tensors ---- */

/* StringStringEntryProto of external_data: only the keys that ONNX defines count. */
struct entry {
    const char *key, *value;
};

static bt_status entry_field(struct reader *r, const struct field *field, void *out)
{
    struct entry *entry = out;
    if (field->type != WIRE_BYTES || field->number > 2)
        return NULL;
    return get_text(r, field->bytes, field->number == 1 ? &entry->key : &entry->value);
}

static bt_status parse_number(struct reader *r, const struct entry *entry, int64_t *out)
{
    int64_t value = 0;
    for (const char *c = entry->value; *c; c++) {
        if (*c < '0' || *c > '9' || !bt_mul_int64(value, 10, &value) ||
            !bt_add_int64(value, *c - '0', &value))
            return bt_fail(r->ctx, BT_ERR_FORMAT,
                           "%s: external data has %s %s, which is no number", r->path,
                           entry->key, entry->value);
    }
    *out = value;
    return NULL;
}

static bt_status external_entry(struct reader *r, const struct field *field,
                                struct onnx_tensor *tensor)
{
    struct entry entry = { "", "" };
    BT_TRY(read_message(r, field->bytes, "external data entry", entry_field, &entry));
    if (strcmp(entry.key, "location") == 0)
        tensor->location = entry.value;
    else if (strcmp(entry.key, "offset") == 0)
        return parse_number(r, &entry, &tensor->offset);
    else if (strcmp(entry.key, "length") == 0)
        return parse_number(r, &entry, &tensor->length);
    return NULL;
}

static bt_status tensor_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_tensor *tensor = out;
    switch (field->number) {
    case 1: return add_numbers(r, field, WIRE_VARINT, add_int, &tensor->dims);
    case 2: tensor->data_type = (int64_t)field->value; return NULL;
    case 4: /* float, int32, string, int64, double, uint64 */
    case 5:
    case 6:
    case 7:
    case 10:
    case 11: return BT_PUSH(r->arena, &tensor->lists, *field) ? NULL : bt_no_memory();
    case 8: return get_text(r, field->bytes, &tensor->name);
    case 9:
        tensor->raw = field->bytes;
        tensor->has_raw = 1;
        return NULL;
    case 13: return external_entry(r, field, tensor);
    case 14: tensor->is_external = field->value == 1; return NULL;
    default: return NULL;
    }
}

static bt_status read_tensor(struct reader *r, struct slice bytes,
                             struct onnx_tensor *out)
{
    *out = (struct onnx_tensor){ .name = "", .length = -1 };
    return read_message(r, bytes, "tensor", tensor_field, out);
}

/* ---- graphs ---- */

static bt_status dim_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_dim *dim = out;
    if (field->number == 1 && field->type == WIRE_VARINT && (int64_t)field->value >= 0)
        dim->value = (int64_t)field->value;
    return field->number == 2 && field->type == WIRE_BYTES
               ? get_text(r, field->bytes, &dim->symbol)
               : NULL;
}

static bt_status shape_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_value_info *info = out;
    struct onnx_dim dim = { .value = -1 };
    if (field->number != 1 || field->type != WIRE_BYTES)
        return NULL;
    BT_TRY(read_message(r, field->bytes, "dimension", dim_field, &dim));
    return BT_PUSH(r->arena, &info->dims, dim) ? NULL : bt_no_memory();
}

static bt_status tensor_type_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_value_info *info = out;
    if (field->number == 1)
        info->elem_type = (int64_t)field->value;
    if (field->number != 2 || field->type != WIRE_BYTES)
        return NULL;
    info->has_shape = 1;
    return read_message(r, field->bytes, "shape", shape_field, info);
}

static bt_status type_field(struct reader *r, const struct field *field, void *out)
{
    return field->number == 1 && field->type == WIRE_BYTES
               ? read_message(r, field->bytes, "tensor type", tensor_type_field, out)
               : NULL;
}

static bt_status value_info_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_value_info *info = out;
    if (field->number == 1 && field->type == WIRE_BYTES)
        return get_text(r, field->bytes, &info->name);
    return field->number == 2 && field->type == WIRE_BYTES
               ? read_message(r, field->bytes, "type", type_field, info)
               : NULL;
}

static bt_status read_graph(struct reader *r, struct slice bytes, struct onnx_graph *out);

static bt_status attr_graph(struct reader *r, struct slice bytes, struct onnx_attr *attr)
{
    if (++r->depth > bt_ctx_limits(r->ctx)->depth)
        return bt_fail(r->ctx, BT_ERR_LIMIT, "%s: graphs nest deeper than %u", r->path,
                       bt_ctx_limits(r->ctx)->depth);
    attr->g = BT_NEW(r->arena, struct onnx_graph);
    if (!attr->g)
        return bt_no_memory();
    BT_TRY(read_graph(r, bytes, attr->g));
    r->depth--;
    return NULL;
}

static bt_status attr_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_attr *attr = out;
    switch (field->number) {
    case 1: return get_text(r, field->bytes, &attr->name);
    case 2: attr->f = wire_float(field->value); return NULL;
    case 3: attr->i = (int64_t)field->value; return NULL;
    case 4: return get_text(r, field->bytes, &attr->s);
    case 5:
        attr->t = BT_NEW(r->arena, struct onnx_tensor);
        return attr->t ? read_tensor(r, field->bytes, attr->t) : bt_no_memory();
    case 6: return attr_graph(r, field->bytes, attr);
    case 7: return add_numbers(r, field, WIRE_FIXED32, add_float, &attr->floats);
    case 8: return add_numbers(r, field, WIRE_VARINT, add_int, &attr->ints);
    case 9: return add_text(r, field, &attr->strings);
    case 20: attr->type = (int64_t)field->value; return NULL;
    default: return NULL;
    }
}

static bt_status node_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_node *node = out;
    struct onnx_attr attr = { .name = "", .s = "" };
    if (field->type != WIRE_BYTES)
        return NULL;
    switch (field->number) {
    case 1: return add_text(r, field, &node->inputs);
    case 2: return add_text(r, field, &node->outputs);
    case 3: return get_text(r, field->bytes, &node->name);
    case 4: return get_text(r, field->bytes, &node->op);
    case 5:
        BT_TRY(read_message(r, field->bytes, "attribute", attr_field, &attr));
        return BT_PUSH(r->arena, &node->attrs, attr) ? NULL : bt_no_memory();
    case 7: return get_text(r, field->bytes, &node->domain);
    default: return NULL;
    }
}

static bt_status graph_node(struct reader *r, struct slice bytes,
                            struct onnx_graph *graph)
{
    struct onnx_node node = { .name = "", .op = "", .domain = "" };
    uint32_t limit = bt_ctx_limits(r->ctx)->nodes;
    if (++r->model->nnode > limit)
        return bt_fail(r->ctx, BT_ERR_LIMIT, "%s: more than %u nodes", r->path, limit);
    BT_TRY(read_message(r, bytes, "node", node_field, &node));
    if (strcmp(node.domain, "ai.onnx") == 0)
        node.domain = "";
    return BT_PUSH(r->arena, &graph->nodes, node) ? NULL : bt_no_memory();
}

static bt_status graph_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_graph *graph = out;
    struct onnx_tensor tensor;
    struct onnx_value_info info = { .name = "" };
    if (field->type != WIRE_BYTES)
        return NULL;
    switch (field->number) {
    case 1: return graph_node(r, field->bytes, graph);
    case 2: return get_text(r, field->bytes, &graph->name);
    case 5:
        BT_TRY(read_tensor(r, field->bytes, &tensor));
        return BT_PUSH(r->arena, &graph->initializers, tensor) ? NULL : bt_no_memory();
    case 11:
        BT_TRY(read_message(r, field->bytes, "input", value_info_field, &info));
        return BT_PUSH(r->arena, &graph->inputs, info) ? NULL : bt_no_memory();
    case 12:
        BT_TRY(read_message(r, field->bytes, "output", value_info_field, &info));
        return BT_PUSH(r->arena, &graph->outputs, info) ? NULL : bt_no_memory();
    case 15:
        return bt_fail(r->ctx, BT_ERR_UNSUPPORTED,
                       "%s: sparse initializers are not supported", r->path);
    default: return NULL;
    }
}

static bt_status read_graph(struct reader *r, struct slice bytes, struct onnx_graph *out)
{
    out->name = "";
    return read_message(r, bytes, "graph", graph_field, out);
}

/* ---- models ---- */

static bt_status opset_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_opset *opset = out;
    if (field->number == 1 && field->type == WIRE_BYTES)
        return get_text(r, field->bytes, &opset->domain);
    if (field->number == 2)
        opset->version = (int64_t)field->value;
    return NULL;
}

static bt_status model_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_model *model = out;
    struct onnx_opset opset = { .domain = "" };
    switch (field->number) {
    case 1: model->ir_version = (int64_t)field->value; return NULL;
    case 2: return get_text(r, field->bytes, &model->producer);
    case 3: return get_text(r, field->bytes, &model->producer_version);
    case 7:
        if (field->type != WIRE_BYTES || model->has_graph)
            return malformed(r, r->start, "model: it has no graph, or two");
        model->has_graph = 1;
        return read_graph(r, field->bytes, &model->graph);
    case 8:
        BT_TRY(read_message(r, field->bytes, "operator set", opset_field, &opset));
        if (strcmp(opset.domain, "ai.onnx") == 0)
            opset.domain = "";
        return BT_PUSH(r->arena, &model->opsets, opset) ? NULL : bt_no_memory();
    case 25: model->nfunction++; return NULL;
    default: return NULL;
    }
}

bt_status onnx_model_read(bt_ctx *ctx, bt_arena *arena, const char *path,
                          const void *bytes, size_t nbytes, struct onnx_model *out)
{
    struct reader r = {
        .ctx = ctx, .arena = arena, .path = path, .start = bytes, .model = out
    };
    *out = (struct onnx_model){ .path = path, .producer = "", .producer_version = "" };
    BT_TRY(read_message(&r, (struct slice){ bytes, nbytes }, "model", model_field, out));
    if (!out->has_graph)
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "%s: the model has no graph; is it an ONNX file?", path);
    return NULL;
}

bt_status onnx_tensor_read(bt_ctx *ctx, bt_arena *arena, const char *path,
                           const void *bytes, size_t nbytes, struct onnx_tensor *out)
{
    struct reader r = { .ctx = ctx, .arena = arena, .path = path, .start = bytes };
    return read_tensor(&r, (struct slice){ bytes, nbytes }, out);
}
