/* The order in which a schedule is made. */
#include "schedule.h"

#include "contract.h"
#include "vectorise.h"

/* ---- accumulators ---- */

/* Sums of so many terms lose nothing in float32 that a result would show. */
enum { SHORT_SUM = 64 };

static int64_t count_terms(const bt_node *reduce)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < reduce->nindex; i++) {
        if (!bt_mul_int64(n, reduce->coefs[i], &n))
            return INT64_MAX;
    }
    return n;
}

/* Sums of products are done as the tiles do them; of what only compares nothing is
 * rounded. */
static int is_narrow(void *self, const bt_node *reduce)
{
    const bt_node *body = reduce->args[1];
    (void)self;
    while (body->kind == BT_NODE_CAST && body->args[0]->dtype == BT_FLOAT32)
        body = body->args[0];
    switch (reduce->which) {
    case BT_REDUCER_SUM:
        return (body->kind == BT_NODE_SCALAR && body->which == BT_SCALAR_MUL &&
                body->args[0] != body->args[1]) ||
               count_terms(reduce) <= SHORT_SUM;
    case BT_REDUCER_PROD: return count_terms(reduce) <= SHORT_SUM;
    default: return 1;
    }
}

/* ---- loops ---- */

/* 1 also where it was refused; 0: no memory, or the graph has failed. */
static int is_over(bt_status status)
{
    return !status || status->code == BT_ERR_UNSUPPORTED;
}

/* Loops that are one inside the other become one, from the inside out. */
static int collapse_all(bt_loops *loops, bt_stmt *stmt)
{
    for (uint32_t i = 0; i < stmt->body.len; i++) {
        if (!collapse_all(loops, stmt->body.at[i]))
            return 0;
    }
    for (uint32_t i = 0; i < stmt->otherwise.len; i++) {
        if (!collapse_all(loops, stmt->otherwise.at[i]))
            return 0;
    }
    return stmt->kind != BT_STMT_FOR || stmt->body.len != 1 ||
           stmt->body.at[0]->kind != BT_STMT_FOR ||
           is_over(bt_loops_collapse(loops, stmt));
}

static bt_status transform(bt_loops *loops)
{
    BT_TRY(bt_loops_simplify(loops));
    for (uint32_t i = 0; i < loops->body.len; i++) {
        bt_stmt *stmt = loops->body.at[i];
        if (!collapse_all(loops, stmt) ||
            (stmt->kind == BT_STMT_FOR && !is_over(bt_loops_parallel(loops, stmt))))
            return bt_loops_why(loops);
    }
    return NULL;
}

bt_status cpu_schedule_loops(bt_loops *loops, const struct cpu_config *config)
{
    BT_TRY(transform(loops));
    return cpu_vectorise(loops, config);
}

static const bt_lower_options options = { .is_narrow = is_narrow };

bt_status cpu_lower(bt_ctx *ctx, bt_arena *arena, const char *name, bt_graph *graph,
                    bt_loops **out)
{
    return bt_loops_lower_with(ctx, arena, name, graph, &options, out);
}

bt_status cpu_schedule(bt_ctx *ctx, bt_arena *arena, const struct cpu_config *config,
                       const bt_func *primitive, bt_loops **out)
{
    bt_graph *graph;
    bt_loops *loops;
    const char *name = primitive->name ? primitive->name : "primitive";
    BT_TRY(bt_graph_compose(ctx, arena, primitive, &graph));
    BT_TRY(cpu_contract(ctx, arena, config, name, graph, &options, &loops));
    BT_TRY(cpu_schedule_loops(loops, config));
    *out = loops;
    return NULL;
}
