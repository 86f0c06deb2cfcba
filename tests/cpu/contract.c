/*
 * Contractions: what their schedules compute is what the evaluator does, to the bit, as
 * the numbers are such that no sum is rounded. Calls are checked against the room that
 * they have.
 */
#include "contract_check.h"

#include <stdio.h>

/* ---- products of matrices ---- */

static void test_products_of_matrices(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {
        { 9, 5, 7 },     { 14, 32, 16 }, { 29, 71, 33 }, { 1, 33, 40 },   { 3, 17, 1 },
        { 64, 100, 24 }, { 200, 3, 70 }, { 8, 1, 9 },    { 33, 1024, 65 }
    };
    for (size_t i = 0; i < BT_COUNT(sizes); i++) {
        int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        check_contraction(&(struct contraction){
            .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { m, k } },
                        { "b", "t[k, n]", BT_FLOAT32, 2, { k, n } } },
            .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n])",
            .may_be_plain = !m || n < 2 || k < 2,
        });
        check_contraction(&(struct contraction){
            .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { m, k } },
                        { "b", "t[n, k]", BT_FLOAT32, 2, { n, k } },
                        { "c", "t[n]", BT_FLOAT32, 1, { n } } },
            .text = "y: t[m, n] = max(sum(k: a[m, k] * b[n, k]) + c[n], 0)",
            .may_be_plain = n < 2 || k < 2,
        });
    }
}

static void test_batches_and_einsum(void **state)
{
    (void)state;
    static const struct contraction all[] = {
        { .inputs = { { "a", "t[i, m, k]", BT_FLOAT32, 3, { 3, 17, 9 } },
                      { "b", "t[i, n, k]", BT_FLOAT32, 3, { 3, 13, 9 } } },
          .text = "y: t[i, m, n] = sum(k: a[i, m, k] * b[i, n, k])" },
        { .inputs = { { "a", "t[i, m, k]", BT_FLOAT32, 3, { 3, 17, 9 } },
                      { "b", "t[i, k, n]", BT_FLOAT32, 3, { 3, 9, 13 } },
                      { "c", "t[m, n]", BT_FLOAT32, 2, { 17, 13 } } },
          .text = "y: t[i, m, n] = sum(k: a[i, m, k] * b[i, k, n]) - c[m, n]" },
        { .inputs = { { "a", "t[i, k, l, m]", BT_FLOAT32, 4, { 2, 5, 3, 19 } },
                      { "b", "t[l, n, k, p]", BT_FLOAT32, 4, { 3, 4, 5, 21 } } },
          .text = "y: t[p, n, i, m] = sum(k, l: a[i, k, l, m] * b[l, n, k, p])" },
        { .inputs = { { "a", "t[m, k, l, o, q]", BT_FLOAT32, 5, { 9, 2, 3, 2, 4 } },
                      { "b", "t[l, q, k, o, n]", BT_FLOAT32, 5, { 3, 4, 2, 2, 40 } } },
          .text = "y: t[m, n] = sum(k, l, o, q: a[m, k, l, o, q] * b[l, q, k, o, n])" },
        { .inputs = { { "a", "t[i, k]", BT_FLOAT32, 2, { 3, 9 } },
                      { "b", "t[i, n, k]", BT_FLOAT32, 3, { 3, 33, 9 } } },
          .text = "y: t[i, n] = max(sum(k: a[i, k] * b[i, n, k]), 0)" },
        { .inputs = { { "a", "t[i, k]", BT_INT8, 2, { 3, 9 } },
                      { "b", "t[i, n, k]", BT_INT8, 3, { 3, 33, 9 } } },
          .text = "y: int32[i, n] = sum(k: int32(a[i, k]) * int32(b[i, n, k])) + 1" },
        // the result read twice, and transposed, by later stages
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 7, 24 } } },
          .text = "x: t[m, n] = sum(k: a[m, k] * b[k, n]);"
                  "y: t[n, m] = x[m, n] + x[m, 0]" },
        // a product of products
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 7, 24 } },
                      { "c", "t[o, n]", BT_FLOAT32, 2, { 18, 24 } } },
          .text = "x: t[m, n] = max(sum(k: a[m, k] * b[k, n]), 0);"
                  "y: t[m, o] = sum(n: x[m, n] * c[o, n])" },
        // an epilogue that is not one store: a read that may fail, or a choice
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 7, 24 } },
                      { "c", "t[h]", BT_FLOAT32, 1, { 30 } } },
          .text = "y: t[m, n] = select(m < 3, sum(k: a[m, k] * b[k, n]),"
                  "                    sum(k: a[m, k] * b[k, n]) * c[n + 2])" },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 7, 24 } } },
          .text = "y: t[m, n] = select(m < 3, sum(k: a[m, k] * b[k, n]),"
                  "                    sum(k: b[k, n]))",
          .may_be_plain = 1 },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT64, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT64, 2, { 7, 24 } } },
          .text = "y: t[m, n] = min(sum(k: a[m, k] * b[k, n]), 1)" },
        { .inputs = { { "a", "u[m, k]", BT_INT8, 2, { 20, 7 } },
                      { "b", "u[n, k]", BT_INT8, 2, { 24, 7 } },
                      { "c", "t[n]", BT_INT32, 1, { 24 } } },
          .text = "y: t[m, n] = sum(k: int32(a[m, k]) * int32(b[n, k])) + c[n]" },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT16, 2, { 20, 7 } },
                      { "b", "t[n, k]", BT_FLOAT16, 2, { 24, 7 } } },
          .text = "y: t[m, n] = max(sum(k: a[m, k] * b[n, k]), 0)" },
        { .inputs = { { "a", "t[m, k]", BT_BFLOAT16, 2, { 20, 3 } },
                      { "b", "t[k, n]", BT_BFLOAT16, 2, { 3, 24 } } },
          .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n])" },
        { .inputs = { { "a", "int32[m, k]", BT_INT32, 2, { 20, 7 } },
                      { "b", "int32[k, n]", BT_INT32, 2, { 7, 24 } } },
          .text = "y: int32[m, n] = sum(k: a[m, k] * b[k, n])" },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check_contraction(&all[i]);
}

