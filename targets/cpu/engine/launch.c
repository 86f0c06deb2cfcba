/* Loaded kernels, and launching them. */
#include "launch.h"

#include <inttypes.h>
#include <string.h>

#include <baton/compiler.h>
#include <baton/compute.h>

#include "c_text.h"
#include "code.h"
#include "integer.h"
#include "kernel.h"
#include "plan_run.h"

typedef int64_t operator_fn(uint32_t scalar, bt_dtype, int64_t a, int64_t b);
/* A phase as machine code: c_text.h says what it takes. */
typedef int phase_fn(int64_t *n, void **p, void *const *buffers, void *locals,
                     cpu_primitive *const *callees, operator_fn *, int64_t first,
                     int64_t end);

struct kernel {
    const struct cpu_code_kernel *code;
    const struct cpu_callee *callees;
    cpu_primitive *const *runs; /* those of the callees */
    phase_fn *const *phases;    /* NULL: the plan is interpreted */
    int64_t lane_nbytes, locals_offset;
};

struct cpu_loaded {
    bt_arena *arena;
    struct cpu_pool *pool;
    bt_registry *registry;
    char *reserved; /* memory of the pool's workers ... */
    size_t reserved_nbytes;
    char *scratch; /* ... where it is aligned: what a caller has as workspace, ... */
    size_t scratch_nbytes; /* ... for each of them */
    struct cpu_code code;
    struct kernel *kernels;
    bt_evaluator *evaluator;
    bt_code *machine_code;
    const char *refused; /* why the machine code is not used; NULL: it is, or is none */
};

/* ---- loading ---- */

bt_status cpu_machine_check(bt_ctx *ctx, enum cpu_isa isa)
{
    enum cpu_isa here = cpu_isa_chosen();
    if (isa > here)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "code of target cpu is for %s, this machine has %s: compile the "
                       "module here, or there with BATON_CPU=%s",
                       cpu_isa_name(isa), cpu_isa_name(here), cpu_isa_name(here));
    return NULL;
}

static bt_status check_machine(bt_ctx *ctx, const struct cpu_code *code)
{
    if (code->isa >= CPU_ISA_COUNT || code->engine > CPU_ENGINE_OBJECT)
        return bt_fail(ctx, BT_ERR_FORMAT, "code of target cpu is damaged");
    return cpu_machine_check(ctx, (enum cpu_isa)code->isa);
}

static bt_status find_callees(bt_ctx *ctx, struct cpu_loaded *l, struct kernel *k)
{
    const struct plan *plan = &k->code->plan;
    struct cpu_callee *callees = BT_NEWS(l->arena, struct cpu_callee, plan->ncallee);
    cpu_primitive **runs = BT_NEWS(l->arena, cpu_primitive *, plan->ncallee);
    if (!callees || !runs)
        return bt_no_memory();
    for (uint32_t i = 0; i < plan->ncallee; i++) {
        if (!cpu_callee_find((enum cpu_isa)l->code.isa, plan->callees[i], &callees[i]))
            return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                           "kernel %s calls %s, which target cpu has not: compile the "
                           "module again",
                           plan->name, plan->callees[i]);
        runs[i] = callees[i].run;
    }
    k->callees = callees;
    k->runs = runs;
    return NULL;
}

static bt_status find_phases(bt_ctx *ctx, struct cpu_loaded *l, uint32_t number)
{
    struct kernel *k = &l->kernels[number];
    uint32_t n = k->code->plan.nphase;
    phase_fn **phases = BT_NEWS(l->arena, phase_fn *, n);
    if (!phases)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        bt_text name;
        bt_text_init(&name, l->arena);
        c_text_name(&name, number, i);
        if (!bt_text_get(&name))
            return bt_no_memory();
        phases[i] = (phase_fn *)bt_code_find(l->machine_code, bt_text_get(&name));
        if (!phases[i])
            return bt_fail(ctx, BT_ERR_FORMAT, "code of target cpu has no %s",
                           bt_text_get(&name));
    }
    k->phases = phases;
    return NULL;
}

static bt_status check_function(bt_ctx *ctx, const struct cpu_loaded *l,
                                const struct cpu_code_kernel *k)
{
    if (k->function == CPU_NO_FUNCTION && !k->is_evaluated)
        return NULL;
    if (!l->evaluator || k->function >= bt_evaluator_nfunction(l->evaluator))
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "code of target cpu is damaged: a function is missing");
    return NULL;
}

