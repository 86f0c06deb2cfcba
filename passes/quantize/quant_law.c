#include "quantize/quant_law.h"

#include <math.h>

#include "quantize/quant_law_graph.h"

enum { MAX_BOUNDS = 8 };

struct look {
    const bt_graph *graph;
    bt_arena *arena;
    const bt_array *stage; /* which gives the result */
    struct law *law;
    uint8_t *moved;
    bt_vec(double) consts;
    uint32_t orders;   /* the greatest or least is taken */
    uint32_t is_whole; /* each time of at least one */
    bt_status status;
};

static int no_memory(struct look *l)
{
    l->status = bt_no_memory();
    return 0;
}

/* ---- nodes ---- */

static int is_scalar(const bt_node *node, uint32_t which)
{
    return node->kind == BT_NODE_SCALAR && node->which == which;
}

static int is_reduce(const bt_node *node, uint32_t which)
{
    return node->kind == BT_NODE_REDUCE && node->which == which;
}

/* Of an input. */
static int is_read(const struct look *l, const bt_node *node)
{
    return node->kind == BT_NODE_READ && node->which < l->graph->ninput;
}

static int is_number(const bt_node *node)
{
    return node->kind == BT_NODE_CONST && node->dtype != BT_BOOL;
}

static double number_of(const bt_node *node)
{
    return bt_dtype_is_float(node->dtype) ? node->value.f : (double)node->value.i;
}

static const bt_node *bare(const bt_node *node)
{
    while (node->kind == BT_NODE_CAST && bt_dtype_is_float(node->dtype))
        node = node->args[0];
    return node;
}

/* What is found of nodes below one, each visited once. */
struct walk {
    const struct look *look;
    bt_map seen;
    uint32_t reads_inputs; /* an input is read */
    uint32_t reads_floats; /* one of floats, or a stage of floats */
    uint32_t is_elsewhere; /* something depends on where the element lies */
};

/* Whether an axis of what is read has one element. */
static int has_one(const struct look *l, const bt_node *read, uint32_t axis)
{
    return bt_node_number(l->graph->arrays[read->which]->extents[axis]) == 1;
}

/* Whether elements are read at their own place, or one for all. */
static int is_own_place(const struct look *l, const bt_node *read)
{
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *at = read->args[i];
        if (!(at->kind == BT_NODE_INDEX && at->which == i) && !has_one(l, read, i))
            return 0;
    }
    return 1;
}

static int walk(struct walk *w, const bt_node *node)
{
    const bt_graph *g = w->look->graph;
    if (bt_map_find(&w->seen, node))
        return 1;
    if (!bt_map_put(&w->seen, node, w))
        return 0;
    const int reads = node->kind == BT_NODE_READ,
              own = reads && is_own_place(w->look, node);
    w->is_elsewhere |= reads ? !own
                             : node->kind == BT_NODE_INDEX || node->kind == BT_NODE_DIM ||
                                   node->kind == BT_NODE_REDUCE;
    w->reads_floats |= reads && bt_dtype_is_float(node->dtype);
    w->reads_inputs |= reads && node->which < g->ninput;
    for (uint32_t i = 0; !own && i < node->narg; i++) {
        if (!walk(w, node->args[i]))
            return 0;
    }
    return !reads || node->which < g->ninput || walk(w, g->arrays[node->which]->body);
}

static int look_below(struct look *l, const bt_node *node, struct walk *out)
{
    *out = (struct walk){ .look = l };
    bt_map_init(&out->seen, l->arena, 0);
    return walk(out, node) || no_memory(l);
}

/* ---- moves and comparisons ---- */

/* Whether a window of a guarded reduction has an element inside, wherever it lies. */
static int is_never_empty(const struct look *l, const bt_array *stage,
                          const bt_view_window *w, int64_t inner)
{
    const int64_t outer = w->outer < stage->rank
                              ? bt_node_number(stage->extents[w->outer])
                              : -1,
                  extent = bt_node_number(l->graph->arrays[w->array]->extents[w->axis]);
    if (outer < 0 || extent < 0 || inner < 1 || outer > INT32_MAX || inner > INT32_MAX)
        return 0;
    for (int64_t o = 0; o < outer; o++) {
        int found = 0;
        for (int64_t i = 0; !found && i < inner; i++) {
            const int64_t at = o * w->stride + i * w->dilation + w->offset;
            found = at >= 0 && at < extent;
        }
        if (!found)
            return 0;
    }
    return 1;
}

