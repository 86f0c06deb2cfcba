/*
 * Derivatives where they are a matter of definition: ties, poles, branches that are not taken.
 *
 *     gradient_values PLUGINS
 *
 * Each row is a call, adjoints of its results, and the adjoints that its arguments must get; then
 * the tangents of these along ones, where they are stated too.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gradient.h"

static const struct row {
    const char *op, *call, *seed, *first, *second; /* second NULL: not looked at */
} rows[] = {
    // where both arguments of max are equal: nothing against a constant, else half
    { "nn.relu", "float64[3] = [-1, 0, 2]", "[3, 3, 3]", "[0, 0, 3]", "[0, 0, 0]" },
    { "clip", "float64[4] = [-1, -2, 1, 0] | a_min=-1, a_max=1", "[1, 1, 1, 1]",
      "[0, 0, 0, 1]", NULL },
    { "maximum", "float64[3] = [1, 2, 3], float64[3] = [1, 3, 2]", "[2, 2, 2]",
      "[1, 0, 2], [1, 2, 0]", NULL },
    { "minimum", "float64[3] = [1, 2, 3], float64[3] = [1, 3, 2]", "[2, 2, 2]",
      "[1, 2, 0], [1, 0, 2]", NULL },
    { "abs", "float64[3] = [-2, 0, 2]", "[1, 1, 1]", "[-1, 0, 1]", "[0, 0, 0]" },
    // the first of several greatest elements, and NaN as one
    { "max", "float64[4] = [1, 3, 3, 2]", "5", "[0, 5, 0, 0]", NULL },
    { "max", "float64[2, 2] = [1, 4, 4, 4]", "5", "[0, 5, 0, 0]", NULL },
    { "min", "float64[3] = [2, 1, 1] | axis=0", "5", "[0, 5, 0]", NULL },
    { "max", "float64[3] = [1, nan, 3] | axis=0", "5", "[0, 5, 0]", NULL },
    { "nn.max_pool2d",
      "float64[1, 1, 2, 4] = [7, 7, 1, 2, 7, 7, 3, 3] | pool_size=[2, 2], strides=[2, 2]",
      "[2, 3]", "[2, 0, 0, 0, 0, 0, 3, 0]", NULL },
    // poles: what is infinite stays so, but a seed of 0 gives 0
    { "sqrt", "float64[3] = [0, 0, 4]", "[1, 0, 1]", "[inf, 0, 0.25]", NULL },
    { "std", "float64[2, 3] = [2, 2, 2, 1, 2, 3] | axis=[1]", "[1, 0]",
      "[0, 0, 0, 0, 0, 0]", NULL },
    { "rsqrt", "float64[2] = [0, 4]", "[0, 2]", "[0, -0.125]", NULL },
    { "log", "float64[2] = [0, 2]", "[0, 1]", "[0, 0.5]", NULL },
    { "divide", "float64[2] = [0, 1], float64[2] = [0, 2]", "[0, 1]",
      "[0, 0.5], [0, -0.25]", NULL },
    { "power", "float64[3] = [0, 0, 2], float64[3] = [2, 1, 3]", "[1, 1, 1]",
      "[0, 1, 12], [0, 0, 5.545177444479562]", NULL },
    { "exp", "float64[2] = [1000, 0]", "[0, 1]", "[0, 1]", NULL },
    // an adjoint of 0 has a derivative all the same
    { "multiply", "float64[2] = [0, 2], float64[2] = [3, 0]", "[1, 1]", "[3, 0], [0, 2]",
      "[1, 1], [1, 1]" },
    { "prod", "float64[3] = [0, 2, 3] | axis=0", "1", "[6, 0, 0]", "[5, 3, 2]" },
    { "prod", "float64[3] = [0, 0, 3] | axis=0", "1", "[0, 0, 0]", "[3, 3, 0]" },
    // the side that is not taken says nothing, whatever it is
    { "where",
      "bool[3] = [1, 0, 1], float64[3] = [1, inf, 2], float64[3] = [nan, 5, inf]",
      "[1, 2, 3]", "[1, 0, 3], [0, 2, 0]", NULL },
    // padding reads nothing, so that infinite weights meet no element there
    { "nn.conv1d",
      "float64[1, 1, 2] = [1, 2], float64[1, 1, 3] = [inf, 1, 1] | padding=[1, 0]", "1",
      "[1, 1], [0, 1, 2]", NULL },
    { "logsumexp", "float64[2] = [-inf, -inf] | axis=0", "1", "[0, 0]", NULL },
    { "logsumexp", "float64[2] = [-inf, 3] | axis=0", "2", "[0, 2]", NULL },
    // the first of equal elements comes first
    { "sort", "float64[4] = [2, 1, 2, 1]", "[1, 2, 3, 4]", "[3, 1, 4, 2]", NULL },
    // straight through, inside of the range of codes
    { "quant.simulate",
      "float32[5] = [-70, -3.2, 0.1, 60, 64], float32[] = 0.5, int32[] = 0",
      "[1, 2, 3, 4, 5]", "[0, 2, 3, 4, 0]", NULL },
    { "qnn.simulated_quantize",
      "float32[4] = [-70, -3.2, 60, 64], int32[] = 1, float32[] = 0.5, int32[] = 0",
      "[1, 2, 3, 4]", "[0, 4, 6, 0]", NULL },
    { "qnn.simulated_quantize",
      "float32[2] = [-70, 64], int32[] = 0, float32[] = 0.5, int32[] = 0", "[1, 2]",
      "[1, 2]", NULL },
    // nothing passes
    { "stop_gradient", "float64[2] = [1, 2]", "[3, 4]", "[0, 0]", NULL },
};

