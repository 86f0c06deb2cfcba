/*
 * panels: the target of the tests. It takes nn.dense of float32 and makes two kernels of
 * it, three by option:
 *
 *     pack     w [n, k]   -> temp 0   panel [k, n rounded up to 16]
 *     copy     temp 0     -> temp 1   (steps=2)
 *     dense    x, temp    -> y [m, n]
 *
 * The code of a kernel is a line of text. The machine is what PANELS_MACHINE says.
 * panels.new runs what older machines run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/op.h>
#include <baton/target.h>

struct options {
    int64_t steps, slack;
    const char *fault;
};
static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, steps, INT, "1", 0, 2,
                  "kernels before the one that computes"),
    BT_ATTR_RANGE(struct options, slack, INT, "0", 0, INT64_MAX,
                  "bytes at the end of a panel that nobody needs"),
    BT_ATTR(struct options, fault, STRING, "",
            "the kernel that fails; negative: weights that begin so are not packed"),
    { 0 },
};

enum { COLUMNS = 16, TEXT_NBYTES = 64 };

struct instance {
    bt_registry *registry;
    int64_t steps, slack;
    char fault[TEXT_NBYTES];
};

struct shape {
    char what[TEXT_NBYTES];
    int64_t m, n, k;
};

struct loaded {
    const struct instance *instance;
    uint32_t n;
    size_t nbytes;
    struct shape at[];
};

static bt_status open(bt_ctx *ctx, const void *given, void **self)
{
    const struct options *o = given;
    bt_registry *registry = bt_ctx_registry(ctx);
    struct instance *i = bt_alloc(registry, sizeof(*i));
    if (!i)
        return bt_no_memory();
    i->registry = registry;
    i->steps = o->steps;
    i->slack = o->slack;
    snprintf(i->fault, sizeof(i->fault), "%s", o->fault);
    *self = i;
    return NULL;
}

static void close(void *self)
{
    struct instance *i = self;
    bt_free(i->registry, i, sizeof(*i));
}

/* ---- lowering ---- */

static const bt_call *dense_of(const bt_func *func)
{
    const bt_block *block = func->block;
    return block->nbinding == 1 ? bt_as_op_call(block->bindings[0], "nn.dense") : NULL;
}

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    (void)self;
    const bt_call *call = dense_of(func);
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    if (!call || !bt_tensor_static(call->base.type, &rank, dims) || rank != 2 ||
        bt_tensor_dtype(call->base.type) != BT_FLOAT32)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "panels takes nn.dense of float32");
    return NULL;
}

static struct shape shape_of(const bt_func *func)
{
    struct shape s = { .n = 0 };
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    (void)bt_tensor_static(func->block->params[0]->base.type, &rank, dims);
    s.m = dims[0];
    s.k = dims[1];
    (void)bt_tensor_static(func->block->params[1]->base.type, &rank, dims);
    s.n = dims[0];
    return s;
}

static bt_status add_kernel(bt_arena *arena, bt_lowering *out, const char *what,
                            bt_kernel_buffer from, bt_kernel_buffer to)
{
    bt_kernel *kernel = bt_lowering_add(out, arena);
    bt_kernel_buffer *in = BT_NEWS(arena, bt_kernel_buffer, 2),
                     *given = BT_NEW(arena, bt_kernel_buffer);
    if (!kernel || !in || !given)
        return bt_no_memory();
    *kernel = (bt_kernel){ .nin = 1, .in = in, .nout = 1, .out = given, .content = what };
    in[0] = from;
    given[0] = to;
    if (to.kind == BT_BUFFER_OUTPUT) {
        in[0] = (bt_kernel_buffer){ BT_BUFFER_INPUT, 0 };
        in[1] = from;
        kernel->nin = 2;
    }
    return NULL;
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *primitive,
                       bt_lowering *out)
{
    (void)ctx;
    static const bt_kernel_buffer weight = { BT_BUFFER_INPUT, 1 },
                                  temps[] = { { BT_BUFFER_TEMP, 0 },
                                              { BT_BUFFER_TEMP, 1 } },
                                  result = { BT_BUFFER_OUTPUT, 0 };
    const struct instance *i = self;
    struct shape s = shape_of(primitive);
    const bt_type **nbytes = BT_NEWS(arena, const bt_type *, 2);
    if (!nbytes)
        return bt_no_memory();
    nbytes[0] = nbytes[1] =
        bt_dim(primitive->result->store,
               (s.n + COLUMNS - 1) / COLUMNS * COLUMNS * s.k * (int64_t)sizeof(float) +
                   i->slack);
    if (!nbytes[0])
        return bt_no_memory();
    out->ntemp = (uint32_t)i->steps;
    out->temps = nbytes;
    if (i->steps > 0)
        BT_TRY(add_kernel(arena, out, "pack", weight, temps[0]));
    if (i->steps > 1)
        BT_TRY(add_kernel(arena, out, "copy", temps[0], temps[1]));
    return add_kernel(arena, out, i->steps ? "dense" : "plain",
                      i->steps ? temps[i->steps - 1] : weight, result);
}