static int is_whole(const struct look *l, const bt_array *stage, const bt_node *reduce)
{
    bt_view view;
    uint64_t guarded = 0;
    for (uint32_t i = 0; i < reduce->nindex; i++) {
        if (bt_node_number(reduce->args[2 + i]) < 1)
            return 0;
    }
    if (bt_node_is_true(reduce->args[0]))
        return 1;
    bt_view_of(l->graph, stage, &view);
    if (view.kind != BT_VIEW_WINDOW || view.reduce != reduce)
        return 0;
    for (uint32_t i = 0; i < view.nwindow; i++) {
        const bt_view_window *w = &view.windows[i];
        const uint32_t k = w->inner - reduce->first;
        if (k >= reduce->nindex ||
            !is_never_empty(l, stage, w, bt_node_number(reduce->args[2 + k])))
            return 0;
        guarded |= bt_index_bit(w->inner);
    }
    return !(reduce->args[0]->free & ~guarded & ~(bt_index_bit(stage->rank) - 1));
}

/* Whether a node gives elements of inputs, chosen by nothing that is a float, or the greatest
 * and the least of such. */
static int collect(struct look *l, const bt_array *stage, const bt_node *node)
{
    struct walk below;
    if (is_number(node))
        return BT_PUSH(l->arena, &l->consts, number_of(node)) || no_memory(l);
    if (node->kind == BT_NODE_READ) {
        const bt_array *from = l->graph->arrays[node->which];
        for (uint32_t i = 0; i < node->narg; i++) {
            if (!look_below(l, node->args[i], &below) || below.reads_floats)
                return 0;
        }
        if (from->body)
            return collect(l, from, from->body);
        l->moved[node->which] = 1;
        return 1;
    }
    if (node->kind == BT_NODE_SELECT)
        return look_below(l, node->args[0], &below) && !below.reads_floats &&
               collect(l, stage, node->args[1]) && collect(l, stage, node->args[2]);
    const int reduces =
        is_reduce(node, BT_REDUCER_MAX) || is_reduce(node, BT_REDUCER_MIN);
    if (!reduces && !is_scalar(node, BT_SCALAR_MAX) && !is_scalar(node, BT_SCALAR_MIN))
        return 0;
    l->orders = 1;
    if (!reduces)
        return collect(l, stage, node->args[0]) && collect(l, stage, node->args[1]);
    l->is_whole &= (uint32_t)is_whole(l, stage, node);
    return look_below(l, node->args[0], &below) && !below.reads_floats &&
           collect(l, stage, node->args[1]);
}

static uint32_t move_kind(struct look *l)
{
    uint32_t n = 0;
    l->moved = BT_NEWS(l->arena, uint8_t, l->graph->ninput + 1);
    l->is_whole = 1;
    if (!l->moved)
        return (uint32_t)no_memory(l);
    if (!collect(l, l->stage, l->stage->body))
        return LAW_NONE;
    for (uint32_t i = 0; i < l->graph->ninput; i++) {
        if (l->moved[i] && n++ == 0)
            l->law->in[0] = i;
    }
    l->law->nleaf = l->graph->ninput;
    l->law->moved = l->moved;
    l->law->nconst = l->consts.len;
    l->law->consts = l->consts.at;
    l->law->is_whole = l->is_whole;
    return n == 0                   ? LAW_NONE
           : n > 1 || l->consts.len ? LAW_SELECT
           : l->orders              ? LAW_ORDER
                                    : LAW_MOVE;
}

/* ---- bounds ---- */

/* max and min of an element at its own place and of numbers, in any order. */
static int is_clip(struct look *l)
{
    const bt_node *bounds[MAX_BOUNDS], *at = l->stage->body;
    uint32_t n = 0;
    while ((is_scalar(at, BT_SCALAR_MAX) || is_scalar(at, BT_SCALAR_MIN)) &&
           n < MAX_BOUNDS) {
        const uint32_t number = is_number(at->args[0]) ? 0 : 1;
        if (!is_number(at->args[number]) || isnan(number_of(at->args[number])))
            return 0;
        bounds[n++] = at;
        at = at->args[1 - number];
    }
    if (!n || !is_read(l, at) || !is_own_place(l, at) || at->narg != l->stage->rank)
        return 0;
    l->law->in[0] = at->which;
    l->law->low = -(double)INFINITY;
    l->law->high = (double)INFINITY;
    while (n-- > 0) { // the innermost first
        const double bound =
            number_of(bounds[n]->args[is_number(bounds[n]->args[0]) ? 0 : 1]);
        double (*nearer)(double, double) =
            is_scalar(bounds[n], BT_SCALAR_MAX) ? fmax : fmin;
        l->law->low = nearer(l->law->low, bound);
        l->law->high = nearer(l->law->high, bound);
    }
    return 1;
}

