"""Quantized numbers. Floats are rounded where the documentation says so; all else is exact rational arithmetic."""
from fractions import Fraction
import math

import numpy as np

from . import bits_of, cast, elementwise, is_float, reference, rounded, wrapped
from .nn import dense, matmul
from .random import unit
from .windows import conv, conv_transpose, pooled, sliding

# ---- scales and rounding ----


def int32(x, dtype):
    return cast(x, dtype, "int32").astype(object)


def without_zero(x, x_dtype, zero, zero_dtype):
    """Codes less their zero point: exact, but for those of 64 bits, which wrap."""
    dtype = "int64" if bits_of(x_dtype) > 16 else "int32"
    x, zero = (cast(v, d, dtype).astype(object) for v, d in ((x, x_dtype), (zero, zero_dtype)))
    return wrapped(x - zero, dtype).astype(object)


def spread(scale, rank, axis, block=0, size=None):
    """A scale or zero point as it broadcasts with the data."""
    if scale.ndim == rank and block:
        return np.take(np.repeat(scale, block, axis=axis), range(size), axis=axis)
    return scale.reshape([-1 if k == axis % rank else 1 for k in range(rank)]) if scale.ndim == 1 else scale


ROUNDED = {
    "UPWARD": lambda x: math.floor(x + Fraction(1, 2)),
    "TONEAREST": lambda x: math.floor(x + Fraction(1, 2)) if x >= 0 else -math.floor(-x + Fraction(1, 2)),
    "TOEVEN": round,
    "FLOOR": math.floor,
    "CEIL": math.ceil,
}


def by_chance(value, key):
    """Floats that are rounded by chance where they are rounded down."""
    return rounded(value.astype(np.float64) + unit((key >> 32, key % 2**32), value.shape, "float32"), "float32")


def whole(rounding, value, key=0):
    """Of floats and of fractions; infinities stay, NaN is 0."""
    if rounding == "STOCHASTIC":
        rounding, value = "FLOOR", by_chance(value, key)

    def one(x):
        if isinstance(x, float) and not math.isfinite(x):
            return 0 if x != x else int(math.copysign(2**70, x))
        return ROUNDED[rounding](Fraction(x))
    return elementwise(one, value)


def limited(codes, zero, dtype):
    info = np.iinfo(dtype)
    return elementwise(lambda q, z: min(max(q + int(z), int(info.min)), int(info.max)), codes, zero).astype(dtype)


# ---- to codes, from codes, between them ----


@reference("qnn.check_scale")
def check_scale(call, scale):
    return scale


@reference("qnn.check_zero_point")
def check_zero_point(call, zero):
    return zero


@reference("qnn.quantize")
def quantize(call, x, scale, zero):
    zero = zero if is_float(call.out) else int32(zero, call.dtypes[2])
    around = [spread(v, x.ndim, call.axis, call.block_size, x.shape[call.axis] if x.ndim else 1) for v in (scale, zero)]
    quotient = rounded(rounded(x.astype(np.float64), "float32") / rounded(around[0], "float32"), "float32")
    if is_float(call.out):
        return rounded(quotient + rounded(around[1].astype(np.float64), "float32"), "float32")
    return limited(whole(call.rounding, quotient, call.key), around[1], call.out)


@reference("qnn.dequantize")
def dequantize(call, x, scale, zero):
    scale, zero = [spread(v, x.ndim, call.axis, call.block_size, x.shape[call.axis] if x.ndim else 1) for v in (scale, zero)]
    if is_float(call.dtypes[0]) or is_float(call.dtypes[2]):
        x, zero = (rounded(v.astype(np.float64), "float32") for v in (x, zero))
        difference = rounded(x - zero, "float32")
    else:
        difference = without_zero(x, call.dtypes[0], zero, call.dtypes[2])
    value = rounded(rounded(difference.astype(np.float64), "float32") * rounded(scale, "float32"), "float32")
    return value if is_float(call.out) else cast(value, "float32", call.out)


def multiplier(factor):
    """m * 2^-n: m of 31 bits, of fewer where n would be beyond 62."""
    if not factor > 0 or math.isinf(factor):
        return None
    n = min(max(31 - math.frexp(factor)[1], 0), 62)
    m = ROUNDED["TONEAREST"](Fraction(factor) * 2**n)
    if m == 2**31 and n > 0:
        n -= 1
        m = 2**30
    return min(m, 2**31 - 1), n


def wrapped64(x):
    """What the operator computes in int64: of codes of 64 bits it may wrap."""
    return (x + 2**63) % 2**64 - 2**63


