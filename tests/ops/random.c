/*
 * Random numbers are those of their distributions: statistics of fixed keys, the same numbers
 * each time, within what one key in 10,000 would exceed.
 */
#include <math.h>

#include <baton/executor.h>

#include "kit.h"

enum { COUNT = 65536 };
static const double most_sigmas = 3.9, most_kolmogorov = 2.23;

/* ---- drawing ---- */

/* What `call` gives for the key of `seed`: "random.uniform(%key, shape=[9])". */
static bt_tensor *draw(kit *k, uint32_t seed, const char *call)
{
    const void *row;
    void *session;
    bt_object *out;
    char text[512];
    snprintf(text, sizeof(text),
             "#[version = \"baton 0.1\"]\n"
             "def @main() { let %%key = random.threefry_key(%uu32); %s }",
             seed, call);
    bt_module *module = read_module(k, text);
    assert_ok(k->ctx, bt_registry_row(k->ctx, "baton.executor/1", "interp",
                                      sizeof(bt_executor), &row));
    const bt_executor *interp = row;
    assert_ok(k->ctx, interp->open(k->ctx, module, NULL, &session));
    assert_ok(k->ctx, interp->call(k->ctx, session, "main", 0, NULL, NULL, &out));
    interp->close(session);
    bt_module_unref(module);
    return (bt_tensor *)(void *)out;
}

/* ---- statistics ---- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Kolmogorov and Smirnov's distance from a distribution, times the root of the count. */
static double kolmogorov(const bt_tensor *t, double (*share_below)(double))
{
    const int64_t n = t->nelem;
    double *x = calloc((size_t)n, sizeof(*x)), most = 0;
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = bt_tensor_get(t, i);
    qsort(x, (size_t)n, sizeof(*x), by_size);
    for (int64_t i = 0; i < n; i++) {
        const double share = share_below(x[i]);
        most = fmax(most, fmax(share - (double)i / (double)n,
                               (double)(i + 1) / (double)n - share));
    }
    free(x);
    return most * sqrt((double)n);
}

/* Mean and variance are those of the distribution, whose fourth moment about the mean is
 * `fourth`; neighbours are uncorrelated. */
static void check_moments(const bt_tensor *t, double mean, double variance, double fourth)
{
    const double n = (double)t->nelem;
    double sum = 0, square = 0, product = 0, last = 0;
    for (int64_t i = 0; i < t->nelem; i++) {
        const double off = bt_tensor_get(t, i) - mean;
        sum += off;
        square += off * off;
        product += off * last;
        last = off;
    }
    assert_true(fabs(sum / n) < most_sigmas * sqrt(variance / n));
    assert_true(fabs(square / n - variance) <
                most_sigmas * sqrt((fourth - variance * variance) / n));
    assert_true(fabs(product / n) < most_sigmas * variance / sqrt(n));
}

/* Chi-square of counts by the normal approximation of Wilson and Hilferty. */
static void check_counts(const int64_t *counts, const double *shares, uint32_t n,
                         int64_t total)
{
    double chi = 0, free = -1;
    for (uint32_t i = 0; i < n; i++) {
        const double expected = shares[i] * (double)total,
                     off = (double)counts[i] - expected;
        if (expected == 0)
            assert_int_equal(counts[i], 0);
        else
            chi += off * off / expected;
        free += expected > 0;
    }
    const double sigmas = (cbrt(chi / free) - 1 + 2 / (9 * free)) / sqrt(2 / (9 * free));
    assert_true(fabs(sigmas) < most_sigmas);
}

static double below_uniform(double x)
{
    return x;
}

