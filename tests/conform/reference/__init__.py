"""Reference functions of operators in NumPy, and how results are compared with them."""
import zipfile

import numpy as np

from . import float8

FUNCTIONS = {}

EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52,
           **{dtype: 2.0**-digits for dtype, (digits, _, _) in float8.FORMATS.items()}, float8.POWERS: 1.0}


def reference(*names, ulp=None, sums=False, near_steps=False):
    """Registers a function for operators.

    ulp    None: floats must be equal, as when elements are only moved; else units in the last place that
           each element may be off
    sums   the units are those of the greatest element: terms of both signs have been added
    near_steps  integers are rounded from float64, which the function gives: where it lies halfway between two,
           but for its own rounding, either will do
    """

    def register(function):
        function.ulp, function.sums, function.near_steps = ulp, sums, near_steps
        for name in names:
            FUNCTIONS[name] = function
        return function

    return register


class Mismatch(Exception):
    pass


class Undefined(Exception):
    """What the documentation leaves open for these values: any result will do."""


# ---- element types ----


def is_float(dtype):
    return dtype in EPSILON


def is_complex(dtype):
    return dtype.startswith("complex")


def numpy_dtype(dtype):
    """Of the arrays that reference functions see: floats are float64."""
    return np.dtype("float64" if is_float(dtype) else dtype)


def bits_of(dtype):
    return 8 if dtype == "bool" else int(dtype.split("_")[0].lstrip("bfloatuint"))


def widen(array, dtype):
    """A stored array as its reference function sees it."""
    if dtype in float8.FORMATS:
        return float8.widened(array.view(np.uint8), dtype)
    if dtype == float8.POWERS:
        return float8.powers(array.view(np.uint8))
    if dtype == "bfloat16":
        bits = array.view(np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64)
    return array.astype(numpy_dtype(dtype))


def rounded(value, dtype):
    """float64 in a narrower float type, to nearest even, widened again."""
    value = np.asarray(value, dtype=np.float64)
    if dtype in float8.FORMATS:
        return float8.rounded(value, dtype)
    if dtype == float8.POWERS:
        return float8.power(value)
    with np.errstate(over="ignore"):
        near = value.astype("float32" if dtype == "bfloat16" else dtype)
    if dtype != "bfloat16":
        return near.astype(np.float64)
    bits = near.view(np.uint32)
    up = (bits >> 16 & 1) + np.uint32(0x7FFF)
    whole = ((bits + up) >> 16 << 16).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(near), whole, near).astype(np.float64)


def wrapped(value, dtype):
    """Whole numbers, of any size, modulo the width of an integer type."""
    bits = bits_of(dtype)
    flat = [int(v) & (1 << bits) - 1 for v in np.asarray(value, dtype=object).ravel()]
    return np.array(flat, dtype=f"uint{bits}").view(dtype).reshape(np.shape(value))


