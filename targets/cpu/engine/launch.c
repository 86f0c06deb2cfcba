/* Loaded kernels, and launching them. */
#include "launch.h"

#include <inttypes.h>
#include <string.h>

#include <baton/compiler.h>
#include <baton/compute.h>
#include <baton/graph.h>

#include "bytecode_run.h"
#include "code.h"
#include "engine.h"
#include "modes.h"

struct kernel {
    const bt_kernel_code *code;
    struct cpu_code own;
    const struct cpu_callee *const *callees;
    bt_kernel_fn *run; /* NULL: the bytecode is interpreted */
    bt_evaluator *evaluator;
    int64_t scratch_nbytes, locals_offset;
};

struct cpu_loaded {
    bt_arena *arena;
    bt_registry *registry;
    struct cpu_pool *pool;
    int keeps_denormals;
    char *reserved; /* memory of the pool's workers ... */
    size_t reserved_nbytes;
    char *scratch; /* ... where it is aligned: what a caller has as workspace, ... */
    size_t scratch_nbytes; /* ... for each of them */
    uintptr_t last_read;   /* a large buffer, 1 added where its end was read first */
    uint32_t nkernel;
    struct kernel *kernels;
    bt_code *machine_code;
    const char *refused; /* why the machine code is not used; NULL: it is, or is none */
};

/* ---- loading ---- */

bt_status cpu_machine_check(bt_ctx *ctx, enum cpu_isa isa)
{
    enum cpu_isa here = cpu_isa_chosen(bt_variable(ctx, "BATON_CPU"));
    if (isa > here)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "code of target cpu is for %s, this machine has %s: compile the "
                       "module here, or there with BATON_CPU=%s",
                       cpu_isa_name(isa), cpu_isa_name(here), cpu_isa_name(here));
    return NULL;
}

static bt_status find_callees(bt_ctx *ctx, struct cpu_loaded *l, struct kernel *k)
{
    const struct bytecode *bytecode = &k->own.bytecode;
    const struct cpu_callee **callees =
        BT_NEWS(l->arena, const struct cpu_callee *, bytecode->ncallee);
    if (!callees)
        return bt_no_memory();
    for (uint32_t i = 0; i < bytecode->ncallee; i++) {
        callees[i] = cpu_callee_find((enum cpu_isa)k->own.isa, bytecode->callees[i]);
        if (!callees[i])
            return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                           "kernel %s calls %s, which target cpu has not: compile the "
                           "module again",
                           bytecode->name, bytecode->callees[i]);
    }
    k->callees = callees;
    return NULL;
}

static bt_status load_function(bt_ctx *ctx, struct kernel *k)
{
    if (!k->own.function_nbytes && !k->own.is_evaluated)
        return NULL;
    return bt_evaluator_create(ctx, k->own.function, k->own.function_nbytes,
                               &k->evaluator);
}

static bt_status load_kernel(bt_ctx *ctx, struct cpu_loaded *l, struct kernel *k)
{
    BT_TRY(cpu_code_read(ctx, l->arena, k->code->own, k->code->own_nbytes, &k->own));
    if (k->own.isa >= CPU_ISA_COUNT)
        return bt_fail(ctx, BT_ERR_FORMAT, "code of target cpu is damaged");
    const enum cpu_isa isa = (enum cpu_isa)k->own.isa;
    BT_TRY(cpu_machine_check(ctx, isa));
    if (!cpu_isa_request(isa))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "code of target cpu is for %s, which the system refuses to this "
                       "process: compile the module with BATON_CPU=%s",
                       cpu_isa_name(isa), cpu_isa_name(CPU_ISA_AVX512));
    BT_TRY(load_function(ctx, k));
    if (k->own.is_evaluated)
        return NULL;
    k->own.bytecode.ncheck = k->code->nfault;
    BT_TRY(find_callees(ctx, l, k));
    BT_TRY(bytecode_check(ctx, &k->own.bytecode, k->callees));
    k->scratch_nbytes = bytecode_scratch_nbytes(&k->own.bytecode);
    k->locals_offset = bytecode_locals_offset(&k->own.bytecode);
    return NULL;
}

