/*
 * A nest that adds products becomes a call of a kernel that does.
 *
 *     for i2 in 8 { for i3 in 16 { for i4 in 32 {
 *         t[16*i2 + i3] sum[float32]= (x[32*i2 + i4] * w[16*i4 + i3]) } } }
 *  -> gemm(&t[0], &x[0], &w[0], 8, 16, 32, 16, 1, 32, 1, 16, 1)
 *
 * An index has the role that the offsets give it: m where it moves the accumulator and
 * the first factor, n where the accumulator and the second, k where both factors.
 */
#include "compute/loops/transform.h"

#include <string.h>

enum { C, A, B, NBUFFER };

struct match {
    bt_loops *loops;
    const bt_contract *contract;
    const bt_stmt *take;
    uint32_t nloop;
    const bt_stmt *nest[BT_NROLE];
    uint32_t buffers[NBUFFER];
    const bt_node *offsets[NBUFFER]; /* then without the nest's indices */
    int64_t extents[BT_NROLE], strides[BT_NROLE][NBUFFER];
};

/* ---- the nest ---- */

static bt_status find_nest(struct match *m, const bt_stmt *stmt)
{
    for (; stmt->kind == BT_STMT_FOR && stmt->body.len == 1; stmt = stmt->body.at[0]) {
        if (stmt->is_parallel || stmt->extent < 1)
            return bt__loops_refuse(m->loops, "i%u is parallel, or has no turns",
                                    stmt->index);
        if (stmt->extent == 1)
            continue;
        if (m->nloop == BT_NROLE)
            return bt__loops_refuse(m->loops, "more than %d loops: %s has these",
                                    BT_NROLE, m->contract->name);
        m->nest[m->nloop++] = stmt;
    }
    if (stmt->kind != BT_STMT_TAKE || stmt->reducer != BT_REDUCER_SUM)
        return bt__loops_refuse(m->loops, "the nest does more than to sum");
    m->take = stmt;
    return NULL;
}

/* The read that a factor is, widened or not; NULL: something else. */
static const bt_node *factor(const bt_node *node)
{
    const bt_node *read = node->kind == BT_NODE_CAST ? node->args[0] : node;
    if (read->kind != BT_NODE_READ || read->args[0]->reads)
        return NULL;
    int same_kind =
        bt__dtype_is_float(node->dtype) == bt__dtype_is_float(read->dtype) &&
        bt__dtype_is_integer(node->dtype) == bt__dtype_is_integer(read->dtype);
    // what is narrowed loses bits that the kernel would keep
    return same_kind && bt_dtype_nbytes(node->dtype) >= bt_dtype_nbytes(read->dtype)
               ? read
               : NULL;
}

static bt_status find_factors(struct match *m, int is_swapped)
{
    const bt_node *product = m->take->value;
    const bt_dtype dtypes[] = { m->contract->c, m->contract->a, m->contract->b };
    const bt_graph *g = m->loops->graph;
    if (product->kind != BT_NODE_SCALAR || product->which != BT_SCALAR_MUL)
        return bt__loops_refuse(m->loops, "what is summed is no product");
    const bt_node *a = factor(product->args[is_swapped]);
    const bt_node *b = factor(product->args[!is_swapped]);
    if (!a || !b || m->take->offset->reads)
        return bt__loops_refuse(m->loops, "a factor is no element");
    m->buffers[C] = m->take->buffer;
    m->buffers[A] = a->which;
    m->buffers[B] = b->which;
    m->offsets[C] = m->take->offset;
    m->offsets[A] = a->args[0];
    m->offsets[B] = b->args[0];
    for (uint32_t i = 0; i < NBUFFER; i++) {
        if (g->arrays[m->buffers[i]].dtype != dtypes[i])
            return bt__loops_refuse(m->loops, "%s does not take %s's element type",
                                    m->contract->name, g->arrays[m->buffers[i]].name);
    }
    if (m->buffers[C] == a->which || m->buffers[C] == b->which)
        return bt__loops_refuse(m->loops, "%s is a factor and the sum",
                                g->arrays[m->buffers[C]].name);
    // integers wrap where the product has its type
    if (!bt__dtype_is_float(product->dtype) && product->dtype != m->contract->c)
        return bt__loops_refuse(m->loops, "products wrap before they are summed");
    return NULL;
}

/* ---- roles ---- */

static int role_of(const int64_t *coefs)
{
    if (coefs[C] && coefs[A] && !coefs[B])
        return BT_ROLE_M;
    if (coefs[C] && !coefs[A] && coefs[B])
        return BT_ROLE_N;
    return !coefs[C] && coefs[A] && coefs[B] ? BT_ROLE_K : -1;
}

