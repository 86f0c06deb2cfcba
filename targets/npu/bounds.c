#include <inttypes.h>

#include "bounds.h"

struct place {
    bt_ctx *ctx;
    const struct npu_config *config;
    const struct npu_stream *stream;
    uint32_t i;
};

#define FAIL(p, field, ...) \
    npu_fail((p)->ctx, BT_ERR_VERIFY, (p)->stream, (p)->i, field, __VA_ARGS__)

/* ---- LOAD, STORE ---- */

uint32_t npu_scratch(const struct npu_instruction *in)
{
    return in->memory < NPU_NMEMORY ? in->memory : NPU_ACC;
}

uint64_t npu_row_nbytes(const struct npu_config *c, const struct npu_instruction *in)
{
    uint64_t tile = npu_tile_nbytes(c, npu_scratch(in));
    if (in->memory == NPU_WGT)
        tile = tile * in->bits / 8;
    else if (in->memory >= NPU_NMEMORY)
        tile /= 4;
    return tile * in->columns;
}

uint64_t npu_ntile(const struct npu_instruction *in)
{
    return ((uint64_t)in->top + in->rows + in->bottom) *
           ((uint64_t)in->left + in->columns + in->right);
}

static bt_status check_padding(const struct place *p, const struct npu_instruction *in)
{
    const int is_padded = in->top || in->bottom || in->left || in->right;
    if (is_padded && (in->memory == NPU_UOP || in->memory == NPU_WGT))
        return FAIL(p, "top", "%s has no padding", npu_memory_names[in->memory]);
    if (in->pad && !is_padded)
        return FAIL(p, "pad", "a code, and nothing to fill with it");
    if (in->memory == NPU_WGT &&
        (in->bits > 8 || !(p->config->weight_bits >> in->bits & 1)))
        return FAIL(p, "bits", "the machine has no wgt of %u bits", in->bits);
    if (in->memory != NPU_WGT && in->bits)
        return FAIL(p, "bits", "%u; 0 is expected of %s, which is not unpacked", in->bits,
                    npu_memory_names[npu_scratch(in)]);
    return NULL;
}

static bt_status check_buffer(const struct place *p, const struct npu_buffers *buffers,
                              const struct npu_instruction *in)
{
    if (in->buffer >= buffers->n)
        return FAIL(p, "buffer", "%u of %u", in->buffer, buffers->n);
    const struct npu_buffer *b = &buffers->at[in->buffer];
    const uint64_t end = in->offset + (uint64_t)(in->rows - 1) * in->stride +
                         npu_row_nbytes(p->config, in);
    if (end > b->nbytes)
        return FAIL(p, "offset", "byte %" PRIu64 " of the %zu of buffer %u", end - 1,
                    b->nbytes, in->buffer);
    if (in->op == NPU_STORE && b->is_constant)
        return FAIL(p, "buffer", "%u is constant", in->buffer);
    if (in->op == NPU_LOAD && in->memory == NPU_UOP && !b->is_constant)
        return FAIL(p, "buffer", "%u is not constant, and micro-ops come from it",
                    in->buffer);
    return NULL;
}

static bt_status check_transfer(const struct place *p, const struct npu_buffers *buffers,
                                const struct npu_instruction *in)
{
    if (in->op == NPU_LOAD ? in->memory > NPU_ACC_OF_INT8
                           : in->memory != NPU_ACC && in->memory != NPU_INT8_OF_ACC)
        return FAIL(p, "memory", "%u is none to %s", in->memory, npu_op_name(in));
    if (!in->rows || !in->columns)
        return FAIL(p, in->rows ? "columns" : "rows", "none");
    const uint32_t memory = npu_scratch(in), ntile = p->config->ntile[memory];
    const uint64_t end = in->tile + npu_ntile(in);
    if (end > ntile)
        return FAIL(p, "tile", "%" PRIu64 " of the %u of %s", end - 1, ntile,
                    npu_memory_names[memory]);
    BT_TRY(check_padding(p, in));
    return check_buffer(p, buffers, in);
}

/* ---- GEMM, ALU ---- */

int npu_has_src(const struct npu_instruction *in)
{
    return in->op == NPU_GEMM || (in->sub != NPU_REQ && !(in->flags & NPU_IMMEDIATE));
}

uint32_t npu_nwgt(const struct npu_config *c, const struct npu_instruction *in)
{
    if (in->op == NPU_GEMM)
        return 1;
    return in->sub != NPU_REQ ? 0 : c->has_multiplier ? 3 : 2;
}

static bt_status check_alu(const struct place *p, const struct npu_instruction *in)
{
    const int rounds = in->sub == NPU_SHR || in->sub == NPU_REQ;
    if (in->sub >= NPU_NSUB)
        return FAIL(p, "sub", "there is no operation %u", in->sub);
    if (in->flags > (NPU_IMMEDIATE | NPU_EVEN))
        return FAIL(p, "flags", "%u; 1, immediate, 2, even, or their sum is expected",
                    in->flags);
    if (in->flags & NPU_EVEN && !rounds)
        return FAIL(p, "flags", "%u; 2, even, is of SHR and REQ alone", in->flags);
    if (in->flags & NPU_IMMEDIATE && in->sub == NPU_REQ)
        return FAIL(p, "flags", "%u; 1, immediate, is not of REQ", in->flags);
    if (in->sub == NPU_REQ && in->low > in->high)
        return FAIL(p, "low", "%d is above high, %d", in->low, in->high);
    if (in->sub != NPU_REQ && in->low && !(in->flags & NPU_IMMEDIATE))
        return FAIL(p, "low", "%d; 0 is expected without flag 1, immediate", in->low);
    if (in->high && in->sub != NPU_REQ)
        return FAIL(p, "high", "%d; 0 is expected but of REQ", in->high);
    return NULL;
}

