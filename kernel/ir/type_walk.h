/* Rebuilding a term with its leaves replaced: what substitution, opening and closing of
 * function types and copies between stores are made of. */
#ifndef IR_TYPE_WALK_H
#define IR_TYPE_WALK_H

#include "ir/type.h"

typedef struct bt__type_walk {
    bt_store *to;
    /* The new term for a VAR, HOLE, OPAQUE or BOUND, in a copy also an ADT; the leaf
     * itself to keep it. NULL: no memory, or refused. */
    const bt_type *(*leaf)(struct bt__type_walk *, const bt_type *leaf);
    void *state;
    uint32_t wanted;  /* BT_HAS_...: terms with none of these are kept as they are */
    uint32_t is_copy; /* from another store: nothing is kept */
    uint32_t is_each; /* leaves differ by occurrence: shared terms are walked each time */
    uint32_t depth;   /* function types with parameters around the present term */
    uint32_t nvisited;      /* terms so far: a small term is walked without a memo */
    bt_map *memo;           /* at depth 0; NULL: none */
    bt_vec(bt_map *) memos; /* by depth, in scratch memory */
} bt__type_walk;

/* The parts of a function type, its parameters replaced by these; depth is that of the
 * parts. */
const bt_type *bt__type_walk_func(bt__type_walk *, const bt_func_type *, uint32_t nparam,
                                  const bt_type_param *params);
/* A walk from depth 0, whose scratch memory is given back. */
const bt_type *bt__type_walk_run(bt__type_walk *, const bt_type *);
/* A term put below `by` more function types with parameters. */
const bt_type *bt__type_shift(bt_store *, const bt_type *, uint32_t by);

#endif
