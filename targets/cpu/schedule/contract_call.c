/*
 * The calls of a block of a contraction: tiles that cover its columns, or lines along them, with the
 * levels of k that a call goes through, and what it fetches for those to come.
 */
#include "contract_nest.h"

#include <string.h>

/* Panels that may lie beyond the second cache, and those of a block that stay in it beside the ones
 * before. */
enum { NEXT_LEAST_NBYTES = 128 * 1024, NEXT_MAX_NBYTES = 512 * 1024 };

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

void cpu_set_codes(const struct cpu_nest *t, const bt_node *columns,
                   const bt_node **integers)
{
    const struct cpu_tiling *p = t->tiling;
    const int has_gaps = p->n0 >= 0;
    integers[CPU_CODES_B_N] = cpu_scaled(cpu_graph(t), p->bs[p->n], p->tile->nr);
    integers[CPU_CODES_LOW] = cpu_int(t, t->codes.low);
    integers[CPU_CODES_HIGH] = cpu_int(t, t->codes.high);
    integers[CPU_CODES_OF_NAN] = cpu_int(t, t->codes.of_nan);
    integers[CPU_CODES_ZERO] = cpu_int(t, t->codes.zero);
    integers[CPU_CODES_GROUP] = has_gaps ? cpu_line_stride(p) : columns;
    integers[CPU_CODES_WIDTH] = has_gaps ? p->view.dims[p->n].extent : columns;
    integers[CPU_CODES_C_GROUP] = has_gaps ? p->view.dims[p->n0].c : cpu_int(t, 0);
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

/* Whether a call does all columns of a block, with an epilogue or with none: what it is told of the block
 * it takes as long to read as twenty terms of a tile are. */
static int does_all_columns(const struct cpu_nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    if (p->b_kind != CPU_B_PANELS || p->is_line || p->is_across)
        return 0;
    return t->finish.is_all ||
           (p->tile->epilogue && p->m >= 0 && p->n0 < 0 && p->beside < 0 &&
            !p->correction && is_one_call(cpu_graph(t), p));
}

/* Loops over levels that the tile has not, and the call. */
static int emit_levels(const struct cpu_nest *t, const struct tile_call *call,
                       const struct levels *l)
{
    struct cpu_emitter e = t->e;
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = cpu_graph(t);
    const bt_node *a = call->a, *b = call->b, *zero = cpu_int(t, 0), *iteration = zero;
    uint32_t first = l->n > 3 ? l->n - 3 : 0;
    const struct cpu_class none = { cpu_int(t, 1), zero, zero, zero, zero };
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
    const bt_node *start = cpu_int(t, call->is_first ? 0 : CPU_TILE_START);
    if (t->slice)
        start = cpu_least(g, cpu_int(t, CPU_TILE_START), t->slice);
    if (call->is_first && first)
        start = cpu_least(g, cpu_int(t, CPU_TILE_START), iteration);
    if (p->correction && start) // which is added once
        start =
            bt_node_linear(g, 0, 1, &start,
                           (const int64_t[]){ CPU_TILE_START - cpu_correction_flag(p) });
    if (p->b_kind != CPU_B_DIRECT && start)
        start = bt_node_linear(cpu_graph(t), CPU_TILE_PADDED, 1, &start,
                               (const int64_t[]){ 1 });
    if (t->finish.is_all && start)
        start = bt_node_linear(g, t->finish.flags, 1, &start, (const int64_t[]){ 1 });
    if (t->finite && start)
        start = cpu_plus(g, start,
                         bt_node_select(g, t->finite, cpu_int(t, CPU_LINE_FINITE), zero));
    if (t->codes.is_all && start)
        start = bt_node_linear(g, t->codes.flags, 1, &start, (const int64_t[]){ 1 });
    const bt_node *integers[CPU_TILE_EPILOGUE_NINT] = {
        call->lines ? call->lines : cpu_rows_here(t),
        call->width,
        k[0]->extent,
        call->lines ? call->b_row // CPU_LINE_B_ROW
                    : cpu_row_step(g, p),
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
        cpu_int(t, t->finish.low),
        cpu_int(t, t->finish.high),
        call->next ? call->next_k : zero,
        cpu_scaled(g, p->bs[p->n], p->tile->nr),             // CPU_TILE_B_N
        p->correction ? t->c_row : cpu_int(t, t->begun_row), // CPU_TILE_SUMS_ROW
    };
    struct cpu_address addresses[] = {
        [CPU_TILE_C] = { t->c, call->c },
        [CPU_TILE_A] = { t->a, p->a_nelem ? a : cpu_at_element(g, p->a, a) },
        [CPU_TILE_B] = { t->b, b },
        [CPU_TILE_NEXT] = { t->b, call->next ? call->next : b },
        // what there is none of is not read
        [CPU_TILE_BIAS] = address_of(t->finish.bias, call->bias, t->a, a),
        [CPU_TILE_LOW_AT] = address_of(t->finish.low_at, NULL, t->c, call->c),
        [CPU_TILE_HIGH_AT] = address_of(t->finish.high_at, NULL, t->c, call->c),
        [CPU_TILE_SUMS] = t->slice        ? (struct cpu_address){ t->begun, call->begun }
                          : p->correction ? (struct cpu_address){ t->c, call->c }
                                          : (struct cpu_address){ t->a, a },
        [CPU_TILE_RESIDUAL] = address_of(t->finish.residual, call->residual, t->a, a),
    };
    if (t->codes.is_all) {
        const bt_node *codes[CPU_CODES_NINT];
        cpu_set_codes(t, call->width, codes);
        codes[CPU_CODES_NEXT_K] = call->next ? call->next_k : zero;
        memcpy(codes, integers, CPU_TILE_NINT * sizeof(*codes));
        addresses[CPU_TILE_BIAS] = (struct cpu_address){ t->bias, call->bias };
        addresses[CPU_CODES_NEXT] = addresses[CPU_TILE_NEXT];
        addresses[CPU_CODES_FACTOR] = (struct cpu_address){ t->factor, call->bias };
        return cpu_emit_call(&e, p->tile->codes->name, CPU_CODES_NPOINTER, addresses,
                             CPU_CODES_NINT, codes);
    }
    const struct cpu_callee *row = p->is_across ? p->tile->across
                                   : p->is_line ? p->tile->line
                                   : t->finish.is_all || call->next || does_all_columns(t)
                                       ? p->tile->epilogue
                                       : p->tile->block;
    const struct cpu_form *form = cpu_form_of(row);
    return cpu_emit_call(&e, row->name, form->naddress, addresses, form->ninteger,
                         integers);
}

/* A call for each way of choosing classes of the reduced dims. */
static int emit_tile(const struct cpu_nest *t, const struct tile_call *first)
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
            const struct cpu_class k = cpu_iterations_inside(
                cpu_graph(t), p, t->values, d, &p->classes[d][choice[d]]);
            if (!k.extent)
                return 0;
            add_level(cpu_graph(t), &l, &k);
            call.a = cpu_plus(cpu_graph(t), call.a, k.a_at);
            call.b = cpu_plus(cpu_graph(t), call.b, k.b_at);
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

/* How often a block of columns is gone through before the next one, and which time it is. */
struct passes {
    int64_t n; /* -1: that is not known */
    const bt_node *at;
};

static struct passes passes_of(const struct cpu_nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_blocks *b = &t->blocks;
    bt_graph *g = cpu_graph(t);
    struct passes all = { .n = 1, .at = cpu_int(t, 0) };
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
static int find_next(const struct cpu_nest *t, struct tile_call *call)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_blocks *b = &t->blocks;
    bt_graph *g = cpu_graph(t);
    const int64_t nn = bt_node_number(b->nn),
                  step = bt_node_number(p->bs[p->n]) * b->columns, all = panels_of(p),
                  nbytes = BT_DTYPE_BITS(p->b->dtype) / 8;
    if (!p->tile->epilogue || nn < 2 || all < NEXT_LEAST_NBYTES / nbytes ||
        step > NEXT_MAX_NBYTES / nbytes || !is_one_call(g, p))
        return 1;
    const struct passes passes = passes_of(t);
    if (passes.n < 1)
        return 1;
    const int64_t part = bt_ceildiv_int64(p->tile->nr, passes.n);
    const bt_node *is_last = bt_node_scalar(g, BT_SCALAR_LE, cpu_int(t, nn - 1), t->n);
    call->next =
        cpu_plus(g, call->b, bt_node_select(g, is_last, cpu_int(t, 0), cpu_int(t, step)));
    call->next = cpu_along_int(g, call->next, passes.at, step / b->columns * part);
    call->next = cpu_least(g, call->next, cpu_int(t, all - 1));
    call->next_k = cpu_int(t, part);
    return call->next && call->next_k;
}

/* A call on what begins at number `column` of the block. */
static int emit_call_at(const struct cpu_nest *t, const struct cpu_emitter *e,
                        const bt_node *column, struct tile_call call)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = cpu_graph(t);
    struct cpu_nest inner = *t;
    inner.e = *e;
    call.is_first = 1;
    call.a = t->a_at;
    call.b = cpu_along(g, t->b_at, column, p->bs[p->n]);
    call.c = p->is_turned ? cpu_times(g, column, t->c_row) : column;
    const bt_node *values[CPU_DIMS];
    memcpy(values, t->values, sizeof(values));
    const uint32_t n = p->n0 < 0 ? p->n : (uint32_t)p->n0;
    values[n] = cpu_scaled(g, t->n, t->blocks.columns);
    if (p->n0 < 0)
        values[n] = cpu_plus(g, values[n], column);
    if (p->m >= 0)
        values[p->m] = cpu_times(g, t->m, t->blocks.rows);
    if (t->finish.bias)
        call.bias = cpu_place_axes(g, p, t->finish.bias->args[0], values);
    if (t->codes.is_all) {
        const struct cpu_dim *dim = &p->view.dims[t->codes.by];
        call.bias =
            cpu_place_axes(g, p, bt_node_index(g, dim->index, dim->extent), values);
    }
    if (t->is_direct) {
        call.c = cpu_place_axes(g, p, t->epilogue->store->offset, values);
        call.residual = call.c;
    }
    if (t->slice)
        call.begun = cpu_plus(g, column, t->begun_at);
    if (cpu_has_more_slices(t))
        call.c = call.begun;
    return find_next(t, &call) && emit_tile(&inner, &call);
}