static int is_parallel(const struct bytecode *bytecode)
{
    int is = 0;
    for (uint32_t i = 0; i < bytecode->nphase; i++)
        is |= bytecode->phases[i].is_parallel != 0;
    return is;
}

/* Whether a kernel before it is of the same object. */
static int is_known(const struct cpu_loaded *l, uint32_t number)
{
    uint32_t i = 0;
    while (i < number && (l->kernels[i].code->form != BT_CODE_OBJECT ||
                          l->kernels[i].code->at != l->kernels[number].code->at))
        i++;
    return i < number;
}

static bt_status find_functions(bt_ctx *ctx, struct cpu_loaded *l)
{
    for (uint32_t i = 0; i < l->nkernel; i++) {
        struct kernel *k = &l->kernels[i];
        if (k->own.is_evaluated || k->code->form != BT_CODE_OBJECT)
            continue;
        k->run = k->code->symbol
                     ? (bt_kernel_fn *)bt_code_find(l->machine_code, k->code->symbol)
                     : NULL;
        if (!k->run)
            return bt_fail(ctx, BT_ERR_FORMAT, "code of target cpu has no %s",
                           k->code->symbol ? k->code->symbol : "symbol");
    }
    return NULL;
}

/* A system that lets nobody have memory for machine code still runs bytecode. */
static bt_status load_machine_code(bt_ctx *ctx, struct cpu_loaded *l)
{
    bt_vec(bt_code_object) objects = { 0 };
    const struct bytecode **bytecodes =
        BT_NEWS(l->arena, const struct bytecode *, l->nkernel);
    uint32_t isa = CPU_ISA_PORTABLE; // the widest: it has all that the others call
    if (!bytecodes)
        return bt_no_memory();
    for (uint32_t i = 0; i < l->nkernel; i++) {
        isa = l->kernels[i].own.isa > isa ? l->kernels[i].own.isa : isa;
        const bt_kernel_code *code = l->kernels[i].code;
        const bt_code_object object = { "cpu code", code->at, code->nbytes };
        bytecodes[i] = &l->kernels[i].own.bytecode;
        if (code->form == BT_CODE_OBJECT && !is_known(l, i) &&
            !BT_PUSH(l->arena, &objects, object))
            return bt_no_memory();
    }
    const bt_symbol *symbols =
        cpu_engine_symbols(l->arena, (enum cpu_isa)isa, l->nkernel, bytecodes);
    if (!symbols)
        return bt_no_memory();
    if (!objects.len)
        return NULL;
    bt_status status =
        bt_code_load(ctx, objects.len, objects.at, symbols, &l->machine_code);
    if (!status)
        return find_functions(ctx, l);
    if (status->code != BT_ERR_IO)
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
    for (uint32_t i = 0; i < l->nkernel; i++) {
        if (l->kernels[i].scratch_nbytes > most &&
            is_parallel(&l->kernels[i].own.bytecode))
            most = l->kernels[i].scratch_nbytes;
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

static bt_status load_all(bt_ctx *ctx, struct cpu_loaded *l, uint32_t n,
                          const bt_kernel_code *const *codes)
{
    l->kernels = BT_NEWS(l->arena, struct kernel, n);
    if (!l->kernels)
        return bt_no_memory();
    for (; l->nkernel < n; l->nkernel++) {
        struct kernel *k = &l->kernels[l->nkernel];
        k->code = codes[l->nkernel];
        bt_status status = load_kernel(ctx, l, k);
        if (status) {
            bt_evaluator_destroy(k->evaluator);
            return status;
        }
    }
    BT_TRY(load_machine_code(ctx, l));
    return reserve_scratch(l);
}

bt_status cpu_loaded_create(bt_ctx *ctx, struct cpu_pool *pool, int keeps_denormals,
                            uint32_t n, const bt_kernel_code *const *codes,
                            struct cpu_loaded **out)
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
    l->keeps_denormals = keeps_denormals;
    bt_status status = load_all(ctx, l, n, codes);
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
    for (uint32_t i = 0; i < l->nkernel; i++)
        bt_evaluator_destroy(l->kernels[i].evaluator);
    if (l->reserved)
        bt_free(l->registry, l->reserved, l->reserved_nbytes);
    bt_arena_destroy(l->arena);
}

/* ---- launching ---- */

struct launch {
    const struct cpu_loaded *loaded;
    const struct kernel *kernel;
    bt_kernel_call call; /* of a phase */
    int is_backward;
};

/* The bytecode's phase: what machine code of it does. */
static int32_t run_bytecode(const struct kernel *k, const bt_kernel_call *call)
{
    const struct bytecode *bytecode = &k->own.bytecode;
    struct bytecode_frame f = { .buffers = call->buffers,
                                .dims = call->dims,
                                .locals = (char *)call->scratch + k->locals_offset,
                                .n = call->scratch,
                                .callees = k->callees,
                                .first = call->first,
                                .end = call->end,
                                .stop = call->stop };
    f.p = (void **)(void *)(f.n + bytecode->nn);
    return bytecode_run(bytecode, &bytecode->phases[call->phase], &f);
}

static int32_t run_kernel(const struct kernel *k, const bt_kernel_call *call)
{
    return k->run ? k->run(call) : run_bytecode(k, call);
}

/* The last iterations first, some at a time. Of several faults the first iteration's is
 * told. */
static int32_t run_backward(const struct kernel *k, const bt_kernel_call *call)
{
    enum { MAX_PIECES = 32 };
    const int64_t n = (call->end - call->first + MAX_PIECES - 1) / MAX_PIECES;
    bt_kernel_call piece = *call;
    int32_t fault = 0;
    for (int64_t left = call->end - call->first; left > 0 && fault != BT_FAULT_STOPPED;
         left -= n) {
        piece.end = call->first + left;
        piece.first = left > n ? piece.end - n : call->first;
        const int32_t found = run_kernel(k, &piece);
        fault = found ? found : fault;
    }
    return fault;
}

/* cpu_pool_work: iterations of a phase, by a thread that has registers of its own. */
static int32_t work(void *arg, int64_t first, int64_t end, uint32_t worker)
{
    const struct launch *launch = arg;
    const struct cpu_loaded *l = launch->loaded;
    bt_kernel_call call = launch->call;
    call.worker = worker;
    call.first = first;
    call.end = end;
    call.scratch =
        worker ? l->scratch + (worker - 1) * l->scratch_nbytes : call.workspace;
    return launch->is_backward ? run_backward(launch->kernel, &call)
                               : run_kernel(launch->kernel, &call);
}

/* A fault in its own words or, where the evaluator can be asked, in those of the evaluator,
 * which knows the index. */
static bt_status explain(bt_ctx *ctx, const struct kernel *k, int32_t fault,
                         const bt_kernel_call *call)
{
    if (fault > 0 && k->evaluator)
        BT_TRY(bt_evaluator_run(ctx, k->evaluator, call));
    return bt_kernel_fault(ctx, k->own.bytecode.name, fault, k->code->nfault,
                           k->code->faults);
}

/* Where a phase counts the iterations of the next one, they are in the caller's registers. */
static int64_t iterations_of(const struct bytecode_phase *phase,
                             const bt_kernel_call *call)
{
    int64_t known = phase->is_parallel ? phase->extent : 1;
    int64_t iterations =
        known < 0 ? ((const int64_t *)call->workspace)[-1 - known] : known;
    return iterations < 0 ? 0 : iterations;
}

/* All phases: 0 or a fault. */
static int32_t run_phases(struct launch *launch)
{
    const struct bytecode *bytecode = &launch->kernel->own.bytecode;
    const uint32_t *stop = launch->call.stop;
    int32_t fault = 0;
    for (uint32_t i = 0; !fault && i < bytecode->nphase; i++) {
        launch->call.phase = i;
        if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED))
            return BT_FAULT_STOPPED;
        const int64_t iterations = iterations_of(&bytecode->phases[i], &launch->call);
        if (iterations)
            fault = bytecode->phases[i].is_parallel
                        ? cpu_pool_run(launch->loaded->pool, iterations,
                                       bytecode->phases[i].is_parallel == CPU_SHORT, work,
                                       launch)
                        : work(launch, 0, iterations, 0);
    }
    return fault;
}

