/*
 * Formulas as a mechanical reverse sweep writes adjoints: a sum over all indices of the
 * primal where each index of the read is the one that is asked for. They become what one
 * would write by hand.
 */
#include "formula.h"

#define F32(...)                      \
    {                                 \
        BT_FLOAT32, DIMS(__VA_ARGS__) \
    }
#define I64(...)                    \
    {                               \
        BT_INT64, DIMS(__VA_ARGS__) \
    }

struct shape {
    bt_dtype dtype;
    uint32_t rank;
    const int64_t *dims;
};

/* What is differentiated, the sum of its adjoint, and what that becomes: the stage's body and
 * its view. The inputs u, v and k have these shapes; u is the adjoint that comes in. */
struct row {
    const char *name, *text, *body, *view;
    struct shape in[3];
};

// clang-format off
static const struct row rows[] = {
    { "transpose x[j, i]",
      "y: t[c in 4, d in 3] = sum(i in 3, j in 4 | j == c && i == d: u[i, j])",
      "a0[i1, i0]",
      "map pointwise",
      { F32(3, 4) } },
    { "broadcast x[0, j]",
      "y: t[c in 1, d in 4] = sum(i in 3, j in 4 | 0 == c && j == d: u[i, j])",
      "sum(r0 in 3: a0[r0, i1])",
      "row",
      { F32(3, 4) } },
    { "reshape (4, 6) to 24",
      "y: t[c in 4, d in 6] = sum(i in 24 | floordiv(i, 6) == c && mod(i, 6) == d: u[i])",
      "a0[6*i0 + i1]",
      "map",
      { F32(24) } },
    { "reshape 24 to (4, 6)",
      "y: t[c in 24] = sum(i in 4, j in 6 | 6*i + j == c: u[i, j])",
      "a0[floordiv(i0, 6), mod(i0, 6)]",
      "map",
      { F32(4, 6) } },
    { "reshape (2, 3, 4) to (4, 6)",
      "y: t[c in 2, d in 3, e in 4] = sum(i in 4, j in 6 | floordiv(6*i + j, 12) == c && "
      "mod(floordiv(6*i + j, 4), 3) == d && mod(6*i + j, 4) == e: u[i, j])",
      "a0[2*i0 + floordiv(4*i1 + i2, 6), mod(4*i1 + i2, 6)]",
      "map",
      { F32(4, 6) } },
    { "reshape (8, 3, 4) to (4, 3, 8)",
      "y: t[c in 8, d in 3, e in 4] = sum(i in 4, j in 3, l in 8 | floordiv(24*i + 8*j + "
      "l, 12) == c && mod(floordiv(24*i + 8*j + l, 4), 3) == d && mod(24*i + 8*j + l, 4) "
      "== e: u[i, j, l])",
      "a0[floordiv(i0, 2), floordiv(i1 + 3*mod(i0, 2), 2), i2 + 4*mod(i1 + 3*mod(i0, 2), "
      "2)]",
      "map",
      { F32(4, 3, 8) } },
    { "tile x[mod(i, 4)]",
      "y: t[c in 4] = sum(i in 12 | mod(i, 4) == c: u[i])",
      "sum(r0 in 3: a0[i0 + 4*r0])",
      "window window(a0.0: 1*i0 + 4*r0 + 0)",
      { F32(12) } },
    { "repeat x[floordiv(i, 3)]",
      "y: t[c in 4] = sum(i in 12 | floordiv(i, 3) == c: u[i])",
      "sum(r0 in 3: a0[3*i0 + r0])",
      "window window(a0.0: 3*i0 + 1*r0 + 0)",
      { F32(12) } },
    { "nearest upsampling",
      "y: t[c in 2, d in 4, e in 5] = sum(n in 2, i in 8, j in 10 | n == c && "
      "floordiv(i, 2) == d && floordiv(j, 2) == e: u[n, i, j])",
      "sum(r0 in 2, r1 in 2: a0[i0, 2*i1 + r0, 2*i2 + r1])",
      "window window(a0.1: 2*i1 + 1*r0 + 0) window(a0.2: 2*i2 + 1*r1 + 0)",
      { F32(2, 8, 10) } },
    { "depth_to_space DCR",
      "y: t[n in 2, c in 12, h in 4, w in 3] = sum(b in 2, l in 3, i in 8, j in 6 | b == "
      "n && (mod(i, 2) * 2 + mod(j, 2)) * 3 + l == c && floordiv(i, 2) == h && "
      "floordiv(j, 2) == w: u[b, l, i, j])",
      "a0[i0, mod(i1, 3), 2*i2 + floordiv(i1, 6), 2*i3 + mod(floordiv(i1, 3), 2)]",
      "map",
      { F32(2, 3, 8, 6) } },
    { "depth_to_space CRD",
      "y: t[n in 2, c in 12, h in 4, w in 3] = sum(b in 2, l in 3, i in 8, j in 6 | b == "
      "n && l * 4 + mod(i, 2) * 2 + mod(j, 2) == c && floordiv(i, 2) == h && floordiv(j, "
      "2) == w: u[b, l, i, j])",
      "a0[i0, floordiv(i1, 4), 2*i2 + mod(floordiv(i1, 2), 2), 2*i3 + mod(i1, 2)]",
      "map",
      { F32(2, 3, 8, 6) } },
    { "space_to_depth",
      "y: t[n in 2, c in 3, h in 8, w in 6] = sum(b in 2, l in 12, i in 4, j in 3 | b == "
      "n && mod(l, 3) == c && i*2 + floordiv(l, 6) == h && j*2 + mod(floordiv(l, 3), 2) "
      "== w: u[b, l, i, j])",
      "a0[i0, i1 + 3*mod(i3, 2) + 6*mod(i2, 2), floordiv(i2, 2), floordiv(i3, 2)]",
      "map",
      { F32(2, 12, 4, 3) } },
    { "grouped convolution, data",
      "y: t[n in 2, c in 4, h in 7, w in 7] = sum(b in 2, o in 6, p in 7, q in 7, l in "
      "2, r in 3, s in 3 | b == n && 2*floordiv(o, 3) + l == c && p + r - 1 == h && q + "
      "s - 1 == w: u[b, o, p, q] * v[o, l, r, s])",
      "sum(r0 in 3, r1 in 3, r2 in 3 | ((0 <= i2 - r1 + 1) && (((0 <= -i2 + r1 + 5) && "
      "(0 <= i3 - r2 + 1)) && (0 <= -i3 + r2 + 5))): (a0[i0, r0 + 3*floordiv(i1, 2), i2 "
      "- r1 + 1, i3 - r2 + 1] * a1[r0 + 3*floordiv(i1, 2), mod(i1, 2), r1, r2]))",
      "none",
      { F32(2, 6, 7, 7), F32(6, 2, 3, 3) } },
    { "grouped convolution, weight",
      "y: t[o in 6, l in 2, r in 3, s in 3] = sum(b in 2, oo in 6, p in 7, q in 7, ll in "
      "2, rr in 3, ss in 3 | oo == o && ll == l && rr == r && ss == s: u[b, oo, p, q] * "
      "v[b, 2*floordiv(oo, 3) + ll, p + rr - 1, q + ss - 1] else 0)",
      "sum(r0 in 2, r1 in 7, r2 in 7 | ((((0 <= i3 + r2 - 1) && (0 <= -i3 - r2 + 7)) && "
      "(0 <= i2 + r1 - 1)) && (0 <= -i2 - r1 + 7)): (a0[r0, i0, r1, r2] * a1[r0, i1 + "
      "2*floordiv(i0, 3), i2 + r1 - 1, i3 + r2 - 1]))",
      "none",
      { F32(2, 6, 7, 7), F32(2, 4, 7, 7) } },
    { "depthwise convolution, data",
      "y: t[n in 2, c in 4, h in 7, w in 7] = sum(b in 2, o in 4, p in 7, q in 7, r in "
      "3, s in 3 | b == n && o == c && p + r - 1 == h && q + s - 1 == w: u[b, o, p, q] * "
      "v[o, r, s])",
      "sum(r0 in 3, r1 in 3 | (((0 <= -i3 + r1 + 5) && ((0 <= i2 - r0 + 1) && (0 <= i3 - "
      "r1 + 1))) && (0 <= -i2 + r0 + 5)): (a0[i0, i1, i2 - r0 + 1, i3 - r1 + 1] * a1[i1, "
      "r0, r1]))",
      "contraction batch[i1] m[i0, i2, i3] n[] k[r0, r1] window(a0.2: 1*i2 - 1*r0 + 1) "
      "window(a0.3: 1*i3 - 1*r1 + 1) guarded",
      { F32(2, 4, 7, 7), F32(4, 3, 3) } },
    { "average pool 2x2, stride 2",
      "y: t[n in 2, h in 8, w in 6] = sum(b in 2, p in 4, q in 3, r in 2, s in 2 | b == "
      "n && 2*p + r == h && 2*q + s == w: u[b, p, q] / 4)",
      "(a0[i0, floordiv(i1, 2), floordiv(i2, 2)] / 4)",
      "map",
      { F32(2, 4, 3) } },
    { "average pool 2x2, stride 2, padding 1",
      "y: t[n in 2, h in 6, w in 4] = sum(b in 2, p in 4, q in 3, r in 2, s in 2 | b == "
      "n && 2*p + r - 1 == h && 2*q + s - 1 == w: u[b, p, q] / 4)",
      "(a0[i0, floordiv(i1 + 1, 2), floordiv(i2 + 1, 2)] / 4)",
      "map",
      { F32(2, 4, 3) } },
    { "pool of 2, stride 3",
      "y: t[h in 12] = sum(p in 4, r in 2 | 3*p + r == h: u[p])",
      "select((0 <= -mod(i0, 3) + 1), a0[floordiv(i0, 3)], 0)",
      "map",
      { F32(4) } },
    { "max_pool 2x2, stride 2",
      "y: t[n in 2, h in 8, w in 6] = sum(b in 2, p in 4, q in 3, r in 2, s in 2 | b == "
      "n && 2*p + r == h && 2*q + s == w && int64(v[b, p, q]) == 2*r + s: u[b, p, q])",
      "select((0 == 2*mod(i1, 2) + mod(i2, 2) - int64(a1[i0, floordiv(i1, 2), "
      "floordiv(i2, 2)])), a0[i0, floordiv(i1, 2), floordiv(i2, 2)], 0)",
      "map",
      { F32(2, 4, 3), { BT_UINT8, DIMS(2, 4, 3) } } },
    { "max_pool 3x3, stride 2, padding 1",
      "y: t[n in 2, h in 8, w in 8] = sum(b in 2, p in 4, q in 4, r in 3, s in 3 | b == "
      "n && 2*p + r - 1 == h && 2*q + s - 1 == w && int64(v[b, p, q]) == 3*r + s: u[b, "
      "p, q])",
      "sum(r0 in 2, r1 in 2 | (((((0 <= -i1 + 2*r0 + 2*floordiv(i1 + 1, 2) - 1) && ((((0 "
      "<= i1 - 2*r0 - 2*floordiv(i1 + 1, 2) + 3) && ((0 <= -r1 - floordiv(i2 + 1, 2) + "
      "4) && (0 <= r1 + floordiv(i2 + 1, 2) - 1))) && select(((((0 <= -i2 + 2*r1 + "
      "2*floordiv(i2 + 1, 2) - 1) && (((((0 <= -r1 - floordiv(i2 + 1, 2) + 4) && (0 <= "
      "r1 + floordiv(i2 + 1, 2) - 1)) && (0 <= r0 + floordiv(i1 + 1, 2) - 1)) && (0 <= "
      "-r0 - floordiv(i1 + 1, 2) + 4)) && (0 <= i2 - 2*r1 - 2*floordiv(i2 + 1, 2) + 3))) "
      "&& (0 <= -i1 + 2*r0 + 2*floordiv(i1 + 1, 2) - 1)) && (0 <= i1 - 2*r0 - "
      "2*floordiv(i1 + 1, 2) + 3)), (0 == 3*i1 + i2 - 6*r0 - 2*r1 - 2*floordiv(i2 + 1, "
      "2) - int64(a1[i0, r0 + floordiv(i1 + 1, 2) - 1, r1 + floordiv(i2 + 1, 2) - 1]) - "
      "6*floordiv(i1 + 1, 2) + 12), false)) && (0 <= -i2 + 2*r1 + 2*floordiv(i2 + 1, 2) "
      "- 1))) && (0 <= i2 - 2*r1 - 2*floordiv(i2 + 1, 2) + 3)) && (0 <= r0 + floordiv(i1 "
      "+ 1, 2) - 1)) && (0 <= -r0 - floordiv(i1 + 1, 2) + 4)): a0[i0, r0 + floordiv(i1 + "
      "1, 2) - 1, r1 + floordiv(i2 + 1, 2) - 1])",
      "none",
      { F32(2, 4, 4), { BT_UINT8, DIMS(2, 4, 4) } } },
    { "strided slice",
      "y: t[c in 16] = sum(i in 5 | 3*i + 2 == c: u[i])",
      "select(((0 <= floordiv(i0 - 2, 3)) && (0 == mod(i0 - 2, 3))), a0[floordiv(i0 - 2, "
      "3)], 0)",
      "map",
      { F32(5) } },
    { "strided slice from the end",
      "y: t[c in 16] = sum(i in 5 | 14 - 3*i == c: u[i])",
      "select(((0 == mod(-i0 + 14, 3)) && (0 <= floordiv(-i0 + 14, 3))), a0[floordiv(-i0 "
      "+ 14, 3)], 0)",
      "map",
      { F32(5) } },
    { "pad x[i - 2] else 0",
      "y: t[c in 8] = sum(i in 12 | i - 2 == c && 0 <= i - 2 && i - 2 < 8: u[i])",
      "a0[i0 + 2]",
      "map",
      { F32(12) } },
    { "concatenate, first",
      "y: t[c in 5] = sum(i in 12 | i == c && i < 5: u[i])",
      "a0[i0]",
      "map pointwise",
      { F32(12) } },
    { "concatenate, second",
      "y: t[c in 7] = sum(i in 12 | i - 5 == c && !(i < 5): u[i])",
      "a0[i0 + 5]",
      "map",
      { F32(12) } },
    { "reverse",
      "y: t[c in 12] = sum(i in 12 | 11 - i == c: u[i])",
      "a0[-i0 + 11]",
      "map",
      { F32(12) } },
    { "convolution, stride 1, data",
      "y: t[n in 2, c in 4, h in 7, w in 7] = sum(b in 2, o in 5, p in 7, q in 7, l in "
      "4, r in 3, s in 3 | b == n && l == c && p + r - 1 == h && q + s - 1 == w: u[b, o, "
      "p, q] * v[o, l, r, s])",
      "sum(r0 in 5, r1 in 3, r2 in 3 | ((0 <= i2 - r1 + 1) && (((0 <= -i2 + r1 + 5) && "
      "(0 <= i3 - r2 + 1)) && (0 <= -i3 + r2 + 5))): (a1[r0, i1, r1, r2] * a0[i0, r0, i2 "
      "- r1 + 1, i3 - r2 + 1]))",
      "contraction batch[] m[i0, i2, i3] n[i1] k[r0, r1, r2] window(a0.2: 1*i2 - 1*r1 + "
      "1) window(a0.3: 1*i3 - 1*r2 + 1) guarded",
      { F32(2, 5, 7, 7), F32(5, 4, 3, 3) } },
    { "convolution, stride 1, weight",
      "y: t[o in 5, c in 4, r in 3, s in 3] = sum(b in 2, oo in 5, p in 7, q in 7, l in "
      "4, rr in 3, ss in 3 | oo == o && l == c && rr == r && ss == s: u[b, oo, p, q] * "
      "v[b, l, p + rr - 1, q + ss - 1] else 0)",
      "sum(r0 in 2, r1 in 7, r2 in 7 | ((((0 <= i3 + r2 - 1) && (0 <= -i3 - r2 + 7)) && "
      "(0 <= i2 + r1 - 1)) && (0 <= -i2 - r1 + 7)): (a0[r0, i0, r1, r2] * a1[r0, i1, i2 "
      "+ r1 - 1, i3 + r2 - 1]))",
      "contraction batch[] m[i1, i2, i3] n[i0] k[r0, r1, r2] window(a1.2: 1*i2 + 1*r1 - "
      "1) window(a1.3: 1*i3 + 1*r2 - 1) guarded",
      { F32(2, 5, 7, 7), F32(2, 4, 7, 7) } },
    { "convolution, stride 2, data",
      "y: t[n in 2, c in 4, h in 8, w in 8] = sum(b in 2, o in 5, p in 4, q in 4, l in "
      "4, r in 3, s in 3 | b == n && l == c && 2*p + r - 1 == h && 2*q + s - 1 == w: "
      "u[b, o, p, q] * v[o, l, r, s])",
      "sum(r0 in 5, r1 in 2, r2 in 2 | (((((0 <= -i3 + 2*r2 + 2*floordiv(i3 + 1, 2) - 1) "
      "&& (((0 <= i2 - 2*r1 - 2*floordiv(i2 + 1, 2) + 3) && ((0 <= -r1 - floordiv(i2 + "
      "1, 2) + 4) && (0 <= r2 + floordiv(i3 + 1, 2) - 1))) && (0 <= -r2 - floordiv(i3 + "
      "1, 2) + 4))) && (0 <= r1 + floordiv(i2 + 1, 2) - 1)) && (0 <= -i2 + 2*r1 + "
      "2*floordiv(i2 + 1, 2) - 1)) && (0 <= i3 - 2*r2 - 2*floordiv(i3 + 1, 2) + 3)): "
      "(a0[i0, r0, r1 + floordiv(i2 + 1, 2) - 1, r2 + floordiv(i3 + 1, 2) - 1] * a1[r0, "
      "i1, i2 - 2*r1 - 2*floordiv(i2 + 1, 2) + 3, i3 - 2*r2 - 2*floordiv(i3 + 1, 2) + "
      "3]))",
      "none",
      { F32(2, 5, 4, 4), F32(5, 4, 3, 3) } },
    { "convolution, stride 2, weight",
      "y: t[o in 5, c in 4, r in 3, s in 3] = sum(b in 2, oo in 5, p in 4, q in 4, l in "
      "4, rr in 3, ss in 3 | oo == o && l == c && rr == r && ss == s: u[b, oo, p, q] * "
      "v[b, l, 2*p + rr - 1, 2*q + ss - 1] else 0)",
      "sum(r0 in 2, r1 in 4, r2 in 4 | ((0 <= i2 + 2*r1 - 1) && (0 <= i3 + 2*r2 - 1)): "
      "(a1[r0, i1, i2 + 2*r1 - 1, i3 + 2*r2 - 1] * a0[r0, i0, r1, r2]))",
      "contraction batch[] m[i1, i2, i3] n[i0] k[r0, r1, r2] window(a1.2: 1*i2 + 2*r1 - "
      "1) window(a1.3: 1*i3 + 2*r2 - 1) guarded",
      { F32(2, 5, 4, 4), F32(2, 4, 8, 8) } },
    { "convolution, dilation 2, data",
      "y: t[n in 2, c in 4, h in 9] = sum(b in 2, o in 5, p in 5, l in 4, r in 3 | b == "
      "n && l == c && p + 2*r == h: u[b, o, p] * v[o, l, r])",
      "sum(r0 in 5, r1 in 3 | ((0 <= -i2 + 2*r1 + 4) && (0 <= i2 - 2*r1)): (a0[i0, r0, "
      "i2 - 2*r1] * a1[r0, i1, r1]))",
      "contraction batch[] m[i0, i2] n[i1] k[r0, r1] window(a0.2: 1*i2 - 2*r1 + 0) "
      "guarded",
      { F32(2, 5, 5), F32(5, 4, 3) } },
    { "convolution, stride 3, dilation 2, data",
      "y: t[h in 17] = sum(p in 5, r in 3 | 3*p + 2*r == h: u[p] * v[r])",
      "select(((0 <= floordiv(i0 - 2*mod(-i0, 3), 3)) && (0 <= -floordiv(i0 - 2*mod(-i0, "
      "3), 3) + 4)), (a0[floordiv(i0 - 2*mod(-i0, 3), 3)] * a1[mod(-i0, 3)]), 0)",
      "map",
      { F32(5), F32(3) } },
    { "transposed convolution, data",
      "y: t[o in 8] = sum(i in 16, q in 2 | floordiv(i + 1, 2) - 1 + q == o && 0 <= "
      "floordiv(i + 1, 2) - 1 + q && floordiv(i + 1, 2) - 1 + q < 8 && i + 1 - 2 * "
      "(floordiv(i + 1, 2) - 1 + q) < 3: u[i] * v[i + 1 - 2 * (floordiv(i + 1, 2) - 1 + "
      "q)])",
      "sum(r0 in 3 | (0 <= 2*i0 + r0 - 1): (a0[2*i0 + r0 - 1] * a1[r0]))",
      "contraction batch[] m[i0] n[] k[r0] window(a0.0: 2*i0 + 1*r0 - 1) guarded",
      { F32(16), F32(3) } },
    { "transposed convolution, weight",
      "y: t[r in 3] = sum(i in 16, q in 2 | i + 1 - 2 * (floordiv(i + 1, 2) - 1 + q) == "
      "r && 0 <= floordiv(i + 1, 2) - 1 + q && floordiv(i + 1, 2) - 1 + q < 8 && i + 1 - "
      "2 * (floordiv(i + 1, 2) - 1 + q) < 3: u[i] * v[floordiv(i + 1, 2) - 1 + q])",
      "sum(r0 in 8 | (((0 <= floordiv(-i0 + mod(i0 - 1, 2) + 1, 2) - floordiv(mod(i0 - "
      "1, 2) + 1, 2) + 1) && ((0 <= -floordiv(-i0 + mod(i0 - 1, 2) + 1, 2) + "
      "floordiv(mod(i0 - 1, 2) + 1, 2)) && ((0 <= r0 + floordiv(-i0 + mod(i0 - 1, 2) + "
      "1, 2)) && (0 <= -r0 - floordiv(-i0 + mod(i0 - 1, 2) + 1, 2) + 7)))) && (0 <= "
      "2*floordiv(-i0 + mod(i0 - 1, 2) + 1, 2) - mod(i0 - 1, 2) + 1)): (a0[2*r0 + mod(i0 "
      "- 1, 2)] * a1[r0 + floordiv(-i0 + mod(i0 - 1, 2) + 1, 2)]))",
      "none",
      { F32(16), F32(8) } },
    { "dense, data",
      "y: t[m in 3, c in 4] = sum(i in 3, j in 5, l in 4 | i == m && l == c: u[i, j] * "
      "v[j, l])",
      "sum(r0 in 5: (a1[r0, i1] * a0[i0, r0]))",
      "contraction batch[] m[i0] n[i1] k[r0]",
      { F32(3, 5), F32(5, 4) } },
    { "take, scatter",
      "y: t[q in 5] = sum(i in 9 | clamp(v[i], 0, 4) == q: u[i])",
      "sum(r0 in 9 | (0 == i0 - min(max(0, a1[r0]), 4)): a0[r0])",
      "none",
      { F32(9), I64(9) } },
    { "take of rows",
      "y: t[q in 5, e in 3] = sum(i in 9, j in 3 | clamp(v[i], 0, 4) == q && j == e: "
      "u[i, j])",
      "sum(r0 in 9 | (0 == i0 - min(4, max(a1[r0], 0))): a0[r0, i1])",
      "none",
      { F32(9, 3), I64(9) } },
    { "scatter-add, gather",
      "y: t[q in 9] = sum(j in 5, i in 9 | v[i] == j && i == q: u[j])",
      "select(((a1[i0] <= 4) && (0 <= a1[i0])), a0![a1[i0]], 0)",
      "map",
      { F32(5), I64(9) } },
    { "cumsum",
      "y: t[q in 9] = sum(j in 9, i in 9 | i == q && i <= j: u[j])",
      "sum(r0 in 9 | (0 <= -i0 + r0): a0[r0])",
      "none",
      { F32(9) } },
    { "sum",
      "y: t[a in 3, b in 4] = sum(i in 3, j in 4 | i == a && j == b: u[i])",
      "a0[i0]",
      "map pointwise",
      { F32(3) } },
    { "diagonal",
      "y: t[a in 4, b in 4] = sum(i in 4 | i == a && i == b: u[i])",
      "select((0 == i0 - i1), a0[i1], 0)",
      "map pointwise",
      { F32(4) } },
};
// clang-format on

