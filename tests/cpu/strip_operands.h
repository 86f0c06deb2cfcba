/* Operands of strips: edges of every dtype, and what a row makes of them. */
#ifndef STRIP_OPERANDS_H
#define STRIP_OPERANDS_H

#include <math.h>
#include <stdlib.h>

#include "compute/graph/reduce.h"
#include "primitives/callee.h"
#include "test.h"

enum { NELEM = 513, NBYTES = NELEM * 8 };

static const bt_dtype dtypes[] = { BT_BOOL,   BT_INT8,    BT_INT16,    BT_INT32,
                                   BT_INT64,  BT_UINT8,   BT_UINT16,   BT_UINT32,
                                   BT_UINT64, BT_FLOAT16, BT_BFLOAT16, BT_FLOAT32,
                                   BT_FLOAT64, BT_FLOAT8_E4M3FN, BT_FLOAT8_E4M3FNUZ,
                                   BT_FLOAT8_E5M2, BT_FLOAT8_E5M2FNUZ };

static inline const char *name_of(bt_dtype d)
{
    static char name[BT_DTYPE_NAME_SIZE];
    return bt_dtype_name(d, name, sizeof(name));
}

static inline uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state ^ *state >> 31;
    return x * 0x9e3779b97f4a7c15u;
}

static const double edges[] = { 0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                -0.5,
                                1.5,
                                2.5,
                                -2.5,
                                2,
                                3,
                                -3,
                                7,
                                -7,
                                8,
                                15,
                                16,
                                31,
                                32,
                                63,
                                64,
                                127,
                                128,
                                -128,
                                -129,
                                255,
                                256,
                                32767,
                                32768,
                                -32768,
                                65504,
                                65519,
                                65520,
                                65535,
                                8388608.5,
                                2147483647,
                                2147483648.,
                                -2147483648.,
                                4294967295.,
                                4294967296.,
                                0x1p62,
                                0x1p63,
                                -0x1p63,
                                0x1p64,
                                0x1.fffffep127,
                                0x1p-126,
                                0x1p-149,
                                -0x1p-149,
                                0x1p-24,
                                0x1p-25,
                                88.7,
                                -87.4,
                                -103.9,
                                -104.1,
                                88.8,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                0x1.8p-25,
                                1e-8 };

/* Element i of a strip of this dtype: edges in turn, then bits or small numbers. */
static inline void put(void *at, bt_dtype d, uint32_t i, uint64_t *state)
{
    uint64_t bits = next_random(state);
    if (d == BT_BOOL) {
        *(uint8_t *)at = bits >> 40 & 1;
    } else if (i % 3 == 0) {
        bt_cell v = {
            .f = edges[bits >> 8 & 0xffff ? (bits >> 20) % BT_COUNT(edges) : 0]
        };
        bt_cell_store(at, d, bt_cell_cast(v, BT_FLOAT64, d));
    } else if (i % 3 == 1 && bt_dtype_is_float(d)) {
        bt_cell v = { .f = (double)(int64_t)bits * 0x1p-60 };
        bt_cell_store(at, d, v);
    } else if (i % 3 == 1) {
        bt_cell_store(at, d,
                      (bt_cell){ .i = bt__int_wrap((int64_t)(bits >> 20 & 31) - 9, d) });
    } else {
        memcpy(at, &bits, bt_dtype_nbytes(d));
    }
}

/* Strips come before other primitives. */
static inline const struct cpu_callee *strip_at(enum cpu_isa isa, uint32_t index)
{
    const struct cpu_callee *row = cpu_callee_at(isa, index);
    return row && row->form < CPU_TILE ? row : NULL;
}

/* Operand number `which` (from 1) of an elementwise row. */
static inline bt_dtype operand_type(const struct cpu_callee *row, uint32_t which)
{
    return cpu_form_of(row)->operands[which].element == CPU_MASK ? BT_BOOL : row->in;
}

/* One buffer each for the output and up to three operands, with room to shift them. */
struct strip {
    uint64_t at[4][NELEM + 16];
};

static inline void fill(struct strip *s, const struct cpu_callee *row, uint64_t seed)
{
    memset(s, 0xa5, sizeof(*s));
    for (uint32_t k = 1; k < cpu_form_of(row)->naddress; k++) {
        bt_dtype d = operand_type(row, k);
        for (uint32_t i = 0; i < NELEM; i++) {
            uint64_t element = 0;
            put(&element, d, i * (k == 2 ? 5 : 1) + k, &seed);
            memcpy((char *)s->at[k] + i * bt_dtype_nbytes(d), &element,
                   bt_dtype_nbytes(d));
        }
    }
}

static inline void call(const struct cpu_callee *row, struct strip *s, int64_t count)
{
    void *p[4] = { s->at[0], s->at[1], s->at[2], s->at[3] };
    assert_int_equal(row->run(p, &count), 0);
}

static inline bt_cell cell(const void *base, bt_dtype d, int64_t i)
{
    uint64_t element = 0;
    memcpy(&element, (const char *)base + i * (int64_t)bt_dtype_nbytes(d),
           bt_dtype_nbytes(d));
    return bt_cell_load(&element, d);
}

/* Whether two elements have the same bits, or are both NaN. */
static inline int is_same(bt_dtype d, const void *a, const void *b)
{
    bt_cell x = cell(a, d, 0), y = cell(b, d, 0);
    if (bt_dtype_is_float(d) && x.f != x.f)
        return y.f != y.f;
    return memcmp(a, b, bt_dtype_nbytes(d)) == 0;
}

#endif
