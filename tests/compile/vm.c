/* The executor `vm` on compiled modules: memory of activations, updates in place, memory of
 * targets' own, threads, allocations that fail. */
#include "failing_allocator.h"
#include "programs.h"

#include <pthread.h>

/* An allocator that counts large blocks. */
enum { LARGE = 16 << 10 };
static uint32_t nlarge;

static void *count_large(void *self, void *at, size_t old_nbytes, size_t nbytes)
{
    nlarge += nbytes >= LARGE;
    return failing_realloc(self, at, old_nbytes, nbytes);
}

static bt_status compile(bt_ctx *ctx, const char *body, const char *targets,
                         bt_compiled **out)
{
    char text[4096];
    bt_module *parsed, *typed, *fused;
    const bt_compile_options options = { .targets = targets, .has_control_flow = 1 };
    snprintf(text, sizeof(text), "#[version = \"baton 0.1\"]\n%s\n", body);
    BT_TRY(bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    bt_status status = bt_infer(ctx, parsed, &typed);
    bt_module_unref(parsed);
    BT_TRY(status);
    status = bt_fuse(ctx, typed, &options, &fused);
    bt_module_unref(typed);
    BT_TRY(status);
    status = bt_compile(ctx, fused, &options, out);
    bt_module_unref(fused);
    return status;
}

static const bt_executor *executor(bt_ctx *ctx)
{
    const void *row;
    assert_ok(ctx,
              bt_registry_row(ctx, "baton.executor/1", "vm", sizeof(bt_executor), &row));
    return row;
}

static void *load(bt_ctx *ctx, bt_compiled *c)
{
    void *session;
    assert_ok(ctx, executor(ctx)->load(ctx, c, "main", NULL, &session));
    return session;
}

/* A call on a tensor and a number. */
static bt_status call(bt_ctx *ctx, void *session, bt_tensor *x, int64_t n,
                      bt_object **out)
{
    bt_tensor *number;
    BT_TRY(bt_tensor_scalar_int(ctx, BT_INT64, n, &number));
    bt_object *args[] = { &x->base, &number->base };
    bt_status status = executor(ctx)->call(ctx, session, "main", 2, args, NULL, out);
    bt_tensor_unref(number);
    return status;
}

/* ---- memory of activations ---- */

static const char chain[] =
    "def @loop(%x: Tensor[(64, 64), float32], %n: int64) -> Tensor[(64, 64), float32] {\n"
    "    if (less(%n, 1i64)) { %x } else {\n"
    "        %a = cumsum(%x, axis=0);\n"
    "        %b = cumsum(reshape(%a, newshape=[32, 128]), axis=1);\n"
    "        %c = cumsum(reshape(%b, newshape=[64, 64]), axis=1);\n"
    "        @loop(cumsum(multiply(%c, 0.01f), axis=1), subtract(%n, 1i64))\n"
    "    }\n"
    "}\n"
    "def @main(%x: Tensor[(64, 64), float32], %n: int64) { @loop(%x, %n) }";

/* Of the tensors of an iteration only the one that goes on has memory of its own, which that
 * of the next iteration takes. */
static void test_tensors_that_end_take_no_memory_of_their_own(void **state)
{
    struct failing_allocator a = failing_allocator(0, 0);
    uint32_t count[3];
    (void)state;
    a.base.self = &a;
    a.base.realloc = count_large;
    bt_ctx *ctx = open_targets(&a.base);
    bt_compiled *c;
    bt_tensor *x = numbers(ctx, 64, 64);
    assert_ok(ctx, compile(ctx, chain, "cpu{threads=1, engine=\"bytecode\"}", &c));
    void *session = load(ctx, c);
    for (int64_t n = 0; n < 3; n++) {
        bt_object *y;
        assert_ok(ctx, call(ctx, session, x, 4 * n, &y)); // what is kept is there now
        bt_object_unref(y);
        nlarge = 0;
        assert_ok(ctx, call(ctx, session, x, 4 * n, &y));
        count[n] = nlarge;
        bt_object_unref(y);
    }
    assert_int_equal(count[0], 0);
    assert_int_equal(count[1], 1);
    assert_int_equal(count[2], 1);
    executor(ctx)->close(session);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* ---- in place ---- */

/* The caller's cache is copied once, then each step writes into the last one's memory. */
static void test_a_cache_that_nobody_else_holds_is_updated_in_place(void **state)
{
    static const char body[] =
        "def @loop(%c: Tensor[(8192), float32], %n: int64) -> Tensor[(8192), float32] {\n"
        "    if (less(%n, 1i64)) { %c } else {\n"
        "        @loop(scatter_elements(%c, const[(2), int64]{1, 4},\n"
        "                               const[(2), float32]{100, 200}),\n"
        "              subtract(%n, 1i64))\n"
        "    }\n"
        "}\n"
        "def @main(%c: Tensor[(8192), float32], %n: int64) { @loop(%c, %n) }";
    struct failing_allocator a = failing_allocator(0, 0);
    (void)state;
    a.base.self = &a;
    a.base.realloc = count_large;
    bt_ctx *ctx = open_targets(&a.base);
    bt_compiled *c;
    bt_tensor *x;
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ 8192 }, &x));
    assert_ok(ctx, compile(ctx, body, "keeper, reference", &c));
    void *session = load(ctx, c);
    for (int64_t n = 0; n < 30; n += 14) {
        bt_object *y;
        assert_ok(ctx, call(ctx, session, x, n, &y)); // what is kept is there now
        bt_object_unref(y);
        nlarge = 0;
        assert_ok(ctx, call(ctx, session, x, n, &y));
        assert_int_equal(nlarge, n ? 1 : 0);
        assert_true(bt_tensor_get(bt_object_as_tensor(y), 4) == (n ? 200 : 0));
        assert_true(bt_tensor_get(x, 4) == 0);
        bt_object_unref(y);
    }
    executor(ctx)->close(session);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* ---- memory of targets' own ---- */

