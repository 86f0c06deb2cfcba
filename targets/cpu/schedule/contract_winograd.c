/*
 * Convolutions of 3 x 3 taps and stride 1 by Winograd's transforms (primitives/winograd.h), where
 * an estimate says that these and the fewer products take less time than all products:
 *
 *     weights(&u[...], &w[...])                       for each panel of channels, once
 *     input(&v, &x[...])                              for a block of rows of tiles
 *     tile(&m[place], &v[place], &u[place]), ...      for each place and panel
 *     output(&s, &m)                                  the sums of the block, complete
 *     y[...] = max(s[...] + b[...], 0)                while s is near
 *
 * Blocks of rows are the parallel loop, with all panels inside, so that v stays in the caches.
 * Where u is the larger one, or blocks are too few for the threads, all of v is made first, and
 * panels are the parallel loop.
 */
#include "contract_layout.h"

#include <string.h>

#include "primitives/winograd.h"

enum { TAPS = 3 };

/* ---- which stages ---- */

/* The dims of an axis that moves with one index, and for a tap with one more. */
struct axis {
    int32_t out, tap;
};

/* 0: it is read in other ways. */
static int look_at_axis(const struct cpu_tiling *p, const struct cpu_operand *o,
                        uint32_t a, struct axis *axis)
{
    *axis = (struct axis){ -1, -1 };
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        int32_t *place = p->view.dims[d].is_k ? &axis->tap : &axis->out;
        if (!o->coefs[a][d])
            continue;
        if (o->coefs[a][d] != 1 || *place >= 0 || p->view.dims[d].scale != 1)
            return 0;
        *place = (int32_t)d;
    }
    return 1;
}

static int64_t extent_of(const struct cpu_tiling *p, int32_t d)
{
    return d < 0 ? -1 : bt_node_number(p->view.dims[d].extent);
}

/* The data: channels by dim c, and the last two axes are windows of 3. */
static int look_at_data(const struct cpu_tiling *p, struct cpu_filter *f)
{
    const struct cpu_operand *o = p->b;
    struct axis y, x, other;
    if (o->rank < 3 || !look_at_axis(p, o, o->rank - 2, &y) ||
        !look_at_axis(p, o, o->rank - 1, &x) || x.out != (int32_t)p->n || y.out < 0 ||
        extent_of(p, y.tap) != TAPS || extent_of(p, x.tap) != TAPS)
        return 0;
    f->c = -1;
    for (uint32_t a = 0; a + 2 < o->rank; a++) {
        if (!look_at_axis(p, o, a, &other) || (other.out >= 0 && other.tap >= 0) ||
            o->guards[a] || (other.tap >= 0 && f->c >= 0))
            return 0;
        f->c = other.tap >= 0 ? other.tap : f->c;
    }
    f->y = (uint32_t)y.out;
    f->tap_y = (uint32_t)y.tap;
    f->tap_x = (uint32_t)x.tap;
    f->height = bt_node_number(o->extents[o->rank - 2]);
    f->width = bt_node_number(o->extents[o->rank - 1]);
    return f->c >= 0 && f->height > 0 && f->width > 0;
}

/* The weights: a constant with an axis for each of rows, channels and taps. */
static int look_at_weights(const struct cpu_tiling *p, const bt_graph *g,
                           const struct cpu_config *config)
{
    const struct cpu_operand *o = p->a;
    if (p->m < 0 || o->array >= g->ninput || !config->is_constant ||
        !config->is_constant[o->array])
        return 0;
    for (uint32_t a = 0; a < o->rank; a++) {
        struct axis axis;
        if (o->guards[a] || !look_at_axis(p, o, a, &axis) ||
            (axis.out >= 0 && (axis.tap >= 0 || axis.out != p->m)))
            return 0;
    }
    return p->view.dims[p->m].scale == 1;
}

/* ---- what it costs ---- */

/* What cores of today do with vectors of 16 and tiles of 14 by 32. It may not depend on the
 * machine, as results would; only how ways to do the same compare matters. */
