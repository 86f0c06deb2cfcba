/*
 * The nest of a contraction: loops over blocks of columns and of rows around calls of
 * tiles, and for each block what is done with its sums while they are near.
 */
#include "contract_nest.h"

#include <string.h>

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
static int emit_turned_epilogue(const struct cpu_nest *t, const bt_node **values)
{
    const struct cpu_tiling *p = t->tiling;
    struct cpu_emitter e = t->e;
    bt_graph *g = cpu_graph(t);
    const bt_node *column = cpu_emit_loop(&e, t->columns, 0);
    const bt_node *row = column ? cpu_emit_loop(&e, cpu_rows_here(t), 0) : NULL;
    values[p->m] = cpu_along(g, row, t->m, t->blocks.rows);
    values[p->n] = cpu_along_int(g, column, t->n, t->blocks.columns);
    return values[p->n] && cpu_emit_sum_store(&e, p, t->epilogue, t->c, values,
                                              cpu_along(g, row, column, t->c_row));
}

/* Of all sums of the block in one call. */
static int emit_codes(const struct cpu_nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    struct cpu_emitter e = t->e;
    bt_graph *g = cpu_graph(t);
    const bt_node *values[CPU_DIMS], *zero = cpu_int(t, 0), *rows = cpu_rows_here(t);
    memcpy(values, t->values, sizeof(values));
    values[p->m] = cpu_times(g, t->m, t->blocks.rows);
    values[p->n0 < 0 ? p->n : (uint32_t)p->n0] = cpu_scaled(g, t->n, t->blocks.columns);
    const struct cpu_dim *by = &p->view.dims[t->codes.by];
    const bt_node *columns = p->is_turned ? rows : cpu_block_span(t, t->columns);
    const bt_node *first =
        cpu_place_axes(g, p, bt_node_index(g, by->index, by->extent), values);
    const bt_node *integers[CPU_CODES_NINT];
    for (uint32_t i = 0; i < CPU_CODES_NINT; i++)
        integers[i] = zero;
    cpu_set_codes(t, columns, integers);
    integers[CPU_TILE_M] = p->is_turned ? t->columns : rows;
    integers[CPU_TILE_N] = columns;
    integers[CPU_SUMS_CODES_ROW] = t->c_row;
    integers[CPU_TILE_C_ROW] = p->view.dims[p->is_turned ? p->n : (uint32_t)p->m].c;
    integers[CPU_TILE_FLAGS] = cpu_int(t, t->codes.flags);
    struct cpu_address addresses[] = {
        { t->epilogue->store->buffer,
          cpu_place_axes(g, p, t->epilogue->store->offset, values) },
        { t->c, zero },
        { t->bias, first },
        { t->factor, first },
    };
    return cpu_emit_call(&e, p->tile->sums_codes->name, CPU_SUMS_CODES_NPOINTER,
                         addresses, CPU_CODES_NINT, integers);
}

