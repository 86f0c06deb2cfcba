/* What is refused before it runs: out of bounds, standing still, racing. */
#include "kit.h"
#include "layers.h"

/* One tile of inputs and of weights, their product, stored: the smallest whole stream. Micro-op 0
 * begins a sum in tile 0 of acc. */
enum { UOPS, INP, WGT, GEMM, STORE, FINISH };
static uint8_t x, w, y, u;

static void begin(void)
{
    use("tiny");
    struct npu_uop uops[2] = { { .flags = NPU_UOP_BEGINS }, { 0 } };
    x = add_buffer(64, 1);
    w = add_buffer(64, 1);
    y = add_buffer(256, 0);
    u = add_uops(uops, 2);
    load_uops(u, 2);
    add((struct npu_instruction){
        .op = NPU_LOAD, .memory = NPU_INP, .buffer = x, .rows = 1, .columns = 1 });
    add((struct npu_instruction){ .op = NPU_LOAD,
                                  .tokens = NPU_PUSH_NEXT,
                                  .memory = NPU_WGT,
                                  .buffer = w,
                                  .rows = 1,
                                  .columns = 1,
                                  .bits = 8 });
    add((struct npu_instruction){ .op = NPU_GEMM,
                                  .tokens = NPU_POP_PREV | NPU_PUSH_NEXT,
                                  .nuop = 1,
                                  .outer = 1,
                                  .inner = 1 });
    add((struct npu_instruction){ .op = NPU_STORE,
                                  .tokens = NPU_POP_PREV | NPU_PUSH_PREV,
                                  .memory = NPU_ACC,
                                  .buffer = y,
                                  .rows = 1,
                                  .columns = 1 });
    finish(NPU_POP_NEXT);
}

static void test_the_smallest_stream_is_right(void **state)
{
    (void)state;
    begin();
    run_all();
    assert_null(fault());
}

/* Sets a member of an instruction; the stream is wrong for that reason. */
#define WRONG(i, member, value, part)               \
    do {                                            \
        begin();                                    \
        list[i].member = (value);                   \
        assert_error(fault(), BT_ERR_VERIFY, part); \
    } while (0)

static void test_transfers_stay_in_their_memories(void **state)
{
    (void)state;
    WRONG(INP, buffer, 4, "instruction 1 (load), field buffer: 4 of 4");
    WRONG(INP, offset, 57, "field offset: byte 64 of the 64 of buffer 0");
    WRONG(INP, offset, UINT32_MAX, "field offset: byte 4294967302 of the 64 of buffer 0");
    WRONG(INP, columns, 9, "field offset: byte 71 of");
    WRONG(INP, rows, 129, "field tile: 128 of the 128 of inp");
    WRONG(INP, tile, 128, "field tile: 128 of the 128 of inp");
    WRONG(INP, left, 128, "field tile: 128 of the 128 of inp");
    WRONG(INP, bottom, 128, "field tile: 128 of the 128 of inp");
    WRONG(INP, rows, 0, "field rows: none");
    WRONG(INP, columns, 0, "field columns: none");
    WRONG(INP, pad, 1, "field pad: a code, and nothing to fill");
    WRONG(INP, bits, 8, "field bits: 8; 0 is expected of inp, which is not unpacked");
    WRONG(INP, memory, 5, "field memory: 5 is none to load");
    WRONG(WGT, bits, 3, "field bits: the machine has no wgt of 3 bits");
    WRONG(WGT, bits, 0, "field bits: the machine has no wgt of 0 bits");
    WRONG(WGT, bits, 40, "field bits: the machine has no wgt of 40 bits");
    WRONG(WGT, top, 1, "field top: wgt has no padding");
    WRONG(WGT, tile, 32, "field tile: 32 of the 32 of wgt");
    WRONG(STORE, memory, 4, "field memory: 4 is none to store");
    WRONG(STORE, tile, 16, "field tile: 16 of the 16 of acc");
    WRONG(STORE, buffer, 0, "instruction 4 (store), field buffer: 0 is constant");
    WRONG(UOPS, buffer, 2, "field buffer: 2 is not constant, and micro-ops come from it");
    WRONG(UOPS, tile, 127, "field tile: 128 of the 128 of uop");
    begin();
    list[INP].rows = 2;
    list[INP].stride = UINT32_MAX;
    assert_error(fault(), BT_ERR_VERIFY, "field offset: byte 4294967302 of the 64");
}

