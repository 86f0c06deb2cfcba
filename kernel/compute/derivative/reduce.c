/*
 * Derivatives of reducers, as their rows state them: a factor, or one of
 *
 *     first       factor 1 at the first position of the extreme, which is a stage:
 *                 pos = min(k: select(x[k] == y || isnan(x[k]), k, inf));  condition pos == k
 *     others      factor left[k] * right[k], the products of what stands before and behind k,
 *                 two stages: right with zeros, and to any order
 */
#include "compute/derivative/derivative.h"

#include <string.h>

/* NaN is an extreme too. Positions are small where that is known, so that fewer bytes move. */
static bt_status derive_extreme(bt_graph *g, uint32_t stage, const bt_node *y,
                                struct bt__reduce_derivative *out)
{
    bt_array array = *g->arrays[stage];
    const bt_node *reduce = array.body, *x = reduce->args[1], *here, *at, *none;
    uint32_t number;
    if (!(at = bt__row_position(g, reduce->first, reduce->nindex, reduce->args + 2)))
        return bt__derive_why(g);
    array.dtype = at->high < INT32_MAX ? BT_INT32 : BT_INT64;
    none = bt__node_const(g, array.dtype, (bt_cell){ .i = bt__dtype_high(array.dtype) });
    here = bt_node_scalar(g, BT_SCALAR_OR, bt_node_scalar(g, BT_SCALAR_EQ, x, y),
                          bt_node_scalar(g, BT_SCALAR_ISNAN, x, NULL));
    array.body = bt_node_reduce(
        g, BT_REDUCER_MIN, reduce->first, reduce->nindex, reduce->args + 2,
        reduce->args[0], bt_node_select(g, here, bt_node_cast(g, array.dtype, at), none));
    if (!array.body || !bt_graph_add_array(g, &array, &number))
        return bt__derive_why(g);
    out->condition = bt_node_scalar(
        g, BT_SCALAR_EQ, bt_node_cast(g, BT_INT64, bt__own_read(g, number)), at);
    return out->condition ? NULL : bt__derive_why(g);
}

/* The products of what stands before k, or behind it: a stage with one axis more than the
 * reduction's, read at k. */
static const bt_node *product_beside(bt_graph *g, uint32_t stage, int is_behind)
{
    bt_array array = *g->arrays[stage];
    const bt_node *reduce = array.body, *axes[BT_MAX_INDEX] = { 0 };
    const uint32_t k = array.rank; // the number of the one reduced index
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, array.rank + 1);
    const bt_node **at = BT_NEWS(g->arena, const bt_node *, array.rank + 1);
    uint32_t number;
    if (!extents || !at)
        return bt__graph_no_memory(g);
    for (uint32_t i = 0; i <= k; i++) {
        extents[i] = i < k ? array.extents[i] : reduce->args[2];
        at[i] = bt_node_index(g, i, extents[i]);
        if (i < k)
            axes[i] = at[i];
    }
    // what is reduced moves one number up, behind the axis k
    axes[k] = bt_node_index(g, k + 1, reduce->args[2]);
    const bt_node *beside = bt_node_scalar(g, BT_SCALAR_LT, is_behind ? at[k] : axes[k],
                                           is_behind ? axes[k] : at[k]);
    const bt_node *condition =
        bt_node_and(g, bt__node_place(g, reduce->args[0], k + 1, axes, k + 2), beside);
    const bt_node *body = bt__node_place(g, reduce->args[1], k + 1, axes, k + 2);
    array.rank = k + 1;
    array.extents = extents;
    array.body =
        bt_node_reduce(g, BT_REDUCER_PROD, k + 1, 1, reduce->args + 2, condition, body);
    if (!array.body || !bt_graph_add_array(g, &array, &number))
        return array.body ? bt__graph_no_memory(g) : NULL;
    return bt_node_read(g, number, array.dtype, array.rank, at);
}

static bt_status derive_product(bt_graph *g, uint32_t stage,
                                struct bt__reduce_derivative *out)
{
    if (g->arrays[stage]->rank == BT_MAX_RANK)
        return bt_fail(g->ctx, BT_ERR_UNSUPPORTED,
                       "the derivative of a product over rank %d needs one axis more",
                       BT_MAX_RANK);
    out->factor = bt_node_scalar(g, BT_SCALAR_MUL, product_beside(g, stage, 0),
                                 product_beside(g, stage, 1));
    return out->factor ? NULL : bt__derive_why(g);
}

bt_status bt__reduce_derive(bt_graph *g, uint32_t stage, const bt_node *y,
                            struct bt__reduce_derivative *out)
{
    const bt_node *reduce = g->arrays[stage]->body;
    const char *row = bt__reducer_get(reduce->which)->derivative;
    const struct bt__row r = {
        .graph = g, .dtype = reduce->dtype, .a = reduce->args[1], .y = y
    };
    *out = (struct bt__reduce_derivative){ .condition = bt_node_bool(g, 1) };
    if (!out->condition)
        return bt__derive_why(g);
    if (!*row)
        return bt_fail(g->ctx, BT_ERR_UNSUPPORTED, "%s has no derivative",
                       bt_reducer_name(reduce->which));
    if (strcmp(row, "1") == 0)
        return NULL;
    if (strcmp(row, "first") == 0)
        return derive_extreme(g, stage, y, out);
    if (strcmp(row, "others") == 0)
        return derive_product(g, stage, out);
    out->factor = bt__row_derivative(&r, row, strlen(row));
    return out->factor ? NULL : bt__derive_why(g);
}
