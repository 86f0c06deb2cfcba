/* Every binding of a block and of the blocks nested in it, in order, without recursion.
 */
#ifndef IR_WALK_H
#define IR_WALK_H

#include <baton/ir.h>

struct bt__walk_frame {
    const bt_block *block;
    uint32_t next;   /* binding to visit */
    uint32_t region; /* of the binding before, to enter */
};

typedef struct bt__walk {
    bt_arena *arena;
    bt_vec(struct bt__walk_frame) stack;
    uint32_t failed; /* no memory: the walk ended early */
} bt__walk;

void bt__walk_begin(bt__walk *, bt_arena *, const bt_block *);
/* A binding comes before those of its regions. NULL: the end, or `failed`. */
const bt_value *bt__walk_next(bt__walk *);
/* The block that holds the binding visited last. */
const bt_block *bt__walk_block(const bt__walk *);

/* The globals that a value refers to besides its operands: attributes of kind function of
 * a call. Calls `visit` for each. */
typedef void bt__visit_operand(void *self, const bt_value *);
void bt__value_attr_operands(const bt_value *, bt__visit_operand *visit, void *self);

#endif