/* ---- code ---- */

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    (void)ctx, (void)self, (void)form;
    for (uint32_t i = 0; i < n; i++) {
        struct shape s = shape_of(kernels[i]->primitive);
        bt_text code;
        bt_text_init(&code, arena);
        bt_text_addf(&code, "%s %" PRId64 " %" PRId64 " %" PRId64 "\n",
                     (const char *)kernels[i]->content, s.m, s.n, s.k);
        if (!bt_text_get(&code))
            return bt_no_memory();
        *out[i] =
            (bt_kernel_code){ .form = BT_CODE_BYTES, .at = code.at, .nbytes = code.len };
    }
    return NULL;
}

/* 0: it is no line. */
static int read_line(const bt_kernel_code *code, struct shape *out)
{
    char line[2 * TEXT_NBYTES];
    if (!code->nbytes || code->nbytes >= sizeof(line))
        return 0;
    memcpy(line, code->at, code->nbytes);
    line[code->nbytes] = 0;
    return line[code->nbytes - 1] == '\n' &&
           sscanf(line, "%63s %" SCNd64 " %" SCNd64 " %" SCNd64, out->what, &out->m,
                  &out->n, &out->k) == 4;
}

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    const struct instance *instance = self;
    size_t size = sizeof(struct loaded) + n * sizeof(struct shape);
    struct loaded *l = bt_alloc(instance->registry, size);
    if (!l)
        return bt_no_memory();
    l->instance = instance;
    l->nbytes = size;
    l->n = n;
    for (uint32_t i = 0; i < n; i++) {
        if (!read_line(codes[i], &l->at[i])) {
            bt_free(instance->registry, l, size);
            return bt_fail(ctx, BT_ERR_FORMAT, "panels: line %u of the code is wrong",
                           i + 1);
        }
    }
    *out = l;
    return NULL;
}

static void unload(void *opaque)
{
    struct loaded *l = opaque;
    bt_free(l->instance->registry, l, l->nbytes);
}

/* ---- launching ---- */

static void pack(const struct shape *s, const float *w, float *panel)
{
    int64_t width = (s->n + COLUMNS - 1) / COLUMNS * COLUMNS;
    for (int64_t k = 0; k < s->k; k++) {
        for (int64_t n = 0; n < width; n++)
            panel[k * width + n] = n < s->n ? w[n * s->k + k] : 0;
    }
}

static void dense(const struct shape *s, const float *x, const float *w, int64_t row,
                  int64_t column, float *y)
{
    for (int64_t m = 0; m < s->m; m++) {
        for (int64_t n = 0; n < s->n; n++) {
            double sum = 0;
            for (int64_t k = 0; k < s->k; k++)
                sum += (double)x[m * s->k + k] * (double)w[n * column + k * row];
            y[m * s->n + n] = (float)sum;
        }
    }
}

static bt_status launch(bt_ctx *ctx, void *opaque, uint32_t kernel,
                        const bt_kernel_call *call)
{
    void *const *buffers = call->buffers;
    const struct loaded *l = opaque;
    const struct shape *s = &l->at[kernel];
    int64_t width = (s->n + COLUMNS - 1) / COLUMNS * COLUMNS;
    if (strcmp(s->what, l->instance->fault) == 0)
        return bt_fail(ctx, BT_ERR_RUNTIME, "panels: %s fails", s->what);
    if (strcmp("negative", l->instance->fault) == 0 && strcmp(s->what, "pack") == 0 &&
        *(const float *)buffers[0] < 0)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "the weight begins below 0");
    if (strcmp(s->what, "pack") == 0)
        pack(s, buffers[0], buffers[1]);
    else if (strcmp(s->what, "copy") == 0)
        memcpy(buffers[1], buffers[0], (size_t)(width * s->k) * sizeof(float));
    else if (strcmp(s->what, "dense") == 0)
        dense(s, buffers[0], buffers[1], width, 1, buffers[2]);
    else
        dense(s, buffers[0], buffers[1], 1, s->k, buffers[2]);
    return NULL;
}

static bt_status state_machine(bt_ctx *ctx, void *self, bt_text *out)
{
    (void)ctx, (void)self;
    const char *machine = getenv("PANELS_MACHINE");
    bt_text_addf(out, "%s", machine ? machine : "");
    return NULL;
}

static bt_status accepts(bt_ctx *ctx, void *self, const char *compatibility)
{
    (void)self;
    const char *machine = getenv("PANELS_MACHINE");
    if (machine && strcmp(compatibility, machine) <= 0)
        return NULL;
    return bt_fail(ctx, BT_ERR_UNSUPPORTED, "panels.new: %s is above %s", compatibility,
                   machine ? machine : "nothing");
}

static const bt_target targets[] = {
    {
        .name = "panels",
        .doc = "Dense layers on packed weights.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open,
        .close = close,
        .supports = supports,
        .lower = lower,
        .compile = compile,
        .load = load,
        .unload = unload,
        .launch = launch,
        .compatibility = state_machine,
    },
    {
        .name = "panels.new",
        .doc = "Dense layers on packed weights.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open,
        .close = close,
        .supports = supports,
        .lower = lower,
        .compile = compile,
        .load = load,
        .unload = unload,
        .launch = launch,
        .compatibility = state_machine,
        .accepts = accepts,
    },
    { 0 },
};

extern const bt_table bt_tests_compile_targets_panels[];
const bt_table bt_tests_compile_targets_panels[] = { BT_TARGETS(targets), { 0 } };