static const double flops_per_ns = 240, bytes_per_ns = 40, ns_of_call = 20;
enum { LANES = 16, TILE_ROWS = 14, TILE_COLUMNS = 32 };

static int64_t round_up(int64_t n, int64_t to)
{
    return bt_ceildiv_int64(n, to) * to;
}

static double cost_of_products(const struct cpu_filter *f, int64_t nplace, int64_t nrow,
                               int64_t ncolumn)
{
    const double flops = 2.0 * (double)(nplace * nrow) * (double)(f->nc * ncolumn);
    const double nbytes = (double)(nplace * f->nc * f->no) * sizeof(float);
    return flops / flops_per_ns > nbytes / bytes_per_ns ? flops / flops_per_ns
                                                        : nbytes / bytes_per_ns;
}

double cpu_ns_of_filter(const struct cpu_filter *f, const struct cpu_winograd *by)
{
    const int64_t side = by->size + TAPS - 1;
    const int64_t rows = bt_ceildiv_int64(f->ny, by->size);
    const int64_t units = bt_ceildiv_int64(f->nx, CPU_WINOGRAD_UNIT);
    const int64_t ntile = rows * units * (CPU_WINOGRAD_UNIT / by->size);
    const int64_t no = round_up(f->no, TILE_COLUMNS);
    const int64_t ncall =
        side * side * bt_ceildiv_int64(ntile, TILE_ROWS) * (no / TILE_COLUMNS);
    // units of several narrow rows are transformed together
    const int64_t nlane = 2 * units <= LANES ? round_up(rows * units, LANES)
                                             : rows * round_up(units, LANES);
    const double input = (double)(f->nc * nlane);
    const double output = (double)(rows * f->no * units);
    return cost_of_products(f, side * side, ntile, no) + (double)ncall * ns_of_call +
           1e-3 * (input * by->input->ps + output * by->output->ps);
}

int cpu_contract_filter(const bt_graph *g, const struct cpu_tiling *p,
                        const struct cpu_config *config, struct cpu_filter *f)
{
    *f = (struct cpu_filter){ .by = NULL };
    if (config->accuracy == CPU_EXACT || config->has_small_weights || p->is_line ||
        p->is_across || p->tile->c != BT_FLOAT32 || p->tile->a != BT_FLOAT32 ||
        !look_at_data(p, f) || !look_at_weights(p, g, config))
        return 0;
    f->nc = extent_of(p, f->c);
    f->no = extent_of(p, p->m);
    f->ny = extent_of(p, (int32_t)f->y);
    f->nx = extent_of(p, (int32_t)p->n);
    return f->nc >= 0 && f->no >= 0 && f->ny >= 0 && f->nx >= 0;
}

/* ---- blocks ---- */

struct nest {
    struct cpu_emitter e;
    const struct cpu_tiling *tiling;
    const struct cpu_filter *filter;
    const struct cpu_epilogue *epilogue;
    int64_t nplace, units, tiles; /* places, units and tiles of a row of tiles */
    int64_t rows, nrow, nblock;   /* rows of tiles of a block, all; blocks */
    int64_t npanel;               /* of channels of the result */
    const bt_node *as[CPU_DIMS], *bs[CPU_DIMS], *a_at, *b_at;
    const bt_node *values[CPU_DIMS];        /* of loops around */
    const bt_node *block, *panel, *channel; /* numbers; NULL: no loop is around */
    uint32_t u, v, m, s;                    /* buffers */
    const bt_node *v_at;                    /* of the block */
    const bt_node *s_o;                     /* stride of sums along the channels */
    uint32_t v_is_local;                    /* of the block, else of all */
    uint32_t is_direct;                     /* sums go to their place, else to a block */
};

/* Of a block: rows of tiles, and rows of the result. */
struct part {
    int64_t rows, height;
};

static bt_graph *graph_of(const struct nest *t)
{
    return t->e.loops->graph;
}

