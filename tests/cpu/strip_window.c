/* Strips of windows: the same as loops give, for any count and step, and nothing read behind the
 * last element. */
#include <math.h>

#include "guard.h"
#include "primitives/callee.h"

enum { MAX_COUNT = 70, MAX_STEP = 3, MAX_SIDE = 3 };

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*seed * below >> 32);
}

static double some_number(uint32_t *seed)
{
    static const double special[] = { 0.0, -0.0, INFINITY, -INFINITY, NAN };
    const uint32_t which = draw(seed, 60);
    return which < BT_COUNT(special) ? special[which] : draw(seed, 2001) / 64.0 - 15;
}

/* What y becomes when it takes x. */
static double taken(const char *name, double y, double x, int is_float)
{
    if (strstr(name, "sum"))
        return is_float ? (double)((float)y + (float)x) : y + x;
    return (strstr(name, "max") ? x > y : x < y) || isnan(x) ? x : y;
}

struct room {
    struct guarded from, out;
};

/* Element i at the end of memory. */
static double get(const unsigned char *at, int64_t i, int is_float)
{
    float f;
    double d;
    memcpy(&f, at + i * (is_float ? 4 : 0), sizeof(f));
    memcpy(&d, at + i * (is_float ? 0 : 8), is_float ? 0 : sizeof(d));
    return is_float ? (double)f : d;
}

static void put(unsigned char *at, int64_t i, int is_float, double x)
{
    const float f = (float)x;
    if (is_float)
        memcpy(at + i * 4, &f, sizeof(f));
    else
        memcpy(at + i * 8, &x, sizeof(x));
}

static void check(const struct cpu_callee *row, const struct room *room, const int64_t *n,
                  uint32_t *seed)
{
    const int is_float = row->out == BT_FLOAT32;
    const int64_t nb = is_float ? 4 : 8;
    const int is_some = n[0] && n[2] && n[4];
    const int64_t nelem =
        is_some ? (n[0] - 1) * n[1] + (n[2] - 1) * n[3] + (n[4] - 1) * n[5] + 1 : 0;
    unsigned char *from = room->from.end - nelem * nb, *out = room->out.end - n[0] * nb;
    double expected[MAX_COUNT];
    for (int64_t i = 0; i < nelem; i++)
        put(from, i, is_float, some_number(seed));
    memset(room->out.base, 0xee, (size_t)(out - room->out.base));
    for (int64_t i = 0; i < n[0]; i++) {
        put(out, i, is_float, some_number(seed));
        expected[i] = get(out, i, is_float);
        for (int64_t k = 0; k < n[2] * n[4]; k++)
            expected[i] =
                taken(row->name, expected[i],
                      get(from, i * n[1] + k / n[2] * n[5] + k % n[2] * n[3], is_float),
                      is_float);
    }
    assert_int_equal(row->run((void *[]){ out, from }, n), 0);
    for (int64_t i = 0; i < n[0]; i++) {
        const double is = get(out, i, is_float);
        if (!(isnan(is) && isnan(expected[i])) &&
            (is != expected[i] || signbit(is) != signbit(expected[i])))
            fail_msg("%s: element %lld of %lld, step %lld, is %g, not %g", row->name,
                     (long long)i, (long long)n[0], (long long)n[1], is, expected[i]);
    }
    for (const unsigned char *at = room->out.base; at < out; at++)
        assert_int_equal(*at, 0xee);
}

static void test_windows_take_what_loops_take(void **state)
{
    (void)state;
    static const char *const names[] = { "window_sum.float32", "window_max.float32",
                                         "window_min.float32", "window_sum.float64",
                                         "window_max.float64", "window_min.float64" };
    enum { MOST = MAX_COUNT * MAX_STEP + 4 * MAX_SIDE * MAX_COUNT };
    struct room room = { guarded_create(MOST * 8), guarded_create(MAX_COUNT * 8) };
    uint32_t seed = 3;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (uint32_t k = 0; k < BT_COUNT(names); k++) {
            const struct cpu_callee *row = cpu_callee_find((enum cpu_isa)isa, names[k]);
            assert_non_null(row);
            for (int64_t count = 0; count < MAX_COUNT; count++) {
                for (int64_t step = 1; step <= MAX_STEP; step++)
                    check(row, &room,
                          (int64_t[]){ count, step, draw(&seed, 1 + MAX_SIDE),
                                       draw(&seed, 3), draw(&seed, 1 + MAX_SIDE),
                                       draw(&seed, MAX_COUNT) },
                          &seed);
            }
        }
    }
    guarded_destroy(&room.from);
    guarded_destroy(&room.out);
}

