/*
 * A minimum cut between what is computed up to the peak and what is computed behind it:
 *
 *     what cannot be computed again    source --never--> in
 *     what it takes to keep a value    in --bytes--> out
 *     what a map is computed of        out of an operand --never--> in
 *     what is read behind the peak     out --never--> sink
 *
 * Values whose two nodes the cut parts are kept. Those behind it are computed again. Arguments and
 * what is pinned are there anyhow, and not in the network. Of equal cuts the one nearest to the
 * sink is taken, which computes least: the network is built from the sink to the source.
 * source   H. He, S. Yu, "Transcending Runtime-Memory Tradeoffs in Checkpointing by being
 *          Fusion Aware", 2023
 */
#include "common/max_flow.h"
#include "memory/remat.h"

struct cutter {
    struct remat_plan *plan;
    struct flow flow;
    uint32_t source, sink;
    uint32_t *nodes;  /* by value: 1 + the node of `in`, behind which is that of `out` */
    uint8_t *is_read; /* behind the peak */
};

/* Against the direction of the drawing. */
static bt_status arc(struct cutter *c, uint32_t from, uint32_t to, int64_t capacity)
{
    return flow_arc(&c->flow, to, from, capacity);
}

static bt_status add_value(struct cutter *c, uint32_t number)
{
    const struct remat_value *v = &c->plan->values[number];
    uint32_t in, out;
    BT_TRY(flow_node(&c->flow, &in));
    BT_TRY(flow_node(&c->flow, &out));
    c->nodes[number] = in + 1;
    BT_TRY(arc(c, in, out, v->nbytes));
    if (!v->is_map || !v->may_again)
        BT_TRY(arc(c, c->source, in, FLOW_NEVER));
    if (c->is_read[number])
        BT_TRY(arc(c, out, c->sink, FLOW_NEVER));
    for (uint32_t i = 0; v->is_map && i < v->in.len; i++) {
        const uint32_t operand = c->nodes[v->in.at[i]];
        if (operand)
            BT_TRY(arc(c, operand, in, FLOW_NEVER));
    }
    return NULL;
}

/* Bytes that live on from the peak. */
static int64_t find_read(struct cutter *c)
{
    const struct remat_plan *plan = c->plan;
    int64_t sum = 0;
    for (uint32_t i = 0; i < plan->lives.len; i++) {
        const struct remat_life *life = &plan->lives.at[i];
        if (life->first > plan->at || life->last <= plan->at)
            continue;
        c->is_read[life->value] = 1;
        sum += plan->values[life->value].nbytes;
    }
    return sum;
}

static bt_status build(struct cutter *c)
{
    const struct remat_plan *plan = c->plan;
    BT_TRY(flow_node(&c->flow, &c->source));
    BT_TRY(flow_node(&c->flow, &c->sink));
    for (uint32_t s = 0; s <= plan->at && s < plan->steps.len; s++) {
        const struct remat_step step = plan->steps.at[s];
        const struct remat_value *v = &plan->values[step.value];
        if (step.kind == REMAT_FIRST && !v->is_alias && !v->is_pinned)
            BT_TRY(add_value(c, step.value));
    }
    return NULL;
}

bt_status remat_cut(struct remat_plan *plan, int *is_changed)
{
    struct cutter c = { .plan = plan,
                        .flow = { .arena = plan->arena },
                        .nodes = BT_NEWS(plan->arena, uint32_t, plan->n),
                        .is_read = BT_NEWS(plan->arena, uint8_t, plan->n) };
    uint8_t *again = BT_NEWS(plan->arena, uint8_t, plan->n);
    if (!c.nodes || !c.is_read || !again)
        return bt_no_memory();
    int64_t all = find_read(&c), kept = 0;
    *is_changed = 0;
    if (!all)
        return NULL;
    BT_TRY(build(&c));
    uint8_t *has = BT_NEWS(plan->arena, uint8_t, c.flow.first.len);
    if (!has)
        return bt_no_memory();
    // what the sink reaches is behind the cut
    BT_TRY(flow_cut(&c.flow, c.sink, c.source, has));
    for (uint32_t i = 0; i < plan->n; i++) {
        const uint32_t in = c.nodes[i];
        again[i] = in && has[in - 1];
        if (in && !has[in - 1] && has[in])
            kept += plan->values[i].nbytes;
    }
    if (kept >= all)
        return NULL;
    struct remat_plan next = *plan;
    BT_TRY(remat_again(&next, plan->at, again));
    *is_changed = next.peak < plan->peak;
    if (*is_changed)
        *plan = next;
    return NULL;
}
