"""Operators that move elements, or make them, without looking at them."""
import re

import numpy as np

from . import cast, reference


def target_shape(shape, codes, allowzero):
    """Codes of reshape: 0 copies an extent, -1 is what is left, -2 the other axes, -3 two in one, -4 one in two."""
    out, at, codes = [], 0, list(codes)
    while codes:
        code = codes.pop(0)
        if code < -4:
            raise ValueError("no such code")
        if code == 0 and not allowzero:
            out.append(shape[at])
            at += 1
        elif code == -2:
            out.extend(shape[at:])
            at = len(shape)
        elif code == -3:
            out.append(shape[at] * shape[at + 1])
            at += 2
        elif code == -4:
            a, b = codes.pop(0), codes.pop(0)
            a = shape[at] // b if a == -1 else a
            b = shape[at] // a if b == -1 else b
            out.extend([a, b])
            at += 1
        else:
            out.append(code)
            at += 1
    if -1 in out:
        out[out.index(-1)] = what_is_left(list(shape), [n for n in out if n != -1])
    return out


def what_is_left(shape, known):
    """Extents that stand on both sides are the same axes, also where they are 0."""
    for n in list(known):
        if n in shape:
            known.remove(n)
            shape.remove(n)
    return int(np.prod(shape)) // int(np.prod(known))


@reference("reshape", "dyn.reshape")
def reshape(call, x, newshape=None):
    codes = call.newshape if newshape is None else newshape.tolist()
    return x.reshape(target_shape(x.shape, codes, call.allowzero))


@reference("reshape_like")
def reshape_like(call, x, like):
    def part(begin, end, rank):
        begin = begin + rank if begin < 0 else begin
        end = rank if end is None else end + rank if end < 0 else end
        return begin, end

    low, high = part(call.lhs_begin, call.lhs_end, x.ndim)
    first, last = part(call.rhs_begin, call.rhs_end, like.ndim)
    return x.reshape(x.shape[:low] + like.shape[first:last] + x.shape[high:])


@reference("nn.batch_flatten")
def batch_flatten(call, x):
    return x.reshape(x.shape[0], int(np.prod(x.shape[1:])))


@reference("transpose")
def transpose(call, x):
    return x.transpose(call.axes)


@reference("expand_dims", "dyn.expand_dims")
def expand_dims(call, x, axis=None):
    axis = call.axis if axis is None else int(axis.reshape(()))
    axis = axis + x.ndim + 1 if axis < 0 else axis
    return x.reshape(x.shape[:axis] + (1,) * call.num_newaxis + x.shape[axis:])


@reference("squeeze", "dyn.squeeze")
def squeeze(call, x, axis=None):
    axes = call.axis if axis is None else axis.reshape(-1).tolist()
    return np.squeeze(x, axis=None if axes is None else tuple(axes))


@reference("reverse")
def reverse(call, x):
    return np.flip(x, call.axis)


@reference("concatenate")
def concatenate(call, xs):
    return np.concatenate(xs, call.axis)


@reference("stack")
def stack(call, xs):
    return np.stack(xs, call.axis)


@reference("split")
def split(call, x):
    return tuple(np.split(x, call.indices_or_sections, call.axis))


@reference("broadcast_to", "dyn.broadcast_to")
def broadcast_to(call, x, shape=None):
    return cast(np.broadcast_to(x, call.shape if shape is None else shape.tolist()), call.dtypes[0], call.out)


@reference("broadcast_to_like")
def broadcast_to_like(call, x, like):
    return np.broadcast_to(x, like.shape)


@reference("tile", "dyn.tile")
def tile(call, x, reps=None):
    return np.tile(x, call.reps if reps is None else reps.tolist())


@reference("repeat")
def repeat(call, x):
    return np.repeat(x, call.repeats, call.axis)


@reference("meshgrid")
def meshgrid(call, xs):
    return tuple(np.meshgrid(*xs, indexing=call.indexing))


# ---- new tensors ----


@reference("full", "dyn.full")
def full(call, value, shape=None):
    shape = call.shape if shape is None else shape.tolist()
    return np.full(shape, cast(value, call.dtypes[0], call.out))


