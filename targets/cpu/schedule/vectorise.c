/*
 * Which loops are done by lanes: of each loop both ways are made, and the cheaper one is
 * taken.
 */
#include "lanes.h"

/* What is less than `wake` is not worth waking threads for, and what is less than `share` not
 * worth sharing with threads that are awake. bench_pool: it takes 4 us until one that slept
 * begins, 0.5 us for one that is awake, whose part of the operands comes from another
 * processor's cache, too. */
static const double wake_ns = 20000, share_ns = 4000;

static int do_block(struct vectoriser *v, const bt_stmts *block, bt_stmts *to);

/* ---- lanes ---- */

static int lanes_open(struct vectoriser *v, struct cpu_lanes *l, uint8_t *is_private)
{
    *l = (struct cpu_lanes){ .v = v, .index = -1, .most = 1, .is_private = is_private };
    bt_map_init(&l->varying, v->scratch, 0);
    l->own = BT_NEWS(v->scratch, struct cpu_value, v->nbuffer);
    l->first = bt_node_int(v->graph, 0);
    return l->own && l->first;
}

static void lanes_close(struct cpu_lanes *l)
{
    for (uint32_t i = 0; i < l->v->nbuffer; i++) {
        if (l->own[i].dtype)
            cpu_temp_free(l->v, &l->own[i]);
    }
}

/* After a failure. */
static void free_all(struct vectoriser *v)
{
    for (uint32_t i = 0; i < v->temps.len; i++)
        v->temps.at[i].is_taken = 0;
}

static void part_of(struct cpu_lanes *l, struct cpu_part *out, bt_stmts *to)
{
    *out = (struct cpu_part){ .lanes = l, .to = to };
    out->at = bt_node_int(l->v->graph, 0);
}

/* Blocks of lanes, about as long as each other. */
static int64_t block_of(int64_t extent, int64_t most)
{
    int64_t nblock = bt_ceildiv_int64(extent, most);
    return nblock <= 1 ? extent
                       : bt_ceildiv_int64(bt_ceildiv_int64(extent, nblock), 16) * 16;
}

struct row_search {
    uint32_t index;
    int64_t columns; /* the greatest number that the index is divided by, no more than `most` */
    int64_t most;
    uint8_t *seen; /* by id */
};

static void find_columns(struct row_search *s, const bt_node *node)
{
    int64_t by;
    if (!(node->free & bt_index_bit(s->index)) || s->seen[node->id])
        return;
    s->seen[node->id] = 1;
    if (node->kind == BT_NODE_SCALAR &&
        (node->which == BT_SCALAR_MOD || node->which == BT_SCALAR_FLOORDIV) &&
        node->args[0]->kind == BT_NODE_INDEX && bt_node_is_const(node->args[1], &by) &&
        by > s->columns && by <= s->most)
        s->columns = by;
    for (uint32_t i = 0; i < node->narg; i++)
        find_columns(s, node->args[i]);
}

static int look_at(void *self, bt_stmt *stmt, const bt_node **slot)
{
    (void)stmt;
    find_columns(self, *slot);
    return 1;
}

/* Blocks of whole rows, where the index is that of an element of rows. 0: no memory. */
static int take_rows(struct cpu_lanes *l, const bt_stmt *loop, int64_t most)
{
    const int64_t extent = bt_node_number(loop->extent);
    struct row_search s = { loop->index, 1, most, NULL };
    s.seen = BT_NEWS(l->v->scratch, uint8_t, l->v->graph->nnode + 1);
    for (uint32_t i = 0; s.seen && i < loop->body.len; i++)
        (void)bt_stmt_walk(loop->body.at[i], look_at, &s);
    const int64_t nblock = bt_ceildiv_int64(extent, most / s.columns * s.columns);
    if (s.columns > 1)
        l->most = bt_ceildiv_int64(bt_ceildiv_int64(extent, nblock), s.columns) * s.columns;
    return s.seen != NULL;
}

