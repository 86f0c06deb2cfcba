/* Engines: the same bits from bytecode, tcc and cc, in any number of threads, and when several
 * threads launch; code that is damaged, or of another machine, is refused. */
#define _POSIX_C_SOURCE 200809L
#include "failing_allocator.h"
#include "program.h"

#include <fenv.h>
#include <pthread.h>

#include <baton/compiler.h>

#include "engine/code.h"
#include "engine/engine.h"
#include "engine/launch.h"
#include "kernel.h"

/* ---- fixture ---- */

static bt_ctx *open_with(const bt_allocator *allocator)
{
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .allocator = allocator,
                                          .arena_single = allocator != NULL };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    assert_non_null(ctx);
    bt_registry_unref(registry);
    return ctx;
}

static const struct engine {
    const char *name, *compiler;
} engines[] = {
    { "bytecode", "" },
    { "tcc", "" },
    { "cc", "cache=\"off\"" },
    { "cc", "cache=\"off\", command=\"clang\"" },
};

/* Whether it works on this machine; there is no excuse where all packages are installed.
 */
static int has_engine(bt_ctx *ctx, const struct engine *engine)
{
    const char *ci = getenv("CI");
    bt_status status =
        strcmp(engine->name, "bytecode") == 0
            ? NULL
            : bt_c_probe(ctx, engine->name, *engine->compiler ? engine->compiler : NULL);
    if (status && ci && strcmp(ci, "true") == 0)
        fail_msg("%s: %s", engine->name, status->message);
    if (status)
        print_message("without %s: %s\n", engine->name, status->message);
    return !status;
}

/* A program's code. */
static bt_status make_code(bt_ctx *ctx, const bt_loops *loops,
                           const struct engine *engine, enum cpu_isa isa,
                           bt_kernel_code *out)
{
    const struct cpu_engine_request request = { engine->name, engine->compiler, isa, 0 };
    struct cpu_work work = { 0 };
    BT_TRY(build_bytecode(ctx, loops, isa, &work.bytecode));
    return cpu_engine_compile(ctx, bt_ctx_scratch(ctx), &request, BT_CODE_ANY, 1, &work,
                              (bt_kernel_code *[]){ out });
}

/* Data of a program, and the workspace of a launch. */
struct launch_data {
    struct program_data d;
    void *workspace;
};

static struct launch_data make_launch(bt_ctx *ctx, const bt_loops *loops)
{
    struct launch_data l = { .d = make_data(loops, 3) };
    const struct bytecode *bytecode;
    assert_ok(ctx, build_bytecode(ctx, loops, CPU_ISA_PORTABLE, &bytecode));
    size_t nbytes = (size_t)bytecode_scratch_nbytes(bytecode);
    l.workspace = aligned_alloc(64, nbytes + 64);
    memset(l.workspace, 0x77, nbytes);
    return l;
}

static bt_status launch_number(bt_ctx *ctx, struct cpu_loaded *loaded, uint32_t number,
                               const struct launch_data *l)
{
    const bt_kernel_call call = { .nbytes = sizeof(call),
                                  .buffers = l->d.at,
                                  .workspace = l->workspace };
    return cpu_loaded_launch(ctx, loaded, number, &call);
}

static bt_status launch(bt_ctx *ctx, struct cpu_loaded *loaded,
                        const struct launch_data *l)
{
    return launch_number(ctx, loaded, 0, l);
}

static void free_launch(struct launch_data *l)
{
    free_data(&l->d);
    free(l->workspace);
}

/* ---- the same bits ---- */

static void check_launches(bt_ctx *ctx, const bt_loops *loops, struct cpu_loaded *loaded,
                           int nrepeat, const struct program_data *expected,
                           const char *what)
{
    struct launch_data l = make_launch(ctx, loops);
    for (int i = 0; i < nrepeat; i++) {
        for (uint32_t k = 0; k < l.d.n; k++) {
            if (loops->roles.at[k] == BT_BUFFER_OUTPUT)
                memset(l.d.at[k], 0x33 + i, l.d.nbytes[k]);
        }
        assert_ok(ctx, launch(ctx, loaded, &l));
        assert_same_outputs(loops, expected, &l.d, what);
    }
    free_launch(&l);
}

