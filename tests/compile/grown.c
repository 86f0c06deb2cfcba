/* A plugin that was built when structs were shorter: its target is compiled for, and its
 * executor reads what was compiled. */
#include "programs.h"

#include <baton/baton.h>
#include <baton/graph.h>

#define MAIN                                     \
    "def @main(%x: Tensor[(2, 3), float32]) {\n" \
    "    (negative(%x), abs(negative(negative(%x))))\n}\n"

static bt_ctx *open_old(void)
{
    bt_ctx *ctx = open_targets(NULL);
    assert_ok(ctx, bt_plugins_add(ctx, TEST_OLD));
    return ctx;
}

static void test_its_kernels_run_beside_others(void **state)
{
    (void)state;
    bt_ctx *ctx = open_old();
    bt_compiled *c;
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_object *y;
    assert_ok(ctx, compile_text(ctx, MAIN, "old, reference", &c));
    assert_int_equal(c->nkernel, 2 + 1);
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    const bt_tuple *fields = bt_object_as_tuple(y);
    for (int64_t i = 0; i < 6; i++) {
        const double value = bt_tensor_get(x, i);
        assert_true(bt_tensor_get(bt_object_as_tensor(fields->fields[0]), i) == -value);
        assert_true(bt_tensor_get(bt_object_as_tensor(fields->fields[1]), i) ==
                    (value < 0 ? -value : value));
    }
    bt_object_unref(y);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* What its executor says, behind the sizes of the structs that it knows: all are shorter
 * than ours. */
static const char *ask_old(bt_ctx *ctx, bt_compiled *c, const char *what,
                           const size_t now[5])
{
    const void *row;
    void *session;
    bt_object *result;
    size_t sizes[5];
    assert_ok(ctx,
              bt_registry_row(ctx, "baton.executor/1", "old", sizeof(bt_executor), &row));
    const bt_executor *old = row;
    assert_ok(ctx, old->load(ctx, c, "main", NULL, &session));
    const bt_status said = old->call(ctx, session, what, 0, NULL, NULL, &result);
    old->close(session);
    assert_non_null(said);
    assert_int_equal(sscanf(said->message, "sizes %zu %zu %zu %zu %zu", &sizes[0],
                            &sizes[1], &sizes[2], &sizes[3], &sizes[4]),
                     5);
    for (int i = 0; i < 5; i++)
        assert_true(sizes[i] < now[i]);
    return strchr(said->message, ':') + 1;
}

static void test_its_executor_reads_what_is_compiled(void **state)
{
    static const size_t now[] = { sizeof(bt_kernel), sizeof(bt_kernel_code),
                                  sizeof(bt_target_use), sizeof(bt_compiled_kernel),
                                  sizeof(bt_compiled_func) };
    (void)state;
    bt_ctx *ctx = open_old();
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, MAIN, "old, reference", &c));
    bt_text expected;
    bt_text_init(&expected, bt_ctx_scratch(ctx));
    for (uint32_t i = 0; i < c->nkernel; i++)
        bt_text_addf(&expected, " %s of %s, %zu bytes;", c->kernels[i]->name,
                     c->targets[c->kernels[i]->target]->text, c->codes[i]->nbytes);
    for (uint32_t i = 0; i < c->nfunc; i++)
        bt_text_addf(&expected, " %s of %s;", c->funcs[i]->name,
                     c->targets[c->funcs[i]->target]->text);
    assert_string_equal(ask_old(ctx, c, "main", now), bt_text_get(&expected));
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* Those of types, functions, matches and graphs. */
static void test_it_reads_lists_of_programs_and_graphs(void **state)
{
    static const size_t now[] = { sizeof(bt_array), sizeof(bt_graph_dim),
                                  sizeof(bt_where), sizeof(bt_ctor), sizeof(bt_clause) };
    (void)state;
    bt_ctx *ctx = open_old();
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, MAIN, "reference", &c));
    assert_string_equal(ask_old(ctx, c, "lists", now),
                        " Cons Nil Cons Nil add multiply n m 2 1 2");
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_it_reads_fields_of_inputs(void **state)
{
    static const size_t now[] = { sizeof(bt_port), 1, 1, 1, 1 };
    static const char model[] = TEST_FOLDER "/fields.baton";
    FILE *file = fopen(model, "w");
    bt_compiled *c;
    (void)state;
    bt_ctx *ctx = open_old();
    assert_non_null(file);
    assert_true(fputs("#[version = \"baton 0.1\"]\n"
                      "def @main(%p: (Tensor[(2), float32], Tensor[(3), int8])) { %p.0 "
                      "}\n",
                      file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_ok(ctx, compile_text(ctx, MAIN, "reference", &c));
    assert_string_equal(ask_old(ctx, c, model, now),
                        " p.0: Tensor[(2), float32]; p.1: Tensor[(3), int8];");
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* The same text, whether the program is compiled for it or comes from a file. */
static void test_it_is_refused_what_it_lacks(void **state)
{
    static const char model[] = TEST_FOLDER "/lacks.baton",
                      artifact[] = TEST_FOLDER "/lacks.bta",
                      why[] = "executor old has no open dims, which @main uses: give "
                              "numbers for its dims, --dim n=N; ";
    const bt_program_options options = { .executor = "old", .target = "reference" },
                             by_any = { .target = "reference" },
                             by_old = { .executor = "old" };
    bt_program *program;
    (void)state;
    bt_ctx *ctx = open_old();
    FILE *file = fopen(model, "w");
    assert_non_null(file);
    assert_true(fputs("#[version = \"baton 0.1\"]\n"
                      "def @main<n: Dim>(%x: Tensor[(n, 3), float32]) { exp(%x) }\n",
                      file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_error(bt_program_open(ctx, model, &options, &program), BT_ERR_UNSUPPORTED,
                 why);
    assert_ok(ctx, bt_program_compile(ctx, model, &by_any, artifact));
    assert_error(bt_program_open(ctx, artifact, &by_old, &program), BT_ERR_UNSUPPORTED,
                 why);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_its_kernels_run_beside_others),
    cmocka_unit_test(test_its_executor_reads_what_is_compiled),
    cmocka_unit_test(test_it_is_refused_what_it_lacks),
    cmocka_unit_test(test_it_reads_lists_of_programs_and_graphs),
    cmocka_unit_test(test_it_reads_fields_of_inputs),
};
TEST_MAIN(tests)
