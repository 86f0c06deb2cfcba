/*
 * cpu: the processor as a target. Primitive functions become loops around vector
 * primitives (schedule.h), those become bytecode (bytecode.h), which is interpreted or
 * compiled by way of C, and is run by a pool of threads.
 */
#include <inttypes.h>
#include <string.h>

#include <baton/compiler.h>
#include <baton/compute.h>
#include <baton/op.h>
#include <baton/target.h>

#include "engine/engine.h"
#include "engine/launch.h"
#include "engine/peak.h"
#include "kernel.h"
#include "records.h"
#include "schedule/schedule.h"
#include "schedule/vectorise.h"
#include "schedule/ways.h"
#include "tune.h"

struct options {
    const char *engine, *compiler, *denormals, *accuracy, *weights;
    int64_t threads;
    const char *tune;
};
static const bt_attr options[] = {
    BT_ATTR_CHOICE(
        struct options, engine, "auto", "auto|bytecode|tcc|cc",
        "what runs the loops: bytecode interprets them, tcc and cc compile them; "
        "auto is tcc, or bytecode where that does not work"),
    BT_ATTR(struct options, compiler, STRING, "",
            "options of the compiler, as command=\"clang\" of cc"),
    BT_ATTR_CHOICE(struct options, denormals, "flush", "flush|keep",
                   "floats nearer to 0 than the type's least normal number: taken for 0 "
                   "and given as 0, or computed with, which may take ten times as long"),
    BT_ATTR_CHOICE(
        struct options, accuracy, "default", "default|exact|fast",
        "sums of products: exact adds their terms one after the other; default "
        "may do without some products of convolutions, and on processors with AMX "
        "put factors together from two bfloat16, with errors of the order of "
        "float32's; fast may round factors to bfloat16, where this machine "
        "multiplies these faster, with errors of about 3e-3 of the largest result"),
    BT_ATTR_CHOICE(
        struct options, weights, "fast", "fast|small",
        "small does without transforms of convolutions' weights, which take 2 to 4 "
        "times the bytes of these"),
    BT_ATTR_RANGE(struct options, threads, INT, "0", 0, 1024,
                  "threads, the caller's counted; 0: as many as there are processors"),
    BT_ATTR(struct options, tune, STRING, "",
            "a file with records of which ways to compute sums of products were the "
            "fastest on this machine, made if it is not there; what has no record in it "
            "is measured when it is compiled, and recorded"),
    { 0 },
};

struct instance {
    bt_registry *registry;
    bt_allocator allocator;
    struct cpu_config config;
    bt_map rows;          /* of the config */
    struct cpu_ways ways; /* of plugins */
    struct cpu_pool *pool;
    struct cpu_engine_request request; /* texts in the arena */
    struct cpu_tuner tuner;            /* path NULL: nothing is tuned */
    uint32_t has_remarked;             /* atomic */
    bt_arena *arena;
};

static void close(void *self)
{
    struct instance *in = self;
    cpu_pool_destroy(in->pool);
    bt_arena_destroy(in->arena);
}

/* The widest set that is of use. AVX512-BF16 and AMX add nothing but products of bfloat16. Those of
 * AMX are used unless sums are to be exact, those of AVX512-BF16 where accuracy is "fast" and they
 * are faster than products of float32, or BATON_CPU names a set. Both take denormals for zeros. */
static enum cpu_isa choose_isa(bt_ctx *ctx, uint32_t accuracy, int keeps_denormals)
{
    const char *wanted = bt_variable(ctx, "BATON_CPU");
    const enum cpu_isa widest = cpu_isa_chosen(wanted);
    if (keeps_denormals && widest >= CPU_ISA_AVX512BF16)
        return CPU_ISA_AVX512;
    if (widest < CPU_ISA_AVX512BF16 || (accuracy != CPU_EXACT && widest >= CPU_ISA_AMX) ||
        (accuracy == CPU_FAST && (wanted || cpu_has_fast_bf16())))
        return widest;
    return CPU_ISA_AVX512;
}

