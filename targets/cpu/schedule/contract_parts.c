/* Sums of one row that are read in parts, as the gates of a recurrent cell are. */
#include "contract.h"

enum { MOST_PARTS = 8 };

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
    const int64_t width = (*index)->high + 1;
    return place.constant % width ? -1 : place.constant / width;
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

/* The readers first: they are told by the old extents. 0: failure. */
static int split(struct parts *p, int64_t nrow)
{
    bt_graph *g = p->graph;
    bt_array *array = g->arrays[p->array];
    const uint32_t row = array->rank - 2;
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, array->rank);
    bt_map_init(&p->done, g->arena, 0);
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        const bt_node *body = put_rows(p, g->arrays[i]->body);
        if (!body)
            return 0;
        g->arrays[i]->body = body;
    }
    for (uint32_t i = 0; extents && i < row; i++)
        extents[i] = array->extents[i];
    if (!extents)
        return 0;
    extents[row] = bt_node_int(g, nrow);
    extents[row + 1] = bt_node_int(g, p->width);
    array->extents = extents;
    array->body =
        bt_node_substitute(g, array->body, row + 1,
                           cpu_along_int(g, bt_node_index(g, row + 1, extents[row + 1]),
                                         bt_node_index(g, row, extents[row]), p->width));
    return array->body != NULL;
}

bt_status cpu_contract_parts(bt_graph *g, uint32_t array, int *is_split)
{
    struct parts p = { .graph = g, .array = array };
    const uint32_t rank = g->arrays[array]->rank;
    *is_split = 0;
    if (rank < 2 || !cpu_is_size(g->arrays[array]->extents[rank - 2], 1))
        return NULL;
    if (!look_at_all(&p))
        return bt_no_memory();
    const int64_t all = bt_node_number(g->arrays[array]->extents[rank - 1]);
    if (p.width <= 0 || all < 2 * p.width || all % p.width || all / p.width > MOST_PARTS)
        return NULL;
    *is_split = 1;
    return split(&p, all / p.width) ? NULL : g->status ? g->status : bt_no_memory();
}

/* ---- nests behind ---- */

struct following {
    const bt_loops *loops;
    const bt_stmt *nest;
    const bt_node *index; /* of the nest */
    uint32_t whole;
    const bt_stmts *before;
    uint8_t *seen; /* by id */
};

/* The store of a loop around nothing else; NULL: it is not so. */
static const bt_stmt *only_store(const bt_stmt *nest)
{
    return nest->kind == BT_STMT_FOR && nest->body.len == 1 &&
                   nest->body.at[0]->kind == BT_STMT_STORE
               ? nest->body.at[0]
               : NULL;
}

/* Whether all that a value reads is there. */
static int is_there(struct following *f, const bt_node *node)
{
    bt_linear place;
    if (!node->reads || f->seen[node->id])
        return 1;
    f->seen[node->id] = 1;
    if (node->kind == BT_NODE_READ) {
        bt_node_as_linear(node->args[0], &place);
        if (f->loops->roles.at[node->which] == BT_BUFFER_LOCAL ||
            (node->which == f->whole &&
             (place.n != 1 || place.atoms[0] != f->index || place.coefs[0] != 1 ||
              place.constant % (f->index->high + 1))))
            return 0;
        for (uint32_t i = 0; i < f->before->len; i++) {
            if (only_store(f->before->at[i])->buffer == node->which &&
                node->args[0] != f->index)
                return 0;
        }
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!is_there(f, node->args[i]))
            return 0;
    }
    return 1;
}

int cpu_follows_columns(const bt_loops *loops, const bt_stmt *nest, uint32_t whole,
                        const bt_node *width, const bt_stmts *before)
{
    const bt_stmt *store = only_store(nest);
    if (!store || nest->extent != width || bt_node_number(width) < 2)
        return 0;
    struct following f = { .loops = loops,
                           .nest = nest,
                           .index = bt_node_index(loops->graph, nest->index, width),
                           .whole = whole,
                           .before = before,
                           .seen =
                               BT_NEWS(loops->arena, uint8_t, loops->graph->nnode + 1) };
    return f.seen && f.index && store->offset == f.index && is_there(&f, store->value);
}
