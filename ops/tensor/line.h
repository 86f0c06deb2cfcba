/* One line of a tensor along an axis, as keys that can be compared and sorted. */
#ifndef LINE_H
#define LINE_H

#include <baton/op.h>

typedef union line_key {
    double f;
    int64_t i;
    uint64_t u;
} line_key;
typedef struct line {
    const bt_tensor *in;
    int64_t n, inner, nline; /* elements of a line; their stride; lines in the tensor */
    size_t nbytes;           /* of an element */
    uint32_t compare;        /* how keys compare: the class of dtype */
    int is_descending;
    line_key *keys;
    int64_t *order, *spare; /* after line_sort: positions, in order */
} line;

/* Memory comes from the context's scratch arena, which the caller marks and releases. */
bt_status line_init(bt_ctx *, line *, const bt_tensor *in, uint32_t axis,
                    int is_descending) BT_MUST_USE;
void line_load(line *, int64_t number);
/* Stable: equal keys keep their order. NaN is the greatest key. */
void line_sort(line *);
/* As after line_sort, but only the first k positions are in `order`. */
void line_choose(line *, int64_t k);
/* The position in a tensor whose lines have n elements, of element j of a line. */
int64_t line_at(const line *, int64_t number, int64_t n, int64_t j);
/* Below 0, 0 or above 0, by ascending order. */
int line_compare(const line *, const line_key *, const line_key *);
/* The key of an element of any tensor of this dtype. */
line_key line_key_at(const bt_tensor *, int64_t position);
uint32_t line_class(bt_dtype);

#endif
