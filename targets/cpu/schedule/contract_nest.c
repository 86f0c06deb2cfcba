/*
 * The nest of a contraction: loops over blocks of columns and of rows around calls of
 * tiles, and for each block what is done with its sums while they are near.
 */
#include "contract.h"

#include <string.h>

/* ---- nests ---- */

/* Panels that may lie beyond the second cache, and those of a block that stay in it beside the ones
 * before. */
enum { NEXT_LEAST_NBYTES = 128 * 1024, NEXT_MOST_NBYTES = 320 * 1024 };

/* A place in the nest: the values of dims so far, and where they put the operands. */
struct nest {
    struct cpu_emitter e;
    const struct cpu_tiling *tiling;
    const struct cpu_epilogue *epilogue;
    struct cpu_blocks blocks;
    uint32_t a, b, c;        /* buffers */
    uint32_t begun;          /* sums of some slices of their terms, ... */
    const bt_node *begun_at; /* ... where those of this block are, ... */
    int64_t begun_row;       /* ... their stride along rows */
    const bt_node *slice;    /* the number of it; NULL: there is one only */
    uint32_t is_last_slice;
    int is_direct;                   /* sums go to their place, else to a block */
    const bt_node *c_row;            /* stride of a block of sums, or of the result */
    const bt_node *values[CPU_DIMS]; /* of loops around */
    const bt_node *a_at, *b_at;
    const bt_node *m, *n;     /* numbers of the block */
    const bt_node *columns;   /* of this block */
    const bt_node *finite;    /* whether B is; NULL: that is not asked */
    uint32_t has_near_halo;   /* B is made in each iteration of the loops around */
    struct cpu_finish finish; /* what calls do beside sums */
};

static bt_graph *graph_of(const struct nest *t)
{
    return t->e.loops->graph;
}

static const bt_node *int_of(const struct nest *t, int64_t value)
{
    return bt_node_int(graph_of(t), value);
}

/* Columns of sums from row n0 to the next: those of B, but lines are written apart. */
static const bt_node *line_stride(const struct cpu_tiling *p)
{
    return p->is_line ? p->view.dims[p->n].extent : p->bs[p->n0];
}

/* Columns from the block's first to its last, with those between its rows. */
static const bt_node *block_span(const struct nest *t, const bt_node *columns)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    return p->n0 < 0 ? columns
                     : cpu_along(g, p->view.dims[p->n].extent,
                                 bt_node_linear(g, -1, 1, &columns, (int64_t[]){ 1 }),
                                 line_stride(p));
}

/* Rows of the block. */
static const bt_node *rows_here(const struct nest *t)
{
    bt_graph *g = graph_of(t);
    const struct cpu_blocks *b = &t->blocks;
    const bt_node *before = cpu_times(g, t->m, b->rows);
    return b->has_rest ? cpu_least(g, b->rows, cpu_minus(g, b->nrow, before)) : b->rows;
}

/* ---- tiles ---- */

/* Levels of k of one call, outermost first. */
struct levels {
    uint32_t n;
    struct cpu_class at[CPU_DIMS];
};

/* Two that go on as one are one. */
static void add_level(bt_graph *g, struct levels *l, const struct cpu_class *k)
{
    struct cpu_class *outer = l->n ? &l->at[l->n - 1] : NULL;
    if (cpu_is_size(k->extent, 1))
        return;
    if (outer && outer->a == cpu_times(g, k->a, k->extent) &&
        outer->b == cpu_times(g, k->b, k->extent)) {
        outer->extent = cpu_times(g, outer->extent, k->extent);
        outer->a = k->a;
        outer->b = k->b;
    } else {
        l->at[l->n++] = *k;
    }
}

uint32_t cpu_count_levels(bt_graph *g, const struct cpu_tiling *p)
{
    struct levels l = { 0 };
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].is_k)
            add_level(g, &l, &p->classes[d][0]);
    }
    return l.n;
}

struct tile_call {
    const bt_node *a, *b, *c;             /* offsets */
    const bt_node *bias, *residual;       /* likewise, of an epilogue */
    const bt_node *begun;                 /* likewise, of sums of some slices */
    const bt_node *next, *next_k;         /* what is fetched; NULL: nothing is */
    const bt_node *width;                 /* columns */
    const bt_node *lines, *b_row, *c_row; /* of a line; lines NULL: a tile */
    uint32_t is_first;
};

/* Of what is read, at `offset` or, NULL, where the read is; without one the other. */
static struct cpu_address address_of(const bt_node *read, const bt_node *offset,
                                     uint32_t other, const bt_node *other_offset)
{
    return read ? (struct cpu_address){ read->which, offset ? offset : read->args[0] }
                : (struct cpu_address){ other, other_offset };
}

