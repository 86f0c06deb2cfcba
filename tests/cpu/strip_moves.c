/* Strips: moves against plain loops, reductions against the reference evaluator. */
#include "guard.h"
#include "strip_operands.h"

/* ---- moves ---- */

static void test_moves(void **state)
{
    (void)state;
    static uint64_t a[1600], out[1600];
    static int64_t index[NELEM];
    uint64_t random = 9;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (size_t width = 1; width <= 8; width *= 2) {
            char name[32];
            const struct cpu_callee *row;
            for (size_t i = 0; i < BT_COUNT(a); i++)
                a[i] = next_random(&random);
            for (int64_t i = 0; i < NELEM; i++)
                index[i] = (int64_t)(next_random(&random) >> 40) % NELEM;
            char *from = (char *)a + width, *to = (char *)out;
            int64_t n[] = { NELEM, -1 };
#define FIND(verb)                                        \
    snprintf(name, sizeof(name), verb ".%d", (int)width); \
    row = cpu_callee_find((enum cpu_isa)isa, name);       \
    assert_non_null(row);                                 \
    memset(out, 0, sizeof(out));
            FIND("copy") row->run((void *[]){ to, from }, n);
            assert_memory_equal(to, from, NELEM * width);
            row->run((void *[]){ from, from }, n);
            assert_memory_equal(to, from, NELEM * width);
            FIND("gather") row->run((void *[]){ to, from, index }, n);
            for (size_t i = 0; i < NELEM; i++)
                assert_memory_equal(to + i * width, from + (size_t)index[i] * width,
                                    width);
            FIND("scatter") row->run((void *[]){ to, from, index }, n);
            for (size_t i = 0; i < NELEM; i++) {
                size_t last = i;
                for (size_t j = i + 1; j < NELEM; j++)
                    last = index[j] == index[i] ? j : last;
                assert_memory_equal(to + (size_t)index[i] * width, from + last * width,
                                    width);
            }
            FIND("load")
            row->run(
                (void *[]){
                    to,
                    from + 600 * width,
                },
                n);
            for (size_t i = 0; i < NELEM; i++)
                assert_memory_equal(to + i * width, from + (600 - i) * width, width);
            n[1] = 3;
            FIND("store") row->run((void *[]){ to, from }, n);
            for (size_t i = 0; i < NELEM; i++) {
                assert_memory_equal(to + 3 * i * width, from + i * width, width);
                assert_memory_equal(to + (3 * i + 1) * width, "\0\0\0\0\0\0\0\0", width);
            }
        }
    }
}

static void test_loads_by_steps_touch_nothing_behind_the_last_element(void **state)
{
    (void)state;
    struct guarded from = guarded_create(1000);
    for (size_t i = 0; i < 1000; i++)
        from.end[-1 - (ptrdiff_t)i] = (unsigned char)(i * 7);
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (int64_t width = 1; width <= 8; width *= 2) {
            char name[32];
            snprintf(name, sizeof(name), "load.%d", (int)width);
            const struct cpu_callee *row = cpu_callee_find((enum cpu_isa)isa, name);
            assert_non_null(row);
            for (int64_t n[] = { 1, 2 }; n[0] <= 40; n[0] += n[1] == 3, n[1] ^= 1) {
                unsigned char to[320];
                unsigned char *first = from.end - ((n[0] - 1) * n[1] + 1) * width;
                row->run((void *[]){ to, first }, n);
                for (int64_t i = 0; i < n[0]; i++)
                    assert_memory_equal(to + i * width, first + i * n[1] * width,
                                        (size_t)width);
            }
        }
    }
    guarded_destroy(&from);
}

static void test_rows_are_met_from_any_place_on(void **state)
{
    (void)state;
    enum { COLUMNS = 5, ROW = 17, STEP = 3, COUNT = 23, NROW = 9 };
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (size_t width = 1; width <= 8; width *= 2) {
            for (int64_t at = 0; at < 12; at++) {
                unsigned char rows[8 * ROW * NROW], strip[8 * COUNT], back[sizeof(rows)];
                const int64_t n[] = { COUNT, COLUMNS, ROW, STEP, at };
                char name[32];
                for (size_t i = 0; i < sizeof(rows); i++)
                    rows[i] = (unsigned char)(i * 7 + i / 256);
                memset(back, 0, sizeof(back));
                snprintf(name, sizeof(name), "load_rows.%d", (int)width);
                cpu_callee_find((enum cpu_isa)isa, name)
                    ->run((void *[]){ strip, rows }, n);
                snprintf(name, sizeof(name), "store_rows.%d", (int)width);
                cpu_callee_find((enum cpu_isa)isa, name)
                    ->run((void *[]){ back, strip }, n);
                for (int64_t e = 0; e < ROW * NROW; e++) {
                    const int64_t column = e % ROW, i = e / ROW * COLUMNS + column / STEP - at;
                    const int is_met = column % STEP == 0 && column / STEP < COLUMNS &&
                                       i >= 0 && i < COUNT;
                    const unsigned char none[8] = { 0 }, *is = rows + (size_t)e * width;
                    if (is_met)
                        assert_memory_equal(strip + (size_t)i * width, is, width);
                    assert_memory_equal(back + (size_t)e * width, is_met ? is : none, width);
                }
            }
        }
    }
}

