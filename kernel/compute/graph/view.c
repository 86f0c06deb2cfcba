/* Views of stages. */
#include "compute/graph/graph.h"

struct looking {
    const bt_graph *graph;
    const bt_array *stage;
    bt_view *view;
    uint64_t axes, reduced; /* indices of the stage, of its reduction */
    uint32_t nreduce;
};

/* ---- reads ---- */

/* Whether every index of the read is one of `allowed` by itself, each once, or a
 * number. */
static int is_plain_read(const bt_node *read, uint64_t allowed)
{
    uint64_t used = 0;
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *index = read->args[i];
        if (index->kind == BT_NODE_CONST)
            continue;
        if (index->kind != BT_NODE_INDEX || !(allowed & bt_index_bit(index->which)) ||
            (used & bt_index_bit(index->which)))
            return 0;
        used |= bt_index_bit(index->which);
    }
    return 1;
}

/* An index of one axis and one reduced index, either of which may run backward: a window. */
static int as_window(const struct looking *l, const bt_node *read, uint32_t axis,
                     bt_view_window *out)
{
    bt_linear form;
    bt_node_as_linear(read->args[axis], &form);
    *out =
        (bt_view_window){ .array = read->which, .axis = axis, .offset = form.constant };
    if (form.n != 2)
        return 0;
    for (uint32_t i = 0; i < form.n; i++) {
        const bt_node *atom = form.atoms[i];
        if (atom->kind != BT_NODE_INDEX || form.coefs[i] == INT64_MIN)
            return 0;
        if (l->axes & bt_index_bit(atom->which)) {
            out->outer = atom->which;
            out->stride = form.coefs[i];
        } else {
            out->inner = atom->which;
            out->dilation = form.coefs[i];
        }
    }
    return out->stride && out->dilation;
}

/* Whether each index is plain or a window; windows are added to the view. */
static int is_windowed_read(struct looking *l, const bt_node *read)
{
    bt_view *v = l->view;
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *index = read->args[i];
        bt_view_window window;
        if (index->kind == BT_NODE_CONST || index->kind == BT_NODE_INDEX)
            continue;
        if (v->nwindow == BT_VIEW_WINDOWS || !as_window(l, read, i, &window))
            return 0;
        v->windows[v->nwindow++] = window;
    }
    return 1;
}

/* Calls `accepts` for every read below; 0 as soon as one is refused, or there is a
 * reduction. */
static int all_reads(struct looking *l, const bt_node *node,
                     int (*accepts)(struct looking *, const bt_node *))
{
    if (!node->reads)
        return 1;
    if (node->kind == BT_NODE_READ)
        return accepts(l, node);
    if (node->kind == BT_NODE_REDUCE)
        return 0;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!all_reads(l, node->args[i], accepts))
            return 0;
    }
    return 1;
}

static int accepts_own_place(struct looking *l, const bt_node *read)
{
    return is_plain_read(read, l->axes);
}

static int accepts_row(struct looking *l, const bt_node *read)
{
    return is_plain_read(read, l->axes | l->reduced);
}

static int accepts_window(struct looking *l, const bt_node *read)
{
    return is_windowed_read(l, read);
}

/* ---- the reduction ---- */

/* The only reduction of the stage; NULL: none, or several (nreduce tells). */
static const bt_node *find_reduction(struct looking *l, const bt_node *node)
{
    const bt_node *found = NULL;
    if (node->kind == BT_NODE_REDUCE) {
        l->nreduce++;
        return node;
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        const bt_node *inner = find_reduction(l, node->args[i]);
        found = inner ? inner : found;
    }
    return found;
}

/* Whether the rest of the stage is pointwise. */
static int is_epilogue(struct looking *l, const bt_node *node)
{
    if (node == l->view->reduce || !node->reads)
        return 1;
    if (node->kind == BT_NODE_READ)
        return accepts_own_place(l, node);
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!is_epilogue(l, node->args[i]))
            return 0;
    }
    return 1;
}

/* Whether 0 <= term keeps some window inside its array, at one of the two ends. */
static int bounds_window(const struct looking *l, const bt_node *term)
{
    for (uint32_t i = 0; i < l->view->nwindow; i++) {
        const bt_view_window *w = &l->view->windows[i];
        bt_linear form;
        int64_t extent;
        bt_node_as_linear(term, &form);
        int64_t outer = bt_linear_coef(&form, w->outer), by;
        int64_t inner = bt_linear_coef(&form, w->inner);
        if (form.n != 2 || !outer || !inner || w->stride % outer != 0 ||
            !bt_node_is_const(l->graph->arrays[w->array]->extents[w->axis], &extent))
            continue;
        // a shared factor has been divided out of the condition; the upper end is against it
        by = w->stride / outer;
        if (w->dilation % by == 0 && w->dilation / by == inner)
            return 1;
    }
    return 0;
}

static int is_guard(const struct looking *l, const bt_node *condition)
{
    if (bt_node_is_true(condition))
        return 1;
    if (condition->kind != BT_NODE_SCALAR)
        return 0;
    if (condition->which == BT_SCALAR_AND)
        return is_guard(l, condition->args[0]) && is_guard(l, condition->args[1]);
    return condition->which == BT_SCALAR_LE && condition->args[0]->dtype == BT_INT64 &&
           condition->args[0]->kind == BT_NODE_CONST &&
           bounds_window(l, condition->args[1]);
}

