/* Products by CLBlast: on the machine's device, for which they are asked for although it may be a
 * processor. */
#include "kit.h"

static int open_blas(void **state)
{
    if (setup(state))
        return -1;
    arena = bt_arena_create(registry);
    device = NULL;
    open_as((struct ocl_wish){ .blas = "always" });
    return arena ? 0 : -1;
}

static void need_blas(void)
{
    need_device();
    if (!device->blas) {
        print_message("skipped: there is no CLBlast (libclblast.so.1)\n");
        skip();
    }
}

static struct ocl_code product_code(const ocl_product *product)
{
    ocl_arg *args = BT_NEWS(arena, ocl_arg, 3);
    ocl_launch *launch = BT_NEW(arena, ocl_launch);
    args[0] = (ocl_arg){ OCL_ARG_BUFFER, 0, number(8) };
    args[1] = (ocl_arg){ OCL_ARG_BUFFER, 1, { 0 } };
    args[2] = (ocl_arg){ OCL_ARG_BUFFER, 2, { 0 } };
    *launch = (ocl_launch){ .product = product,
                            .narg = 3,
                            .args = args,
                            .local = { 1, 1, 1 },
                            .groups = { number(1), number(1), number(1) } };
    return (struct ocl_code){ .name = "multiply",
                              .nbuffer = 3,
                              .program = { .nlaunch = 1, .launches = launch } };
}

static float element(const float *of, const ocl_matrices *m, int64_t batch, int64_t i,
                     int64_t k)
{
    return of[batch * m->matrix + (m->is_transposed ? k * m->row + i : i * m->row + k)];
}

static void check_product(const ocl_product *p)
{
    enum { N = 4000 };
    static float x[3][N];
    struct ocl_block *blocks[3];
    void *loaded, *buffers[3];
    const uint64_t offsets[3] = { 16, 128, 0 };
    struct ocl_queue *q = open_queue(), *other = open_queue();
    uint64_t value = 0;
    for (uint32_t b = 0; b < 3; b++) {
        for (uint32_t i = 0; i < N; i++)
            x[b][i] = (float)((i * 7 + b) % 11) - 5;
        buffers[b] = blocks[b] = alloc(sizeof(x[b]));
        value = give_copy(other, own(blocks[b], 0, sizeof(x[b])),
                          host(x[b], sizeof(x[b])), at_once);
    }
    assert_ok(ctx, load_code(product_code(p), &loaded));
    const bt_event copied = { other, value };
    const bt_kernel_call call = {
        .nbytes = sizeof(call), .nbuffer = 3, .buffers = buffers, .offsets = offsets
    };
    const bt_order order = { .queue = q, .nwait = 1, .waits = &copied };
    assert_ok(ctx, ocl_enqueue(ctx, loaded, 0, &call, &order, &value));
    wait_for(q, value);
    copy(host(x[2], sizeof(x[2])), own(blocks[2], 0, sizeof(x[2])));
    for (int64_t b = 0; b < p->batch; b++) {
        for (int64_t i = 0; i < p->m * p->n; i++) {
            float sum = 0;
            for (int64_t k = 0; k < p->k; k++)
                sum += element(x[0] + 6, &p->a, b, i / p->n, k) *
                       element(x[1] + 32, &p->b, b, k, i % p->n);
            assert_true(element(x[2], &p->c, b, i / p->n, i % p->n) == sum);
        }
    }
    ocl_unload(loaded);
    ocl_close_queue(q);
    ocl_close_queue(other);
    for (uint32_t b = 0; b < 3; b++)
        ocl_free(device, blocks[b]);
}

static void test_matrices_are_multiplied(void **state)
{
    (void)state;
    need_blas();
    check_product(&(ocl_product){ .batch = 1,
                                  .m = 5,
                                  .n = 9,
                                  .k = 30,
                                  .a = { .row = 30 },
                                  .b = { .row = 11 },
                                  .c = { .row = 9 } });
    check_product(&(ocl_product){ .batch = 1,
                                  .m = 5,
                                  .n = 9,
                                  .k = 30,
                                  .a = { .is_transposed = 1, .row = 5 },
                                  .b = { .is_transposed = 1, .row = 30 },
                                  .c = { .row = 12 } });
    check_product(&(ocl_product){ .batch = 4,
                                  .m = 5,
                                  .n = 7,
                                  .k = 20,
                                  .a = { .row = 20, .matrix = 100 },
                                  .b = { .is_transposed = 1, .row = 20, .matrix = 140 },
                                  .c = { .row = 7, .matrix = 35 } });
}

static void test_products_that_are_none_are_refused(void **state)
{
    (void)state;
    need_device();
    bt_kernel_code bytes;
    const ocl_product good = { .batch = 2,
                               .m = 5,
                               .n = 7,
                               .k = 20,
                               .a = { .row = 20, .matrix = 100 },
                               .b = { .row = 7, .matrix = 140 },
                               .c = { .row = 7, .matrix = 35 } };
    ocl_product wrong[6] = { good, good, good, good, good, good };
    wrong[0].m = 0;
    wrong[1].a.row = 19;
    wrong[2].b.is_transposed = 1;
    wrong[3].c.row = 6;
    wrong[4].c.is_transposed = 1;
    wrong[5].k = (int64_t)1 << 40;
    struct ocl_code code = product_code(&good);
    assert_ok(ctx, ocl_code_write(ctx, arena, &code, &bytes));
    for (uint32_t i = 0; i < BT_COUNT(wrong); i++) {
        code = product_code(&wrong[i]);
        assert_error(ocl_code_write(ctx, arena, &code, &bytes), BT_ERR_FORMAT,
                     "a product");
    }
}

static void test_without_clblast_products_are_refused(void **state)
{
    (void)state;
    need_device();
    ocl_close(device);
    open_as((struct ocl_wish){ .blas = "off" });
    void *loaded;
    const ocl_product product = { .batch = 1,
                                  .m = 1,
                                  .n = 1,
                                  .k = 1,
                                  .a = { .row = 1 },
                                  .b = { .row = 1 },
                                  .c = { .row = 1 } };
    assert_error(load_code(product_code(&product), &loaded), BT_ERR_UNSUPPORTED,
                 "CLBlast");
}

#define BY_BLAS(name) cmocka_unit_test_setup_teardown(name, open_blas, close_device)
static const struct CMUnitTest tests[] = {
    BY_BLAS(test_matrices_are_multiplied),
    BY_BLAS(test_products_that_are_none_are_refused),
    BY_BLAS(test_without_clblast_products_are_refused),
};

TEST_MAIN(tests)