static void test_fills_and_counts(void **state)
{
    (void)state;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        int64_t wide[NELEM], n[] = { NELEM, INT64_MAX - 5, 7 };
        int32_t narrow[NELEM];
        float floats[NELEM], value = 1.25f;
        cpu_callee_find((enum cpu_isa)isa, "iota.int64")->run((void *[]){ wide }, n);
        cpu_callee_find((enum cpu_isa)isa, "iota.int32")->run((void *[]){ narrow }, n);
        cpu_callee_find((enum cpu_isa)isa, "fill.float32")
            ->run((void *[]){ floats, &value }, n);
        for (int64_t i = 0; i < NELEM; i++) {
            int64_t expected = (int64_t)((uint64_t)n[1] + (uint64_t)i * 7);
            assert_int_equal(wide[i], expected);
            assert_int_equal(narrow[i], (int32_t)expected);
            assert_true(floats[i] == value);
        }
        for (uint32_t d = 0; d < BT_COUNT(dtypes); d++) {
            char name[64];
            snprintf(name, sizeof(name), "fill.%s", name_of(dtypes[d]));
            assert_non_null(cpu_callee_find((enum cpu_isa)isa, name));
        }
    }
}

static void test_selects_take_the_masked(void **state)
{
    (void)state;
    static struct strip s;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (uint32_t d = 0; d < BT_COUNT(dtypes); d++) {
            char name[64];
            snprintf(name, sizeof(name), "select.%s", name_of(dtypes[d]));
            const struct cpu_callee *row = cpu_callee_find((enum cpu_isa)isa, name);
            size_t width = bt_dtype_nbytes(dtypes[d]);
            fill(&s, row, d);
            call(row, &s, NELEM);
            for (size_t i = 0; i < NELEM; i++) {
                int mask = ((uint8_t *)s.at[1])[i];
                assert_memory_equal((char *)s.at[0] + i * width,
                                    (char *)s.at[mask ? 2 : 3] + i * width, width);
            }
        }
    }
}

/* ---- reductions ---- */

/* Reducer of a row "reduce_R.T", with a T as accumulator; -1: it is none. */
static int reducer_of(const struct cpu_callee *row)
{
    char name[64];
    if (strncmp(row->name, "reduce_", 7) != 0 || strstr(row->name, ".wide"))
        return -1;
    snprintf(name, sizeof(name), "%s", row->name + 7);
    *strchr(name, '.') = 0;
    return bt__reducer_find(name);
}

static int is_arg(uint32_t which)
{
    return bt__reducer_get(which)->result == BT__RESULT_INT64;
}

/* Runs a strip of `count` elements from s->at[1], at odd addresses if `shift`; results are
 * left in *value and *position. */
static void reduce(const struct cpu_callee *row, uint32_t which, struct strip *s,
                   int64_t count, int shift, uint64_t *value, int64_t *position)
{
    int64_t n[] = { count, 100, -2 };
    char *in = (char *)s->at[2] + shift;
    memcpy(in, s->at[1], NBYTES);
    *value = 0;
    *position = -1;
    bt_cell_store(value, row->in, bt__reducer_start(which, row->in, 0));
    void *p[] = { value, in, NULL }, *with[] = { value, position, in };
    assert_int_equal(row->run(is_arg(which) ? with : p, n), 0);
}

