/* Plans of layers that matter, and what is said of those that have none. */
#include <inttypes.h>

#include "failing_allocator.h"
#include "resnet18.h"
#include "values.h"

static struct npu_layer conv(void)
{
    const struct npu_window w = { 8, 8, 3, 1, 1, 1 };
    struct npu_layer l = { .kind = NPU_PRODUCTS,
                           .batch = 1,
                           .in = 32,
                           .out = 32,
                           .groups = 1,
                           .rows = w,
                           .columns = w,
                           .weight_bits = 8,
                           .npost_op = 1 };
    l.post_ops[0] =
        (struct npu_post_op){ .requantizes = 1, .requantize = { -128, 127, 1 } };
    return l;
}

/* A plan's stream passes npu_check, takes the cycles that it says, and leaves what plain loops give if
 * `computes`. */
static void simulate(const struct npu_layer *l, int computes, struct npu_plan *plan)
{
    struct values v = { .layer = *l };
    struct npu_machine *m;
    assert_ok(ctx, npu_plan(ctx, arena, &config, l, plan));
    draw_values(&v);
    fill_buffers(&v, plan);
    const struct npu_buffers all = { NPU_NBUFFER, v.buffers };
    assert_ok(ctx, npu_check(ctx, &config, &all, &plan->stream));
    assert_ok(ctx, npu_machine_create(ctx, &config, &m));
    assert_ok(ctx, npu_simulate(ctx, m, &all, &plan->stream, &times));
    npu_machine_destroy(m);
    assert_int_equal(plan->cycles, times.cycles);
    if (!computes)
        return;
    compute_plainly(&v);
    assert_true(is_right(&v));
}

/* ---- ResNet-18 ---- */

/* Of each layer in percent, as they are printed by bench_npu, less what is behind the point. */
static const uint32_t single_use[RESNET18_NLAYER] = { 96, 91, 96, 91, 96, 95, 75,
                                                      98, 95, 97, 97, 83, 98, 97,
                                                      98, 98, 88, 98, 98 };
static const uint32_t multi_use[RESNET18_NLAYER] = { 98, 95, 98, 95, 98, 97, 86,
                                                     99, 97, 98, 98, 91, 99, 98,
                                                     99, 99, 93, 99, 99 };

/* Multipliers are busy in 90 of 100 cycles of all, 80 of each 3 x 3, 70 of each 1 x 1; and not less
 * than they were. */
static void check_use(const char *machine, const uint32_t *use_of)
{
    struct npu_layer layers[RESNET18_NLAYER];
    uint64_t ideal = 0, cycles = 0;
    use(machine);
    resnet18(&config, layers);
    for (uint32_t i = 0; i < RESNET18_NLAYER; i++) {
        struct npu_plan plan;
        const void *mark = bt_arena_mark(arena);
        const uint32_t least = layers[i].rows.taps == 3 ? 80 : 70;
        simulate(&layers[i], 0, &plan);
        assert_int_equal(plan.ideal, times.iterations);
        assert_true(100 * plan.ideal >= least * times.cycles);
        assert_true(100 * plan.ideal >= use_of[i] * times.cycles);
        ideal += plan.ideal;
        cycles += times.cycles;
        bt_arena_release(arena, mark);
    }
    assert_true(100 * ideal >= 90 * cycles);
}

static void test_resnet18_keeps_single_busy(void **state)
{
    (void)state;
    check_use("single", single_use);
}

static void test_resnet18_keeps_multi_busy(void **state)
{
    (void)state;
    check_use("multi", multi_use);
}

/* ---- other layers ---- */

/* What waits for a sum's own tile would take four times as long. */
static void test_one_block_of_outputs_keeps_single_busy(void **state)
{
    (void)state;
    struct npu_plan plan;
    use("single");
    struct npu_layer l = conv();
    l.out = 16;
    l.rows = l.columns = (struct npu_window){ 28, 28, 3, 1, 1, 1 };
    simulate(&l, 1, &plan);
    assert_true(100 * plan.ideal >= 85 * plan.cycles);
}

/* Its loads and stores hide behind nine products of each result, or the tiles behind them. */
static void test_pools_and_additions_overlap(void **state)
{
    (void)state;
    struct npu_plan plan;
    use("single");
    struct npu_layer l = conv();
    l.kind = NPU_GREATEST;
    l.weight_bits = 0;
    l.npost_op = 0;
    l.in = l.out = 64;
    l.rows = l.columns = (struct npu_window){ 112, 56, 3, 2, 1, 1 };
    l.pad = -128;
    simulate(&l, 1, &plan);
    assert_true(100 * 9 * 4 * 56 * 56 >= 95 * plan.cycles);
    l.kind = NPU_ELEMENT;
    l.npost_op = 1;
    l.post_ops[0].has_operand = 1;
    l.rows = l.columns = (struct npu_window){ 56, 56, 1, 1, 1, 0 };
    simulate(&l, 1, &plan);
    assert_true(100 * times.nbytes / config.bus >= 75 * plan.cycles);
}

