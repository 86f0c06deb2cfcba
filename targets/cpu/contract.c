/*
 * From stages that are contractions to loops around tiles. The graph is lowered with the
 * sum read from an array of its own; the nest of what surrounds the sum, an epilogue, is
 * then done block by block behind the tiles.
 */
#include "contract.h"

#include <string.h>

struct stage {
    struct cpu_plan plan;
    uint32_t array, sums;  /* the stage; the array that stands for its sums */
    uint32_t converted[2]; /* arrays of converted factors; 0: none */
};
typedef bt_vec(struct stage *) stages;

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

/* A place in the nest: the values of dims so far, and where they put the operands. */
struct nest {
    struct cpu_emitter e;
    const struct stage *stage;
    const struct cpu_plan *plan;
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
    return cpu_emit_call(&e, p->is_line ? p->tile->line_name : p->tile->name,
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
    if (node->kind != BT_NODE_READ || node->which != c->nest->stage->sums)
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

/* ---- the program around ---- */

static int reads_local(const bt_loops *loops, const bt_node *node)
{
    if (!node->reads)
        return 0;
    if (node->kind == BT_NODE_READ && loops->roles.at[node->which] == BT_BUFFER_LOCAL)
        return 1;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (reads_local(loops, node->args[i]))
            return 1;
    }
    return 0;
}

/* The only store of a nest of loops that have nothing else in them, nor locals; NULL: it
 * is not so simple. */
static const bt_stmt *only_store(const bt_loops *loops, const bt_stmt *stmt)
{
    while (stmt->kind == BT_STMT_FOR && stmt->body.len == 1)
        stmt = stmt->body.at[0];
    return stmt->kind == BT_STMT_STORE && !reads_local(loops, stmt->value) ? stmt : NULL;
}

/* Sums as they are, to the array of them: for what stays a nest of its own. */
static const bt_stmt *plain_store(bt_loops *loops, const struct stage *stage)
{
    const struct cpu_contraction *c = &stage->plan.view;
    bt_stmts made = { .len = 0 };
    bt_stmt *store = bt_stmt_add(loops, &made, BT_STMT_STORE);
    struct cpu_sum offset = { 0 };
    if (!store)
        return NULL;
    for (uint32_t d = 0; d < c->ndim; d++) {
        const struct cpu_dim *dim = &c->dims[d];
        if (dim->is_k || dim->scale > 1)
            continue;
        // groups of a dim are multiples of it, at a stride that is one too
        int64_t extent = dim->extent;
        for (uint32_t i = 0; i < c->ndim; i++) {
            if (i != d && !c->dims[i].is_k && c->dims[i].index == dim->index)
                extent *= c->dims[i].extent;
        }
        cpu_sum_add(&offset, bt_node_index(loops->graph, dim->index, extent), dim->c);
    }
    store->buffer = stage->sums;
    store->offset = cpu_sum_node(loops, &offset);
    store->value = bt_loops_read(loops, stage->sums, store->offset);
    return store->offset && store->value ? store : NULL;
}

static int stores_to(const bt_stmt *stmt, uint32_t buffer)
{
    if (stmt->kind == BT_STMT_STORE && stmt->buffer == buffer)
        return 1;
    for (uint32_t i = 0; i < stmt->body.len; i++) {
        if (stores_to(stmt->body.at[i], buffer))
            return 1;
    }
    for (uint32_t i = 0; i < stmt->otherwise.len; i++) {
        if (stores_to(stmt->otherwise.at[i], buffer))
            return 1;
    }
    return 0;
}

static uint32_t find_nest(const bt_loops *loops, uint32_t buffer)
{
    uint32_t i = 0;
    while (i < loops->body.len && !stores_to(loops->body.at[i], buffer))
        i++;
    return i;
}

/* Removes the nest that stores to a buffer, and adds it to others. */
static int take_nest(bt_loops *loops, uint32_t buffer, bt_stmts *to)
{
    uint32_t at = find_nest(loops, buffer);
    return (!to || BT_PUSH(loops->arena, to, loops->body.at[at])) &&
           bt_stmts_replace(loops, &loops->body, at, &(bt_stmts){ .len = 0 });
}

static int add_buffer(bt_loops *loops, uint32_t role, bt_dtype dtype, int64_t nelem,
                      uint32_t *out)
{
    bt_text name;
    bt_text_init(&name, loops->arena);
    bt_text_addf(&name, "t%u", loops->graph->narray);
    return bt_text_get(&name) &&
           bt_loops_add_buffer(loops, role, bt_text_get(&name), dtype, nelem, out);
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

/* Nests of a stage: packing, tiles with the epilogue. */
static int emit_stage(bt_loops *loops, const struct stage *stage,
                      const struct cpu_config *config, const bt_stmt *store,
                      bt_stmts *out)
{
    const struct cpu_plan *p = &stage->plan;
    struct nest t = { .e = { loops, out, 40 }, .stage = stage, .plan = p };
    t.blocks = choose_blocks(p, config);
    t.a = p->a->array;
    t.b = p->b->array;
    t.c = stage->sums;
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
    t.is_direct = is_plain(p, store, stage->sums);
    if (t.is_direct) {
        t.c = store->buffer;
        int32_t row = p->is_line ? p->n0 : p->m;
        t.c_row = row < 0 ? 0 : p->view.dims[row].c;
        t.e.to = out;
        return (t.c == stage->sums || shrink_sums(loops, stage->sums, 1)) &&
               emit_nest(&t);
    }
    // the last block may be the longest
    int64_t last = t.blocks.ncolumn - (t.blocks.nn - 1) * t.blocks.columns;
    t.columns = at_least(last, t.blocks.nn > 1 ? t.blocks.columns : 0);
    int64_t nelem = t.blocks.rows * span_of(&t);
    t.c_row = p->is_line && p->n0 >= 0 ? line_stride(p) : span_of(&t);
    if (store->buffer != stage->sums)
        return shrink_sums(loops, stage->sums, nelem) && emit_nest(&t);
    return add_buffer(loops, BT_BUFFER_LOCAL, p->tile->c, nelem, &t.c) && emit_nest(&t);
}

static bt_status replace_nest(bt_loops *loops, const struct stage *stage,
                              const struct cpu_config *config)
{
    bt_stmts made = { .len = 0 };
    for (uint32_t i = 0; i < 2; i++) {
        if (stage->converted[i] && !take_nest(loops, stage->converted[i], &made))
            return bt_loops_why(loops);
    }
    if (!take_nest(loops, stage->sums, NULL))
        return bt_loops_why(loops);
    uint32_t at = find_nest(loops, stage->array);
    const bt_stmt *store = only_store(loops, loops->body.at[at]);
    bt_stmt *rest = store ? NULL : loops->body.at[at];
    if (!store)
        store = plain_store(loops, stage);
    if (!store || !emit_stage(loops, stage, config, store, &made) ||
        (rest && !BT_PUSH(loops->arena, &made, rest)) ||
        !bt_stmts_replace(loops, &loops->body, at, &made))
        return bt_loops_why(loops);
    return NULL;
}

/* ---- the graph ---- */

struct reading {
    bt_graph *graph;
    const bt_node *from, *to;
    bt_map done;
};

/* The body with the sum replaced by what stands for it. */
static const bt_node *replace_sum(struct reading *r, const bt_node *node)
{
    if (node == r->from)
        return r->to;
    if (!node->reduces)
        return node;
    const bt_node *known = bt_map_find(&r->done, node);
    if (known)
        return known;
    const bt_node **args = BT_NEWS(r->graph->arena, const bt_node *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++) {
        args[i] = replace_sum(r, node->args[i]);
        if (!args[i])
            return NULL;
    }
    known = args ? bt_node_again(r->graph, node, node->first, args) : NULL;
    return known && bt_map_put(&r->done, node, (void *)(uintptr_t)known) ? known : NULL;
}

static bt_status why(const bt_graph *g)
{
    return g->status ? g->status : bt_no_memory();
}

/* A factor whose elements are converted gets an array of its own. */
static bt_status convert_factor(bt_graph *g, struct stage *stage, uint32_t i)
{
    struct cpu_operand *o = &stage->plan.view.operands[i];
    bt_array array = g->arrays[o->array];
    const bt_node *indices[CPU_AXES];
    if (array.dtype == o->dtype)
        return NULL;
    for (uint32_t a = 0; a < array.rank; a++)
        indices[a] = bt_node_index(g, a, array.extents[a]->value.i);
    array.body = bt_node_cast(
        g, o->dtype, bt_node_read(g, o->array, array.dtype, array.rank, indices));
    array.dtype = o->dtype;
    if (!array.body || !bt_graph_add_array(g, &array, &stage->converted[i]))
        return why(g);
    o->array = stage->converted[i];
    return NULL;
}

/* The sums get an array of their own, whose body only stands for them. */
static bt_status split_stage(bt_graph *g, struct stage *stage)
{
    for (uint32_t i = 0; i < 2; i++)
        BT_TRY(convert_factor(g, stage, i));
    bt_array array = g->arrays[stage->array];
    const bt_node **indices = BT_NEWS(g->arena, const bt_node *, array.rank);
    if (!indices)
        return bt_no_memory();
    for (uint32_t i = 0; i < array.rank; i++)
        indices[i] = bt_node_index(g, i, array.extents[i]->value.i);
    array.dtype = stage->plan.view.dtype;
    array.body = bt_node_cast(g, array.dtype, bt_node_int(g, 0));
    if (!array.body || !bt_graph_add_array(g, &array, &stage->sums))
        return why(g);
    struct reading r = { .graph = g, .from = stage->plan.view.reduce };
    bt_map_init(&r.done, g->arena, 0);
    r.to = bt_node_cast(g, r.from->dtype,
                        bt_node_read(g, stage->sums, array.dtype, array.rank, indices));
    const bt_node *body = r.to ? replace_sum(&r, g->arrays[stage->array].body) : NULL;
    if (!body)
        return why(g);
    g->arrays[stage->array].body = body;
    return NULL;
}

bt_status cpu_contract(bt_ctx *ctx, bt_arena *arena, const struct cpu_config *config,
                       const char *name, bt_graph *g, const bt_lower_options *options,
                       bt_loops **out)
{
    const bt_lower_options none = { .is_narrow = NULL };
    stages all = { .len = 0 };
    uint32_t narray = g->narray;
    for (uint32_t i = g->ninput; i < narray; i++) {
        struct stage *stage = BT_NEW(arena, struct stage);
        if (!stage)
            return bt_no_memory();
        stage->array = i;
        BT_TRY(cpu_contract_plan(g, &g->arrays[i], config, &stage->plan));
        if (!stage->plan.tile)
            continue;
        if (!BT_PUSH(arena, &all, stage))
            return bt_no_memory();
        BT_TRY(split_stage(g, stage));
    }
    BT_TRY(bt_loops_lower_with(ctx, arena, name, g, options ? options : &none, out));
    for (uint32_t i = 0; i < all.len; i++)
        BT_TRY(replace_nest(*out, all.at[i], config));
    return NULL;
}
