#include "test.h"

#include "ir/store.h"
#include "ir_doubles.h"

static bt_registry *registry;
static bt_store *store;
static const bt_type *n, *m, *k, *block;

static int setup(void **state)
{
    (void)state;
    registry = bt_registry_create(NULL);
    store = bt_store_create(registry);
    bt_type_param free_dim = { .kind = BT_KIND_DIM };
    n = bt_type_var(store, &free_dim, "n");
    m = bt_type_var(store, &free_dim, "m");
    k = bt_type_var(store, &(bt_type_param){ BT_KIND_DIM, 1, 64, 1 }, "k");
    block = bt_type_var(store, &(bt_type_param){ BT_KIND_DIM, 8, 512, 8 }, "block");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bt_store_unref(store);
    bt_registry_unref(registry);
    return 0;
}

/* Short names, for expressions as tables show them. */
static const bt_type *num(int64_t c)
{
    return bt_dim(store, c);
}
static const bt_type *add(const bt_type *a, const bt_type *b)
{
    return bt_dim_add(store, a, b);
}
static const bt_type *sub(const bt_type *a, const bt_type *b)
{
    return bt_dim_sub(store, a, b);
}
static const bt_type *mul(const bt_type *a, const bt_type *b)
{
    return bt_dim_mul(store, a, b);
}
static const bt_type *line(const bt_type *a, int64_t coefficient, int64_t constant)
{
    return bt_dim_scale(store, a, coefficient, constant);
}
static const bt_type *fdiv(const bt_type *a, int64_t by)
{
    return bt_dim_floordiv(store, a, num(by));
}
static const bt_type *cdiv(const bt_type *a, int64_t by)
{
    return bt_dim_ceildiv(store, a, num(by));
}
static const bt_type *mod(const bt_type *a, int64_t by)
{
    return bt_dim_mod(store, a, num(by));
}

static void test_sums_are_collected(void **state)
{
    (void)state;
    assert_ptr_equal(add(n, m), add(m, n));
    assert_ptr_equal(sub(add(n, m), m), n);
    assert_ptr_equal(sub(n, n), num(0));
    assert_ptr_equal(add(line(n, 2, 3), line(n, -1, -3)), n);
    assert_ptr_equal(line(n, 0, 7), num(7));
    assert_ptr_equal(add(num(2), num(3)), num(5));
}

static void test_products_are_distributed(void **state)
{
    (void)state;
    assert_ptr_equal(mul(n, m), mul(m, n));
    assert_ptr_equal(mul(mul(n, m), k), mul(n, mul(k, m)));
    assert_ptr_equal(mul(n, add(m, num(1))), add(mul(n, m), n));
    // (n + 1) (n - 1) = n n - 1
    assert_ptr_equal(mul(line(n, 1, 1), line(n, 1, -1)), line(mul(n, n), 1, -1));
    assert_ptr_equal(mul(n, num(0)), num(0));
    assert_ptr_equal(mul(n, num(1)), n);
}

static void test_quotients_by_numbers(void **state)
{
    (void)state;
    assert_ptr_equal(fdiv(num(-7), 2), num(-4));
    assert_ptr_equal(fdiv(n, 1), n);
    assert_ptr_equal(fdiv(n, -1), line(n, -1, 0));
    assert_ptr_equal(fdiv(n, 0), num(0));
    assert_ptr_equal(fdiv(line(n, 4, 2), 2), line(n, 2, 1));
    assert_ptr_equal(fdiv(line(n, 5, 7), 2), add(line(n, 2, 3), fdiv(line(n, 1, 1), 2)));
    assert_ptr_equal(fdiv(line(n, 2, 3), 4), fdiv(line(n, 1, 1), 2));
    assert_ptr_equal(fdiv(fdiv(n, 2), 3), fdiv(n, 6));
    assert_ptr_equal(fdiv(line(fdiv(n, 2), 1, 3), 4), fdiv(line(n, 1, 6), 8));
    assert_ptr_equal(cdiv(n, 4), fdiv(line(n, 1, 3), 4));
    assert_ptr_equal(line(fdiv(line(n, 1, -1), 2), 1, 1), cdiv(n, 2));
    assert_ptr_equal(fdiv(k, 65), num(0));
    assert_ptr_equal(fdiv(mod(n, 4), 4), num(0));
    assert_ptr_equal(fdiv(line(block, 1, 3), 4), fdiv(block, 4));
    assert_ptr_equal(fdiv(line(n, 1, 1), -2), fdiv(line(n, -1, -1), 2));
}

static void test_remainders_by_numbers(void **state)
{
    (void)state;
    assert_ptr_equal(mod(num(-7), 4), num(1));
    assert_ptr_equal(mod(num(7), -4), num(-1));
    assert_ptr_equal(mod(n, 1), num(0));
    assert_ptr_equal(mod(n, 0), num(0));
    assert_ptr_equal(mod(line(n, 5, 7), 4), mod(line(n, 1, 3), 4));
    assert_ptr_equal(mod(line(n, 4, 3), 2), num(1));
    assert_ptr_equal(mod(line(n, 2, 3), 4), line(mod(line(n, 1, 1), 2), 2, 1));
    assert_ptr_equal(mod(mod(n, 8), 4), mod(n, 4));
    assert_ptr_equal(mod(add(mod(n, 8), m), 4), mod(add(n, m), 4));
    assert_ptr_equal(mod(k, 65), k);
    assert_ptr_equal(mod(block, 4), num(0));
}

