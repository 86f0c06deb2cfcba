/*
 * Contraction tiles: each row of each table that this machine runs, bit for bit against
 * sums in the order of k, in memory that ends where the operands do.
 */
#include "primitives/tile.h"
#include "guard.h"

#include <math.h>
#include <stdlib.h>

static uint32_t draw(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*seed * n) >> 32);
}

/* ---- elements of any type as double ---- */

static size_t nbytes_of(bt_dtype t)
{
    return BT_DTYPE_BITS(t) / 8;
}

static double get(bt_dtype t, const void *at)
{
    if (t == BT_FLOAT32)
        return *(const float *)at;
    if (t == BT_FLOAT64)
        return *(const double *)at;
    return t == BT_INT16 ? *(const int16_t *)at : *(const int32_t *)at;
}

static void put_random(bt_dtype t, void *at, uint32_t *seed)
{
    const uint32_t bits = draw(seed, UINT32_MAX);
    // A fifth are zeros, of both signs.
    const double x = bits % 10 < 2 ? (bits % 10 ? -0.0 : 0.0) : bits / 4294967296.0 - 0.5;
    if (t == BT_FLOAT32)
        *(float *)at = (float)x;
    else if (t == BT_FLOAT64)
        *(double *)at = x;
    else if (t == BT_INT16)
        // pairs of the least number are the only ones whose sum leaves int32
        *(int16_t *)at = bits % 7 ? (int16_t)(bits >> 8) : INT16_MIN;
    else if (t == BT_UINT32) // a pair of bfloat16 of either sign, near to 1
        *(uint32_t *)at = 0x3f803f00u ^ ((bits >> 3) & 0x81ff81ffu);
    else
        *(uint32_t *)at = bits * 2654435761u;
}

/* ---- one call, checked ---- */

/* C += A * B of a pair of bfloat16 each: the second halves first. */
static float take_pair(uint32_t a, uint32_t b, float c)
{
    for (int i = 0; i < 2; i++, a <<= 16, b <<= 16) {
        const uint32_t a_bits = a & 0xffff0000u, b_bits = b & 0xffff0000u;
        float x, y;
        memcpy(&x, &a_bits, sizeof(x));
        memcpy(&y, &b_bits, sizeof(y));
        c = fmaf(x, y, c);
    }
    return c;
}

/* C += A * B of a pair of int16 each. */
static uint32_t take_shorts(uint32_t a, uint32_t b, uint32_t c)
{
    for (int i = 0; i < 2; i++, a >>= 16, b >>= 16)
        c += (uint32_t)((int16_t)a * (int16_t)b);
    return c;
}

/* C += A * B of a quad each, of which one has signs. */
static uint32_t take_quads(uint32_t a, int is_a_signed, uint32_t b, uint32_t c)
{
    for (int i = 0; i < 4; i++, a >>= 8, b >>= 8)
        c += is_a_signed ? (uint32_t)((int8_t)a * (uint8_t)b)
                         : (uint32_t)((uint8_t)a * (int8_t)b);
    return c;
}

/* What the elements of A and B are made of. */
static bt_dtype part_of(const struct cpu_tile *t)
{
    return t->pairs && t->c == BT_INT32 ? BT_INT16 : t->a;
}

/* C += A * B of one term, as the set does it. */
static void take(const struct cpu_tile *t, void *c, const void *a, const void *b)
{
    const int fused = t->isa != CPU_ISA_PORTABLE;
    if (t->nterm == 4) {
        *(uint32_t *)c = take_quads(*(const uint32_t *)a, t->is_a_signed,
                                    *(const uint32_t *)b, *(uint32_t *)c);
    } else if (t->a == BT_UINT32 && t->c == BT_INT32) {
        *(uint32_t *)c =
            take_shorts(*(const uint32_t *)a, *(const uint32_t *)b, *(uint32_t *)c);
    } else if (t->a == BT_UINT32) {
        *(float *)c = take_pair(*(const uint32_t *)a, *(const uint32_t *)b, *(float *)c);
    } else if (t->c == BT_INT32) {
        const uint32_t product = (uint32_t)(int32_t)get(t->a, a) * //
                                 (uint32_t)(int32_t)get(t->b, b);
        *(uint32_t *)c += product;
    } else if (t->c == BT_FLOAT32) {
        const float x = (float)get(t->a, a), y = (float)get(t->b, b);
        const float rounded = x * y;
        *(float *)c = fused ? fmaf(x, y, *(float *)c) : *(float *)c + rounded;
    } else {
        const double x = get(t->a, a), y = get(t->b, b), rounded = x * y;
        *(double *)c = fused ? fma(x, y, *(double *)c) : *(double *)c + rounded;
    }
}

struct room {
    struct guarded a, b, c;
    unsigned char *expected;
};
enum { MAX_K = 200, MAX_ROWS = 16, MAX_COLUMNS = 100 };

