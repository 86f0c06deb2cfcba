#include "line.h"

enum { COMPARE_FLOAT, COMPARE_INT, COMPARE_UINT };

uint32_t line_class(bt_dtype dtype)
{
    uint32_t class_bit = 1u << BT_DTYPE_CLASS(dtype);
    if (class_bit & BT_CLASS_BITS_FLOAT)
        return COMPARE_FLOAT;
    return BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT ? COMPARE_UINT : COMPARE_INT;
}

bt_status line_init(bt_ctx *ctx, line *x, const bt_tensor *in, uint32_t axis,
                    int is_descending)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    *x = (line){ .in = in, .n = in->dims[axis], .inner = 1 };
    for (uint32_t k = axis + 1; k < in->rank; k++)
        x->inner *= in->dims[k];
    x->nline = x->n ? in->nelem / x->n : 0;
    x->nbytes = bt_dtype_nbytes(in->dtype);
    x->compare = line_class(in->dtype);
    x->is_descending = is_descending;
    x->keys = BT_NEWS(scratch, line_key, (size_t)x->n);
    x->order = BT_NEWS(scratch, int64_t, (size_t)x->n);
    x->spare = BT_NEWS(scratch, int64_t, (size_t)x->n);
    return x->keys && x->order && x->spare ? NULL : bt_no_memory();
}

line_key line_key_at(const bt_tensor *t, int64_t position)
{
    line_key key;
    if (line_class(t->dtype) == COMPARE_FLOAT)
        key.f = bt_tensor_get(t, position);
    else
        key.i = bt_tensor_get_int(t, position);
    return key;
}

int64_t line_at(const line *x, int64_t number, int64_t n, int64_t j)
{
    return number / x->inner * n * x->inner + j * x->inner + number % x->inner;
}

void line_load(line *x, int64_t number)
{
    const float *data = x->in->data;
    int64_t first = line_at(x, number, x->n, 0);
    for (int64_t j = 0; j < x->n; j++) {
        int64_t at = first + j * x->inner;
        if (x->in->dtype == BT_FLOAT32)
            x->keys[j].f = (double)data[at];
        else
            x->keys[j] = line_key_at(x->in, at);
        x->order[j] = j;
    }
}

int line_compare(const line *x, const line_key *a, const line_key *b)
{
    switch (x->compare) {
    case COMPARE_FLOAT:
        if (a->f != a->f || b->f != b->f)
            return (a->f != a->f) - (b->f != b->f);
        return (a->f > b->f) - (a->f < b->f);
    case COMPARE_UINT: return (a->u > b->u) - (a->u < b->u);
    default: return (a->i > b->i) - (a->i < b->i);
    }
}

/* Joins the sorted runs low..middle and middle..high of `from` in `to`. */
static void merge(const line *x, const int64_t *from, int64_t *to, int64_t low,
                  int64_t middle, int64_t high)
{
    int64_t a = low, b = middle;
    for (int64_t k = low; k < high; k++) {
        int take_a = a < middle;
        if (take_a && b < high) {
            int order = line_compare(x, &x->keys[from[a]], &x->keys[from[b]]);
            take_a = x->is_descending ? order >= 0 : order <= 0;
        }
        to[k] = take_a ? from[a++] : from[b++];
    }
}

void line_sort(line *x)
{
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

/* Whether a comes before b, which is the earlier one where they are equal. */
static int is_before(const line *x, const line_key *a, const line_key *b)
{
    int order = line_compare(x, a, b);
    return x->is_descending ? order > 0 : order < 0;
}

void line_choose(line *x, int64_t k)
{
    enum { MOST_CHOSEN = 128 };
    int64_t *chosen = x->order, n = 0;
    if (k > MOST_CHOSEN || k > x->n / 8) {
        line_sort(x);
        return;
    }
    for (int64_t j = 0; k > 0 && j < x->n; j++) {
        const line_key *key = &x->keys[j];
        if (n == k && !is_before(x, key, &x->keys[chosen[k - 1]]))
            continue;
        // the last one goes where there are enough; what comes after moves on
        int64_t at = n < k ? n++ : k - 1;
        for (; at > 0 && is_before(x, key, &x->keys[chosen[at - 1]]); at--)
            chosen[at] = chosen[at - 1];
        chosen[at] = j;
    }
}
