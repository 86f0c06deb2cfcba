/* Kernels of constants: they run when the module is compiled, and only what they wrote
 * stays. */
#include "programs.h"

#include <stdlib.h>
#include <unistd.h>

#include <baton/baton.h>

static const char one_layer[] =
    "def @main(%x: Tensor[(2, 3), float32]) {\n"
    "    nn.dense(%x, const[(2, 3), float32]{1, 2, 3, 4, 5, 6})\n"
    "}\n";

/* x = [[-5, -4, -3], [-2, -1, 0]]: the rows' products with 1 2 3 and 4 5 6. */
static void check_result(bt_ctx *ctx, bt_compiled *c)
{
    static const double expected[] = { -22, -58, -4, -13 };
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_object *y;
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    for (int64_t i = 0; i < 4; i++)
        assert_float_equal(bt_tensor_get(bt_object_as_tensor(y), i), expected[i], 0);
    bt_object_unref(y);
    bt_tensor_unref(x);
}

static void test_a_packed_weight_is_a_constant(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, one_layer, "panels", &c));
    assert_int_equal(c->nkernel, 1);
    assert_string_equal(c->kernels[0]->name, "fused_nn_dense.1");
    assert_null(find_call(c, "memory.invoke", 1));
    assert_null(find_call(c, "memory.alloc_tensor", 1)); // the result's is left
    assert_null(find_call(c, "memory.alloc_storage", 1));
    const bt_tensor *panel = bt_const_tensor(input_of(c, 0, 1));
    assert_non_null(panel);
    assert_int_equal(panel->dtype, BT_UINT8);
    assert_int_equal(panel->nelem, 3 * 16 * 4);
    assert_int_equal((uintptr_t)panel->data % 64, 0);
    check_result(ctx, c);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_packing_may_take_several_kernels(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, one_layer, "panels{steps=2}", &c));
    assert_int_equal(c->nkernel, 1);
    assert_string_equal(c->kernels[0]->name, "fused_nn_dense.2");
    assert_non_null(bt_const_tensor(input_of(c, 0, 1)));
    check_result(ctx, c);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_a_weight_that_is_an_input_is_packed_at_run_time(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx,
              compile_text(ctx,
                           "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), "
                           "float32]) {\n"
                           "    nn.dense(%x, %w)\n"
                           "}\n",
                           "panels", &c));
    assert_int_equal(c->nkernel, 2);
    assert_non_null(find_call(c, "memory.invoke", 1));
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* Two functions that differ in their rows, and one that is called twice. */
static void test_a_weight_packed_alike_is_kept_once(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx,
              compile_text(ctx,
                           "def @main(%x: Tensor[(2, 2), float32], %y: Tensor[(5, 2), "
                           "float32]) {\n"
                           "    %a = nn.dense(%x, const[(2, 2), float32]{1, 2, 3, 4});\n"
                           "    %b = nn.dense(%a, const[(2, 2), float32]{1, 2, 3, 4});\n"
                           "    %c = nn.dense(%y, const[(2, 2), float32]{1, 2, 3, 4});\n"
                           "    %d = nn.dense(%c, const[(2, 2), float32]{1, 2, 3, 5});\n"
                           "    (%b, %d)\n"
                           "}\n",
                           "panels", &c));
    assert_int_equal(c->nkernel, 2);
    const bt_value *panel = input_of(c, 0, 1);
    assert_non_null(bt_const_tensor(panel));
    assert_ptr_equal(input_of(c, 1, 1), panel);
    assert_ptr_equal(input_of(c, 2, 1), panel);
    assert_ptr_not_equal(bt_const_tensor(input_of(c, 3, 1)), bt_const_tensor(panel));
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_what_depends_on_no_input_is_computed(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx,
                                "def @main(%x: Tensor[(2, 3), float32]) {\n"
                                "    %a = nn.dense(const[(1, 2), float32]{1, 2}, "
                                "const[(2, 2), float32]{1, 2, 3, 4});\n"
                                "    (%x, %a)\n"
                                "}\n",
                                "panels", &c));
    assert_int_equal(c->nkernel, 0);
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_object *y;
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    const bt_tensor *a = bt_object_as_tensor(bt_object_as_tuple(y)->fields[1]);
    assert_float_equal(bt_tensor_get(a, 0), 5, 0);
    assert_float_equal(bt_tensor_get(a, 1), 11, 0);
    bt_object_unref(y);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* The weight is too large to be folded by a pass: its reshape is a view of a constant. */
static void test_another_shape_of_a_weight_is_packed(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx,
                                "def @main(%x: Tensor[(2, 3), float32]) {\n"
                                "    %w = reshape(const[(6), float32]{1, 2, 3, 4, 5, 6}, "
                                "newshape=[2, 3]);\n"
                                "    nn.dense(%x, %w)\n"
                                "}\n",
                                "panels", &c));
    assert_int_equal(c->nkernel, 1);
    assert_null(find_call(c, "memory.view", 0));
    assert_non_null(bt_const_tensor(input_of(c, 0, 1)));
    check_result(ctx, c);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* 24 bytes may become eight times as many and a mebibyte. */
static void test_what_would_grow_the_program_runs_later(void **state)
{
    (void)state;
    static const struct {
        int slack;
        uint32_t nkernel;
    } rows[] = { { 24 * 8 + (1 << 20) - 192, 1 }, { 24 * 8 + (1 << 20) - 191, 2 } };
    bt_ctx *ctx = open_targets(NULL);
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        char target[64];
        bt_compiled *c;
        snprintf(target, sizeof(target), "panels{slack=%d}", rows[i].slack);
        assert_ok(ctx, compile_text(ctx, one_layer, target, &c));
        assert_int_equal(c->nkernel, rows[i].nkernel);
        check_result(ctx, c);
        bt_compiled_unref(c);
    }
    bt_ctx_destroy(ctx);
}