/* A loop of blocks around what lanes do; *inner: what is inside. */
static int open_blocks(struct cpu_lanes *l, const bt_stmt *loop, bt_stmts *to,
                       struct cpu_part *inner)
{
    bt_graph *g = l->v->graph;
    int64_t extent = bt_node_number(loop->extent);
    int64_t most = l->is_bare ? CPU_LONG_STRIP_NELEM : CPU_STRIP_NELEM;
    l->index = loop->index;
    // sums are of as many terms in each block, however many there are in all
    const int has_order = extent > most && cpu_order(l->v, loop);
    l->most = extent < 0 || has_order ? most : block_of(extent, most);
    if (extent > most && !has_order && !take_rows(l, loop, most))
        return 0;
    part_of(l, inner, to);
    const bt_node *whole = bt_node_int(g, l->most);
    const bt_node *nblock =
        extent < 0 ? bt_node_scalar(g, BT_SCALAR_CEILDIV, loop->extent, whole)
                   : bt_node_int(g, bt_ceildiv_int64(extent, l->most));
    inner->count = extent < 0 ? loop->extent : whole;
    if (!nblock || bt_node_number(nblock) == 1)
        return nblock && whole && inner->at;
    bt_stmt *blocks = bt_stmt_add(l->v->loops, to, BT_STMT_FOR);
    const bt_node *number = bt_node_index(g, loop->index, nblock);
    if (!blocks || !number || !whole || !inner->at)
        return 0;
    blocks->index = loop->index;
    blocks->extent = nblock;
    blocks->is_parallel = loop->is_parallel;
    inner->to = &blocks->body;
    l->first = bt_node_linear(g, 0, 1, &number, (int64_t[]){ l->most });
    const bt_node *rest = bt_node_linear(
        g, 0, 2, (const bt_node *[]){ loop->extent, number }, (int64_t[]){ 1, -l->most });
    inner->count = bt_node_scalar(g, BT_SCALAR_MIN, whole, rest);
    return l->first && inner->count;
}

static int do_lanes(struct vectoriser *v, bt_stmt *loop, uint8_t *is_private,
                    uint32_t is_bare, bt_stmts *to)
{
    struct cpu_lanes l;
    struct cpu_part p;
    if (!lanes_open(v, &l, is_private))
        return 0;
    l.is_bare = is_bare;
    int ok = open_blocks(&l, loop, to, &p) && cpu_do_block(&p, &loop->body);
    lanes_close(&l);
    return ok;
}

/* 1: done, 0: failure, or it cannot be. */
static int by_lanes(struct vectoriser *v, bt_stmt *loop, bt_stmts *to)
{
    uint8_t *is_private = BT_NEWS(v->scratch, uint8_t, v->graph->narray);
    if (!is_private)
        return 0;
    bt_status status = bt_loops_lanes(v->loops, loop, is_private);
    if (status)
        return status->code == BT_ERR_UNSUPPORTED ? cpu_refuse(v, status->message) : 0;
    if (cpu_iterations(loop->extent) > CPU_STRIP_NELEM) {
        if (do_lanes(v, loop, is_private, 1, to))
            return 1;
        if (!v->why)
            return 0;
        v->why = NULL;
        to->len = 0;
        free_all(v);
    }
    return do_lanes(v, loop, is_private, 0, to);
}

/* ---- one after the other ---- */

static int one_lane(struct vectoriser *v, struct cpu_lanes *l, bt_stmts *to,
                    struct cpu_part *out)
{
    if (!lanes_open(v, l, NULL))
        return 0;
    part_of(l, out, to);
    out->count = bt_node_int(v->graph, 1);
    return out->at && out->count;
}

static int do_leaf(struct vectoriser *v, bt_stmt *stmt, bt_stmts *to)
{
    struct cpu_lanes l;
    struct cpu_part p;
    bt_stmts block = { .at = &stmt, .len = 1, .cap = 1 };
    return one_lane(v, &l, to, &p) && cpu_do_block(&p, &block);
}

static int do_if(struct vectoriser *v, const bt_stmt *stmt, bt_stmts *to)
{
    struct cpu_lanes l;
    struct cpu_part p, own;
    bt_map uses;
    if (bt_node_is_true(stmt->condition) || bt_node_is_false(stmt->condition))
        return do_block(
            v, bt_node_is_true(stmt->condition) ? &stmt->body : &stmt->otherwise, to);
    if (!one_lane(v, &l, to, &p) ||
        !cpu_statement_open(&p, &own, &uses, 1, &stmt->condition))
        return 0;
    const bt_node *condition = cpu_as_integer(&own, stmt->condition);
    cpu_part_close(&own);
    bt_stmt *made = condition ? bt_stmt_add(v->loops, to, BT_STMT_IF) : NULL;
    if (!made)
        return 0;
    made->condition = condition;
    return do_block(v, &stmt->body, &made->body) &&
           do_block(v, &stmt->otherwise, &made->otherwise);
}

/* ---- loops ---- */

static int append(struct vectoriser *v, bt_stmts *to, const bt_stmts *from)
{
    for (uint32_t i = 0; i < from->len; i++) {
        if (!BT_PUSH(v->arena, to, from->at[i]))
            return 0;
    }
    return 1;
}

