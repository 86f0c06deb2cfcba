/* Finding, walking, copying and rewriting statements. */
#include "compute/transform.h"

#include <string.h>

/* ---- places ---- */

static int find_in(bt__stmts *block, const bt__stmt *stmt, struct bt__place around,
                   struct bt__place *out)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt__stmt *at = block->at[i];
        struct bt__place inside = around;
        if (at == stmt) {
            *out = around;
            out->block = block;
            out->at = i;
            return 1;
        }
        if (at->kind == BT__STMT_FOR) {
            inside.open |= bt__index_bit(at->index);
            inside.is_in_parallel |= at->is_parallel;
        }
        if (find_in(&at->body, stmt, inside, out) ||
            find_in(&at->otherwise, stmt, inside, out))
            return 1;
    }
    return 0;
}

int bt__loops_find(struct bt__loops *loops, const bt__stmt *stmt, struct bt__place *out)
{
    return find_in(&loops->body, stmt, (struct bt__place){ .open = 0 }, out);
}

bt_status bt__loops_refuse(const struct bt__loops *loops, const char *format, ...)
{
    bt_text text;
    va_list args;
    bt_text_init(&text, loops->arena);
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    const char *why = bt_text_get(&text);
    return why ? bt_fail(loops->ctx, BT_ERR_UNSUPPORTED, "%s: %s", loops->name, why)
               : bt_no_memory();
}

bt_status bt__loops_find_loop(struct bt__loops *loops, const bt__stmt *stmt,
                              struct bt__place *out)
{
    if (!bt__loops_find(loops, stmt, out))
        return bt__loops_refuse(loops, "the loop is not in the program");
    return stmt->kind == BT__STMT_FOR
               ? NULL
               : bt__loops_refuse(loops, "the statement is no loop");
}

/* ---- expressions ---- */

int bt__stmt_walk(bt__stmt *stmt, bt__meet_fn *meet, void *self)
{
    const bt__node **slots[] = { &stmt->condition, &stmt->offset, &stmt->value,
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
        if (!bt__stmt_walk(stmt->body.at[i], meet, self))
            return 0;
    }
    for (uint32_t i = 0; i < stmt->otherwise.len; i++) {
        if (!bt__stmt_walk(stmt->otherwise.at[i], meet, self))
            return 0;
    }
    return 1;
}

struct making {
    struct bt__loops *loops;
    bt__change_fn *change;
    void *self;
    struct bt__edit *edit;
};

static int make_one(void *self, bt__stmt *stmt, const bt__node **slot)
{
    struct making *m = self;
    const bt__node *made = m->change(m->self, stmt, slot);
    return made && BT_PUSH(m->loops->arena, &m->edit->made, made);
}

bt_status bt__edit_make(struct bt__loops *loops, bt__stmt *stmt, bt__change_fn *change,
                        void *self, struct bt__edit *out)
{
    struct making m = { loops, change, self, out };
    *out = (struct bt__edit){ .at = 0 };
    return bt__stmt_walk(stmt, make_one, &m) ? NULL : bt__loops_why(loops);
}

static int swap_one(void *self, bt__stmt *stmt, const bt__node **slot)
{
    struct bt__edit *edit = self;
    const bt__node *was = *slot;
    (void)stmt;
    *slot = edit->made.at[edit->at];
    edit->made.at[edit->at++] = was;
    return 1;
}

void bt__edit_swap(bt__stmt *stmt, struct bt__edit *edit)
{
    edit->at = 0;
    bt__stmt_walk(stmt, swap_one, edit);
}

const bt__node *bt__change_index(void *self, const bt__stmt *stmt, const bt__node **slot)
{
    const struct bt__by_index *by = self;
    (void)stmt;
    return (*slot)->free & bt__index_bit(by->number)
               ? bt__node_substitute(by->graph, *slot, by->number, by->by)
               : *slot;
}

struct changing {
    const struct bt__by_node *by;
    const bt__node **memo; /* by id */
    uint32_t nmemo;
};

static const bt__node *change(struct changing *c, const bt__node *node)
{
    struct bt__loops *loops = c->by->loops;
    if (node->id < c->nmemo && c->memo[node->id])
        return c->memo[node->id];
    const bt__node **args = BT_NEWS(loops->arena, const bt__node *, node->narg);
    const bt__node *out = node;
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
        out = bt__node_again(loops->graph, node, node->first, args);
    // what an argument has become in its place is done already
    if (out && out->kind == node->kind)
        out = c->by->replace(c->by->self, out);
    if (node->id < c->nmemo)
        c->memo[node->id] = out;
    return out;
}

const bt__node *bt__node_change(const struct bt__by_node *by, const bt__node *node)
{
    struct changing c = { .by = by, .nmemo = by->loops->graph->nnode };
    c.memo = BT_NEWS(by->loops->arena, const bt__node *, c.nmemo);
    return c.memo ? change(&c, node) : NULL;
}

/* ---- statements ---- */

static int copy_block(struct bt__loops *loops, const bt__stmts *from, bt__stmts *to)
{
    *to = (bt__stmts){ .len = 0 };
    for (uint32_t i = 0; i < from->len; i++) {
        bt__stmt *copy = bt__stmt_copy(loops, from->at[i]);
        if (!copy || !BT_PUSH(loops->arena, to, copy))
            return 0;
    }
    return 1;
}

bt__stmt *bt__stmt_copy(struct bt__loops *loops, const bt__stmt *stmt)
{
    bt__stmt *copy = BT_NEW(loops->arena, bt__stmt);
    if (!copy)
        return NULL;
    *copy = *stmt;
    copy->args = BT_NEWS(loops->arena, struct bt__call_arg, stmt->narg);
    if (!copy->args || !copy_block(loops, &stmt->body, &copy->body) ||
        !copy_block(loops, &stmt->otherwise, &copy->otherwise))
        return NULL;
    if (stmt->narg)
        memcpy(copy->args, stmt->args, stmt->narg * sizeof(*stmt->args));
    return copy;
}

uint64_t bt__stmt_indices(const bt__stmt *stmt)
{
    uint64_t set = stmt->kind == BT__STMT_FOR ? bt__index_bit(stmt->index) : 0;
    for (uint32_t i = 0; i < stmt->body.len; i++)
        set |= bt__stmt_indices(stmt->body.at[i]);
    for (uint32_t i = 0; i < stmt->otherwise.len; i++)
        set |= bt__stmt_indices(stmt->otherwise.at[i]);
    return set;
}

int bt__stmt_has_parallel(const bt__stmt *stmt)
{
    if (stmt->kind == BT__STMT_FOR && stmt->is_parallel)
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

int bt__index_unused(uint64_t used)
{
    for (int i = 0; i < BT__MAX_INDEX; i++) {
        if (!(used & bt__index_bit((uint32_t)i)))
            return i;
    }
    return -1;
}

int bt__stmts_replace(struct bt__loops *loops, bt__stmts *block, uint32_t at,
                      const bt__stmts *by)
{
    bt__stmts out = { .len = 0 };
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
