/*
 * Reverse sweep: from the adjoints of results to those of inputs.
 *
 *     y[i] = sum(k | condition: x[i, k] * w[k])
 *
 * Stages come in reverse. In a stage, the adjoint `bar` of each node goes from the root of its
 * body down to the reads, with the condition under which the node counts: that of the reduction,
 * and those of selections on the way. A read gives one term of the adjoint of what it reads,
 *
 *     dx[q..] += sum(i.., k.. | map_1 == q_1 && ... && condition: bar)
 *
 * over all indices of the stage and its reduction. How few of them are left, and whether it runs
 * as a map, a window, a product or a scatter, conditions.c finds.
 */
#include "compute/derivative/derivative.h"

#include <stdlib.h>

#include "compute/graph/conditions.h"

/* A node's adjoint where a condition holds. */
struct node_bar {
    struct node_bar *next;
    const bt_node *condition, *bar;
};

/* A read's part of the adjoint of an array, in the indices of the stage that reads. */
struct term {
    struct term *next;
    uint32_t rank, nindex; /* of the stage, and with the reduction's */
    const bt_node *const *extents, *const *map;
    const bt_node *condition, *bar;
};

struct sweep {
    bt_graph *graph;
    uint8_t *active;     /* by array: its adjoint is wanted, or needed */
    struct term **terms; /* by array */
    uint32_t nprimal;    /* arrays before the adjoints' */
    uint32_t nin, nresult;
    const uint32_t *stages; /* of each result */
    const uint8_t *seeds;
    /* Of the stage that is looked at. */
    const bt_array *stage;
    const bt_node *y; /* its value, as it was stored */
    uint32_t nindex;
    const bt_node *const *extents;
    struct node_bar **bars; /* by id of the first nnode nodes */
    uint32_t nnode;
};

/* ---- what depends on what is wanted ---- */

/* memo: 1 no, 2 yes. */
static int is_active(const struct sweep *s, const bt_node *node, uint8_t *memo)
{
    if (!node->reads)
        return 0;
    if (memo[node->id])
        return memo[node->id] == 2;
    int found = node->kind == BT_NODE_READ && s->active[node->which];
    for (uint32_t i = 0; i < node->narg && !found; i++)
        found = bt__node_passes(node, i) && is_active(s, node->args[i], memo);
    memo[node->id] = found ? 2 : 1;
    return found;
}

/* ---- one stage ---- */

static bt_status add_bar(struct sweep *s, const bt_node *node, const bt_node *condition,
                         const bt_node *bar)
{
    bt_graph *g = s->graph;
    struct node_bar **at = &s->bars[node->id], *more;
    if (!condition || !bar)
        return bt__derive_why(s->graph);
    if (bt_node_is_false(condition))
        return NULL;
    for (; *at; at = &(*at)->next) {
        if ((*at)->condition != condition)
            continue;
        (*at)->bar = bt_node_scalar(g, BT_SCALAR_ADD, (*at)->bar, bar);
        return (*at)->bar ? NULL : bt__derive_why(s->graph);
    }
    if (!(more = BT_NEW(g->arena, struct node_bar)))
        return bt_no_memory();
    *more = (struct node_bar){ .condition = condition, .bar = bar };
    *at = more;
    return NULL;
}

static bt_status add_term(struct sweep *s, const bt_node *read,
                          const struct node_bar *from)
{
    struct term *term = BT_NEW(s->graph->arena, struct term);
    struct term **at = &s->terms[read->which];
    if (!term)
        return bt_no_memory();
    *term = (struct term){ .rank = s->stage->rank,
                           .nindex = s->nindex,
                           .extents = s->extents,
                           .map = read->args,
                           .condition = from->condition,
                           .bar = from->bar };
    while (*at)
        at = &(*at)->next;
    *at = term;
    return NULL;
}

static bt_status pass_on(struct sweep *s, const bt_node *node,
                         const struct node_bar *from, uint32_t arg)
{
    bt_graph *g = s->graph;
    const bt_node *to = node->args[arg], *condition = from->condition, *bar;
    switch (node->kind) {
    case BT_NODE_SELECT:
        condition =
            bt_node_and(g, condition,
                        arg == 1 ? node->args[0]
                                 : bt_node_scalar(g, BT_SCALAR_NOT, node->args[0], NULL));
        bar = from->bar;
        break;
    case BT_NODE_CAST: bar = bt_node_cast(g, to->dtype, from->bar); break;
    default:
        bar = bt__scalar_derive(g, node, node == s->stage->body ? s->y : node, arg,
                                from->bar);
    }
    return add_bar(s, to, condition, bar);
}

/* Nodes that the sweep visits, and their order: who is deeper comes first, so that no node
 * comes before one that it is an argument of. */
