#include "trial.h"

#include <string.h>
#include <unistd.h>

#include <baton/compiled.h>
#include <baton/target.h>

#include "engine/launch.h"
#include "kernel.h"
#include "schedule/schedule.h"

enum { NRUN = 7, FEW_NRUN = 3, LONG_NS = 50000000, MAX_SWEPT = 64 << 20 };

/* A function, compiled in one way, with its memory. */
struct trial {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct cpu_trial *of;
    const bt_loops *loops; /* of->loops */
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

/* Caches are before each run as they are in a network: they hold what other functions have read, so
 * one tensor is read that fills them; then what functions share, workspaces and temps, and the
 * function's data, which the function before has just written. */
static void fill_caches(const struct trial *t)
{
    const bt_lowering *l = &t->lowering;
    const uint32_t nresult = t->loops->results.len, first_temp = t->ninput + nresult;
    touch(t->tensors[t->ntensor - 1]);
    for (uint32_t k = 0; k < l->nkernel; k++) {
        if (t->is_packed[k])
            continue;
        touch(t->tensors[first_temp + l->ntemp + k]);
        for (uint32_t i = 0; i < l->kernels[k]->nout; i++)
            touch(tensor_of(t, &l->kernels[k]->out[i]));
    }
    for (uint32_t k = 0; k < t->ninput; k++) {
        if (!t->is_constant[k])
            touch(t->tensors[k]);
    }
}

/* The least time of some runs. */
static bt_status time_runs(const struct trial *t, double *ns)
{
    uint64_t least = UINT64_MAX;
    const void *mark = bt_arena_mark(t->arena);
    BT_TRY(run_kernels(t, 1));
    BT_TRY(run_kernels(t, 0));
    for (int i = 0; i < NRUN && (i < FEW_NRUN || least < LONG_NS); i++) {
        fill_caches(t);
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
    const struct cpu_engine_request *request = t->of->request;
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
    return cpu_loaded_create(t->ctx, t->of->pool, request->keeps_denormals, n,
                             (const bt_kernel_code *const *)list, &t->loaded);
}

static bt_status try_once(struct trial *t, const struct cpu_choices *choices, double *ns)
{
    const long llc = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const bt_func *func = t->of->func;
    struct cpu_config config = *t->of->config;
    config.wanted = choices;
    BT_TRY(cpu_kernel_lower(t->ctx, t->arena, &config, func, &t->lowering));
    for (uint32_t i = 0; i < t->lowering.nkernel; i++) {
        bt_kernel *kernel = t->lowering.kernels[i];
        kernel->primitive = func;
        kernel->name = func->name ? func->name : "function";
    }
    if (!find_packing(t))
        return bt_no_memory();
    BT_TRY(load(t));
    BT_TRY(take_memory(t, llc < 0 ? 0 : llc < MAX_SWEPT ? llc : MAX_SWEPT));
    return time_runs(t, ns);
}

bt_status cpu_trial_run(bt_ctx *ctx, const struct cpu_trial *of,
                        const struct cpu_choices *choices, double *ns)
{
    struct trial t = { .ctx = ctx,
                       .arena = bt_arena_create(bt_ctx_registry(ctx)),
                       .of = of,
                       .loops = of->loops };
    if (!t.arena)
        return bt_no_memory();
    t.is_constant = bt_primitive_constants(t.arena, of->func);
    bt_status status = t.is_constant ? try_once(&t, choices, ns) : bt_no_memory();
    cpu_loaded_destroy(t.loaded);
    for (uint32_t i = 0; i < t.ntensor; i++)
        bt_tensor_unref(t.tensors[i]);
    bt_arena_destroy(t.arena);
    return status;
}
