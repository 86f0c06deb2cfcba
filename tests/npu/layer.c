/*
 * A whole layer on machine single, as a compiler would lay it out: 3 x 3 taps, 64 channels to 64, on
 * 56 x 56 places, requantized to int8. Steps of 14 x 14 places and two blocks of 16 outputs take
 * turns in two halves of scratch, so that the next step is loaded while one is computed.
 *
 *     x   [4][56][56][16] int8       w   [2][2][36][16][16] int8: pair, block, block of x and tap
 *     y   [2][56][56][2][16] int8    parameters   [4][2][16] int32: what is added, the shift
 */
#include "kit.h"

enum {
    N = 56,
    NSTEP = 32,       /* 16 tiles of places, 2 pairs of blocks */
    PRODUCTS = 36,    /* 4 blocks of inputs, 9 taps */
    NUOP = 144,       /* of a GEMM: products, 2 blocks, 2 columns */
    ACC_HALF = 392,   /* 14 x 14 places, 2 blocks */
    PARAMETERS = 1990 /* their tiles */
};

static uint8_t x, w, y, parameters, u;

/* Of half `h`, which computes pair `h`: the sums in such an order that four tiles pass before one
 * returns, then what REQ does. */
static uint32_t fill_uops(struct npu_uop *uops)
{
    uint32_t n = 0;
    for (uint32_t h = 0; h < 2; h++) {
        for (uint32_t k = 0; k < NUOP; k++) {
            const uint32_t p = k / 4, block = k / 2 % 2, column = k % 2;
            uops[n++] =
                (struct npu_uop){ .dst = (uint16_t)(h * ACC_HALF + column * 2 + block),
                                  .src = (uint16_t)(h * 1024 + p / 9 * 256 +
                                                    p % 9 / 3 * 16 + p % 3 + column),
                                  .wgt = (uint16_t)(h * 72 + block * PRODUCTS + p),
                                  .flags = p == 0 };
        }
    }
    for (uint32_t k = 0; k < 4; k++)
        uops[n++] = (struct npu_uop){ .dst = (uint16_t)(k / 2 * ACC_HALF + k % 2),
                                      .wgt = (uint16_t)(PARAMETERS + 2 * k) };
    return n;
}

static void load(struct npu_instruction in)
{
    in.op = NPU_LOAD;
    in.rows = in.rows ? in.rows : 1;
    add(in);
}

static void load_step(uint32_t step, uint32_t half, uint32_t top, uint32_t left)
{
    const uint32_t pads_top = top == 0, pads_left = left == 0;
    const uint32_t pads_bottom = top == N - 14, pads_right = left == N - 14;
    for (uint32_t b = 0; b < 4; b++) {
        const uint32_t row = b * N + top + pads_top - 1, column = left + pads_left - 1;
        load((struct npu_instruction){
            .tokens = (uint8_t)((b == 0 && step > 1 ? NPU_POP_NEXT : 0) |
                                (b == 3 && step > 1 ? NPU_PUSH_NEXT : 0)),
            .memory = NPU_INP,
            .buffer = x,
            .offset = (row * N + column) * 16,
            .tile = (uint16_t)(half * 1024 + b * 256),
            .rows = (uint16_t)(16 - pads_top - pads_bottom),
            .columns = (uint16_t)(16 - pads_left - pads_right),
            .stride = N * 16,
            .top = (uint8_t)pads_top,
            .bottom = (uint8_t)pads_bottom,
            .left = (uint8_t)pads_left,
            .right = (uint8_t)pads_right });
    }
    if (step < 2) // a half has one pair's weights for all its steps
        load((struct npu_instruction){ .tokens = NPU_PUSH_NEXT,
                                       .memory = NPU_WGT,
                                       .buffer = w,
                                       .offset = half * 72 * 256,
                                       .tile = (uint16_t)(half * 72),
                                       .columns = 72,
                                       .bits = 8 });
}

