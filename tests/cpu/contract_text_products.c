/* What schedules of products of matrices are, as text. */
#include "contract_text.h"

/* Rows of 1024 floats again, of which tiles read a column from one end to the other: 16 rows at a time go
 * into all strips. */
static void test_terms_that_crowd_the_cache_are_packed_in_strips(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "dy", "t[k, m]", BT_FLOAT32, 2, { 70, 1024 } },
                        { "x", "t[k, n]", BT_FLOAT32, 2, { 70, 64 } } },
            .text = "dw: t[m, n] = sum(k: dy[k, m] * x[k, n])" },
        "loops test {\n"
        "    in a0: float32[71680]\n"
        "    in a1: float32[4480]\n"
        "    out s0: float32[65536]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[71820]\n"
        "    parallel i40 in 5 {\n"
        "        for i41 in 171 {\n"
        "            pack.4(&t4[96*i40 + 420*i41], &a0[16384*i40 + 6*i41], min(16, -16*i40 "
        "+ 70), min(6, -6*i41 + 1024), 6, 6, 1024, 1)\n"
        "        }\n"
        "    }\n"
        "    for i40 in 171 {\n"
        "        for i41 in 8 {\n"
        "            tile_f32_portable(&s0[384*i40 + 8*i41], &t4[420*i40], &a1[8*i41], "
        "min(6, -6*i40 + 1024), 8, 70, 1, 6, 64, 64, 0, 1, 0, 0, 1, 0, 0)\n"
        "        }\n"
        "    }\n"
        "}\n");
}

static void test_a_product_packs_what_lies_across(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){ .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 12, 7 } },
                                           { "b", "t[n, k]", BT_FLOAT32, 2, { 20, 7 } } },
                               .text = "y: t[m, n] = sum(k: a[m, k] * b[n, k])" },
        "loops test {\n"
        "    in a0: float32[84]\n"
        "    in a1: float32[140]\n"
        "    out s0: float32[240]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[168]\n"
        "    parallel i40 in 3 {\n"
        "        pack.4(&t4[56*i40], &a1[56*i40], 7, min(-8*i40 + 20, 8), 8, 8, 1, 7)\n"
        "    }\n"
        "    for i40 in 2 {\n"
        "        epilogue_f32_portable(&s0[120*i40], &a0[42*i40], &t4[0], &a0[42*i40], "
        "&s0[120*i40], &s0[120*i40], &t4[0], &a0[42*i40], &a0[42*i40], 6, 20, 7, 7, 1, "
        "8, 20, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 56, 0)\n"
        "    }\n"
        "}\n");
}

/* To turn a matrix round would take longer than the product of few rows. */
static void test_few_rows_go_along_columns_as_they_lie(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "a", "t[i, m, k]", BT_FLOAT32, 3, { 3, 1, 7 } },
                        { "b", "t[i, n, k]", BT_FLOAT32, 3, { 3, 20, 7 } } },
            .text = "y: t[i, m, n] = sum(k: a[i, m, k] * b[i, n, k])" },
        "loops test {\n"
        "    in a0: float32[21]\n"
        "    in a1: float32[420]\n"
        "    out s0: float32[60]\n"
        "    local s1: float32[1]\n"
        "    parallel i40 in 3 {\n"
        "        across_f32_portable(&s0[20*i40], &a0[7*i40], &a1[140*i40], 1, 20, 7, 0, "
        "1, 7, 0, 0, 1, 0, 0, 1, 0, 0)\n"
        "    }\n"
        "}\n");
    check_text(
        &(struct contraction){ .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 4, 7 } },
                                           { "b", "t[n, k]", BT_FLOAT32, 2, { 20, 7 } } },
                               .text = "y: t[m, n] = sum(k: a[m, k] * b[n, k])" },
        "loops test {\n"
        "    in a0: float32[28]\n"
        "    in a1: float32[140]\n"
        "    out s0: float32[80]\n"
        "    local s1: float32[1]\n"
        "    across_f32_portable(&s0[0], &a0[0], &a1[0], 4, 20, 7, 7, 1, 7, 20, 0, 1, 0, "
        "0, 1, 0, 0)\n"
        "}\n");
}

/* A constant is packed once, when a program is compiled. */
static void test_few_rows_by_a_constant_read_it_packed(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){ .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 2, 7 } },
                                           { "b", "t[n, k]", BT_FLOAT32, 2, { 20, 7 } } },
                               .is_constant = { 0, 1 },
                               .text = "y: t[m, n] = sum(k: a[m, k] * b[n, k])" },
        "loops test {\n"
        "    in a0: float32[14]\n"
        "    in a1: float32[140]\n"
        "    out s0: float32[40]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[168]\n"
        "    parallel i40 in 3 {\n"
        "        pack.4(&t4[56*i40], &a1[56*i40], 7, min(-8*i40 + 20, 8), 8, 8, 1, 7)\n"
        "    }\n"
        "    epilogue_f32_portable(&s0[0], &a0[0], &t4[0], &a0[0], &s0[0], &s0[0], "
        "&t4[0], &a0[0], &a0[0], 2, 20, 7, 7, 1, 8, 20, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, "
        "56, 0)\n"
        "}\n");
}