static int compare_depth(const void *a, const void *b)
{
    const bt_node *x = *(const bt_node *const *)a, *y = *(const bt_node *const *)b;
    return x->depth != y->depth ? (x->depth < y->depth) - (x->depth > y->depth)
                                : (x->id > y->id) - (x->id < y->id);
}

static int collect(const struct sweep *s, const bt_node *node, uint8_t *active,
                   uint8_t *seen, bt_nodes *out)
{
    if (seen[node->id] || !is_active(s, node, active))
        return 1;
    seen[node->id] = 1;
    if (!BT_PUSH(s->graph->arena, out, node))
        return 0;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (bt__node_passes(node, i) && !collect(s, node->args[i], active, seen, out))
            return 0;
    }
    return 1;
}

/* From the root of an expression, whose adjoint is there, to the reads. */
static bt_status sweep_nodes(struct sweep *s, const bt_node *root)
{
    bt_graph *g = s->graph;
    bt_nodes nodes = { 0 };
    uint8_t *active = BT_NEWS(g->arena, uint8_t, s->nnode);
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, s->nnode);
    if (!active || !seen || !collect(s, root, active, seen, &nodes))
        return bt_no_memory();
    qsort(nodes.at, nodes.len, sizeof(*nodes.at), compare_depth);
    for (uint32_t n = 0; n < nodes.len; n++) {
        const bt_node *node = nodes.at[n];
        for (const struct node_bar *at = s->bars[node->id]; at; at = at->next) {
            if (node->kind == BT_NODE_READ)
                BT_TRY(add_term(s, node, at));
            for (uint32_t i = 0; i < node->narg; i++) {
                if (bt__node_passes(node, i) && is_active(s, node->args[i], active))
                    BT_TRY(pass_on(s, node, at, i));
            }
        }
    }
    return NULL;
}

/* `bar`: the adjoint of the stage, an array. */
static bt_status sweep_stage(struct sweep *s, uint32_t number, uint32_t y, uint32_t bar)
{
    bt_graph *g = s->graph;
    const bt_node *root = g->arrays[number]->body, *condition = bt_node_bool(g, 1);
    const bt_node *adjoint = bt__own_read(g, bar);
    s->stage = g->arrays[number];
    s->y = bt__own_read(g, y);
    s->nindex = s->stage->rank;
    s->extents = s->stage->extents;
    if (!condition || !adjoint || !s->y)
        return bt__derive_why(s->graph);
    if (root->kind == BT_NODE_REDUCE) {
        struct bt__reduce_derivative by;
        BT_TRY(bt__reduce_derive(g, number, s->y, &by));
        const bt_node **extents =
            BT_NEWS(g->arena, const bt_node *, s->nindex + root->nindex);
        if (!extents)
            return bt_no_memory();
        for (uint32_t i = 0; i < s->nindex + root->nindex; i++)
            extents[i] = i < s->nindex ? s->extents[i] : root->args[2 + i - s->nindex];
        s->extents = extents;
        s->nindex += root->nindex;
        condition = bt_node_and(g, root->args[0], by.condition);
        if (by.factor)
            adjoint = bt_node_scalar(g, BT_SCALAR_MUL, adjoint, by.factor);
        root = root->args[1];
    }
    s->nnode = g->nnode;
    s->bars = BT_NEWS(g->arena, struct node_bar *, s->nnode);
    if (!s->bars)
        return bt_no_memory();
    BT_TRY(add_bar(s, root, condition, adjoint));
    return sweep_nodes(s, root);
}

/* ---- adjoints from their terms ---- */

/* A term as an expression in the indices of the array that it is of. */
static const bt_node *close_term(bt_graph *g, const bt_array *array, const struct term *t)
{
    const uint32_t rank = array->rank;
    const bt_node **indices = BT_NEWS(g->arena, const bt_node *, t->nindex);
    const bt_node *condition, *bar, *const *own = bt__own_axes(g, array);
    if (!indices || !own)
        return own ? bt__graph_no_memory(g) : NULL;
    for (uint32_t i = 0; i < t->nindex; i++) {
        indices[i] = bt_node_index(g, rank + i, t->extents[i]);
        if (!indices[i])
            return NULL;
    }
    condition = bt__node_place(g, t->condition, t->nindex, indices, rank + t->nindex);
    bar = bt__node_place(g, t->bar, t->nindex, indices, rank + t->nindex);
    for (uint32_t i = 0; i < rank && condition; i++) {
        const bt_node *at =
            bt__node_place(g, t->map[i], t->nindex, indices, rank + t->nindex);
        condition =
            bt_node_and(g, bt_node_scalar(g, BT_SCALAR_EQ, at, own[i]), condition);
    }
    return bt__reduction_build(g, BT_REDUCER_SUM, rank, t->nindex, t->extents, condition,
                               bar);
}

