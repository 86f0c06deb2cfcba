/* Devices that break: on a library that gives, at a call that is said, an error that is said. */
#include "kit.h"

#include "fake.h"

static struct fake *fake;

static int open_fake(void **state)
{
    fake = fake_find(FAKE);
    if (!fake || setup(state))
        return -1;
    arena = bt_arena_create(registry);
    device = NULL;
    return arena ? 0 : -1;
}

static int close_fake(void **state)
{
    bt_arena_destroy(arena);
    return teardown(state);
}

#define ON_FAKE(name) cmocka_unit_test_setup_teardown(name, open_fake, close_fake)

/* ---- opening ---- */

static bt_status open_named(const char *library, const char *platform, const char *name)
{
    const struct ocl_wish wish = { .library = library,
                                   .platform = platform,
                                   .device = name,
                                   .cache = "off",
                                   .blas = "off" };
    device = NULL;
    return ocl_open(ctx, &wish, &device);
}

static void test_without_a_library_it_is_said(void **state)
{
    (void)state;
    assert_error(open_named("libNoSuchOpenCL.so.1", "", ""), BT_ERR_UNSUPPORTED,
                 "there is no OpenCL here: libNoSuchOpenCL.so.1");
    assert_error(open_named("libm.so.6", "", ""), BT_ERR_UNSUPPORTED,
                 "libm.so.6 has no function clGetPlatformIDs");
}

static void test_without_a_device_it_is_said(void **state)
{
    (void)state;
    fake->has_no_platform = 1;
    assert_error(open_named(FAKE, "", ""), BT_ERR_UNSUPPORTED, "no driver with a device");
    *fake = (struct fake){ .has_no_device = 1 };
    assert_error(open_named(FAKE, "", ""), BT_ERR_UNSUPPORTED, "no driver with a device");
    *fake = (struct fake){ .is_old = 1 };
    bt_status status = open_named(FAKE, "", "");
    assert_error(status, BT_ERR_UNSUPPORTED, "no device that can be used");
    assert_string_equal(status->note->message,
                        "device 0: fake one: it has no OpenCL 1.2");
    *fake = (struct fake){ .has_no_compiler = 1 };
    status = open_named(FAKE, "", "");
    assert_string_equal(status->note->message, "device 0: fake one: it has no compiler");
}

static void test_devices_are_chosen_by_name_and_number(void **state)
{
    (void)state;
    static const char *const there[][2] = { { "", "0" }, { "Fak", "" }, { "", "one" } };
    for (uint32_t i = 0; i < BT_COUNT(there); i++) {
        assert_ok(ctx, open_named(FAKE, there[i][0], there[i][1]));
        ocl_close(device);
    }
    assert_error(open_named(FAKE, "", "1"), BT_ERR_UNSUPPORTED, "device=\"1\"");
    assert_error(open_named(FAKE, "Other", ""), BT_ERR_UNSUPPORTED, "platform=\"Other\"");
    bt_status status = open_named(FAKE, "", "two");
    assert_string_equal(status->note->message, "device 0: fake one");
}

/* ---- a whole run ---- */

enum { N = 100, LARGE = 9 << 20 };

struct run {
    void *a, *b, *large, *queue, *other, *loaded;
    uint64_t timeout_ns;
};

static bt_status wait_status(void *queue, uint64_t value)
{
    uint64_t failed = 0;
    bt_status status = ocl_queue_wait(ctx, queue, value, &failed);
    assert_true(!status == !failed);
    return status;
}

static bt_status copy_status(void *queue, bt_buffer to, bt_buffer from, uint64_t *value)
{
    const bt_order order = { .queue = queue };
    return ocl_enqueue_copy(ctx, device, &to, &from, &order, value);
}

static bt_status square_status(const struct run *r, bt_event after, uint64_t *value)
{
    static bt_times times;
    void *buffers[] = { r->a, r->b };
    const int64_t dims[] = { N };
    const bt_kernel_call call = {
        .nbytes = sizeof(call), .nbuffer = 2, .buffers = buffers, .dims = dims, .ndim = 1
    };
    const bt_order order = {
        .queue = r->queue, .nwait = 1, .waits = &after, .times = &times
    };
    return ocl_enqueue(ctx, r->loaded, 0, &call, &order, value);
}

static bt_status run_all(struct run *r)
{
    static char bytes[LARGE];
    const struct ocl_wish wish = { .library = FAKE,
                                   .platform = "",
                                   .device = "",
                                   .cache = "off",
                                   .blas = "off",
                                   .timeout_ns = r->timeout_ns };
    uint64_t value = 0;
    BT_TRY(ocl_open(ctx, &wish, &device));
    BT_TRY(ocl_alloc(ctx, device, sizeof(float[N]), &r->a));
    BT_TRY(ocl_alloc(ctx, device, sizeof(float[N]), &r->b));
    BT_TRY(ocl_alloc(ctx, device, LARGE, &r->large));
    BT_TRY(load_code(square_code(square_text), &r->loaded));
    BT_TRY(ocl_open_queue(ctx, device, &r->queue));
    BT_TRY(ocl_open_queue(ctx, device, &r->other));
    BT_TRY(copy_status(r->other, own(r->large, 0, LARGE), host(bytes, LARGE), &value));
    BT_TRY(copy_status(r->other, own(r->a, 0, 8), own(r->b, 8, 8), &value));
    BT_TRY(square_status(r, (bt_event){ r->other, value }, &value));
    BT_TRY(square_status(r, (bt_event){ r->other, 1 }, &value));
    BT_TRY(copy_status(r->queue, host(bytes, LARGE), own(r->large, 0, LARGE), &value));
    return wait_status(r->queue, value);
}