static const bt_node *int_of(const struct nest *t, int64_t value)
{
    return bt_node_int(graph_of(t), value);
}

/* Elements of v and of m from place to place in a block. Distances that are multiples of 4 KiB
 * would have all places compete for the same lines of a cache. */
enum { APART = 16 };
static int64_t v_place(const struct nest *t)
{
    return t->filter->nc * t->rows * t->tiles + APART;
}

static int64_t m_place(const struct nest *t)
{
    return t->rows * t->tiles * t->tiling->tile->nr + APART;
}

/* Elements of u of a panel. */
static int64_t u_of_panel(const struct nest *t)
{
    return cpu_winograd_places(t->filter->by->size) * t->filter->nc * t->tiling->tile->nr;
}

static int64_t v_of_block(const struct nest *t)
{
    return t->nplace * v_place(t);
}

/* So many rows of tiles, each of which has `depth` elements for each place and tile, that a block's
 * stay in a core's caches, and that the threads are equally busy. */
static void choose_rows(struct nest *t, int64_t depth, uint32_t nthread)
{
    enum { NBYTES = 768 * 1024, TILES_OF_CALLS = 4 };
    const int64_t of_row = t->nplace * depth * t->tiles;
    const int64_t fitting = NBYTES / (int64_t)sizeof(float) / of_row;
    double least = 0;
    t->nrow = bt_ceildiv_int64(t->filter->ny, t->filter->by->size);
    for (int64_t rows = 1; rows == 1 || (rows <= fitting && rows <= t->nrow); rows++) {
        const int64_t n = bt_ceildiv_int64(t->nrow, rows);
        const double time = (double)(bt_ceildiv_int64(n, nthread) * rows) *
                            (1 + TILES_OF_CALLS / (double)(rows * t->tiles));
        if (rows == 1 || time <= least) {
            least = time;
            t->rows = rows;
        }
    }
    t->nblock = bt_ceildiv_int64(t->nrow, t->rows);
}

/* Whether it is a dim of the data besides: images of a batch. */
static int is_batch(const struct nest *t, uint32_t d)
{
    const struct cpu_tiling *p = t->tiling;
    return !p->view.dims[d].is_k && d != p->n && d != t->filter->y && (int32_t)d != p->m;
}

static int has_batch(const struct nest *t)
{
    for (uint32_t d = 0; d < t->tiling->view.ndim; d++) {
        if (is_batch(t, d))
            return 1;
    }
    return 0;
}

/* Blocks by which threads go, each of which reads all of u, its v being near; or else panels, each
 * of which reads all of v, and in blocks again where its m is large. Elements that come from
 * beyond a core's caches are compared. */
static void choose_order(struct nest *t, uint32_t nthread)
{
    const int64_t nr = t->tiling->tile->nr, u = t->npanel * u_of_panel(t);
    struct nest other = *t;
    choose_rows(t, t->filter->nc + nr, nthread);
    choose_rows(&other, nr, 1);
    const int64_t v = v_of_block(&other) * other.nblock;
    t->v_is_local =
        has_batch(t) || ((t->nblock >= (int64_t)nthread || t->npanel <= t->nblock) &&
                         (t->npanel < (int64_t)nthread ||
                          (t->npanel + 2) * v + other.nblock * u >= t->nblock * u));
    if (!t->v_is_local) {
        t->rows = other.rows;
        t->nblock = other.nblock;
    }
}

/* The loops over images of a batch, once; the first of them may be parallel. */
static int open_batch(struct nest *t, int is_parallel)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    for (uint32_t d = p->view.ndim; d-- > 0;) {
        if (!is_batch(t, d) || t->values[d])
            continue;
        t->values[d] = cpu_emit_loop(&t->e, p->view.dims[d].extent, is_parallel);
        is_parallel = 0;
        t->b_at = cpu_along(g, t->b_at, t->values[d], t->bs[d]);
        if (!t->b_at)
            return 0;
    }
    return 1;
}