/* Where an operand begins so that it ends with its memory. */
static unsigned char *place(const struct guarded *g, int64_t nelem, size_t nbytes)
{
    unsigned char *at = g->end - (size_t)nelem * nbytes;
    assert_true(at >= g->base);
    return at;
}

static void fill(unsigned char *from, const unsigned char *end, bt_dtype t,
                 uint32_t *seed)
{
    for (; from < end; from += nbytes_of(t))
        put_random(t, from, seed);
}

/* Where term q of a sum is: `stride` is A's or B's. */
static int64_t along_k(const int64_t *n, int stride, int64_t q)
{
    const int outer = stride == CPU_TILE_A_K ? CPU_TILE_A_K1 : CPU_TILE_B_K1;
    const int64_t k = n[CPU_TILE_K] ? n[CPU_TILE_K] : 1, k1 = n[CPU_TILE_K1];
    return q % k * n[stride] + q / k % k1 * n[outer] +
           q / k / k1 * n[outer + CPU_TILE_A_K2 - CPU_TILE_A_K1];
}

static void check(const struct cpu_tile *t, struct room *room, const int64_t *n,
                  uint32_t *seed)
{
    const size_t na = nbytes_of(t->a), nb = nbytes_of(t->b), nc = nbytes_of(t->c);
    const int64_t m = n[CPU_TILE_M], columns = n[CPU_TILE_N], k = n[CPU_TILE_K];
    const int64_t width = n[CPU_TILE_FLAGS] & CPU_TILE_PADDED ? t->nr : columns;
    const int64_t c_nelem = (m - 1) * n[CPU_TILE_C_ROW] + columns;
    const int64_t last = k * n[CPU_TILE_K1] * n[CPU_TILE_K2] - 1;
    unsigned char *a = place(
        &room->a,
        last >= 0 ? (m - 1) * n[CPU_TILE_A_ROW] + along_k(n, CPU_TILE_A_K, last) + 1 : 0,
        na);
    unsigned char *b =
        place(&room->b, last >= 0 ? along_k(n, CPU_TILE_B_K, last) + width : 0, nb);
    unsigned char *c = place(&room->c, c_nelem, nc);
    fill(a, room->a.end, part_of(t), seed);
    fill(b, room->b.end, part_of(t), seed);
    fill(c, room->c.end, t->c, seed);
    memcpy(room->expected, c, (size_t)c_nelem * nc);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < columns; j++) {
            unsigned char *sum =
                room->expected + (size_t)(i * n[CPU_TILE_C_ROW] + j) * nc;
            if (!(n[CPU_TILE_FLAGS] & CPU_TILE_START))
                memset(sum, 0, nc);
            for (int64_t q = 0; q < k * n[CPU_TILE_K1] * n[CPU_TILE_K2]; q++)
                take(t, sum,
                     a + (size_t)(i * n[CPU_TILE_A_ROW] + along_k(n, CPU_TILE_A_K, q)) *
                             na,
                     b + (size_t)(along_k(n, CPU_TILE_B_K, q) + j) * nb);
        }
    }
    assert_int_equal(t->block->run((void *[]){ c, a, b }, n), 0);
    if (memcmp(c, room->expected, (size_t)c_nelem * nc))
        fail_msg("%s: m %lld n %lld k %lld flags %lld", t->block->name, (long long)m,
                 (long long)columns, (long long)k, (long long)n[CPU_TILE_FLAGS]);
}

static struct room room_create(void)
{
    return (struct room){
        guarded_create(sizeof(double) * 2 * MAX_ROWS * (MAX_K + 3)),
        guarded_create(sizeof(double) * 2 * MAX_K * MAX_COLUMNS),
        guarded_create(sizeof(double) * 2 * MAX_ROWS * MAX_COLUMNS),
        malloc(sizeof(double) * 2 * MAX_ROWS * MAX_COLUMNS),
    };
}

static void room_destroy(struct room *room)
{
    guarded_destroy(&room->a);
    guarded_destroy(&room->b);
    guarded_destroy(&room->c);
    free(room->expected);
}

/* Random strides: A packed, by rows or by columns; B tight or in wider rows. */
static void draw_strides(const struct cpu_tile *t, int64_t *n, uint32_t *seed)
{
    const uint32_t kind = draw(seed, 3);
    n[CPU_TILE_A_ROW] = kind < 2 ? 1 : n[CPU_TILE_K] + draw(seed, 3);
    n[CPU_TILE_A_K] = kind == 0 ? t->mr : kind == 1 ? n[CPU_TILE_M] : 1;
    n[CPU_TILE_FLAGS] = draw(seed, 4);
    n[CPU_TILE_B_K] =
        (n[CPU_TILE_FLAGS] & CPU_TILE_PADDED ? t->nr : n[CPU_TILE_N]) + draw(seed, 5);
    n[CPU_TILE_C_ROW] = n[CPU_TILE_N] + draw(seed, 6);
    n[CPU_TILE_K1] = n[CPU_TILE_K2] = 1;
}