static void check_engine(bt_ctx *ctx, const char *text, const struct engine *engine,
                         enum cpu_isa isa, uint32_t nthread, int nrepeat)
{
    const bt_allocator allocator = cpu_allocator(bt_ctx_registry(ctx));
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_loops *loops = parse_program(ctx, text);
    struct program_data expected = make_data(loops, 3);
    struct cpu_pool *pool = cpu_pool_create(&allocator, nthread);
    struct cpu_loaded *loaded;
    bt_kernel_code code;
    assert_ok(ctx, run_by_loops(ctx, loops, isa, 0, &expected));
    assert_ok(ctx, make_code(ctx, loops, engine, isa, &code));
    assert_ok(ctx, cpu_loaded_create(ctx, pool, 0, 1, (const bt_kernel_code *[]){ &code },
                                     &loaded));
    check_launches(ctx, loops, loaded, nrepeat, &expected, engine->name);
    cpu_loaded_destroy(loaded);
    cpu_pool_destroy(pool);
    free_data(&expected);
    bt_arena_release(scratch, mark);
}

static void test_engines_give_the_same_bits(void **state)
{
    (void)state;
    bt_ctx *ctx = open_with(NULL);
    for (uint32_t e = 0; e < BT_COUNT(engines); e++) {
        for (uint32_t i = 0; has_engine(ctx, &engines[e]) && i < BT_COUNT(programs);
             i++) {
            for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++)
                check_engine(ctx, programs[i], &engines[e], (enum cpu_isa)isa, 2, 2);
        }
    }
    bt_ctx_destroy(ctx);
}

static void test_threads_change_no_bit(void **state)
{
    (void)state;
    bt_ctx *ctx = open_with(NULL);
    for (uint32_t i = 0; i < BT_COUNT(programs); i++) {
        for (uint32_t nthread = 1; nthread <= 4; nthread *= 2)
            check_engine(ctx, programs[i], &engines[0], cpu_isa_of_machine(), nthread,
                         100);
    }
    bt_ctx_destroy(ctx);
}

/* The order shows where an iteration writes what another has written, as no program does. */
static void test_launches_of_one_buffer_go_there_and_back(void **state)
{
    // kernel, buffers, and the iteration that was last: some are done at a time, in their own order
    static const struct {
        uint32_t number, data;
        int64_t last;
    } turns[] = {
        { 0, 0, 99 }, { 0, 0, 3 }, { 1, 0, 99 }, { 0, 0, 3 }, { 1, 1, 99 }, { 1, 0, 99 },
    };
    (void)state;
    bt_ctx *ctx = open_with(NULL);
    bt_loops *loops = parse_program(ctx, "loops last {\n"
                                         "    in a0: int64[100]\n"
                                         "    out s0: int64[1]\n"
                                         "    parallel i0 in 100 {\n"
                                         "        copy.8(&s0[0], &a0[i0], 1)\n"
                                         "    }\n"
                                         "}\n");
    for (uint32_t e = 0; e < BT_COUNT(engines); e++) {
        struct cpu_loaded *loaded;
        bt_kernel_code code;
        if (!has_engine(ctx, &engines[e]))
            continue;
        struct launch_data l[] = { make_launch(ctx, loops), make_launch(ctx, loops) };
        for (int64_t i = 0; i < 200; i++)
            ((int64_t *)l[i / 100].d.at[0])[i % 100] = i % 100;
        assert_ok(ctx, make_code(ctx, loops, &engines[e], CPU_ISA_PORTABLE, &code));
        assert_ok(ctx,
                  cpu_loaded_create(ctx, NULL, 0, 2,
                                    (const bt_kernel_code *[]){ &code, &code }, &loaded));
        for (uint32_t i = 0; i < BT_COUNT(turns); i++) {
            const struct launch_data *now = &l[turns[i].data];
            assert_ok(ctx, launch_number(ctx, loaded, turns[i].number, now));
            assert_int_equal(*(int64_t *)now->d.at[1], turns[i].last);
        }
        cpu_loaded_destroy(loaded);
        free_launch(&l[0]);
        free_launch(&l[1]);
    }
    bt_ctx_destroy(ctx);
}

