/* Instructions that move elements between arrays and registers, one for each dtype. */
#include "compute/program.h"

#define HALF(x)      bt_half_to_float(x)
#define BFLOAT(x)    bt_bfloat_to_float(x)
#define TO_HALF(x)   bt_half_from_double(x)
#define TO_BFLOAT(x) bt_bfloat_from_double(x)
#define AS_DOUBLE(x) (double)(x)
#define AS_INT(x)    (int64_t)(x)

/* dtype, C type, member of the cell, conversion in, conversion out */
#define EACH(X)                                 \
    X(BOOL, uint8_t, i, AS_INT, (uint8_t))      \
    X(INT8, int8_t, i, AS_INT, (int8_t))        \
    X(INT16, int16_t, i, AS_INT, (int16_t))     \
    X(INT32, int32_t, i, AS_INT, (int32_t))     \
    X(INT64, int64_t, i, AS_INT, (int64_t))     \
    X(UINT8, uint8_t, i, AS_INT, (uint8_t))     \
    X(UINT16, uint16_t, i, AS_INT, (uint16_t))  \
    X(UINT32, uint32_t, i, AS_INT, (uint32_t))  \
    X(UINT64, uint64_t, i, AS_INT, (uint64_t))  \
    X(FLOAT16, uint16_t, f, HALF, TO_HALF)      \
    X(BFLOAT16, uint16_t, f, BFLOAT, TO_BFLOAT) \
    X(FLOAT32, float, f, AS_DOUBLE, (float))    \
    X(FLOAT64, double, f, AS_DOUBLE, (double))

#define LOAD(UPPER, type, member, in_, out_)                                         \
    static int load_##UPPER(bt__machine *m, const bt__instr *in)                     \
    {                                                                                \
        uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out); \
        union bt__cell *out = in->out.at + from;                                     \
        const int64_t lane = in->lane;                                               \
        const type *at = (const type *)(const void *)m->data[in->array] +            \
                         m->cursors[in->cursor] + lane * (int64_t)from;              \
        if (lane == 1) {                                                             \
            for (uint32_t i = 0; i < n; i++)                                         \
                out[i].member = in_(at[i]);                                          \
        } else {                                                                     \
            for (uint32_t i = 0; i < n; i++)                                         \
                out[i].member = in_(at[(int64_t)i * lane]);                          \
        }                                                                            \
        return 1;                                                                    \
    }                                                                                \
    static int gather_##UPPER(bt__machine *m, const bt__instr *in)                   \
    {                                                                                \
        uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out); \
        union bt__cell *out = in->out.at + from;                                     \
        const union bt__cell *index = in->a.at + (size_t)from * in->a.step;          \
        const union bt__cell *mask =                                                 \
            in->c.at ? in->c.at + (size_t)from * in->c.step : NULL;                  \
        const type *at = (const type *)(const void *)m->data[in->array];             \
        for (uint32_t i = 0; i < n; i++) {                                           \
            out[i].i = 0;                                                            \
            if (!mask || mask[i * in->c.step].i)                                     \
                out[i].member = in_(at[index[i * in->a.step].i]);                    \
        }                                                                            \
        return 1;                                                                    \
    }                                                                                \
    static int store_##UPPER(bt__machine *m, const bt__instr *in)                    \
    {                                                                                \
        uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out); \
        const union bt__cell *a = in->a.at + (size_t)from * in->a.step;              \
        const int64_t lane = in->lane;                                               \
        const uint32_t step = in->a.step;                                            \
        type *at = (type *)(void *)m->data[in->array] + m->cursors[in->cursor] +     \
                   lane * (int64_t)from;                                             \
        for (uint32_t i = 0; i < n; i++)                                             \
            at[(int64_t)i * lane] = out_(a[i * step].member);                        \
        return 1;                                                                    \
    }
EACH(LOAD)

typedef int run_fn(bt__machine *, const bt__instr *);

static const struct {
    bt_dtype dtype;
    run_fn *load, *gather, *store;
} rows[] = {
#define ROW(UPPER, type, member, in_, out_) \
    { BT_##UPPER, load_##UPPER, gather_##UPPER, store_##UPPER },
    EACH(ROW)
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
