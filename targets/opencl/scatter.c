/* Reductions whose terms address the elements that take them. */
#include "scatter.h"

/* The statement inside all loops and conditions that takes into a buffer; NULL: none does, or there
 * is more beside it that others see. */
static const bt_stmt *find_take(const bt_loops *loops, const bt_stmts *stmts, uint32_t *n)
{
    const bt_stmt *found = NULL;
    for (uint32_t i = 0; i < stmts->len; i++) {
        const bt_stmt *stmt = stmts->at[i], *inner = NULL;
        if ((stmt->kind == BT_STMT_TAKE || stmt->kind == BT_STMT_STORE) &&
            loops->roles.at[stmt->buffer] != BT_BUFFER_LOCAL) {
            ++*n;
            inner = stmt->kind == BT_STMT_TAKE ? stmt : NULL;
        }
        inner = inner ? inner : find_take(loops, &stmt->body, n);
        inner = inner ? inner : find_take(loops, &stmt->otherwise, n);
        found = inner ? inner : found;
    }
    return found;
}

static int has_atomic(const bt_loops *loops, const bt_stmt *take)
{
    const bt_dtype dtype = loops->graph->arrays[take->buffer]->dtype;
    return (dtype == BT_INT32 || dtype == BT_UINT32) &&
           (take->reducer == BT_REDUCER_SUM || take->reducer == BT_REDUCER_MAX ||
            take->reducer == BT_REDUCER_MIN);
}

bt_status ocl_scatter_of(bt_loops *loops, bt_stmt *nest, uint32_t *out)
{
    const bt_stmts alone = { .len = 1, .cap = 1, .at = &nest };
    uint32_t n = 0;
    const bt_stmt *take = find_take(loops, &alone, &n);
    *out = OCL_SCATTER_NONE;
    if (!take)
        return NULL;
    for (bt_stmt *at = nest; at && at->kind == BT_STMT_FOR;
         at = at->body.len ? at->body.at[at->body.len - 1] : NULL) {
        const bt_status status = bt_loops_parallel(loops, at);
        if (status && status->code != BT_ERR_UNSUPPORTED)
            return status;
        if (status)
            *out = n == 1 && has_atomic(loops, take) ? OCL_SCATTER_ATOMIC
                                                     : OCL_SCATTER_GATHER;
    }
    return NULL;
}
