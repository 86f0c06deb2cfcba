"""Programs of random operators, their gradients and second derivatives on several executors, against differences of the same program
in NumPy: operators.py BATON COUNT SEED [--keep FOLDER] [--dtype T] [--open] [--execs A,B]

Each program is a function @f of float tensors and some integers: element-wise operators, reductions, broadcasts, products,
convolutions, pools, take, gather, scatter, concatenations, branches, recursion, lists, tuples, closures and references. The reference
knows nothing of Baton: each operator of a program is written as text and, beside it, as a function of NumPy arrays in float64.
Prints a line for each program with a fault, whose seed makes it again, and how much was compared.
"""

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "model"))
import harness

harness.need_packages("numpy")
import numpy as np

np.seterr(all="ignore")
_erf = np.vectorize(math.erf, otypes=[float])


def softmax(x, a):
    if x.size == 0:
        return x
    e = np.exp(x - x.max(axis=a, keepdims=True))
    return e / e.sum(axis=a, keepdims=True)


class Skip(Exception):
    pass


class Env(dict):
    """Values of names; `frozen` has what stop_gradient gave at the point itself."""

    __slots__ = ("shared",)

    def child(self):
        e = Env(self)
        e.shared = self.shared
        return e


class Gen:
    def __init__(self, seed, dtype=None, open_dims=None):
        self.r = random.Random(seed)
        r = self.r
        self.dtype = dtype or r.choice(["float64"] * 7 + ["float32"] * 3)
        self.suffix = {"float64": "f64", "float32": "f", "float16": "f16", "bfloat16": "bf16"}[self.dtype]
        self.n = 0
        self.open = r.random() < 0.2 if open_dims is None else open_dims
        self.dims = [1, 2, 3, 3, 5, 4] if r.random() < 0.85 else [0, 1, 2, 3, 7]
        self.open_dims = {5: "n", 7: "m"} if self.open else {}
        if self.open:
            self.dims = [2, 3, 5, 5, 7, 1]
        self.globals = []
        self.gfun = []
        self.params = []  # (name, shape, kind)
        self.prelude = False
        self.depth = 0

    # --- text ---------------------------------------------------------------------------------------------------
    def fresh(self, p="v"):
        self.n += 1
        return "%s%d" % (p, self.n)

    def dim(self, d):
        return self.open_dims.get(d, str(d))

    def type(self, shape, t=None):
        t = t or self.dtype
        return "Tensor[(%s), %s]" % (", ".join(self.dim(d) for d in shape), t)

    def poly(self):
        return "<" + ", ".join("%s: Dim" % v for v in self.open_dims.values()) + ">" if self.open else ""

    def poly_of(self, text):
        """The function with those dims alone that its parameters' types have."""
        import re

        m = re.match(r"def @[A-Za-z0-9_.]+(<[^>]*>)", text)
        if not m:
            return text
        head = text[: text.index("->")]
        used = [v for v in self.open_dims.values() if re.search(r"Tensor\[\([^)]*\b%s\b" % v, head)]
        return text.replace(m.group(1), "<" + ", ".join(v + ": Dim" for v in used) + ">" if used else "", 1)

    def num(self, x):
        s = repr(float(x))
        return s + self.suffix

    def shape(self, maxrank=3):
        return tuple(self.r.choice(self.dims) for _ in range(self.r.choice([0, 1, 1, 2, 2, 2, 3][: maxrank * 2 + 1])))

    # --- blocks: a list of statements and of what they do -----------------------------------------------------------
    class Block:
        def __init__(self, outer=None):
            self.lines, self.steps, self.vars = [], [], list(outer.vars) if outer else []
            self.mine = 0

        def run(self, env):
            for s in self.steps:
                s(env)

    def bind(self, b, text, fn, kind, shape, register=True):
        v = self.fresh()
        b.lines.append("let %%%s = %s;" % (v, text))

        def step(env, v=v, fn=fn):
            x = fn(env)
            if kind == "f" and isinstance(x, (np.ndarray, float, np.floating)):
                x = np.asarray(x, dtype=np.float64)
                if x.shape != tuple(shape):
                    raise AssertionError("oracle: %s is %s, not %s" % (text, x.shape, shape))
                m = float(np.max(np.abs(x))) if x.size else 0
                if m > 1e6:
                    raise Skip("large")
            env[v] = x

        b.steps.append(step)
        if register:
            b.vars.append((v, kind, tuple(shape)))
        return v

    def floats(self, b, pred=lambda s: True):
        return [(v, s) for v, k, s in b.vars if k == "f" and pred(s)]

    def pick(self, b, pred=lambda s: True):
        c = self.floats(b, pred)
        if not c:
            return None
        return self.r.choice(c[-8:] if self.r.random() < 0.6 else c)

    def pick_or_make(self, b, shape):
        """A variable of this shape: one there is, or one made of another."""
        shape = tuple(shape)
        c = self.pick(b, lambda s: s == shape)
        if c:
            return c[0]
        # the sum of some other one, times a constant tensor
        src = self.r.choice(self.floats(b))
        t = self.bind(b, "tanh(sum(%%%s))" % src[0], lambda e, v=src[0]: np.tanh(np.sum(e[v])), "f", ())
        n = int(np.prod(shape)) if shape else 1
        k = [round(self.r.uniform(-1, 1), 2) for _ in range(n)]
        if any(d in self.open_dims for d in shape):
            raise Skip("open shape")
        arr = np.array(k, dtype=np.float64).reshape(shape)
        if self.dtype == "float32":
            arr = arr.astype(np.float32).astype(np.float64)
        ct = "const[(%s), %s]{%s}" % (", ".join(map(str, shape)), self.dtype, ", ".join(repr(x) for x in k))
        return self.bind(b, "multiply(%%%s, %s)" % (t, ct), lambda e, t=t, a=arr: e[t] * a, "f", shape)

    # --- operators ------------------------------------------------------------------------------------------------
    def unary(self, b):
        r = self.r
        v, s = self.pick(b)
        V = "%" + v
        c = round(r.uniform(0.2, 1.5), 2)
        cv = float(np.float32(c)) if self.dtype == "float32" else c
        N = self.num
        table = [
            ("tanh(%s)" % V, np.tanh),
            ("sin(%s)" % V, np.sin),
            ("cos(%s)" % V, np.cos),
            ("sigmoid(%s)" % V, lambda x: 1 / (1 + np.exp(-x))),
            ("exp(tanh(%s))" % V, lambda x: np.exp(np.tanh(x))),
            ("erf(%s)" % V, _erf if True else None),
            ("atan(%s)" % V, np.arctan),
            ("asinh(%s)" % V, np.arcsinh),
            ("log(add(abs(%s), %s))" % (V, N(c)), lambda x: np.log(np.abs(x) + cv)),
            ("sqrt(add(multiply(%s, %s), %s))" % (V, V, N(c)), lambda x: np.sqrt(x * x + cv)),
            ("rsqrt(add(multiply(%s, %s), %s))" % (V, V, N(c)), lambda x: 1 / np.sqrt(x * x + cv)),
            ("divide(%s, add(multiply(%s, %s), %s))" % (V, V, V, N(c)), lambda x: x / (x * x + cv)),
            ("power(add(abs(%s), %s), %s)" % (V, N(c), N(1.5)), lambda x: (np.abs(x) + cv) ** 1.5),
            ("nn.relu(%s)" % V, lambda x: np.maximum(x, 0)),
            ("abs(%s)" % V, np.abs),
            ("nn.leaky_relu(%s, alpha=0.25)" % V, lambda x: np.where(x < 0, 0.25 * x, x)),
            ("clip(%s, a_min=-0.5, a_max=0.75)" % V, lambda x: np.clip(x, -0.5, 0.75)),
            ("floor(%s)" % V, np.floor),
            ("sign(%s)" % V, np.sign),
            ("round_even(multiply(%s, %s))" % (V, N(4)), lambda x: np.round(4 * x)),
            ("log1p(exp(sin(%s)))" % V, lambda x: np.log1p(np.exp(np.sin(x)))),
            ("sinh(tanh(%s))" % V, lambda x: np.sinh(np.tanh(x))),
            ("cosh(sin(%s))" % V, lambda x: np.cosh(np.sin(x))),
            ("tan(multiply(tanh(%s), %s))" % (V, N(0.5)), lambda x: np.tan(0.5 * np.tanh(x))),
            ("asin(multiply(tanh(%s), %s))" % (V, N(0.75)), lambda x: np.arcsin(0.75 * np.tanh(x))),
            ("acosh(add(exp(sin(%s)), %s))" % (V, N(1)), lambda x: np.arccosh(np.exp(np.sin(x)) + 1)),
            ("atanh(multiply(sin(%s), %s))" % (V, N(0.5)), lambda x: np.arctanh(np.sin(x) * 0.5)),
            ("log2(add(exp(tanh(%s)), %s))" % (V, N(c)), lambda x: np.log2(np.exp(np.tanh(x)) + cv)),
            ("power(%s, %s)" % (V, N(3)), lambda x: np.clip(x, -1e9, 1e9) ** 3),
            ("power(%s, %s)" % (V, N(2)), lambda x: x**2),
            ("negative(%s)" % V, np.negative),
            ("copy(%s)" % V, lambda x: x),
            ("fast_tanh(%s)" % V, np.tanh),
            ("fast_exp(sin(%s))" % V, lambda x: np.exp(np.sin(x))),
            ("floor_mod(%s, %s)" % (V, N(c)), lambda x: np.mod(x, cv)),
            ('subtract(%s, cast(cast(%s, dtype="int32"), dtype="%s"))' % (V, V, self.dtype), lambda x: x - np.trunc(x)),
            ("where(isnan(%s), zeros_like(%s), %s)" % (V, V, V), lambda x: x),
            ("subtract(%s, %s)" % (N(c), V), lambda x: cv - x),
            ("divide(%s, add(exp(sin(%s)), %s))" % (N(c), V, N(1)), lambda x: cv / (np.exp(np.sin(x)) + 1)),
        ]
        t, f = r.choice(table)
        return self.bind(b, t, lambda e, v=v, f=f: f(e[v]), "f", s)

    def binary(self, b):
        r = self.r
        x, s = self.pick(b)

        def ok(t):
            try:
                np.broadcast_shapes(s, t)
                if self.open and s != t and any(d == 1 or d in self.open_dims for d in s + t) and len(s) == len(t):
                    return False
                return True
            except ValueError:
                return False

        y, t = self.pick(b, ok)
        z = np.broadcast_shapes(s, t)
        X, Y = "%" + x, "%" + y
        one = self.num(1)
        table = [
            ("add(%s, %s)" % (X, Y), lambda p, q: p + q),
            ("subtract(%s, %s)" % (X, Y), lambda p, q: p - q),
            ("multiply(%s, %s)" % (X, Y), lambda p, q: p * q),
            ("%s * %s" % (X, Y), lambda p, q: p * q),
            ("divide(%s, add(exp(tanh(%s)), %s))" % (X, Y, one), lambda p, q: p / (np.exp(np.tanh(q)) + 1)),
            ("maximum(%s, %s)" % (X, Y), np.maximum),
            ("minimum(%s, %s)" % (X, Y), np.minimum),
            ("where(less(%s, %s), sin(%s), %s)" % (X, Y, X, Y), lambda p, q: np.where(p < q, np.sin(p), q)),
            ("where(greater(%s, %s), %s, multiply(%s, %s))" % (X, self.num(0.125), Y, X, Y), lambda p, q: np.where(p > 0.125, q, p * q)),
            ("power(add(abs(%s), %s), tanh(%s))" % (X, one, Y), lambda p, q: (np.abs(p) + 1) ** np.tanh(q)),
            (
                (
                    "where(logical_and(less(%s, %s), isfinite(%s)), %s, zeros_like(%s))" % (X, Y, X, X, X)
                    if len(s) >= len(t) and z == s
                    else "add(%s, %s)" % (X, Y)
                ),
                (lambda p, q: np.where(p < q, p, 0)) if len(s) >= len(t) and z == s else (lambda p, q: p + q),
            ),
        ]
        f, g = r.choice(table)
        return self.bind(b, f, lambda e: g(e[x], e[y]), "f", z)

    def reduce(self, b):
        r = self.r
        c = self.pick(b, lambda s: len(s) > 0)
        if not c:
            return
        v, s = c
        axes = sorted(r.sample(range(len(s)), r.randint(1, len(s))))
        keep = r.random() < 0.4
        ax = tuple(axes)
        empty = any(s[a] == 0 for a in axes)
        big = 1
        for a in axes:
            big *= s[a]
        ops = [("sum", lambda x, **k: np.sum(x, **k))]
        if not empty:
            ops += [
                ("mean", np.mean),
                ("max", np.max),
                ("min", np.min),
                (
                    "logsumexp",
                    lambda x, axis, keepdims: np.log(np.sum(np.exp(x - np.max(x, axis=axis, keepdims=True)), axis=axis, keepdims=keepdims))
                    + np.max(x, axis=axis, keepdims=keepdims),
                ),
                ("prod", np.prod),
                ("variance", np.var),
            ]
            if big > 1:
                ops += [("std", np.std)]
        n, f = r.choice(ops)
        out = tuple((1 if keep else None) if i in axes else d for i, d in enumerate(s))
        out = tuple(d for d in out if d is not None)
        axs = [a - len(s) if r.random() < 0.3 else a for a in axes]
        return self.bind(
            b, "%s(%%%s, axis=%s%s)" % (n, v, axs, ", keepdims=True" if keep else ""), lambda e: f(e[v], axis=ax, keepdims=keep), "f", out
        )

    def along(self, b):
        r = self.r
        c = self.pick(b, lambda s: len(s) > 0)
        if not c:
            return
        v, s = c
        a = r.randrange(len(s))
        V = "%" + v

        def take_along(x):
            return x

        def cumprod(x):
            return np.cumprod(x, axis=a)

        table = [
            ("cumsum(%s, axis=%d)" % (V, a), lambda x: np.cumsum(x, axis=a)),
            ("reverse(%s, axis=%d)" % (V, a), lambda x: np.flip(x, axis=a)),
            ("sort(%s, axis=%d)" % (V, a), lambda x: np.sort(x, axis=a)),
            ("sort(%s, axis=%d, is_ascend=False)" % (V, a), lambda x: -np.sort(-x, axis=a)),
            ("cumsum(%s, axis=%d, exclusive=True)" % (V, a), lambda x: np.cumsum(x, axis=a) - x),
            ("cumprod(%s, axis=%d)" % (V, a), cumprod),
            ("nn.softmax(%s, axis=%d)" % (V, a), lambda x: softmax(x, a)),
            (
                "nn.log_softmax(%s, axis=%d)" % (V, a),
                lambda x: (
                    x
                    if x.size == 0
                    else x - x.max(axis=a, keepdims=True) - np.log(np.exp(x - x.max(axis=a, keepdims=True)).sum(axis=a, keepdims=True))
                ),
            ),
            (
                "nn.l2_normalize(%s, eps=0.001, axis=[%d])" % (V, a),
                lambda x: x / np.sqrt(np.maximum((x * x).sum(axis=a, keepdims=True), 0.001)),
            ),
        ]
        t, f = r.choice(table)
        return self.bind(b, t, lambda e: f(e[v]), "f", s)

    def move(self, b):
        r = self.r
        c = self.pick(b, lambda s: len(s) > 0)
        if not c:
            return
        v, s = c
        V = "%" + v
        k = r.choice(
            [
                "transpose",
                "reshape",
                "expand",
                "concat",
                "split",
                "take",
                "gather",
                "scatter",
                "pad",
                "slice",
                "stack",
                "repeat",
                "tile",
                "onehot",
                "topk",
                "squeeze",
                "argtake",
                "broadcast",
                "scatter_nd",
                "gather_nd",
                "scatter_mul",
                "scatter_min",
                "trilu",
                "sliding",
            ]
        )
        a = r.randrange(len(s))
        if self.open and k in (
            "reshape",
            "tile",
            "split",
            "pad",
            "slice",
            "broadcast",
            "topk",
            "gather",
            "scatter",
            "scatter_mul",
            "scatter_min",
            "sliding",
        ):
            k = "transpose"
        if k == "transpose":
            p = list(range(len(s)))
            r.shuffle(p)
            return self.bind(b, "transpose(%s, axes=%s)" % (V, p), lambda e: np.transpose(e[v], p), "f", [s[i] for i in p])
        if k == "reshape":
            n = int(np.prod(s))
            if n == 0:
                return
            else:
                d = [i for i in range(1, n + 1) if n % i == 0]
                i = r.choice(d)
                t = [i, n // i]
            return self.bind(b, "reshape(%s, newshape=%s)" % (V, t), lambda e: e[v].reshape(t), "f", t)
        if k == "expand":
            if len(s) > 3:
                return
            t = list(s)
            a = r.randint(0, len(s))
            t.insert(a, 1)
            return self.bind(b, "expand_dims(%s, axis=%d)" % (V, a), lambda e: np.expand_dims(e[v], a), "f", t)
        if k == "squeeze":
            if 1 not in s:
                return
            a = s.index(1)
            return self.bind(b, "squeeze(%s, axis=[%d])" % (V, a), lambda e: np.squeeze(e[v], a), "f", s[:a] + s[a + 1 :])
        if k == "concat" or k == "stack":
            other = [
                w
                for w, t in self.floats(
                    b,
                    (
                        (lambda t: t == s)
                        if k == "stack" or self.open
                        else (lambda t: len(t) == len(s) and all(i == a or t[i] == s[i] for i in range(len(s))))
                    ),
                )
            ]
            ws = [v] + [r.choice(other) for _ in range(r.randint(1, 2))]
            if k == "stack" and len(s) > 3:
                return
            f = np.concatenate if k == "concat" else np.stack
            shapes = {w: t for w, t in self.floats(b)}
            out = list(s)
            if k == "concat":
                out[a] = sum(shapes[w][a] for w in ws)
                if out[a] > 12 or (self.open and out[a] != s[a] and s[a] in self.open_dims):
                    return
            else:
                a = r.randint(0, len(s))
                out.insert(a, len(ws))
            return self.bind(
                b,
                "%s((%s), axis=%d)" % ("concatenate" if k == "concat" else "stack", ", ".join("%" + w for w in ws), a),
                lambda e: f([e[w] for w in ws], axis=a),
                "f",
                out,
            )
        if k == "split":
            if s[a] < 2:
                return
            cut = r.randint(1, s[a] - 1)
            w = self.bind(
                b,
                "split(%s, indices_or_sections=[%d], axis=%d)" % (V, cut, a),
                lambda e: np.split(e[v], [cut], axis=a),
                "t",
                (),
                register=False,
            )
            i = r.randint(0, 1)
            t = list(s)
            t[a] = cut if i == 0 else s[a] - cut
            return self.bind(b, "%%%s.%d" % (w, i), lambda e: e[w][i], "f", t)
        if k == "take":
            if s[a] == 0:
                return
            n = r.randint(0, 4)
            idx = [r.randrange(s[a]) for _ in range(n)]
            it = "const[(%d), %s]{%s}" % (n, r.choice(["int32", "int64", "uint8"]), ", ".join(map(str, idx)))
            return self.bind(
                b,
                "take(%s, %s, axis=%d)" % (V, it, a),
                lambda e: np.take(e[v], np.array(idx, dtype=int), axis=a),
                "f",
                s[:a] + (n,) + s[a + 1 :],
            )
        if k == "argtake":
            if s[a] == 0 or len(s) > 2 or 0 in s:
                return
            if len(s) == 1:
                return self.bind(b, "take(%s, argmax(%s, axis=[0]), axis=0)" % (V, V), lambda e: e[v][np.argmax(e[v])], "f", ())
            w = self.bind(b, "argmin(%s, axis=[%d])" % (V, a), lambda e: np.argmin(e[v], axis=a), "i", s[:a] + s[a + 1 :], register=False)
            return self.bind(
                b,
                "take(%s, %%%s, axis=%d)" % (V, w, a),
                lambda e: np.take(e[v], e[w], axis=a),
                "f",
                s[:a] + s[:a] + s[a + 1 :] + s[a + 1 :],
            )
        if k in ("gather", "scatter", "scatter_mul", "scatter_min"):
            if 0 in s or len(s) > 2:
                return
            n = s[a]
            t = list(s)
            if k == "gather":
                t[a] = r.randint(1, 4)
            else:
                t[a] = r.randint(1, n)
            if k in ("scatter",) and r.random() < 0.5 or k == "scatter_min" and r.random() < 0.3:
                # distinct positions
                idx = np.stack([np.array(r.sample(range(n), t[a])) for _ in range(int(np.prod(t)) // t[a])], axis=-1).reshape(
                    [t[a]] + [d for i, d in enumerate(t) if i != a]
                )
                idx = np.moveaxis(idx, 0, a)
                mode = r.choice(["update", "add"])
            else:
                idx = np.array([r.randrange(n) for _ in range(int(np.prod(t)))], dtype=int).reshape(t)
                mode = "add"
            if k == "scatter_mul":
                mode = "mul"
            if k == "scatter_min":
                mode = r.choice(["min", "max", "mean"])
            it = "const[(%s), int64]{%s}" % (", ".join(map(str, t)), ", ".join(map(str, idx.ravel())))
            if k == "gather":
                return self.bind(b, "gather(%s, %s, axis=%d)" % (V, it, a), lambda e: np.take_along_axis(e[v], idx, axis=a), "f", t)
            u = self.pick_or_make(b, t)

            def sc(e):
                x = np.array(e[v])
                q = e[u]
                cnt = np.ones_like(x)
                for p in np.ndindex(*idx.shape):
                    d = list(p)
                    d[a] = idx[p]
                    d = tuple(d)
                    if mode == "update":
                        x[d] = q[p]
                    elif mode == "add":
                        x[d] += q[p]
                    elif mode == "mul":
                        x[d] *= q[p]
                    elif mode == "min":
                        x[d] = min(x[d], q[p])
                    elif mode == "max":
                        x[d] = max(x[d], q[p])
                    elif mode == "mean":
                        x[d] += q[p]
                        cnt[d] += 1
                return x / cnt if mode == "mean" else x

            return self.bind(b, 'scatter_elements(%s, %s, %%%s, axis=%d, reduction="%s")' % (V, it, u, a, mode), sc, "f", s)
        if k == "gather_nd":
            if 0 in s:
                return
            m = r.randint(1, len(s))
            n = r.randint(1, 3)
            idx = np.array([[r.randrange(s[j]) for _ in range(n)] for j in range(m)], dtype=int)
            return self.bind(
                b,
                "gather_nd(%s, const[(%d, %d), int32]{%s})" % (V, m, n, ", ".join(map(str, idx.ravel()))),
                lambda e: e[v][tuple(idx)],
                "f",
                (n,) + s[m:],
            )
        if k == "scatter_nd":
            if 0 in s or (self.open and any(d in self.open_dims for d in s)):
                return
            m = r.randint(1, len(s))
            n = r.randint(1, 3)
            mode = r.choice(["add", "add", "mul", "min", "max"])
            idx = np.array([[r.randrange(s[j]) for _ in range(n)] for j in range(m)], dtype=int)
            u = self.pick_or_make(b, (n,) + s[m:])

            def snd(e):
                x = np.array(e[v])
                for j in range(n):
                    d = tuple(idx[:, j])
                    q = e[u][j]
                    x[d] = {"add": x[d] + q, "mul": x[d] * q, "min": np.minimum(x[d], q), "max": np.maximum(x[d], q)}[mode]
                return x

            return self.bind(
                b,
                'scatter_nd(%s, const[(%d, %d), int32]{%s}, %%%s, mode="%s")' % (V, m, n, ", ".join(map(str, idx.ravel())), u, mode),
                snd,
                "f",
                s,
            )
        if k == "pad":
            w = [(r.randint(0, 2), r.randint(0, 2)) for _ in s]
            mode = r.choice(["constant", "edge", "reflect"])
            if mode != "constant" and 0 in s:
                return
            if mode == "reflect":
                w = [(min(p, d - 1), min(q, d - 1)) for (p, q), d in zip(w, s)]
            t = [d + p + q for d, (p, q) in zip(s, w)]
            if max(t) > 9:
                return
            if mode == "constant":
                val = round(r.uniform(-1, 1), 2)
                valf = float(np.float32(val)) if self.dtype == "float32" else val
                return self.bind(
                    b,
                    "nn.pad(%s, %s, pad_width=%s)" % (V, self.num(val), [x for p in w for x in p]),
                    lambda e: np.pad(e[v], w, constant_values=valf),
                    "f",
                    t,
                )
            return self.bind(
                b,
                'nn.pad(%s, pad_width=%s, pad_mode="%s")' % (V, [x for p in w for x in p], mode),
                lambda e: np.pad(e[v], w, mode=mode),
                "f",
                t,
            )
        if k == "slice":
            if s[a] < 1:
                return
            st = r.choice([1, 1, 2, -1, -2])
            lo, hi = r.randint(0, s[a] - 1), r.randint(0, s[a])
            if st < 0:
                lo, hi = max(lo, hi - 1), min(lo, hi) - 1
                if hi < 0:
                    hi = -s[a] - 1
            sl = [slice(None)] * len(s)
            sl[a] = slice(lo, hi, st)
            sl = tuple(sl)
            t = np.zeros(s)[sl].shape
            return self.bind(
                b, "strided_slice(%s, begin=[%d], end=[%d], strides=[%d], axes=[%d])" % (V, lo, hi, st, a), lambda e: e[v][sl], "f", t
            )
        if k == "repeat":
            if s[a] > 4 or self.open and s[a] in self.open_dims:
                return
            n = r.randint(1, 3)
            return self.bind(
                b,
                "repeat(%s, repeats=%d, axis=%d)" % (V, n, a),
                lambda e: np.repeat(e[v], n, axis=a),
                "f",
                s[:a] + (s[a] * n,) + s[a + 1 :],
            )
        if k == "tile":
            reps = [r.randint(1, 2) for _ in s]
            t = [d * q for d, q in zip(s, reps)]
            if max(t) > 8:
                return
            return self.bind(b, "tile(%s, reps=%s)" % (V, reps), lambda e: np.tile(e[v], reps), "f", t)
        if k == "topk":
            if s[a] == 0:
                return
            n = r.randint(1, s[a])
            t = s[:a] + (n,) + s[a + 1 :]
            asc = r.random() < 0.5
            return self.bind(
                b,
                'topk(%s, k=%d, axis=%d, ret_type="values"%s)' % (V, n, a, ", is_ascend=True" if asc else ""),
                lambda e: np.take(np.sort(e[v], axis=a) if asc else -np.sort(-e[v], axis=a), np.arange(n), axis=a),
                "f",
                t,
            )
        if k == "broadcast":
            if len(s) > 2:
                return
            t = (r.choice([1, 2, 3]),) + tuple(r.choice([2, 3]) if d == 1 else d for d in s)
            return self.bind(b, "broadcast_to(%s, shape=%s)" % (V, list(t)), lambda e: np.broadcast_to(e[v], t).copy(), "f", t)
        if k == "trilu":
            if len(s) < 2:
                return
            d = r.randint(-1, 1)
            up = r.random() < 0.5
            return self.bind(
                b, "trilu(%s, const[(), int32]{%d}, upper=%s)" % (V, d, up), lambda e: (np.triu if up else np.tril)(e[v], d), "f", s
            )
        if k == "sliding":
            w = r.randint(1, 3)
            st = r.randint(1, 2)
            if s[-1] < w:
                return
            n = (s[-1] - w) // st + 1
            return self.bind(
                b,
                "sliding_window(%s, axis=%d, window_shape=[%d], strides=[%d])" % (V, len(s) - 1, w, st),
                lambda e: np.stack([e[v][..., i * st : i * st + w] for i in range(n)], axis=-2),
                "f",
                s[:-1] + (n, w),
            )

    def product(self, b):
        r = self.r
        c = self.pick(b, lambda s: len(s) == 2)
        if not c:
            return
        x, s = c
        k = r.choice(["dense", "matmul", "einsum", "einsum2", "batch"])

        def two(pred):
            q = self.pick(b, lambda t: len(t) == 2 and pred(t))
            if q:
                return q
            t = (r.choice([1, 2, 3]), s[1])
            return self.pick_or_make(b, t if pred(t) else t[::-1]), (t if pred(t) else t[::-1])

        if k == "dense":
            y, t = two(lambda t: t[1] == s[1])
            return self.bind(b, "nn.dense(%%%s, %%%s)" % (x, y), lambda e: e[x] @ e[y].T, "f", (s[0], t[0]))
        if k == "matmul":
            y, t = two(lambda t: t[0] == s[1])
            return self.bind(b, "nn.matmul(%%%s, %%%s)" % (x, y), lambda e: e[x] @ e[y], "f", (s[0], t[1]))
        if k == "einsum":
            y, t = two(lambda t: t[0] == s[0])
            eq = r.choice(["ij,ik->jk", "ij,ik->k", "ij,ik->i", "ij,ik->ikj", "ij,ik->"])
            f = lambda e: np.einsum(eq, e[x], e[y])
            out = np.einsum(eq, np.zeros(s), np.zeros(t)).shape
            return self.bind(b, 'einsum((%%%s, %%%s), equation="%s")' % (x, y, eq), f, "f", out)
        if k == "einsum2":
            if s[0] != s[1]:
                eq = "ij,ij,kj->ki"
                return self.bind(
                    b,
                    'einsum((%%%s, %%%s, %%%s), equation="%s")' % (x, x, x, eq),
                    lambda e: np.einsum(eq, e[x], e[x], e[x]),
                    "f",
                    (s[0], s[0]),
                )
            eq = r.choice(["ii->i", "ij,jk,ki->i"])
            ops = [x] * (1 if eq == "ii->i" else 3)
            if self.open:
                return
            return self.bind(
                b,
                'einsum((%s,), equation="%s")' % (", ".join("%" + o for o in ops), eq),
                lambda e: np.einsum(eq, *[e[o] for o in ops]),
                "f",
                (s[0],),
            )
        if k == "batch":
            c = self.pick(b, lambda t: len(t) == 3)
            if not c or self.open:
                return
            y, t = c
            z = self.pick(b, lambda q: len(q) == 3 and q[0] == t[0] and q[2] == t[2])
            return self.bind(
                b, "nn.batch_matmul(%%%s, %%%s)" % (y, z[0]), lambda e: e[y] @ np.swapaxes(e[z[0]], 1, 2), "f", (t[0], t[1], z[1][1])
            )

    def network(self, b):
        """Convolutions, pools and norms on a tensor that is made a batch of images."""
        r = self.r
        c = self.pick(b, lambda s: 1 <= len(s) and 0 not in s and np.prod(s) <= 60)
        if not c or self.open:
            return
        v, s = c
        n = int(np.prod(s))
        fac = [(1, ch, h, n // ch // h) for ch in range(1, 4) for h in range(1, 6) if n % ch == 0 and (n // ch) % h == 0]
        t = r.choice(fac)
        x = self.bind(b, "reshape(%%%s, newshape=%s)" % (v, list(t)), lambda e: e[v].reshape(t), "f", t)
        k = r.choice(
            [
                "conv",
                "conv",
                "maxpool",
                "avgpool",
                "convt",
                "layer_norm",
                "global",
                "bn",
                "group",
                "resize",
                "lrn",
                "prelu",
                "adaptive",
                "bnt",
                "mirror",
                "s2d",
            ]
        )
        kh, kw = r.randint(1, min(3, t[2])), r.randint(1, min(3, t[3]))
        sh, sw = r.randint(1, 2), r.randint(1, 2)
        pt, pl, pb, pr = [r.randint(0, 1) for _ in range(4)]
        if k in ("maxpool", "avgpool"):
            pt, pl, pb, pr = min(pt, kh - 1), min(pl, kw - 1), min(pb, kh - 1), min(pr, kw - 1)
        dh, dw = (r.randint(1, 2), r.randint(1, 2)) if k == "conv" else (1, 1)
        if k in ("conv", "maxpool", "avgpool"):
            H = (t[2] + pt + pb - (kh - 1) * dh - 1) // sh + 1
            W = (t[3] + pl + pr - (kw - 1) * dw - 1) // sw + 1
            if H < 1 or W < 1:
                return
        if k == "conv":
            oc = r.randint(1, 3)
            g = t[1] if r.random() < 0.3 else 1
            oc = oc * g if g > 1 else oc
            if oc > 6:
                return
            w = self.pick_or_make(b, (oc, t[1] // g, kh, kw))

            def conv(e):
                X = np.pad(e[x], [(0, 0), (0, 0), (pt, pb), (pl, pr)])
                o = np.zeros((1, oc, H, W))
                for i in range(kh):
                    for j in range(kw):
                        P = X[:, :, i * dh : i * dh + sh * (H - 1) + 1 : sh, j * dw : j * dw + sw * (W - 1) + 1 : sw]
                        if g == 1:
                            o += np.einsum("bchw,oc->bohw", P, e[w][:, :, i, j])
                        else:
                            o += np.repeat(P, oc // g, axis=1) * e[w][:, 0, i, j][None, :, None, None]
                return o

            return self.bind(
                b,
                "nn.conv2d(%%%s, %%%s, strides=[%d, %d], padding=[%d, %d, %d, %d], dilation=[%d, %d], groups=%d)"
                % (x, w, sh, sw, pt, pl, pb, pr, dh, dw, g),
                conv,
                "f",
                (1, oc, H, W),
            )
        if k in ("maxpool", "avgpool"):
            inc = r.random() < 0.5

            def pool(e):
                o = np.zeros((1, t[1], H, W))
                for i in range(H):
                    for j in range(W):
                        a0, a1 = max(0, i * sh - pt), min(t[2], i * sh - pt + kh)
                        b0, b1 = max(0, j * sw - pl), min(t[3], j * sw - pl + kw)
                        q = e[x][:, :, a0:a1, b0:b1]
                        if k == "maxpool":
                            o[:, :, i, j] = q.max(axis=(2, 3))
                        else:
                            o[:, :, i, j] = q.sum(axis=(2, 3)) / (kh * kw if inc else (a1 - a0) * (b1 - b0))
                return o

            return self.bind(
                b,
                "nn.%s_pool2d(%%%s, pool_size=[%d, %d], strides=[%d, %d], padding=[%d, %d, %d, %d]%s)"
                % (k[:3], x, kh, kw, sh, sw, pt, pl, pb, pr, ", count_include_pad=True" if inc and k == "avgpool" else ""),
                pool,
                "f",
                (1, t[1], H, W),
            )
        if k == "convt":
            oc = r.randint(1, 2)
            w = self.pick_or_make(b, (t[1], oc, kh, kw))
            H, W = (t[2] - 1) * sh + kh, (t[3] - 1) * sw + kw

            def convt(e):
                o = np.zeros((1, oc, H, W))
                for i in range(t[2]):
                    for j in range(t[3]):
                        o[0, :, i * sh : i * sh + kh, j * sw : j * sw + kw] += np.einsum("c,cohw->ohw", e[x][0, :, i, j], e[w])
                return o

            return self.bind(b, "nn.conv2d_transpose(%%%s, %%%s, strides=[%d, %d])" % (x, w, sh, sw), convt, "f", (1, oc, H, W))
        if k in ("layer_norm", "bn", "group", "bnt"):
            ax = -1 if k == "layer_norm" else 1
            C = t[ax]
            gm, bt = self.pick_or_make(b, (C,)), self.pick_or_make(b, (C,))
            sh_ = (1, C, 1, 1)
            if k == "layer_norm":
                return self.bind(
                    b,
                    "nn.layer_norm(%%%s, %%%s, %%%s, epsilon=0.1)" % (x, gm, bt),
                    lambda e: (e[x] - e[x].mean(-1, keepdims=True)) / np.sqrt(e[x].var(-1, keepdims=True) + 0.1) * e[gm] + e[bt],
                    "f",
                    t,
                )
            if k == "group":
                return self.bind(
                    b,
                    "nn.group_norm(%%%s, %%%s, %%%s, num_groups=1, epsilon=0.1)" % (x, gm, bt),
                    lambda e: (e[x] - e[x].mean((1, 2, 3), keepdims=True))
                    / np.sqrt(e[x].var((1, 2, 3), keepdims=True) + 0.1)
                    * e[gm].reshape(sh_)
                    + e[bt].reshape(sh_),
                    "f",
                    t,
                )
            mm, mv = self.pick_or_make(b, (C,)), self.pick_or_make(b, (C,))
            mv2 = self.bind(b, "multiply(%%%s, %%%s)" % (mv, mv), lambda e: e[mv] ** 2, "f", (C,))
            if k == "bnt":
                w = self.bind(
                    b,
                    "nn.batch_norm_training(%%%s, %%%s, %%%s, %%%s, %%%s, epsilon=0.1)" % (x, gm, bt, mm, mv2),
                    lambda e: (e[x] - e[x].mean((0, 2, 3), keepdims=True))
                    / np.sqrt(e[x].var((0, 2, 3), keepdims=True) + 0.1)
                    * e[gm].reshape(sh_)
                    + e[bt].reshape(sh_),
                    "t",
                    (),
                    register=False,
                )
                return self.bind(b, "%%%s.0" % w, lambda e: e[w], "f", t)
            w = self.bind(
                b,
                "nn.batch_norm(%%%s, %%%s, %%%s, %%%s, %%%s, epsilon=0.1)" % (x, gm, bt, mm, mv2),
                lambda e: (e[x] - e[mm].reshape(sh_)) / np.sqrt(e[mv2].reshape(sh_) + 0.1) * e[gm].reshape(sh_) + e[bt].reshape(sh_),
                "t",
                (),
                register=False,
            )
            return self.bind(b, "%%%s.0" % w, lambda e: e[w], "f", t)
        if k == "global":
            if r.random() < 0.5:
                return self.bind(b, "nn.global_avg_pool2d(%%%s)" % x, lambda e: e[x].mean((2, 3), keepdims=True), "f", (1, t[1], 1, 1))
            return self.bind(b, "nn.global_max_pool2d(%%%s)" % x, lambda e: e[x].max((2, 3), keepdims=True), "f", (1, t[1], 1, 1))
        if k == "lrn":

            def lrn(e):
                X = e[x]
                q = np.zeros_like(X)
                for c_ in range(t[1]):
                    q[:, c_] = (X[:, max(0, c_ - 1) : c_ + 2] ** 2).sum(1)
                return X / (2 + 0.5 * q / 3) ** 0.75

            return self.bind(b, "nn.lrn(%%%s, size=3, alpha=0.5)" % x, lrn, "f", t)
        if k == "prelu":
            al = self.pick_or_make(b, (t[1],))
            return self.bind(
                b, "nn.prelu(%%%s, %%%s)" % (x, al), lambda e: np.where(e[x] < 0, e[x] * e[al].reshape(1, -1, 1, 1), e[x]), "f", t
            )
        if k == "adaptive":
            H, W = r.randint(1, t[2]), r.randint(1, t[3])
            m = r.choice(["avg", "max"])

            def ad(e):
                o = np.zeros((1, t[1], H, W))
                for i in range(H):
                    for j in range(W):
                        q = e[x][:, :, i * t[2] // H : -(-(i + 1) * t[2] // H), j * t[3] // W : -(-(j + 1) * t[3] // W)]
                        o[:, :, i, j] = q.mean((2, 3)) if m == "avg" else q.max((2, 3))
                return o

            return self.bind(b, "nn.adaptive_%s_pool2d(%%%s, output_size=[%d, %d])" % (m, x, H, W), ad, "f", (1, t[1], H, W))
        if k == "resize":
            return self.bind(
                b,
                "nn.upsampling(%%%s, scale_h=2, scale_w=2)" % x,
                lambda e: e[x].repeat(2, 2).repeat(2, 3),
                "f",
                (1, t[1], t[2] * 2, t[3] * 2),
            )

    # --- control --------------------------------------------------------------------------------------------------
    def sub(self, b, extra, want, size):
        """A block that sees what b does and `extra`, and gives a tensor of shape `want`."""
        q = Gen.Block(b)
        q.vars += extra
        self.depth += 1
        for _ in range(size):
            self.statement(q)
        self.depth -= 1
        v = self.pick_or_make(q, want)
        # make it depend on the newest
        new = self.r.choice(self.floats(q)[-3:])
        if self.r.random() < 0.7 and new[1] != ():
            t = self.bind(q, "tanh(sum(%%%s))" % new[0], lambda e: np.tanh(np.sum(e[new[0]])), "f", ())
            v2 = self.bind(q, "add(%%%s, %%%s)" % (v, t), lambda e, v=v, t=t: e[v] + e[t], "f", want)
            v = v2
        return q, v

    @staticmethod
    def body(q, v):
        return "{ " + " ".join(q.lines) + " %" + v + " }"

    def cond(self, b):
        r = self.r
        ints = [v for v, k, s in b.vars if k == "i" and s == ()]
        if ints and r.random() < 0.5:
            i = r.choice(ints)
            c = r.randint(0, 3)
            return "less(%%%s, %d)" % (i, c), lambda e: e[i] < c
        v, s = self.pick(b)
        return "greater(sum(%%%s), %s)" % (v, self.num(0.0625)), lambda e: np.sum(e[v]) > 0.0625

    def control(self, b):
        if self.depth > 1:
            return
        r = self.r
        c = self.pick(b, lambda s: int(np.prod(s)) <= 40)
        if not c:
            return
        v, s = c
        k = r.choice(
            [
                "if",
                "loop",
                "list",
                "closure",
                "ref",
                "tuple",
                "adt",
                "foldl",
                "map",
                "refloop",
                "cps",
                "rows",
                "mutual",
                "tail",
                "stop",
                "tree",
                "closures_list",
                "compose",
            ]
        )
        if self.open and k in ("closure", "foldl", "map", "cps", "closures_list", "compose"):
            k = "loop"
        T = self.type(s)
        size = r.randint(1, 3)
        if k == "if":
            ct, cf = self.cond(b)
            q1, w1 = self.sub(b, [], s, size)
            q2, w2 = self.sub(b, [], s, r.randint(0, 2))

            def run(e):
                if cf(e):
                    f = e.child()
                    q1.run(f)
                    return f[w1]
                f = e.child()
                q2.run(f)
                return f[w2]

            return self.bind(b, "if (%s) %s else %s" % (ct, self.body(q1, w1), self.body(q2, w2)), run, "f", s)
        if k == "stop":

            def run(e):
                key = ("stop", e.shared["i"])
                e.shared["i"] += 1
                if e.shared["mode"] == "record":
                    e.shared["kept"][key] = e[v]
                return e.shared["kept"].get(key, e[v])

            return self.bind(b, "stop_gradient(%%%s)" % v, run, "f", s)
        if k in ("loop", "tail", "mutual"):
            name = self.fresh("loop")
            top = Gen.Block()
            i, a, x = self.fresh("i"), self.fresh("a"), self.fresh("x")
            top.vars = [(i, "i", ()), (a, "f", s), (x, "f", s)]
            q, w = self.sub(top, [], s, size)
            ints = [z for z, kk, ss in b.vars if kk == "i" and ss == ()]
            if ints and r.random() < 0.6:
                cnt = "%" + r.choice(ints)
                cf = lambda e, z=cnt[1:]: int(e[z])
            else:
                m = r.randint(0, 4)
                cnt = str(m)
                cf = lambda e: m
            y = self.pick_or_make(b, s)
            head = "def @%s%s(%%%s: int32, %%%s: %s, %%%s: %s) -> %s " % (name, self.poly(), i, a, T, x, T, T)
            if k == "tail":
                self.globals.append(
                    head
                    + "{ if (less(%%%s, 1)) { %%%s } else { %s @%s(subtract(%%%s, 1), %%%s, %%%s) } }"
                    % (i, a, " ".join(q.lines), name, i, w, x)
                )

                def rec(e, iv, av, xv):
                    while iv >= 1:
                        f = Env()
                        f.shared = e.shared
                        f.update({i: iv, a: av, x: xv})
                        q.run(f)
                        av = f[w]
                        iv -= 1
                    return av

            elif k == "mutual":
                other = name + "b"
                self.globals.append(
                    head
                    + "{ if (less(%%%s, 1)) { %%%s } else { %s @%s(subtract(%%%s, 1), %%%s, %%%s) } }"
                    % (i, a, " ".join(q.lines), other, i, w, a)
                )
                self.globals.append(
                    head.replace("@" + name, "@" + other)
                    + "{ if (less(%%%s, 1)) { sin(%%%s) } else { multiply(%s, @%s(subtract(%%%s, 1), %%%s, %%%s)) } }"
                    % (i, x, self.num(0.5), name, i, x, a)
                )

                def rec(e, iv, av, xv):
                    if iv < 1:
                        return av
                    f = Env()
                    f.shared = e.shared
                    f.update({i: iv, a: av, x: xv})
                    q.run(f)
                    return recb(e, iv - 1, f[w], av)

                def recb(e, iv, av, xv):
                    return np.sin(xv) if iv < 1 else 0.5 * rec(e, iv - 1, xv, av)

            else:
                self.globals.append(
                    head
                    + "{ if (less(%%%s, 1)) { %%%s } else { let %%%s = @%s(subtract(%%%s, 1), multiply(%%%s, %s), %%%s); %s tanh(%%%s) } }"
                    % (i, a, a + "r", name, i, a, self.num(0.75), x, " ".join(l.replace("%" + a + ")", "%" + a + ")") for l in q.lines), w)
                )

                def rec(e, iv, av, xv):
                    if iv < 1:
                        return av
                    rec(e, iv - 1, av * 0.75, xv) if False else None
                    f = Env()
                    f.shared = e.shared
                    f.update({i: iv, a: av, x: xv})
                    q.run(f)
                    return np.tanh(f[w])

            return self.bind(b, "@%s(%s, %%%s, %%%s)" % (name, cnt, v, y), lambda e: rec(e, cf(e), e[v], e[y]), "f", s)
        if k in ("list", "tree"):
            self.prelude = True
            name = self.fresh("walk")
            h, st, rest = self.fresh("h"), self.fresh("s"), self.fresh("r")
            top = Gen.Block()
            top.vars = [(h, "f", s), (st, "f", s), (rest, "f", s)]
            q, w = self.sub(top, [], s, size)
            elems = [self.pick_or_make(b, s) for _ in range(r.randint(0, 3))]
            txt = "Nil"
            for z in reversed(elems):
                txt = "Cons(%%%s, %s)" % (z, txt)
            if k == "list":
                self.globals.append(
                    "def @%s%s(%%l: List[%s], %%%s: %s) -> %s { match (%%l) { Cons(%%%s, %%t) => { let %%%s = @%s(%%t, multiply(%%%s, %s)); %s %%%s }, Nil => { %%%s } } }"
                    % (name, self.poly(), T, st, T, T, h, rest, name, st, self.num(0.5), " ".join(q.lines), w, st)
                )

                def rec(e, l, sv):
                    if not l:
                        return sv
                    rv = rec(e, l[1:], sv * 0.5)
                    f = Env()
                    f.shared = e.shared
                    f.update({h: l[0], st: sv, rest: rv})
                    q.run(f)
                    return f[w]

                return self.bind(b, "@%s(%s, %%%s)" % (name, txt, v), lambda e: rec(e, [e[z] for z in elems], e[v]), "f", s)
            self.globals.append(
                "type Tr%s { Leaf%s(%s), Node%s(Tr%s, %s, Tr%s) }"
                % (
                    name,
                    name,
                    "Tensor[(%s), %s]" % (", ".join(map(str, s)), self.dtype),
                    name,
                    name,
                    "Tensor[(%s), %s]" % (", ".join(map(str, s)), self.dtype),
                    name,
                )
            )
            if self.open:
                self.globals.pop()
                raise Skip("open adt")
            self.globals.append(
                "def @%s(%%l: Tr%s) -> %s { match (%%l) { Node%s(%%a, %%%s, %%b) => { let %%%s = @%s(%%a); let %%%s = @%s(%%b); %s %%%s }, Leaf%s(%%q) => { %%q } } }"
                % (name, name, T, name, h, st, name, rest, name, " ".join(q.lines), w, name)
            )
            z1, z2 = self.pick_or_make(b, s), self.pick_or_make(b, s)

            def node(e, lv, hv, rv):
                f = Env()
                f.shared = e.shared
                f.update({h: hv, st: lv, rest: rv})
                q.run(f)
                return f[w]

            L, N = "Leaf" + name, "Node" + name
            return self.bind(
                b,
                "@%s(%s(%s(%s(%%%s), %%%s, %s(%%%s)), %%%s, %s(%%%s)))" % (name, N, N, L, v, z1, L, z2, v, L, z1),
                lambda e: node(e, node(e, e[v], e[z1], e[z2]), e[v], e[z1]),
                "f",
                s,
            )
        if k in ("closure", "cps", "closures_list", "compose"):
            a = self.fresh("a")
            q, w = self.sub(b, [(a, "f", s)], s, size)

            def call(env):
                def f(x):
                    g = env.child()
                    g[a] = x
                    q.run(g)
                    return g[w]

                return f

            ftext = "fn (%%%s: %s) -> %s %s" % (a, T, T, self.body(q, w))
            if k == "closure":
                ct, cf = self.cond(b)
                f = self.bind(
                    b,
                    "if (%s) { %s } else { fn (%%%s: %s) -> %s { sin(%%%s) } }" % (ct, ftext, a + "e", T, T, a + "e"),
                    lambda e: call(e) if cf(e) else np.sin,
                    "fn",
                    (),
                    register=False,
                )
                o = self.bind(b, "%%%s(%%%s)" % (f, v), lambda e: e[f](e[v]), "f", s)
                return self.bind(b, "multiply(%%%s(%%%s), %%%s)" % (f, o, v), lambda e: e[f](e[o]) * e[v], "f", s)
            if k == "compose":
                self.prelude = True
                f = self.bind(b, ftext, lambda e: call(e), "fn", (), register=False)
                return self.bind(
                    b,
                    "@compose(%%%s, fn (%%%s: %s) -> %s { cos(%%%s) })(%%%s)" % (f, a + "e", T, T, a + "e", v),
                    lambda e: e[f](np.cos(e[v])),
                    "f",
                    s,
                )
            if k == "cps":
                name = self.fresh("k")
                self.globals.append(
                    "def @%s(%%i: int32, %%x: %s, %%k: fn (%s) -> %s) -> %s { if (less(%%i, 1)) { %%k(%%x) } else { @%s(subtract(%%i, 1), sin(%%x), fn (%%y: %s) -> %s { multiply(%%k(%%y), %%x) }) } }"
                    % (name, T, T, T, T, name, T, T)
                )
                m = r.randint(0, 3)

                def cps(i, x, kk):
                    return kk(x) if i < 1 else cps(i - 1, np.sin(x), lambda y: kk(y) * x)

                return self.bind(b, "@%s(%d, %%%s, %s)" % (name, m, v, ftext), lambda e: cps(m, e[v], call(e)), "f", s)
            self.prelude = True
            name = self.fresh("apply")
            self.globals.append(
                "def @%s(%%l: List[fn (%s) -> %s], %%x: %s) -> %s { match (%%l) { Cons(%%f, %%t) => { @%s(%%t, %%f(%%x)) }, Nil => { %%x } } }"
                % (name, T, T, T, T, name)
            )
            return self.bind(
                b,
                "@%s(Cons(%s, Cons(fn (%%%s: %s) -> %s { sin(%%%s) }, Nil)), %%%s)" % (name, ftext, a + "e", T, T, a + "e", v),
                lambda e: np.sin(call(e)(e[v])),
                "f",
                s,
            )
        if k == "ref":
            ct, cf = self.cond(b)
            R = self.fresh("r")
            y = self.pick_or_make(b, s)
            b.lines.append("let %%%s = ref(%%%s);" % (R, v))
            b.lines.append(
                "if (%s) { ref_write(%%%s, multiply(ref_read(%%%s), %%%s)) } else { ref_write(%%%s, sin(%%%s)) };" % (ct, R, R, y, R, y)
            )

            def step(e):
                e[R] = e[v] * e[y] if cf(e) else np.sin(e[y])

            b.steps.append(step)
            return self.bind(b, "ref_read(%%%s)" % R, lambda e: e[R], "f", s)
        if k == "refloop":
            name = self.fresh("rl")
            i, x, c_ = self.fresh("i"), self.fresh("x"), self.fresh("c")
            top = Gen.Block()
            top.vars = [(i, "i", ()), (x, "f", s), (c_, "f", s)]
            q, w = self.sub(top, [], s, size)
            self.globals.append(
                "def @%s%s(%%%s: int32, %%q: Ref[%s], %%%s: %s) -> %s { if (less(%%%s, 1)) { ref_read(%%q) } else { let %%%s = ref_read(%%q); %s ref_write(%%q, %%%s); @%s(subtract(%%%s, 1), %%q, %%%s) } }"
                % (name, self.poly(), i, T, x, T, T, i, c_, " ".join(q.lines), w, name, i, x)
            )
            m = r.randint(0, 4)
            y = self.pick_or_make(b, s)

            def rec(e):
                cv = e[v]
                for n in range(m, 0, -1):
                    f = Env()
                    f.shared = e.shared
                    f.update({i: n, x: e[y], c_: cv})
                    q.run(f)
                    cv = f[w]
                return cv

            return self.bind(b, "@%s(%d, ref(%%%s), %%%s)" % (name, m, v, y), rec, "f", s)
        if k == "tuple":
            y, t = self.pick(b)
            p = self.bind(b, "(%%%s, (%%%s, 3), %%%s)" % (v, y, v), lambda e: (e[v], (e[y], 3), e[v]), "t", (), register=False)
            ct, cf = self.cond(b)
            p2 = self.bind(
                b,
                "if (%s) { %%%s } else { (sin(%%%s), (cos(%%%s.1.0), 4), %%%s.0) }" % (ct, p, v, p, p),
                lambda e: e[p] if cf(e) else (np.sin(e[v]), (np.cos(e[y]), 4), e[v]),
                "t",
                (),
                register=False,
            )
            self.bind(b, "%%%s.1.0" % p2, lambda e: e[p2][1][0], "f", t)
            self.bind(b, "%%%s.1.1" % p2, lambda e: e[p2][1][1], "i", ())
            return self.bind(b, "%%%s.0" % p2, lambda e: e[p2][0], "f", s)
        if k == "adt":
            if self.open:
                return
            n = self.fresh("Ad")
            self.globals.append("type %s { A%s(%s), B%s(%s, int32), C%s }" % (n, n, T, n, T, n))
            ct, cf = self.cond(b)
            x = self.bind(
                b,
                "if (%s) { A%s(%%%s) } else { B%s(tanh(%%%s), 2) }" % (ct, n, v, n, v),
                lambda e: ("A", e[v]) if cf(e) else ("B", np.tanh(e[v])),
                "d",
                (),
                register=False,
            )
            y = self.pick_or_make(b, s)
            return self.bind(
                b,
                "match (%%%s) { A%s(%%p) => { multiply(%%p, %%%s) }, B%s(%%p, %%j) => { if (less(%%j, 1)) { %%p } else { add(%%p, sin(%%%s)) } }, C%s => { %%%s } }"
                % (x, n, y, n, y, n, y),
                lambda e: e[x][1] * e[y] if e[x][0] == "A" else e[x][1] + np.sin(e[y]),
                "f",
                s,
            )
        if k in ("foldl", "map"):
            self.prelude = True
            elems = [self.pick_or_make(b, s) for _ in range(r.randint(0, 3))]
            txt = "Nil"
            for z in reversed(elems):
                txt = "Cons(%%%s, %s)" % (z, txt)
            a, c_ = self.fresh("a"), self.fresh("c")
            q, w = self.sub(b, [(a, "f", s), (c_, "f", s)], s, size)

            def run(e, av, cv):
                f = e.child()
                f[a] = av
                f[c_] = cv
                q.run(f)
                return f[w]

            if k == "foldl":
                fo = r.choice(["foldl", "foldr"])

                def fold(e):
                    acc = e[v]
                    for z in (elems if fo == "foldl" else elems[::-1]):
                        acc = run(e, acc, e[z]) if fo == "foldl" else run(e, e[z], acc)
                    return acc

                return self.bind(
                    b, "@%s(fn (%%%s: %s, %%%s: %s) -> %s %s, %%%s, %s)" % (fo, a, T, c_, T, T, self.body(q, w), v, txt), fold, "f", s
                )

            def mp(e):
                acc = e[v]
                for z in elems:
                    acc = acc * run(e, e[z], e[v])
                return acc

            txt2 = "let %%cc%s = %%%s; %s" % (c_, v, "")
            return self.bind(
                b,
                "@foldl(fn (%%p: %s, %%q: %s) -> %s { multiply(%%p, %%q) }, %%%s, @map(fn (%%%s: %s) -> %s { let %%%s = copy(%%%s); %s %%%s }, %s))"
                % (T, T, T, v, a, T, T, c_, v, " ".join(q.lines), w, txt),
                mp,
                "f",
                s,
            )
        if k == "rows":
            c = self.pick(b, lambda t: len(t) == 2 and t[0] > 0 and t[0] not in self.open_dims)
            if not c:
                return
            X, t = c
            name = self.fresh("rows")
            i, st, row = self.fresh("i"), self.fresh("s"), self.fresh("w")
            top = Gen.Block()
            rs = (1, t[1])
            top.vars = [(st, "f", rs), (row, "f", rs)]
            q, w = self.sub(top, [], rs, size)
            R = self.type(rs)
            self.globals.append(
                "def @%s%s(%%%s: int32, %%xs: %s, %%%s: %s) -> %s { if (equal(%%%s, %d)) { %%%s } else { let %%%s = take(%%xs, reshape(%%%s, newshape=[1]), axis=0); %s @%s(add(%%%s, 1), %%xs, %%%s) } }"
                % (name, self.poly(), i, self.type(t), st, R, R, i, t[0], st, row, i, " ".join(q.lines), name, i, w)
            )
            init = self.bind(b, "mean(%%%s, axis=[0], keepdims=True)" % X, lambda e: e[X].mean(0, keepdims=True), "f", rs)

            def rec(e):
                sv = e[init]
                for j in range(t[0]):
                    f = Env()
                    f.shared = e.shared
                    f.update({st: sv, row: e[X][j : j + 1]})
                    q.run(f)
                    sv = f[w]
                return sv

            return self.bind(b, "@%s(0, %%%s, %%%s)" % (name, X, init), rec, "f", rs)

    def statement(self, b):
        f = self.r.choices(
            [self.unary, self.binary, self.reduce, self.along, self.move, self.product, self.network, self.control],
            [5, 5, 3, 2, 5, 3, 3, 5],
        )[0]
        lines, steps, nv = len(b.lines), len(b.steps), len(b.vars)
        try:
            f(b)
        except Skip:
            del b.lines[lines:], b.steps[steps:], b.vars[nv:]
        # nothing too large
        if b.vars and int(np.prod(b.vars[-1][2] or (1,))) > 200:
            b.vars.pop()

    # --- the program ------------------------------------------------------------------------------------------------
    def program(self):
        r = self.r
        b = Gen.Block()
        for i in range(r.randint(1, 4)):
            s = self.shape()
            if int(np.prod(s or (1,))) > 30:
                s = s[:2]
            self.params.append(("x%d" % i, s, "f"))
            b.vars.append(("x%d" % i, "f", s))
        if self.open:
            for d in self.open_dims:
                if not any(d in s for _, s, _ in self.params):
                    self.params.append(("x%d" % len(self.params), (d,), "f"))
                    b.vars.append((self.params[-1][0], "f", (d,)))
        if r.random() < 0.5:
            self.params.append(("k", (), "i"))
            b.vars.append(("k", "i", ()))
        for _ in range(r.randint(3, 14)):
            self.statement(b)
        fl = self.floats(b)
        outs = [fl[-1]]
        for _ in range(r.choice([0, 0, 1, 2])):
            outs.append(r.choice(fl))
        # a tail that all of the last few go into
        tail = None
        parts = []
        for v, s in fl[-6:]:
            parts.append(
                self.bind(
                    b,
                    "sum(multiply(%%%s, %s))" % (v, self.num(round(r.uniform(-1, 1), 2))) if False else "sum(sin(%%%s))" % v,
                    lambda e, v=v: np.sum(np.sin(e[v])),
                    "f",
                    (),
                    register=False,
                )
            )
        for p in parts:
            if tail is None:
                tail = p
            else:
                t0 = tail
                tail = self.bind(b, "add(%%%s, %%%s)" % (t0, p), lambda e, t0=t0, p=p: e[t0] + e[p], "f", (), register=False)
        if r.random() < 0.8:
            outs = [(tail, ())] + outs[1:]
        self.block, self.outs = b, outs
        fp = [i for i, p in enumerate(self.params) if p[2] == "f"]
        self.wrt = sorted(r.sample(fp, r.randint(1, len(fp)))) if r.random() < 0.8 else None
        if self.wrt and r.random() < 0.2:
            r.shuffle(self.wrt)
        W = self.wrt if self.wrt is not None else fp
        if self.wrt is None and len(fp) != len(self.params):
            self.wrt = fp
            W = fp
        self.W = W
        self.keep = r.random() < 0.4
        self.keepl = [r.randrange(len(outs))] if self.keep else []
        self.seeded = r.random() < 0.3
        self.second = r.random() < 0.5
        self.from_ = r.randrange(len(outs)) if r.random() < 0.3 else 0

    def sources(self):
        """The text, and the names and shapes of inputs."""
        ps = ", ".join("%%%s: %s" % (n, self.type(s) if k == "f" else "int32") for n, s, k in self.params)
        args = ", ".join("%" + n for n, _, _ in self.params)
        tup = lambda l: l[0] if len(l) == 1 else "(" + ", ".join(l) + ")"
        rt = tup([self.type(s) for _, s in self.outs])
        t = ['#[version = "baton 0.1"]']
        if self.prelude:
            t.append('import "prelude"')
        t += [self.poly_of(x) for x in self.globals]
        t.append(
            "def @f%s(%s) -> %s {\n    %s\n    %s\n}"
            % (self.poly(), ps, rt, "\n    ".join(self.block.lines), tup(["%" + v for v, _ in self.outs]))
        )
        opts = []
        if self.wrt is not None:
            opts.append("wrt=%s" % self.wrt)
        if self.keepl:
            opts.append("keep=%s" % self.keepl)
        if self.seeded:
            opts.append("seeded=True")
        if self.from_:
            opts.append("from=%d" % self.from_)
        t.append("gradient @g = @f(%s);" % ", ".join(opts))
        seeds = [("s0", self.outs[self.from_][1])] if self.seeded else []
        gargs = args
        if self.seeded:
            gargs += ", " + tup(["%" + n for n, _ in seeds])
        allp = ps + "".join(", %%%s: %s" % (n, self.type(s)) for n, s in seeds)
        alla = args + "".join(", %" + n for n, _ in seeds)
        results = ["@f(%s)" % args, "@g(%s)" % gargs]
        if self.second:
            # h: a weighted sum of the gradients' sines; its gradient wrt all of W
            n = len(self.W) + len(self.keepl)
            body = ["let %%d = @g(%s);" % gargs]
            acc = None
            for i in range(len(self.W)):
                f = "%d" if n == 1 else "%%d.%d" % i
                f = "%d" if n == 1 else "%d." + str(i)
                body.append("let %%h%d = multiply(sum(sin(%s)), %s);" % (i, f, self.num(0.5 + i)))
                body.append("let %%a%d = %s;" % (i, "%h0" if i == 0 else "add(%%a%d, %%h%d)" % (i - 1, i)))
            t.append("def @h%s(%s) -> %s { %s %%a%d }" % (self.poly(), allp, self.type(()), " ".join(body), len(self.W) - 1))
            t.append("gradient @gh = @h(wrt=%s);" % self.W)
            results.append("@gh(%s)" % alla)
        t.append("def @main%s(%s) { (%s) }" % (self.poly(), allp, ", ".join(results)))
        return "\n".join(t) + "\n", seeds

    # --- the oracle -------------------------------------------------------------------------------------------------
    def f(self, vals, mode, kept):
        e = Env()
        e.shared = {"i": 0, "mode": mode, "kept": kept}
        e.update(vals)
        self.block.run(e)
        return [e[v] for v, _ in self.outs]

    def loss(self, vals, seeds, kept):
        o = self.f(vals, "use", kept)
        return np.sum(np.asarray(o[self.from_]) * (seeds["s0"] if self.seeded else 1.0))

    def diff(self, fn, vals, names, h):
        """Differences of order 4 of a number or array function."""
        out = []
        for n in names:
            x = vals[n]
            g = np.zeros(x.shape)
            for p in np.ndindex(*x.shape):
                w = dict(vals)

                def at(d):
                    y = np.array(x)
                    y[p] += d
                    w[n] = y
                    return fn(w)

                g[p] = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
            out.append(g)
        return out

    def expect(self, vals, seeds):
        """The results, each with an estimate of its error (None: not known)."""
        kept = {}
        base = self.f(vals, "record", kept)
        names = [self.params[i][0] for i in self.W]
        L = lambda w: self.loss(w, seeds, kept)
        g1, g2 = self.diff(L, vals, names, 1e-3), self.diff(L, vals, names, 3e-4)
        res = [(np.asarray(b), 0.0) for b in base]
        res += [(q, np.max(np.abs(p - q)) if q.size else 0.0) for p, q in zip(g1, g2)]
        res += [(np.asarray(base[i]), 0.0) for i in self.keepl]
        if self.second:
            total = sum(v.size for v in vals.values() if isinstance(v, np.ndarray))
            if total > 24:
                res += [None] * len(self.W)
            else:

                def H(h):
                    def fn(w):
                        g = self.diff(lambda u: self.loss(u, seeds, kept), w, names, h)
                        return sum((0.5 + i) * np.sum(np.sin(q)) for i, q in enumerate(g))

                    return fn

                a = self.diff(H(1e-3), vals, names, 2e-3)
                c = self.diff(H(2e-3), vals, names, 3e-3)
                res += [(p, np.max(np.abs(p - q)) if q.size else 0.0) for p, q in zip(a, c)]
        return res


EXECS = {
    "interp": [],
    "interp-plain": ["--pipeline", "gradients"],
    "cpu": ["--target", "cpu"],
    "vm-cpu": ["--executor", "vm", "--target", "cpu"],
    "vm-c": ["--executor", "vm", "--target", "c"],
    "vm-reference": ["--executor", "vm", "--target", "reference"],
    "graph-c": ["--target", "c"],
    "npu": ["--target", "npu,cpu"],
    "opencl": ["--target", "opencl,cpu"],
    "O4": ["-O", "4", "--target", "cpu"],
    "O4i": ["-O", "4"],
    "check": ["--target", "cpu", "--check-kernels"],
    "bta": ["bta"],
    "O1": ["-O", "1"],
    "debug": ["--pipeline", "debug"],
}


def flat_names(d):
    """Files of outputs in order: output0.npy, or output0.1.0.npy."""

    def key(f):
        return [int(x) if x.isdigit() else x for x in f[:-4].replace("output", "").split(".")]

    return sorted((f for f in os.listdir(d) if f.endswith(".npy")), key=key)


def run(baton, text, inputs, args, dir_, timeout=120):
    out = os.path.join(dir_, "out")
    shutil.rmtree(out, ignore_errors=True)
    f = os.path.join(dir_, "p.baton")
    env = dict(os.environ)
    if args == ["bta"]:
        q = subprocess.run([baton, "compile", f, "-o", os.path.join(dir_, "p.bta")], capture_output=True, text=True, timeout=timeout)
        if q.returncode:
            return q.returncode, q.stdout + q.stderr, None
        cmd = [baton, "run", os.path.join(dir_, "p.bta")]
    else:
        cmd = [baton, "run", f] + args
    for n in inputs:
        cmd += ["-i", "%s=%s" % (n, inputs[n])]
    cmd += ["-o", out]
    try:
        q = subprocess.run(cmd, capture_output=True, text=True, timeout=timeout, errors="replace")
    except subprocess.TimeoutExpired:
        return "timeout", "", None
    if q.returncode:
        return q.returncode, q.stdout + q.stderr, None
    return 0, q.stdout + q.stderr, [np.load(os.path.join(out, n)) for n in flat_names(out)]


def case(seed, opts, stats):
    g = Gen(seed, opts.dtype, True if opts.open else None)
    try:
        g.program()
    except Skip:
        return []
    rng = np.random.default_rng(seed)
    np_t = {"float32": np.float32, "float16": np.float16}.get(g.dtype, np.float64)
    vals, seeds_v = {}, {}
    for n, s, k in g.params:
        vals[n] = rng.uniform(-1.5, 1.5, s).astype(np_t).astype(np.float64) if k == "f" else int(rng.integers(0, 4))
    text, seeds = g.sources()
    for n, s in seeds:
        seeds_v[n] = rng.uniform(-1, 1, s).astype(np_t).astype(np.float64)
    try:
        exp = g.expect(vals, seeds_v)
    except Skip:
        stats["skipped"] += 1
        return []
    d = tempfile.mkdtemp(prefix="gf")
    bad = []
    try:
        open(os.path.join(d, "p.baton"), "w").write(text)
        inputs = {}
        for n, s, k in g.params:
            if k == "i":
                inputs[n] = str(vals[n])
                continue
            np.save(os.path.join(d, n + ".npy"), vals[n].astype(np_t))
            inputs[n] = os.path.join(d, n + ".npy")
        for n, s in seeds:
            np.save(os.path.join(d, n + ".npy"), seeds_v[n].astype(np_t))
            inputs[n] = os.path.join(d, n + ".npy")
        first = None
        for x in opts.execs.split(","):
            if x in ("opencl", "npu") and seed % 4:
                continue
            args = list(EXECS[x])
            if g.open and x != "bta" and (seed + len(x)) % 2:
                args.append("--no-specialise")
            rc, msg, res = run(opts.baton, text, inputs, args, d)
            stats["runs"] += 1
            if rc:
                line = msg.strip().splitlines() or ["?"]
                line = next((l for l in line if "error" in l), line[0])
                stats["errors"][line.split("error:")[-1].strip()[:90]] = stats["errors"].get(line.split("error:")[-1].strip()[:90], 0) + 1
                bad.append("%s: exit %s: %s" % (x, rc, line[:200]))
                if rc == 1 and x == "interp":
                    break
                continue
            if len(res) != len(exp):
                bad.append("%s: %d results, not %d" % (x, len(res), len(exp)))
                continue
            # between executors
            if first is None:
                first = res
            else:
                for i, (p, q) in enumerate(zip(first, res)):
                    if p.shape != q.shape or p.dtype != q.dtype:
                        bad.append("%s: result %d is %s%s, by the first %s%s" % (x, i, q.dtype, q.shape, p.dtype, p.shape))
                        continue
                    sc = max([1.0] + [float(np.nanmax(np.abs(w[np.isfinite(w)]))) for w in first if np.isfinite(w).any()])
                    tol = {"float64": 1e-9, "float32": 2e-3}.get(g.dtype, 0.1) * sc
                    if not np.allclose(p, q, rtol=tol, atol=tol, equal_nan=True):
                        bad.append(
                            "%s: result %d differs from the first executor's by %.3g" % (x, i, np.nanmax(np.abs(p.astype(float) - q)))
                        )
                        break
            # with the oracle
            if x in ("interp", "cpu", "O4", "O4i"):
                for i, (w, q) in enumerate(zip(exp, res)):
                    if w is None:
                        continue
                    e, err = w
                    if e.shape != q.shape:
                        bad.append("%s: result %d has shape %s, not %s" % (x, i, q.shape, e.shape))
                        continue
                    if not np.isfinite(e).all() or not math.isfinite(err):
                        stats["nonfinite"] += 1
                        continue
                    sc = max(1.0, float(np.max(np.abs(e))) if e.size else 1.0)
                    if err > 1e-3 * sc:
                        stats["rough"] += 1
                        continue
                    tol = (1e-6 * sc + 20 * err) if g.dtype == "float64" else ((1e-2 if g.dtype == "float32" else 0.15) * sc + 20 * err)
                    stats["compared"] += 1
                    if not np.allclose(q, e, rtol=0, atol=tol):
                        bad.append(
                            "%s: result %d of %d is off by %.3g (bound %.2g, largest %.3g)"
                            % (x, i, len(exp), np.max(np.abs(q - e)), tol, sc)
                        )
                        break
        if bad and opts.keep:
            k = os.path.join(opts.keep, str(seed))
            shutil.rmtree(k, ignore_errors=True)
            shutil.copytree(d, k)
            open(os.path.join(k, "cmd"), "w").write(
                "baton run p.baton "
                + " ".join("-i %s=%s" % (n, os.path.basename(str(v))) for n, v in inputs.items())
                + "\n"
                + "\n".join(bad)
                + "\n"
            )
    finally:
        shutil.rmtree(d, ignore_errors=True)
    return bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument("baton")
    p.add_argument("count", type=int)
    p.add_argument("seed", type=int)
    p.add_argument("--keep", default="")
    p.add_argument("--dtype")
    p.add_argument("--open", action="store_true")
    p.add_argument("--execs", default="interp,interp-plain,cpu,vm-c,opencl,npu,bta")
    o = p.parse_args()
    if o.keep:
        os.makedirs(o.keep, exist_ok=True)
    stats = {"runs": 0, "skipped": 0, "nonfinite": 0, "rough": 0, "compared": 0, "errors": {}}
    n = 0
    for s in range(o.seed, o.seed + o.count):
        try:
            bad = case(s, o, stats)
        except AssertionError as e:
            print("case %d: generator: %s" % (s, e), flush=True)
            continue
        if bad:
            n += 1
            print("case %d: %s" % (s, "\n    ".join(bad)), flush=True)
    print("%d of %d programs have a fault; %s" % (n, o.count, stats))
    return 1 if n else 0


if __name__ == "__main__":
    sys.exit(main())
