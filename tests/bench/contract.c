/*
 * Schedules of contractions, run as bytecode on one thread: GFLOP/s, and their share of the
 * multiply-adds that the core does at most, measured in the same run.
 *
 *     bench_contract [seconds per figure] [part of a name]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compute/evaluate/compute.h"

#include "engine/bytecode_build.h"
#include "engine/bytecode_run.h"
#include "engine/peak.h"
#include "schedule/contract.h"
#include "schedule/schedule.h"

/* Time that the program has computed for, whatever else the machine did. */
static double busy(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what is measured ---- */

struct layer {
    const char *name;
    int64_t in, out, size, kernel, stride; /* of an image; size 0: a matrix product */
    int64_t m, n, k;
    int64_t is_depthwise;
};
static const struct layer layers[] = {
    { .name = "3x3 64->64 @56", 64, 64, 56, 3, 1 },
    { .name = "3x3 128->128 @28", 128, 128, 28, 3, 1 },
    { .name = "3x3 256->256 @14", 256, 256, 14, 3, 1 },
    { .name = "3x3 512->512 @7", 512, 512, 7, 3, 1 },
    { .name = "3x3 s2 64->128 @56", 64, 128, 56, 3, 2 },
    { .name = "3x3 s2 256->512 @14", 256, 512, 14, 3, 2 },
    { .name = "1x1 64->64 @56", 64, 64, 56, 1, 1 },
    { .name = "1x1 64->256 @56", 64, 256, 56, 1, 1 },
    { .name = "1x1 256->64 @56", 256, 64, 56, 1, 1 },
    { .name = "1x1 512->128 @28", 512, 128, 28, 1, 1 },
    { .name = "1x1 1024->256 @14", 1024, 256, 14, 1, 1 },
    { .name = "1x1 512->2048 @7", 512, 2048, 7, 1, 1 },
    { .name = "1x1 s2 256->512 @56", 256, 512, 56, 1, 2 },
    { .name = "7x7 s2 3->64 @224", 3, 64, 224, 7, 2 },
    { .name = "1x1 32->64 @112", 32, 64, 112, 1, 1 },
    { .name = "depthwise 3x3 64 @56", 1, 64, 56, 3, 1, .is_depthwise = 1 },
    { .name = "depthwise 3x3 s2 128 @56", 1, 128, 56, 3, 2, .is_depthwise = 1 },
    { .name = "depthwise 3x3 512 @14", 1, 512, 14, 3, 1, .is_depthwise = 1 },
    { .name = "depthwise 3x3 1024 @7", 1, 1024, 7, 3, 1, .is_depthwise = 1 },
    { .name = "product 512", .m = 512, .n = 512, .k = 512 },
    { .name = "product 1024", .m = 1024, .n = 1024, .k = 1024 },
    { .name = "product 1000", .m = 1000, .n = 1000, .k = 1000 },
    { .name = "product 35x2624x650", .m = 35, .n = 2624, .k = 650 },
    { .name = "dense 35x2624x650", .m = 35, .n = 2624, .k = 650 },
    { .name = "dense 512", .m = 512, .n = 512, .k = 512 },
};

/* Bias and relu behind all of them. */
static const char *formula_of(const struct layer *l, char *text, size_t nbytes)
{
    if (!l->size)
        return strncmp(l->name, "dense", 5) == 0
                   ? "y: t[m, n] = max(sum(k: x[m, k] * w[n, k]) + b[n], 0)"
                   : "y: t[m, n] = max(sum(k: x[m, k] * w[k, n]) + b[n], 0)";
    snprintf(text, nbytes,
             "y: t[n, o, p in %lld, q in %lld] = max(sum(c, r in kh, s in kw: "
             "x[n, %s, p*%lld + r - %lld, q*%lld + s - %lld] * w[o, c, r, s] else 0) + "
             "b[o], 0)",
             (long long)(l->size / l->stride), (long long)(l->size / l->stride),
             l->is_depthwise ? "o" : "c", (long long)l->stride,
             (long long)(l->kernel / 2), (long long)l->stride,
             (long long)(l->kernel / 2));
    return text;
}

static double nflop_of(const struct layer *l)
{
    double side = (double)(l->size / l->stride);
    return l->size ? 2.0 * (double)(l->in * l->out * l->kernel * l->kernel) * side * side
                   : 2.0 * (double)l->m * (double)l->n * (double)l->k;
}

/* ---- making and running ---- */

static void must(bt_ctx *ctx, bt_status status)
{
    if (!status)
        return;
    (void)ctx;
    fprintf(stderr, "%s\n", status->message);
    exit(1);
}

static bt_compute *make(bt_ctx *ctx, bt_store *store, const struct layer *l)
{
    char text[400];
    int is_dense = strncmp(l->name, "dense", 5) == 0;
    const bt_op_input image[] = { { .name = "x", .type = "t[n, d, h, g]" },
                                  { .name = "w", .type = "t[o, c, kh, kw]" },
                                  { .name = "b", .type = "t[o]" },
                                  { 0 } };
    const bt_op_input matrix[] = { { .name = "x", .type = "t[m, k]" },
                                   { .name = "w", .type = "t[k, n]" },
                                   { .name = "b", .type = "t[n]" },
                                   { 0 } };
    const bt_op_input dense[] = { { .name = "x", .type = "t[m, k]" },
                                  { .name = "w", .type = "t[n, k]" },
                                  { .name = "b", .type = "t[n]" },
                                  { 0 } };
    const bt_op op = { .name = "layer",
                       .revision = 1,
                       .inputs = l->size    ? image
                                 : is_dense ? dense
                                            : matrix,
                       .formula = formula_of(l, text, sizeof(text)) };
    const int64_t x[] = { 1, l->is_depthwise ? l->out : l->in, l->size, l->size };
    const int64_t w[] = { l->out, l->in, l->kernel, l->kernel };
    const int64_t a[] = { l->m, l->k }, b[] = { l->k, l->n }, t[] = { l->n, l->k };
    const int64_t one[] = { l->size ? l->out : l->n };
    const bt_type *args[] = {
        bt_type_tensor_of(store, BT_FLOAT32, l->size ? 4 : 2, l->size ? x : a),
        bt_type_tensor_of(store, BT_FLOAT32, l->size ? 4 : 2,
                          l->size    ? w
                          : is_dense ? t
                                     : b),
        bt_type_tensor_of(store, BT_FLOAT32, 1, one),
    };
    const bt_type *result = bt_type_tensor(store, bt_type_hole(store, BT_KIND_SHAPE),
                                           bt_type_hole(store, BT_KIND_DTYPE));
    bt_formula_call call = { .op = &op, .narg = 3, .args = args, .result = result };
    bt_compute *out;
    must(ctx, bt_compute_create(ctx, &call, &out));
    return out;
}

struct running {
    const struct bytecode *bytecode;
    const struct cpu_callee *callees[64];
    void *buffers[64];
    char *lane;
};

static void *memory(size_t nbytes)
{
    void *at = aligned_alloc(4096, (nbytes + 8192) & ~(size_t)4095);
    if (!at)
        exit(1);
    for (size_t i = 0; i + 4 <= nbytes; i += 4)
        *(float *)(void *)((char *)at + i) = (float)(i % 13) * 0.125f - 0.5f;
    return at;
}

static void prepare(bt_ctx *ctx, bt_arena *arena, const bt_loops *loops, enum cpu_isa isa,
                    struct running *r)
{
    uint32_t places[64];
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        places[i] = i;
        r->buffers[i] = loops->roles.at[i] == BT_BUFFER_LOCAL
                            ? NULL
                            : memory((size_t)bt_loops_nelem(loops, i) *
                                     bt_dtype_nbytes(loops->graph->arrays[i]->dtype));
    }
    const struct bytecode_source source = { .loops = loops,
                                            .stmts = loops->body.at,
                                            .n = loops->body.len,
                                            .name = loops->name,
                                            .isa = isa,
                                            .nbuffer = loops->graph->narray,
                                            .places = places };
    must(ctx, bytecode_build(ctx, arena, &source, &r->bytecode));
    for (uint32_t i = 0; i < r->bytecode->ncallee; i++) {
        if (!(r->callees[i] = cpu_callee_find(isa, r->bytecode->callees[i])))
            exit(1);
    }
    r->lane = memory((size_t)bytecode_scratch_nbytes(r->bytecode));
}

