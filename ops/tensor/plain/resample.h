#include "elements.h"

/* a / b as a whole number, rounded down; b is above 0. */
static inline int64_t plain_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* A real number rounded down; one that is far beyond all positions, to a position as far. */
static inline int64_t plain_floor(double a)
{
    const int64_t i = bt_double_to_int(a, -INT64_MAX / 4, INT64_MAX / 4);
    return i - ((double)i > a);
}

/* To the nearest whole number, halves to the even one. */
static inline double plain_round_even(double a)
{
    const double size = a < 0 ? -a : a;
    const int64_t below = bt_double_to_int(size, 0, INT64_MAX);
    const double rest = size - (double)below;
    double rounded = (double)below;
    if (!(size < 0x1p52))
        return a;
    rounded += rest > 0.5 || (rest == 0.5 && (below & 1));
    return a < 0 ? -rounded : rounded;
}

/* How an image is resampled: numbers of attrs, and what stands there. */
enum {
    RESAMPLE_METHOD,
    RESAMPLE_MODE,
    RESAMPLE_ROUNDING,
    RESAMPLE_EXCLUDES, /* 1: of cubic, elements beyond the edge have no weight */
    RESAMPLE_ALPHA,    /* of cubic; bits of a double */
    RESAMPLE_BEYOND,   /* what stands beyond data where it is cropped; the same */
    RESAMPLE_NSPACE,   /* axes of space, which follow */
    RESAMPLE_AXES
};
enum { RESAMPLE_NEAREST, RESAMPLE_LINEAR, RESAMPLE_CUBIC };
enum {
    RESAMPLE_HALF_PIXEL,
    RESAMPLE_CORNERS,
    RESAMPLE_ASYMMETRIC,
    RESAMPLE_PYTORCH,
    RESAMPLE_HALF_FOR_NN,
    RESAMPLE_CROP
};
enum { RESAMPLE_FLOOR, RESAMPLE_CEIL, RESAMPLE_PREFER_FLOOR, RESAMPLE_PREFER_CEIL };
/* Where an element of the result lies along an axis of data: at over / under, or at `real`
 * where data is cropped. */
typedef struct plain_coordinate {
    int64_t over, under;
    double real;
} plain_coordinate;
/* Of element p of `out`, in an axis of `in` elements of which a region is meant. */
static inline plain_coordinate plain_coordinate_of(int64_t mode, int64_t p, int64_t in,
                                                   int64_t out, double start, double end)
{
    plain_coordinate c = { p * in, out, 0 };
    if (mode == RESAMPLE_CORNERS) {
        c.over = p * (in - 1);
        c.under = out > 1 ? out - 1 : 1;
    } else if (mode == RESAMPLE_CROP) {
        c.real = (double)(in - 1) *
                 (out > 1 ? start + (double)p * (end - start) / (double)(out - 1)
                          : 0.5 * (start + end));
    } else if (mode != RESAMPLE_ASYMMETRIC) {
        c.over = (2 * p + 1) * in - (mode == RESAMPLE_HALF_FOR_NN ? 0 : out);
        c.under = 2 * out;
        if (mode == RESAMPLE_PYTORCH && out == 1)
            c.over = 0;
    }
    return c;
}

/* The nearest element. */
static inline int64_t plain_nearest(const plain_coordinate *c, int64_t mode,
                                    int64_t rounding)
{
    const int is_crop = mode == RESAMPLE_CROP;
    switch (rounding) {
    case RESAMPLE_FLOOR:
        return is_crop ? plain_floor(c->real) : plain_floor_div(c->over, c->under);
    case RESAMPLE_CEIL:
        return is_crop ? -plain_floor(-c->real) : -plain_floor_div(-c->over, c->under);
    case RESAMPLE_PREFER_FLOOR:
        return is_crop ? -plain_floor(0.5 - c->real)
                       : -plain_floor_div(c->under - 2 * c->over, 2 * c->under);
    default:
        return is_crop ? plain_floor(c->real + 0.5)
                       : plain_floor_div(2 * c->over + c->under, 2 * c->under);
    }
}

/* Elements along an axis of data of which one of the result is made, and their weights. */
typedef struct plain_taps {
    int64_t n, at[4];
    double weights[4];
    int is_outside;
} plain_taps;
/* Of cubic, f above an element; `beyond[k]`: tap k counts for nothing.
 * source  Keys 1981 */
