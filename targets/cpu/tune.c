#include "tune.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <baton/baton.h>
#include <baton/compiled.h>
#include <baton/target.h>

#include "engine/launch.h"
#include "kernel.h"
#include "records.h"
#include "schedule/schedule.h"

/* ---- whose records ---- */

static long cache_of(int name)
{
    const long nbytes = sysconf(name);
    return nbytes > 0 ? nbytes : 0;
}

const char *cpu_tune_machine(bt_arena *arena, enum cpu_isa isa)
{
    char name[49] = "processor";
    bt_text text;
    bt_text_init(&text, arena);
#if defined(__x86_64__)
    unsigned words[12];
    int is_named = 1;
    for (unsigned i = 0; i < 3; i++)
        is_named &= __get_cpuid(0x80000002U + i, &words[4 * i], &words[4 * i + 1],
                                &words[4 * i + 2], &words[4 * i + 3]);
    if (is_named)
        memcpy(name, words, sizeof(words));
    name[48] = 0;
#endif
    bt_text_addf(&text, "%s, %s, caches %ld %ld %ld, baton %s", name, cpu_isa_name(isa),
                 cache_of(_SC_LEVEL1_DCACHE_SIZE), cache_of(_SC_LEVEL2_CACHE_SIZE),
                 cache_of(_SC_LEVEL3_CACHE_SIZE), bt_version());
    return bt_text_get(&text);
}

/* A digest of all that the fastest way depends on: the function, options, and the ways with their
 * estimates. NULL: no memory. */
static const char *key_of(bt_arena *arena, const struct cpu_tuner *t, const bt_func *func,
                          const struct cpu_choices *choices)
{
    char digest[65];
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%016" PRIx64 " %u %u %d %s %s", bt_func_hash(func),
                 t->config->accuracy, t->config->has_small_weights,
                 t->request->keeps_denormals, t->request->engine, t->request->compiler);
    for (uint32_t i = 0; i < choices->all.len; i++)
        bt_text_addf(&text, " %u %s %.3g", choices->all.at[i].sum, choices->all.at[i].way,
                     choices->all.at[i].ns);
    if (!bt_text_get(&text))
        return NULL;
    bt_digest(text.at, text.len, digest);
    return bt_arena_text(arena, digest, 64);
}

/* ---- measuring ---- */

enum { NRUN = 7, FEW_NRUN = 3, LONG_NS = 50000000, MOST_SWEPT = 64 << 20 };

/* A function, compiled in one way, with its memory. */
struct trial {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct cpu_tuner *tuner;
    const bt_loops *loops; /* of the function in any way: its inputs and results */
    const uint8_t *is_constant;
    bt_lowering lowering;
    struct cpu_loaded *loaded;
    uint32_t ninput;
    /* inputs, results, temps, a workspace for each kernel, and one to sweep the caches with */
    bt_tensor **tensors;
    uint32_t ntensor;
    uint8_t *is_packed; /* of each kernel: it reads constants only */
};

static int is_float(bt_dtype dtype)
{
    return (BT_CLASS_BITS_FLOAT & 1u << BT_DTYPE_CLASS(dtype)) != 0;
}

/* Bytes that are small numbers of any type of floats, and 0 of others, as an index may be. */
static bt_status add_tensor(struct trial *t, int64_t nbytes, bt_dtype dtype)
{
    bt_tensor **out = &t->tensors[t->ntensor];
    BT_TRY(bt_tensor_create(t->ctx, BT_UINT8, 1, &nbytes, out));
    t->ntensor++;
    memset((*out)->data, is_float(dtype) ? 0x3c : 0, (size_t)nbytes);
    return NULL;
}

static bt_status add_array(struct trial *t, uint32_t buffer)
{
    const bt_array *array = t->loops->graph->arrays[buffer];
    int64_t nbytes;
    if (!bt_mul_int64(bt_node_number(array->extents[0]),
                      (int64_t)bt_dtype_nbytes(array->dtype), &nbytes))
        return bt_no_memory();
    return add_tensor(t, nbytes, array->dtype);
}

static bt_status add_bytes(struct trial *t, const bt_type *size)
{
    int64_t nbytes = 0;
    if (size)
        (void)bt_dim_is_const(size, &nbytes);
    return add_tensor(t, nbytes, BT_UINT8);
}

