/* Operators whose shapes are values. Expected elements are NumPy's. */
#include "kit.h"

// clang-format off
static const call_row rows[] = {
    { "dyn.reshape", NULL, { "float32[2, 3] 0 1 2 3 4 5", "int32[2] 3 -1" }, { "float32[3, 2] 0 1 2 3 4 5" }, 0 },
    { "dyn.reshape", NULL, { "float32[2, 3] 0 1 2 3 4 5", "int64[3] 0 1 -1" }, { "float32[2, 1, 3] 0 1 2 3 4 5" }, 0 },
    { "dyn.reshape", NULL, { "float32[1] 4", "int64[0]" }, { "float32[] 4" }, 0 },
    { "dyn.broadcast_to", NULL, { "float32[2] 1 2", "int32[2] 2 2" }, { "float32[2, 2] 1 2 1 2" }, 0 },
    { "dyn.full", NULL, { "float32[] 3", "int64[2] 2 1" }, { "float32[2, 1] 3 3" }, 0 },
    { "dyn.zeros", "dtype=\"int8\"", { "int32[1] 2" }, { "int8[2] 0 0" }, 0 },
    { "dyn.ones", NULL, { "int32[0]" }, { "float32[] 1" }, 0 },
    { "dyn.squeeze", NULL, { "float32[1, 3, 1] 0 1 2", "int32[2] 0 -1" }, { "float32[3] 0 1 2" }, 0 },
    { "dyn.expand_dims", NULL, { "float32[2] 0 1", "int32[] -1" }, { "float32[2, 1] 0 1" }, 0 },
    { "dyn.tile", NULL, { "float32[2, 1] 0 1", "int32[3] 1 2 3" }, { "float32[1, 4, 3] 0 0 0 1 1 1 0 0 0 1 1 1" }, 0 },
    { "dyn.strided_slice", NULL, { "float32[5, 4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", "int32[2] 1 -1", "int32[2] 9 -9", "int32[2] 2 -1" }, { "float32[2, 4] 7 6 5 4 15 14 13 12" }, 0 },
    { "dyn.strided_slice", "slice_mode=\"size\"", { "float32[5, 4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", "int64[1] 1", "int64[1] -1", "int64[0]" }, { "float32[4, 4] 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19" }, 0 },
    { "dyn.one_hot", NULL, { "int32[2] 1 0", "float32[] 1", "float32[] 0", "int32[] 3" }, { "float32[2, 3] 0 1 0 1 0 0" }, 0 },
    { "dyn.topk", "ret_type=\"values\"", { "float32[3] 3 1 2", "int64[] 2" }, { "float32[2] 3 2" }, 0 },
};
// clang-format on

static void test_dyn_rows_give_their_numbers(void **state)
{
    RUN_ROWS(rows);
}

static const struct CMUnitTest tests[] = {
    TEST(test_dyn_rows_give_their_numbers),
};
TEST_MAIN(tests)