def cast(value, source, dtype):
    """Float to integer truncates, saturates, NaN gives 0; integer to integer wraps; to bool is nonzero."""
    value = np.asarray(value)
    if dtype == "bool":
        return value != 0
    if is_complex(dtype):
        return value.astype(dtype)
    if is_float(dtype):
        return rounded(value.astype(np.float64), dtype)
    if not is_float(source):
        return wrapped(value.astype(object), dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    flat = [0 if v != v else low if v <= low else high if v >= high else int(v) for v in value.ravel().tolist()]
    return np.array(flat, dtype=dtype).reshape(value.shape)


def truncated_quotient(total, count, dtype):
    """Of sums of integers, which are held in 64 bits: toward zero, 0 by 0."""
    total = wrapped(total, "uint64" if dtype == "uint64" else "int64")
    whole = elementwise(lambda s, n: 0 if n == 0 else abs(s) // n * (1 if s >= 0 else -1), total, count)
    return wrapped(whole, dtype)


def elementwise(function, *arrays):
    """function of Python numbers, exact for integers of any width."""
    arrays = np.broadcast_arrays(*[np.asarray(a).astype(object) for a in arrays])
    out = np.empty(arrays[0].shape, dtype=object)
    for at in np.ndindex(out.shape):
        out[at] = function(*(a[at] for a in arrays))
    return out


# ---- calls ----


def load(path):
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    arrays = np.load(path, allow_pickle=False)
    return {name.removesuffix(".npy"): arrays[name.removesuffix(".npy")] for name in names}


class Leaf:
    """A tensor: its stored array, and the values as float64, integers or bool."""

    def __init__(self, record, arrays):
        self.dtype = record["dtype"]
        self.stored = arrays[record["array"]]
        self.value = widen(self.stored, self.dtype)


class Call:
    """Attributes by name; args (tuples as lists) and the dtypes of arguments and results."""

    def __init__(self, record, arrays):
        self.inputs = []
        self.args = [self.read(a, arrays) for a in record["args"]]
        self.dtypes = [leaf.dtype for leaf in self.inputs]
        self.results = [Leaf(r, arrays) for r in record["results"]]
        self.attrs = record["attrs"]
        for name, value in record["attrs"].items():
            setattr(self, name, value)
        # a call that failed has no results; what it computes is the same for any dtype of its own
        self.out = self.results[0].dtype if self.results else self.dtypes[0] if self.dtypes else None

    def read(self, record, arrays):
        if isinstance(record, list):
            return [self.read(r, arrays) for r in record]
        self.inputs.append(Leaf(record, arrays))
        return self.inputs[-1].value


# ---- comparing ----


def compare(result, expected, function):
    expected = np.asarray(expected)
    got, dtype = result.value, result.dtype
    if got.shape != expected.shape:
        raise Mismatch(f"shape {list(got.shape)}, NumPy {list(expected.shape)}")
    if is_float(dtype):
        if expected.dtype.kind not in "fiub":
            raise Mismatch(f"NumPy gives {expected.dtype} for {dtype}")
        compare_floats(got, rounded(expected.astype(np.float64), dtype), dtype, function)
    else:
        if function.near_steps and expected.dtype.kind == "f":
            slack = 1e-9 + np.abs(expected).max(initial=0) * 2.0**-46
            around = [cast(np.rint(expected + e), "float64", dtype) for e in (-slack, 0, slack)]
            fail_where((got < around[0]) | (got > around[2]), got, around[1])
            return
        if expected.dtype != np.dtype(dtype):
            raise Mismatch(f"NumPy gives {expected.dtype} for {dtype}")
        parts = [(got.real, expected.real), (got.imag, expected.imag)] if is_complex(dtype) else [(got, expected)]
        fail_where(np.any([(a != b) & ((a == a) | (b == b)) for a, b in parts], axis=0), got, expected)


def compare_floats(got, expected, dtype, function):
    both_nan = np.isnan(got) & np.isnan(expected)
    equal = both_nan | (got == expected)
    if function.ulp is not None:
        finite = np.isfinite(got) & np.isfinite(expected)
        scale = np.abs(np.where(finite, expected, 0))
        if function.sums and scale.size:
            scale = np.maximum(scale, scale.max())
        least = 2.0**-24 if dtype == "float16" else 2.0**-126  # what is below is denormal
        if dtype in float8.FORMATS:
            least = 2.0**(1 - float8.FORMATS[dtype][1])
        # the reference is not exact itself
        own = 2.0**-46 * scale if function.sums else 0
        slack = function.ulp * EPSILON[dtype] * np.maximum(scale, least) + own
        with np.errstate(invalid="ignore"):
            equal |= finite & (np.abs(got - expected) <= slack)
    fail_where(~equal, got, expected)


def fail_where(wrong, got, expected):
    if not np.any(wrong):
        return
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.shape else ()
    place = "[" + ", ".join(str(int(i)) for i in at) + "]"
    raise Mismatch(f"{int(wrong.sum())} of {wrong.size} elements differ: {got[at]!r} at {place}, NumPy {expected[at]!r}")


from . import computed, image, indexing, nn, pointwise, quant, random, reduction, shapes, simulate, windows  # noqa: E402,F401  they register their functions
