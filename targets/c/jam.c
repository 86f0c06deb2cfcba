/* Unroll and jam. */
#include "jam.h"

/* ---- which loops ---- */

enum { MAX_STMTS = 6 }; /* in a loop that is jammed: each is written several times */

struct inside {
    uint32_t index;        /* of the loop that is looked at */
    const bt_loops *loops; /* ... of these */
    const uint8_t *is_private;
    uint32_t nstmt, nproduct; /* found; sums of products in loops inside */
};

/* Recursion is bounded by the depth of expressions. */
static int depends(const bt_node *node, uint32_t index)
{
    if (!node)
        return 0;
    if (node->kind == BT_NODE_INDEX)
        return node->which == index;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (depends(node->args[i], index))
            return 1;
    }
    return 0;
}

static int is_product(const bt_stmt *stmt)
{
    return stmt->kind == BT_STMT_TAKE && stmt->reducer == BT_REDUCER_SUM &&
           stmt->value->kind == BT_NODE_SCALAR && stmt->value->which == BT_SCALAR_MUL;
}

/* Whether iterations can go through the statements together: they meet the same conditions,
 * and what they keep is their own. As deep as loops are. */
static int can_go_along(struct inside *in, const bt_stmts *stmts, int is_in_loop)
{
    for (uint32_t i = 0; i < stmts->len; i++) {
        const bt_stmt *stmt = stmts->at[i];
        const int is_local =
            (stmt->kind == BT_STMT_STORE || stmt->kind == BT_STMT_TAKE) &&
            in->loops->roles.at[stmt->buffer] == BT_BUFFER_LOCAL;
        if (stmt->kind == BT_STMT_CHECK || stmt->kind == BT_STMT_CALL ||
            depends(stmt->kind == BT_STMT_FOR ? stmt->extent : stmt->condition,
                    in->index))
            return 0;
        if ((is_local && !in->is_private[stmt->buffer]) ||
            (stmt->kind == BT_STMT_TAKE && (!is_local || !is_product(stmt))))
            return 0;
        in->nstmt += stmt->kind != BT_STMT_FOR;
        in->nproduct += is_in_loop && is_product(stmt);
        if (!can_go_along(in, &stmt->body, is_in_loop || stmt->kind == BT_STMT_FOR) ||
            !can_go_along(in, &stmt->otherwise, is_in_loop))
            return 0;
    }
    return 1;
}

static uint32_t times_of(const bt_stmt *loop, uint32_t most)
{
    const int64_t extent = bt_node_number(loop->extent);
    uint32_t times = most < C_JAM_MOST ? most : C_JAM_MOST;
    while (times > 1 && (extent <= 0 || extent % times != 0))
        times--;
    return times;
}

/* ---- finding them ---- */

struct finding {
    bt_loops *loops;
    uint32_t most;
    c_jams *out;
};

static bt_status try_loop(const struct finding *f, bt_stmt *loop, int *is_jammed)
{
    bt_loops *loops = f->loops;
    struct c_jam jam = { .loop = loop, .times = times_of(loop, f->most) };
    struct inside in = { .index = loop->index, .loops = loops };
    *is_jammed = 0;
    if (jam.times < 2)
        return NULL;
    jam.is_private = BT_NEWS(loops->arena, uint8_t, loops->roles.len);
    if (!jam.is_private)
        return bt_no_memory();
    bt_status status = bt_loops_lanes(loops, loop, jam.is_private);
    if (status) // it stays as it is
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    in.is_private = jam.is_private;
    if (!can_go_along(&in, &loop->body, 0) || !in.nproduct || in.nstmt > MAX_STMTS)
        return NULL;
    *is_jammed = 1;
    return BT_PUSH(loops->arena, f->out, jam) ? NULL : bt_no_memory();
}

/* Nests as deep as loops do. */
static bt_status find(const struct finding *f, const bt_stmts *stmts, uint32_t nlevel)
{
    for (uint32_t i = 0; i < stmts->len && nlevel < C_JAM_LEVELS; i++) {
        bt_stmt *stmt = stmts->at[i];
        int is_jammed = 0;
        if (stmt->kind == BT_STMT_FOR)
            BT_TRY(try_loop(f, stmt, &is_jammed));
        BT_TRY(find(f, &stmt->body, nlevel + (uint32_t)is_jammed));
        BT_TRY(find(f, &stmt->otherwise, nlevel));
    }
    return NULL;
}

bt_status c_jams_find(bt_loops *loops, uint32_t most, c_jams *out)
{
    const struct finding f = { loops, most, out };
    *out = (c_jams){ .len = 0 };
    return most > 1 ? find(&f, &loops->body, 0) : NULL;
}

const struct c_jam *c_jam_of(const c_jams *jams, const bt_stmt *loop)
{
    for (uint32_t i = 0; i < jams->len; i++) {
        if (jams->at[i].loop == loop)
            return &jams->at[i];
    }
    return NULL;
}
