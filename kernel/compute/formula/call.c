/* Calls taken apart. */
#include "compute/formula/call.h"

#include <string.h>

#include "base/arena.h"

typedef bt_vec(struct bt__leaf) leaf_list;

/* in_memory: as it lies there, which of a layout must be known. */
static bt_status read_tensor(bt_ctx *ctx, bt_arena *arena, const bt_type *type,
                             int in_memory, struct bt__leaf *out)
{
    const bt_shape_type *shape =
        in_memory ? bt_tensor_memory(type) : bt_tensor_shape(type);
    int is_known =
        !in_memory || !bt_type_layout(type) || bt_tensor_static(type, NULL, NULL);
    *out = (struct bt__leaf){ .dtype = bt_tensor_dtype(type) };
    if (!shape && is_known && out->dtype && bt_tensor_shape(type))
        return bt_store_why(ctx, type->store);
    if (!shape || !is_known)
        return NULL;
    int64_t *dims = BT_NEWS(arena, int64_t, shape->n);
    if (!dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < shape->n; i++) {
        if (!bt_dim_is_const(shape->dims[i], &dims[i]) || dims[i] < 0)
            dims[i] = -1;
    }
    out->has_rank = 1;
    out->rank = shape->n;
    out->dims = dims;
    return NULL;
}

/* Tensors of a type, tuples depth first; types nest to BT_TYPE_DEPTH at most. */
static bt_status read_leaves(bt_ctx *ctx, bt_arena *arena, const char *op,
                             const bt_type *type, int in_memory, leaf_list *out)
{
    struct bt__leaf leaf;
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (tuple) {
        for (uint32_t i = 0; i < tuple->n; i++)
            BT_TRY(read_leaves(ctx, arena, op, tuple->at[i], in_memory, out));
        return NULL;
    }
    if (bt_as_func_type(type))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: a function is no tensor to compute with: a pass puts another "
                       "one in place of this call, and has not run (declare-gradients of "
                       "gradient and jvp, vmap of vmap; pipeline gradients has all)",
                       op);
    if (!bt_as_tensor_type(type))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: an argument or result that is not made of tensors cannot be "
                       "computed",
                       op);
    BT_TRY(read_tensor(ctx, arena, type, in_memory, &leaf));
    return BT_PUSH(arena, out, leaf) ? NULL : bt_no_memory();
}

/* ---- attributes ---- */

#define MEMBER(T, row, attrs) \
    (*(T const *)(const void *)((const char *)(attrs) + (row)->offset))

static bt_status copy_ints(bt_arena *arena, uint32_t n, const int64_t *at,
                           struct bt__attr_value *out)
{
    out->n = n;
    out->ints = bt__arena_copy(arena, at, n, sizeof(*at));
    return out->ints ? NULL : bt_no_memory();
}

static bt_status copy_floats(bt_arena *arena, uint32_t n, const double *at,
                             struct bt__attr_value *out)
{
    out->n = n;
    out->floats = bt__arena_copy(arena, at, n, sizeof(*at));
    return out->floats ? NULL : bt_no_memory();
}

/* Numbers, or terms where a dim depends on variables. */
static bt_status copy_dims(bt_arena *arena, uint32_t n, const bt_type *const *dims,
                           struct bt__attr_value *out)
{
    int64_t *copy = BT_NEWS(arena, int64_t, n ? n : 1);
    if (!copy)
        return bt_no_memory();
    out->n = n;
    out->ints = copy;
    for (uint32_t i = 0; i < n && out->ints; i++) {
        if (!bt_dim_is_const(dims[i], &copy[i]))
            out->ints = NULL;
    }
    if (!out->ints)
        out->terms = bt__arena_copy(arena, dims, n, sizeof(const bt_type *));
    return out->ints || out->terms ? NULL : bt_no_memory();
}

static bt_status copy_list(bt_arena *arena, const bt_ints *list,
                           struct bt__attr_value *out)
{
    out->is_none = list->n == BT_NONE_LIST;
    int64_t n = list->n == BT_SINGLE ? 1 : list->n < 0 ? 0 : list->n;
    return copy_ints(arena, (uint32_t)n, list->at, out);
}

static bt_status read_attr(bt_arena *arena, const bt_attr *row, const void *attrs,
                           struct bt__attr_value *out)
{
    const bt_shape_type *shape;
    *out = (struct bt__attr_value){ .kind = row->kind };
    out->name = bt_arena_text(arena, row->name, strlen(row->name));
    if (!out->name)
        return bt_no_memory();
    switch (row->kind) {
    case BT_ATTR_INT:
        out->is_none = MEMBER(int64_t, row, attrs) == BT_NONE;
        return copy_ints(arena, 1, &MEMBER(int64_t, row, attrs), out);
    case BT_ATTR_BOOL: return copy_ints(arena, 1, &MEMBER(int64_t, row, attrs), out);
    case BT_ATTR_FLOAT: return copy_floats(arena, 1, &MEMBER(double, row, attrs), out);
    case BT_ATTR_INTS:
    case BT_ATTR_INT_OR_INTS: return copy_list(arena, &MEMBER(bt_ints, row, attrs), out);
    case BT_ATTR_FLOATS: {
        const bt_floats *list = &MEMBER(bt_floats, row, attrs);
        out->is_none = list->n < 0;
        return copy_floats(arena, (uint32_t)(list->n < 0 ? 0 : list->n), list->at, out);
    }
    case BT_ATTR_DTYPE: {
        const bt_type *dtype = MEMBER(const bt_type *, row, attrs);
        out->is_none = dtype == NULL;
        if (dtype && dtype->kind == BT_TYPE_DTYPE)
            out->dtype = ((const bt_dtype_type *)(const void *)dtype)->dtype;
        return NULL;
    }
    case BT_ATTR_DIM: {
        const bt_type *const *dim = &MEMBER(const bt_type *, row, attrs);
        out->is_none = *dim == NULL;
        return *dim ? copy_dims(arena, 1, dim, out) : NULL;
    }
    case BT_ATTR_SHAPE:
        shape = MEMBER(const bt_type *, row, attrs)
                    ? bt_as_shape_type(MEMBER(const bt_type *, row, attrs))
                    : NULL;
        out->is_none = shape == NULL;
        return shape && !shape->rest ? copy_dims(arena, shape->n, shape->dims, out)
                                     : NULL;
    default: return NULL; // texts, types, functions: no numbers
    }
}

