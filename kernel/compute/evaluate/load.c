/* Instructions that move elements between arrays and registers, one for each dtype. */
#include "compute/evaluate/bytecode.h"
#include "value/elements.h"

#define HALF(x)        bt__half_to_float(x)
#define BFLOAT(x)      bt_bfloat_to_float(x)
#define TO_HALF(x)     bt__short_from_double(x, BT_FLOAT16)
#define TO_BFLOAT(x)   bt__short_from_double(x, BT_BFLOAT16)
#define AS_DOUBLE(x)   (double)(x)
#define AS_INT(x)      (int64_t)(x)

#define TO_E4M3FN(x)   bt__float8_from_double(x, BT_FLOAT8_E4M3FN)
#define TO_E4M3FNUZ(x) bt__float8_from_double(x, BT_FLOAT8_E4M3FNUZ)
#define TO_E5M2(x)     bt__float8_from_double(x, BT_FLOAT8_E5M2)
#define TO_E5M2FNUZ(x) bt__float8_from_double(x, BT_FLOAT8_E5M2FNUZ)

/* dtype, C type, member of the cell, conversion in, conversion out */
#define EACH(X)                                                              \
    X(BOOL, uint8_t, i, AS_INT, (uint8_t))                                   \
    X(INT8, int8_t, i, AS_INT, (int8_t))                                     \
    X(INT16, int16_t, i, AS_INT, (int16_t))                                  \
    X(INT32, int32_t, i, AS_INT, (int32_t))                                  \
    X(INT64, int64_t, i, AS_INT, (int64_t))                                  \
    X(UINT8, uint8_t, i, AS_INT, (uint8_t))                                  \
    X(UINT16, uint16_t, i, AS_INT, (uint16_t))                               \
    X(UINT32, uint32_t, i, AS_INT, (uint32_t))                               \
    X(UINT64, uint64_t, i, AS_INT, (uint64_t))                               \
    X(FLOAT8_E4M3FN, uint8_t, f, bt_float8_e4m3fn_to_float, TO_E4M3FN)       \
    X(FLOAT8_E4M3FNUZ, uint8_t, f, bt_float8_e4m3fnuz_to_float, TO_E4M3FNUZ) \
    X(FLOAT8_E5M2, uint8_t, f, bt_float8_e5m2_to_float, TO_E5M2)             \
    X(FLOAT8_E5M2FNUZ, uint8_t, f, bt_float8_e5m2fnuz_to_float, TO_E5M2FNUZ) \
    X(FLOAT16, uint16_t, f, HALF, TO_HALF)                                   \
    X(BFLOAT16, uint16_t, f, BFLOAT, TO_BFLOAT)                              \
    X(FLOAT32, float, f, AS_DOUBLE, (float))                                 \
    X(FLOAT64, double, f, AS_DOUBLE, (double))

/* Packed elements lie at so many elements from the first byte on. */
#define FLOAT4(x)    bt_float4_e2m1fn_to_float(x)
#define TO_FLOAT4(x) bt__float8_from_double(x, BT_FLOAT4_E2M1FN)
#define SIGNED_4(x)  bt_int_of_bits(x, 4)
#define SIGNED_2(x)  bt_int_of_bits(x, 2)

/* dtype, width, member of the cell, conversion in, conversion out */
#define EACH_PACKED(X)                 \
    X(INT4, 4, i, SIGNED_4, (uint8_t)) \
    X(UINT4, 4, i, AS_INT, (uint8_t))  \
    X(INT2, 2, i, SIGNED_2, (uint8_t)) \
    X(UINT2, 2, i, AS_INT, (uint8_t))  \
    X(FLOAT4_E2M1FN, 4, f, FLOAT4, TO_FLOAT4)

/* ---- one element ---- */

#define ELEMENT(UPPER, type, member, in_, out_)                              \
    static inline void get_##UPPER(const char *data, int64_t i, bt_cell *to) \
    {                                                                        \
        to->member = in_(((const type *)(const void *)data)[i]);             \
    }                                                                        \
    static inline void set_##UPPER(char *data, int64_t i, bt_cell from)      \
    {                                                                        \
        ((type *)(void *)data)[i] = out_(from.member);                       \
    }
