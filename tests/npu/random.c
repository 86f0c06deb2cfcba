/*
 * Random streams with tokens, some of them with races. An oracle written another way (sets of
 * bits of what each instruction touches, and of which come before it) says which; the others leave
 * the same in order of the stream, in time, and in 100 orders that the tokens allow.
 */
#include "kit.h"

enum {
    MOST = 60, /* instructions: they are bits */
    NWORD = 12,
    INP_AT = 0, /* places: 128 tiles of inp, 32 of wgt, 16 of acc, bytes of the buffer */
    WGT_AT = 128,
    ACC_AT = 160,
    BYTE_AT = 192,
    NBYTE = 512,
    SPARE = 15 /* the tile of acc that only stores touch */
};

static uint8_t x, y, u;
static struct npu_uop uops[128];
static uint32_t open[NPU_NCHANNEL];
static int last[NPU_NQUEUE]; /* instruction; -1: none */

/* ---- the oracle ---- */

struct touched {
    uint64_t reads[NWORD], writes[NWORD];
};

static void mark(uint64_t *bits, uint32_t place)
{
    bits[place / 64] |= (uint64_t)1 << place % 64;
}

static void touch_transfer(const struct npu_instruction *in, struct touched *t)
{
    const uint32_t nelem[] = { 0, 32, 8, 64, 16, 16 }; // bytes of a tile in main memory
    const uint32_t at = in->memory == NPU_INP   ? INP_AT
                        : in->memory == NPU_WGT ? WGT_AT
                                                : ACC_AT;
    const uint32_t nbytes =
        nelem[in->memory] * (in->memory == NPU_WGT ? in->bits : 8) / 8;
    const uint32_t n = (in->top + in->rows) * (in->left + in->columns);
    for (uint32_t k = 0; k < n; k++)
        mark(in->op == NPU_LOAD ? t->writes : t->reads, at + in->tile + k);
    for (uint32_t k = 0; in->buffer == y && k < in->rows * in->columns * nbytes; k++)
        mark(in->op == NPU_LOAD ? t->reads : t->writes,
             BYTE_AT + in->offset + k / (in->columns * nbytes) * in->stride +
                 k % (in->columns * nbytes));
}

static void touch(const struct npu_instruction *in, struct touched *t)
{
    *t = (struct touched){ 0 };
    if (npu_queue(in) != NPU_QUEUE_COMPUTE) {
        touch_transfer(in, t);
        return;
    }
    for (uint32_t k = 0; k < (uint32_t)in->outer * in->inner * in->nuop; k++) {
        const struct npu_uop v = uops[in->first + k % in->nuop];
        const uint32_t j = k / in->nuop % in->inner, i = k / in->nuop / in->inner;
        const uint32_t w = v.wgt + i * in->wgt_outer + j * in->wgt_inner;
        const uint32_t s = v.src + i * in->src_outer + j * in->src_inner;
        mark(t->writes, ACC_AT + v.dst + i * in->dst_outer + j * in->dst_inner);
        if (in->op == NPU_GEMM) {
            mark(t->reads, INP_AT + s);
            mark(t->reads, WGT_AT + w);
        } else if (in->sub == NPU_REQ) {
            for (uint32_t p = 0; p < 3; p++)
                mark(t->reads, ACC_AT + w + p);
        } else if (!(in->flags & NPU_IMMEDIATE)) {
            mark(t->reads, ACC_AT + s);
        }
    }
}

static int conflict(const struct touched *a, const struct touched *b)
{
    uint64_t both = 0;
    for (uint32_t k = 0; k < NWORD; k++)
        both |=
            (a->writes[k] & (b->reads[k] | b->writes[k])) | (a->reads[k] & b->writes[k]);
    return both != 0;
}

