/*
 * What the sources of strips share: element types in memory, loops that become vectors,
 * rows of tables. Such a source is compiled once for each instruction set, STRIP_ISA, of
 * which its table bears the name.
 */
#ifndef CPU_STRIP_LOOPS_H
#define CPU_STRIP_LOOPS_H

#include <math.h>
#include <string.h>

#include "callee.h"

/* The table of a source: cpu_<what>_<isa>. */
#define STRIPS_JOIN(what, isa) cpu_##what##_##isa
#define STRIPS_NAME(what, isa) STRIPS_JOIN(what, isa)
#define STRIPS_TABLE(what)                                         \
    extern const struct cpu_callee STRIPS_NAME(what, STRIP_ISA)[]; \
    const struct cpu_callee STRIPS_NAME(what, STRIP_ISA)[] =

/* Costs: of scalar operators, and of elements by their bytes. */
enum {
#define CPU_COST(name, floats, integers) \
    ps_float_##name = floats, ps_int_##name = integers,
#include "costs.def"
};
#define PS(ps, type) ((ps) * (sizeof(type##_at) == 8 ? 2 : 1))

/* Elements at any address, of memory that other types share. */
#define AT __attribute__((aligned(1), may_alias))
typedef uint8_t bool_at AT;
typedef int8_t int8_at AT;
typedef int16_t int16_at AT;
typedef int32_t int32_at AT;
typedef int64_t int64_at AT;
typedef uint8_t uint8_at AT;
typedef uint16_t uint16_at AT;
typedef uint32_t uint32_at AT;
typedef uint64_t uint64_at AT;
typedef uint8_t float8_e4m3fn_at AT;
typedef uint8_t float8_e4m3fnuz_at AT;
typedef uint8_t float8_e5m2_at AT;
typedef uint8_t float8_e5m2fnuz_at AT;
typedef uint16_t float16_at AT;
typedef uint16_t bfloat16_at AT;
typedef float float32_at AT;
typedef double float64_at AT;

/* Elements of one index only meet each other: in place or disjoint. */
#if defined(__clang__)
#define VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define VECTOR_LOOP _Pragma("GCC ivdep")
#endif
#define EACH(i, n)  VECTOR_LOOP for (int64_t i = 0, count_ = (n)[0]; i < count_; i++)

#define STRIP(name) static int32_t name(void *const *p, const int64_t *n)

/* The strips of f(a), and of f(a, b): both dense, and each of them one element. `in` and
 * `to` are types of elements in memory. */
#define STRIP1(name, f, in, to)      \
    STRIP(name)                      \
    {                                \
        to *out = p[0];              \
        const in *a = p[1];          \
        EACH(i, n) out[i] = f(a[i]); \
        return 0;                    \
    }
#define STRIP2(name, f, in, to)            \
    STRIP(name)                            \
    {                                      \
        to *out = p[0];                    \
        const in *a = p[1], *b = p[2];     \
        EACH(i, n) out[i] = f(a[i], b[i]); \
        return 0;                          \
    }                                      \
    STRIP(name##_s)                        \
    {                                      \
        to *out = p[0];                    \
        const in *a = p[1], *at = p[2];    \
        const in b = *at;                  \
        EACH(i, n) out[i] = f(a[i], b);    \
        return 0;                          \
    }                                      \
    STRIP(name##_r)                        \
    {                                      \
        to *out = p[0];                    \
        const in *at = p[1], *b = p[2];    \
        const in a = *at;                  \
        EACH(i, n) out[i] = f(a, b[i]);    \
        return 0;                          \
    }

/* Their rows; `label` is the name without the dtype. */
#define ROW1(label, fn, IN, in, OUT, ps) \
    { label "." #in, fn, CPU_MAP1, OUT, IN, PS(ps, in) },
#define ROW2(label, fn, IN, in, OUT, ps)                                 \
    { label "." #in, fn, CPU_MAP2, OUT, IN, PS(ps, in) },                \
        { label "." #in ".s", fn##_s, CPU_MAP2_S, OUT, IN, PS(ps, in) }, \
        { label "." #in ".r", fn##_r, CPU_MAP2_R, OUT, IN, PS(ps, in) },

/* ---- bits ---- */

static inline uint32_t bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline double double_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

#endif