/* ---- convolutions ---- */

struct image {
    int64_t batch, channels, height, width, out, rows, columns; /* of the kernel */
    int64_t stride, dilation, top, bottom, left, right, groups;
};

static void check_image(const struct image *c)
{
    char text[600];
    int64_t height = (c->height + c->top + c->bottom - (c->rows - 1) * c->dilation - 1) /
                         c->stride +
                     1,
            width = (c->width + c->left + c->right - (c->columns - 1) * c->dilation - 1) /
                        c->stride +
                    1;
    static const char *const epilogues[][2] = {
        { "", "" },
        { "max(", " + b[o], 0)" },
        { "clamp(", " + z[n, o, p, q], -1, 2)" },
        { "float32(", " * b[o]) + z[n, 0, 0, q]" },
    };
    for (size_t i = 0; i < BT_COUNT(epilogues); i++) {
        char sum[400];
        snprintf(
            sum, sizeof(sum),
            "sum(i in ci, r in kh, s in kw: x[n, floordiv(o, %lld)*ci + i, "
            "p*%lld + r*%lld - %lld, q*%lld + s*%lld - %lld] * w[o, i, r, s] else 0)",
            (long long)(c->out / c->groups), (long long)c->stride, (long long)c->dilation,
            (long long)c->top, (long long)c->stride, (long long)c->dilation,
            (long long)c->left);
        snprintf(text, sizeof(text), "y: t[n, o, p in ph, q in pw] = %s%s%s",
                 epilogues[i][0], sum, epilogues[i][1]);
        check_contraction(&(struct contraction){
            .inputs = { { "x",
                          "t[n, c, h, g]",
                          BT_FLOAT32,
                          4,
                          { c->batch, c->channels, c->height, c->width } },
                        { "w",
                          "t[o, ci, kh, kw]",
                          BT_FLOAT32,
                          4,
                          { c->out, c->channels / c->groups, c->rows, c->columns } },
                        { "b", "t[o]", BT_FLOAT32, 1, { c->out } },
                        { "z",
                          "t[n, o, ph, pw]",
                          BT_FLOAT32,
                          4,
                          { c->batch, c->out, height, width } } },
            .text = text,
            .may_be_plain = width == 1 || c->channels * c->rows * c->columns == c->groups,
        });
    }
}

