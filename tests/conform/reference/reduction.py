"""Operators over whole axes: reductions and running sums."""
import numpy as np

from . import cast, is_float, reference, truncated_quotient, wrapped


def axes_of(call, rank):
    if call.axis is None:
        return tuple(range(rank))
    listed = {a % rank for a in call.axis}
    return tuple(a for a in range(rank) if (a in listed) != call.exclude)


def reduction(name, function, ulp=1, sums=True):
    def reduced(call, x):
        axes = axes_of(call, x.ndim)
        return function(call, x, axes, call.keepdims)

    reference(name, ulp=ulp, sums=sums)(reduced)


def total(x, axes, keepdims, dtype):
    if x.dtype.kind == "f":
        return np.sum(x, axis=axes, keepdims=keepdims)
    return wrapped(np.sum(x.astype(object), axis=axes, keepdims=keepdims), dtype)


def product(call, x, axes, keepdims):
    if x.dtype.kind == "f":
        return np.prod(x, axis=axes, keepdims=keepdims)
    return wrapped(np.prod(x.astype(object), axis=axes, keepdims=keepdims), call.out)


def mean(call, x, axes, keepdims):
    count = int(np.prod([x.shape[a] for a in axes]))
    if x.dtype.kind == "f":
        return np.sum(x, axis=axes, keepdims=keepdims) / np.float64(count)
    return truncated_quotient(np.sum(x.astype(object), axis=axes, keepdims=keepdims), count, call.out)


def bounds(dtype):
    """The least and the greatest value."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    return (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def extreme(name, function, identity):
    def reduced(call, x, axes, keepdims):
        return function(x, axis=axes, keepdims=keepdims, initial=bounds(x.dtype)[identity])

    reduction(name, reduced, ulp=None)


reduction("sum", lambda call, x, axes, keep: total(x, axes, keep, call.out))
reduction("prod", product)
reduction("mean", mean)
extreme("max", np.max, identity=0)
extreme("min", np.min, identity=1)
reduction("all", lambda call, x, axes, keep: np.all(x, axis=axes, keepdims=keep))
reduction("any", lambda call, x, axes, keep: np.any(x, axis=axes, keepdims=keep))


@reference("logsumexp", ulp=4, sums=True)
def logsumexp(call, x):
    axes = axes_of(call, x.ndim)
    most = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(most), most, 0)
    out = np.log(np.sum(np.exp(x - shift), axis=axes, keepdims=True)) + shift
    return out if call.keepdims else np.squeeze(out, axis=axes)


def variance_of(call, x, mean=None):
    axes = axes_of(call, x.ndim)
    count = np.float64(np.prod([x.shape[a] for a in axes]))
    if mean is None:
        mean = np.sum(x, axis=axes, keepdims=True) / count
    squares = np.sum((x - mean) ** 2, axis=axes, keepdims=call.keepdims)
    return squares / np.float64(count - call.unbiased)


@reference("variance", ulp=8, sums=True)
def variance(call, x, mean=None):
    return variance_of(call, x, mean)


@reference("std", ulp=8, sums=True)
def std(call, x):
    return np.sqrt(variance_of(call, x))


def arg_of(call, x, better):
    """The position among the reduced axes, row major; -1 among nothing."""
    axes = axes_of(call, x.ndim)
    kept = [a for a in range(x.ndim) if a not in axes]
    moved = x.transpose(kept + list(axes))
    lines = moved.reshape([x.shape[a] for a in kept] + [int(np.prod([x.shape[a] for a in axes]))])
    out = np.empty(lines.shape[:-1], dtype=np.int32)
    for at in np.ndindex(out.shape):
        best = -1
        for i, v in enumerate(lines[at]):
            if best < 0 or better(v, lines[at][best]) or (call.select_last_index and v == lines[at][best]):
                best = i
        out[at] = best
    return out.reshape([1 if a in axes else x.shape[a] for a in range(x.ndim)]) if call.keepdims else out


@reference("argmax")
def argmax(call, x):
    return arg_of(call, x, lambda a, b: a > b or (a != a and b == b))


@reference("argmin")
def argmin(call, x):
    return arg_of(call, x, lambda a, b: a < b or (a != a and b == b))


def running(name, function, start):
    def scanned(call, x):
        axis = 0 if call.axis is None else call.axis % x.ndim
        x = x.ravel() if call.axis is None else x
        x = cast(x, call.dtypes[0], call.out)
        out = np.empty(x.shape, dtype=object)
        lines, results = np.moveaxis(x, axis, -1), np.moveaxis(out, axis, -1)
        for at in np.ndindex(lines.shape[:-1]):
            sofar = start
            for i, v in enumerate(lines[at].tolist()):
                after = function(sofar, v)
                results[at + (i,)] = sofar if call.exclusive else after
                sofar = after
        return out.astype(np.float64) if is_float(call.out) else wrapped(out, call.out)

    reference(name, ulp=1, sums=True)(scanned)


running("cumsum", lambda a, b: a + b, 0)
running("cumprod", lambda a, b: a * b, 1)


@reference("collapse_sum_to", "collapse_sum_like", ulp=1, sums=True)
def collapse_sum(call, x, like=None):
    shape = call.shape if like is None else like.shape
    x = cast(x, call.dtypes[0], call.out)
    extra = x.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(extra + i for i, n in enumerate(shape) if n == 1 and x.shape[extra + i] != 1)
    return total(x, axes, True, call.out).reshape(shape)


def einsum_pairs(equation, xs):
    """Of more than two operands the first and the next that shares a letter with it become one, as the operator says:
    where there are infinities, the order shows."""
    equation = equation.replace(" ", "")
    left, arrow, result = equation.partition("->")
    terms, xs = left.split(","), list(xs)
    if not arrow:
        result = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    while len(terms) > 2:
        other = next((i for i in range(1, len(terms)) if set(terms[i]) & set(terms[0])), 1)
        pair, rest = terms[0] + terms.pop(other), xs.pop(other)
        letters = "".join(sorted(c for c in set(pair) if c in result + "".join(terms[1:])))
        xs[0] = np.asarray(np.einsum(f"{terms[0]},{pair[len(terms[0]):]}->{letters}", xs[0], rest))
        terms[0] = letters
    return np.asarray(np.einsum(f"{','.join(terms)}->{result}", *xs))


@reference("einsum", ulp=2, sums=True)
def einsum(call, xs):
    if is_float(call.out):
        return einsum_pairs(call.equation, xs)
    return wrapped(einsum_pairs(call.equation, [x.astype(object) for x in xs]), call.out)