static bt_status take_memory(struct trial *t, int64_t nswept)
{
    const bt_loops *loops = t->loops;
    const bt_lowering *l = &t->lowering;
    for (uint32_t i = 0; i < loops->graph->narray; i++)
        t->ninput += loops->roles.at[i] == BT_BUFFER_INPUT;
    t->tensors =
        BT_NEWS(t->arena, bt_tensor *,
                (size_t)t->ninput + loops->results.len + l->ntemp + l->nkernel + 1);
    if (!t->tensors)
        return bt_no_memory();
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        if (loops->roles.at[i] == BT_BUFFER_INPUT)
            BT_TRY(add_array(t, i));
    }
    for (uint32_t i = 0; i < loops->results.len; i++)
        BT_TRY(add_array(t, loops->results.at[i]));
    for (uint32_t i = 0; i < l->ntemp; i++)
        BT_TRY(add_bytes(t, l->temps[i]));
    for (uint32_t i = 0; i < l->nkernel; i++)
        BT_TRY(add_bytes(t, l->kernels[i]->workspace));
    return add_tensor(t, nswept, BT_FLOAT32);
}

static bt_tensor *tensor_of(const struct trial *t, const bt_kernel_buffer *b)
{
    const uint32_t nresult = t->loops->results.len;
    return t->tensors[b->index + (b->kind == BT_BUFFER_INPUT    ? 0
                                  : b->kind == BT_BUFFER_OUTPUT ? t->ninput
                                                                : t->ninput + nresult)];
}

/* Which kernels read constants only, and what these write: they run when a program is
 * compiled. */
static int find_packing(struct trial *t)
{
    const bt_lowering *l = &t->lowering;
    uint8_t *is_made = BT_NEWS(t->arena, uint8_t, (size_t)l->ntemp + 1);
    t->is_packed = BT_NEWS(t->arena, uint8_t, l->nkernel);
    for (uint32_t k = 0; is_made && t->is_packed && k < l->nkernel; k++) {
        const bt_kernel *kernel = l->kernels[k];
        t->is_packed[k] = kernel->nin > 0;
        for (uint32_t i = 0; i < kernel->nin; i++) {
            const bt_kernel_buffer *b = &kernel->in[i];
            t->is_packed[k] &= b->kind == BT_BUFFER_INPUT  ? t->is_constant[b->index]
                               : b->kind == BT_BUFFER_TEMP ? is_made[b->index]
                                                           : 0;
        }
        for (uint32_t i = 0; i < kernel->nout && t->is_packed[k]; i++) {
            if (kernel->out[i].kind == BT_BUFFER_TEMP)
                is_made[kernel->out[i].index] = 1;
        }
    }
    return is_made && t->is_packed;
}

static bt_status run_kernel(const struct trial *t, uint32_t k)
{
    const bt_kernel *kernel = t->lowering.kernels[k];
    const uint32_t n = kernel->nin + kernel->nout;
    void **buffers = BT_NEWS(t->arena, void *, n);
    if (!buffers)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        buffers[i] =
            tensor_of(t, i < kernel->nin ? &kernel->in[i] : &kernel->out[i - kernel->nin])
                ->data;
    for (uint32_t i = 0; i < kernel->nalias; i++) {
        if (kernel->aliases[i].keeps)
            buffers[kernel->nin + kernel->aliases[i].out] =
                buffers[kernel->aliases[i].in];
    }
    const bt_kernel_call call = {
        .nbytes = sizeof(call),
        .nbuffer = n,
        .buffers = buffers,
        .workspace = t->tensors[t->ntensor - 1 - t->lowering.nkernel + k]->data,
        .stop = bt_ctx_stop(t->ctx),
    };
    return cpu_loaded_launch(t->ctx, t->loaded, k, &call);
}

static bt_status run_kernels(const struct trial *t, int packing)
{
    for (uint32_t k = 0; k < t->lowering.nkernel; k++) {
        if (t->is_packed[k] == packing)
            BT_TRY(run_kernel(t, k));
    }
    return NULL;
}

static void touch(const bt_tensor *tensor)
{
    const volatile uint8_t *at = tensor->data;
    for (int64_t i = 0; i < tensor->nelem; i += 64)
        (void)at[i];
}

/* The least time of some runs. Caches are before each run as they are in a network: they hold what
 * other functions have read, so one tensor is read that fills them; and the function's data, which
 * the function before has just written. */