/* Calls `body` with each row that the machine runs; of those of AMX amx.c takes care. */
static void each_tile(void (*body)(const struct cpu_tile *, struct room *))
{
    static const struct cpu_tile *const tables[] = {
        cpu_tiles_portable,
        cpu_tiles_avx2,
        cpu_tiles_avx512,
        cpu_tiles_avx512bf16,
    };
    struct room room = room_create();
    assert_non_null(room.expected);
    for (uint32_t isa = 0; isa < BT_COUNT(tables) && isa <= cpu_isa_of_machine(); isa++) {
        for (const struct cpu_tile *t = tables[isa]; t->block; t++) {
            assert_in_range(t->mr, 1, MAX_ROWS);
            assert_in_range(t->nr, 1, MAX_COLUMNS - 5);
            body(t, &room);
        }
    }
    room_destroy(&room);
}

static void check_sizes(const struct cpu_tile *t, struct room *room)
{
    uint32_t seed = 7;
    for (int64_t m = 1; m <= t->mr; m++) {
        for (int64_t columns = 1; columns <= t->nr; columns++) {
            int64_t n[CPU_TILE_NINT] = { m, columns, draw(&seed, 20) };
            draw_strides(t, n, &seed);
            check(t, room, n, &seed);
        }
    }
}

static void test_every_size_is_the_sum_in_order(void **state)
{
    (void)state;
    each_tile(check_sizes);
}

static void check_depths(const struct cpu_tile *t, struct room *room)
{
    // Around the pieces in which rows of B are copied.
    static const int64_t depths[] = { 0, 1, 2, 63, 64, 65, 127, 128, 129, MAX_K };
    uint32_t seed = 8;
    for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
        for (int times = 0; times < 12; times++) {
            int64_t n[CPU_TILE_NINT] = { 1 + draw(&seed, (uint32_t)t->mr),
                                         1 + draw(&seed, (uint32_t)t->nr), depths[i] };
            draw_strides(t, n, &seed);
            check(t, room, n, &seed);
        }
    }
}

static void test_every_depth_is_the_sum_in_order(void **state)
{
    (void)state;
    each_tile(check_depths);
}

static void check_walks(const struct cpu_tile *t, struct room *room)
{
    uint32_t seed = 10;
    for (int times = 0; times < 60; times++) {
        int64_t n[CPU_TILE_NINT] = { 1 + draw(&seed, (uint32_t)t->mr),
                                     1 + draw(&seed, (uint32_t)t->nr), draw(&seed, 5) };
        draw_strides(t, n, &seed);
        n[CPU_TILE_K1] = draw(&seed, 4);
        n[CPU_TILE_K2] = draw(&seed, 4);
        // Steps back, on the spot, and over a gap.
        n[CPU_TILE_A_K1] = draw(&seed, 2) ? n[CPU_TILE_K] * n[CPU_TILE_A_K] : 1;
        n[CPU_TILE_A_K2] = n[CPU_TILE_K1] * n[CPU_TILE_A_K1];
        n[CPU_TILE_B_K1] = draw(&seed, 3);
        n[CPU_TILE_B_K2] = n[CPU_TILE_K] * n[CPU_TILE_B_K] + draw(&seed, 9);
        check(t, room, n, &seed);
    }
}

static void test_every_walk_is_the_sum_in_order(void **state)
{
    (void)state;
    each_tile(check_walks);
}

/* ---- lines ---- */

static void check_line(const struct cpu_tile *t, struct room *room, const int64_t *n,
                       uint32_t *seed)
{
    const size_t nb = nbytes_of(t->c);
    const int64_t rows = n[CPU_TILE_M], columns = n[CPU_TILE_N];
    const int64_t last = n[CPU_TILE_K] * n[CPU_TILE_K1] * n[CPU_TILE_K2] - 1;
    const int64_t c_nelem = (rows - 1) * n[CPU_TILE_C_ROW] + columns;
    const int64_t width =
        n[CPU_TILE_FLAGS] & CPU_TILE_PADDED && columns < t->nr ? t->nr : columns;
    unsigned char *a =
        place(&room->a, last < 0 ? 0 : along_k(n, CPU_TILE_A_K, last) + 1, nb);
    unsigned char *b = place(&room->b,
                             last < 0 ? 0
                                      : along_k(n, CPU_TILE_B_K, last) +
                                            (rows - 1) * n[CPU_LINE_B_ROW] + width,
                             nb);
    unsigned char *c = place(&room->c, c_nelem, nb);
    fill(a, room->a.end, part_of(t), seed);
    fill(b, room->b.end, part_of(t), seed);
    fill(c, room->c.end, t->c, seed);
    memcpy(room->expected, c, (size_t)c_nelem * nb);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            unsigned char *sum =
                room->expected + (size_t)(i * n[CPU_TILE_C_ROW] + j) * nb;
            if (!(n[CPU_TILE_FLAGS] & CPU_TILE_START))
                memset(sum, 0, nb);
            for (int64_t q = 0; q <= last; q++)
                take(t, sum, a + (size_t)along_k(n, CPU_TILE_A_K, q) * nb,
                     b + (size_t)(along_k(n, CPU_TILE_B_K, q) + i * n[CPU_LINE_B_ROW] +
                                  j) *
                             nb);
        }
    }
    assert_int_equal(t->line->run((void *[]){ c, a, b }, n), 0);
    if (memcmp(c, room->expected, (size_t)c_nelem * nb))
        fail_msg("%s: %lld by %lld, flags %lld", t->line->name, (long long)rows,
                 (long long)columns, (long long)n[CPU_TILE_FLAGS]);
}