static inline void plain_cubic(double c, double f, const int *beyond, double *weights)
{
    double all = 0;
    int k;
    weights[0] = c * ((f - 2) * f + 1) * f;
    weights[1] = ((c + 2) * f - c - 3) * f * f + 1;
    weights[2] = ((3 + 2 * c - (c + 2) * f) * f - c) * f;
    weights[3] = c * (1 - f) * f * f;
    if (!beyond)
        return;
    for (k = 0; k < 4; k++) {
        weights[k] = beyond[k] ? 0 : weights[k];
        all += weights[k];
    }
    for (k = 0; k < 4; k++)
        weights[k] /= all;
}

/* Of element p along an axis of space; roi: where the region begins and ends, as shares. */
static inline plain_taps plain_taps_of(const bt_plain_call *call, int64_t space,
                                       int64_t p, const double *roi)
{
    const int64_t *attrs = call->attrs, axis = attrs[RESAMPLE_AXES + space];
    const int64_t n = call->in->dims[axis], method = attrs[RESAMPLE_METHOD];
    const plain_coordinate c =
        plain_coordinate_of(attrs[RESAMPLE_MODE], p, n, call->out->dims[axis], roi[space],
                            roi[space + attrs[RESAMPLE_NSPACE]]);
    const int is_crop = attrs[RESAMPLE_MODE] == RESAMPLE_CROP;
    const int64_t base = is_crop ? plain_floor(c.real) : plain_floor_div(c.over, c.under);
    const double f = is_crop ? c.real - (double)base
                             : (double)(c.over - base * c.under) / (double)c.under;
    plain_taps taps = { 1, { 0 }, { 1 }, 0 };
    int beyond[4];
    int64_t k;
    taps.is_outside = is_crop && (c.real < 0 || c.real > (double)(n - 1));
    taps.n = method == RESAMPLE_NEAREST ? 1 : method == RESAMPLE_LINEAR ? 2 : 4;
    for (k = 0; k < taps.n; k++) {
        const int64_t at = taps.n == 1 ? plain_nearest(&c, attrs[RESAMPLE_MODE],
                                                       attrs[RESAMPLE_ROUNDING])
                                       : base + k - (taps.n == 4);
        beyond[k] = at < 0 || at >= n;
        taps.at[k] = at < 0 ? 0 : at < n ? at : n - 1;
    }
    if (method == RESAMPLE_LINEAR) {
        taps.weights[0] = 1 - f;
        taps.weights[1] = f;
    } else if (method == RESAMPLE_CUBIC) {
        plain_cubic(bt_double_of_bits((uint64_t)attrs[RESAMPLE_ALPHA]), f,
                    attrs[RESAMPLE_EXCLUDES] ? beyond : 0, taps.weights);
    }
    return taps;
}

/* Makes element i of the result of the taps along the axes of space, of data from `first` on. */
static inline void plain_resample_one(const bt_plain_call *call, const plain_taps *taps,
                                      const int64_t *strides, int64_t first, int64_t i)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const int64_t n = call->attrs[RESAMPLE_NSPACE];
    int64_t tap[3] = { 0 }, at, k;
    double sum = 0;
    for (k = 0; k < n; k++) {
        if (taps[k].is_outside) {
            plain_set_real(out, i,
                           bt_double_of_bits((uint64_t)call->attrs[RESAMPLE_BEYOND]));
            return;
        }
    }
    do {
        double term;
        for (k = 0, at = first; k < n; k++)
            at += taps[k].at[tap[k]] * strides[k];
        term = plain_real(in, at);
        for (k = 0; k < n; k++)
            term *= taps[k].weights[tap[k]];
        sum += term;
        for (k = n; k-- > 0 && ++tap[k] == taps[k].n;)
            tap[k] = 0;
    } while (k >= 0);
    if (call->attrs[RESAMPLE_METHOD] == RESAMPLE_NEAREST)
        plain_convert(in, at, out, i);
    else
        plain_set_real(out, i, plain_is_float(out) ? sum : plain_round_even(sum));
}