static void compute_step(uint32_t step, uint32_t half)
{
    add((struct npu_instruction){
        .op = NPU_GEMM,
        .tokens = (uint8_t)(NPU_POP_PREV | (step > 1 ? NPU_POP_NEXT : 0) |
                            (step + 2 < NSTEP ? NPU_PUSH_PREV : 0)),
        .first = (uint16_t)(half * NUOP),
        .nuop = NUOP,
        .outer = 14,
        .inner = 7,
        .dst_outer = 28,
        .dst_inner = 4,
        .src_outer = 16,
        .src_inner = 2 });
    add((struct npu_instruction){ .op = NPU_ALU,
                                  .tokens = NPU_PUSH_NEXT,
                                  .sub = NPU_REQ,
                                  .flags = NPU_EVEN,
                                  .first = (uint16_t)(2 * NUOP + 2 * half),
                                  .nuop = 2,
                                  .outer = 14,
                                  .inner = 14,
                                  .dst_outer = 28,
                                  .dst_inner = 2,
                                  .low = -128,
                                  .high = 127 });
}

static void emit(void)
{
    struct npu_uop uops[2 * NUOP + 4];
    u = add_uops(uops, fill_uops(uops));
    load_uops(u, BT_COUNT(uops));
    load((struct npu_instruction){
        .memory = NPU_ACC, .buffer = parameters, .tile = PARAMETERS, .columns = 8 });
    for (uint32_t step = 0; step < NSTEP; step++) {
        const uint32_t half = step % 2, top = step / 8 * 14, left = step / 2 % 4 * 14;
        load_step(step, half, top, left);
        compute_step(step, half);
        add((struct npu_instruction){ .op = NPU_STORE,
                                      .tokens = NPU_POP_PREV | NPU_PUSH_PREV,
                                      .memory = NPU_INT8_OF_ACC,
                                      .buffer = y,
                                      .offset = ((half * N + top) * N + left) * 32,
                                      .tile = (uint16_t)(half * ACC_HALF),
                                      .rows = 14,
                                      .columns = 28,
                                      .stride = N * 32 });
    }
    // the last two stores have nobody behind them
    load_uops(u, 1);
    list[stream.n - 1].tokens = NPU_POP_NEXT;
    finish(NPU_POP_NEXT);
}

static int32_t expected(int row, int column, uint32_t o)
{
    const uint32_t block = o / 16, lane = o % 16;
    int64_t sum = word_at(parameters, block * 32 + lane);
    for (int p = 0; p < PRODUCTS; p++) {
        const int i = row + p % 9 / 3 - 1, j = column + p % 3 - 1;
        if (i < 0 || j < 0 || i >= N || j >= N)
            continue;
        const int8_t *a = (const int8_t *)buffer_list[x].at +
                          ((size_t)(p / 9 * N + i) * N + (size_t)j) * 16;
        const int8_t *b = (const int8_t *)buffer_list[w].at +
                          ((block * PRODUCTS + (uint32_t)p) * 16 + lane) * 16;
        for (uint32_t k = 0; k < 16; k++)
            sum += a[k] * b[k];
    }
    // shifts are 10: halves go to the even one
    const int64_t floor = (sum + (1 << 30)) / 1024 - (1 << 20), rest = sum - floor * 1024;
    const int64_t q = floor + (rest > 512 || (rest == 512 && floor % 2));
    return (int32_t)(q < -128 ? -128 : q > 127 ? 127 : q);
}

static void test_a_layer_keeps_the_multipliers_busy(void **state)
{
    (void)state;
    use("single");
    x = add_buffer(4 * N * N * 16, 1);
    w = add_buffer(4 * PRODUCTS * 256, 1);
    y = add_buffer(4 * N * N * 16, 0);
    parameters = add_buffer(8 * 64, 1);
    for (uint32_t i = 0; i < 128; i++)
        set_word(parameters, i, i / 16 % 2 ? 10 : (int32_t)draw(100000) - 50000);
    emit();
    run_all();
    for (uint32_t k = 0; k < 20000; k++) {
        // the edges of all steps are drawn, too
        const uint32_t row = draw(N), column = draw(N), o = draw(64);
        const size_t at = (((size_t)(o / 32) * N + row) * N + column) * 32 + o % 32;
        assert_int_equal((int8_t)buffer_list[y].at[at],
                         expected((int)row, (int)column, o));
    }
    assert_int_equal(times.iterations, N * N * 4 * PRODUCTS);
    // of each step 14112 products, 392 requantizations and two fills; the first load is waited for
    assert_int_equal(times.queues[NPU_QUEUE_COMPUTE].busy - NSTEP * (14112 + 8 + 392 + 8),
                     (64 + 2 + 146) + (64 + 2 + 1));
    assert_true(times.iterations * 100 > times.cycles * 95);
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_layer_keeps_the_multipliers_busy),
};

TEST_MAIN(tests)