static void test_steps_stay_in_their_memories(void **state)
{
    (void)state;
    WRONG(GEMM, nuop, 0, "field nuop: none");
    WRONG(GEMM, outer, 0, "field outer: none");
    WRONG(GEMM, inner, 0, "field inner: none");
    WRONG(GEMM, first, 2, "field first: micro-op 2 is not loaded");
    WRONG(GEMM, nuop, 3, "field first: micro-op 2 is not loaded");
    WRONG(GEMM, first, 128, "field first: micro-op 128 of 128");
    WRONG(GEMM, op, NPU_OP_END, "field op: there is no op 6");
    static const char *const names[] = { "dst", "src", "wgt" };
    static const uint16_t ntile[] = { 16, 128, 32 };
    for (uint32_t k = 0; k < 6; k++) {
        char what[96];
        begin();
        uint16_t *steps[] = { &list[GEMM].dst_outer, &list[GEMM].dst_inner,
                              &list[GEMM].src_outer, &list[GEMM].src_inner,
                              &list[GEMM].wgt_outer, &list[GEMM].wgt_inner };
        *steps[k] = 65535;
        list[GEMM].outer = k % 2 ? 1 : 65535;
        list[GEMM].inner = k % 2 ? 65535 : 1;
        snprintf(what, sizeof(what), "field %s: micro-op 0: tile 4294770690 of the %u",
                 names[k / 2], ntile[k / 2]);
        assert_error(fault(), BT_ERR_VERIFY, what);
    }
    for (uint32_t k = 0; k < 4; k++) {
        static const char *const parts[] = { "dst: micro-op 0: tile 16",
                                             "src: micro-op 0",
                                             "wgt: micro-op 0: tile 32",
                                             "first: micro-op 0: flags 2" };
        begin();
        buffer_list[u].at[2 * k] = 128;
        if (k == 3)
            buffer_list[u].at[6] = 2;
        else if (k != 1)
            buffer_list[u].at[2 * k] = k ? 32 : 16;
        assert_error(fault(), BT_ERR_VERIFY, parts[k]);
    }
}

#define WRONG_ALU(member_a, a, member_b, b, part)   \
    do {                                            \
        begin();                                    \
        list[GEMM].op = NPU_ALU;                    \
        list[GEMM].member_a = (a);                  \
        list[GEMM].member_b = (b);                  \
        assert_error(fault(), BT_ERR_VERIFY, part); \
    } while (0)

static void test_fields_without_use_are_zero(void **state)
{
    (void)state;
    WRONG_ALU(sub, 6, flags, 0, "field sub: there is no operation 6");
    WRONG_ALU(sub, NPU_ADD, flags, NPU_EVEN,
              "field flags: 2; 2, even, is of SHR and REQ alone");
    WRONG_ALU(sub, NPU_SHR, flags, 4,
              "field flags: 4; 1, immediate, 2, even, or their sum is expected");
    WRONG_ALU(sub, NPU_REQ, flags, NPU_IMMEDIATE,
              "field flags: 1; 1, immediate, is not of REQ");
    WRONG_ALU(sub, NPU_ADD, low, 1,
              "field low: 1; 0 is expected without flag 1, immediate");
    WRONG_ALU(sub, NPU_ADD, high, 1, "field high: 1; 0 is expected but of REQ");
    WRONG_ALU(sub, NPU_REQ, low, 1, "field low: 1 is above high, 0");
    WRONG_ALU(flags, NPU_IMMEDIATE, src_inner, 1, "field src_outer: src is not used");
    WRONG_ALU(sub, NPU_ADD, wgt_inner, 1, "field wgt_outer: wgt is not used");
    // of REQ three tiles are parameters
    begin();
    list[GEMM].op = NPU_ALU;
    list[GEMM].sub = NPU_REQ;
    buffer_list[u].at[4] = 14;
    assert_error(fault(), BT_ERR_VERIFY,
                 "field wgt: micro-op 0: tile 16 of the 16 of acc");
}