static void test_convolutions_of_images(void **state)
{
    (void)state;
    static const struct image all[] = {
        { 1, 3, 9, 9, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1 },
        { 2, 17, 7, 7, 24, 3, 3, 1, 1, 1, 1, 1, 1, 1 },
        { 1, 3, 15, 14, 17, 7, 7, 2, 1, 3, 3, 3, 3, 1 },
        { 1, 4, 13, 5, 6, 1, 1, 1, 1, 0, 0, 0, 0, 1 },
        { 2, 4, 14, 14, 20, 1, 1, 2, 1, 0, 0, 0, 0, 1 },
        { 1, 5, 13, 5, 3, 3, 2, 2, 1, 0, 1, 1, 0, 1 },
        { 1, 2, 20, 19, 3, 3, 3, 1, 2, 2, 2, 2, 2, 1 },
        { 1, 2, 20, 19, 15, 3, 3, 3, 2, 1, 0, 2, 1, 1 },
        { 2, 8, 9, 8, 12, 3, 3, 1, 1, 1, 1, 1, 1, 4 },
        { 1, 6, 9, 8, 6, 3, 3, 2, 1, 1, 1, 1, 1, 6 },
        { 1, 1, 5, 5, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1 },
        { 1, 24, 1, 1, 17, 1, 1, 1, 1, 0, 0, 0, 0, 1 },
        { 1, 3, 6, 40, 16, 3, 5, 1, 1, 0, 0, 0, 0, 1 },
        { 1, 2, 3, 3, 4, 3, 3, 1, 1, 4, 4, 4, 4, 1 },
        { 1, 2, 70, 66, 15, 3, 3, 1, 1, 1, 1, 1, 1, 1 },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check_image(&all[i]);
}

static void test_other_convolutions(void **state)
{
    (void)state;
    static const struct contraction all[] = {
        { .inputs = { { "x", "t[n, c, h]", BT_FLOAT32, 3, { 2, 5, 41 } },
                      { "w", "t[o, c, k]", BT_FLOAT32, 3, { 7, 5, 4 } } },
          .text = "y: t[n, o, p in floordiv(h, 2)] ="
                  "    sum(c, r in k: x[n, c, 2*p + r - 1] * w[o, c, r] else 0)" },
        { .inputs = { { "x", "t[n, c, d, h, g]", BT_FLOAT32, 5, { 2, 3, 5, 6, 7 } },
                      { "w", "t[o, c, k, l, m]", BT_FLOAT32, 5, { 9, 3, 3, 2, 3 } } },
          .text = "y: t[n, o, e in d, p in h, q in g] ="
                  "    sum(c, u in k, r in l, s in m: x[n, c, e + u - 1, p + r - 1,"
                  "        q + s - 1] * w[o, c, u, r, s] else 0)" },
        { .inputs = { { "x", "t[n, c, d, h, g]", BT_FLOAT32, 5, { 1, 3, 9, 6, 7 } },
                      { "w", "t[o, c, k, l, m]", BT_FLOAT32, 5, { 9, 3, 3, 3, 3 } } },
          .text = "y: t[n, o, e in 4, p in 3, q in 4] ="
                  "    sum(c, u in k, r in l, s in m: x[n, c, 2*e + u - 1, 2*p + r - 1,"
                  "        2*q + s - 1] * w[o, c, u, r, s] else 0)" },
        { .inputs = { { "x", "t[n, c, d, h, g]", BT_FLOAT32, 5, { 2, 3, 9, 6, 7 } },
                      { "w", "t[o, c]", BT_FLOAT32, 2, { 9, 3 } } },
          .text = "y: t[n, o, e in 4, p in 3, q in 3] ="
                  "    sum(c: x[n, c, 2*e + 1, 2*p, 2*q] * w[o, c])" },
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 5, 7, 6 } },
                      { "w", "t[c, o, k, l]", BT_FLOAT32, 4, { 5, 6, 4, 3 } } },
          .text = "y: t[n, o, p in h + 1, q in g] ="
                  "    sum(c, r in k, s in l: x[n, c, p + 1 - r, q + 1 - s] *"
                  "        w[c, o, r, s] else 0)" },
        // adjoints of convolutions as a reverse sweep writes them: by the data, by the weights
        { .inputs = { { "dy", "t[n, o, p, q]", BT_FLOAT32, 4, { 2, 9, 7, 9 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 9, 6, 3, 3 } } },
          .text = "dx: t[b in 2, i in 6, h in p, g in q] = sum(n, o, e in p, f in q, c, r in k,"
                  "    s in l | n == b && c == i && e + r - 1 == h && f + s - 1 == g:"
                  "    dy[n, o, e, f] * w[o, c, r, s])" },
        { .inputs = { { "dy", "t[n, o, p, q]", BT_FLOAT32, 4, { 2, 9, 5, 6 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 9, 6, 3, 3 } } },
          .text = "dx: t[b in 2, i in 6, h in 2*p, g in 2*q] = sum(n, o, e in p, f in q, c, r in k,"
                  "    s in l | n == b && c == i && 2*e + r - 1 == h &&"
                  "    2*f + s - 1 == g: dy[n, o, e, f] * w[o, c, r, s])" },
        { .inputs = { { "dy", "t[n, o, p, q]", BT_FLOAT32, 4, { 2, 9, 7, 9 } },
                      { "x", "t[n, c, p, q]", BT_FLOAT32, 4, { 2, 6, 7, 9 } } },
          .text = "dw: t[u in 9, i in 6, k in 3, l in 3] = sum(n, o, e in p, f in q, c, r in 3,"
                  "    s in 3 | o == u && c == i && r == k && s == l: dy[n, o, e, f] *"
                  "    x[n, c, e + r - 1, f + s - 1] else 0)" },
        { .inputs = { { "dy", "t[n, o, p, q]", BT_FLOAT32, 4, { 2, 9, 4, 5 } },
                      { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 6, 8, 10 } } },
          .text = "dw: t[u in 9, i in 6, k in 3, l in 3] = sum(n, o, e in p, f in q, c, r in 3,"
                  "    s in 3 | o == u && c == i && r == k && s == l: dy[n, o, e, f] *"
                  "    x[n, c, 2*e + r - 1, 2*f + s - 1] else 0)" },
        // windows in the second factor, and in both; by steps, and backward
        { .inputs = { { "x", "t[n, c, h]", BT_FLOAT32, 3, { 2, 5, 9 } },
                      { "w", "t[o, c, k]", BT_FLOAT32, 3, { 7, 5, 24 } } },
          .text = "y: t[n, o, p in 8] ="
                  "    sum(c, r in h: x[n, c, r] * w[o, c, p + 15 - 2*r] else 0)" },
        { .inputs = { { "x", "t[n, c, h]", BT_FLOAT32, 3, { 2, 5, 30 } },
                      { "w", "t[o, c, k]", BT_FLOAT32, 3, { 7, 5, 24 } } },
          .text = "y: t[n, o, p in 8] = sum(c, r in 9: x[n, c, 2*p + r - 1] *"
                  "    w[o, c, p + 15 - 2*r] else 0)",
          .may_be_plain = 1 },
        // constant rows that crowd a cache
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 1024, 3, 7 } },
                      { "w", "t[o, c]", BT_FLOAT32, 2, { 17, 1024 } } },
          .is_constant = { 0, 1 },
          .text = "y: t[n, o, p in h, q in g] = sum(c: x[n, c, p, q] * w[o, c])" },
        // taps that no place has, of images of one place, by steps, and of an adjoint
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 3, 20, 1, 1 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 17, 20, 3, 3 } } },
          .text = "y: t[n, o, p in h, q in g] = sum(c, r in k, s in l:"
                  "    x[n, c, p + r - 1, q + s - 1] * w[o, c, r, s] else 0)" },
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 3, 20, 2, 3 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 17, 20, 5, 5 } } },
          .text = "y: t[n, o, p in 1, q in 2] = sum(c, r in k, s in l:"
                  "    x[n, c, 2*p + r - 2, 2*q + s - 2] * w[o, c, r, s] else 0)" },
        { .inputs = { { "dy", "t[n, o, p, q]", BT_FLOAT32, 4, { 3, 20, 1, 2 } },
                      { "w", "t[o, i, k, l]", BT_FLOAT32, 4, { 20, 17, 3, 3 } } },
          .text = "dx: t[n, i, a in p, b in q] = sum(o, r in k, s in l:"
                  "    dy[n, o, a + 1 - r, b + 1 - s] * w[o, i, r, s] else 0)" },
        // columns that crowd a cache are rows: gradients of weights, of one batch and of several
        { .inputs = { { "dy", "t[k, m]", BT_FLOAT32, 2, { 70, 1024 } },
                      { "x", "t[k, n]", BT_FLOAT32, 2, { 70, 65 } } },
          .text = "dw: t[m, n] = sum(k: dy[k, m] * x[k, n])" },
        { .inputs = { { "dy", "t[b, k, m]", BT_FLOAT32, 3, { 2, 66, 1024 } },
                      { "x", "t[b, k, n]", BT_FLOAT32, 3, { 2, 66, 64 } } },
          .text = "dw: t[b, m, n] = max(sum(k: dy[b, k, m] * x[b, k, n]), 0)" },
        { .inputs = { { "dy", "t[b, k, m, c]", BT_FLOAT32, 4, { 2, 66, 512, 2 } },
                      { "x", "t[b, k, n]", BT_FLOAT32, 3, { 2, 66, 64 } } },
          .text = "dw: t[c, m, n] = sum(b, k: dy[b, k, m, c] * x[b, k, n])" },
        // steps, by constant weights: what is read of narrow images lies side by side then
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 300, 13, 14 } },
                      { "w", "t[o, c]", BT_FLOAT32, 2, { 64, 300 } },
                      { "b", "t[o]", BT_FLOAT32, 1, { 64 } } },
          .is_constant = { 0, 1, 1 },
          .text = "y: t[n, o, p in 7, q in 7] ="
                  "    max(sum(c: x[n, c, 2*p, 2*q] * w[o, c]) + b[o], 0)" },
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 300, 15, 19 } },
                      { "w", "t[o, c, k]", BT_FLOAT32, 3, { 64, 300, 2 } } },
          .is_constant = { 0, 1 },
          .text = "y: t[n, o, p in 6, q in 6] ="
                  "    sum(c, r in k: x[n, c, 2*p + 3*r + 1, 3*q + 2] * w[o, c, r])" },
        // transposed, with strides: places divide a shifted index
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 5, 7, 6 } },
                      { "w", "t[c, o, k, l]", BT_FLOAT32, 4, { 5, 6, 4, 3 } } },
          .text = "y: t[n, o, p in 2*h, q in 2*g + 1] ="
                  "    sum(c, a in h, b in g, r in k, s in l | 2*a + r - 1 == p &&"
                  "        2*b + s - 1 == q: x[n, c, a, b] * w[c, o, r, s])" },
        { .inputs = { { "x", "t[n, c, h]", BT_FLOAT32, 3, { 1, 6, 11 } },
                      { "w", "t[c, o, k]", BT_FLOAT32, 3, { 6, 9, 7 } } },
          .text = "y: t[n, o, p in 3*h + 1] = max(1 +"
                  "    sum(c, a in h, r in k | 3*a + r - 2 == p: x[n, c, a] * w[c, o, "
                  "r]), 0)" },
        // steps that are longer than windows: some places have no term, which is not 0 * infinity
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 5, 4, 6 } },
                      { "w", "t[c, o, k, l]", BT_FLOAT32, 4, { 5, 6, 2, 2 } } },
          .text = "y: t[n, o, p in 3*h - 1, q in 3*g - 1] ="
                  "    sum(c, a in h, b in g, r in k, s in l | 3*a + r == p &&"
                  "        3*b + s == q: x[n, c, a, b] * w[c, o, r, s])",
          .has_infinity = 1 },
        // factors that are computed
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 5, 9, 10 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 6, 5, 3, 3 } },
                      { "b", "t[c]", BT_FLOAT32, 1, { 5 } } },
          .text = "y: t[n, o, p in h, q in g] = sum(c, r in k, s in l:"
                  "    max(x[n, c, p + r - 1, q + s - 1] * b[c] + 1, 0) * w[o, c, r, s]"
                  "    else 0)" },
        { .inputs = { { "x", "t[n, z, h, g]", BT_FLOAT32, 4, { 1, 6, 9, 10 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 6, 3, 3, 3 } },
                      { "b", "t[z]", BT_FLOAT32, 1, { 6 } } },
          .text = "y: t[n, o, p in 5, q in 5] = sum(c, r in k, s in l: neg(b[floordiv(o, "
                  "3) * 3 + c] * x[n, floordiv(o, 3) * 3 + c, 2*p + r - 1, 2*q + s - 1])"
                  "    * (w[o, c, r, s] + 1) else 0)" },
        { .inputs = { { "x", "t[n, c, h]", BT_FLOAT32, 3, { 9, 6, 10 } },
                      { "w", "t[o, k]", BT_FLOAT32, 2, { 17, 60 } } },
          .text = "y: t[n, o] = sum(k: x[n, floordiv(k, 10), k - 10 * floordiv(k, 10)]"
                  "    * w[o, k])" },
        { .inputs = { { "x", "t[h]", BT_FLOAT32, 1, { 60 } },
                      { "w", "t[o, k]", BT_FLOAT32, 2, { 17, 10 } } },
          .text = "y: t[n in 6, o] = sum(k: max(x[10*n + k], 0) * w[o, k])" },
        // a step along the gradient of weights: sums that are turned, and more made of them
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 4, 5, 9, 10 } },
                      { "dy", "t[n, o, p, q]", BT_FLOAT32, 4, { 4, 33, 7, 8 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 33, 5, 3, 3 } } },
          .text = "y: t[o, c, r in k, s in l] = w[o, c, r, s] - 0.25 * sum(n, e in p, f in q:"
                  "    dy[n, o, e, f] * x[n, c, e + r, f + s])" },
        { .inputs = { { "x", "t[h]", BT_FLOAT32, 1, { 60 } },
                      { "w", "t[o, k]", BT_FLOAT32, 2, { 17, 10 } } },
          .text = "y: t[n in 6, o] = sum(k: float32(n + k) * w[o, k])",
          .may_be_plain = 1 },
        // of integers
        { .inputs = { { "x", "u[n, c, h, g]", BT_INT8, 4, { 1, 5, 9, 10 } },
                      { "w", "u[o, c, k, l]", BT_INT8, 4, { 6, 5, 3, 3 } } },
          .text = "y: int32[n, o, p in h, q in g] = sum(c, r in k, s in l:"
                  "    int32(x[n, c, p + r - 1, q + s - 1]) * int32(w[o, c, r, s])"
                  "    else 0)" },
        // a kernel turned round, as for the gradient of the data
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 5, 9, 10 } },
                      { "w", "t[c, o, k, l]", BT_FLOAT32, 4, { 5, 6, 3, 3 } } },
          .text = "y: t[n, o, p in h, q in g] = sum(c, r in k, s in l:"
                  "    x[n, c, p - r + 1, q - s + 1] * w[c, o, r, s] else 0)" },
        // channels last
        { .inputs = { { "x", "t[n, h, g, c]", BT_FLOAT32, 4, { 2, 9, 10, 5 } },
                      { "w", "t[k, l, c, o]", BT_FLOAT32, 4, { 3, 3, 5, 6 } } },
          .text = "y: t[n, p in 7, q in 8, o] = sum(c, r in k, s in l:"
                  "    x[n, p + r, q + s, c] * w[r, s, c, o])" },
        { .inputs = { { "x", "t[n, h, g, c]", BT_FLOAT32, 4, { 2, 9, 10, 5 } },
                      { "w", "t[k, l, c, o]", BT_FLOAT32, 4, { 3, 3, 5, 6 } } },
          .text = "y: t[n, p in h, q in g, o] = sum(c, r in k, s in l:"
                  "    x[n, p + r - 1, q + s - 1, c] * w[r, s, c, o] else 0)" },
        { .inputs = { { "x", "t[n, h, g, c]", BT_FLOAT32, 4, { 2, 9, 10, 5 } },
                      { "w", "t[k, l, c, o]", BT_FLOAT32, 4, { 3, 2, 5, 6 } } },
          .text = "y: t[n, p in 5, q in 5, o] = max(sum(c, r in k, s in l:"
                  "    x[n, 2*p + r - 1, 2*q + 2*s - 3, c] * w[r, s, c, o] else 0), 0)" },
        { .inputs = { { "x", "t[n, g, c]", BT_FLOAT32, 3, { 2, 10, 5 } },
                      { "w", "t[l, c, o]", BT_FLOAT32, 3, { 2, 5, 6 } } },
          .text = "y: t[n, q in 10, o] = sum(c, s in l:"
                  "    x[n, q + 3*s - 1, c] * w[s, c, o] else 0)" },
        { .inputs = { { "x", "t[n, g, c]", BT_FLOAT32, 3, { 2, 3, 5 } },
                      { "w", "t[l, c, o]", BT_FLOAT32, 3, { 2, 5, 6 } } },
          .text = "y: t[n, q in 4, o] = sum(c, s in l:"
                  "    x[n, q + s + 7, c] * w[s, c, o] else 0)",
          .may_be_plain = 1 },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check_contraction(&all[i]);
}

