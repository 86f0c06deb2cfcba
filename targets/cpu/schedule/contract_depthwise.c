/*
 * Depthwise convolutions of few taps (primitives/depthwise.h): channels that are no sum of others,
 * read where they lie, several in one call:
 *
 *     depthwise(&y[c], &x[c], &w[c], &b[c])           for blocks of channels, complete
 *
 * with bias and bounds, if nothing else is made of the sums; else of one channel
 *
 *     depthwise(&s, &x[c], &w[c])                     for a block of rows
 *     y[...] = s[...] * sigmoid(s[...])               while s is near
 *
 * Others are lines of tiles (contract_nest.c), which with a step of 2 take even places first. So
 * which they are is known by taps and steps, whatever is known of the sizes.
 */
#include "contract_layout.h"

#include <string.h>

#include <baton/scalar.h>

#include "primitives/depthwise.h"
#include "vectorise.h"

/* ---- which stages ---- */

/* An axis of the data that windows go along. */
struct window {
    int32_t out, tap;
    int64_t step;
};

/* 0: it is none, or is read in other ways. */
static int look_at_window(const struct cpu_tiling *p, uint32_t axis, struct window *w)
{
    *w = (struct window){ -1, -1, 0 };
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const int64_t coef = p->b->coefs[axis][d];
        int32_t *place = p->view.dims[d].is_k ? &w->tap : &w->out;
        if (!coef)
            continue;
        if (*place >= 0)
            return 0;
        *place = (int32_t)d;
        if (place == &w->out)
            w->step = coef;
        else if (coef != 1)
            return 0;
    }
    return w->out >= 0 && w->tap >= 0 && (w->step == 1 || w->step == 2);
}

/* Whether only this axis of the data moves with the dim. */
static int is_only_on(const struct cpu_operand *o, uint32_t axis, uint32_t d)
{
    for (uint32_t a = 0; a < o->rank; a++) {
        if (o->coefs[a][d] && a != axis)
            return 0;
    }
    return 1;
}

static int is_in_weights(const struct cpu_tiling *p, uint32_t d)
{
    return !is_only_on(p->a, p->a->rank, d);
}

static int is_guarded(const struct cpu_operand *o, uint32_t end)
{
    for (uint32_t a = 0; a < end; a++) {
        if (o->guards[a])
            return 1;
    }
    return 0;
}

/* Of floats a line; of integers what would be one, were there lines of them. */
static int may_be_depthwise(const struct cpu_tiling *p)
{
    const bt_dtype a = p->a->dtype, b = p->b->dtype, c = p->tile->c;
    return c == BT_INT32 ? p->m < 0 && a == BT_INT16 && b == BT_INT16
                         : p->is_line && a == c && b == c;
}

void cpu_contract_depthwise(const bt_graph *g, struct cpu_tiling *p,
                            struct cpu_depthwise *out)
{
    const struct cpu_operand *o = p->b;
    const uint32_t x_axis = o->rank - 1, y_axis = o->rank - 2;
    struct window x, y;
    *out = (struct cpu_depthwise){ .by = NULL };
    if (!may_be_depthwise(p) || p->b_kind == CPU_B_PANELS || o->rank < 2 ||
        is_guarded(p->a, p->a->rank) || is_guarded(o, y_axis) ||
        !look_at_window(p, x_axis, &x) || !look_at_window(p, y_axis, &y) ||
        x.out != (int32_t)p->n || x.step != y.step || is_in_weights(p, (uint32_t)y.out))
        return;
    out->ntap = bt_node_number(p->view.dims[x.tap].extent);
    if ((out->ntap != 3 && out->ntap != 5) ||
        bt_node_number(p->view.dims[y.tap].extent) != out->ntap)
        return;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const int is_x = (int32_t)d == x.out || (int32_t)d == x.tap;
        const int is_y = (int32_t)d == y.out || (int32_t)d == y.tap;
        if ((is_x && !is_only_on(o, x_axis, d)) || (is_y && !is_only_on(o, y_axis, d)) ||
            (p->view.dims[d].is_k && !is_x && !is_y &&
             !cpu_is_size(p->view.dims[d].extent, 1)))
            return;
    }
    out->y = (uint32_t)y.out;
    out->tap_y = (uint32_t)y.tap;
    out->tap_x = (uint32_t)x.tap;
    out->step = x.step;
    out->by = cpu_depthwise_find(p->tile->isa, o->dtype, p->tile->c);
    struct cpu_operand codes = *o;
    if (out->by && p->tile->c == BT_INT32 && cpu_read_codes(g, &codes)) {
        out->by = cpu_depthwise_find(p->tile->isa, codes.dtype, p->tile->c);
        p->view.operands[o - p->view.operands] = codes;
    }
}