/* More than a LOAD fills in: tiles are smaller. */
static void test_padding_is_wider_than_a_byte(void **state)
{
    (void)state;
    struct npu_plan plan;
    use("single");
    struct npu_layer l = conv();
    l.rows = (struct npu_window){ 2, 2, 1, 1, 1, 0 };
    l.columns = (struct npu_window){ 8, 606, 3, 1, 1, 300 };
    l.pad = 5;
    simulate(&l, 1, &plan);
}

/* ---- small memories ---- */

/* A result of one tile, and its three parameters: nothing is left for a second slot. */
static void test_one_slot_is_enough(void **state)
{
    (void)state;
    for (uint32_t kind = NPU_PRODUCTS; kind <= NPU_ELEMENT; kind++) {
        struct npu_plan plan;
        struct npu_layer l = conv();
        use("tiny");
        config.ntile[NPU_ACC] = kind == NPU_TOTAL || kind == NPU_GREATEST ? 6 : 4;
        config.nbytes[NPU_ACC] =
            config.ntile[NPU_ACC] * npu_tile_nbytes(&config, NPU_ACC);
        l.kind = kind;
        l.weight_bits = kind == NPU_PRODUCTS ? 8 : 0;
        l.rows = l.columns = (struct npu_window){ 5, 5, 1, 1, 1, 0 };
        simulate(&l, 1, &plan);
    }
}

/* ---- refusals ---- */

static void refused(const struct npu_layer *l, uint32_t code, const char *why)
{
    struct npu_plan plan;
    bt_status status = npu_plan(ctx, arena, &config, l, &plan);
    assert_non_null(status);
    if (status->code != code || !strstr(status->message, why))
        fail_msg("%s, and expected: %s", status->message, why);
}

static void test_what_is_refused_is_said(void **state)
{
    (void)state;
    struct npu_plan plan;
    use("single");
    struct npu_layer l = conv();
    assert_ok(ctx, npu_plan(ctx, arena, &config, &l, &plan));
    l.rows.before = -1;
    refused(&l, BT_ERR_ARGUMENT, "rows: padding of -1");
    l = conv();
    l.groups = 32;
    refused(&l, BT_ERR_UNSUPPORTED,
            "groups of 1 channels to 1: a tile multiplies 16 to 16");
    l.groups = 4;
    refused(&l, BT_ERR_UNSUPPORTED, "groups of 8 channels");
    l.groups = 3;
    refused(&l, BT_ERR_ARGUMENT, "are no 3 groups");
    l = conv();
    l.weight_bits = 3;
    refused(&l, BT_ERR_UNSUPPORTED, "weights of 3 bits");
    l = conv();
    l.in = 1 << 15; // sums wrap
    assert_ok(ctx, npu_plan(ctx, arena, &config, &l, &plan));
    l = conv();
    l.npost_op = 0;
    refused(&l, BT_ERR_UNSUPPORTED, "int8 may not hold");
    l.is_wide = 1;
    assert_ok(ctx, npu_plan(ctx, arena, &config, &l, &plan));
    l = conv();
    l.rows = (struct npu_window){ 1 << 19, 1, 1 << 19, 1, 1, 0 };
    refused(&l, BT_ERR_LIMIT, "main memory has");
    l.columns = (struct npu_window){ 1, 1, 1, 1, 1, 0 };
    l.in = l.out = 16;
    assert_ok(ctx, npu_plan(ctx, arena, &config, &l, &plan)); // by rows of the window
    l.columns = (struct npu_window){ 1 << 18, 1, 1 << 18, 1, 1, 0 };
    l.rows = (struct npu_window){ 1, 1, 1, 1, 1, 0 };
    refused(&l, BT_ERR_UNSUPPORTED, "no tile of the layer fits");
    l = conv();
    l.kind = NPU_TOTAL;
    l.weight_bits = 0;
    l.batch = 1 << 17; // each image is a tile
    l.in = l.out = 16;
    l.rows = l.columns = (struct npu_window){ 2, 1, 2, 1, 1, 0 };
    refused(&l, BT_ERR_LIMIT, "more than 262144 instructions");
    l = conv();
    l.kind = NPU_ELEMENT;
    l.weight_bits = 0;
    refused(&l, BT_ERR_ARGUMENT, "no window");
    l.rows = l.columns = (struct npu_window){ 8, 8, 1, 1, 1, 0 };
    assert_ok(ctx, npu_plan(ctx, arena, &config, &l, &plan));
    l.npost_op = 0;
    refused(&l, BT_ERR_UNSUPPORTED, "a copy");
}