/* All elements; attrs: RESAMPLE_*. */
static inline void plain_resample(const bt_plain_call *call, const double *roi)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const int64_t nspace = call->attrs[RESAMPLE_NSPACE], n = plain_count(out);
    int64_t index[BT_PLAIN_RANK] = { 0 }, strides[BT_PLAIN_RANK], of_space[3] = { 0 };
    int64_t space[BT_PLAIN_RANK], i, k, first = 0;
    plain_taps taps[3];
    for (k = in->rank, i = 1; k-- > 0; i *= in->dims[k]) {
        strides[k] = i;
        space[k] = -1;
    }
    for (k = 0; k < nspace && n > 0; k++) {
        space[call->attrs[RESAMPLE_AXES + k]] = k;
        of_space[k] = strides[call->attrs[RESAMPLE_AXES + k]];
        taps[k] = plain_taps_of(call, k, 0, roi);
    }
    for (i = 0; i < n; i++) {
        int goes_on = 1;
        plain_resample_one(call, taps, of_space, first, i);
        for (k = in->rank; goes_on && k-- > 0;) {
            const int64_t was = index[k];
            goes_on = was + 1 == out->dims[k];
            index[k] = goes_on ? 0 : was + 1;
            if (space[k] >= 0)
                taps[space[k]] = plain_taps_of(call, space[k], index[k], roi);
            else
                first += (index[k] - was) * strides[k];
        }
    }
}

/* Whether elements must be made of none. */
static inline int plain_resample_is_empty(const bt_plain_call *call)
{
    int64_t k;
    int is = 0;
    for (k = 0; k < call->attrs[RESAMPLE_NSPACE]; k++) {
        if (call->out->dims[call->attrs[RESAMPLE_AXES + k]] == 0)
            return 0;
        is |= call->in->dims[call->attrs[RESAMPLE_AXES + k]] == 0;
    }
    return is;
}

/* dyn.image.resize2d */
enum {
    RESIZE_FAULT_SIZE = 1,
    RESIZE_FAULT_EMPTY,
    RESIZE_FAULT_ROI_COUNT,
    RESIZE_FAULT_ROI
};
static int32_t plain_resize2d(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *size = call->in + 1, *out = call->out;
    double roi[4] = { 0, 0, 1, 1 };
    int64_t k;
    if (call->attrs[RESAMPLE_MODE] == RESAMPLE_CROP) {
        if (call->nin < 3 || plain_count(call->in + 2) != 4)
            return RESIZE_FAULT_ROI_COUNT;
        for (k = 0; k < 4; k++) {
            roi[k] = plain_real(call->in + 2, k);
            if (!(roi[k] - roi[k] == 0))
                return RESIZE_FAULT_ROI;
        }
    }
    if (!call->is_sizing) {
        plain_resample(call, roi);
        return 0;
    }
    for (k = 0; k < in->rank; k++)
        out->dims[k] = in->dims[k];
    for (k = 0; k < 2; k++) {
        if (plain_count(size) != 2 || plain_index(size, k) < 0)
            return RESIZE_FAULT_SIZE;
        out->dims[call->attrs[RESAMPLE_AXES + k]] = plain_index(size, k);
    }
    return plain_resample_is_empty(call) ? RESIZE_FAULT_EMPTY : 0;
}

/* dyn.nn.upsampling, dyn.nn.upsampling3d */
enum { UPSAMPLE_FAULT_SCALE = 1, UPSAMPLE_FAULT_EMPTY };
static int32_t plain_upsampling(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const double roi[6] = { 0 };
    int64_t k;
    if (!call->is_sizing) {
        plain_resample(call, roi);
        return 0;
    }
    for (k = 0; k < in->rank; k++)
        out->dims[k] = in->dims[k];
    for (k = 0; k < call->attrs[RESAMPLE_NSPACE]; k++) {
        const double scale = plain_real(call->in + 1 + k, 0);
        const int64_t axis = call->attrs[RESAMPLE_AXES + k];
        const double extent = (double)in->dims[axis] * scale;
        const int64_t below = plain_floor(extent);
        if (!(scale > 0 && scale < 65536))
            return UPSAMPLE_FAULT_SCALE;
        out->dims[axis] = below + (extent - (double)below >= 0.5);
        if (in->dims[axis] == 0)
            return UPSAMPLE_FAULT_EMPTY;
    }
    return 0;
}