static const char *printed(struct world *w, const struct row *row)
{
    static bt_text out;
    static const char *const names[] = { "u", "v", "k" };
    struct formula f = { .text = row->text };
    char types[3][40];
    bt_tensor *in[3];
    uint32_t nin = 0;
    for (; nin < 3 && row->in[nin].dtype; nin++) {
        const struct shape *s = &row->in[nin];
        char *type = types[nin];
        int n = snprintf(type, sizeof(types[nin]), "%s[",
                         s->dtype == BT_FLOAT32 ? "t" : "t2");
        for (uint32_t a = 0; a < s->rank; a++)
            n += snprintf(type + n, sizeof(types[nin]) - (size_t)n, "%s%s%u",
                          a ? ", " : "", names[nin], a);
        snprintf(type + n, sizeof(types[nin]) - (size_t)n, "]");
        f.inputs[nin] = (bt_op_input){ .name = names[nin], .type = type };
        in[nin] = tensor_new(w, s->dtype, s->rank, s->dims);
    }
    bt_op op = formula_op(&f);
    bt_compute *compute = NULL;
    bt_text_init(&out, bt_ctx_scratch(w->ctx));
    assert_ok(w->ctx, formula_make(w, &f, &op, nin, in, &compute));
    assert_ok(w->ctx,
              bt_compute_print(w->ctx, compute, nin, (const bt_tensor *const *)in, &out));
    bt_compute_destroy(compute);
    while (nin-- > 0)
        bt_tensor_unref(in[nin]);
    return bt_text_get(&out);
}

