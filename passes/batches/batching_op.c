/* Calls of operators for all examples. */
#include "batches/batching_op.h"

bt_status batching_op_text(struct site *s, bt_graph *g, bt_graph_formula *out)
{
    return bt_graph_text(s->lone.ctx, s->lone.arena, g, s->result, out);
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
        s->masks[i] = batching_mask(s->batch, old->args[i]);
        BT_TRY(copy_type(c, old->args[i]->type, &s->examples[i]));
        if (!s->masks[i] && bt_const_number(s->args[i]))
            s->examples[i] = NULL;
    }
    BT_TRY(copy_attrs(c, old->op, old->attrs, &s->attrs));
    BT_TRY(copy_type(c, old->base.type, &s->example));
    BT_TRY(batching_full(s->batch->vmap, s->example, &full));
    return batching_type(s->batch->vmap, s->example, s->batch->size, full, &s->result);
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

/* The formula as operator `compute` reads it: dims are numbered as in a call of these values, as the
 * order of terms goes by their numbers. */
static bt_status read_again(struct site *s, const struct leaves *leaves,
                            bt_graph_formula *formula)
{
    const struct {
        const bt_type *dims;
        const char *formula;
    } attrs = { bt_type_shape(s->lone.store, formula->ndim, formula->dims),
                bt_name_of(s->lone.store, formula->formula) };
    const bt_type **types = BT_NEWS(s->lone.arena, const bt_type *, leaves->n), *result;
    const bt_op *compute;
    bt_graph *g;
    if (!types)
        return bt_no_memory();
    if (!attrs.dims || !attrs.formula)
        return bt_store_why(s->lone.ctx, s->lone.store);
    for (uint32_t i = 0; i < leaves->n; i++)
        types[i] = leaves->values[i]->type;
    BT_TRY(bt_op_get(s->lone.ctx, "compute", &compute));
    BT_TRY(lone_graph(&s->lone, compute, &attrs, leaves->n, types, leaves->values,
                      &result, &g));
    return g && result == s->result ? batching_op_text(s, g, formula) : NULL;
}

/* What the call of one example asks of dims. */
static bt_status add_checks(struct site *s, const struct leaves *leaves,
                            bt_graph_formula *formula)
{
    bt_check *checks = BT_NEWS(s->lone.arena, bt_check, s->old->ncheck);
    if (!checks)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->old->ncheck; i++) {
        checks[i] = s->old->checks[i];
        BT_TRY(copy_type(s->batch->copy, checks[i].left, &checks[i].left));
        BT_TRY(copy_type(s->batch->copy, checks[i].right, &checks[i].right));
    }
    return bt_graph_text_checks(s->lone.arena, s->old->ncheck, checks, s->result,
                                leaves->n, leaves->values, formula);
}

static bt_status by_formula(struct site *s, bt_graph_formula *formula,
                            const struct leaves *leaves, const bt_value **out)
{
    BT_TRY(add_checks(s, leaves, formula));
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

bt_status batching_op(struct batching *b, const bt_call *old, const bt_value **out)
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
    BT_TRY(batching_op_raise(&s, g, leaves.raised));
    bt_status status = batching_op_text(&s, g, &formula);
    if (status) // too long a text: one example after another
        return status->code == BT_ERR_LIMIT ? NULL : status;
    if (g->ndim && !has_moved(&leaves, s.result))
        BT_TRY(read_again(&s, &leaves, &formula));
    BT_TRY(batching_op_by_name(&s, &formula, out));
    if (!*out && is_heavy)
        BT_TRY(batching_op_by_rows(&s, out));
    return *out || has_moved(&leaves, s.result) ? NULL
                                                : by_formula(&s, &formula, &leaves, out);
}
