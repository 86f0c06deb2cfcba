/*
 * cpu: the processor as a target. Primitive functions become loops around vector
 * primitives (schedule.h), those become bytecode (bytecode.h), which is interpreted or
 * compiled by way of C, and is run by a pool of threads.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include <baton/compiler.h>
#include <baton/compute.h>
#include <baton/op.h>
#include <baton/target.h>

#include "engine/engine.h"
#include "engine/launch.h"
#include "engine/peak.h"
#include "kernel.h"
#include "layouts.h"
#include "schedule/choice.h"
#include "schedule/schedule.h"
#include "schedule/vectorise.h"
#include "schedule/ways.h"
#include "tune.h"

struct options {
    const char *engine, *compiler, *denormals, *accuracy, *weights;
    int64_t threads;
    const char *tune, *way;
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
        "sums of products: exact has all their terms in float32, in a stated order; "
        "default may do without some products of convolutions, and on processors with "
        "AMX put factors together from two bfloat16, with errors of the order of "
        "float32's; fast may round factors to bfloat16, where this machine multiplies "
        "these faster, with errors of about 3e-3 of the largest result"),
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
    BT_ATTR(
        struct options, way, STRING, "",
        "a plugin's way to compute, which is taken wherever it has a program, whatever "
        "its estimate"),
    { 0 },
};

static const char *const compile_options[] = { "engine",  "compiler", "accuracy",
                                               "weights", "tune",     NULL },
                         *const unnamed_options[] = { "tune", NULL };

struct instance {
    bt_registry *registry;
    bt_allocator allocator;
    struct cpu_config config;
    pthread_mutex_t
        mutex;   /* of the config, which is made ready when something is compiled */
    bt_map rows; /* of its set */
    struct cpu_ways ways; /* of plugins */
    struct cpu_pool *pool;
    struct cpu_engine_request request; /* texts in the arena */
    struct cpu_tuner *tuner;           /* NULL: nothing is tuned */
    uint32_t compiled_isa; /* the widest that code made so far needs, plus 1; atomic */
    bt_arena *arena;
};

static void close(void *self)
{
    struct instance *in = self;
    cpu_tuner_destroy(in->tuner);
    cpu_pool_destroy(in->pool);
    pthread_mutex_destroy(&in->mutex);
    bt_arena_destroy(in->arena);
}

/* The instruction set that is asked for; NULL: none is, which an empty variable means, too. */
static const char *wanted_isa(bt_ctx *ctx)
{
    const char *name = bt_variable(ctx, "BATON_CPU");
    return name && *name ? name : NULL;
}

/* The widest set that is of use. AVX512-BF16 and AMX add nothing but products of bfloat16. Those of
 * AMX are used unless sums are to be exact, those of AVX512-BF16 where accuracy is "fast" and they
 * are faster than products of float32, or BATON_CPU names a set. Both take denormals for zeros. */
static enum cpu_isa choose_isa(bt_ctx *ctx, uint32_t accuracy, int keeps_denormals)
{
    const char *wanted = wanted_isa(ctx);
    const enum cpu_isa widest = cpu_isa_chosen(wanted);
    if (keeps_denormals && widest >= CPU_ISA_AVX512BF16)
        return CPU_ISA_AVX512;
    if (widest < CPU_ISA_AVX512BF16 || (accuracy != CPU_EXACT && widest >= CPU_ISA_AMX) ||
        (accuracy == CPU_FAST && (wanted || cpu_has_fast_bf16())))
        return widest;
    return CPU_ISA_AVX512;
}