static void draw_line(const struct cpu_tile *t, struct room *room, int64_t rows,
                      int64_t columns, uint32_t *seed)
{
    const int is_window = draw(seed, 2) == 0; // that goes down along the lines
    int64_t n[CPU_TILE_NINT] = { rows, columns, is_window ? 3 : draw(seed, 4) };
    const int64_t b_rows[] = { columns, 2 * columns + 1, t->nr };
    n[CPU_LINE_B_ROW] = b_rows[draw(seed, columns <= t->nr ? 3 : 2)];
    n[CPU_TILE_A_K] = 1 + draw(seed, 2);
    n[CPU_TILE_B_K] = draw(seed, 3);
    n[CPU_TILE_C_ROW] = columns + draw(seed, 3);
    n[CPU_TILE_FLAGS] = draw(seed, 8);
    n[CPU_TILE_K1] = is_window ? 3 : draw(seed, 4);
    n[CPU_TILE_A_K1] = n[CPU_TILE_K] * n[CPU_TILE_A_K] + draw(seed, 2);
    n[CPU_TILE_B_K1] = is_window ? n[CPU_LINE_B_ROW] : columns + 2;
    n[CPU_TILE_K2] = is_window ? 1 : 1 + draw(seed, 2);
    n[CPU_TILE_A_K2] = n[CPU_TILE_K1] * n[CPU_TILE_A_K1];
    n[CPU_TILE_B_K2] = 3 * columns;
    check_line(t, room, n, seed);
}

static void check_lines(const struct cpu_tile *t, struct room *room)
{
    uint32_t seed = 11;
    for (int64_t columns = 1; t->line && columns <= 100; columns++)
        draw_line(t, room, 1 + draw(&seed, 10), columns, &seed);
    // panels: some at once, then those that are left; and narrower ones
    for (int64_t i = 0; t->line && i < 100; i++)
        draw_line(t, room, 1 + i % 10, t->nr, &seed);
    for (int64_t i = 0; t->line && i < 100; i++)
        draw_line(t, room, 1 + i % 10, 1 + i % t->nr, &seed);
}

static void test_every_line_is_the_sum_in_order(void **state)
{
    (void)state;
    each_tile(check_lines);
}

/* B, said to be finite, is poison. */
static void check_zeros(const struct cpu_tile *t, struct room *room)
{
    enum { K = 9, NLINE = 5 };
    const int64_t nr = t->nr;
    int64_t n[CPU_TILE_NINT] = { NLINE, nr, K };
    const size_t nb = nbytes_of(t->c), nbytes = (size_t)(NLINE * nr) * nb;
    if (!t->line)
        return;
    n[CPU_LINE_B_ROW] = K * nr;
    n[CPU_TILE_A_K] = n[CPU_TILE_K1] = n[CPU_TILE_K2] = 1;
    n[CPU_TILE_B_K] = n[CPU_TILE_C_ROW] = nr;
    n[CPU_TILE_FLAGS] = CPU_LINE_FINITE;
    unsigned char *a = place(&room->a, K, nb), *c = place(&room->c, NLINE * nr, nb);
    unsigned char *b = place(&room->b, NLINE * K * nr, nb);
    memset(a, 0, K * nb);
    memset(b, 0xff, NLINE * K * (size_t)nr * nb);
    memset(room->expected, 0, nbytes);
    assert_int_equal(t->line->run((void *[]){ c, a, b }, n), 0);
    assert_memory_equal(c, room->expected, nbytes);
    a[K * nb - 2] = 0x3f; // one that is not
    assert_int_equal(t->line->run((void *[]){ c, a, b }, n), 0);
    assert_memory_not_equal(c, room->expected, nbytes);
}

static void test_a_line_of_zeros_is_not_multiplied(void **state)
{
    (void)state;
    each_tile(check_zeros);
}

