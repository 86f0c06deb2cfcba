/*
 * Two targets share out what both can do by a cut of a network: what is on the source's side
 * is done by `a`, the rest by `b`, and the arcs that are cut are what that costs.
 *
 *     what it takes      source --ns on b--> x --ns on a--> sink
 *     a copy, once for all readers on the other side; t and f cost nothing to be on a side:
 *         made on a, read on b     from --copy--> t --never--> reader
 *         made on b, read on a     reader --never--> f --copy--> from
 *
 * For tensors of others `from` is the source (or the sink): then it is always paid.
 */
#include "common/max_flow.h"
#include "placement/placement.h"

enum { MAX_ROUNDS = 8 };
/* Times in the network: a second is 10^9, and none is longer than an hour. */
#define MAX_NS 3.6e12

struct exchange {
    struct placement *p;
    struct flow flow;
    uint32_t a, b, source, sink;
    uint32_t *nodes; /* by computation: 1 + its node; 0: it stays */
};

static int64_t whole(double ns)
{
    return ns < 1 ? 0 : ns > MAX_NS ? (int64_t)MAX_NS : (int64_t)ns;
}

/* 1 + the node of what makes or reads a tensor; 0: it stays where it is. */
static uint32_t node_of(const struct exchange *x, uint32_t computation)
{
    return computation == PLACED_HOST ? 0 : x->nodes[computation];
}

/* Whether somebody who stays reads it there. */
static int is_needed(const struct exchange *x, const struct placed_tensor *t,
                     uint32_t memory)
{
    if (memory == 0 && t->is_for_host)
        return 1;
    for (uint32_t i = 0; i < t->users.len; i++) {
        if (!node_of(x, t->users.at[i]) &&
            placement_memory(x->p, x->p->all.at[t->users.at[i]].target) == memory)
            return 1;
    }
    return 0;
}

/* Paid once where somebody on b's side reads it, and `from` is on a's; `is_back`: the other
 * way round. */
static bt_status add_copy(struct exchange *x, const struct placed_tensor *t,
                          uint32_t from, int is_back, double ns)
{
    uint32_t once;
    if (ns <= 0)
        return NULL;
    BT_TRY(flow_node(&x->flow, &once));
    BT_TRY(is_back ? flow_arc(&x->flow, once, from, whole(ns))
                   : flow_arc(&x->flow, from, once, whole(ns)));
    for (uint32_t i = 0; i < t->users.len; i++) {
        const uint32_t user = node_of(x, t->users.at[i]);
        if (user)
            BT_TRY(is_back ? flow_arc(&x->flow, user - 1, once, FLOW_NEVER)
                           : flow_arc(&x->flow, once, user - 1, FLOW_NEVER));
    }
    return NULL;
}

/* What it costs to be on a side: the copies to those who stay. */
static bt_status add_stay(struct exchange *x, const struct placed_tensor *t,
                          uint32_t node, uint32_t memory, int is_a)
{
    double ns = 0;
    for (uint32_t to = 0; to <= x->p->ntarget; to++) {
        if (to != memory && is_needed(x, t, to))
            ns += placement_copy_ns(x->p, memory, to, t->nbytes);
    }
    return is_a ? flow_arc(&x->flow, node, x->sink, whole(ns))
                : flow_arc(&x->flow, x->source, node, whole(ns));
}

static bt_status add_tensor(struct exchange *x, const struct placed_tensor *t)
{
    const struct placement *p = x->p;
    const uint32_t a = placement_memory(p, x->a), b = placement_memory(p, x->b),
                   from = node_of(x, t->from);
    if (a == b) // wherever it is computed, it is made and read in the same memory
        return NULL;
    const double there = is_needed(x, t, b) ? 0 : 1, back = is_needed(x, t, a) ? 0 : 1;
    if (from) {
        BT_TRY(add_stay(x, t, from - 1, a, 1));
        BT_TRY(add_stay(x, t, from - 1, b, 0));
        BT_TRY(
            add_copy(x, t, from - 1, 0, there * placement_copy_ns(p, a, b, t->nbytes)));
        return add_copy(x, t, from - 1, 1, back * placement_copy_ns(p, b, a, t->nbytes));
    }
    const uint32_t memory =
        t->from == PLACED_HOST ? 0 : placement_memory(p, p->all.at[t->from].target);
    BT_TRY(
        add_copy(x, t, x->source, 0, there * placement_copy_ns(p, memory, b, t->nbytes)));
    return add_copy(x, t, x->sink, 1, back * placement_copy_ns(p, memory, a, t->nbytes));
}

static int can_move(const struct exchange *x, const struct placed *placed)
{
    return placed->is_free && (placed->target == x->a || placed->target == x->b) &&
           placed->ns[x->a] >= 0 && placed->ns[x->b] >= 0;
}

static bt_status build(struct exchange *x)
{
    struct placement *p = x->p;
    BT_TRY(flow_node(&x->flow, &x->source));
    BT_TRY(flow_node(&x->flow, &x->sink));
    for (uint32_t i = 0; i < p->all.len; i++) {
        const struct placed *placed = &p->all.at[i];
        uint32_t node;
        if (!can_move(x, placed))
            continue;
        BT_TRY(flow_node(&x->flow, &node));
        x->nodes[i] = node + 1;
        BT_TRY(flow_arc(&x->flow, node, x->sink, whole(placed->ns[x->a])));
        BT_TRY(flow_arc(&x->flow, x->source, node, whole(placed->ns[x->b])));
    }
    for (uint32_t i = 0; i < p->tensors.len; i++)
        BT_TRY(add_tensor(x, &p->tensors.at[i]));
    return NULL;
}

/* Puts them where the cut has them, unless that is no gain. */
static bt_status move(struct exchange *x, int *is_moved)
{
    struct placement *p = x->p;
    uint8_t *has = BT_NEWS(p->arena, uint8_t, x->flow.first.len);
    uint32_t *before = BT_NEWS(p->arena, uint32_t, p->all.len);
    const double ns = placement_work_ns(p);
    if (!has || !before)
        return bt_no_memory();
    BT_TRY(flow_cut(&x->flow, x->source, x->sink, has));
    for (uint32_t i = 0; i < p->all.len; i++) {
        before[i] = p->all.at[i].target;
        if (x->nodes[i])
            p->all.at[i].target = has[x->nodes[i] - 1] ? x->a : x->b;
    }
    const int is_gain = placement_work_ns(p) < ns;
    for (uint32_t i = 0; !is_gain && i < p->all.len; i++)
        p->all.at[i].target = before[i];
    *is_moved |= is_gain;
    return NULL;
}

static bt_status exchange(struct placement *p, uint32_t a, uint32_t b, int *is_moved)
{
    const void *mark = bt_arena_mark(p->arena);
    struct exchange x = { .p = p,
                          .flow = { .arena = p->arena },
                          .a = a,
                          .b = b,
                          .nodes = BT_NEWS(p->arena, uint32_t, p->all.len) };
    bt_status status = x.nodes ? build(&x) : bt_no_memory();
    if (!status)
        status = move(&x, is_moved);
    bt_arena_release(p->arena, mark);
    return status;
}

bt_status placement_cut(struct placement *p)
{
    int is_moved = 1;
    for (uint32_t round = 0; is_moved && round < MAX_ROUNDS; round++) {
        is_moved = 0;
        for (uint32_t a = 0; a < p->ntarget; a++) {
            for (uint32_t b = a + 1; b < p->ntarget; b++)
                BT_TRY(exchange(p, a, b, &is_moved));
        }
    }
    return NULL;
}
