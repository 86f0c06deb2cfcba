/*
 * Races: each instruction gets a clock, of each queue how many of its instructions have ended
 * before this one may begin. It begins behind the one before it in its queue, and behind those
 * whose tokens it pops; their clocks are below its own. What another queue did last to a tile must
 * be within the clock.
 */
#include "bounds.h"
#include "clock.h"
#include "verify.h"

/* Numbers of instructions in their queues, from 1, of the last that read or wrote. */
struct tile {
    uint32_t last[2][NPU_NQUEUE];
};

struct checker {
    bt_ctx *ctx;
    const struct npu_config *config;
    const struct npu_buffers *buffers;
    const struct npu_stream *stream;
    struct npu_uops uops;
    struct npu_clock *ended;        /* by instruction: when it has ended */
    uint32_t *of_queue[NPU_NQUEUE]; /* its instructions, in order */
    uint32_t nqueue[NPU_NQUEUE];    /* of them so far */
    uint32_t *pushes[NPU_NCHANNEL]; /* who pushed */
    uint32_t npush[NPU_NCHANNEL], npop[NPU_NCHANNEL];
    struct tile *tiles[NPU_NMEMORY]; /* NPU_UOP: none, one queue uses it */
    /* Of the instruction at hand: */
    uint32_t i, queue;
    struct npu_clock clock; /* what has ended before it begins */
};

static bt_status fail(const struct checker *c, uint32_t other, const char *what,
                      uint32_t where)
{
    const uint32_t queue = npu_queue(&c->stream->at[other]);
    const int is_next = queue < c->queue;
    const int is_far = queue + c->queue == NPU_QUEUE_LOAD + NPU_QUEUE_STORE;
    return npu_fail(
        c->ctx, BT_ERR_VERIFY, c->stream, c->i, "tokens",
        "a race with instruction %u (%s) for %s %u: that must push %s, this pop "
        "%s%s",
        other, npu_op_name(&c->stream->at[other]), what, where, is_next ? "next" : "prev",
        is_next ? "prev" : "next", is_far ? ", by way of the compute queue" : "");
}

/* ---- tiles ---- */

static bt_status touch(struct checker *c, uint32_t memory, uint64_t at, int writes)
{
    struct tile *tile = &c->tiles[memory][at];
    for (uint32_t q = 0; q < NPU_NQUEUE; q++) {
        const uint32_t read = writes ? tile->last[0][q] : 0, wrote = tile->last[1][q];
        const uint32_t last = (uint32_t)npu_most(read, wrote);
        if (q != c->queue && last > c->clock.n[q])
            return fail(c, c->of_queue[q][last - 1], npu_memory_names[memory],
                        (uint32_t)at);
    }
    tile->last[writes][c->queue] = c->nqueue[c->queue];
    return NULL;
}

static bt_status touch_many(struct checker *c, uint32_t memory, uint64_t at, uint64_t n,
                            int writes)
{
    for (uint64_t k = 0; k < n; k++)
        BT_TRY(touch(c, memory, at + k, writes));
    return NULL;
}

static bt_status touch_iteration(struct checker *c, const struct npu_instruction *in,
                                 uint32_t i, uint32_t j, const struct npu_uop *u)
{
    const uint32_t other[2] = { in->op == NPU_GEMM ? NPU_INP : NPU_ACC,
                                in->op == NPU_GEMM ? NPU_WGT : NPU_ACC };
    BT_TRY(
        touch(c, NPU_ACC, u->dst + (uint64_t)i * in->dst_outer + j * in->dst_inner, 1));
    if (npu_has_src(in))
        BT_TRY(touch(c, other[0],
                     u->src + (uint64_t)i * in->src_outer + j * in->src_inner, 0));
    return touch_many(c, other[1],
                      u->wgt + (uint64_t)i * in->wgt_outer + j * in->wgt_inner,
                      npu_nwgt(c->config, in), 0);
}

static bt_status touch_loops(struct checker *c, const struct npu_instruction *in)
{
    for (uint32_t i = 0; i < in->outer; i++) {
        if (bt_ctx_cancelled(c->ctx))
            return bt_fail(c->ctx, BT_ERR_CANCELLED, "stopped on request");
        for (uint32_t j = 0; j < in->inner; j++) {
            for (uint32_t k = 0; k < in->nuop; k++)
                BT_TRY(touch_iteration(c, in, i, j, &c->uops.at[in->first + k]));
        }
    }
    return NULL;
}

/* ---- bytes of buffers ---- */

/* Rows of bytes; rows that touch each other are one. */
struct rows {
    uint64_t at, n, stride, nbytes;
};