static bt_status read_attrs(bt_arena *arena, const bt_formula_call *call,
                            struct bt__call *out)
{
    uint32_t n = 0;
    while (call->attrs && call->op->attrs && call->op->attrs[n].name)
        n++;
    struct bt__attr_value *attrs = BT_NEWS(arena, struct bt__attr_value, n);
    if (!attrs)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(read_attr(arena, &call->op->attrs[i], call->attrs, &attrs[i]));
    out->nattr = n;
    out->attrs = attrs;
    return NULL;
}

/* Leaves of arguments and result. */
static bt_status read_types(bt_ctx *ctx, bt_arena *arena, const char *name, uint32_t narg,
                            const bt_type *const *types, const bt_type *result,
                            int in_memory, struct bt__call *out)
{
    leaf_list leaves = { 0 }, results = { 0 };
    struct bt__arg *args = BT_NEWS(arena, struct bt__arg, narg);
    *out = (struct bt__call){ .narg = narg, .args = args };
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < narg; i++) {
        args[i].first = leaves.len;
        args[i].is_tuple = bt_as_tuple_type(types[i]) != NULL;
        BT_TRY(read_leaves(ctx, arena, name, types[i], in_memory, &leaves));
        args[i].nleaf = leaves.len - args[i].first;
    }
    BT_TRY(read_leaves(ctx, arena, name, result, in_memory, &results));
    out->nleaf = leaves.len;
    out->leaves = leaves.at;
    out->nresult = results.len;
    out->results = results.at;
    out->result_is_tuple = bt_as_tuple_type(result) != NULL;
    return NULL;
}

bt_status bt__call_read(bt_ctx *ctx, bt_arena *arena, const bt_formula_call *call,
                        struct bt__call *out)
{
    BT_TRY(read_types(ctx, arena, call->op->name, call->narg, call->args, call->result, 0,
                      out));
    return read_attrs(arena, call, out);
}

bt_status bt__call_read_types(bt_ctx *ctx, bt_arena *arena, const char *name, uint32_t n,
                              const bt_type *const *params, const bt_type *result,
                              struct bt__call *out)
{
    return read_types(ctx, arena, name, n, params, result, 1, out);
}

/* ---- formulas ---- */

bt_status bt__call_formula(bt_ctx *ctx, bt_arena *arena, const bt_formula_call *from,
                           const struct bt__call *call, struct bt__instance *out)
{
    const bt_op *op = from->op;
    *out = (struct bt__instance){ .narg = call->narg,
                                  .nleaf = call->nleaf,
                                  .nattr = call->nattr,
                                  .args = call->args,
                                  .leaves = call->leaves,
                                  .attrs = call->attrs,
                                  .is_checked = op->formula_attr != NULL };
    BT_TRY(bt__formula_of_call(ctx, arena, from, &out->formula));
    out->signature = out->formula->signature;
    if (!op->formula_attr)
        BT_TRY(bt__signature_parse(ctx, arena, op, &out->signature));
    out->op = bt_arena_text(arena, op->name, strlen(op->name));
    if (!out->op)
        return bt_no_memory();
    if (out->formula->nresult == call->nresult)
        return NULL;
    return bt_fail(ctx, BT_ERR_TYPE,
                   "%s: the formula gives %u results, the type of a call has %u",
                   op->name, out->formula->nresult, call->nresult);
}

bt_status bt__call_graph(bt_ctx *ctx, bt_arena *arena, const struct bt__instance *call,
                         bt_graph **out)
{
    *out = NULL;
    for (uint32_t i = 0; i < call->nleaf; i++) {
        const struct bt__leaf *leaf = &call->leaves[i];
        if (!leaf->has_rank || !bt_dtype_is_stored(leaf->dtype))
            return NULL;
    }
    return bt__instantiate(ctx, arena, call, out);
}

bt_status bt__call_compose(bt_ctx *ctx, bt_arena *arena, const bt_formula_call *from,
                           bt_graph **out)
{
    struct bt__call call;
    struct bt__instance instance;
    BT_TRY(bt__call_read(ctx, arena, from, &call));
    BT_TRY(bt__call_formula(ctx, arena, from, &call, &instance));
    instance.takes_terms = 1;
    return bt__call_graph(ctx, arena, &instance, out);
}