/* Where the data lie: rows and columns outside are the calls' to find. */
static void lay_data(struct nest *t)
{
    const struct cpu_operand *o = t->tiling->b;
    bt_graph *g = graph_of(t);
    const bt_node *strides[CPU_AXES];
    cpu_lay_direct(g, t->tiling, o, &t->b_at, t->bs);
    cpu_strides(g, o->rank, o->extents, strides);
    for (uint32_t a = o->rank - 2; a < o->rank; a++)
        t->b_at = cpu_along_int(g, t->b_at, strides[a], -o->at[a]);
}

/* ---- calls ---- */

/* Channels of the panel. */
static const bt_node *channels_of(const struct nest *t)
{
    const int64_t nr = t->tiling->tile->nr;
    return cpu_least(
        graph_of(t), int_of(t, nr),
        bt_node_linear(graph_of(t), t->filter->no, 1, &t->panel, (int64_t[]){ -nr }));
}

static int emit_weights(const struct nest *of)
{
    struct nest inner = *of;
    const struct nest *t = &inner;
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_filter *f = t->filter;
    bt_graph *g = graph_of(t);
    const int64_t nr = p->tile->nr;
    inner.panel = cpu_emit_loop(&inner.e, int_of(t, t->npanel), 1);
    if (!t->panel)
        return 0;
    const bt_node *integers[CPU_WEIGHTS_NINT] = {
        int_of(t, f->nc), channels_of(t),  int_of(t, f->nc * nr), t->as[p->m],
        t->as[f->c],      t->as[f->tap_y], t->as[f->tap_x],
    };
    struct cpu_address addresses[] = {
        { t->u, cpu_scaled(g, t->panel, u_of_panel(t)) },
        { p->a->array, cpu_along(g, t->a_at, cpu_scaled(g, t->panel, nr), t->as[p->m]) },
    };
    return cpu_emit_call(&inner.e, f->by->weights->name, CPU_WEIGHTS_NPOINTER, addresses,
                         CPU_WEIGHTS_NINT, integers);
}

/* Where a block's rows of the data begin. */
static const bt_node *top_of(const struct nest *t)
{
    const struct cpu_operand *o = t->tiling->b;
    return bt_node_linear(graph_of(t), o->at[o->rank - 2], 1, &t->block,
                          (int64_t[]){ t->rows * t->filter->by->size });
}

/* The data of the block's channels from `c` on. */
static int emit_input(const struct nest *t, const bt_node *c, int64_t nc, int64_t rows)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_filter *f = t->filter;
    bt_graph *g = graph_of(t);
    struct cpu_emitter e = t->e;
    const bt_node *of_block = int_of(t, t->rows * t->tiles);
    const bt_node *integers[CPU_INPUT_NINT] = {
        int_of(t, nc),
        int_of(t, rows),
        int_of(t, t->units),
        int_of(t, v_place(t)),
        of_block,
        t->bs[f->c],
        int_of(t, f->height),
        int_of(t, f->width),
        top_of(t),
        int_of(t, p->b->at[p->b->rank - 1]),
    };
    struct cpu_address addresses[] = {
        { t->v, cpu_along(g, t->v_at, c, of_block) },
        { p->b->array, cpu_along(g, t->b_at, c, t->bs[f->c]) },
    };
    return cpu_emit_call(&e, f->by->input->name, CPU_INPUT_NPOINTER, addresses,
                         CPU_INPUT_NINT, integers);
}

/* What of u is read behind the place at `u`: the next one, which may be the next panel's. */
static const bt_node *next_of(const struct nest *t, const bt_node *u)
{
    bt_graph *g = graph_of(t);
    const int64_t of_place = t->filter->nc * t->tiling->tile->nr;
    return cpu_least(g, cpu_plus(g, u, int_of(t, of_place)),
                     int_of(t, t->npanel * u_of_panel(t) - of_place));
}

/* m of the block and the panel: a product of matrices for each place. What is read next of a u
 * that the caches lose is fetched meanwhile, each call a part of it: so memory is never waited for,
 * nor idle. */
