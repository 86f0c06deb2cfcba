/* The machine that bytecode is made for. */
#include "bytecode_run.h"

#include "integer.h"

/* Addresses move as integers do: a step may pass by what lies outside of a buffer. */
static void *moved(void *address, int64_t nbytes)
{
    return (void *)((uintptr_t)address + (uintptr_t)(uint64_t)nbytes);
}

static int64_t added(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t multiplied(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Makes updates `times` over; gives the word behind them. */
static const uint32_t *update(const struct bytecode_frame *f, const uint32_t *at,
                              int64_t times)
{
    uint32_t np = at[0], nn = at[1];
    at += 2;
    for (uint32_t i = 0; i < np; i++, at += 3)
        f->p[*at] = moved(f->p[*at], multiplied(bytecode_integer(at + 1), times));
    for (uint32_t i = 0; i < nn; i++, at += 3)
        f->n[*at] = added(f->n[*at], multiplied(bytecode_integer(at + 1), times));
    return at;
}

static int64_t load(bt_dtype dtype, const void *at)
{
    switch (dtype) {
    case BT_INT8: return *(const int8_t *)at;
    case BT_INT16: return *(const int16_t *)at;
    case BT_INT32: return *(const int32_t *)at;
    case BT_INT64: return *(const int64_t *)at;
    case BT_UINT16: return *(const uint16_t *)at;
    case BT_UINT32: return *(const uint32_t *)at;
    case BT_UINT64: return (int64_t) * (const uint64_t *)at;
    default: return *(const uint8_t *)at; // and bool
    }
}

/* The end of a loop's iteration: back to its start, or behind it with all as it was. */
static const uint32_t *next(const struct bytecode_frame *f, const uint32_t *at,
                            int64_t extent, const uint32_t *updates)
{
    int64_t *counter = &f->n[*at >> 8];
    int is_last = ++*counter >= extent;
    const uint32_t *behind = update(f, updates, is_last ? 1 - extent : 1);
    if (!is_last)
        return at - at[1];
    *counter = 0;
    return behind;
}

static int is_stopped(const struct bytecode_frame *f)
{
    return f->stop && __atomic_load_n(f->stop, __ATOMIC_RELAXED);
}

int32_t bytecode_run(const struct bytecode *bytecode, const struct bytecode_phase *phase,
                     const struct bytecode_frame *f)
{
    const uint32_t *at = bytecode->code + phase->first;
    int64_t *const n = f->n;
    void **const p = f->p;
    for (;;) {
        const uint32_t a = *at >> 8;
        switch (*at & 0xff) {
        case BYTECODE_CALL:
            f->callees[a]->run(p + at[1], n + at[2]);
            at += 3;
            break;
        case BYTECODE_NEXT:
            if (is_stopped(f))
                return BT_FAULT_STOPPED;
            at = next(f, at, bytecode_integer(at + 2), at + 4);
            break;
        case BYTECODE_UNTIL:
            if (is_stopped(f))
                return BT_FAULT_STOPPED;
            at = next(f, at, n[at[2]], at + 3);
            break;
        case BYTECODE_DIM:
            n[a] = f->dims[at[1]];
            at += 2;
            break;
        case BYTECODE_STEP:
            n[a]++;
            if (n[a] < f->end) {
                if (is_stopped(f))
                    return BT_FAULT_STOPPED;
                (void)update(f, at + 2, 1);
                at -= at[1];
                break;
            }
            at += bytecode_length(at, UINT32_MAX);
            break;
        case BYTECODE_START:
            n[a] = f->first;
            at = update(f, at + 1, f->first);
            break;
        case BYTECODE_SET:
            n[a] = bytecode_integer(at + 1);
            at += 3;
            break;
        case BYTECODE_BASE:
            p[a] = moved(at[1] == bytecode->nbuffer ? f->locals : f->buffers[at[1]],
                         bytecode_integer(at + 2));
            at += 4;
            break;
        case BYTECODE_UNLESS: at += n[a] ? 2 : 2 + at[1]; break;
        case BYTECODE_JUMP: at += 2 + at[1]; break;
        case BYTECODE_CHECK:
            if (!n[a])
                return (int32_t)at[1] + 1;
            at += 2;
            break;
        case BYTECODE_LOAD:
            n[a] = load(at[2], p[at[1]]);
            at += 3;
            break;
        case BYTECODE_COPY:
            n[a] = n[at[1]];
            at += 2;
            break;
        case BYTECODE_MULADD:
            n[a] = added(n[at[1]], multiplied(n[at[2]], bytecode_integer(at + 3)));
            at += 5;
            break;
        case BYTECODE_OFFSET:
            p[a] = moved(p[at[1]], multiplied(n[at[2]], bytecode_integer(at + 3)));
            at += 5;
            break;
        case BYTECODE_SCALAR:
            n[a] = cpu_integer_eval(at[1], at[2], n[at[3]], n[at[4]]);
            at += 5;
            break;
#define BINARY(UPPER, value)                      \
    case BYTECODE_##UPPER: {                      \
        const int64_t x = n[at[1]], y = n[at[2]]; \
        n[a] = value;                             \
        at += 3;                                  \
        break;                                    \
    }
            BINARY(ADD, added(x, y))
            BINARY(SUB, (int64_t)((uint64_t)x - (uint64_t)y))
            BINARY(MUL, multiplied(x, y))
            BINARY(MIN, x < y ? x : y)
            BINARY(MAX, x > y ? x : y)
            BINARY(LT, x < y)
            BINARY(LE, x <= y)
            BINARY(EQ, x == y)
            BINARY(AND, x & y)
            BINARY(OR, x | y)
        case BYTECODE_NOT:
            n[a] = !n[at[1]];
            at += 2;
            break;
        case BYTECODE_SELECT:
            n[a] = n[at[1]] ? n[at[2]] : n[at[3]];
            at += 4;
            break;
        default: return 0; // BYTECODE_END
        }
    }
}
