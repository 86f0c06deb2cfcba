/* Whether two graphs are the same: arrays and dims by number, whatever they are called. */
#ifndef GRAPH_EQUAL_H
#define GRAPH_EQUAL_H

#include <baton/graph.h>

struct comparing {
    const bt_node **same; /* of the one's nodes, by id: those of the other */
};

static inline int is_same_value(const bt_node *a, const bt_node *b)
{
    return a->value.i == b->value.i ||
           (a->kind == BT_NODE_CONST && bt_dtype_is_real(a->dtype) &&
            a->value.f != a->value.f && b->value.f != b->value.f);
}

/* Nodes nest to a multiple of limits.depth. */
static inline int is_same_node(struct comparing *c, const bt_node *a, const bt_node *b)
{
    if (c->same[a->id])
        return c->same[a->id] == b;
    if (a->kind != b->kind || a->which != b->which || a->dtype != b->dtype ||
        !is_same_value(a, b) || a->narg != b->narg || a->nindex != b->nindex ||
        a->first != b->first || (a->kind == BT_NODE_INDEX && a->high != b->high))
        return 0;
    for (uint32_t i = 0; i < a->narg; i++) {
        if (!is_same_node(c, a->args[i], b->args[i]) ||
            (a->kind == BT_NODE_LINEAR && a->coefs[i] != b->coefs[i]))
            return 0;
    }
    c->same[a->id] = b;
    return 1;
}

static inline int is_same_array(struct comparing *c, const bt_array *a, const bt_array *b)
{
    int is = a->dtype == b->dtype && a->rank == b->rank && !a->body == !b->body;
    for (uint32_t i = 0; is && i < a->rank; i++)
        is = is_same_node(c, a->extents[i], b->extents[i]);
    return is && (!a->body || is_same_node(c, a->body, b->body));
}

static inline bt_status graph_equal(bt_arena *scratch, const bt_graph *a,
                                    const bt_graph *b, int *out)
{
    struct comparing c = { .same = BT_NEWS(scratch, const bt_node *, a->nnode) };
    if (!c.same)
        return bt_no_memory();
    *out = a->narray == b->narray && a->ninput == b->ninput && a->nresult == b->nresult;
    for (uint32_t i = 0; *out && i < a->narray; i++)
        *out = is_same_array(&c, a->arrays[i], b->arrays[i]);
    for (uint32_t i = 0; *out && i < a->nresult; i++)
        *out = a->results[i] == b->results[i];
    return NULL;
}

#endif
