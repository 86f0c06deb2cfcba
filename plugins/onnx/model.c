#include "model.h"

#include <string.h>

/* A file being read. */
struct reader {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *path;
    const uint8_t *start; /* of the file, for offsets in messages */
    uint32_t nmessage;    /* against the limit: the least of them cost two bytes */
    uint32_t depth;       /* of graphs within attributes */
};

static bt_status malformed(struct reader *r, const uint8_t *at, const char *message)
{
    return bt_fail(r->ctx, BT_ERR_FORMAT, "%s: malformed %s at byte %zu", r->path,
                   message, (size_t)(at - r->start));
}

/* Names end at their NUL, so none may stand inside. */
static bt_status get_text(struct reader *r, struct slice bytes, const char **out)
{
    if (bytes.nbytes && memchr(bytes.at, 0, bytes.nbytes))
        return malformed(r, bytes.at, "name, which holds a NUL");
    *out = bt_arena_text(r->arena, (const char *)bytes.at, bytes.nbytes);
    return *out ? NULL : bt_no_memory();
}

/* A kind of message: what its fields look like on the wire, a character for each number,
 * and what is done with one.
 *     v        varint
 *     b        bytes
 *     4        4 bytes
 *     V, F, D  lists of varints, of 4 bytes, of 8 bytes
 * Fields with a blank, or beyond the end, are skipped. */
struct message {
    const char *what, *wires;
    bt_status (*handle)(struct reader *, const struct field *, void *out);
};

static int is_known(const struct message *m, const struct field *field)
{
    return field->number < strlen(m->wires) && m->wires[field->number] != ' ';
}

static int fits(char wire, uint32_t type)
{
    switch (wire) {
    case 'v': return type == WIRE_VARINT;
    case 'b': return type == WIRE_BYTES;
    case '4': return type == WIRE_FIXED32;
    case 'V': return type == WIRE_VARINT || type == WIRE_BYTES;
    case 'F': return type == WIRE_FIXED32 || type == WIRE_BYTES;
    case 'D': return type == WIRE_FIXED64 || type == WIRE_BYTES;
    default: return 0;
    }
}

static bt_status read_message(struct reader *r, struct slice bytes,
                              const struct message *message, void *out)
{
    struct field field;
    const uint8_t *end = bytes.at + bytes.nbytes;
    const int is_file = bytes.at == r->start; // what it holds begins behind its tag
    uint32_t limit = bt_ctx_limits(r->ctx)->nodes;
    if (++r->nmessage > limit)
        return bt_fail(r->ctx, BT_ERR_LIMIT, "%s: more than %u nodes and parts of them",
                       r->path, limit);
    for (;;) {
        const uint8_t *at = bytes.at;
        int got = wire_next(&bytes, &field);
        if (got == 0)
            return NULL;
        if (got == -2 && is_file)
            return bt_fail(r->ctx, BT_ERR_FORMAT,
                           "%s: the file is cut off after %zu bytes: what begins at byte "
                           "%zu is longer",
                           r->path, (size_t)(end - r->start), (size_t)(at - r->start));
        if (got < 0)
            return malformed(r, at, message->what);
        if (!is_known(message, &field))
            continue;
        if (!fits(message->wires[field.number], field.type))
            return malformed(r, at, message->what);
        BT_TRY(message->handle(r, &field, out));
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
    return get_text(r, field->bytes, field->number == 1 ? &entry->key : &entry->value);
}

static const struct message entry_message = { "external data entry", " bb", entry_field };

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
    BT_TRY(read_message(r, field->bytes, &entry_message, &entry));
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

static const struct message tensor_message = { "tensor", " Vv FVbVbbDV bv",
                                               tensor_field };

static bt_status read_tensor(struct reader *r, struct slice bytes,
                             struct onnx_tensor *out)
{
    *out = (struct onnx_tensor){ .name = "", .length = -1 };
    return read_message(r, bytes, &tensor_message, out);
}

/* ---- types ---- */

static bt_status dim_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_dim *dim = out;
    if (field->number == 2)
        return get_text(r, field->bytes, &dim->symbol);
    if ((int64_t)field->value >= 0)
        dim->value = (int64_t)field->value;
    return NULL;
}

static const struct message dim_message = { "dimension", " vb", dim_field };

