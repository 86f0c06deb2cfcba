/*
 * The nest of a contraction: loops over blocks of columns and of rows around calls of
 * tiles, and for each block what is done with its sums while they are near.
 */
#include "contract.h"

#include <string.h>

/* ---- blocks ---- */

enum {
    COLUMNS_NBYTES = 192 * 1024, /* of B, for a block of columns: near, not nearest */
    SUMS_NBYTES = 24 * 1024,     /* of a block of sums: nearest */
    TILES_OF_BLOCK = 4           /* side by side, at least */
};

/* A block is `rows` of A by `columns` of B, which are some of `ncolumn`; or by `columns`
 * rows of columns. */
struct blocks {
    int64_t nrow, rows, nm;       /* all, of a block, blocks */
    int64_t ncolumn, columns, nn; /* likewise */
    uint32_t by_m;                /* 1: blocks of rows are the parallel loop */
    int32_t parallel;             /* else: this dim is, or -1: blocks of columns */
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Columns of B that a block may have. */
static int64_t columns_fitting(const struct cpu_plan *p)
{
    int64_t depth = 1, nbytes = BT_DTYPE_BITS(p->b->dtype) / 8;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        int is_tap = 0;
        for (uint32_t i = 0; i < p->nwindow; i++)
            is_tap |= p->windows[i].k == (int32_t)d;
        if (p->view.dims[d].is_k && !is_tap && p->view.dims[d].extent < INT32_MAX / depth)
            depth *= p->view.dims[d].extent;
    }
    int64_t rows = p->is_line ? 1 : p->tile->mr;
    return at_most(COLUMNS_NBYTES / (depth * nbytes),
                   SUMS_NBYTES / (rows * (int64_t)(BT_DTYPE_BITS(p->tile->c) / 8)));
}

static void choose_parallel(const struct cpu_plan *p, const struct cpu_config *config,
                            struct blocks *b)
{
    int64_t most = b->nn;
    b->parallel = -1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        int is_outer = !p->view.dims[d].is_k && d != p->n && (int32_t)d != p->n0 &&
                       (int32_t)d != p->m && !(p->merged >> d & 1);
        if (is_outer && p->view.dims[d].extent > most) {
            b->parallel = (int32_t)d;
            most = p->view.dims[d].extent;
        }
    }
    b->by_m = config->nthread > 1 && most < 2 * (int64_t)config->nthread && b->nm > most;
}

static struct blocks choose_blocks(const struct cpu_plan *p,
                                   const struct cpu_config *config)
{
    struct blocks b = { .nrow = p->m < 0 ? 1 : p->view.dims[p->m].extent };
    int64_t unit = p->n0 < 0 ? p->tile->nr : p->bs[p->n0], fitting = columns_fitting(p);
    b.nm = ceil_div(b.nrow, p->tile->mr);
    b.rows = ceil_div(b.nrow, b.nm);
    b.ncolumn = p->n0 < 0 ? p->ncolumn : p->view.dims[p->n0].extent;
    // in tiles, or in rows; a rest of columns goes with the last tile
    int64_t nunit = p->n0 < 0 ? at_least(b.ncolumn / unit, 1) : b.ncolumn;
    if (p->b_kind == CPU_B_PANELS)
        nunit = ceil_div(b.ncolumn, unit);
    int64_t per_block = at_most(at_least(fitting / unit, 1), nunit);
    // for threads, but not so few that tiles are not filled
    int64_t least = ceil_div(TILES_OF_BLOCK * p->tile->nr, unit);
    if (config->nthread > 1)
        per_block =
            at_most(per_block, at_least(least, nunit / (2 * (int64_t)config->nthread)));
    b.nn = ceil_div(nunit, per_block);
    per_block = ceil_div(nunit, b.nn);
    b.nn = ceil_div(nunit, per_block);
    b.columns = p->n0 < 0 ? per_block * unit : per_block;
    choose_parallel(p, config, &b);
    return b;
}

