"""Statements that move elements: axes, parts, takes, gathers and scatters, for operator_program.py."""
import kit
from operator_builder import Builder

np = kit.import_numpy()


class Moves(Builder):
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