def fixed(rounding):
    def one(x, factor):
        m, n = multiplier(factor)
        return ROUNDED[rounding](Fraction(wrapped64(int(x) * m), 2**n))
    return one


def gemmlowp(x, factor):
    m, n = multiplier(factor)
    x = min(max(wrapped64(int(x) << max(31 - n, 0)), -2**31), 2**31 - 1)
    return ROUNDED["TONEAREST"](Fraction(x * m + 2**30 >> 31, 2 ** max(n - 31, 0)))


@reference("qnn.requantize")
def requantize(call, x, scale, zero, out_scale, out_zero):
    scale, zero, out_scale, out_zero = [spread(v, x.ndim, call.axis) for v in (scale, zero, out_scale, out_zero)]
    difference = without_zero(x, call.dtypes[0], zero, call.dtypes[2])
    rounding = "UPWARD" if call.rounding == "None" else call.rounding
    is_real = call.compute_dtype in ("float32", "float64")
    factor = scale / out_scale
    if is_real:
        dtype = call.compute_dtype
        product = rounded(rounded(difference.astype(np.float64), dtype) * rounded(factor, dtype), dtype)
        codes = whole(rounding, product)
    else:
        codes = elementwise(gemmlowp if call.compute_dtype == "gemmlowp" else fixed(rounding), difference, factor)
    return limited(codes, int32(out_zero, call.dtypes[4]), call.out)


# ---- arithmetic ----


def operands(call, x, y, x_scale, x_zero, y_scale, y_zero):
    x, y = (without_zero(v, call.dtypes[0], spread(z, v.ndim, axis), call.dtypes[i])
            for v, z, axis, i in ((x, x_zero, call.lhs_axis, 3), (y, y_zero, call.rhs_axis, 5)))
    return x, y, spread(x_scale, x.ndim, call.lhs_axis), spread(y_scale, y.ndim, call.rhs_axis)


def product32(codes, factor):
    return rounded(rounded(codes.astype(np.float64), "float32") * rounded(factor, "float32"), "float32")


def total(call, zero, x, y):
    return limited(whole("TOEVEN", rounded(x + y, "float32")), int32(zero, call.dtypes[7]), call.out)


@reference("qnn.add")
def add(call, x, y, x_scale, x_zero, y_scale, y_zero, scale, zero):
    x, y, x_scale, y_scale = operands(call, x, y, x_scale, x_zero, y_scale, y_zero)
    return total(call, zero, product32(x, x_scale / scale), product32(y, y_scale / scale))


@reference("qnn.subtract")
def subtract(call, x, y, x_scale, x_zero, y_scale, y_zero, scale, zero):
    x, y, x_scale, y_scale = operands(call, x, y, x_scale, x_zero, y_scale, y_zero)
    return total(call, zero, product32(x, x_scale / scale), -product32(y, y_scale / scale))


@reference("qnn.mul")
def mul(call, x, y, x_scale, x_zero, y_scale, y_zero, scale, zero):
    x, y, x_scale, y_scale = operands(call, x, y, x_scale, x_zero, y_scale, y_zero)
    factor = rounded(rounded(x_scale * y_scale, "float32") / scale, "float32")
    return limited(whole("TOEVEN", product32(x * y, factor)), int32(zero, call.dtypes[7]), call.out)


# ---- products ----


class Sums:
    """A call of the operator without zero points, whose operands have the type of the sums."""

    def __init__(self, call):
        self.__dict__.update(call.__dict__)
        self.dtypes = [call.out] * 2


def differences(call, x, w, x_zero, w_zero):
    """Without zero points, in the type of the sums, where they wrap."""
    x, w, x_zero, w_zero = (cast(v, d, call.out).astype(object) for v, d in zip((x, w, x_zero, w_zero), call.dtypes))
    return wrapped(x - x_zero, call.out), wrapped(w - w_zero, call.out)


@reference("qnn.conv1d", "qnn.conv2d", "qnn.conv3d")
def qnn_conv(call, x, w, x_zero, w_zero, *scales):
    if w_zero.ndim == 1:
        w_zero = w_zero.reshape([-1 if c == "O" else 1 for c in call.kernel_layout])
    return conv(Sums(call), *differences(call, x, w, x_zero, w_zero))


@reference("qnn.dense")
def qnn_dense(call, x, w, x_zero, w_zero, *scales):
    return dense(Sums(call), *differences(call, x, w, x_zero, w_zero.reshape([-1, 1]) if w_zero.ndim else w_zero))