static void test_tokens_balance(void **state)
{
    (void)state;
    WRONG(INP, tokens, NPU_PUSH_PREV, "field tokens: bit 4: there is no such neighbour");
    WRONG(INP, tokens, NPU_POP_PREV, "field tokens: bit 1: there is no such neighbour");
    WRONG(STORE, tokens, NPU_POP_NEXT, "field tokens: bit 2: there is no such neighbour");
    WRONG(STORE, tokens, NPU_PUSH_NEXT,
          "field tokens: bit 8: there is no such neighbour");
    WRONG(GEMM, tokens, 16, "field tokens: 16");
    WRONG(WGT, tokens, 0,
          "instruction 3 (gemm), field tokens: waits for ever: nothing was pushed from "
          "load "
          "to compute");
    WRONG(GEMM, tokens, NPU_POP_PREV,
          "instruction 4 (store), field tokens: waits for ever");
    WRONG(FINISH, tokens, 0,
          "instruction 5 (finish), field tokens: leaves 1 from store to compute");
    WRONG(FINISH, tokens, NPU_POP_NEXT | NPU_PUSH_PREV, "leaves 1 from compute to load");
    WRONG(FINISH, op, NPU_GEMM, "field nuop: none");
    begin();
    stream.n--;
    assert_error(fault(), BT_ERR_VERIFY, "field op: the last instruction is not finish");
    stream.n = 0;
    assert_error(fault(), BT_ERR_VERIFY, "a stream without instructions");
    begin();
    finish(0);
    list[FINISH].tokens = NPU_POP_NEXT;
    assert_error(fault(), BT_ERR_VERIFY,
                 "instruction 5 (finish), field op: instructions");
    // two fit into a channel of this machine
    begin();
    list[STORE].tokens = NPU_POP_PREV;
    list[UOPS].tokens = NPU_PUSH_NEXT;
    stream.n--;
    for (uint32_t i = 0; i < 2; i++)
        add((struct npu_instruction){ .op = NPU_LOAD,
                                      .tokens = NPU_PUSH_NEXT,
                                      .memory = NPU_UOP,
                                      .buffer = u,
                                      .rows = 1,
                                      .columns = 1 });
    finish(0);
    assert_error(
        fault(), BT_ERR_VERIFY,
        "instruction 6 (load), field tokens: more than the 2 that go from compute "
        "to store");
}

/* A wait for one another, of queues whose tokens balance. */
static void test_deadlock_is_found(void **state)
{
    (void)state;
    begin();
    list[WGT].tokens = NPU_PUSH_NEXT | NPU_POP_NEXT;
    list[GEMM].tokens |= NPU_PUSH_PREV;
    assert_error(
        fault(), BT_ERR_VERIFY,
        "instruction 2 (load), field tokens: waits for ever: nothing was pushed from "
        "compute to load");
}

static void test_buffers_fit_main_memory(void **state)
{
    (void)state;
    begin();
    buffer_list[x].nbytes = (size_t)1 << 40;
    assert_error(fault(), BT_ERR_VERIFY, "buffer 0: main memory has 1048576 bytes");
    begin();
    buffer_list[u].at = NULL;
    assert_error(fault(), BT_ERR_VERIFY, "buffer 3: constant, and not there");
    begin();
    buffer_list[y].at = NULL;
    assert_ok(ctx, npu_check(ctx, &config, &buffers, &stream));
    assert_error(fault(), BT_ERR_ARGUMENT, "(store), field buffer: 2 is not there");
}

static void test_what_nothing_wrote_is_not_read(void **state)
{
    (void)state;
    begin();
    buffer_list[u].at[2] = 5;
    assert_error(fault(), BT_ERR_RUNTIME,
                 "instruction 3 (gemm), field first: nothing has written inp 5");
    begin();
    list[GEMM].first = 1;
    assert_error(fault(), BT_ERR_RUNTIME, "nothing has written acc 0");
    begin();
    list[GEMM].wgt_outer = list[GEMM].dst_outer = 1;
    list[GEMM].outer = 2;
    assert_error(fault(), BT_ERR_RUNTIME, "nothing has written wgt 1");
    begin();
    list[STORE].tile = 7;
    assert_error(fault(), BT_ERR_RUNTIME,
                 "(store), field tile: nothing has written acc 7");
}

/* ---- races ---- */

