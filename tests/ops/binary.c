/* Arithmetic, comparison, logic and choice. Expected elements are NumPy's. */
#include "kit.h"

// clang-format off
static const call_row rows[] = {
    { "add", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 9 -10 9 -10" }, 0 },
    { "subtract", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 5 -4 5 -4" }, 0 },
    { "multiply", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 14 21 14 21" }, 0 },
    { "divide", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 3.5 2.33333325 3.5 2.33333325" }, 0 },
    { "floor_divide", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 3 2 3 2" }, 0 },
    { "floor_mod", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 1 -1 1 -1" }, 0 },
    { "trunc_divide", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 3 2 3 2" }, 0 },
    { "trunc_mod", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 1 -1 1 -1" }, 0 },
    { "mod", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 1 -1 1 -1" }, 0 },
    { "maximum", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 7 -3 7 -3" }, 0 },
    { "minimum", NULL, { "float32[2, 2] 7 -7 7 -7", "float32[2] 2 -3" }, { "float32[2, 2] 2 -7 2 -7" }, 0 },
    { "add", NULL, { "int8[2] 127 -128", "int8[2] 1 -1" }, { "int8[2] -128 127" }, 0 },
    { "multiply", NULL, { "uint8[1] 200", "uint8[2] 2 3" }, { "uint8[2] 144 88" }, 0 },
    { "divide", NULL, { "int8[4] 7 -7 -128 5", "int8[4] 2 2 -1 0" }, { "int8[4] 3 -3 -128 0" }, 0 },
    { "floor_divide", NULL, { "int32[3] 7 -7 -7", "int32[3] 2 2 -2" }, { "int32[3] 3 -4 3" }, 0 },
    { "floor_mod", NULL, { "int32[4] 7 -7 -7 4", "int32[4] 3 3 -3 0" }, { "int32[4] 1 2 -1 0" }, 0 },
    { "trunc_mod", NULL, { "int32[3] 7 -7 -7", "int32[3] 3 3 -3" }, { "int32[3] 1 -1 -1" }, 0 },
    { "power", NULL, { "float32[3] 2 3 0.5", "float32[3] 3 2 -1" }, { "float32[3] 8 9 2" }, 0 },
    { "power", NULL, { "int32[3] 2 -3 5", "int32[3] 10 3 0" }, { "int32[3] 1024 -27 1" }, 0 },
    { "maximum", NULL, { "float32[3] 1 nan 3", "float32[3] 2 2 nan" }, { "float32[3] 2 nan nan" }, 0 },
    { "left_shift", NULL, { "int32[4] 1 3 1 1", "int32[4] 4 1 31 32" }, { "int32[4] 16 6 -2147483648 0" }, 0 },
    { "right_shift", NULL, { "int32[3] -16 16 -1", "int32[3] 2 2 40" }, { "int32[3] -4 4 -1" }, 0 },
    { "bitwise_and", NULL, { "uint8[2, 1] 12 10", "uint8[2] 5 6" }, { "uint8[2, 2] 4 4 0 2" }, 0 },
    { "bitwise_or", NULL, { "uint8[2, 1] 12 10", "uint8[2] 5 6" }, { "uint8[2, 2] 13 14 15 14" }, 0 },
    { "bitwise_xor", NULL, { "uint8[2, 1] 12 10", "uint8[2] 5 6" }, { "uint8[2, 2] 9 10 15 12" }, 0 },
    { "add", NULL, { "float32[] 1", "float32[] 2" }, { "float32[] 3" }, 0 },
    { "add", NULL, { "float32[0, 2]", "float32[2] 1 2" }, { "float32[0, 2]" }, 0 },
    { "subtract", NULL, { "float32[2, 1] 0 1", "float32[3] 0 1 2" }, { "float32[2, 3] 0 -1 -2 1 0 -1" }, 0 },
    { "add", NULL, { "int64[1] 4611686018427387904", "int64[1] 4611686018427387904" }, { "int64[1] -9223372036854775808" }, 0 },
    { "equal", NULL, { "float32[3] 1 2 nan", "float32[3] 2 2 nan" }, { "bool[3] 0 1 0" }, 0 },
    { "not_equal", NULL, { "float32[3] 1 2 nan", "float32[3] 2 2 nan" }, { "bool[3] 1 0 1" }, 0 },
    { "less", NULL, { "float32[3] 1 2 nan", "float32[3] 2 2 nan" }, { "bool[3] 1 0 0" }, 0 },
    { "less_equal", NULL, { "float32[3] 1 2 nan", "float32[3] 2 2 nan" }, { "bool[3] 1 1 0" }, 0 },
    { "greater", NULL, { "float32[3] 1 2 nan", "float32[3] 2 2 nan" }, { "bool[3] 0 0 0" }, 0 },
    { "greater_equal", NULL, { "float32[3] 1 2 nan", "float32[3] 2 2 nan" }, { "bool[3] 0 1 0" }, 0 },
    { "less", NULL, { "uint64[1] 9223372036854775809", "uint64[1] 5" }, { "bool[1] 0" }, 0 },
    { "equal", NULL, { "bool[2] 1 0", "bool[] 1" }, { "bool[2] 1 0" }, 0 },
    { "logical_and", NULL, { "bool[4] 1 1 0 0", "bool[4] 1 0 1 0" }, { "bool[4] 1 0 0 0" }, 0 },
    { "logical_or", NULL, { "bool[4] 1 1 0 0", "bool[4] 1 0 1 0" }, { "bool[4] 1 1 1 0" }, 0 },
    { "logical_xor", NULL, { "bool[4] 1 1 0 0", "bool[4] 1 0 1 0" }, { "bool[4] 0 1 1 0" }, 0 },
    { "where", NULL, { "bool[2, 1] 1 0", "float32[2] 1 2", "float32[2] 3 4" }, { "float32[2, 2] 1 2 3 4" }, 0 },
    { "where", NULL, { "int32[2] 0 2", "int8[2] 1 2", "int8[1] 3" }, { "int8[2] 3 2" }, 0 },
    { "fixed_point_multiply", "multiplier=1073741824, shift=0", { "int32[3] 3 -3 100" }, { "int32[3] 2 -1 50" }, 0 },
    { "fixed_point_multiply", "multiplier=1518500250, shift=-3", { "int32[1] 1000" }, { "int32[1] 88" }, 0 },
    { "fixed_point_multiply", "multiplier=1073741824, shift=3", { "int32[1] 5" }, { "int32[1] 20" }, 0 },
};
// clang-format on

static void test_binary_rows_give_their_numbers(void **state)
{
    RUN_ROWS(rows);
}

static const struct CMUnitTest tests[] = {
    TEST(test_binary_rows_give_their_numbers),
};
TEST_MAIN(tests)
