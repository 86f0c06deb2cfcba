/* Every binding of a block and of the blocks nested in it, in order, without
 * recursion. */
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
/* The block that holds the binding visited last, and where. */
const bt_block *bt__walk_block(const bt__walk *);
uint32_t bt__walk_position(const bt__walk *);

/* Calls `visit` for everything that the bindings of a block and of those nested in it
 * use, in order: operands, globals in attributes, and results of blocks (then `user` is
 * the binding that owns the block, NULL for the outermost). Stops at a status. */
typedef bt_status bt__visit_use(void *self, const bt_value *user, const bt_value *used);
bt_status bt__walk_uses(bt_arena *, const bt_block *, bt__visit_use *,
                        void *self) BT_MUST_USE;
/* The same for one binding and the results of its regions. */
bt_status bt__value_uses(const bt_value *, bt__visit_use *, void *self) BT_MUST_USE;

/* What bt_block_births notes of one value (births.c). */
bt_status bt__value_births(bt_ctx *, bt_store *, const bt_value *,
                           bt_map *births) BT_MUST_USE;

/* Whether a closure of the group is used in the body of one of them. */
bt_status bt__group_is_recursive(bt_arena *, const bt_closure_group *,
                                 int *out) BT_MUST_USE;

#endif
