/* References and functions that outlive the session that made them: it empties references when
 * it is closed, and its code is gone. */
#include "kit.h"

#define V "Tensor[(3), float32]"

/* What some programs share: @make gives a reference and what holds it. */
static const char text[] =
    "type Held { Held(Ref[" V "]), }\n"
    "def @make(%x: " V ") { let %r = ref(%x); (%r, Held(%r)) }\n"
    "def @read(%r: Ref[" V "]) { ref_read(%r) + 1f }\n"
    "def @read_held(%h: Held) { match (%h) { Held(%r) => ref_read(%r) + 1f } }\n"
    "def @write_held(%h: Held, %x: " V ") {\n"
    "    match (%h) { Held(%r) => { ref_write(%r, %x); ref_read(%r) } }\n"
    "}\n";

static bt_program *open_entry(bt_ctx *ctx, const char *entry, const char *executor)
{
    return open_text(ctx, text,
                     &(bt_program_options){ .executor = executor, .entry = entry });
}

static void check_closed(bt_ctx *ctx, const char *entry, uint32_t output,
                         const char *executor, uint32_t code, const char *message)
{
    bt_program *maker = open_entry(ctx, "make", executor);
    bt_program *program = open_entry(ctx, entry, executor);
    bt_tensor *x = count_from(ctx, 3, 1);
    assert_ok(ctx, bt_program_set(maker, "x", &x->base));
    assert_ok(ctx, bt_program_run(maker));
    assert_ok(ctx, bt_program_set_at(program, 0, bt_program_get(maker, output)));
    if (bt_program_ninput(program) > 1)
        assert_ok(ctx, bt_program_set_at(program, 1, &x->base));
    assert_ok(ctx, bt_program_run(program));
    bt_program_close(maker);
    assert_error(bt_program_run(program), code, message);
    bt_program_close(program);
    bt_tensor_unref(x);
}

static void test_a_reference_of_a_closed_session_is_refused(void **state)
{
    static const char *const executors[] = { "interp", "vm" };
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    for (uint32_t i = 0; i < BT_COUNT(executors); i++)
        check_closed(ctx, "read", 0, executors[i], BT_ERR_ARGUMENT,
                     "argument 0 (%r) is a reference of a session that was closed");
    bt_ctx_destroy(ctx);
}

/* vm looks through its arguments, interp at what is read or written. */
static void test_so_is_one_that_data_hold(void **state)
{
    static const char *const entries[] = { "read_held", "write_held" };
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    for (uint32_t i = 0; i < BT_COUNT(entries); i++) {
        check_closed(ctx, entries[i], 1, "interp", BT_ERR_RUNTIME,
                     "the session of this reference was closed");
        check_closed(ctx, entries[i], 1, "vm", BT_ERR_ARGUMENT,
                     "argument 0 holds a reference of a session that was closed");
    }
    bt_ctx_destroy(ctx);
}

/* Sessions of one program take each other's closures. */
static void check_captured(bt_ctx *ctx, const char *body)
{
    char whole[1024];
    bt_program *maker, *program;
    bt_tensor *x = count_from(ctx, 3, 1);
    bt_adt *none;
    snprintf(whole, sizeof(whole),
             "type F { None, F(fn (" V ") -> " V "), }\n"
             "def @main(%%f: F, %%x: " V ") -> (F, " V ") {\n"
             "    let %%r = ref(%%x);\n"
             "    let %%y = match (%%f) { None => %%x, F(%%g) => %%g(%%x) };\n"
             "    (F(fn (%%z: " V ") { %s }), %%y)\n"
             "}\n",
             body);
    maker = open_text(ctx, whole, &(bt_program_options){ .executor = "vm" });
    assert_ok(ctx, bt_program_share(ctx, maker, &program));
    assert_ok(ctx, bt_adt_create(ctx, 0, "None", 0, NULL, &none));
    assert_ok(ctx, bt_program_set(maker, "f", &none->base));
    assert_ok(ctx, bt_program_set(maker, "x", &x->base));
    assert_ok(ctx, bt_program_run(maker));
    assert_ok(ctx, bt_program_set(program, "f", bt_program_get(maker, 0)));
    assert_ok(ctx, bt_program_set(program, "x", &x->base));
    assert_ok(ctx, bt_program_run(program));
    bt_program_close(maker);
    assert_error(bt_program_run(program), BT_ERR_RUNTIME,
                 "the session of this reference was closed");
    bt_program_close(program);
    bt_object_unref(&none->base);
    bt_tensor_unref(x);
}

