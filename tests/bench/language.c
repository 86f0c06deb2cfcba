/*
 * bench_language: what the executor vm costs beside graph, in one run, in turn. Networks at 1
 * and 2 threads, an instruction, a call of a kernel, deep recursion.
 *
 *     bench_language [MODEL...]
 *
 * Medians of rounds in which every column has its turn; ratios are medians of the rounds'
 * own, so that what disturbs a machine for a while disturbs both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <baton/baton.h>
#include <baton/compiled.h>

enum { MAX_ROUNDS = 401, WARMUP = 3 };

/* ---- memory ---- */

static size_t alive, most;

static void *count(void *self, void *at, size_t old_nbytes, size_t nbytes)
{
    void *out = nbytes ? realloc(at, nbytes) : NULL;
    (void)self;
    if (!nbytes)
        free(at);
    if (nbytes && !out)
        return NULL;
    const size_t now = __atomic_add_fetch(&alive, nbytes - old_nbytes, __ATOMIC_RELAXED);
    if (now > most)
        most = now;
    return out;
}

/* ---- programs ---- */

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static int fail(bt_ctx *ctx, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    fputs(bt_text_get(&text), stderr);
    return 0;
}

static bt_ctx *make_ctx(void)
{
    static const bt_allocator allocator = { .realloc = count };
    const bt_registry_options options = { .plugin_only = BENCH_PLUGINS,
                                          .allocator = &allocator };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    return ctx;
}

struct side {
    bt_ctx *ctx;
    bt_program *program;
    size_t nbytes; /* asked for during runs, with what is kept for them, and constants */
};

static bt_status set_inputs(bt_ctx *ctx, bt_program *p)
{
    uint32_t seed = 1;
    for (uint32_t i = 0; i < bt_program_ninput(p); i++) {
        const bt_port *port = bt_program_input(p, i);
        bt_tensor *x;
        BT_TRY(bt_tensor_create(ctx, port->dtype, (uint32_t)port->rank, port->sizes, &x));
        for (int64_t k = 0; bt_dtype_is_float(port->dtype) && k < x->nelem; k++) {
            seed = seed * 1664525u + 1013904223u;
            bt_tensor_set(x, k, (double)(seed >> 8) / (1 << 24));
        }
        bt_status status = bt_program_set_at(p, i, &x->base);
        bt_tensor_unref(x);
        BT_TRY(status);
    }
    return NULL;
}

static bt_status open_program(bt_ctx *ctx, const char *path, const char *executor,
                              uint32_t threads, bt_program **out)
{
    char target[64];
    snprintf(target, sizeof(target), "cpu{threads=%u}", threads);
    const bt_program_options options = { .executor = executor, .target = target };
    BT_TRY(bt_program_open(ctx, path, &options, out));
    return set_inputs(ctx, *out);
}

static int open_side(const char *path, const char *executor, uint32_t threads,
                     struct side *out)
{
    const size_t before = alive;
    bt_status status = NULL;
    *out = (struct side){ .ctx = make_ctx() };
    if (!out->ctx)
        return 0;
    status = open_program(out->ctx, path, executor, threads, &out->program);
    most = alive;
    for (int i = 0; !status && i < WARMUP; i++)
        status = bt_program_run(out->program);
    out->nbytes = most - before;
    return status ? fail(out->ctx, status) : 1;
}

static void close_side(struct side *s)
{
    bt_program_close(s->program);
    bt_ctx_destroy(s->ctx);
}

/* clock: CLOCK_MONOTONIC; CLOCK_THREAD_CPUTIME_ID of what one thread does, so that others
 * on the machine do not count. */
static double time_run(struct side *s, clockid_t clock)
{
    const double start = read_clock(clock);
    bt_status status = bt_program_run(s->program);
    const double end = read_clock(clock);
    if (status)
        exit(!fail(s->ctx, status));
    return end - start;
}

/* ---- pairs ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *at, int n)
{
    qsort(at, (size_t)n, sizeof(*at), compare);
    return at[n / 2];
}

struct paired {
    double a, b, ratio; /* ns, ns, b / a */
};

