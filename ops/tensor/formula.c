#include "formula.h"

static bt_status rank_of(bt_ctx *ctx, const bt_formula_call *call, const bt_type *type,
                         uint32_t *out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    if (!shape)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: the formula needs to know the rank of its arguments",
                       call->op->name);
    *out = shape->n;
    return NULL;
}

bt_status formula_rank(bt_ctx *ctx, const bt_formula_call *call, uint32_t arg,
                       uint32_t *out)
{
    return rank_of(ctx, call, call->args[arg], out);
}

bt_status formula_field_rank(bt_ctx *ctx, const bt_formula_call *call, uint32_t arg,
                             uint32_t field, uint32_t *out)
{
    return rank_of(ctx, call, bt_as_tuple_type(call->args[arg])->at[field], out);
}

bt_status formula_end(const bt_text *text)
{
    return text->failed ? bt_no_memory() : NULL;
}

uint32_t formula_axis(int64_t axis, uint32_t rank)
{
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

const char *formula_wide(const bt_formula_call *call, uint32_t arg)
{
    bt_dtype dtype = bt_tensor_dtype(call->args[arg]);
    uint32_t class_bit = 1u << BT_DTYPE_CLASS(dtype);
    if (class_bit & BT_CLASS_BITS_FLOAT)
        return BT_DTYPE_BITS(dtype) < 32 ? "float64" : "t";
    return dtype == BT_UINT64 ? "uint64" : "int64";
}

void formula_comma(bt_text *out, int first)
{
    if (!first)
        bt_text_add(out, ", ", 2);
}

int formula_indices(bt_text *out, int first, const char *prefix, uint32_t low,
                    uint32_t high)
{
    for (uint32_t k = low; k < high; k++, first = 0) {
        formula_comma(out, first);
        bt_text_addf(out, "%s%u", prefix, k);
    }
    return first;
}

int formula_axes(bt_text *out, int first, const char *prefix, const char *array,
                 uint32_t low, uint32_t high)
{
    for (uint32_t k = low; k < high; k++, first = 0) {
        formula_comma(out, first);
        bt_text_addf(out, "%s%u in extent(%s, %u)", prefix, k, array, k);
    }
    return first;
}

void formula_product(bt_text *out, const char *array, uint32_t low, uint32_t high)
{
    if (low >= high)
        bt_text_add(out, "1", 1);
    for (uint32_t k = low; k < high; k++)
        bt_text_addf(out, "%sextent(%s, %u)", k == low ? "" : " * ", array, k);
}

void formula_read_flat(bt_text *out, const char *array, uint32_t rank, uint32_t low,
                       uint32_t high, const char *at)
{
    bt_text_addf(out, "%s[", array);
    int first = formula_indices(out, 1, "i", 0, low);
    for (uint32_t k = low; k < high; k++, first = 0) {
        formula_comma(out, first);
        // position / inner extents % own extent; the outermost needs no remainder
        if (k > low)
            bt_text_addf(out, "mod(");
        if (k + 1 < high) {
            bt_text_addf(out, "floordiv(%s, ", at);
            formula_product(out, array, k + 1, high);
            bt_text_addf(out, ")");
        } else {
            bt_text_addf(out, "%s", at);
        }
        if (k > low)
            bt_text_addf(out, ", extent(%s, %u))", array, k);
    }
    formula_indices(out, first, "i", high, rank);
    bt_text_addf(out, "]");
}

void formula_reshape(bt_text *out, uint32_t rank, uint32_t low, uint32_t high,
                     uint32_t nnew)
{
    bt_text at;
    bt_text_init(&at, out->arena);
    bt_text_addf(out, "y: t[");
    int first = formula_axes(out, 1, "i", "data", 0, low);
    for (uint32_t k = 0; k < nnew; k++, first = 0) {
        formula_comma(out, first);
        bt_text_addf(out, "m%u in d%u", k, k);
    }
    formula_axes(out, first, "i", "data", high, rank);
    bt_text_addf(out, "] = ");

    // row-major position within the new axes: ((m0 * d1) + m1) * d2 + m2
    for (uint32_t k = 2; k < nnew; k++)
        bt_text_addf(&at, "(");
    for (uint32_t k = 0; k < nnew; k++) {
        if (k == 0)
            bt_text_addf(&at, "m0");
        else
            bt_text_addf(&at, " * d%u + m%u%s", k, k, k + 1 < nnew ? ")" : "");
    }
    if (nnew == 0)
        bt_text_addf(&at, "0");
    const char *position = bt_text_get(&at);
    if (position)
        formula_read_flat(out, "data", rank, low, high, position);
    else
        out->failed = 1;
}
