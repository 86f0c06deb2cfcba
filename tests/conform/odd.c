/*
 * Odd sizes: layers whose channels, maps and windows fit no tile, compiled for a target,
 * against the evaluator.
 *
 *     conform_odd PLUGINS TARGET COUNT [FIRST]
 *
 * COUNT layers are drawn from the lists below, the n-th by its number alone. Each is
 * compiled call by call, fused with a prologue and an epilogue, and so in other layouts;
 * what is computed must agree with executor interp within the bounds of close.h. Layers
 * that cannot be (a window beyond its map) are refused by their relation, and counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/pass.h>

#include "close.h"

/* ---- drawing ---- */

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

#define PICK(state, list) ((list)[next(state) % BT_COUNT(list)])

static const int channels[] = { 1, 3, 17, 24 };
static const int maps[][2] = { { 1, 1 }, { 7, 7 }, { 13, 5 }, { 0, 5 }, { 30, 33 } };
static const int windows[][2] = { { 1, 1 }, { 3, 3 }, { 5, 1 }, { 2, 3 }, { 7, 7 } };
static const int strides[][2] = { { 1, 1 }, { 2, 2 }, { 1, 3 } };
static const int dilations[][2] = { { 1, 1 }, { 1, 1 }, { 2, 1 }, { 2, 3 } };
/* top, left, bottom, right */
static const int paddings[][4] = {
    { 0, 0, 0, 0 }, { 1, 1, 1, 1 }, { 1, 0, 2, 1 }, { 3, 3, 3, 3 }
};

/* What every layer is made of; each takes what it needs. */
struct draw {
    int batch, in, out, group;
    const int *map, *window, *stride, *dilation, *padding;
    uint64_t state; /* for more */
};

static struct draw draw(uint64_t number)
{
    struct draw d = { .state = number * 0x9e3779b97f4a7c15u };
    next(&d.state);
    d.batch = next(&d.state) % 4 == 0 ? 2 : 1;
    d.in = PICK(&d.state, channels);
    d.out = PICK(&d.state, channels);
    d.map = PICK(&d.state, maps);
    d.window = PICK(&d.state, windows);
    d.stride = PICK(&d.state, strides);
    d.dilation = PICK(&d.state, dilations);
    d.padding = PICK(&d.state, paddings);
    d.group = 1;
    if (next(&d.state) % 3 == 0) { // depthwise, or as many groups as both can have
        d.group = d.in;
        d.out = next(&d.state) % 2 ? d.in : 2 * d.in;
    } else if (d.in == 24 && d.out == 24) {
        d.group = 1 + 2 * (int)(next(&d.state) % 2);
    }
    return d;
}

/* ---- layers ---- */

static void print_window(bt_text *out, const struct draw *d, int has_dilation)
{
    bt_text_addf(out, "strides=[%d, %d], padding=[%d, %d, %d, %d]", d->stride[0],
                 d->stride[1], d->padding[0], d->padding[1], d->padding[2],
                 d->padding[3]);
    if (has_dilation)
        bt_text_addf(out, ", dilation=[%d, %d]", d->dilation[0], d->dilation[1]);
}

static void print_image(bt_text *out, const struct draw *d)
{
    bt_text_addf(out, "%%x: Tensor[(%d, %d, %d, %d), float32]", d->batch, d->in,
                 d->map[0], d->map[1]);
}

static void conv2d(bt_text *params, bt_text *call, struct draw *d)
{
    print_image(params, d);
    bt_text_addf(params, ", %%w: Tensor[(%d, %d, %d, %d), float32]", d->out,
                 d->in / d->group, d->window[0], d->window[1]);
    bt_text_addf(call, "nn.conv2d(%%a, %%w, groups=%d, ", d->group);
    print_window(call, d, 1);
    bt_text_addf(call, ")");
}

