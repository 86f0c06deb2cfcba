/* Questions about a single term: its kind, its parts. */
#include "ir/type.h"

uint32_t bt_type_kind_of(const bt_type *t)
{
    switch (t->kind) {
    case BT_TYPE_TENSOR:
    case BT_TYPE_TUPLE:
    case BT_TYPE_FUNC:
    case BT_TYPE_REF:
    case BT_TYPE_APPLY: return BT_KIND_TYPE;
    case BT_TYPE_ADT: return BT_KIND_ADT;
    case BT_TYPE_SHAPE: return BT_KIND_SHAPE;
    case BT_TYPE_DTYPE: return BT_KIND_DTYPE;
    case BT_TYPE_VAR: return bt_as_var_type(t)->param.kind;
    case BT_TYPE_BOUND: return ((const bt_bound_type *)(const void *)t)->of_kind;
    case BT_TYPE_HOLE: return ((const bt_hole_type *)(const void *)t)->of_kind;
    case BT_TYPE_LINEAR:
    case BT_TYPE_OPAQUE:
    case BT_TYPE_PRODUCT:
    case BT_TYPE_FLOORDIV:
    case BT_TYPE_CEILDIV:
    case BT_TYPE_MOD:
    case BT_TYPE_MIN:
    case BT_TYPE_MAX: return BT_KIND_DIM;
    }
    return BT_KIND_TYPE;
}

const char *bt_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [BT_KIND_TYPE] = "Type",   [BT_KIND_SHAPE] = "Shape",   [BT_KIND_DIM] = "Dim",
        [BT_KIND_DTYPE] = "DType", [BT_KIND_ADT] = "AdtHandle",
    };
    return kind < BT_COUNT(names) ? names[kind] : "?";
}

const char *bt_type_kind_name(uint32_t type_kind)
{
    static const char *const names[] = {
#define BT_TYPE(UPPER, lower, type, doc) #lower,
#include <baton/type_kinds.def>
    };
    return type_kind < BT_COUNT(names) ? names[type_kind] : "?";
}

/* ---- downcasts ---- */

static const void *as(const bt_type *t, uint32_t kind)
{
    return t && t->kind == kind ? t : NULL;
}

const bt_tensor_type *bt_as_tensor_type(const bt_type *t)
{
    return as(t, BT_TYPE_TENSOR);
}

const bt_list_type *bt_as_tuple_type(const bt_type *t)
{
    return as(t, BT_TYPE_TUPLE);
}

/* Recursion is bounded by the depth of types. */
const bt_layout *bt_type_layout(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    const bt_layout *layout = tensor ? tensor->layout : NULL;
    for (uint32_t i = 0; !layout && tuple && i < tuple->n; i++)
        layout = bt_type_layout(tuple->at[i]);
    return layout;
}

uint32_t bt_type_nleaf(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    uint32_t n = 0;
    if (!tuple)
        return 1;
    for (uint32_t i = 0; i < tuple->n; i++)
        n += bt_type_nleaf(tuple->at[i]);
    return n;
}

uint32_t bt_type_first_leaf(const bt_type *type, uint32_t field)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    uint32_t first = 0;
    for (uint32_t i = 0; tuple && i < field; i++)
        first += bt_type_nleaf(tuple->at[i]);
    return first;
}

const bt_list_type *bt_as_ref_type(const bt_type *t)
{
    return as(t, BT_TYPE_REF);
}

const bt_list_type *bt_as_apply_type(const bt_type *t)
{
    return as(t, BT_TYPE_APPLY);
}

const bt_func_type *bt_as_func_type(const bt_type *t)
{
    return as(t, BT_TYPE_FUNC);
}

const bt_shape_type *bt_as_shape_type(const bt_type *t)
{
    return as(t, BT_TYPE_SHAPE);
}

const bt_var_type *bt_as_var_type(const bt_type *t)
{
    return as(t, BT_TYPE_VAR);
}

const bt_list_type *bt_as_list_type(const bt_type *t)
{
    if (!t)
        return NULL;
    switch (t->kind) {
    case BT_TYPE_TUPLE:
    case BT_TYPE_REF:
    case BT_TYPE_APPLY:
    case BT_TYPE_PRODUCT:
    case BT_TYPE_FLOORDIV:
    case BT_TYPE_CEILDIV:
    case BT_TYPE_MOD:
    case BT_TYPE_MIN:
    case BT_TYPE_MAX: return (const bt_list_type *)(const void *)t;
    case BT_TYPE_TENSOR:
    case BT_TYPE_FUNC:
    case BT_TYPE_ADT:
    case BT_TYPE_SHAPE:
    case BT_TYPE_DTYPE:
    case BT_TYPE_VAR:
    case BT_TYPE_BOUND:
    case BT_TYPE_HOLE:
    case BT_TYPE_LINEAR:
    case BT_TYPE_OPAQUE: return NULL;
    }
    return NULL;
}

