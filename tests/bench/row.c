/*
 * Rows of windows 3x3 over maps of 16 channels, as layers have them: GFLOP/s of depthwise
 * convolution and billions of elements read per second of max-pooling.
 *
 *     bench_row [seconds per figure]
 */
#include "primitives/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHANNELS = 16, TAPS = 3 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct layer {
    int64_t size, nblock; /* of the output: size x size pixels, blocks of channels */
    float *in, *weights, *out;
};

/* All rows of all blocks; the input has a border. */
static void run(const struct layer *l, int32_t (*row)(void *const *, const int64_t *))
{
    const int64_t pitch = (l->size + TAPS - 1) * CHANNELS;
    const int64_t n[CPU_ROW_NINT] = { l->size,         CHANNELS, TAPS,  TAPS,
                                      CHANNELS,        CHANNELS, pitch, CHANNELS,
                                      TAPS * CHANNELS, CHANNELS, 0 };
    for (int64_t b = 0; b < l->nblock; b++) {
        for (int64_t y = 0; y < l->size; y++) {
            void *p[] = { l->out + (b * l->size + y) * l->size * CHANNELS,
                          l->in + (b * (l->size + TAPS - 1) + y) * pitch,
                          l->weights + b * TAPS * TAPS * CHANNELS };
            row(p, n);
        }
    }
}

static double rate(const struct layer *l, double seconds,
                   int32_t (*row)(void *const *, const int64_t *))
{
    const double ntap = (double)(l->nblock * l->size * l->size * CHANNELS * TAPS * TAPS);
    double best = 0;
    for (double end = now() + seconds; now() < end;) {
        const double start = now();
        run(l, row);
        const double r = ntap / (now() - start) * 1e-9;
        best = r > best ? r : best;
    }
    return best;
}

static int measure(enum cpu_isa isa, int64_t size, int64_t nblock, double seconds)
{
    const int64_t wide = size + TAPS - 1;
    struct layer l = { size, nblock,
                       calloc((size_t)(nblock * wide * wide * CHANNELS), sizeof(float)),
                       calloc((size_t)(nblock * TAPS * TAPS * CHANNELS), sizeof(float)),
                       calloc((size_t)(nblock * size * size * CHANNELS), sizeof(float)) };
    const struct cpu_row *row = cpu_row_find(isa, BT_FLOAT32);
    if (!l.in || !l.weights || !l.out)
        return 1;
    printf("%-9s %4lldx%-4lld %5lld channels  depthwise %6.1f GFLOP/s  max %6.1f G/s\n",
           cpu_isa_name(isa), (long long)size, (long long)size,
           (long long)(nblock * CHANNELS), 2 * rate(&l, seconds, row->depthwise),
           rate(&l, seconds, row->max));
    free(l.in);
    free(l.weights);
    free(l.out);
    return 0;
}

int main(int argc, char **argv)
{
    static const int64_t sizes[][2] = {
        { 112, 2 }, { 56, 8 }, { 28, 16 }, { 14, 32 }, { 7, 64 }
    };
    const double seconds = argc > 1 ? atof(argv[1]) : 0.3;
    for (int isa = (int)cpu_isa_of_machine(); isa >= 0; isa--) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            if (measure((enum cpu_isa)isa, sizes[i][0], sizes[i][1], seconds))
                return 1;
        }
    }
    return 0;
}