/* `width` columns from number `column` of the block on. */
static int emit_tile_at(const struct cpu_nest *t, const struct cpu_emitter *e,
                        const bt_node *column, const bt_node *width)
{
    return emit_call_at(t, e, column, (struct tile_call){ .width = width });
}

/* The block's lines: one, or one for each of its rows of columns. */
static int emit_lines(const struct cpu_nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    const bt_node *zero = cpu_int(t, 0);
    struct tile_call call = {
        .width = t->columns, .lines = cpu_int(t, 1), .b_row = zero, .c_row = t->c_row
    };
    if (p->n0 >= 0) {
        call.width = p->view.dims[p->n].extent;
        call.lines = t->columns;
        call.b_row = p->bs[p->n0];
    }
    return emit_call_at(t, &t->e, zero, call);
}

/* The block's panels: a line along each that is full, and one along what is left. */
static int emit_panel_lines(const struct cpu_nest *t)
{
    bt_graph *g = cpu_graph(t);
    const int64_t nr = t->tiling->tile->nr;
    const bt_node *full =
        bt_node_scalar(g, BT_SCALAR_FLOORDIV, t->columns, cpu_int(t, nr));
    const bt_node *after = cpu_times(g, full, cpu_int(t, nr));
    const bt_node *rest = cpu_minus(g, t->columns, after);
    struct tile_call call = { .width = cpu_int(t, nr),
                              .lines = full,
                              .b_row = cpu_scaled(g, t->tiling->bs[t->tiling->n], nr),
                              .c_row = cpu_int(t, nr) };
    if (!full || !after || !rest ||
        (!cpu_is_size(full, 0) && !emit_call_at(t, &t->e, cpu_int(t, 0), call)))
        return 0;
    call.width = rest;
    call.lines = cpu_int(t, 1);
    return cpu_is_size(rest, 0) || emit_call_at(t, &t->e, after, call);
}

