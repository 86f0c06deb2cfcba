/*
 * Contraction tiles against the multiply-adds that one core does at most, measured in the
 * same run: GFLOP/s and their ratio, per instruction set and shape.
 *
 *     bench_tile [seconds per figure]
 */
#include "primitives/tile.h"
#include "engine/peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a matrix product of tiles: B in panels, A as it is ---- */

struct product {
    const struct cpu_tile *tile;
    int64_t m, n, k;
    float *a, *b, *c; /* b: panels of NR columns */
};

static void multiply_tile(const struct product *g, int64_t rows, int64_t depth, int64_t i,
                          int64_t j, int64_t k)
{
    const int64_t nr = g->tile->nr;
    void *p[] = { g->c + i * g->n + j, g->a + i * g->k + k, g->b + j * g->k + k * nr };
    const int64_t n[] = {
        g->m - i < rows ? g->m - i : rows,
        g->n - j < nr ? g->n - j : nr,
        g->k - k < depth ? g->k - k : depth,
        g->k,
        1,
        nr,
        g->n,
        CPU_TILE_PADDED | (k > 0 ? CPU_TILE_START : 0),
        1,
        0,
        0,
        1,
    };
    g->tile->block->run(p, n);
}

// Whichever is read again and again is to stay near: all of B, or else a panel of it.
static void multiply(const struct product *g)
{
    const int64_t mr = g->tile->mr, nr = g->tile->nr, depth = 256;
    const int64_t nrow = (g->m + mr - 1) / mr, rows = (g->m + nrow - 1) / nrow;
    const int is_small = g->n * g->k <= 8192;
    const int64_t width = is_small ? g->n : nr, height = is_small ? rows : g->m;
    for (int64_t k = 0; k < g->k; k += depth) {
        for (int64_t j0 = 0; j0 < g->n; j0 += width) {
            for (int64_t i0 = 0; i0 < g->m; i0 += height) {
                for (int64_t j = j0; j < j0 + width; j += nr) {
                    for (int64_t i = i0; i < i0 + height && i < g->m; i += rows)
                        multiply_tile(g, rows, depth, i, j, k);
                }
            }
        }
    }
}

static float *numbers(int64_t n)
{
    float *p = aligned_alloc(64, (size_t)(n * 4 + 63) / 64 * 64);
    for (int64_t i = 0; p && i < n; i++)
        p[i] = (float)(i % 17) * 0.125f - 1;
    return p;
}

/* The best of many samples, each beside one of the peak: machines are shared. */
static int measure(enum cpu_isa isa, const int64_t *shape, double seconds)
{
    struct product g = { cpu_tile_find(isa, BT_FLOAT32, BT_FLOAT32, BT_FLOAT32),
                         shape[0],
                         shape[1],
                         shape[2],
                         0,
                         0,
                         0 };
    const int64_t columns = (g.n + g.tile->nr - 1) / g.tile->nr * g.tile->nr;
    g.a = numbers(g.m * g.k);
    g.b = numbers(columns * g.k);
    g.c = numbers(g.m * g.n);
    if (!g.a || !g.b || !g.c)
        return 1;
    const double nflop = 2.0 * (double)g.m * (double)g.n * (double)g.k;
    double best = 0, most = 0;
    for (double end = now() + seconds; now() < end;) {
        const double top = cpu_peak(NULL, 1, isa) * 1e-9, start = now();
        multiply(&g);
        const double rate = nflop / (now() - start) * 1e-9;
        most = top > most ? top : most;
        best = rate > best ? rate : best;
    }
    printf("%-9s %6lld %5lld %5lld  %7.1f of %7.1f GFLOP/s  %5.1f %%\n",
           cpu_isa_name(isa), (long long)g.m, (long long)g.n, (long long)g.k, best, most,
           100 * best / most);
    free(g.a);
    free(g.b);
    free(g.c);
    return 0;
}

int main(int argc, char **argv)
{
    static const int64_t shapes[][3] = {
        { 512, 512, 512 },  { 1024, 1024, 1024 }, { 3136, 64, 576 }, { 3136, 256, 64 },
        { 196, 1024, 256 }, { 49, 512, 2048 },    { 12544, 64, 32 }, { 35, 2624, 650 },
    };
    const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    for (int isa = (int)cpu_isa_of_machine(); isa >= 0; isa--) {
        for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
            if (measure((enum cpu_isa)isa, shapes[i], seconds))
                return 1;
        }
    }
    return 0;
}
