/* Finding, walking and rewriting statements. */
#include "compute/loops/transform.h"

#include <string.h>

#include "base/arena.h"

/* ---- places ---- */

static int find_in(bt_stmts *block, const bt_stmt *stmt, struct bt__place around,
                   struct bt__place *out)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt_stmt *at = block->at[i];
        struct bt__place inside = around;
        if (at == stmt) {
            *out = around;
            out->block = block;
            out->at = i;
            return 1;
        }
        if (at->kind == BT_STMT_FOR)
            inside.open |= bt_index_bit(at->index);
        if (find_in(&at->body, stmt, inside, out) ||
            find_in(&at->otherwise, stmt, inside, out))
            return 1;
    }
    return 0;
}

bt_status bt__loops_refuse(const bt_loops *loops, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *why = bt__format_va(loops->arena, format, args);
    va_end(args);
    return why ? bt_fail(loops->ctx, BT_ERR_UNSUPPORTED, "%s: %s", loops->name, why)
               : bt_no_memory();
}

bt_status bt__loops_find_loop(bt_loops *loops, const bt_stmt *stmt, struct bt__place *out)
{
    if (!find_in(&loops->body, stmt, (struct bt__place){ .open = 0 }, out))
        return bt__loops_refuse(loops, "the loop is not one of these");
    return stmt->kind == BT_STMT_FOR
               ? NULL
               : bt__loops_refuse(loops, "the statement is no loop");
}

/* ---- expressions ---- */

int bt_stmt_walk(bt_stmt *stmt, bt_meet_fn *meet, void *self)
{
    const bt_node **slots[] = { &stmt->condition, &stmt->offset, &stmt->value,
                                &stmt->position };
    for (size_t i = 0; i < BT_COUNT(slots); i++) {
        if (*slots[i] && !meet(self, stmt, slots[i]))
            return 0;
    }
    for (uint32_t i = 0; i < stmt->narg; i++) {
        if (!meet(self, stmt, &stmt->args[i].value))
            return 0;
    }
    for (uint32_t i = 0; i < stmt->body.len; i++) {
        if (!bt_stmt_walk(stmt->body.at[i], meet, self))
            return 0;
    }
    for (uint32_t i = 0; i < stmt->otherwise.len; i++) {
        if (!bt_stmt_walk(stmt->otherwise.at[i], meet, self))
            return 0;
    }
    return 1;
}

struct making {
    bt_loops *loops;
    bt__change_fn *change;
    void *self;
    struct bt__edit *edit;
};

static int make_one(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct making *m = self;
    const bt_node *made = m->change(m->self, stmt, slot);
    return made && BT_PUSH(m->loops->arena, &m->edit->made, made);
}

bt_status bt__edit_make(bt_loops *loops, bt_stmt *stmt, bt__change_fn *change, void *self,
                        struct bt__edit *out)
{
    struct making m = { loops, change, self, out };
    *out = (struct bt__edit){ .at = 0 };
    return bt_stmt_walk(stmt, make_one, &m) ? NULL : bt_loops_why(loops);
}

static int swap_one(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct bt__edit *edit = self;
    const bt_node *was = *slot;
    (void)stmt;
    *slot = edit->made.at[edit->at];
    edit->made.at[edit->at++] = was;
    return 1;
}

void bt__edit_swap(bt_stmt *stmt, struct bt__edit *edit)
{
    edit->at = 0;
    bt_stmt_walk(stmt, swap_one, edit);
}

const bt_node *bt__change_index(void *self, const bt_stmt *stmt, const bt_node **slot)
{
    const struct bt__by_index *by = self;
    (void)stmt;
    return (*slot)->free & bt_index_bit(by->number)
               ? bt_node_substitute(by->graph, *slot, by->number, by->by)
               : *slot;
}

struct changing {
    const bt_by_node *by;
    const bt_node **memo; /* by id */
    uint32_t nmemo;
};

static const bt_node *change(struct changing *c, const bt_node *node)
{
    bt_loops *loops = c->by->loops;
    if (node->id < c->nmemo && c->memo[node->id])
        return c->memo[node->id];
    const bt_node **args = BT_NEWS(loops->arena, const bt_node *, node->narg);
    const bt_node *out = node;
    int differs = 0;
    if (!args)
        return NULL;
    for (uint32_t i = 0; i < node->narg; i++) {
        args[i] = change(c, node->args[i]);
        if (!args[i])
            return NULL;
        differs |= args[i] != node->args[i];
    }
    if (differs)
        out = bt_node_again(loops->graph, node, node->first, args);
    // what an argument has become in its place is done already
    if (out && out->kind == node->kind)
        out = c->by->replace(c->by->self, out);
    if (node->id < c->nmemo)
        c->memo[node->id] = out;
    return out;
}

const bt_node *bt_node_change(const bt_by_node *by, const bt_node *node)
{
    struct changing c = { .by = by, .nmemo = by->loops->graph->nnode };
    c.memo = BT_NEWS(by->loops->arena, const bt_node *, c.nmemo);
    return c.memo ? change(&c, node) : NULL;
}

/* ---- statements ---- */

int bt__stmt_has_parallel(const bt_stmt *stmt)
{
    if (stmt->kind == BT_STMT_FOR && stmt->is_parallel)
        return 1;
    for (uint32_t i = 0; i < stmt->body.len; i++) {
        if (bt__stmt_has_parallel(stmt->body.at[i]))
            return 1;
    }
    for (uint32_t i = 0; i < stmt->otherwise.len; i++) {
        if (bt__stmt_has_parallel(stmt->otherwise.at[i]))
            return 1;
    }
    return 0;
}

int bt_stmts_replace(bt_loops *loops, bt_stmts *block, uint32_t at, const bt_stmts *by)
{
    bt_stmts out = { .len = 0 };
    for (uint32_t i = 0; i < block->len; i++) {
        if (i != at && !BT_PUSH(loops->arena, &out, block->at[i]))
            return 0;
        for (uint32_t k = 0; i == at && k < by->len; k++) {
            if (!BT_PUSH(loops->arena, &out, by->at[k]))
                return 0;
        }
    }
    *block = out;
    return 1;
}
