/* What the parts of value/ share about tensors. */
#ifndef VALUE_TENSOR_H
#define VALUE_TENSOR_H

#include <baton/value.h>

/* Every tensor is one block: this head, dims, strides and, where it owns its data, the
 * data. */
struct bt__tensor {
    bt_tensor tensor;
    size_t nbytes;           /* of the block */
    void (*release)(void *); /* called with `foreign` when the tensor goes; may be NULL */
    void *foreign;
    int is_row_major;
    int64_t shape[]; /* dims, then strides */
};

/* Product of the dims.
 * errors  BT_ERR_ARGUMENT: rank, a negative dim; BT_ERR_LIMIT: more than limits.bytes, or
 *         than an address space. */
bt_status bt__tensor_check(bt_ctx *, bt_dtype, uint32_t rank, const int64_t *dims,
                           int64_t *nelem_out) BT_MUST_USE;

/* A tensor without data whose dims were checked; strides NULL: row major. NULL: no
 * memory. */
struct bt__tensor *bt__tensor_alloc(bt_ctx *, bt_dtype, uint32_t rank,
                                    const int64_t *dims, const int64_t *strides,
                                    int64_t nelem, size_t data_nbytes);

/* Where the element at a row-major position stands, in elements from element 0. */
int64_t bt__tensor_offset(const bt_tensor *, int64_t position);
/* An element copied to `cell`, where it is aligned: a tensor of a file need not be. What it does
 * not fill is 0. */
const void *bt__tensor_load(const bt_tensor *, int64_t position, uint64_t cell[2]);
int bt__tensor_is_aligned(const bt_tensor *);
/* Whether its bytes are those of a dense tensor, wherever they lie. */
int bt__tensor_is_row_major(const bt_tensor *);

/* The bytes from the first element in memory to behind the last one; both 0: there is none. `end`
 * is UINTPTR_MAX where they overflow. */
struct bt__bytes {
    uintptr_t start, end;
};
struct bt__bytes bt__tensor_bytes(const bt_tensor *);
static inline int bt__bytes_meet(struct bt__bytes a, struct bt__bytes b)
{
    return a.start < b.end && b.start < a.end;
}

/* Copies the elements of `from` in row-major order to `to`, which is dense and has as
 * many. */
void bt__tensor_copy(const bt_tensor *from, bt_tensor *to);
/* The bits behind the last element of a dense tensor become 0. */
void bt__tensor_trim(bt_tensor *);

#endif