/* ---- across ---- */

static void check_columns(const struct cpu_tile *t, struct room *room, const int64_t *n,
                          uint32_t *seed)
{
    const size_t nb = nbytes_of(t->c);
    const int64_t last = n[CPU_TILE_K] * n[CPU_TILE_K1] * n[CPU_TILE_K2] - 1;
    const int64_t c_nelem = (n[CPU_TILE_M] - 1) * n[CPU_TILE_C_ROW] + n[CPU_TILE_N];
    int64_t along_b[CPU_TILE_NINT]; // B's elements along k are neighbours
    memcpy(along_b, n, sizeof(along_b));
    along_b[CPU_TILE_B_K] = 1;
    unsigned char *a = place(&room->a,
                             last < 0 ? 0
                                      : along_k(n, CPU_TILE_A_K, last) +
                                            (n[CPU_TILE_M] - 1) * n[CPU_TILE_A_ROW] + 1,
                             nb);
    unsigned char *b =
        place(&room->b,
              last < 0 ? 0
                       : along_k(along_b, CPU_TILE_B_K, last) +
                             (n[CPU_TILE_N] - 1) * n[CPU_ACROSS_B_COLUMN] + 1,
              nb);
    unsigned char *c = place(&room->c, c_nelem, nb);
    fill(a, room->a.end, part_of(t), seed);
    fill(b, room->b.end, part_of(t), seed);
    fill(c, room->c.end, t->c, seed);
    memcpy(room->expected, c, (size_t)c_nelem * nb);
    for (int64_t i = 0; i < n[CPU_TILE_M] * n[CPU_TILE_N]; i++) {
        const int64_t row = i / n[CPU_TILE_N], column = i % n[CPU_TILE_N];
        unsigned char *sum =
            room->expected + (size_t)(row * n[CPU_TILE_C_ROW] + column) * nb;
        if (!(n[CPU_TILE_FLAGS] & CPU_TILE_START))
            memset(sum, 0, nb);
        for (int64_t q = 0; q <= last; q++)
            take(t, sum,
                 a + (size_t)(along_k(n, CPU_TILE_A_K, q) + row * n[CPU_TILE_A_ROW]) * nb,
                 b + (size_t)(along_k(along_b, CPU_TILE_B_K, q) +
                              column * n[CPU_ACROSS_B_COLUMN]) *
                         nb);
    }
    assert_int_equal(t->across->run((void *[]){ c, a, b }, n), 0);
    if (memcmp(c, room->expected, (size_t)c_nelem * nb))
        fail_msg("%s: %lld by %lld, k %lld, flags %lld", t->across->name,
                 (long long)n[CPU_TILE_M], (long long)n[CPU_TILE_N],
                 (long long)n[CPU_TILE_K], (long long)n[CPU_TILE_FLAGS]);
}

static void check_across(const struct cpu_tile *t, struct room *room)
{
    uint32_t seed = 12;
    for (int64_t columns = 1; t->across && columns <= 100; columns++) {
        int64_t n[CPU_TILE_NINT] = { 1 + draw(&seed, CPU_ACROSS_MR), columns,
                                     draw(&seed, 37) };
        n[CPU_TILE_A_K] = 1 + draw(&seed, 2);
        n[CPU_TILE_FLAGS] = draw(&seed, 2);
        n[CPU_TILE_K1] = draw(&seed, 4) ? 1 : draw(&seed, 3);
        n[CPU_TILE_A_K1] = n[CPU_TILE_K] * n[CPU_TILE_A_K];
        n[CPU_TILE_B_K1] = n[CPU_TILE_K] + draw(&seed, 3);
        n[CPU_TILE_K2] = 1 + draw(&seed, 2);
        n[CPU_TILE_A_K2] = n[CPU_TILE_K1] * n[CPU_TILE_A_K1];
        n[CPU_TILE_B_K2] = n[CPU_TILE_K1] * n[CPU_TILE_B_K1];
        n[CPU_TILE_A_ROW] = n[CPU_TILE_K2] * n[CPU_TILE_A_K2];
        n[CPU_ACROSS_B_COLUMN] = n[CPU_TILE_K2] * n[CPU_TILE_B_K2];
        n[CPU_TILE_C_ROW] = columns + draw(&seed, 3);
        check_columns(t, room, n, &seed);
    }
}

static void test_every_product_across_is_the_sum_in_order(void **state)
{
    (void)state;
    each_tile(check_across);
}

/* ---- epilogues ---- */

/* max or min of scalars.def */
static double bounded(double a, double b, int is_max)
{
    return (is_max ? a > b : a < b) || isnan(a) ? a : b;
}

static double rounded(bt_dtype t, double x)
{
    return t == BT_FLOAT32 ? (float)x : t == BT_INT32 ? (int32_t)(uint32_t)(int64_t)x : x;
}

