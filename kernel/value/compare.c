/* Differences between two tensors. */
#include <math.h>
#include <string.h>

#include "value/elements.h"
#include "value/tensor.h"

/* The bits of a float as an integer in the order of the values; both zeros are 0. */
static int64_t ordered(bt_dtype dtype, const void *at)
{
    const uint64_t bits = bt__element_bits(dtype, at, 0);
    const uint64_t sign = UINT64_C(1) << (bt_dtype_nbits(dtype) - 1);
    return bits & sign ? -(int64_t)(bits ^ sign) : (int64_t)bits;
}

/* Steps of the type between two floats that are no NaN. */
static double ulps(bt_dtype dtype, const void *a, const void *b)
{
    int64_t x = ordered(dtype, a), y = ordered(dtype, b);
    return (double)(x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x);
}

/* |a - b|, of 64-bit integers without loss before the end. */
static double distance(bt_dtype dtype, const void *at_a, const void *at_b, double a,
                       double b)
{
    if (bt_dtype_is_float(dtype))
        return a == b ? 0 : fabs(a - b);
    int64_t x, y;
    bt__elements_to_int(dtype, at_a, 0, 1, 1, &x);
    bt__elements_to_int(dtype, at_b, 0, 1, 1, &y);
    int a_above = dtype == BT_UINT64 ? (uint64_t)x > (uint64_t)y : x > y;
    return (double)(a_above ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x);
}

static double ratio(double part, double whole)
{
    return part == 0 ? 0 : whole == 0 ? INFINITY : part / whole;
}

static void count_different(bt_tensor_difference *d, int64_t position)
{
    if (d->ndifferent++ == 0)
        d->first = position;
}

static void compare_element(bt_dtype dtype, const void *at_a, const void *at_b,
                            double relative, double absolute, int64_t position,
                            bt_tensor_difference *d)
{
    double a, b;
    bt__elements_to_double(dtype, at_a, 0, 1, 1, &a);
    bt__elements_to_double(dtype, at_b, 0, 1, 1, &b);
    if (isnan(a) && isnan(b))
        return;
    if (isnan(a) || isnan(b)) {
        count_different(d, position);
        d->max_absolute = d->max_relative = d->max_ulp = INFINITY;
        return;
    }
    double difference = distance(dtype, at_a, at_b, a, b);
    d->max_absolute = fmax(d->max_absolute, difference);
    // Of an infinity and a number the ratio is no number: nothing relates them.
    d->max_relative =
        fmax(d->max_relative, isinf(difference) ? INFINITY : ratio(difference, fabs(b)));
    if (bt_dtype_is_float(dtype))
        d->max_ulp = fmax(d->max_ulp, ulps(dtype, at_a, at_b));
    int overflows = isfinite(a) && isfinite(b) && isinf(difference);
    if (difference != 0 && ((isinf(difference) && !overflows) ||
                            !(difference <= absolute + relative * fabs(b))))
        count_different(d, position);
}

static bt_status check_types(bt_ctx *ctx, const bt_tensor *a, const bt_tensor *b)
{
    char name_a[BT_DTYPE_NAME_SIZE], name_b[BT_DTYPE_NAME_SIZE];
    if (a->dtype != b->dtype)
        return bt_fail(ctx, BT_ERR_TYPE, "compare: %s meets %s",
                       bt_dtype_name(a->dtype, name_a, sizeof(name_a)),
                       bt_dtype_name(b->dtype, name_b, sizeof(name_b)));
    if (a->rank != b->rank)
        return bt_fail(ctx, BT_ERR_TYPE, "compare: rank %u meets rank %u", a->rank,
                       b->rank);
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i])
            return bt_fail(ctx, BT_ERR_TYPE,
                           "compare: dimension %u is %lld in one and %lld in the other",
                           i, (long long)a->dims[i], (long long)b->dims[i]);
    }
    return NULL;
}

double bt_tensor_largest(const bt_tensor *tensor)
{
    double largest = 0;
    const bt_dtype part = bt__dtype_part(tensor->dtype);
    const uint32_t nparts = bt_dtype_nparts(tensor->dtype);
    for (int64_t i = 0; i < tensor->nelem; i++) {
        uint64_t cell[2];
        double sizes[2] = { 0 };
        bt__elements_to_double(part, bt__tensor_load(tensor, i, cell), 0, 1, nparts,
                               sizes);
        for (uint32_t k = 0; k < nparts; k++) {
            double size = fabs(sizes[k]);
            if (isfinite(size) && size > largest)
                largest = size;
        }
    }
    return largest;
}

bt_status bt_tensor_compare(bt_ctx *ctx, const bt_tensor *a, const bt_tensor *b,
                            double relative, double absolute, bt_tensor_difference *out)
{
    BT_TRY(check_types(ctx, a, b));
    bt_tensor_difference d = { .first = -1 };
    double largest = bt_tensor_largest(b);
    const bt_dtype part = bt__dtype_part(a->dtype);
    const uint32_t nparts = bt_dtype_nparts(a->dtype);
    const size_t nbytes = bt_dtype_nbytes(part);
    for (int64_t i = 0; i < a->nelem; i++) {
        uint64_t cells[2][2];
        const char *at_a = bt__tensor_load(a, i, cells[0]),
                   *at_b = bt__tensor_load(b, i, cells[1]);
        const int64_t ndifferent = d.ndifferent;
        for (uint32_t k = 0; k < nparts && d.ndifferent == ndifferent; k++)
            compare_element(part, at_a + k * nbytes, at_b + k * nbytes, relative,
                            absolute, i, &d);
    }
    d.max_to_largest = isinf(d.max_absolute) ? INFINITY : ratio(d.max_absolute, largest);
    *out = d;
    return NULL;
}
