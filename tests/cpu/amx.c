/*
 * Tiles by AMX, its registers emulated: on any machine layouts, shapes, starts and epilogues are what
 * is asked for, bit for bit; where there is AMX, the instructions give the same.
 */
#include "amx_registers.h"
#include "guard.h"

#include <stdlib.h>

/* ---- calls ---- */

/* Ways to compute the same: two forms of pairs and of quads, by the registers above or the
 * processor's. */
struct way {
    enum amx_kind kind;
    cpu_primitive *block, *epilogue;
};

static uint32_t draw(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*seed * n) >> 32);
}

enum { MAX_N = 80, MAX_K = 64, MAX_STEPS = 3, MAX_ROW = 400 };

struct room {
    struct guarded a, b, c;
};

/* Quads of any bits, or pairs of either sign near to 1, which are floats too. */
static uint32_t *place(const struct guarded *g, int64_t nelem, int has_any_bits,
                       uint32_t *seed)
{
    uint32_t *at = (uint32_t *)(void *)g->end - nelem;
    assert_true((unsigned char *)at >= g->base);
    for (int64_t i = 0; i < nelem; i++) {
        const uint32_t bits = draw(seed, UINT32_MAX) * 2654435761u;
        at[i] = has_any_bits ? bits : 0x3f803f00u ^ (bits & 0x81ff81ffu);
    }
    return at;
}

/* The sum in the order of steps of 16 pairs; of halves, high by low, high by high, low by high. */
static float sum_of(const struct way *way, const uint32_t *a, const uint32_t *b,
                    const int64_t *n)
{
    const int64_t depth = way->kind == AMX_HALVES ? 32 : 16, b_k = n[CPU_TILE_B_K];
    float sum = 0;
    for (int64_t q = 0; q < n[CPU_TILE_K1] * n[CPU_TILE_K2]; q++) {
        const int64_t k1 = q % n[CPU_TILE_K1], k2 = q / n[CPU_TILE_K1];
        const uint32_t *x = a + k1 * n[CPU_TILE_A_K1] + k2 * n[CPU_TILE_A_K2];
        const uint32_t *y = b + k1 * n[CPU_TILE_B_K1] + k2 * n[CPU_TILE_B_K2];
        for (int64_t k = 0; k < n[CPU_TILE_K]; k += depth) {
            if (way->kind == AMX_HALVES)
                sum = add_products(sum, x + k, 1, y + (k + 16) * b_k, b_k, 16);
            sum = add_products(sum, x + k, 1, y + k * b_k, b_k, 16);
            if (way->kind == AMX_HALVES)
                sum = add_products(sum, x + k + 16, 1, y + k * b_k, b_k, 16);
        }
    }
    return sum;
}

/* The sum of quads, which wraps. */
static uint32_t sum_of_quads(const struct way *way, const uint32_t *a, const uint32_t *b,
                             const int64_t *n)
{
    uint32_t sum = 0;
    for (int64_t q = 0; q < n[CPU_TILE_K1] * n[CPU_TILE_K2]; q++) {
        const int64_t k1 = q % n[CPU_TILE_K1], k2 = q / n[CPU_TILE_K1];
        const uint32_t *x = a + k1 * n[CPU_TILE_A_K1] + k2 * n[CPU_TILE_A_K2];
        const uint32_t *y = b + k1 * n[CPU_TILE_B_K1] + k2 * n[CPU_TILE_B_K2];
        for (int64_t k = 0; k < n[CPU_TILE_K]; k++)
            sum = add_quads(sum, x[k], way->kind == AMX_SU, y[k * n[CPU_TILE_B_K]]);
    }
    return sum;
}

