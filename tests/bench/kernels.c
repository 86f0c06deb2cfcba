/*
 * What kernels do of what the machine does, on one thread and measured in the same run: GFLOP/s and
 * GB/s of each family, and these as shares of
 *
 *     peak     the multiply-adds that the core does at most, kept to registers
 *     L1 loop  ... with a load from the nearest cache for each
 *     level    the bytes that a loop of loads and stores moves, which has as many of each
 *
 *     bench_kernels [-s SECONDS] [PART OF A NAME]
 *
 * BATON_CPU names the widest instruction set. A figure is the best of many samples in SECONDS (0.2),
 * as machines are shared. Of the bytes that a kernel reads and writes each counts once. What only
 * packs weights is not measured, and neither is Winograd's way but for its parts. A level's loop goes
 * by the widest vectors, whatever set the kernel is of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compute/evaluate/compute.h"

#include "engine/bytecode_build.h"
#include "engine/bytecode_run.h"
#include "engine/peak.h"
#include "primitives/nibbles.h"
#include "primitives/tile.h"
#include "primitives/winograd.h"
#include "schedule/contract.h"
#include "schedule/schedule.h"
#include "schedule/touch.h"
#include "yardsticks.h"

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void *memory(size_t nbytes)
{
    void *at = aligned_alloc(4096, (nbytes + 8192) & ~(size_t)4095);
    if (!at)
        exit(1);
    for (size_t i = 0; i + 4 <= nbytes; i += 4)
        *(float *)(void *)((char *)at + i) = (float)(i % 13) * 0.125f - 0.5f;
    return at;
}

/* ---- one figure ---- */

/* What is measured, and what one run of it does. */
struct kernel {
    void (*run)(void *self);
    void *self;
    double nflop;          /* 0: none are asked for */
    int64_t stream_nbytes; /* of the loop that it is compared with: 0: none is */
    int reads, writes;     /* streams of that */
};

/* The least time of a run, in ns, so far; a sample is long enough for the clock. */
static double sample(void (*run)(void *), void *self, double best)
{
    enum { LEAST_NS = 20000 };
    int64_t n = 0;
    const double start = now_ns();
    double took;
    do {
        run(self);
        n++;
    } while ((took = now_ns() - start) < LEAST_NS);
    return took / (double)n < best ? took / (double)n : best;
}

struct yardstick {
    enum cpu_isa isa, widest;
    char *to;
    const char *from;
    int64_t nbytes;
    int reads, writes;
};

/* What has units of its own has loops as the set below. */
static enum cpu_isa widest(void)
{
    const enum cpu_isa isa = cpu_isa_of_machine();
    return isa > CPU_ISA_AVX512 ? CPU_ISA_AVX512 : isa;
}

static void run_near(void *self)
{
    const struct yardstick *y = self;
    near_loops[y->isa](y->from);
}

static void run_move(void *self)
{
    const struct yardstick *y = self;
    move_loops[y->widest](y->to, y->from, y->nbytes, y->reads, y->writes);
}

/* What of the first core's caches holds so many bytes. */
static const char *level_of(double nbytes)
{
    static const struct {
        const char *name, *path;
    } levels[] = { { "L1", "/sys/devices/system/cpu/cpu0/cache/index0/size" },
                   { "L2", "/sys/devices/system/cpu/cpu0/cache/index2/size" },
                   { "L3", "/sys/devices/system/cpu/cpu0/cache/index3/size" } };
    for (size_t i = 0; i < BT_COUNT(levels); i++) {
        FILE *file = fopen(levels[i].path, "r");
        double kbytes = 0;
        const int is_read = file && fscanf(file, "%lfK", &kbytes) == 1;
        if (file)
            fclose(file);
        if (!is_read)
            return "unknown";
        if (nbytes <= 1024 * kbytes)
            return levels[i].name;
    }
    return "memory";
}

