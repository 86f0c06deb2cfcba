/*
 * Slices of terms: what a block of columns reads of B is to stay in the first cache while all rows
 * pass, and is too deep for it.
 *
 *     for columns                            for columns
 *       for rows                               for slice
 *         c = b[columns, all k] * a[rows]        for rows
 *                                                  sums (+)= b[columns, slice] * a[rows, slice]
 *
 * A sum takes its terms in the same order, from where it lies between two slices, so that no bit
 * changes. It pays where a tile multiplies a term faster than the second cache brings the next one:
 * one of 6 rows does, of 14 rows not.
 */
#include "contract.h"

#include "vectorise.h"

enum {
    SLICE_NBYTES = 21 * 1024,   /* of a tile, of a slice: two thirds of the first cache */
    COLUMNS_NBYTES = 24 * 1024, /* of B, of a slice */
    SUMS_NBYTES = 256 * 1024,   /* in the second cache */
    CYCLE_NBYTES = 20,          /* that it brings */
    FAR_NBYTES = 1 << 19,       /* terms that share the second cache with other things */
    FAR_CYCLE_NBYTES = 8,
    LINE_NBYTES = 64,
    LEAST_SLICES = 3 /* two gain nothing */
};

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t nbytes_of(const struct cpu_operand *o)
{
    return BT_DTYPE_BITS(o->dtype) / 8;
}

/* Terms of all reduced dims but for the outermost one, *first; 0: they are not known, or not those
 * of one call. */
static int64_t terms_inside(const struct cpu_tiling *p, uint32_t *first)
{
    int64_t terms = 1, nlevel = 0;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        const int64_t extent = bt_node_number(dim->extent);
        if (!dim->is_k || extent == 1)
            continue;
        if (p->nclass[d] != 1 || extent < 1 || ++nlevel > 3 || extent > INT32_MAX / terms)
            return 0;
        if (nlevel == 1)
            *first = d;
        else
            terms *= extent;
    }
    return nlevel ? terms : 0;
}

/* Bytes that a term of a tile brings: B's row, and A's column, of a strip as it lies; else the lines
 * that the column lies in, which taps along a line share. */
static int64_t nbytes_of_term(const struct cpu_tiling *p)
{
    const int64_t mr = p->tile->mr, nbytes = nbytes_of(p->a);
    const int64_t row = p->tile->nr * nbytes_of(p->b);
    if (p->strip)
        return row + p->strip * nbytes;
    const int64_t step = bt_node_number(p->as[p->m]);
    int64_t shared = 1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const int64_t along = bt_node_number(p->as[d]);
        if (p->view.dims[d].is_k && along >= 0 && along * nbytes < LINE_NBYTES / 4)
            shared *= bt_node_number(p->view.dims[d].extent);
    }
    int64_t column = mr * LINE_NBYTES;
    if (step >= 0)
        column = at_most(column, LINE_NBYTES + (mr - 1) * step * nbytes);
    return row + bt_ceildiv_int64(column, shared);
}

/* Slices, and how many iterations of *dim each has; 0: there are none. A tile's term is done in as
 * many cycles as it has rows. */
static int64_t find_slices(const struct cpu_tiling *p, uint32_t *dim, int64_t *length)
{
    if (!p->tile->epilogue || p->tile->takes_columns || p->is_line || p->is_across ||
        p->b_kind != CPU_B_PANELS || p->n0 >= 0 || p->m < 0 || p->beside >= 0 ||
        p->paired)
        return 0;
    const int64_t inside = terms_inside(p, dim);
    if (!inside)
        return 0;
    if (p->limited >> *dim & 1)
        return 0;
    const int64_t all = bt_node_number(p->view.dims[*dim].extent);
    const int64_t term = nbytes_of_term(p);
    // of images that are read as they lie, at each place anew, what does not stay in the second cache
    // comes from further, and more slowly
    const int is_far = p->limited && all > FAR_NBYTES / term / inside;
    const int64_t cycle = is_far ? FAR_CYCLE_NBYTES : CYCLE_NBYTES;
    const int64_t most =
        SLICE_NBYTES / term / inside > 0 ? SLICE_NBYTES / term / inside : 1;
    const int64_t n = (all + most / 2) / most;
    if (n < LEAST_SLICES || term <= cycle * p->tile->mr)
        return 0;
    *length = bt_ceildiv_int64(all, n);
    return bt_ceildiv_int64(all, *length);
}

int64_t cpu_columns_of_slices(const struct cpu_tiling *p)
{
    uint32_t dim;
    int64_t length;
    if (!find_slices(p, &dim, &length))
        return 0;
    const int64_t column = length * terms_inside(p, &dim) * nbytes_of(p->b);
    return column < COLUMNS_NBYTES ? COLUMNS_NBYTES / column : 1;
}

void cpu_choose_slices(const struct cpu_tiling *p, struct cpu_blocks *b)
{
    struct cpu_slices *s = &b->slices;
    int64_t nrow = bt_node_number(b->nrow);
    const int64_t row = bt_node_number(b->ncolumn) < 0 ? -1 : cpu_most_columns(b);
    s->n = b->by_m ? 0 : find_slices(p, &s->dim, &s->length);
    for (uint32_t d = 0; d < p->view.ndim && nrow > 0; d++) {
        const int64_t extent = bt_node_number(p->view.dims[d].extent);
        if (cpu_is_around(p, d) && (int32_t)d != b->parallel)
            nrow = extent < 0 || extent > INT32_MAX / nrow ? -1 : nrow * extent;
    }
    s->nrow = nrow;
    if (s->n < 2 || nrow < 1 || row < 1 ||
        nrow > SUMS_NBYTES / (row * (int64_t)(BT_DTYPE_BITS(p->tile->c) / 8)))
        s->n = 1;
}
