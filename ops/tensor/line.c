#include "line.h"

#include <string.h>

/* The bits of a float ascend as it does once those of negative ones are turned round. */
static uint64_t key_of_double(double x)
{
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;
    if (x != x)
        return UINT64_MAX;
    x += 0.0; // of -0 it makes 0
    memcpy(&bits, &x, sizeof(bits));
    return bits & sign ? ~bits : bits | sign;
}

static uint64_t key_of_float(float x)
{
    const uint32_t sign = (uint32_t)1 << 31;
    uint32_t bits;
    x += 0.0f;
    memcpy(&bits, &x, sizeof(bits));
    bits = bits & sign ? ~bits : bits | sign;
    return x != x ? UINT64_MAX : bits;
}

uint64_t line_key(const bt_tensor *t, int64_t position)
{
    const uint32_t class_bit = 1u << BT_DTYPE_CLASS(t->dtype);
    if (t->dtype == BT_FLOAT32)
        return key_of_float(((const float *)t->data)[position]);
    if (class_bit & BT_CLASS_BITS_FLOAT)
        return key_of_double(bt_tensor_get(t, position));
    uint64_t key = (uint64_t)bt_tensor_get_int(t, position);
    return BT_DTYPE_CLASS(t->dtype) == BT_CLASS_UINT ? key : key ^ (uint64_t)1 << 63;
}

bt_status line_init(bt_ctx *ctx, line *x, const bt_tensor *in, uint32_t axis,
                    int is_descending, int64_t k)
{
    enum { MOST_CHOSEN = 128 };
    bt_arena *scratch = bt_ctx_scratch(ctx);
    *x = (line){ .in = in, .n = in->dims[axis], .inner = 1 };
    for (uint32_t i = axis + 1; i < in->rank; i++)
        x->inner *= in->dims[i];
    x->nline = x->n ? in->nelem / x->n : 0;
    x->nbytes = bt_dtype_nbytes(in->dtype);
    x->is_descending = is_descending;
    // a few of many are chosen; else all are sorted
    x->k = k <= MOST_CHOSEN && k <= x->n / 8 ? k : x->n;
    x->keys = BT_NEWS(scratch, uint64_t, (size_t)x->k);
    x->order = BT_NEWS(scratch, int64_t, (size_t)x->k);
    x->spare = BT_NEWS(scratch, int64_t, (size_t)x->k);
    return x->keys && x->order && x->spare ? NULL : bt_no_memory();
}

int64_t line_at(const line *x, int64_t number, int64_t n, int64_t j)
{
    return number / x->inner * n * x->inner + j * x->inner + number % x->inner;
}

/* The key of element j of the line that begins at `first`. */
static inline uint64_t key_at(const line *x, int64_t first, int64_t j, int is_float)
{
    const uint64_t turn = x->is_descending ? UINT64_MAX : 0;
    const int64_t at = first + j * x->inner;
    return turn ^ (is_float ? key_of_float(((const float *)x->in->data)[at])
                            : line_key(x->in, at));
}

/* Joins the sorted runs low..middle and middle..high of `from` in `to`. */
static void merge(const line *x, const int64_t *from, int64_t *to, int64_t low,
                  int64_t middle, int64_t high)
{
    int64_t a = low, b = middle;
    for (int64_t k = low; k < high; k++) {
        int take_a = a < middle && (b >= high || x->keys[from[a]] <= x->keys[from[b]]);
        to[k] = take_a ? from[a++] : from[b++];
    }
}

static void sort(line *x, int64_t first)
{
    for (int64_t j = 0; j < x->n; j++) {
        x->keys[j] = key_at(x, first, j, x->in->dtype == BT_FLOAT32);
        x->order[j] = j;
    }
    for (int64_t width = 1; width < x->n; width *= 2) {
        for (int64_t low = 0; low < x->n; low += 2 * width) {
            int64_t middle = low + width < x->n ? low + width : x->n;
            int64_t high = middle + width < x->n ? middle + width : x->n;
            merge(x, x->order, x->spare, low, middle, high);
        }
        int64_t *sorted = x->spare;
        x->spare = x->order;
        x->order = sorted;
    }
}

/* The first k, kept in order while the line goes by; few elements are among them. */
static inline void choose(line *x, int64_t first, int is_float)
{
    int64_t n = 0;
    for (int64_t j = 0; x->k > 0 && j < x->n; j++) {
        const uint64_t key = key_at(x, first, j, is_float);
        if (n == x->k && key >= x->keys[n - 1])
            continue;
        // the last one goes where there are enough; what comes after moves on
        int64_t at = n < x->k ? n++ : n - 1;
        for (; at > 0 && key < x->keys[at - 1]; at--) {
            x->keys[at] = x->keys[at - 1];
            x->order[at] = x->order[at - 1];
        }
        x->keys[at] = key;
        x->order[at] = j;
    }
}

void line_sort(line *x, int64_t number)
{
    const int64_t first = line_at(x, number, x->n, 0);
    if (x->k == x->n)
        sort(x, first);
    else if (x->in->dtype == BT_FLOAT32)
        choose(x, first, 1); // the most frequent type: none is asked for at each element
    else
        choose(x, first, 0);
}
