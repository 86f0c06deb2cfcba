"""Random numbers by a key: Threefry of Salmon et al. 2011, and what is made of its words."""
from statistics import NormalDist
import math

import numpy as np

from . import bits_of, cast, reference, rounded


def threefry(key, counter):
    """Both words of threefry2x32-20 by two words and by counters of 64 bits, as uint32."""
    counter = np.asarray(counter, dtype=np.uint64)
    words = [np.uint32(int(k)) for k in key]
    keys = [*words, words[0] ^ words[1] ^ np.uint32(0x1BD11BDA)]
    a, b = ((counter >> np.uint64(32)).astype(np.uint32) + keys[0], counter.astype(np.uint32) + keys[1])
    for i in range(20):
        turn = np.uint32((13, 15, 26, 6, 17, 29, 16, 24)[i % 8])
        a = a + b
        b = (b << turn | b >> np.uint32(32) - turn) ^ a
        if i % 4 == 3:
            a, b = a + keys[(i // 4 + 1) % 3], b + keys[(i // 4 + 2) % 3] + np.uint32(i // 4 + 1)
    return a, b


def words(key, shape):
    count = math.prod(shape)
    return [w.reshape(shape) for w in threefry(key, np.arange(count, dtype=np.uint64))]


def bits(key, shape, dtype):
    a, b = words(key, shape)
    if dtype == "uint64":
        return a.astype(np.uint64) << np.uint64(32) | b
    return (a ^ b).astype(dtype)


def unit(key, shape, dtype):
    if dtype == "float64":
        return (bits(key, shape, "uint64") >> np.uint64(12)).astype(np.float64) / 2.0**52
    return (bits(key, shape, "uint32") >> np.uint32(9)).astype(np.float64) / 2.0**23


def wide(dtype):
    return "float64" if dtype == "float64" else "float32"


def number(x, dtype):
    return float(rounded(x, dtype))


def counter_of(data, dtype):
    return int(data) % 2**64


# ---- keys and words ----


@reference("random.threefry_key")
def key_of(call, seed):
    number_of = counter_of(seed, call.dtypes[0])
    return np.array([number_of >> 32, number_of % 2**32], dtype=np.uint32)


@reference("random.threefry_split")
def split(call, key):
    return np.stack(threefry(key, np.arange(call.num, dtype=np.uint64)), axis=1)


@reference("random.threefry_fold_in")
def fold_in(call, key, data):
    return np.array(threefry(key, np.uint64(counter_of(data, call.dtypes[1]))), dtype=np.uint32)


@reference("random.threefry_generate")
def generate(call, key):
    return bits(key, call.shape, call.dtype)


# ---- distributions ----


def below(x, dtype):
    """The greatest number of the type that is less than x."""
    if dtype in ("float32", "float64", "float16"):
        return float(np.nextafter(np.dtype(dtype).type(x), np.dtype(dtype).type(-np.inf)))
    step = 2.0**-133
    while number(x - step, dtype) == x:
        step *= 2
    return number(x - step, dtype)


@reference("random.uniform", ulp=0)
def uniform(call, key):
    low, high = number(call.low, call.dtype), number(call.high, call.dtype)
    u = unit(key, call.shape, call.dtype)
    v = rounded(rounded(u * (high - low), wide(call.dtype)) + low, wide(call.dtype))
    last = below(high, call.dtype)
    if bits_of(call.dtype) == 16:  # down to what the type has near its bounds
        greatest = max(abs(low), abs(last))
        step = 2.0**(math.floor(math.log2(greatest)) - (10 if call.dtype == "float16" else 7))
        v = np.maximum(np.floor(v / step) * step, low)
    return np.minimum(v, last)


def normals(call, key, low, high):
    dtype = wide(call.dtype)
    low, high = number(low, dtype), number(high, dtype)
    u = unit(key, call.shape, call.dtype)
    x = np.maximum(rounded(rounded(u * number(high - low, dtype), dtype) + low, dtype), low)
    normal = NormalDist()
    return np.vectorize(lambda v: math.copysign(-normal.inv_cdf((1 - abs(v)) / 2), v), otypes=[float])(x)


@reference("random.normal", ulp=8, sums=True)
def normal(call, key):
    return normals(call, key, -below(1, wide(call.dtype)), 1) * call.scale + call.mean


@reference("random.truncated_normal", ulp=8, sums=True)
def truncated_normal(call, key):
    low, high = math.erf(call.low / math.sqrt(2)), math.erf(call.high / math.sqrt(2))
    return np.clip(normals(call, key, low, high), call.low, call.high) * call.scale + call.mean


def weights(name, variance):
    def draw(call, key):
        n, m = call.shape[call.in_axis], call.shape[call.out_axis]
        window = math.prod(call.shape) / max(n * m, 1)
        scale = np.sqrt(variance(n * window, m * window)) if n * m * window else 0
        if name.endswith("uniform"):
            return (unit(key, call.shape, call.dtype) * 2 - 1) * number(scale * math.sqrt(3), wide(call.dtype))
        bounds = math.erf(-2 / math.sqrt(2)), math.erf(2 / math.sqrt(2))
        return np.clip(normals(call, key, *bounds), -2, 2) * scale / 0.87962566103423978

    reference(f"random.{name}", ulp=8, sums=True)(draw)


for kind in "uniform", "normal":
    weights(f"glorot_{kind}", lambda n, m: 2 / (n + m))
    weights(f"he_{kind}", lambda n, m: 2 / n)
    weights(f"lecun_{kind}", lambda n, m: 1 / n)


@reference("random.bernoulli")
def bernoulli(call, key, p):
    shape = p.shape if call.shape is None else call.shape
    return unit(key, shape, call.dtypes[1]) < p


@reference("random.multinomial")
def multinomial(call, key, probs):
    dtype = wide(call.dtypes[1])
    total = rounded(np.cumsum(probs, axis=-1), dtype)
    u = unit(key, (*probs.shape[:-1], call.num_samples), call.dtypes[1])
    v = rounded(u * total[..., -1:], dtype)
    place = np.sum(total[..., None, :] <= v[..., :, None], axis=-1)
    return cast(np.minimum(place, probs.shape[-1] - 1), "int64", call.dtype)


@reference("random.permutation")
def permutation(call, key, data):
    out, counter = data.copy(), 0
    for i in range(len(out) - 1, 0, -1):
        while True:
            a, b = threefry(key, np.uint64(counter))
            word, counter = int(a) << 32 | int(b), counter + 1
            if word >= 2**64 % (i + 1):
                break
        out[[i, word % (i + 1)]] = out[[word % (i + 1), i]]
    return out