@reference("full_like")
def full_like(call, x, value):
    return np.full(x.shape, cast(value, call.dtypes[1], call.out))


def constant(names, value):
    @reference(*names.split())
    def filled(call, like=None):
        shape = call.attrs.get("shape")
        if shape is None:
            shape = like.tolist() if "dtype" in call.attrs else like.shape
        return np.full(shape, cast(np.int64(value), "int64", call.out))


constant("zeros zeros_like dyn.zeros", 0)
constant("ones ones_like dyn.ones", 1)


@reference("arange", ulp=1, sums=True)
def arange(call, start, stop, step):
    start, stop, step = (v.item() for v in (start, stop, step))
    count = max(0, int(np.ceil((stop - start) / step)))
    return cast(np.array([start + i * step for i in range(count)]), call.dtypes[0], call.out)


@reference("shape_of")
def shape_of(call, x):
    return np.array(x.shape, dtype=call.out)


@reference("ndarray_size")
def ndarray_size(call, x):
    return np.array(x.size, dtype=call.out)


# ---- slices ----


@reference("strided_slice", "dyn.strided_slice")
def strided_slice(call, x, begin=None, end=None, strides=None):
    begin, end, strides = (getattr(call, name) if v is None else v.tolist()
                           for name, v in (("begin", begin), ("end", end), ("strides", strides)))
    axes = call.attrs.get("axes")
    axes = list(range(len(begin))) if axes is None else axes
    strides = strides * len(begin) if len(strides) == 1 else strides if strides else [1] * len(begin)
    parts = [slice(None)] * x.ndim
    for axis, low, high, step in zip(axes, begin, end, strides):
        if call.slice_mode == "size":
            low = low + x.shape[axis] if low < 0 else low
            high, step = None if high == -1 else low + high, 1
        elif step < 0 and high < -x.shape[axis]:
            high = None
        parts[axis] = slice(low, high, step)
    return x[tuple(parts)]


@reference("slice_like")
def slice_like(call, x, like):
    axes = range(like.ndim) if call.axes is None else call.axes
    parts = [slice(None)] * x.ndim
    for axis in axes:
        parts[axis] = slice(0, like.shape[axis])
    return x[tuple(parts)]


@reference("strided_set")
def strided_set(call, x, v, begin, end, strides):
    strides = strides.tolist() or [1] * begin.size
    parts = []
    for axis, (low, high, step) in enumerate(zip(begin.tolist(), end.tolist(), strides)):
        parts.append(slice(low, None if step < 0 and high < -x.shape[axis] else high, step))
    out = x.copy()
    if out[tuple(parts)].shape != v.shape:
        raise ValueError("v is not of the part's shape")
    out[tuple(parts)] = v
    return out


