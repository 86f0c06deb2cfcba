/*
 * Each element of the result is sum(k: weight[i, k] * x[base[i] + k]), where base and
 * weights follow from sizes alone: they are constants. Few taps are written as that many
 * reads; the many of an antialiasing filter as a product with a matrix.
 */
#include "resample.h"

#include <math.h>
#include <string.h>

enum { MAX_READS = 4, MAX_SIZE = 1 << 20, MAX_MATRIX = 1 << 24 };

/* The taps of all elements of the result. */
struct taps {
    uint32_t n;          /* of each element */
    int64_t *at;         /* [out, n]: positions, within the axis */
    double *weights;     /* [out, n] */
    uint8_t *is_outside; /* [out]: beyond the region */
};

/* ---- coordinates ---- */

static double source_position(const struct resample *r, int64_t i)
{
    const char *mode = r->coordinates;
    double x = (double)i, in = (double)r->in, width = r->scale * in,
           centre = (x + 0.5) / r->scale - 0.5;
    if (strcmp(mode, "half_pixel") == 0)
        return centre;
    if (strcmp(mode, "asymmetric") == 0)
        return x / r->scale;
    if (strcmp(mode, "tf_half_pixel_for_nn") == 0)
        return (x + 0.5) / r->scale;
    if (strcmp(mode, "align_corners") == 0)
        return width == 1 ? 0 : x * (in - 1) / (width - 1);
    if (strcmp(mode, "pytorch_half_pixel") == 0)
        return width == 1 ? -0.5 : centre;
    if (strcmp(mode, "half_pixel_symmetric") == 0)
        return in / 2 * (1 - (double)r->out / width) + centre;
    /* tf_crop_and_resize */
    if (r->out == 1)
        return (r->roi_end + r->roi_begin) * (in - 1) / 2;
    return r->roi_begin * (in - 1) +
           x * (r->roi_end - r->roi_begin) * (in - 1) / (width - 1);
}

static int is_known(const char *mode)
{
    static const char *const names[] = {
        "half_pixel",         "asymmetric",         "tf_half_pixel_for_nn",
        "align_corners",      "pytorch_half_pixel", "half_pixel_symmetric",
        "tf_crop_and_resize",
    };
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        if (strcmp(mode, names[i]) == 0)
            return 1;
    }
    return 0;
}

static double rounded(const char *mode, double x)
{
    if (strcmp(mode, "floor") == 0)
        return floor(x);
    if (strcmp(mode, "ceil") == 0)
        return ceil(x);
    if (strcmp(mode, "round_prefer_ceil") == 0)
        return floor(x + 0.5);
    return ceil(x - 0.5);
}

/* ---- weights ---- */

