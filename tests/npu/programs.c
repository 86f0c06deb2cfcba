/* Streams written by hand, against sums written as loops over tensors. */
#include "kit.h"

#include "layers.h"

static void test_one_tile_is_multiplied(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        use(i == 0 ? "single" : i == 1 ? "multi" : "tiny");
        const struct dense d = dense_of(1, 1, 8);
        dense_emit(&d);
        run_all();
        dense_compare(&d);
        assert_int_equal(times.iterations, 1);
    }
}

static void test_weights_of_fewer_bits_are_unpacked(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        use(i % 2 ? "tiny" : "single");
        const struct dense d = dense_of(3, 2, i < 2 ? 8 : i < 4 ? 4 : 2);
        dense_emit(&d);
        run_all();
        dense_compare(&d);
    }
}

static void test_halves_of_scratch_take_turns(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        use(i == 0 ? "single" : i == 1 ? "multi" : "tiny");
        const struct dense d = dense_of(2, 9, 8);
        dense_emit(&d);
        run_all();
        dense_compare(&d);
        // the bus is never idle while something waits for it
        const struct npu_queue_times *q = times.queues;
        assert_true(q[NPU_QUEUE_LOAD].n == 18 && q[NPU_QUEUE_STORE].n == 9);
        assert_true(times.cycles < q[NPU_QUEUE_LOAD].busy + q[NPU_QUEUE_COMPUTE].busy +
                                       q[NPU_QUEUE_STORE].busy);
    }
}

static void test_convolution_is_steps_of_micro_ops(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        use(i == 0 ? "single" : i == 1 ? "multi" : "tiny");
        const struct conv c = conv_of(4, 5, 3);
        conv_emit(&c);
        run_all();
        conv_compare(&c);
        assert_int_equal(times.iterations, 4 * 5 * 9);
    }
}

static const struct CMUnitTest tests[] = {
    TEST(test_one_tile_is_multiplied),
    TEST(test_weights_of_fewer_bits_are_unpacked),
    TEST(test_halves_of_scratch_take_turns),
    TEST(test_convolution_is_steps_of_micro_ops),
};

TEST_MAIN(tests)