static void measure(const char *name, enum cpu_isa isa, const struct kernel *k,
                    double seconds)
{
    struct yardstick y = { .isa = isa,
                           .widest = widest(),
                           .nbytes = k->stream_nbytes,
                           .reads = k->reads,
                           .writes = k->writes };
    char *to = memory((size_t)(k->stream_nbytes * k->writes) + NEAR_NBYTES);
    char *from = memory((size_t)(k->stream_nbytes * k->reads) + NEAR_NBYTES);
    double ns = 1e30, near = 1e30, move = 1e30, peak = 0;
    y.to = to;
    y.from = from;
    k->run(k->self); // what it reads is near then, as it is from run to run
    for (double end = now_ns() + seconds * 1e9; now_ns() < end;) {
        for (int i = 0; i < 8; i++)
            ns = sample(k->run, k->self, ns);
        for (int i = 0; i < 8 && k->nflop > 0; i++)
            near = sample(run_near, &y, near);
        for (int i = 0; i < 8 && k->stream_nbytes; i++)
            move = sample(run_move, &y, move);
        if (k->nflop > 0) {
            const double now = cpu_peak(NULL, 1, isa) * 1e-9;
            peak = now > peak ? now : peak;
        }
    }
    const double rate = k->nflop / ns;
    const double nbytes = (double)(k->stream_nbytes * (k->reads + k->writes));
    printf("%-9s %-34s", cpu_isa_name(isa), name);
    if (k->nflop > 0)
        printf(" %7.1f %5.0f %% %5.0f %%", rate, 100 * rate / peak,
               100 * rate / (NEAR_NFLOP / near));
    else
        printf(" %7s %7s %7s", "", "", "");
    if (k->stream_nbytes)
        printf(" %7.1f %5.0f %%  %s", nbytes / ns, 100 * move / ns, level_of(nbytes));
    printf("\n");
    free(to);
    free(from);
}

/* ---- primitives ---- */

struct call {
    const struct cpu_callee *row;
    void *p[8];
    int64_t n[24];
};

static void run_call(void *self)
{
    const struct call *c = self;
    c->row->run(c->p, c->n);
}

static void measure_call(const char *name, enum cpu_isa isa, struct kernel k,
                         struct call *c, double seconds)
{
    k.run = run_call;
    k.self = c;
    measure(name, isa, &k, seconds);
}

/* One row by matrices of 4-bit weights, with a scale for 32, more of them than caches hold. */
struct matrices {
    struct call one;
    int64_t n, q_nbytes, s_nbytes;
};

static void run_matrices(void *self)
{
    const struct matrices *m = self;
    struct call c = m->one;
    for (int64_t i = 0; i < m->n; i++) {
        run_call(&c);
        c.p[CPU_NIBBLES_Q] = (char *)c.p[CPU_NIBBLES_Q] + m->q_nbytes;
        c.p[CPU_NIBBLES_S] = (char *)c.p[CPU_NIBBLES_S] + m->s_nbytes;
    }
}

static void measure_nibbles(const char *part, enum cpu_isa isa, double seconds)
{
    enum { N = 12, K = 4096, COLUMNS = 14336, BLOCK = 32 };
    static const char name[] = "4-bit weights, 12 x 4096 x 14336";
    struct matrices m = { .n = N,
                          .q_nbytes = (int64_t)K * COLUMNS / 2,
                          .s_nbytes = (int64_t)K * COLUMNS / BLOCK * 4 };
    if (!strstr(name, part) || isa < CPU_ISA_AVX2)
        return;
    void *p[] = { memory(COLUMNS * 4), memory(K * 4), memory((size_t)(N * m.q_nbytes)),
                  memory((size_t)(N * m.s_nbytes)) };
    m.one = (struct call){ cpu_callee_find(isa, "nibbles.float32"),
                           { p[0], p[1], p[2], p[3], p[3] },
                           { 1, COLUMNS, K, BLOCK, COLUMNS, 0 } };
    measure(name, isa,
            &(struct kernel){ .run = run_matrices,
                              .self = &m,
                              .nflop = 2.0 * N * K * COLUMNS,
                              .stream_nbytes = N * (m.q_nbytes + m.s_nbytes),
                              .reads = 1 },
            seconds);
    for (size_t i = 0; i < BT_COUNT(p); i++)
        free(p[i]);
}