/* Loops over levels that the tile has not, and the call. */
static int emit_levels(const struct nest *t, const struct tile_call *call,
                       const struct levels *l)
{
    struct cpu_emitter e = t->e;
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    const bt_node *a = call->a, *b = call->b, *zero = int_of(t, 0), *iteration = zero;
    uint32_t first = l->n > 3 ? l->n - 3 : 0;
    const struct cpu_class none = { int_of(t, 1), zero, zero, zero, zero };
    const struct cpu_class *k[3] = { &none, &none, &none };
    for (uint32_t i = 0; i < first; i++) {
        const bt_node *index = cpu_emit_loop(&e, l->at[i].extent, 0);
        a = cpu_along(g, a, index, l->at[i].a);
        b = cpu_along(g, b, index, l->at[i].b);
        iteration = cpu_plus(g, iteration, index);
        if (!a || !b || !iteration)
            return 0;
    }
    for (uint32_t i = 0; first + i < l->n; i++)
        k[i] = &l->at[l->n - 1 - i];
    const bt_node *start = int_of(t, call->is_first ? 0 : CPU_TILE_START);
    if (t->slice)
        start = cpu_least(g, int_of(t, CPU_TILE_START), t->slice);
    if (call->is_first && first)
        start = cpu_least(g, int_of(t, CPU_TILE_START), iteration);
    if (p->b_kind != CPU_B_DIRECT && start)
        start = bt_node_linear(graph_of(t), CPU_TILE_PADDED, 1, &start,
                               (const int64_t[]){ 1 });
    if (t->finish.is_all && start)
        start = bt_node_linear(g, t->finish.flags, 1, &start, (const int64_t[]){ 1 });
    if (t->finite && start)
        start = cpu_plus(g, start,
                         bt_node_select(g, t->finite, int_of(t, CPU_LINE_FINITE), zero));
    const bt_node *integers[CPU_TILE_EPILOGUE_NINT] = {
        call->lines ? call->lines : rows_here(t),
        call->width,
        k[0]->extent,
        call->lines ? call->b_row // CPU_LINE_B_ROW
        : p->m < 0  ? zero
                    : p->as[p->m],
        k[0]->a,
        p->is_across ? p->bs[p->n] : k[0]->b, // CPU_ACROSS_B_COLUMN
        call->lines ? call->c_row : t->c_row,
        start,
        k[1]->extent,
        k[1]->a,
        k[1]->b,
        k[2]->extent,
        k[2]->a,
        k[2]->b,
        int_of(t, t->finish.low),
        int_of(t, t->finish.high),
        call->next ? call->next_k : zero,
        cpu_scaled(g, p->bs[p->n], p->tile->nr), // CPU_TILE_B_N
        int_of(t, t->begun_row),                 // CPU_TILE_SUMS_ROW
    };
    struct cpu_address addresses[] = {
        [CPU_TILE_C] = { t->c, call->c },
        [CPU_TILE_A] = { t->a, a },
        [CPU_TILE_B] = { t->b, b },
        [CPU_TILE_NEXT] = { t->b, call->next ? call->next : b },
        // what there is none of is not read
        [CPU_TILE_BIAS] = address_of(t->finish.bias, call->bias, t->a, a),
        [CPU_TILE_LOW_AT] = address_of(t->finish.low_at, NULL, t->a, a),
        [CPU_TILE_HIGH_AT] = address_of(t->finish.high_at, NULL, t->a, a),
        [CPU_TILE_SUMS] = t->slice ? (struct cpu_address){ t->begun, call->begun }
                                   : (struct cpu_address){ t->a, a },
        [CPU_TILE_RESIDUAL] = address_of(t->finish.residual, call->residual, t->a, a),
    };
    const struct cpu_callee *row = p->is_across                     ? p->tile->across
                                   : p->is_line                     ? p->tile->line
                                   : t->finish.is_all || call->next ? p->tile->epilogue
                                                                    : p->tile->block;
    const struct cpu_form *form = cpu_form_of(row);
    return cpu_emit_call(&e, row->name, form->naddress, addresses, form->ninteger,
                         integers);
}

/* A call for each way of choosing classes of the reduced dims. */
static int emit_tile(const struct nest *t, const struct tile_call *first)
{
    const struct cpu_tiling *p = t->tiling;
    uint32_t choice[CPU_DIMS] = { 0 }, d;
    struct tile_call call = *first;
    do {
        struct levels l = { 0 };
        call.a = first->a;
        call.b = first->b;
        for (d = 0; d < p->view.ndim; d++) {
            if (!p->view.dims[d].is_k)
                continue;
            const struct cpu_class k = cpu_iterations_inside(graph_of(t), p, t->values, d,
                                                             &p->classes[d][choice[d]]);
            if (!k.extent)
                return 0;
            add_level(graph_of(t), &l, &k);
            call.a = cpu_plus(graph_of(t), call.a, k.a_at);
            call.b = cpu_plus(graph_of(t), call.b, k.b_at);
        }
        if (!emit_levels(t, &call, &l))
            return 0;
        call.is_first = 0;
        for (d = 0; d < p->view.ndim; d++) {
            if (p->view.dims[d].is_k && ++choice[d] < p->nclass[d])
                break;
            choice[d] = 0;
        }
    } while (d < p->view.ndim);
    return 1;
}