/* Both parts of a block are there when what is made of them is computed. */
static void test_a_row_that_is_read_in_parts_has_them_side_by_side(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){ .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 1, 7 } },
                                           { "b", "t[n, k]", BT_FLOAT32, 2, { 10, 7 } },
                                           { "c", "t[m, h]", BT_FLOAT32, 2, { 1, 5 } } },
                               .is_constant = { 0, 1 },
                               .text =
                                   "s: t[m, n] = max(sum(k: a[m, k] * b[n, k]), 0);"
                                   "y: t[m, i in h] = s[m, i] * c[m, i] + s[m, i + 5]" },
        "loops test {\n"
        "    in a0: float32[7]\n"
        "    in a1: float32[70]\n"
        "    in a2: float32[5]\n"
        "    temp s0: float32[10]\n"
        "    out s1: float32[5]\n"
        "    local s2: float32[16]\n"
        "    temp t6: float32[112]\n"
        "    temp t7: bool[1]\n"
        "    for i40 in 2 {\n"
        "        pack.4(&t6[8*i40], &a1[35*i40], 7, 5, 8, 16, 1, 7)\n"
        "    }\n"
        "    finite.float32(&t7[0], &a1[0], 70)\n"
        "    line_f32_portable(&s2[0], &a0[0], &t6[0], 2, 5, 7, 8, 1, 16, 8, "
        "select(t7[0], 4, 0) + 2, 1, 0, 0, 1, 0, 0)\n"
        "    for i40 in 2 {\n"
        "        for i41 in 5 {\n"
        "            s0[5*i40 + i41] = max(s2[8*i40 + i41], float32(0.0))\n"
        "        }\n"
        "    }\n"
        "    for i40 in 5 {\n"
        "        s1[i40] = ((a2[i40] * s0[i40]) + s0[i40 + 5])\n"
        "    }\n"
        "}\n");
}

static void test_one_row_by_a_constant_goes_along_its_panels(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){ .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 1, 7 } },
                                           { "b", "t[n, k]", BT_FLOAT32, 2, { 20, 7 } } },
                               .is_constant = { 0, 1 },
                               .text = "y: t[m, n] = sum(k: a[m, k] * b[n, k])" },
        "loops test {\n"
        "    in a0: float32[7]\n"
        "    in a1: float32[140]\n"
        "    out s0: float32[20]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[168]\n"
        "    temp t5: bool[1]\n"
        "    parallel i40 in 3 {\n"
        "        pack.4(&t4[56*i40], &a1[56*i40], 7, min(-8*i40 + 20, 8), 8, 8, 1, 7)\n"
        "    }\n"
        "    finite.float32(&t5[0], &a1[0], 140)\n"
        "    line_f32_portable(&s0[0], &a0[0], &t4[0], 2, 8, 7, 56, 1, 8, 8, "
        "select(t5[0], 4, 0) + 2, 1, 0, 0, 1, 0, 0)\n"
        "    line_f32_portable(&s0[16], &a0[0], &t4[112], 1, 4, 7, 56, 1, 8, 8, "
        "select(t5[0], 4, 0) + 2, 1, 0, 0, 1, 0, 0)\n"
        "}\n");
}

/* For one column no tile is filled: the sums stay what the vectoriser does by lanes. */
static void test_a_matrix_by_a_column_is_sums_of_rows(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){ .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 12, 7 } },
                                           { "b", "t[n, k]", BT_FLOAT32, 2, { 1, 7 } } },
                               .text = "y: t[m, n] = sum(k: a[m, k] * b[n, k])" },
        "loops test {\n"
        "    in a0: float32[84]\n"
        "    in a1: float32[7]\n"
        "    out s0: float32[12]\n"
        "    local t3: float64[1]\n"
        "    for i0 in 12 {\n"
        "        t3[0] = float64(0.0)\n"
        "        for i2 in 7 {\n"
        "            t3[0] sum[float32]= (a1[i2] * a0[7*i0 + i2])\n"
        "        }\n"
        "        s0[i0] = float32(t3[0])\n"
        "    }\n"
        "}\n");
}

