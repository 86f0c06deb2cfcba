/* The code of kernels as bytes, and programs made of it. */
#include "kit.h"

static void test_code_comes_back(void **state)
{
    (void)state;
    bt_kernel_code bytes;
    struct ocl_code code = square_code(square_text), again;
    assert_ok(ctx, ocl_code_write(ctx, arena, &code, &bytes));
    assert_ok(ctx, ocl_code_read(ctx, arena, bytes.at, bytes.nbytes, &again));
    const ocl_launch *a = code.program.launches, *b = again.program.launches;
    assert_string_equal(again.name, "square");
    assert_string_equal(a->text, b->text);
    assert_int_equal(b->narg, a->narg);
    for (uint32_t i = 0; i < a->narg; i++) {
        assert_int_equal(b->args[i].kind, a->args[i].kind);
        assert_int_equal(b->args[i].index, a->args[i].index);
        assert_int_equal(b->args[i].number.n, a->args[i].number.n);
    }
    const int64_t dims[] = { 12 };
    assert_int_equal(ocl_number_value(&b->groups[0], dims), 12);
    assert_string_equal(again.program.faults[0].text, "a number is negative");
    assert_null(again.program.faults[0].array);
}

/* A digest that fits whatever the bytes are. */
static void sign(char *bytes, size_t nbytes)
{
    const size_t head = strlen("baton opencl 1 ") + 64 + 1;
    char digest[65];
    bt_digest(bytes + head, nbytes - head, digest);
    memcpy(bytes + strlen("baton opencl 1 "), digest, 64);
}

static void test_damaged_code_is_an_error_or_other_code(void **state)
{
    (void)state;
    bt_kernel_code made;
    struct ocl_code code = square_code(square_text), again;
    assert_ok(ctx, ocl_code_write(ctx, arena, &code, &made));
    char *bytes = malloc(made.nbytes);
    for (size_t i = 0; i < made.nbytes; i++) { // its digest says so
        memcpy(bytes, made.at, made.nbytes);
        bytes[i] ^= 16;
        assert_error(ocl_code_read(ctx, arena, bytes, made.nbytes, &again), BT_ERR_FORMAT,
                     "code");
        assert_error(ocl_code_read(ctx, arena, made.at, i, &again), BT_ERR_FORMAT,
                     "code");
        bt_ctx_clear_diags(ctx);
    }
    uint32_t nrefused = 0;
    for (size_t i = 80; i < made.nbytes; i++) { // it is one of damaged bytes
        memcpy(bytes, made.at, made.nbytes);
        bytes[i] ^= (char)0xff;
        sign(bytes, made.nbytes);
        nrefused += ocl_code_read(ctx, arena, bytes, made.nbytes, &again) != NULL;
        bt_ctx_clear_diags(ctx);
    }
    assert_true(nrefused > 100);
    for (size_t n = 80; n < made.nbytes; n++) {
        memcpy(bytes, made.at, n);
        sign(bytes, n);
        assert_error(ocl_code_read(ctx, arena, bytes, n, &again), BT_ERR_FORMAT,
                     "code of");
        bt_ctx_clear_diags(ctx);
    }
    free(bytes);
}

static void test_a_kernel_that_does_not_compile_shows_its_line(void **state)
{
    (void)state;
    need_device();
    void *loaded;
    bt_status status = load_code(square_code("__kernel void NAME(__global float *a)\n"
                                             "{\n"
                                             "    a[0] = no_such_thing;\n"
                                             "}\n"),
                                 &loaded);
    assert_error(status, BT_ERR_PLUGIN, "refuses the kernels");
    assert_string_equal(status->place.file, "kernels.cl");
    assert_string_equal(status->place.text, "    a[0] = no_such_thing;");
    assert_non_null(status->note);
}

static void test_a_kernel_of_other_parameters_is_refused(void **state)
{
    (void)state;
    need_device();
    void *loaded;
    assert_error(
        load_code(square_code("__kernel void NAME(__global float *a) { *a = 1; }"),
                  &loaded),
        BT_ERR_FORMAT, "arguments for 7 parameters, and its kernel has 1");
    struct ocl_code code = square_code(square_text);
    ocl_launch launch = code.program.launches[0];
    launch.local[0] = 1 << 15;
    code.program.launches = &launch;
    assert_error(load_code(code, &loaded), BT_ERR_UNSUPPORTED, "groups of 32768");
    launch.local[0] = 16;
    launch.local_nbytes = UINT32_MAX;
    assert_error(load_code(code, &loaded), BT_ERR_UNSUPPORTED,
                 "4294967295 bytes of memory");
}

static void test_equal_texts_are_one_kernel(void **state)
{
    (void)state;
    need_device();
    bt_kernel_code bytes;
    void *loaded;
    struct ocl_code code = square_code(square_text);
    const bt_kernel_code *codes[] = { &bytes, &bytes, &bytes };
    assert_ok(ctx, ocl_code_write(ctx, arena, &code, &bytes));
    assert_ok(ctx, ocl_load(ctx, device, "/* a head */\n", 3, codes, &loaded));
    ocl_unload(loaded);
    assert_ok(ctx, ocl_load(ctx, device, "", 0, codes, &loaded));
    ocl_unload(loaded);
}

static const struct CMUnitTest tests[] = {
    ON_DEVICE(test_code_comes_back),
    ON_DEVICE(test_damaged_code_is_an_error_or_other_code),
    ON_DEVICE(test_a_kernel_that_does_not_compile_shows_its_line),
    ON_DEVICE(test_a_kernel_of_other_parameters_is_refused),
    ON_DEVICE(test_equal_texts_are_one_kernel),
};

TEST_MAIN(tests)
