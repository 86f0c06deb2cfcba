"""What quantization observes, and numbers as their codes stand for them."""
import numpy as np

from . import elementwise, reference, rounded
from .quant import spread, whole


@reference("quant.simulate")
def simulate(call, x, scale, zero):
    scale, zero = spread(scale, x.ndim, call.axis), spread(zero, x.ndim, call.axis)
    codes = whole(call.rounding, rounded(rounded(x, "float32") / rounded(scale, "float32"), "float32"), call.key)
    limited = elementwise(lambda q, z: min(max(q, call.low - int(z)), call.high - int(z)), codes, zero)
    return rounded(rounded(limited.astype(np.float64) * rounded(scale, "float32"), "float32"), call.out)


@reference("quant.range")
def value_range(call, x):
    if call.axis is None:
        x = x.reshape([1, -1])
    else:
        x = np.moveaxis(x, call.axis, 0).reshape([x.shape[call.axis], x.size // max(x.shape[call.axis], 1)])
    finite = np.isfinite(x)
    low = np.min(np.where(finite, x, np.inf), axis=1, initial=np.inf)
    high = np.max(np.where(finite, x, -np.inf), axis=1, initial=-np.inf)
    return rounded(low, "float32"), rounded(high, "float32"), np.sum(~finite, axis=1).astype(np.int64)


@reference("quant.moments")
def moments(call, x):
    n = 1 if call.axis is None else x.shape[call.axis]
    x = (x if call.axis is None else np.moveaxis(x, call.axis, 0)).reshape([n, x.size // max(n, 1)])
    x = np.where(np.isfinite(x), x, 0).astype(np.float64)
    mean, squares = np.zeros(n), np.zeros(n)
    for column in x.T:  # one after the other, as sums are in float64
        mean, squares = mean + column, squares + column * column
    with np.errstate(invalid="ignore"):
        return mean / np.float64(x.shape[1]), squares / np.float64(x.shape[1])


@reference("quant.bins")
def bins(call, x, low, high):
    def single(value):
        return rounded(value, "float32")
    with np.errstate(all="ignore"):
        share = single(single(single(x) - low) / single(high - low))
        at = single(share * call.nbin)
    at = np.clip(np.nan_to_num(at, nan=0, posinf=2.0**40, neginf=-2.0**40), -2.0**40, 2.0**40)
    places = np.clip(np.trunc(at), 0, call.nbin - 1).astype(np.int64)[np.isfinite(x)]
    return np.bincount(places, minlength=call.nbin).astype(np.int64)