static uint32_t accuracy_of(const char *name)
{
    return strcmp(name, "exact") == 0  ? CPU_EXACT
           : strcmp(name, "fast") == 0 ? CPU_FAST
                                       : CPU_DEFAULT;
}

static bt_status fill(bt_ctx *ctx, const struct options *o, struct instance *in)
{
    in->config.accuracy = accuracy_of(o->accuracy);
    const int keeps_denormals = strcmp(o->denormals, "keep") == 0;
    in->config.isa = choose_isa(ctx, in->config.accuracy, keeps_denormals);
    bt_map_init(&in->rows, in->arena, 1);
    if (!cpu_callee_index(in->config.isa, &in->rows))
        return bt_no_memory();
    in->config.rows = &in->rows;
    BT_TRY(cpu_ways_find(ctx, in->arena, &in->ways));
    in->config.ways = &in->ways;
    in->config.has_small_weights = strcmp(o->weights, "small") == 0;
    in->allocator = cpu_allocator(bt_ctx_registry(ctx));
    in->request = (struct cpu_engine_request){
        .engine = bt_arena_text(in->arena, o->engine, strlen(o->engine)),
        .compiler = bt_arena_text(in->arena, o->compiler, strlen(o->compiler)),
        .isa = in->config.isa,
        .keeps_denormals = keeps_denormals
    };
    in->pool = cpu_pool_create(&in->allocator, (uint32_t)o->threads);
    in->config.nthread = cpu_pool_nthread(in->pool);
    return in->request.engine && in->request.compiler && in->pool ? NULL : bt_no_memory();
}

static bt_status begin_tuning(bt_ctx *ctx, const char *path, struct instance *in)
{
    if (!*path)
        return NULL;
    if (strcmp(path, "-") == 0)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "tuning records are in a file, not in -");
    in->tuner =
        (struct cpu_tuner){ .path = bt_arena_text(in->arena, path, strlen(path)),
                            .machine = cpu_tune_machine(in->arena, in->config.isa),
                            .config = &in->config,
                            .request = &in->request,
                            .pool = in->pool };
    return in->tuner.path && in->tuner.machine ? NULL : bt_no_memory();
}

/* Once, when the first function is compiled: to run what was compiled takes no records. */
static bt_status remark_damage(bt_ctx *ctx, bt_arena *arena, struct instance *in)
{
    struct cpu_records records;
    if (__atomic_exchange_n(&in->has_remarked, 1, __ATOMIC_RELAXED))
        return NULL;
    BT_TRY(cpu_records_read(ctx, arena, in->tuner.path, &records));
    if (records.ndamaged)
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_FORMAT,
                          "%s: %" PRIu32
                          " of its tuning records %s damaged, and not used",
                          in->tuner.path, records.ndamaged,
                          records.ndamaged == 1 ? "is" : "are"));
    return NULL;
}

static bt_status check_variable(bt_ctx *ctx)
{
    const char *name = bt_variable(ctx, "BATON_CPU");
    const int isa = name ? cpu_isa_find(name) : CPU_ISA_PORTABLE;
    if (isa < 0)
        return bt_fail(
            ctx, BT_ERR_ARGUMENT,
            "BATON_CPU is \"%s\", expected portable, avx2, avx512, avx512bf16 or amx",
            name);
    if (isa > (int)cpu_isa_of_machine())
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "BATON_CPU is %s, this machine has no more than %s", name,
                       cpu_isa_name(cpu_isa_of_machine()));
    return NULL;
}

