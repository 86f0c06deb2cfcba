/* Programs as applications open them: which executor runs them, and what ports are called. */
#include "programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <baton/baton.h>
#include <baton/compiled.h>

// tests run at once, each in a process of its own
static char program_path[sizeof(TEST_FOLDER) + 40];

static void remove_program(void)
{
    remove(program_path);
}

static const char *write_program(const char *text)
{
    FILE *file;
    snprintf(program_path, sizeof(program_path), TEST_FOLDER "/embed.%ld.baton",
             (long)getpid());
    atexit(remove_program);
    file = fopen(program_path, "w");
    assert_non_null(file);
    fprintf(file, "#[version = \"baton 0.1\"]\n%s", text);
    assert_int_equal(fclose(file), 0);
    return program_path;
}

static const char two_results[] =
    "def @main(%x: Tensor[(2), float32], %k: Tensor[(2), float32]) {\n"
    "    %y = add(%x, %k);\n    (%y, exp(%y), %y)\n}\n";

static void test_a_program_is_compiled_by_default(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_program *program;
    assert_ok(ctx, bt_program_open(ctx, write_program(two_results), NULL, &program));
    assert_non_null(bt_program_compiled(program));
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 0);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

/* A constant of equal elements has one in memory. */
static void test_results_are_dense(void **state)
{
    static const char constant[] = "def @main() { const[(300, 2), float32]{1.5 ..} }\n";
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    const bt_program_options interp = { .executor = "interp" };
    bt_program *program;
    assert_ok(ctx, bt_program_open(ctx, write_program(constant), &interp, &program));
    assert_ok(ctx, bt_program_run(program));
    const bt_tensor *y = bt_object_as_tensor(bt_program_get(program, 0));
    assert_true(bt_tensor_is_dense(y));
    assert_true(((const float *)y->data)[599] == 1.5f);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static const char recursive[] =
    "def @main(%n: int32) -> int32 {\n"
    "    if (less(%n, 1)) { 0 } else { add(%n, @main(subtract(%n, 1))) }\n}\n";

static void test_vm_serves_what_has_branches(void **state)
{
    static const char artifact[] = "embed_branches.bta";
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_program *program;
    bt_tensor *n;
    assert_ok(ctx, bt_program_open(ctx, write_program(recursive), NULL, &program));
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 0);
    bt_program_close(program);
    bt_program_options asked = { .executor = "graph" };
    bt_status status = bt_program_open(ctx, write_program(recursive), &asked, &program);
    assert_int_equal(status->code, BT_ERR_UNSUPPORTED);
    status = bt_program_compile(ctx, write_program(recursive), &asked, artifact);
    assert_int_equal(status->code, BT_ERR_UNSUPPORTED);
    bt_ctx_clear_diags(ctx);
    assert_ok(ctx, bt_program_compile(ctx, write_program(recursive), NULL, artifact));
    assert_ok(ctx, bt_program_open(ctx, artifact, NULL, &program));
    assert_ok(ctx, bt_tensor_create(ctx, BT_INT32, 0, NULL, &n));
    bt_tensor_set(n, 0, 3);
    assert_ok(ctx, bt_program_set(program, "n", &n->base));
    assert_ok(ctx, bt_program_run(program));
    assert_true(bt_tensor_get(bt_object_as_tensor(bt_program_get(program, 0)), 0) == 6);
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 0);
    bt_tensor_unref(n);
    bt_program_close(program);
    assert_int_equal(remove(artifact), 0);
    bt_ctx_destroy(ctx);
}

/* Its table opens a target whose memory the host cannot read, for whichever executor is
 * tried; and a caller may name it. */
static void test_a_program_brings_its_devices(void **state)
{
    static const char placed[] =
        "#[attrs(devices=[\"far\"])]\n"
        "def @main(%x: Tensor[(2), float32], %n: int32) {\n"
        "    if (less(%n, 1)) { %y on 1 = negative(%x); %y } else { %x }\n}\n";
    static const char *const named[] = { NULL, "far, reference" };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(named); i++) {
        bt_ctx *ctx = open_targets(NULL);
        const bt_program_options options = { .target = named[i] };
        bt_program *program;
        bt_tensor *x = numbers(ctx, 1, 2), *n;
        const int64_t two = 2;
        bt_tensor *flat;
        assert_ok(ctx, bt_tensor_view(ctx, x, 1, &two, x->strides + 1, 0, &flat));
        assert_ok(ctx, bt_tensor_scalar_int(ctx, BT_INT32, 0, &n));
        assert_ok(ctx, bt_program_open(ctx, write_program(placed), &options, &program));
        assert_string_equal(bt_program_executor(program), "vm");
        const bt_compiled *c = bt_program_compiled(program);
        assert_int_equal(c->nkernel, 1);
        assert_string_equal(c->targets[c->kernels[0]->target]->text, "far");
        assert_ok(ctx, bt_program_set(program, "x", &flat->base));
        assert_ok(ctx, bt_program_set(program, "n", &n->base));
        assert_ok(ctx, bt_program_run(program));
        const bt_tensor *y = bt_object_as_tensor(bt_program_get(program, 0));
        assert_float_equal(bt_tensor_get(y, 1), -bt_tensor_get(flat, 1), 0);
        bt_program_close(program);
        bt_tensor_unref(n);
        bt_tensor_unref(flat);
        bt_tensor_unref(x);
        bt_ctx_destroy(ctx);
    }
}

