/* About how long the tiles of a contraction take, to compare ways to make it: two products of
 * vectors and two loads in a cycle, what is padded counted as what is not, calls that are short.
 * It may not depend on the machine, as results would. */
#include "contract.h"

#include "vectorise.h"

enum { VECTOR_BITS = 512, ROWS = 14 }; // of a tile
enum { CALL = 30, TURNED_COLUMN = 6, CLASS = 60, STRIP = 30, PACK = 4 };
enum { CYCLES_PER_NS = 4 };

static double count_of(const bt_node *extent)
{
    return (double)cpu_iterations(extent);
}

/* Products of a call, and calls for the same rows and columns; loops around. */
struct counts {
    double depth, calls, around;
};

static struct counts counts_of(const struct cpu_tiling *p)
{
    struct counts c = { 1, 1, 1 };
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const double n = count_of(p->view.dims[d].extent);
        if (p->view.dims[d].is_k) {
            c.depth *= n;
            c.calls *= p->nclass[d];
        } else if (cpu_is_around(p, d)) {
            c.around *= n;
        }
    }
    return c;
}

double cpu_ns_of_tiles(const struct cpu_tiling *p)
{
    const struct counts c = counts_of(p);
    const int64_t lanes = VECTOR_BITS / BT_DTYPE_BITS(p->tile->c),
                  nrow = cpu_iterations(p->nrow);
    int64_t ncolumn = cpu_iterations(p->ncolumn);
    if (p->n0 >= 0)
        ncolumn =
            bt_node_number(p->bs[p->n0]) * cpu_iterations(p->view.dims[p->n0].extent);
    const int64_t nvector = bt_ceildiv_int64(ncolumn, lanes),
                  ntile = bt_ceildiv_int64(nvector, 2),
                  nblock = bt_ceildiv_int64(nrow, ROWS);
    const double products = (double)nrow * (double)nvector / 2;
    const double loads =
        (double)nblock * (double)nvector / 2 + (double)nrow * (double)ntile / 2;
    const double ncall = (double)nblock * (double)ntile;
    // sums that are stored apart are read again, by strips that are shorter than a vector where rows have few columns
    const double nshort = p->n0 >= 0 && bt_node_number(p->bs[p->n0]) < lanes
                              ? count_of(p->view.dims[p->n0].extent)
                              : 0;
    const double apart =
        p->n0 < 0 ? 0 : (double)nrow * ((double)ncolumn / 4 + STRIP * nshort);
    const double call = p->is_turned ? CALL + TURNED_COLUMN * 2 * (double)lanes
                                     : CALL + CLASS * (c.calls - 1);
    const double cycles =
        c.depth * (products > loads ? products : loads) + ncall * call + apart;
    return c.around * cycles / CYCLES_PER_NS;
}

double cpu_ns_of_panels(const struct cpu_tiling *p)
{
    return count_of(p->nelem) * PACK / CYCLES_PER_NS;
}
