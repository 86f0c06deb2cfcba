/* Signals: Fourier transforms as products with matrices of cosines and sines, windows. */
#include "arith.h"

#include <math.h>
#include <string.h>

enum { MAX_NELEM = 1 << 24 }; /* of a matrix that is made here */

static const double TURN = 6.283185307179586476925286766559;

/* ---- Fourier transforms ---- */

struct transform {
    int64_t size; /* samples, or frequencies of an inverse one */
    int64_t
        nread; /* of which the data has these; the others are 0, or follow from them */
    int64_t nout;
    int inverse, onesided;
};

/* cos or sin of the angle for each element read (rows) and each of the result, float64. */
static const bt_value *matrix(bt_onnx_node *n, const struct transform *t,
                              double (*function)(double))
{
    bt_tensor *tensor = NULL;
    int64_t dims[2] = { t->nread, t->nout };
    if (!n->status)
        n->status = bt_tensor_create(n->im->ctx, BT_FLOAT64, 2, dims, &tensor);
    for (int64_t i = 0; !n->status && i < t->nread; i++) {
        // of a real signal half of the frequencies are stated: the others are conjugates
        int is_twice = t->inverse && t->onesided && i > 0 && 2 * i != t->size;
        double factor = (is_twice ? 2.0 : 1.0) / (t->inverse ? (double)t->size : 1);
        for (int64_t k = 0; k < t->nout; k++) {
            double angle = TURN * (double)(i * k % t->size) / (double)t->size;
            bt_tensor_set(tensor, i * t->nout + k, factor * function(angle));
        }
    }
    return n->status ? NULL : emit_const(n, tensor);
}

/* [.., samples, 1 or 2] along its last axis but one: [.., result, 1 or 2]. */
static const bt_value *transformed(bt_onnx_node *n, const bt_value *x,
                                   const struct transform *t)
{
    uint32_t rank = value_rank(n, x), parts = 1;
    bt_dtype dtype = value_dtype(x);
    int64_t width = rank ? value_dim(n, x, rank - 1) : 0;
    if (width != 1 && width != 2)
        node_fail(n, BT_ERR_FORMAT,
                  "the last dim is %lld; 1, for real numbers, or 2, for complex ones, is "
                  "expected",
                  (long long)width);
    if (t->nread * t->nout > MAX_NELEM)
        node_fail(n, BT_ERR_LIMIT, "%lld samples; up to some 4,000 are supported",
                  (long long)t->size);
    // in double: what ought to be 0 is a sum of large terms that cancel
    const bt_value *in = cast_to(n, sliced(n, x, rank - 2, 0, t->nread), BT_FLOAT64);
    const bt_value *cosine = matrix(n, t, cos), *sine = matrix(n, t, sin);
    const bt_value *re = without_axis(n, sliced(n, in, rank - 1, 0, 1), rank - 1);
    const bt_value *y[2] = { matrix_product(n, re, cosine), matrix_product(n, re, sine) };
    y[1] = t->inverse ? y[1] : applied(n, "negative", y[1]);
    if (width == 2) {
        const bt_value *im = without_axis(n, sliced(n, in, rank - 1, 1, 2), rank - 1);
        const bt_value *by_sine = matrix_product(n, im, sine);
        y[0] = t->inverse ? minus(n, y[0], by_sine) : plus(n, y[0], by_sine);
        y[1] = plus(n, y[1], matrix_product(n, im, cosine));
    }
    parts = t->inverse && t->onesided ? 1 : 2;
    return cast_to(
        n, emit_list(n, "stack", node_format(n, "axis=%u", rank - 1), parts, y), dtype);
}

static int64_t number_in(bt_onnx_node *n, uint32_t i, int64_t absent, const char *what)
{
    const bt_value *x = node_in(n, i);
    int64_list list = { 0 };
    if (!x)
        return absent;
    if (value_ints(n, x, &list) && list.len == 1)
        return list.at[0];
    node_unknown(n, what, x);
    return absent;
}

static void check_dim(bt_onnx_node *n, int64_t size, const char *what)
{
    if (size < 0)
        node_fail(n, BT_ERR_UNSUPPORTED, "%s is symbolic: bind it with --dim", what);
}

static void check_size(bt_onnx_node *n, int64_t size, const char *what)
{
    if (size < 1 || size > INT32_MAX)
        node_fail(n, BT_ERR_ATTRIBUTE, "%s is %lld; 1 to %d is expected", what,
                  (long long)size, INT32_MAX);
}