/* A tile whose operands are in the nearest cache, as it is and turned. */
static void measure_tiles(const char *part, enum cpu_isa isa, double seconds)
{
    enum { K = 128 };
    const struct cpu_tile *t = cpu_tile_find(isa, BT_FLOAT32, BT_FLOAT32, BT_FLOAT32);
    const int64_t mr = t->mr, nr = t->nr;
    float *a = memory((size_t)(mr * K) * 4), *b = memory((size_t)(nr * K) * 4),
          *c = memory((size_t)(nr * 64) * 4);
    struct call tile = { t->block,
                         { c, a, b },
                         { mr, nr, K, K, 1, nr, nr, CPU_TILE_PADDED, 1, 0, 0, 1 } };
    struct call turned = tile;
    struct kernel k = { .nflop = 2.0 * K * (double)(mr * nr) };
    turned.row = t->epilogue;
    turned.n[CPU_TILE_A_ROW] = 1;
    turned.n[CPU_TILE_A_K] = mr;
    turned.n[CPU_TILE_C_ROW] = 64;
    turned.n[CPU_TILE_FLAGS] |= CPU_TILE_TURNED;
    for (uint32_t i = CPU_TILE_BIAS; i < BT_COUNT(turned.p); i++)
        turned.p[i] = c;
    if (strstr("tile, depth 128", part))
        measure_call("tile, depth 128", isa, k, &tile, seconds);
    if (strstr("tile turned, depth 128", part))
        measure_call("tile turned, depth 128", isa, k, &turned, seconds);
    free(a);
    free(b);
    free(c);
}

/* Winograd's transforms of a block of tiles, between the caches of a core. */
static void measure_transforms(const char *part, enum cpu_isa isa, int32_t size,
                               double seconds)
{
    enum { CHANNELS = 32, SIDE = 56, ROWS = 2 };
    const struct cpu_winograd *w = cpu_winograd_find(isa, size);
    const int64_t nplace = (size + 2) * (size + 2), units = SIDE / CPU_WINOGRAD_UNIT,
                  ntile = ROWS * units * CPU_WINOGRAD_UNIT / size, apart = 16;
    const int64_t nr = cpu_tile_find(isa, BT_FLOAT32, BT_FLOAT32, BT_FLOAT32)->nr;
    const int64_t v_place = CHANNELS * ntile + apart, m_place = ntile * nr + apart;
    float *x = memory((size_t)CHANNELS * SIDE * SIDE * 4),
          *v = memory((size_t)(nplace * v_place) * 4),
          *m = memory((size_t)(nplace * m_place) * 4);
    char name[64];
    struct call input = { w->input,
                          { v, x },
                          { CHANNELS, ROWS, units, v_place, ntile, SIDE * SIDE, SIDE,
                            SIDE, -1, -1 } };
    struct call output = { w->output,
                           { x, m, x, x },
                           { nr, ROWS, units, ROWS * size, SIDE, SIDE * SIDE, SIDE,
                             m_place, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } };
    // streams of what a channel has of the larger side's places for a unit
    const struct kernel in = { .stream_nbytes = CHANNELS * ROWS * size * SIDE * 4,
                               .reads = 1,
                               .writes = size == 4 ? 2 : 4 };
    const struct kernel out = { .stream_nbytes = nr * ROWS * size * SIDE * 4,
                                .reads = size == 4 ? 2 : 4,
                                .writes = 1 };
    snprintf(name, sizeof(name), "Winograd F(%d,3) input", (int)size);
    if (strstr(name, part))
        measure_call(name, isa, in, &input, seconds);
    snprintf(name, sizeof(name), "Winograd F(%d,3) output", (int)size);
    if (strstr(name, part))
        measure_call(name, isa, out, &output, seconds);
    free(x);
    free(v);
    free(m);
}

/* ---- formulas, which are scheduled ---- */

struct layer {
    const char *name, *formula;
    struct {
        const char *type;
        int64_t dims[4];
    } inputs[3];
    double nflop;
    int64_t stream_nbytes;
    int reads, writes;
};
#define IMAGE(c, side)       \
    {                        \
        "t[n, d, h, g]",     \
        {                    \
            1, c, side, side \
        }                    \
    }
#define TAPS(o, c, k)      \
    {                      \
        "t[o, c, kh, kw]", \
        {                  \
            o, c, k, k     \
        }                  \
    }
#define BIAS(o) \
    {           \
        "t[o]", \
        {       \
            o   \
        }       \
    }
#define WEIGHTS(o, n) \
    {                 \
        "t[o, n]",    \
        {             \
            o, n      \
        }             \
    }
#define ROW(n)  \
    {           \
        "t[n]", \
        {       \
            n   \
        }       \
    }
#define MATRIX(m, n) \
    {                \
        "t[m, n]",   \
        {            \
            m, n     \
        }            \
    }