/* ---- launches from threads at once ---- */

struct session {
    bt_registry *registry;
    const bt_loops *loops;
    struct cpu_loaded *loaded;
    struct launch_data data;
    bt_status status;
    pthread_t thread;
};

static void *run_session(void *arg)
{
    struct session *s = arg;
    bt_ctx *ctx = bt_ctx_create(s->registry);
    for (int i = 0; ctx && !s->status && i < 200; i++)
        s->status = launch(ctx, s->loaded, &s->data);
    bt_ctx_destroy(ctx);
    return NULL;
}

static void launch_at_once(bt_ctx *ctx, const char *text, const struct engine *engine)
{
    const bt_allocator allocator = cpu_allocator(bt_ctx_registry(ctx));
    enum { N = 4 };
    struct session sessions[N];
    bt_loops *loops = parse_program(ctx, text);
    struct program_data expected = make_data(loops, 3);
    struct cpu_pool *pool = cpu_pool_create(&allocator, 3);
    struct cpu_loaded *loaded;
    bt_kernel_code code;
    assert_ok(ctx, run_by_loops(ctx, loops, CPU_ISA_PORTABLE, 0, &expected));
    assert_ok(ctx, make_code(ctx, loops, engine, CPU_ISA_PORTABLE, &code));
    assert_ok(ctx, cpu_loaded_create(ctx, pool, 0, 1, (const bt_kernel_code *[]){ &code },
                                     &loaded));
    for (int i = 0; i < N; i++) {
        sessions[i] = (struct session){ .registry = bt_ctx_registry(ctx),
                                        .loops = loops,
                                        .loaded = loaded,
                                        .data = make_launch(ctx, loops) };
        assert_int_equal(
            pthread_create(&sessions[i].thread, NULL, run_session, &sessions[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(sessions[i].thread, NULL);
        assert_null(sessions[i].status);
        assert_same_outputs(loops, &expected, &sessions[i].data.d, "at once");
        free_launch(&sessions[i].data);
    }
    cpu_loaded_destroy(loaded);
    cpu_pool_destroy(pool);
    free_data(&expected);
}

static void test_launches_from_threads_at_once(void **state)
{
    (void)state;
    bt_ctx *ctx = open_with(NULL);
    for (uint32_t i = 0; i < BT_COUNT(programs); i++) {
        launch_at_once(ctx, programs[i], &engines[0]);
        if (has_engine(ctx, &engines[1]))
            launch_at_once(ctx, programs[i], &engines[1]);
    }
    bt_ctx_destroy(ctx);
}

/* ---- denormals ---- */

/* Halves of floats; a fault where the last number is 1. */
static const char halving[] =
    "loops halving {\n"
    "    in a0: int64[1]\n"
    "    in a1: float32[256]\n"
    "    in a2: float32[64]\n"
    "    out s0: float32[256]\n"
    "    parallel i0 in 4 {\n"
    "        mul.float32(&s0[64 * i0], &a1[64 * i0], &a2[0], 64)\n"
    "    }\n"
    "    check (a0[0] < 1) : data axis 0 of 1\n"
    "}\n";

/* Whether this thread computes with floats nearer to 0 than the least normal one. */
static int has_denormals(void)
{
    volatile float least = 0x1p-126f, half = 0.5f;
    volatile float denormal = least * half;
    return denormal * (1 / half) == least;
}

/* What becomes of a half of the least normal number. The caller's treatment of denormals and
 * its flags of exceptions are what they were, with a fault and without. */
static void check_halves(bt_ctx *ctx, int keeps_denormals, float expected)
{
    const bt_allocator allocator = cpu_allocator(bt_ctx_registry(ctx));
    bt_loops *loops = parse_program(ctx, halving);
    struct cpu_pool *pool = cpu_pool_create(&allocator, 4);
    struct launch_data l = make_launch(ctx, loops);
    struct cpu_loaded *loaded;
    bt_kernel_code code;
    assert_ok(ctx, make_code(ctx, loops, &engines[0], cpu_isa_of_machine(), &code));
    assert_ok(ctx, cpu_loaded_create(ctx, pool, keeps_denormals, 1,
                                     (const bt_kernel_code *[]){ &code }, &loaded));
    for (int64_t is_wrong = 0; is_wrong < 2; is_wrong++) {
        *(int64_t *)l.d.at[0] = is_wrong;
        for (uint32_t i = 0; i < 256; i++)
            ((float *)l.d.at[1])[i] = 0x1p-126f;
        for (uint32_t i = 0; i < 64; i++)
            ((float *)l.d.at[2])[i] = 0.5f;
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(FE_DIVBYZERO);
        bt_status status = launch(ctx, loaded, &l);
        assert_int_equal(status != NULL, is_wrong);
        assert_int_equal(fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
        assert_true(has_denormals());
        for (uint32_t i = 0; i < 256; i++)
            assert_memory_equal(&((float *)l.d.at[3])[i], &expected, sizeof(float));
    }
    cpu_loaded_destroy(loaded);
    cpu_pool_destroy(pool);
    free_launch(&l);
}

static void test_denormals_are_zeros_in_kernels_and_nowhere_else(void **state)
{
    (void)state;
#if defined(__x86_64__)
    bt_ctx *ctx = open_with(NULL);
    check_halves(ctx, 0, 0.0f);
    check_halves(ctx, 1, 0x1p-127f);
    bt_ctx_destroy(ctx);
#else
    (void)check_halves;
    print_message("only x86-64 has modes here\n");
    skip();
#endif
}

/* ---- faults ---- */

static const char checked[] = "loops checked {\n"
                              "    in a0: int64[400]\n"
                              "    out s0: int64[400]\n"
                              "    parallel i0 in 400 {\n"
                              "        check (a0[i0] < 100) : table axis 1 of 100\n"
                              "        check (a0[i0] < 50) : data axis 0 of 50\n"
                              "        copy.8(&s0[i0], &a0[i0], 1)\n"
                              "    }\n"
                              "}\n";

/* Of turns that fail, the first tells, by whichever thread it is done. */
static void test_the_first_fault_of_the_program_is_told(void **state)
{
    (void)state;
    bt_ctx *ctx = open_with(NULL);
    const bt_allocator allocator = cpu_allocator(bt_ctx_registry(ctx));
    bt_loops *loops = parse_program(ctx, checked);
    for (uint32_t e = 0; e < BT_COUNT(engines); e++) {
        struct cpu_pool *pool = cpu_pool_create(&allocator, 4);
        struct launch_data l = make_launch(ctx, loops);
        struct cpu_loaded *loaded;
        bt_kernel_code code;
        if (!has_engine(ctx, &engines[e]))
            continue;
        assert_ok(ctx, make_code(ctx, loops, &engines[e], CPU_ISA_PORTABLE, &code));
        assert_ok(ctx, cpu_loaded_create(ctx, pool, 0, 1,
                                         (const bt_kernel_code *[]){ &code }, &loaded));
        for (int i = 0; i < 100; i++) {
            int64_t *data = l.d.at[0];
            memset(data, 0, l.d.nbytes[0]);
            data[100 + i] = 70; // fails the second check
            data[250] = 100;    // ... the first
            data[399] = 100;
            assert_error(launch(ctx, loaded, &l), BT_ERR_RUNTIME,
                         "axis 0 of data, whose extent is 50");
            data[100 + i] = 100;
            data[250] = 70;
            assert_error(launch(ctx, loaded, &l), BT_ERR_RUNTIME,
                         "axis 1 of table, whose extent is 100");
            bt_ctx_clear_diags(ctx);
        }
        cpu_loaded_destroy(loaded);
        cpu_pool_destroy(pool);
        free_launch(&l);
    }
    bt_ctx_destroy(ctx);
}

/* ---- code ---- */

static void test_damaged_code_is_refused(void **state)
{
    (void)state;
    bt_ctx *ctx = open_with(NULL);
    bt_loops *loops = parse_program(ctx, programs[2]);
    struct cpu_loaded *loaded;
    bt_kernel_code code;
    assert_ok(ctx, make_code(ctx, loops, &engines[0], CPU_ISA_PORTABLE, &code));
    char *own = (char *)(uintptr_t)code.own;
    for (size_t n = 0; n < code.own_nbytes; n++) {
        bt_kernel_code cut = code;
        cut.own_nbytes = n;
        assert_error(cpu_loaded_create(ctx, NULL, 0, 1,
                                       (const bt_kernel_code *[]){ &cut }, &loaded),
                     BT_ERR_FORMAT, "of target cpu");
        own[n] ^= (char)(1 << n % 8);
        assert_error(cpu_loaded_create(ctx, NULL, 0, 1,
                                       (const bt_kernel_code *[]){ &code }, &loaded),
                     BT_ERR_FORMAT, "of target cpu");
        own[n] ^= (char)(1 << n % 8);
        bt_ctx_clear_diags(ctx);
    }
    assert_ok(ctx, cpu_loaded_create(ctx, NULL, 0, 1, (const bt_kernel_code *[]){ &code },
                                     &loaded));
    cpu_loaded_destroy(loaded);
    bt_ctx_destroy(ctx);
}

/* With a digest that fits, loading is refused or succeeds, and touches nothing else. */
static void test_forged_code_is_read_with_care(void **state)
{
    (void)state;
    enum { HEAD = 8 + 64 };
    bt_ctx *ctx = open_with(NULL);
    bt_loops *loops = parse_program(ctx, programs[2]);
    uint32_t nrefused = 0;
    bt_kernel_code code;
    assert_ok(ctx, make_code(ctx, loops, &engines[0], CPU_ISA_PORTABLE, &code));
    char *own = (char *)(uintptr_t)code.own;
    for (size_t i = HEAD; i < code.own_nbytes; i++) {
        struct cpu_loaded *loaded = NULL;
        char digest[65], old = own[i];
        own[i] = (char)(i % 3 == 0 ? ~old : i % 3 == 1 ? old + 1 : 127);
        bt_digest(own + HEAD, code.own_nbytes - HEAD, digest);
        memcpy(own + 8, digest, 64);
        nrefused +=
            cpu_loaded_create(ctx, NULL, 0, 1, (const bt_kernel_code *[]){ &code },
                              &loaded) != NULL;
        cpu_loaded_destroy(loaded);
        own[i] = old;
        bt_ctx_clear_diags(ctx);
    }
    assert_true(nrefused > code.own_nbytes / 4);
    bt_ctx_destroy(ctx);
}

/* A machine with less than the code needs says what to do. */
static void test_code_for_a_wider_machine_is_refused(void **state)
{
    (void)state;
    bt_ctx *ctx = open_with(NULL);
    bt_loops *loops = parse_program(ctx, programs[0]);
    struct cpu_loaded *loaded;
    bt_kernel_code code;
    if (cpu_isa_of_machine() + 1 == CPU_ISA_COUNT) {
        bt_ctx_destroy(ctx);
        print_message("no set is wider than this machine's\n");
        skip();
    }
    const enum cpu_isa widest = CPU_ISA_COUNT - 1;
    char message[64];
    snprintf(message, sizeof(message), "is for %s", cpu_isa_name(widest));
    assert_ok(ctx, make_code(ctx, loops, &engines[0], widest, &code));
    assert_error(
        cpu_loaded_create(ctx, NULL, 0, 1, (const bt_kernel_code *[]){ &code }, &loaded),
        BT_ERR_UNSUPPORTED, message);
    bt_ctx_destroy(ctx);
}

/* ---- engines that do not work ---- */

static void test_auto_falls_back_to_the_plan_and_says_why(void **state)
{
    (void)state;
    bt_ctx *ctx = open_with(NULL);
    bt_loops *loops = parse_program(ctx, programs[0]);
    const struct engine hasty = { "auto", "helper=\"/nonexistent/baton-tcc\"" };
    const struct engine named = { "tcc", "helper=\"/nonexistent/baton-tcc\"" };
    struct cpu_loaded *loaded;
    bt_kernel_code code;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    assert_ok(ctx, make_code(ctx, loops, &hasty, CPU_ISA_PORTABLE, &code));
    assert_ok(ctx, cpu_loaded_create(ctx, NULL, 0, 1, (const bt_kernel_code *[]){ &code },
                                     &loaded));
    cpu_loaded_describe(loaded, &text);
    assert_non_null(strstr(bt_text_get(&text), "bytecode, as tcc does not work: "));
    cpu_loaded_destroy(loaded);
    assert_non_null(make_code(ctx, loops, &named, CPU_ISA_PORTABLE, &code));
    bt_ctx_destroy(ctx);
}

/* ---- no memory ---- */

static bt_status make_and_launch(bt_ctx *ctx, const bt_loops *loops,
                                 struct launch_data *l)
{
    struct cpu_loaded *loaded;
    bt_kernel_code code;
    BT_TRY(make_code(ctx, loops, &engines[0], CPU_ISA_PORTABLE, &code));
    BT_TRY(
        cpu_loaded_create(ctx, NULL, 0, 1, (const bt_kernel_code *[]){ &code }, &loaded));
    bt_status status = launch(ctx, loaded, l);
    cpu_loaded_destroy(loaded);
    return status;
}

static void test_every_failing_allocation_is_an_error(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(programs); i++) {
        struct failing_allocator allocator = failing_allocator(0, 0);
        allocator.base.self = &allocator;
        bt_ctx *ctx = open_with(&allocator.base);
        bt_loops *loops = parse_program(ctx, programs[i]);
        struct launch_data l = make_launch(ctx, loops);
        bt_status status = bt_no_memory();
        for (uint64_t n = 1; status; n++) {
            allocator.fail_at = allocator.ncall + n;
            status = make_and_launch(ctx, loops, &l);
            allocator.fail_at = 0;
            if (status && status->code != BT_ERR_MEMORY)
                fail_msg("%s", status->message);
            bt_ctx_clear_diags(ctx);
        }
        free_launch(&l);
        bt_ctx_destroy(ctx);
        assert_int_equal(allocator.nblock, 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_engines_give_the_same_bits),
    cmocka_unit_test(test_threads_change_no_bit),
    cmocka_unit_test(test_launches_of_one_buffer_go_there_and_back),
    cmocka_unit_test(test_launches_from_threads_at_once),
    cmocka_unit_test(test_denormals_are_zeros_in_kernels_and_nowhere_else),
    cmocka_unit_test(test_the_first_fault_of_the_program_is_told),
    cmocka_unit_test(test_damaged_code_is_refused),
    cmocka_unit_test(test_forged_code_is_read_with_care),
    cmocka_unit_test(test_code_for_a_wider_machine_is_refused),
    cmocka_unit_test(test_auto_falls_back_to_the_plan_and_says_why),
    cmocka_unit_test(test_every_failing_allocation_is_an_error),
};
TEST_MAIN(tests)
