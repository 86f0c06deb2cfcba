/* Kernels with code of their own for values and ranges of dims: whichever is chosen, the
 * results have the bits of the program without versions. */
#include "programs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <baton/baton.h>

enum { MOST = 64 };

/* A product, a convolution and a sum along the dim itself. */
static const char text[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main<n: Dim in 0..64>(%x: Tensor[(n, 2, 6, 6), float32],\n"
    "                           %w: Tensor[(40, 72), float32],\n"
    "                           %k: Tensor[(5, 2, 3, 3), float32]) {\n"
    "    %rows = reshape(%x, newshape=[n, 72]);\n"
    "    %h = nn.relu(nn.dense(%rows, %w));\n"
    "    %c = tanh(nn.conv2d(%x, %k, padding=[1, 1, 1, 1]));\n"
    "    (%h, %c, sum(%rows, axis=[0]), nn.softmax(%h))\n"
    "}\n";

static bt_tensor *ramp(bt_ctx *ctx, uint32_t rank, const int64_t *dims)
{
    bt_tensor *out;
    int64_t nelem = 1;
    for (uint32_t i = 0; i < rank; i++)
        nelem *= dims[i];
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, rank, dims, &out));
    for (int64_t i = 0; i < nelem; i++)
        ((float *)out->data)[i] = (float)((i * 2654435761U >> 7) % 1009) / 1009 - 0.5f;
    return out;
}

static bt_program *open_program(bt_ctx *ctx, const char *executor, const char *target,
                                const char *hot)
{
    char path[sizeof(TEST_FOLDER) + 40];
    bt_program *program;
    snprintf(path, sizeof(path), TEST_FOLDER "/versions.%ld.baton", (long)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    const bt_program_options options = { .executor = executor,
                                         .target = target,
                                         .hot = hot };
    assert_ok(ctx, bt_program_open(ctx, path, &options, &program));
    remove(path);
    return program;
}

static void run(bt_ctx *ctx, bt_program *program, int64_t n)
{
    const int64_t x[] = { n, 2, 6, 6 }, w[] = { 40, 72 }, k[] = { 5, 2, 3, 3 };
    bt_tensor *in[] = { ramp(ctx, 4, x), ramp(ctx, 2, w), ramp(ctx, 4, k) };
    for (uint32_t i = 0; i < BT_COUNT(in); i++) {
        assert_ok(ctx, bt_program_set_at(program, i, &in[i]->base));
        bt_tensor_unref(in[i]);
    }
    assert_ok(ctx, bt_program_run(program));
}

/* One session for all of them: each call chooses anew. */
static void check_versions(const char *executor, const char *target, const char *hot)
{
    bt_ctx *ctx = open_targets(NULL);
    bt_program *plain = open_program(ctx, executor, target, NULL);
    bt_program *versions = open_program(ctx, executor, target, hot);
    for (int64_t n = 0; n <= MOST; n++) {
        run(ctx, plain, n);
        run(ctx, versions, n);
        for (uint32_t i = 0; i < bt_program_noutput(plain); i++) {
            const bt_tensor *a = bt_object_as_tensor(bt_program_get(plain, i)),
                            *b = bt_object_as_tensor(bt_program_get(versions, i));
            assert_int_equal(bt_tensor_nbytes(a), bt_tensor_nbytes(b));
            if (memcmp(a->data, b->data, bt_tensor_nbytes(a)) != 0)
                fail_msg("hot=\"%s\", n = %d: result %u has other bits", hot, (int)n, i);
        }
    }
    bt_program_close(plain);
    bt_program_close(versions);
    bt_ctx_destroy(ctx);
}

/* At the ends, between the steps, and beyond. */
static void test_ranges_give_the_same_bits(void **state)
{
    (void)state;
    check_versions("graph", "cpu{threads=1}", "n=2..5,8..32 step 8,40..60 step 3,62..");
    check_versions("graph", "cpu{threads=2}", "n=0..15,8..48 step 16,30..");
    check_versions("vm", "cpu{threads=2}", "n=16..48 step 16,8..64 step 8");
}

static void test_values_give_the_same_bits(void **state)
{
    (void)state;
    check_versions("graph", "cpu{threads=1}", "n=0,8,9,64");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_ranges_give_the_same_bits),
    cmocka_unit_test(test_values_give_the_same_bits),
};
TEST_MAIN(tests)
