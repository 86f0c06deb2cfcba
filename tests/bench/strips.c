/*
 * What strips cost: ns per element of rows whose names begin with the argument (all float32
 * ones without), in cache, on each instruction set, beside a loop over the C library.
 *
 *     bench_strips [PREFIX]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "primitives/callee.h"

enum { NELEM = 512, NREPEAT = 400, NROUND = 7 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* The median would need many quiet minutes: the least is what the code can do. */
static double best_ns(cpu_primitive *fn, void *const *p, const int64_t *n)
{
    double best = 1e30;
    for (int round = 0; round < NROUND; round++) {
        double start = now_ns();
        for (int i = 0; i < NREPEAT; i++)
            fn(p, n);
        double ns = (now_ns() - start) / NREPEAT / NELEM;
        best = ns < best ? ns : best;
    }
    return best;
}

#define LIBRARY(name, call)                                         \
    static int32_t library_##name(void *const *p, const int64_t *n) \
    {                                                               \
        float *out = p[0];                                          \
        const float *a = p[1], *b = p[2];                           \
        for (int64_t i = 0; i < n[0]; i++)                          \
            out[i] = call;                                          \
        (void)b;                                                    \
        return 0;                                                   \
    }
LIBRARY(exp, expf(a[i]))
LIBRARY(exp2, exp2f(a[i]))
LIBRARY(expm1, expm1f(a[i]))
LIBRARY(log, logf(a[i]))
LIBRARY(log2, log2f(a[i]))
LIBRARY(log10, log10f(a[i]))
LIBRARY(log1p, log1pf(a[i]))
LIBRARY(sin, sinf(a[i]))
LIBRARY(cos, cosf(a[i]))
LIBRARY(tan, tanf(a[i]))
LIBRARY(asin, asinf(a[i]))
LIBRARY(acos, acosf(a[i]))
LIBRARY(atan, atanf(a[i]))
LIBRARY(sinh, sinhf(a[i]))
LIBRARY(cosh, coshf(a[i]))
LIBRARY(tanh, tanhf(a[i]))
LIBRARY(asinh, asinhf(a[i]))
LIBRARY(acosh, acoshf(a[i]))
LIBRARY(atanh, atanhf(a[i]))
LIBRARY(erf, erff(a[i]))
LIBRARY(pow, powf(a[i], b[i]))
LIBRARY(atan2, atan2f(a[i], b[i]))
LIBRARY(sigmoid, 1 / (1 + expf(-a[i])))

static const struct {
    const char *name;
    cpu_primitive *fn;
} library[] = {
#define ROW(name) { #name ".float32", library_##name },
    ROW(exp) ROW(exp2) ROW(expm1) ROW(log) ROW(log2) ROW(log10) ROW(log1p) ROW(sin)
        ROW(cos) ROW(tan) ROW(asin) ROW(acos) ROW(atan) ROW(sinh) ROW(cosh) ROW(tanh)
            ROW(asinh) ROW(acosh) ROW(atanh) ROW(erf) ROW(pow) ROW(atan2) ROW(sigmoid)
};

/* Fills an operand with what any row takes: numbers in 0 ... 1, or small indices. */
static void fill(void *at, const struct cpu_callee *row, uint32_t operand)
{
    for (int i = 0; i < 2 * NELEM; i++) {
        double x = (double)(rand() % 1000 + 1) / 1001;
        if (row->in == BT_FLOAT32)
            ((float *)at)[i] = (float)x;
        else if (row->in == BT_FLOAT64)
            ((double *)at)[i] = x;
        else if (cpu_form_of(row)->operands[operand].element == CPU_POSITION)
            ((int64_t *)at)[i] = rand() % NELEM;
        else
            memset((char *)at + i, rand() % 2, 1);
    }
}

static void measure(uint32_t k)
{
    static uint64_t operands[4][2 * NELEM];
    void *p[] = { operands[0], operands[1], operands[2], operands[3] };
    const int64_t n[] = { NELEM, 1, 1 };
    const struct cpu_callee *row = cpu_callee_at(CPU_ISA_PORTABLE, k);
    printf("%-28s", row->name);
    for (uint32_t j = 0; j < cpu_form_of(row)->naddress; j++)
        fill(operands[j], row, j);
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++)
        printf(" %8.3f", best_ns(cpu_callee_at((enum cpu_isa)isa, k)->run, p, n));
    for (uint32_t i = 0; i < BT_COUNT(library); i++) {
        if (strcmp(library[i].name, row->name) == 0)
            printf(" %10.3f", best_ns(library[i].fn, p, n));
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    const struct cpu_callee *row;
    printf("%-28s", "ns per element");
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++)
        printf(" %8s", cpu_isa_name((enum cpu_isa)isa));
    printf(" %10s\n", "C library");
    for (uint32_t k = 0; (row = cpu_callee_at(CPU_ISA_PORTABLE, k)); k++) {
        if (row->form >= CPU_TILE)
            break;
        if (argc > 1 ? !strncmp(row->name, argv[1], strlen(argv[1]))
                     : row->in == BT_FLOAT32 && !strstr(row->name, "cast."))
            measure(k);
    }
    return 0;
}