/* ---- parts ---- */

/* A row by a constant, read in parts by stages that go block by block with it, or do not: the
 * last one also reads what stands beside. */
static void test_a_row_is_read_in_parts(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 2, 5, 7 },   { 3, 33, 9 },  { 4, 64, 16 },
                                        { 5, 40, 3 },  { 6, 2, 3 },   { 8, 31, 5 },
                                        { 4, 130, 2 }, { 3, 200, 11 } };
    for (size_t i = 0; i < 2 * BT_COUNT(sizes); i++) {
        const int64_t *size = sizes[i / 2], h = size[1], k = size[2], n = size[0] * h;
        const bt_dtype dtype = i % 2 ? BT_FLOAT64 : BT_FLOAT32;
        char text[512];
        snprintf(text, sizeof(text),
                 "s: t[m, n] = max(sum(k: a[m, k] * b[n, k]) + d[n], 1);"
                 "x: t[m, i in h] = c[m, i] * s[m, i] + s[m, i + %lld];"
                 "z: t[m, i in h] = x[m, i] - s[m, i + %lld];"
                 "y: t[m, i in h] = z[m, i] * x[m, i] + x[m, %lld - i]",
                 (long long)h, (long long)(n - h), (long long)(h - 1));
        check_contraction(&(struct contraction){
            .inputs = { { "a", "t[m, k]", dtype, 2, { 1, k } },
                        { "b", "t[n, k]", dtype, 2, { n, k } },
                        { "c", "t[m, h]", dtype, 2, { 1, h } },
                        { "d", "t[n]", dtype, 1, { n } } },
            .is_constant = { 0, 1 },
            .text = text,
        });
    }
}

