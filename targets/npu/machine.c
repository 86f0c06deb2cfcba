#include <string.h>

#include "execute.h"
#include "machine.h"
#include "verify.h"

static int init(struct npu_machine *m)
{
    const struct npu_config *c = &m->config;
    int ok = npu_uops_init(m->arena, c, &m->uops);
    ok &= (m->inp = BT_NEWS(m->arena, int16_t, c->nbytes[NPU_INP])) != NULL;
    ok &= (m->wgt = BT_NEWS(m->arena, int16_t, c->nbytes[NPU_WGT])) != NULL;
    ok &= (m->acc = BT_NEWS(m->arena, int32_t, c->nbytes[NPU_ACC] / 4)) != NULL;
    for (uint32_t i = NPU_WGT; i < NPU_NMEMORY; i++)
        ok &= (m->is_written[i] = BT_NEWS(m->arena, uint8_t, c->ntile[i])) != NULL;
    return ok;
}

bt_status npu_machine_create(bt_ctx *ctx, const struct npu_config *config,
                             struct npu_machine **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct npu_machine *m = arena ? BT_NEW(arena, struct npu_machine) : NULL;
    if (m) {
        m->arena = arena;
        m->config = *config;
    }
    if (!m || !init(m)) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *out = m;
    return NULL;
}

void npu_machine_destroy(struct npu_machine *m)
{
    if (m)
        bt_arena_destroy(m->arena);
}

void npu_machine_begin(struct npu_machine *m, const uint32_t *stop)
{
    m->stop = stop;
    memset(m->uops.is_loaded, 0, m->config.ntile[NPU_UOP]);
    for (uint32_t i = NPU_WGT; i < NPU_NMEMORY; i++)
        memset(m->is_written[i], 0, m->config.ntile[i]);
}

/* ---- LOAD ---- */

/* Element i of packed integers of `bits`: low bits first, two's complement. */
static int8_t unpack(const uint8_t *at, size_t i, uint32_t bits)
{
    const uint32_t code = at[i * bits / 8] >> (i * bits % 8);
    const uint32_t sign = 1u << (bits - 1);
    return (int8_t)((int32_t)(code & (2 * sign - 1) & 0xff) -
                    (code & sign ? (int32_t)(2 * sign) : 0));
}

static int32_t word(const uint8_t *at)
{
    return (int32_t)(at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                     (uint32_t)at[3] << 24);
}

/* `n` elements from element `to` on. */
static void copy_in(struct npu_machine *m, const struct npu_instruction *in,
                    const uint8_t *from, size_t to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (in->memory) {
        case NPU_WGT: m->wgt[to + i] = unpack(from, i, in->bits); break;
        case NPU_INP: m->inp[to + i] = unpack(from, i, 8); break;
        case NPU_ACC: m->acc[to + i] = word(from + 4 * i); break;
        default: m->acc[to + i] = unpack(from, i, 8); break;
        }
    }
}

static void fill(struct npu_machine *m, const struct npu_instruction *in, size_t to,
                 size_t n)
{
    for (size_t i = to; i < to + n; i++) {
        if (in->memory == NPU_INP)
            m->inp[i] = in->pad;
        else
            m->acc[i] = in->pad;
    }
}

static size_t tile_nelem(const struct npu_config *c, uint32_t memory)
{
    return memory == NPU_ACC ? (size_t)c->batch * c->out : npu_tile_nbytes(c, memory);
}

static void load(struct npu_machine *m, const struct npu_buffers *buffers,
                 const struct npu_instruction *in)
{
    const uint32_t memory = npu_scratch(in), nrow = in->top + in->rows + in->bottom;
    const size_t n = tile_nelem(&m->config, memory);
    const size_t left = in->left * n, row = in->columns * n, right = in->right * n;
    const uint8_t *from = buffers->at[in->buffer].at + in->offset;
    size_t to = in->tile * n;
    for (uint32_t r = 0; r < nrow; r++, to += left + row + right) {
        if (r < in->top || r >= (uint32_t)in->top + in->rows) {
            fill(m, in, to, left + row + right);
            continue;
        }
        fill(m, in, to, left);
        copy_in(m, in, from + (size_t)(r - in->top) * in->stride, to + left, row);
        fill(m, in, to + left + row, right);
    }
    memset(m->is_written[memory] + in->tile, 1, (size_t)npu_ntile(in));
}

