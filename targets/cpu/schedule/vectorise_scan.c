/*
 * Scans: loops in which each element takes the one before it, in place.
 *
 *     for i1 in 511 {
 *         b[i1 + 1] sum[float64]= b[i1]         ->      scan_sum.float64(&b[0], 512, 1)
 *     }
 */
#include <string.h>

#include "lanes.h"

/* The distance of an element from the one that it takes; 0: the loop is no scan. */
static int64_t stride_of(const bt_stmt *loop)
{
    const bt_stmt *take = loop->body.len == 1 ? loop->body.at[0] : NULL;
    bt_linear to, from;
    int64_t stride;
    if (!take || take->kind != BT_STMT_TAKE || take->position ||
        take->value->kind != BT_NODE_READ || take->value->which != take->buffer)
        return 0;
    bt_node_as_linear(take->offset, &to);
    bt_node_as_linear(take->value->args[0], &from);
    stride = bt_linear_coef(&to, loop->index);
    if (to.n != from.n || to.constant - from.constant != stride)
        return 0;
    for (uint32_t i = 0; i < to.n; i++) {
        if (to.atoms[i] != from.atoms[i] || to.coefs[i] != from.coefs[i] ||
            (to.atoms[i]->kind != BT_NODE_INDEX &&
             (to.atoms[i]->free & bt_index_bit(loop->index))))
            return 0;
    }
    return stride;
}

int cpu_do_scan(struct cpu_part *p, const bt_stmt *loop)
{
    struct vectoriser *v = p->lanes->v;
    bt_graph *g = v->graph;
    int64_t stride = stride_of(loop), extent;
    char name[32] = "scan_";
    struct cpu_part own;
    bt_map uses;
    if (!stride || !bt_node_is_const(loop->extent, &extent))
        return cpu_refuse(v, "it is no scan");
    const bt_stmt *take = loop->body.at[0];
    const bt_node *one = bt_node_int(g, 1), *first = bt_node_int(g, 0);
    first = first ? bt_node_substitute(g, take->offset, loop->index, first) : NULL;
    first = first && one ? bt_node_linear(g, -stride, 1, &first, (int64_t[]){ 1 }) : NULL;
    if (!first || !cpu_statement_open(p, &own, &uses, 1, &first))
        return 0;
    strcat(name, bt_reducer_name(take->reducer));
    struct cpu_call call = {
        .name = cpu_strip_name(v, name, take->value->dtype, ""),
        .naddress = 1,
        .ninteger = 1,
        .at = { { .buffer = take->buffer,
                  .dtype = take->value->dtype,
                  .offset = cpu_as_integer(&own, first),
                  .temp = CPU_NO_TEMP } },
        .integers = { bt_node_int(g, stride) },
    };
    const bt_node *count = own.count;
    own.count = bt_node_int(g, extent + 1);
    int ok = call.name && call.at[0].offset && own.count && cpu_emit(&own, &call, 1);
    own.count = count;
    cpu_part_close(&own);
    return ok;
}
