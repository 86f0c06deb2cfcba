/* Inferred extents at instantiation: those of the axes that reads name. */
#include "compute/formula/extents.h"

#include <inttypes.h>
#include <string.h>

#include "compute/formula/reads.h"

struct inference {
    struct bt__names *names;
    const bt_node *extent; /* of an index */
    const char *array;     /* where the extent is from */
    uint32_t axis;
    struct bt__rest *rest; /* or what `..` stands for */
    bt_status status;
};

/* The array read; NULL for an attribute, or with in->status set. */
static const bt_array *array_of(struct inference *in, const bt__ast *read)
{
    int number = bt__names_array(in->names, read->name), rest;
    uint32_t nindex = bt__read_nindex(read, &rest);
    if (number < 0 || in->status)
        return NULL;
    const bt_array *array = in->names->graph->arrays[number];
    if (read->narg <= nindex + 1 &&
        (rest >= 0 ? nindex <= array->rank : nindex == array->rank))
        return array;
    in->status = bt__formula_fail(in->names->ctx, in->names->in->formula, BT_ERR_TYPE,
                                  read->place, "%s has rank %u, the read has %u indices",
                                  read->name, array->rank, nindex);
    return NULL;
}

static void meet_extent(struct bt__read_search *s, const bt__ast *read, uint32_t arg)
{
    struct inference *in = s->self;
    const bt_array *array = array_of(in, read);
    int64_t known, other;
    if (!array)
        return;
    uint32_t axis = bt__read_axis(read, arg, array->rank);
    const bt_node *extent = array->extents[axis];
    if (in->extent && bt_node_is_const(in->extent, &known) &&
        bt_node_is_const(extent, &other) && known != other)
        in->status = bt__formula_fail(
            in->names->ctx, in->names->in->formula, BT_ERR_RUNTIME, read->place,
            "dims do not fit: axis %u of %s has extent %" PRId64
            ", axis %u of %s has %" PRId64,
            in->axis, in->array, known, axis, array->name, other);
    if (!in->extent || !bt_node_is_const(in->extent, &known)) {
        in->extent = extent;
        in->array = array->name;
        in->axis = axis;
    }
}

/* Makes room for a rest of n axes: aligned at the right, longer ones move the others. */
static void widen_rest(struct bt__rest *rest, uint32_t n)
{
    if (n <= rest->rank)
        return;
    uint32_t more = n - rest->rank;
    memmove(&rest->extents[more], rest->extents, rest->rank * sizeof(*rest->extents));
    for (uint32_t i = 0; i < more; i++)
        rest->extents[i] = NULL;
    rest->rank = n;
}

/* The extent of an axis of two reads: that which is not 1, by whatever is known of them. */
static const bt_node *broadcast(bt_graph *g, const bt_node *a, const bt_node *b)
{
    int64_t known;
    if (bt_node_is_const(a, &known))
        return known == 1 ? b : a;
    if (bt_node_is_const(b, &known))
        return known == 1 ? a : b;
    const bt_node *is_one = bt_node_scalar(g, BT_SCALAR_EQ, a, bt_node_int(g, 1));
    return bt_node_select(g, is_one, b, a);
}

static void meet_rest(struct bt__read_search *s, const bt__ast *read, uint32_t arg)
{
    struct inference *in = s->self;
    struct bt__rest *rest = in->rest;
    const bt_array *array = array_of(in, read);
    bt_graph *g = in->names->graph;
    int64_t known, other;
    if (!array)
        return;
    uint32_t n = array->rank - (read->narg - 1);
    rest->is_known = 1;
    widen_rest(rest, n);
    for (uint32_t i = 0; i < n && !in->status; i++) {
        const bt_node **at = &rest->extents[rest->rank - n + i];
        const bt_node *extent = array->extents[arg + i];
        if (*at && bt_node_is_const(*at, &known) && bt_node_is_const(extent, &other) &&
            known != other && known != 1 && other != 1)
            in->status = bt__formula_fail(
                in->names->ctx, in->names->in->formula, BT_ERR_RUNTIME, read->place,
                "dims do not broadcast: %" PRId64 " and %" PRId64 " (axis %u of %s)",
                known, other, arg + i, array->name);
        *at = *at ? broadcast(g, *at, extent) : extent;
        if (!*at)
            in->status = g->status;
    }
}

bt_status bt__extent_infer(struct bt__names *names, const struct bt__ast_var *var,
                           const bt__ast *body, const bt__ast *condition,
                           const bt_node **out)
{
    struct inference in = { .names = names };
    struct bt__read_search s = { .index = var->name, .meet = meet_extent, .self = &in };
    // what a guarded read says counts where no other read says anything
    for (s.guarded = 0; s.guarded < 2 && !in.extent && !in.status; s.guarded++) {
        bt__reads_search(&s, body);
        if (condition)
            bt__reads_search(&s, condition);
    }
    if (in.status)
        return in.status;
    if (!in.extent)
        in.extent = bt_map_find(&names->dims, var->name);
    if (!in.extent)
        return bt__formula_fail(names->ctx, names->in->formula, BT_ERR_TYPE, var->place,
                                "the extent of `%s` is not known, as no read is indexed "
                                "by it alone: state it, as in `%s in n`",
                                var->name, var->name);
    *out = in.extent;
    return NULL;
}

bt_status bt__rest_infer(struct bt__names *names, const struct bt__ast_stage *stage,
                         struct bt__rest *out)
{
    struct inference in = { .names = names, .rest = out };
    struct bt__read_search s = { .guarded = 1, .meet = meet_rest, .self = &in };
    *out = (struct bt__rest){ 0 };
    bt__reads_search(&s, stage->expr);
    if (in.status)
        return in.status;
    if (!out->is_known)
        return bt__formula_fail(names->ctx, names->in->formula, BT_ERR_TYPE, stage->place,
                                "no read of %s has `..`, so its axes are not known",
                                stage->name);
    return NULL;
}
