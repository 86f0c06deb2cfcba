/* Sums of one row that are read in parts, as the gates of a recurrent cell are. */
#include "contract.h"

enum { MAX_PARTS = 8 };

/* ---- how an array is read ---- */

struct parts {
    bt_graph *graph;
    uint32_t array;
    int64_t width; /* columns of a part; 0: none was met, -1: it is not read so */
    uint8_t *seen; /* by id */
    bt_map done;
};

/* The part that a read is of, its index in *index; -1: it is none. */
static int64_t part_of(const bt_graph *g, const bt_node *read, const bt_node **index)
{
    const uint32_t last = read->narg - 1;
    bt_linear place;
    for (uint32_t i = 0; i < last; i++) {
        if (!cpu_is_size(read->args[i], 0) ||
            !cpu_is_size(g->arrays[read->which]->extents[i], 1))
            return -1;
    }
    bt_node_as_linear(read->args[last], &place);
    *index = place.n == 1 && place.coefs[0] == 1 ? place.atoms[0] : NULL;
    if (!*index || (*index)->kind != BT_NODE_INDEX || (*index)->narg)
        return -1;
    const int64_t width = (*index)->high + 1; // 0 of a reader that has no element
    return width < 1 || place.constant % width ? -1 : place.constant / width;
}

static void look(struct parts *p, const bt_node *node)
{
    const bt_node *index;
    if (!node->reads || p->seen[node->id])
        return;
    p->seen[node->id] = 1;
    if (node->kind == BT_NODE_READ && node->which == p->array) {
        const int is_part = part_of(p->graph, node, &index) >= 0;
        p->width =
            is_part && (!p->width || p->width == index->high + 1) ? index->high + 1 : -1;
    }
    for (uint32_t i = 0; i < node->narg; i++)
        look(p, node->args[i]);
}

/* 0: no memory. */
static int look_at_all(struct parts *p)
{
    const bt_graph *g = p->graph;
    p->seen = BT_NEWS(g->arena, uint8_t, g->nnode + 1);
    for (uint32_t i = g->ninput; p->seen && i < g->narray; i++)
        look(p, g->arrays[i]->body);
    for (uint32_t i = 0; i < g->nresult; i++) {
        if (g->results[i] == p->array)
            p->width = -1;
    }
    return p->seen != NULL;
}

/* ---- rows in place of parts ---- */

static const bt_node *put_rows(struct parts *p, const bt_node *node)
{
    bt_graph *g = p->graph;
    if (!node || !node->reads)
        return node;
    const bt_node *known = bt_map_find(&p->done, node), *index;
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    for (uint32_t i = 0; !known && args && i < node->narg; i++) {
        args[i] = put_rows(p, node->args[i]);
        if (!args[i])
            return NULL;
    }
    if (known || !args)
        return known;
    if (node->kind == BT_NODE_READ && node->which == p->array) {
        args[node->narg - 2] = bt_node_int(g, part_of(g, node, &index));
        args[node->narg - 1] = index;
        known = bt_node_read(g, node->which, node->dtype, node->narg, args);
    } else {
        known = bt_node_again(g, node, node->first, args);
    }
    return known && bt_map_put(&p->done, node, (void *)(uintptr_t)known) ? known : NULL;
}

/* The array itself, as rows of parts. 0: failure. */
static int make_rows(const struct parts *p, int64_t nrow, bt_array *out)
{
    bt_graph *g = p->graph;
    *out = *g->arrays[p->array];
    const uint32_t row = out->rank - 2;
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, out->rank);
    if (!extents)
        return 0;
    for (uint32_t i = 0; i < row; i++)
        extents[i] = out->extents[i];
    extents[row] = bt_node_int(g, nrow);
    extents[row + 1] = bt_node_int(g, p->width);
    out->extents = extents;
    out->body =
        bt_node_substitute(g, out->body, row + 1,
                           cpu_along_int(g, bt_node_index(g, row + 1, extents[row + 1]),
                                         bt_node_index(g, row, extents[row]), p->width));
    return out->body != NULL;
}

static bt_status why(const bt_graph *g)
{
    return g->status ? g->status : bt_no_memory();
}

bt_status cpu_parts_find(bt_graph *g, uint32_t array, bt_array *out)
{
    struct parts p = { .graph = g, .array = array };
    const uint32_t rank = g->arrays[array]->rank;
    out->body = NULL;
    if (rank < 2 || !cpu_is_size(g->arrays[array]->extents[rank - 2], 1))
        return NULL;
    if (!look_at_all(&p))
        return bt_no_memory();
    const int64_t all = bt_node_number(g->arrays[array]->extents[rank - 1]);
    if (p.width <= 0 || all < 2 * p.width || all % p.width || all / p.width > MAX_PARTS)
        return NULL;
    return make_rows(&p, all / p.width, out) ? NULL : why(g);
}

bt_status cpu_parts_split(bt_graph *g, uint32_t array, const bt_array *rows)
{
    struct parts p = { .graph = g, .array = array };
    bt_map_init(&p.done, g->arena, 0);
    // the readers first: they are told by the old extents
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        const bt_node *body = put_rows(&p, g->arrays[i]->body);
        if (!body)
            return why(g);
        g->arrays[i]->body = body;
    }
    *g->arrays[array] = *rows;
    return NULL;
}
