/*
 * First what each instruction must wait for: of each other queue the last one that touched a
 * resource of its own in a way that matters. Load and store are no neighbours: a compute
 * instruction between waits for the one, and the other for it. Then tokens, in order of the stream:
 * what has ended before an instruction begins is a number for each queue, and a token is added
 * only where that does not hold what it waits for. So pushes and pops of a channel have one order.
 */
#include "tokens.h"

#include "clock.h"

enum { NRESOURCE = 32 };

struct placer {
    const struct npu_config *config;
    const struct npu_touch *touched;
    int by_tile, is_late;
    uint32_t n;
    struct npu_instruction *list;
    struct npu_clock *needs,
        *ended; /* by instruction: ended before it may begin, once it ended */
    uint32_t *of_queue[NPU_NQUEUE]; /* its instructions, in order */
    uint32_t nqueue[NPU_NQUEUE];
    uint32_t last[NRESOURCE][2][NPU_NQUEUE]; /* who read, wrote last */
};

/* ---- what is waited for ---- */

/* The last instruction of its tile that queue `q` has so far. */
static uint32_t end_of_tile(const struct placer *p, uint32_t q, uint32_t k)
{
    const uint32_t tile = p->touched[p->of_queue[q][k - 1]].tile;
    while (k < p->nqueue[q] && p->touched[p->of_queue[q][k]].tile == tile)
        k++;
    return k;
}

/* The compute instruction by way of which a later instruction, of `tile`, waits for instruction `i`,
 * where one is a LOAD and one a STORE: its number in the compute queue, from 1; 0: there is none. It is
 * the last one at least two tiles before `tile`, so that the tile that is computed meanwhile does not
 * wait; where there is none behind `i`, the end of the first tile behind it. */
static uint32_t between(const struct placer *p, uint32_t i, uint32_t tile)
{
    const uint32_t *list = p->of_queue[NPU_QUEUE_COMPUTE];
    uint32_t k = p->nqueue[NPU_QUEUE_COMPUTE];
    if (!k || list[k - 1] < i)
        return 0;
    while (k && list[k - 1] > i && p->touched[list[k - 1]].tile + 2 > tile)
        k--;
    return k && list[k - 1] > i ? k : end_of_tile(p, NPU_QUEUE_COMPUTE, k + 1);
}

/* Instruction `i` waits for the k-th of queue `q`. */
static void need(struct placer *p, uint32_t i, uint32_t q, uint32_t k)
{
    const uint32_t own = npu_queue(&p->list[i]);
    if (p->by_tile && own == NPU_QUEUE_LOAD && q == NPU_QUEUE_COMPUTE)
        k = end_of_tile(p, q, k);
    if (own + q == NPU_QUEUE_LOAD + NPU_QUEUE_STORE) {
        const uint32_t who = between(p, p->of_queue[q][k - 1], p->touched[i].tile);
        if (!who) {
            p->is_late = 1;
            return;
        }
        const uint32_t y = p->of_queue[NPU_QUEUE_COMPUTE][who - 1];
        p->needs[y].n[q] = npu_most(p->needs[y].n[q], k);
        q = NPU_QUEUE_COMPUTE;
        k = who;
    }
    p->needs[i].n[q] = npu_most(p->needs[i].n[q], k);
}

static void find_needs(struct placer *p, uint32_t i)
{
    const uint32_t own = npu_queue(&p->list[i]);
    const struct npu_touch *t = &p->touched[i];
    struct npu_clock most = { 0 };
    for (uint32_t r = 0; r < NRESOURCE; r++) {
        const uint32_t reads = t->reads >> r & 1, writes = t->writes >> r & 1;
        for (uint32_t q = 0; (reads | writes) && q < NPU_NQUEUE; q++) {
            most.n[q] = npu_most(most.n[q], p->last[r][1][q]);
            if (writes)
                most.n[q] = npu_most(most.n[q], p->last[r][0][q]);
        }
        if (reads)
            p->last[r][0][own] = p->nqueue[own] + 1;
        if (writes)
            p->last[r][1][own] = p->nqueue[own] + 1;
    }
    for (uint32_t q = 0; q < NPU_NQUEUE; q++) {
        if (q != own && most.n[q])
            need(p, i, q, most.n[q]);
    }
    p->of_queue[own][p->nqueue[own]++] = i;
}

/* ---- tokens ---- */

static void place(struct placer *p, uint32_t i)
{
    const uint32_t own = npu_queue(&p->list[i]), n = p->nqueue[own]++;
    struct npu_clock clock =
        n ? p->ended[p->of_queue[own][n - 1]] : (struct npu_clock){ 0 };
    for (uint32_t q = 0; q < NPU_NQUEUE; q++) {
        const uint32_t k = q == own ? 0 : p->needs[i].n[q];
        if (k <= clock.n[q])
            continue;
        const uint32_t from = p->of_queue[q][k - 1];
        p->list[from].tokens |= q < own ? NPU_PUSH_NEXT : NPU_PUSH_PREV;
        p->list[i].tokens |= q < own ? NPU_POP_PREV : NPU_POP_NEXT;
        npu_clock_join(&clock, &p->ended[from]);
    }
    p->ended[i] = clock;
    p->ended[i].n[own] = n + 1;
}

/* Whether the channels hold all tokens that are pushed and not popped yet. */
static int has_room(const struct placer *p)
{
    uint32_t open[NPU_NCHANNEL] = { 0 };
    for (uint32_t i = 0; i < p->n; i++) {
        const uint32_t q = npu_queue(&p->list[i]);
        for (uint32_t token = 1; token < 16; token <<= 1) {
            if (!(p->list[i].tokens & token))
                continue;
            uint32_t *channel = &open[npu_channel(q, token)];
            *channel += token < NPU_PUSH_PREV ? UINT32_MAX : 1;
            if (*channel > p->config->tokens)
                return 0;
        }
    }
    return 1;
}

bt_status npu_place_tokens(bt_arena *arena, const struct npu_config *config,
                           const struct npu_touch *touched, int by_tile, uint32_t n,
                           struct npu_instruction *list, int *out)
{
    struct placer p = {
        .config = config, .touched = touched, .by_tile = by_tile, .n = n, .list = list
    };
    int ok = (p.needs = BT_NEWS(arena, struct npu_clock, n)) != NULL;
    ok &= (p.ended = BT_NEWS(arena, struct npu_clock, n)) != NULL;
    for (uint32_t q = 0; q < NPU_NQUEUE; q++)
        ok &= (p.of_queue[q] = BT_NEWS(arena, uint32_t, n)) != NULL;
    if (!ok)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        list[i].tokens = 0;
        find_needs(&p, i);
    }
    for (uint32_t q = 0; q < NPU_NQUEUE; q++)
        p.nqueue[q] = 0;
    for (uint32_t i = 0; !p.is_late && i < n; i++)
        place(&p, i);
    *out = !p.is_late && has_room(&p);
    return NULL;
}