/* One index of micro-op `u`: least is its own, steps only add. */
static bt_status check_index(const struct place *p, uint32_t u, const char *name,
                             uint32_t memory, uint64_t base, uint64_t outer,
                             uint64_t inner)
{
    const struct npu_instruction *in = &p->stream->at[p->i];
    const uint32_t ntile = p->config->ntile[memory];
    const uint64_t most = base + (in->outer - 1u) * outer + (in->inner - 1u) * inner;
    if (most >= ntile)
        return FAIL(p, name, "micro-op %u: tile %" PRIu64 " of the %u of %s", u, most,
                    ntile, npu_memory_names[memory]);
    return NULL;
}

static bt_status check_uop(const struct place *p, const struct npu_uops *uops, uint32_t i)
{
    const struct npu_instruction *in = &p->stream->at[p->i];
    const struct npu_uop u = uops->at[i];
    const int is_gemm = in->op == NPU_GEMM;
    const uint32_t nwgt = npu_nwgt(p->config, in);
    if (!uops->is_loaded[i])
        return FAIL(p, "first", "micro-op %u is not loaded", i);
    if (u.flags & ~NPU_UOP_BEGINS)
        return FAIL(p, "first", "micro-op %u: flags %u", i, u.flags);
    BT_TRY(check_index(p, i, "dst", NPU_ACC, u.dst, in->dst_outer, in->dst_inner));
    if (npu_has_src(in))
        BT_TRY(check_index(p, i, "src", is_gemm ? NPU_INP : NPU_ACC, u.src, in->src_outer,
                           in->src_inner));
    if (nwgt)
        BT_TRY(check_index(p, i, "wgt", is_gemm ? NPU_WGT : NPU_ACC, u.wgt + nwgt - 1,
                           in->wgt_outer, in->wgt_inner));
    return NULL;
}

static bt_status check_loops(const struct place *p, const struct npu_uops *uops,
                             const struct npu_instruction *in)
{
    if (in->op == NPU_ALU)
        BT_TRY(check_alu(p, in));
    if (!in->nuop || !in->outer || !in->inner)
        return FAIL(p, !in->nuop ? "nuop" : !in->outer ? "outer" : "inner", "none");
    if (!npu_has_src(in) && (in->src_outer || in->src_inner))
        return FAIL(p, "src_outer", "src is not used");
    if (!npu_nwgt(p->config, in) && (in->wgt_outer || in->wgt_inner))
        return FAIL(p, "wgt_outer", "wgt is not used");
    if ((uint32_t)in->first + in->nuop > p->config->ntile[NPU_UOP])
        return FAIL(p, "first", "micro-op %u of %u", in->first + in->nuop - 1u,
                    p->config->ntile[NPU_UOP]);
    for (uint32_t i = 0; i < in->nuop; i++)
        BT_TRY(check_uop(p, uops, in->first + i));
    return NULL;
}

bt_status npu_bounds(bt_ctx *ctx, const struct npu_config *config,
                     const struct npu_buffers *buffers, const struct npu_uops *uops,
                     const struct npu_stream *stream, uint32_t i)
{
    const struct place p = { .ctx = ctx, .config = config, .stream = stream, .i = i };
    const struct npu_instruction *in = &stream->at[i];
    switch (in->op) {
    case NPU_LOAD:
    case NPU_STORE: return check_transfer(&p, buffers, in);
    case NPU_GEMM:
    case NPU_ALU: return check_loops(&p, uops, in);
    case NPU_FINISH: return NULL;
    default: return FAIL(&p, "op", "there is no op %u", in->op);
    }
}

/* ---- micro-ops ---- */

int npu_uops_init(bt_arena *arena, const struct npu_config *config, struct npu_uops *out)
{
    out->at = BT_NEWS(arena, struct npu_uop, config->ntile[NPU_UOP]);
    out->is_loaded = BT_NEWS(arena, uint8_t, config->ntile[NPU_UOP]);
    return out->at && out->is_loaded;
}

void npu_uops_load(const struct npu_buffers *buffers, const struct npu_instruction *in,
                   struct npu_uops *uops)
{
    if (in->op != NPU_LOAD || in->memory != NPU_UOP)
        return;
    uint32_t to = in->tile;
    const uint8_t *row = buffers->at[in->buffer].at + in->offset;
    for (uint32_t r = 0; r < in->rows; r++) {
        for (uint32_t k = 0; k < in->columns; k++, to++) {
            uops->at[to] = npu_uop_decode(row + (size_t)r * in->stride + (size_t)k * 8);
            uops->is_loaded[to] = 1;
        }
    }
}