/* A block is panels that a line goes along at once: not six of 32, of which two are left. */
static void test_a_block_of_panels_has_no_rest(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 1, 1000 } },
                        { "b", "t[n, k]", BT_FLOAT32, 2, { 256, 1000 } } },
            .is_constant = { 0, 1 },
            .text = "y: t[m, n] = sum(k: a[m, k] * b[n, k])" },
        "loops test {\n"
        "    in a0: float32[1000]\n"
        "    in a1: float32[256000]\n"
        "    out s0: float32[256]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[256000]\n"
        "    temp t5: bool[1]\n"
        "    parallel i40 in 32 {\n"
        "        pack.4(&t4[8000*i40], &a1[8000*i40], 1000, 8, 8, 8, 1, 1000)\n"
        "    }\n"
        "    finite.float32(&t5[0], &a1[0], 256000)\n"
        "    parallel i40 in 4 {\n"
        "        line_f32_portable(&s0[64*i40], &a0[0], &t4[64000*i40], 8, 8, 1000, "
        "8000, 1, 8, 8, select(t5[0], 4, 0) + 2, 1, 0, 0, 1, 0, 0)\n"
        "    }\n"
        "}\n");
}

static const struct contraction product_of_rows = {
    .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { -1, 7 } },
                { "b", "t[k, n]", BT_FLOAT32, 2, { 7, 16 } } },
    .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n])",
};

/* 7 rows are a tile of 4 and one of 3, where one of 6 would leave a slow one of 1. */
static void test_rows_of_an_open_number_are_shared_out(void **state)
{
    (void)state;
    check_open_text(
        &product_of_rows,
        &(bt_type_param){ .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 }, 1,
        "loops test<d0: Dim> {\n"
        "    in a0: float32[7*d0]\n"
        "    in a1: float32[112]\n"
        "    out s0: float32[16*d0]\n"
        "    local s1: float32[1]\n"
        "    for i40 in ceildiv(d0, 6) {\n"
        "        for i41 in 2 {\n"
        "            tile_f32_portable(&s0[8*i41 + 16*(i40 * ceildiv(d0, ceildiv(d0, "
        "6)))], "
        "&a0[7*(i40 * ceildiv(d0, ceildiv(d0, 6)))], &a1[8*i41], min(-(i40 * ceildiv(d0, "
        "ceildiv(d0, 6))) + d0, ceildiv(d0, ceildiv(d0, 6))), 8, 7, 7, 1, 16, 16, 0, 1, "
        "0, "
        "0, 1, 0, 0)\n"
        "        }\n"
        "    }\n"
        "}\n");
}

/* Tiles of 4 rows, of 6 that they may have, leave none of a multiple of 8. */
static void test_a_range_by_steps_leaves_no_rest_of_rows(void **state)
{
    (void)state;
    check_open_text(
        &product_of_rows,
        &(bt_type_param){ .kind = BT_KIND_DIM, .low = 8, .high = 32, .step = 8 }, 1,
        "loops test<d0: Dim in 8..32> {\n"
        "    in a0: float32[56*floordiv(d0, 8)]\n"
        "    in a1: float32[112]\n"
        "    out s0: float32[128*floordiv(d0, 8)]\n"
        "    local s1: float32[1]\n"
        "    for i40 in 2*floordiv(d0, 8) {\n"
        "        for i41 in 2 {\n"
        "            tile_f32_portable(&s0[64*i40 + 8*i41], &a0[28*i40], &a1[8*i41], 4, "
        "8, 7, 7, 1, 16, 16, 0, 1, 0, 0, 1, 0, 0)\n"
        "        }\n"
        "    }\n"
        "}\n");
}

/* Rows that one tile may have are one block, whose sums need no loop over blocks. */
static void test_a_range_of_few_rows_is_one_block(void **state)
{
    (void)state;
    check_open_text(
        &product_of_rows,
        &(bt_type_param){ .kind = BT_KIND_DIM, .low = 2, .high = 5, .step = 1 }, 1,
        "loops test<d0: Dim in 2..5> {\n"
        "    in a0: float32[7*d0]\n"
        "    in a1: float32[112]\n"
        "    out s0: float32[16*d0]\n"
        "    local s1: float32[1]\n"
        "    for i40 in 2 {\n"
        "        tile_f32_portable(&s0[8*i40], &a0[0], &a1[8*i40], d0, 8, 7, 7, 1, 16, "
        "16, 0, 1, 0, 0, 1, 0, 0)\n"
        "    }\n"
        "}\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_terms_that_crowd_the_cache_are_packed_in_strips),
    cmocka_unit_test(test_a_product_packs_what_lies_across),
    cmocka_unit_test(test_few_rows_go_along_columns_as_they_lie),
    cmocka_unit_test(test_few_rows_by_a_constant_read_it_packed),
    cmocka_unit_test(test_a_row_that_is_read_in_parts_has_them_side_by_side),
    cmocka_unit_test(test_one_row_by_a_constant_goes_along_its_panels),
    cmocka_unit_test(test_a_matrix_by_a_column_is_sums_of_rows),
    cmocka_unit_test(test_a_block_of_panels_has_no_rest),
    cmocka_unit_test(test_rows_of_an_open_number_are_shared_out),
    cmocka_unit_test(test_a_range_by_steps_leaves_no_rest_of_rows),
    cmocka_unit_test(test_a_range_of_few_rows_is_one_block),
};
TEST_MAIN(tests)