static bt_status time_runs(const struct trial *t, double *ns)
{
    const uint32_t nresult = t->loops->results.len;
    uint64_t least = UINT64_MAX;
    const void *mark = bt_arena_mark(t->arena);
    BT_TRY(run_kernels(t, 1));
    BT_TRY(run_kernels(t, 0));
    for (int i = 0; i < NRUN && (i < FEW_NRUN || least < LONG_NS); i++) {
        touch(t->tensors[t->ntensor - 1]);
        for (uint32_t k = 0; k < t->ninput + nresult; k++) {
            if (k >= t->ninput || !t->is_constant[k])
                touch(t->tensors[k]);
        }
        const uint64_t start = bt_now_ns();
        BT_TRY(run_kernels(t, 0));
        const uint64_t time = bt_now_ns() - start;
        least = time < least ? time : least;
        bt_arena_release(t->arena, mark);
    }
    *ns = (double)least;
    return NULL;
}

static bt_status load(struct trial *t)
{
    const uint32_t n = t->lowering.nkernel;
    const struct cpu_engine_request *request = t->tuner->request;
    bt_kernel_code *codes = BT_NEWS(t->arena, bt_kernel_code, n),
                   **list = BT_NEWS(t->arena, bt_kernel_code *, n);
    struct cpu_work *works;
    if (!codes || !list)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        list[i] = &codes[i];
    BT_TRY(cpu_kernel_works(t->arena, n, (const bt_kernel *const *)t->lowering.kernels,
                            &works));
    BT_TRY(cpu_engine_compile(t->ctx, t->arena, request, BT_CODE_ANY, n, works, list));
    return cpu_loaded_create(t->ctx, t->tuner->pool, request->keeps_denormals, n,
                             (const bt_kernel_code *const *)list, &t->loaded);
}

static bt_status try_ways(struct trial *t, const bt_func *func,
                          const struct cpu_wanted *wanted, double *ns)
{
    const long llc = cache_of(_SC_LEVEL3_CACHE_SIZE);
    struct cpu_config config = *t->tuner->config;
    config.wanted = wanted;
    BT_TRY(cpu_kernel_lower(t->ctx, t->arena, &config, func, &t->lowering));
    for (uint32_t i = 0; i < t->lowering.nkernel; i++) {
        bt_kernel *kernel = t->lowering.kernels[i];
        kernel->primitive = func;
        kernel->name = func->name ? func->name : "function";
    }
    if (!find_packing(t))
        return bt_no_memory();
    BT_TRY(load(t));
    BT_TRY(take_memory(t, llc < MOST_SWEPT ? llc : MOST_SWEPT));
    return time_runs(t, ns);
}

static bt_status measure(bt_ctx *ctx, const struct cpu_tuner *tuner, const bt_func *func,
                         const bt_loops *loops, const struct cpu_wanted *wanted,
                         double *ns)
{
    struct trial t = { .ctx = ctx,
                       .arena = bt_arena_create(bt_ctx_registry(ctx)),
                       .tuner = tuner,
                       .loops = loops };
    if (!t.arena)
        return bt_no_memory();
    t.is_constant = cpu_find_constants(t.arena, func);
    bt_status status = t.is_constant ? try_ways(&t, func, wanted, ns) : bt_no_memory();
    cpu_loaded_destroy(t.loaded);
    for (uint32_t i = 0; i < t.ntensor; i++)
        bt_tensor_unref(t.tensors[i]);
    bt_arena_destroy(t.arena);
    return status;
}

/* ---- choosing ---- */

/* Of each sum so many ways are measured at most, and none whose estimate is more than so many times
 * the least. A way takes the place of one with a lesser estimate if its time is below this share. */
enum { MOST_TRIED = 4 };
static const double most_times = 4, least_gain = 0.97;

static uint32_t count_sums(const struct cpu_choices *c)
{
    return c->all.len ? c->all.at[c->all.len - 1].sum : 0;
}

static int has_way(const struct cpu_choices *c, uint32_t sum, const char *way)
{
    for (uint32_t i = 0; i < c->all.len; i++) {
        if (c->all.at[i].sum == sum && strcmp(c->all.at[i].way, way) == 0)
            return 1;
    }
    return 0;
}

