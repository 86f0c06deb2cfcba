/*
 * Loops over short rows as one over the elements of all rows:
 *
 *     for i0 in 96 {                               for i0 in 1344 {
 *         for i1 in 2 {                                for i1 in 2 {
 *             for i2 in 14 {                  ->           y[56*floordiv(i0, 14) + 2*mod(i0, 14) + i1] = ...
 *                 y[56*i0 + 2*i2 + i1] = ...           }
 *             }                                    }
 *         }
 *     }
 *
 * A row is too short for a strip, and neighbours along other loops are far from each other: strips
 * take whole rows then (load_rows, store_rows).
 */
#include "join.h"

#include <baton/scalar.h>

#include "primitives/callee.h"

enum { LONG_ROW = 128, LEAST_ROW = 4 };

struct join {
    bt_loops *loops;
    uint32_t rows, columns;      /* the indices of the two loops, ... */
    int64_t extent;              /* of the second one; ... */
    const bt_node *row, *column; /* ... what they are by the number of the element */
    const bt_node *element;
};

/* ---- which loops ---- */

/* Whether sums of floats begin outside of the block: their terms have an order. */
static int begins(const bt_stmts *block, uint32_t buffer)
{
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        if ((stmt->kind == BT_STMT_STORE && stmt->buffer == buffer) ||
            begins(&stmt->body, buffer) || begins(&stmt->otherwise, buffer))
            return 1;
    }
    return 0;
}

/* Whether a block may go along with any order of the loops around it: no sum of floats goes on in
 * it, and no call. */
static int is_free(const bt_stmts *whole, const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        if (stmt->kind == BT_STMT_CALL ||
            (stmt->kind == BT_STMT_TAKE && !begins(whole, stmt->buffer)) ||
            !is_free(whole, &stmt->body) || !is_free(whole, &stmt->otherwise))
            return 0;
    }
    return 1;
}

/* Of the loops that are the whole body of the one before, from `outer` on: the longest one whose
 * elements are short rows, all of which may be done in any order, and the one around it. NULL:
 * there is none. */
static bt_status find_columns(bt_loops *loops, bt_stmt *outer, bt_stmt **found,
                              bt_stmt **around)
{
    int64_t most = LEAST_ROW;
    *found = NULL;
    for (bt_stmt *loop = outer;; loop = loop->body.at[0]) {
        const bt_status status = bt_loops_lanes(loops, loop, NULL);
        if (status)
            return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
        if (loop->body.len != 1 || loop->body.at[0]->kind != BT_STMT_FOR)
            return NULL;
        bt_stmt *inner = loop->body.at[0];
        const int64_t extent = bt_node_number(inner->extent);
        const bt_status is_bound = bt_loops_lanes(loops, inner, NULL);
        if (is_bound)
            return is_bound->code == BT_ERR_UNSUPPORTED ? NULL : is_bound;
        if (extent >= most && extent < LONG_ROW && is_free(&inner->body, &inner->body)) {
            most = extent;
            *found = inner;
            *around = loop;
        }
    }
}

/* ---- one loop ---- */

/* columns*row + column is the element's number. */
static const bt_node *number_of(const struct join *j, const bt_node *sum)
{
    bt_linear l;
    int64_t of_row = 0, of_column = 0, whole;
    bt_node_as_linear(sum, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        of_row = l.atoms[i] == j->row ? l.coefs[i] : of_row;
        of_column = l.atoms[i] == j->column ? l.coefs[i] : of_column;
    }
    if (!of_column || !bt_mul_int64(of_column, j->extent, &whole) || whole != of_row)
        return sum;
    return bt_node_linear(j->loops->graph, 0, 4,
                          (const bt_node *[]){ sum, j->row, j->column, j->element },
                          (int64_t[]){ 1, -of_row, -of_column, of_column });
}

static const bt_node *replace(void *self, const bt_node *node)
{
    const struct join *j = self;
    if (node->kind == BT_NODE_LINEAR)
        return number_of(j, node);
    if (node->kind != BT_NODE_INDEX)
        return node;
    return node->which == j->columns ? j->column : node->which == j->rows ? j->row : node;
}

static int put_index(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct join *j = self;
    const bt_by_node by = { j->loops, replace, j };
    (void)stmt;
    *slot = bt_node_change(&by, *slot);
    return *slot != NULL;
}

static int join(bt_loops *loops, bt_stmt *outer, bt_stmt *inner, bt_stmt *around)
{
    bt_graph *g = loops->graph;
    struct join j = { .loops = loops, .rows = outer->index, .columns = inner->index };
    const bt_node *both = bt_node_scalar(g, BT_SCALAR_MUL, outer->extent, inner->extent);
    j.extent = bt_node_number(inner->extent);
    j.element = both ? bt_node_index(g, outer->index, both) : NULL;
    if (!j.element)
        return 0;
    j.row = bt_node_scalar(g, BT_SCALAR_FLOORDIV, j.element, inner->extent);
    j.column = bt_node_scalar(g, BT_SCALAR_MOD, j.element, inner->extent);
    around->body = inner->body;
    outer->extent = both;
    for (uint32_t i = 0; i < outer->body.len; i++) {
        if (!j.row || !j.column || !bt_stmt_walk(outer->body.at[i], put_index, &j))
            return 0;
    }
    return 1;
}

int cpu_join_rows(bt_loops *loops, uint32_t *njoined)
{
    for (uint32_t i = 0; i < loops->body.len; i++) {
        bt_stmt *outer = loops->body.at[i], *inner, *around;
        int64_t all;
        if (outer->kind != BT_STMT_FOR || bt_node_number(outer->extent) < 2)
            continue;
        const bt_status status = find_columns(loops, outer, &inner, &around);
        if (status)
            return 0;
        if (!inner || !bt_mul_int64(bt_node_number(outer->extent),
                                    bt_node_number(inner->extent), &all))
            continue;
        if (!join(loops, outer, inner, around))
            return 0;
        ++*njoined;
    }
    return 1;
}