static void draw_call(const struct way *way, int64_t *n, uint32_t *seed)
{
    const int64_t depth = way->kind == AMX_HALVES ? 32 : 16;
    n[CPU_TILE_K] = depth * draw(seed, MAX_K / (uint32_t)depth + 1);
    n[CPU_TILE_K1] = 1 + draw(seed, MAX_STEPS);
    n[CPU_TILE_K2] = 1 + draw(seed, 2);
    n[CPU_TILE_A_K] = 1;
    n[CPU_TILE_A_K1] = n[CPU_TILE_K] + draw(seed, 2);
    n[CPU_TILE_A_K2] = n[CPU_TILE_K1] * n[CPU_TILE_A_K1];
    n[CPU_TILE_A_ROW] = n[CPU_TILE_K2] * n[CPU_TILE_A_K2] + draw(seed, 3);
    n[CPU_TILE_B_K] = n[CPU_TILE_N] + draw(seed, 5);
    n[CPU_TILE_B_K1] = draw(seed, 3); // taps are neighbours
    n[CPU_TILE_B_K2] = n[CPU_TILE_K] * n[CPU_TILE_B_K];
    n[CPU_TILE_C_ROW] = n[CPU_TILE_N] + draw(seed, 6);
    n[CPU_TILE_B_N] = 32;
}

static int64_t nelem_of_a(const int64_t *n)
{
    return n[CPU_TILE_K] ? (n[CPU_TILE_M] - 1) * n[CPU_TILE_A_ROW] +
                               (n[CPU_TILE_K2] - 1) * n[CPU_TILE_A_K2] +
                               (n[CPU_TILE_K1] - 1) * n[CPU_TILE_A_K1] + n[CPU_TILE_K]
                         : 0;
}

static int64_t nelem_of_b(const int64_t *n)
{
    return n[CPU_TILE_K] ? (n[CPU_TILE_K2] - 1) * n[CPU_TILE_B_K2] +
                               (n[CPU_TILE_K1] - 1) * n[CPU_TILE_B_K1] +
                               (n[CPU_TILE_K] - 1) * n[CPU_TILE_B_K] + n[CPU_TILE_N]
                         : 0;
}

/* An element of C behind the call: `before` and `bias` as bits of its type. */
static uint32_t expected_of(const struct way *way, const uint32_t *a, const uint32_t *b,
                            const int64_t *n, uint32_t bias, uint32_t before)
{
    const int64_t flags = n[CPU_TILE_FLAGS];
    const int has_bias = (flags & (CPU_TILE_ROW_BIAS | CPU_TILE_COLUMN_BIAS)) != 0;
    const int has_before = (flags & (CPU_TILE_ADD_RESIDUAL | CPU_TILE_START)) != 0;
    if (way->kind == AMX_US || way->kind == AMX_SU) {
        const uint32_t sum = sum_of_quads(way, a, b, n) + (has_bias ? bias : 0) +
                             (has_before ? before : 0);
        return flags & CPU_TILE_AT_LEAST && (int32_t)sum < 0 ? 0 : sum;
    }
    float sum = sum_of(way, a, b, n), x;
    memcpy(&x, &bias, sizeof(x));
    if (has_bias)
        sum += x;
    memcpy(&x, &before, sizeof(x));
    if (has_before)
        sum += x;
    if (flags & CPU_TILE_AT_LEAST && !(sum > 0))
        sum = 0;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    return bits;
}

