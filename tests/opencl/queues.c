/* Queues, events, kernels and their faults. */
#include "kit.h"

enum { N = 1000 };

static struct ocl_block *floats(float first)
{
    float x[N];
    struct ocl_block *block = alloc(sizeof(x));
    for (uint32_t i = 0; i < N; i++)
        x[i] = first + (float)(i % 8);
    copy(own(block, 0, sizeof(x)), host(x, sizeof(x)));
    return block;
}

static float first_of(struct ocl_block *block)
{
    float x[N];
    copy(host(x, sizeof(x)), own(block, 0, sizeof(x)));
    return x[0];
}

static void test_a_kernel_runs_over_dims_of_the_call(void **state)
{
    (void)state;
    need_device();
    void *loaded = load_square();
    struct ocl_block *a = floats(3), *b = floats(0);
    struct ocl_queue *q = open_queue();
    float y[N];
    wait_for(q, give_square(q, loaded, b, a, 0, at_once, NULL));
    assert_true(first_of(b) == 0);
    wait_for(q, give_square(q, loaded, b, a, N - 1, at_once, NULL));
    copy(host(y, sizeof(y)), own(b, 0, sizeof(y)));
    for (uint32_t i = 0; i < N - 1; i++) {
        const float x = 3 + (float)(i % 8);
        assert_true(y[i] == 2 * (x * x + 1));
    }
    assert_true(y[N - 1] == (N - 1) % 8);
    ocl_close_queue(q);
    ocl_unload(loaded);
    ocl_free(device, a);
    ocl_free(device, b);
}

static void test_a_chain_through_two_queues(void **state)
{
    (void)state;
    need_device();
    void *loaded = load_square();
    float one[N] = { 0 }, y[N];
    struct ocl_block *a = alloc(sizeof(y)), *b = alloc(sizeof(y));
    struct ocl_queue *kernels = open_queue(), *copies = open_queue();
    for (uint32_t round = 0; round < 100; round++) {
        one[0] = (float)round;
        uint64_t value =
            give_copy(copies, own(a, 0, sizeof(y)), host(one, sizeof(y)), at_once);
        value = give_square(kernels, loaded, b, a, N, (bt_event){ copies, value }, NULL);
        value = give_copy(copies, host(y, sizeof(y)), own(b, 0, sizeof(y)),
                          (bt_event){ kernels, value });
        wait_for(copies, value);
        assert_true(y[0] == (float)(2 * (round * round + 1)));
    }
    ocl_close_queue(kernels);
    ocl_close_queue(copies);
    ocl_unload(loaded);
    ocl_free(device, a);
    ocl_free(device, b);
}

static void test_a_fault_names_its_command_and_stops_what_is_behind(void **state)
{
    (void)state;
    need_device();
    void *loaded = load_square();
    struct ocl_block *good = floats(1), *bad = floats(-1), *out = floats(0);
    struct ocl_queue *q = open_queue(), *other = open_queue();
    float y[N] = { 5 };
    uint64_t failed = 0;
    (void)give_square(q, loaded, out, good, N, at_once, NULL);
    const uint64_t wrong = give_square(q, loaded, out, bad, N, at_once, NULL);
    const uint64_t behind =
        give_copy(q, host(y, sizeof(y)), own(out, 0, sizeof(y)), at_once);
    const uint64_t waits = give_copy(other, host(y, sizeof(y)), own(out, 0, sizeof(y)),
                                     (bt_event){ q, behind });
    assert_error(ocl_queue_wait(ctx, other, waits, &failed), BT_ERR_RUNTIME,
                 "a number is negative");
    assert_int_equal(failed, waits);
    assert_error(ocl_queue_wait(ctx, q, behind, &failed), BT_ERR_RUNTIME,
                 "a number is negative");
    assert_int_equal(failed, wrong);
    assert_true(y[0] == 5);
    const uint64_t late = give_square(q, loaded, out, good, N, at_once, NULL);
    assert_error(ocl_queue_wait(ctx, q, late, &failed), BT_ERR_RUNTIME,
                 "a number is negative");
    ocl_close_queue(q);
    ocl_close_queue(other);
    q = open_queue(); // the device works
    wait_for(q, give_square(q, loaded, out, good, N, at_once, NULL));
    assert_true(first_of(out) == 4);
    ocl_close_queue(q);
    ocl_unload(loaded);
    ocl_free(device, good);
    ocl_free(device, bad);
    ocl_free(device, out);
}