/* before[i]: those that have ended when i begins. */
static void find_before(uint64_t *before)
{
    uint32_t pushed[NPU_NCHANNEL][MOST], npush[NPU_NCHANNEL] = { 0 },
                                         npop[NPU_NCHANNEL] = { 0 };
    for (uint32_t i = 0; i < stream.n; i++) {
        const uint32_t q = npu_queue(&list[i]);
        before[i] = 0;
        for (uint32_t k = 0; k < i; k++) {
            if (npu_queue(&list[k]) == q)
                before[i] |= before[k] | (uint64_t)1 << k;
        }
        for (uint32_t token = 1; token < 16; token *= 2) {
            const uint32_t c = npu_channel(q, token);
            if (!(list[i].tokens & token))
                continue;
            if (token >= NPU_PUSH_PREV) {
                pushed[c][npush[c]++] = i;
                continue;
            }
            const uint32_t from = pushed[c][npop[c]++];
            before[i] |= before[from] | (uint64_t)1 << from;
        }
    }
}

/* The first earlier instruction that races with the last one; -1: none. */
static int find_race(uint32_t i)
{
    static struct touched touched[MOST];
    uint64_t before[MOST];
    find_before(before);
    for (uint32_t k = 0; k <= i; k++)
        touch(&list[k], &touched[k]);
    for (uint32_t k = 0; k < i; k++) {
        if (!(before[i] >> k & 1) && npu_queue(&list[k]) != npu_queue(&list[i]) &&
            conflict(&touched[k], &touched[i]))
            return (int)k;
    }
    return -1;
}

static int has_race(void)
{
    for (uint32_t i = 0; i < stream.n; i++) {
        if (find_race(i) >= 0)
            return 1;
    }
    return 0;
}

/* ---- the generator ---- */

static void put(struct npu_instruction in)
{
    last[npu_queue(&in)] = (int)stream.n;
    add(in);
}

static struct npu_instruction idle(uint32_t queue)
{
    if (queue == NPU_QUEUE_COMPUTE)
        return (struct npu_instruction){
            .op = NPU_LOAD, .memory = NPU_UOP, .buffer = u, .rows = 1, .columns = 1
        };
    if (queue == NPU_QUEUE_LOAD)
        return (struct npu_instruction){ .op = NPU_LOAD,
                                         .memory = NPU_INP,
                                         .buffer = x,
                                         .tile = 127,
                                         .rows = 1,
                                         .columns = 1 };
    return (struct npu_instruction){ .op = NPU_STORE,
                                     .memory = NPU_ACC,
                                     .buffer = y,
                                     .offset = NBYTE - 64,
                                     .tile = SPARE,
                                     .rows = 1,
                                     .columns = 1 };
}

/* Tokens of neighbours: pushed by the last of `from`, popped by `in`. 0: not so now. */
static int pair(uint32_t from, uint32_t to, struct npu_instruction *in, int pops)
{
    const uint8_t push = from < to ? NPU_PUSH_NEXT : NPU_PUSH_PREV;
    const uint8_t pop = from < to ? NPU_POP_PREV : NPU_POP_NEXT;
    const uint32_t channel = npu_channel(from, push);
    if (last[from] < 0 || list[last[from]].tokens & push ||
        (pops ? open[channel] || in->tokens & pop : open[channel] >= config.tokens))
        return 0;
    list[last[from]].tokens |= push;
    if (pops)
        in->tokens |= pop;
    else
        open[channel]++;
    return 1;
}

/* `in` comes behind all that queue `from` has so far, where tokens that are open allow it. */
static void follow(uint32_t from, struct npu_instruction *in)
{
    const uint32_t to = npu_queue(in);
    if (from + to != NPU_QUEUE_LOAD + NPU_QUEUE_STORE || from == to) {
        pair(from, to, in, 1);
        return;
    }
    struct npu_instruction between = idle(NPU_QUEUE_COMPUTE);
    if (pair(from, NPU_QUEUE_COMPUTE, &between, 1)) {
        put(between);
        pair(NPU_QUEUE_COMPUTE, to, in, 1);
    }
}

