/* One line of a tensor along an axis, as keys that can be compared and sorted. */
#ifndef LINE_H
#define LINE_H

#include <baton/op.h>

typedef struct line {
    const bt_tensor *in;
    int64_t n, inner, nline; /* elements of a line; their stride; lines in the tensor */
    size_t nbytes;           /* of an element */
    int is_descending;
    int64_t k;              /* how many are put in order */
    int64_t *order, *spare; /* after line_sort: positions of the first k, in order */
    uint64_t *keys; /* less where an element comes before; as order, or by position */
} line;

/* Of each line the first k elements are asked for, at most as many as it has. Memory comes
 * from the context's scratch arena, which the caller marks and releases. */
bt_status line_init(bt_ctx *, line *, const bt_tensor *in, uint32_t axis,
                    int is_descending, int64_t k) BT_MUST_USE;
/* Makes `order` of a line. Stable: equal elements keep their order. */
void line_sort(line *, int64_t number);
/* The position in a tensor whose lines have n elements, of element j of a line. */
int64_t line_at(const line *, int64_t number, int64_t n, int64_t j);
/* The key of an element, ascending; keys of tensors of one dtype compare. NaN has the
 * greatest, both zeros the same. */
uint64_t line_key(const bt_tensor *, int64_t position);

#endif
