"""Operators on elements: arithmetic, comparison, functions, choice."""
import math

import numpy as np

from . import bits_of, cast, elementwise, float8, is_float, reference, rounded, wrapped


def binary(name, of_floats, of_integers, ulp=1):
    def function(call, a, b):
        dtype = call.dtypes[0]
        if is_float(dtype):
            return of_floats(a, b)
        bits = bits_of(dtype)
        return wrapped(elementwise(lambda x, y: of_integers(int(x), int(y), bits), a, b), dtype)

    reference(name, ulp=ulp)(function)


def truncated(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def integer_power(a, b, bits):
    if b >= 0:
        return pow(a, b, 1 << bits)
    return a ** (b & 1) if a in (1, -1) else 0


binary("add", np.add, lambda a, b, n: a + b)
binary("subtract", np.subtract, lambda a, b, n: a - b)
binary("multiply", np.multiply, lambda a, b, n: a * b)
binary("divide", np.divide, lambda a, b, n: truncated(a, b))
binary("floor_divide", lambda a, b: np.floor(a / b), lambda a, b, n: a // b if b else 0)
binary("trunc_divide", lambda a, b: np.trunc(a / b), lambda a, b, n: truncated(a, b))
binary("floor_mod", np.mod, lambda a, b, n: a % b if b else 0)
binary("trunc_mod", np.fmod, lambda a, b, n: a - b * truncated(a, b) if b else 0)
binary("mod", np.fmod, lambda a, b, n: a - b * truncated(a, b) if b else 0)
def power(a, b):
    """As C's pow: the power 0.5 of -inf is inf, of which NumPy takes the root."""
    return np.where((a == -np.inf) & (b == 0.5), np.inf, np.power(a, b))


binary("power", power, integer_power, ulp=4)
binary("maximum", np.maximum, lambda a, b, n: max(a, b))
binary("minimum", np.minimum, lambda a, b, n: min(a, b))
binary("left_shift", None, lambda a, b, n: a << b if 0 <= b < n else 0)
binary("right_shift", None, lambda a, b, n: a >> b if 0 <= b < n else -(a < 0))
binary("bitwise_and", None, lambda a, b, n: a & b)
binary("bitwise_or", None, lambda a, b, n: a | b)
binary("bitwise_xor", None, lambda a, b, n: a ^ b)


def predicate(name, function):
    reference(name)(lambda call, a, b: function(a, b))


predicate("equal", np.equal)
predicate("not_equal", np.not_equal)
predicate("less", np.less)
predicate("less_equal", np.less_equal)
predicate("greater", np.greater)
predicate("greater_equal", np.greater_equal)
predicate("logical_and", np.logical_and)
predicate("logical_or", np.logical_or)
predicate("logical_xor", np.logical_xor)


# ---- one argument ----


def half_away(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def unary(names, function, ulp=4):
    reference(*names.split(), ulp=ulp)(lambda call, x: function(x))


unary("acos", np.arccos)
unary("acosh", np.arccosh)
unary("asin", np.arcsin)
unary("asinh", np.arcsinh)
unary("atan", np.arctan)
unary("atanh", np.arctanh)
unary("cos", np.cos)
unary("cosh", np.cosh)
unary("erf fast_erf", np.vectorize(math.erf, otypes=[np.float64]))
unary("exp fast_exp", np.exp)
unary("log", np.log)
unary("log10", np.log10)
unary("log1p", np.log1p)
unary("log2", np.log2)
unary("rsqrt", lambda x: 1 / np.sqrt(x))
unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)))
unary("sin", np.sin)
unary("sinh", np.sinh)
unary("sqrt", np.sqrt, ulp=1)
unary("tan", np.tan)
unary("tanh fast_tanh", np.tanh)
unary("isfinite", np.isfinite)
unary("isinf", np.isinf)
unary("isnan", np.isnan)
unary("logical_not", np.logical_not)
unary("bitwise_not", np.invert)
unary("copy", lambda x: x, ulp=None)
unary("stop_gradient", lambda x: x, ulp=None)
unary("annotation.again", lambda x: x, ulp=None)


def rounding(names, function):
    """Integers stay."""
    reference(*names.split())(lambda call, x: function(x) if x.dtype.kind == "f" else x)


rounding("ceil", np.ceil)
rounding("floor", np.floor)
rounding("trunc", np.trunc)
rounding("round", half_away)
rounding("round_even", np.rint)


@reference("abs")
def absolute(call, x):
    return x if x.dtype.kind == "u" else np.abs(x)


@reference("negative")
def negative(call, x):
    return -x if x.dtype.kind == "f" else wrapped(elementwise(lambda v: -v, x), call.out)


@reference("sign")
def sign(call, x):
    return np.where(x == 0, x, np.sign(x)).astype(x.dtype)


# ---- conversion and choice ----


def power_beside(call, x, near):
    """Up or down from the nearest power of two; without saturate NaN for what is out of range then."""
    mode = call.attrs.get("round_mode", "nearest")
    if mode == "up":
        near = near * np.where(near < x, 2.0, 1.0)
    if mode == "down":
        near = near * np.where(near > x, 0.5, 1.0)
    least, most = {"nearest": (x >= 0.75 * 2.0**-127, x < 1.5 * 2.0**127), "up": (x > 2.0**-128, x <= 2.0**127),
                   "down": (x >= 2.0**-127, x < 2.0**128)}[mode]
    return near if call.attrs.get("saturate", True) else np.where(least & most, near, np.nan)


@reference("cast", "cast_like")
def convert(call, x, like=None):
    y = cast(x, call.dtypes[0], call.out)
    if call.out == float8.POWERS and call.dtypes[0] != call.out:
        return power_beside(call, x.astype(np.float64), y)
    if call.out not in float8.FORMATS or call.dtypes[0] == call.out:
        return y
    most = float8.sizes(call.out, 128)[float8.FORMATS[call.out][2]]
    if call.attrs.get("saturate", True):
        return np.clip(y, -most, most)
    # half way to where the next number would stand is beyond, unless the greatest has the even code
    size, limit = np.abs(x.astype(np.float64)), {"float8_e4m3fn": 464, "float8_e4m3fnuz": 248}.get(call.out, 61440)
    is_beyond = size > limit if call.out == "float8_e4m3fn" else size >= limit
    beyond = np.copysign(np.inf, y) if call.out == "float8_e5m2" else np.nan
    return np.where(is_beyond, beyond, y)


@reference("reinterpret")
def reinterpret(call, x):
    bits = call.inputs[0].stored.view(f"uint{bits_of(call.dtypes[0])}")
    if call.out == "bool":
        return bits != 0
    if call.out == "bfloat16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if call.out in float8.FORMATS:
        return float8.widened(bits, call.out)
    return bits.view(call.out).astype(np.float64 if is_float(call.out) else call.out)


@reference("where")
def where(call, condition, x, y):
    return np.where(condition != 0, x, y)


@reference("clip")
def clip(call, x):
    if is_float(call.out):
        return np.minimum(np.maximum(x, rounded(call.a_min, call.out)), rounded(call.a_max, call.out))
    low, high = (cast(np.float64(v), "float64", call.out) for v in (call.a_min, call.a_max))
    return np.minimum(np.maximum(x, low), high)


@reference("fixed_point_multiply")
def fixed_point_multiply(call, x):
    def one(v):
        right = 31 - call.shift
        product = v * call.multiplier
        return product << -right if right <= 0 else (product + (1 << right >> 1)) >> right

    return wrapped(elementwise(one, x), call.out)