static void end(struct run *r)
{
    if (r->queue)
        ocl_close_queue(r->queue);
    if (r->other)
        ocl_close_queue(r->other);
    if (r->loaded)
        ocl_unload(r->loaded);
    if (r->a)
        ocl_free(device, r->a);
    if (r->b)
        ocl_free(device, r->b);
    if (r->large)
        ocl_free(device, r->large);
    if (device)
        ocl_close(device);
    device = NULL;
    *r = (struct run){ .timeout_ns = r->timeout_ns };
}

static uint32_t count_calls(void)
{
    struct run r = { 0 };
    assert_ok(ctx, run_all(&r));
    end(&r);
    assert_int_equal(fake->nobject, 0);
    return fake->ncall;
}

/* Each call fails once, by each kind of error: an error, or nothing that matters; what is taken is
 * given back. */
static void test_each_call_fails(void **state)
{
    (void)state;
    static const cl_int errors[] = { -4, -5, -6, -14, -36, -59, -9999 };
    const uint32_t ncall = count_calls();
    uint32_t nfailed = 0;
    assert_true(ncall > 60);
    for (uint32_t e = 0; e < BT_COUNT(errors); e++) {
        for (uint32_t i = 1; i <= ncall; i++) {
            struct run r = { 0 };
            *fake =
                (struct fake){ .fail_at = i, .error = errors[e], .keeps_failing = i % 2 };
            bt_status status = run_all(&r);
            nfailed += status != NULL;
            if (status && !strstr(status->message, "target opencl"))
                fail_msg("call %u, error %d: %s", i, errors[e], status->message);
            fake->fail_at = 0;
            end(&r);
            assert_int_equal(fake->nobject, 0);
            bt_ctx_clear_diags(ctx);
        }
    }
    assert_true(nfailed > BT_COUNT(errors) * ncall / 2);
}

/* ---- what follows ---- */

static void begin(struct run *r)
{
    *r = (struct run){ 0 };
    assert_ok(ctx, run_all(r));
}

static void test_a_lost_device_says_its_first_cause(void **state)
{
    (void)state;
    static const cl_int errors[] = { -5, -14, -36 };
    static const char *const names[] = { "CL_OUT_OF_RESOURCES", "CL_EXEC_STATUS_ERROR",
                                         "CL_INVALID_COMMAND_QUEUE" };
    for (uint32_t i = 0; i < BT_COUNT(errors); i++) {
        struct run r;
        uint64_t value;
        void *more;
        begin(&r);
        fake->only = "EnqueueNDRangeKernel";
        fake->fail_at = fake->ncall + 1;
        fake->error = errors[i];
        assert_error(square_status(&r, (bt_event){ r.other, 1 }, &value), BT_ERR_RUNTIME,
                     names[i]);
        fake->fail_at = 0;
        assert_error(square_status(&r, (bt_event){ r.other, 1 }, &value), BT_ERR_RUNTIME,
                     names[i]);
        assert_error(ocl_alloc(ctx, device, 1, &more), BT_ERR_RUNTIME,
                     "device fake one is lost: square is not launched");
        assert_error(ocl_open_queue(ctx, device, &more), BT_ERR_RUNTIME, names[i]);
        assert_error(load_code(square_code(square_text), &more), BT_ERR_RUNTIME,
                     names[i]);
        end(&r);
        begin(&r); // afresh
        end(&r);
        assert_int_equal(fake->nobject, 0);
        *fake = (struct fake){ 0 };
    }
}

static void test_a_command_that_ends_badly_loses_the_device(void **state)
{
    (void)state;
    static const cl_int ends[] = { -5, -9999, -59 };
    for (uint32_t i = 0; i < BT_COUNT(ends); i++) {
        struct run r = { 0 };
        void *more;
        *fake = (struct fake){ .ends_with = ends[i] };
        assert_error(run_all(&r), BT_ERR_RUNTIME, "is lost: a command has failed");
        assert_error(ocl_alloc(ctx, device, 1, &more), BT_ERR_RUNTIME, "is lost");
        end(&r);
        assert_int_equal(fake->nobject, 0);
    }
    struct run r = { 0 };
    void *more;
    *fake = (struct fake){ .ends_with = -4 };
    assert_error(run_all(&r), BT_ERR_MEMORY, "CL_MEM_OBJECT_ALLOCATION_FAILURE");
    assert_ok(ctx, ocl_alloc(ctx, device, 1, &more));
    ocl_free(device, more);
    end(&r);
}

