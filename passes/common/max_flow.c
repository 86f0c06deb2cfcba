/*
 * Dinic's algorithm. As long as the sink can be reached, nodes get levels, which are their
 * distance from the source, and paths that go up one level a step are filled (a blocking flow),
 * each arc looked at once. What the source still reaches in the end is its side of the cut.
 */
#include "common/max_flow.h"

#include <string.h>

bt_status flow_node(struct flow *f, uint32_t *out)
{
    *out = f->first.len;
    return BT_PUSH(f->arena, &f->first, 0) ? NULL : bt_no_memory();
}

static bt_status add_half(struct flow *f, uint32_t from, uint32_t to, int64_t capacity)
{
    const struct flow_arc arc = { to, f->first.at[from], capacity };
    if (!BT_PUSH(f->arena, &f->arcs, arc))
        return bt_no_memory();
    f->first.at[from] = f->arcs.len;
    return NULL;
}

bt_status flow_arc(struct flow *f, uint32_t from, uint32_t to, int64_t capacity)
{
    BT_TRY(add_half(f, from, to, capacity));
    return add_half(f, to, from, 0);
}

/* What one search needs, by node. */
struct search {
    uint32_t *levels; /* from 1; 0: it is not reached */
    uint32_t *next;   /* 1 + the arc to look at next */
    uint32_t *list;   /* nodes in the order in which they are reached; arcs of a path */
};

static void count_levels(const struct flow *f, uint32_t source, const struct search *s)
{
    uint32_t n = 1;
    memset(s->levels, 0, f->first.len * sizeof(*s->levels));
    s->levels[source] = 1;
    s->list[0] = source;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t node = s->list[i];
        for (uint32_t a = f->first.at[node]; a; a = f->arcs.at[a - 1].next) {
            const struct flow_arc *arc = &f->arcs.at[a - 1];
            if (arc->left > 0 && !s->levels[arc->to]) {
                s->levels[arc->to] = s->levels[node] + 1;
                s->list[n++] = arc->to;
            }
        }
    }
}

/* An arc of the node that goes up a level; 0: there is none left. */
static uint32_t step_up(const struct flow *f, const struct search *s, uint32_t node)
{
    uint32_t a = s->next[node];
    while (a && (f->arcs.at[a - 1].left <= 0 ||
                 s->levels[f->arcs.at[a - 1].to] != s->levels[node] + 1))
        a = f->arcs.at[a - 1].next;
    return s->next[node] = a;
}

static void fill_path(struct flow *f, const uint32_t *path, uint32_t n)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (f->arcs.at[path[i]].left < least)
            least = f->arcs.at[path[i]].left;
    }
    for (uint32_t i = 0; i < n; i++) {
        f->arcs.at[path[i]].left -= least;
        f->arcs.at[path[i] ^ 1].left += least;
    }
}

static void fill_paths(struct flow *f, uint32_t source, uint32_t sink,
                       const struct search *s)
{
    uint32_t n = 0, node = source;
    memcpy(s->next, f->first.at, f->first.len * sizeof(*s->next));
    for (;;) {
        const uint32_t a = node == sink ? 0 : step_up(f, s, node);
        if (a) {
            s->list[n++] = a - 1;
            node = f->arcs.at[a - 1].to;
        } else if (node == sink) {
            fill_path(f, s->list, n);
            n = 0;
            node = source;
        } else if (n) { // nothing goes on from here: the arc that led here is left out
            const uint32_t back = s->list[--n];
            node = f->arcs.at[back ^ 1].to;
            s->next[node] = f->arcs.at[back].next;
        } else {
            return;
        }
    }
}

bt_status flow_cut(struct flow *f, uint32_t source, uint32_t sink, uint8_t *has)
{
    const struct search s = { BT_NEWS(f->arena, uint32_t, f->first.len),
                              BT_NEWS(f->arena, uint32_t, f->first.len),
                              BT_NEWS(f->arena, uint32_t, f->first.len) };
    if (!s.levels || !s.next || !s.list)
        return bt_no_memory();
    for (count_levels(f, source, &s); s.levels[sink]; count_levels(f, source, &s))
        fill_paths(f, source, sink, &s);
    for (uint32_t i = 0; i < f->first.len; i++)
        has[i] = s.levels[i] != 0;
    return NULL;
}
