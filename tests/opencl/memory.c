/* Memory of the device, and copies. */
#include "kit.h"

static void test_copies_of_odd_sizes(void **state)
{
    (void)state;
    need_device();
    static const uint64_t sizes[] = { 1, 3, 64, 4095, 262145, 20000003 };
    for (uint32_t i = 0; i < BT_COUNT(sizes); i++) {
        const uint64_t n = sizes[i];
        unsigned char *from = malloc(n), *to = malloc(n + 2);
        struct ocl_block *a = alloc(n + 256), *b = alloc(n + 256);
        for (uint64_t k = 0; k < n; k++)
            from[k] = (unsigned char)(k * 7 + (k >> 8));
        memset(to, 0x5a, n + 2);
        copy(own(a, 128, n), host(from, n));
        copy(own(b, 3, n), own(a, 128, n));
        copy(host(to + 1, n), own(b, 3, n));
        assert_memory_equal(to + 1, from, n);
        assert_int_equal(to[0], 0x5a);
        assert_int_equal(to[n + 1], 0x5a);
        ocl_free(device, a);
        ocl_free(device, b);
        free(from);
        free(to);
    }
}

static void test_a_thousand_blocks(void **state)
{
    (void)state;
    need_device();
    void *blocks[16];
    for (uint32_t round = 0; round < 1000; round++) {
        if (round >= BT_COUNT(blocks))
            ocl_free(device, blocks[round % BT_COUNT(blocks)]);
        assert_ok(ctx, ocl_alloc(ctx, device, 1 + round * 37,
                                 &blocks[round % BT_COUNT(blocks)]));
    }
    for (uint32_t i = 0; i < BT_COUNT(blocks); i++)
        ocl_free(device, blocks[i]);
    assert_int_equal(device->used, 0);
}

static void test_a_budget_is_an_error_and_what_is_given_back_counts_again(void **state)
{
    (void)state;
    need_device();
    void *block, *more;
    device->budget = 1000;
    assert_ok(ctx, ocl_alloc(ctx, device, 900, &block));
    assert_error(ocl_alloc(ctx, device, 101, &more), BT_ERR_MEMORY, "budget of 1000");
    ocl_free(device, block);
    assert_ok(ctx, ocl_alloc(ctx, device, 1000, &block));
    ocl_free(device, block);
}

static void test_bytes_outside_of_a_block_are_refused(void **state)
{
    (void)state;
    need_device();
    char bytes[64];
    struct ocl_block *a = alloc(64);
    struct ocl_queue *q = open_queue();
    const bt_order order = { .queue = q };
    uint64_t value;
    const bt_buffer wrong[] = { own(a, 1, 64), own(a, UINT64_MAX, 2), own(a, 64, 1) };
    for (uint32_t i = 0; i < BT_COUNT(wrong); i++) {
        const bt_buffer there = host(bytes, wrong[i].nbytes);
        assert_error(ocl_enqueue_copy(ctx, device, &wrong[i], &there, &order, &value),
                     BT_ERR_ARGUMENT, "not in a block of 64");
    }
    ocl_close_queue(q);
    ocl_free(device, a);
}

/* Memory of the host that one copy writes and the next one reads. */
static void test_a_copy_reads_what_one_before_it_brings(void **state)
{
    (void)state;
    need_device();
    enum { N = 1 << 20 };
    char *x = calloc(N, 1), *y = calloc(N, 1), *z = calloc(N, 1);
    struct ocl_block *a = alloc(N), *b = alloc(N);
    struct ocl_queue *q = open_queue(), *other = open_queue();
    memset(x, 7, N);
    uint64_t value = give_copy(q, own(a, 0, N), host(x, N), at_once);
    value = give_copy(q, host(y, N), own(a, 0, N), at_once);
    value = give_copy(other, own(b, 0, N), host(y, N), (bt_event){ q, value });
    value = give_copy(other, host(z, N), own(b, 0, N), at_once);
    wait_for(other, value);
    assert_memory_equal(x, z, N);
    ocl_close_queue(q);
    ocl_close_queue(other);
    ocl_free(device, a);
    ocl_free(device, b);
    free(x);
    free(y);
    free(z);
}

static void test_many_copies_share_the_stage(void **state)
{
    (void)state;
    need_device();
    enum { N = 1000, EACH = 3001 };
    char *x = malloc(N * EACH), *y = calloc(N, EACH);
    struct ocl_block *a = alloc(N * EACH);
    struct ocl_queue *q = open_queue();
    uint64_t value = 0;
    for (uint32_t i = 0; i < N * EACH; i++)
        x[i] = (char)(i * 31 + (i >> 7));
    for (uint64_t i = 0; i < N; i++) {
        (void)give_copy(q, own(a, i * EACH, EACH), host(x + i * EACH, EACH), at_once);
        value = give_copy(q, host(y + i * EACH, EACH), own(a, i * EACH, EACH), at_once);
    }
    wait_for(q, value);
    assert_memory_equal(x, y, N * EACH);
    ocl_close_queue(q);
    ocl_free(device, a);
    free(x);
    free(y);
}

static void test_two_instances_have_memory_each(void **state)
{
    (void)state;
    need_device();
    struct ocl_instance *first = device;
    float one = 1, two = 2, back = 0;
    struct ocl_block *a = alloc(4);
    copy(own(a, 0, 4), host(&one, 4));
    open_as((struct ocl_wish){ 0 });
    struct ocl_block *b = alloc(4);
    copy(own(b, 0, 4), host(&two, 4));
    ocl_free(device, b);
    ocl_close(device);
    device = first;
    copy(host(&back, 4), own(a, 0, 4));
    assert_true(back == 1);
    ocl_free(device, a);
}

static const struct CMUnitTest tests[] = {
    ON_DEVICE(test_copies_of_odd_sizes),
    ON_DEVICE(test_a_thousand_blocks),
    ON_DEVICE(test_a_budget_is_an_error_and_what_is_given_back_counts_again),
    ON_DEVICE(test_bytes_outside_of_a_block_are_refused),
    ON_DEVICE(test_a_copy_reads_what_one_before_it_brings),
    ON_DEVICE(test_many_copies_share_the_stage),
    ON_DEVICE(test_two_instances_have_memory_each),
};

TEST_MAIN(tests)