static void conv2d_transpose(bt_text *params, bt_text *call, struct draw *d)
{
    print_image(params, d);
    bt_text_addf(params, ", %%w: Tensor[(%d, %d, %d, %d), float32]", d->in,
                 d->out / d->group, d->window[0], d->window[1]);
    bt_text_addf(call, "nn.conv2d_transpose(%%a, %%w, groups=%d, ", d->group);
    print_window(call, d, 1);
    bt_text_addf(call, ")");
}

static void pool2d(bt_text *params, bt_text *call, struct draw *d)
{
    static const char *const names[] = { "max", "avg" };
    int which = (int)(next(&d->state) % 2), ceil = (int)(next(&d->state) % 2);
    print_image(params, d);
    d->out = d->in;
    bt_text_addf(call, "nn.%s_pool2d(%%a, pool_size=[%d, %d], ceil_mode=%d, ",
                 names[which], d->window[0], d->window[1], ceil);
    print_window(call, d, which == 0);
    if (which)
        bt_text_addf(call, ", count_include_pad=%d", (int)(next(&d->state) % 2));
    bt_text_addf(call, ")");
}

static void whole_pool2d(bt_text *params, bt_text *call, struct draw *d)
{
    static const char *const names[] = { "nn.global_avg_pool2d(%a)",
                                         "nn.global_max_pool2d(%a)",
                                         "nn.adaptive_avg_pool2d(%a, output_size=[3, 2])",
                                         "nn.adaptive_max_pool2d(%a, output_size=[5])" };
    print_image(params, d);
    d->out = d->in;
    bt_text_addf(call, "%s", PICK(&d->state, names));
}

static void pad(bt_text *params, bt_text *call, struct draw *d)
{
    static const char *const modes[] = { "constant", "edge", "reflect" };
    print_image(params, d);
    d->out = d->in;
    bt_text_addf(call,
                 "nn.pad(%%a, pad_width=[0, 0, 0, 0, %d, %d, %d, %d], pad_mode=\"%s\")",
                 d->padding[0], d->padding[2], d->padding[1], d->padding[3],
                 PICK(&d->state, modes));
}

static void upsampling(bt_text *params, bt_text *call, struct draw *d)
{
    static const char *const methods[] = { "nearest_neighbor", "bilinear", "bicubic" };
    print_image(params, d);
    d->out = d->in;
    bt_text_addf(call, "nn.upsampling(%%a, scale_h=2.0, scale_w=%d.0, method=\"%s\")",
                 d->stride[1], PICK(&d->state, methods));
}

static void dense(bt_text *params, bt_text *call, struct draw *d)
{
    // rows, as the epilogue wants its channels on axis 1
    bt_text_addf(params, "%%x: Tensor[(%d, %d), float32], %%w: Tensor[(%d, %d), float32]",
                 d->map[0], d->in * d->window[0], d->out, d->in * d->window[0]);
    bt_text_addf(call, "nn.dense(%%a, %%w)");
}

static void batch_matmul(bt_text *params, bt_text *call, struct draw *d)
{
    int a = (int)(next(&d->state) % 2), b = (int)(next(&d->state) % 2);
    int m = d->out, k = d->in, n = d->map[1];
    bt_text_addf(params,
                 "%%x: Tensor[(%d, %d, %d), float32], %%w: Tensor[(%d, %d, %d), float32]",
                 d->batch, a ? k : m, a ? m : k, d->batch, b ? n : k, b ? k : n);
    bt_text_addf(call, "nn.batch_matmul(%%a, %%w, transpose_a=%d, transpose_b=%d)", a, b);
}

static void rows(bt_text *params, bt_text *call, struct draw *d)
{
    static const char *const calls[] = { "nn.softmax(%a, axis=1)", "nn.softmax(%a)",
                                         "nn.log_softmax(%a)",
                                         "nn.l2_normalize(%a, eps=0.001, axis=[1])" };
    print_image(params, d);
    d->out = d->in;
    bt_text_addf(call, "%s", PICK(&d->state, calls));
}