static double below_normal(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

/* Between -2 and 2. */
static double below_truncated(double x)
{
    return (below_normal(x) - below_normal(-2)) / (below_normal(2) - below_normal(-2));
}

/* ---- words ---- */

static void test_each_bit_of_words_is_set_half_of_the_time(void **state)
{
    bt_tensor *t = draw(*state, 1, "random.threefry_generate(%key, shape=[256, 256])");
    for (uint32_t bit = 0; bit < 32; bit++) {
        int64_t counts[2] = { 0, 0 };
        for (int64_t i = 0; i < t->nelem; i++)
            counts[bt_tensor_get_int(t, i) >> bit & 1]++;
        assert_true(fabs((double)(counts[1] - counts[0])) < most_sigmas * sqrt(COUNT));
    }
    bt_tensor_unref(t);
}

static void test_a_row_of_a_split_is_its_number_folded_in(void **state)
{
    bt_tensor *rows = draw(*state, 7, "random.threefry_split(%key, num=5)");
    for (uint32_t i = 0; i < 5; i++) {
        char call[64];
        snprintf(call, sizeof(call), "random.threefry_fold_in(%%key, %u)", i);
        bt_tensor *key = draw(*state, 7, call);
        for (uint32_t j = 0; j < 2; j++)
            assert_int_equal(bt_tensor_get_int(rows, 2 * i + j),
                             bt_tensor_get_int(key, j));
        bt_tensor_unref(key);
    }
    bt_tensor_unref(rows);
}

/* Random123's known answers: counter and key of zeros, of ones, of the digits of pi (243f6a88
 * 85a308d3, 13198a2e 03707344). */
static void test_words_are_those_of_random123(void **state)
{
    static const call_row rows[] = {
        { "random.threefry_fold_in",
          NULL,
          { "uint32[2] 0 0", "int64[] 0" },
          { "uint32[2] 1797259609 2579123966" },
          0 },
        { "random.threefry_fold_in",
          NULL,
          { "uint32[2] 4294967295 4294967295", "int64[] -1" },
          { "uint32[2] 481924860 3137350631" },
          0 },
        { "random.threefry_fold_in",
          NULL,
          { "uint32[2] 320440878 57701188", "int64[] 2611923443488327891" },
          { "uint32[2] 3297917596 1212020640" },
          0 },
        { "random.threefry_key",
          NULL,
          { "int64[] -2" },
          { "uint32[2] 4294967295 4294967294" },
          0 },
        { "random.threefry_key",
          NULL,
          { "int64[] 1311768467750121217" },
          { "uint32[2] 305419896 2882400001" },
          0 },
    };
    RUN_ROWS(rows);
}

/* ---- uniform ---- */

static void test_uniform_numbers_are_uniform(void **state)
{
    static const char *const dtypes[] = { "float32", "float64" };
    for (uint32_t d = 0; d < 2; d++) {
        char call[96];
        int64_t counts[100] = { 0 };
        double shares[100];
        snprintf(call, sizeof(call), "random.uniform(%%key, shape=[%d], dtype=\"%s\")",
                 COUNT, dtypes[d]);
        bt_tensor *t = draw(*state, 11 + d, call);
        check_moments(t, 0.5, 1.0 / 12, 1.0 / 80);
        assert_true(kolmogorov(t, below_uniform) < most_kolmogorov);
        for (int64_t i = 0; i < t->nelem; i++)
            counts[(int)(bt_tensor_get(t, i) * 100)]++;
        for (uint32_t i = 0; i < 100; i++)
            shares[i] = 0.01;
        check_counts(counts, shares, 100, COUNT);
        bt_tensor_unref(t);
    }
}

/* Where numbers are far apart, each of them below high is equally often, and high is none. */
static void test_uniform_numbers_of_16_bits_stay_below_high(void **state)
{
    static const struct {
        const char *dtype;
        double low, high, step;
    } rows[] = {
        { "float16", 1000, 1001, 0.5 },
        { "float16", 2040, 2064, 2 },
        { "bfloat16", 250, 258, 2 },
        { "bfloat16", -3, 1, 0.015625 },
        { "float16", 0, 0.0078125, 0.0009765625 / 256 },
    };
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        enum { MOST = 2048 };
        static int64_t counts[MOST];
        static double shares[MOST];
        const uint32_t n = (uint32_t)((rows[r].high - rows[r].low) / rows[r].step);
        char call[160];
        assert_true(n <= MOST);
        memset(counts, 0, sizeof(counts));
        snprintf(call, sizeof(call),
                 "random.uniform(%%key, shape=[%d], dtype=\"%s\", low=%g, high=%g)",
                 COUNT, rows[r].dtype, rows[r].low, rows[r].high);
        bt_tensor *t = draw(*state, 30, call);
        for (int64_t i = 0; i < t->nelem; i++) {
            const double x = bt_tensor_get(t, i), at = (x - rows[r].low) / rows[r].step;
            assert_true(x >= rows[r].low && x < rows[r].high);
            assert_true(at == floor(at));
            counts[(uint32_t)at]++;
        }
        for (uint32_t i = 0; i < n; i++)
            shares[i] = 1.0 / n;
        check_counts(counts, shares, n, COUNT);
        bt_tensor_unref(t);
    }
}