static double cubic_weight(double a, double x)
{
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double weight_at(const struct resample *r, double distance)
{
    double stretch = r->antialias && r->scale < 1 ? r->scale : 1;
    distance *= stretch;
    if (r->mode == RESAMPLE_CUBIC)
        return cubic_weight(r->cubic_a, distance);
    return fabs(distance) < 1 ? 1 - fabs(distance) : 0;
}

/* The first tap, counted from the element before the position; all lie symmetric about
 * it. */
static int64_t first_tap(const struct resample *r)
{
    double reach = r->mode == RESAMPLE_CUBIC ? 2 : 1;
    if (r->antialias && r->scale < 1)
        reach /= r->scale;
    return (int64_t)floor(-reach) + 1;
}

static int64_t within(int64_t at, int64_t size)
{
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static void find_row(const struct resample *r, double x, const struct taps *taps,
                     int64_t *at, double *weights)
{
    int64_t base = (int64_t)floor(x), first = first_tap(r);
    double sum = 0;
    if (r->mode == RESAMPLE_NEAREST) {
        at[0] = within((int64_t)rounded(r->rounding, x), r->in);
        weights[0] = 1;
        return;
    }
    for (uint32_t k = 0; k < taps->n; k++) {
        int64_t position = base + first + k;
        weights[k] = weight_at(r, (double)position - x);
        if (r->exclude_outside && (position < 0 || position >= r->in))
            weights[k] = 0;
        at[k] = within(position, r->in);
        sum += weights[k];
    }
    for (uint32_t k = 0; sum != 0 && k < taps->n; k++)
        weights[k] /= sum;
}

static int find_taps(bt_onnx_node *n, const struct resample *r, struct taps *taps)
{
    double ntap = r->mode == RESAMPLE_NEAREST ? 1 : 2 - 2 * (double)first_tap(r);
    if (r->in < 1 || r->out < 0 || r->out > MAX_SIZE || !(r->scale > 0) ||
        !isfinite(r->scale) || ntap > MAX_SIZE || ntap * (double)r->out > MAX_MATRIX)
        node_fail(n, BT_ERR_LIMIT, "an axis of %lld elements cannot be resized to %lld",
                  (long long)r->in, (long long)r->out);
    if (!is_known(r->coordinates))
        node_fail(n, BT_ERR_ATTRIBUTE, "coordinate_transformation_mode %s is not known",
                  r->coordinates);
    if (n->status)
        return 0;
    taps->n = (uint32_t)ntap;
    size_t count = (size_t)r->out * taps->n;
    taps->at = BT_NEWS(n->im->arena, int64_t, count);
    taps->weights = BT_NEWS(n->im->arena, double, count);
    taps->is_outside = BT_NEWS(n->im->arena, uint8_t, (size_t)r->out);
    if (!taps->at || !taps->weights || !taps->is_outside) {
        n->status = bt_no_memory();
        return 0;
    }
    for (int64_t i = 0; i < r->out; i++) {
        double x = source_position(r, i), end = (double)r->in - 1;
        taps->is_outside[i] = x < 0 || x > end;
        x = x < -1e9 ? -1e9 : x > 1e9 ? 1e9 : x;
        find_row(r, x, taps, taps->at + i * taps->n, taps->weights + i * taps->n);
    }
    return 1;
}

/* ---- building ---- */

/* Column k of the weights, as a vector along the axis. */
static const bt_value *weight_column(bt_onnx_node *n, const struct resample *r,
                                     const struct taps *taps, uint32_t k,
                                     const bt_value *like, uint32_t axis)
{
    bt_tensor *tensor = NULL;
    if (!n->status)
        n->status = bt_tensor_create(n->im->ctx, value_dtype(like), 1, &r->out, &tensor);
    for (int64_t i = 0; !n->status && i < r->out; i++)
        bt_tensor_set(tensor, i, taps->weights[i * taps->n + k]);
    return n->status ? NULL : along(n, emit_table(n, tensor), axis, value_rank(n, like));
}

static const bt_value *read_column(bt_onnx_node *n, const struct resample *r,
                                   const struct taps *taps, uint32_t k, const bt_value *x,
                                   uint32_t axis)
{
    int64_t *at = BT_NEWS(n->im->arena, int64_t, (size_t)r->out);
    if (!at)
        n->status = bt_no_memory();
    for (int64_t i = 0; !n->status && i < r->out; i++)
        at[i] = taps->at[i * taps->n + k];
    return n->status ? NULL
                     : emit2(n, "take", node_format(n, "axis=%u, mode=\"clip\"", axis), x,
                             emit_ints(n, (uint32_t)r->out, at));
}

static const bt_value *by_reads(bt_onnx_node *n, const struct resample *r,
                                const struct taps *taps, const bt_value *x, uint32_t axis)
{
    const bt_value *sum = NULL;
    for (uint32_t k = 0; k < taps->n; k++) {
        const bt_value *part = read_column(n, r, taps, k, x, axis);
        if (taps->n > 1)
            part = times(n, part, weight_column(n, r, taps, k, x, axis));
        sum = sum ? plus(n, sum, part) : part;
    }
    return sum;
}

static const bt_value *by_matrix(bt_onnx_node *n, const struct resample *r,
                                 const struct taps *taps, const bt_value *x,
                                 uint32_t axis)
{
    bt_tensor *tensor = NULL;
    uint32_t last = value_rank(n, x) - 1;
    if ((double)r->in * (double)r->out > MAX_MATRIX)
        node_fail(n, BT_ERR_LIMIT, "an axis of %lld elements cannot be resized to %lld",
                  (long long)r->in, (long long)r->out);
    if (!n->status)
        n->status = bt_tensor_create(n->im->ctx, value_dtype(x), 2,
                                     (int64_t[]){ r->out, r->in }, &tensor);
    if (n->status)
        return NULL;
    for (int64_t i = 0; i < r->out; i++) {
        for (uint32_t k = 0; k < taps->n; k++) {
            int64_t to = i * r->in + taps->at[i * taps->n + k];
            bt_tensor_set(tensor, to,
                          bt_tensor_get(tensor, to) + taps->weights[i * taps->n + k]);
        }
    }
    x = emit2(n, "nn.dense", NULL, axes_swapped(n, x, axis, last), emit_table(n, tensor));
    return axes_swapped(n, x, axis, last);
}

static const bt_value *extrapolated(bt_onnx_node *n, const struct resample *r,
                                    const struct taps *taps, const bt_value *x,
                                    uint32_t axis)
{
    bt_tensor *tensor = NULL;
    int any = 0;
    for (int64_t i = 0; i < r->out; i++)
        any |= taps->is_outside[i];
    if (!any || strcmp(r->coordinates, "tf_crop_and_resize") != 0 || n->status)
        return x;
    n->status = bt_tensor_create(n->im->ctx, BT_BOOL, 1, &r->out, &tensor);
    for (int64_t i = 0; !n->status && i < r->out; i++)
        bt_tensor_set_int(tensor, i, taps->is_outside[i]);
    if (n->status)
        return NULL;
    const bt_value *is_outside = along(n, emit_const(n, tensor), axis, value_rank(n, x));
    return chosen(n, is_outside, scalar_like(n, x, r->extrapolation), x);
}

static int is_identity(const struct resample *r, const struct taps *taps)
{
    for (int64_t i = 0; i < r->out; i++) {
        for (uint32_t k = 0; k < taps->n; k++) {
            if (taps->weights[i * taps->n + k] != (taps->at[i * taps->n + k] == i) &&
                taps->weights[i * taps->n + k] != 0)
                return 0;
        }
    }
    return r->in == r->out;
}

const bt_value *resampled(bt_onnx_node *n, const bt_value *x, uint32_t axis,
                          const struct resample *r)
{
    struct taps taps;
    if (n->status || !find_taps(n, r, &taps))
        return NULL;
    if (is_identity(r, &taps))
        return x;
    const bt_value *y = taps.n <= MAX_READS ? by_reads(n, r, &taps, x, axis)
                                            : by_matrix(n, r, &taps, x, axis);
    return extrapolated(n, r, &taps, y, axis);
}