/* Says so where that is not the set which BATON_CPU names. */
static void remark_isa(bt_ctx *ctx, const struct options *o, enum cpu_isa taken)
{
    const char *wanted = wanted_isa(ctx);
    if (wanted && cpu_isa_find(wanted) > (int)taken)
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_UNSUPPORTED,
                          "BATON_CPU is %s, which has products of bfloat16 more than %s: "
                          "with accuracy=\"%s\" and denormals=\"%s\" there are none, "
                          "and %s is taken",
                          wanted, cpu_isa_name(taken), o->accuracy, o->denormals,
                          cpu_isa_name(taken)));
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
    remark_isa(ctx, o, in->config.isa);
    in->config.has_small_weights = strcmp(o->weights, "small") == 0;
    if (*o->way)
        in->config.way = bt_arena_text(in->arena, o->way, strlen(o->way));
    if (*o->way && !in->config.way)
        return bt_no_memory();
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

/* What only who compiles needs: leave to use AMX, or else the set below, rows, plugins of ways. */
static bt_status prepare(bt_ctx *ctx, struct instance *in)
{
    if (!cpu_isa_request(in->config.isa))
        in->config.isa = in->request.isa = CPU_ISA_AVX512;
    bt_map_init(&in->rows, in->arena, 1);
    if (!cpu_callee_index(in->config.isa, &in->rows))
        return bt_no_memory();
    in->config.rows = &in->rows;
    BT_TRY(cpu_ways_find(ctx, in->arena, in->config.way, &in->ways));
    in->config.ways = &in->ways;
    return NULL;
}

/* What the instance compiles for. */
static bt_status config_of(bt_ctx *ctx, struct instance *in, struct cpu_config *out)
{
    (void)pthread_mutex_lock(&in->mutex);
    const bt_status status = in->config.ways ? NULL : prepare(ctx, in);
    *out = in->config;
    (void)pthread_mutex_unlock(&in->mutex);
    return status;
}

static bt_status begin_tuning(bt_ctx *ctx, const char *path, struct instance *in)
{
    if (!*path)
        return NULL;
    if (strcmp(path, "-") == 0)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "tuning records are in a file, not in -");
    const struct cpu_tuner_options o = {
        .path = path, .config = &in->config, .request = &in->request, .pool = in->pool
    };
    return cpu_tuner_create(ctx, &o, &in->tuner);
}

static bt_status check_variable(bt_ctx *ctx)
{
    const char *name = wanted_isa(ctx);
    const int isa = name ? cpu_isa_find(name) : CPU_ISA_PORTABLE;
    bt_text names;
    bt_text_init(&names, bt_ctx_scratch(ctx));
    for (int i = 0; isa < 0 && i < CPU_ISA_COUNT; i++)
        bt_text_addf(&names, "%s%s",
                     i == 0                  ? ""
                     : i + 1 < CPU_ISA_COUNT ? ", "
                                             : " or ",
                     cpu_isa_name((enum cpu_isa)i));
    if (isa < 0 && !bt_text_get(&names))
        return bt_no_memory();
    if (isa < 0)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "BATON_CPU is \"%s\", expected %s", name,
                       bt_text_get(&names));
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
    pthread_mutex_init(&in->mutex, NULL);
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
    struct cpu_config config;
    BT_TRY(config_of(ctx, in, &config));
    if (in->tuner)
        BT_TRY(cpu_tune(ctx, arena, in->tuner, primitive, &config.wanted));
    return cpu_kernel_lower(ctx, arena, &config, primitive, out);
}

/* The chooser's estimate, of one thread: it says which of two ways is better, and of the time
 * little more than its order. */
static bt_status cost(bt_ctx *ctx, void *self, const bt_func *primitive, bt_cost *out)
{
    struct cpu_config config;
    BT_TRY(config_of(ctx, self, &config));
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_loops *loops;
    if (!arena)
        return bt_no_memory();
    bt_status status = cpu_schedule(ctx, arena, &config, primitive, NULL, &loops);
    *out = (bt_cost){ .confidence = 0 }; // of the evaluator nothing is known
    if (!status)
        *out = (bt_cost){ cpu_cost(&config, &loops->body), .confidence = 0.5 };
    bt_arena_destroy(arena);
    return status && status->code != BT_ERR_UNSUPPORTED ? status : NULL;
}