/* ---- nests ---- */

enum { FIRST_INDEX = 40 }; /* of the nest: the stage's are below */

/* A place in the nest: the values of dims so far, and where they put the operands. */
struct nest {
    struct cpu_emitter e;
    const struct cpu_plan *plan;
    uint32_t sums; /* the array that the store reads them from */
    struct blocks blocks;
    uint32_t a, b, c;                /* buffers */
    uint32_t is_direct;              /* sums go to their place, else to a block */
    const bt_stmt *store;            /* what is done with sums */
    int64_t c_row;                   /* stride of a block of sums, or of the result */
    const bt_node *values[CPU_DIMS]; /* of loops around */
    struct cpu_sum a_at, b_at;
    const bt_node *m, *n; /* numbers of the block */
    int64_t columns;      /* of this block */
};

static bt_graph *graph_of(const struct nest *t)
{
    return t->e.loops->graph;
}

static const bt_node *number(const struct nest *t, int64_t value)
{
    return bt_node_int(graph_of(t), value);
}

/* Columns of sums from row n0 to the next: those of B, but lines are written apart. */
static int64_t line_stride(const struct cpu_plan *p)
{
    return p->is_line ? p->view.dims[p->n].extent : p->bs[p->n0];
}

/* Columns from the block's first to its last, with those between its rows. */
static int64_t span_of(const struct nest *t)
{
    const struct cpu_plan *p = t->plan;
    return p->n0 < 0 ? t->columns
                     : (t->columns - 1) * line_stride(p) + p->view.dims[p->n].extent;
}

/* ---- tiles ---- */

/* Levels of k of one call, outermost first. */
struct levels {
    uint32_t n;
    struct cpu_class at[CPU_DIMS];
};

static void add_level(struct levels *l, const struct cpu_class *k)
{
    struct cpu_class *outer = l->n ? &l->at[l->n - 1] : NULL;
    if (k->extent == 1)
        return;
    if (outer && outer->a == k->a * k->extent && outer->b == k->b * k->extent) {
        outer->extent *= k->extent;
        outer->a = k->a;
        outer->b = k->b;
    } else {
        l->at[l->n++] = *k;
    }
}

struct tile_call {
    struct cpu_sum a, b;
    const bt_node *c; /* offset */
    int64_t width;    /* columns */
    uint32_t is_first;
};

/* Loops over levels that the tile has not, and the call. */
static int emit_levels(const struct nest *t, const struct tile_call *call,
                       const struct levels *l)
{
    struct cpu_emitter e = t->e;
    const struct cpu_plan *p = t->plan;
    struct cpu_sum a = call->a, b = call->b, turns = { 0 };
    uint32_t first = l->n > 3 ? l->n - 3 : 0;
    const struct cpu_class none = { .extent = 1 }, *k[3] = { &none, &none, &none };
    for (uint32_t i = 0; i < first; i++) {
        const bt_node *index = cpu_emit_loop(&e, l->at[i].extent, 0);
        if (!index)
            return 0;
        cpu_sum_add(&a, index, l->at[i].a);
        cpu_sum_add(&b, index, l->at[i].b);
        cpu_sum_add(&turns, index, 1);
    }
    for (uint32_t i = 0; first + i < l->n; i++)
        k[i] = &l->at[l->n - 1 - i];
    const bt_node *start = number(t, call->is_first ? 0 : CPU_TILE_START);
    if (call->is_first && turns.n)
        start = bt_node_scalar(graph_of(t), BT_SCALAR_MIN, number(t, CPU_TILE_START),
                               cpu_sum_node(e.loops, &turns));
    struct cpu_sum rows = { .constant = t->blocks.nrow };
    cpu_sum_add(&rows, t->m, -t->blocks.rows);
    const bt_node *m = number(t, p->is_line && p->n0 >= 0 ? t->columns : t->blocks.rows);
    if (t->blocks.nrow % t->blocks.rows)
        m = bt_node_scalar(graph_of(t), BT_SCALAR_MIN, m, cpu_sum_node(e.loops, &rows));
    if (p->b_kind != CPU_B_DIRECT && start)
        start = bt_node_linear(graph_of(t), CPU_TILE_PADDED, 1, &start,
                               (const int64_t[]){ 1 });
    const bt_node *integers[CPU_TILE_NINT] = {
        m,
        number(t, call->width),
        number(t, k[0]->extent),
        number(t, p->is_line && p->n0 >= 0 ? p->bs[p->n0] // CPU_LINE_B_ROW
                  : p->m < 0               ? 0
                                           : p->as[p->m]),
        number(t, k[0]->a),
        number(t, k[0]->b),
        number(t, t->c_row),
        start,
        number(t, k[1]->extent),
        number(t, k[1]->a),
        number(t, k[1]->b),
        number(t, k[2]->extent),
        number(t, k[2]->a),
        number(t, k[2]->b),
    };
    struct cpu_address addresses[] = { { t->c, call->c },
                                       { t->a, cpu_sum_node(e.loops, &a) },
                                       { t->b, cpu_sum_node(e.loops, &b) } };
    return cpu_emit_call(&e, (p->is_line ? p->tile->line : p->tile->block)->name,
                         CPU_TILE_NPOINTER, addresses, CPU_TILE_NINT, integers);
}

