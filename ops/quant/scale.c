#include "scale.h"

#include <stdio.h>

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
