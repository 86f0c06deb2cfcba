/* Which globals refer to which, and the strongly connected components of that. */
#ifndef IR_CALLGRAPH_H
#define IR_CALLGRAPH_H

#include <baton/ir.h>

/* Globals are named by their position in the module. */
typedef struct bt__callgraph {
    uint32_t nglobal;
    const uint32_t
        *edge_start;       /* nglobal + 1: global g refers to edges[edge_start[g]..] */
    const uint32_t *edges; /* each once, in order of first use */
    uint32_t ncomponent;
    const uint32_t *component;    /* of each global */
    const uint32_t *member_start; /* ncomponent + 1 */
    const uint32_t *members; /* components: those referred to first; in one: as defined */
    const uint8_t *is_recursive; /* of each component: some member refers to a member */
} bt__callgraph;

/* The result lives in the arena. Names without a definition are left out. */
bt_status bt__callgraph_create(bt_ctx *, const bt_module *, bt_arena *,
                               const bt__callgraph **out) BT_MUST_USE;

#endif
