/* What schedules of convolutions are, as text. */
#include "contract_text.h"

static void test_a_convolution_is_a_halo_then_tiles_with_their_epilogue(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 3, 10, 10 } },
                        { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 8, 3, 3, 3 } },
                        { "b", "t[o]", BT_FLOAT32, 1, { 8 } } },
            .text =
                "y: t[n, o, p in h, q in g] = max(sum(c, r in k, s in l:"
                "  x[n, c, p + r - 1, q + s - 1] * w[o, c, r, s] else 0) + b[o], 0)" },
        "loops test {\n"
        "    in a0: float32[300]\n"
        "    in a1: float32[216]\n"
        "    in a2: float32[8]\n"
        "    out s0: float32[800]\n"
        "    local s1: float32[472]\n"
        "    temp t5: float32[440]\n"
        "    parallel i40 in 3 {\n"
        "        halo.4(&t5[144*i40], &a0[100*i40], 12, 12, 1, 10, 1, 10, 10, 1, 0)\n"
        "    }\n"
        "    for i40 in 2 {\n"
        "        for i41 in 14 {\n"
        "            tile_f32_portable(&s1[8*i41], &a1[108*i40], &t5[8*i41], 4, 8, 3, "
        "27, 1, 1, 118, 2, 3, 3, 12, 3, 9, 144)\n"
        "        }\n"
        "        tile_f32_portable(&s1[110], &a1[108*i40], &t5[110], 4, 8, 3, 27, 1, 1, "
        "118, 2, 3, 3, 12, 3, 9, 144)\n"
        "        for i41 in 4 {\n"
        "            for i42 in 10 {\n"
        "                for i43 in 10 {\n"
        "                    s0[400*i40 + 100*i41 + 10*i42 + i43] = max(float32(0.0), "
        "(a2[4*i40 + i41] + s1[118*i41 + 12*i42 + i43]))\n"
        "                }\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "}\n");
}

static void test_a_constant_by_few_places_is_turned_and_finished_by_tiles(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 64, 3, 3 } },
                        { "w", "t[o, c]", BT_FLOAT32, 2, { 16, 64 } },
                        { "b", "t[o]", BT_FLOAT32, 1, { 16 } },
                        { "r", "t[n, o, h, g]", BT_FLOAT32, 4, { 1, 16, 3, 3 } } },
            .text = "y: t[n, o, p in h, q in g] = max(sum(c: x[n, c, p, q] * w[o, c])"
                    " + b[o] + r[n, o, p, q], 0)",
            .is_constant = { 0, 1, 1 } },
        "loops test {\n"
        "    in a0: float32[576]\n"
        "    in a1: float32[1024]\n"
        "    in a2: float32[16]\n"
        "    in a3: float32[144]\n"
        "    out s0: float32[144]\n"
        "    local s1: float32[1]\n"
        "    temp t6: float32[1024]\n"
        "    parallel i40 in 2 {\n"
        "        pack.4(&t6[512*i40], &a1[512*i40], 64, 8, 8, 8, 1, 64)\n"
        "    }\n"
        "    for i40 in 2 {\n"
        "        epilogue_f32_portable(&s0[5*i40], &a0[5*i40], &t6[0], &a2[0], "
        "&s0[5*i40], &s0[5*i40], &t6[0], &a0[5*i40], &a3[5*i40], min(5, -5*i40 + 9), 16, "
        "64, 1, 9, 8, 9, 3186, 1, 0, 0, 1, 0, 0, 0, 0, 0, 512, 0)\n"
        "    }\n"
        "}\n");
}