typedef void layer_fn(bt_text *params, bt_text *call, struct draw *);
static layer_fn *const layers[] = { conv2d, conv2d,       conv2d, conv2d_transpose,
                                    pool2d, whole_pool2d, pad,    upsampling,
                                    dense,  batch_matmul, rows };

/* A layer with something before and behind it that fuses. */
static const char *print_layer(bt_arena *arena, uint64_t number)
{
    struct draw d = draw(number);
    bt_text text, params, call;
    bt_text_init(&text, arena);
    bt_text_init(&params, arena);
    bt_text_init(&call, arena);
    layers[next(&d.state) % BT_COUNT(layers)](&params, &call, &d);
    bt_text_addf(&params, ", %%b: Tensor[(%d), float32]", d.out);
    bt_text_addf(&text, "#[version = \"baton 0.1\"]\ndef @main(%s) {\n  %%a = %s;\n",
                 bt_text_get(&params),
                 next(&d.state) % 2 ? "nn.relu(%x)" : "negative(%x)");
    bt_text_addf(&text,
                 "  %%c = %s;\n  %%d = nn.bias_add(%%c, %%b);\n  sigmoid(%%d)\n}\n",
                 bt_text_get(&call));
    return bt_text_get(&text);
}

/* ---- running ---- */

struct trial {
    bt_ctx *ctx;
    const char *target;
    const bt_executor *interp, *graph;
    uint32_t nrun, nrefused;
    double worst;
};

static bt_status pass(bt_ctx *ctx, const char *passes, const bt_module *module,
                      bt_module **out)
{
    bt_pipeline *pipeline;
    bt_pipeline_options options = { .level = 4, .verify_each = 1 };
    BT_TRY(bt_pipeline_read(ctx, passes, &pipeline));
    bt_status status = bt_pipeline_run(ctx, pipeline, &options, module, out);
    bt_pipeline_destroy(pipeline);
    return status;
}

static bt_status run_target(struct trial *t, const bt_module *module, const char *passes,
                            uint32_t n, bt_object *const *args, bt_object **out)
{
    const bt_compile_options options = { .targets = t->target };
    bt_module *fused;
    bt_compiled *compiled;
    void *session;
    BT_TRY(pass(t->ctx, passes, module, &fused));
    bt_status status = bt_compile(t->ctx, fused, &options, &compiled);
    bt_module_unref(fused);
    BT_TRY(status);
    status = t->graph->load(t->ctx, compiled, "main", NULL, &session);
    bt_compiled_unref(compiled);
    BT_TRY(status);
    status = t->graph->call(t->ctx, session, "main", n, args, NULL, out);
    t->graph->close(session);
    return status;
}

static bt_status compare(struct trial *t, const bt_module *module, uint32_t n,
                         bt_object *const *args, const bt_object *want)
{
    static const char *const ways[] = {
        "fuse-ops",
        "fuse-ops{max-ops=1}",
        "alter-layout{data=NCHW8c}, dead-code, fuse-ops",
        "alter-layout{data=NCHW:NHWC}, dead-code, fuse-ops",
    };
    for (uint32_t i = 0; i < BT_COUNT(ways); i++) {
        bt_object *got;
        bt_status status = run_target(t, module, ways[i], n, args, &got);
        if (!status &&
            !is_close(bt_object_as_tensor(got), bt_object_as_tensor(want), 0, &t->worst))
            status = bt_fail(t->ctx, BT_ERR_INTERNAL, "another result than interp's");
        if (status)
            return bt_note(t->ctx, status, NULL, 0, "after %s", ways[i]);
        bt_object_unref(got);
    }
    return NULL;
}

/* Small weights: the epilogue would hide the size of large sums, which bounds their error. */
static bt_status random_arg(bt_ctx *ctx, const bt_type *type, double largest,
                            uint64_t *state, bt_object **out)
{
    bt_tensor *tensor;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    if (!bt_tensor_static(type, &rank, dims))
        return bt_fail(ctx, BT_ERR_INTERNAL, "a parameter without dims");
    BT_TRY(bt_tensor_create(ctx, BT_FLOAT32, rank, dims, &tensor));
    for (int64_t i = 0; i < tensor->nelem; i++)
        bt_tensor_set(tensor, i, largest * ((double)(next(state) % 2001) / 1000 - 1));
    *out = &tensor->base;
    return NULL;
}

