/*
 * A call of an operator that computes each row of a tensor alone: the examples' rows become the
 * rows of one tensor.
 *
 *     nn.dense(%x, %w) of x[b, k]    reshape(nn.dense(reshape(%x, [n * b, k]), %w), [n, b, m])
 */
#include <string.h>

#include "batches/batching_op.h"

/* A tensor's type with another dim 0. */
static const bt_type *with_rows(struct site *s, const bt_type *type, const bt_type *rows)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    const bt_type *dims[BT_MAX_RANK];
    for (uint32_t i = 0; i < shape->n; i++)
        dims[i] = i ? shape->dims[i] : rows;
    return bt_type_tensor(s->lone.store, bt_type_shape(s->lone.store, shape->n, dims),
                          bt_as_tensor_type(type)->dtype);
}

/* Whether a node takes row `index 0` of what has rows, and nothing else of it. */
static int is_row_wise(const bt_node *node, const uint8_t *has_rows, uint8_t *seen)
{
    if (!(node->free & bt_index_bit(0)) && !node->reads)
        return 1;
    if (seen[node->id])
        return 1;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_INDEX)
        return node->which != 0;
    uint32_t i = 0;
    if (node->kind == BT_NODE_READ && has_rows[node->which]) {
        const bt_node *at = node->args[0];
        if (at->kind != BT_NODE_INDEX || at->which != 0)
            return 0;
        i = 1;
    }
    for (; i < node->narg; i++) {
        if (!is_row_wise(node->args[i], has_rows, seen))
            return 0;
    }
    return 1;
}

/* Whether row r of the result is computed of rows r alone, each as any other. */
static bt_status is_by_rows(struct site *s, const bt_type *var, int *out)
{
    const bt_type **types = BT_NEWS(s->lone.arena, const bt_type *, s->old->narg),
                  *result;
    bt_graph *g;
    uint32_t n = 0;
    *out = 0;
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->old->narg; i++) {
        types[i] = s->masks[i] ? with_rows(s, s->examples[i], var) : s->examples[i];
        if (s->examples[i] && !types[i])
            return bt_store_why(s->lone.ctx, s->lone.store);
    }
    BT_TRY(lone_graph(&s->lone, s->old->op, s->attrs, s->old->narg, types, s->args,
                      &result, &g));
    if (!g || result != with_rows(s, s->example, var) || g->nresult != 1)
        return NULL;
    uint8_t *has_rows = BT_NEWS(s->lone.arena, uint8_t, g->narray);
    uint8_t *seen = BT_NEWS(s->lone.arena, uint8_t, g->nnode);
    if (!has_rows || !seen)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->old->narg; i++) {
        if (types[i])
            has_rows[n++] = s->masks[i] != NULL;
    }
    const bt_node *rows = NULL;
    for (uint32_t i = 0; i < g->ninput && !rows; i++)
        rows = has_rows[i] ? g->arrays[i]->extents[0] : NULL;
    int ok = rows != NULL;
    for (uint32_t i = g->ninput; i < g->narray && ok; i++) {
        const bt_array *stage = g->arrays[i];
        has_rows[i] = stage->rank && stage->extents[0] == rows;
        ok = has_rows[i] && is_row_wise(stage->body, has_rows, seen);
    }
    *out = ok;
    return NULL;
}

/* A dim 0 would be a code of reshape. */
static int has_elements(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t dim;
    for (uint32_t i = 0; shape && i < shape->n; i++) {
        if (bt_dim_is_const(shape->dims[i], &dim) && !dim)
            return 0;
    }
    return 1;
}

/* Whether all arguments that differ are tensors with the same dim 0 as the result. */
static int may_be_by_rows(const struct site *s)
{
    const bt_shape_type *result = bt_tensor_shape(s->example);
    int ok = result && result->n && has_elements(s->example);
    for (uint32_t i = 0; ok && i < s->old->narg; i++) {
        const bt_shape_type *shape = s->masks[i] ? bt_tensor_shape(s->examples[i]) : NULL;
        ok = !s->masks[i] || (shape && shape->n && shape->dims[0] == result->dims[0] &&
                              has_elements(s->examples[i]));
    }
    return ok;
}

/* x: Tensor[(a, b, ..)] as Tensor[(a * b, ..)], or back. */
static bt_status reshape(struct site *s, const bt_value *value, const bt_type *type,
                         const bt_value **out)
{
    const bt_op *op;
    const bt_type *newshape = bt_as_tensor_type(type)->shape;
    BT_TRY(bt_op_get(s->lone.ctx, "reshape", &op));
    char *attrs = BT_NEWS(s->lone.arena, char, op->attrs_nbytes); // others are 0
    if (!attrs)
        return bt_no_memory();
    memcpy(attrs + batching_op_attr(op, "newshape")->offset, &newshape, sizeof(newshape));
    return bt_build_op(s->batch->copy->b, op, attrs, 1, &value, out);
}

bt_status batching_op_by_rows(struct site *s, const bt_value **out)
{
    static const bt_type_param any = { .kind = BT_KIND_DIM,
                                       .high = INT64_MAX,
                                       .step = 1 };
    const bt_value **args = BT_NEWS(s->lone.arena, const bt_value *, s->old->narg), *made;
    const bt_type *var = bt_type_var(s->lone.store, &any, "rows");
    int is;
    if (!args)
        return bt_no_memory();
    if (!var)
        return bt_store_why(s->lone.ctx, s->lone.store);
    if (!may_be_by_rows(s))
        return NULL;
    BT_TRY(is_by_rows(s, var, &is));
    if (!is)
        return NULL;
    const bt_type *rows =
        bt_dim_mul(s->lone.store, s->batch->size, bt_tensor_shape(s->example)->dims[0]);
    if (!rows)
        return bt_store_why(s->lone.ctx, s->lone.store);
    for (uint32_t i = 0; i < s->old->narg; i++) {
        args[i] = s->args[i];
        if (s->masks[i])
            BT_TRY(reshape(s, args[i], with_rows(s, s->examples[i], rows), &args[i]));
    }
    BT_TRY(
        bt_build_op(s->batch->copy->b, s->old->op, s->attrs, s->old->narg, args, &made));
    return reshape(s, made, s->result, out);
}
