#include "launch.h"

#include <inttypes.h>

struct loaded {
    bt_arena *arena;
    struct npu_device *device;
    uint32_t n;
    struct npu_kernel *kernels;
};

/* ---- loading ---- */

static bt_status load_kernel(bt_ctx *ctx, struct loaded *l, const bt_kernel_code *code,
                             struct npu_kernel *out)
{
    BT_TRY(npu_code_read(ctx, &l->device->config, code->at, code->nbytes, &out->code));
    return out->code.kind == NPU_CODE_STREAM ? npu_decode(ctx, l->arena, out->code.stream,
                                                          out->code.nstream, &out->stream)
                                             : NULL;
}

bt_status npu_load(bt_ctx *ctx, void *device, uint32_t n,
                   const bt_kernel_code *const *codes, void **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct loaded *l = arena ? BT_NEW(arena, struct loaded) : NULL;
    bt_status status = NULL;
    if (l) {
        l->arena = arena;
        l->device = device;
        l->n = n;
        l->kernels = BT_NEWS(arena, struct npu_kernel, n);
    }
    if (!l || !l->kernels)
        status = bt_no_memory();
    for (uint32_t i = 0; !status && i < n; i++)
        status = load_kernel(ctx, l, codes[i], &l->kernels[i]);
    if (status)
        bt_arena_destroy(arena);
    else
        *out = l;
    return status;
}

void npu_unload(void *loaded)
{
    bt_arena_destroy(((struct loaded *)loaded)->arena);
}

struct npu_kernel *npu_loaded_kernel(void *loaded, uint32_t number)
{
    return &((struct loaded *)loaded)->kernels[number];
}

/* ---- running ---- */

bt_status npu_kernel_bind(bt_ctx *ctx, const struct npu_kernel *k,
                          const bt_kernel_call *call, struct npu_buffer *out)
{
    const struct npu_code *code = &k->code;
    if (call->nbuffer && call->nbuffer != code->nbuffer)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "npu: a kernel of %u buffers is called with %u", code->nbuffer,
                       call->nbuffer);
    for (uint32_t i = 0; i < code->nbuffer; i++) {
        out[i].nbytes = (size_t)code->nbytes[i];
        BT_TRY(npu_block_bytes(ctx, call->buffers[i],
                               call->offsets ? call->offsets[i] : 0, code->nbytes[i],
                               &out[i].at));
    }
    return NULL;
}

/* What the simulators count is of the machine; a wish to stop is of the call. */
static bt_status run_stream(bt_ctx *ctx, struct npu_device *d, struct npu_kernel *k,
                            const struct npu_buffer *call, const uint32_t *stop)
{
    const struct npu_code *code = &k->code;
    struct npu_buffer list[NPU_NBUFFER] = { 0 };
    const struct npu_buffers buffers = { NPU_NBUFFER, list };
    for (uint32_t i = 0; i < NPU_NBUFFER; i++) {
        if (code->map[i] < code->nbuffer)
            list[i] = call[code->map[i]];
    }
    list[NPU_BUFFER_UOPS] =
        (struct npu_buffer){ (uint8_t *)(uintptr_t)code->uops, (size_t)code->nuop, 1 };
    pthread_mutex_lock(&d->machine_lock);
    npu_machine_begin(d->machine, stop);
    bt_status status =
        d->counts_cycles ? npu_simulate(ctx, d->machine, &buffers, &k->stream, &k->times)
                         : npu_run(ctx, d->machine, &buffers, &k->stream);
    pthread_mutex_unlock(&d->machine_lock);
    return status;
}

static bt_status run_parameters(bt_ctx *ctx, const struct npu_device *d,
                                const struct npu_code *code,
                                const struct npu_buffer *call)
{
    const uint8_t *from[NPU_MAX_BUFFERS];
    for (uint32_t i = 0; i < code->nin; i++)
        from[i] = call[i].at;
    return npu_parameters_run(ctx, &d->config, &code->layer, &code->parameters, from,
                              call[code->nin].at);
}

bt_status npu_kernel_run(bt_ctx *ctx, struct npu_device *d, struct npu_kernel *k,
                         const struct npu_buffer *call, const uint32_t *stop)
{
    const struct npu_code *code = &k->code;
    if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED))
        return bt_fail(ctx, BT_ERR_CANCELLED, "stopped on request");
    switch (code->kind) {
    case NPU_CODE_STREAM: return run_stream(ctx, d, k, call, stop);
    case NPU_CODE_MOVE: npu_move_run(&code->move, call[0].at, call[1].at); return NULL;
    case NPU_CODE_WEIGHT:
        return npu_weight_run(ctx, &d->config, &code->layer, &code->weight, call[0].at,
                              call[1].at);
    default: return run_parameters(ctx, d, code, call);
    }
}

/* ---- for people ---- */

static void describe_stream(const struct npu_device *d, struct npu_kernel *k, uint32_t i,
                            bt_text *out)
{
    const struct npu_code *code = &k->code;
    pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&d->machine_lock);
    const struct npu_times times = k->times;
    pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&d->machine_lock);
    bt_text_addf(out, "kernel %u: %u instructions, %" PRIu64 " cycles", i, k->stream.n,
                 code->cycles);
    if (code->ideal && code->cycles)
        bt_text_addf(out, ", %" PRIu64 " %% of them of the multipliers",
                     code->ideal * 100 / code->cycles);
    if (times.cycles)
        bt_text_addf(out,
                     "; ran in %" PRIu64 ": load %" PRIu64 ", compute %" PRIu64
                     ", store %" PRIu64 " busy",
                     times.cycles, times.queues[NPU_QUEUE_LOAD].busy,
                     times.queues[NPU_QUEUE_COMPUTE].busy,
                     times.queues[NPU_QUEUE_STORE].busy);
    bt_text_addf(out, "\n");
}

void npu_describe(void *loaded, bt_text *out)
{
    struct loaded *l = loaded;
    static const char *const names[] = { "a stream", "tensors as tiles",
                                         "a weight as tiles", "numbers by channel" };
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->kernels[i].code.kind == NPU_CODE_STREAM)
            describe_stream(l->device, &l->kernels[i], i, out);
        else
            bt_text_addf(out, "kernel %u: %s, by the host\n", i,
                         names[l->kernels[i].code.kind]);
    }
}