static int is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fabs(b);
}

static bt_status like(struct gradient *g, const bt_tensor *t, const char **text,
                      double all, bt_tensor **out)
{
    BT_TRY(bt_tensor_create(g->w->ctx, t->dtype, t->rank, t->dims, out));
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set(*out, i, all);
    return text ? case_numbers(g->w->ctx, text, *out) : NULL;
}

/* What the program gives must be what the text says; what it does not give is 0. */
static bt_status compare(struct gradient *g, const struct row *row, const char *what,
                         bt_tensor *const *x, bt_tensor *const *got, const char *text,
                         int *nwrong)
{
    for (uint32_t i = 0; i < g->nin; i++) {
        bt_tensor *want;
        if (!g->wants[i])
            continue;
        BT_TRY(like(g, x[i], &text, 0, &want));
        for (int64_t k = 0; k < want->nelem; k++) {
            const double is = got[i] ? bt_tensor_get(got[i], k) : 0;
            if (is_same(is, bt_tensor_get(want, k)))
                continue;
            printf("%s: %s: %s of input %u, element %lld: %g, expected %g\n", row->op,
                   row->call, what, i, (long long)k, is, bt_tensor_get(want, k));
            ++*nwrong;
        }
        bt_tensor_unref(want);
    }
    return NULL;
}

static bt_status run(struct gradient *g, const struct row *row, int *nwrong)
{
    bt_tensor *x[CASE_MAX_LEAF] = { 0 }, *y[CALL_MAX_OUT] = { 0 },
              *v[CALL_MAX_OUT] = { 0 }, *u[CASE_MAX_LEAF] = { 0 },
              *to[CASE_MAX_LEAF] = { 0 };
    const char *seed = row->seed;
    bt_status status = NULL;
    for (uint32_t i = 0; i < g->nin && !status; i++)
        status = case_values(g->w->ctx, &g->c->leaves[i], 1, CASE_RANDOM, &x[i]);
    if (!status)
        status =
            bt_compute_run(g->w->ctx, g->primal, g->nin, (const bt_tensor *const *)x, y);
    for (uint32_t i = 0; i < g->nout && !status; i++)
        status = g->is_real[i] ? like(g, y[i], &seed, 0, &v[i]) : NULL;
    for (uint32_t i = 0; i < g->nin && !status; i++)
        status = g->wants[i] ? like(g, x[i], NULL, 1, &u[i]) : NULL;
    for (int second = 0; second < (row->second ? 2 : 1) && !status; second++) {
        status = gradient_run(g, second ? GRADIENT_SECOND : GRADIENT_VJP, x, v, u, to);
        if (!status)
            status = compare(g, row, second ? "tangent of the adjoint" : "adjoint", x, to,
                             second ? row->second : row->first, nwrong);
        for (uint32_t i = 0; i < CASE_MAX_LEAF; i++)
            bt_tensor_unref(to[i]);
    }
    for (uint32_t i = 0; i < CASE_MAX_LEAF; i++) {
        bt_tensor_unref(x[i]);
        bt_tensor_unref(u[i]);
    }
    for (uint32_t i = 0; i < CALL_MAX_OUT; i++) {
        bt_tensor_unref(y[i]);
        bt_tensor_unref(v[i]);
    }
    return status;
}

static bt_status run_row(struct op_check *w, const struct row *row, int *nwrong)
{
    const char *text = row->call;
    struct call_case c;
    struct gradient g;
    uint32_t program;
    int is_case;
    BT_TRY(bt_op_get(w->ctx, row->op, &w->op));
    BT_TRY(case_next(w->ctx, w->arena, row->op, &text, &c, &is_case));
    BT_TRY(gradient_open(w, &c, 0, &g, &program));
    bt_status status = run(&g, row, nwrong);
    gradient_close(&g);
    return status;
}

int main(int argc, char **argv)
{
    int nwrong = 0;
    if (argc != 2) {
        printf("usage: gradient_values PLUGINS\n");
        return 2;
    }
    bt_registry_options options = { .plugin_only = argv[1], .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    struct op_check w = { .ctx = ctx, .faults = json_array() };
    w.store = ctx ? bt_store_create(registry) : NULL;
    w.arena = w.store ? bt_arena_create(registry) : NULL;
    nwrong += !w.arena;
    for (uint32_t i = 0; w.arena && i < BT_COUNT(rows); i++) {
        bt_status status = run_row(&w, &rows[i], &nwrong);
        if (status)
            printf("%s: %s: %s\n", rows[i].op, rows[i].call, status->message);
        nwrong += status != NULL;
    }
    printf("%d of %u rows are wrong\n", nwrong, (unsigned)BT_COUNT(rows));
    json_decref(w.faults);
    bt_store_unref(w.store);
    bt_arena_destroy(w.arena);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return nwrong != 0;
}