/* ---- factors ---- */

static int holds(bt_dtype dtype, int64_t low, int64_t high)
{
    return bt__dtype_low(dtype) <= low && high <= bt__dtype_high(dtype);
}

/* Of a cast between integers that changes no value what is cast, else NULL. */
static const bt_node *behind_wider(const bt_node *node)
{
    const bt_node *from = node->kind == BT_NODE_CAST ? node->args[0] : NULL;
    return from && !bt_dtype_is_float(node->dtype) && !bt_dtype_is_float(from->dtype) &&
                   holds(node->dtype, from->low, from->high)
               ? from
               : NULL;
}

static const bt_node *behind_all_wider(const bt_node *node)
{
    for (const bt_node *from = node; from; from = behind_wider(node))
        node = from;
    return node;
}

/* A difference of integers that int32 holds, and so no other one than of integers of any size. */
static int is_exact_difference(const bt_node *node)
{
    return node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_SUB &&
           !bt_dtype_is_float(node->dtype) && BT_DTYPE_BITS(node->dtype) <= 32 &&
           holds(node->dtype, node->args[0]->low - node->args[1]->high,
                 node->args[0]->high - node->args[1]->low);
}

int bt_view_factor_of(const bt_node *node, bt_view_factor *out)
{
    const bt_node *read = behind_all_wider(node);
    *out = (bt_view_factor){ .zeros = NULL };
    if (is_exact_difference(read)) {
        const bt_node *zero = behind_all_wider(read->args[1]);
        if (!bt_node_is_const(zero, &out->zero)) {
            if (zero->kind != BT_NODE_READ)
                return 0;
            out->zeros = zero;
        }
        read = behind_all_wider(read->args[0]);
    }
    out->dtype = read->kind == BT_NODE_READ ? read->dtype : node->dtype;
    while (read->kind == BT_NODE_CAST)
        read = read->args[0];
    out->read = read;
    return read->kind == BT_NODE_READ;
}

/* ---- contractions ---- */

/* A sum of products of two reads: roles by where an index occurs. */
static int as_contraction(struct looking *l)
{
    bt_view *v = l->view;
    const bt_node *body = v->reduce->args[1];
    if (v->reduce->which != BT_REDUCER_SUM || body->kind != BT_NODE_SCALAR ||
        body->which != BT_SCALAR_MUL)
        return 0;
    bt_view_factor first_factor, second_factor;
    if (!bt_view_factor_of(body->args[0], &first_factor) ||
        !bt_view_factor_of(body->args[1], &second_factor))
        return 0;
    const bt_node *a = first_factor.read, *b = second_factor.read;
    if (((a->free | b->free) & l->reduced) != l->reduced)
        return 0;
    // the first is the one with a window, or with the earlier array
    int swap = v->nwindow ? v->windows[0].array == b->which : b->which < a->which;
    v->reads[0] = swap ? b : a;
    v->reads[1] = swap ? a : b;
    v->factors[swap] = first_factor;
    v->factors[!swap] = second_factor;
    uint64_t both = a->free & b->free, first = v->reads[0]->free,
             second = v->reads[1]->free;
    v->batch = both & l->axes;
    v->m = first & ~second & l->axes;
    v->n = second & ~first & l->axes;
    v->k = l->reduced;
    return 1;
}

static void look_at_reduction(struct looking *l)
{
    bt_view *v = l->view;
    const bt_node *reduce = v->reduce;
    for (uint32_t i = 0; i < reduce->nindex; i++)
        l->reduced |= bt_index_bit(reduce->first + i);
    if (!is_epilogue(l, l->stage->body))
        return;
    int is_row = all_reads(l, reduce->args[1], accepts_row);
    if (!is_row && !all_reads(l, reduce->args[1], accepts_window))
        return;
    if (!is_guard(l, reduce->args[0]))
        return;
    v->is_guarded = !bt_node_is_true(reduce->args[0]);
    v->has_epilogue = reduce != l->stage->body;
    v->kind = as_contraction(l) ? BT_VIEW_CONTRACTION
              : v->nwindow      ? BT_VIEW_WINDOW
              : is_row          ? BT_VIEW_ROW
                                : BT_VIEW_NONE;
}

void bt_view_of(const bt_graph *g, const bt_array *stage, bt_view *out)
{
    *out = (bt_view){ .kind = BT_VIEW_NONE };
    struct looking l = { .graph = g, .stage = stage, .view = out };
    l.axes = stage->rank ? UINT64_MAX >> (BT_MAX_INDEX - stage->rank) : 0;
    const bt_node *reduce = find_reduction(&l, stage->body);
    if (l.nreduce == 0) {
        out->kind = BT_VIEW_MAP;
        out->is_pointwise = (uint32_t)all_reads(&l, stage->body, accepts_own_place);
    } else if (l.nreduce == 1) {
        out->reduce = reduce;
        look_at_reduction(&l);
    }
}