#define ELEMENT_PACKED(UPPER, width, member, in_, out_)                      \
    static inline void get_##UPPER(const char *data, int64_t i, bt_cell *to) \
    {                                                                        \
        to->member = in_(bt_packed_get((const uint8_t *)data, i, width));    \
    }                                                                        \
    static inline void set_##UPPER(char *data, int64_t i, bt_cell from)      \
    {                                                                        \
        bt_packed_set((uint8_t *)data, i, width, out_(from.member));         \
    }
EACH(ELEMENT)
EACH_PACKED(ELEMENT_PACKED)

/* ---- loads, gathers, stores ---- */

/* Element 0 of what an instruction reads: base and cursor. */
static inline int64_t start(const bt__machine *m, struct bt__reg base, uint32_t cursor)
{
    return m->cursors[cursor] + (base.at ? base.at->i : 0);
}

#define LOAD(UPPER, width, member, in_, out_)                                         \
    static int load_##UPPER(bt__machine *m, const bt__instr *in)                      \
    {                                                                                 \
        uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out);  \
        bt_cell *out = in->out.at + from;                                             \
        const int64_t lane = in->lane;                                                \
        const int64_t first = start(m, in->a, in->cursor) + lane * (int64_t)from;     \
        const char *data = m->data[in->array];                                        \
        if (lane == 1) {                                                              \
            for (uint32_t i = 0; i < n; i++)                                          \
                get_##UPPER(data, first + i, &out[i]);                                \
        } else {                                                                      \
            for (uint32_t i = 0; i < n; i++)                                          \
                get_##UPPER(data, first + (int64_t)i * lane, &out[i]);                \
        }                                                                             \
        return 1;                                                                     \
    }                                                                                 \
    static int gather_##UPPER(bt__machine *m, const bt__instr *in)                    \
    {                                                                                 \
        uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out);  \
        bt_cell *out = in->out.at + from;                                             \
        const bt_cell *index = in->a.at + (size_t)from * in->a.step;                  \
        const bt_cell *mask = in->c.at ? in->c.at + (size_t)from * in->c.step : NULL; \
        const char *data = m->data[in->array];                                        \
        for (uint32_t i = 0; i < n; i++) {                                            \
            out[i].i = 0;                                                             \
            if (!mask || mask[i * in->c.step].i)                                      \
                get_##UPPER(data, index[i * in->a.step].i, &out[i]);                  \
        }                                                                             \
        return 1;                                                                     \
    }                                                                                 \
    static int store_##UPPER(bt__machine *m, const bt__instr *in)                     \
    {                                                                                 \
        uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out);  \
        const bt_cell *a = in->a.at + (size_t)from * in->a.step;                      \
        const int64_t lane = in->lane;                                                \
        const uint32_t step = in->a.step;                                             \
        const int64_t first = m->cursors[in->cursor] + lane * (int64_t)from;          \
        char *data = m->data[in->array];                                              \
        for (uint32_t i = 0; i < n; i++)                                              \
            set_##UPPER(data, first + (int64_t)i * lane, a[i * step]);                \
        return 1;                                                                     \
    }
EACH(LOAD)
EACH_PACKED(LOAD)

/* ---- sums of products ---- */

