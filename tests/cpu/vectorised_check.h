/*
 * Whether a program is one that engines run: statements, expressions and calls are of the
 * kinds they know, strips have the arguments they take, and what can be known of offsets
 * is inside their buffers.
 */
#ifndef VECTORISED_CHECK_H
#define VECTORISED_CHECK_H

#include "schedule/vectorise.h"

struct vectorised {
    const bt_loops *loops;
    const struct cpu_config *config;
    uint64_t open; /* loops around */
};

static inline bt_status check_refuse(const struct vectorised *c, const char *what,
                                     const char *name)
{
    return bt_fail(c->loops->ctx, BT_ERR_VERIFY, "%s: %s: %s", c->loops->name, name,
                   what);
}

/* ---- expressions ---- */

static inline int is_integer_dtype(bt_dtype dtype)
{
    return BT_DTYPE_CLASS(dtype) == BT_CLASS_INT ||
           BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT || dtype == BT_BOOL;
}

static inline bt_status check_node(const struct vectorised *c, const bt_node *expression,
                                   const char *name)
{
    if (!is_integer_dtype(expression->dtype))
        return check_refuse(c, "a float is not for engines", name);
    if (expression->kind == BT_NODE_REDUCE)
        return check_refuse(c, "an expression has a reduction", name);
    if (expression->kind == BT_NODE_INDEX && !(c->open & bt_index_bit(expression->which)))
        return check_refuse(c, "an index is used outside of its loop", name);
    if (expression->kind == BT_NODE_READ &&
        (expression->which >= c->loops->graph->narray ||
         c->loops->graph->arrays[expression->which]->dtype != expression->dtype))
        return check_refuse(c, "a read is not of the buffer's type", name);
    for (uint32_t i = 0; i < expression->narg; i++)
        BT_TRY(check_node(c, expression->args[i], name));
    return NULL;
}

/* ---- calls ---- */

static inline bt_status check_address(const struct vectorised *c, const bt_call_arg *arg,
                                      const char *name)
{
    int64_t offset;
    if (arg->buffer >= c->loops->graph->narray)
        return check_refuse(c, "there is no such buffer", name);
    if (bt_node_is_const(arg->value, &offset) &&
        (offset < 0 || (bt_loops_nelem(c->loops, arg->buffer) >= 0 &&
                        offset >= bt_loops_nelem(c->loops, arg->buffer))))
        return check_refuse(c, "an address is outside of its buffer", name);
    return NULL;
}

/* Numbers may be written as bits. */
static inline int fits(const struct cpu_callee *row, uint32_t i, bt_dtype dtype)
{
    switch (cpu_form_of(row)->operands[i].element) {
    case CPU_OUT: return dtype == row->out;
    case CPU_IN: return dtype == row->in;
    case CPU_WIDTH: return bt_dtype_nbytes(dtype) == bt_dtype_nbytes(row->out);
    case CPU_MASK: return dtype == BT_BOOL;
    case CPU_POSITION: return dtype == BT_INT64;
    default: return 1;
    }
}

static inline bt_status check_call(const struct vectorised *c, const bt_stmt *stmt)
{
    const struct cpu_callee *row = cpu_row_of(c->config, stmt->callee);
    const struct cpu_form *form = row ? cpu_form_of(row) : NULL;
    for (uint32_t i = 0; i < stmt->narg; i++) {
        BT_TRY(check_node(c, stmt->args[i].value, stmt->callee));
        if (stmt->args[i].is_address)
            BT_TRY(check_address(c, &stmt->args[i], stmt->callee));
    }
    if (!row)
        return check_refuse(c, "there is no such primitive", stmt->callee);
    if (stmt->narg != form->naddress + form->ninteger)
        return check_refuse(c, "it takes another number of arguments", stmt->callee);
    for (uint32_t i = 0; i < stmt->narg; i++) {
        const bt_call_arg *arg = &stmt->args[i];
        if (arg->is_address != (i < form->naddress))
            return check_refuse(c, "addresses come before integers", stmt->callee);
        if (i < form->nwritten && c->loops->roles.at[arg->buffer] == BT_BUFFER_INPUT)
            return check_refuse(c, "it writes an input", stmt->callee);
        if (i < form->naddress &&
            !fits(row, i, c->loops->graph->arrays[arg->buffer]->dtype))
            return check_refuse(c, "an argument has another element type", stmt->callee);
    }
    return NULL;
}

/* ---- statements ---- */

static inline bt_status check_block(const struct vectorised *c, const bt_stmts *block,
                                    int is_top);

static inline bt_status check_for(const struct vectorised *c, const bt_stmt *stmt,
                                  int is_top)
{
    struct vectorised inner = *c;
    if (stmt->is_parallel && !is_top)
        return check_refuse(c, "a parallel loop stands inside something", "for");
    if (stmt->index >= BT_MAX_INDEX || (c->open & bt_index_bit(stmt->index)))
        return check_refuse(c, "two loops, one in the other, have one index", "for");
    inner.open |= bt_index_bit(stmt->index);
    return check_block(&inner, &stmt->body, 0);
}

static inline bt_status check_stmt(const struct vectorised *c, const bt_stmt *stmt,
                                   int is_top)
{
    switch (stmt->kind) {
    case BT_STMT_FOR: return check_for(c, stmt, is_top);
    case BT_STMT_IF:
        BT_TRY(check_node(c, stmt->condition, "if"));
        BT_TRY(check_block(c, &stmt->body, 0));
        return check_block(c, &stmt->otherwise, 0);
    case BT_STMT_CHECK: return check_node(c, stmt->condition, "check");
    case BT_STMT_CALL: return check_call(c, stmt);
    default: return check_refuse(c, "stores and takes are not for engines", "=");
    }
}

static inline bt_status check_block(const struct vectorised *c, const bt_stmts *block,
                                    int is_top)
{
    for (uint32_t i = 0; i < block->len; i++)
        BT_TRY(check_stmt(c, block->at[i], is_top));
    return NULL;
}

static inline bt_status check_vectorised(const bt_loops *loops,
                                         const struct cpu_config *config)
{
    struct vectorised c = { .loops = loops, .config = config };
    return check_block(&c, &loops->body, 1);
}

#endif