static bt_status add_stage(struct sweep *s, const bt_array *like, const bt_node *body,
                           uint32_t *out)
{
    bt_array array = *like;
    array.body = body;
    if (!body)
        return bt__derive_why(s->graph);
    return bt_graph_add_array(s->graph, &array, out) ? NULL : bt_no_memory();
}

/* The sum of an array's terms, and of its seed where there is one. Where several are added,
 * those that reduce stand as stages before it. */
static bt_status add_up(struct sweep *s, uint32_t number, uint32_t seed, uint32_t *out)
{
    bt_graph *g = s->graph;
    const bt_array *array = g->arrays[number];
    const struct term *terms = s->terms[number];
    const bt_node *sum = NULL;
    *out = BT__NO_ARRAY;
    if (!terms && seed == BT__NO_ARRAY)
        return NULL;
    if (seed != BT__NO_ARRAY && !(sum = bt__own_read(g, seed)))
        return bt__derive_why(s->graph);
    for (const struct term *t = terms; t; t = t->next) {
        const bt_node *node = close_term(g, array, t);
        if (node && node->reduces && (sum || t->next)) {
            uint32_t part;
            BT_TRY(add_stage(s, array, node, &part));
            node = bt__own_read(g, part);
        }
        if (!node || !(sum = bt__derive_join(g, sum, node)))
            return bt__derive_why(s->graph);
    }
    return add_stage(s, array, sum, out);
}

/* Arrays from which an input that is wanted is reached backward. */
static bt_status mark_active(struct sweep *s, const uint8_t *wants)
{
    bt_graph *g = s->graph;
    for (uint32_t i = 0; i < s->nin; i++)
        s->active[i] = wants[i] && bt_dtype_is_float(g->arrays[i]->dtype);
    for (uint32_t i = g->ninput; i < s->nprimal; i++) {
        uint8_t *memo = BT_NEWS(g->arena, uint8_t, g->nnode);
        if (!memo)
            return bt_no_memory();
        s->active[i] = (uint8_t)is_active(s, g->arrays[i]->body, memo);
        for (uint32_t k = 0; k < s->nresult; k++) {
            if (s->stages[k] == i)
                s->active[s->nin + k] = s->active[i];
        }
    }
    return NULL;
}

/* Where an array's value is, and its adjoint from outside, if it is a result. */
struct result {
    uint32_t y, seed;
};

static struct result find_result(const struct sweep *s, uint32_t number)
{
    struct result out = { number, BT__NO_ARRAY };
    for (uint32_t k = 0; k < s->nresult; k++) {
        if (s->stages[k] != number)
            continue;
        out.y = s->nin + k;
        if (s->seeds[k])
            out.seed = s->nin + s->nresult + k;
    }
    return out;
}

/* Terms of what was read as a result become terms of the array that it is. */
static void move_terms(struct sweep *s, uint32_t number)
{
    struct term **at = &s->terms[number];
    for (uint32_t k = 0; k < s->nresult; k++) {
        struct term **read = &s->terms[s->nin + k];
        if (s->stages[k] != number)
            continue;
        while (*at)
            at = &(*at)->next;
        *at = *read;
        *read = NULL;
    }
}

bt_status bt__graph_adjoint(bt_graph *g, const uint8_t *wants, const uint8_t *seeds,
                            uint32_t *to)
{
    struct sweep s = { .graph = g };
    const uint32_t nin = g->ninput;
    uint32_t *results = BT_NEWS(g->arena, uint32_t, nin), nout = 0;
    BT_TRY(bt__graph_split(g));
    s.nin = nin;
    s.nresult = g->nresult;
    s.seeds = seeds;
    BT_TRY(bt__derive_begin(g, s.nresult, g->results, &s.stages));
    s.nprimal = g->narray;
    s.active = BT_NEWS(g->arena, uint8_t, s.nprimal);
    s.terms = BT_NEWS(g->arena, struct term *, s.nprimal);
    if (!s.active || !s.terms || !results)
        return bt_no_memory();
    BT_TRY(mark_active(&s, wants));
    for (uint32_t i = s.nprimal; i-- > g->ninput;) {
        const struct result result = find_result(&s, i);
        uint32_t bar;
        move_terms(&s, i);
        if (!s.active[i])
            continue;
        BT_TRY(add_up(&s, i, result.seed, &bar));
        if (bar != BT__NO_ARRAY)
            BT_TRY(sweep_stage(&s, i, result.y, bar));
    }
    for (uint32_t i = 0; i < nin; i++) {
        uint32_t array = BT__NO_ARRAY;
        move_terms(&s, i);
        if (s.active[i])
            BT_TRY(add_up(&s, i, find_result(&s, i).seed, &array));
        to[i] = array == BT__NO_ARRAY ? BT__NO_ARRAY : nout;
        if (array != BT__NO_ARRAY)
            results[nout++] = array;
    }
    g->nresult = nout;
    g->results = results;
    return bt__graph_inline(g);
}
