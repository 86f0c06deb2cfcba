/* Order and search. Expected elements are NumPy's. */
#include "kit.h"

// clang-format off
static const call_row rows[] = {
    { "sort", NULL, { "float32[5] 3 1 nan 2 1" }, { "float32[5] 1 1 2 3 nan" }, 0 },
    { "sort", "is_ascend=False", { "float32[5] 3 1 nan 2 1" }, { "float32[5] nan 3 2 1 1" }, 0 },
    { "sort", "axis=0", { "float32[2, 2] 3 1 2 5" }, { "float32[2, 2] 2 1 3 5" }, 0 },
    { "sort", NULL, { "uint64[3] 9223372036854775813 1 7" }, { "uint64[3] 1 7 9223372036854775813" }, 0 },
    { "sort", NULL, { "float32[2, 0]" }, { "float32[2, 0]" }, 0 },
    { "argsort", NULL, { "float32[5] 3 1 nan 2 1" }, { "int32[5] 1 4 3 0 2" }, 0 },
    { "argsort", "is_ascend=False, dtype=\"int64\"", { "float32[3] 1 2 1" }, { "int64[3] 1 0 2" }, 0 },
    { "argsort", "axis=0", { "int8[2, 2] 3 1 2 5" }, { "int32[2, 2] 1 0 0 1" }, 0 },
    { "topk", "k=2", { "float32[2, 3] 3 1 4 1 5 9" }, { "float32[2, 2] 4 3 9 5", "int32[2, 2] 2 0 2 1" }, 0 },
    { "topk", "k=1, axis=0, is_ascend=True, ret_type=\"values\"", { "float32[2, 2] 3 1 2 5" }, { "float32[1, 2] 2 1" }, 0 },
    { "topk", "k=0, ret_type=\"indices\", dtype=\"int64\"", { "float32[3] 1 3 2" }, { "int64[3] 1 2 0" }, 0 },
    { "searchsorted", NULL, { "float32[4] 1 3 3 5", "float32[3] 0 3 6" }, { "int32[3] 0 1 4" }, 0 },
    { "searchsorted", "right=True", { "float32[4] 1 3 3 5", "float32[3] 0 3 6" }, { "int32[3] 0 3 4" }, 0 },
    { "searchsorted", "dtype=\"int64\"", { "int8[2, 2] 1 2 5 9", "int8[2, 1] 2 2" }, { "int64[2, 1] 1 0" }, 0 },
    { "searchsorted", NULL, { "float32[0]", "float32[] 1" }, { "int32[] 0" }, 0 },
    { "unique", NULL, { "int32[4] 3 1 3 2" }, { "int32[3] 1 2 3", "int32[3] 1 3 0", "int32[4] 2 0 2 1", "int32[1] 3" }, 0 },
    { "unique", "sorted=False, return_counts=True", { "int32[4] 3 1 3 2" }, { "int32[3] 3 1 2", "int32[3] 0 1 3", "int32[4] 0 1 0 2", "int32[1] 3", "int32[3] 2 1 1" }, 0 },
    { "unique", NULL, { "float32[0]" }, { "float32[0]", "int32[0]", "int32[0]", "int32[1] 0" }, 0 },
    { "argwhere", NULL, { "bool[2, 2] 1 0 0 1" }, { "int32[2, 2] 0 0 1 1" }, 0 },
    { "argwhere", NULL, { "float32[3] 0 2 nan" }, { "int32[2, 1] 1 2" }, 0 },
    { "argwhere", NULL, { "float32[] 1" }, { "int32[1, 0]" }, 0 },
    { "arange", NULL, { "int32[] 0", "int32[] 7", "int32[] 3" }, { "int32[3] 0 3 6" }, 0 },
    { "arange", NULL, { "int64[] 5", "int64[] 0", "int64[] -2" }, { "int64[3] 5 3 1" }, 0 },
    { "arange", NULL, { "float32[] 0", "float32[] 1", "float32[] 0.25" }, { "float32[4] 0 0.25 0.5 0.75" }, 0 },
    { "arange", "dtype=\"float32\"", { "int32[] 2", "int32[] 2", "int32[] 1" }, { "float32[0]" }, 0 },
};
// clang-format on

static void test_order_rows_give_their_numbers(void **state)
{
    RUN_ROWS(rows);
}

static const struct CMUnitTest tests[] = {
    TEST(test_order_rows_give_their_numbers),
};
TEST_MAIN(tests)
