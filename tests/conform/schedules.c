/*
 * Programs large enough for each schedule of a target, against executor interp.
 *
 *     conform_schedules PLUGINS TARGET [NUMBER]
 *
 * Exit code 77: this machine has no device, which is said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/pass.h>

#include "close.h"

/* The arguments of main, and what it computes of them. */
static const struct trial {
    const char *params, *body;
} trials[] = {
    // maps: of one loop, broadcast, turned, of short floats, of integers
    { "%x: Tensor[(70, 1001), float32]", "nn.relu(add(%x, multiply(%x, %x)))" },
    { "%x: Tensor[(3, 64, 17), float32], %y: Tensor[(64, 1), float32]",
      "tanh(subtract(%x, %y))" },
    { "%x: Tensor[(33, 130), float32]", "transpose(exp(%x), axes=(1, 0))" },
    { "%x: Tensor[(5000), float16]", "sigmoid(%x)" },
    { "%x: Tensor[(5000), bfloat16]", "erf(%x)" },
    { "%x: Tensor[(5000), int8], %y: Tensor[(5000), int8]", "multiply(%x, %y)" },
    { "%x: Tensor[(5000), uint64], %y: Tensor[(5000), uint64]", "floor_divide(%x, %y)" },
    { "%x: Tensor[(4, 700), float32], %y: Tensor[(90, 700), float32]",
      "concatenate((%x, %y), axis=0)" },
    // rows, and reductions of all
    { "%x: Tensor[(50, 1000), float32]", "sum(%x, axis=[1])" },
    { "%x: Tensor[(50, 1003), float32]", "nn.softmax(%x)" },
    { "%x: Tensor[(7, 999), float32]", "nn.log_softmax(%x)" },
    { "%x: Tensor[(2, 8, 30, 31), float32]", "mean(%x, axis=[2, 3])" },
    { "%x: Tensor[(2, 300, 8), float32]", "max(%x, axis=[1])" },
    { "%x: Tensor[(40, 500), float32]", "argmax(%x, axis=[1])" },
    { "%x: Tensor[(40, 500), int32]", "argmin(%x, axis=[1])" },
    { "%x: Tensor[(40, 500), int16]", "sum(%x, axis=[1])" },
    { "%x: Tensor[(200, 300), float32]", "sum(%x)" },
    { "%x: Tensor[(200, 301), float32]", "argmax(%x)" },
    { "%x: Tensor[(3, 70000), float32]", "max(%x, axis=[1])" },
    { "%x: Tensor[(200, 300), float32]", "logsumexp(%x, axis=[1])" },
    { "%x: Tensor[(2, 50000), float32]", "logsumexp(%x, axis=[1])" },
    { "%x: Tensor[(300, 700), bool]", "all(%x, axis=[1])" },
    { "%x: Tensor[(20, 512), float32], %g: Tensor[(512), float32], %b: Tensor[(512), "
      "float32]",
      "nn.layer_norm(%x, %g, %b)" },
    { "%x: Tensor[(9, 400), float64]", "sum(%x, axis=[1])" },
    { "%x: Tensor[(9, 400), float16]", "mean(%x, axis=[1])" },
    // sums of products
    { "%x: Tensor[(65, 70), float32], %y: Tensor[(70, 81), float32]",
      "nn.matmul(%x, %y)" },
    { "%x: Tensor[(1, 500), float32], %y: Tensor[(77, 500), float32]",
      "nn.dense(%x, %y)" },
    { "%x: Tensor[(130, 40), float32], %y: Tensor[(33, 40), float32], %b: Tensor[(33), "
      "float32]",
      "nn.relu(nn.bias_add(nn.dense(%x, %y), %b))" },
    { "%x: Tensor[(3, 20, 30), float32], %y: Tensor[(3, 25, 30), float32]",
      "nn.batch_matmul(%x, %y)" },
    { "%x: Tensor[(30, 40), float16], %y: Tensor[(35, 40), float16]",
      "nn.dense(%x, %y)" },
    { "%x: Tensor[(1, 5, 20, 21), float32], %w: Tensor[(40, 5, 3, 3), float32]",
      "nn.conv2d(%x, %w, padding=(1, 1), channels=40, kernel_size=(3, 3))" },
    { "%x: Tensor[(2, 8, 17, 15), float32], %w: Tensor[(24, 8, 3, 3), float32]",
      "nn.relu(nn.conv2d(%x, %w, strides=(2, 2), padding=(1, 1), channels=24, "
      "kernel_size=(3, 3)))" },
    { "%x: Tensor[(1, 32, 14, 14), float32], %w: Tensor[(48, 32, 1, 1), float32]",
      "nn.conv2d(%x, %w, strides=(2, 2), channels=48, kernel_size=(1, 1))" },
    { "%x: Tensor[(1, 12, 14, 14), float32], %w: Tensor[(16, 6, 3, 3), float32]",
      "nn.conv2d(%x, %w, padding=(1, 1), groups=2, channels=16, kernel_size=(3, 3))" },
    // windows, by channels
    { "%x: Tensor[(1, 33, 30, 31), float32], %w: Tensor[(33, 1, 3, 3), float32]",
      "nn.relu(nn.conv2d(%x, %w, padding=(1, 1), groups=33, channels=33, kernel_size=(3, "
      "3)))" },
    { "%x: Tensor[(1, 33, 30, 31), float32], %w: Tensor[(33, 1, 5, 5), float32]",
      "nn.conv2d(%x, %w, strides=(2, 2), padding=(2, 2), groups=33, channels=33, "
      "kernel_size=(5, 5))" },
    { "%x: Tensor[(1, 16, 31, 30), float32]",
      "nn.max_pool2d(%x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))" },
    { "%x: Tensor[(1, 16, 31, 30), float32]",
      "nn.avg_pool2d(%x, pool_size=(3, 3), strides=(1, 1), padding=(1, 1))" },
    // what elements address, and running sums
    { "%x: Tensor[(3, 4000), float32]", "cumsum(%x, axis=1)" },
    { "%x: Tensor[(6000), int32]", "cumsum(%x, axis=0)" },
    { "%x: Tensor[(9000), float32]", "cumsum(%x, axis=0)" },
};