/* ---- cuts ---- */

static void fill_uneven(bt_tensor *t, uint64_t seed)
{
    for (int64_t i = 0; i < t->nelem; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bt_tensor_set(t, i, (double)(int64_t)(seed >> 20) / (1LL << 43) - 1);
    }
}

/* Sums are rounded here, and in the same way whatever the blocks. */
static void check_cuts(const struct contraction *c)
{
    struct world w = world_open();
    struct formula f = { .text = c->text };
    bt_tensor *in[4], *first, *got;
    uint32_t n = 0;
    for (; n < 4 && c->inputs[n].name; n++) {
        const struct input *i = &c->inputs[n];
        f.inputs[n] = (bt_op_input){ .name = i->name, .type = i->type };
        in[n] = tensor_new(&w, i->dtype, i->rank, i->dims);
        fill_uneven(in[n], n + 1);
    }
    first = formula_run(&w, &f, n, in);
    got = tensor_new(&w, first->dtype, first->rank, first->dims);
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        for (uint32_t nthread = 1; nthread <= 16; nthread *= 2) {
            struct calls calls = { .isa = isa };
            const struct cpu_config config = { .isa = isa, .nthread = nthread };
            run_schedule(&w, &f, n, in, &config, nthread == 1 ? first : got, run_call,
                         &calls);
            assert_true(calls.ntile > 0);
            if (nthread > 1)
                assert_memory_equal(got->data, first->data,
                                    (size_t)got->nelem * bt_dtype_nbytes(got->dtype));
        }
    }
    bt_tensor_unref(got);
    bt_tensor_unref(first);
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