static void test_quotients_by_symbols(void **state)
{
    (void)state;
    const bt_type *product = mul(n, k);
    assert_ptr_equal(bt_dim_floordiv(store, product, k), n);
    assert_ptr_equal(bt_dim_floordiv(store, line(mul(product, m), 6, 0), line(k, 2, 0)),
                     line(mul(n, m), 3, 0));
    assert_ptr_equal(bt_dim_floordiv(store, k, k), num(1));
    assert_ptr_equal(bt_dim_floordiv(store, line(product, 1, -1), k), line(n, 1, -1));
    assert_ptr_equal(bt_dim_ceildiv(store, product, k), n);
    // A divisor that may be 0 divides nothing out.
    assert_int_equal(bt_dim_floordiv(store, product, n)->kind, BT_TYPE_FLOORDIV);
    assert_int_equal(bt_dim_ceildiv(store, product, n)->kind, BT_TYPE_CEILDIV);
    assert_ptr_equal(bt_dim_floordiv(store, num(0), n), num(0));
    assert_ptr_equal(bt_dim_mod(store, product, n), num(0));
    assert_ptr_equal(bt_dim_mod(store, add(product, m), n), bt_dim_mod(store, m, n));
    const bt_type *rest = bt_dim_mod(store, m, n);
    assert_ptr_equal(bt_dim_mod(store, rest, n), rest);
}

static void test_min_and_max(void **state)
{
    (void)state;
    const bt_type *both = bt_dim_max(store, n, m);
    assert_ptr_equal(both, bt_dim_max(store, m, n));
    assert_ptr_equal(bt_dim_max(store, both, n), both);
    assert_ptr_equal(bt_dim_max(store, n, num(0)), n);
    assert_ptr_equal(bt_dim_min(store, n, num(0)), num(0));
    assert_ptr_equal(bt_dim_max(store, n, line(n, 1, 2)), line(n, 1, 2));
    assert_ptr_equal(bt_dim_min(store, line(n, 2, 0), n), n);
    assert_ptr_equal(bt_dim_max(store, k, num(64)), num(64));
    assert_ptr_equal(bt_dim_max(store, bt_dim_max(store, n, num(3)), num(5)),
                     bt_dim_max(store, num(5), n));
}

static void test_overflow_is_refused(void **state)
{
    (void)state;
    bt_ctx *ctx = bt_ctx_create(registry);
    const bt_type *big = num(INT64_MAX), *least = num(INT64_MIN);
    assert_null(add(big, num(1)));
    assert_error(bt_store_why(ctx, store), BT_ERR_LIMIT, "overflows");
    assert_null(sub(least, num(1)));
    assert_null(mul(big, num(2)));
    assert_null(mul(line(n, INT64_MAX, 0), line(m, 2, 0)));
    assert_null(line(n, INT64_MAX, 0) ? add(line(n, INT64_MAX, 0), n) : n);
    assert_null(fdiv(least, -1));
    assert_null(mul(least, num(-1)));
    assert_null(bt_dim_mod(store, n, least));
    assert_ptr_equal(fdiv(line(n, 1, INT64_MIN), 2), line(fdiv(n, 2), 1, INT64_MIN / 2));
    bt_ctx_destroy(ctx);
}

static void test_what_is_not_known_absorbs(void **state)
{
    (void)state;
    const bt_type *any = bt_type_hole(store, BT_KIND_DIM);
    assert_ptr_equal(sub(any, any), any);
    assert_ptr_equal(mul(any, num(0)), any);
    assert_ptr_equal(bt_dim_max(store, n, any), any);
    assert_ptr_equal(fdiv(any, 2), any);
    assert_int_equal(bt_dim_equal(store, any, any), 0);
}

static void test_equality_is_decided(void **state)
{
    (void)state;
    const bt_type *opaque = bt_dim_opaque(store, "a");
    assert_int_equal(bt_dim_equal(store, n, n), 1);
    assert_int_equal(bt_dim_equal(store, n, m), 0);
    assert_int_equal(bt_dim_equal(store, n, line(n, 1, 1)), -1);
    assert_int_equal(bt_dim_equal(store, num(3), num(4)), -1);
    assert_int_equal(bt_dim_equal(store, k, num(65)), -1);
    assert_int_equal(bt_dim_equal(store, k, num(64)), 0);
    assert_int_equal(bt_dim_equal(store, line(n, 2, 0), line(m, 2, 1)), -1);
    assert_int_equal(bt_dim_equal(store, block, num(20)), -1);
    assert_int_equal(bt_dim_equal(store, block, num(24)), 0);
    assert_int_equal(bt_dim_equal(store, opaque, opaque), 1);
    assert_int_equal(bt_dim_equal(store, opaque, bt_dim_opaque(store, "a")), 0);
    assert_int_equal(bt_dim_equal(store, mod(n, 4), sub(n, line(fdiv(n, 4), 4, 0))), 1);
    // By a symbol that may be 0 the remainder is 0, not n.
    const bt_type *part = mul(m, bt_dim_floordiv(store, n, m));
    assert_int_equal(bt_dim_equal(store, bt_dim_mod(store, n, m), sub(n, part)), 0);
}

// clang-format off
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
    TEST(test_sums_are_collected),
    TEST(test_products_are_distributed),
    TEST(test_quotients_by_numbers),
    TEST(test_remainders_by_numbers),
    TEST(test_quotients_by_symbols),
    TEST(test_min_and_max),
    TEST(test_overflow_is_refused),
    TEST(test_what_is_not_known_absorbs),
    TEST(test_equality_is_decided),
};
// clang-format on
TEST_MAIN(tests)