/* Whether all terms are those of one call. */
static int is_one_call(bt_graph *g, const struct cpu_tiling *p)
{
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->nclass[d] > 1)
            return 0;
    }
    return cpu_count_levels(g, p) <= 3;
}

/* How often a block of columns is gone through before the next one, and which time it is. */
struct passes {
    int64_t n; /* -1: that is not known */
    const bt_node *at;
};

static struct passes passes_of(const struct nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_blocks *b = &t->blocks;
    bt_graph *g = graph_of(t);
    struct passes all = { .n = 1, .at = int_of(t, 0) };
    // threads that have rows of their own go from block to block
    if (b->by_m)
        return all;
    for (uint32_t d = 0; b->parallel < 0 && d < p->view.ndim; d++) {
        const int64_t n = bt_node_number(p->view.dims[d].extent);
        if (!cpu_is_around(p, d))
            continue;
        if (n < 1)
            return (struct passes){ .n = -1 };
        all.at = cpu_along_int(g, t->values[d], all.at, n);
        all.n *= n;
    }
    all.at = cpu_along(g, t->m, all.at, b->nm);
    all.n *= bt_node_number(b->nm);
    return all;
}

/* Elements of B's panels that tiles read; -1: there are none, or that is not known. */
static int64_t panels_of(const struct cpu_tiling *p)
{
    return p->b_kind == CPU_B_PANELS && !p->is_line ? bt_node_number(p->nelem) : -1;
}

/* Panels of the next block of columns are fetched while those of this one are near, each time
 * that these are gone through an equal part: so memory is read all the time.
 *
 *     rows 0-13      this panel from memory: no more    the first third of the next one
 *     rows 14-27     this panel                         the second one
 *     rows 28-41     this panel                         the last one
 */
static int find_next(const struct nest *t, struct tile_call *call)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_blocks *b = &t->blocks;
    bt_graph *g = graph_of(t);
    const int64_t nn = bt_node_number(b->nn),
                  step = bt_node_number(p->bs[p->n]) * b->columns, all = panels_of(p),
                  nbytes = BT_DTYPE_BITS(p->b->dtype) / 8;
    if (!p->tile->epilogue || nn < 2 || all < NEXT_LEAST_NBYTES / nbytes ||
        step > NEXT_MOST_NBYTES / nbytes || !is_one_call(g, p))
        return 1;
    const struct passes passes = passes_of(t);
    if (passes.n < 1)
        return 1;
    const int64_t part = bt_ceildiv_int64(p->tile->nr, passes.n);
    const bt_node *is_last = bt_node_scalar(g, BT_SCALAR_LE, int_of(t, nn - 1), t->n);
    call->next =
        cpu_plus(g, call->b, bt_node_select(g, is_last, int_of(t, 0), int_of(t, step)));
    call->next = cpu_along_int(g, call->next, passes.at, step / b->columns * part);
    call->next = cpu_least(g, call->next, int_of(t, all - 1));
    call->next_k = int_of(t, part);
    return call->next && call->next_k;
}

/* A call on what begins at number `column` of the block. */
static int emit_call_at(const struct nest *t, const struct cpu_emitter *e,
                        const bt_node *column, struct tile_call call)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    struct nest inner = *t;
    inner.e = *e;
    call.is_first = 1;
    call.a = t->a_at;
    call.b = cpu_along(g, t->b_at, column, p->bs[p->n]);
    call.c = p->is_turned ? cpu_times(g, column, t->c_row) : column;
    if (t->is_direct) {
        const bt_node *values[CPU_DIMS];
        memcpy(values, t->values, sizeof(values));
        const uint32_t n = p->n0 < 0 ? p->n : (uint32_t)p->n0;
        values[n] = cpu_scaled(g, t->n, t->blocks.columns);
        if (p->n0 < 0)
            values[n] = cpu_plus(g, values[n], column);
        if (p->m >= 0)
            values[p->m] = cpu_times(g, t->m, t->blocks.rows);
        call.c = cpu_place_axes(g, p, t->epilogue->store->offset, values);
        if (t->finish.bias)
            call.bias = cpu_place_axes(g, p, t->finish.bias->args[0], values);
        call.residual = call.c;
    }
    if (t->slice)
        call.begun = cpu_plus(g, column, t->begun_at);
    if (t->slice && !t->is_last_slice)
        call.c = call.begun;
    return find_next(t, &call) && emit_tile(&inner, &call);
}

/* `width` columns from number `column` of the block on. */
static int emit_tile_at(const struct nest *t, const struct cpu_emitter *e,
                        const bt_node *column, const bt_node *width)
{
    return emit_call_at(t, e, column, (struct tile_call){ .width = width });
}

