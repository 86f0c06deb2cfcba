/* What ALU computes, against arithmetic that is exact. */
#include "kit.h"

/* x * 2^-n: quotient and rest by division. */
static int64_t rounded(int64_t x, int32_t n, int is_even)
{
    if (n <= 0)
        return x * ((int64_t)1 << -n);
    const int64_t p = (int64_t)1 << n;
    int64_t q = x / p, rest = x % p;
    if (rest < 0) {
        q--;
        rest += p;
    }
    if (rest > p - rest || (rest == p - rest && (!is_even || q % 2)))
        q++;
    return q;
}

static int32_t low_bits(int64_t x)
{
    return (int32_t)(uint32_t)(uint64_t)x;
}

static int32_t between(int64_t x, int64_t low, int64_t high)
{
    return (int32_t)(x < low ? low : x > high ? high : x);
}

static int32_t expected(uint32_t sub, int is_even, int32_t x, int32_t y)
{
    switch (sub) {
    case NPU_MIN: return x < y ? x : y;
    case NPU_MAX: return x > y ? x : y;
    case NPU_ADD: return low_bits((int64_t)x + y);
    case NPU_MUL: return low_bits((int64_t)x * y);
    default: return low_bits(rounded(x, between(y, -31, 31), is_even));
    }
}

/* Extremes, small ones, halves of shifts, and any. */
static int32_t interesting(uint32_t i)
{
    static const int32_t known[] = { 0,  1,  -1, 2,   3,  5,   -5,        -6,       6,
                                     31, 32, 62, -31, -2, 127, INT32_MIN, INT32_MAX };
    if (i < BT_COUNT(known))
        return known[i];
    return (int32_t)draw(UINT32_MAX) >> draw(32);
}

static uint8_t x_buffer, y_buffer;
static uint32_t ntile, n; /* of each operand: tiles, elements */

/* Operands in tiles 0.. and ntile.. of acc, from the start of x; results go to y. */
static void begin(const char *name)
{
    use(name);
    ntile = config.ntile[NPU_ACC] / 2 < 16 ? config.ntile[NPU_ACC] / 2 : 16;
    n = ntile * config.batch * config.out;
    x_buffer = add_buffer((size_t)n * 8, 1);
    y_buffer = add_buffer((size_t)n * 4, 0);
    for (uint32_t i = 0; i < 2 * n; i++)
        set_word(x_buffer, i, interesting(draw(60)));
    struct npu_uop u = { .src = (uint16_t)ntile, .wgt = (uint16_t)ntile };
    load_uops(add_uops(&u, 1), 1);
    add((struct npu_instruction){ .op = NPU_LOAD,
                                  .tokens = NPU_PUSH_NEXT,
                                  .memory = NPU_ACC,
                                  .buffer = x_buffer,
                                  .rows = 1,
                                  .columns = (uint16_t)(2 * ntile) });
}

static void end(struct npu_instruction alu)
{
    alu.op = NPU_ALU;
    alu.tokens = NPU_POP_PREV | NPU_PUSH_NEXT;
    alu.nuop = alu.outer = 1;
    alu.inner = (uint16_t)ntile;
    alu.dst_inner = 1;
    add(alu);
    add((struct npu_instruction){ .op = NPU_STORE,
                                  .tokens = NPU_POP_PREV | NPU_PUSH_PREV,
                                  .memory = NPU_ACC,
                                  .buffer = y_buffer,
                                  .rows = 1,
                                  .columns = (uint16_t)ntile });
    finish(NPU_POP_NEXT);
    run_all();
}

static void check_operation(uint32_t sub, int is_even, int is_immediate)
{
    for (uint32_t k = 0; k < 40; k++) {
        begin(k % 2 ? "tiny" : "single");
        const int32_t immediate = is_immediate ? interesting(k) : 0;
        end((struct npu_instruction){
            .sub = (uint8_t)sub,
            .flags =
                (uint8_t)((is_even ? NPU_EVEN : 0) | (is_immediate ? NPU_IMMEDIATE : 0)),
            .src_inner = !is_immediate,
            .low = immediate });
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(
                word_at(y_buffer, i),
                expected(sub, is_even, word_at(x_buffer, i),
                         is_immediate ? immediate : word_at(x_buffer, n + i)));
    }
}