/* ---- what is made of the sums ---- */

/* min(max(sum + bias, low), high), each step of which there may be. */
struct finish {
    int64_t flags, low, high;
    uint32_t bias; /* a buffer */
    const bt_node *bias_at, *biases[CPU_DIMS];
};

/* The bits of a bound; 0: it is no number that is known, or NaN. */
static int look_at_bound(const bt_node *bound, int64_t flag, struct finish *f,
                         int64_t *bits)
{
    if (!bound)
        return 1;
    if (bound->kind != BT_NODE_CONST || bound->value.f != bound->value.f)
        return 0;
    f->flags |= flag;
    bt_cell_store(bits, bound->dtype, bound->value);
    return 1;
}

/* The bias by dims: neither rows nor columns. */
static int look_at_bias(bt_graph *g, const struct cpu_tiling *p,
                        const struct cpu_depthwise *by, const bt_node *read,
                        struct finish *f)
{
    bt_linear form;
    if (read->kind != BT_NODE_READ || read->narg != 1 || read->dtype != p->tile->c)
        return 0;
    bt_node_as_linear(read->args[0], &form);
    for (uint32_t i = 0; i < form.n; i++) {
        if (form.atoms[i]->kind != BT_NODE_INDEX)
            return 0;
    }
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        const int64_t coef = dim->is_k ? 0 : bt_linear_coef(&form, dim->index);
        if (coef && (d == p->n || d == by->y))
            return 0;
        f->biases[d] = bt_node_int(g, coef * dim->scale);
    }
    f->flags |= CPU_DEPTHWISE_ADD_BIAS;
    f->bias = read->which;
    f->bias_at = bt_node_int(g, form.constant);
    return 1;
}

/* 0: what is stored is something else. */
static int look_at_epilogue(bt_graph *g, const struct cpu_tiling *p,
                            const struct cpu_depthwise *by,
                            const struct cpu_epilogue *epilogue, struct finish *f)
{
    const bt_stmt *store = epilogue->store;
    const bt_node *sum = cpu_find_sum(store->value, epilogue->sums);
    struct cpu_chain chain;
    *f = (struct finish){ .flags = 0 };
    return cpu_is_size(p->view.dims[p->n].c, 1) && sum && sum->args[0] == store->offset &&
           cpu_take_apart(store->value, sum, &chain) && !chain.residual &&
           look_at_bound(chain.high, CPU_DEPTHWISE_AT_MOST, f, &f->high) &&
           look_at_bound(chain.low, CPU_DEPTHWISE_AT_LEAST, f, &f->low) &&
           (!chain.bias || look_at_bias(g, p, by, chain.bias, f));
}

/* ---- blocks ---- */

struct nest {
    struct cpu_emitter e;
    const struct cpu_tiling *tiling;
    const struct cpu_depthwise *by;
    const struct cpu_epilogue *epilogue;
    struct finish finish;
    struct cpu_codes codes; /* that the call makes of the sums, of a plane by factors; */
    const struct cpu_callee *makes_codes; /* NULL: it does not */
    uint32_t factor;
    int is_direct;                   /* sums go to their place, else to a block */
    int32_t plane;                   /* a dim of which a call does several; -1: none */
    int64_t planes, rows, columns;   /* of a block; 0: all */
    const bt_node *values[CPU_DIMS]; /* of loops around */
    uint32_t s;                      /* buffer of the sums */
    const bt_node *as[CPU_DIMS], *bs[CPU_DIMS], *a_at, *b_at; /* where operands lie */
};

static bt_graph *graph_of(const struct nest *t)
{
    return t->e.loops->graph;
}

static const bt_node *int_of(const struct nest *t, int64_t value)
{
    return bt_node_int(graph_of(t), value);
}

