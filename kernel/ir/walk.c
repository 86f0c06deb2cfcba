/* Walking blocks and what they nest with a stack of our own. */
#include "ir/walk.h"

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

void bt__value_attr_operands(const bt_value *value, bt__visit_operand *visit, void *self)
{
    const bt_call *call = bt_as_call(value);
    if (!call || call->callee_kind != BT_CALLEE_OP || !call->op->attrs || !call->attrs)
        return;
    for (const bt_attr *row = call->op->attrs; row->name; row++) {
        if (row->kind != BT_ATTR_FUNC)
            continue;
        const bt_value *const *slot =
            (const bt_value *const *)(const void *)((const char *)call->attrs +
                                                    row->offset);
        if (*slot)
            visit(self, *slot);
    }
}