static void test_a_device_that_hangs_is_given_up(void **state)
{
    (void)state;
    struct run r = { .timeout_ns = 20000000 };
    void *more;
    fake->hangs = 1;
    const uint64_t start = bt_now_ns();
    assert_error(run_all(&r), BT_ERR_RUNTIME,
                 "is lost: a command is not done after 20 ms");
    assert_true(bt_now_ns() - start < 10000000000);
    assert_error(ocl_alloc(ctx, device, 1, &more), BT_ERR_RUNTIME,
                 "not done after 20 ms");
    end(&r);
    assert_true(fake->nobject > 0); // its objects are left to it
    *fake = (struct fake){ 0 };
    begin(&r);
    end(&r);
}

static void test_without_memory_the_next_call_works(void **state)
{
    (void)state;
    struct run r;
    void *more;
    begin(&r);
    fake->memory = 1000;
    assert_error(ocl_alloc(ctx, device, 1001, &more), BT_ERR_MEMORY,
                 "no block of 1001 bytes: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
    const uint64_t used = device->used;
    assert_ok(ctx, ocl_alloc(ctx, device, 1000, &more));
    assert_int_equal(device->used, used + 1000);
    ocl_free(device, more);
    end(&r);
    assert_int_equal(fake->nobject, 0);
}

static void test_logs_of_other_compilers_are_read(void **state)
{
    (void)state;
    static const char *const logs[] = {
        "<kernel>:2:3: error: use of undeclared identifier\n",
        "warning: something\nerror: /tmp/x.cl:2:3: use of undeclared identifier",
        "x.cl:2: error: something\n",
        "1:2:3: error: something\n",
    };
    struct run r;
    void *loaded;
    begin(&r);
    for (uint32_t i = 0; i < BT_COUNT(logs); i++) {
        fake->build_log = logs[i];
        bt_status status =
            load_code(square_code("__kernel\nvoid NAME(int x) {}\n"), &loaded);
        assert_error(status, BT_ERR_PLUGIN, "refuses the kernels");
        assert_int_equal(status->place.line, 2);
        assert_string_equal(status->place.text, "#define NAME k0");
    }
    static const char *const odd[] = { "", "error", "x:999999:1: error",
                                       "x:99999999999999999999: error", ":0: error" };
    for (uint32_t i = 0; i < BT_COUNT(odd); i++) {
        fake->build_log = odd[i];
        assert_error(load_code(square_code("x"), &loaded), BT_ERR_PLUGIN,
                     "refuses the kernels");
    }
    end(&r);
}

static void test_a_fault_of_a_kernel_is_an_error(void **state)
{
    (void)state;
    struct run r = { 0 };
    fake->fault = 1;
    assert_error(run_all(&r), BT_ERR_RUNTIME, "a number is negative");
    end(&r);
    fake->fault = 77; // none that it has
    bt_status status = run_all(&r);
    assert_non_null(status);
    end(&r);
    assert_int_equal(fake->nobject, 0);
}

static void test_a_wish_to_stop_is_heard(void **state)
{
    (void)state;
    struct run r;
    static const uint32_t stop = 1;
    void *buffers[2];
    const int64_t dims[] = { N };
    uint64_t value, failed = 0;
    begin(&r);
    buffers[0] = r.a;
    buffers[1] = r.b;
    const bt_kernel_call call = { .nbytes = sizeof(call),
                                  .nbuffer = 2,
                                  .buffers = buffers,
                                  .dims = dims,
                                  .ndim = 1,
                                  .stop = &stop };
    const bt_order order = { .queue = r.queue };
    const uint32_t before = fake->nlaunch;
    assert_ok(ctx, ocl_enqueue(ctx, r.loaded, 0, &call, &order, &value));
    assert_error(ocl_queue_wait(ctx, r.queue, value, &failed), BT_ERR_CANCELLED,
                 "cancelled");
    assert_int_equal(failed, value);
    assert_int_equal(fake->nlaunch, before);
    end(&r);
    assert_int_equal(fake->nobject, 0);
}

static const struct CMUnitTest tests[] = {
    ON_FAKE(test_without_a_library_it_is_said),
    ON_FAKE(test_without_a_device_it_is_said),
    ON_FAKE(test_devices_are_chosen_by_name_and_number),
    ON_FAKE(test_each_call_fails),
    ON_FAKE(test_a_lost_device_says_its_first_cause),
    ON_FAKE(test_a_command_that_ends_badly_loses_the_device),
    ON_FAKE(test_a_device_that_hangs_is_given_up),
    ON_FAKE(test_without_memory_the_next_call_works),
    ON_FAKE(test_logs_of_other_compilers_are_read),
    ON_FAKE(test_a_fault_of_a_kernel_is_an_error),
    ON_FAKE(test_a_wish_to_stop_is_heard),
};

TEST_MAIN(tests)
