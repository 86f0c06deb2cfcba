/*
 * How long the reference evaluator takes for a multiply-add: convolutions, products,
 * pooling, normalisation.
 *
 *     bench_evaluator [PART OF A NAME]
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <baton/compute.h>

#define MOST 10.0 /* ns that a multiply-add of conv2d and dense may take */

struct window {
    int64_t sh, sw, pt, pl, pb, pr;
};
static const bt_attr window_attrs[] = {
    BT_ATTR(struct window, sh, INT, "1", ""),
    BT_ATTR(struct window, sw, INT, "1", ""),
    BT_ATTR(struct window, pt, INT, "0", ""),
    BT_ATTR(struct window, pl, INT, "0", ""),
    BT_ATTR(struct window, pb, INT, "0", ""),
    BT_ATTR(struct window, pr, INT, "0", ""),
    { 0 },
};
static const struct window same = { 1, 1, 1, 1, 1, 1 }, half = { 2, 2, 0, 0, 0, 0 };

#define OUTPUT                                  \
    "oh = floordiv(h + pt + pb - kh, sh) + 1; " \
    "ow = floordiv(w + pl + pr - kw, sw) + 1; "
#define CONV                                                          \
    OUTPUT "y: t[n, o, i in oh, j in ow] = sum(c, r in kh, s in kw: " \
           "data[n, c, i*sh + r - pt, j*sw + s - pl] * weight[o, c, r, s] else 0)"
#define GROUPED                                                             \
    OUTPUT "y: t[n, o, i in oh, j in ow] = sum(c in ci, r in kh, s in kw: " \
           "data[n, floordiv(o, floordiv(extent(weight, 0), 32))*ci + c, "  \
           "i*sh + r - pt, j*sw + s - pl] * weight[o, c, r, s] else 0)"
#define TRANSPOSED                                                                     \
    "y: t[n, o, p in h*sh + 2, q in w*sw + 2] = sum(c, i, j, r, s | i*sh + r == p && " \
    "j*sw + s == q: data[n, c, i, j] * weight[o, c, r, s])"
#define SCATTER "y: t[m in 33, n] = sum(k | int64(data[k, 0] + 6) == m: weight[n, k])"
#define POOL                                                                 \
    "kh = 2; kw = 2; " OUTPUT "y: t[n, c, i in oh, j in ow] = max(r in kh, " \
    "s in kw: data[n, c, i*sh + r - pt, j*sw + s - pl] else -inf)"
#define DENSE "y: t[m, n] = sum(k: data[m, k] * weight[n, k])"
#define DENSE_INT \
    "y: int32[m, n] = sum[int32](k: int32(data[m, k]) * int32(weight[n, k]))"
#define SOFTMAX                                                          \
    "m: t[i] = max(k: data[i, k]); e: t[i, k] = exp(data[i, k] - m[i]);" \
    "s: t[i] = sum(k: e[i, k]); y: t[i, k] = e[i, k] / s[i]"

struct bench {
    const char *name, *formula;
    const char *types[2];
    bt_dtype dtype;
    uint32_t ranks[2];
    int64_t dims[2][4];
    const struct window *window;
    uint32_t is_limited;
};
#define IMAGE                 \
    {                         \
        "t[n, c, h, w]", NULL \
    }
#define FILTER                             \
    {                                      \
        "t[n, c, h, w]", "t[o, c, kh, kw]" \
    }
#define GROUPS                              \
    {                                       \
        "t[n, c, h, w]", "t[o, ci, kh, kw]" \
    }
#define MATRIX               \
    {                        \
        "t[m, k]", "t[n, k]" \
    }
#define RANK4   \
    BT_FLOAT32, \
    {           \
        4, 4    \
    }