static int by_scan(struct vectoriser *v, const bt_stmt *stmt, bt_stmts *to)
{
    struct cpu_lanes l;
    struct cpu_part p;
    return one_lane(v, &l, to, &p) && cpu_do_scan(&p, stmt);
}

/* 1: done, 0: failure, or it cannot be. */
static int by_iteration(struct vectoriser *v, const bt_stmt *stmt, bt_stmts *to)
{
    if (by_scan(v, stmt, to))
        return 1;
    if (!v->why)
        return 0;
    v->why = NULL;
    free_all(v);
    bt_stmt *loop = bt_stmt_add(v->loops, to, BT_STMT_FOR);
    if (!loop)
        return 0;
    loop->index = stmt->index;
    loop->extent = stmt->extent;
    loop->is_parallel = stmt->is_parallel;
    return do_block(v, &stmt->body, &loop->body);
}

static int do_for(struct vectoriser *v, bt_stmt *stmt, bt_stmts *to)
{
    bt_stmts lanes = { 0 }, iterations = { 0 };
    if (bt_node_number(stmt->extent) == 0)
        return 1;
    const uint32_t order = cpu_order(v, stmt);
    if (order == CPU_BY_NEITHER)
        return cpu_refuse(v, "a sum of floats goes over a part of an axis");
    int can_lanes = order == CPU_BY_ITERATION
                        ? cpu_refuse(v, "the order of a sum is that of the loop")
                        : by_lanes(v, stmt, &lanes);
    if (!can_lanes && !v->why)
        return 0;
    const char *why = v->why;
    v->why = NULL;
    free_all(v);
    if (can_lanes && order == CPU_BY_LANES)
        return append(v, to, &lanes);
    int can_iterate = by_iteration(v, stmt, &iterations);
    if (!can_iterate && !v->why)
        return 0;
    if (!can_iterate && !can_lanes) {
        v->why = v->why ? v->why : why;
        return 0;
    }
    v->why = NULL;
    int is_lanes = can_lanes && (!can_iterate || cpu_cost(v->config, &lanes) <=
                                                     cpu_cost(v->config, &iterations));
    return append(v, to, is_lanes ? &lanes : &iterations);
}

static int do_block(struct vectoriser *v, const bt_stmts *block, bt_stmts *to)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt_stmt *stmt = block->at[i];
        int ok = stmt->kind == BT_STMT_FOR    ? do_for(v, stmt, to)
                 : stmt->kind == BT_STMT_IF   ? do_if(v, stmt, to)
                 : stmt->kind == BT_STMT_CALL ? BT_PUSH(v->arena, to, stmt)
                                              : do_leaf(v, stmt, to);
        if (!ok)
            return 0;
    }
    return 1;
}

/* ---- programs ---- */

static void clear_parallel(const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        block->at[i]->is_parallel = 0;
        clear_parallel(&block->at[i]->body);
        clear_parallel(&block->at[i]->otherwise);
    }
}

/* Of the loops at the top, those that are long: for one thread too, which may do the last
 * iterations first. */
static void choose_parallel(const struct cpu_config *config, const bt_stmts *body)
{
    for (uint32_t i = 0; i < body->len; i++) {
        bt_stmts one = { .at = &body->at[i], .len = 1, .cap = 1 };
        clear_parallel(&body->at[i]->body);
        clear_parallel(&body->at[i]->otherwise);
        if (body->at[i]->kind != BT_STMT_FOR || !body->at[i]->is_parallel)
            continue;
        const double ns = cpu_cost(config, &one);
        body->at[i]->is_parallel = ns >= wake_ns ? 1 : ns >= share_ns ? CPU_SHORT : 0;
    }
}

static int vectorise(struct vectoriser *v)
{
    bt_stmts body = { 0 };
    if (!do_block(v, &v->loops->body, &body) || !cpu_tidy(v, &body))
        return 0;
    choose_parallel(v->config, &body);
    v->loops->body = body;
    return 1;
}

bt_status cpu_vectorise(bt_loops *loops, const struct cpu_config *config)
{
    struct vectoriser v = { .loops = loops,
                            .graph = loops->graph,
                            .arena = loops->arena };
    v.config = config;
    v.nbuffer = loops->graph->narray;
    v.scratch = bt_arena_create(bt_ctx_registry(loops->ctx));
    if (!v.scratch)
        return bt_no_memory();
    int ok = vectorise(&v);
    bt_status status =
        ok      ? NULL
        : v.why ? bt_fail(loops->ctx, BT_ERR_UNSUPPORTED, "%s: %s", loops->name, v.why)
        : bt_arena_has_failed(v.scratch) ? bt_no_memory()
                                         : bt_loops_why(loops);
    bt_arena_destroy(v.scratch);
    return status;
}
