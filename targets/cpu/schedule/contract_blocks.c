/* How large the blocks of a contraction are, and which loop over them is parallel. */
#include "contract.h"

#include "vectorise.h"

enum {
    COLUMNS_NBYTES = 192 * 1024, /* of B, for a block of columns: near, not nearest */
    MORE_NBYTES =
        384 * 1024, /* ... where second caches are larger, as with vectors of 512 bits */
    SUMS_NBYTES = 24 * 1024,   /* of a block of sums: nearest */
    TILES_OF_BLOCK = 4,        /* side by side, at least */
    BESIDE_NBYTES = 512 * 1024 /* of B, for a block of lines that are done together */
};

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Elements of B that a column has, but for the taps of windows; open dims are guessed. */
static int64_t depth_of(const struct cpu_tiling *p)
{
    int64_t depth = 1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        int is_tap = 0;
        for (uint32_t i = 0; i < p->nwindow; i++)
            is_tap |= p->windows[i].k == (int32_t)d;
        if (p->view.dims[d].is_k && !is_tap &&
            cpu_iterations(p->view.dims[d].extent) < INT32_MAX / depth)
            depth *= at_least(cpu_iterations(p->view.dims[d].extent), 1);
    }
    return depth;
}

/* Columns of B that a block may have. */
static int64_t columns_fitting(const struct cpu_tiling *p)
{
    int64_t nbytes = BT_DTYPE_BITS(p->b->dtype) / 8;
    int64_t rows = p->is_line ? 1 : p->tile->mr;
    const int64_t most = p->tile->isa < CPU_ISA_AVX512 ? COLUMNS_NBYTES : MORE_NBYTES;
    return at_most(most / (depth_of(p) * nbytes),
                   SUMS_NBYTES / (rows * (int64_t)(BT_DTYPE_BITS(p->tile->c) / 8)));
}

/* The dim or, by blocks.parallel of -1, the columns that have most; how many those are. */
static int64_t choose_longest(const struct cpu_tiling *p, struct cpu_blocks *b,
                              int64_t (*count)(const bt_node *extent))
{
    int64_t most = count(b->nn);
    b->parallel = -1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (cpu_is_around(p, d) && count(p->view.dims[d].extent) > most) {
            b->parallel = (int32_t)d;
            most = count(p->view.dims[d].extent);
        }
    }
    return most;
}

/* An open dim gives threads work only where nothing else has enough. */
static void choose_parallel(const struct cpu_tiling *p, const struct cpu_config *config,
                            struct cpu_blocks *b)
{
    const int64_t enough = 2 * (int64_t)config->nthread;
    // panels of weights are read for all of the image while they are near
    if (p->is_turned && cpu_iterations_at_least(b->nn) >= enough) {
        b->parallel = -1;
        return;
    }
    int64_t most = choose_longest(p, b, cpu_iterations_at_least);
    if (config->nthread == 1 ||
        (most < enough && cpu_iterations_at_least(b->nm) < enough))
        most = choose_longest(p, b, cpu_iterations);
    b->by_m = config->nthread > 1 && most < enough && cpu_iterations(b->nm) > most;
}

/* What divides a size whatever the dims are. */
static int64_t step_of(const bt_node *size)
{
    bt_linear l;
    bt_node_as_linear(size, &l);
    int64_t step = l.constant;
    for (uint32_t i = 0; i < l.n; i++)
        step = bt_gcd_int64(step, l.coefs[i]);
    return step;
}

/* Rows of one tile, or columns, about as many in each block: of a number that is open so many
 * that none is left over, if that is half a tile at least, which does not read B too often. */
static void divide_rows(bt_graph *g, const struct cpu_tiling *p, struct cpu_blocks *b)
{
    const int64_t known = bt_node_number(b->nrow), mr = p->tile->mr,
                  step = step_of(b->nrow);
    b->most_rows =
        known > 0 ? cpu_rows_of_tile(known, mr) : at_most(mr, at_least(b->nrow->high, 1));
    b->has_rest = known < 0 || step % b->most_rows != 0;
    for (int64_t rows = mr; known < 0 && b->has_rest && 2 * rows > mr; rows--) {
        if (rows <= b->most_rows && step % rows == 0) {
            b->most_rows = rows;
            b->has_rest = 0;
        }
    }
    b->nm = cpu_ceildiv(g, b->nrow, b->most_rows);
    b->rows = known < 0 && b->has_rest
                  ? bt_node_scalar(g, BT_SCALAR_CEILDIV, b->nrow, b->nm)
                  : bt_node_int(g, b->most_rows);
}

