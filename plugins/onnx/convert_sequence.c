/* Sequences and optional values. A sequence is a tuple, so that how long it is, and which
 * of its elements is meant, must be known when the model is imported. */
#include "arith.h"

#include <string.h>

typedef bt_vec(const bt_value *) value_list;

static void push(bt_onnx_node *n, value_list *list, const bt_value *value)
{
    if (!n->status && !BT_PUSH(n->im->arena, list, value))
        n->status = bt_no_memory();
}

static int is_sequence(const bt_value *value)
{
    return value && bt_as_tuple_type(value->type);
}

/* The elements of a sequence. */
static void read_sequence(bt_onnx_node *n, uint32_t input, value_list *out)
{
    const bt_value *value = node_need(n, input);
    if (!n->status && !is_sequence(value))
        node_fail(n, BT_ERR_FORMAT, "input %u is no sequence", input);
    for (uint32_t i = 0; !n->status && i < bt_as_tuple_type(value->type)->n; i++)
        push(n, out, emit_proj(n, value, i));
}

/* A position below `limit`, counted from `count` where negative; `absent` where there is
 * no such input. */
static uint32_t read_position(bt_onnx_node *n, uint32_t input, uint32_t count,
                              uint32_t limit, uint32_t absent)
{
    const bt_value *value = node_in(n, input);
    int64_list at = { 0 };
    if (!value || n->status)
        return absent;
    if (!value_ints(n, value, &at) || at.len != 1)
        node_unknown(n, "the position is", value);
    int64_t position = at.len == 1 ? at.at[0] : 0;
    if (position < 0)
        position += count;
    if (!n->status && (position < 0 || position >= limit))
        node_fail(n, BT_ERR_FORMAT, "position %lld is out of range for %u",
                  (long long)at.at[0], count);
    return n->status ? 0 : (uint32_t)position;
}

static void give(bt_onnx_node *n, const value_list *elements)
{
    if (!n->status)
        node_out(n, 0, emit_tuple(n, elements->len, elements->at));
}

/* ---- making and changing ---- */

static void sequence_empty(bt_onnx_node *n)
{
    give(n, &(value_list){ 0 });
}

static void sequence_construct(bt_onnx_node *n)
{
    value_list elements = { 0 };
    for (uint32_t i = 0; i < n->ninput; i++)
        push(n, &elements, node_need(n, i));
    give(n, &elements);
}

static void sequence_insert(bt_onnx_node *n)
{
    value_list old = { 0 }, elements = { 0 };
    read_sequence(n, 0, &old);
    const bt_value *value = node_need(n, 1);
    uint32_t at = read_position(n, 2, old.len, old.len + 1, old.len);
    for (uint32_t i = 0; !n->status && i <= old.len; i++) {
        if (i == at)
            push(n, &elements, value);
        if (i < old.len)
            push(n, &elements, old.at[i]);
    }
    give(n, &elements);
}

static void sequence_erase(bt_onnx_node *n)
{
    value_list old = { 0 }, elements = { 0 };
    read_sequence(n, 0, &old);
    uint32_t at = read_position(n, 1, old.len, old.len, old.len - 1);
    for (uint32_t i = 0; !n->status && i < old.len; i++) {
        if (i != at)
            push(n, &elements, old.at[i]);
    }
    give(n, &elements);
}

/* ---- cutting and joining ---- */

/* Where the parts end: of stated sizes, or all of one size but the last. */
static void read_ends(bt_onnx_node *n, int64_t total, int64_list *ends)
{
    const bt_value *split = node_in(n, 1);
    int64_list sizes = { 0 };
    int64_t each = 1, end = 0;
    if (split && !value_ints(n, split, &sizes))
        node_unknown(n, "the sizes are", split);
    int is_list = split && !n->status && value_rank(n, split) == 1;
    if (split && !is_list && sizes.len == 1)
        each = sizes.at[0];
    if (!n->status && (each < 1 || total / each > INT16_MAX))
        node_fail(n, BT_ERR_FORMAT,
                  "an axis of %lld elements is to be split into parts of %lld; at least "
                  "1, and at most %d parts, are expected",
                  (long long)total, (long long)each, INT16_MAX);
    for (uint32_t i = 0; !n->status && (is_list ? i < sizes.len : end < total); i++) {
        int64_t size = is_list ? sizes.at[i] : total - end < each ? total - end : each;
        if (size < 0 || size > total - end)
            node_fail(n, BT_ERR_FORMAT,
                      "part %u has %lld elements where %lld of the axis are left", i,
                      (long long)size, (long long)(total - end));
        end += size;
        if (!n->status && !BT_PUSH(n->im->arena, ends, end))
            n->status = bt_no_memory();
    }
    if (!n->status && end != total)
        node_fail(n, BT_ERR_FORMAT,
                  "the parts have %lld elements together, the axis that is split %lld",
                  (long long)end, (long long)total);
}