static void pop_open(struct npu_instruction *in, uint32_t odds)
{
    const uint32_t q = npu_queue(in);
    for (uint32_t token = 1; token < 4; token *= 2) {
        const uint32_t c = npu_channel(q, token);
        if (c < NPU_NCHANNEL && open[c] && !(in->tokens & token) && draw(odds) == 0) {
            in->tokens |= (uint8_t)token;
            open[c]--;
        }
    }
}

static struct npu_instruction random_load(void)
{
    static const uint8_t memories[] = { NPU_INP, NPU_WGT, NPU_ACC, NPU_ACC_OF_INT8 };
    struct npu_instruction in = { .op = NPU_LOAD, .memory = memories[draw(4)] };
    const int pads = in.memory != NPU_WGT && draw(3) == 0;
    in.buffer = draw(3) ? x : y;
    in.tile = (uint16_t)draw(5);
    in.rows = (uint16_t)(1 + draw(2));
    in.columns = (uint16_t)(1 + draw(2));
    in.offset = draw(64);
    in.stride = draw(100);
    in.bits = in.memory != NPU_WGT ? 0 : (uint8_t)(8 >> draw(3));
    in.top = (uint8_t)(pads ? draw(2) : 0);
    in.left = (uint8_t)(pads ? draw(2) : 0);
    in.pad = (int8_t)(in.top || in.left ? (int)draw(256) - 128 : 0);
    return in;
}

static struct npu_instruction random_compute(void)
{
    struct npu_instruction in = { .op = draw(3) ? NPU_GEMM : NPU_ALU };
    in.first = (uint16_t)draw(100);
    in.nuop = (uint16_t)(1 + draw(3));
    in.outer = (uint16_t)(1 + draw(3));
    in.inner = (uint16_t)(1 + draw(3));
    in.dst_outer = (uint16_t)draw(2);
    in.dst_inner = (uint16_t)draw(3);
    if (in.op == NPU_ALU) {
        in.sub = (uint8_t)draw(NPU_NSUB);
        in.flags = in.sub == NPU_REQ ? 0 : (uint8_t)draw(2);
        in.flags |= in.sub >= NPU_SHR && in.sub != NPU_MUL && draw(2) ? NPU_EVEN : 0;
        in.low = in.sub == NPU_REQ          ? -128
                 : in.flags & NPU_IMMEDIATE ? (int32_t)draw(UINT32_MAX)
                                            : 0;
        in.high = in.sub == NPU_REQ ? 127 : 0;
    }
    in.src_inner = npu_has_src(&in) ? (uint16_t)draw(2) : 0;
    in.wgt_outer = npu_nwgt(&config, &in) ? (uint16_t)draw(2) : 0;
    return in;
}

static struct npu_instruction random_store(void)
{
    return (struct npu_instruction){ .op = NPU_STORE,
                                     .memory = NPU_ACC,
                                     .buffer = y,
                                     .tile = (uint16_t)draw(8),
                                     .offset = draw(256),
                                     .rows = 1,
                                     .columns = (uint16_t)(1 + draw(2)) };
}

static void grow(void)
{
    const uint32_t kind = draw(3);
    struct npu_instruction in = kind == 0   ? random_load()
                                : kind == 1 ? random_compute()
                                            : random_store();
    const uint32_t q = npu_queue(&in);
    for (uint32_t from = 0; from < NPU_NQUEUE; from++) { // one that somebody pops later
        if (draw(8) == 0 && (from == 1) != (q == 1))
            pair(from, q, &in, 0);
    }
    pop_open(&in, 2);
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t n = stream.n;
        add(in);
        const int race = find_race(n);
        stream.n = n;
        if (race < 0)
            break;
        if (draw(40))
            follow(npu_queue(&list[race]), &in);
    }
    put(in);
}