static void test_a_step_along_a_gradient_follows_sums_that_are_turned(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 4, 5, 9, 10 } },
                        { "dy", "t[n, o, p, q]", BT_FLOAT32, 4, { 4, 33, 7, 8 } },
                        { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 33, 5, 3, 3 } } },
            .text = "y: t[o, c, r in k, s in l] = w[o, c, r, s] - 0.25 * sum(n, e in p, "
                    "f in q:"
                    "    dy[n, o, e, f] * x[n, c, e + r, f + s])" },
        "loops test {\n"
        "    in a0: float32[1800]\n"
        "    in a1: float32[7392]\n"
        "    in a2: float32[1485]\n"
        "    out s0: float32[1485]\n"
        "    temp s1: float32[1485]\n"
        "    local s2: float32[1]\n"
        "    temp t6: float32[8960]\n"
        "    parallel i40 in 5 {\n"
        "        for i41 in 4 {\n"
        "            for i42 in 7 {\n"
        "                pack.4(&t6[1792*i40 + 448*i41 + 64*i42], &a1[448*i40 + 1848*i41 "
        "+ 8*i42], 8, min(-8*i40 + 33, 8), 8, 8, 1, 56)\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "    parallel i40 in 5 {\n"
        "        for i41 in 3 {\n"
        "            epilogue_f32_portable(&s1[9*i40 + 3*i41], &a0[90*i40 + 10*i41], "
        "&t6[0], &a0[90*i40 + 10*i41], &s1[9*i40 + 3*i41], &s1[9*i40 + 3*i41], &t6[0], "
        "&a0[90*i40 + 10*i41], &a0[90*i40 + 10*i41], 3, 33, 8, 1, 1, 8, 45, 3074, 7, 10, "
        "64, 4, 450, 448, 0, 0, 0, 1792, 0)\n"
        "        }\n"
        "    }\n"
        "    for i0 in 33 {\n"
        "        for i1 in 5 {\n"
        "            for i2 in 3 {\n"
        "                for i3 in 3 {\n"
        "                    s0[45*i0 + 9*i1 + 3*i2 + i3] = (a2[45*i0 + 9*i1 + 3*i2 + "
        "i3] - (float32(0.25) * s1[45*i0 + 9*i1 + 3*i2 + i3]))\n"
        "                }\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "}\n");
}

static void test_panels_of_many_weights_are_fetched_while_others_are_near(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 4096, 3, 3 } },
                        { "w", "t[o, c]", BT_FLOAT32, 2, { 16, 4096 } } },
            .text =
                "y: t[n, o, p in h, q in g] = max(sum(c: x[n, c, p, q] * w[o, c]), 0)",
            .is_constant = { 0, 1 } },
        "loops test {\n"
        "    in a0: float32[36864]\n"
        "    in a1: float32[65536]\n"
        "    out s0: float32[144]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[65536]\n"
        "    parallel i40 in 2 {\n"
        "        pack.4(&t4[32768*i40], &a1[32768*i40], 4096, 8, 8, 8, 1, 4096)\n"
        "    }\n"
        "    parallel i40 in 2 {\n"
        "        for i41 in 2 {\n"
        "            epilogue_f32_portable(&s0[72*i40 + 5*i41], &a0[5*i41], "
        "&t4[32768*i40], &a0[5*i41], &s0[72*i40 + 5*i41], &s0[72*i40 + 5*i41], "
        "&t4[min(65535, 32768*i40 + 16384*i41 + select((0 <= i40 - 1), 0, 32768))], "
        "&a0[5*i41], &a0[5*i41], min(5, -5*i41 + 9), 8, 4096, 1, 9, 8, 9, 3138, 1, 0, 0, "
        "1, 0, 0, 0, 0, 4, 32768, 0)\n"
        "        }\n"
        "    }\n"
        "}\n");
}

static void test_deep_terms_go_by_slices_where_tiles_wait_for_them(void **state)
{
    (void)state;
    check_text_for(
        CPU_ISA_AVX2,
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 500, 3, 3 } },
                        { "w", "t[o, c]", BT_FLOAT32, 2, { 16, 500 } } },
            .text =
                "y: t[n, o, p in h, q in g] = max(sum(c: x[n, c, p, q] * w[o, c]), 0)",
            .is_constant = { 0, 1 } },
        "loops test {\n"
        "    in a0: float32[4500]\n"
        "    in a1: float32[8000]\n"
        "    out s0: float32[144]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[8000]\n"
        "    local t5: float32[144]\n"
        "    pack.4(&t4[0], &a1[0], 500, 16, 16, 16, 1, 500)\n"
        "    for i40 in 2 {\n"
        "        for i41 in 2 {\n"
        "            epilogue_f32_avx2(&t5[80*i41], &a0[1503*i40 + 5*i41], "
        "&t4[2672*i40], &a0[1503*i40 + 5*i41], &t5[80*i41], &t5[80*i41], &t4[2672*i40], "
        "&t5[80*i41], &a0[1503*i40 + 5*i41], min(5, -5*i41 + 9), 16, 167, 1, 9, 16, 16, "
        "i40 + 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 8000, 16)\n"
        "        }\n"
        "    }\n"
        "    for i40 in 2 {\n"
        "        epilogue_f32_avx2(&s0[5*i40], &a0[5*i40 + 3006], &t4[5344], &a0[5*i40 + "
        "3006], &s0[5*i40], &s0[5*i40], &t4[5344], &t5[80*i40], &a0[5*i40 + 3006], "
        "min(5, -5*i40 + 9), 16, 166, 1, 9, 16, 9, 3139, 1, 0, 0, 1, 0, 0, 0, 0, 0, "
        "8000, 16)\n"
        "    }\n"
        "}\n");
}