static bt_status open(bt_ctx *ctx, const void *values, void **self)
{
    BT_TRY(check_variable(ctx));
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct instance *in = arena ? BT_NEW(arena, struct instance) : NULL;
    if (!in) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    in->arena = arena;
    bt_status status = fill(ctx, values, in);
    if (!status)
        status = begin_tuning(ctx, ((const struct options *)values)->tune, in);
    if (status)
        close(in);
    else
        *self = in;
    return status;
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *primitive,
                       bt_lowering *out)
{
    struct instance *in = self;
    struct cpu_config config = in->config;
    struct cpu_wanted wanted;
    if (in->tuner.path) {
        BT_TRY(remark_damage(ctx, arena, in));
        BT_TRY(cpu_tune(ctx, arena, &in->tuner, primitive, &wanted));
        config.wanted = &wanted;
    }
    return cpu_kernel_lower(ctx, arena, &config, primitive, out);
}

/* The chooser's estimate, of one thread: it says which of two ways is better, and of the time
 * little more than its order. */
static bt_status cost(bt_ctx *ctx, void *self, const bt_func *primitive, bt_cost *out)
{
    const struct instance *in = self;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_loops *loops;
    if (!arena)
        return bt_no_memory();
    bt_status status = cpu_schedule(ctx, arena, &in->config, primitive, NULL, &loops);
    *out = (bt_cost){ .confidence = 0 }; // of the evaluator nothing is known
    if (!status)
        *out = (bt_cost){ cpu_cost(&in->config, &loops->body), .confidence = 0.5 };
    bt_arena_destroy(arena);
    return status && status->code != BT_ERR_UNSUPPORTED ? status : NULL;
}

/* Of a sum that can be made in one way there is nothing to compare. */
static void print_ways(const struct cpu_choices *choices, const struct cpu_wanted *wanted,
                       bt_text *out)
{
    const struct cpu_choice *all = choices->all.at;
    const uint32_t n = choices->all.len;
    for (uint32_t i = 0; i < n; i++) {
        const int is_only = (i == 0 || all[i - 1].sum != all[i].sum) &&
                            (i + 1 == n || all[i + 1].sum != all[i].sum);
        bt_text_addf(out, "sum %-3" PRIu32 "  ", all[i].sum);
        if (is_only)
            bt_text_addf(out, "%s", all[i].way);
        else
            bt_text_addf(out, "%-18s  %10.4f ms%s", all[i].way, all[i].ns * 1e-6,
                         !all[i].is_taken ? ""
                         : wanted->n      ? "  taken, by its record"
                                          : "  taken");
        bt_text_addf(out, "\n");
    }
}

/* Where a plugin brings another one. */
static void print_programs(const struct cpu_choices *choices, bt_text *out)
{
    for (uint32_t i = 0; choices->programs.len > 1 && i < choices->programs.len; i++) {
        const struct cpu_choice *p = &choices->programs.at[i];
        bt_text_addf(out, "way of %-20s  %10.4f ms%s\n", p->way, p->ns * 1e-6,
                     p->is_taken ? "  taken" : "");
    }
}

static bt_status explain(bt_ctx *ctx, void *self, const bt_func *primitive, bt_text *out)
{
    const struct instance *in = self;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct cpu_choices choices = { .arena = arena };
    struct cpu_config config = in->config;
    struct cpu_wanted wanted = { .n = 0 };
    bt_loops *loops;
    if (!arena)
        return bt_no_memory();
    config.choices = &choices;
    config.wanted = &wanted;
    bt_status status =
        in->tuner.path ? cpu_tune(ctx, arena, &in->tuner, primitive, &wanted) : NULL;
    if (!status)
        status = cpu_schedule(ctx, arena, &config, primitive, NULL, &loops);
    if (!status) {
        print_programs(&choices, out);
        print_ways(&choices, &wanted, out);
        bt_text_addf(out, "all loops %29.4f ms\n",
                     cpu_cost(&config, &loops->body) * 1e-6);
    } else if (status->code == BT_ERR_UNSUPPORTED) {
        bt_text_addf(out, "by the evaluator: %s\n", status->message);
        status = NULL;
    }
    bt_arena_destroy(arena);
    return status;
}

