/*
 * The tiles of one float type and one instruction set; included by tile_rows.h, which
 * says what that needs:
 *
 *     REAL, VECTOR    the element, and vectors of it
 *     MULTIPLY_ADD    a function on vectors: (a, b, c) to a * b + c
 *     SPREAD          (address), a factor in all lanes
 *     IS_ZERO         (address), whether a factor is 0
 *     LOAD_PART, STORE_PART    of the first lanes: (address, n), (address, vector, n)
 *     AT_LEAST, AT_MOST    (vector, bounds) (vectors.h)
 *     TURN, LOAD_RUNS, LOAD_APART    turn_square_N, load_runs_N, load_runs_apart_N
 *     NAME(stem)      names of this type's own
 *     TILE_GOES_NOT_ACROSS    if there are to be no products across
 *     TILE_HAS_NO_LINES       ... no lines
 */
#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(REAL)))
#define NR    (2 * LANES)

/* Addresses are aligned to elements only. */
static inline VECTOR NAME(load)(const REAL *from)
{
    VECTOR v;
    memcpy(&v, from, sizeof(v));
    return v;
}

static inline void NAME(store)(REAL *to, VECTOR v)
{
    memcpy(to, &v, sizeof(v));
}

#include "tile_finish.h"

static const REAL NAME(zeros)[NR];

typedef void NAME(tile)(REAL *c, const REAL *a, const REAL *b, const struct tile_block *);

/* What it knows of an address costs the compiler registers, of which there are too few: the
 * distances of all rows, where a loop ends, computed before it, starts that are zeros. They lie
 * in memory then, and a loop of few turns waits for them each time that it ends. */
#define HIDE(address) __asm__("" : "+r"(address))
#define MOVE(address, stride) \
    do {                      \
        address += stride;    \
        HIDE(address);        \
    } while (0)

// Row i of A is row o of the three that begin at a<g>.
#define ZERO_1(i, g, o) VECTOR s##i = { 0 };
#define ZERO_2(i, g, o) ZERO_1(i, g, o) VECTOR t##i = { 0 };
#define START_1(i, g, o)             \
    VECTOR s##i = NAME(load)(start); \
    MOVE(start, start_row);
#define START_2(i, g, o)                     \
    VECTOR s##i = NAME(load)(start);         \
    VECTOR t##i = NAME(load)(start + LANES); \
    MOVE(start, start_row);
#define BEGIN_1(i, g, o)      \
    s##i = NAME(load)(start); \
    MOVE(start, start_row);
#define BEGIN_2(i, g, o)              \
    t##i = NAME(load)(start + LANES); \
    BEGIN_1(i, g, o)
