"""Statements of branches, recursion, lists, tuples, closures and references, for operator_program.py."""
import kit
from operator_builder import Block, Builder, Env, Skip

np = kit.import_numpy()


class Control(Builder):
    def sub(self, b, extra, want, size):
        """A block that sees what b does and `extra`, and gives a tensor of shape `want`."""
        q = Block(b)
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
            top = Block()
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
                    % (i, a, a + "r", name, i, a, self.num(0.75), x, " ".join(q.lines), w)
                )

                def rec(e, iv, av, xv):
                    if iv < 1:
                        return av
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
            top = Block()
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
            top = Block()
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
            top = Block()
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