/* ---- STORE ---- */

static bt_status store_tile(bt_ctx *ctx, const struct npu_machine *m,
                            const struct npu_stream *stream, uint32_t i, uint32_t tile,
                            uint8_t *to)
{
    const size_t n = tile_nelem(&m->config, NPU_ACC);
    const struct npu_instruction *in = &stream->at[i];
    if (!m->is_written[NPU_ACC][tile])
        return npu_fail(ctx, BT_ERR_RUNTIME, stream, i, "tile",
                        "nothing has written acc %u", tile);
    for (size_t k = 0; k < n; k++) {
        const int32_t value = m->acc[tile * n + k];
        if (in->memory == NPU_INT8_OF_ACC) {
            if (value < INT8_MIN || value > INT8_MAX)
                return npu_fail(ctx, BT_ERR_RUNTIME, stream, i, "tile",
                                "acc %u, element %zu: %d is no int8", tile, k, value);
            to[k] = (uint8_t)value;
            continue;
        }
        for (uint32_t byte = 0; byte < 4; byte++)
            to[4 * k + byte] = (uint8_t)((uint32_t)value >> 8 * byte);
    }
    return NULL;
}

static bt_status store(bt_ctx *ctx, const struct npu_machine *m,
                       const struct npu_buffers *buffers, const struct npu_stream *stream,
                       uint32_t i)
{
    const struct npu_instruction *in = &stream->at[i];
    const size_t nbytes =
        tile_nelem(&m->config, NPU_ACC) * (in->memory == NPU_ACC ? 4 : 1);
    uint8_t *to = buffers->at[in->buffer].at + in->offset;
    for (uint32_t r = 0, tile = in->tile; r < in->rows; r++) {
        for (uint32_t k = 0; k < in->columns; k++, tile++)
            BT_TRY(store_tile(ctx, m, stream, i, tile,
                              to + (size_t)r * in->stride + k * nbytes));
    }
    return NULL;
}

/* ---- all ---- */

static bt_status compute(bt_ctx *ctx, struct npu_machine *m,
                         const struct npu_stream *stream, uint32_t i)
{
    const struct npu_instruction *in = &stream->at[i];
    struct npu_unwritten missing;
    for (uint32_t outer = 0; outer < in->outer; outer++) {
        if (bt_ctx_cancelled(ctx) ||
            (m->stop && __atomic_load_n(m->stop, __ATOMIC_RELAXED)))
            return bt_fail(ctx, BT_ERR_CANCELLED, "stopped on request");
        if (!(in->op == NPU_GEMM ? npu_gemm : npu_alu)(m, in, outer, &missing))
            return npu_fail(ctx, BT_ERR_RUNTIME, stream, i, "first",
                            "nothing has written %s %u", npu_memory_names[missing.memory],
                            missing.tile);
    }
    return NULL;
}

bt_status npu_execute(bt_ctx *ctx, struct npu_machine *m,
                      const struct npu_buffers *buffers, const struct npu_stream *stream,
                      uint32_t i)
{
    const struct npu_instruction *in = &stream->at[i];
    BT_TRY(npu_bounds(ctx, &m->config, buffers, &m->uops, stream, i));
    if ((in->op == NPU_LOAD || in->op == NPU_STORE) && !buffers->at[in->buffer].at)
        return npu_fail(ctx, BT_ERR_ARGUMENT, stream, i, "buffer", "%u is not there",
                        in->buffer);
    switch (in->op) {
    case NPU_LOAD:
        if (in->memory == NPU_UOP)
            npu_uops_load(buffers, in, &m->uops);
        else
            load(m, buffers, in);
        return NULL;
    case NPU_STORE: return store(ctx, m, buffers, stream, i);
    case NPU_GEMM:
    case NPU_ALU: return compute(ctx, m, stream, i);
    default: return NULL;
    }
}

bt_status npu_run(bt_ctx *ctx, struct npu_machine *m, const struct npu_buffers *buffers,
                  const struct npu_stream *stream)
{
    BT_TRY(npu_verify(ctx, &m->config, buffers, stream));
    for (uint32_t i = 0; i < stream->n; i++)
        BT_TRY(npu_execute(ctx, m, buffers, stream, i));
    return NULL;
}