static int emit_products(const struct nest *t, int64_t rows)
{
    const struct cpu_tile *tile = t->tiling->tile;
    const struct cpu_filter *f = t->filter;
    bt_graph *g = graph_of(t);
    struct cpu_emitter e = t->e;
    const int64_t nr = tile->nr, ntile = rows * t->tiles, all = t->rows * t->tiles;
    const int64_t at_once = bt_ceildiv_int64(ntile, bt_ceildiv_int64(ntile, tile->mr));
    const int64_t npart = bt_ceildiv_int64(ntile, at_once);
    const bt_node *place = cpu_emit_loop(&e, int_of(t, t->nplace), 0);
    const bt_node *part = place ? cpu_emit_loop(&e, int_of(t, npart), 0) : NULL;
    if (!part)
        return 0;
    enum { NEAR_NBYTES = 512 * 1024 };
    const int64_t u_nbytes = t->npanel * u_of_panel(t) * (int64_t)sizeof(float);
    const int64_t next_k = u_nbytes > NEAR_NBYTES ? bt_ceildiv_int64(nr, npart) : 0;
    const bt_node *u =
        cpu_along_int(g, cpu_scaled(g, place, f->nc * nr), t->panel, u_of_panel(t));
    const bt_node *one = int_of(t, 1), *zero = int_of(t, 0);
    const bt_node *width = int_of(t, nr), *first = cpu_scaled(g, part, at_once);
    const bt_node *integers[CPU_TILE_EPILOGUE_NINT] = {
        [CPU_TILE_M] =
            cpu_least(g, int_of(t, at_once),
                      bt_node_linear(g, ntile, 1, &part, (int64_t[]){ -at_once })),
        [CPU_TILE_N] = width,
        [CPU_TILE_K] = int_of(t, f->nc),
        [CPU_TILE_A_ROW] = one,
        [CPU_TILE_A_K] = int_of(t, all),
        [CPU_TILE_B_K] = width,
        [CPU_TILE_C_ROW] = width,
        [CPU_TILE_FLAGS] = int_of(t, CPU_TILE_PADDED),
        [CPU_TILE_K1] = one,
        [CPU_TILE_K2] = one,
        [CPU_TILE_NEXT_K] = int_of(t, next_k),
    };
    for (uint32_t i = 0; i < CPU_TILE_EPILOGUE_NINT; i++)
        integers[i] = integers[i] ? integers[i] : zero;
    const struct cpu_address m = {
        t->m, cpu_along_int(g, cpu_scaled(g, place, m_place(t)), first, nr)
    };
    struct cpu_address addresses[] = {
        [CPU_TILE_C] = m,
        [CPU_TILE_A] = { t->v, cpu_plus(g, t->v_at,
                                        cpu_along_int(g, first, place, v_place(t))) },
        [CPU_TILE_B] = { t->u, u },
        [CPU_TILE_NEXT] = { t->u, cpu_along_int(g, next_of(t, u), part, f->nc * next_k) },
        // the sums are all there is
        [CPU_TILE_BIAS] = { t->u, u },
        [CPU_TILE_LOW_AT] = { t->u, u },
        [CPU_TILE_HIGH_AT] = { t->u, u },
        [CPU_TILE_SUMS] = { t->u, u },
        [CPU_TILE_RESIDUAL] = m,
    };
    const struct cpu_callee *row = next_k ? tile->epilogue : tile->block;
    const struct cpu_form *form = cpu_form_of(row);
    return cpu_emit_call(&e, row->name, form->naddress, addresses, form->ninteger,
                         integers);
}