/* An entry of any type is compiled for none: one remark says so. */
static void test_interp_serves_what_cannot_be_compiled(void **state)
{
    static const char generic[] = "def @main(%x, %y) { add(%x, %y) }\n";
    static const char nested[] =
        "type Nested[A] { Flat(A), Nest(Nested[(A, A)]) }\n"
        "def @depth<A>(%n: Nested[A]) -> int32 {\n"
        "    match (%n) { Flat(_) => 0, Nest(%m) => add(1, @depth(%m)) }\n}\n"
        "def @main(%x: int32) {\n"
        "    @depth(if (greater(%x, 0)) { Nest(Flat((%x, %x))) } else { Flat(%x) })\n}\n";
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_program *program;
    assert_ok(ctx, bt_program_open(ctx, write_program(generic), NULL, &program));
    assert_null(bt_program_compiled(program));
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 1);
    bt_program_close(program);
    bt_program_options asked = { .executor = "vm" };
    bt_status status = bt_program_open(ctx, write_program(generic), &asked, &program);
    assert_int_equal(status->code, BT_ERR_UNSUPPORTED);
    assert_non_null(strstr(status->message, "type parameters other than dims"));
    // a function that each call asks for with another type
    assert_ok(ctx, bt_program_open(ctx, write_program(nested), NULL, &program));
    assert_string_equal(bt_program_executor(program), "interp");
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

/* What the caller was told before stays, whatever is tried. */
static void test_opening_forgets_no_diagnostics(void **state)
{
    static const char artifact[] = "embed_kept.bta";
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_program *program;
    bt_remark(ctx, BT_REMARK_NOTE, bt_fail(ctx, BT_ERR_ARGUMENT, "told before"));
    assert_ok(ctx, bt_program_open(ctx, write_program(recursive), NULL, &program));
    bt_program_close(program);
    assert_ok(ctx, bt_program_compile(ctx, write_program(recursive), NULL, artifact));
    assert_ok(ctx, bt_program_open(ctx, artifact, NULL, &program));
    bt_program_close(program);
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 1);
    assert_string_equal(bt_ctx_remark(ctx, BT_REMARK_NOTE, 0)->message, "told before");
    assert_int_equal(remove(artifact), 0);
    bt_ctx_destroy(ctx);
}

/* Whatever the passes: they join the equal results, and rename. */
static void test_names_of_outputs_differ_and_do_not_depend_on_passes(void **state)
{
    static const char *const names[] = { "y", "output1", "y_1" };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    for (int k = 0; k < 4; k++) {
        const bt_program_options options = { .executor = k < 2 ? "interp" : "graph",
                                             .pipeline = k % 2 ? "" : NULL };
        bt_program *program;
        assert_ok(ctx,
                  bt_program_open(ctx, write_program(two_results), &options, &program));
        assert_int_equal(bt_program_noutput(program), 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_string_equal(bt_program_output(program, i)->name, names[i]);
            assert_int_equal(bt_program_output_index(program, names[i]), i);
        }
        assert_int_equal(bt_program_output_index(program, "z"), -1);
        bt_program_close(program);
    }
    bt_ctx_destroy(ctx);
}

static void test_inputs_are_set_by_index_and_by_name(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_program *program;
    bt_tensor *one;
    const int64_t dims[] = { 2 };
    assert_ok(ctx, bt_program_open(ctx, write_program(two_results), NULL, &program));
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, dims, &one));
    bt_tensor_set(one, 1, 3);
    assert_int_equal(bt_program_input_index(program, "k"), 1);
    assert_int_equal(bt_program_input_index(program, "y"), -1);
    assert_ok(ctx, bt_program_set_at(program, 0, &one->base));
    assert_ok(ctx, bt_program_set(program, "k", &one->base));
    assert_ok(ctx, bt_program_run(program));
    const bt_object *y =
        bt_program_get(program, (uint32_t)bt_program_output_index(program, "y"));
    assert_true(bt_tensor_get(bt_object_as_tensor(y), 1) == 6);
    assert_int_equal(bt_program_set_at(program, 2, &one->base)->code, BT_ERR_NAME);
    assert_int_equal(bt_program_set_at(program, 0, NULL)->code, BT_ERR_ARGUMENT);
    bt_tensor_unref(one);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static void test_a_status_outlives_the_program_and_the_file(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_program *program;
    bt_text text;
    const char *path = write_program("def @main(%x: float32) { nn.relux(%x) }\n");
    bt_status status = bt_program_open(ctx, path, NULL, &program);
    assert_int_equal(status->code, BT_ERR_NAME);
    assert_int_equal(remove(path), 0);
    assert_ok(ctx, bt_program_open(ctx, write_program(two_results), NULL, &program));
    bt_program_close(program);
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    assert_non_null(
        strstr(bt_text_get(&text), "def @main(%x: float32) { nn.relux(%x) }"));
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_program_is_compiled_by_default),
    cmocka_unit_test(test_results_are_dense),
    cmocka_unit_test(test_vm_serves_what_has_branches),
    cmocka_unit_test(test_a_program_brings_its_devices),
    cmocka_unit_test(test_opening_forgets_no_diagnostics),
    cmocka_unit_test(test_interp_serves_what_cannot_be_compiled),
    cmocka_unit_test(test_names_of_outputs_differ_and_do_not_depend_on_passes),
    cmocka_unit_test(test_inputs_are_set_by_index_and_by_name),
    cmocka_unit_test(test_a_status_outlives_the_program_and_the_file),
};
TEST_MAIN(tests)
