"""Operators that look elements up, put them somewhere, or order them."""
import functools

import numpy as np

from . import Undefined, cast, reference, truncated_quotient, wrapped


@reference("take")
def take(call, x, indices):
    if call.axis is None:
        return np.take(x.ravel(), positions(indices, x.size, call.mode))
    axis = call.axis % x.ndim
    batch = call.batch_dims % indices.ndim if call.batch_dims < 0 else call.batch_dims
    shape = x.shape[:axis] + indices.shape[batch:] + x.shape[axis + 1:]
    out = np.empty(shape, dtype=x.dtype)
    for at in np.ndindex(x.shape[:batch]):
        found = positions(indices[at], x.shape[axis], call.mode)
        out[at] = np.take(x[at], found, axis=axis - batch)
    return out


def positions(indices, n, mode):
    if mode == "clip":
        return np.clip(indices.astype(object), 0, n - 1).astype(np.int64)
    if mode == "wrap":
        return (indices.astype(object) % n).astype(np.int64) if n else indices.astype(np.int64)
    return indices.astype(np.int64)


@reference("gather")
def gather(call, x, indices):
    axis = call.axis % x.ndim
    out = np.empty(indices.shape, dtype=x.dtype)
    for at in np.ndindex(indices.shape):
        out[at] = x[at[:axis] + (int(indices[at]),) + at[axis + 1:]]
    return out


@reference("gather_nd")
def gather_nd(call, x, indices):
    """Axis 0 of indices is the point, then come axes that data shares, then those of the points."""
    b, places = call.batch_dims, indices.shape[1:]
    out = np.empty(places + x.shape[b + indices.shape[0]:], dtype=x.dtype)
    for at in np.ndindex(places):
        out[at] = x[at[:b] + tuple(int(i) for i in indices[(slice(None),) + at])]
    return out


@reference("adv_index")
def adv_index(call, fields):
    return fields[0][tuple(f.astype(np.int64) for f in fields[1:])]


COMBINE = {
    "update": lambda old, new, n: new,
    "add": lambda old, new, n: old + new,
    "mul": lambda old, new, n: old * new,
    "min": lambda old, new, n: old if old != old or old < new else new,
    "max": lambda old, new, n: old if old != old or old > new else new,
    "mean": lambda old, new, n: old + new,
}


def scattered(call, x, places, updates, mode):
    """places: for each update its index in x, or None where it is outside."""
    out = x.astype(object)
    count = np.ones(x.shape, dtype=np.int64)
    for at in np.ndindex(updates.shape):
        place = places(at)
        if place is None:
            continue
        out[place] = COMBINE[mode](out[place], updates[at].item(), None)
        count[place] += 1
    if mode == "mean" and x.dtype.kind != "f":
        return truncated_quotient(out, count, call.out)
    out = out / count if mode == "mean" else out
    return out.astype(x.dtype) if x.dtype.kind in "fb" else wrapped(out, call.out)


def counted(i, n):
    i = i + n if i < 0 else i
    return i if 0 <= i < n else None


@reference("scatter_elements", ulp=1, sums=True)
def scatter_elements(call, x, indices, updates):
    axis = call.axis % x.ndim

    def place(at):
        i = counted(int(indices[at]), x.shape[axis])
        return None if i is None else at[:axis] + (i,) + at[axis + 1:]

    return scattered(call, x, place, updates, call.reduction)


@reference("scatter_nd", ulp=1, sums=True)
def scatter_nd(call, x, indices, updates):
    outer = indices.ndim - 1

    def place(at):
        point = [counted(int(indices[(k,) + at[:outer]]), x.shape[k]) for k in range(indices.shape[0])]
        return None if None in point else tuple(point) + at[outer:]

    return scattered(call, x, place, updates, call.mode)


@reference("dyn.sparse_to_dense")
def sparse_to_dense(call, indices, shape, values, default=None):
    out = np.zeros(shape.tolist(), dtype=values.dtype)
    if default is not None:
        out[...] = cast(default, call.dtypes[3], call.out)
    rows = indices if indices.ndim == 2 else indices.reshape(-1, 1)
    if values.ndim == 1 and len(rows) != len(values):
        raise ValueError("positions and values that do not go together")
    for k, row in enumerate(rows):
        out[tuple(row)] = values if values.ndim == 0 else values[k]
    return out


@reference("one_hot", "dyn.one_hot")
def one_hot(call, indices, on, off, depth=None):
    depth = call.depth if depth is None else int(depth.reshape(()))
    axis = call.axis % (indices.ndim + 1)
    classes = np.arange(depth).reshape([-1 if k == axis else 1 for k in range(indices.ndim + 1)])
    hot = np.expand_dims(indices.astype(object), axis) == classes
    on, off = (cast(v, call.dtypes[1], call.out) for v in (on, off))
    return np.where(hot.astype(bool), on, off)


# ---- order ----


def better(a, b):
    """Less, equal, greater; NaN is greatest."""
    if a != a or b != b:
        return int(a != a) - int(b != b)
    return int(a > b) - int(a < b)