static int emit_output(const struct nest *t, struct part part)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_filter *f = t->filter;
    bt_graph *g = graph_of(t);
    struct cpu_emitter e = t->e;
    const int64_t nr = p->tile->nr;
    const bt_node *first = cpu_scaled(g, t->panel, nr), *y = int_of(t, 0);
    if (t->is_direct) {
        for (uint32_t d = 0; d < p->view.ndim; d++) {
            if (t->values[d])
                y = cpu_along(g, y, t->values[d], p->view.dims[d].c);
        }
        y = cpu_along(g, cpu_along(g, y, first, p->view.dims[p->m].c),
                      cpu_scaled(g, t->block, t->rows * f->by->size),
                      p->view.dims[f->y].c);
    }
    const bt_node *integers[CPU_OUTPUT_NINT] = {
        channels_of(t),
        int_of(t, part.rows),
        int_of(t, t->units),
        int_of(t, part.height),
        int_of(t, f->nx),
        t->s_o,
        t->is_direct ? p->view.dims[f->y].c : int_of(t, f->nx),
        int_of(t, m_place(t)),
        int_of(t, f->nc),
        t->bs[f->c],
        int_of(t, f->height),
        int_of(t, f->width),
        top_of(t),
        int_of(t, p->b->at[p->b->rank - 1]),
        int_of(t, f->nc * nr),
    };
    struct cpu_address addresses[] = {
        { t->s, y },
        { t->m, int_of(t, 0) },
        { p->b->array, t->b_at },
        { t->u, cpu_scaled(g, t->panel, u_of_panel(t)) },
    };
    return cpu_emit_call(&e, f->by->output->name, CPU_OUTPUT_NPOINTER, addresses,
                         CPU_OUTPUT_NINT, integers);
}

/* ---- the nest ---- */

static int emit_epilogue(const struct nest *t, int64_t height)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_filter *f = t->filter;
    bt_graph *g = graph_of(t);
    struct cpu_emitter e = t->e;
    const bt_node *values[CPU_DIMS];
    memcpy(values, t->values, sizeof(values));
    const bt_node *o = cpu_emit_loop(&e, channels_of(t), 0);
    const bt_node *y = o ? cpu_emit_loop(&e, int_of(t, height), 0) : NULL;
    const bt_node *x = y ? cpu_emit_loop(&e, p->view.dims[p->n].extent, 0) : NULL;
    if (!x)
        return 0;
    values[p->m] = cpu_along_int(g, o, t->panel, p->tile->nr);
    values[f->y] = cpu_along_int(g, y, t->block, t->rows * f->by->size);
    values[p->n] = x;
    const bt_node *offset =
        cpu_plus(g, cpu_along(g, cpu_scaled(g, y, f->nx), o, t->s_o), x);
    return cpu_emit_sum_store(&e, p, t->epilogue, t->s, values, offset);
}

/* The block's results of the panel. */
static int emit_panel(const struct nest *t, struct part part)
{
    return emit_products(t, part.rows) && emit_output(t, part) &&
           (t->is_direct || emit_epilogue(t, part.height));
}

/* The block in all panels, or in the one of a loop around. */
static int emit_results(const struct nest *of, struct part part)
{
    struct nest t = *of;
    if (t.panel)
        return emit_panel(&t, part);
    if (!emit_input(&t, int_of(&t, 0), t.filter->nc, part.rows))
        return 0;
    t.panel = cpu_emit_loop(&t.e, int_of(&t, t.npanel), 0);
    return t.panel && emit_panel(&t, part);
}

/* The block's data of one channel. */
static int emit_channel(const struct nest *t, struct part part)
{
    return emit_input(t, t->channel, 1, part.rows);
}

/* A loop over blocks, the last of which is written on its own where it is smaller. */
static int emit_blocks(const struct nest *of, int is_parallel,
                       int (*emit)(const struct nest *, struct part))
{
    struct nest t = *of;
    const int64_t size = t.filter->by->size, before = (t.nblock - 1) * t.rows;
    const struct part full = { t.rows, t.rows * size };
    const struct part last = { t.nrow - before, t.filter->ny - before * size };
    t.block = cpu_emit_loop(&t.e, int_of(&t, t.nblock), is_parallel);
    if (!t.block || !open_batch(&t, 0))
        return 0;
    if (!t.v_is_local)
        t.v_at = cpu_scaled(graph_of(&t), t.block, v_of_block(&t));
    if (t.nblock == 1 || last.height == full.height)
        return emit(&t, last);
    bt_stmt *test = bt_stmt_add(t.e.loops, t.e.to, BT_STMT_IF);
    if (!test)
        return 0;
    test->condition = bt_node_scalar(
        graph_of(&t), BT_SCALAR_LE, int_of(&t, 0),
        bt_node_linear(graph_of(&t), t.nblock - 2, 1, &t.block, (int64_t[]){ -1 }));
    t.e.to = &test->body;
    if (!test->condition || !emit(&t, full))
        return 0;
    t.e.to = &test->otherwise;
    return emit(&t, last);
}