static void test_a_convolution_by_steps_copies_only_what_it_reads(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 3, 10, 10 } },
                        { "w", "t[o, c]", BT_FLOAT32, 2, { 6, 3 } } },
            .text = "y: t[n, o, p in 5, q in 5] = sum(c: x[n, c, 2*p, 2*q] * w[o, c])" },
        "loops test {\n"
        "    in a0: float32[300]\n"
        "    in a1: float32[18]\n"
        "    out s0: float32[150]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[83]\n"
        "    parallel i40 in 3 {\n"
        "        halo.4(&t4[25*i40], &a0[100*i40], 5, 5, 0, 5, 0, 5, 20, 2, 0)\n"
        "    }\n"
        "    for i40 in 3 {\n"
        "        tile_f32_portable(&s0[8*i40], &a1[0], &t4[8*i40], 6, 8, 3, 3, 1, 25, "
        "25, "
        "2, 1, 0, 0, 1, 0, 0)\n"
        "    }\n"
        "    tile_f32_portable(&s0[21], &a1[0], &t4[21], 6, 4, 3, 3, 1, 25, 25, 2, 1, 0, "
        "0, 1, 0, 0)\n"
        "}\n");
}

/* Rows of 1024 floats begin in the same lines of a cache, which has room for few of them. */
static void test_rows_of_a_constant_that_crowd_the_cache_lie_further_apart(void **state)
{
    (void)state;
    if (!cpu_tiles_avx512[0].block) {
        print_message("only tiles of AVX-512 have so many rows\n");
        skip();
    }
    check_text_for(
        CPU_ISA_AVX512,
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 1024, 4, 8 } },
                        { "w", "t[o, c, r, s]", BT_FLOAT32, 4, { 14, 1024, 1, 1 } } },
            .is_constant = { 0, 1 },
            .text = "y: t[n, o, h, g] = sum(c, r in 1, s in 1:"
                    "  x[n, c, h + r, g + s] * w[o, c, r, s])" },
        "loops test {\n"
        "    in a0: float32[32768]\n"
        "    in a1: float32[14336]\n"
        "    out s0: float32[448]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[14560]\n"
        "    halo.4(&t4[0], &a1[0], 14, 1040, 0, 14, 0, 1024, 1024, 1, 0)\n"
        "    tile_f32_avx512(&s0[0], &t4[0], &a0[0], 14, 32, 1024, 1040, 1, 32, 32, 0, "
        "1, "
        "0, 0, 1, 0, 0)\n"
        "}\n");
}

/* Of a window of 3 x 3 the one in the middle. */
static void test_an_image_of_one_place_has_one_tap(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 6, 20, 1, 1 } },
                        { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 16, 20, 3, 3 } } },
            .text = "y: t[n, o, p in h, q in g] = sum(c, r in k, s in l:"
                    "  x[n, c, p + r - 1, q + s - 1] * w[o, c, r, s] else 0)" },
        "loops test {\n"
        "    in a0: float32[120]\n"
        "    in a1: float32[2880]\n"
        "    out s0: float32[96]\n"
        "    local s1: float32[1]\n"
        "    temp t4: float32[320]\n"
        "    parallel i40 in 2 {\n"
        "        pack.4(&t4[160*i40], &a1[1440*i40 + 4], 20, 8, 8, 8, 9, 180)\n"
        "    }\n"
        "    epilogue_f32_portable(&s0[0], &a0[0], &t4[0], &a0[0], &s0[0], &s0[0], "
        "&t4[0], &a0[0], &a0[0], 6, 16, 20, 20, 1, 8, 16, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, "
        "160, 0)\n"
        "}\n");
}