/* Whether the record names a way for each sum, and one that the sum has. */
static int fits(const struct cpu_choices *c, const struct cpu_record *r)
{
    for (uint32_t i = 0; i < r->nway; i++) {
        if (!has_way(c, i + 1, r->ways[i]))
            return 0;
    }
    return r->nway == count_sums(c);
}

/* Of a sum the best by estimate of those left that take `most` ns or less; UINT32_MAX: there is
 * none. */
static uint32_t next_best(const struct cpu_choices *c, uint32_t sum, double most,
                          const uint8_t *tried)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < c->all.len; i++) {
        if (c->all.at[i].sum == sum && !tried[i] && c->all.at[i].ns <= most &&
            (best == UINT32_MAX || c->all.at[i].ns < c->all.at[best].ns))
            best = i;
    }
    return best;
}

/* Measures one sum, while those before it go the ways chosen for them, and those behind it the ways
 * of the least estimate. */
static bt_status choose_way(bt_ctx *ctx, const struct cpu_tuner *t, const bt_func *func,
                            const bt_loops *loops, const struct cpu_choices *c,
                            uint32_t sum, uint8_t *tried, const char **ways)
{
    const struct cpu_wanted wanted = { count_sums(c), ways };
    uint32_t at = next_best(c, sum, INFINITY, tried);
    const char *best = c->all.at[at].way;
    const double most = most_times * c->all.at[at].ns;
    double least = 0;
    for (uint32_t n = 0; n < MOST_TRIED && at != UINT32_MAX; n++) {
        double ns = 0;
        tried[at] = 1;
        ways[sum - 1] = c->all.at[at].way;
        if (n == 0 && next_best(c, sum, most, tried) == UINT32_MAX)
            return NULL; // there is nothing to compare it with
        BT_TRY(measure(ctx, t, func, loops, &wanted, &ns));
        // what is as good stays as it is estimated: on another day it may be the better one
        if (n == 0 || ns < least_gain * least) {
            least = ns;
            best = c->all.at[at].way;
        }
        at = next_best(c, sum, most, tried);
    }
    ways[sum - 1] = best;
    return NULL;
}

static bt_status choose_ways(bt_ctx *ctx, bt_arena *arena, const struct cpu_tuner *t,
                             const bt_func *func, const bt_loops *loops,
                             const struct cpu_choices *c, const char **ways)
{
    uint8_t *tried = BT_NEWS(arena, uint8_t, c->all.len);
    if (!tried)
        return bt_no_memory();
    for (uint32_t sum = 1; sum <= count_sums(c); sum++)
        BT_TRY(choose_way(ctx, t, func, loops, c, sum, tried, ways));
    return NULL;
}

static bt_status take_record(bt_ctx *ctx, bt_arena *arena, const struct cpu_tuner *t,
                             const bt_func *func, const bt_loops *loops,
                             const struct cpu_choices *c, struct cpu_wanted *out)
{
    struct cpu_records records;
    const char *key = key_of(arena, t, func, c);
    const char **ways = BT_NEWS(arena, const char *, count_sums(c));
    if (!key || !ways)
        return bt_no_memory();
    BT_TRY(cpu_records_read(ctx, arena, t->path, &records));
    const struct cpu_record *known = cpu_records_find(&records, t->machine, key);
    struct cpu_record record = { .machine = t->machine,
                                 .function = key,
                                 .name = func->name ? func->name : "function",
                                 .nway = count_sums(c),
                                 .ways = ways };
    if (known) {
        record = *known;
    } else {
        BT_TRY(choose_ways(ctx, arena, t, func, loops, c, ways));
        BT_TRY(cpu_records_add(ctx, arena, t->path, &record));
    }
    if (fits(c, &record))
        *out = (struct cpu_wanted){ record.nway, record.ways };
    return NULL;
}

bt_status cpu_tune(bt_ctx *ctx, bt_arena *arena, const struct cpu_tuner *t,
                   const bt_func *func, struct cpu_wanted *out)
{
    struct cpu_choices choices = { .arena = arena };
    struct cpu_config config = *t->config;
    bt_loops *loops;
    *out = (struct cpu_wanted){ .n = 0 };
    config.choices = &choices;
    if (func->nvar)
        return NULL;
    bt_status status = cpu_schedule(ctx, arena, &config, func, NULL, &loops);
    if (status)
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    return choices.all.len == count_sums(&choices)
               ? NULL
               : take_record(ctx, arena, t, func, loops, &choices, out);
}