/* The block's lines: one, or one for each of its rows of columns. */
static int emit_lines(const struct nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    const bt_node *zero = int_of(t, 0);
    struct tile_call call = {
        .width = t->columns, .lines = int_of(t, 1), .b_row = zero, .c_row = t->c_row
    };
    if (p->n0 >= 0) {
        call.width = p->view.dims[p->n].extent;
        call.lines = t->columns;
        call.b_row = p->bs[p->n0];
    }
    return emit_call_at(t, &t->e, zero, call);
}

/* The block's panels: a line along each that is full, and one along what is left. */
static int emit_panel_lines(const struct nest *t)
{
    bt_graph *g = graph_of(t);
    const int64_t nr = t->tiling->tile->nr;
    const bt_node *full =
        bt_node_scalar(g, BT_SCALAR_FLOORDIV, t->columns, int_of(t, nr));
    const bt_node *after = cpu_times(g, full, int_of(t, nr));
    const bt_node *rest = cpu_minus(g, t->columns, after);
    struct tile_call call = { .width = int_of(t, nr),
                              .lines = full,
                              .b_row = cpu_scaled(g, t->tiling->bs[t->tiling->n], nr),
                              .c_row = int_of(t, nr) };
    if (!full || !after || !rest ||
        (!cpu_is_size(full, 0) && !emit_call_at(t, &t->e, int_of(t, 0), call)))
        return 0;
    call.width = rest;
    call.lines = int_of(t, 1);
    return cpu_is_size(rest, 0) || emit_call_at(t, &t->e, after, call);
}

/* The block's panels of all lines that are done together. */
static int emit_lines_beside(const struct nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    const int64_t nr = p->tile->nr;
    struct cpu_emitter e = t->e;
    const bt_node *panel = cpu_emit_loop(&e, cpu_ceildiv(g, t->columns, nr), 0);
    const bt_node *left = panel ? cpu_along_int(g, t->columns, panel, -nr) : NULL;
    return left && emit_call_at(t, &e, cpu_scaled(g, panel, nr),
                                (struct tile_call){
                                    .width = cpu_least(g, int_of(t, nr), left),
                                    .lines = p->view.dims[p->beside].extent,
                                    .b_row = p->bs[p->beside],
                                    .c_row = t->c_row,
                                });
}

/* As many tiles as there are, the last one with fewer columns, or with some that were done
 * before. */
static int emit_open_columns(const struct nest *t, const bt_node *span)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    const int64_t nr = p->tile->nr;
    struct cpu_emitter e = t->e;
    const bt_node *q = cpu_emit_loop(&e, cpu_ceildiv(g, span, nr), 0);
    const bt_node *at = cpu_scaled(g, q, nr), *zero = int_of(t, 0);
    const bt_node *last = bt_node_linear(g, -nr, 1, &span, (int64_t[]){ 1 });
    if (p->b_kind != CPU_B_PANELS)
        at = cpu_least(g, at, cpu_most(g, last, zero));
    return at &&
           emit_tile_at(t, &e, at, cpu_least(g, int_of(t, nr), cpu_minus(g, span, at)));
}

/* Tiles that cover the block's columns: whole ones, then one that ends where they do and
 * does some columns again, which gives the same sums. */
static int emit_columns(const struct nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    const bt_node *size = block_span(t, t->columns), *zero = int_of(t, 0);
    struct cpu_emitter e = t->e;
    if (p->beside >= 0)
        return emit_lines_beside(t);
    if (p->is_line)
        return p->b_kind == CPU_B_PANELS ? emit_panel_lines(t) : emit_lines(t);
    if (p->is_across)
        return emit_tile_at(t, &e, zero, t->columns);
    if (p->tile->takes_columns && p->b_kind != CPU_B_PANELS)
        return emit_tile_at(t, &e, zero, size);
    if (!size || bt_node_number(size) < 0)
        return size && emit_open_columns(t, size);
    int64_t nr = p->tile->nr, half = nr / 2, span = bt_node_number(size),
            rest = span % nr;
    if (t->finish.is_all && p->b_kind == CPU_B_PANELS)
        return emit_tile_at(t, &e, zero, int_of(t, span));
    if (span >= nr && t->finish.is_all) {
        if (!emit_tile_at(t, &e, zero, int_of(t, span - rest)))
            return 0;
    } else if (span >= nr) {
        const bt_node *q = cpu_emit_loop(&e, int_of(t, span / nr), 0);
        if (!q || !emit_tile_at(t, &e, cpu_scaled(graph_of(t), q, nr), int_of(t, nr)))
            return 0;
    }
    if (!rest)
        return 1;
    e = t->e;
    if (p->b_kind == CPU_B_PANELS || span < half)
        return emit_tile_at(t, &e, int_of(t, span - rest), int_of(t, rest));
    if (rest <= half)
        return emit_tile_at(t, &e, int_of(t, span - half), int_of(t, half));
    if (span >= nr)
        return emit_tile_at(t, &e, int_of(t, span - nr), int_of(t, nr));
    return emit_tile_at(t, &e, zero, int_of(t, half)) &&
           emit_tile_at(t, &e, int_of(t, span - half), int_of(t, half));
}