/* Takes an index out of the offsets. */
static bt_status find_role(struct match *m, const bt_stmt *loop)
{
    bt_graph *g = m->loops->graph;
    const bt_node *index = bt_node_index(g, loop->index, loop->extent);
    int64_t coefs[NBUFFER];
    for (uint32_t i = 0; i < NBUFFER; i++) {
        bt_linear l;
        bt_node_as_linear(m->offsets[i], &l);
        coefs[i] = bt_linear_coef(&l, loop->index);
        if (coefs[i] == INT64_MIN)
            return bt__loops_refuse(m->loops, "a stride is too large");
        m->offsets[i] =
            bt_node_linear(g, 0, 2, (const bt_node *[]){ m->offsets[i], index },
                           (int64_t[]){ 1, -coefs[i] });
        if (!m->offsets[i])
            return bt_loops_why(m->loops);
        if (m->offsets[i]->free & bt_index_bit(loop->index))
            return bt__loops_refuse(m->loops, "i%u has no constant stride in %s",
                                    loop->index, g->arrays[m->buffers[i]].name);
    }
    int role = role_of(coefs);
    if (role < 0 || m->extents[role] != 1)
        return bt__loops_refuse(m->loops, "i%u is not one of the m, n and k of %s",
                                loop->index, m->contract->name);
    m->extents[role] = loop->extent;
    memcpy(m->strides[role], coefs, sizeof(coefs));
    return NULL;
}

/* The strides in the order in which they are passed. */
static void list_strides(const struct match *m, int64_t *out)
{
    static const uint32_t roles[] = { BT_ROLE_M, BT_ROLE_N, BT_ROLE_M,
                                      BT_ROLE_K, BT_ROLE_K, BT_ROLE_N };
    static const uint32_t buffers[] = { C, C, A, A, B, B };
    for (uint32_t i = 0; i < BT_COUNT(roles); i++) {
        int64_t wanted = m->contract->strides[i];
        out[i] = m->strides[roles[i]][buffers[i]];
        // of one turn any stride is right
        if (m->extents[roles[i]] == 1 && wanted != BT_ANY_STRIDE)
            out[i] = wanted;
    }
}

static bt_status check_contract(const struct match *m, const int64_t *strides)
{
    static const char names[] = "mnk";
    static const char *const stride_names[] = { "cm", "cn", "am", "ak", "bk", "bn" };
    for (uint32_t i = 0; i < BT_NROLE; i++) {
        int64_t least = m->contract->extents[i].least,
                most = m->contract->extents[i].most;
        int64_t multiple = m->contract->extents[i].multiple, n = m->extents[i];
        if ((least && n < least) || (most && n > most) || (multiple && n % multiple))
            return bt__loops_refuse(m->loops, "%s is not for this %c", m->contract->name,
                                    names[i]);
    }
    for (uint32_t i = 0; i < BT_COUNT(stride_names); i++) {
        if (m->contract->strides[i] != BT_ANY_STRIDE &&
            strides[i] != m->contract->strides[i])
            return bt__loops_refuse(m->loops, "%s is not for this stride %s",
                                    m->contract->name, stride_names[i]);
    }
    return NULL;
}

static bt_status match_as(struct match *m, int is_swapped, int64_t *strides)
{
    for (uint32_t i = 0; i < BT_NROLE; i++)
        m->extents[i] = 1;
    memset(m->strides, 0, sizeof(m->strides));
    BT_TRY(find_factors(m, is_swapped));
    for (uint32_t i = 0; i < m->nloop; i++)
        BT_TRY(find_role(m, m->nest[i]));
    list_strides(m, strides);
    return check_contract(m, strides);
}

/* ---- the call ---- */

static bt_status make_call(const struct match *m, const int64_t *strides, bt_stmts *out)
{
    enum { NARG = NBUFFER + BT_NROLE + 6 };
    bt_stmt *call = bt_stmt_add(m->loops, out, BT_STMT_CALL);
    if (!call)
        return bt_loops_why(m->loops);
    call->callee =
        bt_arena_text(m->loops->arena, m->contract->name, strlen(m->contract->name));
    call->narg = NARG;
    call->args = BT_NEWS(m->loops->arena, bt_call_arg, NARG);
    if (!call->callee || !call->args)
        return bt_loops_why(m->loops);
    for (uint32_t i = 0; i < NARG; i++) {
        int64_t number = i < NBUFFER              ? 0
                         : i < NBUFFER + BT_NROLE ? m->extents[i - NBUFFER]
                                                  : strides[i - NBUFFER - BT_NROLE];
        call->args[i].is_address = i < NBUFFER;
        call->args[i].buffer = i < NBUFFER ? m->buffers[i] : 0;
        call->args[i].value =
            i < NBUFFER ? m->offsets[i] : bt_node_int(m->loops->graph, number);
        if (!call->args[i].value)
            return bt_loops_why(m->loops);
    }
    return NULL;
}

bt_status bt_loops_tensorize(bt_loops *loops, bt_stmt *nest, const bt_contract *contract)
{
    struct match m = { .loops = loops, .contract = contract };
    bt_stmt_place place;
    int64_t strides[6];
    bt_stmts call = { .len = 0 };
    BT_TRY(bt__loops_find_loop(loops, nest, &place));
    BT_TRY(find_nest(&m, nest));
    bt_status status = match_as(&m, 0, strides);
    if (status && status->code == BT_ERR_UNSUPPORTED && !match_as(&m, 1, strides))
        status = NULL;
    if (status)
        return status;
    BT_TRY(make_call(&m, strides, &call));
    return bt_stmts_replace(loops, place.block, place.at, &call) ? NULL
                                                                 : bt_loops_why(loops);
}