/* About so many ns of rounds, of each side in turn, the first one changing. */
static struct paired run_pair(struct side *a, struct side *b, double budget,
                              clockid_t clock)
{
    static double as[MAX_ROUNDS], bs[MAX_ROUNDS], ratios[MAX_ROUNDS];
    const double end = now_ns() + budget;
    int n = 0;
    while (n < 9 || (n < MAX_ROUNDS && now_ns() < end)) {
        if (n & 1)
            as[n] = time_run(a, clock), bs[n] = time_run(b, clock);
        else
            bs[n] = time_run(b, clock), as[n] = time_run(a, clock);
        ratios[n] = bs[n] / as[n];
        n++;
    }
    return (struct paired){ median(as, n), median(bs, n), median(ratios, n) };
}

static int compare_nets(int n, char **models)
{
    printf("%-24s %7s  %10s %10s %7s  %10s %10s %7s\n", "network", "threads", "graph ms",
           "vm ms", "ratio", "graph MB", "vm MB", "ratio");
    for (int i = 0; i < n; i++) {
        for (uint32_t threads = 1; threads <= 2; threads++) {
            const char *slash = strrchr(models[i], '/');
            struct side graph, vm;
            if (!open_side(models[i], "graph", threads, &graph) ||
                !open_side(models[i], "vm", threads, &vm))
                return 0;
            const struct paired p =
                run_pair(&graph, &vm, 4e9,
                         threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
            printf("%-24s %7u  %10.3f %10.3f %7.3f  %10.3f %10.3f %7.3f\n",
                   slash ? slash + 1 : models[i], threads, p.a / 1e6, p.b / 1e6, p.ratio,
                   (double)graph.nbytes / 1e6, (double)vm.nbytes / 1e6,
                   (double)vm.nbytes / (double)graph.nbytes);
            fflush(stdout);
            close_side(&vm);
            close_side(&graph);
        }
    }
    return 1;
}

/* ---- programs of text ---- */

/* A file of its own for a program. */
static int write_text(const char *body, char *path)
{
    const int file = mkstemps(path, 6);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    if (!out)
        return 0;
    fprintf(out, "#[version = \"baton 0.1\"]\n%s\n", body);
    return fclose(out) == 0;
}

static int open_text(const char *body, const char *executor, struct side *out)
{
    char path[] = "/tmp/bench_language_XXXXXX.baton";
    const int ok = write_text(body, path) && open_side(path, executor, 1, out);
    unlink(path);
    return ok;
}

static int set_number(struct side *s, const char *name, int64_t value)
{
    bt_tensor *x;
    bt_status status = bt_tensor_scalar_int(s->ctx, BT_INT64, value, &x);
    if (!status) {
        status = bt_program_set(s->program, name, &x->base);
        bt_tensor_unref(x);
    }
    return status ? fail(s->ctx, status) : 1;
}

/* Seven instructions an iteration: two constants, three scalar operators, a branch, a call
 * that takes the place of its caller. */
static int time_instructions(void)
{
    enum { N = 1000000, PER = 7 };
    double at[21];
    struct side s;
    if (!open_text("def @loop(%n: int64, %s: int64) -> int64 {\n"
                   "    if (less(%n, 1i64)) { %s } else {\n"
                   "        @loop(subtract(%n, 1i64), add(%s, %n))\n"
                   "    }\n"
                   "}\n"
                   "def @main(%n: int64) { @loop(%n, 0i64) }",
                   "vm", &s) ||
        !set_number(&s, "n", N))
        return 0;
    for (int i = 0; i < 21; i++)
        at[i] = time_run(&s, CLOCK_THREAD_CPUTIME_ID) / N / PER;
    printf("instruction              %10.1f ns\n", median(at, 21));
    close_side(&s);
    return 1;
}

enum { NKERNEL = 1000 };

static int make_chain(char *out, size_t nbytes)
{
    size_t n =
        (size_t)snprintf(out, nbytes, "def @main(%%v0: Tensor[(1, 4), float32]) {\n");
    for (int i = 0; i < NKERNEL && n < nbytes; i++)
        n += (size_t)snprintf(out + n, nbytes - n, "    %%v%d = cumsum(%%v%d, axis=1);\n",
                              i + 1, i);
    if (n < nbytes)
        n += (size_t)snprintf(out + n, nbytes - n, "    %%v%d\n}", NKERNEL);
    return n < nbytes;
}

/* What the kernel costs by itself. */
static double time_kernel(struct side *s)
{
    enum { REPEAT = 20000 };
    // what it reads, writes and has for itself: more than it needs; in place, as planned
    static _Alignas(64) char memory[8][1 << 8];
    void *buffers[8];
    for (int i = 0; i < 8; i++)
        buffers[i] = memory[i];
    for (int i = 0; i < 4; i++) // results are rounded, as those of the chain are
        ((float *)buffers[0])[i] = 1.0f / (float)(i + 3);
    buffers[1] = buffers[0];
    const bt_compiled *c = bt_program_compiled(s->program);
    const bt_kernel_call call = { .nbytes = sizeof(call),
                                  .buffers = buffers,
                                  .workspace = memory[7],
                                  .stop = bt_ctx_stop(s->ctx) };
    const double start = read_clock(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < REPEAT; i++) {
        bt_status status = bt_compiled_launch(s->ctx, c, 0, &call);
        if (status)
            exit(!fail(s->ctx, status));
    }
    return (read_clock(CLOCK_THREAD_CPUTIME_ID) - start) / REPEAT;
}

static int time_kernels(void)
{
    static char text[1 << 17];
    double alone[21], over[2][21];
    struct side graph, vm, *const sides[] = { &graph, &vm };
    if (!make_chain(text, sizeof(text)) || !open_text(text, "graph", &graph) ||
        !open_text(text, "vm", &vm))
        return 0;
    for (int i = 0; i < 21; i++) {
        alone[i] = time_kernel(&vm);
        for (int k = 0; k < 2; k++) {
            double sum = 0;
            for (int round = 0; round < 20; round++)
                sum += time_run(sides[k], CLOCK_THREAD_CPUTIME_ID);
            over[k][i] = sum / 20 / NKERNEL - alone[i];
        }
    }
    printf("kernel alone             %10.1f ns\n", median(alone, 21));
    printf("over it, by graph        %10.1f ns\n", median(over[0], 21));
    printf("over it, by vm           %10.1f ns\n", median(over[1], 21));
    close_side(&vm);
    close_side(&graph);
    return 1;
}

/* Recursion that is no loop, and one without end. */
static int time_recursion(void)
{
    enum { DEPTH = 1000000 };
    struct side s;
    if (!open_text("def @sum(%n: int64) -> int64 {\n"
                   "    if (equal(%n, 0i64)) { 0i64 } else {\n"
                   "        add(%n, @sum(subtract(%n, 1i64)))\n"
                   "    }\n"
                   "}\n"
                   "def @main(%n: int64) { @sum(%n) }",
                   "vm", &s) ||
        !set_number(&s, "n", DEPTH))
        return 0;
    bt_ctx_limits(s.ctx)->frames = DEPTH + 2;
    const size_t before = alive;
    most = alive;
    const double ns = time_run(&s, CLOCK_THREAD_CPUTIME_ID);
    printf("recursion of depth %d %6.1f ns a call, %.1f MB\n", DEPTH, ns / DEPTH,
           (double)(most - before) / 1e6);
    if (!set_number(&s, "n", -1))
        return 0;
    bt_status status = bt_program_run(s.program);
    if (!status || status->code != BT_ERR_LIMIT)
        return 0;
    printf("recursion without end    %s\n", status->message);
    close_side(&s);
    return 1;
}

int main(int argc, char **argv)
{
    return time_instructions() && time_kernels() && time_recursion() &&
                   compare_nets(argc - 1, argv + 1)
               ? 0
               : 1;
}