static void test_each_operation_is_exact(void **state)
{
    (void)state;
    for (uint32_t sub = NPU_MIN; sub < NPU_REQ; sub++) {
        for (int is_even = 0; is_even < (sub == NPU_SHR) + 1; is_even++) {
            check_operation(sub, is_even, 0);
            check_operation(sub, is_even, 1);
        }
    }
}

/* 5/2, -6/4 and 5/4. */
static void test_halves_go_to_even_or_up(void **state)
{
    static const int32_t rows[][4] = { { 5, 1, 2, 3 },
                                       { -6, 2, -2, -1 },
                                       { 5, 2, 1, 1 } };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        for (uint32_t is_up = 0; is_up < 2; is_up++) {
            begin("single");
            set_word(x_buffer, 0, rows[i][0]);
            end((struct npu_instruction){ .sub = NPU_SHR,
                                          .flags = is_up ? NPU_IMMEDIATE
                                                         : NPU_IMMEDIATE | NPU_EVEN,
                                          .low = rows[i][1] });
            assert_int_equal(word_at(y_buffer, 0), rows[i][2 + is_up]);
        }
    }
}

static void check_requantize(const char *name, int is_even, int32_t low, int32_t high)
{
    begin(name);
    // parameters follow each other: what is added, the shift, the factor
    const uint32_t tile = config.batch * config.out;
    const int has_factor = (int)config.has_multiplier;
    for (uint32_t o = 0; o < tile; o++) {
        set_word(x_buffer, n + tile + o,
                 has_factor ? (int32_t)draw(70) - 4 : (int32_t)draw(70) - 35);
        if (draw(2))
            set_word(x_buffer, n + 2 * tile + o, (int32_t)((1u << 30) + draw(1u << 30)));
    }
    end((struct npu_instruction){
        .sub = NPU_REQ, .flags = is_even ? NPU_EVEN : 0, .low = low, .high = high });
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t o = n + i % config.out; // all rows of a batch share parameters
        const int32_t shift = word_at(x_buffer, o + tile);
        const int64_t x = low_bits((int64_t)word_at(x_buffer, i) + word_at(x_buffer, o));
        const int64_t y = has_factor ? rounded(x * word_at(x_buffer, o + 2 * tile),
                                               between(shift, 0, 62), is_even)
                                     : rounded(x, between(shift, -31, 31), is_even);
        assert_int_equal(word_at(y_buffer, i), between(y, low, high));
    }
}

static void test_sums_are_requantized(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 200; k++) {
        const char *name = k % 3 == 0 ? "single" : k % 3 == 1 ? "multi" : "tiny";
        if (k % 4 < 2)
            check_requantize(name, k % 2, -128, 127);
        else
            check_requantize(name, k % 2, INT32_MIN, INT32_MAX);
    }
}

/* Parameters that are results too: all are read before one is written. */
static void test_parameters_may_be_requantized(void **state)
{
    (void)state;
    use("multi");
    const uint32_t tile = config.batch * config.out;
    x_buffer = add_buffer(tile * 12, 1);
    y_buffer = add_buffer(tile * 4, 0);
    for (uint32_t o = 0; o < tile; o++) {
        set_word(x_buffer, o, (int32_t)o);
        set_word(x_buffer, tile + o, 1);
        set_word(x_buffer, 2 * tile + o, 1);
    }
    struct npu_uop u = { 0 };
    load_uops(add_uops(&u, 1), 1);
    add((struct npu_instruction){ .op = NPU_LOAD,
                                  .tokens = NPU_PUSH_NEXT,
                                  .memory = NPU_ACC,
                                  .buffer = x_buffer,
                                  .rows = 1,
                                  .columns = 3 });
    ntile = 1;
    end((struct npu_instruction){ .sub = NPU_REQ, .low = -128, .high = 127 });
    for (uint32_t i = 0; i < tile; i++) // (i + its column + 1) / 2
        assert_int_equal(word_at(y_buffer, i), (i + i % config.out + 1) / 2);
}