static struct rows rows_of(const struct npu_config *c, const struct npu_instruction *in)
{
    struct rows r = { in->offset, in->rows, in->stride, npu_row_nbytes(c, in) };
    if (r.stride <= r.nbytes) {
        r.nbytes += (r.n - 1) * r.stride;
        r.n = 1;
    }
    return r;
}

static int rows_overlap(const struct rows *a, const struct rows *b)
{
    for (uint64_t i = 0, k = 0; i < a->n && k < b->n;) {
        const uint64_t p = a->at + i * a->stride, q = b->at + k * b->stride;
        if (p < q + b->nbytes && q < p + a->nbytes)
            return 1;
        if (p < q)
            i++;
        else
            k++;
    }
    return 0;
}

/* Only the store queue writes, and only the load queue reads what it may write. */
static bt_status touch_buffer(const struct checker *c, const struct npu_instruction *in)
{
    const uint32_t q = in->op == NPU_LOAD ? NPU_QUEUE_STORE : NPU_QUEUE_LOAD;
    const struct rows rows = rows_of(c->config, in);
    for (uint32_t k = c->clock.n[q]; k < c->nqueue[q]; k++) {
        const uint32_t other = c->of_queue[q][k];
        const struct npu_instruction *with = &c->stream->at[other];
        const struct rows others = rows_of(c->config, with);
        if (with->buffer == in->buffer && rows_overlap(&rows, &others))
            return fail(c, other, "buffer", in->buffer);
    }
    return NULL;
}

/* ---- the stream ---- */

static bt_status touch_all(struct checker *c, const struct npu_instruction *in)
{
    if (in->op == NPU_FINISH || (in->op == NPU_LOAD && in->memory == NPU_UOP))
        return NULL;
    if (in->op == NPU_GEMM || in->op == NPU_ALU)
        return touch_loops(c, in);
    BT_TRY(touch_many(c, npu_scratch(in), in->tile, npu_ntile(in), in->op == NPU_LOAD));
    return touch_buffer(c, in);
}

static bt_status check_instruction(struct checker *c, uint32_t i)
{
    const struct npu_instruction *in = &c->stream->at[i];
    const uint32_t queue = npu_queue(in), n = c->nqueue[queue];
    c->i = i;
    c->queue = queue;
    c->clock = n ? c->ended[c->of_queue[queue][n - 1]] : (struct npu_clock){ 0 };
    for (uint32_t token = 1; token < 4; token <<= 1) {
        const uint32_t channel = npu_channel(queue, token);
        if (in->tokens & token)
            npu_clock_join(&c->clock, &c->ended[c->pushes[channel][c->npop[channel]++]]);
    }
    c->of_queue[queue][c->nqueue[queue]++] = i;
    npu_uops_load(c->buffers, in, &c->uops);
    BT_TRY(touch_all(c, in));
    c->ended[i] = c->clock;
    c->ended[i].n[queue] = c->nqueue[queue];
    for (uint32_t token = 4; token < 16; token <<= 1) {
        const uint32_t channel = npu_channel(queue, token);
        if (in->tokens & token)
            c->pushes[channel][c->npush[channel]++] = i;
    }
    return NULL;
}

static int init(struct checker *c, bt_arena *arena)
{
    int ok = npu_uops_init(arena, c->config, &c->uops);
    ok &= (c->ended = BT_NEWS(arena, struct npu_clock, c->stream->n)) != NULL;
    for (uint32_t q = 0; q < NPU_NQUEUE; q++)
        ok &= (c->of_queue[q] = BT_NEWS(arena, uint32_t, c->stream->n)) != NULL;
    for (uint32_t k = 0; k < NPU_NCHANNEL; k++)
        ok &= (c->pushes[k] = BT_NEWS(arena, uint32_t, c->stream->n)) != NULL;
    for (uint32_t m = NPU_WGT; m < NPU_NMEMORY; m++)
        ok &= (c->tiles[m] = BT_NEWS(arena, struct tile, c->config->ntile[m])) != NULL;
    return ok;
}

static bt_status check(struct checker *c, bt_arena *arena)
{
    if (!arena || !init(c, arena))
        return bt_no_memory();
    for (uint32_t i = 0; i < c->stream->n; i++)
        BT_TRY(check_instruction(c, i));
    return NULL;
}

bt_status npu_check(bt_ctx *ctx, const struct npu_config *config,
                    const struct npu_buffers *buffers, const struct npu_stream *stream)
{
    struct checker c = {
        .ctx = ctx, .config = config, .buffers = buffers, .stream = stream
    };
    BT_TRY(npu_verify(ctx, config, buffers, stream));
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = check(&c, arena);
    bt_arena_destroy(arena);
    return status;
}
