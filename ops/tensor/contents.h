/*
 * Symbolic contents: elements of small integer tensors as dims. A shape computed by
 * operators (shape_of, gather, concatenate, reshape) so keeps the names of its dims.
 */
#ifndef CONTENTS_H
#define CONTENTS_H

#include <baton/op.h>

enum { CONTENTS_MAX = 32 }; /* elements */

/* Known contents of an argument: n elements; n < 0 where only a run can tell. */
typedef struct contents {
    int64_t n;
    const bt_type *const *at;
} contents;

/* Whether an argument may have contents at all: rank 0 or 1, integers. */
int contents_possible(bt_solver *, const bt_relation_call *, uint32_t index);
/* The contents of an argument; n < 0, without waiting, where there can be none. */
bt_status contents_get(bt_solver *, const bt_relation_call *, uint32_t index,
                       contents *out) BT_MUST_USE;
/* The result, already stated, has the argument's elements in the same order. */
bt_status contents_copy(bt_solver *, const bt_relation_call *,
                        uint32_t index) BT_MUST_USE;
/* The result, already stated, has the elements of the fields of a tuple, one after
 * another. */
bt_status contents_join(bt_solver *, const bt_relation_call *,
                        uint32_t index) BT_MUST_USE;
/* An element that is a number: 1 and *out set. */
int contents_number(const contents *, int64_t position, int64_t *out);
/* Whether the dim has one value only in that dtype, or cannot be seen to wrap. */
int contents_fit(const bt_type *dim, bt_dtype);

#endif
