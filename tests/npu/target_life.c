/* Around a run: artifacts in processes of their own, several instances and threads, main memory that
 * is full, a wish to stop. */
#define _DEFAULT_SOURCE // usleep
#include "target.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* Weights are constants, and the second layer adds the first one's data. */
static const char network[] =
    "def @main(%x: Tensor[(2, 24, 9, 9), int8]) {\n"
    "    %w = cast(reshape(subtract(mod(multiply(arange(0, 5184, 1, dtype=\"int32\"), "
    "37), "
    "251), 125), newshape=[24, 24, 3, 3]), dtype=\"int8\");\n"
    "    %b = subtract(multiply(arange(0, 24, 1, dtype=\"int32\"), 91), 1000);\n"
    "    %0 = nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1], out_dtype=\"int32\"), %b);\n"
    "    %1 = cast(clip(fixed_point_multiply(%0, multiplier=1073741824, shift=-10), "
    "a_min=-128.0, a_max=127.0), dtype=\"int8\");\n"
    "    %2 = nn.conv2d(%1, %w, padding=[1, 1], out_dtype=\"int32\");\n"
    "    %3 = add(fixed_point_multiply(%2, multiplier=1073741824, shift=-10), cast(%x, "
    "dtype=\"int32\"));\n"
    "    cast(clip(%3, a_min=-128.0, a_max=127.0), dtype=\"int8\")\n"
    "}\n";

static void check_run(bt_ctx *ctx, bt_program *program, uint64_t seed)
{
    bt_program *expected = open_text(ctx, "life_interp", network, "interp");
    set_inputs(ctx, expected, seed);
    set_inputs(ctx, program, seed);
    assert_same(ctx, result_of(ctx, program), result_of(ctx, expected), network, "npu");
    bt_program_close(expected);
}

/* ---- artifacts ---- */

static const char artifact[] = TEST_FOLDER "/life.bta";

/* In a process that has nothing of this one. */
static void in_process(void (*what)(void))
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        what();
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void write_artifact(void)
{
    bt_ctx *ctx = open_npu();
    const bt_program_options options = { .target = "npu,reference" };
    write_file(TEST_FOLDER "/life.baton", "#[version = \"baton 0.1\"]\n");
    bt_program *program = open_text(ctx, "life", network, "npu,reference");
    bt_program_close(program);
    if (bt_program_compile(ctx, TEST_FOLDER "/life.baton", &options, artifact))
        _exit(1);
    bt_ctx_destroy(ctx);
}

/* By either simulator: that is no matter of the code. */
static void run_artifact(void)
{
    static const char *const targets[] = { NULL, "npu{run=\"cycles\"}" };
    bt_ctx *ctx = open_npu();
    for (uint32_t i = 0; i < 2; i++) {
        bt_program *program;
        const bt_program_options options = { .target = targets[i] };
        if (bt_program_open(ctx, artifact, &options, &program))
            _exit(1);
        check_run(ctx, program, i);
        if (count_taken(program) != 2)
            _exit(2);
        bt_program_close(program);
    }
    bt_ctx_destroy(ctx);
}

static void test_an_artifact_runs_in_another_process(void **state)
{
    (void)state;
    in_process(write_artifact);
    in_process(run_artifact);
}

static void test_an_artifact_is_of_its_machine(void **state)
{
    bt_ctx *ctx = open_npu();
    bt_program *program;
    const bt_program_options options = { .target = "npu{config=\"multi\"}" };
    (void)state;
    in_process(write_artifact);
    assert_error(bt_program_open(ctx, artifact, &options, &program), BT_ERR_ARGUMENT,
                 "config");
    bt_ctx_destroy(ctx);
}

/* ---- instances, threads ---- */

static void test_instances_do_not_meet(void **state)
{
    bt_ctx *ctx = open_npu();
    bt_program *programs[3];
    char target[600];
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof(name), "life_%u", i);
        snprintf(target, sizeof(target), "npu{config=\"%s\"},reference", machines[i]);
        programs[i] = open_text(ctx, name, network, target);
        assert_true(count_taken(programs[i]) >= 2);
    }
    for (uint32_t run = 0; run < 6; run++)
        check_run(ctx, programs[run * 2 % 3], run);
    for (uint32_t i = 0; i < 3; i++)
        bt_program_close(programs[i]);
    bt_ctx_destroy(ctx);
}

enum { NTHREAD = 8, NRUN = 20 };

struct worker {
    pthread_t thread;
    bt_registry *registry;
    const bt_program *program;
    const bt_tensor *expected[NRUN];
    int failed;
};