static void test_a_kernel_that_fails_fails_the_compilation(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_error(compile_text(ctx, one_layer, "panels{steps=2, fault=\"copy\"}", &c),
                 BT_ERR_RUNTIME, "panels: copy fails");
    bt_ctx_destroy(ctx);
}

/* ---- memory ---- */

static void *count_bytes(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    size_t *live = self;
    *live += nbytes - old_nbytes;
    if (nbytes)
        return realloc(pointer, nbytes);
    free(pointer);
    return NULL;
}

/* Bytes of memory that a program has once it is opened, and has run. */
static size_t bytes_of_program(uint32_t keeps_source)
{
    // computed when it is compiled: it lies in no file
    static const char text[] =
        "#[version = \"baton 0.1\"]\n"
        "def @main(%x: Tensor[(1, 256), float32]) {\n"
        "    nn.dense(%x, exp(const[(256, 256), float32]{0.5 ..}))\n"
        "}\n";
    size_t live = 0;
    const bt_allocator allocator = { &live, count_bytes };
    bt_ctx *ctx = open_targets(&allocator);
    const bt_program_options options = { .target = "cpu", .keeps_source = keeps_source };
    bt_program *program, *other;
    bt_module *fused;
    char path[300];
    snprintf(path, sizeof(path), TEST_FOLDER "/pack.%d", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    assert_ok(ctx, bt_program_open(ctx, path, &options, &program));
    unlink(path);
    const size_t nbytes = live;
    if (keeps_source) {
        assert_ok(ctx, bt_program_fused(program, &fused));
        bt_module_unref(fused);
    } else {
        assert_error(bt_program_fused(program, &fused), BT_ERR_UNSUPPORTED,
                     "keeps_source");
    }
    bt_tensor *x = numbers(ctx, 1, 256);
    assert_ok(ctx, bt_program_share(ctx, program, &other));
    bt_program_close(program);
    assert_ok(ctx, bt_program_set(other, bt_program_input(other, 0)->name, &x->base));
    assert_ok(ctx, bt_program_run(other));
    const bt_tensor *y = bt_object_as_tensor(bt_program_get(other, 0));
    double sum = 0;
    for (int64_t i = 0; i < x->nelem; i++)
        sum += bt_tensor_get(x, i);
    assert_float_equal(bt_tensor_get(y, 255), sum * 1.6487212707, 1e-2);
    bt_tensor_unref(x);
    bt_program_close(other);
    bt_ctx_destroy(ctx);
    return nbytes;
}

static void test_weights_leave_memory_once_packed(void **state)
{
    (void)state;
    const size_t kept = bytes_of_program(1), given_back = bytes_of_program(0);
    assert_true(kept >= given_back + 256 * 256 * sizeof(float));
}

/* Each function for itself: what one constant says is nothing to the others. */
static void test_a_function_goes_to_another_target_by_its_constants(void **state)
{
    (void)state;
    static const char body[] =
        "def @main(%x: Tensor[(2, 3), float32]) {\n"
        "    %0 = nn.dense(%x, const[(3, 3), float32]{-1, 0, 0, 0, 1, 0, 0, 0, 2});\n"
        "    %1 = nn.dense(%0, const[(3, 3), float32]{-1, 0, 0, 0, 1, 0, 0, 0, 2});\n"
        "    %2 = nn.dense(%1, const[(3, 3), float32]{-2, 0, 0, 0, 1, 0, 0, 0, 1});\n"
        "    nn.dense(%2, const[(2, 3), float32]{0.5, 0, 0, 0, 1, 1})\n"
        "}\n";
    static const double expected[] = { 5, -16, 2, -1 };
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_object *y;
    bt_tensor *x = numbers(ctx, 2, 3);
    uint32_t nown = 0;
    assert_ok(ctx, compile_text(ctx, body, "panels{fault=\"negative\"},reference", &c));
    for (uint32_t i = 0; i < c->nkernel; i++)
        nown += c->kernels[i]->target == 0;
    assert_int_equal(nown, 1);
    assert_non_null(
        strstr(bt_ctx_remark(ctx, BT_REMARK_NOTE, 0)->message, "not with its constants"));
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    for (int64_t i = 0; i < 4; i++)
        assert_float_equal(bt_tensor_get(bt_object_as_tensor(y), i), expected[i], 0);
    bt_object_unref(y);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    // nobody is behind it
    assert_error(compile_text(ctx, body, "panels{fault=\"negative\"}", &c),
                 BT_ERR_UNSUPPORTED, "below 0");
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_packed_weight_is_a_constant),
    cmocka_unit_test(test_a_function_goes_to_another_target_by_its_constants),
    cmocka_unit_test(test_packing_may_take_several_kernels),
    cmocka_unit_test(test_a_weight_that_is_an_input_is_packed_at_run_time),
    cmocka_unit_test(test_a_weight_packed_alike_is_kept_once),
    cmocka_unit_test(test_what_depends_on_no_input_is_computed),
    cmocka_unit_test(test_another_shape_of_a_weight_is_packed),
    cmocka_unit_test(test_what_would_grow_the_program_runs_later),
    cmocka_unit_test(test_a_kernel_that_fails_fails_the_compilation),
    cmocka_unit_test(test_weights_leave_memory_once_packed),
};
TEST_MAIN(tests)