/* Whether no column is done again, as above. */
static int is_done_once(const struct cpu_tiling *p)
{
    const int64_t half = p->tile->nr / 2, n = bt_node_number(p->ncolumn);
    return p->b_kind == CPU_B_PANELS || p->tile->takes_columns ||
           (n >= 0 && (n % half == 0 || n < half));
}

/* ---- epilogues ---- */

struct change {
    bt_loops *loops;
    uint32_t from, to;
    const bt_node *offset; /* of a sum in its block */
};

static const bt_node *change_sum(void *self, const bt_node *node)
{
    const struct change *c = self;
    if (node->kind != BT_NODE_READ || node->which != c->from)
        return node;
    return bt_loops_read(c->loops, c->to, c->offset);
}

const bt_node *cpu_place_axes(bt_graph *g, const struct cpu_tiling *p,
                              const bt_node *node, const bt_node *const *values)
{
    uint64_t done = 0;
    for (uint32_t d = 0; node && d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        const bt_node *axis = bt_node_int(g, 0);
        if (dim->is_k || (done & bt_index_bit(dim->index)))
            continue;
        done |= bt_index_bit(dim->index);
        for (uint32_t i = d; i < p->view.ndim; i++) {
            const struct cpu_dim *part = &p->view.dims[i];
            if (!part->is_k && part->index == dim->index && values[i])
                axis = bt_node_linear(g, -part->carries, 2,
                                      (const bt_node *[]){ axis, values[i] },
                                      (int64_t[]){ 1, part->scale });
        }
        node = bt_node_substitute(g, node, dim->index, axis);
    }
    return node;
}

int cpu_emit_sum_store(const struct cpu_emitter *e, const struct cpu_tiling *p,
                       const struct cpu_epilogue *epilogue, uint32_t block,
                       const bt_node *const *values, const bt_node *offset)
{
    bt_graph *g = e->loops->graph;
    struct change change = { e->loops, epilogue->sums, block, offset };
    bt_by_node by = { e->loops, change_sum, &change };
    bt_stmt *store = bt_stmt_add(e->loops, e->to, BT_STMT_STORE);
    const bt_node *value = offset ? bt_node_change(&by, epilogue->store->value) : NULL;
    if (!store || !value)
        return 0;
    store->buffer = epilogue->store->buffer;
    store->value = cpu_place_axes(g, p, value, values);
    store->offset = cpu_place_axes(g, p, epilogue->store->offset, values);
    return store->value && store->offset;
}

/* What follows only where 0 <= sum. */
static int emit_if(struct cpu_emitter *e, const bt_node *sum)
{
    bt_graph *g = e->loops->graph;
    bt_stmt *test = bt_stmt_add(e->loops, e->to, BT_STMT_IF);
    if (!test)
        return 0;
    test->condition = bt_node_scalar(g, BT_SCALAR_LE, bt_node_int(g, 0), sum);
    e->to = &test->body;
    return test->condition != NULL;
}

/* Columns of the block, and rows along each. */
static int emit_turned_epilogue(const struct nest *t, const bt_node **values)
{
    const struct cpu_tiling *p = t->tiling;
    struct cpu_emitter e = t->e;
    bt_graph *g = graph_of(t);
    const bt_node *column = cpu_emit_loop(&e, t->columns, 0);
    const bt_node *row = column ? cpu_emit_loop(&e, rows_here(t), 0) : NULL;
    values[p->m] = cpu_along(g, row, t->m, t->blocks.rows);
    values[p->n] = cpu_along_int(g, column, t->n, t->blocks.columns);
    return values[p->n] && cpu_emit_sum_store(&e, p, t->epilogue, t->c, values,
                                              cpu_along(g, row, column, t->c_row));
}

