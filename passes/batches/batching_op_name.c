/*
 * A call of an operator that keeps its name for all examples: what the operator computes of tensors
 * with one more axis is what is wanted, with its attributes as they are, or with axes and shapes in
 * them moved behind the examples' axis.
 */
#include <string.h>

#include "batches/batching_op.h"

static int is_same_text(const bt_graph_formula *a, const bt_graph_formula *b)
{
    int same = a->ndim == b->ndim && strcmp(a->formula, b->formula) == 0;
    for (uint32_t i = 0; same && i < a->ndim; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

/* Whether the operator does, of the whole batch, what the formula says. */
static bt_status keeps_name(struct site *s, const void *attrs,
                            const bt_graph_formula *wanted, int *out)
{
    const bt_type **types = BT_NEWS(s->lone.arena, const bt_type *, s->old->narg),
                  *result;
    bt_graph *graph;
    bt_graph_formula formula;
    *out = 0;
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->old->narg; i++)
        types[i] = s->examples[i] ? s->args[i]->type : NULL;
    BT_TRY(lone_graph(&s->lone, s->old->op, attrs, s->old->narg, types, s->args, &result,
                      &graph));
    if (!graph || result != s->result)
        return NULL;
    BT_TRY(batching_op_text(s, graph, &formula));
    *out = is_same_text(&formula, wanted);
    return NULL;
}

const bt_attr *batching_op_attr(const bt_op *op, const char *name)
{
    const bt_attr *row = op->attrs;
    while (row && row->name && strcmp(row->name, name) != 0)
        row++;
    return row && row->name ? row : NULL;
}

static char *attrs_again(const struct site *s)
{
    char *attrs = BT_NEWS(s->lone.arena, char, s->old->op->attrs_nbytes);
    if (attrs)
        memcpy(attrs, s->attrs, s->old->op->attrs_nbytes);
    return attrs;
}

/* Axes that are counted from the front are one further; is_whole: a list of all of them begins
 * with the examples' one. */
static bt_status move_axes(struct site *s, bt_ints *list, int is_whole)
{
    const int64_t n = list->n == BT_SINGLE ? 1 : list->n;
    int64_t *axes = BT_NEWS(s->lone.arena, int64_t, n > 0 ? (size_t)n + 1 : 1);
    if (!axes)
        return bt_no_memory();
    for (int64_t k = 0; k < n; k++)
        axes[k + is_whole] = list->at[k] + (list->at[k] >= 0);
    if (n > 0) {
        list->at = axes;
        list->n += is_whole;
    }
    return NULL;
}

static bt_status move_attr(struct site *s, const bt_attr *row, char *at, int is_whole)
{
    const bt_type **term = (const bt_type **)(void *)at;
    const bt_shape_type *shape;
    const bt_type *dims[BT_MAX_RANK];
    switch (row->kind) {
    case BT_ATTR_INT: *(int64_t *)(void *)at += *(int64_t *)(void *)at >= 0; return NULL;
    case BT_ATTR_INTS:
    case BT_ATTR_INT_OR_INTS: return move_axes(s, (bt_ints *)(void *)at, is_whole);
    case BT_ATTR_SHAPE:
        shape = *term ? bt_as_shape_type(*term) : NULL;
        if (!shape || shape->rest || shape->n == BT_MAX_RANK)
            return NULL;
        dims[0] = s->batch->size;
        for (uint32_t i = 0; i < shape->n; i++)
            dims[i + 1] = shape->dims[i];
        *term = bt_type_shape(s->lone.store, shape->n + 1, dims);
        return *term ? NULL : bt_store_why(s->lone.ctx, s->lone.store);
    default: return NULL;
    }
}

/* Attributes that name axes, or a shape, as they are for a batch; *out NULL: there are none. */
static bt_status next_attrs(struct site *s, int is_whole, const void **out)
{
    static const char *const names[] = { "axis", "axes", "batch_dims", "newshape",
                                         "shape" };
    char *attrs = NULL;
    *out = NULL;
    for (uint32_t i = 0; i < BT_COUNT(names) && s->attrs; i++) {
        const bt_attr *row = batching_op_attr(s->old->op, names[i]);
        if (!row)
            continue;
        if (!attrs && !(attrs = attrs_again(s)))
            return bt_no_memory();
        BT_TRY(move_attr(s, row, attrs + row->offset, is_whole));
    }
    *out = attrs;
    return NULL;
}

/* Whether the call states no more of its dims than that of one example: where axes are empty, the
 * formula can be the same for axes that do not belong to each other. Built in a block of its own,
 * which is dropped. */
static bt_status checks_no_more(struct site *s, const void *attrs, int *out)
{
    bt_builder *b = s->batch->copy->b;
    const bt_value *made;
    const bt_block *apart;
    BT_TRY(bt_block_begin(b, 0, NULL));
    BT_TRY(bt_build_op(b, s->old->op, attrs, s->old->narg, s->args, &made));
    BT_TRY(bt_block_end(b, made, &apart));
    *out = bt_as_call(made)->ncheck <= s->old->ncheck;
    bt_builder_like(b, &s->old->base);
    return NULL;
}

bt_status batching_op_by_name(struct site *s, const bt_graph_formula *wanted,
                              const bt_value **out)
{
    const void *attrs = s->attrs;
    int keeps;
    BT_TRY(keeps_name(s, attrs, wanted, &keeps));
    for (int is_whole = 0; is_whole < 2 && attrs && !keeps; is_whole++) {
        BT_TRY(next_attrs(s, is_whole, &attrs));
        if (attrs)
            BT_TRY(keeps_name(s, attrs, wanted, &keeps));
    }
    if (keeps)
        BT_TRY(checks_no_more(s, attrs, &keeps));
    return keeps ? bt_build_op(s->batch->copy->b, s->old->op, attrs, s->old->narg,
                               s->args, out)
                 : NULL;
}