static const bt_node *extent_of(const struct nest *t, uint32_t d)
{
    return t->tiling->view.dims[d].extent;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Whether it is a dim besides rows and columns: channels, images of a batch. */
static int is_around(const struct nest *t, uint32_t d)
{
    return !t->tiling->view.dims[d].is_k && d != t->tiling->n && d != t->by->y;
}

/* The longest dim of these. */
static void choose_plane(struct nest *t)
{
    t->plane = -1;
    for (uint32_t d = 0; d < t->tiling->view.ndim; d++) {
        if (is_around(t, d) &&
            (t->plane < 0 || cpu_iterations(extent_of(t, d)) >
                                 cpu_iterations(extent_of(t, (uint32_t)t->plane))))
            t->plane = (int32_t)d;
    }
}

/* Of a call: planes so few that threads are equally busy, and rows, if planes are too few; of a
 * block of sums, what stays in the nearest cache. */
static void choose_sizes(struct nest *t, uint32_t nthread)
{
    enum { CALLS = 8, MAX_PLANES = 16, SUMS_NBYTES = 24 * 1024, COLUMNS = 512 };
    const int64_t width = bt_node_number(extent_of(t, t->tiling->n));
    const int64_t height = bt_node_number(extent_of(t, t->by->y));
    const int64_t nrow = cpu_iterations(extent_of(t, t->by->y));
    const int64_t nplane =
        t->plane < 0 ? 1 : cpu_iterations(extent_of(t, (uint32_t)t->plane));
    t->planes = 1;
    if (t->is_direct) {
        t->planes = most(1, least(MAX_PLANES, nplane / (CALLS * (int64_t)nthread)));
    } else {
        t->columns = width >= 0 && width <= COLUMNS ? most(width, 1) : COLUMNS;
        t->rows =
            SUMS_NBYTES / (int64_t)(BT_DTYPE_BITS(t->tiling->tile->c) / 8) / t->columns;
        t->rows = height >= 0 ? least(t->rows, most(height, 1)) : t->rows;
    }
    if (nthread > 1 && nplane < 2 * (int64_t)nthread) {
        const int64_t rows = most(1, nrow * nplane / (2 * (int64_t)nthread));
        t->rows = t->rows ? least(t->rows, rows) : rows;
    }
}

/* ---- codes ---- */

/* What is added to the sum, where nothing else is made of it; NULL: that is so, and *ok 0. */
static const bt_node *added_to_sum(const struct nest *t, const bt_node *node, int *ok)
{
    const uint32_t sums = t->epilogue->sums;
    node = cpu_unrounded(node);
    *ok = 1;
    if (node->kind == BT_NODE_READ && node->which == sums)
        return bt_node_cast(graph_of(t), BT_INT32, int_of(t, 0));
    for (uint32_t i = 0;
         node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_ADD && i < 2; i++) {
        const bt_node *sum = cpu_unrounded(node->args[i]);
        if (sum->kind == BT_NODE_READ && sum->which == sums)
            return node->args[1 - i];
    }
    *ok = 0;
    return NULL;
}

/* Whether a node is another one for each plane at most. */
static int is_of_plane(const struct nest *t, const bt_node *node)
{
    const struct cpu_dim *dim = &t->tiling->view.dims[t->plane];
    return !(node->free & ~bt_index_bit(dim->index)) &&
           !cpu_find_sum(node, t->epilogue->sums);
}

static uint32_t float_bits(double number)
{
    uint32_t bits = 0;
    bt_cell_store(&bits, BT_FLOAT32, (bt_cell){ .f = number });
    return bits;
}

/* Codes of 8 bits, if they are what is made of the sums. 0: failure. */
static int look_at_codes(struct nest *t)
{
    const struct cpu_tiling *p = t->tiling;
    const bt_stmt *store = t->epilogue->store;
    const bt_node *sum = cpu_find_sum(store->value, t->epilogue->sums), *bias;
    const struct cpu_callee *row =
        p->tile->c == BT_INT32 ? cpu_depthwise_find(p->tile->isa, p->b->dtype, BT_UINT8)
                               : NULL;
    struct finish *f = &t->finish;
    int is_sum;
    if (!row || t->plane < 0 || !sum || sum->args[0] != store->offset ||
        !cpu_is_size(p->view.dims[p->n].c, 1) ||
        !cpu_has_own_index(p, (uint32_t)t->plane) ||
        !cpu_match_codes(NULL, store->value, &t->codes) ||
        !is_of_plane(t, t->codes.factor))
        return 1;
    bias = added_to_sum(t, t->codes.sum, &is_sum);
    if (!is_sum || !bias || !is_of_plane(t, bias))
        return !is_sum || bias;
    *f = (struct finish){ .flags = CPU_DEPTHWISE_ADD_BIAS,
                          .low = float_bits(t->codes.low),
                          .high = float_bits(t->codes.high),
                          .bias_at = int_of(t, 0) };
    for (uint32_t d = 0; d < p->view.ndim; d++)
        f->biases[d] = int_of(t, (int32_t)d == t->plane);
    t->makes_codes = row;
    const struct cpu_dim *plane = &p->view.dims[t->plane];
    return cpu_emit_by_dim(&t->e, plane, 0, bias, &f->bias) &&
           cpu_emit_by_dim(&t->e, plane, 0, t->codes.factor, &t->factor);
}

/* ---- the nest ---- */

/* A loop over blocks of a dim, which may be one: *at is where the block begins, *size how much it
 * has. 0: failure. */
static int open_blocks(struct nest *t, uint32_t d, int64_t of_block, int is_parallel,
                       const bt_node **at, const bt_node **size)
{
    bt_graph *g = graph_of(t);
    *at = int_of(t, 0);
    *size = extent_of(t, d);
    if (!of_block)
        return 1;
    const bt_node *count = cpu_ceildiv(g, *size, of_block);
    const bt_node *block = count ? cpu_emit_loop(&t->e, count, is_parallel) : NULL;
    if (!block)
        return 0;
    *at = cpu_scaled(g, block, of_block);
    *size = cpu_least(g, int_of(t, of_block), cpu_minus(g, *size, *at));
    return *at && *size;
}

struct block {
    const bt_node *rows, *columns, *planes; /* how many */
    const bt_node *c_plane, *c_row;         /* strides of the sums */
};

static int emit_call(const struct nest *t, const struct block *b)
{
    const struct cpu_tiling *p = t->tiling;
    const struct cpu_operand *o = p->b;
    const struct cpu_depthwise *by = t->by;
    const struct finish *f = &t->finish;
    const bt_node *zero = int_of(t, 0), *y = zero, *a = t->a_at, *x = t->b_at;
    const bt_node *bias = f->bias_at;
    const uint32_t plane = (uint32_t)t->plane;
    const int has_planes = t->plane >= 0;
    bt_graph *g = graph_of(t);
    struct cpu_emitter e = t->e;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (!t->values[d])
            continue;
        if (t->is_direct)
            y = cpu_along(g, y, t->values[d], p->view.dims[d].c);
        if (f->flags & CPU_DEPTHWISE_ADD_BIAS)
            bias = cpu_along(g, bias, t->values[d], f->biases[d]);
        if (!is_around(t, d))
            continue;
        a = cpu_along(g, a, t->values[d], t->as[d]);
        x = cpu_along(g, x, t->values[d], t->bs[d]);
    }
    const bt_node *integers[CPU_DEPTHWISE_CODES_NINT] = {
        b->planes,
        b->rows,
        b->columns,
        int_of(t, by->ntap),
        b->c_plane,
        has_planes ? t->bs[plane] : zero,
        has_planes ? t->as[plane] : zero,
        has_planes && f->flags & CPU_DEPTHWISE_ADD_BIAS ? f->biases[plane] : zero,
        b->c_row,
        t->as[by->tap_y],
        t->as[by->tap_x],
        o->extents[o->rank - 2],
        o->extents[o->rank - 1],
        cpu_along_int(g, int_of(t, o->at[o->rank - 2]), t->values[by->y], by->step),
        cpu_along_int(g, int_of(t, o->at[o->rank - 1]), t->values[p->n], by->step),
        int_of(t, by->step),
        int_of(t, f->flags),
        int_of(t, f->low),
        int_of(t, f->high),
        int_of(t, o->zero),
        int_of(t, 1),
        int_of(t, float_bits(t->codes.of_nan)),
        int_of(t, t->codes.zero),
    };
    struct cpu_address addresses[CPU_DEPTHWISE_CODES_NPOINTER] = {
        { t->s, y },
        { o->array, x },
        { p->a->array, a },
        { f->flags & CPU_DEPTHWISE_ADD_BIAS ? f->bias : p->a->array,
          f->flags & CPU_DEPTHWISE_ADD_BIAS ? bias : zero },
        { t->factor, has_planes ? t->values[plane] : zero },
    };
    if (t->makes_codes)
        return cpu_emit_call(&e, t->makes_codes->name, CPU_DEPTHWISE_CODES_NPOINTER,
                             addresses, CPU_DEPTHWISE_CODES_NINT, integers);
    return cpu_emit_call(&e, by->by->name, CPU_DEPTHWISE_NPOINTER, addresses,
                         CPU_DEPTHWISE_NINT, integers);
}