static int emit_epilogue(const struct nest *of)
{
    struct nest t = *of;
    const struct cpu_tiling *p = t.tiling;
    const struct cpu_blocks *b = &t.blocks;
    bt_graph *g = graph_of(&t);
    const bt_node *values[CPU_DIMS], *offset, *column = int_of(&t, 0);
    memcpy(values, t.values, sizeof(values));
    int is_open = bt_node_number(b->nrow) < 0;
    if (p->is_turned)
        return emit_turned_epilogue(&t, values);
    const bt_node *row = cpu_emit_loop(&t.e, is_open ? rows_here(&t) : b->rows, 0);
    offset = cpu_times(g, row, t.c_row);
    if (!offset)
        return 0;
    if (p->m >= 0)
        values[p->m] = cpu_along(g, row, t.m, b->rows);
    if (!is_open && b->has_rest &&
        !emit_if(&t.e, bt_node_linear(g, -1, 3, (const bt_node *[]){ b->nrow, t.m, row },
                                      (int64_t[]){ 1, -b->most_rows, -1 })))
        return 0;
    if (p->beside >= 0) {
        const bt_node *line = cpu_emit_loop(&t.e, p->view.dims[p->beside].extent, 0);
        values[p->beside] = line;
        offset = cpu_along(g, offset, line, t.c_row);
        if (!offset)
            return 0;
    }
    if (p->n0 >= 0) {
        const bt_node *line = cpu_emit_loop(&t.e, t.columns, 0);
        values[p->n0] = cpu_along_int(g, line, t.n, b->columns);
        offset = cpu_along(g, offset, line, line_stride(p));
        if (!offset)
            return 0;
    }
    const bt_node *x =
        cpu_emit_loop(&t.e, p->n0 < 0 ? t.columns : p->view.dims[p->n].extent, 0);
    if (p->n0 < 0)
        column = cpu_scaled(g, t.n, b->columns);
    values[p->n] = cpu_plus(g, column, x);
    return cpu_emit_sum_store(&t.e, p, t.epilogue, t.c, values, cpu_plus(g, offset, x));
}

/* The iterations of a nest that are columns of the block. */
static int emit_follower(const struct nest *t, const bt_stmt *nest)
{
    const bt_stmt *from = nest->body.at[0];
    bt_graph *g = graph_of(t);
    struct cpu_emitter e = t->e;
    const bt_node *x = cpu_emit_loop(&e, t->columns, 0);
    const bt_node *column = cpu_along_int(g, x, t->n, t->blocks.columns);
    bt_stmt *store = bt_stmt_add(e.loops, e.to, BT_STMT_STORE);
    if (!column || !store)
        return 0;
    store->buffer = from->buffer;
    store->offset = column;
    store->value = bt_node_substitute(g, from->value, nest->index, column);
    return store->value != NULL;
}

/* ---- the nest ---- */

static int emit_block(struct nest *t)
{
    const bt_stmts *followers = &t->epilogue->followers;
    if (t->slice && !t->is_last_slice)
        return emit_columns(t);
    if (!emit_columns(t) || !(t->is_direct || emit_epilogue(t)))
        return 0;
    for (uint32_t i = 0; i < followers->len; i++) {
        if (!emit_follower(t, followers->at[i]))
            return 0;
    }
    return 1;
}

/* A last block of columns that is not like the others is written on its own. */
static int emit_blocks(struct nest *t)
{
    const struct cpu_blocks *b = &t->blocks;
    bt_graph *g = graph_of(t);
    struct nest inner = *t;
    int64_t nn = bt_node_number(b->nn);
    inner.columns = int_of(t, b->columns);
    if (bt_node_number(b->ncolumn) < 0) {
        inner.columns =
            cpu_least(g, inner.columns, cpu_along_int(g, b->ncolumn, t->n, -b->columns));
        return inner.columns && emit_block(&inner);
    }
    int64_t last = bt_node_number(b->ncolumn) - (nn - 1) * b->columns;
    if (last == b->columns || nn == 1) {
        inner.columns = int_of(t, last);
        return emit_block(&inner);
    }
    bt_stmts *block = t->e.to;
    if (!emit_if(&inner.e, bt_node_linear(g, nn - 2, 1, &t->n, (int64_t[]){ -1 })) ||
        !emit_block(&inner))
        return 0;
    inner.e.to = &block->at[block->len - 1]->otherwise;
    inner.columns = int_of(t, last);
    return emit_block(&inner);
}

static int open_dim(struct nest *t, uint32_t d, int is_parallel)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    const bt_node *index = cpu_emit_loop(&t->e, p->view.dims[d].extent, is_parallel);
    t->values[d] = index;
    t->a_at = cpu_along(g, t->a_at, index, p->as[d]);
    t->b_at = cpu_along(g, t->b_at, index, p->bs[d]);
    return t->a_at && t->b_at;
}

/* Of the loops around that there are. */
static int open_carries(struct nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (!dim->carries)
            continue;
        const bt_node *is =
            bt_node_scalar(g, BT_SCALAR_LT, t->values[dim->of], int_of(t, dim->carries));
        t->values[d] = is ? bt_node_select(g, is, int_of(t, 1), int_of(t, 0)) : NULL;
        t->a_at = cpu_along(g, t->a_at, t->values[d], p->as[d]);
        t->b_at = cpu_along(g, t->b_at, t->values[d], p->bs[d]);
        if (!t->a_at || !t->b_at)
            return 0;
    }
    return 1;
}

static int open_rows(struct nest *t, int is_parallel)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    t->m = cpu_emit_loop(&t->e, t->blocks.nm, is_parallel);
    if (p->m >= 0)
        t->a_at = cpu_along(g, t->a_at, cpu_times(g, t->m, t->blocks.rows), p->as[p->m]);
    return t->m && t->a_at;
}

