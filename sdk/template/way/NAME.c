/*
 * @name@: a way to compute on target cpu. It gets what a function computes, as a graph of stages, and may change it; of all programs
 * for the function the one with the least estimate is taken. <baton/cpu.h> says what has to stay, <baton/graph.h> what graphs are made of.
 * baton plugin check compares what it computes with the evaluator, on the cases of all operators.
 */
#include <baton/cpu.h>

/* tanh(a) as 2 * sigmoid(2 * a) - 1. */
static const bt_node *by_sigmoid(bt_graph *g, const bt_node *a)
{
    const bt_node *one = bt_node_float(g, a->dtype, 1), *two = bt_node_float(g, a->dtype, 2);
    const bt_node *twice = bt_node_scalar(g, BT_SCALAR_MUL, two, a);
    const bt_node *both =
        bt_node_scalar(g, BT_SCALAR_MUL, two, bt_node_scalar(g, BT_SCALAR_SIGMOID, twice, NULL));
    return bt_node_scalar(g, BT_SCALAR_SUB, both, one);
}

static bt_status make(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    bt_graph *g = call->graph;
    (void)ctx, (void)arena;
    for (uint32_t i = g->ninput; i < g->narray && !call->is_exact; i++) {
        bt_array *stage = g->arrays[i];
        if (stage->body->kind != BT_NODE_SCALAR || stage->body->which != BT_SCALAR_TANH ||
            stage->dtype != BT_FLOAT32)
            continue;
        stage->body = by_sigmoid(g, stage->body->args[0]);
        if (!stage->body)
            return g->status ? g->status : bt_no_memory();
        call->is_made = 1;
    }
    return NULL;
}

static const bt_cpu_way ways[] = {
    { .name = "@name@", .doc = "The hyperbolic tangent by the logistic function.", .make = make },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_CPU_WAYS(ways), { 0 } };