static void test_races_are_named_with_the_missing_token(void **state)
{
    (void)state;
    begin();
    list[WGT].tokens = 0;
    list[GEMM].tokens = NPU_PUSH_NEXT;
    assert_error(
        fault(), BT_ERR_VERIFY,
        "instruction 3 (gemm), field tokens: a race with instruction 1 (load) for "
        "inp 0: that must push next, this pop prev");
    begin();
    list[GEMM].tokens = NPU_POP_PREV;
    list[STORE].tokens = NPU_PUSH_PREV;
    assert_error(
        fault(), BT_ERR_VERIFY,
        "instruction 4 (store), field tokens: a race with instruction 3 (gemm) for "
        "acc 0: that must push next, this pop prev");
    // the load of a residual into the tile that is stored meanwhile
    begin();
    stream.n--;
    add((struct npu_instruction){
        .op = NPU_LOAD, .memory = NPU_ACC, .buffer = w, .rows = 1, .columns = 1 });
    list[5].memory = NPU_ACC_OF_INT8;
    finish(NPU_POP_NEXT);
    assert_error(
        fault(), BT_ERR_VERIFY,
        "instruction 5 (load), field tokens: a race with instruction 3 (gemm) for "
        "acc 0: that must push prev, this pop next");
    // behind the product it still races with the store
    list[GEMM].tokens |= NPU_PUSH_PREV;
    list[5].tokens = NPU_POP_NEXT;
    assert_error(
        fault(), BT_ERR_VERIFY,
        "instruction 5 (load), field tokens: a race with instruction 4 (store) for "
        "acc 0: that must push prev, this pop next, by way of the compute queue");
}

/* What is stored is loaded again: rows of bytes that lie between each other do not touch. */
static void check_buffer_race(uint32_t offset, uint32_t stride, uint16_t rows,
                              int is_race)
{
    begin();
    stream.n--;
    list[STORE].memory = NPU_INT8_OF_ACC; // 16 bytes
    list[STORE].offset = 16;
    add((struct npu_instruction){ .op = NPU_LOAD,
                                  .memory = NPU_INP,
                                  .tile = 1,
                                  .buffer = y,
                                  .offset = offset,
                                  .stride = stride,
                                  .rows = rows,
                                  .columns = 1 }); // 8 bytes
    finish(NPU_POP_NEXT);
    bt_status status = npu_check(ctx, &config, &buffers, &stream);
    if (is_race)
        assert_error(status, BT_ERR_VERIFY,
                     "a race with instruction 4 (store) for buffer 2");
    else
        assert_ok(ctx, status);
}

static void test_bytes_of_buffers_race_too(void **state)
{
    (void)state;
    check_buffer_race(8, 0, 1, 0);
    check_buffer_race(9, 0, 1, 1);
    check_buffer_race(31, 0, 1, 1);
    check_buffer_race(32, 0, 1, 0);
    check_buffer_race(0, 32, 4, 0);
    check_buffer_race(0, 24, 4, 1);
    check_buffer_race(0, 8, 2, 0);
    check_buffer_race(0, 8, 3, 1);
    check_buffer_race(0, 4, 4, 1);
    check_buffer_race(9, 0, 200 / 2, 1);
}

/* Every pair of tokens that a double-buffered layer has is needed: without it there is a race. */
static void test_each_token_of_a_layer_is_needed(void **state)
{
    (void)state;
    uint32_t nrace = 0, nfree = 0;
    use("tiny");
    const struct dense d = dense_of(2, 4, 8);
    dense_emit(&d);
    assert_ok(ctx, npu_check(ctx, &config, &buffers, &stream));
    for (uint32_t i = 0; i < stream.n; i++) {
        if (npu_queue(&list[i]) != NPU_QUEUE_COMPUTE || !(list[i].tokens & NPU_POP_PREV))
            continue;
        // the token that it pops is the one of the last load before it
        uint32_t from = i;
        while (!(list[from].op == NPU_LOAD && list[from].tokens & NPU_PUSH_NEXT))
            from--;
        list[i].tokens &= (uint8_t)~NPU_POP_PREV;
        list[from].tokens &= (uint8_t)~NPU_PUSH_NEXT;
        bt_status status = npu_check(ctx, &config, &buffers, &stream);
        nrace += status && strstr(status->message, "a race with");
        nfree += !status;
        list[i].tokens |= NPU_POP_PREV;
        list[from].tokens |= NPU_PUSH_NEXT;
    }
    assert_int_equal(nrace, 4);
    assert_int_equal(nfree, 0);
}

static const struct CMUnitTest tests[] = {
    TEST(test_the_smallest_stream_is_right),
    TEST(test_transfers_stay_in_their_memories),
    TEST(test_steps_stay_in_their_memories),
    TEST(test_fields_without_use_are_zero),
    TEST(test_tokens_balance),
    TEST(test_deadlock_is_found),
    TEST(test_buffers_fit_main_memory),
    TEST(test_what_nothing_wrote_is_not_read),
    TEST(test_races_are_named_with_the_missing_token),
    TEST(test_bytes_of_buffers_race_too),
    TEST(test_each_token_of_a_layer_is_needed),
};

TEST_MAIN(tests)