static int emit_epilogue(const struct cpu_nest *of)
{
    struct cpu_nest t = *of;
    const struct cpu_tiling *p = t.tiling;
    const struct cpu_blocks *b = &t.blocks;
    bt_graph *g = cpu_graph(&t);
    const bt_node *values[CPU_DIMS], *offset, *column = cpu_int(&t, 0);
    memcpy(values, t.values, sizeof(values));
    int is_open = bt_node_number(b->nrow) < 0;
    if (t.codes.is_apart)
        return emit_codes(&t);
    if (p->is_turned)
        return emit_turned_epilogue(&t, values);
    const bt_node *row = cpu_emit_loop(&t.e, is_open ? cpu_rows_here(&t) : b->rows, 0);
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
        offset = cpu_along(g, offset, line, cpu_line_stride(p));
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
static int emit_follower(const struct cpu_nest *t, const bt_stmt *nest)
{
    const bt_stmt *from = nest->body.at[0];
    bt_graph *g = cpu_graph(t);
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

static int emit_block(struct cpu_nest *t)
{
    const bt_stmts *followers = &t->epilogue->followers;
    if (cpu_has_more_slices(t))
        return cpu_emit_columns(t);
    if (!cpu_emit_columns(t) || !(t->is_direct || emit_epilogue(t)))
        return 0;
    for (uint32_t i = 0; i < followers->len; i++) {
        if (!emit_follower(t, followers->at[i]))
            return 0;
    }
    return 1;
}

/* A last block of columns that is not like the others is written on its own. */
static int emit_blocks(struct cpu_nest *t)
{
    const struct cpu_blocks *b = &t->blocks;
    bt_graph *g = cpu_graph(t);
    struct cpu_nest inner = *t;
    int64_t nn = bt_node_number(b->nn);
    inner.columns = cpu_int(t, b->columns);
    if (bt_node_number(b->ncolumn) < 0) {
        inner.columns =
            cpu_least(g, inner.columns, cpu_along_int(g, b->ncolumn, t->n, -b->columns));
        return inner.columns && emit_block(&inner);
    }
    int64_t last = bt_node_number(b->ncolumn) - (nn - 1) * b->columns;
    if (last == b->columns || nn == 1) {
        inner.columns = cpu_int(t, last);
        return emit_block(&inner);
    }
    bt_stmts *block = t->e.to;
    if (!emit_if(&inner.e, bt_node_linear(g, nn - 2, 1, &t->n, (int64_t[]){ -1 })) ||
        !emit_block(&inner))
        return 0;
    inner.e.to = &block->at[block->len - 1]->otherwise;
    inner.columns = cpu_int(t, last);
    return emit_block(&inner);
}

static int open_dim(struct cpu_nest *t, uint32_t d, int is_parallel)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = cpu_graph(t);
    const bt_node *index = cpu_emit_loop(&t->e, p->view.dims[d].extent, is_parallel);
    t->values[d] = index;
    t->a_at = cpu_along(g, t->a_at, index, p->as[d]);
    t->b_at = cpu_along(g, t->b_at, index, p->bs[d]);
    return t->a_at && t->b_at;
}

/* Of the loops around that there are. */
static int open_carries(struct cpu_nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = cpu_graph(t);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (!dim->carries)
            continue;
        const bt_node *is =
            bt_node_scalar(g, BT_SCALAR_LT, t->values[dim->of], cpu_int(t, dim->carries));
        t->values[d] = is ? bt_node_select(g, is, cpu_int(t, 1), cpu_int(t, 0)) : NULL;
        t->a_at = cpu_along(g, t->a_at, t->values[d], p->as[d]);
        t->b_at = cpu_along(g, t->b_at, t->values[d], p->bs[d]);
        if (!t->a_at || !t->b_at)
            return 0;
    }
    return 1;
}

static int open_rows(struct cpu_nest *t, int is_parallel)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = cpu_graph(t);
    t->m = cpu_emit_loop(&t->e, t->blocks.nm, is_parallel);
    if (p->m >= 0)
        t->a_at = cpu_along(g, t->a_at, cpu_times(g, t->m, t->blocks.rows), p->as[p->m]);
    return t->m && t->a_at;
}

static int open_columns(struct cpu_nest *t, int is_parallel)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = cpu_graph(t);
    t->n = cpu_emit_loop(&t->e, t->blocks.nn, is_parallel);
    t->b_at = cpu_along(g, t->b_at, cpu_scaled(g, t->n, t->blocks.columns),
                        p->bs[p->n0 < 0 ? p->n : (uint32_t)p->n0]);
    return t->b_at != NULL;
}

/* What is around the columns and is not open yet, the outermost dim last. */
static int open_others(struct cpu_nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    for (uint32_t d = p->view.ndim; d-- > 0;) {
        if (cpu_is_around(p, d) && !t->values[d] && !open_dim(t, d, 0))
            return 0;
    }
    return open_carries(t);
}