#define CONVOLUTION(side, channel, step, pad)                                     \
    "y: t[n, o, p in " #side ", q in " #side                                      \
    "] = max(sum(c, r in kh, s in kw: x[n, " #channel ", p*" #step " + r - " #pad \
    ", q*" #step " + s - " #pad "] * w[o, c, r, s] else 0) + b[o], 0)"
#define NORM                                                                    \
    "m: t[i] = sum(k: x[i, k]) / t(extent(x, 1)); v: t[i] = sum(k: (x[i, k] - " \
    "m[i]) * (x[i, k] - m[i])) / t(extent(x, 1)); y: t[i, j] = (x[i, j] - "     \
    "m[i]) / sqrt(v[i] + 0.00001) * w[j] + b[j]"
#define SOFTMAX                                                               \
    "m: t[i] = max(k: x[i, k]); e: t[i, j] = exp(x[i, j] - m[i]); s: t[i] = " \
    "sum(k: e[i, k]); y: t[i, j] = e[i, j] / s[i]"
#define POOL(side, size, step, pad)                                                \
    "y: t[n, c, p in " #side ", q in " #side "] = max(r in " #size ", s in " #size \
    ": x[n, c, p*" #step " + r - " #pad ", q*" #step " + s - " #pad "] else -inf)"
#define MEAN(side)                                                             \
    "y: t[n, c, p in " #side ", q in " #side "] = sum(r in 3, s in 3: x[n, c," \
    " p + r - 1, q + s - 1] else 0) / 9"
#define LINE                    "y: t[i, j] = sum(k: x[i, k] * w[j, k]) + b[j]"
#define FLOPS(out, side, depth) (2.0 * (out) * (side) * (side) * (depth))
static const struct layer layers[] = {
    { "3x3 128->128 @28",
      CONVOLUTION(28, c, 1, 1),
      { IMAGE(128, 28), TAPS(128, 128, 3), BIAS(128) },
      FLOPS(128, 28, 1152),
      0,
      0,
      0 },
    { "3x3 s2 128->256 @28",
      CONVOLUTION(14, c, 2, 1),
      { IMAGE(128, 28), TAPS(256, 128, 3), BIAS(256) },
      FLOPS(256, 14, 1152),
      0,
      0,
      0 },
    { "1x1 64->256 @28",
      CONVOLUTION(28, c, 1, 0),
      { IMAGE(64, 28), TAPS(256, 64, 1), BIAS(256) },
      FLOPS(256, 28, 64),
      0,
      0,
      0 },
    { "1x1 512->256 @14 turned",
      CONVOLUTION(14, c, 1, 0),
      { IMAGE(512, 14), TAPS(256, 512, 1), BIAS(256) },
      FLOPS(256, 14, 512),
      0,
      0,
      0 },
    { "first layer, 7x7 s2 3->64 @224",
      CONVOLUTION(112, c, 2, 3),
      { IMAGE(3, 224), TAPS(64, 3, 7), BIAS(64) },
      FLOPS(64, 112, 147),
      0,
      0,
      0 },
    { "depthwise 3x3 32 @56",
      CONVOLUTION(56, o, 1, 1),
      { IMAGE(32, 56), TAPS(32, 1, 3), BIAS(32) },
      FLOPS(32, 56, 9),
      32 * 56 * 56 * 4,
      1,
      1 },
    { "depthwise 3x3 s2 32 @56",
      CONVOLUTION(28, o, 2, 1),
      { IMAGE(32, 56), TAPS(32, 1, 3), BIAS(32) },
      FLOPS(32, 28, 9),
      32 * 28 * 28 * 4,
      4,
      1 },
    { "depthwise 5x5 32 @56",
      CONVOLUTION(56, o, 1, 2),
      { IMAGE(32, 56), TAPS(32, 1, 5), BIAS(32) },
      FLOPS(32, 56, 25),
      32 * 56 * 56 * 4,
      1,
      1 },
    { "depthwise 5x5 s2 32 @56",
      CONVOLUTION(28, o, 2, 2),
      { IMAGE(32, 56), TAPS(32, 1, 5), BIAS(32) },
      FLOPS(32, 28, 25),
      32 * 28 * 28 * 4,
      4,
      1 },
    { "line 384 by 512",
      LINE,
      { MATRIX(1, 384), WEIGHTS(512, 384), BIAS(512) },
      2.0 * 384 * 512,
      384 * 512 * 4,
      1,
      0 },
    { "line 2048 by 1024",
      LINE,
      { MATRIX(1, 2048), WEIGHTS(1024, 2048), BIAS(1024) },
      2.0 * 2048 * 1024,
      2048 * 1024 * 4,
      1,
      0 },
    { "line 8192 by 4096",
      LINE,
      { MATRIX(1, 8192), WEIGHTS(4096, 8192), BIAS(4096) },
      2.0 * 8192 * 4096,
      8192 * 4096 * 4,
      1,
      0 },
    { "max-pool 3x3 s2 32 @56",
      POOL(28, 3, 2, 1),
      { IMAGE(32, 56) },
      0,
      32 * 28 * 28 * 4,
      4,
      1 },
    { "max-pool 2x2 s2 32 @56",
      POOL(28, 2, 2, 0),
      { IMAGE(32, 56) },
      0,
      32 * 28 * 28 * 4,
      4,
      1 },
    { "mean of 3x3 32 @56", MEAN(56), { IMAGE(32, 56) }, 0, 32 * 56 * 56 * 4, 1, 1 },
    { "softmax of 128 rows of 384",
      SOFTMAX,
      { MATRIX(128, 384) },
      0,
      128 * 384 * 4,
      1,
      1 },
    { "layer norm of 128 rows of 384",
      NORM,
      { MATRIX(128, 384), ROW(384), ROW(384) },
      0,
      128 * 384 * 4,
      1,
      1 },
    { "x + w, near",
      "y: t[i] = x[i] + w[i]",
      { ROW(2048), ROW(2048) },
      0,
      2048 * 4,
      2,
      1 },
    { "x + w, L2",
      "y: t[i] = x[i] + w[i]",
      { ROW(65536), ROW(65536) },
      0,
      65536 * 4,
      2,
      1 },
    { "x + w, L3",
      "y: t[i] = x[i] + w[i]",
      { ROW(1 << 20), ROW(1 << 20) },
      0,
      4 << 20,
      2,
      1 },
    { "exp, L2", "y: t[i] = exp(x[i])", { ROW(65536) }, 0, 65536 * 4, 1, 1 },
    { "copy, near", "y: t[i] = x[i]", { ROW(2048) }, 0, 2048 * 4, 1, 1 },
    { "copy, L2", "y: t[i] = x[i]", { ROW(65536) }, 0, 65536 * 4, 1, 1 },
    { "copy, L3", "y: t[i] = x[i]", { ROW(1 << 20) }, 0, 4 << 20, 1, 1 },
    { "copy, memory", "y: t[i] = x[i]", { ROW(16 << 20) }, 0, 64 << 20, 1, 1 },
};

