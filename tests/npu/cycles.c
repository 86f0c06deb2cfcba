/* When instructions begin and end, counted by hand on the tiny machine: a LOAD or STORE takes 10
 * cycles, and of each row 1 and its bytes / 8; GEMM 5 and its iterations, ALU 4. */
#include "kit.h"

enum { INP = 12, UOPS = 15, ACC = 43 }; /* cycles of the loads below */

static uint8_t data, out;

/* Four micro-ops, of four tiles of acc; `flags` are theirs. */
static void begin(uint16_t flags)
{
    struct npu_uop uops[4];
    use("tiny");
    data = add_buffer(4096, 1);
    out = add_buffer(4096, 0);
    for (uint16_t i = 0; i < 4; i++)
        uops[i] = (struct npu_uop){ .dst = i, .src = i, .flags = flags };
    load_uops(add_uops(uops, 4), 4);
}

static void load(uint8_t memory, uint16_t columns, uint8_t tokens)
{
    add((struct npu_instruction){ .op = NPU_LOAD,
                                  .tokens = tokens,
                                  .memory = memory,
                                  .buffer = data,
                                  .rows = 1,
                                  .columns = columns,
                                  .bits = memory == NPU_WGT ? 8 : 0 });
}

/* 4 * inner iterations, of four tiles in turn. */
static void alu(uint16_t inner, uint8_t tokens)
{
    add((struct npu_instruction){ .op = NPU_ALU,
                                  .tokens = tokens,
                                  .sub = NPU_ADD,
                                  .flags = NPU_IMMEDIATE,
                                  .nuop = 4,
                                  .outer = 1,
                                  .inner = inner,
                                  .low = 1 });
}

static void times_are(uint32_t queue, uint64_t n, uint64_t busy, uint64_t end)
{
    assert_int_equal(times.queues[queue].n, n);
    assert_int_equal(times.queues[queue].busy, busy);
    assert_int_equal(times.queues[queue].busy + times.queues[queue].waiting, end);
}

static void chain(void)
{
    begin(NPU_UOP_BEGINS);
    load(NPU_INP, 4, 0);                          // 10 + 1 + 32 / 8
    load(NPU_WGT, 1, NPU_PUSH_NEXT);              // 10 + 1 + 32 / 8
    add((struct npu_instruction){ .op = NPU_GEMM, // 5 + 4
                                  .tokens = NPU_POP_PREV | NPU_PUSH_NEXT,
                                  .nuop = 4,
                                  .outer = 1,
                                  .inner = 1 });
    add((struct npu_instruction){ .op = NPU_STORE, // 10 + 2 (1 + 128 / 8)
                                  .tokens = NPU_POP_PREV | NPU_PUSH_PREV,
                                  .memory = NPU_ACC,
                                  .buffer = out,
                                  .rows = 2,
                                  .columns = 2,
                                  .stride = 256 });
    finish(NPU_POP_NEXT);
}

static void test_each_waits_for_the_one_before(void **state)
{
    (void)state;
    chain();
    run_all();
    // micro-ops 1..16, then inp 16..31, wgt 31..46, GEMM 46..55, STORE 55..99
    assert_int_equal(times.cycles, 99);
    times_are(NPU_QUEUE_LOAD, 2, 30, 46);
    times_are(NPU_QUEUE_COMPUTE, 3, UOPS + 9, 99);
    times_are(NPU_QUEUE_STORE, 1, 44, 99);
    assert_int_equal(times.iterations, 4);
    assert_int_equal(times.nbytes, 32 + 32 + 32 + 256);
}

static void test_the_bus_serves_who_came_first(void **state)
{
    (void)state;
    chain();
    config.dispatch = 0;
    run_all();
    // both ask at 0: load goes first, 0..15; then micro-ops, which asked at 0, 15..30; then wgt
    assert_int_equal(times.cycles, 98);
    times_are(NPU_QUEUE_LOAD, 2, 30, 45);
}

