"""Statements of element-wise operators, reductions, scans and products, for operator_program.py."""
import math

import kit
from operator_builder import Builder

np = kit.import_numpy()
_erf = np.vectorize(math.erf, otypes=[float])


def softmax(x, a):
    if x.size == 0:
        return x
    e = np.exp(x - x.max(axis=a, keepdims=True))
    return e / e.sum(axis=a, keepdims=True)


class Calls(Builder):
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
            ("erf(%s)" % V, _erf),
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