static void test_constants_that_do_not_fit_are_said(void **state)
{
    (void)state;
    static int8_t weights[32 * 32 * 9] = { [40] = 8 };
    static uint8_t out[32 * 32 * 9];
    static const int32_t shifts[32] = { [3] = 32 }, factors[32] = { [3] = 2 };
    use("single");
    struct npu_layer l = conv();
    l.weight_bits = 4;
    assert_error(npu_pack_weights(ctx, &config, &l, weights, out), BT_ERR_ARGUMENT,
                 "weight 40 of output 0: 8 is not of 4 bits");
    const struct npu_numbers shifted = { .shift = shifts },
                             multiplied = { .factor = factors };
    assert_error(npu_pack_requantize(ctx, &config, &l, 0, 0, &shifted, out),
                 BT_ERR_ARGUMENT, "a shift by 32");
    assert_error(npu_pack_requantize(ctx, &config, &l, 0, 0, &multiplied, out),
                 BT_ERR_ARGUMENT, "no multiplier");
    assert_error(npu_pack_requantize(ctx, &config, &l, 0, 1, &shifted, out),
                 BT_ERR_ARGUMENT, "post-op 0 has no requantize of an operand");
}

/* ---- any numbers ---- */

static int64_t any(void)
{
    static const int64_t edges[] = { INT64_MIN, -1,      0,         1,
                                     2,         3,       7,         64,
                                     255,       256,     65535,     65536,
                                     1 << 20,   1 << 30, INT32_MAX, INT64_MAX };
    return draw(16) ? 1 + draw(draw(2) ? 3 : 40) : edges[draw(BT_COUNT(edges))];
}

static void test_layers_of_any_numbers_end_in_a_status(void **state)
{
    (void)state;
    uint32_t nplan = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        struct npu_plan plan;
        const void *mark = bt_arena_mark(arena);
        seed = round + 1;
        use(draw(3) ? "tiny" : draw(2) ? "single" : "multi");
        struct npu_layer l = { .kind = draw(9) ? draw(4) : (uint32_t)any(),
                               .batch = any(),
                               .in = any(),
                               .out = any(),
                               .groups = draw(4) ? 1 : any(),
                               .pad = (int32_t)any(),
                               .weight_bits = draw(2) ? 8 : (uint32_t)any(),
                               .npost_op = draw(9) ? draw(5) : (uint32_t)any(),
                               .is_wide = draw(9) ? draw(2) : (uint32_t)any() };
        struct npu_window *const windows[] = { &l.rows, &l.columns };
        for (uint32_t i = 0; i < 2; i++)
            *windows[i] = (struct npu_window){
                any(), any(), any(), draw(2) ? 1 : any(), draw(2) ? 1 : any(), any()
            };
        if (l.kind != NPU_PRODUCTS && draw(2)) {
            l.weight_bits = 0;
            l.out = l.in;
        }
        for (uint32_t i = 0; i < NPU_MAX_POST_OPS; i++)
            l.post_ops[i] =
                (struct npu_post_op){ .has_operand = draw(2),
                                      .requantizes_operand = draw(3) == 0,
                                      .requantizes = draw(9) ? 1 : (uint32_t)any(),
                                      .requantize = { -100, 100, 0 } };
        bt_status status = npu_plan(ctx, arena, &config, &l, &plan);
        if (!status) {
            struct npu_buffer at[NPU_NBUFFER];
            for (uint32_t i = 0; i < NPU_NBUFFER; i++)
                at[i] = (struct npu_buffer){ .nbytes = plan.nbytes[i] };
            at[NPU_BUFFER_UOPS].is_constant = 1;
            at[NPU_BUFFER_UOPS].at = (uint8_t *)(uintptr_t)plan.uops;
            const struct npu_buffers all = { NPU_NBUFFER, at };
            assert_ok(ctx, npu_verify(ctx, &config, &all, &plan.stream));
            nplan++;
        }
        bt_ctx_clear_diags(ctx);
        bt_arena_release(arena, mark);
    }
    assert_true(nplan > 100);
}

/* ---- memory ---- */

static int plan_one(const bt_allocator *allocator)
{
    bt_registry *own = failing_registry(allocator);
    bt_ctx *c = own ? bt_ctx_create(own) : NULL;
    bt_arena *a = c ? bt_arena_create(own) : NULL;
    struct npu_plan plan;
    struct npu_layer l = conv();
    l.in = l.out = 8;
    l.rows = l.columns = (struct npu_window){ 2, 2, 1, 1, 1, 0 };
    const int ok = a && ok_or_no_memory(npu_plan(c, a, &config, &l, &plan));
    bt_arena_destroy(a);
    bt_ctx_destroy(c);
    bt_registry_unref(own);
    return ok;
}

static void test_lack_of_memory_is_a_status(void **state)
{
    (void)state;
    use("tiny");
    fail_each_allocation(plan_one);
}

static const struct CMUnitTest tests[] = {
    TEST(test_resnet18_keeps_single_busy),
    TEST(test_resnet18_keeps_multi_busy),
    TEST(test_one_block_of_outputs_keeps_single_busy),
    TEST(test_pools_and_additions_overlap),
    TEST(test_padding_is_wider_than_a_byte),
    TEST(test_one_slot_is_enough),
    TEST(test_what_is_refused_is_said),
    TEST(test_constants_that_do_not_fit_are_said),
    TEST(test_layers_of_any_numbers_end_in_a_status),
    TEST(test_lack_of_memory_is_a_status),
};

TEST_MAIN(tests)