static int emit_epilogue(const struct nest *t, const struct block *b)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = graph_of(t);
    struct cpu_emitter e = t->e;
    const bt_node *values[CPU_DIMS];
    memcpy(values, t->values, sizeof(values));
    const bt_node *row = cpu_emit_loop(&e, b->rows, 0);
    const bt_node *column = row ? cpu_emit_loop(&e, b->columns, 0) : NULL;
    if (!column)
        return 0;
    values[t->by->y] = cpu_plus(g, values[t->by->y], row);
    values[p->n] = cpu_plus(g, values[p->n], column);
    return cpu_emit_sum_store(&e, p, t->epilogue, t->s, values,
                              cpu_along(g, column, row, b->c_row));
}

/* The parallel loop first: over blocks of planes, or of rows where those are more. */
static int emit_nest(struct nest *t, uint32_t nthread)
{
    const struct cpu_tiling *p = t->tiling;
    const uint32_t plane = (uint32_t)t->plane;
    const int by_planes =
        t->plane >= 0 && (!t->rows || cpu_iterations(extent_of(t, plane)) >=
                                          t->planes * 2 * (int64_t)nthread);
    struct block b = { .planes = int_of(t, 1), .c_plane = int_of(t, 0) };
    if (!by_planes &&
        !open_blocks(t, t->by->y, t->rows, 1, &t->values[t->by->y], &b.rows))
        return 0;
    if (t->plane >= 0) {
        b.c_plane = p->view.dims[plane].c;
        if (!open_blocks(t, plane, t->planes, by_planes, &t->values[plane], &b.planes))
            return 0;
    }
    for (uint32_t d = p->view.ndim; d-- > 0;) {
        if (!is_around(t, d) || t->values[d])
            continue;
        t->values[d] = cpu_emit_loop(&t->e, extent_of(t, d), 0);
        if (!t->values[d])
            return 0;
    }
    if ((by_planes &&
         !open_blocks(t, t->by->y, t->rows, 0, &t->values[t->by->y], &b.rows)) ||
        !open_blocks(t, p->n, t->columns, 0, &t->values[p->n], &b.columns))
        return 0;
    b.c_row = t->is_direct ? p->view.dims[t->by->y].c : int_of(t, t->columns);
    return emit_call(t, &b) && (t->is_direct || emit_epilogue(t, &b));
}

