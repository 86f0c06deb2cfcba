/*
 * Whether a program is one that engines run: statements, expressions and calls are of the
 * kinds they know, strips have the arguments they take, and what can be known of offsets
 * is inside their buffers.
 */
#include "vectorise.h"
#include <inttypes.h>

struct checker {
    const bt_loops *loops;
    const struct cpu_config *config;
    uint64_t open; /* loops around */
};

static bt_status refuse(const struct checker *c, const char *what, const char *name)
{
    return bt_fail(c->loops->ctx, BT_ERR_VERIFY, "%s: %s: %s", c->loops->name, name,
                   what);
}

/* ---- expressions ---- */

static int is_integer_dtype(bt_dtype dtype)
{
    return BT_DTYPE_CLASS(dtype) == BT_CLASS_INT ||
           BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT || dtype == BT_BOOL;
}

static bt_status check_node(const struct checker *c, const bt_node *node,
                            const char *name)
{
    if (!is_integer_dtype(node->dtype))
        return refuse(c, "a float is not for engines", name);
    if (node->kind == BT_NODE_REDUCE)
        return refuse(c, "an expression has a reduction", name);
    if (node->kind == BT_NODE_INDEX && !(c->open & bt_index_bit(node->which)))
        return refuse(c, "an index is used outside of its loop", name);
    if (node->kind == BT_NODE_READ &&
        (node->which >= c->loops->graph->narray ||
         c->loops->graph->arrays[node->which].dtype != node->dtype))
        return refuse(c, "a read is not of the buffer's type", name);
    for (uint32_t i = 0; i < node->narg; i++)
        BT_TRY(check_node(c, node->args[i], name));
    return NULL;
}

/* ---- calls ---- */

static bt_status check_address(const struct checker *c, const bt_call_arg *arg,
                               const char *name)
{
    int64_t offset;
    if (arg->buffer >= c->loops->graph->narray)
        return refuse(c, "there is no such buffer", name);
    if (bt_node_is_const(arg->value, &offset) &&
        (offset < 0 || (bt_loops_nelem(c->loops, arg->buffer) >= 0 &&
                        offset >= bt_loops_nelem(c->loops, arg->buffer))))
        return refuse(c, "an address is outside of its buffer", name);
    return NULL;
}

/* Numbers may be written as bits. */
static int fits(const struct cpu_callee *row, uint32_t i, bt_dtype dtype)
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

static bt_status check_call(const struct checker *c, const bt_stmt *stmt)
{
    const struct cpu_callee *row = cpu_row_of(c->config, stmt->callee);
    const struct cpu_form *form = row ? cpu_form_of(row) : NULL;
    for (uint32_t i = 0; i < stmt->narg; i++) {
        BT_TRY(check_node(c, stmt->args[i].value, stmt->callee));
        if (stmt->args[i].is_address)
            BT_TRY(check_address(c, &stmt->args[i], stmt->callee));
    }
    if (!row)
        return refuse(c, "there is no such primitive", stmt->callee);
    if (stmt->narg != form->naddress + form->ninteger)
        return refuse(c, "it takes another number of arguments", stmt->callee);
    for (uint32_t i = 0; i < stmt->narg; i++) {
        const bt_call_arg *arg = &stmt->args[i];
        if (arg->is_address != (i < form->naddress))
            return refuse(c, "addresses come before integers", stmt->callee);
        if (i < form->nwritten && c->loops->roles.at[arg->buffer] == BT_BUFFER_INPUT)
            return refuse(c, "it writes an input", stmt->callee);
        if (i < form->naddress &&
            !fits(row, i, c->loops->graph->arrays[arg->buffer].dtype))
            return refuse(c, "an argument has another element type", stmt->callee);
    }
    return NULL;
}

/* ---- statements ---- */

static bt_status check_block(const struct checker *c, const bt_stmts *block, int is_top);

static bt_status check_for(const struct checker *c, const bt_stmt *stmt, int is_top)
{
    struct checker inner = *c;
    if (stmt->is_parallel && !is_top)
        return refuse(c, "a parallel loop stands inside something", "for");
    if (stmt->index >= BT_MAX_INDEX || (c->open & bt_index_bit(stmt->index)))
        return refuse(c, "two loops, one in the other, have one index", "for");
    inner.open |= bt_index_bit(stmt->index);
    return check_block(&inner, &stmt->body, 0);
}

static bt_status check_stmt(const struct checker *c, const bt_stmt *stmt, int is_top)
{
    switch (stmt->kind) {
    case BT_STMT_FOR: return check_for(c, stmt, is_top);
    case BT_STMT_IF:
        BT_TRY(check_node(c, stmt->condition, "if"));
        BT_TRY(check_block(c, &stmt->body, 0));
        return check_block(c, &stmt->otherwise, 0);
    case BT_STMT_CHECK: return check_node(c, stmt->condition, "check");
    case BT_STMT_CALL: return check_call(c, stmt);
    default: return refuse(c, "stores and takes are not for engines", "=");
    }
}

static bt_status check_block(const struct checker *c, const bt_stmts *block, int is_top)
{
    for (uint32_t i = 0; i < block->len; i++)
        BT_TRY(check_stmt(c, block->at[i], is_top));
    return NULL;
}

bt_status cpu_vectorised_check(const bt_loops *loops, const struct cpu_config *config)
{
    struct checker c = { .loops = loops, .config = config };
    return check_block(&c, &loops->body, 1);
}
