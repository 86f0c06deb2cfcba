/* Dims: normal forms, bounds, equality. */
#include <inttypes.h>

#include "test.h"

#include "ir/store.h"
#include "random_dims.h"

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
    assert_ptr_equal(cdiv(num(1), 0), num(0));
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
    assert_ptr_equal(fdiv(line(block, 2, 3), 16), fdiv(block, 8));
    assert_ptr_equal(line(fdiv(block, 4), 4, 0), block);
    assert_ptr_equal(line(mul(fdiv(block, 4), n), 8, 0), line(mul(block, n), 2, 0));
    assert_ptr_equal(mul(line(fdiv(block, 4), 4, 0), n), mul(block, n));
    const bt_type *exact = fdiv(line(block, 3, 0), 8);
    assert_ptr_equal(line(exact, -17, 1), add(line(block, -9, 1), line(exact, 7, 0)));
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
    const bt_type *short_range =
        bt_type_var(store, &(bt_type_param){ BT_KIND_DIM, 9, 15, 1 }, "s");
    assert_ptr_equal(mod(short_range, 8), line(short_range, 1, -8));
}

static void test_quotients_by_symbols(void **state)
{
    (void)state;
    const bt_type *product = mul(n, k);
    assert_ptr_equal(bt_dim_floordiv(store, product, k), n);
    assert_ptr_equal(bt_dim_floordiv(store, line(mul(product, m), 6, 0), line(k, 2, 0)),
                     line(mul(n, m), 3, 0));
    assert_ptr_equal(bt_dim_floordiv(store, mul(k, product), k), product);
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

static void check_bounds(const bt_type *dim, int64_t least, int64_t greatest)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    assert_int_equal(low, least);
    assert_int_equal(high, greatest);
}

static void test_bounds(void **state)
{
    (void)state;
    check_bounds(n, 0, INT64_MAX);
    check_bounds(line(n, 1, 5), 5, INT64_MAX);
    check_bounds(line(n, -1, 5), INT64_MIN, 5);
    check_bounds(line(sub(n, m), 1, 5), INT64_MIN, INT64_MAX);
    check_bounds(line(k, -3, 100), 100 - 3 * 64, 97);
    check_bounds(mul(k, block), 8, 64 * 512);
    check_bounds(bt_dim_mod(store, n, k), 0, 63);
    check_bounds(mod(n, 10), 0, 9);
    check_bounds(bt_dim_floordiv(store, block, k), 0, 512);
    check_bounds(bt_dim_min(store, n, k), 0, 64);
    check_bounds(bt_dim_max(store, n, k), 1, INT64_MAX);
    // Where the terms depend on each other.
    const bt_type *half = fdiv(n, 2);
    check_bounds(sub(n, half), 0, INT64_MAX);
    check_bounds(sub(n, line(half, 2, 0)), 0, 1);
    check_bounds(sub(n, bt_dim_min(store, n, m)), 0, INT64_MAX);
    check_bounds(sub(bt_dim_max(store, n, m), m), 0, INT64_MAX);
    check_bounds(sub(bt_dim_max(store, n, m), bt_dim_min(store, n, m)), 0, INT64_MAX);
    check_bounds(sub(mul(n, k), n), 0, INT64_MAX);
    check_bounds(sub(n, bt_dim_floordiv(store, n, k)), 0, INT64_MAX);
    check_bounds(sub(n, mod(n, 5)), 0, INT64_MAX);
    check_bounds(sub(add(n, half), m), INT64_MIN, INT64_MAX);
    check_bounds(line(num(INT64_MAX), 1, 0), INT64_MAX, INT64_MAX);
    check_bounds(line(k, INT64_MAX / 2, 0), INT64_MAX / 2, INT64_MAX);
}

static void test_wide_dims_are_refused(void **state)
{
    (void)state;
    const bt_type *sum = num(0), *product = num(1), *most = num(0);
    bt_type_param free_dim = { .kind = BT_KIND_DIM };
    for (int i = 0; i < 256; i++) {
        const bt_type *v = bt_type_var(store, &free_dim, NULL);
        sum = add(sum, v);
        product = i < 32 ? mul(product, v) : product;
        most = i < 32 ? bt_dim_max(store, most, v) : most;
        assert_true(sum && product && most);
    }
    const bt_type *v = bt_type_var(store, &free_dim, NULL);
    assert_null(add(sum, v));
    assert_null(mul(product, v));
    assert_null(bt_dim_max(store, most, v));
    assert_null(mul(sum, sum));
    assert_ptr_equal(sub(sum, sum), num(0));
}

/* ---- random dims against direct evaluation ---- */

enum { NPOOL = 150, NROUND = 60, NSAMPLE = 25 };