/* Of `nunit` panels of each line, those of a block: as long as the threads are equally busy,
 * the more the better, as what follows goes by strips. */
static int64_t panels_beside(const struct cpu_tiling *p, const struct cpu_config *config,
                             int64_t nunit)
{
    enum { STRIPS = 8 }; // calls for what follows take as long as such a part of a panel
    const int64_t nline = bt_node_number(p->view.dims[p->beside].extent);
    const int64_t ncolumn = p->tile->nr * nline;
    const int64_t most = at_most(
        BESIDE_NBYTES / (ncolumn * depth_of(p) * (BT_DTYPE_BITS(p->b->dtype) / 8)),
        SUMS_NBYTES / (ncolumn * (int64_t)(BT_DTYPE_BITS(p->tile->c) / 8)));
    int64_t best = 1, least = INT64_MAX;
    for (int64_t n = 1; n <= at_most(nunit, at_least(most, 1)); n++) {
        const int64_t nblock = bt_ceildiv_int64(nunit, n);
        const int64_t time = bt_ceildiv_int64(nblock, config->nthread) * (n * STRIPS + 1);
        if (time <= least) {
            least = time;
            best = n;
        }
    }
    return best;
}

/* Of `nunit` tiles side by side, those of a block: at most so many, and no fewer than half of that,
 * so that the thread that has most of them has few. */
static int64_t share_out(int64_t nunit, int64_t most, int64_t nthread)
{
    int64_t best = most, least = INT64_MAX;
    for (int64_t n = most; n > 0 && 2 * n >= most; n--) {
        const int64_t nblock = bt_ceildiv_int64(nunit, n);
        const int64_t busiest = at_most(bt_ceildiv_int64(nblock, nthread) * n, nunit);
        if (busiest < least) {
            least = busiest;
            best = n;
        }
    }
    return best;
}

struct cpu_blocks cpu_choose_blocks(bt_graph *g, const struct cpu_tiling *p,
                                    const struct cpu_config *config)
{
    struct cpu_blocks b = { .nrow = p->nrow };
    int64_t unit = p->n0 < 0 ? p->tile->nr : bt_node_number(p->bs[p->n0]);
    const int64_t sliced = cpu_columns_of_slices(p);
    const int64_t fitting = sliced ? sliced : columns_fitting(p);
    b.ncolumn = p->n0 < 0 ? p->ncolumn : p->view.dims[p->n0].extent;
    if (!b.nrow || !b.ncolumn)
        return b;
    divide_rows(g, p, &b);
    // in tiles, or in rows; a rest of columns goes with the last tile
    const int64_t ncolumn = cpu_iterations(b.ncolumn);
    int64_t nunit = p->n0 < 0 ? at_least(ncolumn / unit, 1) : ncolumn;
    if (p->b_kind == CPU_B_PANELS)
        nunit = bt_ceildiv_int64(ncolumn, unit);
    // for threads, but not so few that tiles are not filled
    int64_t least = bt_ceildiv_int64(TILES_OF_BLOCK * p->tile->nr, unit);
    // a line meets each element of B once: nothing is won by blocks that are small
    int64_t per_block = at_most(at_least(fitting / unit, p->is_line ? least : 1), nunit);
    if (config->nthread > 1)
        per_block =
            at_most(per_block, at_least(least, nunit / (2 * (int64_t)config->nthread)));
    int64_t nn = bt_ceildiv_int64(nunit, per_block);
    per_block = bt_ceildiv_int64(nunit, nn);
    if (config->nthread > 1 && nn > 1)
        per_block = share_out(nunit, per_block, config->nthread);
    if (p->is_line && per_block > least) // a line goes along as many panels at once
        per_block = bt_ceildiv_int64(per_block, least) * least;
    if (p->beside >= 0)
        per_block = panels_beside(p, config, nunit);
    b.columns = p->n0 < 0 ? per_block * unit : per_block;
    b.nn = bt_node_number(b.ncolumn) < 0
               ? cpu_ceildiv(g, b.ncolumn, b.columns)
               : bt_node_int(g, bt_ceildiv_int64(nunit, per_block));
    if (b.nn && b.nm && b.rows) {
        choose_parallel(p, config, &b);
        cpu_choose_slices(p, &b);
    }
    return b;
}

int64_t cpu_most_columns(const struct cpu_blocks *b)
{
    const int64_t known = bt_node_number(b->ncolumn), nn = bt_node_number(b->nn);
    if (known < 0)
        return b->columns;
    return at_least(known - (nn - 1) * b->columns, nn == 1 ? 0 : b->columns);
}