@reference("sliding_window")
def sliding_window(call, x):
    axis = call.axis % x.ndim
    axes = tuple(range(axis, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(x, call.window_shape, axes)
    return view[(slice(None),) * axis + tuple(slice(None, None, s) for s in call.strides)]


# ---- layouts ----


def axes_in(layout):
    """[("N", 0), ("C", 0), ("C", 16)] of NC16c: letters, and the factor of inner blocks."""
    return [(name.upper(), int(factor or 0)) for factor, name in re.findall(r"(\d*)([A-Za-z])", layout)]


@reference("layout_transform")
def layout_transform(call, x):
    if ":" in call.src_layout + call.dst_layout:
        return x
    source, target = axes_in(call.src_layout), axes_in(call.dst_layout)
    letters = [name for name, factor in source if factor == 0]
    order = [i for name in letters for i, part in enumerate(source) if part[0] == name]
    sizes = [int(np.prod([x.shape[i] for i, part in enumerate(source) if part[0] == name])) for name in letters]
    whole = x.transpose(order).reshape(sizes)
    split, places = [], []
    for name, size in zip(letters, sizes):
        for at, (part, factor) in enumerate(target):
            if part == name:
                inner = int(np.prod([f for n, f in target[at + 1:] if n == name and f]))
                split.append(factor or size // inner)
                places.append(at)
    return whole.reshape(split).transpose(np.argsort(places))


@reference("nn.depth_to_space")
def depth_to_space(call, x):
    order = [call.layout.index(letter) for letter in "NCHW"]
    x = x.transpose(order)
    n, c, h, w = x.shape
    b = call.block_size
    if call.mode == "DCR":
        y = x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(n, c // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(n, c // (b * b), h * b, w * b).transpose(np.argsort(order))


@reference("nn.space_to_depth")
def space_to_depth(call, x):
    order = [call.layout.index(letter) for letter in "NCHW"]
    x = x.transpose(order)
    n, c, h, w = x.shape
    b = call.block_size
    y = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return y.reshape(n, c * b * b, h // b, w // b).transpose(np.argsort(order))


@reference("nn.space_to_batch_nd")
def space_to_batch_nd(call, x):
    block = call.block_shape
    m = len(block)
    width = [(0, 0)] + [tuple(call.paddings[2 * i:2 * i + 2]) for i in range(m)] + [(0, 0)] * (x.ndim - m - 1)
    x = np.pad(x, width, constant_values=cast(np.float64(call.pad_value), "float64", call.out))
    rest = x.shape[m + 1:]
    split = x.reshape((x.shape[0],) + sum(((x.shape[i + 1] // b, b) for i, b in enumerate(block)), ()) + rest)
    order = [2 * i + 2 for i in range(m)] + [0] + [2 * i + 1 for i in range(m)] + list(range(2 * m + 1, split.ndim))
    y = split.transpose(order)
    return y.reshape((x.shape[0] * int(np.prod(block)),) + y.shape[m + 1:])


@reference("nn.batch_to_space_nd")
def batch_to_space_nd(call, x):
    block = call.block_shape
    m, n = len(block), x.shape[0] // int(np.prod(block))
    split = x.reshape(tuple(block) + (n,) + x.shape[1:])
    order = [m] + sum(([m + 1 + i, i] for i in range(m)), []) + list(range(2 * m + 1, split.ndim))
    y = split.transpose(order).reshape((n,) + tuple(x.shape[i + 1] * b for i, b in enumerate(block)) + x.shape[m + 1:])
    for i in range(m):
        low, high = call.crops[2 * i], call.crops[2 * i + 1]
        y = np.take(y, range(low, y.shape[i + 1] - high), axis=i + 1)
    return y


# ---- padding ----


def pad_with(x, width, **how):
    """np.pad that also cuts, where a number is negative."""
    pairs = [tuple(width[2 * i:2 * i + 2]) for i in range(x.ndim)]
    if x.ndim == 0:
        return x
    y = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in pairs], **how)
    return y[tuple(slice(max(-a, 0), y.shape[i] - max(-b, 0)) for i, (a, b) in enumerate(pairs))]


@reference("nn.pad")
def pad(call, x, value=None):
    if call.pad_mode != "constant":
        return pad_with(x, call.pad_width, mode=call.pad_mode)
    value = np.float64(0) if value is None else value
    source = call.dtypes[1] if len(call.dtypes) > 1 else "float64"
    return pad_with(x, call.pad_width, constant_values=cast(value, source, call.out))


@reference("dyn.nn.pad")
def dyn_pad(call, x, widths, value=None):
    widths = widths.reshape(-1).tolist()
    if call.pad_mode != "constant":
        return pad_with(x, widths, mode=call.pad_mode)
    value = np.float64(0) if value is None else value
    source = call.dtypes[2] if len(call.dtypes) > 2 else "float64"
    return pad_with(x, widths, constant_values=cast(value, source, call.out))


@reference("nn.mirror_pad")
def mirror_pad(call, x):
    return pad_with(x, call.pad_width, mode=call.mode.lower())


@reference("nn.dilate")
def dilate(call, x):
    shape = [(n - 1) * s + 1 if s > 1 else n for n, s in zip(x.shape, call.strides)]
    out = np.full(shape, cast(np.float64(call.dilation_value), "float64", call.out), dtype=x.dtype)
    out[tuple(slice(None, None, s) for s in call.strides)] = x
    return out