/* ---- what is chosen ---- */

/* Number `at` of a window, in an order that is not that of places. */
static int32_t number_of(const int64_t *n, int64_t k)
{
    return (int32_t)(n[6] + k / n[2] * n[8] + k % n[2] * n[7]);
}

static void check_choice(const struct cpu_callee *row, const struct room *room,
                         const struct guarded *beside, const int64_t *n, uint32_t *seed)
{
    const int is_first = row->out == BT_INT32, is_some = n[0] && n[2] && n[4];
    const int64_t nelem =
        is_some ? (n[0] - 1) * n[1] + (n[2] - 1) * n[3] + (n[4] - 1) * n[5] + 1 : 0;
    const int64_t nbeside = is_first ? n[0] : nelem;
    float *from = (float *)(void *)(room->from.end - nelem * 4);
    unsigned char *out = room->out.end - n[0] * 4, *b = beside->end - nbeside * 4;
    unsigned char expected[MAX_COUNT * 4];
    for (int64_t i = 0; i < nelem; i++)
        from[i] = draw(seed, 12) ? (float)draw(seed, 5) : (float)some_number(seed);
    for (int64_t i = 0; i < nbeside; i++) {
        const float extreme = (float)draw(seed, 5);
        const int32_t number = (int32_t)draw(seed, 12);
        memcpy(b + i * 4, is_first ? (const void *)&extreme : &number, 4);
    }
    for (int64_t i = 0; i < n[0]; i++) {
        int32_t least = INT32_MAX - (int32_t)draw(seed, 2), number;
        float sum = (float)some_number(seed), extreme;
        memcpy(out + i * 4, is_first ? (const void *)&least : &sum, 4);
        for (int64_t k = 0; k < n[2] * n[4]; k++) {
            const int64_t at = i * n[1] + k / n[2] * n[5] + k % n[2] * n[3];
            memcpy(&extreme, b + i * 4 * is_first, 4);
            memcpy(&number, b + at * 4 * !is_first, 4);
            if ((from[at] == extreme || isnan(from[at])) && number_of(n, k) < least)
                least = number_of(n, k);
            if (number == number_of(n, k))
                sum += from[at];
        }
        memcpy(expected + i * 4, is_first ? (const void *)&least : &sum, 4);
    }
    assert_int_equal(row->run((void *[]){ out, from, b }, n), 0);
    for (int64_t i = 0; i < n[0]; i++) {
        float is, wanted;
        memcpy(&is, out + i * 4, 4);
        memcpy(&wanted, expected + i * 4, 4);
        if (memcmp(out + i * 4, expected + i * 4, 4) != 0 &&
            (is_first || !isnan(is) || !isnan(wanted)))
            fail_msg("%s: element %lld of %lld, step %lld, is not the same", row->name,
                     (long long)i, (long long)n[0], (long long)n[1]);
    }
}

static void test_windows_choose_what_loops_choose(void **state)
{
    (void)state;
    static const char *const names[] = { "window_first.float32",
                                         "window_sum_where.float32" };
    enum { MOST = MAX_COUNT * MAX_STEP + 4 * MAX_SIDE * MAX_COUNT };
    struct room room = { guarded_create(MOST * 4), guarded_create(MAX_COUNT * 4) };
    struct guarded beside = guarded_create(MOST * 4);
    uint32_t seed = 5;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (uint32_t k = 0; k < BT_COUNT(names); k++) {
            const struct cpu_callee *row = cpu_callee_find((enum cpu_isa)isa, names[k]);
            assert_non_null(row);
            for (int64_t i = 0; i < (int64_t)MAX_COUNT * MAX_STEP; i++)
                check_choice(row, &room, &beside,
                             (int64_t[]){ i / MAX_STEP, 1 + i % MAX_STEP,
                                          draw(&seed, 1 + MAX_SIDE), draw(&seed, 3),
                                          draw(&seed, 1 + MAX_SIDE),
                                          draw(&seed, MAX_COUNT), draw(&seed, 5),
                                          draw(&seed, 3) - INT64_C(1), draw(&seed, 4) },
                             &seed);
        }
    }
    guarded_destroy(&room.from);
    guarded_destroy(&room.out);
    guarded_destroy(&beside);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_windows_take_what_loops_take),
    cmocka_unit_test(test_windows_choose_what_loops_choose),
};
TEST_MAIN(tests)