static void put(bt_dtype t, void *at, double x)
{
    if (t == BT_FLOAT32)
        *(float *)at = (float)x;
    else if (t == BT_INT32)
        *(int32_t *)at = (int32_t)x;
    else
        *(double *)at = x;
}

static double draw_bound(bt_dtype t, uint32_t *seed)
{
    if (t == BT_INT32)
        return (double)draw(seed, UINT32_MAX) - 0x1p31;
    static const double bounds[] = { 0, -0.0, 0.25, -0.25, INFINITY, -INFINITY, NAN };
    return bounds[draw(seed, draw(seed, 8) ? BT_COUNT(bounds) - 1 : BT_COUNT(bounds))];
}

/* What is to become of a sum at row i and column j. */
static double finished(bt_dtype t, double sum, int64_t flags, const double *bias,
                       double residual, const double *bounds)
{
    if (flags & (CPU_TILE_ROW_BIAS | CPU_TILE_COLUMN_BIAS))
        sum = rounded(t, sum + *bias);
    if (flags & CPU_TILE_ADD_RESIDUAL)
        sum = rounded(t, sum + residual);
    if (flags & CPU_TILE_AT_LEAST)
        sum = bounded(sum, bounds[0], 1);
    if (flags & CPU_TILE_AT_MOST)
        sum = bounded(sum, bounds[1], 0);
    return sum;
}

static int is_same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static void check_epilogue(const struct cpu_tile *t, struct room *room, const int64_t *n,
                           int is_in_place, uint32_t *seed)
{
    const bt_dtype type = t->c;
    const size_t nb = nbytes_of(type);
    const int64_t flags = n[CPU_TILE_FLAGS], m = n[CPU_TILE_M], columns = n[CPU_TILE_N];
    const int is_turned = (flags & CPU_TILE_TURNED) != 0;
    const int64_t nline = is_turned ? columns : m, length = is_turned ? m : columns;
    const int64_t c_nelem = (nline - 1) * n[CPU_TILE_C_ROW] + length;
    const int64_t nbias = flags & CPU_TILE_ROW_BIAS ? m : columns, k = n[CPU_TILE_K];
    const double bounds[] = { draw_bound(type, seed), draw_bound(type, seed) };
    int64_t with_bits[CPU_TILE_EPILOGUE_NINT];
    unsigned char low[8], high[8];
    memcpy(with_bits, n, sizeof(with_bits));
    put(type, low, bounds[0]);
    put(type, high, bounds[1]);
    memcpy(&with_bits[CPU_TILE_LOW], low, nb);
    memcpy(&with_bits[CPU_TILE_HIGH], high, nb);
    unsigned char *a = place(&room->a, k ? (m - 1) * n[CPU_TILE_A_ROW] + k : 0, nb);
    const int64_t before =
        (columns - 1) / t->nr * t->nr; // columns of all tiles but the last
    const int64_t width = flags & CPU_TILE_PADDED ? t->nr : columns - before;
    const int64_t last = before / t->nr * n[CPU_TILE_B_N];
    unsigned char *b =
        place(&room->b, k ? last + (k - 1) * n[CPU_TILE_B_K] + width : 0, nb);
    unsigned char *c = place(&room->c, c_nelem, nb);
    fill(a, room->a.end, part_of(t), seed);
    fill(b, room->b.end, part_of(t), seed);
    fill(c, room->c.end, type, seed);
    // what is added, and what is expected, in memory of their own
    unsigned char *residual = malloc((size_t)c_nelem * nb), *bias = malloc(nbias * nb);
    unsigned char *sums = malloc((size_t)(m * columns) * nb);
    assert_true(residual && bias && sums);
    memcpy(residual, c, (size_t)c_nelem * nb);
    fill(bias, bias + nbias * nb, type, seed);
    memcpy(room->expected, c, (size_t)c_nelem * nb);
    int64_t plain[CPU_TILE_NINT];
    memcpy(plain, n, sizeof(plain));
    plain[CPU_TILE_C_ROW] = columns;
    plain[CPU_TILE_FLAGS] &= CPU_TILE_PADDED | CPU_TILE_START;
    // where sums begin, rows as long as may be read
    const int64_t begun_row = before + width;
    unsigned char *begun = malloc((size_t)(m * begun_row) * nb);
    assert_non_null(begun);
    fill(begun, begun + (size_t)(m * begun_row) * nb, type, seed);
    with_bits[CPU_TILE_SUMS_ROW] = begun_row;
    for (int64_t i = 0; i < m; i++)
        memcpy(sums + (size_t)(i * columns) * nb, begun + (size_t)(i * begun_row) * nb,
               (size_t)columns * nb);
    for (int64_t j = 0; j < columns; j += t->nr) {
        plain[CPU_TILE_N] = columns - j < t->nr ? columns - j : t->nr;
        void *tile[] = { sums + (size_t)j * nb, a,
                         b + (size_t)(j / t->nr * n[CPU_TILE_B_N]) * nb };
        assert_int_equal(t->block->run(tile, plain), 0);
    }
    // what is fetched ahead lies where nobody may read
    void *p[] = {
        c, a, b, bias, low, high, room->a.end, begun, is_in_place ? c : residual
    };
    assert_int_equal(t->epilogue->run(p, with_bits), 0);
    for (int64_t i = 0; i < nline; i++) {
        for (int64_t j = 0; j < n[CPU_TILE_C_ROW] && i * n[CPU_TILE_C_ROW] + j < c_nelem;
             j++) {
            const size_t at = (size_t)(i * n[CPU_TILE_C_ROW] + j) * nb;
            const int64_t row = is_turned ? j : i, column = is_turned ? i : j;
            double expected = get(type, residual + at);
            if (j < length) {
                const double add = get(
                    type, bias + (size_t)(flags & CPU_TILE_ROW_BIAS ? row : column) * nb);
                expected = finished(
                    type, get(type, sums + (size_t)(row * columns + column) * nb), flags,
                    &add, expected, bounds);
            }
            if (!is_same_number(get(type, c + at), expected))
                fail_msg("%s: m %lld n %lld k %lld flags %lld: %g, not %g",
                         t->epilogue->name, (long long)m, (long long)columns,
                         (long long)k, (long long)flags, get(type, c + at), expected);
        }
    }
    free(residual);
    free(bias);
    free(sums);
    free(begun);
}

