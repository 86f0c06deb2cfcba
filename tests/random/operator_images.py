"""Statements of convolutions, pools and norms, for operator_program.py."""
import kit
from operator_builder import Builder

np = kit.import_numpy()


class Images(Builder):
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
