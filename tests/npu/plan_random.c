/* Random layers on random machines: each stream passes npu_check, takes the cycles that its plan says,
 * and leaves what plain loops give, in order of the stream, in time, and some in 100 other orders. */
#include <inttypes.h>

#include "values.h"

enum { NROUND = 2000 };

static int64_t between(int64_t low, int64_t high)
{
    return low + draw((uint32_t)(high - low + 1));
}

static void draw_window(struct npu_window *w, uint32_t kind)
{
    *w = (struct npu_window){
        .in = between(1, 12), .taps = 1, .stride = 1, .dilation = 1
    };
    w->out = w->in;
    if (kind == NPU_ELEMENT || draw(4) == 0)
        return;
    w->taps = between(1, draw(8) ? 3 : 7);
    w->stride = between(1, draw(8) ? 2 : 4);
    w->dilation = draw(6) ? 1 : between(1, 3);
    w->before = draw(2) ? w->taps / 2 : between(0, 4);
    w->out = between(1, 12 / w->stride);
}

static struct npu_requantize draw_scale(void)
{
    const int32_t a = (int32_t)draw(256) - 128, b = (int32_t)draw(256) - 128;
    return (struct npu_requantize){ a < b ? a : b, a < b ? b : a, draw(2) };
}

static struct npu_layer draw_layer(void)
{
    struct npu_layer l = { .kind = draw(3) ? NPU_PRODUCTS : draw(4) };
    l.batch = between(1, draw(4) ? 2 : 9);
    l.in = between(1, 40);
    l.out = l.kind == NPU_PRODUCTS ? between(1, 40) : l.in;
    l.groups = 1;
    draw_window(&l.rows, l.kind);
    draw_window(&l.columns, l.kind);
    if (draw(8) == 0) { // a dense layer
        const struct npu_window one = { 1, 1, 1, 1, 1, 0 };
        l.rows = l.columns = one;
        l.batch = between(1, 40);
    }
    if (l.kind == NPU_PRODUCTS && draw(8) == 0) {
        l.groups = between(2, 3);
        l.in = l.groups * config.in * between(1, 2);
        l.out = l.groups * config.out * between(1, 2);
    }
    l.pad = (int32_t)draw(256) - 128;
    l.weight_bits = l.kind == NPU_PRODUCTS ? 2u << draw(3) : 0;
    l.is_wide = draw(5) == 0;
    l.npost_op = draw(8) ? draw(3) : draw(5);
    for (uint32_t i = 0; i < l.npost_op; i++) {
        struct npu_post_op *s = &l.post_ops[i];
        s->has_operand = draw(2);
        s->requantizes_operand = s->has_operand && draw(2);
        s->requantizes = draw(4) != 0;
        s->requantize = draw_scale();
        s->operand_requantize = draw_scale();
    }
    if (!l.is_wide && !l.npost_op && (l.kind == NPU_PRODUCTS || l.kind == NPU_TOTAL) &&
        draw(20))
        l.post_ops[l.npost_op++].requantize = draw_scale();
    if (l.npost_op && !l.is_wide)
        l.post_ops[l.npost_op - 1].requantizes = 1;
    return l;
}

static void draw_machine(void)
{
    static const char *const names[] = { "tiny", "tiny", "single", "multi" };
    use(names[draw(4)]);
    if (draw(3) == 0)
        return;
    config.has_multiplier = draw(2);
    config.distance = 1 + draw(4);
    config.gemm_fill = config.distance + draw(5);
    config.alu_fill = config.distance + draw(5);
    config.dma_latency = 1 + draw(100);
    config.dma_row = draw(4);
    config.bus = 1u << draw(6);
    config.tokens = 1 + draw(4);
    config.depth = 1 + draw(20);
    config.dispatch = draw(3);
    if (draw(2))
        return;
    config.batch = 1 + draw(3);
    config.in = 4u << draw(2);
    config.out = 4u << draw(2);
    for (uint32_t i = 0; i < NPU_NMEMORY; i++) {
        config.ntile[i] = 16 + draw(draw(3) ? 100 : 2000);
        config.nbytes[i] = config.ntile[i] * npu_tile_nbytes(&config, i);
    }
}

static uint32_t nplanned;

static void run(struct values *v, const struct npu_plan *plan, uint32_t how)
{
    const struct npu_buffers all = { NPU_NBUFFER, v->buffers };
    struct npu_machine *m;
    memset(v->buffers[NPU_BUFFER_Y].at, 99, v->buffers[NPU_BUFFER_Y].nbytes);
    assert_ok(ctx, npu_machine_create(ctx, &config, &m));
    if (how == 0)
        assert_ok(ctx, npu_run(ctx, m, &all, &plan->stream));
    else if (how == 1)
        assert_ok(ctx, npu_simulate(ctx, m, &all, &plan->stream, &times));
    else
        run_in_random_order(m, &all, &plan->stream);
    npu_machine_destroy(m);
}

static void check_layer(uint32_t round)
{
    struct values v = { .layer = draw_layer() };
    struct npu_plan plan;
    bt_status status = npu_plan(ctx, arena, &config, &v.layer, &plan);
    if (status && status->code == BT_ERR_UNSUPPORTED)
        return;
    assert_ok(ctx, status);
    nplanned++;
    draw_values(&v);
    compute_plainly(&v);
    fill_buffers(&v, &plan);
    const struct npu_buffers all = { NPU_NBUFFER, v.buffers };
    status = npu_check(ctx, &config, &all, &plan.stream);
    if (status)
        fail_msg("seed %u: %s", round + 1, status->message);
    const uint32_t norder = round % 30 ? 0 : 100;
    for (uint32_t how = 0; how < 2 + norder; how++) {
        run(&v, &plan, how);
        if (!is_right(&v))
            fail_msg("seed %u: y is wrong", round + 1);
    }
    if (plan.cycles != times.cycles)
        fail_msg("seed %u: planned %" PRIu64 " cycles, took %" PRIu64, round + 1,
                 plan.cycles, times.cycles);
}

static void test_random_layers_give_what_plain_loops_give(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < NROUND; round++) {
        const void *mark = bt_arena_mark(arena);
        seed = round + 1;
        draw_machine();
        check_layer(round);
        bt_ctx_clear_diags(ctx);
        bt_arena_release(arena, mark);
    }
    assert_true(nplanned > NROUND / 10 * 9);
}

static const struct CMUnitTest tests[] = {
    TEST(test_random_layers_give_what_plain_loops_give),
};

TEST_MAIN(tests)
