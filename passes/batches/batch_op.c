/*
 * Calls of operators with one more index, of a graph of what they compute.
 *
 *     y[i] = sum(k: x[i, k] * w[k])    x[n, ..], w     y[b, i] = sum(k: x[b, i, k] * w[k])
 *
 * Where that is what an operator computes of tensors with one more axis, the call keeps its name;
 * where each row of a tensor is computed alone, the examples' rows become the rows of one
 * tensor. Else it is a call of operator `compute`.
 */
#include <string.h>

#include "batches/batch.h"
#include "common/lone_func.h"

struct site {
    struct batch *batch;
    struct lone lone;
    const bt_call *old;
    const void *attrs;        /* with the terms of the function at hand */
    const bt_value **args;    /* of a batch */
    const bt_type **examples; /* types of one; NULL of what is passed on as a constant */
    const uint8_t **masks;    /* of each argument, NULL: none */
    const bt_type *example, *result;
};

/* ---- one more index ---- */

struct raising {
    bt_graph *graph;
    const uint8_t *raised; /* of each array: it has the examples as axis 0 */
    const bt_node *index;
    const bt_node **memo; /* by id */
    uint32_t nmemo;
};

static const bt_node *raise(struct raising *, const bt_node *);

static const bt_node *raise_new(struct raising *r, const bt_node *node)
{
    bt_graph *g = r->graph;
    if (node->kind == BT_NODE_INDEX)
        return bt_node_index(g, node->which + 1,
                             node->narg ? node->args[0] : bt_node_int(g, node->high + 1));
    const int more = node->kind == BT_NODE_READ && r->raised[node->which];
    const bt_node **args =
        BT_NEWS(g->arena, const bt_node *, node->narg + (uint32_t)more);
    if (!args)
        return NULL;
    args[0] = r->index;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!(args[i + (uint32_t)more] = raise(r, node->args[i])))
            return NULL;
    }
    if (more)
        return bt_node_read(g, node->which, node->dtype, node->narg + 1, args);
    return node->narg ? bt_node_again(g, node, node->first + 1, args) : node;
}

/* Nodes nest to a multiple of limits.depth. */
static const bt_node *raise(struct raising *r, const bt_node *node)
{
    if (node->id >= r->nmemo)
        return raise_new(r, node);
    if (!r->memo[node->id])
        r->memo[node->id] = raise_new(r, node);
    return r->memo[node->id];
}

static int reads_raised(const bt_node *node, const uint8_t *raised, uint8_t *seen)
{
    if (!node->reads || seen[node->id])
        return 0;
    seen[node->id] = 1;
    int any = node->kind == BT_NODE_READ && raised[node->which];
    for (uint32_t i = 0; i < node->narg; i++)
        any |= reads_raised(node->args[i], raised, seen);
    return any;
}

static bt_status why(const bt_graph *g)
{
    return g->status ? g->status : bt_no_memory();
}

static bt_status size_node(bt_graph *g, const bt_type *size, const bt_node **out)
{
    int64_t number;
    bt_graph_dim dim = { .name = "batch", .term = size };
    uint32_t which;
    if (bt_dim_is_const(size, &number)) {
        *out = bt_node_int(g, number);
        return *out ? NULL : why(g);
    }
    for (which = 0; which < g->ndim && g->dims[which]->term != size; which++)
        ;
    bt_dim_bounds(size, &dim.low, &dim.high);
    if (which == g->ndim && !bt_graph_add_dim(g, &dim, &which))
        return bt_no_memory();
    *out = bt_node_dim(g, which);
    return *out ? NULL : why(g);
}

static bt_status add_axis(bt_graph *g, bt_array *array, const bt_node *size)
{
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, array->rank + 1);
    if (!extents)
        return bt_no_memory();
    extents[0] = size;
    for (uint32_t i = 0; i < array->rank; i++)
        extents[i + 1] = array->extents[i];
    array->extents = extents;
    array->rank++;
    return NULL;
}

