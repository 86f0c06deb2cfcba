/*
 * Which bindings compute the same value: equal calls, tuples and projections of equal
 * operands. Equal constants are one operand, wherever they stand.
 */
#ifndef PASSES_COMMON_EQUALITY_H
#define PASSES_COMMON_EQUALITY_H

#include <baton/pass.h>

enum { EQUALITY_NCONST_SLOT = 1 << 10 };

struct equality {
    bt_arena *arena;
    bt_map leaders; /* binding -> the earlier binding that stands for it */
    bt_map keys;    /* a constant's object -> that of the first equal one */
    struct equality_const *consts[EQUALITY_NCONST_SLOT];
};

void equality_init(struct equality *, bt_arena *);
/* The binding that stands for this one; itself where none does. */
const bt_value *equality_leader(const struct equality *, const bt_value *);
/* From now on `first` stands for `value`. */
bt_status equality_follow(struct equality *, const bt_value *value,
                          const bt_value *first) BT_MUST_USE;
/* To be called for each binding before it is hashed or compared. */
bt_status equality_learn(struct equality *, const bt_value *) BT_MUST_USE;
uint32_t equality_hash(const struct equality *, const bt_value *);
/* Two bindings without regions. */
int equality_holds(const struct equality *, const bt_value *, const bt_value *);

#endif
