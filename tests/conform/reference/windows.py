"""Convolutions and pooling."""
import itertools

import numpy as np

from . import cast, is_float, reference, truncated_quotient, wrapped

SPACE = {3: "W", 4: "HW", 5: "DHW"}


def ordered(x, layout, letters):
    """Axes in the order of letters + space; and how to go back."""
    order = [layout.index(letter) for letter in letters + SPACE[x.ndim]]
    return x.transpose(order)


def back(y, layout, letters):
    order = [layout.index(letter) for letter in letters + SPACE[y.ndim]]
    return y.transpose(np.argsort(order))


def spread(values, n):
    return values * n if len(values) == 1 else values


def ends(padding, n):
    """(before, after) of each axis."""
    if len(padding) == 1:
        return [(padding[0], padding[0])] * n
    if len(padding) == n:
        return [(p, p) for p in padding]
    return list(zip(padding[:n], padding[n:]))


def finished(call, y):
    return y if is_float(call.out) else wrapped(y, call.out)


def exact(x, call):
    """In the type of the result, integers of any size, so that only that wraps."""
    x = cast(x, call.dtypes[0], call.out)
    return x if is_float(call.out) else x.astype(object)


def zeros_around(x, width):
    """np.pad, which puts zeros of a fixed width into an array of objects."""
    out = np.zeros([n + a + b for n, (a, b) in zip(x.shape, width)], dtype=x.dtype)
    out[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, width))] = x
    return out


def contracted(x, weight):
    """nc..., oc -> no... by products and sums of their own: einsum does not know integers of any size, and dot
    leaves out zeros that meet an infinity."""
    return (x[:, np.newaxis] * weight.reshape((1,) + weight.shape + (1,) * (x.ndim - 2))).sum(axis=2)