/* What is there before each element of C, and what becomes of the sum. */
static void check(const struct way *way, const struct room *room, int64_t *n,
                  uint32_t *seed)
{
    const int has_epilogue = draw(seed, 2) == 0;
    const int is_of_quads = way->kind == AMX_US || way->kind == AMX_SU;
    draw_call(way, n, seed);
    n[CPU_TILE_FLAGS] = has_epilogue ? 0 : draw(seed, 2);
    if (has_epilogue)
        n[CPU_TILE_FLAGS] |= (draw(seed, 2) ? CPU_TILE_ROW_BIAS : CPU_TILE_COLUMN_BIAS) |
                             (int64_t)draw(seed, 2) * CPU_TILE_ADD_RESIDUAL |
                             (int64_t)draw(seed, 2) * CPU_TILE_AT_LEAST;
    const int64_t nc = (n[CPU_TILE_M] - 1) * n[CPU_TILE_C_ROW] + n[CPU_TILE_N];
    uint32_t *a = place(&room->a, nelem_of_a(n), is_of_quads, seed);
    uint32_t *b = place(&room->b, nelem_of_b(n), is_of_quads, seed);
    uint32_t *c = place(&room->c, nc, is_of_quads, seed);
    uint32_t bias[MAX_N], *before = malloc((size_t)nc * sizeof(*before));
    assert_non_null(before);
    memcpy(before, c, (size_t)nc * sizeof(*before));
    for (int64_t i = 0; i < MAX_N; i++) {
        const float x = (float)draw(seed, 100) / 7 - 7;
        memcpy(&bias[i], &x, sizeof(x));
    }
    n[CPU_TILE_LOW] = 0;
    void *p[] = { c, a, b, bias, c, c, a, c, c };
    assert_int_equal((has_epilogue ? way->epilogue : way->block)(p, n), 0);
    for (int64_t at = 0; at < nc; at++) {
        const int64_t i = at / n[CPU_TILE_C_ROW], j = at % n[CPU_TILE_C_ROW];
        const uint32_t expected =
            j < n[CPU_TILE_N]
                ? expected_of(way, a + i * n[CPU_TILE_A_ROW], b + j, n,
                              bias[n[CPU_TILE_FLAGS] & CPU_TILE_ROW_BIAS ? i : j],
                              before[at])
                : before[at];
        if (c[at] != expected && (is_of_quads || (c[at] | expected) << 1)) // -0 is 0
            fail_msg("kind %d, m %lld n %lld k %lld flags %lld: element %lld is %x, "
                     "not %x",
                     (int)way->kind, (long long)n[CPU_TILE_M], (long long)n[CPU_TILE_N],
                     (long long)n[CPU_TILE_K], (long long)n[CPU_TILE_FLAGS],
                     (long long)at, c[at], expected);
    }
    free(before);
}

static void check_sizes(const struct way *way)
{
    struct room room = {
        guarded_create(4 * 32 * MAX_ROW + 1),
        guarded_create(4 * (2 * MAX_K + 1) * (MAX_N + 8)),
        guarded_create(4 * 32 * (MAX_N + 8)),
    };
    uint32_t seed = 3;
    for (int64_t m = 1; m <= 32; m++) {
        for (int64_t columns = 1; columns <= MAX_N; columns += 1 + draw(&seed, 5)) {
            int64_t n[CPU_TILE_EPILOGUE_NINT] = { m, columns };
            check(way, &room, n, &seed);
        }
    }
    guarded_destroy(&room.a);
    guarded_destroy(&room.b);
    guarded_destroy(&room.c);
}

static const struct way emulated[] = {
    { AMX_PAIRS, run_pairs_amx, run_pairs_epilogue_amx },
    { AMX_HALVES, run_halves_amx, run_halves_epilogue_amx },
    { AMX_US, run_quads_us_amx, run_quads_us_epilogue_amx },
    { AMX_SU, run_quads_su_amx, run_quads_su_epilogue_amx },
};

static void test_every_size_is_the_sum_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(emulated) / sizeof(*emulated); i++)
        check_sizes(&emulated[i]);
}

static void test_instructions_give_what_the_manual_says(void **state)
{
    (void)state;
    if (!cpu_isa_request(CPU_ISA_AMX)) {
        print_message("this machine has no AMX, or no leave of the system to use it\n");
        skip();
    }
    for (int i = 0; i < 2; i++) {
        const struct cpu_tile *t = cpu_tile_of_pairs(CPU_ISA_AMX, BT_FLOAT32, i);
        const enum amx_kind kind = i ? AMX_HALVES : AMX_PAIRS;
        check_sizes(&(struct way){ kind, t->block->run, t->epilogue->run });
    }
    if (!cpu_isa_multiplies_quads(CPU_ISA_AMX)) {
        print_message("this machine's AMX has no products of bytes\n");
        return;
    }
    for (int i = 0; i < 2; i++) {
        const struct cpu_tile *t = cpu_tile_of_quads(CPU_ISA_AMX, i);
        const enum amx_kind kind = i ? AMX_SU : AMX_US;
        check_sizes(&(struct way){ kind, t->block->run, t->epilogue->run });
    }
}