/* ---- two operands ---- */

/* The axes of the result that those of a read lie on; NULL: not each lies on one, or has one
 * element for all. */
static const int32_t *axes_of(struct look *l, const bt_node *read)
{
    int32_t *axes = BT_NEWS(l->arena, int32_t, read->narg + 1);
    for (uint32_t i = 0; axes && i < read->narg; i++) {
        const bt_node *at = read->args[i];
        axes[i] = at->kind == BT_NODE_INDEX ? (int32_t)at->which : -1;
        if (axes[i] < 0 ? !has_one(l, read, i) : at->which >= l->stage->rank)
            return NULL;
    }
    if (!axes)
        no_memory(l);
    return axes;
}

/* The axis of a read along which the result has channels: of its own, or, where there is
 * none, those that both factors have, as depthwise windows do. */
static void find_channel(const bt_array *stage, const bt_node *read, const bt_node *other,
                         int32_t *channel, int32_t *result)
{
    *channel = *result = -1;
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *at = read->args[i];
        const int counts = at->kind == BT_NODE_INDEX && at->which < stage->rank;
        const int is_own = counts && !(other->free & bt_index_bit(at->which));
        if (!counts || (!is_own && *channel >= 0))
            continue;
        *channel = (int32_t)i;
        *result = (int32_t)at->which;
        if (is_own)
            break;
    }
}

/* The axes of two reads that the sum runs along as they are, windows not among them. */
static void find_inner(const bt_array *stage, const bt_node *const pair[2],
                       int32_t inner[2])
{
    inner[0] = inner[1] = -1;
    for (uint32_t i = 0; i < pair[0]->narg; i++) {
        for (uint32_t k = 0; k < pair[1]->narg; k++) {
            const bt_node *at = pair[0]->args[i];
            if (at != pair[1]->args[k] || at->kind != BT_NODE_INDEX ||
                at->which < stage->rank)
                continue;
            inner[0] = (int32_t)i;
            inner[1] = (int32_t)k;
        }
    }
}

/* Reads of two inputs, the operands in their order. *turned: the second stands first. */
static int find_pair(struct look *l, const bt_node *const *args, const bt_node *pair[2],
                     uint32_t *turned)
{
    if (!is_read(l, args[0]) || !is_read(l, args[1]) || args[0]->which == args[1]->which)
        return 0;
    *turned = args[0]->which > args[1]->which;
    for (uint32_t i = 0; i < 2; i++) {
        pair[i] = args[i ^ *turned];
        l->law->in[i] = pair[i]->which;
    }
    return 1;
}

static int is_sum(struct look *l)
{
    const bt_node *body = l->stage->body, *pair[2];
    const int minus = is_scalar(body, BT_SCALAR_SUB);
    uint32_t turned;
    if ((!minus && !is_scalar(body, BT_SCALAR_ADD)) ||
        !find_pair(l, body->args, pair, &turned))
        return 0;
    l->law->subtracted = minus ? 1 + turned : 0;
    for (uint32_t i = 0; i < 2; i++)
        l->law->axes[i] = axes_of(l, pair[i]);
    return l->law->axes[0] && l->law->axes[1];
}

static uint32_t product_kind(struct look *l)
{
    const bt_node *body = l->stage->body, *pair[2];
    const int sums = is_reduce(body, BT_REDUCER_SUM);
    const bt_node *factors = sums ? body->args[1] : body;
    uint32_t turned;
    if (!is_scalar(factors, BT_SCALAR_MUL) || !find_pair(l, factors->args, pair, &turned))
        return LAW_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        find_channel(l->stage, pair[i], pair[1 - i], &l->law->channel[i],
                     &l->law->channel_of_result[i]);
        l->law->axes[i] = sums ? NULL : axes_of(l, pair[i]);
    }
    find_inner(l->stage, pair, l->law->reduced_axis);
    l->law->nterm = 1;
    for (uint32_t i = 0; sums && i < body->nindex; i++) {
        const int64_t extent = bt_node_number(body->args[2 + i]);
        l->law->nterm = extent < 0 || l->law->nterm < 0 || extent > INT32_MAX
                            ? -1
                            : l->law->nterm * extent;
        if (l->law->nterm > INT32_MAX)
            l->law->nterm = -1;
    }
    return sums ? LAW_CONTRACTION : LAW_MULTIPLY;
}