@reference("nn.conv1d", "nn.conv2d", "nn.conv3d", ulp=8, sums=True)
def conv(call, x, w):
    n = x.ndim - 2
    x, w = ordered(exact(x, call), call.data_layout, "NC"), ordered(exact(w, call), call.kernel_layout, "OI")
    strides, dilation = spread(call.strides, n), spread(call.dilation, n)
    width = [(0, 0), (0, 0)] + ends(call.padding, n)
    inside = np.pad(np.ones(x.shape[2:], dtype=bool), width[2:])
    x = zeros_around(x, width)
    sizes = [(x.shape[2 + i] - (w.shape[2 + i] - 1) * dilation[i] - 1) // strides[i] + 1 for i in range(n)]
    groups, per = call.groups, w.shape[0] // call.groups
    y = np.zeros([x.shape[0], w.shape[0]] + sizes, dtype=x.dtype)
    for g in range(groups):
        part = x[:, g * w.shape[1]:(g + 1) * w.shape[1]]
        for at in np.ndindex(w.shape[2:]):
            cut = tuple(slice(at[i] * dilation[i], at[i] * dilation[i] + (sizes[i] - 1) * strides[i] + 1, strides[i])
                        for i in range(n))
            if all(sizes):
                weight = w[(slice(g * per, (g + 1) * per), slice(None)) + at]
                products = contracted(part[(slice(None), slice(None)) + cut], weight)
                y[:, g * per:(g + 1) * per] += np.where(inside[cut], products, 0)
    return finished(call, back(y, call.out_layout or call.data_layout, "NC"))


@reference("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose", ulp=8, sums=True)
def conv_transpose(call, x, w):
    n = x.ndim - 2
    x, w = ordered(exact(x, call), call.data_layout, "NC"), ordered(exact(w, call), call.kernel_layout, "IO")
    strides, dilation = spread(call.strides, n), spread(call.dilation, n)
    extra, pads = spread(call.output_padding, n), ends(call.padding, n)
    whole = [max(0, (x.shape[2 + i] - 1) * strides[i] + (w.shape[2 + i] - 1) * dilation[i] + 1) + extra[i] for i in range(n)]
    groups, cin, per = call.groups, x.shape[1] // call.groups, w.shape[1]
    y = np.zeros([x.shape[0], per * groups] + whole, dtype=x.dtype)
    for g in range(groups):
        part, weight = x[:, g * cin:(g + 1) * cin], w[g * cin:(g + 1) * cin]
        for q in np.ndindex(x.shape[2:]):
            for r in np.ndindex(w.shape[2:]):
                to = tuple(q[i] * strides[i] + r[i] * dilation[i] for i in range(n))
                y[(slice(None), slice(g * per, (g + 1) * per)) + to] += part[(slice(None), slice(None)) + q] @ weight[(slice(None), slice(None)) + r]
    cut = tuple(slice(pads[i][0], whole[i] - pads[i][1]) for i in range(n))
    return finished(call, back(y[(slice(None), slice(None)) + cut], call.out_layout or call.data_layout, "NC"))


# ---- pooling ----


def pooled(call, x, windows, reduce):
    """reduce(elements inside, number of elements that count) for each window; windows(i) lists, for axis i, the
    positions inside and how many count."""
    layout = call.layout
    x = ordered(x if is_float(call.out) else x.astype(object), layout, "NC")
    n = x.ndim - 2
    lines = [windows(i, x.shape[2 + i]) for i in range(n)]
    y = np.empty(x.shape[:2] + tuple(len(line) for line in lines), dtype=x.dtype)
    for at in itertools.product(*(range(len(line)) for line in lines)):
        chosen = [lines[i][at[i]] for i in range(n)]
        part = x
        for i, (inside, _) in enumerate(chosen):
            part = np.take(part, inside, axis=2 + i)
        count = int(np.prod([count for _, count in chosen]))
        y[(slice(None), slice(None)) + at] = reduce(part.reshape(part.shape[:2] + (-1,)) if part.size else
                                                    part.reshape(part.shape[:2] + (0,)), count)
    return finished(call, back(y, layout, "NC"))


def sliding(call, n):
    sizes, strides, dilation = (spread(v, n) for v in (call.pool_size, call.strides, call.dilation))
    pads = ends(call.padding, n)

    def windows(i, extent):
        before, after = pads[i]
        free = extent + before + after - (sizes[i] - 1) * dilation[i] - 1
        count = -(-free // strides[i]) + 1 if call.ceil_mode else free // strides[i] + 1
        if call.ceil_mode and (count - 1) * strides[i] >= extent + before:
            count -= 1  # no window starts in the padding behind
        out = []
        for p in range(count):
            at = [p * strides[i] + r * dilation[i] - before for r in range(sizes[i])]
            inside = [a for a in at if 0 <= a < extent]
            counted = [a for a in at if a < extent + after] if call.count_include_pad else inside
            out.append((inside, len(counted)))
        return out

    return windows


def greatest(call):
    least = -np.inf if is_float(call.out) else int(np.iinfo(call.out).min)
    return lambda part, count: part.max(axis=-1, initial=least) if part.size else np.full(part.shape[:2], least)


def mean(call):
    if is_float(call.out):
        return lambda part, count: part.sum(axis=-1) / np.float64(count)
    return lambda part, count: truncated_quotient(part.sum(axis=-1), count, call.out).astype(object)


@reference("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
def max_pool(call, x):
    return pooled(call, x, sliding(call, x.ndim - 2), greatest(call))


@reference("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d", ulp=2, sums=True)
def avg_pool(call, x):
    return pooled(call, x, sliding(call, x.ndim - 2), mean(call))


def adaptive(call, n):
    sizes = spread(call.output_size, n)

    def windows(i, extent):
        out = sizes[i] if sizes else extent
        bounds = [(p * extent // out, -(-(p + 1) * extent // out)) for p in range(out)]
        return [(list(range(low, high)), high - low) for low, high in bounds]

    return windows


@reference("nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d", "nn.adaptive_max_pool3d")
def adaptive_max_pool(call, x):
    return pooled(call, x, adaptive(call, x.ndim - 2), greatest(call))


@reference("nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d", ulp=2, sums=True)
def adaptive_avg_pool(call, x):
    return pooled(call, x, adaptive(call, x.ndim - 2), mean(call))


def whole(i, extent):
    return [(list(range(extent)), extent)]


@reference("nn.global_max_pool2d")
def global_max_pool(call, x):
    return pooled(call, x, whole, greatest(call))


@reference("nn.global_avg_pool2d", ulp=2, sums=True)
def global_avg_pool(call, x):
    return pooled(call, x, whole, mean(call))
