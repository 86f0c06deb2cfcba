/* Walking blocks and what they nest with a stack of our own. */
#include "ir/walk.h"

#include <string.h>

#include <baton/op.h>

static void enter(bt__walk *walk, const bt_block *block)
{
    struct bt__walk_frame frame = { .block = block };
    if (!BT_PUSH(walk->arena, &walk->stack, frame))
        walk->failed = 1;
}

void bt__walk_begin(bt__walk *walk, bt_arena *arena, const bt_block *block)
{
    *walk = (bt__walk){ .arena = arena };
    enter(walk, block);
}

/* The next region of the binding that the top frame visited last; NULL: none is left. */
static const bt_block *next_region(struct bt__walk_frame *top)
{
    if (top->next == 0)
        return NULL;
    const bt_value *last = top->block->bindings[top->next - 1];
    return top->region < bt_value_nregion(last) ? bt_value_region(last, top->region++)
                                                : NULL;
}

const bt_value *bt__walk_next(bt__walk *walk)
{
    while (walk->stack.len && !walk->failed) {
        struct bt__walk_frame *top = &walk->stack.at[walk->stack.len - 1];
        const bt_block *region = next_region(top);
        if (region) {
            enter(walk, region);
        } else if (top->next < top->block->nbinding) {
            top->region = 0;
            return top->block->bindings[top->next++];
        } else {
            walk->stack.len--;
        }
    }
    return NULL;
}

const bt_block *bt__walk_block(const bt__walk *walk)
{
    return walk->stack.at[walk->stack.len - 1].block;
}

uint32_t bt__walk_position(const bt__walk *walk)
{
    return walk->stack.at[walk->stack.len - 1].next - 1;
}

/* The list is its own queue. */
bt_status bt_block_nested(bt_arena *arena, const bt_block *block, bt_blocks *out)
{
    uint32_t at = out->len;
    if (!BT_PUSH(arena, out, block))
        return bt_no_memory();
    for (; at < out->len; at++) {
        block = out->at[at];
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *value = block->bindings[i];
            for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
                if (!BT_PUSH(arena, out, bt_value_region(value, k)))
                    return bt_no_memory();
            }
        }
    }
    return NULL;
}

/* The globals in attributes of kind function. */
static bt_status attr_uses(const bt_value *value, bt__visit_use *visit, void *self)
{
    const bt_call *call = bt_as_call(value);
    if (!call || call->callee_kind != BT_CALLEE_OP || !call->op->attrs || !call->attrs)
        return NULL;
    for (const bt_attr *row = call->op->attrs; row->name; row++) {
        const bt_value *used = NULL;
        if (row->kind == BT_ATTR_FUNC)
            memcpy(&used, (const char *)call->attrs + row->offset, sizeof(used));
        if (used)
            BT_TRY(visit(self, value, used));
    }
    return NULL;
}

bt_status bt__value_uses(const bt_value *value, bt__visit_use *visit, void *self)
{
    uint32_t n = bt_value_noperand(value);
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(visit(self, value, bt_value_operand(value, i)));
    BT_TRY(attr_uses(value, visit, self));
    n = bt_value_nregion(value);
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(visit(self, value, bt_value_region(value, i)->result));
    return NULL;
}

bt_status bt__walk_uses(bt_arena *arena, const bt_block *block, bt__visit_use *visit,
                        void *self)
{
    bt__walk walk;
    const bt_value *value;
    bt__walk_begin(&walk, arena, block);
    while ((value = bt__walk_next(&walk)))
        BT_TRY(bt__value_uses(value, visit, self));
    if (walk.failed)
        return bt_no_memory();
    return visit(self, NULL, block->result);
}

struct group_visit {
    const bt_closure_group *group;
    int is_recursive;
};

static bt_status visit_member(void *self, const bt_value *user, const bt_value *used)
{
    struct group_visit *visit = self;
    const bt_closure_value *closure = bt_as_closure(used);
    (void)user;
    if (closure && closure->group == visit->group)
        visit->is_recursive = 1;
    return NULL;
}

bt_status bt__group_is_recursive(bt_arena *arena, const bt_closure_group *group, int *out)
{
    struct group_visit visit = { .group = group };
    for (uint32_t i = 0; i < group->n && !visit.is_recursive; i++)
        BT_TRY(bt__walk_uses(arena, group->at[i]->func->block, visit_member, &visit));
    *out = visit.is_recursive;
    return NULL;
}
