/* Packing: every element in its place, zeros behind, nothing else touched. */
#include "primitives/pack.h"
#include "guard.h"

#include <stdlib.h>

struct packing {
    size_t nbytes; /* of an element */
    int32_t (*run)(void *const *, const int64_t *);
};
static const struct packing packings[] = {
    { 1, cpu_pack_1 },
    { 2, cpu_pack_2 },
    { 4, cpu_pack_4 },
    { 8, cpu_pack_8 },
};

static void check(const struct packing *pack, const int64_t *n, int64_t nsource)
{
    const int64_t nb = (int64_t)pack->nbytes;
    const int64_t gap = n[CPU_PACK_ROW] - n[CPU_PACK_WIDTH];
    const int64_t ntarget = n[CPU_PACK_K] * n[CPU_PACK_ROW];
    struct guarded source = guarded_create((size_t)(nsource * nb + 1));
    struct guarded target = guarded_create((size_t)(ntarget * nb + 1));
    unsigned char *from = source.end - nsource * nb, *to = target.end - ntarget * nb;
    for (int64_t i = 0; i < nsource * nb; i++)
        from[i] = (unsigned char)(1 + i * 7 % 255);
    memset(target.base, 0xee, (size_t)(target.end - target.base));
    // Of negative strides, element [0, 0] is the last.
    unsigned char *first = n[CPU_PACK_K_STRIDE] < 0 ? source.end - nb : from;
    assert_int_equal(pack->run((void *[]){ to, first }, n), 0);
    for (int64_t k = 0; k < n[CPU_PACK_K]; k++) {
        for (int64_t j = 0; j < n[CPU_PACK_WIDTH]; j++) {
            static const unsigned char zeros[8];
            const int64_t at = k * n[CPU_PACK_K_STRIDE] + j * n[CPU_PACK_N_STRIDE];
            assert_memory_equal(to + (k * n[CPU_PACK_ROW] + j) * nb,
                                j < n[CPU_PACK_N] ? first + at * nb : zeros, (size_t)nb);
        }
        for (int64_t i = 0; i < gap * nb; i++)
            assert_int_equal(to[(k * n[CPU_PACK_ROW] + n[CPU_PACK_WIDTH]) * nb + i],
                             0xee);
    }
    for (unsigned char *at = target.base; at < to; at++)
        assert_int_equal(*at, 0xee);
    guarded_destroy(&source);
    guarded_destroy(&target);
}

static void test_panels_are_rows_or_columns_padded(void **state)
{
    (void)state;
    enum { WIDTH = 19 };
    static const int64_t depths[] = { 0, 1, 15, 16, 17, 40 };
    for (size_t i = 0; i < sizeof(packings) / sizeof(*packings); i++) {
        for (size_t d = 0; d < sizeof(depths) / sizeof(*depths); d++) {
            // squares of up to 16 columns are turned round together
            for (int64_t n = 0; n <= WIDTH; n++) {
                const int64_t k = depths[d], m = k && n ? 1 : 0;
                check(&packings[i], (int64_t[]){ k, n, WIDTH, WIDTH, n + 2, 1 },
                      m * ((k - 1) * (n + 2) + n));
                check(&packings[i], (int64_t[]){ k, n, WIDTH, 2 * WIDTH, 1, k + 2 },
                      m * ((n - 1) * (k + 2) + k));
                check(&packings[i], (int64_t[]){ k, n, WIDTH, WIDTH + 1, 3, 3 * k },
                      m * ((n - 1) * 3 * k + (k - 1) * 3 + 1));
            }
        }
    }
}

static void test_strides_may_be_zero_or_negative(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(packings) / sizeof(*packings); i++) {
        check(&packings[i], (int64_t[]){ 20, 5, 8, 8, 0, 1 }, 5);
        check(&packings[i], (int64_t[]){ 20, 5, 8, 9, 1, 0 }, 20);
        check(&packings[i], (int64_t[]){ 20, 5, 5, 5, -5, -1 }, 100);
        check(&packings[i], (int64_t[]){ 20, 5, 6, 12, -1, -20 }, 100);
    }
}

/* ... which have a form of their own; the last ones end where memory does. */
static void test_three_planes_of_bytes_are_side_by_side(void **state)
{
    (void)state;
    for (int64_t k = 0; k < 70; k++)
        check(&packings[0], (int64_t[]){ k, 3, 3, 3, 1, k + 2 }, k ? 3 * k + 4 : 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_three_planes_of_bytes_are_side_by_side),
    cmocka_unit_test(test_panels_are_rows_or_columns_padded),
    cmocka_unit_test(test_strides_may_be_zero_or_negative),
};
TEST_MAIN(tests)
