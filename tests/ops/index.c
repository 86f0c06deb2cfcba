/* Elements at positions given by tensors, and index notation. Expected elements are NumPy's. */
#include "kit.h"

// clang-format off
static const call_row rows[] = {
    { "take", "axis=0", { "float32[5, 3] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "int32[2, 2] 0 4 -2 7" }, { "float32[2, 2, 3] 0 1 2 12 13 14 0 1 2 12 13 14" }, 0 },
    { "take", "axis=-1, mode=\"wrap\"", { "float32[5, 3] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "int64[2] -1 4" }, { "float32[5, 2] 2 1 5 4 8 7 11 10 14 13" }, 0 },
    { "take", "axis=0, mode=\"fast\"", { "float32[5, 3] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "int64[] -5" }, { "float32[3] 0 1 2" }, 0 },
    { "take", NULL, { "float32[5, 3] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "int32[3] 0 14 99" }, { "float32[3] 0 14 14" }, 0 },
    { "take", "axis=1, batch_dims=1", { "float32[2, 4, 2] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", "int32[2, 3] 0 3 1 2 2 0" }, { "float32[2, 3, 2] 0 1 6 7 2 3 12 13 12 13 8 9" }, 0 },
    { "take", "axis=1, batch_dims=-1", { "float32[2, 4, 2] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", "int32[2, 3] 0 3 1 2 2 0" }, { "float32[2, 3, 2] 0 1 6 7 2 3 12 13 12 13 8 9" }, 0 },
    { "take", "axis=1", { "float32[5, 3] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "int32[0]" }, { "float32[5, 0]" }, 0 },
    { "take", NULL, { "float32[] 3", "uint8[1] 0" }, { "float32[1] 3" }, 0 },
    { "take", "axis=0", { "float32[5, 3] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "uint8[2] 1 0" }, { "float32[2, 3] 3 4 5 0 1 2" }, 0 },
    { "gather", "axis=1", { "float32[2, 3] 0 1 2 3 4 5", "int32[2, 3] 0 2 -1 1 1 0" }, { "float32[2, 3] 0 2 2 4 4 3" }, 0 },
    { "gather", "axis=-2", { "float32[4, 2] 0 1 2 3 4 5 6 7", "int64[1, 2] 3 -1" }, { "float32[1, 2] 6 7" }, 0 },
    { "gather", "axis=0", { "float32[1] 1", "uint8[0]" }, { "float32[0]" }, 0 },
    { "gather_nd", NULL, { "float32[2, 3] 0 1 2 3 4 5", "int32[2, 2] 0 1 2 -1" }, { "float32[2] 2 5" }, 0 },
    { "gather_nd", NULL, { "float32[2, 3] 0 1 2 3 4 5", "int64[1, 3] 1 0 -1" }, { "float32[3, 3] 3 4 5 0 1 2 3 4 5" }, 0 },
    { "gather_nd", "batch_dims=1", { "float32[2, 3, 2] 0 1 2 3 4 5 6 7 8 9 10 11", "int32[1, 2, 2] 0 2 1 1" }, { "float32[2, 2, 2] 0 1 4 5 8 9 8 9" }, 0 },
    { "scatter_elements", NULL, { "float32[4] 1 2 3 4", "int32[4] 0 2 0 -1", "float32[4] 10 20 30 40" }, { "float32[4] 30 2 20 40" }, 0 },
    { "scatter_elements", "reduction=\"add\"", { "float32[4] 1 2 3 4", "int32[4] 0 2 0 -1", "float32[4] 10 20 30 40" }, { "float32[4] 41 2 23 44" }, 0 },
    { "scatter_elements", "reduction=\"mul\"", { "float32[4] 1 2 3 4", "int32[4] 0 2 0 -1", "float32[4] 10 20 30 40" }, { "float32[4] 300 2 60 160" }, 0 },
    { "scatter_elements", "reduction=\"min\"", { "float32[4] 1 2 3 4", "int32[4] 0 2 0 -1", "float32[4] -10 -20 -30 -40" }, { "float32[4] -30 2 -20 -40" }, 0 },
    { "scatter_elements", "reduction=\"max\"", { "float32[4] 1 2 3 4", "int32[4] 0 2 0 -1", "float32[4] 10 20 30 40" }, { "float32[4] 30 2 20 40" }, 0 },
    { "scatter_elements", "reduction=\"mean\"", { "float32[4] 1 2 3 4", "int32[4] 0 2 0 -1", "float32[4] 10 20 30 40" }, { "float32[4] 13.666667 2 11.5 22" }, 0 },
    { "scatter_elements", "axis=1", { "float32[2, 3] 0 1 2 3 4 5", "int64[2, 2] 2 0 1 1", "float32[2, 2] 9 8 7 6" }, { "float32[2, 3] 8 1 9 3 6 5" }, 0 },
    { "scatter_elements", "axis=-2, reduction=\"add\"", { "float32[2, 2] 0 1 2 3", "int32[1, 2] 1 0", "float32[1, 2] 5 6" }, { "float32[2, 2] 0 7 7 3" }, 0 },
    { "scatter_elements", NULL, { "float32[2, 3] 0 1 2 3 4 5", "int64[1, 2] 1 -2", "float32[1, 2] 9 8" }, { "float32[2, 3] 0 8 2 9 4 5" }, 0 },
    { "scatter_elements", "reduction=\"add\"", { "float32[2, 3] 0 1 2 3 4 5", "int64[3, 1] 1 0 1", "float32[3, 1] 9 8 7" }, { "float32[2, 3] 8 1 2 19 4 5" }, 0 },
    { "scatter_elements", NULL, { "bool[2] 1 0", "int32[2] 5 1", "bool[2] 1 1" }, { "bool[2] 1 1" }, 0 },
    { "scatter_elements", NULL, { "float32[1] 1", "int32[0]", "float32[0]" }, { "float32[1] 1" }, 0 },
    { "scatter_nd", NULL, { "float32[2, 3] 0 0 0 0 0 0", "int32[2, 3] 0 1 0 2 0 2", "float32[3] 5 6 7" }, { "float32[2, 3] 0 0 7 6 0 0" }, 0 },
    { "scatter_nd", "mode=\"add\"", { "float32[3, 2] 0 1 2 3 4 5", "int64[1, 3] 0 -1 0", "float32[3, 2] 10 11 12 13 14 15" }, { "float32[3, 2] 24 27 2 3 16 18" }, 0 },
    { "scatter_nd", "mode=\"mul\"", { "float32[2] 1 2", "int32[1, 2] 1 1", "float32[2] 3 4" }, { "float32[2] 1 24" }, 0 },
    { "scatter_nd", "mode=\"min\"", { "float32[2] 1 2", "int32[1, 2] 1 1", "float32[2] 3 -4" }, { "float32[2] 1 -4" }, 0 },
    { "scatter_nd", "mode=\"max\"", { "float32[2] 1 2", "int32[1, 2] 1 9", "float32[2] 3 4" }, { "float32[2] 1 3" }, 0 },
    { "scatter_nd", NULL, { "float32[2, 2] 0 1 2 3", "int32[2] 1 0", "float32[] 9" }, { "float32[2, 2] 0 1 9 3" }, 0 },
    { "scatter_nd", NULL, { "float32[2] 1 2", "int32[1, 0]", "float32[0]" }, { "float32[2] 1 2" }, 0 },
    { "scatter_nd", "mode=\"add\"", { "float32[2, 2] 0 1 2 3", "int32[1, 2, 2] 0 0 0 0", "float32[2, 2, 2] 0 1 2 3 4 5 6 7" }, { "float32[2, 2] 12 17 2 3" }, 0 },
    { "one_hot", "depth=3", { "int32[4] 0 2 5 -1", "float32[] 1", "float32[] 0" }, { "float32[4, 3] 1 0 0 0 0 1 0 0 0 0 0 0" }, 0 },
    { "one_hot", "depth=3, axis=0", { "int64[2] 0 2", "int8[] 5", "int8[] -1" }, { "int8[3, 2] 5 -1 -1 -1 -1 5" }, 0 },
    { "one_hot", "depth=2, dtype=\"float16\"", { "uint8[] 1", "float32[] 1", "float32[] 0" }, { "float16[2] 0 1" }, 0 },
    { "one_hot", "depth=2, axis=-2", { "int32[1, 2] 0 1", "bool[] 1", "bool[] 0" }, { "bool[1, 2, 2] 1 0 0 1" }, 0 },
    { "trilu", NULL, { "float32[3, 4] 1 2 3 4 5 6 7 8 9 10 11 12", "int32[] 0" }, { "float32[3, 4] 1 2 3 4 0 6 7 8 0 0 11 12" }, 0 },
    { "trilu", "upper=False", { "float32[3, 4] 1 2 3 4 5 6 7 8 9 10 11 12", "int64[] 1" }, { "float32[3, 4] 1 2 0 0 5 6 7 0 9 10 11 12" }, 0 },
    { "trilu", NULL, { "float32[2, 3, 4] 1 2 3 4 5 6 7 8 9 10 11 12 1 2 3 4 5 6 7 8 9 10 11 12", "int32[] -1" }, { "float32[2, 3, 4] 1 2 3 4 5 6 7 8 0 10 11 12 1 2 3 4 5 6 7 8 0 10 11 12" }, 0 },
    { "matrix_set_diag", NULL, { "float32[3, 4] 1 2 3 4 5 6 7 8 9 10 11 12", "float32[3] 0 0 0" }, { "float32[3, 4] 0 2 3 4 5 0 7 8 9 10 0 12" }, 0 },
    { "matrix_set_diag", "k1=1, k2=1", { "float32[3, 4] 1 2 3 4 5 6 7 8 9 10 11 12", "float32[3] 0 -1 -2" }, { "float32[3, 4] 1 0 3 4 5 6 -1 8 9 10 11 -2" }, 0 },
    { "matrix_set_diag", "k1=-1, k2=-1", { "float32[3, 4] 1 2 3 4 5 6 7 8 9 10 11 12", "float32[2] 0 -1" }, { "float32[3, 4] 1 2 3 4 0 6 7 8 9 -1 11 12" }, 0 },
    { "matrix_set_diag", "k1=-1, k2=1", { "float32[3, 4] 0 0 0 0 0 0 0 0 0 0 0 0", "float32[3, 3] 1 2 3 4 5 6 7 8 0" }, { "float32[3, 4] 4 1 0 0 7 5 2 0 0 8 6 3" }, 0 },
    { "matrix_set_diag", "k1=-1, k2=1, sub_diag_right_align=True", { "float32[3, 4] 0 0 0 0 0 0 0 0 0 0 0 0", "float32[3, 3] 1 2 3 4 5 6 0 7 8" }, { "float32[3, 4] 4 1 0 0 7 5 2 0 0 8 6 3" }, 0 },
    { "matrix_set_diag", "k1=1, k2=2, super_diag_right_align=False", { "float32[3, 3] 0 0 0 0 0 0 0 0 0", "float32[2, 2] 1 0 2 3" }, { "float32[3, 3] 0 2 1 0 0 3 0 0 0" }, 0 },
    { "reverse_sequence", NULL, { "float32[2, 4] 0 1 2 3 4 5 6 7", "int32[2] 3 0" }, { "float32[2, 4] 2 1 0 3 4 5 6 7" }, 0 },
    { "reverse_sequence", "seq_axis=0, batch_axis=-1", { "float32[3, 2] 0 1 2 3 4 5", "int64[2] 2 3" }, { "float32[3, 2] 2 5 0 3 4 1" }, 0 },
    { "sequence_mask", NULL, { "float32[3, 2] 0 1 2 3 4 5", "int32[2] 1 2" }, { "float32[3, 2] 0 1 0 3 0 0" }, 0 },
    { "sequence_mask", "mask_value=-1, axis=1", { "float32[2, 3] 0 1 2 3 4 5", "float32[2] 1 3" }, { "float32[2, 3] 0 -1 -1 3 4 5" }, 0 },
    { "invert_permutation", NULL, { "int32[4] 2 0 3 1" }, { "int32[4] 1 3 0 2" }, 0 },
    { "unravel_index", NULL, { "int32[3] 22 41 37", "int32[2] 7 6" }, { "int32[2, 3] 3 6 6 4 5 1" }, 0 },
    { "unravel_index", NULL, { "int64[] 5", "int32[2] 2 3" }, { "int64[2] 1 2" }, 0 },
    { "einsum", "equation=\"ij,jk->ik\"", { "(float32[2, 3] 0 1 2 3 4 5 | float32[3, 2] 0 1 2 3 4 5)" }, { "float32[2, 2] 10 13 28 40" }, 0 },
    { "einsum", "equation=\"ij,j\"", { "(float32[2, 3] 0 1 2 3 4 5 | float32[3] 1 2 3)" }, { "float32[2] 8 26" }, 0 },
    { "einsum", "equation=\"ii->i\"", { "(int32[3, 3] 0 1 2 3 4 5 6 7 8)" }, { "int32[3] 0 4 8" }, 0 },
    { "einsum", "equation=\"ij->\"", { "(float32[2, 3] 0 1 2 3 4 5)" }, { "float32[] 15" }, 0 },
    { "einsum", "equation=\"bij, bji, b -> b\"", { "(float32[2, 3, 4] 0.157000005 -0.187000006 -2.51699996 -0.538999975 -0.0489999987 0.112999998 -1.52999997 -0.477999985 -0.978999972 -0.809000015 1.06099999 -0.808000028 -0.0329999998 0.884000003 -0.583999991 -0.112000003 0.109999999 0.064000003 -1.22500002 0.0759999976 1.35899997 -1.54700005 0.859000027 0.119000003 | float32[2, 4, 3] -0.640999973 2 0.762000024 -1.199 0.075000003 0.577000022 -0.188999996 0.683000028 -0.0670000017 0.666999996 1.43900001 -0.675999999 0.202999994 -0.463 0.127000004 -1.18700004 -0.578999996 -0.195999995 0.898999989 1.14499998 -1.324 -0.795000017 0.647000015 -1.99199998 | float32[2] 1 2)" }, { "float32[2] -2.32025099 -7.66396189" }, 1e-05 },
    { "sliding_window", "axis=-1, window_shape=[3], strides=[2]", { "float32[2, 5] 0 1 2 3 4 5 6 7 8 9" }, { "float32[2, 2, 3] 0 1 2 2 3 4 5 6 7 7 8 9" }, 0 },
    { "sliding_window", "axis=0, window_shape=[2, 2], strides=[1, 3]", { "float32[2, 5] 0 1 2 3 4 5 6 7 8 9" }, { "float32[1, 2, 2, 2] 0 1 5 6 3 4 8 9" }, 0 },
    { "adv_index", NULL, { "(float32[3, 4] 0 1 2 3 4 5 6 7 8 9 10 11 | int32[2] 0 2 | int64[2] -1 1)" }, { "float32[2] 3 9" }, 0 },
    { "adv_index", NULL, { "(float32[3, 4] 0 1 2 3 4 5 6 7 8 9 10 11 | int32[2, 1] 0 2 | int32[2] 1 2)" }, { "float32[2, 2] 1 2 9 10" }, 0 },
    { "adv_index", NULL, { "(float32[3, 4] 0 1 2 3 4 5 6 7 8 9 10 11 | int32[2] -1 0)" }, { "float32[2, 4] 8 9 10 11 0 1 2 3" }, 0 },
    { "strided_set", NULL, { "float32[5] 0 1 2 3 4", "float32[2] 9 8", "int32[1] -1", "int32[1] -9", "int32[1] -3" }, { "float32[5] 0 8 2 3 9" }, 0 },
    { "strided_set", NULL, { "float32[2, 2] 0 1 2 3", "float32[1, 2] 7 8", "int32[1] 1", "int32[1] 2", "int32[0]" }, { "float32[2, 2] 0 1 7 8" }, 0 },
};
// clang-format on

static void test_index_rows_give_their_numbers(void **state)
{
    RUN_ROWS(rows);
}

static const struct CMUnitTest tests[] = {
    TEST(test_index_rows_give_their_numbers),
};
TEST_MAIN(tests)