#define STEP_1(i, g, o)                \
    factor = SPREAD(a##g + o * a_row); \
    s##i = MULTIPLY_ADD(factor, b_s, s##i);
#define STEP_2(i, g, o) \
    STEP_1(i, g, o)     \
    t##i = MULTIPLY_ADD(factor, b_t, t##i);
#define STOP_1(i, g, o)   \
    NAME(store)(c, s##i); \
    MOVE(c, c_row);
#define STOP_2(i, g, o)           \
    NAME(store)(c, s##i);         \
    NAME(store)(c + LANES, t##i); \
    MOVE(c, c_row);
#define COLUMNS_1 const VECTOR b_s = NAME(load)(b);
#define COLUMNS_2 COLUMNS_1 const VECTOR b_t = NAME(load)(b + LANES);

/* The rows of a panel lie one behind the other; a large panel may come from beyond the second
 * cache, and the processor itself looks ahead only to the end of a page: so rows are fetched some
 * time before they are read. */
static void NAME(look_ahead)(struct tile_block *block, const REAL *b)
{
    const int64_t ahead = TILE_AHEAD / sizeof(REAL);
    const int64_t depth = block->k * block->k1 * block->k2;
    block->next = b;
    if (block->b_k == NR && !block->b_k1 && !block->b_k2 && depth * NR >= 2 * ahead) {
        block->next = b + ahead;
        block->next_k = NR;
    }
}

#define BASE(g)           \
    const REAL *a##g = a; \
    MOVE(a##g, 3 * g * a_row);
#define ADVANCE(g) MOVE(a##g, block->a_k);
#define FETCH_1               \
    __builtin_prefetch(next); \
    next += block->next_k;
#define FETCH_2                                   \
    if (NR * (int64_t)sizeof(REAL) > LINE_NBYTES) \
        __builtin_prefetch(next + LANES);         \
    FETCH_1
#define NEXT_1(g) a##g += block->a_k1;
#define NEXT_2(g) a##g += block->a_k2;
// What the epilogue does with all sums, step by step: ...
#define EACH_1(i, change)       s##i = change(s##i, s);
#define EACH_2(i, change)       EACH_1(i, change) t##i = change(t##i, t);
#define ADD_FACTOR(sum, column) sum + factor
#define ADD_COLUMN(sum, column) sum + b_##column
#define ADD_BEFORE(sum, column) sum + NAME(load)(before + column##_AT)
#define LIMIT_LOW(sum, column)  AT_LEAST(sum, low)
#define LIMIT_HIGH(sum, column) AT_MOST(sum, high)
#define s_AT                    0
#define t_AT                    LANES
#define ROW_BIAS_1(i, g, o)           \
    factor = *before - (VECTOR){ 0 }; \
    before++;                         \
    EACH_1(i, ADD_FACTOR)
#define ROW_BIAS_2(i, g, o)           \
    factor = *before - (VECTOR){ 0 }; \
    before++;                         \
    EACH_2(i, ADD_FACTOR)
#define COLUMN_BIAS_1(i, g, o) EACH_1(i, ADD_COLUMN)
#define COLUMN_BIAS_2(i, g, o) EACH_2(i, ADD_COLUMN)
#define RESIDUAL_1(i, g, o)    EACH_1(i, ADD_BEFORE) MOVE(before, c_row);
#define RESIDUAL_2(i, g, o)    EACH_2(i, ADD_BEFORE) MOVE(before, c_row);
#define LOW_1(i, g, o)         EACH_1(i, LIMIT_LOW)
#define LOW_2(i, g, o)         EACH_2(i, LIMIT_LOW)
#define HIGH_1(i, g, o)        EACH_1(i, LIMIT_HIGH)
#define HIGH_2(i, g, o)        EACH_2(i, LIMIT_HIGH)
// ... and with those of a row, which are stored then: 20 cycles less for 14 rows of two vectors.
#define STOP_LOW_1(i, g, o)      LOW_1(i, g, o) STOP_1(i, g, o)
#define STOP_LOW_2(i, g, o)      LOW_2(i, g, o) STOP_2(i, g, o)
#define STOP_BOTH_1(i, g, o)     LOW_1(i, g, o) HIGH_1(i, g, o) STOP_1(i, g, o)
#define STOP_BOTH_2(i, g, o)     LOW_2(i, g, o) HIGH_2(i, g, o) STOP_2(i, g, o)
#define ROW_STOP_1(i, g, o)      ROW_BIAS_1(i, g, o) STOP_1(i, g, o)
#define ROW_STOP_2(i, g, o)      ROW_BIAS_2(i, g, o) STOP_2(i, g, o)
#define ROW_STOP_LOW_1(i, g, o)  ROW_BIAS_1(i, g, o) STOP_LOW_1(i, g, o)
#define ROW_STOP_LOW_2(i, g, o)  ROW_BIAS_2(i, g, o) STOP_LOW_2(i, g, o)
#define ROW_STOP_BOTH_1(i, g, o) ROW_BIAS_1(i, g, o) STOP_BOTH_1(i, g, o)
#define ROW_STOP_BOTH_2(i, g, o) ROW_BIAS_2(i, g, o) STOP_BOTH_2(i, g, o)
#define FINISH(rows, stop)            \
    if (flags & CPU_TILE_ROW_BIAS) {  \
        TILE_ROWS_##rows(ROW_##stop); \
    } else {                          \
        TILE_ROWS_##rows(stop);       \
    }
#define EPILOGUE(rows, vectors)                                                          \
    int64_t flags = e->flags;                                                            \
    const VECTOR low = e->low, high = e->high;                                           \
    const REAL *before = e->bias;                                                        \
    VECTOR factor;                                                                       \
    if (flags & CPU_TILE_COLUMN_BIAS) {                                                  \
        b = e->bias;                                                                     \
        COLUMNS_##vectors;                                                               \
        TILE_ROWS_##rows(COLUMN_BIAS_##vectors);                                         \
    }                                                                                    \
    if (flags & CPU_TILE_ADD_RESIDUAL) {                                                 \
        if (flags & CPU_TILE_ROW_BIAS) {                                                 \
            TILE_ROWS_##rows(ROW_BIAS_##vectors);                                        \
        }                                                                                \
        flags &= ~(int64_t)CPU_TILE_ROW_BIAS;                                            \
        before = e->residual;                                                            \
        TILE_ROWS_##rows(RESIDUAL_##vectors);                                            \
    }                                                                                    \
    switch (flags & (CPU_TILE_AT_LEAST | CPU_TILE_AT_MOST)) {                            \
    case CPU_TILE_AT_LEAST | CPU_TILE_AT_MOST: FINISH(rows, STOP_BOTH_##vectors) return; \
    case CPU_TILE_AT_LEAST: FINISH(rows, STOP_LOW_##vectors) return;                     \
    case CPU_TILE_AT_MOST:                                                               \
        if (flags & CPU_TILE_ROW_BIAS) {                                                 \
            TILE_ROWS_##rows(ROW_BIAS_##vectors);                                        \
        }                                                                                \
        TILE_ROWS_##rows(HIGH_##vectors);                                                \
        TILE_ROWS_##rows(STOP_##vectors);                                                \
        return;                                                                          \
    default: FINISH(rows, STOP_##vectors)                                                \
    }
// k, k1, k2 >= 1
#define SUMS(rows, vectors)                       \
    const REAL *next = block->next;               \
    TILE_BASES_##rows(BASE);                      \
    int64_t k2 = block->k2;                       \
    do {                                          \
        int64_t k1 = block->k1;                   \
        do {                                      \
            int64_t k = block->k;                 \
            do {                                  \
                VECTOR factor;                    \
                COLUMNS_##vectors;                \
                FETCH_##vectors;                  \
                TILE_ROWS_##rows(STEP_##vectors); \
                TILE_BASES_##rows(ADVANCE);       \
                MOVE(b, block->b_k);              \
            } while (--k > 0);                    \
            TILE_BASES_##rows(NEXT_1);            \
            b += block->b_k1;                     \
        } while (--k1 > 0);                       \
        TILE_BASES_##rows(NEXT_2);                \
        b += block->b_k2;                         \
    } while (--k2 > 0);
/* Sums with an epilogue begin in registers that are cleared: zeros from memory take 30 cycles more, as
 * long as two terms of 14 rows of two vectors. */
#define TILE(rows, vectors)                                                           \
    static void NAME(tile_##rows##_##vectors)(REAL * c, const REAL *a, const REAL *b, \
                                              const struct tile_block *block)         \
    {                                                                                 \
        const int64_t a_row = block->a_row, c_row = block->c_row;                     \
        const REAL *start = block->start ? c : NAME(zeros);                           \
        const int64_t start_row = block->start ? c_row : 0;                           \
        HIDE(start);                                                                  \
        TILE_ROWS_##rows(START_##vectors);                                            \
        SUMS(rows, vectors)                                                           \
        TILE_ROWS_##rows(STOP_##vectors);                                             \
    }                                                                                 \
    static void NAME(finished_##rows##_##vectors)(                                    \
        REAL * c, const REAL *a, const REAL *b, const struct tile_block *block)       \
    {                                                                                 \
        const int64_t a_row = block->a_row, c_row = block->c_row;                     \
        TILE_ROWS_##rows(ZERO_##vectors);                                             \
        if (block->sums) {                                                            \
            const REAL *start = block->sums;                                          \
            const int64_t start_row = block->sums_row;                                \
            TILE_ROWS_##rows(BEGIN_##vectors);                                        \
        }                                                                             \
        SUMS(rows, vectors)                                                           \
        const struct NAME(epilogue) *e = block->epilogue;                             \
        EPILOGUE(rows, vectors)                                                       \
    }
#define TILE_1(rows)     TILE(rows, 1)
#define TILE_2(rows)     TILE(rows, 2)
#define TILE_ROW_1(rows) NAME(tile_##rows##_1),
#define TILE_ROW_2(rows) NAME(tile_##rows##_2),
#define FINISHED_1(rows) NAME(finished_##rows##_1),
#define FINISHED_2(rows) NAME(finished_##rows##_2),
TILE_EACH_ROWS(TILE_1)
TILE_EACH_ROWS(TILE_2)

static NAME(tile) *const NAME(tiles)[2][TILE_MR] = {
    { TILE_EACH_ROWS(TILE_ROW_1) },
    { TILE_EACH_ROWS(TILE_ROW_2) },
};
static NAME(tile) *const NAME(finished)[2][TILE_MR] = {
    { TILE_EACH_ROWS(FINISHED_1) },
    { TILE_EACH_ROWS(FINISHED_2) },
};

/* The plain k of a B that may not be read to NR: on copies of its rows, piece by piece,
 * in the order of k, so that the sums are the same. */
static void NAME(run_pieces)(NAME(tile) * tile, REAL *whole, const REAL *a, const REAL *b,
                             struct tile_block *block, const int64_t *n)
{
    const size_t nbytes = (size_t)n[CPU_TILE_N] * sizeof(REAL);
    REAL piece[TILE_PIECE * NR];
    for (int64_t k = 0; k < n[CPU_TILE_K]; k += TILE_PIECE) {
        block->k = n[CPU_TILE_K] - k < TILE_PIECE ? n[CPU_TILE_K] - k : TILE_PIECE;
        for (int64_t i = 0; i < block->k; i++) {
            memset(piece + i * NR, 0, sizeof(*piece) * (size_t)NR);
            memcpy(piece + i * NR, b + (k + i) * n[CPU_TILE_B_K], nbytes);
        }
        tile(whole, a + k * n[CPU_TILE_A_K], piece, block);
        block->start = 1;
    }
}

/* A tile some columns short: on a copy of C, and of B unless that is padded. */
static void NAME(run_short)(NAME(tile) * tile, REAL *c, const REAL *a, const REAL *b,
                            const struct tile_block *as, const int64_t *n)
{
    const size_t nbytes = (size_t)n[CPU_TILE_N] * sizeof(REAL);
    const int is_padded = (n[CPU_TILE_FLAGS] & CPU_TILE_PADDED) != 0;
    REAL whole[TILE_MR * NR];
    struct tile_block block = *as;
    block.c_row = NR;
    memset(whole, 0, sizeof(whole));
    for (int64_t i = 0; block.start && i < n[CPU_TILE_M]; i++)
        memcpy(whole + i * NR, c + i * n[CPU_TILE_C_ROW], nbytes);
    if (is_padded) {
        tile(whole, a, b, &block);
    } else {
        block.b_k = NR;
        block.k1 = block.k2 = 1;
        block.next_k = 0;
        for (int64_t i = 0; i < n[CPU_TILE_K2]; i++)
            for (int64_t j = 0; j < n[CPU_TILE_K1]; j++)
                NAME(run_pieces)
        (tile, whole, a + i * n[CPU_TILE_A_K2] + j * n[CPU_TILE_A_K1],
         b + i * n[CPU_TILE_B_K2] + j * n[CPU_TILE_B_K1], &block, n);
    }
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++)
        memcpy(c + i * n[CPU_TILE_C_ROW], whole + i * NR, nbytes);
}

/* Sums of no terms. */
static int32_t NAME(run_empty)(REAL *c, const int64_t *n)
{
    for (int64_t i = 0; !(n[CPU_TILE_FLAGS] & CPU_TILE_START) && i < n[CPU_TILE_M]; i++)
        memset(c + i * n[CPU_TILE_C_ROW], 0, (size_t)n[CPU_TILE_N] * sizeof(REAL));
    return 0;
}

static int32_t NAME(run)(void *const *p, const int64_t *n)
{
    if (n[CPU_TILE_K] == 0 || n[CPU_TILE_K1] == 0 || n[CPU_TILE_K2] == 0)
        return NAME(run_empty)(p[CPU_TILE_C], n);
    const int vectors = n[CPU_TILE_N] > LANES ? 2 : 1;
    NAME(tile) *tile = NAME(tiles)[vectors - 1][n[CPU_TILE_M] - 1];
    struct tile_block block = block_of(n);
    NAME(look_ahead)(&block, p[CPU_TILE_B]);
    if (n[CPU_TILE_N] == vectors * LANES)
        tile(p[CPU_TILE_C], p[CPU_TILE_A], p[CPU_TILE_B], &block);
    else
        NAME(run_short)(tile, p[CPU_TILE_C], p[CPU_TILE_A], p[CPU_TILE_B], &block, n);
    return 0;
}

/* ---- sums by an epilogue ---- */

/* Rows of sums that are turned are as many as fill vectors. */
#define TURNED_ROWS ((TILE_MR + LANES - 1) / LANES * LANES)

/* The same, columns by columns. */
static void NAME(finish_columns)(const struct NAME(epilogue) * e, REAL *c,
                                 const REAL *sums, int64_t width, const int64_t *n)
{
    enum { SIDE = TURN_SIDE(sizeof(REAL)) };
    const int is_done = !(e->flags & (CPU_TILE_COLUMN_BIAS | CPU_TILE_ADD_RESIDUAL |
                                      CPU_TILE_AT_LEAST | CPU_TILE_AT_MOST));
    for (int64_t i = 0; i < n[CPU_TILE_M]; i += LANES) {
        const int64_t count = NAME(least)(n[CPU_TILE_M] - i, LANES);
        REAL *to = c + i;
        for (int64_t j = 0; j < width; j += SIDE) {
            const int64_t now = NAME(least)(width - j, SIDE);
            int_vector columns[SIDE];
            UNROLL
            for (int q = 0; q < SIDE; q++)
                columns[q] = LOAD_APART(sums + (i + q) * NR + j, SIDE * NR);
            TURN(columns);
            if (is_done && now == SIDE) {
                UNROLL
                for (int q = 0; q < SIDE; q++) {
                    STORE_PART(to, (VECTOR)columns[q], count);
                    to += n[CPU_TILE_C_ROW];
                }
                continue;
            }
            for (int64_t q = 0; q < now; q++) {
                const REAL bias =
                    e->flags & CPU_TILE_COLUMN_BIAS ? e->bias[j + q] : (REAL)0;
                NAME(finish)
                (e, c, (j + q) * n[CPU_TILE_C_ROW] + i, (VECTOR)columns[q],
                 bias - (VECTOR){ 0 }, count);
            }
        }
    }
}

/* A tile of a call, and what is done with its sums: e. */
struct NAME(spot) {
    REAL *c;
    const REAL *b;
    int64_t width;
    struct NAME(epilogue) e;
};

static void NAME(run_tile)(REAL *to, int64_t row, const struct NAME(spot) * at,
                           void *const *p, const int64_t *n, struct tile_block *block)
{
    block->c_row = row;
    block->epilogue = &at->e;
    NAME(finished)[at->width > LANES][n[CPU_TILE_M] - 1](to, p[CPU_TILE_A], at->b, block);
}

/* The bias of columns, and bounds where nothing is added between, come before sums are turned: rows
 * are still in registers then. */
static void NAME(run_turned)(REAL *sums, struct NAME(spot) * at, void *const *p,
                             const int64_t *n, struct tile_block *block)
{
    enum { BOUNDS = CPU_TILE_AT_LEAST | CPU_TILE_AT_MOST };
    const int64_t flags = at->e.flags;
    const REAL *all = at->e.bias;
    REAL bias[NR];
    at->e.flags &= CPU_TILE_COLUMN_BIAS | (flags & CPU_TILE_ADD_RESIDUAL ? 0 : BOUNDS);
    if (flags & CPU_TILE_COLUMN_BIAS && at->width % LANES) {
        memset(bias, 0, sizeof(bias));
        memcpy(bias, all, (size_t)at->width * sizeof(REAL));
        at->e.bias = bias;
    }
    NAME(run_tile)(sums, NR, at, p, n, block);
    at->e.bias = all;
    at->e.flags = flags & ~at->e.flags;
    NAME(finish_columns)(&at->e, at->c, sums, at->width, n);
    at->e.flags = flags;
}

/* On a copy: a tile that is some columns short, or sums of no terms. */
static void NAME(run_apart)(REAL *sums, const struct NAME(spot) * at, void *const *p,
                            const int64_t *n, const REAL *start)
{
    for (int64_t i = 0; start && i < n[CPU_TILE_M]; i++)
        memcpy(sums + i * NR, start + i * n[CPU_TILE_SUMS_ROW],
               (size_t)at->width * sizeof(REAL));
    union {
        const REAL *from;
        void *address;
    } b = { .from = at->b };
    void *to_sums[] = { sums, p[CPU_TILE_A], b.address };
    int64_t plain[CPU_TILE_NINT];
    memcpy(plain, n, sizeof(plain));
    plain[CPU_TILE_N] = at->width;
    plain[CPU_TILE_C_ROW] = NR;
    plain[CPU_TILE_FLAGS] &= CPU_TILE_PADDED | CPU_TILE_START;
    NAME(run)(to_sums, plain);
    if (at->e.flags & CPU_TILE_TURNED)
        NAME(finish_columns)(&at->e, at->c, sums, at->width, n);
    else
        NAME(finish_rows)(&at->e, at->c, sums, at->width, n);
}

/* Tile after tile. */
static void NAME(run_tiles)(struct NAME(spot) * at, void *const *p, const int64_t *n)
{
    const int64_t flags = at->e.flags;
    const int is_turned = (flags & CPU_TILE_TURNED) != 0;
    const int64_t c_step = is_turned ? NR * n[CPU_TILE_C_ROW] : NR;
    const int has_terms =
        n[CPU_TILE_K] != 0 && n[CPU_TILE_K1] != 0 && n[CPU_TILE_K2] != 0;
    struct tile_block block = block_of(n);
    REAL sums[TURNED_ROWS * NR];
    block.start = 0;
    NAME(look_ahead)(&block, at->b);
    if (n[CPU_TILE_NEXT_K]) {
        block.next = p[CPU_TILE_NEXT];
        block.next_k = n[CPU_TILE_NEXT_K];
    }
    if (flags & CPU_TILE_START) {
        block.sums = p[CPU_TILE_SUMS];
        block.sums_row = n[CPU_TILE_SUMS_ROW];
    }
    for (int64_t i = n[CPU_TILE_M]; is_turned && i < TURNED_ROWS; i++) {
        NAME(store)(sums + i * NR, (VECTOR){ 0 });
        NAME(store)(sums + i * NR + LANES, (VECTOR){ 0 });
    }
    for (int64_t left = n[CPU_TILE_N];; left -= NR) {
        at->width = NAME(least)(left, NR);
        const int fills = at->width % LANES == 0;
        if (has_terms && is_turned && (fills || flags & CPU_TILE_PADDED))
            NAME(run_turned)(sums, at, p, n, &block);
        else if (has_terms && !is_turned && fills)
            NAME(run_tile)(at->c, n[CPU_TILE_C_ROW], at, p, n, &block);
        else
            NAME(run_apart)(sums, at, p, n, block.sums);
        if (left <= NR)
            return;
        at->c += c_step;
        at->b += n[CPU_TILE_B_N];
        block.next = (const REAL *)block.next + n[CPU_TILE_B_N];
        if (block.sums)
            block.sums = (const REAL *)block.sums + NR;
        at->e.residual += c_step;
        if (flags & CPU_TILE_COLUMN_BIAS)
            at->e.bias += NR;
    }
}

static int32_t NAME(run_epilogue)(void *const *p, const int64_t *n)
{
    struct NAME(spot)
        at = { .c = p[CPU_TILE_C], .b = p[CPU_TILE_B], .e = NAME(epilogue_of)(p, n) };
    if (NAME(is_bound_nan)(&at.e))
        NAME(fill_bound)(&at.e, at.c, n);
    else
        NAME(run_tiles)(&at, p, n);
    return 0;
}

#ifndef TILE_HAS_NO_LINES
#include "tile_lines.h"
#endif

#ifndef TILE_GOES_NOT_ACROSS
#include "tile_across.h"
#endif

#undef ZERO_1
#undef ZERO_2
#undef START_1
#undef START_2
#undef BEGIN_1
#undef BEGIN_2
#undef STEP_1
#undef STEP_2
#undef STOP_1
#undef STOP_2
#undef COLUMNS_1
#undef COLUMNS_2
#undef HIDE
#undef MOVE
#undef BASE
#undef ADVANCE
#undef FETCH_1
#undef FETCH_2
#undef NEXT_1
#undef NEXT_2
#undef EACH_1
#undef EACH_2
#undef ADD_FACTOR
#undef ADD_COLUMN
#undef ADD_BEFORE
#undef LIMIT_LOW
#undef LIMIT_HIGH
#undef s_AT
#undef t_AT
#undef ROW_BIAS_1
#undef ROW_BIAS_2
#undef COLUMN_BIAS_1
#undef COLUMN_BIAS_2
#undef RESIDUAL_1
#undef RESIDUAL_2
#undef LOW_1
#undef LOW_2
#undef HIGH_1
#undef HIGH_2
#undef STOP_LOW_1
#undef STOP_LOW_2
#undef STOP_BOTH_1
#undef STOP_BOTH_2
#undef ROW_STOP_1
#undef ROW_STOP_2
#undef ROW_STOP_LOW_1
#undef ROW_STOP_LOW_2
#undef ROW_STOP_BOTH_1
#undef ROW_STOP_BOTH_2
#undef FINISH
#undef EPILOGUE
#undef SUMS
#undef TURNED_ROWS
#undef TILE
#undef TILE_1
#undef TILE_2
#undef TILE_ROW_1
#undef TILE_ROW_2
#undef FINISHED_1
#undef FINISHED_2
#undef LANES
#undef NR
#undef REAL
#undef VECTOR
#undef MULTIPLY_ADD
#undef SPREAD
#undef IS_ZERO
#undef LOAD_PART
#undef STORE_PART
#undef AT_LEAST
#undef AT_MOST
#undef TURN
#undef LOAD_RUNS
#undef LOAD_APART
#undef NAME