/* A stage is raised where it reads what is, and where it is a result: all of them are. */
static bt_status raise_stage(bt_graph *g, uint32_t at, uint8_t *raised,
                             const bt_node *size)
{
    struct raising r = { .graph = g, .raised = raised, .nmemo = g->nnode };
    bt_array *stage = g->arrays[at];
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode);
    if (!seen)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->nresult; i++)
        raised[at] |= g->results[i] == at;
    if (!raised[at] && !(raised[at] = (uint8_t)reads_raised(stage->body, raised, seen)))
        return NULL;
    r.memo = BT_NEWS(g->arena, const bt_node *, g->nnode);
    r.index = bt_node_index(g, 0, size);
    if (!r.memo || !r.index)
        return why(g);
    stage->body = raise(&r, stage->body);
    return stage->body ? add_axis(g, stage, size) : why(g);
}

/* raised: of each input. */
static bt_status raise_graph(struct site *s, bt_graph *g, uint8_t *raised)
{
    const bt_node *size;
    BT_TRY(size_node(g, s->batch->size, &size));
    for (uint32_t i = 0; i < g->ninput; i++) {
        if (raised[i])
            BT_TRY(add_axis(g, g->arrays[i], size));
    }
    for (uint32_t i = g->ninput; i < g->narray; i++)
        BT_TRY(raise_stage(g, i, raised, size));
    return bt_graph_verify(s->lone.ctx, g->arena, g);
}

/* ---- arguments ---- */

/* Leaves of the arguments that are inputs of the graph. */
struct leaves {
    uint32_t n;
    const bt_value **values; /* NULL: only masks are wanted */
    uint8_t *raised;
};

static bt_status add_leaves(struct site *s, const bt_value *value, const uint8_t **mask,
                            struct leaves *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(value->type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        const bt_value *field;
        BT_TRY(bt_build_proj(s->batch->copy->b, value, i, &field));
        BT_TRY(add_leaves(s, field, mask, out));
    }
    if (tuple)
        return NULL;
    out->raised[out->n] = *mask ? *(*mask)++ : 0;
    out->values[out->n++] = value;
    return NULL;
}

static bt_status find_leaves(struct site *s, uint32_t narray, struct leaves *out)
{
    uint32_t n = narray;
    for (uint32_t i = 0; i < s->old->narg; i++)
        n += bt_type_nleaf(s->old->args[i]->type);
    out->values = BT_NEWS(s->lone.arena, const bt_value *, n);
    out->raised = BT_NEWS(s->lone.arena, uint8_t, n);
    if (!out->values || !out->raised)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->old->narg; i++) {
        const uint8_t *mask = s->masks[i];
        if (s->examples[i])
            BT_TRY(add_leaves(s, s->args[i], &mask, out));
    }
    return NULL;
}

static bt_status prepare(struct site *s)
{
    struct copy *c = s->batch->copy;
    const bt_call *old = s->old;
    uint8_t *full;
    s->args = BT_NEWS(c->arena, const bt_value *, old->narg);
    s->examples = BT_NEWS(c->arena, const bt_type *, old->narg);
    s->masks = BT_NEWS(c->arena, const uint8_t *, old->narg);
    if (!s->args || !s->examples || !s->masks)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->narg; i++) {
        BT_TRY(copy_operand(c, old->args[i], NULL, &s->args[i]));
        s->masks[i] = batch_mask(s->batch, old->args[i]);
        BT_TRY(copy_type(c, old->args[i]->type, &s->examples[i]));
        if (!s->masks[i] && bt_const_number(s->args[i]))
            s->examples[i] = NULL;
    }
    BT_TRY(copy_attrs(c, old->op, old->attrs, &s->attrs));
    BT_TRY(copy_type(c, old->base.type, &s->example));
    BT_TRY(batch_full(s->batch->vmap, s->example, &full));
    return batch_type(s->batch->vmap, s->example, s->batch->size, full, &s->result);
}

/* ---- under its own name ---- */

static bt_status text_of(struct site *s, bt_graph *g, bt_graph_formula *out)
{
    return bt_graph_text(s->lone.ctx, s->lone.arena, g, s->result, out);
}

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
    BT_TRY(text_of(s, graph, &formula));
    *out = is_same_text(&formula, wanted);
    return NULL;
}