static void test_a_depthwise_convolution_is_lines(void **state)
{
    (void)state;
    check_text(
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 3, 10, 10 } },
                        { "w", "t[c, k, l]", BT_FLOAT32, 3, { 3, 3, 3 } } },
            .text = "y: t[n, c, p in 5, q in 5] = sum(r in k, s in l:"
                    "  x[n, c, 2*p + r - 1, 2*q + s - 1] * w[c, r, s] else 0)" },
        "loops test {\n"
        "    in a0: float32[300]\n"
        "    in a1: float32[27]\n"
        "    out s0: float32[75]\n"
        "    local s1: float32[1]\n"
        "    local t4: float32[152]\n"
        "    parallel i40 in 3 {\n"
        "        halo.4(&t4[0], &a0[100*i40 + 11], 6, 6, 1, 5, 1, 5, 20, 2, 0)\n"
        "        halo.4(&t4[36], &a0[100*i40 + 10], 6, 6, 1, 5, 0, 5, 20, 2, 0)\n"
        "        halo.4(&t4[72], &a0[100*i40 + 1], 6, 6, 0, 5, 1, 5, 20, 2, 0)\n"
        "        halo.4(&t4[108], &a0[100*i40], 6, 6, 0, 5, 0, 5, 20, 2, 0)\n"
        "        line_f32_portable(&s0[25*i40], &a1[9*i40], &t4[0], 5, 5, 2, 6, 2, "
        "1, 5, 2, 2, 6, 6, 1, 0, 0)\n"
        "        line_f32_portable(&s0[25*i40], &a1[9*i40 + 3], &t4[72], 5, 5, "
        "2, 6, 2, 1, 5, 3, 1, 0, 0, 1, 0, 0)\n"
        "        line_f32_portable(&s0[25*i40], &a1[9*i40 + 1], &t4[36], 5, 5, "
        "2, 6, 6, 6, 5, 3, 1, 0, 0, 1, 0, 0)\n"
        "        line_f32_portable(&s0[25*i40], &a1[9*i40 + 4], &t4[108], 5, "
        "5, 1, 6, 0, 0, 5, 3, 1, 0, 0, 1, 0, 0)\n"
        "    }\n"
        "}\n");
}

/* Of a depthwise convolution with an open batch, which may be 1, threads have the channels,
 * and lines are rows of the image. */
static void test_an_open_batch_leaves_threads_the_channels(void **state)
{
    (void)state;
    check_open_text(
        &(struct contraction){
            .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { -1, 32, 10, 10 } },
                        { "w", "t[c, k, l]", BT_FLOAT32, 3, { 32, 3, 3 } } },
            .text = "y: t[n, c, p in h, q in g] = sum(r in k, s in l:"
                    "  x[n, c, p + r - 1, q + s - 1] * w[c, r, s] else 0)" },
        &(bt_type_param){ .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 }, 2,
        "loops test<d0: Dim> {\n"
        "    in a0: float32[3200*d0]\n"
        "    in a1: float32[288]\n"
        "    out s0: float32[3200*d0]\n"
        "    local s1: float32[1]\n"
        "    local t4: float32[152]\n"
        "    parallel i40 in 32 {\n"
        "        for i41 in d0 {\n"
        "            halo.4(&t4[0], &a0[100*i40 + 3200*i41], 12, 12, 1, 10, 1, 10, 10, "
        "1, 0)\n"
        "            for i42 in 4 {\n"
        "                if (0 <= -i42 + 2) {\n"
        "                    line_f32_portable(&s0[100*i40 + 3200*i41 + "
        "30*i42], &a1[9*i40], &t4[36*i42], 3, 10, "
        "3, 12, 1, 1, 10, 2, 3, 3, 12, 1, 0, 0)\n"
        "                } else {\n"
        "                    line_f32_portable(&s0[100*i40 + 3200*i41 + "
        "30*i42], &a1[9*i40], &t4[36*i42], 1, 10, "
        "3, 12, 1, 1, 10, 2, 3, 3, 12, 1, 0, 0)\n"
        "                }\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "}\n");
}

/* Of three taps by steps of two, places of one parity meet two and those of the other one: no more
 * are multiplied. Weights that are constant lie in rows of terms. */