static void test_so_is_one_that_a_closure_holds(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    check_captured(ctx, "ref_read(%r) + %z");
    check_captured(ctx, "ref_write(%r, %z); ref_read(%r)");
    bt_ctx_destroy(ctx);
}

/* Nothing of the session that made it is read, wherever later ones lie in memory. */
static void check_function(bt_ctx *ctx, const char *executor, uint32_t code,
                           const char *message)
{
    bt_tensor *x = count_from(ctx, 3, 1);
    bt_object *f = NULL;
    bt_adt *none;
    assert_ok(ctx, bt_adt_create(ctx, 0, "None", 0, NULL, &none));
    for (int i = 0; i < 4; i++) {
        bt_program *program =
            open_text(ctx,
                      "type F { None, F(fn (" V ") -> " V "), }\n"
                      "def @main(%f: F, %x: " V ") -> (F, " V ") {\n"
                      "    let %y = match (%f) { None => %x, F(%g) => %g(%x) };\n"
                      "    (F(fn (%z: " V ") { %x + %z }), %y)\n"
                      "}\n",
                      &(bt_program_options){ .executor = executor });
        assert_ok(ctx, bt_program_set(program, "f", f ? f : &none->base));
        assert_ok(ctx, bt_program_set(program, "x", &x->base));
        if (f)
            assert_error(bt_program_run(program), code, message);
        else
            assert_ok(ctx, bt_program_run(program));
        if (!f)
            f = bt_object_ref(bt_program_get(program, 0));
        bt_program_close(program);
    }
    bt_object_unref(f);
    bt_object_unref(&none->base);
    bt_tensor_unref(x);
}

static void test_a_function_of_a_closed_session_is_refused(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    check_function(ctx, "interp", BT_ERR_RUNTIME, "another session made it");
    check_function(ctx, "vm", BT_ERR_ARGUMENT, "made by a session of this program");
    bt_ctx_destroy(ctx);
}

/* bt_allocator.realloc: what was freed is rubbish. */
static void *spoil(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    (void)self;
    if (nbytes)
        return realloc(pointer, nbytes);
    if (pointer)
        memset(pointer, 0xdd, old_nbytes);
    free(pointer);
    return NULL;
}

/* It knows the dims of the run that made it, not those of the one that calls it. */
static void check_later_run(const char *executor)
{
    const bt_allocator spoiling = { NULL, spoil };
    bt_ctx *ctx = make_ctx(&spoiling);
    bt_program *program = open_text(
        ctx,
        "type F { None, F(fn (" V ") -> " V "), }\n"
        "def @main<n: Dim>(%f: F, %x: Tensor[(n), float32], %v: " V ") -> (F, " V ") {\n"
        "    let %y = match (%f) { None => %v, F(%g) => %g(%v) };\n"
        "    (F(fn (%z: " V ") { %z + sum(full(2f, shape=[n]) * %x) }), %y)\n"
        "}\n",
        &(bt_program_options){ .executor = executor });
    bt_tensor *v = count_from(ctx, 3, 1);
    bt_adt *none;
    assert_ok(ctx, bt_adt_create(ctx, 0, "None", 0, NULL, &none));
    assert_ok(ctx, bt_program_set(program, "f", &none->base));
    assert_ok(ctx, bt_program_set(program, "v", &v->base));
    bt_object_unref(&none->base);
    for (int64_t n = 2; n < 6; n++) { // 2 * (n - 1) ones are added in the run behind
        bt_tensor *x = count_from(ctx, n, 1);
        for (int64_t i = 0; i < n; i++)
            bt_tensor_set(x, i, 1);
        assert_ok(ctx, bt_program_set(program, "x", &x->base));
        assert_ok(ctx, bt_program_run(program));
        assert_counts(bt_object_as_tensor(bt_program_get(program, 1)),
                      n == 2 ? 1 : (float)(2 * n - 1), 1);
        assert_ok(ctx, bt_program_set(program, "f", bt_program_get(program, 0)));
        bt_tensor_unref(x);
    }
    bt_tensor_unref(v);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static void test_a_function_is_called_by_later_runs(void **state)
{
    (void)state;
    check_later_run("interp");
    check_later_run("vm");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_reference_of_a_closed_session_is_refused),
    cmocka_unit_test(test_so_is_one_that_data_hold),
    cmocka_unit_test(test_so_is_one_that_a_closure_holds),
    cmocka_unit_test(test_a_function_of_a_closed_session_is_refused),
    cmocka_unit_test(test_a_function_is_called_by_later_runs),
};
TEST_MAIN(tests)