static void check_epilogues(const struct cpu_tile *t, struct room *room)
{
    uint32_t seed = 13;
    for (int64_t i = 0; t->epilogue && i < 3000; i++) {
        int64_t n[CPU_TILE_EPILOGUE_NINT] = { 1 + i % t->mr,
                                              1 + draw(&seed, 3 * (uint32_t)t->nr),
                                              draw(&seed, 9) ? 1 + draw(&seed, 70) : 0 };
        n[CPU_TILE_FLAGS] = (int64_t)draw(&seed, 2) * CPU_TILE_TURNED |
                            (int64_t)draw(&seed, 2) * CPU_TILE_PADDED |
                            (int64_t)draw(&seed, 2) * CPU_TILE_START |
                            (int64_t)draw(&seed, 2) * CPU_TILE_ADD_RESIDUAL |
                            (int64_t)draw(&seed, 2) * CPU_TILE_AT_LEAST |
                            (int64_t)draw(&seed, 2) * CPU_TILE_AT_MOST |
                            (int64_t)draw(&seed, 2) * CPU_TILE_LOW_IS_AT |
                            (int64_t)draw(&seed, 2) * CPU_TILE_HIGH_IS_AT;
        const int is_turned = (n[CPU_TILE_FLAGS] & CPU_TILE_TURNED) != 0;
        const uint32_t kind = draw(&seed, 3);
        n[CPU_TILE_FLAGS] |= kind == 0                 ? CPU_TILE_COLUMN_BIAS
                             : kind == 1 && !is_turned ? CPU_TILE_ROW_BIAS
                                                       : 0;
        n[CPU_TILE_A_ROW] = n[CPU_TILE_K] + draw(&seed, 3);
        n[CPU_TILE_A_K] = 1;
        // panels, or columns side by side, with some between rows
        const int is_panel = draw(&seed, 2);
        n[CPU_TILE_B_K] = (is_panel ? t->nr : 3 * t->nr) + draw(&seed, 3);
        n[CPU_TILE_B_N] = is_panel ? n[CPU_TILE_K] * n[CPU_TILE_B_K] : t->nr;
        n[CPU_TILE_C_ROW] = n[is_turned ? CPU_TILE_M : CPU_TILE_N] + draw(&seed, 3);
        n[CPU_TILE_K1] = n[CPU_TILE_K2] = 1;
        n[CPU_TILE_NEXT_K] = draw(&seed, 3);
        check_epilogue(t, room, n, (int)draw(&seed, 2), &seed);
    }
}

static void test_what_is_made_of_sums_is_what_scalars_give(void **state)
{
    (void)state;
    each_tile(check_epilogues);
}

/* ---- blockings ---- */

struct cut {
    int64_t m, n, k;
};