enum { MAX_ARG = 3 };

static bt_status run_layer(struct trial *t, const bt_module *module, uint64_t number)
{
    const bt_block *block = bt_module_find(module, "main")->func->block;
    bt_object *args[MAX_ARG] = { 0 }, *want = NULL;
    bt_status status = NULL;
    void *session;
    for (uint32_t i = 0; !status && i < block->nparam; i++)
        status = random_arg(t->ctx, block->params[i]->base.type, i ? 0.125 : 1, &number,
                            &args[i]);
    if (!status)
        status = t->interp->open(t->ctx, module, NULL, &session);
    if (!status) {
        status =
            t->interp->call(t->ctx, session, "main", block->nparam, args, NULL, &want);
        t->interp->close(session);
    }
    if (!status)
        status = compare(t, module, block->nparam, args, want);
    bt_object_unref(want);
    for (uint32_t i = 0; i < block->nparam; i++)
        bt_object_unref(args[i]);
    return status;
}

static bt_status check_layer(struct trial *t, const char *text, uint64_t number)
{
    bt_module *parsed, *typed;
    if (!text)
        return bt_no_memory();
    BT_TRY(bt_parse(t->ctx, "layer", NULL, text, strlen(text), &parsed));
    bt_status status = bt_infer(t->ctx, parsed, &typed);
    bt_module_unref(parsed);
    if (status) {
        t->nrefused++;
        bt_ctx_clear_diags(t->ctx);
        return NULL;
    }
    t->nrun++;
    status = run_layer(t, typed, number);
    bt_module_unref(typed);
    return status;
}

static uint32_t check_layers(struct trial *t, uint64_t first, uint64_t n)
{
    uint32_t nwrong = 0;
    for (uint64_t i = first; i < first + n; i++) {
        bt_arena *scratch = bt_ctx_scratch(t->ctx);
        const void *mark = bt_arena_mark(scratch);
        const char *text = print_layer(scratch, i);
        bt_status status = check_layer(t, text, i);
        if (status) {
            nwrong++;
            bt_text message;
            bt_text_init(&message, scratch);
            bt_diag_render(status, 0, &message);
            printf("layer %llu: %s%s", (unsigned long long)i,
                   bt_text_get(&message) ? bt_text_get(&message) : "no memory\n",
                   text ? text : "");
        }
        bt_ctx_clear_diags(t->ctx);
        bt_arena_release(scratch, mark);
    }
    return nwrong;
}

static bt_status prepare(struct trial *t)
{
    const void *row;
    BT_TRY(
        bt_registry_row(t->ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    t->interp = row;
    BT_TRY(
        bt_registry_row(t->ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    t->graph = row;
    return NULL;
}

static int run(struct trial *t, uint64_t first, uint64_t n)
{
    bt_status status = prepare(t);
    if (status) {
        printf("%s\n", status->message);
        return 1;
    }
    uint32_t nwrong = check_layers(t, first, n);
    printf("%s: %u layers, %u more that cannot be, %u wrong, %.0f %% of the bound\n",
           t->target, t->nrun, t->nrefused, nwrong, 100 * t->worst);
    return nwrong || t->nrun < t->nrefused;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        printf("usage: conform_odd PLUGINS TARGET COUNT [FIRST]\n");
        return 2;
    }
    const bt_registry_options options = { .plugin_only = argv[1],
                                          .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    struct trial trial = { .ctx = registry ? bt_ctx_create(registry) : NULL,
                           .target = argv[2] };
    uint64_t first = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    int failed = trial.ctx ? run(&trial, first, strtoull(argv[3], NULL, 10)) : 1;
    bt_ctx_destroy(trial.ctx);
    bt_registry_unref(registry);
    return failed;
}