static void must(bt_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", status->message);
    exit(1);
}

static bt_compute *make(bt_ctx *ctx, bt_store *store, const struct layer *l)
{
    static const char *const names[] = { "x", "w", "b" };
    bt_op_input inputs[BT_COUNT(names) + 1] = { { 0 } };
    const bt_type *args[BT_COUNT(names)];
    uint32_t n = 0;
    for (; n < BT_COUNT(names) && l->inputs[n].type; n++) {
        uint32_t rank = 0;
        while (rank < 4 && l->inputs[n].dims[rank])
            rank++;
        inputs[n].name = names[n];
        inputs[n].type = l->inputs[n].type;
        args[n] = bt_type_tensor_of(store, BT_FLOAT32, rank, l->inputs[n].dims);
    }
    const bt_op op = {
        .name = l->name, .revision = 1, .inputs = inputs, .formula = l->formula
    };
    const bt_type *result = bt_type_tensor(store, bt_type_hole(store, BT_KIND_SHAPE),
                                           bt_type_hole(store, BT_KIND_DTYPE));
    bt_formula_call call = { .op = &op, .narg = n, .args = args, .result = result };
    bt_compute *out;
    must(bt_compute_create(ctx, &call, &out));
    return out;
}

struct running {
    const struct bytecode *bytecode;
    const struct cpu_callee *callees[64];
    void **buffers;
    char *lane;
};