static void check_values(const struct random_dim *pool, const bt_type *const *vars,
                         const int64_t *values, int *nchecked)
{
    for (int i = 0; i < NPOOL; i++) {
        int64_t asked, made, low, high;
        if (!pool[i].term || !value_of_asked(pool, i, values, &asked))
            continue;
        bt_dim_bounds(pool[i].term, &low, &high);
        assert_true(low <= asked && asked <= high);
        if (!value_of_term(pool[i].term, vars, values, &made))
            continue;
        assert_int_equal(asked, made);
        ++*nchecked;
    }
}

static void test_random_dims_keep_their_values_and_bounds(void **state)
{
    (void)state;
    struct random_dim pool[NPOOL];
    const bt_type *vars[NVAR];
    int64_t values[NVAR];
    int nchecked = 0;
    random_state = 1;
    for (int round = 0; round < NROUND; round++) {
        random_vars(store, vars);
        random_pool(store, pool, NPOOL, vars);
        for (int i = 0; i < NSAMPLE; i++) {
            random_values(values);
            check_values(pool, vars, values, &nchecked);
        }
    }
    assert_true(nchecked > NROUND * NSAMPLE * NPOOL / 2);
}

static void test_random_decisions_are_never_wrong(void **state)
{
    (void)state;
    struct random_dim pool[NPOOL];
    const bt_type *vars[NVAR];
    int64_t values[NVAR], asked[NPOOL];
    int known[NPOOL], ndecided[3] = { 0 };
    random_state = 2;
    for (int round = 0; round < NROUND / 4; round++) {
        random_vars(store, vars);
        random_pool(store, pool, NPOOL, vars);
        static int decisions[NPOOL][NPOOL];
        for (int i = 0; i < NPOOL; i++) {
            for (int j = 0; j < NPOOL; j++) {
                decisions[i][j] = pool[i].term && pool[j].term
                                      ? bt_dim_equal(store, pool[i].term, pool[j].term)
                                      : 0;
                ndecided[decisions[i][j] + 1] += i != j;
            }
        }
        for (int sample = 0; sample < NSAMPLE; sample++) {
            random_values(values);
            for (int i = 0; i < NPOOL; i++)
                known[i] = value_of_asked(pool, i, values, &asked[i]);
            for (int i = 0; i < NPOOL * NPOOL; i++) {
                int a = i / NPOOL, b = i % NPOOL;
                if (!known[a] || !known[b])
                    continue;
                assert_true(decisions[a][b] != 1 || asked[a] == asked[b]);
                assert_true(decisions[a][b] != -1 || asked[a] != asked[b]);
                assert_int_equal(decisions[a][b], decisions[b][a]);
            }
        }
    }
    // All three answers were given, often.
    for (int i = 0; i < 3; i++)
        assert_true(ndecided[i] > 1000);
}

/* ---- dims as bytes ---- */

struct values {
    const bt_type *const *vars;
    const int64_t *values;
};

static const bt_type *value_of_var(bt_subst *subst, const bt_type *leaf)
{
    const struct values *v = subst->state;
    for (int i = 0; i < NVAR; i++) {
        if (v->vars[i] == leaf)
            return bt_dim(store, v->values[i]);
    }
    return NULL;
}

/* The code gives what substitution of the values gives, for a million random dims. */
static void test_code_of_random_dims_is_substitution(void **state)
{
    enum { NTERM = 1000000, FRESH_STORE = 40 };
    struct random_dim pool[NPOOL];
    const bt_type *vars[NVAR];
    int64_t values[NVAR], by_code, by_term;
    int ndone = 0, nrefused = 0;
    bt_ctx *ctx = bt_ctx_create(registry);
    (void)state;
    random_state = 3;
    for (int round = 0; ndone < NTERM; round++) {
        if (round % FRESH_STORE == 0) {
            bt_store_unref(store);
            store = bt_store_create(registry);
        }
        random_vars(store, vars);
        random_pool(store, pool, NPOOL, vars);
        random_values(values);
        struct values v = { vars, values };
        const void *mark = bt_arena_mark(bt_ctx_scratch(ctx));
        for (int i = 12; i < NPOOL; i++) {
            bt_dim_code code;
            bt_subst subst = { .leaf = value_of_var, .state = &v };
            if (!pool[i].term)
                continue;
            bt_status status =
                bt_dim_compile(ctx, bt_ctx_scratch(ctx), pool[i].term, NVAR, vars, &code);
            if (status) {
                assert_int_equal(status->code, BT_ERR_LIMIT);
                nrefused++;
                continue;
            }
            ndone++;
            const bt_type *number = bt_type_subst(store, &subst, pool[i].term);
            int is_known = bt_dim_eval(&code, values, &by_code);
            // the store refuses some steps later than the code, none earlier
            if (is_known) {
                assert_non_null(number);
                assert_true(bt_dim_is_const(number, &by_term));
                assert_int_equal(by_code, by_term);
            }
        }
        bt_arena_release(bt_ctx_scratch(ctx), mark);
        bt_ctx_clear_diags(ctx);
    }
    assert_true(nrefused < NTERM / 1000);
    bt_ctx_destroy(ctx);
    teardown(NULL);
    setup(NULL);
}