/* ---- halves ---- */

/* A factor as both halves, as they are packed (pairs.h). */
static void put_halves(uint32_t *row, int64_t step, int64_t term, float x)
{
    uint32_t bits, high, low;
    float rest;
    memcpy(&bits, &x, sizeof(bits));
    high = isfinite(x) ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : bits >> 16;
    rest = isfinite(x) ? x - of_half(high) : 0;
    memcpy(&low, &rest, sizeof(low));
    low = (low + 0x7fff + (low >> 16 & 1)) >> 16;
    uint32_t *at = row + (term / 32 * 32 + term % 32 / 2) * step;
    at[0] |= high << term % 2 * 16;
    at[16 * step] |= low << term % 2 * 16;
}

enum { TERMS = 70, DEPTH = 96, ROWS = 18, COLUMNS = 37 };

static void check_halves(cpu_primitive *run, float odd)
{
    static float x[ROWS][TERMS], y[TERMS][COLUMNS], c[ROWS][COLUMNS];
    static uint32_t a[ROWS][DEPTH], b[DEPTH][COLUMNS];
    uint32_t seed = 5;
    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    for (int k = 0; k < TERMS; k++) {
        for (int i = 0; i < ROWS; i++) {
            x[i][k] = (float)draw(&seed, 1 << 20) / (1 << 19) - 1;
            x[i][k] = i == 3 && k == 2 ? 0 : x[i][k];
            put_halves(a[i], 1, k, x[i][k]);
        }
        for (int j = 0; j < COLUMNS; j++) {
            y[k][j] = (float)draw(&seed, 1 << 20) / (1 << 19) - 1;
            y[k][j] = odd != 0 && j == 20 && k == 2 ? odd : y[k][j];
            put_halves(&b[0][j], COLUMNS, k, y[k][j]);
        }
    }
    const int64_t n[CPU_TILE_NINT] = { ROWS,    COLUMNS, DEPTH, DEPTH, 1, COLUMNS,
                                       COLUMNS, 0,       1,     0,     0, 1 };
    assert_int_equal(run((void *[]){ c, a, b }, n), 0);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0, most = 0;
            for (int k = 0; k < TERMS; k++) {
                sum += (double)x[i][k] * (double)y[k][j];
                most += fabs((double)x[i][k] * (double)y[k][j]);
            }
            if (isnan(sum)   ? !isnan(c[i][j])
                : isinf(sum) ? (double)c[i][j] != sum
                             : !(fabs((double)c[i][j] - sum) <= 2e-5 * most))
                fail_msg("with %g: %d, %d is %g, not %g", (double)odd, i, j,
                         (double)c[i][j], sum);
        }
    }
}

/* Near to the sums of floats, and of what is not finite the same. */
static void test_two_halves_are_a_float(void **state)
{
    (void)state;
    static const float odd[] = { 0, INFINITY, -INFINITY, NAN, 3e38F };
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        check_halves(run_halves_amx, odd[i]);
        if (cpu_isa_request(CPU_ISA_AMX))
            check_halves(cpu_tile_of_pairs(CPU_ISA_AMX, BT_FLOAT32, 1)->block->run,
                         odd[i]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_size_is_the_sum_in_order),
    cmocka_unit_test(test_instructions_give_what_the_manual_says),
    cmocka_unit_test(test_two_halves_are_a_float),
};
TEST_MAIN(tests)