/* The block's panels of all lines that are done together. */
static int emit_lines_beside(const struct cpu_nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = cpu_graph(t);
    const int64_t nr = p->tile->nr;
    struct cpu_emitter e = t->e;
    const bt_node *panel = cpu_emit_loop(&e, cpu_ceildiv(g, t->columns, nr), 0);
    const bt_node *left = panel ? cpu_along_int(g, t->columns, panel, -nr) : NULL;
    return left && emit_call_at(t, &e, cpu_scaled(g, panel, nr),
                                (struct tile_call){
                                    .width = cpu_least(g, cpu_int(t, nr), left),
                                    .lines = p->view.dims[p->beside].extent,
                                    .b_row = p->bs[p->beside],
                                    .c_row = t->c_row,
                                });
}

/* As many tiles as there are, the last one with fewer columns, or with some that were done
 * before. */
static int emit_open_columns(const struct cpu_nest *t, const bt_node *span)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = cpu_graph(t);
    const int64_t nr = p->tile->nr;
    struct cpu_emitter e = t->e;
    const bt_node *q = cpu_emit_loop(&e, cpu_ceildiv(g, span, nr), 0);
    const bt_node *at = cpu_scaled(g, q, nr), *zero = cpu_int(t, 0);
    const bt_node *last = bt_node_linear(g, -nr, 1, &span, (int64_t[]){ 1 });
    if (p->b_kind != CPU_B_PANELS)
        at = cpu_least(g, at, cpu_most(g, last, zero));
    return at &&
           emit_tile_at(t, &e, at, cpu_least(g, cpu_int(t, nr), cpu_minus(g, span, at)));
}