static void test_a_transposed_convolution_leaves_out_taps_that_it_has_not(void **state)
{
    (void)state;
    struct contraction c = {
        .inputs = { { "x", "t[n, c, h]", BT_FLOAT32, 3, { 1, 8, 16 } },
                    { "w", "t[c, o, k]", BT_FLOAT32, 3, { 8, 4, 3 } } },
        .text = "y: t[n, o, p in 2*h] = sum(c, a in h, r in k | 2*a + r - 1 == p:"
                "  x[n, c, a] * w[c, o, r])",
        .is_constant = { 0, 1 }
    };
    check_text(&c,
               "loops test {\n"
               "    in a0: float32[128]\n"
               "    in a1: float32[96]\n"
               "    out s0: float32[128]\n"
               "    temp s1: float32[128]\n"
               "    local s2: float32[64]\n"
               "    local t5: float64[1]\n"
               "    temp t6: float32[152]\n"
               "    temp t7: float32[128]\n"
               "    temp t8: bool[1]\n"
               "    parallel i40 in 8 {\n"
               "        halo.4(&t6[18*i40], &a0[16*i40], 1, 18, 0, 1, 1, 16, 0, 1, 0)\n"
               "    }\n"
               "    parallel i40 in 2 {\n"
               "        for i41 in 4 {\n"
               "            pack.4(&t7[16*i40 + 32*i41 + ceildiv(i40, 2)], &a1[i40 + "
               "3*i41 - 2*ceildiv(i40, 2) + 2], 8, -ceildiv(i40, 2) + 2, "
               "-ceildiv(i40, 2) + 2, 2, 12, -2)\n"
               "        }\n"
               "    }\n"
               "    parallel i40 in 2 {\n"
               "        for i41 in 2 {\n"
               "            tile_f32_portable(&s2[8*i41], &t7[16*i40 + ceildiv(i40, "
               "2)], &t6[8*i41 + ceildiv(i40, 2) + select((0 <= -i40), 1, 0)], 4, 8, "
               "-ceildiv(i40, 2) + 2, 32, 1, 1, 16, 2, 8, 2, 18, 1, 0, 0)\n"
               "        }\n"
               "        for i41 in 4 {\n"
               "            for i42 in 16 {\n"
               "                s0[i40 + 32*i41 + 2*i42 + 2*select((0 <= -i40), 1, 0) "
               "- 1] = s2[16*i41 + i42]\n"
               "            }\n"
               "        }\n"
               "    }\n"
               "    finite.float32(&t8[0], &a1[0], 96)\n"
               "    for i1 in 4 {\n"
               "        if not(t8[0]) {\n"
               "            for i2 in 32 {\n"
               "                t5[0] = float64(0.0)\n"
               "                for i3 in 8 {\n"
               "                    for i4 in 2 {\n"
               "                        if ((((0 <= -i4 - floordiv(i2 + 1, 2) + 16) "
               "&& (0 <= -i2 + 2*i4 + 2*floordiv(i2 + 1, 2) - 1)) && (0 <= i4 + "
               "floordiv(i2 + 1, 2) - 1)) && (0 <= i2 - 2*i4 - 2*floordiv(i2 + 1, "
               "2) + 3)) {\n"
               "                            t5[0] sum[float32]= (a1[3*i1 + i2 + 12*i3 "
               "- 2*i4 - 2*floordiv(i2 + 1, 2) + 3] * a0[16*i3 + i4 + floordiv(i2 + "
               "1, 2) - 1])\n"
               "                        }\n"
               "                    }\n"
               "                }\n"
               "                s0[32*i1 + i2] = float32(t5[0])\n"
               "            }\n"
               "        }\n"
               "    }\n"
               "}\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_convolution_is_a_halo_then_tiles_with_their_epilogue),
    cmocka_unit_test(test_a_constant_by_few_places_is_turned_and_finished_by_tiles),
    cmocka_unit_test(test_a_step_along_a_gradient_follows_sums_that_are_turned),
    cmocka_unit_test(test_panels_of_many_weights_are_fetched_while_others_are_near),
    cmocka_unit_test(test_deep_terms_go_by_slices_where_tiles_wait_for_them),
    cmocka_unit_test(test_a_convolution_by_steps_copies_only_what_it_reads),
    cmocka_unit_test(test_rows_of_a_constant_that_crowd_the_cache_lie_further_apart),
    cmocka_unit_test(test_an_image_of_one_place_has_one_tap),
    cmocka_unit_test(test_a_depthwise_convolution_is_lines),
    cmocka_unit_test(test_an_open_batch_leaves_threads_the_channels),
    cmocka_unit_test(test_a_transposed_convolution_leaves_out_taps_that_it_has_not),
};
TEST_MAIN(tests)