/* Additions of four partial sums need not wait for each other. */
#define MULTIPLY_ADD(UPPER, type, member, wide)                                       \
    static void lanes_##UPPER(uint32_t n, bt_cell *acc, const type *x, int64_t dx,    \
                              const type *y, int64_t dy)                              \
    {                                                                                 \
        if (dx == 1 && dy == 1) {                                                     \
            for (uint32_t i = 0; i < n; i++)                                          \
                acc[i].member += (wide)x[i] * (wide)y[i];                             \
        } else if (dx == 1 && dy == 0) {                                              \
            const wide factor = (wide)*y;                                             \
            for (uint32_t i = 0; i < n; i++)                                          \
                acc[i].member += (wide)x[i] * factor;                                 \
        } else if (dx == 0 && dy == 1) {                                              \
            const wide factor = (wide)*x;                                             \
            for (uint32_t i = 0; i < n; i++)                                          \
                acc[i].member += factor * (wide)y[i];                                 \
        } else {                                                                      \
            for (uint32_t i = 0; i < n; i++)                                          \
                acc[i].member += (wide)x[(int64_t)i * dx] * (wide)y[(int64_t)i * dy]; \
        }                                                                             \
    }                                                                                 \
    static wide dot_##UPPER(uint32_t n, const type *x, int64_t dx, const type *y,     \
                            int64_t dy)                                               \
    {                                                                                 \
        wide part[4] = { 0 };                                                         \
        uint32_t i = 0;                                                               \
        for (; dx == 1 && dy == 1 && i + 4 <= n; i += 4) {                            \
            for (uint32_t k = 0; k < 4; k++)                                          \
                part[k] += (wide)x[i + k] * (wide)y[i + k];                           \
        }                                                                             \
        for (; i + 4 <= n; i += 4) {                                                  \
            for (uint32_t k = 0; k < 4; k++)                                          \
                part[k] +=                                                            \
                    (wide)x[(int64_t)(i + k) * dx] * (wide)y[(int64_t)(i + k) * dy];  \
        }                                                                             \
        for (; i < n; i++)                                                            \
            part[0] += (wide)x[(int64_t)i * dx] * (wide)y[(int64_t)i * dy];           \
        return (part[0] + part[1]) + (part[2] + part[3]);                             \
    }                                                                                 \
    static int multiply_add_##UPPER(bt__machine *m, const bt__instr *in)              \
    {                                                                                 \
        const int is_strip = in->out.step || in->to;                                  \
        const int64_t from = is_strip ? m->from : 0;                                  \
        const uint32_t n = is_strip ? m->to - m->from : 1;                            \
        const type *x = (const type *)(const void *)m->data[in->array] +              \
                        start(m, in->a, in->cursor) + in->lane * from;                \
        const type *y = (const type *)(const void *)m->data[in->array2] +             \
                        start(m, in->b, in->cursor2) + in->lane2 * from;              \
        if (in->out.step)                                                             \
            lanes_##UPPER(n, in->out.at + from, x, in->lane, y, in->lane2);           \
        else                                                                          \
            in->out.at->member += dot_##UPPER(n, x, in->lane, y, in->lane2);          \
        return 1;                                                                     \
    }
MULTIPLY_ADD(FLOAT32, float, f, double)
MULTIPLY_ADD(FLOAT64, double, f, double)
MULTIPLY_ADD(INT8, int8_t, i, int64_t)
MULTIPLY_ADD(UINT8, uint8_t, i, int64_t)

typedef int run_fn(bt__machine *, const bt__instr *);

run_fn *bt__run_multiply_add(bt_dtype dtype)
{
    switch (dtype) {
    case BT_FLOAT32: return multiply_add_FLOAT32;
    case BT_FLOAT64: return multiply_add_FLOAT64;
    case BT_INT8: return multiply_add_INT8;
    case BT_UINT8: return multiply_add_UINT8;
    default: return NULL;
    }
}

static const struct {
    bt_dtype dtype;
    run_fn *load, *gather, *store;
} rows[] = {
#define ROW(UPPER, type, member, in_, out_) \
    { BT_##UPPER, load_##UPPER, gather_##UPPER, store_##UPPER },
    EACH(ROW) EACH_PACKED(ROW)
};

#define PICK(which)                                     \
    run_fn *bt__run_##which(bt_dtype dtype)             \
    {                                                   \
        for (uint32_t i = 0; i < BT_COUNT(rows); i++) { \
            if (rows[i].dtype == dtype)                 \
                return rows[i].which;                   \
        }                                               \
        return NULL;                                    \
    }
PICK(load)
PICK(gather)
PICK(store)