def ordered(line, is_ascend):
    sign = 1 if is_ascend else -1
    key = functools.cmp_to_key(lambda i, j: sign * better(line[i], line[j]))
    return sorted(range(len(line)), key=key)


def order_along(call, x, axis):
    """Positions that sort along an axis; equal ones keep their order."""
    lines = np.moveaxis(x, axis, -1)
    out = np.empty(lines.shape, dtype=np.int64)
    for at in np.ndindex(lines.shape[:-1]):
        out[at] = ordered(lines[at].tolist(), call.is_ascend)
    return np.moveaxis(out, -1, axis)


@reference("sort")
def sort(call, x):
    return np.take_along_axis(x, order_along(call, x, call.axis), call.axis)


@reference("argsort")
def argsort(call, x):
    return order_along(call, x, call.axis).astype(call.out)


@reference("topk", "dyn.topk")
def topk(call, x, k=None):
    k = call.k if k is None else int(k.reshape(()))
    n = x.shape[call.axis]
    if k > n:
        raise ValueError("k is greater than the axis")
    places = np.take(order_along(call, x, call.axis), range(n if k < 1 else k), axis=call.axis)
    values = np.take_along_axis(x, places, call.axis)
    both = {"values": (values,), "indices": (places.astype(call.dtype),)}
    return both.get(call.ret_type, (values, places.astype(call.dtype)))


@reference("searchsorted")
def searchsorted(call, sequence, values):
    side = "right" if call.right else "left"
    out = np.empty(values.shape, dtype=call.dtype)
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side).astype(call.dtype)
    for at in np.ndindex(values.shape[:-1]):
        out[at] = np.searchsorted(sequence[at], values[at], side)
    return out


NAN = float("nan")  # one object: all NaN are one element


@reference("unique")
def unique(call, x):
    seen, values = {}, [v if v == v else NAN for v in x.tolist()]
    for i, v in enumerate(values):
        seen.setdefault(v, []).append(i)
    keys = sorted(seen, key=functools.cmp_to_key(better)) if call.sorted else list(seen)
    first = [seen[k][0] for k in keys]
    which = {k: i for i, k in enumerate(keys)}
    out = (np.array(keys, dtype=x.dtype), np.array(first, dtype=np.int32),
           np.array([which[v] for v in values], dtype=np.int32), np.array([len(keys)], dtype=np.int32))
    counts = np.array([len(seen[k]) for k in keys], dtype=np.int32)
    return out + (counts,) if call.return_counts else out


@reference("argwhere")
def argwhere(call, condition):
    return np.argwhere(condition).astype(np.int32)


@reference("unravel_index")
def unravel_index(call, indices, shape):
    flat = indices.astype(object)
    out = []
    for n in reversed(shape.tolist()):
        out.append(flat % n)
        flat = flat // n
    return np.array(out[::-1], dtype=object).reshape((shape.size,) + indices.shape).astype(call.out)


# ---- sequences and matrices ----


@reference("reverse_sequence")
def reverse_sequence(call, x, lengths):
    seq, batch = call.seq_axis % x.ndim, call.batch_axis % x.ndim
    out = x.copy()
    if np.any(lengths > x.shape[seq]):
        raise Undefined
    for b, n in enumerate(lengths.tolist()):
        for i in range(n):
            at, source = [slice(None)] * x.ndim, [slice(None)] * x.ndim
            at[batch] = source[batch] = b
            at[seq], source[seq] = i, n - 1 - i
            out[tuple(at)] = x[tuple(source)]
    return out


@reference("sequence_mask")
def sequence_mask(call, x, lengths):
    axis = call.axis % x.ndim
    steps = np.arange(x.shape[axis]).reshape(-1, 1) >= lengths.astype(np.float64).reshape(1, -1)
    steps = steps if axis == 0 else steps.T
    value = cast(np.float64(call.mask_value), "float64", call.out)
    return np.where(steps.reshape(steps.shape + (1,) * (x.ndim - 2)), value, x)


@reference("invert_permutation")
def invert_permutation(call, x):
    if sorted(x.tolist()) != list(range(x.size)):
        raise Undefined
    out = np.empty_like(x)
    out[x] = np.arange(x.size, dtype=x.dtype)
    return out


@reference("trilu")
def trilu(call, x, k):
    rows, columns = np.indices(x.shape[-2:])
    k = int(k)
    keep = columns - rows >= k if call.upper else columns - rows <= k
    return np.where(keep, x, np.zeros((), dtype=x.dtype))


@reference("matrix_set_diag")
def matrix_set_diag(call, x, diagonal):
    rows, columns = x.shape[-2:]
    out = x.copy()
    lengths = {d: min(rows + min(d, 0), columns - max(d, 0)) for d in range(call.k1, call.k2 + 1)}
    longest = max(lengths.values())
    for d, length in lengths.items():
        line = diagonal if call.k1 == call.k2 else diagonal[..., call.k2 - d, :]
        right = call.super_diag_right_align if d >= 0 else call.sub_diag_right_align
        for i in range(length):
            out[..., i + max(-d, 0), i + max(d, 0)] = line[..., i + (longest - length if right else 0)]
    return out
