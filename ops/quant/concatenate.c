/*
 * qnn.concatenate: tensors of codes one after another, in the scale of the result.
 *     y = limited(round_even((data.i - input_zero_points.i) * factor) + output_zero_point)
 *     factor = input_scales.i / output_scale, a float32 as the product
 * source  Relay, qnn.concatenate
 */
#include "codes.h"
#include "scale.h"

struct attrs {
    int64_t axis;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "0", "the axis to join along"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data",
      .type = "(t:" CODES "[..]*)",
      .doc = "codes, of one rank and type" },
    { .name = "input_scales",
      .type = "(float32[]*)",
      .doc = "scale of each: " SCALE_DOC },
    { .name = "input_zero_points",
      .type = "(z[]*)",
      .doc = "zero point of each: the code of 0" },
    { .name = "output_scale", .type = "float32[]", .doc = "of the result" },
    { .name = "output_zero_point", .type = "integer[]", .doc = "of the result" },
    { 0 },
};

/* As many scalars as there are tensors. */
static bt_status check_scalars(bt_solver *s, const bt_relation_call *r, uint32_t index,
                               uint32_t n)
{
    const bt_tensor_parts *fields;
    uint32_t given;
    BT_TRY(bt_relation_tensors(s, r, index, &given, &fields));
    if (given != n)
        return bt_relation_fail(s, r, (int)index, "%u tensors, and %u %s", n, given,
                                r->op->inputs[index].name);
    for (uint32_t i = 0; i < n; i++) {
        if (fields[i].rank)
            return bt_relation_fail(s, r, (int)index, "field %u of %s is no scalar", i,
                                    r->op->inputs[index].name);
    }
    return NULL;
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const bt_tensor_parts *fields;
    const bt_type *dims[BT_MAX_RANK], *sum = bt_dim(bt_relation_store(s), 0);
    uint32_t n, axis;
    BT_TRY(bt_relation_tensors(s, r, 0, &n, &fields));
    if (n == 0)
        return bt_relation_fail(s, r, 0, "no tensors are given; at least one is needed");
    BT_TRY(check_scalars(s, r, 1, n));
    BT_TRY(check_scalars(s, r, 2, n));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, fields[0].rank, &axis));
    for (uint32_t i = 0; i < n; i++) {
        const bt_type *dim;
        if (fields[i].rank != fields[0].rank)
            return bt_relation_fail(s, r, 0, "field %u has rank %u, field 0 rank %u", i,
                                    fields[i].rank, fields[0].rank);
        for (uint32_t k = 0; k < fields[0].rank; k++) {
            dims[k] = fields[0].dims[k];
            if (k != axis)
                BT_TRY(bt_relation_unify(s, r, dims[k], fields[i].dims[k],
                                         "dims of the fields"));
        }
        BT_TRY(bt_relation_dim(s, r, fields[i].dims[axis], &dim));
        sum = sum ? bt_dim_add(bt_relation_store(s), sum, dim) : NULL;
    }
    dims[axis] = sum;
    return sum ? bt_relation_result_tensor(s, r, fields[0].rank, dims, fields[0].dtype)
               : bt_no_memory();
}

static void write_field(bt_formula *f, uint32_t rank, uint32_t axis, uint32_t field)
{
    bt_formula_clear(f, "at");
    bt_formula_each(f, "at", 0, rank, "i#");
    if (field)
        bt_formula_set(f, "at", axis, "i%u - o%u", axis, field);
    bt_formula_add(
        f, "float32($type(data.%u[$at]) - $type(input_zero_points.%u[])) * factor%u[]",
        field, field, field);
}

/* By halves, so that the choice is as deep as the logarithm of the number of tensors. */
static void write_choice(bt_formula *f, uint32_t rank, uint32_t axis, uint32_t low,
                         uint32_t high)
{
    uint32_t middle = low + (high - low) / 2;
    if (high - low == 1) {
        write_field(f, rank, axis, low);
        return;
    }
    bt_formula_add(f, "select(i%u < o%u, ", axis, middle);
    write_choice(f, rank, axis, low, middle);
    bt_formula_add(f, ", ");
    write_choice(f, rank, axis, middle, high);
    bt_formula_add(f, ")");
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const bt_list_type *fields = bt_as_tuple_type(call->args[0]);
    uint32_t rank = bt_formula_rank(f, fields->at[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_add(f, "o1 = extent(data.0, %u); ", axis);
    for (uint32_t i = 2; i <= fields->n; i++)
        bt_formula_add(f, "o%u = o%u + extent(data.%u, %u); ", i, i - 1, i - 1, axis);
    for (uint32_t i = 0; i < fields->n; i++)
        bt_formula_add(f, "factor%u: float32[] = input_scales.%u[] / output_scale[];\n",
                       i, i);
    bt_formula_item(f, "type", "%s", difference_type(bt_tensor_dtype(call->result)));
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_each(f, "y", 0, rank, "i# in extent(data.0, #)");
    bt_formula_set(f, "y", axis, "i%u in o%u", axis, fields->n);
    bt_formula_add(f, "v: float32[$y] = ");
    write_choice(f, rank, axis, 0, fields->n);
    bt_formula_add(f, ";\n");
    write_codes(f, "TOEVEN", "float32", "v[$i]", "int32(output_zero_point[])",
                bt_tensor_dtype(call->result));
}

// clang-format off
static const bt_op ops[] = {
    {
        .name = "qnn.concatenate", .revision = 1, .source = "Relay, qnn.concatenate",
        .doc = "Joins tensors of codes along an axis, in the scale of the result.",
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(
            "(int8[2, 3], int8[1, 3]), (float32[] = 0.1, float32[] = 0.05), (int32[] = 3, int32[] = -3), float32[] = 0.07, int32[] = 1\n"
            "(uint8[2, 3], uint8[2, 1], uint8[2, 4]), (float32[] = 0.1, float32[] = 0.05, float32[] = 0.2), (uint8[] = 3, uint8[] = 128, uint8[] = 0), float32[] = 0.1, uint8[] = 128 | axis=-1\n"
            "(uint8[4]), (float32[] = 0.1), (uint8[] = 3), float32[] = 0.3, uint8[] = 100")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_concatenate[] = { BT_OPS(ops), { 0 } };