struct two_ways {
    bt_ctx *ctx;
    const bt_executor *interp, *graph;
    const char *target;
};

/* ---- inputs ---- */

static double next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 40) / (double)(1 << 24);
}

static bt_status make_input(bt_ctx *ctx, const bt_type *type, uint64_t seed,
                            bt_object **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    const bt_dtype dtype = bt_tensor_dtype(type);
    int64_t dims[BT_MAX_RANK];
    bt_tensor *tensor;
    for (uint32_t i = 0; i < shape->n; i++)
        (void)bt_dim_is_const(shape->dims[i], &dims[i]);
    BT_TRY(bt_tensor_create(ctx, dtype, shape->n, dims, &tensor));
    for (int64_t i = 0; i < tensor->nelem; i++) {
        const double x = next(&seed);
        if (bt_dtype_is_float(dtype))
            bt_tensor_set(tensor, i, 4 * x - 2);
        else
            bt_tensor_set_int(tensor, i,
                              dtype == BT_BOOL ? x < 0.999 : (int64_t)(200 * x) - 100);
    }
    *out = &tensor->base;
    return NULL;
}

/* ---- two ways ---- */

static bt_status compile(const struct two_ways *t, const bt_module *module,
                         bt_compiled **out)
{
    bt_pipeline *pipeline;
    bt_module *fused;
    bt_pipeline_options options = { .level = 4, .verify_each = 1 };
    BT_TRY(bt_pipeline_read(t->ctx, "fuse-ops", &pipeline));
    bt_status status = bt_pipeline_run(t->ctx, pipeline, &options, module, &fused);
    bt_pipeline_destroy(pipeline);
    BT_TRY(status);
    status =
        bt_compile(t->ctx, fused, &(bt_compile_options){ .targets = t->target }, out);
    bt_module_unref(fused);
    return status;
}

static bt_status run_interp(const struct two_ways *t, const bt_module *module, uint32_t n,
                            bt_object *const *args, bt_object **out)
{
    void *session;
    BT_TRY(t->interp->open(t->ctx, module, NULL, &session));
    bt_status status = t->interp->call(t->ctx, session, "main", n, args, NULL, out);
    t->interp->close(session);
    return status;
}

