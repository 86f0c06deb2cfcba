/* What is left when all is chosen: constants get their values, other buffers go. */
#include <string.h>

#include "lanes.h"

/* ---- constants ---- */

static int is_used(const bt_stmts *block, const struct cpu_constant *c)
{
    int64_t offset;
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        for (uint32_t k = 0; k < stmt->narg; k++) {
            if (stmt->args[k].is_address && stmt->args[k].buffer == c->buffer &&
                bt_node_is_const(stmt->args[k].value, &offset) && offset == c->offset)
                return 1;
        }
        if (is_used(&stmt->body, c) || is_used(&stmt->otherwise, c))
            return 1;
    }
    return 0;
}

/* As the bits of an integer of its width, or through one. */
static int set_constant(struct cpu_part *p, const struct cpu_constant *c)
{
    struct vectoriser *v = p->lanes->v;
    bt_dtype dtype = c->node->dtype;
    size_t nbytes = bt_dtype_nbytes(dtype);
    struct cpu_value to = { .buffer = c->buffer, .dtype = dtype, .temp = CPU_NO_TEMP };
    struct cpu_call call = { .name = nbytes == 8 ? "iota.int64" : "iota.int32",
                             .naddress = 1,
                             .ninteger = 2 };
    int64_t bits = c->node->value.i;
    to.offset = bt_node_int(v->graph, c->offset);
    if (dtype == BT_FLOAT32) {
        float value = (float)c->node->value.f;
        int32_t word;
        memcpy(&word, &value, sizeof(word));
        bits = word;
    }
    if (nbytes < 4) {
        struct cpu_value number;
        call.name = "iota.int64";
        if (!cpu_temp_new(p->lanes, BT_INT64, 0, &number))
            return 0;
        call.at[0] = number;
        call.integers[0] = bt_node_int(v->graph, bits);
        call.integers[1] = bt_node_int(v->graph, 0);
        int ok = to.offset && cpu_emit(p, &call, 0) && cpu_cast(p, &to, &number);
        cpu_temp_free(v, &number);
        return ok;
    }
    call.at[0] = to;
    call.integers[0] = bt_node_int(v->graph, bits);
    call.integers[1] = bt_node_int(v->graph, 0);
    return to.offset && cpu_emit(p, &call, 0);
}

static int set_constants(struct vectoriser *v, const bt_stmts *body, bt_stmts *to)
{
    struct cpu_lanes l = { .v = v, .index = -1, .most = 1 };
    struct cpu_part p = { .lanes = &l, .to = to };
    p.at = bt_node_int(v->graph, 0);
    p.count = bt_node_int(v->graph, 1);
    for (uint32_t i = 0; i < v->constants.len; i++) {
        if (is_used(body, &v->constants.at[i]) && !set_constant(&p, &v->constants.at[i]))
            return 0;
    }
    return p.at && p.count;
}

/* ---- buffers ---- */

struct renumber {
    struct vectoriser *v;
    uint8_t *is_kept;
    uint32_t *numbers; /* new ones, by old */
};

static void mark_reads(struct renumber *r, const bt_node *node)
{
    if (!node->reads)
        return;
    if (node->kind == BT_NODE_READ)
        r->is_kept[node->which] = 1;
    for (uint32_t i = 0; i < node->narg; i++)
        mark_reads(r, node->args[i]);
}

/* The buffer whose address an expression is a part of; NULL: it is of none. */
static uint32_t *buffer_at(bt_stmt *stmt, const bt_node **slot)
{
    for (uint32_t k = 0; k < stmt->narg; k++) {
        if (slot == &stmt->args[k].value && stmt->args[k].is_address)
            return &stmt->args[k].buffer;
    }
    return NULL;
}

static int mark(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct renumber *r = self;
    const uint32_t *buffer = buffer_at(stmt, slot);
    if (buffer)
        r->is_kept[*buffer] = 1;
    mark_reads(r, *slot);
    return 1;
}

static const bt_node *renumber_node(void *self, const bt_node *node)
{
    const struct renumber *r = self;
    if (node->kind != BT_NODE_READ || r->numbers[node->which] == node->which)
        return node;
    return bt_node_read(r->v->graph, r->numbers[node->which], node->dtype, node->narg,
                        node->args);
}

static int renumber(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct renumber *r = self;
    bt_by_node by = { r->v->loops, renumber_node, r };
    uint32_t *buffer = buffer_at(stmt, slot);
    if (buffer)
        *buffer = r->numbers[*buffer];
    *slot = (*slot)->reads ? bt_node_change(&by, *slot) : *slot;
    return *slot != NULL;
}

/* Locals and temps that nothing uses any more go. */
static int drop_buffers(struct vectoriser *v, const bt_stmts *body)
{
    bt_graph *g = v->graph;
    uint32_t n = 0;
    struct renumber r = { .v = v };
    r.is_kept = BT_NEWS(v->scratch, uint8_t, g->narray);
    r.numbers = BT_NEWS(v->scratch, uint32_t, g->narray);
    if (!r.is_kept || !r.numbers)
        return 0;
    for (uint32_t i = 0; i < body->len; i++)
        (void)bt_stmt_walk(body->at[i], mark, &r);
    for (uint32_t i = 0; i < g->narray; i++) {
        uint32_t role = v->loops->roles.at[i];
        r.is_kept[i] |= role == BT_BUFFER_INPUT || role == BT_BUFFER_OUTPUT;
        r.numbers[i] = r.is_kept[i] ? n++ : UINT32_MAX;
    }
    for (uint32_t i = 0; i < body->len; i++) {
        if (!bt_stmt_walk(body->at[i], renumber, &r))
            return 0;
    }
    for (uint32_t i = 0; i < g->narray; i++) {
        if (!r.is_kept[i])
            continue;
        g->arrays[r.numbers[i]] = g->arrays[i];
        v->loops->roles.at[r.numbers[i]] = v->loops->roles.at[i];
    }
    for (uint32_t i = 0; i < v->loops->results.len; i++)
        v->loops->results.at[i] = r.numbers[v->loops->results.at[i]];
    g->narray = v->loops->roles.len = n;
    return 1;
}

int cpu_tidy(struct vectoriser *v, bt_stmts *body)
{
    bt_stmts all = { 0 };
    if (!set_constants(v, body, &all))
        return 0;
    for (uint32_t i = 0; i < body->len; i++) {
        if (!BT_PUSH(v->arena, &all, body->at[i]))
            return 0;
    }
    *body = all;
    return drop_buffers(v, body);
}
