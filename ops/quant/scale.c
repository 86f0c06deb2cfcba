#include "scale.h"

#include <stdio.h>
#include <string.h>

/* ---- scales and zero points ---- */

static bt_status relate_blocks(bt_solver *s, const bt_relation_call *r,
                               const bt_tensor_parts *data, const bt_tensor_parts *scale,
                               const struct along *along)
{
    bt_store *store = bt_relation_store(s);
    uint32_t axis = 0;
    if (along->block)
        BT_TRY(bt_relation_axis(s, r, along->attr, along->axis, data->rank, &axis));
    for (uint32_t k = 0; k < data->rank; k++) {
        const bt_type *extent = data->dims[k];
        if (along->block && k == axis) {
            const bt_type *block = bt_dim(store, along->block), *known;
            BT_TRY(bt_relation_dim(s, r, extent, &known));
            extent = block ? bt_dim_ceildiv(store, known, block) : NULL;
            if (!extent)
                return bt_no_memory();
        }
        BT_TRY(bt_relation_unify(s, r, extent, scale->dims[k],
                                 "dims of the data and of its scales"));
    }
    return NULL;
}

bt_status scale_relate(bt_solver *s, const bt_relation_call *r, uint32_t index,
                       const bt_tensor_parts *data, const struct along *along)
{
    bt_tensor_parts scale;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, index, &scale));
    if (scale.rank == 0)
        return NULL;
    if (scale.rank == data->rank && (along->block || scale.rank > 1))
        return relate_blocks(s, r, data, &scale, along);
    if (scale.rank > 1 || along->block)
        return bt_relation_fail(
            s, r, (int)index, "%s has rank %u, the data %u; it is a number%s",
            r->op->inputs[index].name, scale.rank, data->rank,
            along->block ? ", or of the rank of the data, by blocks"
                         : ", a vector along an axis, or of the data's shape");
    BT_TRY(bt_relation_axis(s, r, along->attr, along->axis, data->rank, &axis));
    return bt_relation_unify(s, r, data->dims[axis], scale.dims[0],
                             "the axis of the data and its scales");
}

uint32_t scale_axes(bt_formula *f, const bt_type *scale, uint32_t rank,
                    const struct along *along)
{
    uint32_t n = bt_formula_rank(f, scale);
    return n == 0   ? 0
           : n == 1 ? 1u << bt_formula_axis(f, along->axis, rank)
                    : (2u << (n - 1)) - 1;
}

void scale_at(bt_formula *f, const char *list, const bt_type *scale, uint32_t rank,
              const struct along *along)
{
    uint32_t axes = scale_axes(f, scale, rank, along);
    bt_formula_clear(f, list);
    for (uint32_t k = 0; k < rank; k++) {
        if (!(axes >> k & 1))
            continue;
        if (along->block && k == bt_formula_axis(f, along->axis, rank))
            bt_formula_item(f, list, "floordiv(i%u, %lld)", k, (long long)along->block);
        else
            bt_formula_item(f, list, "i%u", k);
    }
}

void scale_lists(bt_formula *f, const char *list, const char *indices, const char *array,
                 uint32_t axes, uint32_t rank)
{
    bt_formula_clear(f, list);
    bt_formula_clear(f, indices);
    for (uint32_t k = 0; k < rank; k++) {
        if (!(axes >> k & 1))
            continue;
        bt_formula_item(f, list, "i%u in extent(%s, %u)", k, array, k);
        bt_formula_item(f, indices, "i%u", k);
    }
}

/* ---- codes ---- */

bt_status codes_check_type(bt_solver *s, const bt_relation_call *r, const char *attr,
                           const bt_type *dtype)
{
    if (dtype->kind != BT_TYPE_DTYPE)
        return bt_relation_wait(s);
    const bt_dtype known = ((const bt_dtype_type *)(const void *)dtype)->dtype;
    const uint32_t class_ = BT_DTYPE_CLASS(known);
    char name[BT_DTYPE_NAME_SIZE];
    if ((class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT) && BT_DTYPE_BITS(known) <= 32)
        return NULL;
    return bt_relation_fail(s, r, -1, "%s is %s; codes are integers of at most 32 bits",
                            attr, bt_dtype_name(known, name, sizeof(name)));
}

const char *difference_type(bt_dtype codes)
{
    return BT_DTYPE_BITS(codes) > 16 ? "int64" : "int32";
}

static void set(bt_formula *f, const char *list, const char *text)
{
    bt_formula_clear(f, list);
    bt_formula_item(f, list, "%s", text);
}

void write_limited(bt_formula *f, const char *whole, const char *zero, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    int64_t low, high;
    bt_dtype_name(dtype, name, sizeof(name));
    bt_dtype_limits(dtype, &low, &high);
    set(f, "whole", whole);
    set(f, "zero", zero);
    bt_formula_add(f, "y: %s[$i] = %s(clamp($whole + int64($zero), %lld, %lld))", name,
                   name, (long long)low, (long long)high);
}

void list_rounded(bt_formula *f, const char *rounding, const char *value)
{
    set(f, "value", value);
    bt_formula_clear(f, "rounded");
    if (strcmp(rounding, "UPWARD") == 0) // x + 0.5 would round: 0.5 below 0.5 is 1
        bt_formula_item(f, "rounded",
                        "(floor($value) + select($value - floor($value) >= 0.5, 1, 0))");
    else
        bt_formula_item(f, "rounded", "%s($value)",
                        strcmp(rounding, "TONEAREST") == 0 ? "round"
                        : strcmp(rounding, "FLOOR") == 0   ? "floor"
                        : strcmp(rounding, "CEIL") == 0    ? "ceil"
                                                           : "round_even");
}

void write_codes(bt_formula *f, const char *rounding, const char *type, const char *value,
                 const char *zero, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    int64_t low, high;
    list_rounded(f, rounding, value);
    if (BT_DTYPE_BITS(dtype) > 16) { // no float32 holds the limits
        write_limited(f, "int64(clamp($rounded, -8589934592, 8589934592))", zero, dtype);
        return;
    }
    // limited before the zero point is added: all that is computed then is exact
    bt_dtype_name(dtype, name, sizeof(name));
    bt_dtype_limits(dtype, &low, &high);
    set(f, "zero", zero);
    bt_formula_add(f,
                   "y: %s[$i] = %s(int32(clamp($rounded, %s(%lld - $zero), "
                   "%s(%lld - $zero))) + $zero)",
                   name, name, type, (long long)low, type, (long long)high);
}