static void check_reducer(const struct cpu_callee *row, uint32_t which, struct strip *s,
                          int64_t count)
{
    uint64_t value;
    int64_t position;
    bt_cell acc = bt__reducer_start(which, row->in, 0);
    bt_cell acc2 = bt__reducer_start(which, row->in, 1), values[NELEM];
    double size = 0;
    for (int64_t i = 0; i < count; i++) {
        values[i] = cell(s->at[1], row->in, i);
        size += bt_dtype_is_float(row->in) ? fabs(values[i].f) : 0;
    }
    bt__reducer_take(which, row->in)((uint32_t)count, &acc, &acc2, 0, values, 1, 100, -2);
    reduce(row, which, s, count, 0, &value, &position);
    bt_cell got = bt_cell_load(&value, row->in);
    if (is_arg(which)) {
        assert_int_equal(position, acc2.i);
    } else if (!bt_dtype_is_float(row->in)) {
        assert_int_equal(got.i, bt__int_wrap(acc.i, row->in));
    } else if (which == BT_REDUCER_SUM || which == BT_REDUCER_PROD) {
        double unit = row->in == BT_FLOAT32 ? 0x1p-23 : 0x1p-52;
        double bound =
            which == BT_REDUCER_SUM ? 24 * unit * size : 600 * unit * fabs(acc.f);
        if (!(fabs(got.f - acc.f) <= bound) && !(isnan(got.f) && isnan(acc.f)))
            fail_msg("%s of %d: %a, expected %a", row->name, (int)count, got.f, acc.f);
    } else if (got.f != acc.f && !(isnan(got.f) && isnan(acc.f))) {
        fail_msg("%s of %d: %a, expected %a", row->name, (int)count, got.f, acc.f);
    }
    uint64_t other;
    reduce(row, which, s, count, 3, &other, &position);
    assert_true(is_same(row->in, &other, &value));
    char label[64];
    snprintf(label, sizeof(label), "%s", row->name);
    reduce(cpu_callee_find(CPU_ISA_PORTABLE, label), which, s, count, 0, &other,
           &position);
    assert_true(is_same(row->in, &other, &value));
}

/* Numbers whose sums and products stay in range, or anything. */
static void fill_terms(struct strip *s, const struct cpu_callee *row, uint32_t seed,
                       int is_tame)
{
    uint64_t random = seed;
    fill(s, row, seed);
    for (size_t i = 0; is_tame && bt_dtype_is_float(row->in) && i < NELEM; i++) {
        bt_cell v = { .f = 1 + (double)(int64_t)next_random(&random) * 0x1p-66 };
        bt_cell_store((char *)s->at[1] + i * bt_dtype_nbytes(row->in), row->in, v);
    }
}

static void test_reductions_take_like_the_evaluator(void **state)
{
    (void)state;
    static const int64_t counts[] = { 0, 1, 7, 31, 32, 33, 512, 513 };
    static struct strip s;
    uint32_t n = 0;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        const struct cpu_callee *row;
        for (uint32_t k = 0; (row = strip_at((enum cpu_isa)isa, k)); k++) {
            int which = reducer_of(row);
            for (uint32_t c = 0; which >= 0 && c < BT_COUNT(counts); c++, n++) {
                int is_sum = which == BT_REDUCER_SUM || which == BT_REDUCER_PROD;
                fill_terms(&s, row, k + c, is_sum);
                check_reducer(row, (uint32_t)which, &s, counts[c]);
            }
        }
    }
    assert_true(n >= 82 * BT_COUNT(counts));
}

static void test_wide_sums_and_products_of_pairs(void **state)
{
    (void)state;
    static float a[NELEM], b[NELEM];
    double sum = 0, product = 1, dot = 0, wide[CPU_ISA_COUNT][3];
    float narrow[CPU_ISA_COUNT];
    uint64_t random = 3;
    for (int i = 0; i < NELEM; i++) {
        a[i] = 1 + (float)(int64_t)next_random(&random) * 0x1p-66f;
        b[i] = (float)(int64_t)next_random(&random) * 0x1p-62f;
        sum += (double)a[i], product *= (double)a[i], dot += (double)a[i] * (double)b[i];
    }
    int64_t n = NELEM;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        enum cpu_isa set = (enum cpu_isa)isa;
        wide[isa][0] = 0, wide[isa][1] = 1, wide[isa][2] = 0, narrow[isa] = 0;
        cpu_callee_find(set, "reduce_sum.float32.wide")
            ->run((void *[]){ &wide[isa][0], a }, &n);
        cpu_callee_find(set, "reduce_prod.float32.wide")
            ->run((void *[]){ &wide[isa][1], a }, &n);
        cpu_callee_find(set, "dot.float32.wide")
            ->run((void *[]){ &wide[isa][2], a, b }, &n);
        cpu_callee_find(set, "dot.float32")->run((void *[]){ &narrow[isa], a, b }, &n);
        assert_true(fabs(wide[isa][0] - sum) <= 1e-12 * sum);
        assert_true(fabs(wide[isa][1] - product) <= 1e-12 * product);
        assert_true(fabs(wide[isa][2] - dot) <= 1e-12 * NELEM);
        assert_true(fabs((double)narrow[isa] - dot) <= 1e-6 * NELEM);
        assert_memory_equal(wide[isa], wide[0], sizeof(wide[0]));
        assert_memory_equal(&narrow[isa], &narrow[0], sizeof(narrow[0]));
    }
}

