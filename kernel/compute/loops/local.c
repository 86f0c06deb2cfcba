/*
 * Locals that hold nothing from one iteration of a loop to the next.
 *
 * The program is walked in order with the elements that are stored for sure: offsets of
 * stores, each with the indices of the loops that have run over it since. A read must be
 * of one of these offsets, or all of the buffer must be stored. An iteration of the
 * loop starts with nothing, and leaves nothing.
 */
#include "compute/loops/transform.h"

#include <string.h>

struct stored {
    const bt_node *offset;
    uint64_t swept; /* loops over these have ended */
};

struct walker {
    bt_loops *loops;
    uint32_t buffer;
    const bt_stmt *loop;
    bt_vec(struct stored) stored;
    uint32_t *looked, nlook; /* by node: the last look that met it */
    int no_memory, fails;
};

/* ---- what is stored ---- */

/* Whether the offset takes every value below nelem as its indices run. */
static int covers(const struct stored *s, int64_t nelem)
{
    bt_linear l;
    int64_t done = 1;
    bt_node_as_linear(s->offset, &l);
    if ((s->offset->free & ~s->swept) || l.constant)
        return 0;
    for (uint32_t n = 0; n < l.n; n++) {
        const bt_node *next = NULL;
        for (uint32_t i = 0; i < l.n; i++) {
            if (l.coefs[i] == done && l.atoms[i]->kind == BT_NODE_INDEX)
                next = l.atoms[i];
        }
        if (!next || next->narg || !bt_mul_int64(done, next->high + 1, &done))
            return 0;
    }
    return done == nelem;
}

static int is_covered(const struct walker *w)
{
    int64_t nelem = bt_loops_nelem(w->loops, w->buffer);
    for (uint32_t i = 0; i < w->stored.len; i++) {
        if (covers(&w->stored.at[i], nelem))
            return 1;
    }
    return 0;
}

static int is_stored(const struct walker *w, const bt_node *offset)
{
    for (uint32_t i = 0; i < w->stored.len; i++) {
        if (w->stored.at[i].offset == offset)
            return 1;
    }
    return is_covered(w);
}

static void add(struct walker *w, const bt_node *offset)
{
    struct stored s = { offset, 0 };
    // what it depends on may change
    if (!offset->reads && !BT_PUSH(w->loops->arena, &w->stored, s))
        w->no_memory = 1;
}

/* ---- expressions ---- */

static void look_into(struct walker *w, const bt_node *node)
{
    if (!node->reads || w->looked[node->id] == w->nlook)
        return;
    w->looked[node->id] = w->nlook;
    if (node->kind == BT_NODE_READ && node->which == w->buffer &&
        !is_stored(w, node->args[0]))
        w->fails = 1;
    for (uint32_t i = 0; i < node->narg && !w->fails; i++)
        look_into(w, node->args[i]);
}

static void look(struct walker *w, const bt_node *node)
{
    w->nlook++;
    look_into(w, node);
}

/* ---- statements ---- */

static void walk_block(struct walker *w, const bt_stmts *block);

static void walk_for(struct walker *w, const bt_stmt *stmt, int is_around)
{
    uint32_t before = w->stored.len;
    if (bt_node_number(stmt->extent) == 0)
        return;
    if (stmt == w->loop || is_around)
        before = w->stored.len = 0;
    walk_block(w, &stmt->body);
    // one that may have no iterations stores nothing for sure
    if (stmt == w->loop || stmt->extent->low < 1)
        w->stored.len = stmt == w->loop ? 0 : before;
    for (uint32_t i = before; i < w->stored.len; i++)
        w->stored.at[i].swept |= w->stored.at[i].offset->free & bt_index_bit(stmt->index);
}

static int contains(const bt_stmts *block, const bt_stmt *stmt)
{
    for (uint32_t i = 0; i < block->len; i++) {
        if (block->at[i] == stmt || contains(&block->at[i]->body, stmt) ||
            contains(&block->at[i]->otherwise, stmt))
            return 1;
    }
    return 0;
}

/* What both branches store. */
static void walk_if(struct walker *w, const bt_stmt *stmt)
{
    int is_around = contains(&stmt->body, w->loop) || contains(&stmt->otherwise, w->loop);
    // where the loop is in one of the branches, nothing is known before and after
    if (is_around)
        w->stored.len = 0;
    uint32_t before = w->stored.len;
    walk_block(w, &stmt->body);
    uint32_t nyes = w->stored.len - before, n = before;
    struct stored *yes = BT_NEWS(w->loops->arena, struct stored, nyes);
    if (!yes) {
        w->no_memory = 1;
        return;
    }
    if (nyes)
        memcpy(yes, w->stored.at + before, nyes * sizeof(*yes));
    w->stored.len = before;
    walk_block(w, &stmt->otherwise);
    for (uint32_t k = before; k < w->stored.len; k++) {
        struct stored s = w->stored.at[k];
        for (uint32_t i = 0; i < nyes; i++) {
            if (yes[i].offset != s.offset)
                continue;
            s.swept &= yes[i].swept;
            w->stored.at[n++] = s;
            break;
        }
    }
    w->stored.len = is_around ? 0 : n;
}

static void walk_stmt(struct walker *w, const bt_stmt *stmt)
{
    const bt_node *parts[] = { stmt->condition, stmt->offset, stmt->value,
                               stmt->position };
    for (size_t i = 0; i < BT_COUNT(parts); i++) {
        if (parts[i])
            look(w, parts[i]);
    }
    for (uint32_t i = 0; i < stmt->narg; i++) {
        // a kernel may read all of it
        if (stmt->args[i].is_address && stmt->args[i].buffer == w->buffer &&
            !is_covered(w))
            w->fails = 1;
        look(w, stmt->args[i].value);
    }
    if (stmt->kind == BT_STMT_TAKE &&
        (stmt->buffer == w->buffer ||
         (bt__reducer_get(stmt->reducer)->nstate > 1 && stmt->buffer2 == w->buffer)) &&
        !is_stored(w, stmt->offset))
        w->fails = 1;
    if (stmt->kind == BT_STMT_STORE && stmt->buffer == w->buffer)
        add(w, stmt->offset);
    if (stmt->kind == BT_STMT_FOR)
        walk_for(w, stmt, contains(&stmt->body, w->loop));
    if (stmt->kind == BT_STMT_IF)
        walk_if(w, stmt);
}

static void walk_block(struct walker *w, const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len && !w->fails && !w->no_memory; i++)
        walk_stmt(w, block->at[i]);
}

int bt__local_is_private(bt_loops *loops, uint32_t buffer, const bt_stmt *loop)
{
    struct walker w = { .loops = loops, .buffer = buffer, .loop = loop };
    bt_arena *scratch = bt_ctx_scratch(loops->ctx);
    const void *mark = bt_arena_mark(scratch);
    w.looked = BT_NEWS(scratch, uint32_t, loops->graph->nnode + 1);
    w.no_memory = !w.looked;
    walk_block(&w, &loops->body);
    bt_arena_release(scratch, mark);
    return w.no_memory ? -1 : !w.fails;
}

uint8_t *bt__locals_private(bt_loops *loops, const bt_stmt *loop)
{
    uint32_t n = loops->graph->narray;
    uint8_t *out = BT_NEWS(loops->arena, uint8_t, n);
    for (uint32_t i = 0; out && i < n; i++) {
        if (loops->roles.at[i] != BT_BUFFER_LOCAL)
            continue;
        int is_private = bt__local_is_private(loops, i, loop);
        if (is_private < 0)
            return NULL;
        out[i] = (uint8_t)is_private;
    }
    return out;
}