static void test_code_from_a_file_is_checked(void **state)
{
    static const struct {
        uint8_t at[12];
        uint32_t nbyte;
        int is_valid;
    } rows[] = {
        { { 0, 14 }, 2, 1 },         // 7
        { { 1, 2 }, 2, 1 },          // the dim at 1
        { { 1, 4 }, 2, 0 },          // a dim that is not there
        { { 1, 1 }, 2, 0 },          // at -1
        { { 0 }, 1, 0 },             // no number
        { { 0, 128 }, 2, 0 },        // half of one
        { { 0, 2, 2 }, 3, 0 },       // a sum of one
        { { 0, 2, 0, 2 }, 4, 0 },    // two results
        { { 0, 2, 0, 2, 2 }, 5, 1 }, // their sum
        { { 0, 2, 0, 2, 9 }, 5, 0 }, // no operation
        { { 0 }, 0, 0 },             // nothing
        { { 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 }, 11, 1 },
        { { 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 }, 11, 0 }, // 65 bits
    };
    (void)state;
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        bt_dim_code code = { rows[i].at, rows[i].nbyte, 2 };
        assert_int_equal(bt_dim_code_is_valid(&code), rows[i].is_valid);
    }
    uint8_t deep[600];
    for (int i = 0; i < 300; i++) {
        deep[2 * i] = 0;
        deep[2 * i + 1] = 2;
    }
    assert_false(bt_dim_code_is_valid(&(bt_dim_code){ deep, 600, 0 }));
}

/* low, high, step of a parameter; what is asked for; what is left, low 0 and high -1: none. */
static const int64_t narrowed[][9] = {
    { 1, 64, 1, 8, 32, 8, 8, 32, 8 },
    { 1, 64, 1, 5, 30, 8, 8, 24, 8 },
    { 1, 64, 4, 1, 64, 6, 12, 60, 12 },
    { 1, 64, 1, 60, INT64_MAX, 1, 60, 64, 1 },
    { 0, INT64_MAX, 1, 3, INT64_MAX, 8, 8, INT64_MAX, 8 },
    { 1, 64, 8, 8, 15, 1, 8, 8, 1 },
    { 1, 64, 1, -5, 0, 1, 0, -1, 0 },
    { 1, 64, 1, 65, 70, 1, 0, -1, 0 },
    { 1, 64, 8, 9, 15, 1, 0, -1, 0 },
    { 1, 64, 1, 1, 64, 0, 0, -1, 0 },
    { 0, INT64_MAX, INT64_MAX - 1, 1, INT64_MAX, 5, 0, -1, 0 },
    { 0, INT64_MAX, 1, INT64_MAX, INT64_MAX, 8, 0, -1, 0 },
};

static void test_parameters_are_narrowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < BT_COUNT(narrowed); i++) {
        const int64_t *row = narrowed[i];
        const bt_type_param before = { BT_KIND_DIM, row[0], row[1], row[2] };
        bt_type_param p = before;
        const bt_type_param after =
            row[7] < 0 ? before : (bt_type_param){ BT_KIND_DIM, row[6], row[7], row[8] };
        assert_int_equal(bt_type_param_narrow(&p, row[3], row[4], row[5]), row[7] >= 0);
        if (!bt_type_param_equal(&p, &after))
            fail_msg("row %zu: %" PRId64 "..%" PRId64 " step %" PRId64, i, p.low, p.high,
                     p.step);
    }
}

static void test_code_sees_overflow_and_foreign_dims(void **state)
{
    bt_ctx *ctx = bt_ctx_create(registry);
    bt_arena *arena = bt_ctx_scratch(ctx);
    bt_dim_code code;
    int64_t out;
    (void)state;
    assert_ok(ctx, bt_dim_compile(ctx, arena, mul(n, m), 2, (const bt_type *[]){ n, m },
                                  &code));
    assert_true(bt_dim_eval(&code, (int64_t[]){ INT64_C(1) << 31, 1 << 30 }, &out));
    assert_int_equal(out, INT64_C(1) << 61);
    assert_false(bt_dim_eval(&code, (int64_t[]){ INT64_C(1) << 33, 1 << 30 }, &out));
    assert_error(bt_dim_compile(ctx, arena, add(n, m), 1, &n, &code), BT_ERR_UNSUPPORTED,
                 "no argument");
    bt_ctx_destroy(ctx);
}

// clang-format off
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
    TEST(test_bounds),
    TEST(test_parameters_are_narrowed),
    TEST(test_wide_dims_are_refused),
    TEST(test_random_dims_keep_their_values_and_bounds),
    TEST(test_random_decisions_are_never_wrong),
    TEST(test_code_of_random_dims_is_substitution),
    TEST(test_code_from_a_file_is_checked),
    TEST(test_code_sees_overflow_and_foreign_dims),
};
// clang-format on
TEST_MAIN(tests)