/* ---- tensors ---- */

bt_dtype bt_tensor_dtype(const bt_type *t)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(t);
    const bt_dtype_type *dtype = tensor ? as(tensor->dtype, BT_TYPE_DTYPE) : NULL;
    return dtype ? dtype->dtype : 0;
}

const bt_shape_type *bt_tensor_shape(const bt_type *t)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(t);
    const bt_shape_type *shape = tensor ? bt_as_shape_type(tensor->shape) : NULL;
    return shape && !shape->rest ? shape : NULL;
}

int bt_tensor_static(const bt_type *t, uint32_t *rank, int64_t dims[BT_MAX_RANK])
{
    const bt_shape_type *shape = bt_tensor_shape(t);
    if (!shape || shape->n > BT_MAX_RANK)
        return 0;
    int64_t at[BT_MAX_RANK];
    for (uint32_t i = 0; i < shape->n; i++) {
        if (!bt_dim_is_const(shape->dims[i], &at[i]))
            return 0;
    }
    if (rank)
        *rank = shape->n;
    for (uint32_t i = 0; dims && i < shape->n; i++)
        dims[i] = at[i];
    return 1;
}

int bt_type_is_scalar(const bt_type *t)
{
    const bt_shape_type *shape = bt_tensor_shape(t);
    const bt_dtype dtype = bt_tensor_dtype(t);
    return shape && !shape->n && bt_dtype_is_stored(dtype) && !bt_dtype_is_moved(dtype);
}

/* Elements of the inner blocks of each logical axis. */
static void inner_blocks(const bt_layout *layout, int64_t inner[BT_MAX_RANK])
{
    for (uint32_t i = 0; i < layout->nlogical; i++)
        inner[i] = 1;
    for (uint32_t i = 0; i < layout->nphysical; i++) {
        if (layout->physical[i].factor)
            inner[layout->physical[i].axis] *= layout->physical[i].factor;
    }
}

int bt_tensor_physical(const bt_type *t, uint32_t *rank, int64_t dims[BT_MAX_RANK])
{
    int64_t logical[BT_MAX_RANK], inner[BT_MAX_RANK];
    uint32_t nlogical;
    if (!bt_tensor_static(t, &nlogical, logical))
        return 0;
    const bt_layout *layout = bt_as_tensor_type(t)->layout;
    if (!layout)
        return bt_tensor_static(t, rank, dims);
    if (layout->nlogical != nlogical)
        return 0;
    inner_blocks(layout, inner);
    for (uint32_t i = 0; i < layout->nphysical; i++) {
        const struct bt_layout_axis *at = &layout->physical[i];
        dims[i] = at->factor ? at->factor
                             : bt_ceildiv_int64(logical[at->axis], inner[at->axis]);
    }
    *rank = layout->nphysical;
    return 1;
}

const bt_shape_type *bt_tensor_memory(const bt_type *t)
{
    const bt_shape_type *shape = bt_tensor_shape(t);
    const bt_layout *layout = shape ? bt_as_tensor_type(t)->layout : NULL;
    const bt_type *dims[BT_MAX_RANK];
    int64_t inner[BT_MAX_RANK];
    if (!layout)
        return shape;
    if (layout->nlogical != shape->n)
        return NULL;
    inner_blocks(layout, inner);
    for (uint32_t i = 0; i < layout->nphysical; i++) {
        const struct bt_layout_axis *at = &layout->physical[i];
        dims[i] = at->factor ? bt_dim(t->store, at->factor)
                             : bt_dim_ceildiv(t->store, shape->dims[at->axis],
                                              bt_dim(t->store, inner[at->axis]));
    }
    const bt_type *made = bt_type_shape(t->store, layout->nphysical, dims);
    return made ? bt_as_shape_type(made) : NULL;
}

const bt_type *bt_tensor_size(const bt_type *t)
{
    const bt_shape_type *shape = bt_tensor_dtype(t) ? bt_tensor_memory(t) : NULL;
    return shape ? bt_dims_nbytes(t->store, bt_tensor_dtype(t), shape->n, shape->dims)
                 : NULL;
}

const bt_type *bt_dims_nbytes(bt_store *store, bt_dtype dtype, uint32_t n,
                              const bt_type *const *dims)
{
    if (!bt_dtype_is_packed(dtype))
        return bt_dim_product(store, (int64_t)bt_dtype_nbytes(dtype), n, dims);
    const bt_type *nelem = bt_dim_product(store, 1, n, dims);
    return nelem ? bt_dim_ceildiv(store, nelem, bt_dim(store, 8 / BT_DTYPE_BITS(dtype)))
                 : NULL;
}
