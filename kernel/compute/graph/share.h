/* Which nodes of a compute graph stand in locals, as they are used more than once. */
#ifndef COMPUTE_GRAPH_SHARE_H
#define COMPUTE_GRAPH_SHARE_H

#include "compute/graph/graph.h"

struct bt__shared {
    uint32_t n;
    uint8_t *marks; /* by id of the first n nodes */
};

/* Of what these expressions compute together. 0: no memory. */
int bt__shared_find(bt_arena *, const bt_graph *, uint32_t nroot,
                    const bt_node *const *roots, struct bt__shared *out);

static inline int bt__is_shared(const struct bt__shared *s, const bt_node *node)
{
    return node->id < s->n && s->marks[node->id];
}

#endif