static const bt_attr *attr_of(const bt_op *op, const char *name)
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
        const bt_attr *row = attr_of(s->old->op, names[i]);
        if (!row)
            continue;
        if (!attrs && !(attrs = attrs_again(s)))
            return bt_no_memory();
        BT_TRY(move_attr(s, row, attrs + row->offset, is_whole));
    }
    *out = attrs;
    return NULL;
}

static bt_status by_name(struct site *s, const bt_graph_formula *wanted,
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
    return keeps ? bt_build_op(s->batch->copy->b, s->old->op, attrs, s->old->narg,
                               s->args, out)
                 : NULL;
}

/* ---- rows of one tensor ---- */

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
    memcpy(attrs + attr_of(op, "newshape")->offset, &newshape, sizeof(newshape));
    return bt_build_op(s->batch->copy->b, op, attrs, 1, &value, out);
}

static bt_status by_rows(struct site *s, const bt_value **out)
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

/* ---- all of it ---- */

static int has_contraction(const bt_graph *g)
{
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        bt_view view;
        bt_view_of(g, g->arrays[i], &view);
        if (view.kind == BT_VIEW_CONTRACTION || view.kind == BT_VIEW_WINDOW)
            return 1;
    }
    return 0;
}

/* Whether there are elements that are only moved and cast, which operator `compute` does not do. */
static int has_moved(const struct leaves *leaves, const bt_type *result)
{
    const bt_list_type *tuple = bt_as_tuple_type(result);
    int any = bt_dtype_is_moved(bt_tensor_dtype(result));
    for (uint32_t i = 0; i < leaves->n; i++)
        any |= bt_dtype_is_moved(bt_tensor_dtype(leaves->values[i]->type));
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        any |= has_moved(&(const struct leaves){ 0 }, tuple->at[i]);
    return any;
}

static bt_status by_formula(struct site *s, const bt_graph_formula *formula,
                            const struct leaves *leaves, const bt_value **out)
{
    const bt_type *dims = bt_type_shape(s->lone.store, formula->ndim, formula->dims);
    if (!dims)
        return bt_store_why(s->lone.ctx, s->lone.store);
    BT_TRY(bt_build_formula(s->batch->copy->b, dims, leaves->n, leaves->values,
                            formula->formula, out));
    // a formula of one result gives no tuple
    return bt_as_tuple_type(s->result) && !bt_as_tuple_type((*out)->type)
               ? bt_build_tuple(s->batch->copy->b, 1, out, out)
               : NULL;
}

bt_status batch_op(struct batch *b, const bt_call *old, const bt_value **out)
{
    struct copy *c = b->copy;
    struct site s = { .batch = b,
                      .lone = { c->ctx, c->store, b->vmap->declared, c->arena },
                      .old = old };
    struct leaves leaves = { 0 };
    const bt_type *type;
    bt_graph *g;
    bt_graph_formula formula;
    BT_TRY(prepare(&s));
    bt_builder_like(c->b, &old->base);
    BT_TRY(
        lone_graph(&s.lone, old->op, s.attrs, old->narg, s.examples, s.args, &type, &g));
    if (!g || type != s.example)
        return NULL;
    const int is_heavy = has_contraction(g);
    BT_TRY(find_leaves(&s, g->narray, &leaves));
    for (uint32_t i = 0; i < g->nresult; i++) {
        if (g->results[i] < g->ninput)
            return NULL; // an argument as it is: nothing is computed
    }
    BT_TRY(raise_graph(&s, g, leaves.raised));
    bt_status status = text_of(&s, g, &formula);
    if (status) // too long a text: one example after another
        return status->code == BT_ERR_LIMIT ? NULL : status;
    BT_TRY(by_name(&s, &formula, out));
    if (!*out && is_heavy)
        BT_TRY(by_rows(&s, out));
    return *out || has_moved(&leaves, s.result) ? NULL
                                                : by_formula(&s, &formula, &leaves, out);
}