static int open_columns(struct nest *t, int is_parallel)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    t->n = cpu_emit_loop(&t->e, t->blocks.nn, is_parallel);
    t->b_at = cpu_along(g, t->b_at, cpu_scaled(g, t->n, t->blocks.columns),
                        p->bs[p->n0 < 0 ? p->n : (uint32_t)p->n0]);
    return t->b_at != NULL;
}

/* What is around the columns and is not open yet, the outermost dim last. */
static int open_others(struct nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    for (uint32_t d = p->view.ndim; d-- > 0;) {
        if (cpu_is_around(p, d) && !t->values[d] && !open_dim(t, d, 0))
            return 0;
    }
    if (!open_carries(t))
        return 0;
    return 1;
}

/* All rows of a block of columns by a slice of their terms, of so many iterations. */
static int emit_slice(const struct nest *of, const bt_node *slice, int64_t length)
{
    struct nest t = *of;
    const struct cpu_slices *s = &t.blocks.slices;
    bt_graph *g = graph_of(&t);
    struct cpu_tiling tiling;
    cpu_copy_tiling(&tiling, t.tiling);
    struct cpu_class *k = &tiling.classes[s->dim][0];
    k->extent = int_of(&t, length);
    t.tiling = &tiling;
    t.slice = slice;
    t.a_at = cpu_along(g, t.a_at, cpu_scaled(g, slice, s->length), k->a);
    t.b_at = cpu_along(g, t.b_at, cpu_scaled(g, slice, s->length), k->b);
    const bt_node *row = int_of(&t, 0);
    if (!t.a_at || !t.b_at || !open_others(&t) || !open_rows(&t, 0))
        return 0;
    for (uint32_t d = 0; d < tiling.view.ndim; d++) {
        if (cpu_is_around(&tiling, d) && (int32_t)d != t.blocks.parallel)
            row = cpu_along(g, t.values[d], row, tiling.view.dims[d].extent);
    }
    row = cpu_along(g, cpu_times(g, t.m, t.blocks.rows), row, t.blocks.nrow);
    t.begun_at = cpu_scaled(g, row, t.begun_row);
    return t.begun_at && emit_blocks(&t);
}

/* The last slice finishes the sums. */
static int emit_slices(struct nest *t)
{
    const struct cpu_slices *s = &t->blocks.slices;
    const int64_t all = bt_node_number(t->tiling->view.dims[s->dim].extent);
    struct nest before = *t;
    before.c = t->begun;
    before.c_row = int_of(t, t->begun_row);
    before.is_direct = 0;
    before.finish = (struct cpu_finish){ .is_all = 1 };
    const bt_node *slice = cpu_emit_loop(&before.e, int_of(t, s->n - 1), 0);
    t->is_last_slice = 1;
    return slice && emit_slice(&before, slice, s->length) &&
           emit_slice(t, int_of(t, s->n - 1), all - (s->n - 1) * s->length);
}

/* The parallel loop first, then all others. */
static int emit_nest(struct nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_blocks *b = &t->blocks;
    int by_n = !b->by_m && b->parallel < 0;
    if ((b->by_m && !open_rows(t, 1)) || (by_n && !open_columns(t, 1)) ||
        (!b->by_m && !by_n && !open_dim(t, (uint32_t)b->parallel, 1)))
        return 0;
    if (b->slices.n > 1)
        return (by_n || open_columns(t, 0)) && emit_slices(t);
    if (!open_others(t))
        return 0;
    if (t->has_near_halo && !cpu_emit_near_halo(&t->e, p, t->values, t->b))
        return 0;
    return (by_n || open_columns(t, 0)) && (b->by_m || open_rows(t, 0)) && emit_blocks(t);
}

/* ---- all of it ---- */

int cpu_emit_buffer(bt_loops *loops, uint32_t role, bt_dtype dtype, const bt_node *nelem,
                    uint32_t *out)
{
    bt_text name;
    bt_text_init(&name, loops->arena);
    bt_text_addf(&name, "t%u", loops->graph->narray);
    return nelem && bt_text_get(&name) &&
           bt_loops_add_buffer(loops, role, bt_text_get(&name), dtype, nelem, out);
}

int cpu_shrink_sums(bt_loops *loops, uint32_t sums, const bt_node *nelem)
{
    const bt_node **extent = BT_NEWS(loops->arena, const bt_node *, 1);
    if (!extent || !nelem)
        return 0;
    extent[0] = nelem;
    loops->graph->arrays[sums]->extents = extent;
    loops->roles.at[sums] = BT_BUFFER_LOCAL;
    return 1;
}

int cpu_is_sum_stored(const struct cpu_tiling *p, const struct cpu_epilogue *epilogue)
{
    const bt_stmt *store = epilogue->store;
    return cpu_is_size(p->view.dims[p->n].c, 1) && store->value->kind == BT_NODE_READ &&
           store->value->which == epilogue->sums &&
           store->value->args[0] == store->offset;
}