static bt_status load_kernel(bt_ctx *ctx, struct cpu_loaded *l, uint32_t number)
{
    struct kernel *k = &l->kernels[number];
    k->code = &l->code.kernels[number];
    BT_TRY(check_function(ctx, l, k->code));
    if (k->code->is_evaluated)
        return NULL;
    BT_TRY(find_callees(ctx, l, k));
    BT_TRY(plan_check(ctx, &k->code->plan, k->callees));
    k->lane_nbytes = plan_lane_nbytes(&k->code->plan);
    k->locals_offset = plan_locals_offset(&k->code->plan);
    return l->machine_code ? find_phases(ctx, l, number) : NULL;
}

static int is_parallel(const struct plan *plan)
{
    int is = 0;
    for (uint32_t i = 0; i < plan->nphase; i++)
        is |= plan->phases[i].is_parallel != 0;
    return is;
}

/* A system that lets nobody have memory for machine code still runs plans. */
static bt_status load_machine_code(bt_ctx *ctx, struct cpu_loaded *l)
{
    const bt_code_object object = { "cpu code", l->code.object, l->code.object_nbytes };
    if (l->code.engine != CPU_ENGINE_OBJECT)
        return NULL;
    bt_status status = bt_code_load(ctx, 1, &object, NULL, &l->machine_code);
    if (!status || status->code != BT_ERR_IO)
        return status;
    l->refused = bt_arena_text(l->arena, status->message, strlen(status->message));
    return l->refused ? NULL : bt_no_memory();
}

/* The hook that a pool keeps. */
static void *allocate(void *registry, void *pointer, size_t old_nbytes, size_t nbytes)
{
    if (nbytes)
        return bt_realloc(registry, pointer, old_nbytes, nbytes);
    bt_free(registry, pointer, old_nbytes);
    return NULL;
}

bt_allocator cpu_allocator(bt_registry *registry)
{
    return (bt_allocator){ registry, allocate };
}

/* Only one call has the pool at a time: its workers need no more than the kernel of them
 * that needs most. */
static bt_status reserve_scratch(struct cpu_loaded *l)
{
    enum { LINE = 128 }; // no two threads write to one
    const size_t nworker = cpu_pool_nthread(l->pool) - 1;
    int64_t most = 0, nbytes;
    for (uint32_t i = 0; i < l->code.nkernel; i++) {
        if (l->kernels[i].lane_nbytes > most && is_parallel(&l->code.kernels[i].plan))
            most = l->kernels[i].lane_nbytes;
    }
    if (most > INT64_MAX - LINE ||
        !bt_mul_int64((most + LINE - 1) / LINE * LINE, (int64_t)nworker, &nbytes) ||
        nbytes > INT64_MAX - LINE)
        return bt_no_memory();
    l->scratch_nbytes = (size_t)(most + LINE - 1) / LINE * LINE;
    l->reserved_nbytes = nbytes ? (size_t)nbytes + LINE : 0;
    l->reserved = nbytes ? bt_alloc(l->registry, l->reserved_nbytes) : NULL;
    if (nbytes && !l->reserved)
        return bt_no_memory();
    l->scratch = l->reserved + (LINE - (uintptr_t)l->reserved % LINE) % LINE;
    return NULL;
}

static bt_status load_all(bt_ctx *ctx, struct cpu_loaded *l, const void *code,
                          size_t nbytes)
{
    BT_TRY(cpu_code_read(ctx, l->arena, code, nbytes, &l->code));
    BT_TRY(check_machine(ctx, &l->code));
    if (l->code.functions_nbytes)
        BT_TRY(bt_evaluator_create(ctx, l->code.functions, l->code.functions_nbytes,
                                   &l->evaluator));
    BT_TRY(load_machine_code(ctx, l));
    l->kernels = BT_NEWS(l->arena, struct kernel, l->code.nkernel);
    if (!l->kernels)
        return bt_no_memory();
    for (uint32_t i = 0; i < l->code.nkernel; i++)
        BT_TRY(load_kernel(ctx, l, i));
    return reserve_scratch(l);
}

bt_status cpu_loaded_create(bt_ctx *ctx, struct cpu_pool *pool, const void *code,
                            size_t nbytes, struct cpu_loaded **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct cpu_loaded *l = arena ? BT_NEW(arena, struct cpu_loaded) : NULL;
    if (!l) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    l->arena = arena;
    l->registry = bt_ctx_registry(ctx);
    l->pool = pool;
    bt_status status = load_all(ctx, l, code, nbytes);
    if (status)
        cpu_loaded_destroy(l);
    else
        *out = l;
    return status;
}

void cpu_loaded_destroy(struct cpu_loaded *l)
{
    if (!l)
        return;
    bt_code_unload(l->machine_code);
    bt_evaluator_destroy(l->evaluator);
    if (l->reserved)
        bt_free(l->registry, l->reserved, l->reserved_nbytes);
    bt_arena_destroy(l->arena);
}