/* u = 1 - 2^-23 times a range whose ends are near each other would be rounded to high. */
static void test_uniform_numbers_never_are_high(void **state)
{
    bt_tensor *t = draw(
        *state, 5, "random.uniform(%key, shape=[65536], low=16777212, high=16777216)");
    int64_t counts[4] = { 0 };
    for (int64_t i = 0; i < t->nelem; i++) {
        const double at = bt_tensor_get(t, i) - 16777212;
        assert_true(at >= 0 && at <= 3);
        counts[(int)at]++;
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_true(counts[i] > 0);
    bt_tensor_unref(t);
}

/* ---- normal ---- */

static void test_normal_numbers_are_normal(void **state)
{
    bt_tensor *t = draw(*state, 3, "random.normal(%key, shape=[65536])");
    check_moments(t, 0, 1, 3);
    assert_true(kolmogorov(t, below_normal) < most_kolmogorov);
    bt_tensor_unref(t);
    t = draw(*state, 4, "random.normal(%key, shape=[65536], dtype=\"float64\")");
    check_moments(t, 0, 1, 3);
    assert_true(kolmogorov(t, below_normal) < most_kolmogorov);
    bt_tensor_unref(t);
    t = draw(*state, 4, "random.normal(%key, shape=[256, 256], mean=-5, scale=3)");
    check_moments(t, -5, 9, 3 * 81);
    bt_tensor_unref(t);
    t = draw(*state, 9, "random.normal(%key, shape=[65536], dtype=\"float16\")");
    check_moments(t, 0, 1, 3);
    bt_tensor_unref(t);
}

static void test_truncated_normal_numbers_are_normal_between_bounds(void **state)
{
    bt_tensor *t = draw(*state, 3, "random.truncated_normal(%key, shape=[65536])");
    for (int64_t i = 0; i < t->nelem; i++)
        assert_true(fabs(bt_tensor_get(t, i)) <= 2);
    assert_true(kolmogorov(t, below_truncated) < most_kolmogorov);
    bt_tensor_unref(t);
}

/* ---- weights ---- */

/* The fourth moment is given as its ratio to the square of the variance: 9/5 of uniform numbers,
 * 2.37 of normal ones that are cut. */
static void test_weights_have_mean_0_and_the_variance_of_their_layer(void **state)
{
    static const struct {
        const char *call;
        double variance, ratio, most;
    } rows[] = {
        { "glorot_uniform(%key, shape=[128, 512])", 2.0 / 640, 1.8, 1.7320509 },
        { "glorot_normal(%key, shape=[128, 512])", 2.0 / 640, 2.37, 2.2737 },
        { "he_uniform(%key, shape=[64, 128, 2, 4])", 2.0 / 1024, 1.8, 1.7320509 },
        { "he_normal(%key, shape=[64, 128, 2, 4])", 2.0 / 1024, 2.37, 2.2737 },
        { "lecun_uniform(%key, shape=[2, 4, 64, 128], in_axis=2, out_axis=3)", 1.0 / 512,
          1.8, 1.7320509 },
        { "lecun_normal(%key, shape=[512, 128], in_axis=0, out_axis=1)", 1.0 / 512, 2.37,
          2.2737 },
    };
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        char call[128];
        snprintf(call, sizeof(call), "random.%s", rows[r].call);
        bt_tensor *t = draw(*state, 51, call);
        const double variance = rows[r].variance;
        check_moments(t, 0, variance, rows[r].ratio * variance * variance);
        for (int64_t i = 0; i < t->nelem; i++)
            assert_true(fabs(bt_tensor_get(t, i)) <= rows[r].most * sqrt(variance));
        bt_tensor_unref(t);
    }
}

/* ---- choices ---- */