int cpu_emit_depthwise(bt_loops *loops, const struct cpu_tiling *p,
                       const struct cpu_depthwise *by, const struct cpu_config *config,
                       const struct cpu_epilogue *epilogue, bt_stmts *out)
{
    struct nest t = { .e = { loops, out, CPU_FIRST_INDEX },
                      .tiling = p,
                      .by = by,
                      .epilogue = epilogue,
                      .s = epilogue->store->buffer };
    const struct cpu_operand *o = p->b;
    bt_graph *g = loops->graph;
    const bt_node *strides[CPU_AXES];
    cpu_lay_direct(g, p, p->a, &t.a_at, t.as);
    cpu_lay_direct(g, p, o, &t.b_at, t.bs);
    // rows and columns outside are the call's to find
    cpu_strides(g, o->rank, o->extents, strides);
    for (uint32_t a = o->rank - 2; a < o->rank; a++)
        t.b_at = cpu_along_int(g, t.b_at, strides[a], -o->at[a]);
    t.is_direct = look_at_epilogue(g, p, by, epilogue, &t.finish);
    if (!t.is_direct)
        t.finish = (struct finish){ .flags = 0 };
    choose_plane(&t);
    if (!t.is_direct && !look_at_codes(&t))
        return 0;
    t.is_direct |= t.makes_codes != NULL;
    choose_sizes(&t, config->nthread);
    return (t.is_direct || cpu_emit_buffer(loops, BT_BUFFER_LOCAL, p->tile->c,
                                           int_of(&t, t.rows * t.columns), &t.s)) &&
           (epilogue->store->buffer == epilogue->sums ||
            cpu_shrink_sums(loops, epilogue->sums, int_of(&t, 1))) &&
           emit_nest(&t, config->nthread);
}