/* Beyond these limits, what bytecode computes with dims could overflow. */
static bt_status check_dims(bt_ctx *ctx, const struct bytecode *bytecode,
                            const bt_kernel_call *call)
{
    for (uint32_t i = 0; i < bytecode->ndim; i++) {
        if (call->dims[i] < 0 || call->dims[i] > BT_MAX_DIM)
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "kernel %s: dim %" PRIu32 " is %" PRId64
                           ", expected 0 to %" PRId64,
                           bytecode->name, i, call->dims[i], BT_MAX_DIM);
    }
    return NULL;
}

/* Whether the last iterations come first: if the end of the same buffer is what the launch before
 * read last. The steps of a recurrence may be kernels of their own with the weights in common.
 * Sessions that launch at once take turns with each other, which only costs time. */
static int is_backward(struct cpu_loaded *l, const struct kernel *k,
                       const bt_kernel_call *call)
{
    const uint32_t alternates = k->own.bytecode.alternates;
    if (!alternates)
        return 0;
    const uintptr_t at = (uintptr_t)call->buffers[alternates - 1] & ~(uintptr_t)1;
    const uintptr_t last = __atomic_load_n(&l->last_read, __ATOMIC_RELAXED);
    const uintptr_t now = last == at ? at + 1 : at;
    __atomic_store_n(&l->last_read, now, __ATOMIC_RELAXED);
    return now != at;
}