static void product(const struct cpu_tile *t, struct cut cut, const struct cut *size,
                    unsigned char *c, unsigned char *a, unsigned char *b)
{
    const int64_t na = (int64_t)nbytes_of(t->a), nb = (int64_t)nbytes_of(t->b);
    for (int64_t k = 0; k < size->k; k += cut.k) {
        for (int64_t i = 0; i < size->m; i += cut.m) {
            for (int64_t j = 0; j < size->n; j += cut.n) {
                const int64_t n[CPU_TILE_NINT] = {
                    size->m - i < cut.m ? size->m - i : cut.m,
                    size->n - j < cut.n ? size->n - j : cut.n,
                    size->k - k < cut.k ? size->k - k : cut.k,
                    size->k,
                    1,
                    size->n,
                    size->n,
                    k ? CPU_TILE_START : 0,
                    1,
                    0,
                    0,
                    1,
                };
                void *p[] = { c + (i * size->n + j) * (int64_t)nbytes_of(t->c),
                              a + (i * size->k + k) * na, b + (k * size->n + j) * nb };
                assert_int_equal(t->block->run(p, n), 0);
            }
        }
    }
}

static void check_cuts(const struct cpu_tile *t, struct room *room)
{
    (void)room;
    const struct cut size = { 29, 71, 150 };
    const size_t c_nbytes = (size_t)(size.m * size.n) * nbytes_of(t->c);
    // One more, to shift the operands off any alignment.
    const size_t na = (size_t)(size.m * size.k + 1) * nbytes_of(t->a);
    const size_t nb = (size_t)(size.k * size.n + 1) * nbytes_of(t->b);
    unsigned char *a = malloc(na), *b = malloc(nb);
    unsigned char *first = malloc(c_nbytes), *c = malloc(c_nbytes + nbytes_of(t->c));
    uint32_t seed = 9;
    fill(a, a + na, part_of(t), &seed);
    fill(b, b + nb, part_of(t), &seed);
    product(t, (struct cut){ t->mr, t->nr, size.k }, &size, first, a, b);
    for (int times = 0; times < 20; times++) {
        const struct cut cut = { 1 + draw(&seed, (uint32_t)t->mr),
                                 1 + draw(&seed, (uint32_t)t->nr), 1 + draw(&seed, 150) };
        product(t, cut, &size, c, a, b);
        assert_memory_equal(c, first, c_nbytes);
    }
    memmove(a + nbytes_of(t->a), a, na - nbytes_of(t->a));
    memmove(b + nbytes_of(t->b), b, nb - nbytes_of(t->b));
    product(t, (struct cut){ t->mr, t->nr, size.k }, &size, c + nbytes_of(t->c),
            a + nbytes_of(t->a), b + nbytes_of(t->b));
    assert_memory_equal(c + nbytes_of(t->c), first, c_nbytes);
    free(a);
    free(b);
    free(c);
    free(first);
}

static void test_cuts_and_alignment_change_no_bit(void **state)
{
    (void)state;
    each_tile(check_cuts);
}

/* ---- look-up ---- */

static void test_each_set_finds_its_own_or_a_narrower(void **state)
{
    (void)state;
    static const bt_dtype types[][3] = {
        { BT_FLOAT32, BT_FLOAT32, BT_FLOAT32 },
        { BT_FLOAT64, BT_FLOAT64, BT_FLOAT64 },
        { BT_INT16, BT_INT16, BT_INT32 },
        { BT_INT32, BT_INT32, BT_INT32 },
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        for (enum cpu_isa isa = 0; isa < CPU_ISA_COUNT; isa++) {
            const struct cpu_tile *t =
                cpu_tile_find(isa, types[i][0], types[i][1], types[i][2]);
            assert_non_null(t);
            assert_true(t->isa == isa || isa >= CPU_ISA_AVX512BF16 ||
                        (isa == CPU_ISA_AVX2 && !cpu_tiles_avx2->block) ||
                        (isa == CPU_ISA_AVX512 && !cpu_tiles_avx512->block));
        }
    }
    assert_null(cpu_tile_find(CPU_ISA_AVX512, BT_FLOAT32, BT_FLOAT64, BT_FLOAT32));
    assert_null(cpu_tile_find(CPU_ISA_AVX512, BT_UINT32, BT_UINT32, BT_FLOAT32));
    assert_null(cpu_tile_find(CPU_ISA_AVX512, BT_UINT32, BT_UINT32, BT_INT32));
    assert_null(cpu_tile_of_pairs(CPU_ISA_AVX512, BT_FLOAT32, 0));
    assert_non_null(cpu_tile_of_pairs(CPU_ISA_PORTABLE, BT_INT32, 0));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_size_is_the_sum_in_order),
    cmocka_unit_test(test_every_depth_is_the_sum_in_order),
    cmocka_unit_test(test_every_walk_is_the_sum_in_order),
    cmocka_unit_test(test_every_line_is_the_sum_in_order),
    cmocka_unit_test(test_a_line_of_zeros_is_not_multiplied),
    cmocka_unit_test(test_every_product_across_is_the_sum_in_order),
    cmocka_unit_test(test_what_is_made_of_sums_is_what_scalars_give),
    cmocka_unit_test(test_cuts_and_alignment_change_no_bit),
    cmocka_unit_test(test_each_set_finds_its_own_or_a_narrower),
};
TEST_MAIN(tests)