static void run(const struct running *r)
{
    const struct bytecode *p = r->bytecode;
    struct bytecode_frame frame = { .buffers = r->buffers, .callees = r->callees };
    frame.locals = r->lane + bytecode_locals_offset(p);
    frame.n = (int64_t *)(void *)r->lane;
    frame.p = (void **)(void *)(frame.n + p->nn);
    for (uint32_t i = 0; i < p->nphase; i++) {
        frame.first = 0;
        frame.end = p->phases[i].extent;
        bytecode_run(p, &p->phases[i], &frame);
    }
}

static void measure(bt_ctx *ctx, bt_registry *registry, const struct layer *l,
                    enum cpu_isa isa, double seconds)
{
    const struct cpu_config config = { .isa = isa, .nthread = 1 };
    bt_store *store = bt_store_create(registry);
    bt_arena *arena = bt_arena_create(registry);
    bt_compute *compute = make(ctx, store, l);
    bt_loops *loops;
    struct running r = { .bytecode = NULL };
    double best = 0, most, end = busy() + seconds;
    must(ctx, cpu_contract(ctx, arena, &config, "layer", compute->graph, NULL, &loops));
    must(ctx, cpu_schedule_loops(loops, &config));
    if (getenv("SHOW")) {
        bt_text text;
        bt_text_init(&text, arena);
        must(ctx, bt_loops_print(loops, &text));
        puts(bt_text_get(&text));
    }
    prepare(ctx, arena, loops, isa, &r);
    most = cpu_peak(NULL, 1, isa) * 1e-9;
    while (busy() < end) {
        double start = busy(), rate;
        run(&r);
        rate = nflop_of(l) / (busy() - start) * 1e-9;
        best = rate > best ? rate : best;
    }
    printf("%-9s %-22s %7.1f of %7.1f GFLOP/s  %5.1f %%\n", cpu_isa_name(isa), l->name,
           best, most, 100 * best / most);
    for (uint32_t i = 0; i < loops->graph->narray; i++)
        free(r.buffers[i]);
    free(r.lane);
    bt_compute_destroy(compute);
    bt_arena_destroy(arena);
    bt_store_unref(store);
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    if (!ctx)
        return 1;
    for (int isa = (int)cpu_isa_chosen(getenv("BATON_CPU")); isa >= 0; isa--) {
        for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
            if (argc < 3 || strstr(layers[i].name, argv[2]))
                measure(ctx, registry, &layers[i], (enum cpu_isa)isa, seconds);
        }
    }
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return 0;
}