static const char branches[] =
    "type L { Nil, Cons(Tensor[(2, 3), float32], L), }\n"
    "def @fill(%x: Tensor[(2, 3), float32], %n: int64) -> L {\n"
    "    if (less(%n, 1i64)) { Nil } else {\n"
    "        Cons(cumsum(negative(%x), axis=0), @fill(add(%x, 1f), subtract(%n, 1i64)))\n"
    "    }\n"
    "}\n"
    "def @sum(%l: L, %s: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {\n"
    "    match (%l) {\n"
    "        Nil => %s,\n"
    "        Cons(%x, %r) => add(@sum(%r, subtract(%s, %x)),\n"
    "                            add(cumsum(%x, axis=1),\n"
    "                                const[(2, 3), float32]{1, 2, 3, 4, 5, 6})),\n"
    "    }\n"
    "}\n"
    "def @main(%x: Tensor[(2, 3), float32], %n: int64) { @sum(@fill(%x, %n), %x) }";

static void assert_same(bt_ctx *ctx, const bt_object *a, const bt_object *b)
{
    bt_tensor_difference d;
    assert_ok(ctx, bt_tensor_compare(ctx, bt_object_as_tensor(a), bt_object_as_tensor(b),
                                     0, 0, &d));
    assert_int_equal(d.ndifferent, 0);
}

/* The size of a tensor is found where it comes out of a reference. */
static const char sizes[] =
    "type Rows { Rows(Tensor[(?, 3), float32]), }\n"
    "def @double(%r: Ref[Rows], %n: int64) -> () {\n"
    "    if (greater(%n, 0i64)) {\n"
    "        match (ref_read(%r)) {\n"
    "            Rows(%t) => ref_write(%r, Rows(concatenate((%t, negative(%t))))),\n"
    "        };\n"
    "        @double(%r, subtract(%n, 3i64))\n"
    "    } else { () }\n"
    "}\n"
    "def @main(%x: Tensor[(2, 3), float32], %n: int64) {\n"
    "    let %r = ref(Rows(%x));\n"
    "    @double(%r, %n);\n"
    "    match (ref_read(%r)) { Rows(%t) => cumsum(add(%t, %t), axis=0) }\n"
    "}";