static bt_status shape_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_value_info *info = out;
    struct onnx_dim dim = { .value = -1 };
    BT_TRY(read_message(r, field->bytes, &dim_message, &dim));
    return BT_PUSH(r->arena, &info->dims, dim) ? NULL : bt_no_memory();
}

static const struct message shape_message = { "shape", " b", shape_field };

static bt_status tensor_type_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_value_info *info = out;
    if (field->number == 1) {
        info->elem_type = (int64_t)field->value;
        return NULL;
    }
    info->has_shape = 1;
    return read_message(r, field->bytes, &shape_message, info);
}

static const struct message tensor_type_message = { "tensor type", " vb",
                                                    tensor_type_field };

static bt_status type_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_value_info *info = out;
    info->kind = field->number;
    return field->number == TYPE_TENSOR
               ? read_message(r, field->bytes, &tensor_type_message, out)
               : NULL;
}

static const struct message type_message = { "type", " b  bb  bb", type_field };

static bt_status value_info_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_value_info *info = out;
    return field->number == 1 ? get_text(r, field->bytes, &info->name)
                              : read_message(r, field->bytes, &type_message, out);
}

static const struct message value_info_message = { "value", " bb", value_info_field };

/* ---- nodes ---- */

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

static bt_status attr_bytes(struct reader *r, struct slice bytes, struct onnx_attr *attr)
{
    attr->s = NULL;
    return bytes.nbytes && memchr(bytes.at, 0, bytes.nbytes)
               ? NULL
               : get_text(r, bytes, &attr->s);
}

static bt_status attr_value(struct reader *r, const struct field *field,
                            struct onnx_attr *attr)
{
    switch (field->number) {
    case 2: attr->f = wire_float(field->value); return NULL;
    case 3: attr->i = (int64_t)field->value; return NULL;
    case 4: return attr_bytes(r, field->bytes, attr);
    case 5:
        attr->t = BT_NEW(r->arena, struct onnx_tensor);
        return attr->t ? read_tensor(r, field->bytes, attr->t) : bt_no_memory();
    case 6: return attr_graph(r, field->bytes, attr);
    case 7: return add_numbers(r, field, WIRE_FIXED32, add_float, &attr->floats);
    case 8: return add_numbers(r, field, WIRE_VARINT, add_int, &attr->ints);
    default: return add_text(r, field, &attr->strings);
    }
}

static bt_status attr_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_attr *attr = out;
    switch (field->number) {
    case 1: return get_text(r, field->bytes, &attr->name);
    case 20: attr->type = (int64_t)field->value; return NULL;
    case 21: return get_text(r, field->bytes, &attr->ref);
    default: break;
    }
    /* Of a file that states no type: fields 2 to 9 stand in the order of the types. */
    if (attr->type == ATTR_NONE)
        attr->type = (int64_t)field->number - 1;
    return attr_value(r, field, attr);
}

static const struct message attr_message = { "attribute", " b4vbbbFVb          vb",
                                             attr_field };

static bt_status node_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_node *node = out;
    struct onnx_attr attr = { .name = "", .s = "" };
    switch (field->number) {
    case 1: return add_text(r, field, &node->inputs);
    case 2: return add_text(r, field, &node->outputs);
    case 3: return get_text(r, field->bytes, &node->name);
    case 4: return get_text(r, field->bytes, &node->op);
    case 5:
        BT_TRY(read_message(r, field->bytes, &attr_message, &attr));
        return BT_PUSH(r->arena, &node->attrs, attr) ? NULL : bt_no_memory();
    case 7: return get_text(r, field->bytes, &node->domain);
    default: return get_text(r, field->bytes, &node->overload);
    }
}

static const struct message node_message = { "node", " bbbbb bb", node_field };

/* ai.onnx has two spellings. */
static const char *domain_name(const char *name)
{
    return strcmp(name, "ai.onnx") == 0 ? "" : name;
}

static bt_status graph_node(struct reader *r, struct slice bytes,
                            struct onnx_graph *graph)
{
    struct onnx_node node = { .name = "", .op = "", .domain = "", .overload = "" };
    BT_TRY(read_message(r, bytes, &node_message, &node));
    node.domain = domain_name(node.domain);
    return BT_PUSH(r->arena, &graph->nodes, node) ? NULL : bt_no_memory();
}

/* ---- graphs ---- */

