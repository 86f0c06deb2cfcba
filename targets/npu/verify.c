#include <inttypes.h>

#include "bounds.h"
#include "verify.h"

struct verifier {
    bt_ctx *ctx;
    const struct npu_config *config;
    const struct npu_buffers *buffers;
    const struct npu_stream *stream;
    struct npu_uops uops;
    uint32_t open[NPU_NCHANNEL]; /* tokens that were pushed and not popped */
};

static const char *const channel_names[NPU_NCHANNEL] = {
    "load to compute", "compute to load", "compute to store", "store to compute"
};

static bt_status check_token(struct verifier *v, uint32_t i, uint32_t token)
{
    const uint32_t channel = npu_channel(npu_queue(&v->stream->at[i]), token);
    if (channel == NPU_NCHANNEL)
        return npu_fail(v->ctx, BT_ERR_VERIFY, v->stream, i, "tokens",
                        "bit %u: there is no such neighbour", token);
    if (token & (NPU_POP_PREV | NPU_POP_NEXT)) {
        if (!v->open[channel])
            return npu_fail(v->ctx, BT_ERR_VERIFY, v->stream, i, "tokens",
                            "waits for ever: nothing was pushed from %s",
                            channel_names[channel]);
        v->open[channel]--;
    } else if (++v->open[channel] > v->config->tokens) {
        return npu_fail(v->ctx, BT_ERR_VERIFY, v->stream, i, "tokens",
                        "more than the %u that go from %s", v->config->tokens,
                        channel_names[channel]);
    }
    return NULL;
}

static bt_status check_instruction(struct verifier *v, uint32_t i)
{
    const struct npu_instruction *in = &v->stream->at[i];
    if (in->tokens > 15)
        return npu_fail(v->ctx, BT_ERR_VERIFY, v->stream, i, "tokens", "%u", in->tokens);
    BT_TRY(npu_bounds(v->ctx, v->config, v->buffers, &v->uops, v->stream, i));
    npu_uops_load(v->buffers, in, &v->uops);
    // pops come before pushes, in the bits too
    for (uint32_t token = 1; token < 16; token <<= 1) {
        if (in->tokens & token)
            BT_TRY(check_token(v, i, token));
    }
    if ((in->op == NPU_FINISH) != (i + 1 == v->stream->n))
        return npu_fail(v->ctx, BT_ERR_VERIFY, v->stream, i, "op",
                        in->op == NPU_FINISH ? "instructions behind it"
                                             : "the last instruction is not finish");
    return NULL;
}

static bt_status check_buffers(bt_ctx *ctx, const struct npu_config *config,
                               const struct npu_buffers *buffers)
{
    uint64_t sum = 0;
    if (buffers->n > 256)
        return bt_fail(ctx, BT_ERR_VERIFY, "npu: %u buffers, and 256 have a number",
                       buffers->n);
    for (uint32_t i = 0; i < buffers->n; i++) {
        const struct npu_buffer *b = &buffers->at[i];
        if (b->nbytes > config->dram_nbytes - sum)
            return bt_fail(ctx, BT_ERR_VERIFY,
                           "npu: buffer %u: main memory has %" PRIu64 " bytes", i,
                           config->dram_nbytes);
        sum += b->nbytes;
        if (b->is_constant && b->nbytes && !b->at)
            return bt_fail(ctx, BT_ERR_VERIFY, "npu: buffer %u: constant, and not there",
                           i);
    }
    return NULL;
}

static bt_status verify(struct verifier *v)
{
    for (uint32_t i = 0; i < v->stream->n; i++)
        BT_TRY(check_instruction(v, i));
    if (!v->stream->n)
        return bt_fail(v->ctx, BT_ERR_VERIFY, "npu: a stream without instructions");
    for (uint32_t k = 0; k < NPU_NCHANNEL; k++) {
        if (v->open[k])
            return npu_fail(v->ctx, BT_ERR_VERIFY, v->stream, v->stream->n - 1, "tokens",
                            "leaves %u from %s", v->open[k], channel_names[k]);
    }
    return NULL;
}

bt_status npu_verify(bt_ctx *ctx, const struct npu_config *config,
                     const struct npu_buffers *buffers, const struct npu_stream *stream)
{
    struct verifier v = {
        .ctx = ctx, .config = config, .buffers = buffers, .stream = stream
    };
    BT_TRY(check_buffers(ctx, config, buffers));
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status =
        arena && npu_uops_init(arena, config, &v.uops) ? verify(&v) : bt_no_memory();
    bt_arena_destroy(arena);
    return status;
}
