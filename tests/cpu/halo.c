/* Halos: every element in its place, what is to be around there, nothing else touched. */
#include "primitives/halo.h"
#include "guard.h"

static void check(int32_t (*run)(void *const *, const int64_t *), int64_t nb,
                  const int64_t *n)
{
    const int64_t ntarget = n[CPU_HALO_ROWS] * n[CPU_HALO_WIDTH];
    const int64_t last_row = n[CPU_HALO_HEIGHT] - 1, last = n[CPU_HALO_COUNT] - 1;
    const int64_t nsource = last_row < 0 || last < 0 ? 0
                                                     : last_row * n[CPU_HALO_FROM_ROW] +
                                                           last * n[CPU_HALO_FROM_X] + 1;
    struct guarded source = guarded_create((size_t)(nsource * nb + 1));
    struct guarded target = guarded_create((size_t)(ntarget * nb + 1));
    unsigned char *from = source.end - nsource * nb, *to = target.end - ntarget * nb;
    for (int64_t i = 0; i < nsource * nb; i++)
        from[i] = (unsigned char)(1 + i * 7 % 255);
    const unsigned char *outside =
        (const unsigned char *)&n[CPU_HALO_FILL]; // low bytes first
    memset(target.base, 0xee, (size_t)(target.end - target.base));
    assert_int_equal(run((void *[]){ to, from }, n), 0);
    for (int64_t r = 0; r < n[CPU_HALO_ROWS]; r++) {
        for (int64_t x = 0; x < n[CPU_HALO_WIDTH]; x++) {
            const int64_t y = r - n[CPU_HALO_TOP], c = x - n[CPU_HALO_LEFT];
            const int is_inside =
                y >= 0 && y <= last_row && c >= 0 && c <= last && nsource;
            const int64_t at = y * n[CPU_HALO_FROM_ROW] + c * n[CPU_HALO_FROM_X];
            assert_memory_equal(to + (r * n[CPU_HALO_WIDTH] + x) * nb,
                                is_inside ? from + at * nb : outside, (size_t)nb);
        }
    }
    for (unsigned char *at = target.base; at < to; at++)
        assert_int_equal(*at, 0xee);
    guarded_destroy(&source);
    guarded_destroy(&target);
}

static void check_planes(int64_t fill)
{
    static int32_t (*const all[])(void *const *,
                                  const int64_t *) = { cpu_halo_1, cpu_halo_2, cpu_halo_4,
                                                       cpu_halo_8 };
    for (int i = 0; i < 4; i++) {
        const int64_t nb = INT64_C(1) << i;
        check(all[i], nb, (int64_t[]){ 5, 7, 1, 3, 2, 4, 9, 1, fill });
        check(all[i], nb, (int64_t[]){ 5, 7, 0, 5, 0, 7, 7, 1, fill });
        check(all[i], nb, (int64_t[]){ 5, 7, 2, 3, 3, 4, 20, 2, fill });
        check(all[i], nb, (int64_t[]){ 1, 40, 0, 1, 1, 38, 0, 1, fill });
        for (int64_t count = 1; count < 36; count++) // by vectors, and less than one
            check(all[i], nb, (int64_t[]){ 3, 36, 1, 2, 1, count, 80, 2, fill });
        check(all[i], nb, (int64_t[]){ 4, 6, 4, 0, 0, 6, 9, 1, fill });
        check(all[i], nb, (int64_t[]){ 4, 6, 0, 4, 6, 0, 9, 1, fill });
        check(all[i], nb, (int64_t[]){ 4, 6, 1, 2, 1, 1, 1, 0, fill });
    }
}

static void test_planes_have_zeros_or_codes_around(void **state)
{
    (void)state;
    check_planes(0);
    check_planes(0x807f0103);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_planes_have_zeros_or_codes_around),
};
TEST_MAIN(tests)