// clang-format off
static const struct bench benches[] = {
    { "conv2d 64x56x56, 64 3x3", CONV, FILTER, RANK4, { { 1, 64, 56, 56 }, { 64, 64, 3, 3 } }, &same, 1 },
    { "conv2d 256x14x14, 256 3x3", CONV, FILTER, RANK4, { { 1, 256, 14, 14 }, { 256, 256, 3, 3 } }, &same, 1 },
    { "conv2d 512x7x7, 128 3x3", CONV, FILTER, RANK4, { { 1, 512, 7, 7 }, { 128, 512, 3, 3 } }, &same, 1 },
    { "conv2d 1x28x28, 8 5x5", CONV, FILTER, RANK4, { { 1, 1, 28, 28 }, { 8, 1, 5, 5 } }, &same, 1 },
    { "conv2d 64x56x56, 64 1x1", CONV, FILTER, RANK4, { { 1, 64, 56, 56 }, { 64, 64, 1, 1 } }, &half, 1 },
    { "grouped 32x112x112, 3x3", GROUPED, GROUPS, RANK4, { { 1, 32, 112, 112 }, { 32, 1, 3, 3 } }, &same, 1 },
    { "transposed 32x28x28, 32 4x4", TRANSPOSED, FILTER, RANK4, { { 1, 32, 28, 28 }, { 32, 32, 4, 4 } }, &half, 0 },
    { "scatter 100000 to 33 rows", SCATTER, { "t[k, z]", "t[n, k]" }, BT_FLOAT32, { 2, 2 }, { { 100000, 1 }, { 4, 100000 } }, NULL, 0 },
    { "dense 64x1024, 1024", DENSE, MATRIX, BT_FLOAT32, { 2, 2 }, { { 64, 1024 }, { 1024, 1024 } }, NULL, 1 },
    { "dense 1x4096, 4096", DENSE, MATRIX, BT_FLOAT32, { 2, 2 }, { { 1, 4096 }, { 4096, 4096 } }, NULL, 1 },
    { "dense 1000x10, 10", DENSE, MATRIX, BT_FLOAT32, { 2, 2 }, { { 1000, 10 }, { 10, 10 } }, NULL, 1 },
    { "dense int8 64x1024, 256", DENSE_INT, MATRIX, BT_INT8, { 2, 2 }, { { 64, 1024 }, { 256, 1024 } }, NULL, 1 },
    { "dense float16 64x1024, 64", DENSE, MATRIX, BT_FLOAT16, { 2, 2 }, { { 64, 1024 }, { 64, 1024 } }, NULL, 1 },
    { "max_pool 64x112x112, 2x2", POOL, IMAGE, RANK4, { { 1, 64, 112, 112 } }, &half, 0 },
    { "softmax 64x1000", SOFTMAX, { "t[i, k]", NULL }, BT_FLOAT32, { 2, 0 }, { { 64, 1000 } }, NULL, 0 },
    { "relu 1000000", "y: t[..] = max(data[..], 0)", { "t[..]", NULL }, BT_FLOAT32, { 1, 0 }, { { 1000000 } }, NULL, 0 },
};
// clang-format on

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static bt_status fill(bt_ctx *ctx, const struct bench *b, uint32_t i, bt_tensor **out)
{
    BT_TRY(bt_tensor_create(ctx, b->dtype, b->ranks[i], b->dims[i], out));
    for (int64_t k = 0; k < (*out)->nelem; k++)
        bt_tensor_set(*out, k, (double)(k % 13) - 6);
    return NULL;
}

/* ns of the fastest of three runs. */
static bt_status measure(bt_ctx *ctx, const struct bench *b, bt_compute *compute,
                         uint32_t nin, const bt_tensor *const *in, double *ns)
{
    (void)b;
    for (int i = 0; i < 3; i++) {
        bt_tensor *out = NULL;
        double start = now_ns();
        BT_TRY(bt_compute_run(ctx, compute, nin, in, &out));
        double took = now_ns() - start;
        bt_tensor_unref(out);
        *ns = i == 0 || took < *ns ? took : *ns;
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_store *store, const struct bench *b, int *slow)
{
    bt_op_input inputs[3] = { { .name = "data", .type = b->types[0] },
                              { .name = b->types[1] ? "weight" : NULL,
                                .type = b->types[1] } };
    uint32_t nin = b->types[1] ? 2 : 1;
    bt_op op = { .name = b->name,
                 .inputs = inputs,
                 .formula = b->formula,
                 .attrs = b->window ? window_attrs : NULL };
    bt_tensor *in[2] = { 0 };
    const bt_type *types[2];
    bt_compute *compute = NULL;
    int64_t nmac = 0;
    double ns = 0;
    bt_status status = NULL;
    for (uint32_t i = 0; i < nin && !status; i++) {
        status = fill(ctx, b, i, &in[i]);
        types[i] = bt_type_tensor_of(store, b->dtype, b->ranks[i], b->dims[i]);
    }
    const bt_type *result = bt_type_tensor(store, bt_type_hole(store, BT_KIND_SHAPE),
                                           bt_type_hole(store, BT_KIND_DTYPE));
    if (!status)
        status = bt_compute_create(ctx,
                                   &(bt_formula_call){ .op = &op,
                                                       .attrs = b->window,
                                                       .narg = nin,
                                                       .args = types,
                                                       .result = result },
                                   &compute);
    const bt_tensor *const *args = (const bt_tensor *const *)in;
    if (!status)
        status = measure(ctx, b, compute, nin, args, &ns);
    if (!status)
        status = bt_compute_cost(ctx, compute, nin, args, &nmac);
    if (!status) {
        double each = ns / (double)nmac;
        *slow |= b->is_limited && each > MOST;
        printf("%-28s %12lld multiply-adds %9.3f ms %7.2f ns each\n", b->name,
               (long long)nmac, ns / 1e6, each);
    }
    bt_compute_destroy(compute);
    for (uint32_t i = 0; i < nin; i++)
        bt_tensor_unref(in[i]);
    return status;
}

int main(int argc, char **argv)
{
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_store *store = registry ? bt_store_create(registry) : NULL;
    bt_status status = ctx && store ? NULL : bt_no_memory();
    int slow = 0;
    for (uint32_t i = 0; i < BT_COUNT(benches) && !status; i++) {
        if (argc < 2 || strstr(benches[i].name, argv[1]))
            status = run(ctx, store, &benches[i], &slow);
    }
    if (status)
        fprintf(stderr, "error: %s\n", status->message);
    bt_store_unref(store);
    if (ctx)
        bt_ctx_destroy(ctx);
    if (registry)
        bt_registry_unref(registry);
    return status || slow ? 1 : 0;
}