static void check_share(kit *k, const char *call, double p)
{
    bt_tensor *t = draw(k, 21, call);
    int64_t counts[2] = { 0, 0 };
    const double shares[2] = { 1 - p, p };
    for (int64_t i = 0; i < t->nelem; i++)
        counts[bt_tensor_get_int(t, i)]++;
    if (p > 0 && p < 1)
        check_counts(counts, shares, 2, t->nelem);
    else
        assert_int_equal(counts[p == 1], t->nelem);
    bt_tensor_unref(t);
}

static void test_bernoulli_is_true_with_its_probability(void **state)
{
    check_share(*state, "random.bernoulli(%key, 0f, shape=[65536])", 0);
    check_share(*state, "random.bernoulli(%key, 1f, shape=[65536])", 1);
    check_share(*state, "random.bernoulli(%key, 0.3f, shape=[65536])", 0.3f);
    check_share(*state, "random.bernoulli(%key, 0.001f64, shape=[65536])", 0.001);
    check_share(*state, "random.bernoulli(%key, 0f16, shape=[4096])", 0);
    check_share(*state, "random.bernoulli(%key, 1f16, shape=[4096])", 1);
}

/* The sum of the second is beyond float32. */
static void test_multinomial_has_the_frequencies_of_its_weights(void **state)
{
    static const double shares[6] = { 0.1, 0, 0.2, 0.5, 0.2, 0 };
    static const char *const texts[] = {
        "random.multinomial(%key, const[(6), float32]{1, 0, 2, 5, 2, 0}, "
        "num_samples=65536)",
        "random.multinomial(%key, const[(6), float32]{5e37, 0, 1e38, 2.5e38, 1e38, 0}, "
        "num_samples=65536)",
    };
    for (uint32_t k = 0; k < BT_COUNT(texts); k++) {
        int64_t counts[6] = { 0 };
        bt_tensor *t = draw(*state, 2, texts[k]);
        for (int64_t i = 0; i < t->nelem; i++)
            counts[bt_tensor_get_int(t, i)]++;
        check_counts(counts, shares, 6, COUNT);
        bt_tensor_unref(t);
    }
}

/* ---- permutations ---- */

static void test_a_permutation_has_each_element_once(void **state)
{
    bt_tensor *t = draw(*state, 17, "random.permutation(%key, arange(0, 1000, 1))");
    char seen[1000] = { 0 };
    int64_t moved = 0;
    for (int64_t i = 0; i < t->nelem; i++) {
        seen[bt_tensor_get_int(t, i)]++;
        moved += bt_tensor_get_int(t, i) != i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved > 980);
    bt_tensor_unref(t);
}

static void test_each_order_of_four_is_equally_often(void **state)
{
    enum { RUNS = 2400 };
    int64_t counts[24] = { 0 };
    double shares[24];
    for (uint32_t seed = 0; seed < RUNS; seed++) {
        bt_tensor *t = draw(*state, seed, "random.permutation(%key, arange(0, 4, 1))");
        uint32_t number = 0;
        for (int64_t i = 0; i < 4; i++) {
            uint32_t less = 0;
            for (int64_t j = i + 1; j < 4; j++)
                less += bt_tensor_get_int(t, j) < bt_tensor_get_int(t, i);
            number = number * (uint32_t)(4 - i) + less;
        }
        counts[number]++;
        bt_tensor_unref(t);
    }
    for (uint32_t i = 0; i < 24; i++)
        shares[i] = 1.0 / 24;
    check_counts(counts, shares, 24, RUNS);
}

static const struct CMUnitTest tests[] = {
    TEST(test_each_bit_of_words_is_set_half_of_the_time),
    TEST(test_a_row_of_a_split_is_its_number_folded_in),
    TEST(test_words_are_those_of_random123),
    TEST(test_uniform_numbers_are_uniform),
    TEST(test_uniform_numbers_of_16_bits_stay_below_high),
    TEST(test_uniform_numbers_never_are_high),
    TEST(test_normal_numbers_are_normal),
    TEST(test_truncated_normal_numbers_are_normal_between_bounds),
    TEST(test_weights_have_mean_0_and_the_variance_of_their_layer),
    TEST(test_bernoulli_is_true_with_its_probability),
    TEST(test_multinomial_has_the_frequencies_of_its_weights),
    TEST(test_a_permutation_has_each_element_once),
    TEST(test_each_order_of_four_is_equally_often),
};
TEST_MAIN(tests)