static void compute_in_own_memory(bt_ctx *ctx, const char *body)
{
    static const char *const lists[] = { "far", "late", "later", "far, far{seed=2}" };
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_compiled *c;
    bt_object *expected, *y;
    assert_ok(ctx, compile(ctx, body, "reference", &c));
    void *session = load(ctx, c);
    assert_ok(ctx, call(ctx, session, x, 7, &expected));
    executor(ctx)->close(session);
    bt_compiled_unref(c);
    for (uint32_t i = 0; i < BT_COUNT(lists); i++) {
        char list[64];
        snprintf(list, sizeof(list), "%s, reference", lists[i]);
        assert_ok(ctx, compile(ctx, body, list, &c));
        assert_int_equal(c->kernels[0]->target, 0);
        session = load(ctx, c);
        for (int round = 0; round < 3; round++) {
            assert_ok(ctx, call(ctx, session, x, 7, &y));
            assert_same(ctx, expected, y);
            bt_object_unref(y);
        }
        executor(ctx)->close(session);
        bt_compiled_unref(c);
    }
    bt_object_unref(expected);
    bt_tensor_unref(x);
}

static void test_kernels_work_in_their_targets_memory(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    compute_in_own_memory(ctx, branches);
    compute_in_own_memory(ctx, sizes);
    bt_ctx_destroy(ctx);
}

/* ---- threads ---- */

enum { NTHREAD = 8, NROUND = 20 };

struct worker {
    pthread_t thread;
    bt_registry *registry;
    bt_compiled *compiled;
    bt_tensor *x;
    const bt_object *expected;
    int same;
};

static void *work(void *opaque)
{
    struct worker *w = opaque;
    bt_ctx *ctx = bt_ctx_create(w->registry);
    void *session = NULL;
    bt_object *y;
    bt_tensor_difference d;
    const bt_executor *vm = executor(ctx);
    w->same = !vm->load(ctx, w->compiled, "main", NULL, &session);
    for (int i = 0; w->same && i < NROUND; i++) {
        w->same = !call(ctx, session, w->x, 5, &y) &&
                  !bt_tensor_compare(ctx, bt_object_as_tensor(w->expected),
                                     bt_object_as_tensor(y), 0, 0, &d) &&
                  d.ndifferent == 0;
        bt_object_unref(y);
    }
    if (session)
        vm->close(session);
    bt_ctx_destroy(ctx);
    return NULL;
}

static void test_threads_share_what_is_compiled(void **state)
{
    struct worker workers[NTHREAD];
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_compiled *c;
    bt_object *expected;
    assert_ok(ctx, compile(ctx, branches, "reference", &c));
    void *session = load(ctx, c);
    assert_ok(ctx, call(ctx, session, x, 5, &expected));
    for (int i = 0; i < NTHREAD; i++) {
        workers[i] = (struct worker){
            .registry = bt_ctx_registry(ctx), .compiled = c, .x = x, .expected = expected
        };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < NTHREAD; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_true(workers[i].same);
    }
    executor(ctx)->close(session);
    bt_object_unref(expected);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* ---- allocations that fail ---- */

static int load_and_call(bt_ctx *ctx, bt_compiled *c, bt_tensor *x)
{
    void *session = NULL;
    bt_object *y = NULL;
    const bt_executor *vm = executor(ctx);
    const int ok = ok_or_no_memory(vm->load(ctx, c, "main", NULL, &session)) &&
                   ok_or_no_memory(call(ctx, session, x, 3, &y));
    bt_object_unref(y);
    if (session)
        vm->close(session);
    bt_ctx_clear_diags(ctx);
    return ok;
}

static void test_failing_allocations_of_load_and_kernels_lose_nothing(void **state)
{
    static const char *const lists[] = { "reference", "far, reference",
                                         "late, reference" };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(lists); i++) {
        struct failing_allocator a = failing_allocator(0, 0);
        a.base.self = &a;
        bt_ctx *ctx = open_targets(&a.base);
        bt_compiled *c;
        bt_tensor *x = numbers(ctx, 2, 3);
        uint64_t n = 0;
        assert_ok(ctx, compile(ctx, branches, lists[i], &c));
        assert_true(load_and_call(ctx, c, x));
        do {
            a.nfailed = 0;
            a.fail_at = a.ncall + ++n;
            const int ok = load_and_call(ctx, c, x);
            assert_true(ok || a.nfailed);
        } while (a.nfailed);
        assert_true(n > 50);
        bt_tensor_unref(x);
        bt_compiled_unref(c);
        bt_ctx_destroy(ctx);
        assert_int_equal(a.nblock, 0);
    }
}

static int compile_again(bt_ctx *ctx)
{
    bt_compiled *c = NULL;
    const int ok = ok_or_no_memory(compile(ctx, branches, "far, reference", &c));
    bt_compiled_unref(c);
    bt_ctx_clear_diags(ctx);
    return ok;
}