/* A call for each way of choosing classes of the reduced dims. */
static int emit_tile(const struct nest *t, const struct tile_call *first)
{
    const struct cpu_plan *p = t->plan;
    uint32_t choice[CPU_DIMS] = { 0 }, d;
    struct tile_call call = *first;
    do {
        struct levels l = { 0 };
        call.a = first->a;
        call.b = first->b;
        for (d = 0; d < p->view.ndim; d++) {
            const struct cpu_class *k = &p->classes[d][choice[d]];
            if (!p->view.dims[d].is_k)
                continue;
            add_level(&l, k);
            call.a.constant += k->a_at;
            call.b.constant += k->b_at;
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

/* Offset of column q of the block, of its sums and in B. */
static int emit_tile_at(const struct nest *t, const struct cpu_emitter *e,
                        const bt_node *q, int64_t by, int64_t constant, int64_t width)
{
    const struct cpu_plan *p = t->plan;
    struct tile_call call = { .width = width, .is_first = 1, .a = t->a_at, .b = t->b_at };
    struct nest inner = *t;
    struct cpu_sum c = { .constant = constant };
    inner.e = *e;
    call.b.constant += constant * p->bs[p->n];
    if (q) {
        cpu_sum_add(&call.b, q, by * p->bs[p->n]);
        cpu_sum_add(&c, q, by);
    }
    if (t->is_direct) {
        for (uint32_t d = 0; d < p->view.ndim; d++) {
            if (t->values[d])
                cpu_sum_add(&c, t->values[d], p->view.dims[d].c);
        }
        cpu_sum_add(&c, t->m, t->blocks.rows * t->c_row);
        cpu_sum_add(&c, t->n,
                    t->blocks.columns * (p->n0 < 0 ? 1 : p->view.dims[p->n0].c));
    }
    call.c = cpu_sum_node(e->loops, &c);
    return emit_tile(&inner, &call);
}

/* Tiles that cover the block's columns: whole ones, then one that ends where they do and
 * does some columns again, which gives the same sums. */
static int emit_columns(const struct nest *t)
{
    const struct cpu_plan *p = t->plan;
    int64_t nr = p->tile->nr, half = nr / 2, span = span_of(t), rest = span % nr;
    struct cpu_emitter e = t->e;
    if (p->is_line)
        return emit_tile_at(t, &e, NULL, 0, 0,
                            p->n0 < 0 ? t->columns : p->view.dims[p->n].extent);
    if (span >= nr) {
        const bt_node *q = cpu_emit_loop(&e, span / nr, 0);
        if (!q || !emit_tile_at(t, &e, q, nr, 0, nr))
            return 0;
    }
    if (!rest)
        return 1;
    e = t->e;
    if (p->b_kind == CPU_B_PANELS || span < half)
        return emit_tile_at(t, &e, NULL, 0, span - rest, rest);
    if (rest <= half)
        return emit_tile_at(t, &e, NULL, 0, span - half, half);
    if (span >= nr)
        return emit_tile_at(t, &e, NULL, 0, span - nr, nr);
    return emit_tile_at(t, &e, NULL, 0, 0, half) &&
           emit_tile_at(t, &e, NULL, 0, span - half, half);
}

/* ---- epilogues ---- */

struct change {
    const struct nest *nest;
    const bt_node *offset; /* of a sum in its block */
};

static const bt_node *change_sum(void *self, const bt_node *node)
{
    const struct change *c = self;
    if (node->kind != BT_NODE_READ || node->which != c->nest->sums)
        return node;
    return bt_loops_read(c->nest->e.loops, c->nest->c, c->offset);
}

/* The node with the stage's axes as they are in the nest. */
static const bt_node *place_axes(const struct nest *t, const bt_node *node,
                                 const bt_node *const *values)
{
    const struct cpu_plan *p = t->plan;
    uint64_t done = 0;
    for (uint32_t d = 0; node && d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        struct cpu_sum axis = { 0 };
        if (dim->is_k || (done & bt_index_bit(dim->index)))
            continue;
        done |= bt_index_bit(dim->index);
        for (uint32_t i = d; i < p->view.ndim; i++) {
            if (!p->view.dims[i].is_k && p->view.dims[i].index == dim->index && values[i])
                cpu_sum_add(&axis, values[i], p->view.dims[i].scale);
        }
        node = bt_node_substitute(graph_of(t), node, dim->index,
                                  cpu_sum_node(t->e.loops, &axis));
    }
    return node;
}

static int emit_store(struct nest *t, const bt_node *const *values, const bt_node *offset)
{
    struct change change = { t, offset };
    bt_by_node by = { t->e.loops, change_sum, &change };
    bt_stmt *store = bt_stmt_add(t->e.loops, t->e.to, BT_STMT_STORE);
    const bt_node *value = bt_node_change(&by, t->store->value);
    if (!store || !value)
        return 0;
    store->buffer = t->store->buffer;
    store->value = place_axes(t, value, values);
    store->offset = place_axes(t, t->store->offset, values);
    return store->value && store->offset;
}

/* What follows only where 0 <= sum. */
static int emit_if(struct cpu_emitter *e, const struct cpu_sum *sum)
{
    bt_graph *g = e->loops->graph;
    bt_stmt *test = bt_stmt_add(e->loops, e->to, BT_STMT_IF);
    if (!test)
        return 0;
    test->condition =
        bt_node_scalar(g, BT_SCALAR_LE, bt_node_int(g, 0), cpu_sum_node(e->loops, sum));
    e->to = &test->body;
    return test->condition != NULL;
}

static int emit_epilogue(const struct nest *of)
{
    struct nest t = *of;
    const struct cpu_plan *p = t.plan;
    const bt_node *values[CPU_DIMS];
    struct cpu_sum m = { 0 }, offset = { 0 }, column = { 0 };
    memcpy(values, t.values, sizeof(values));
    const bt_node *row = cpu_emit_loop(&t.e, t.blocks.rows, 0);
    if (!row)
        return 0;
    cpu_sum_add(&m, t.m, t.blocks.rows);
    cpu_sum_add(&m, row, 1);
    cpu_sum_add(&offset, row, t.c_row);
    if (p->m >= 0)
        values[p->m] = cpu_sum_node(t.e.loops, &m);
    if (t.blocks.nrow % t.blocks.rows) {
        struct cpu_sum left = { .constant = t.blocks.nrow - 1 };
        cpu_sum_add(&left, t.m, -t.blocks.rows);
        cpu_sum_add(&left, row, -1);
        if (!emit_if(&t.e, &left))
            return 0;
    }
    if (p->n0 >= 0) {
        struct cpu_sum y = { 0 };
        const bt_node *line = cpu_emit_loop(&t.e, t.columns, 0);
        if (!line)
            return 0;
        cpu_sum_add(&y, t.n, t.blocks.columns);
        cpu_sum_add(&y, line, 1);
        values[p->n0] = cpu_sum_node(t.e.loops, &y);
        cpu_sum_add(&offset, line, line_stride(p));
    }
    const bt_node *x =
        cpu_emit_loop(&t.e, p->n0 < 0 ? t.columns : p->view.dims[p->n].extent, 0);
    if (!x)
        return 0;
    if (p->n0 < 0)
        cpu_sum_add(&column, t.n, t.blocks.columns);
    cpu_sum_add(&column, x, 1);
    cpu_sum_add(&offset, x, 1);
    values[p->n] = cpu_sum_node(t.e.loops, &column);
    return emit_store(&t, values, cpu_sum_node(t.e.loops, &offset));
}

/* ---- the nest ---- */

static int emit_block(struct nest *t)
{
    return emit_columns(t) && (t->is_direct || emit_epilogue(t));
}

/* A last block of columns that is not like the others is written on its own. */
static int emit_blocks(struct nest *t)
{
    const struct blocks *b = &t->blocks;
    int64_t last = b->ncolumn - (b->nn - 1) * b->columns;
    struct nest inner = *t;
    inner.columns = b->columns;
    if (last == b->columns || b->nn == 1) {
        inner.columns = last;
        return emit_block(&inner);
    }
    struct cpu_sum before_last = { .constant = b->nn - 2 };
    cpu_sum_add(&before_last, t->n, -1);
    bt_stmts *block = t->e.to;
    if (!emit_if(&inner.e, &before_last) || !emit_block(&inner))
        return 0;
    inner.e.to = &block->at[block->len - 1]->otherwise;
    inner.columns = last;
    return emit_block(&inner);
}

static int open_dim(struct nest *t, uint32_t d, int is_parallel)
{
    const bt_node *index =
        cpu_emit_loop(&t->e, t->plan->view.dims[d].extent, is_parallel);
    t->values[d] = index;
    cpu_sum_add(&t->a_at, index, t->plan->as[d]);
    cpu_sum_add(&t->b_at, index, t->plan->bs[d]);
    return index != NULL;
}

static int open_rows(struct nest *t, int is_parallel)
{
    t->m = cpu_emit_loop(&t->e, t->blocks.nm, is_parallel);
    if (t->m && t->plan->m >= 0)
        cpu_sum_add(&t->a_at, t->m, t->blocks.rows * t->plan->as[t->plan->m]);
    return t->m != NULL;
}

static int open_columns(struct nest *t, int is_parallel)
{
    const struct cpu_plan *p = t->plan;
    t->n = cpu_emit_loop(&t->e, t->blocks.nn, is_parallel);
    if (t->n)
        cpu_sum_add(&t->b_at, t->n,
                    t->blocks.columns * p->bs[p->n0 < 0 ? p->n : (uint32_t)p->n0]);
    return t->n != NULL;
}

/* The parallel loop first, then all others. */
static int emit_nest(struct nest *t)
{
    const struct cpu_plan *p = t->plan;
    const struct blocks *b = &t->blocks;
    int by_n = !b->by_m && b->parallel < 0;
    if ((b->by_m && !open_rows(t, 1)) || (by_n && !open_columns(t, 1)) ||
        (!b->by_m && !by_n && !open_dim(t, (uint32_t)b->parallel, 1)))
        return 0;
    for (uint32_t d = p->view.ndim; d-- > 0;) {
        if (p->view.dims[d].is_k || d == p->n || (int32_t)d == p->n0 ||
            (int32_t)d == p->m || (p->merged >> d & 1) || t->values[d])
            continue;
        if (!open_dim(t, d, 0))
            return 0;
    }
    return (by_n || open_columns(t, 0)) && (b->by_m || open_rows(t, 0)) && emit_blocks(t);
}

/* ---- all of it ---- */

static int add_buffer(bt_loops *loops, uint32_t role, bt_dtype dtype, int64_t nelem,
                      uint32_t *out)
{
    bt_text name;
    bt_text_init(&name, loops->arena);
    bt_text_addf(&name, "t%u", loops->graph->narray);
    return bt_text_get(&name) &&
           bt_loops_add_buffer(loops, role, bt_text_get(&name), dtype,
                               bt_node_int(loops->graph, nelem), out);
}

/* The array of sums becomes a block of them. */
static int shrink_sums(bt_loops *loops, uint32_t sums, int64_t nelem)
{
    const bt_node **extent = BT_NEWS(loops->arena, const bt_node *, 1);
    if (!extent || !(extent[0] = bt_node_int(loops->graph, nelem)))
        return 0;
    loops->graph->arrays[sums].extents = extent;
    loops->roles.at[sums] = BT_BUFFER_LOCAL;
    return 1;
}

/* Whether sums may go straight to where `store` has them. */
static uint32_t is_plain(const struct cpu_plan *p, const bt_stmt *store, uint32_t sums)
{
    return (p->n0 < 0 || p->is_line) && p->view.dims[p->n].c == 1 &&
           store->value->kind == BT_NODE_READ && store->value->which == sums &&
           store->value->args[0] == store->offset;
}

int cpu_emit_contraction(bt_loops *loops, const struct cpu_plan *p,
                         const struct cpu_config *config, uint32_t sums,
                         const bt_stmt *store, bt_stmts *out)
{
    struct nest t = { .e = { loops, out, FIRST_INDEX }, .plan = p, .sums = sums };
    t.blocks = choose_blocks(p, config);
    t.a = p->a->array;
    t.b = p->b->array;
    t.c = sums;
    t.store = store;
    t.a_at.constant = p->a_at;
    t.b_at.constant = p->b_at;
    if (p->b_kind != CPU_B_DIRECT) {
        if (!add_buffer(loops, BT_BUFFER_TEMP, p->b->dtype, p->nelem, &t.b) ||
            !cpu_emit_packing(&t.e, p, t.b))
            return 0;
    }
    if (p->a_nelem) {
        if (!add_buffer(loops, BT_BUFFER_TEMP, p->a->dtype, p->a_nelem, &t.a) ||
            !cpu_emit_margins(&t.e, p, t.a))
            return 0;
    }
    t.is_direct = is_plain(p, store, sums);
    if (t.is_direct) {
        t.c = store->buffer;
        int32_t row = p->is_line ? p->n0 : p->m;
        t.c_row = row < 0 ? 0 : p->view.dims[row].c;
        t.e.to = out;
        return (t.c == sums || shrink_sums(loops, sums, 1)) && emit_nest(&t);
    }
    // the last block may be the longest
    int64_t last = t.blocks.ncolumn - (t.blocks.nn - 1) * t.blocks.columns;
    t.columns = at_least(last, t.blocks.nn > 1 ? t.blocks.columns : 0);
    int64_t nelem = t.blocks.rows * span_of(&t);
    t.c_row = p->is_line && p->n0 >= 0 ? line_stride(p) : span_of(&t);
    if (store->buffer != sums)
        return shrink_sums(loops, sums, nelem) && emit_nest(&t);
    return add_buffer(loops, BT_BUFFER_LOCAL, p->tile->c, nelem, &t.c) && emit_nest(&t);
}
