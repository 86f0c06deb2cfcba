/* The minimum cut of a flow network between a source and a sink.
 * source  E. A. Dinic, Algorithm for solution of a problem of maximum flow in networks, 1970 */
#ifndef PASSES_COMMON_MAX_FLOW_H
#define PASSES_COMMON_MAX_FLOW_H

#include <baton/base.h>

struct flow_arc {
    uint32_t to, next; /* next: of the same node, 1 + its number; 0: none */
    int64_t left;      /* of its capacity */
};

/* Arcs come in pairs: 2 * i goes there, 2 * i + 1 back. */
struct flow {
    bt_arena *arena;
    bt_vec(uint32_t) first; /* by node: 1 + the number of its first arc; 0: it has none */
    bt_vec(struct flow_arc) arcs;
};

/* A capacity that no cut pays; sums of a million of others do not reach it. */
#define FLOW_NEVER (INT64_MAX / 4)

bt_status flow_node(struct flow *, uint32_t *out) BT_MUST_USE;
bt_status flow_arc(struct flow *, uint32_t from, uint32_t to,
                   int64_t capacity) BT_MUST_USE;
/* has[node]: 1, on the source's side of the cut. Capacities are used up. */
bt_status flow_cut(struct flow *, uint32_t source, uint32_t sink,
                   uint8_t *has) BT_MUST_USE;

#endif
