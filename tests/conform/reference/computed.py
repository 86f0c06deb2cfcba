"""Operator compute: what each formula of its cases says, written again in NumPy."""
import numpy as np

from . import Undefined, cast, reference


def product(call, x, w):
    return x @ w.T


def relu(call, x):
    return np.maximum(x, 0)


def flattened(call, x):
    if call.dims[0] > x.size:
        raise Undefined("reads behind the last row")
    return x.ravel()[: call.dims[0]]


def rows_and_sums(call, x):
    rows, columns = call.dims
    if rows * columns > x.size:
        raise Undefined("reads behind the last element")
    y = x[: rows * columns].reshape(rows, columns)
    return y, y.sum(axis=1, dtype=y.dtype)


def rows_by_position(call, x, positions):
    return x[np.clip(positions, 0, len(x) - 1)]


def counted(call):
    return cast(np.arange(call.dims[0]), "int64", call.out)


FORMULAS = {
    "x: t[m, k], w: t[n, k] => y: t[i in m, j in n] = sum(k: x[i, k] * w[j, k])": product,
    "x: t[..] => y: t[..] = max(x[..], 0)": relu,
    "x: t[n, m], d => y: t[i in d] = x[i / m, i % m]": flattened,
    "x: t[n], a, b => y: t[i in a, j in b] = x[b * i + j]; s: t[i in a] = sum(j: y[i, j]) -> y, s": rows_and_sums,
    "x: t[n, m], p: int32[k] => y: t[i in k, j in m] = x[clamp(int64(p[i]), 0, n - 1), j]": rows_by_position,
    "d => y: float32[i in d] = float32(i)": counted,
}


@reference("compute", ulp=1, sums=True)
def compute(call, *args):
    return FORMULAS[call.formula](call, *args)