static void test_threads_change_no_bit(void **state)
{
    (void)state;
    static const struct contraction all[] = {
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 5, 41, 23 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 33, 5, 3, 3 } },
                      { "b", "t[o]", BT_FLOAT32, 1, { 33 } } },
          .text =
              "y: t[n, o, p in h, q in g] = max(sum(c, r in k, s in l:"
              "    x[n, c, p + r - 1, q + s - 1] * w[o, c, r, s] else 0) + b[o], 0)" },
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 3, 19, 23 } },
                      { "w", "t[c, k, l]", BT_FLOAT32, 3, { 3, 3, 3 } } },
          .text = "y: t[n, c, p in 10, q in 12] = sum(r in k, s in l:"
                  "    x[n, c, 2*p + r - 1, 2*q + s - 1] * w[c, r, s] else 0)" },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 70, 129 } },
                      { "b", "t[n, k]", BT_FLOAT32, 2, { 301, 129 } } },
          .text = "y: t[m, n] = sum(k: a[m, k] * b[n, k])" },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT64, 2, { 70, 129 } },
                      { "b", "t[k, n]", BT_FLOAT64, 2, { 129, 101 } } },
          .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n]) * 3" },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check_cuts(&all[i]);
}

/* ---- without memory ---- */

/* 0: something had no memory, and said so. */
static int schedule_with(bt_registry *registry, bt_ctx *ctx, bt_store *store, int64_t c,
                         const struct cpu_config *config)
{
    static const bt_op_input inputs[] = { { .name = "x", .type = "t[n, c, h, g]" },
                                          { .name = "w", .type = "t[o, c, k, l]" },
                                          { .name = "b", .type = "t[u, q]" },
                                          { 0 } };
    static const bt_op op = {
        .name = "test.op",
        .revision = 1,
        .inputs = inputs,
        .formula =
            "y: t[n, o, i in 5, j in 5] = max(sum(c, r in k, s in l: neg(x[n, c, 2*i + "
            "r - 1, 2*j + s - 1]) * w[o, c, r, s] else 0), 0);"
            "z: t[o, u] = sum(q: w[o, q, 0, 0] * b[u, q]) + y[0, o, 0, 0]"
    };
    const bt_type *args[3] = {
        bt_type_tensor_of(store, BT_FLOAT32, 4, (const int64_t[]){ 1, c, 10, 10 }),
        bt_type_tensor_of(store, BT_FLOAT32, 4, (const int64_t[]){ 3 * c + 2, c, 3, 3 }),
        bt_type_tensor_of(store, BT_FLOAT32, 2, (const int64_t[]){ 40, c }),
    };
    return schedule_op(registry, ctx, store, &op, args, config);
}