/* Lines of constants that are all finite: a state of zeros, with which recurrences begin, is
 * not multiplied. */
static int skips_zeros(const struct cpu_tiling *p, const struct cpu_config *config,
                       const bt_loops *loops)
{
    return p->is_line && p->b_kind == CPU_B_PANELS && config->is_constant &&
           loops->roles.at[p->b->array] == BT_BUFFER_INPUT &&
           config->is_constant[p->b->array] &&
           (p->b->dtype == BT_FLOAT32 || p->b->dtype == BT_FLOAT64);
}

int cpu_emit_contraction(bt_loops *loops, const struct cpu_tiling *p,
                         const struct cpu_config *config,
                         const struct cpu_epilogue *epilogue, bt_stmts *out)
{
    struct nest t = { .e = { loops, out, CPU_FIRST_INDEX },
                      .tiling = p,
                      .epilogue = epilogue };
    const uint32_t sums = epilogue->sums;
    const bt_stmt *store = epilogue->store;
    bt_graph *g = loops->graph;
    t.blocks = cpu_choose_blocks(g, p, config);
    if (!t.blocks.nn || !t.blocks.nm)
        return 0;
    struct cpu_tiling near;
    t.has_near_halo = (uint32_t)cpu_has_near_halo(g, p, config, &t.blocks, &near);
    t.tiling = p = t.has_near_halo ? &near : p;
    t.a = p->a->array;
    t.b = p->b->array;
    t.c = sums;
    t.a_at = p->a_at;
    t.b_at = p->b_at;
    if (p->b_kind != CPU_B_DIRECT) {
        const uint32_t role = t.has_near_halo ? BT_BUFFER_LOCAL : BT_BUFFER_TEMP;
        if (!cpu_emit_buffer(loops, role, p->b->dtype, p->nelem, &t.b) ||
            !(t.has_near_halo || cpu_emit_packing(&t.e, p, t.b)))
            return 0;
    }
    if (skips_zeros(p, config, loops) &&
        !cpu_emit_is_finite(&t.e, p->b->array, &t.finite))
        return 0;
    if (p->a_nelem) {
        if (!cpu_emit_buffer(loops, BT_BUFFER_TEMP, p->a->dtype, p->a_nelem, &t.a) ||
            !cpu_emit_copy(&t.e, p, t.a))
            return 0;
    }
    t.is_direct = p->beside < 0 && (p->n0 < 0 || p->is_line) && !p->is_turned &&
                  cpu_is_sum_stored(p, epilogue);
    if (!t.is_direct)
        cpu_match_finish(g, p, epilogue, &t.finish);
    t.is_direct |= t.finish.is_all;
    if (p->is_turned)
        t.finish.is_all = 1;
    if (t.finish.is_all)
        t.finish.flags |=
            (p->is_turned ? CPU_TILE_TURNED : 0) | (is_done_once(p) ? CPU_TILE_ONCE : 0);
    if (!t.finish.is_all || !t.is_direct)
        t.blocks.slices.n = 1;
    if (t.blocks.slices.n > 1) {
        const int64_t nr = p->tile->nr, n = cpu_most_columns(&t.blocks);
        t.begun_row = bt_ceildiv_int64(n, nr) * nr;
        if (!cpu_emit_buffer(loops, BT_BUFFER_LOCAL, p->tile->c,
                             int_of(&t, t.blocks.slices.nrow * t.begun_row), &t.begun))
            return 0;
    }
    if (t.is_direct) {
        t.c = store->buffer;
        int32_t row = p->is_line ? p->n0 : p->is_turned ? (int32_t)p->n : p->m;
        t.c_row = row < 0 ? int_of(&t, 0) : p->view.dims[row].c;
        t.e.to = out;
        return (t.c == sums || cpu_shrink_sums(loops, sums, int_of(&t, 1))) &&
               emit_nest(&t);
    }
    const bt_node *span = block_span(&t, int_of(&t, cpu_most_columns(&t.blocks)));
    t.c_row = p->is_line && p->n0 >= 0 ? line_stride(p)
              : p->is_turned           ? int_of(&t, t.blocks.most_rows)
                                       : span;
    if (p->beside >= 0) // of whole panels
        t.c_row = cpu_scaled(g, cpu_ceildiv(g, span, p->tile->nr), p->tile->nr);
    const bt_node *nelem = p->beside >= 0
                               ? cpu_times(g, p->view.dims[p->beside].extent, t.c_row)
                               : cpu_times(g, int_of(&t, t.blocks.most_rows), span);
    if (store->buffer != sums)
        return cpu_shrink_sums(loops, sums, nelem) && emit_nest(&t);
    return cpu_emit_buffer(loops, BT_BUFFER_LOCAL, p->tile->c, nelem, &t.c) &&
           emit_nest(&t);
}
