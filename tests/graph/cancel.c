/* A run that is cancelled while a kernel computes: the kernel does not come to its end. */
#include "kit.h"

#include <pthread.h>
#include <sched.h>

/* All pairs of so many take half a minute or more, unless the kernel is stopped. */
enum { N = 400000, UNWRITTEN = -1 };

struct canceller {
    bt_ctx *ctx;
    float *first; /* of the kernel's output */
};

/* Looks at an output while the kernel writes it, as nothing else tells that a kernel has begun: a
 * race, which ThreadSanitizer is not to report. */
__attribute__((no_sanitize("thread"))) static void *cancel_begun(void *arg)
{
    const struct canceller *c = arg;
    const float unwritten = UNWRITTEN;
    float found;
    do {
        sched_yield();
        __atomic_load(c->first, &found, __ATOMIC_RELAXED);
    } while (found == unwritten);
    bt_ctx_cancel(c->ctx);
    return NULL;
}

static void check_cancelled(const char *target)
{
    bt_ctx *ctx = make_ctx(NULL);
    bt_program *program =
        open_text(ctx,
                  "def @main(%x: Tensor[(400000), float32]) {\n"
                  "    let %d = expand_dims(%x, axis=0) - expand_dims(%x, axis=1);\n"
                  "    max(abs(%d), axis=[0])\n"
                  "}",
                  &(bt_program_options){ .executor = "graph", .target = target });
    bt_tensor *x = NULL, *to = NULL;
    assert_int_equal(bt_program_compiled(program)->nkernel, 1);
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ N }, &x));
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ N }, &to));
    for (int64_t i = 0; i < N; i++)
        bt_tensor_set(to, i, UNWRITTEN);
    assert_ok(ctx, bt_program_set(program, "x", &x->base));
    assert_ok(ctx, bt_program_set_output(program, 0, to));
    struct canceller canceller = { ctx, to->data };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_begun, &canceller), 0);
    assert_error(bt_program_run(program), BT_ERR_CANCELLED, "cancelled");
    pthread_join(thread, NULL);
    assert_true(bt_tensor_get(to, N - 1) != 0); // what it is in the end
    bt_tensor_unref(to);
    bt_tensor_unref(x);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static void test_machine_code_is_stopped_within_a_kernel(void **state)
{
    (void)state;
    check_cancelled("cpu{threads=1}");
    check_cancelled("cpu{threads=3}");
}

static void test_bytecode_is_stopped_within_a_kernel(void **state)
{
    (void)state;
    check_cancelled("cpu{threads=1, engine=\"bytecode\"}");
    check_cancelled("cpu{threads=3, engine=\"bytecode\"}");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_machine_code_is_stopped_within_a_kernel),
    cmocka_unit_test(test_bytecode_is_stopped_within_a_kernel),
};
TEST_MAIN(tests)
