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