static bt_status run_target(const struct two_ways *t, const bt_module *module, uint32_t n,
                            bt_object *const *args, bt_object **out)
{
    bt_compiled *compiled;
    void *session;
    BT_TRY(compile(t, module, &compiled));
    bt_status status = t->graph->load(t->ctx, compiled, "main", NULL, &session);
    bt_compiled_unref(compiled);
    BT_TRY(status);
    status = t->graph->call(t->ctx, session, "main", n, args, NULL, out);
    t->graph->close(session);
    return status;
}

static bt_status run_both(const struct two_ways *t, const struct trial *trial, int *same)
{
    enum { MOST = 3 };
    bt_object *args[MOST] = { 0 }, *want = NULL, *got = NULL;
    bt_module *module = NULL, *typed = NULL;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(t->ctx));
    bt_text text;
    double worst = 0;
    if (!arena)
        return bt_no_memory();
    bt_text_init(&text, arena);
    bt_text_addf(&text, "#[version = \"baton 0.1\"]\n\ndef @main(%s) {\n    %s\n}\n",
                 trial->params, trial->body);
    bt_status status = bt_text_get(&text) ? NULL : bt_no_memory();
    if (!status)
        status = bt_parse(t->ctx, "trial", NULL, text.at, text.len, &module);
    if (!status)
        status = bt_infer(t->ctx, module, &typed);
    bt_arena_destroy(arena);
    BT_TRY(status);
    const bt_block *block = bt_module_find(typed, "main")->func->block;
    for (uint32_t i = 0; !status && i < block->nparam && i < MOST; i++)
        status = make_input(t->ctx, block->params[i]->base.type, i + 1, &args[i]);
    if (!status)
        status = run_interp(t, typed, block->nparam, args, &want);
    if (!status)
        status = run_target(t, typed, block->nparam, args, &got);
    *same = !status &&
            is_close(bt_object_as_tensor(got), bt_object_as_tensor(want), 0, &worst);
    printf("%3.0f %% of the bound: %s\n", 100 * worst, trial->body);
    for (uint32_t i = 0; i < MOST; i++)
        bt_object_unref(args[i]);
    bt_object_unref(want);
    bt_object_unref(got);
    bt_module_unref(typed);
    bt_module_unref(module);
    return status;
}

/* ---- all ---- */

static bt_status prepare(struct two_ways *t)
{
    const void *row;
    BT_TRY(
        bt_registry_row(t->ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    t->interp = row;
    BT_TRY(
        bt_registry_row(t->ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    t->graph = row;
    return bt_plugins_scan(t->ctx);
}

static int run(struct two_ways *t, const char *only)
{
    bt_targets *targets = NULL;
    int nwrong = 0;
    bt_status status = prepare(t);
    if (!status)
        status = bt_targets_open(t->ctx, t->target, &targets);
    bt_targets_unref(targets);
    if (status) {
        printf("%s%s\n", status->code == BT_ERR_UNSUPPORTED ? "skipped: " : "",
               status->message);
        return status->code == BT_ERR_UNSUPPORTED ? 77 : 1;
    }
    for (uint32_t i = 0; i < BT_COUNT(trials); i++) {
        int same = 0;
        if (only && (uint32_t)atoi(only) != i)
            continue;
        status = run_both(t, &trials[i], &same);
        if (status || !same)
            printf("%u: %s: %s\n", i, trials[i].body,
                   status ? status->message : "another result than interp's");
        nwrong += status || !same;
        bt_ctx_clear_diags(t->ctx);
    }
    printf("%s: %u programs, %d wrong\n", t->target, BT_COUNT(trials), nwrong);
    return nwrong != 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        printf("usage: conform_schedules PLUGINS TARGET [NUMBER]\n");
        return 2;
    }
    bt_registry_options options = { .plugin_only = argv[1], .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    struct two_ways t = { .ctx = registry ? bt_ctx_create(registry) : NULL,
                          .target = argv[2] };
    const int failed = t.ctx ? run(&t, argc > 3 ? argv[3] : NULL) : 1;
    bt_ctx_destroy(t.ctx);
    bt_registry_unref(registry);
    return failed;
}
