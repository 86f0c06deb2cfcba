"""Derivatives of first to third order, forward and reverse in every order, where a branch that is not taken has a pole, and of powers at 0:
orders.py BATON
"""
import itertools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from broadcasts import run # needs NumPy, or skips the test

import numpy as np

POINTS = np.array([0, -0.0, -1, 1, 2, 0.5])
CONSTANT = "const[(), float64]{%s}"
# Of each: where it is taken, else x is; itself; its derivatives.
BRANCHES = {
    "log(%x)": (lambda x: x > 0, "%x > 0f64", lambda x: (1 / x, -x**-2, 2 * x**-3)),
    "log2(%x) * log(2f64)": (lambda x: x > 0, "%x > 0f64", lambda x: (1 / x, -x**-2, 2 * x**-3)),
    "sqrt(%x)": (lambda x: x > 0, "%x > 0f64", lambda x: (0.5 * x**-0.5, -0.25 * x**-1.5, 0.375 * x**-2.5)),
    "power(%x, 0.5f64)": (lambda x: x > 0, "%x > 0f64", lambda x: (0.5 * x**-0.5, -0.25 * x**-1.5, 0.375 * x**-2.5)),
    "rsqrt(%x)": (lambda x: x > 0, "%x > 0f64", lambda x: (-0.5 * x**-1.5, 0.75 * x**-2.5, -1.875 * x**-3.5)),
    "1f64 / %x": (lambda x: x > 0, "%x > 0f64", lambda x: (-x**-2, 2 * x**-3, -6 * x**-4)),
    "log(sqrt(%x))": (lambda x: x > 0, "%x > 0f64", lambda x: (0.5 / x, -0.5 * x**-2, x**-3)),
    "log1p(%x)": (lambda x: x > -1, "%x > -1f64", lambda x: (1 / (1 + x), -(1 + x)**-2, 2 * (1 + x)**-3)),
    "acos(%x)": (lambda x: abs(x) < 1, "abs(%x) < 1f64",
                 lambda x: (-(1 - x * x)**-0.5, -x * (1 - x * x)**-1.5, -(1 + 2 * x * x) * (1 - x * x)**-2.5)),
    "atanh(%x)": (lambda x: abs(x) < 1, "abs(%x) < 1f64",
                  lambda x: (1 / (1 - x * x), 2 * x * (1 - x * x)**-2, (2 + 6 * x * x) * (1 - x * x)**-3)),
    "acosh(%x)": (lambda x: x > 1, "%x > 1f64",
                  lambda x: ((x * x - 1)**-0.5, -x * (x * x - 1)**-1.5, (1 + 2 * x * x) * (x * x - 1)**-2.5)),
    "exp(%x * 1000f64)": (lambda x: x < 0.5, "%x < 0.5f64", lambda x: (1e3 * np.exp(1e3 * x), 1e6 * np.exp(1e3 * x), 1e9 * np.exp(1e3 * x))),
}
WAYS = [["--executor", "interp"], ["--executor", "interp", "-O", "0"], ["--target", "reference", "--executor", "vm"], ["--target", "cpu"]]


def power(n):
    """Derivatives of a whole power, which are 0 from one on."""
    first, second, third = n, n * (n - 1), n * (n - 1) * (n - 2)
    return lambda x: (first * x**max(n - 1, 0), second * x**max(n - 2, 0), third * x**max(n - 3, 0))


def functions():
    """Text of each, and its derivatives at the points."""
    for text, (taken, condition, derivatives) in BRANCHES.items():
        is_taken = taken(POINTS)
        with np.errstate(all="ignore"):
            values = derivatives(POINTS)
        yield f"where({condition}, {text}, %x)", [np.where(is_taken, value, order == 0) for order, value in enumerate(values)]
    for n in range(5):
        yield f"power(%x, {n}f64)", power(n)(POINTS)


def program(body):
    """The results of @main are derivatives in the order of `modes`."""
    head = f"(%x: Tensor[({len(POINTS)}), float64])"
    text = f'#[version = "baton 0.1"]\ndef @f{head} {{ {body} }}\n'
    for mode in modes():
        inner = "@f" + mode[:-1]
        if mode[-1] == "g":
            text += f"gradient @f{mode} = {inner}();\n"
        else:
            text += f'jvp @both_f{mode} = {inner}();\ndef @f{mode}{head} {{ @both_f{mode}(%x, ones(shape=[{len(POINTS)}], dtype="float64")).1 }}\n'
    return text + f"def @main{head} {{ ({', '.join(f'@f{mode}(%x)' for mode in modes())}) }}\n"


def modes():
    """g: gradient, j: jvp; the last is taken last."""
    return ["".join(mode) for order in (1, 2, 3) for mode in itertools.product("gj", repeat=order)]


def main(baton):
    wrong, count = 0, 0
    for body, derivatives in functions():
        for way in WAYS:
            found = run(baton, program(body), {"x": POINTS}, way)
            assert len(found) == len(modes()), found.keys()
            for i, mode in enumerate(modes()):
                count += 1
                value, expected = found[f"output{i}.npy"], derivatives[len(mode) - 1]
                if not np.allclose(value, expected, rtol=1e-9, atol=1e-9, equal_nan=False):
                    wrong += 1
                    print(f"{body}, {mode}, {' '.join(way)}: {value}, expected {expected}")
    print(f"{count} derivatives at {len(POINTS)} points, {wrong} are wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
