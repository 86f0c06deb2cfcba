/* Loops that kernels are compared with, for each instruction set: multiply-adds of what lies in the
 * nearest cache, and loads and stores of any mix. What registers alone do is cpu_peak. */
#ifndef BENCH_YARDSTICKS_H
#define BENCH_YARDSTICKS_H

#include <stdint.h>
#include <string.h>

#include "primitives/isa.h"

enum { NEAR_NBYTES = 12 * 1024, NEAR_TURNS = 64 };

// Twelve chains hide the latency of an addition.
#define EACH(X)   X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define EACH_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define CHAIN(i)  vector s##i = (vector){ 0 };
#define KEEP(i)   kept += s##i[0];
#define MULTIPLY_THEN_ADD(i)                        \
    memcpy(&m, at + i * sizeof(vector), sizeof(m)); \
    s##i += m * x;
#define FUSED(i)                     \
    __asm__("vfmadd231ps %1, %2, %0" \
            : "+v"(s##i)             \
            : "m"(*(const vector *)(const void *)(at + i * sizeof(x))), "v"(x));
#define READ(i)                                     \
    memcpy(&m, at + i * sizeof(vector), sizeof(m)); \
    s##i += m;
#define WRITE(i) memcpy(at + i * sizeof(vector), &s##i, sizeof(m));
#define YARDSTICKS(name, target, nbyte, STEP)                                     \
    /* NEAR_NFLOP; NEAR_NBYTES are read NEAR_TURNS times. */                      \
    target static void near_##name(const char *from)                              \
    {                                                                             \
        typedef float vector __attribute__((vector_size(nbyte)));                 \
        const vector x = (vector){ 0 } + 0.5f;                                    \
        volatile float kept = 0;                                                  \
        vector m = x;                                                             \
        EACH(CHAIN)                                                               \
        for (int64_t i = 0; i < NEAR_TURNS * (NEAR_NBYTES / (12 * nbyte)); i++) { \
            const char *at = from + i * 12 * nbyte % NEAR_NBYTES;                 \
            EACH(STEP)                                                            \
        }                                                                         \
        EACH(KEEP)                                                                \
        (void)kept;                                                               \
        (void)m;                                                                  \
    }                                                                             \
    /* So many streams of nbytes are read, and so many written. */                \
    target static void move_##name(char *to, const char *from, int64_t nbytes,    \
                                   int reads, int writes)                         \
    {                                                                             \
        typedef float vector __attribute__((vector_size(nbyte)));                 \
        const int64_t step = 8 * nbyte;                                           \
        vector m;                                                                 \
        EACH_8(CHAIN)                                                             \
        for (int64_t i = 0; i + step <= nbytes; i += step) {                      \
            for (int j = 0; j < reads; j++) {                                     \
                const char *at = from + j * nbytes + i;                           \
                EACH_8(READ)                                                      \
            }                                                                     \
            for (int j = 0; j < writes; j++) {                                    \
                char *at = to + j * nbytes + i;                                   \
                EACH_8(WRITE)                                                     \
            }                                                                     \
        }                                                                         \
        m = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;                                \
        memcpy(to, &m, sizeof(m));                                                \
    }
YARDSTICKS(portable, , 16, MULTIPLY_THEN_ADD)
#if defined(__x86_64__)
YARDSTICKS(avx2, __attribute__((target("avx2,fma"))), 32, FUSED)
YARDSTICKS(avx512, __attribute__((target("avx512f"))), 64, FUSED)
#else
#define near_avx2   near_portable
#define near_avx512 near_portable
#define move_avx2   move_portable
#define move_avx512 move_portable
#endif

static void (*const near_loops[])(const char *) = { near_portable, near_avx2,
                                                    near_avx512 };
#define NEAR_NFLOP (2.0 * NEAR_TURNS * (NEAR_NBYTES / 4))
static void (*const move_loops[])(char *, const char *, int64_t, int,
                                  int) = { move_portable, move_avx2, move_avx512 };

#endif