static void test_int8_is_loaded_padded_and_stored(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 2; k++) {
        use(k ? "tiny" : "multi");
        const uint32_t tile = config.batch * config.out;
        x_buffer = add_buffer(tile * 4, 1);
        y_buffer = add_buffer(tile * 16, 0);
        add((struct npu_instruction){ .op = NPU_LOAD,
                                      .tokens = NPU_PUSH_NEXT,
                                      .memory = NPU_ACC_OF_INT8,
                                      .buffer = x_buffer,
                                      .rows = 2,
                                      .columns = 2,
                                      .stride = 2 * tile,
                                      .top = 1,
                                      .bottom = 1,
                                      .left = 1,
                                      .right = 1,
                                      .pad = -128 });
        add((struct npu_instruction){ .op = NPU_LOAD,
                                      .tokens = NPU_POP_PREV | NPU_PUSH_NEXT,
                                      .memory = NPU_UOP,
                                      .buffer = x_buffer,
                                      .rows = 1,
                                      .columns = 1 });
        add((struct npu_instruction){ .op = NPU_STORE,
                                      .tokens = NPU_POP_PREV | NPU_PUSH_PREV,
                                      .memory = NPU_INT8_OF_ACC,
                                      .buffer = y_buffer,
                                      .rows = 4,
                                      .columns = 4,
                                      .stride = 4 * tile });
        finish(NPU_POP_NEXT);
        run_all();
        for (uint32_t i = 0; i < 16; i++) {
            const uint32_t row = i / 4, column = i % 4;
            const int is_inside = row % 3 && column % 3;
            for (uint32_t e = 0; e < tile; e++)
                assert_int_equal((int8_t)buffer_list[y_buffer].at[i * tile + e],
                                 is_inside
                                     ? (int8_t)buffer_list[x_buffer]
                                           .at[((row - 1) * 2 + column - 1) * tile + e]
                                     : -128);
        }
    }
}

static void test_what_int8_does_not_hold_is_a_fault(void **state)
{
    (void)state;
    begin("single");
    set_word(x_buffer, 5, 128);
    for (uint32_t i = 0; i < n; i++) {
        if (i != 5)
            set_word(x_buffer, i, (int32_t)i % 128 - 64);
    }
    add((struct npu_instruction){ .op = NPU_ALU,
                                  .tokens = NPU_POP_PREV | NPU_PUSH_NEXT,
                                  .sub = NPU_ADD,
                                  .flags = NPU_IMMEDIATE,
                                  .nuop = 1,
                                  .outer = 1,
                                  .inner = 1 });
    add((struct npu_instruction){ .op = NPU_STORE,
                                  .tokens = NPU_POP_PREV | NPU_PUSH_PREV,
                                  .memory = NPU_INT8_OF_ACC,
                                  .buffer = y_buffer,
                                  .rows = 1,
                                  .columns = 1 });
    finish(NPU_POP_NEXT);
    assert_error(fault(), BT_ERR_RUNTIME,
                 "instruction 3 (store), field tile: acc 0, element 5: 128 is no int8");
}

static const struct CMUnitTest tests[] = {
    TEST(test_each_operation_is_exact),
    TEST(test_halves_go_to_even_or_up),
    TEST(test_sums_are_requantized),
    TEST(test_parameters_may_be_requantized),
    TEST(test_int8_is_loaded_padded_and_stored),
    TEST(test_what_int8_does_not_hold_is_a_fault),
};

TEST_MAIN(tests)