bt_status cpu_loaded_launch(bt_ctx *ctx, struct cpu_loaded *l, uint32_t number,
                            const bt_kernel_call *call)
{
    struct kernel *k = &l->kernels[number];
    struct launch launch = {
        .loaded = l, .kernel = k, .call = *call, .is_backward = is_backward(l, k, call)
    };
    if (k->own.is_evaluated)
        return bt_evaluator_run(ctx, k->evaluator, call);
    BT_TRY(check_dims(ctx, &k->own.bytecode, call));
    const uint32_t modes = cpu_modes_get(); // the pool's threads take those of the caller
    cpu_modes_set(cpu_modes_of_kernels(modes, l->keeps_denormals));
    int32_t fault = run_phases(&launch);
    cpu_modes_set(modes);
    return fault ? explain(ctx, k, fault, call) : NULL;
}

void cpu_loaded_describe(const struct cpu_loaded *l, bt_text *out)
{
    const struct cpu_code *first = &l->kernels[0].own;
    uint32_t nevaluated = 0;
    bt_text_addf(out, "engine: %s\n", first->made);
    if (l->refused)
        bt_text_addf(out, "bytecode is interpreted: %s\n", l->refused);
    bt_text_addf(out, "instructions: %s\nthreads: %" PRIu32 "\n",
                 cpu_isa_name((enum cpu_isa)first->isa), cpu_pool_nthread(l->pool));
    for (uint32_t i = 0; i < l->nkernel; i++)
        nevaluated += l->kernels[i].own.is_evaluated;
    bt_text_addf(out, "kernels: %" PRIu32 ", by the evaluator: %" PRIu32 "\n", l->nkernel,
                 nevaluated);
    for (uint32_t i = 0; i < l->nkernel; i++) {
        if (l->kernels[i].own.is_evaluated)
            bt_text_addf(out, "  %s\n", l->kernels[i].own.why);
    }
}
