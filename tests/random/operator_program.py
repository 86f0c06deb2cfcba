"""Random programs of operators with gradients of them, and what they give, by differences in NumPy."""
import kit
from operator_builder import Block, Env, Skip
from operator_calls import Calls
from operator_control import Control
from operator_images import Images
from operator_moves import Moves

np = kit.import_numpy()


class Program(Calls, Moves, Images, Control):
    """The one of a seed: its function @f, as text and as a function of NumPy arrays, and the options of its gradient."""

    def __init__(self, seed, dtype=None, open_dims=None):
        super().__init__(seed, dtype, open_dims)
        self.program()

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
        b = Block()
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
                    "sum(sin(%%%s))" % v,
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