/* Tiles that cover the block's columns: whole ones, then one that ends where they do and
 * does some columns again, which gives the same sums. */
int cpu_emit_columns(const struct cpu_nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    const bt_node *size = cpu_block_span(t, t->columns), *zero = cpu_int(t, 0);
    struct cpu_emitter e = t->e;
    if (p->beside >= 0)
        return emit_lines_beside(t);
    if (p->is_line)
        return p->b_kind == CPU_B_PANELS ? emit_panel_lines(t) : emit_lines(t);
    if (p->is_across)
        return emit_tile_at(t, &e, zero, t->columns);
    if (t->codes.is_all || (p->tile->takes_columns && p->b_kind != CPU_B_PANELS))
        return emit_tile_at(t, &e, zero, size);
    if (does_all_columns(t))
        return size && emit_tile_at(t, &e, zero, size);
    if (!size || bt_node_number(size) < 0)
        return size && emit_open_columns(t, size);
    int64_t nr = p->tile->nr, half = nr / 2, span = bt_node_number(size),
            rest = span % nr;
    if (span >= nr && t->finish.is_all) {
        if (!emit_tile_at(t, &e, zero, cpu_int(t, span - rest)))
            return 0;
    } else if (span >= nr) {
        const bt_node *q = cpu_emit_loop(&e, cpu_int(t, span / nr), 0);
        if (!q || !emit_tile_at(t, &e, cpu_scaled(cpu_graph(t), q, nr), cpu_int(t, nr)))
            return 0;
    }
    if (!rest)
        return 1;
    e = t->e;
    if (p->b_kind == CPU_B_PANELS || span < half)
        return emit_tile_at(t, &e, cpu_int(t, span - rest), cpu_int(t, rest));
    if (rest <= half)
        return emit_tile_at(t, &e, cpu_int(t, span - half), cpu_int(t, half));
    if (span >= nr)
        return emit_tile_at(t, &e, cpu_int(t, span - nr), cpu_int(t, nr));
    return emit_tile_at(t, &e, zero, cpu_int(t, half)) &&
           emit_tile_at(t, &e, cpu_int(t, span - half), cpu_int(t, half));
}

int cpu_is_done_once(const struct cpu_tiling *p)
{
    const int64_t half = p->tile->nr / 2, n = bt_node_number(p->ncolumn);
    return p->b_kind == CPU_B_PANELS || p->tile->takes_columns ||
           (n >= 0 && (n % half == 0 || n < half));
}