static void run_program(void *self)
{
    const struct running *r = self;
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

/* The statements that pack weights, or the others. */
static struct running prepare(bt_ctx *ctx, bt_arena *arena, const bt_loops *loops,
                              const struct cpu_config *config, const uint8_t *is_packing,
                              int wanted, void **buffers, const uint32_t *places)
{
    struct running r = { .buffers = buffers };
    bt_stmt **stmts = BT_NEWS(arena, bt_stmt *, loops->body.len);
    struct bytecode_source source = { .loops = loops,
                                      .stmts = stmts,
                                      .name = loops->name,
                                      .isa = config->isa,
                                      .nbuffer = loops->graph->narray,
                                      .places = places };
    for (uint32_t i = 0; stmts && i < loops->body.len; i++) {
        if (!is_packing[i] == !wanted)
            stmts[source.n++] = loops->body.at[i];
    }
    must(bytecode_build(ctx, arena, &source, &r.bytecode));
    for (uint32_t i = 0; i < r.bytecode->ncallee; i++) {
        if (!(r.callees[i] = cpu_callee_find(config->isa, r.bytecode->callees[i])))
            exit(1);
    }
    r.lane = memory((size_t)bytecode_scratch_nbytes(r.bytecode));
    return r;
}

static void measure_layer(bt_ctx *ctx, bt_registry *registry, const struct layer *l,
                          enum cpu_isa isa, double seconds)
{
    static const uint8_t is_constant[] = { 0, 1, 1 };
    const struct cpu_config config = {
        .isa = isa, .nthread = 1, .accuracy = CPU_EXACT, .is_constant = is_constant
    };
    bt_store *store = bt_store_create(registry);
    bt_arena *arena = bt_arena_create(registry);
    bt_compute *compute = make(ctx, store, l);
    bt_loops *loops;
    uint8_t **touched, *is_packing = NULL;
    void *buffers[64] = { NULL };
    uint32_t places[64];
    must(l->nflop > 0
             ? cpu_contract(ctx, arena, &config, "layer", compute->graph, NULL, &loops)
             : cpu_lower(ctx, arena, "layer", compute->graph, &loops));
    must(cpu_schedule_loops(loops, &config));
    for (uint32_t i = 0; i < loops->graph->narray && i < BT_COUNT(places); i++) {
        places[i] = i;
        if (loops->roles.at[i] != BT_BUFFER_LOCAL)
            buffers[i] = memory((size_t)bt_loops_nelem(loops, i) *
                                bt_dtype_nbytes(loops->graph->arrays[i]->dtype));
    }
    if (!cpu_touch_all(arena, &config, loops, &touched) ||
        !(is_packing = cpu_find_packing(arena, &config, loops, touched)))
        exit(1);
    struct running packing =
        prepare(ctx, arena, loops, &config, is_packing, 1, buffers, places);
    struct running rest =
        prepare(ctx, arena, loops, &config, is_packing, 0, buffers, places);
    run_program(&packing);
    measure(l->name, isa,
            &(struct kernel){ run_program, &rest, l->nflop, l->stream_nbytes, l->reads,
                              l->writes },
            seconds);
    for (uint32_t i = 0; i < loops->graph->narray; i++)
        free(buffers[i]);
    free(packing.lane);
    free(rest.lane);
    bt_compute_destroy(compute);
    bt_arena_destroy(arena);
    bt_store_unref(store);
}

int main(int argc, char **argv)
{
    int at = 1;
    const double seconds = argc > 2 && !strcmp(argv[1], "-s") ? atof(argv[2]) : 0.2;
    at += argc > 2 && !strcmp(argv[1], "-s") ? 2 : 0;
    const char *part = at < argc ? argv[at] : "";
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    int isa = (int)cpu_isa_chosen(getenv("BATON_CPU"));
    if (!ctx)
        return 1;
    printf("%-9s %-34s %7s %7s %7s %7s %7s  %s\n", "set", "kernel", "GFLOP/s", "peak",
           "L1 loop", "GB/s", "level", "data in");
    for (isa = isa > (int)widest() ? (int)widest() : isa; isa >= 0; isa--) {
        measure_tiles(part, (enum cpu_isa)isa, seconds);
        measure_nibbles(part, (enum cpu_isa)isa, seconds);
        for (int32_t size = 2; size <= CPU_WINOGRAD_UNIT; size *= 2)
            measure_transforms(part, (enum cpu_isa)isa, size, seconds);
        for (size_t i = 0; i < BT_COUNT(layers); i++) {
            if (strstr(layers[i].name, part))
                measure_layer(ctx, registry, &layers[i], (enum cpu_isa)isa, seconds);
        }
    }
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return 0;
}
