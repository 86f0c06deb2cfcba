/* Several threads, each with a context and queues of its own, on one instance and one module. */
#include <pthread.h>

#include "kit.h"

enum { NTHREAD = 8, NROUND = 25, N = 5000 };

struct worker {
    pthread_t thread;
    bt_ctx *ctx;
    void *loaded;
    uint32_t number, nwrong;
    char why[200];
};

static bt_status work_once(struct worker *w, uint32_t round)
{
    float x[N], y[N];
    void *blocks[2] = { NULL, NULL }, *queues[2] = { NULL, NULL };
    const int64_t dims[] = { N };
    uint64_t value, failed;
    for (uint32_t i = 0; i < N; i++)
        x[i] = (float)((w->number + round + i) % 100);
    BT_TRY(ocl_alloc(w->ctx, device, sizeof(x), &blocks[0]));
    BT_TRY(ocl_alloc(w->ctx, device, sizeof(x), &blocks[1]));
    BT_TRY(ocl_open_queue(w->ctx, device, &queues[0]));
    BT_TRY(ocl_open_queue(w->ctx, device, &queues[1]));
    bt_buffer there = own(blocks[0], 0, sizeof(x)), here = host(x, sizeof(x));
    BT_TRY(ocl_enqueue_copy(w->ctx, device, &there, &here,
                            &(bt_order){ .queue = queues[0] }, &value));
    const bt_event copied = { queues[0], value };
    const bt_kernel_call call = {
        .nbytes = sizeof(call), .nbuffer = 2, .buffers = blocks, .dims = dims, .ndim = 1
    };
    const bt_order first = { .queue = queues[1], .nwait = 1, .waits = &copied };
    BT_TRY(ocl_enqueue(w->ctx, w->loaded, 0, &call, &first, &value));
    const bt_event computed = { queues[1], value };
    const bt_order second = { .queue = queues[0], .nwait = 1, .waits = &computed };
    there = own(blocks[1], 0, sizeof(x));
    here = host(y, sizeof(y));
    BT_TRY(ocl_enqueue_copy(w->ctx, device, &here, &there, &second, &value));
    BT_TRY(ocl_queue_wait(w->ctx, queues[0], value, &failed));
    for (uint32_t i = 0; i < N; i++)
        w->nwrong += y[i] != 2 * (x[i] * x[i] + 1);
    ocl_close_queue(queues[0]);
    BT_TRY(ocl_queue_wait(w->ctx, queues[1], computed.value, &failed));
    ocl_close_queue(queues[1]);
    ocl_free(device, blocks[0]);
    ocl_free(device, blocks[1]);
    return NULL;
}

static void *work(void *self)
{
    struct worker *w = self;
    for (uint32_t round = 0; round < NROUND && !w->why[0]; round++) {
        bt_status status = work_once(w, round);
        if (status)
            snprintf(w->why, sizeof(w->why), "%s", status->message);
    }
    return NULL;
}

static void test_eight_threads_share_a_module(void **state)
{
    (void)state;
    need_device();
    struct worker workers[NTHREAD] = { { .number = 0 } };
    void *loaded = load_square();
    for (uint32_t i = 0; i < NTHREAD; i++) {
        workers[i].number = i;
        workers[i].loaded = loaded;
        workers[i].ctx = bt_ctx_create(registry);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < NTHREAD; i++) {
        pthread_join(workers[i].thread, NULL);
        bt_ctx_destroy(workers[i].ctx);
        assert_string_equal(workers[i].why, "");
        assert_int_equal(workers[i].nwrong, 0);
    }
    assert_int_equal(device->used, 0);
    ocl_unload(loaded);
}

static const struct CMUnitTest tests[] = {
    ON_DEVICE(test_eight_threads_share_a_module),
};

TEST_MAIN(tests)