/* Assertions are of the main thread. */
static void *work(void *state)
{
    struct worker *w = state;
    bt_program *own;
    bt_ctx *ctx = bt_ctx_create(w->registry);
    w->failed = !ctx || bt_program_share(ctx, w->program, &own);
    for (uint32_t i = 0; !w->failed && i < NRUN; i++) {
        bt_tensor_difference d;
        set_inputs(ctx, own, i);
        w->failed = bt_program_run(own) ||
                    bt_tensor_compare(ctx, bt_object_as_tensor(bt_program_get(own, 0)),
                                      w->expected[i], 0, 0, &d) ||
                    d.ndifferent != 0;
    }
    if (!w->failed)
        bt_program_close(own);
    bt_ctx_destroy(ctx);
    return NULL;
}

static void test_threads_share_a_machine(void **state)
{
    bt_ctx *ctx = open_npu();
    bt_program *program = open_text(ctx, "life_threads", network, "npu,reference");
    bt_program *interp = open_text(ctx, "life_expected", network, "interp");
    struct worker workers[NTHREAD] = { 0 };
    bt_tensor *expected[NRUN];
    (void)state;
    for (uint32_t i = 0; i < NRUN; i++) {
        set_inputs(ctx, interp, i);
        expected[i] = bt_tensor_ref(result_of(ctx, interp));
    }
    for (uint32_t t = 0; t < NTHREAD; t++) {
        workers[t].registry = bt_ctx_registry(ctx);
        workers[t].program = program;
        for (uint32_t i = 0; i < NRUN; i++)
            workers[t].expected[i] = expected[i];
        assert_int_equal(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    }
    for (uint32_t t = 0; t < NTHREAD; t++)
        pthread_join(workers[t].thread, NULL);
    for (uint32_t t = 0; t < NTHREAD; t++)
        assert_false(workers[t].failed);
    for (uint32_t i = 0; i < NRUN; i++)
        bt_tensor_unref(expected[i]);
    bt_program_close(interp);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

/* ---- what ends a run ---- */

static const char large[] =
    "def @main(%x: Tensor[(1, 64, 56, 56), int8], %w: Tensor[(64, 64, 3, 3), int8]) {\n"
    "    %s = nn.conv2d(%x, %w, padding=[1, 1], out_dtype=\"int32\");\n"
    "    cast(clip(fixed_point_multiply(%s, multiplier=1073741824, shift=-10), "
    "a_min=-128.0, a_max=127.0), dtype=\"int8\")\n"
    "}\n";

/* Main memory holds the tensors of neither function, or of a function but not of the session. */
static void test_main_memory_that_is_full_is_an_error(void **state)
{
    static const char path[] = TEST_FOLDER "/small.json";
    static const uint32_t sizes[] = { 100000, 400000 };
    bt_ctx *ctx = open_npu();
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        char text[sizeof(tiny) + 32], target[600];
        const char *dram = strstr(tiny, "1048576");
        snprintf(text, sizeof(text), "%.*s%u%s", (int)(dram - tiny), tiny, sizes[i],
                 dram + 7);
        write_file(path, text);
        snprintf(target, sizeof(target), "npu{config=\"%s\"},reference", path);
        bt_program *program = open_text(ctx, "life_full", large, target);
        set_inputs(ctx, program, 1);
        if (i == 0)
            assert_int_equal(count_taken(program), 0);
        else if (count_taken(program))
            assert_error(bt_program_run(program), BT_ERR_MEMORY, "dram");
        bt_program_close(program);
        bt_ctx_clear_diags(ctx);
    }
    bt_ctx_destroy(ctx);
}

static void *cancel_soon(void *ctx)
{
    usleep(2000);
    bt_ctx_cancel(ctx);
    return NULL;
}

static void test_a_run_stops_on_request(void **state)
{
    bt_ctx *ctx = open_npu();
    bt_program *program = open_text(ctx, "life_stop", large, "npu,reference");
    pthread_t thread;
    (void)state;
    set_inputs(ctx, program, 1);
    assert_ok(ctx, bt_program_run(program));
    bt_tensor *first = bt_tensor_ref(bt_object_as_tensor(bt_program_get(program, 0)));
    uint32_t nstopped = 0;
    for (uint32_t i = 0; i < 50 && !nstopped; i++) {
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, ctx), 0);
        bt_status status = bt_program_run(program);
        pthread_join(thread, NULL);
        nstopped += status && status->code == BT_ERR_CANCELLED;
        assert_true(!status || status->code == BT_ERR_CANCELLED);
        bt_ctx_clear_diags(ctx);
    }
    assert_int_equal(nstopped, 1);
    assert_same(ctx, result_of(ctx, program), first, large, "npu");
    bt_tensor_unref(first);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_artifact_runs_in_another_process),
    cmocka_unit_test(test_an_artifact_is_of_its_machine),
    cmocka_unit_test(test_instances_do_not_meet),
    cmocka_unit_test(test_threads_share_a_machine),
    cmocka_unit_test(test_main_memory_that_is_full_is_an_error),
    cmocka_unit_test(test_a_run_stops_on_request),
};
TEST_MAIN(tests)