/* ---- sums of elements ---- */

/* The axes that are summed as a whole, the others in their order; 0: it is no such sum. */
static uint64_t summed_axes(const struct look *l, const bt_node *reduce,
                            const bt_node *read)
{
    const bt_array *from = l->graph->arrays[read->which];
    uint64_t summed = 0;
    uint32_t left = 0;
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *at = read->args[i];
        if (at->kind == BT_NODE_INDEX && at->which >= reduce->first) {
            if (reduce->args[2 + at->which - reduce->first] != from->extents[i])
                return 0;
            summed |= bt_index_bit(i);
            left += l->stage->rank == read->narg;
        } else if ((at->kind == BT_NODE_INDEX && at->which == left) ||
                   has_one(l, read, i)) {
            left++;
        } else {
            return 0;
        }
    }
    return left == l->stage->rank && bt_node_is_true(reduce->args[0]) ? summed : 0;
}

static int is_mean(struct look *l)
{
    const bt_node *at = bare(l->stage->body);
    struct walk below;
    l->law->count = 1;
    if (is_scalar(at, BT_SCALAR_DIV)) {
        if (!look_below(l, at->args[1], &below) || below.reads_inputs)
            return 0;
        l->law->count = is_number(at->args[1]) ? number_of(at->args[1]) : 0;
        at = bare(at->args[0]);
    }
    const bt_node *read = is_reduce(at, BT_REDUCER_SUM) ? bare(at->args[1]) : NULL;
    if (!read || !is_read(l, read) || !bt_dtype_is_float(read->dtype))
        return 0;
    l->law->in[0] = read->which;
    l->law->summed = summed_axes(l, at, read);
    return 1;
}

/* ---- all ---- */

static int is_function(struct look *l)
{
    struct walk below;
    return look_below(l, l->stage->body, &below) && below.reads_inputs &&
           !below.is_elsewhere;
}

static uint32_t kind_of(struct look *l)
{
    if (is_clip(l))
        return LAW_CLIP;
    const uint32_t moves = move_kind(l);
    if (moves != LAW_NONE || l->status)
        return moves;
    const uint32_t product = product_kind(l);
    return product != LAW_NONE ? product
           : is_sum(l)         ? LAW_ADD
           : is_mean(l)        ? LAW_MEAN
                               : LAW_NONE;
}

/* Operands are arguments: those of a tuple are no single ones. */
static int takes_tuple(const bt_call *call)
{
    for (uint32_t i = 0; i < call->narg; i++) {
        if (bt_as_tuple_type(call->args[i]->type))
            return 1;
    }
    return 0;
}

bt_status law_find(bt_ctx *ctx, bt_store *store, bt_arena *arena, const bt_module *module,
                   const bt_call *call, struct law *out)
{
    bt_graph *graph;
    *out = (struct law){ .kind = LAW_NONE };
    BT_TRY(law_graph(ctx, store, arena, module, call, &graph));
    if (!graph || graph->nresult != 1 || graph->results[0] < graph->ninput)
        return NULL;
    struct look look = { .graph = graph,
                         .arena = arena,
                         .stage = graph->arrays[graph->results[0]],
                         .law = out };
    out->kind = kind_of(&look);
    out->is_function = (uint32_t)is_function(&look);
    if (call->op
            ->effects) { // where it fails, so does the same call of codes, and no other one
        out->is_function = 0;
        out->kind = out->moved ? out->kind : LAW_NONE;
    }
    if (takes_tuple(call)) {
        out->kind = out->kind != LAW_NONE && out->moved ? LAW_SELECT : LAW_NONE;
        out->in[0] = out->in[1] = 0;
    }
    return look.status;
}

void law_tell(bt_ctx *ctx, const char *pass, const bt_call *call, const char *how,
              const char *why)
{
    const char *name = call->base.name && *call->base.name ? call->base.name : NULL;
    bt_status status = bt_fail_at(ctx, BT_ERR_UNSUPPORTED, call->base.type->store,
                                  call->base.span, "%s%s%s %s in float", name ? name : "",
                                  name ? " of " : "", call->op->name, how);
    status = bt_note(ctx, status, NULL, 0, "%s", why);
    bt_remark(ctx, BT_REMARK_DETAIL, bt_note(ctx, status, NULL, 0, "pass %s", pass));
}