static void test_times_follow_each_other(void **state)
{
    (void)state;
    need_device();
    void *loaded = load_square();
    struct ocl_block *a = floats(1), *b = floats(0);
    struct ocl_queue *q = open_queue();
    bt_times times[300] = { { 0, 0 } };
    uint64_t value = 0, before = bt_now_ns();
    for (uint32_t i = 0; i < BT_COUNT(times); i++)
        value = give_square(q, loaded, b, a, N, at_once, &times[i]);
    wait_for(q, value);
    for (uint32_t i = 0; i < BT_COUNT(times); i++) {
        assert_true(before <= times[i].begin_ns);
        assert_true(times[i].begin_ns <= times[i].end_ns);
        before = times[i].end_ns;
    }
    assert_true(before <= bt_now_ns());
    ocl_close_queue(q);
    ocl_unload(loaded);
    ocl_free(device, a);
    ocl_free(device, b);
}

static void test_a_queue_is_opened_again_and_old_events_stay(void **state)
{
    (void)state;
    need_device();
    void *loaded = load_square();
    struct ocl_block *a = floats(1), *b = floats(0);
    struct ocl_queue *q = open_queue();
    const uint64_t old = give_square(q, loaded, b, a, N, at_once, NULL);
    wait_for(q, old);
    const bt_event event = { q, old };
    ocl_close_queue(q);
    struct ocl_queue *again = open_queue(), *other = open_queue();
    assert_ptr_equal(q, again);
    wait_for(other, give_square(other, loaded, b, a, N, event, NULL));
    assert_true(give_square(again, loaded, b, a, N, at_once, NULL) > old);
    wait_for(again, old + 1);
    ocl_close_queue(again);
    ocl_close_queue(other);
    ocl_unload(loaded);
    ocl_free(device, a);
    ocl_free(device, b);
}

static void test_a_call_of_other_buffers_is_refused(void **state)
{
    (void)state;
    need_device();
    void *loaded = load_square();
    struct ocl_queue *q = open_queue();
    void *buffers[3] = { 0 };
    const int64_t dims[] = { 1 };
    const bt_order order = { .queue = q };
    uint64_t value;
    bt_kernel_call call = {
        .nbytes = sizeof(call), .nbuffer = 3, .buffers = buffers, .dims = dims, .ndim = 1
    };
    assert_error(ocl_enqueue(ctx, loaded, 0, &call, &order, &value), BT_ERR_ARGUMENT,
                 "has 2 buffers and 1 dims, and is called with 3 and 1");
    call.nbuffer = 2;
    assert_error(ocl_enqueue(ctx, loaded, 0, &call, &order, &value), BT_ERR_ARGUMENT,
                 "without a buffer");
    ocl_close_queue(q);
    ocl_unload(loaded);
}

static const struct CMUnitTest tests[] = {
    ON_DEVICE(test_a_kernel_runs_over_dims_of_the_call),
    ON_DEVICE(test_a_chain_through_two_queues),
    ON_DEVICE(test_a_fault_names_its_command_and_stops_what_is_behind),
    ON_DEVICE(test_times_follow_each_other),
    ON_DEVICE(test_a_queue_is_opened_again_and_old_events_stay),
    ON_DEVICE(test_a_call_of_other_buffers_is_refused),
};

TEST_MAIN(tests)
