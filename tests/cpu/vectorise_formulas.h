/* Formulas that loops by strips are tried with, and the tensors that they are of. */
#ifndef VECTORISE_FORMULAS_H
#define VECTORISE_FORMULAS_H

#include "schedule/vectorise.h"

#include "formula.h"

static inline const char *written(struct world *w, const bt_loops *loops)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(w->ctx));
    assert_ok(w->ctx, bt_loops_print(loops, &text));
    return bt_text_get(&text);
}

struct argument {
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[4];
};

#define ARGS(...)             \
    (const struct argument[]) \
    {                         \
        __VA_ARGS__           \
    }

#define CASE(T, rank, ...) \
    {                      \
        T, rank,           \
        {                  \
            __VA_ARGS__    \
        }                  \
    }
#define F32(rank, ...) CASE(BT_FLOAT32, rank, __VA_ARGS__)

static const struct formula chain = {
    .inputs = { { "x", "t[n, m]" }, { "a", "t[m]" }, { "b", "t[n, m]" } },
    .text = "y: t[i in n, j in m] = max(x[i, j] * a[j] + b[i, j], 0)",
};
static const struct formula softmax = {
    .inputs = { { "x", "t[n, m]" } },
    .text = "m: t[i in n] = max(j: x[i, j]); e: t[i in n, j in m] = exp(x[i, j] - m[i]);"
            "s: t[i in n] = sum(j: e[i, j]); y: t[i in n, j in m] = e[i, j] / s[i]",
};
static const struct formula depthwise = {
    .inputs = { { "x", "t[c, h, w]" }, { "k", "t[c, 3, 3]" } },
    .text = "y: t[l in c, i in h, j in w] = "
            "max(sum(r in 3, s in 3: x[l, i + r - 1, j + s - 1] * k[l, r, s] else 0), 0)",
};
static const struct formula pool = {
    .inputs = { { "x", "t[c, h, w]" } },
    .text = "y: t[l in c, i in floordiv(h + 1, 2), j in floordiv(w + 1, 2)] = "
            "max(r in 3, s in 3: x[l, 2 * i + r - 1, 2 * j + s - 1] else -inf)",
};
static const struct formula first = {
    .inputs = { { "x", "t[c, h, w]" } },
    .text =
        "m: t[l in c, i in floordiv(h + 1, 2), j in floordiv(w + 1, 2)] = "
        "max(r in 3, s in 3: x[l, 2 * i + r - 1, 2 * j + s - 1] else -inf);"
        "y: int32[l in c, i in floordiv(h + 1, 2), j in floordiv(w + 1, 2)] = "
        "min(r in 3, s in 3: select(x[l, 2 * i + r - 1, 2 * j + s - 1] == m[l, i, j] || "
        "isnan(x[l, 2 * i + r - 1, 2 * j + s - 1]), int32(3 * r + s), 2147483647) "
        "else 2147483647)",
};
static const struct formula routed = {
    .inputs = { { "d", "t[c, h, w]" }, { "k", "int32[c, h, w]" } },
    .text = "y: t[l in c, a in 2 * h, b in 2 * w] = sum(i in h, j in w, r in 3, s in 3 | "
            "2 * i + r - 1 == a && 2 * j + s - 1 == b && "
            "int64(k[l, i, j]) == 3 * r + s: d[l, i, j])",
};
static const struct formula mean = {
    .inputs = { { "x", "t[n, m]" } },
    .text = "y: t[i in n] = sum(j: x[i, j]) / 49",
};
static const struct formula norm = {
    .inputs = { { "x", "t[n, m]" }, { "g", "t[m]" } },
    .text = "m: t[i in n] = sum(j: x[i, j]) / 768;"
            "v: t[i in n] = sum(j: (x[i, j] - m[i]) * (x[i, j] - m[i])) / 768;"
            "y: t[i in n, j in m] = (x[i, j] - m[i]) * rsqrt(v[i] + 0.00001) * g[j]",
};
static const struct formula take_rows = {
    .inputs = { { "x", "t[n, m]" }, { "k", "int64[l]" } },
    .text = "y: t[i in l, j in m] = x[wrap(k[i], n), j]",
};
static const struct formula take_each = {
    .inputs = { { "x", "t[n]" }, { "k", "int32[l]" } },
    .text = "y: t[i in l] = x[clamp(int64(k[i]), 0, n - 1)]",
};
static const struct formula positions = {
    .inputs = { { "x", "t[n, m]" } },
    .text = "y: int64[i in n] = argmax(j: x[i, j])",
};
static const struct formula logarithms = {
    .inputs = { { "x", "t[n, m]" } },
    .text = "y: t[i in n] = logsumexp(j: x[i, j])",
};
static const struct formula running = {
    .inputs = { { "x", "t[n, m]" } },
    .text = "y: t[i in n, j in m] = sum(k in m | k <= j: x[i, k])",
};
static const struct formula turned = {
    .inputs = { { "x", "t[n, m]" } },
    .text = "y: t[i in m, j in n] = tanh(x[j, i])",
};
static const struct formula spread = {
    .inputs = { { "x", "t[n, m]" }, { "k", "int64[n]" } },
    .text = "y: t[i in 6, j in m] = sum(r in n | k[r] == i: x[r, j])",
};
static const struct formula choice = {
    .inputs = { { "x", "t[n]" } },
    .text = "y: t[i in n] = select(x[i] > 0, exp(x[i]) * x[i], -tanh(x[i] + 1))",
};

#endif