static void split_to_sequence(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t axis = node_axis(n, node_int(n, "axis", 0), value_rank(n, x));
    int64_t total = n->status ? 0 : value_dim(n, x, axis);
    int drops = !node_in(n, 1) && node_int(n, "keepdims", 1) == 0;
    int64_list ends = { 0 };
    value_list elements = { 0 };
    if (total < 0)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "axis %u is split, and its size is symbolic: bind it with --dim", axis);
    read_ends(n, total, &ends);
    for (uint32_t i = 0; !n->status && i < ends.len; i++) {
        const bt_value *part = sliced(n, x, axis, i ? ends.at[i - 1] : 0, ends.at[i]);
        push(n, &elements, drops ? without_axis(n, part, axis) : part);
    }
    give(n, &elements);
}

static void concat_from_sequence(bt_onnx_node *n)
{
    value_list elements = { 0 };
    int adds = node_int(n, "new_axis", 0) != 0;
    read_sequence(n, 0, &elements);
    if (!n->status && !elements.len)
        node_fail(n, BT_ERR_FORMAT, "the sequence is empty");
    uint32_t rank = n->status ? 0 : value_rank(n, elements.at[0]) + (adds ? 1 : 0);
    uint32_t axis = node_axis(n, node_int(n, "axis", 0), rank);
    for (uint32_t i = 0; adds && !n->status && i < elements.len; i++)
        elements.at[i] = with_axes(n, elements.at[i], axis, 1);
    if (!n->status)
        node_out(n, 0, joined(n, axis, elements.len, elements.at));
}

/* ---- reading ---- */

static void sequence_at(bt_onnx_node *n)
{
    value_list elements = { 0 };
    read_sequence(n, 0, &elements);
    node_need(n, 1);
    uint32_t at = read_position(n, 1, elements.len, elements.len, 0);
    if (!n->status)
        node_out(n, 0, elements.at[at]);
}

static void sequence_length(bt_onnx_node *n)
{
    value_list elements = { 0 };
    read_sequence(n, 0, &elements);
    node_out(n, 0, emit_int(n, elements.len));
}

/* The graph's results for element i of each sequence, and other inputs as they are. */
static const bt_value *const *map_one(bt_onnx_node *n, const struct onnx_graph *graph,
                                      uint32_t i)
{
    value_list args = { 0 };
    const bt_value *const *results = NULL;
    for (uint32_t k = 0; k < n->ninput; k++) {
        const bt_value *value = node_need(n, k);
        if (!n->status && is_sequence(value) && i >= bt_as_tuple_type(value->type)->n)
            node_fail(n, BT_ERR_FORMAT, "the sequences are of different lengths");
        push(n, &args, is_sequence(value) ? emit_proj(n, value, i) : value);
    }
    if (!n->status)
        n->status = convert_graph(n->im, graph, args.len, args.at, &results);
    return n->status ? NULL : results;
}

static void sequence_map(bt_onnx_node *n)
{
    const struct onnx_attr *attr = node_attr(n, "body", ATTR_GRAPH);
    const struct onnx_graph *graph = attr ? attr->g : NULL;
    value_list elements = { 0 };
    if (!graph || graph->outputs.len < n->proto->outputs.len)
        node_fail(n, BT_ERR_FORMAT, "graph body is missing, or has too few outputs");
    read_sequence(n, 0, &elements);
    value_list *out = BT_NEWS(n->im->arena, value_list, n->proto->outputs.len);
    if (!n->status && !out)
        n->status = bt_no_memory();
    for (uint32_t i = 0; !n->status && i < elements.len; i++) {
        const bt_value *const *results = map_one(n, graph, i);
        for (uint32_t k = 0; !n->status && k < n->proto->outputs.len; k++)
            push(n, &out[k], results[k]);
    }
    for (uint32_t k = 0; !n->status && k < n->proto->outputs.len; k++)
        node_out(n, k, emit_tuple(n, out[k].len, out[k].at));
}

/* ---- optional values ---- */

static void optional(bt_onnx_node *n)
{
    const bt_value *value = node_in(n, 0);
    if (!n->status && !value)
        node_fail(n, BT_ERR_UNSUPPORTED, "an optional value that is left out");
    node_out(n, 0, value);
}

static void optional_get_element(bt_onnx_node *n)
{
    node_out(n, 0, node_need(n, 0));
}

static void optional_has_element(bt_onnx_node *n)
{
    node_out(n, 0, emit_scalar(n, BT_BOOL, node_in(n, 0) != NULL));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.SequenceEmpty-11", sequence_empty, NULL }, { "ai.onnx.SequenceConstruct-11", sequence_construct, NULL },
    { "ai.onnx.SequenceInsert-11", sequence_insert, NULL }, { "ai.onnx.SequenceErase-11", sequence_erase, NULL },
    { "ai.onnx.SequenceAt-11", sequence_at, NULL }, { "ai.onnx.SequenceLength-11", sequence_length, NULL },
    { "ai.onnx.SplitToSequence-11", split_to_sequence, NULL }, { "ai.onnx.ConcatFromSequence-11", concat_from_sequence, NULL },
    { "ai.onnx.SequenceMap-17", sequence_map, NULL }, { "ai.onnx.Optional-15", optional, NULL },
    { "ai.onnx.OptionalGetElement-15", optional_get_element, NULL }, { "ai.onnx.OptionalHasElement-15", optional_has_element, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_sequence[] = { BT_ONNX_OPERATORS(operators),
                                                      { 0 } };
