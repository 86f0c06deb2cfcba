/*
 * reverse_sequence, sequence_mask: batches of sequences of different lengths.
 * invert_permutation: the permutation that undoes another.
 * source  Relay, operators of the same names
 */
#include "formula.h"

/* ---- reverse_sequence ---- */

struct reverse_attrs {
    int64_t seq_axis, batch_axis;
};
static const bt_attr reverse_attrs[] = {
    BT_ATTR(struct reverse_attrs, seq_axis, INT, "1", "the axis of steps"),
    BT_ATTR(struct reverse_attrs, batch_axis, INT, "0", "the axis of sequences"),
    { 0 },
};

static bt_status relate_reverse(bt_solver *s, const bt_relation_call *r)
{
    const struct reverse_attrs *a = r->attrs;
    bt_tensor_parts data, lengths;
    uint32_t step, batch;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, 1, &lengths));
    BT_TRY(bt_relation_axis(s, r, "seq_axis", a->seq_axis, data.rank, &step));
    BT_TRY(bt_relation_axis(s, r, "batch_axis", a->batch_axis, data.rank, &batch));
    BT_TRY(bt_relation_unify(s, r, data.dims[batch], lengths.dims[0],
                             "the axis of sequences and seq_lengths"));
    return bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype);
}

static void write_reverse(bt_formula *f, const bt_formula_call *call)
{
    const struct reverse_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t step = bt_formula_axis(f, a->seq_axis, rank);
    uint32_t batch = bt_formula_axis(f, a->batch_axis, rank);
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_set(
        f, "at", step,
        "clamp(select(i%u < index(seq_lengths[i%u]), index(seq_lengths[i%u]) - 1 "
        "- i%u, i%u), 0, extent(data, %u) - 1)",
        step, batch, batch, step, step, step);
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

/* ---- sequence_mask ---- */

struct mask_attrs {
    double mask_value;
    int64_t axis;
};
static const bt_attr mask_attrs[] = {
    BT_ATTR(struct mask_attrs, mask_value, FLOAT, "0", "what stands past a length"),
    BT_ATTR_RANGE(struct mask_attrs, axis, INT, "0", 0, 1,
                  "the axis of steps; the other of the first two is that of sequences"),
    { 0 },
};

static bt_status relate_mask(bt_solver *s, const bt_relation_call *r)
{
    const struct mask_attrs *a = r->attrs;
    bt_tensor_parts data, lengths;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, 1, &lengths));
    if (data.rank < 2)
        return bt_relation_fail(s, r, 0, "data needs at least two axes, it has %u",
                                data.rank);
    BT_TRY(bt_relation_unify(s, r, data.dims[1 - a->axis], lengths.dims[0],
                             "the axis of sequences and valid_length"));
    return bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype);
}

static void write_mask(bt_formula *f, const bt_formula_call *call)
{
    const struct mask_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    // a length of 1.5 keeps two steps, as a comparison of floats says
    int is_float =
        (1u << BT_DTYPE_CLASS(bt_tensor_dtype(call->args[1])) & BT_CLASS_BITS_FLOAT) != 0;
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_item(f, "kept",
                    is_float ? "float64(i%d) < float64(valid_length[i%d])"
                             : "i%d < index(valid_length[i%d])",
                    (int)a->axis, (int)(1 - a->axis));
    bt_formula_add(f, "y: t[$y] = select($kept, data[$i], t(mask_value))");
}

/* ---- rows ---- */

static const bt_op_input reverse_in[] = {
    { .name = "data", .type = "t:any[..]", .doc = "sequences along two of the axes" },
    { .name = "seq_lengths",
      .type = "u:integer[b]",
      .doc = "how many first steps of each sequence to reverse" },
    { 0 },
};
static const bt_op_input mask_in[] = {
    { .name = "data", .type = "t:any[..]", .doc = "sequences along the first two axes" },
    { .name = "valid_length",
      .type = "u:number[b]",
      .doc = "how many first steps of each sequence to keep" },
    { 0 },
};
static const bt_op_input permutation_in[] = {
    { .name = "data", .type = "t:integer[n]", .doc = "each of 0..n-1 once" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "reverse_sequence",
        .revision = 1,
        .doc =
            "Reverses the first steps of each sequence; the rest stays.\nThe type stays.",
        .source = "Relay, reverse_sequence; ONNX ReverseSequence-10",
        .inputs = reverse_in,
        .attrs = reverse_attrs,
        .attrs_nbytes = sizeof(struct reverse_attrs),
        .relate = relate_reverse,
        .write_formula = write_reverse,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 4], int32[2] = 0..4\n"
                                         "int8[4, 3, 2], int64[3] = 0..4 | seq_axis=0, "
                                         "batch_axis=-2\nbool[0, 3], int32[0]")),
    },
    {
        .name = "sequence_mask",
        .revision = 1,
        .doc = "Overwrites the steps past the length of each sequence.\nThe type stays.",
        .source = "Relay, sequence_mask; MXNet",
        .inputs = mask_in,
        .attrs = mask_attrs,
        .attrs_nbytes = sizeof(struct mask_attrs),
        .relate = relate_mask,
        .write_formula = write_mask,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[4, 2], int32[2] = 0..4\n"
                     "float32[2, 4, 3], float32[2] = 0..4 | mask_value=-1, axis=1\n"
                     "int8[0, 2], int32[2]")),
    },
    {
        .name = "invert_permutation",
        .revision = 1,
        .doc = "The permutation that undoes another.\ny[data[k]] = k.",
        .source = "Relay, invert_permutation",
        .inputs = permutation_in,
        .formula = "y: t[j in n] = t(sum(k in n | index(data[k]) == j: k))",
        .facets = BT_FACET_ROWS(BT_CASES("int32[1] = 0..0\nint64[0]")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_sequence[] = { BT_OPS(ops), { 0 } };