/* All of v, then panel by panel. */
static int emit_by_panels(const struct nest *of)
{
    struct nest t = *of;
    t.channel = cpu_emit_loop(&t.e, int_of(&t, t.filter->nc), 1);
    if (!t.channel || !emit_blocks(&t, 0, emit_channel))
        return 0;
    t = *of;
    t.panel = cpu_emit_loop(&t.e, int_of(&t, t.npanel), 1);
    return t.panel && emit_blocks(&t, 0, emit_results);
}

/* Blocks, or images where there are not enough of those. */
static int emit_by_blocks(const struct nest *of, uint32_t nthread)
{
    struct nest t = *of;
    const int is_parallel = !has_batch(&t) || t.nblock >= 2 * (int64_t)nthread;
    return (is_parallel || open_batch(&t, 1)) &&
           emit_blocks(&t, is_parallel, emit_results);
}

/* ---- all of it ---- */

int cpu_emit_filter(bt_loops *loops, const struct cpu_tiling *p,
                    const struct cpu_filter *f, const struct cpu_config *config,
                    const struct cpu_epilogue *epilogue, bt_stmts *out)
{
    const int64_t side = f->by->size + TAPS - 1, nr = p->tile->nr;
    struct nest t = { .e = { loops, out, CPU_FIRST_INDEX },
                      .tiling = p,
                      .filter = f,
                      .epilogue = epilogue,
                      .nplace = side * side,
                      .units = bt_ceildiv_int64(f->nx, CPU_WINOGRAD_UNIT),
                      .npanel = bt_ceildiv_int64(f->no, nr) };
    bt_graph *g = loops->graph;
    t.tiles = t.units * (CPU_WINOGRAD_UNIT / f->by->size);
    choose_order(&t, config->nthread);
    cpu_lay_direct(g, p, p->a, &t.a_at, t.as);
    lay_data(&t);
    t.v_at = int_of(&t, 0);
    t.is_direct = cpu_is_sum_stored(p, epilogue);
    t.s_o = t.is_direct ? p->view.dims[p->m].c
                        : int_of(&t, f->nx * f->by->size * t.rows + APART);
    t.s = epilogue->store->buffer;
    const int64_t nv = v_of_block(&t) * (t.v_is_local ? 1 : t.nblock);
    return cpu_emit_buffer(loops, BT_BUFFER_TEMP, BT_FLOAT32,
                           int_of(&t, t.npanel * u_of_panel(&t)), &t.u) &&
           cpu_emit_buffer(loops, t.v_is_local ? BT_BUFFER_LOCAL : BT_BUFFER_TEMP,
                           BT_FLOAT32, int_of(&t, nv), &t.v) &&
           cpu_emit_buffer(loops, BT_BUFFER_LOCAL, BT_FLOAT32,
                           int_of(&t, t.nplace * m_place(&t)), &t.m) &&
           (t.is_direct || cpu_emit_buffer(loops, BT_BUFFER_LOCAL, BT_FLOAT32,
                                           cpu_scaled(g, t.s_o, nr), &t.s)) &&
           (epilogue->store->buffer == epilogue->sums ||
            cpu_shrink_sums(loops, epilogue->sums, int_of(&t, 1))) &&
           emit_weights(&t) &&
           (t.v_is_local ? emit_by_blocks(&t, config->nthread) : emit_by_panels(&t));
}