/* ---- code ---- */

/* Says which kernels with open dims have no program, and why. */
static bt_status note_evaluated(bt_ctx *ctx, bt_arena *arena, uint32_t n,
                                const bt_kernel *const *kernels)
{
    enum { MOST_NAMED = 3 };
    uint32_t nopen = 0;
    bt_text names;
    bt_text_init(&names, arena);
    for (uint32_t i = 0; i < n; i++) {
        const struct cpu_kernel *content = kernels[i]->content;
        if (content->bytecode || !kernels[i]->primitive->nvar)
            continue;
        const char *name = kernels[i]->name, *why = content->why;
        const size_t length = strlen(name);
        if (strncmp(why, name, length) == 0 && strncmp(why + length, ": ", 2) == 0)
            why += length + 2;
        if (nopen++ < MOST_NAMED)
            bt_text_addf(&names, "%s%s (%s)", names.len ? ", " : "", name, why);
    }
    if (nopen > MOST_NAMED)
        bt_text_addf(&names, " and %" PRIu32 " more", nopen - MOST_NAMED);
    const char *list = bt_text_get(&names);
    if (!list)
        return bt_no_memory();
    if (nopen)
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_UNSUPPORTED,
                          "target cpu leaves %" PRIu32 " of %" PRIu32
                          " kernels to the evaluator, which is slow: %s; where a reason "
                          "is a size, --dim NAME=N gives a number for it",
                          nopen, n, list));
    return NULL;
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    const struct instance *in = self;
    struct cpu_work *works;
    BT_TRY(note_evaluated(ctx, arena, n, kernels));
    BT_TRY(cpu_kernel_works(arena, n, kernels, &works));
    return cpu_engine_compile(ctx, arena, &in->request, form, n, works, out);
}

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **loaded)
{
    const struct instance *in = self;
    struct cpu_loaded *l;
    BT_TRY(cpu_loaded_create(ctx, in->pool, in->request.keeps_denormals, n, codes, &l));
    *loaded = l;
    return NULL;
}

static void unload(void *loaded)
{
    cpu_loaded_destroy(loaded);
}

static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel,
                        const bt_kernel_call *call)
{
    return cpu_loaded_launch(ctx, loaded, kernel, call);
}

/* "avx512": the narrowest machine that it runs on. */
static bt_status compatibility(bt_ctx *ctx, void *self, bt_text *out)
{
    const struct instance *in = self;
    (void)ctx;
    bt_text_addf(out, "%s", cpu_isa_name(in->config.isa));
    return NULL;
}

static bt_status accepts(bt_ctx *ctx, void *self, const char *line)
{
    (void)self;
    for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
        if (strcmp(line, cpu_isa_name((enum cpu_isa)isa)) == 0)
            return cpu_machine_check(ctx, (enum cpu_isa)isa);
    }
    return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                   "code of target cpu is for \"%s\", which is no machine that it knows",
                   line);
}

static double peak(void *self, uint32_t nthread)
{
    const struct instance *in = self;
    return cpu_peak(in->pool, nthread, in->config.isa);
}

static void describe(void *loaded, bt_text *out)
{
    cpu_loaded_describe(loaded, out);
}

static const bt_target targets[] = {
    {
        .name = "cpu",
        .doc = "This machine's processors: vector primitives called by loops that are "
               "interpreted or compiled.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open,
        .close = close,
        .lower = lower,
        .compile = compile,
        .load = load,
        .unload = unload,
        .launch = launch,
        .reads_layouts = 1,
        .takes_dims = 1,
        .makes_versions = 1,
        .cost = cost,
        .peak = peak,
        .describe = describe,
        .compatibility = compatibility,
        .accepts = accepts,
        .beside = "c",
        .explain = explain,
    },
    { 0 },
};

const bt_table bt_targets_cpu_cpu[] = { BT_TARGETS(targets), { 0 } };
