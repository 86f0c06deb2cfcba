/*
 * A simulation by events. Of the instructions that are first in their queues, those of which it is
 * known when they can begin are compared, and the one that begins first is next. Where it is not
 * known yet, an instruction waits for one that has not begun, and so begins later: the choice is right.
 */
#include "queues.h"

#include "bounds.h"

struct channel {
    uint64_t *pushed, *popped; /* when, of each token */
    uint32_t npush, npop;
};

struct queue {
    uint32_t *at; /* its instructions */
    uint64_t *begun;
    uint32_t n, next;
    uint64_t free;   /* when the one before has ended, and pushed what it could */
    uint32_t pushes; /* tokens that wait for room: NPU_PUSH_... */
};

struct schedule {
    const struct npu_config *config;
    const struct npu_stream *stream;
    npu_begin_fn begin;
    void *self;
    struct queue queues[NPU_NQUEUE];
    struct channel channels[NPU_NCHANNEL];
    uint64_t *fetched; /* by instruction, of the first nfetched */
    uint32_t nfetched;
    uint32_t seen[NPU_NQUEUE]; /* of each queue, in nfetched */
    uint64_t bus_free;
    struct npu_times times;
};

struct candidate {
    uint32_t queue;
    uint64_t asked, begin; /* asked: without the bus */
};

static int uses_bus(const struct npu_instruction *in)
{
    return in->op == NPU_LOAD || in->op == NPU_STORE;
}

/* ---- what has become known ---- */

/* A queue has room when the instruction `depth` before has left it. */
static void fetch(struct schedule *s)
{
    const struct npu_config *c = s->config;
    for (; s->nfetched < s->stream->n; s->nfetched++) {
        const uint32_t i = s->nfetched, q = npu_queue(&s->stream->at[i]);
        const struct queue *queue = &s->queues[q];
        uint64_t at = (i ? s->fetched[i - 1] : 0) + c->dispatch;
        if (s->seen[q] >= c->depth) {
            const uint32_t before = s->seen[q] - c->depth;
            if (before >= queue->next)
                return;
            at = npu_most(at, queue->begun[before]);
        }
        s->fetched[i] = at;
        s->seen[q]++;
    }
}

/* Tokens for which there is room by now. */
static void push(struct schedule *s, uint32_t q)
{
    struct queue *queue = &s->queues[q];
    const uint32_t most = s->config->tokens;
    const uint64_t end = queue->free;
    for (uint32_t token = NPU_PUSH_PREV; token <= NPU_PUSH_NEXT; token <<= 1) {
        if (!(queue->pushes & token))
            continue;
        struct channel *channel = &s->channels[npu_channel(q, token)];
        const uint32_t k = channel->npush;
        if (k >= most && channel->npop <= k - most)
            continue;
        channel->pushed[k] = k < most ? end : npu_most(end, channel->popped[k - most]);
        channel->npush++;
        queue->free = npu_most(queue->free, channel->pushed[k]);
        queue->pushes &= ~token;
    }
}

/* ---- the next one ---- */

static int find(const struct schedule *s, uint32_t q, struct candidate *out)
{
    const struct queue *queue = &s->queues[q];
    if (queue->next == queue->n || queue->pushes || queue->at[queue->next] >= s->nfetched)
        return 0;
    const uint32_t i = queue->at[queue->next];
    const struct npu_instruction *in = &s->stream->at[i];
    *out =
        (struct candidate){ .queue = q, .asked = npu_most(queue->free, s->fetched[i]) };
    for (uint32_t token = NPU_POP_PREV; token <= NPU_POP_NEXT; token <<= 1) {
        if (!(in->tokens & token))
            continue;
        const struct channel *channel = &s->channels[npu_channel(q, token)];
        if (channel->npop == channel->npush)
            return 0;
        out->asked = npu_most(out->asked, channel->pushed[channel->npop]);
    }
    out->begin = uses_bus(in) ? npu_most(out->asked, s->bus_free) : out->asked;
    return 1;
}