static int schedule(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    return schedule_with(registry, ctx, store, 5,
                         &(struct cpu_config){ .isa = CPU_ISA_PORTABLE, .nthread = 2 });
}

/* Tiles that are turned then, and finish their sums. */
static int schedule_constants(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    return schedule_with(
        registry, ctx, store, 5,
        &(struct cpu_config){ .isa = CPU_ISA_PORTABLE,
                              .nthread = 2,
                              .is_constant = (const uint8_t[]){ 0, 1, 1 } });
}

/* Of pairs. */
static int schedule_fast(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    return schedule_with(
        registry, ctx, store, 65,
        &(struct cpu_config){ .isa = CPU_ISA_AVX512BF16,
                              .accuracy = CPU_FAST,
                              .nthread = 2,
                              .is_constant = (const uint8_t[]){ 0, 1, 1 } });
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation_of(schedule);
    fail_each_allocation_of(schedule_constants);
    fail_each_allocation_of(schedule_fast);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_products_of_matrices),
    cmocka_unit_test(test_batches_and_einsum),
    cmocka_unit_test(test_convolutions_of_images),
    cmocka_unit_test(test_other_convolutions),
    cmocka_unit_test(test_a_row_is_read_in_parts),
    cmocka_unit_test(test_threads_change_no_bit),
    cmocka_unit_test(test_every_allocation_may_fail),
};
TEST_MAIN(tests)