static void test_a_full_queue_stops_fetching(void **state)
{
    (void)state;
    for (uint32_t depth = 1; depth < 5; depth += 3) {
        begin(0);
        list[2] = list[0];
        stream.n = 0;
        load(NPU_INP, 1, 0);
        load(NPU_INP, 1, 0);
        struct npu_instruction uops = list[2];
        load(NPU_INP, 1, 0);
        add(uops);
        finish(0);
        config.depth = depth;
        run_all();
        // depth 1: fetched when the second load has begun, at 13: asks at 14, begins at 25
        assert_int_equal(times.cycles, 1 + 3 * INP + UOPS);
        times_are(NPU_QUEUE_LOAD, 3, 3 * INP, 1 + 3 * INP + UOPS);
        times_are(NPU_QUEUE_COMPUTE, 2, UOPS, (depth == 1 ? 25 : 13) + UOPS);
    }
}

static void test_a_full_channel_holds_a_push(void **state)
{
    (void)state;
    for (uint32_t tokens = 1; tokens < 3; tokens++) {
        begin(0);
        load(NPU_ACC, 4, NPU_PUSH_NEXT); // 16..59
        alu(25, NPU_POP_PREV);           // 59..163
        load(NPU_INP, 1, NPU_PUSH_NEXT); // 59..71
        alu(25, NPU_POP_PREV);           // 163..267
        load(NPU_INP, 1, NPU_PUSH_NEXT); // 71..83
        alu(25, NPU_POP_PREV);           // 267..371
        load(NPU_INP, 1, 0);
        finish(0);
        config.tokens = tokens;
        config.depth = 16;
        run_all();
        assert_int_equal(times.cycles, 371);
        times_are(NPU_QUEUE_COMPUTE, 5, UOPS + 3 * 104, 371);
        times_are(NPU_QUEUE_LOAD, 4, ACC + 3 * INP, (tokens == 1 ? 163 : 83) + INP);
    }
}

/* Cycles of one instruction of `nuop` micro-ops, behind loads of all that it reads. */
static uint64_t cycles_of(uint16_t flags, struct npu_instruction in)
{
    begin(flags);
    load(NPU_INP, 16, 0);
    load(NPU_WGT, 1, 0);
    load(NPU_ACC, 16, NPU_PUSH_NEXT);
    in.tokens = NPU_POP_PREV;
    in.outer = 1;
    add(in);
    finish(0);
    run_all();
    return times.queues[NPU_QUEUE_COMPUTE].busy - UOPS;
}

static void test_a_sum_waits_for_itself(void **state)
{
    (void)state;
    struct npu_instruction in = { .op = NPU_GEMM, .nuop = 1, .inner = 10 };
    assert_int_equal(cycles_of(0, in), 5 + 9 * 3 + 1);       // each behind the last
    assert_int_equal(cycles_of(NPU_UOP_BEGINS, in), 5 + 10); // none reads
    in.nuop = 2;
    assert_int_equal(cycles_of(0, in), 5 + 9 * 3 + 2); // two at a time
    in.nuop = 3;
    assert_int_equal(cycles_of(0, in), 5 + 30);
    in.nuop = 1;
    in.dst_inner = 1;
    assert_int_equal(cycles_of(0, in), 5 + 10);
    in =
        (struct npu_instruction){ .op = NPU_ALU, .sub = NPU_ADD, .nuop = 1, .inner = 10 };
    assert_int_equal(cycles_of(0, in), 4 + 9 * 3 + 1);
    in.dst_inner = 1; // tile 0 is read by each, and written by the first
    assert_int_equal(cycles_of(0, in), 4 + 12);
    in.sub =
        NPU_REQ; // parameters are tiles 0, 1 and 2: the first three iterations write them
    in.high = 1;
    assert_int_equal(cycles_of(0, in), 4 + 3 * 3 + 7);
}

static const struct CMUnitTest tests[] = {
    TEST(test_each_waits_for_the_one_before), TEST(test_the_bus_serves_who_came_first),
    TEST(test_a_full_queue_stops_fetching),   TEST(test_a_full_channel_holds_a_push),
    TEST(test_a_sum_waits_for_itself),
};

TEST_MAIN(tests)