/* What there was to choose for a function, and the program that was taken. */
struct explained {
    struct cpu_config config;
    struct cpu_choices choices;
    bt_loops *loops;
};

static bt_status choose(bt_ctx *ctx, struct instance *in, const bt_func *primitive,
                        bt_arena *arena, struct explained *out)
{
    out->choices = (struct cpu_choices){ .arena = arena };
    BT_TRY(config_of(ctx, in, &out->config));
    out->config.choices = &out->choices;
    if (in->tuner)
        BT_TRY(cpu_tune(ctx, arena, in->tuner, primitive, &out->config.wanted));
    return cpu_schedule(ctx, arena, &out->config, primitive, NULL, &out->loops);
}

static bt_status explain(bt_ctx *ctx, void *self, const bt_func *primitive, bt_text *out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct explained e;
    if (!arena)
        return bt_no_memory();
    bt_status status = choose(ctx, self, primitive, arena, &e);
    if (!status) {
        cpu_choices_print(&e.choices, e.config.wanted, out);
        bt_text_addf(out, "all loops ");
        cpu_ms_print(29, cpu_cost(&e.config, &e.loops->body), out);
        bt_text_addf(out, "\n");
        if (primitive->nvar)
            bt_text_addf(out, "open dims are taken for %d, or a bound that is nearer%s\n",
                         CPU_OPEN_ITERATIONS,
                         bt_dict_find(&primitive->attrs, "versions")
                             ? "; of the versions this is the one for any"
                             : "");
    } else if (status->code == BT_ERR_UNSUPPORTED) {
        bt_text_addf(out, "by the evaluator: %s\n", status->message);
        status = NULL;
    }
    bt_arena_destroy(arena);
    return status;
}

/* Copies of what is shown. */
static bt_status copy_ways(const struct explained *e, bt_arena *arena, uint32_t *n,
                           const bt_target_way **out)
{
    bt_target_way *rows = BT_NEWS(arena, bt_target_way, e->choices.all.len);
    if (!rows)
        return bt_no_memory();
    for (uint32_t i = 0; i < e->choices.all.len; i++) {
        const struct cpu_choice *c = &e->choices.all.at[i];
        const struct cpu_choice *same =
            e->config.wanted ? cpu_find_choice(e->config.wanted, c) : NULL;
        if (!cpu_choice_is_shown(&e->choices, c))
            continue;
        bt_target_way *row = &rows[(*n)++];
        *row = (bt_target_way){ .name = bt_arena_text(arena, c->way, strlen(c->way)),
                                .sum = c->sum,
                                .is_taken = c->is_taken,
                                .ns = c->ns,
                                .measured_ns = same ? same->measured_ns : 0 };
        if (!row->name)
            return bt_no_memory();
    }
    *out = rows;
    return NULL;
}

static bt_status ways(bt_ctx *ctx, void *self, const bt_func *primitive, bt_arena *arena,
                      uint32_t *n, const bt_target_way **out)
{
    bt_arena *own = bt_arena_create(bt_ctx_registry(ctx));
    struct explained e;
    *n = 0;
    if (!own)
        return bt_no_memory();
    bt_status status = choose(ctx, self, primitive, own, &e);
    if (!status)
        status = copy_ways(&e, arena, n, out);
    bt_arena_destroy(own);
    return status && status->code == BT_ERR_UNSUPPORTED ? NULL : status;
}

/* ---- code ---- */

/* Says which kernels with open dims have no program, and why. */
static bt_status note_evaluated(bt_ctx *ctx, bt_arena *arena, uint32_t n,
                                const bt_kernel *const *kernels)
{
    enum { MAX_NAMED = 3 };
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
        if (nopen++ < MAX_NAMED)
            bt_text_addf(&names, "%s%s (%s)", names.len ? ", " : "", name, why);
    }
    if (nopen > MAX_NAMED)
        bt_text_addf(&names, " and %" PRIu32 " more", nopen - MAX_NAMED);
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