static bt_status graph_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_graph *graph = out;
    struct onnx_tensor tensor;
    struct onnx_value_info info = { .name = "" };
    switch (field->number) {
    case 1: return graph_node(r, field->bytes, graph);
    case 2: return get_text(r, field->bytes, &graph->name);
    case 5:
        BT_TRY(read_tensor(r, field->bytes, &tensor));
        return BT_PUSH(r->arena, &graph->initializers, tensor) ? NULL : bt_no_memory();
    case 11:
        BT_TRY(read_message(r, field->bytes, &value_info_message, &info));
        return BT_PUSH(r->arena, &graph->inputs, info) ? NULL : bt_no_memory();
    case 12:
        BT_TRY(read_message(r, field->bytes, &value_info_message, &info));
        return BT_PUSH(r->arena, &graph->outputs, info) ? NULL : bt_no_memory();
    default:
        return bt_fail(r->ctx, BT_ERR_UNSUPPORTED,
                       "%s: sparse initializers are not supported", r->path);
    }
}

static const struct message graph_message = { "graph", " bb  b     bb  b", graph_field };

static bt_status read_graph(struct reader *r, struct slice bytes, struct onnx_graph *out)
{
    out->name = "";
    return read_message(r, bytes, &graph_message, out);
}

/* ---- models ---- */

static bt_status opset_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_opset *opset = out;
    if (field->number == 1)
        return get_text(r, field->bytes, &opset->domain);
    opset->version = (int64_t)field->value;
    return NULL;
}

static const struct message opset_message = { "operator set", " bv", opset_field };

static bt_status add_opset(struct reader *r, struct slice bytes, opset_list *list)
{
    struct onnx_opset opset = { .domain = "" };
    BT_TRY(read_message(r, bytes, &opset_message, &opset));
    opset.domain = domain_name(opset.domain);
    return BT_PUSH(r->arena, list, opset) ? NULL : bt_no_memory();
}

static bt_status function_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_function *function = out;
    struct onnx_attr attr = { .name = "", .s = "" };
    switch (field->number) {
    case 1: return get_text(r, field->bytes, &function->name);
    case 4: return add_text(r, field, &function->inputs);
    case 5: return add_text(r, field, &function->outputs);
    case 6: return add_text(r, field, &function->attr_names);
    case 7: return graph_node(r, field->bytes, &function->body);
    case 9: return add_opset(r, field->bytes, &function->opsets);
    case 10: return get_text(r, field->bytes, &function->domain);
    case 11:
        BT_TRY(read_message(r, field->bytes, &attr_message, &attr));
        return BT_PUSH(r->arena, &function->defaults, attr) ? NULL : bt_no_memory();
    default: return get_text(r, field->bytes, &function->overload);
    }
}

static const struct message function_message = { "function", " b  bbbb bbb b",
                                                 function_field };

static bt_status add_function(struct reader *r, struct slice bytes,
                              struct onnx_model *model)
{
    struct onnx_function function = { .name = "", .domain = "", .overload = "" };
    BT_TRY(read_message(r, bytes, &function_message, &function));
    function.domain = domain_name(function.domain);
    return BT_PUSH(r->arena, &model->functions, function) ? NULL : bt_no_memory();
}

static bt_status model_field(struct reader *r, const struct field *field, void *out)
{
    struct onnx_model *model = out;
    switch (field->number) {
    case 1: model->ir_version = (int64_t)field->value; return NULL;
    case 2: return get_text(r, field->bytes, &model->producer);
    case 3: return get_text(r, field->bytes, &model->producer_version);
    case 7:
        if (model->has_graph)
            return malformed(r, field->bytes.at, "model: it has two graphs");
        model->has_graph = 1;
        return read_graph(r, field->bytes, &model->graph);
    case 8: return add_opset(r, field->bytes, &model->opsets);
    default: return add_function(r, field->bytes, model);
    }
}

static const struct message model_message = { "model", " vbb   bb                b",
                                              model_field };

bt_status onnx_model_read(bt_ctx *ctx, bt_arena *arena, const char *path,
                          const void *bytes, size_t nbytes, struct onnx_model *out)
{
    struct reader r = { .ctx = ctx, .arena = arena, .path = path, .start = bytes };
    *out = (struct onnx_model){ .path = path, .producer = "", .producer_version = "" };
    BT_TRY(read_message(&r, (struct slice){ bytes, nbytes }, &model_message, out));
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

const char *onnx_node_name(const struct onnx_node *node)
{
    return *node->name ? node->name : node->outputs.len ? node->outputs.at[0] : node->op;
}