@reference("qnn.batch_matmul", "qnn.matmul")
def qnn_matmul(call, x, y, x_zero, y_zero, *scales):
    if x_zero.ndim == 1:
        x_zero = x_zero if call.transpose_a else x_zero.reshape([-1, 1])
    if y_zero.ndim == 1:
        y_zero = y_zero.reshape([-1, 1]) if call.transpose_b else y_zero
    return matmul(Sums(call), *differences(call, x, y, x_zero, y_zero))


@reference("qnn.conv2d_transpose")
def qnn_conv_transpose(call, x, w, x_zero, w_zero, *scales):
    if w_zero.ndim == 1:  # of all groups; those of one at a time
        return grouped_transpose(call, x, w, x_zero, w_zero)
    return conv_transpose(Sums(call), *differences(call, x, w, x_zero, w_zero))


def grouped_transpose(call, x, w, x_zero, w_zero):
    """The channels of each group one after another."""
    layout, kernel = call.data_layout, call.kernel_layout
    c, i = layout.index("C"), kernel.index("I")
    parts = []
    for xs, ws, zs in zip(*(np.split(v, call.groups, axis=a) for v, a in ((x, c), (w, i), (w_zero, 0)))):
        zs = zs.reshape([-1 if letter == "O" else 1 for letter in kernel])
        one = Sums(call)
        one.groups = 1
        parts.append(conv_transpose(one, *differences(call, xs, ws, x_zero, zs)))
    return np.concatenate(parts, axis=(call.out_layout or layout).index("C"))


@reference("qnn.avg_pool2d")
def qnn_avg_pool(call, x, scale, zero, out_scale, out_zero):
    def mean(part, count):
        factor = rounded(scale / rounded(out_scale * count, "float32"), "float32")
        return limited(whole("TOEVEN", product32(part.sum(axis=-1), factor)), out_zero, call.out).astype(object)

    zero, out_zero = int32(zero, call.dtypes[2]), int32(out_zero, call.dtypes[4])
    centred = x.astype(object) - zero
    return pooled(call, centred, sliding(call, x.ndim - 2), mean)


# ---- functions ----


def real(call, x, scale, zero):
    difference = without_zero(x, call.dtypes[0], zero, call.dtypes[2])
    return rounded(rounded(difference.astype(np.float64), "float32") * scale, "float32")


def as_codes(call, value, scale, zero):
    """Of float64, where it is rounded to float32 first."""
    return limited(whole("TOEVEN", rounded(rounded(value, "float32") / scale, "float32")), int32(zero, call.dtypes[-1]), call.out)


UNARY = {
    "abs": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
for name, function in UNARY.items():
    reference("qnn." + name)(lambda call, x, scale, zero, out_scale, out_zero, f=function:
                             as_codes(call, f(real(call, x, scale, zero)), out_scale, out_zero))


@reference("qnn.leaky_relu")
def leaky_relu(call, x, scale, zero, out_scale, out_zero):
    x = real(call, x, scale, zero)
    return as_codes(call, np.where(x > 0, x, x * call.alpha), out_scale, out_zero)


@reference("qnn.softmax")
def softmax(call, x, scale, zero, out_scale, out_zero):
    x = x.astype(object)
    e = np.exp((x - np.max(x, axis=call.axis, keepdims=True, initial=-2**40)).astype(np.float64) * scale)
    return as_codes(call, e / e.sum(axis=call.axis, keepdims=True), out_scale, out_zero)


@reference("qnn.concatenate")
def concatenate(call, data, scales, zeros, out_scale, out_zero):
    n = len(data)
    parts = [rounded(without_zero(x, call.dtypes[0], z, call.dtypes[2 * n]).astype(np.float64), "float32") *
             rounded(s / out_scale, "float32") for x, s, z in zip(data, scales, zeros)]
    joined = np.concatenate([rounded(p, "float32") for p in parts], axis=call.axis)
    return limited(whole("TOEVEN", joined), int32(out_zero, call.dtypes[-1]), call.out)


@reference("qnn.simulated_quantize")
def simulated_quantize(call, x, dtype, scale, zero):
    scale, zero = spread(scale, x.ndim, call.axis), spread(zero, x.ndim, call.axis)
    low, high = {1: (-128, 127), 2: (0, 255)}.get(int(dtype), (-2**31, 2**31 - 1))
    codes = np.clip(np.rint(rounded(x / scale, "float32")) + zero, low, high)
    return x if int(dtype) == 0 else rounded(codes, "float32")


@reference("qnn.simulated_dequantize")
def simulated_dequantize(call, x, dtype, scale, zero):
    scale, zero = spread(scale, x.ndim, call.axis), spread(zero, x.ndim, call.axis)
    difference = rounded(x - rounded(zero.astype(np.float64), "float32"), "float32")
    return x if int(dtype) == 0 else rounded(difference * scale, "float32")