static void close(void)
{
    // tokens to the outer queues first: what pops them pushes none
    for (uint32_t q = 0; q < NPU_NQUEUE; q += 2) {
        while (open[q ? 2 : 1]) {
            struct npu_instruction in = idle(q);
            pop_open(&in, 1);
            put(in);
        }
    }
    while (open[0] || open[3]) {
        struct npu_instruction in = idle(NPU_QUEUE_COMPUTE);
        pop_open(&in, 1);
        put(in);
    }
    finish(0);
}

static void generate(void)
{
    use("tiny");
    memset(open, 0, sizeof(open));
    for (uint32_t q = 0; q < NPU_NQUEUE; q++)
        last[q] = -1;
    for (uint32_t i = 0; i < 128; i++)
        uops[i] = (struct npu_uop){ (uint16_t)draw(6), (uint16_t)draw(6),
                                    (uint16_t)draw(6), (uint16_t)draw(2) };
    x = add_buffer(4096, 1);
    y = add_buffer(NBYTE, 0);
    u = add_uops(uops, 128);
    static const uint8_t memories[] = { NPU_INP, NPU_WGT, NPU_ACC };
    for (uint32_t k = 0; k < 3; k++) {
        struct npu_instruction in = idle(NPU_QUEUE_LOAD);
        in.memory = memories[k];
        in.tile = 0;
        in.columns = (uint16_t)config.ntile[memories[k]];
        in.bits = k == 1 ? 8 : 0;
        in.tokens = k == 2 ? NPU_PUSH_NEXT : 0;
        put(in);
    }
    struct npu_instruction in = idle(NPU_QUEUE_COMPUTE);
    in.columns = 128;
    in.tokens = NPU_POP_PREV | NPU_PUSH_NEXT;
    put(in);
    in = idle(NPU_QUEUE_STORE);
    in.tokens = NPU_POP_PREV;
    put(in);
    const uint32_t n = 8 + draw(24);
    while (stream.n < n)
        grow();
    close();
    assert_true(stream.n <= MOST);
}

/* ---- orders ---- */

static void test_orders_agree_where_there_is_no_race(void **state)
{
    (void)state;
    uint32_t nfree = 0, nrace = 0;
    for (uint32_t round = 0; round < 1500; round++) {
        const void *mark = bt_arena_mark(arena);
        seed = round + 1;
        generate();
        uint8_t begun[NBYTE], left[NBYTE];
        memcpy(begun, buffer_list[y].at, NBYTE);
        bt_status status = npu_check(ctx, &config, &buffers, &stream);
        // a token that is pushed earlier than others are popped may be one too many
        if (status && strstr(status->message, "more than the 2 that go")) {
            bt_ctx_clear_diags(ctx);
            bt_arena_release(arena, mark);
            continue;
        }
        const int race = has_race();
        if (race != !!status)
            fail_msg("seed %u: the oracle says %d: %s", round + 1, race,
                     status ? status->message : "no race");
        nrace += race;
        nfree += !race;
        if (!race) {
            run_both();
            assert_true(times.queues[NPU_QUEUE_LOAD].busy +
                            times.queues[NPU_QUEUE_STORE].busy <=
                        times.cycles);
            memcpy(left, buffer_list[y].at, NBYTE);
        }
        for (uint32_t k = 0; !race && k < 100; k++) {
            struct npu_machine *m;
            memcpy(buffer_list[y].at, begun, NBYTE);
            assert_ok(ctx, npu_machine_create(ctx, &config, &m));
            run_in_random_order(m, &buffers, &stream);
            npu_machine_destroy(m);
            assert_memory_equal(buffer_list[y].at, left, NBYTE);
        }
        bt_ctx_clear_diags(ctx);
        bt_arena_release(arena, mark);
    }
    assert_true(nfree > 300 && nrace > 300);
}

static const struct CMUnitTest tests[] = {
    TEST(test_orders_agree_where_there_is_no_race),
};

TEST_MAIN(tests)