/* All rows of a block of columns by a slice of their terms, of so many iterations. */
static int emit_slice(const struct cpu_nest *of, const bt_node *slice, int64_t length)
{
    struct cpu_nest t = *of;
    const struct cpu_slices *s = &t.blocks.slices;
    bt_graph *g = cpu_graph(&t);
    struct cpu_tiling tiling;
    cpu_copy_tiling(&tiling, t.tiling);
    struct cpu_class *k = &tiling.classes[s->dim][0];
    k->extent = cpu_int(&t, length);
    t.tiling = &tiling;
    t.slice = slice;
    t.a_at = cpu_along(g, t.a_at, cpu_scaled(g, slice, s->length), k->a);
    t.b_at = cpu_along(g, t.b_at, cpu_scaled(g, slice, s->length), k->b);
    const bt_node *row = cpu_int(&t, 0);
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
static int emit_slices(struct cpu_nest *t)
{
    const struct cpu_slices *s = &t->blocks.slices;
    const int64_t all = bt_node_number(t->tiling->view.dims[s->dim].extent);
    struct cpu_nest before = *t;
    before.c = t->begun;
    before.c_row = cpu_int(t, t->begun_row);
    before.is_direct = 0;
    before.finish = (struct cpu_finish){ .is_all = 1 };
    const bt_node *slice = cpu_emit_loop(&before.e, cpu_int(t, s->n - 1), 0);
    t->is_last_slice = 1;
    return slice && emit_slice(&before, slice, s->length) &&
           emit_slice(t, cpu_int(t, s->n - 1), all - (s->n - 1) * s->length);
}

/* The parallel loop first, then all others. */
static int emit_nest(struct cpu_nest *t)
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

int cpu_emit_by_dim(const struct cpu_emitter *at, const struct cpu_dim *dim,
                    int64_t beyond, const bt_node *value, uint32_t *out)
{
    struct cpu_emitter e = *at;
    bt_graph *g = e.loops->graph;
    const bt_node *nelem = cpu_plus(g, dim->extent, bt_node_int(g, beyond));
    if (!cpu_emit_buffer(e.loops, BT_BUFFER_TEMP, value->dtype, nelem, out))
        return 0;
    const bt_node *index = cpu_emit_loop(&e, dim->extent, 0);
    bt_stmt *store = index ? bt_stmt_add(e.loops, e.to, BT_STMT_STORE) : NULL;
    if (!store)
        return 0;
    store->buffer = *out;
    store->offset = index;
    store->value = bt_node_substitute(g, value, dim->index, index);
    return store->value != NULL;
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

/* The sum is what corrects it, if anything does: what is left is the bias of codes. */
static const bt_node *change_to_correction(void *self, const bt_node *node)
{
    const struct cpu_nest *t = self;
    const struct cpu_tiling *p = t->tiling;
    if (node->kind != BT_NODE_READ || node->which != t->epilogue->sums)
        return node;
    const struct cpu_dim *dim = &p->view.dims[t->codes.by];
    return p->correction && t->codes.is_all
               ? bt_loops_read(t->e.loops, p->corrections,
                               bt_node_index(cpu_graph(t), dim->index, dim->extent))
               : bt_node_cast(cpu_graph(t), BT_INT32, cpu_int(t, 0));
}

/* An array of what a node is for each row, or column. */
static int emit_by_row(const struct cpu_nest *t, const bt_node *value, uint32_t *out)
{
    enum { PANEL = 128 }; // columns behind the last one, of which a call makes codes, too
    bt_by_node by = { t->e.loops, change_to_correction, (void *)(uintptr_t)t };
    value = bt_node_change(&by, value);
    return value && cpu_emit_by_dim(&t->e, &t->tiling->view.dims[t->codes.by],
                                    CPU_CODES_VECTOR + PANEL, value, out);
}

static int add_correction(struct cpu_nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_dim *dim = &p->view.dims[p->a->is_signed ? (uint32_t)p->m : p->n];
    const bt_node *index = bt_node_index(cpu_graph(t), dim->index, dim->extent);
    t->finish.is_all = 1;
    t->finish.flags |= cpu_correction_flag(p);
    t->finish.bias = index ? bt_loops_read(t->e.loops, p->corrections, index) : NULL;
    return t->finish.bias != NULL;
}

int cpu_emit_contraction(bt_loops *loops, const struct cpu_tiling *p,
                         const struct cpu_config *config,
                         const struct cpu_epilogue *epilogue, bt_stmts *out)
{
    struct cpu_nest t = { .e = { loops, out, CPU_FIRST_INDEX },
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
    // sums alone that go by slices are finished too: by nothing
    if (!t.is_direct || t.blocks.slices.n > 1)
        cpu_match_finish(g, p, epilogue, &t.finish);
    if (p->correction && t.finish.bias) // a tile adds one of the two
        t.finish = (struct cpu_finish){ .is_all = 0 };
    t.is_direct |= t.finish.is_all;
    if (!t.is_direct)
        cpu_match_finish_codes(g, p, epilogue, &t.codes);
    if ((t.codes.is_all || t.codes.is_apart) &&
        !(emit_by_row(&t, t.codes.sum, &t.bias) &&
          emit_by_row(&t, t.codes.factor, &t.factor)))
        return 0;
    if (t.codes.is_all) {
        t.is_direct = 1;
        t.blocks.slices.n = 1;
        t.c = store->buffer;
        t.c_row = p->view.dims[p->m].c;
        return cpu_shrink_sums(loops, sums, cpu_int(&t, 1)) && emit_nest(&t);
    }
    if (p->is_turned)
        t.finish.is_all = 1;
    if (p->correction && !add_correction(&t))
        return 0;
    if (t.finish.is_all)
        t.finish.flags |= (p->is_turned ? CPU_TILE_TURNED : 0) |
                          (cpu_is_done_once(p) ? CPU_TILE_ONCE : 0);
    if (!t.finish.is_all || !t.is_direct || p->correction)
        t.blocks.slices.n = 1;
    if (t.blocks.slices.n > 1) {
        const int64_t nr = p->tile->nr, n = cpu_most_columns(&t.blocks);
        t.begun_row = bt_ceildiv_int64(n, nr) * nr;
        if (!cpu_emit_buffer(loops, BT_BUFFER_LOCAL, p->tile->c,
                             cpu_int(&t, t.blocks.slices.nrow * t.begun_row), &t.begun))
            return 0;
    }
    if (t.is_direct) {
        t.c = store->buffer;
        int32_t row = p->is_line ? p->n0 : p->is_turned ? (int32_t)p->n : p->m;
        t.c_row = row < 0 ? cpu_int(&t, 0) : p->view.dims[row].c;
        t.e.to = out;
        return (t.c == sums || cpu_shrink_sums(loops, sums, cpu_int(&t, 1))) &&
               emit_nest(&t);
    }
    const bt_node *span = cpu_block_span(&t, cpu_int(&t, cpu_most_columns(&t.blocks)));
    t.c_row = p->is_line && p->n0 >= 0 ? cpu_line_stride(p)
              : p->is_turned           ? cpu_int(&t, t.blocks.most_rows)
                                       : span;
    if (p->beside >= 0) // of whole panels
        t.c_row = cpu_scaled(g, cpu_ceildiv(g, span, p->tile->nr), p->tile->nr);
    const bt_node *nelem = p->beside >= 0
                               ? cpu_times(g, p->view.dims[p->beside].extent, t.c_row)
                               : cpu_times(g, cpu_int(&t, t.blocks.most_rows), span);
    if (t.codes.is_apart)
        nelem = cpu_plus(g, nelem, cpu_int(&t, CPU_CODES_VECTOR));
    if (store->buffer != sums)
        return cpu_shrink_sums(loops, sums, nelem) && emit_nest(&t);
    return cpu_emit_buffer(loops, BT_BUFFER_LOCAL, p->tile->c, nelem, &t.c) &&
           emit_nest(&t);
}