static int has_same_callees(enum cpu_isa a, enum cpu_isa b, uint32_t n,
                            const struct cpu_work *works)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct bytecode *bytecode = works[i].bytecode;
        for (uint32_t k = 0; bytecode && k < bytecode->ncallee; k++) {
            const struct cpu_callee *x = cpu_callee_find(a, bytecode->callees[k]),
                                    *y = cpu_callee_find(b, bytecode->callees[k]);
            if (!x || !y || x->run != y->run)
                return 0;
        }
    }
    return 1;
}

/* Sets with products of bfloat16 have nothing else of their own: where no kernel multiplies so, the
 * code runs on machines without these. */
static enum cpu_isa needed_isa(enum cpu_isa isa, uint32_t n, const struct cpu_work *works)
{
    for (int less = CPU_ISA_AVX512; less < (int)isa; less++) {
        if (has_same_callees((enum cpu_isa)less, isa, n, works))
            return (enum cpu_isa)less;
    }
    return isa;
}

static enum cpu_isa isa_of(struct instance *in)
{
    (void)pthread_mutex_lock(&in->mutex);
    const enum cpu_isa isa = in->config.isa;
    (void)pthread_mutex_unlock(&in->mutex);
    return isa;
}

static void note_isa(struct instance *in, enum cpu_isa isa)
{
    uint32_t known = __atomic_load_n(&in->compiled_isa, __ATOMIC_RELAXED);
    while (known < (uint32_t)isa + 1 &&
           !__atomic_compare_exchange_n(&in->compiled_isa, &known, (uint32_t)isa + 1, 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    struct instance *in = self;
    struct cpu_engine_request request = in->request;
    struct cpu_work *works;
    BT_TRY(note_evaluated(ctx, arena, n, kernels));
    BT_TRY(cpu_kernel_works(arena, n, kernels, &works));
    request.isa = needed_isa(request.isa, n, works);
    note_isa(in, request.isa);
    return cpu_engine_compile(ctx, arena, &request, form, n, works, out);
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
    struct instance *in = self;
    const uint32_t compiled = __atomic_load_n(&in->compiled_isa, __ATOMIC_RELAXED);
    (void)ctx;
    bt_text_addf(out, "%s",
                 cpu_isa_name(compiled ? (enum cpu_isa)(compiled - 1) : isa_of(in)));
    return NULL;
}

static bt_status accepts(bt_ctx *ctx, void *self, const char *line)
{
    const int isa = cpu_isa_find(line);
    (void)self;
    if (isa >= 0)
        return cpu_machine_check(ctx, (enum cpu_isa)isa);
    return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                   "code of target cpu is for \"%s\", which is no machine that it knows",
                   line);
}

static double peak(void *self, uint32_t nthread)
{
    struct instance *in = self;
    return cpu_peak(in->pool, nthread, isa_of(in));
}

static void describe(void *loaded, bt_text *out)
{
    cpu_loaded_describe(loaded, out);
}

static const bt_target targets[] = {
    {
        .name = "cpu",
        .doc = "This machine's processors: vector primitives called by loops that are "
               "interpreted or compiled. The environment's BATON_CPU names a narrower "
               "instruction set to use, of"
#define CPU_ISA(UPPER, lower, flags) " " #lower
#include "primitives/isa.def"
               ".",
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
        .layouts = cpu_layouts,
        .takes_dims = 1,
        .makes_versions = 1,
        .cost = cost,
        .peak = peak,
        .describe = describe,
        .compatibility = compatibility,
        .accepts = accepts,
        .beside = "c",
        .explain = explain,
        .compile_options = compile_options,
        .unnamed_options = unnamed_options,
        .ways = ways,
    },
    { 0 },
};

const bt_table bt_targets_cpu_cpu[] = { BT_TARGETS(targets), { 0 } };