/* ---- the order of terms ---- */

static double taken(const char *name, double a, double x, int is_float)
{
    if (strstr(name, "_sum"))
        return is_float ? (double)((float)a + (float)x) : a + x;
    if (strstr(name, "_prod"))
        return is_float ? (double)((float)a * (float)x) : a * x;
    return (strstr(name, "_max") ? x > a : x < a) ? x : a;
}

/* By 32 partial results, joined pairwise, as callee.h says. */
static double taken_by_lanes(const char *name, double a, const double *x, int64_t n,
                             int is_float)
{
    enum { NPART = 32 };
    double part[NPART];
    for (int64_t i = 0; n <= CPU_FEW_TERMS && i < n; i++)
        a = taken(name, a, x[i], is_float);
    if (n <= CPU_FEW_TERMS)
        return a;
    for (int k = 0; k < NPART; k++)
        part[k] = strstr(name, "_sum")    ? 0
                  : strstr(name, "_prod") ? 1
                  : strstr(name, "_max")  ? -INFINITY
                                          : INFINITY;
    for (int64_t i = 0; i < n; i++)
        part[i % NPART] = taken(name, part[i % NPART], x[i], is_float);
    for (int half = NPART / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; k++)
            part[k] = taken(name, part[k], part[k + half], is_float);
    }
    return taken(name, a, part[0], is_float);
}

static void put_real(void *at, int64_t i, bt_dtype dtype, double x)
{
    if (dtype == BT_FLOAT32)
        ((float *)at)[i] = (float)x;
    else
        ((double *)at)[i] = x;
}

/* Rows of `nterm` elements some apart, the last of which ends where memory does. */
static void check_rows(const struct cpu_callee *row, const struct guarded *room,
                       int64_t nterm, uint64_t *random)
{
    enum { NROW = 5, APART = 3, MOST = 100 + APART };
    const int is_float = row->out == BT_FLOAT32;
    const int64_t stride = nterm + APART, nelem = (NROW - 1) * stride + nterm;
    void *from = room->end - nelem * (int64_t)bt_dtype_nbytes(row->in);
    double x[NROW * MOST], rows[NROW], expected[NROW];
    for (int64_t i = 0; i < nelem; i++) {
        x[i] = (double)(1 + (float)(int64_t)next_random(random) * 0x1p-66f);
        x[i] = next_random(random) % 9 ? x[i] : -0.0;
        put_real(from, i, row->in, x[i]);
    }
    for (int64_t i = 0; i < NROW; i++) {
        put_real(rows, i, row->out, 1);
        put_real(expected, i, row->out,
                 taken_by_lanes(row->name, 1, x + i * stride, nterm, is_float));
    }
    row->run((void *[]){ rows, from }, (int64_t[]){ NROW, nterm, stride });
    if (memcmp(rows, expected, NROW * bt_dtype_nbytes(row->out)) != 0)
        fail_msg("%s of %lld terms", row->name, (long long)nterm);
}

static void test_rows_are_summed_by_lanes(void **state)
{
    (void)state;
    struct guarded room = guarded_create(8 * 1024);
    uint64_t random = 5;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        const struct cpu_callee *row;
        int nrow = 0;
        for (uint32_t k = 0; (row = strip_at((enum cpu_isa)isa, k)); k++) {
            for (int64_t n = 0; row->form == CPU_ROWS && n <= 100; n++)
                check_rows(row, &room, n, &random);
            nrow += row->form == CPU_ROWS;
        }
        assert_int_equal(nrow, 10);
    }
    guarded_destroy(&room);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_moves),
    cmocka_unit_test(test_loads_by_steps_touch_nothing_behind_the_last_element),
    cmocka_unit_test(test_rows_are_met_from_any_place_on),
    cmocka_unit_test(test_fills_and_counts),
    cmocka_unit_test(test_selects_take_the_masked),
    cmocka_unit_test(test_reductions_take_like_the_evaluator),
    cmocka_unit_test(test_wide_sums_and_products_of_pairs),
    cmocka_unit_test(test_rows_are_summed_by_lanes),
};
TEST_MAIN(tests)
