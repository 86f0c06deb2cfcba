"""Floats of 8 bits as float64: all their codes, and rounding to them."""
import numpy as np

FORMATS = {  # digits of the fraction, bias, code of the greatest number
    "float8_e4m3fn": (3, 7, 0x7E),
    "float8_e4m3fnuz": (3, 8, 0x7F),
    "float8_e5m2": (2, 15, 0x7B),
    "float8_e5m2fnuz": (2, 16, 0x7F),
}


POWERS = "float8_e8m0fnu"  # of two, and NaN


def powers(codes):
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(int) - 127))


def power(value):
    """The nearest power of two, of two the greater one; of 0 the least, below it NaN."""
    with np.errstate(all="ignore"):
        fraction, exponent = np.frexp(np.where(np.isfinite(value), value, 0))
        code = np.where(np.isinf(value), 254, exponent - 1 + (fraction >= 0.75) + 127)
        code = np.where(value == 0, 0, np.clip(code, 0, 254))
    return powers(np.where(value >= 0, code, 255))


def sizes(dtype, n):
    """Of the first n codes."""
    digits, bias, _ = FORMATS[dtype]
    code = np.arange(n)
    whole = (code & (1 << digits) - 1) + np.where(code >> digits, 1 << digits, 0)
    return np.ldexp(whole.astype(np.float64), np.maximum(code >> digits, 1) - bias - digits)


def widened(codes, dtype):
    half = sizes(dtype, 128)
    half[FORMATS[dtype][2] + 1:] = np.nan
    if dtype == "float8_e5m2":
        half[0x7C] = np.inf
    values = np.concatenate([half, -half])
    if dtype.endswith("uz"):
        values[0x80] = np.nan
    return values[codes]


def rounded(value, dtype):
    """To nearest even; beyond is the greatest number, but infinity stays where there is one."""
    most = FORMATS[dtype][2]
    table = sizes(dtype, most + 2)
    size = np.abs(value)
    below = np.clip(np.searchsorted(table, size, side="right") - 1, 0, most)
    middle = (table[below] + table[below + 1]) / 2
    code = below + ((size > middle) | ((size == middle) & (below % 2 == 1)))
    out = table[np.minimum(code, most)]
    if dtype == "float8_e5m2":
        out = np.where(np.isinf(value), np.inf, out)
    out = np.where(np.isnan(value), np.nan, np.copysign(out, value))
    return out + 0.0 if dtype.endswith("uz") else out  # -0 + 0 is 0
