"""What random programs of operators are built with: statements as text and, beside each, what it does with NumPy's arrays."""
import random
import re

import kit

np = kit.import_numpy()
np.seterr(all="ignore")


class Skip(Exception):
    """What was drawn is no program."""


class Env(dict):
    """Values of names; `shared` has what stop_gradient gave at the point itself."""

    __slots__ = ("shared",)

    def child(self):
        e = Env(self)
        e.shared = self.shared
        return e


class Block:
    """Statements, and what each does with the values of names."""

    def __init__(self, outer=None):
        self.lines, self.steps, self.vars = [], [], list(outer.vars) if outer else []

    def run(self, env):
        for s in self.steps:
            s(env)


class Builder:
    """Types, names and variables of a program, one statement after the other."""

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