/* The axis is an attribute before operator set 20, then an input. */
static void dft(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t rank = value_rank(n, x);
    int64_t given =
        n->row->arg ? number_in(n, 2, -2, "the axis is") : node_int(n, "axis", 1);
    uint32_t axis = node_axis(n, given, rank);
    struct transform t = { .inverse = node_int(n, "inverse", 0) != 0,
                           .onesided = node_int(n, "onesided", 0) != 0 };
    if (rank < 2 || axis + 1 >= rank)
        node_fail(n, BT_ERR_ATTRIBUTE,
                  "axis %u is out of range: the last axis, of %u, holds the real and the "
                  "imaginary part",
                  axis, rank);
    int64_t have = value_dim(n, x, axis);
    check_dim(n, have, "the size of the axis");
    check_size(n, have, "the size of the axis");
    if (n->status)
        return;
    t.size =
        number_in(n, 1, t.inverse && t.onesided ? 2 * (have - 1) : have, "dft_length is");
    check_size(n, t.size, "dft_length");
    if (n->status)
        return;
    int64_t half = t.size / 2 + 1, most = t.inverse && t.onesided ? half : t.size;
    t.nread = have < most ? have : most;
    t.nout = !t.inverse && t.onesided ? half : t.size;
    x = axes_swapped(n, x, axis, rank - 2);
    node_out(n, 0, axes_swapped(n, transformed(n, x, &t), axis, rank - 2));
}

/* Frames of the signal, each times the window, [batch, frames, length, 1 or 2]. */
static void stft(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *window = node_in(n, 2);
    if (value_rank(n, x) != 3)
        node_fail(n, BT_ERR_FORMAT, "a signal of another rank than 3");
    int64_t step = number_in(n, 1, 0, "frame_step is");
    int64_t have = value_dim(n, x, 1),
            size =
                number_in(n, 3, window ? value_dim(n, window, 0) : -1, "frame_length is");
    check_dim(n, have, "the length of the signal");
    check_dim(n, window ? value_dim(n, window, 0) : 0, "the length of the window");
    check_size(n, step, "frame_step");
    check_size(n, size, "the length of a frame");
    if (!n->status && size > have)
        node_fail(n, BT_ERR_FORMAT, "frames are longer than the signal");
    if (n->status)
        return;
    int64_t nframe = (have - size) / step + 1, dims[2] = { nframe, size };
    struct transform t = { .size = size,
                           .nread = size,
                           .nout = node_int(n, "onesided", 1) ? size / 2 + 1 : size };
    bt_tensor *places = NULL;
    if (nframe > MAX_NELEM / size)
        node_fail(n, BT_ERR_LIMIT,
                  "%lld frames of %lld samples: up to %d samples are supported",
                  (long long)nframe, (long long)size, MAX_NELEM);
    if (!n->status)
        n->status = bt_tensor_create(n->im->ctx, BT_INT64, 2, dims, &places);
    for (int64_t i = 0; !n->status && i < nframe * size; i++)
        bt_tensor_set_int(places, i, i / size * step + i % size);
    if (n->status)
        return;
    x = emit2(n, "take", "axis=1, mode=\"fast\"", x, emit_const(n, places));
    x = window ? times(n, x, with_axes(n, window, 1, 1)) : x;
    node_out(n, 0, transformed(n, x, &t));
}

/* ---- windows ---- */

/* a0 - a1 cos(t) + a2 cos(2 t), t from 0 to one turn. */
struct cosines {
    double a0, a1, a2;
};
static const struct cosines hann = { 0.5, 0.5, 0 }, hamming = { 25.0 / 46, 21.0 / 46, 0 },
                            blackman = { 0.42, 0.5, 0.08 };

static void give_window(bt_onnx_node *n, const struct cosines *w)
{
    const bt_value *size = node_need(n, 0);
    bt_dtype dtype = onnx_dtype(node_int(n, "output_datatype", 1));
    if (!dtype)
        node_fail(n, BT_ERR_UNSUPPORTED, "output_datatype is not supported");
    if (n->status)
        return;
    size = cast_to(n, as_scalar(n, size), BT_FLOAT64);
    const bt_value *one = scalar_like(n, size, 1);
    const bt_value *places = emit3(n, "arange", NULL, scalar_like(n, size, 0), size, one);
    const bt_value *turn =
        node_int(n, "periodic", 1) ? size : greater_of(n, minus(n, size, one), one);
    const bt_value *t = over(n, times_number(n, places, TURN), turn);
    const bt_value *y = times_number(n, applied(n, "cos", t), -w->a1);
    y = plus_number(n, y, w->a0);
    if (w->a2 > 0)
        y = plus(n, y, times_number(n, applied(n, "cos", times_number(n, t, 2)), w->a2));
    node_out(n, 0, cast_to(n, y, dtype));
}

static void hann_window(bt_onnx_node *n)
{
    give_window(n, &hann);
}

static void hamming_window(bt_onnx_node *n)
{
    give_window(n, &hamming);
}

static void blackman_window(bt_onnx_node *n)
{
    give_window(n, &blackman);
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.DFT-17", dft, NULL }, { "ai.onnx.DFT-20", dft, "axis" }, { "ai.onnx.STFT-17", stft, NULL },
    { "ai.onnx.HannWindow-17", hann_window, NULL }, { "ai.onnx.HammingWindow-17", hamming_window, NULL },
    { "ai.onnx.BlackmanWindow-17", blackman_window, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_signal[] = { BT_ONNX_OPERATORS(operators), { 0 } };