static int choose(struct schedule *s, struct candidate *out)
{
    int found = 0;
    for (uint32_t q = 0; q < NPU_NQUEUE; q++) {
        struct candidate c;
        if (find(s, q, &c) && (!found || c.begin < out->begin ||
                               (c.begin == out->begin && c.asked < out->asked))) {
            *out = c;
            found = 1;
        }
    }
    return found;
}

static void pop(struct schedule *s, const struct candidate *c)
{
    const struct queue *queue = &s->queues[c->queue];
    const uint32_t tokens = s->stream->at[queue->at[queue->next]].tokens;
    for (uint32_t token = NPU_POP_PREV; token <= NPU_POP_NEXT; token <<= 1) {
        if (!(tokens & token))
            continue;
        struct channel *channel = &s->channels[npu_channel(c->queue, token)];
        channel->popped[channel->npop++] = c->begin;
    }
}

static bt_status begin(struct schedule *s, const struct candidate *c)
{
    struct queue *queue = &s->queues[c->queue];
    const uint32_t i = queue->at[queue->next];
    const struct npu_instruction *in = &s->stream->at[i];
    pop(s, c);
    uint64_t cycles;
    BT_TRY(s->begin(s->self, i, &cycles));
    const uint64_t end = c->begin + cycles;
    struct npu_queue_times *times = &s->times.queues[c->queue];
    queue->begun[queue->next++] = c->begin;
    queue->free = end;
    queue->pushes = in->tokens & (NPU_PUSH_PREV | NPU_PUSH_NEXT);
    times->n++;
    times->busy += cycles;
    times->waiting = end - times->busy;
    s->times.cycles = npu_most(s->times.cycles, end);
    if (uses_bus(in)) {
        s->bus_free = end;
        s->times.nbytes += in->rows * npu_row_nbytes(s->config, in);
    }
    if (in->op == NPU_GEMM)
        s->times.iterations += (uint64_t)in->outer * in->inner * in->nuop;
    return NULL;
}

/* ---- all ---- */

static int init(struct schedule *s, bt_arena *arena)
{
    const uint32_t n = s->stream->n;
    int ok = (s->fetched = BT_NEWS(arena, uint64_t, n)) != NULL;
    for (uint32_t q = 0; q < NPU_NQUEUE; q++) {
        ok &= (s->queues[q].at = BT_NEWS(arena, uint32_t, n)) != NULL;
        ok &= (s->queues[q].begun = BT_NEWS(arena, uint64_t, n)) != NULL;
    }
    for (uint32_t k = 0; k < NPU_NCHANNEL; k++) {
        ok &= (s->channels[k].pushed = BT_NEWS(arena, uint64_t, n)) != NULL;
        ok &= (s->channels[k].popped = BT_NEWS(arena, uint64_t, n)) != NULL;
    }
    for (uint32_t i = 0; ok && i < n; i++) {
        struct queue *queue = &s->queues[npu_queue(&s->stream->at[i])];
        queue->at[queue->n++] = i;
    }
    return ok;
}

static bt_status run(bt_ctx *ctx, struct schedule *s, bt_arena *arena)
{
    struct candidate next = { 0 };
    if (!arena || !init(s, arena))
        return bt_no_memory();
    for (uint32_t n = 0; n < s->stream->n; n++) {
        fetch(s);
        for (uint32_t q = 0; q < NPU_NQUEUE; q++)
            push(s, q);
        if (!choose(s, &next))
            return bt_fail(ctx, BT_ERR_INTERNAL, "npu: a verified stream stands still");
        BT_TRY(begin(s, &next));
    }
    return NULL;
}

bt_status npu_schedule(bt_ctx *ctx, const struct npu_config *config,
                       const struct npu_stream *stream, npu_begin_fn begin_fn, void *self,
                       struct npu_times *out)
{
    struct schedule s = {
        .config = config, .stream = stream, .begin = begin_fn, .self = self
    };
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = run(ctx, &s, arena);
    bt_arena_destroy(arena);
    if (!status)
        *out = s.times;
    return status;
}