/* ---- launching ---- */

struct phase_run {
    const struct cpu_loaded *loaded;
    const struct kernel *kernel;
    uint32_t phase;
    const bt_kernel_call *call;
};

/* Registers and locals of a thread. */
static char *memory_of(const struct phase_run *r, uint32_t lane)
{
    const struct cpu_loaded *l = r->loaded;
    return lane ? l->scratch + (lane - 1) * l->scratch_nbytes : r->call->workspace;
}

/* Turns of a phase in a lane: cpu_pool_work. */
static int32_t run_turns(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    const struct phase_run *r = arg;
    const struct kernel *k = r->kernel;
    const struct plan *plan = &k->code->plan;
    char *memory = memory_of(r, lane);
    struct plan_frame f = { .buffers = r->call->buffers,
                            .locals = memory + k->locals_offset,
                            .n = (int64_t *)(void *)memory,
                            .callees = k->callees,
                            .first = first,
                            .end = end };
    f.p = (void **)(void *)(f.n + plan->nn);
    return plan_run(plan, &plan->phases[r->phase], &f);
}

/* The same by machine code. */
static int32_t run_machine_code(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    const struct phase_run *r = arg;
    const struct kernel *k = r->kernel;
    const struct plan *plan = &k->code->plan;
    char *memory = memory_of(r, lane);
    int64_t *n = (int64_t *)(void *)memory;
    return k->phases[r->phase](n, (void **)(void *)(n + plan->nn), r->call->buffers,
                               memory + k->locals_offset, k->runs, cpu_integer_eval,
                               first, end);
}

/* What a check of the kernel found, in its own words or, where the evaluator can be asked,
 * in those of the evaluator, which knows the index. */
static bt_status explain(bt_ctx *ctx, const struct cpu_loaded *l, const struct kernel *k,
                         int32_t fault, const bt_kernel_call *call)
{
    const struct plan *plan = &k->code->plan;
    const struct plan_check *check = &plan->checks[fault - 1];
    if (k->code->function != CPU_NO_FUNCTION)
        BT_TRY(bt_evaluator_run(ctx, l->evaluator, k->code->function, call));
    return bt_fail(ctx, BT_ERR_RUNTIME,
                   "%s: an index is out of bounds for axis %" PRIu32
                   " of %s, whose extent is %" PRId64,
                   plan->name, check->axis, check->array, check->bound);
}

bt_status cpu_loaded_launch(bt_ctx *ctx, struct cpu_loaded *l, uint32_t number,
                            const bt_kernel_call *call)
{
    const struct kernel *k = &l->kernels[number];
    const struct plan *plan = &k->code->plan;
    cpu_pool_work *work = k->phases ? run_machine_code : run_turns;
    if (k->code->is_evaluated)
        return bt_evaluator_run(ctx, l->evaluator, k->code->function, call);
    struct phase_run r = { .loaded = l, .kernel = k, .call = call };
    for (uint32_t i = 0; i < plan->nphase; i++) {
        int64_t extent = plan->phases[i].extent;
        r.phase = i;
        if (call->stop && __atomic_load_n(call->stop, __ATOMIC_RELAXED))
            return bt_fail(ctx, BT_ERR_CANCELLED, "cancelled");
        int32_t fault = plan->phases[i].is_parallel
                            ? cpu_pool_run(l->pool, extent, work, &r)
                            : work(&r, 0, 1, 0);
        if (fault)
            return explain(ctx, l, k, fault, call);
    }
    return NULL;
}

void cpu_loaded_describe(const struct cpu_loaded *l, bt_text *out)
{
    uint32_t nevaluated = 0;
    bt_text_addf(out, "engine: %s\n", l->code.made);
    if (l->refused)
        bt_text_addf(out, "plans are interpreted: %s\n", l->refused);
    bt_text_addf(out, "instructions: %s\nthreads: %" PRIu32 "\n",
                 cpu_isa_name((enum cpu_isa)l->code.isa), cpu_pool_nthread(l->pool));
    for (uint32_t i = 0; i < l->code.nkernel; i++)
        nevaluated += l->code.kernels[i].is_evaluated;
    bt_text_addf(out, "kernels: %" PRIu32 ", by the evaluator: %" PRIu32 "\n",
                 l->code.nkernel, nevaluated);
    for (uint32_t i = 0; i < l->code.nkernel; i++) {
        if (l->code.kernels[i].is_evaluated)
            bt_text_addf(out, "  %s\n", l->code.kernels[i].why);
    }
}