static void test_sums_that_a_reverse_sweep_writes_become_views(void **state)
{
    (void)state;
    struct world w = world_open();
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        const char *text = printed(&w, &rows[i]), *body = strstr(text, "] = ");
        char expected[2048];
        snprintf(expected, sizeof(expected), "] = %s\n    view: %s\n", rows[i].body,
                 rows[i].view);
        if (!body || strcmp(body, expected) != 0)
            fail_msg("%s: %s\nexpected %s", rows[i].name, text, expected);
    }
    world_close(&w);
}

/* The formula of nn.conv2d_transpose. */
static void test_the_adjoint_by_the_data_is_a_transposed_convolution(void **state)
{
    (void)state;
    struct world w = world_open();
    for (int step = 1; step < 5; step++) {
        char texts[2][320], first[2048];
        snprintf(texts[0], sizeof(texts[0]),
                 "y: t[n in 2, c in 4, h in 13, w in 14] = sum(b in 2, o in 5, p in 4, "
                 "q in 4, l in 4, r in 3, s in 3 | b == n && l == c && %d*p + r - 1 == h "
                 "&& %d*q + s - 1 == w: u[b, o, p, q] * v[o, l, r, s])",
                 step, step);
        snprintf(texts[1], sizeof(texts[1]),
                 "y: t[n in 2, c in 4, h in 13, w in 14] = sum(o in 5, p in 4, q in 4, "
                 "r in 3, s in 3 | p*%d + r - 1 == h && q*%d + s - 1 == w: v[o, c, r, s] "
                 "* u[n, o, p, q])",
                 step, step);
        struct row row = { .in = { F32(2, 5, 4, 4), F32(5, 4, 3, 3) } };
        row.text = texts[0];
        snprintf(first, sizeof(first), "%s", printed(&w, &row));
        row.text = texts[1];
        assert_string_equal(first, printed(&w, &row));
    }
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sums_that_a_reverse_sweep_writes_become_views),
    cmocka_unit_test(test_the_adjoint_by_the_data_is_a_transposed_convolution),
};
TEST_MAIN(tests)
