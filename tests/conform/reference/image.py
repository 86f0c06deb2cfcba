"""Images in other sizes."""
from fractions import Fraction
from math import ceil, floor

import numpy as np

from . import cast, reference


def coordinate(p, extent, out, mode, roi):
    """Where element p of the result lies, as an exact number."""
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and out > 1):
        return Fraction((2 * p + 1) * extent, 2 * out) - Fraction(1, 2)
    if mode == "align_corners":
        return Fraction(p * (extent - 1), max(out - 1, 1))
    if mode == "asymmetric":
        return Fraction(p * extent, out)
    if mode == "tf_half_pixel_for_nn":
        return Fraction((2 * p + 1) * extent, 2 * out)
    if mode == "tf_crop_and_resize":
        start, end = roi
        share = start + p * (end - start) / (out - 1) if out > 1 else 0.5 * (start + end)
        return (extent - 1) * share
    return Fraction(0)


def nearest(x, rounding, mode):
    half = Fraction(1, 2) if isinstance(x, Fraction) else 0.5
    if rounding == "":
        rounding = "round" if mode == "align_corners" else "floor"
    if rounding == "floor":
        return floor(x)
    if rounding == "ceil":
        return ceil(x)
    if rounding == "round_prefer_floor":
        return ceil(x - half)
    return floor(x + half) if x >= 0 or rounding == "round_prefer_ceil" else ceil(x - half)


def kernel(distance, alpha):
    """Keys' cubic convolution."""
    d = abs(distance)
    if d <= 1:
        return (alpha + 2) * d**3 - (alpha + 3) * d**2 + 1
    return alpha * d**3 - 5 * alpha * d**2 + 8 * alpha * d - 4 * alpha if d < 2 else 0.0


def taps(x, extent, call, mode):
    """(element of data, weight): those that count for coordinate x."""
    if call.method == "nearest_neighbor":
        return [(min(max(nearest(x, call.rounding, mode), 0), extent - 1), 1.0)]
    base = floor(x)
    at = range(base - 1, base + 3) if call.method == "cubic" else range(base, base + 2)
    weights = []
    for tap in at:
        distance = float(x - tap)
        weight = kernel(distance, call.alpha) if call.method == "cubic" else 1 - abs(distance)
        weights.append(0.0 if call.exclude and not 0 <= tap < extent else weight)
    total = sum(weights) if call.exclude else 1.0
    return [(min(max(tap, 0), extent - 1), weight / total) for tap, weight in zip(at, weights)]


class Sampling:
    """What resize and upsampling have in common."""

    def __init__(self, method, mode, rounding, alpha=-0.5, exclude=0, roi=(), outside=0.0):
        self.method, self.mode, self.rounding, self.alpha, self.exclude = method, mode, rounding, alpha, exclude
        self.roi, self.outside = roi, outside


def sampled(call, x, layout, sizes, s):
    n = x.ndim - 2
    axes = [layout.index(letter) for letter in "DHW"[3 - n:]]
    moves_only = s.method == "nearest_neighbor"
    y, is_outside = x if moves_only else x.astype(np.float64), np.zeros((), dtype=bool)
    for i, axis in enumerate(axes):
        extent, out = x.shape[axis], sizes[i]
        roi = (s.roi[i], s.roi[n + i]) if s.roi else (0.0, 1.0)
        at = [coordinate(p, extent, out, s.mode, roi) for p in range(out)]
        lines = [taps(a, extent, s, s.mode) for a in at]
        if moves_only:
            y = np.take(y, [line[0][0] for line in lines], axis=axis)
        else:
            y = sum(np.take(y, [line[k][0] for line in lines], axis=axis) *
                    np.array([line[k][1] for line in lines]).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
                    for k in range(len(lines[0]) if lines else 0))
        line = np.array([a < 0 or a > extent - 1 for a in at], dtype=bool)
        is_outside = is_outside | line.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    if moves_only:
        y = cast(y, call.dtypes[0], call.out)
    if s.mode == "tf_crop_and_resize":
        y = np.where(is_outside, cast(np.float64(s.outside), "float64", call.out), y)
    return y


@reference("image.resize1d", "image.resize2d", "image.resize3d", "dyn.image.resize2d", ulp=4, sums=True, near_steps=True)
def resize(call, x, size=None, roi=None):
    if size is None:
        size, roi = call.size, call.roi
    else:
        if roi is not None and roi.size != 4:
            raise ValueError("a part of an image is four numbers")
        size, roi = size.tolist(), () if roi is None else roi.tolist()
    s = Sampling(call.method, call.coordinate_transformation_mode,
                 call.rounding_method, call.cubic_alpha, call.cubic_exclude, roi, call.extrapolation_value)
    return sampled(call, x, call.layout, size, s)


def factors(x, axes, scales):
    """Of operators that get them as values, which need something to take elements from."""
    if 0 in [x.shape[axis] for axis in axes]:
        raise ValueError("an image without elements")
    return [float(v) for v in scales]


def scaled(extent, scale):
    return int(floor(extent * scale + 0.5))


@reference("nn.upsampling", "dyn.nn.upsampling", ulp=4, sums=True, near_steps=True)
def upsampling(call, x, *scales):
    method = {"bilinear": "linear", "bicubic": "cubic"}.get(call.method, call.method)
    s = Sampling(method, "align_corners" if call.align_corners else "asymmetric", "")
    axes = [call.layout.index(a) for a in "HW"]
    scales = factors(x, axes, scales) if scales else (call.scale_h, call.scale_w)
    sizes = [scaled(x.shape[axis], v) for axis, v in zip(axes, scales)]
    return sampled(call, x, call.layout, sizes, s)


@reference("nn.upsampling3d", "dyn.nn.upsampling3d", ulp=4, sums=True, near_steps=True)
def upsampling3d(call, x, *scales):
    s = Sampling({"trilinear": "linear"}.get(call.method, call.method), call.coordinate_transformation_mode, "")
    axes = [call.layout.index(a) for a in "DHW"]
    scales = factors(x, axes, scales) if scales else (call.scale_d, call.scale_h, call.scale_w)
    return sampled(call, x, call.layout, [scaled(x.shape[axis], v) for axis, v in zip(axes, scales)], s)
