/*
 * What a loop reads of a buffer, as a dense copy in the order in which it is read.
 *
 *     for i0 in 3 { for i1 in 4 { ... x[3*i1 + i0] ... } }
 *  -> for i0 in 3 { for i1 in 4 { p[4*i0 + i1] = x[3*i1 + i0] } }
 *     for i0 in 3 { for i1 in 4 { ... p[4*i0 + i1] ... } }
 *
 * Legal where the loop reads the buffer by one offset, which is in bounds whatever its
 * indices are, and does not write it.
 */
#include "compute/loops/transform.h"

struct pack {
    bt_loops *loops;
    bt_stmt *loop;
    uint32_t buffer, copy;
    const bt_node *offset; /* that all reads have */
    int fails;
    uint32_t nindex; /* of loops that the offset depends on, outermost first */
    uint32_t indices[BT_MAX_INDEX];
    int64_t extents[BT_MAX_INDEX];
    const bt_node *place; /* in the copy */
};

/* ---- what is read ---- */

static int find_offset(struct pack *p)
{
    bt__accesses all = { .len = 0 };
    if (!bt__accesses_of(p->loops, p->loop, &all))
        return 0;
    for (uint32_t i = 0; i < all.len; i++) {
        if (all.at[i].buffer != p->buffer)
            continue;
        p->fails |= all.at[i].writes || (p->offset && p->offset != all.at[i].offset);
        p->offset = all.at[i].offset;
    }
    p->fails |= !p->offset || p->offset->reads || p->offset->low < 0 ||
                p->offset->high >= bt_loops_nelem(p->loops, p->buffer);
    return 1;
}

static int finds_read(const struct pack *p, const bt_node *node)
{
    if (node->kind == BT_NODE_READ && node->which == p->buffer)
        return 1;
    for (uint32_t i = 0; node->reads && i < node->narg; i++) {
        if (finds_read(p, node->args[i]))
            return 1;
    }
    return 0;
}

static int has_none(void *self, bt_stmt *stmt, const bt_node **slot)
{
    (void)stmt;
    return !finds_read(self, *slot);
}

/* The loops on the way to the first read. */
static void find_indices(struct pack *p, bt_stmt *stmt)
{
    if (stmt->kind == BT_STMT_FOR && (p->offset->free & bt_index_bit(stmt->index))) {
        p->indices[p->nindex] = stmt->index;
        p->extents[p->nindex++] = stmt->extent;
    }
    for (uint32_t i = 0; i < stmt->body.len + stmt->otherwise.len; i++) {
        bt_stmt *inner = i < stmt->body.len ? stmt->body.at[i]
                                            : stmt->otherwise.at[i - stmt->body.len];
        if (!bt_stmt_walk(inner, has_none, p)) {
            find_indices(p, inner);
            return;
        }
    }
}

/* ---- the copy ---- */

static int add_copy(struct pack *p, uint32_t role)
{
    const bt_node *indices[BT_MAX_INDEX];
    int64_t strides[BT_MAX_INDEX], nelem = 1;
    bt_graph *g = p->loops->graph;
    bt_text name;
    bt_dtype dtype = g->arrays[p->buffer].dtype;
    for (uint32_t i = p->nindex; i-- > 0;) {
        indices[i] = bt_node_index(g, p->indices[i], p->extents[i]);
        strides[i] = nelem;
        if (!bt_mul_int64(nelem, p->extents[i], &nelem))
            nelem = INT64_MAX;
    }
    if (nelem < 1 ||
        (uint64_t)nelem > bt_ctx_limits(p->loops->ctx)->bytes / bt_dtype_nbytes(dtype)) {
        p->fails = 1;
        return 1;
    }
    bt_text_init(&name, p->loops->arena);
    bt_text_addf(&name, "p%u", g->narray);
    p->place = bt_node_linear(g, 0, p->nindex, indices, strides);
    return p->place && bt_text_get(&name) &&
           bt_loops_add_buffer(p->loops, role, bt_text_get(&name), dtype, nelem,
                               &p->copy);
}

/* The nest that fills it. */
static bt_stmt *copying_nest(const struct pack *p)
{
    bt_stmts whole = { .len = 0 }, *to = &whole;
    for (uint32_t i = 0; i < p->nindex; i++) {
        bt_stmt *loop = bt_stmt_add(p->loops, to, BT_STMT_FOR);
        if (!loop)
            return NULL;
        loop->index = p->indices[i];
        loop->extent = p->extents[i];
        to = &loop->body;
    }
    bt_stmt *store = bt_stmt_add(p->loops, to, BT_STMT_STORE);
    if (!store)
        return NULL;
    store->buffer = p->copy;
    store->offset = p->place;
    store->value = bt_loops_read(p->loops, p->buffer, p->offset);
    return store->value ? whole.at[0] : NULL;
}

static const bt_node *read_copy(void *self, const bt_node *node)
{
    const struct pack *p = self;
    return node->kind == BT_NODE_READ && node->which == p->buffer
               ? bt_loops_read(p->loops, p->copy, p->place)
               : node;
}

static const bt_node *change(void *self, const bt_stmt *stmt, const bt_node **slot)
{
    struct pack *p = self;
    bt_by_node by = { p->loops, read_copy, p };
    (void)stmt;
    return bt_node_change(&by, *slot);
}

static bt_status check(struct pack *p, const bt_stmt_place *place, uint32_t role)
{
    const bt_graph *g = p->loops->graph;
    const char *name = g->arrays[p->buffer].name;
    if (role == BT_BUFFER_TEMP && place->is_in_parallel)
        return bt__loops_refuse(p->loops, "inside a parallel loop a copy of %s is local",
                                name);
    if (role == BT_BUFFER_LOCAL && bt__stmt_has_parallel(p->loop))
        return bt__loops_refuse(p->loops,
                                "what turns of parallel loops in i%u read is not local",
                                p->loop->index);
    // a local is another one in each turn
    if (p->loops->roles.at[p->buffer] == BT_BUFFER_LOCAL)
        return bt__loops_refuse(p->loops, "%s is local already", name);
    return NULL;
}

bt_status bt_loops_pack(bt_loops *loops, bt_stmt *loop, uint32_t buffer, uint32_t role)
{
    bt_stmt_place place;
    struct bt__edit edit;
    bt_stmts both = { .len = 0 };
    struct pack p = { .loops = loops, .loop = loop, .buffer = buffer };
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    if (buffer >= loops->graph->narray || role < BT_BUFFER_TEMP)
        return bt__loops_refuse(loops, "buffer %u is none, or the copy no temporary",
                                buffer);
    BT_TRY(check(&p, &place, role));
    if (!find_offset(&p))
        return bt_loops_why(loops);
    if (!p.fails)
        find_indices(&p, loop);
    if (!p.fails && p.nindex && !add_copy(&p, role))
        return bt_loops_why(loops);
    if (p.fails || !p.nindex)
        return bt__loops_refuse(loops,
                                "i%u does not read %s by one offset that is in bounds",
                                loop->index, loops->graph->arrays[buffer].name);
    bt_stmt *nest = copying_nest(&p);
    if (!nest || !BT_PUSH(loops->arena, &both, nest) ||
        !BT_PUSH(loops->arena, &both, loop))
        return bt_loops_why(loops);
    BT_TRY(bt__edit_make(loops, loop, change, &p, &edit));
    if (!bt_stmts_replace(loops, place.block, place.at, &both))
        return bt_loops_why(loops);
    bt__edit_swap(loop, &edit);
    return NULL;
}