/* Each allocation from text to kernels fails: passes, the lowering of branches, the plan. */
static void test_failing_allocations_of_lowering_lose_nothing(void **state)
{
    struct failing_allocator a = failing_allocator(0, 0);
    (void)state;
    a.base.self = &a;
    bt_ctx *ctx = open_targets(&a.base);
    assert_true(compile_again(ctx));
    assert_true(compile_again(ctx));
    const size_t nblock = a.nblock;
    uint64_t n = 0;
    do {
        a.nfailed = 0;
        a.fail_at = a.ncall + ++n;
        const int ok = compile_again(ctx);
        assert_true(ok || a.nfailed);
    } while (a.nfailed);
    assert_true(n > 100);
    a.fail_at = 0;
    assert_true(compile_again(ctx));
    assert_int_equal(a.nblock, nblock);
    bt_ctx_destroy(ctx);
    assert_int_equal(a.nblock, 0);
}

/* ---- ends ---- */

struct run {
    bt_ctx *ctx;
    void *session;
    bt_tensor *x;
    int64_t n;
    bt_status status;
};

static void *run_in_thread(void *opaque)
{
    struct run *r = opaque;
    bt_object *result = NULL;
    r->status = call(r->ctx, r->session, r->x, r->n, &result);
    bt_object_unref(result);
    return NULL;
}

/* A loop without end, of a kernel and a call. */
static const char endless[] =
    "def @loop(%x: Tensor[(2, 3), float32], %n: int64) -> Tensor[(2, 3), float32] {\n"
    "    if (less(%n, 0i64)) { %x } else { @loop(cumsum(%x, axis=1), %n) }\n"
    "}\n"
    "def @main(%x: Tensor[(2, 3), float32], %n: int64) { @loop(%x, %n) }";

static void test_another_thread_ends_a_run(void **state)
{
    struct failing_allocator a = failing_allocator(0, 0);
    pthread_t thread;
    (void)state;
    a.base.self = &a;
    bt_ctx *ctx = open_targets(&a.base), *other = bt_ctx_create(bt_ctx_registry(ctx));
    bt_compiled *c;
    assert_non_null(other);
    assert_ok(ctx, compile(ctx, endless, "reference", &c));
    struct run r = { .ctx = other, .session = load(ctx, c), .n = 1 };
    r.x = numbers(ctx, 2, 3);
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &r), 0);
    bt_ctx_cancel(other);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_error(r.status, BT_ERR_CANCELLED, "cancelled");
    bt_ctx_destroy(other);
    // the session goes on, in another context
    r.ctx = ctx;
    r.n = -1;
    (void)run_in_thread(&r);
    assert_ok(ctx, r.status);
    executor(ctx)->close(r.session);
    bt_tensor_unref(r.x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
    assert_int_equal(a.nblock, 0);
}

/* What an activation needs at once is bounded as well. */
static void test_a_frame_beyond_the_budget_is_refused(void **state)
{
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_object *result;
    (void)state;
    assert_ok(ctx, compile(ctx, chain, "reference", &c));
    void *session = load(ctx, c);
    bt_tensor *x = numbers(ctx, 64, 64);
    const uint64_t bytes = bt_ctx_limits(ctx)->bytes;
    bt_ctx_limits(ctx)->bytes = 1000;
    assert_error(call(ctx, session, x, 3, &result), BT_ERR_LIMIT,
                 "loop: more than 1000 bytes of tensors in one activation");
    bt_ctx_limits(ctx)->bytes = bytes;
    assert_ok(ctx, call(ctx, session, x, 3, &result));
    bt_object_unref(result);
    executor(ctx)->close(session);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tensors_that_end_take_no_memory_of_their_own),
    cmocka_unit_test(test_a_cache_that_nobody_else_holds_is_updated_in_place),
    cmocka_unit_test(test_kernels_work_in_their_targets_memory),
    cmocka_unit_test(test_threads_share_what_is_compiled),
    cmocka_unit_test(test_failing_allocations_of_load_and_kernels_lose_nothing),
    cmocka_unit_test(test_failing_allocations_of_lowering_lose_nothing),
    cmocka_unit_test(test_another_thread_ends_a_run),
    cmocka_unit_test(test_a_frame_beyond_the_budget_is_refused),
};
TEST_MAIN(tests)
