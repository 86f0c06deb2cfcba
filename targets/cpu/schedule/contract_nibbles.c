/*
 * Products by constant weights of 4 bits (primitives/nibbles.h), few rows of them: the weights stay
 * as they are, which is an eighth of what is read of float32.
 *
 *     y[n] = sum(k: x[k] * (float32(int32(q[n, k]) - z[n, k / 32]) * s[n, k / 32]))
 *
 * becomes, of arrays that are made once, when the program is compiled,
 *
 *     words[p, k, l] = (q[16*p + l, 8*k] & 15) | (q[16*p + l, 8*k + 1] & 15) << 4 | ...
 *     nibbles.float32(&y[n], &x, &words[n / 16], &s[n / 16], &z[n / 16])    for blocks of columns
 *
 * Of more rows weights are float32 in panels, which their tiles need not unpack.
 */
#include "contract.h"

#include <string.h>

#include "primitives/nibbles.h"
#include "vectorise.h"

/* ---- expressions ---- */

/* While one index takes the place of another. */
enum { FRESH = BT_MAX_INDEX - BT_MAX_RANK };

/* What is read of a stage, in its own expression, of which rounding to float32 makes nothing else.
 * NULL: failure. */
static const bt_node *inlined(bt_graph *g, const bt_node *node)
{
    while (node->kind == BT_NODE_CAST && node->dtype == node->args[0]->dtype)
        node = node->args[0];
    const bt_array *array = node->kind == BT_NODE_READ ? g->arrays[node->which] : NULL;
    const bt_node *body = array ? array->body : NULL;
    if (!body)
        return node;
    for (uint32_t a = 0; a < array->rank && body; a++)
        body = bt_node_substitute(g, body, a,
                                  bt_node_index(g, FRESH + a, array->extents[a]));
    for (uint32_t a = 0; a < array->rank && body; a++)
        body = bt_node_substitute(g, body, FRESH + a, node->args[a]);
    return body ? inlined(g, body) : NULL;
}

static const bt_node *behind_casts(const bt_node *node)
{
    while (node->kind == BT_NODE_CAST && !bt_dtype_is_float(node->args[0]->dtype))
        node = node->args[0];
    return node;
}

/* How many terms share a value: those of which the index is divided by so many, or all. 0: it is
 * something else. */
static int64_t block_of(const bt_node *node, uint32_t k, int64_t all)
{
    int64_t by, block = all;
    if (!(node->free & bt_index_bit(k)))
        return all;
    if (node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_FLOORDIV &&
        node->args[0]->kind == BT_NODE_INDEX && bt_node_is_const(node->args[1], &by))
        return by;
    for (uint32_t i = 0; i < node->narg && block; i++) {
        by = block_of(node->args[i], k, all);
        block = by == all || block == by ? block : block == all ? by : 0;
    }
    return node->kind == BT_NODE_INDEX ? 0 : block;
}

/* Whether nothing is read but constants. */
static int is_constant(const bt_graph *g, const struct cpu_config *config,
                       const bt_node *node)
{
    if (!node->reads)
        return 1;
    const bt_array *array = node->kind == BT_NODE_READ ? g->arrays[node->which] : NULL;
    if (array && (array->body ? !is_constant(g, config, array->body)
                              : !config->is_constant[node->which]))
        return 0;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!is_constant(g, config, node->args[i]))
            return 0;
    }
    return 1;
}

/* ---- which sums ---- */

struct weights {
    const bt_node *code, *scale, *zero;
    int64_t bias; /* 8: codes are 0..15 */
    int64_t block;
};

struct looking {
    bt_graph *graph;
    const struct cpu_config *config;
    uint32_t n, k, m; /* indices */
    int64_t count, depth, rows;
};

/* (code - zero) * scale, in any order. 0: it is something else. */
static int look_at_difference(const struct looking *l, const bt_node *difference,
                              struct weights *w)
{
    const bt_node *node = behind_casts(difference);
    const int is_int = !bt_dtype_is_float(node->dtype);
    if (difference->kind == BT_NODE_CAST && !is_int)
        return 0;
    w->zero = bt_node_int(l->graph, 0);
    if (node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_SUB) {
        w->zero = inlined(l->graph, node->args[1]);
        node = node->args[0];
    }
    node = inlined(l->graph, behind_casts(node));
    node = node ? behind_casts(node) : NULL;
    w->code = node;
    if (!node || bt_dtype_is_float(node->dtype) || !(node->free & bt_index_bit(l->k)))
        return 0;
    w->bias = node->low < 0 ? 0 : 8;
    return node->low >= w->bias - 8 && node->high <= w->bias + 7;
}

static int look_at_weights(const struct looking *l, const bt_node *factor,
                           struct weights *w)
{
    const bt_node *node = inlined(l->graph, factor);
    if (!node || node->kind != BT_NODE_SCALAR || node->which != BT_SCALAR_MUL ||
        node->dtype != BT_FLOAT32)
        return 0;
    for (uint32_t i = 0; i < 2; i++) {
        *w = (struct weights){ .scale = inlined(l->graph, node->args[1 - i]) };
        if (!w->scale || !look_at_difference(l, node->args[i], w) || !w->zero)
            continue;
        const int64_t scale = block_of(w->scale, l->k, l->depth);
        const int64_t zero = block_of(w->zero, l->k, l->depth);
        w->block = scale == l->depth ? zero : scale;
        if (scale && zero && (zero == w->block || zero == l->depth))
            return w->block % CPU_NIBBLES_WORD == 0 &&
                   is_constant(l->graph, l->config, node);
    }
    return 0;
}

/* ---- arrays ---- */

/* The node where columns and terms are these. */
static const bt_node *placed(const struct looking *l, const bt_node *node,
                             const bt_node *n, const bt_node *k)
{
    bt_graph *g = l->graph;
    const uint32_t indices[] = { l->n, l->k };
    const bt_node *to[] = { n, k };
    for (uint32_t i = 0; i < 2 && node; i++)
        node = bt_node_substitute(g, node, indices[i],
                                  bt_node_index(g, FRESH + i, bt_node_int(g, INT32_MAX)));
    for (uint32_t i = 0; i < 2 && node; i++)
        node = to[i] ? bt_node_substitute(g, node, FRESH + i, to[i]) : NULL;
    return node;
}

/* An array of 16 columns for each panel, of which the last may have less; `extent` of what is
 * between. `body` in terms of n and k, which are NULL where it is to be 0. */
struct panels {
    bt_array array;
    const bt_node *extents[3], *column, *row; /* place of an element */
};

static int begin_panels(const struct looking *l, struct panels *p, bt_dtype dtype,
                        int64_t extent)
{
    bt_graph *g = l->graph;
    const int64_t width = CPU_NIBBLES_WIDTH, one = 1;
    *p = (struct panels){ .array = { .name = "weights", .dtype = dtype, .rank = 3 } };
    p->extents[0] = bt_node_int(g, bt_ceildiv_int64(l->count, width));
    p->extents[1] = bt_node_int(g, extent);
    p->extents[2] = bt_node_int(g, width);
    p->row = bt_node_index(g, 1, p->extents[1]);
    const bt_node *const places[] = { bt_node_index(g, 0, p->extents[0]),
                                      bt_node_index(g, 2, p->extents[2]) };
    p->column = bt_node_linear(g, 0, 2, places, (int64_t[]){ width, one });
    return p->row && p->column;
}

static int end_panels(const struct looking *l, struct panels *p, const bt_node *body,
                      uint32_t *out)
{
    bt_graph *g = l->graph;
    if (body && l->count % CPU_NIBBLES_WIDTH)
        body = bt_node_select(
            g, bt_node_scalar(g, BT_SCALAR_LT, p->column, bt_node_int(g, l->count)), body,
            bt_node_cast(g, body->dtype, bt_node_int(g, 0)));
    p->array.body = body;
    p->array.extents = BT_NEWS(g->arena, const bt_node *, 3);
    if (!body || !p->array.extents)
        return 0;
    memcpy((void *)(uintptr_t)p->array.extents, p->extents, sizeof(p->extents));
    return bt_graph_add_array(g, &p->array, out);
}

static int add_words(const struct looking *l, const struct weights *w, uint32_t *out)
{
    bt_graph *g = l->graph;
    const bt_node *word = NULL, *code;
    const int64_t each = CPU_NIBBLES_WORD;
    struct panels p;
    if (!begin_panels(l, &p, BT_UINT32, l->depth / CPU_NIBBLES_WORD))
        return 0;
    for (int64_t j = 0; j < each; j++) {
        code = placed(l, w->code, p.column, bt_node_linear(g, j, 1, &p.row, &each));
        code = code ? bt_node_cast(g, BT_UINT32, code) : NULL;
        // codes from 0 on are 8 less, as their highest bit is a sign
        if (code && w->bias)
            code = bt_node_scalar(g, BT_SCALAR_BIT_XOR, code,
                                  bt_node_cast(g, BT_UINT32, bt_node_int(g, w->bias)));
        else if (code)
            code = bt_node_scalar(g, BT_SCALAR_BIT_AND, code,
                                  bt_node_cast(g, BT_UINT32, bt_node_int(g, 15)));
        code = code ? bt_node_scalar(g, BT_SCALAR_SHIFT_LEFT, code,
                                     bt_node_cast(g, BT_UINT32, bt_node_int(g, 4 * j)))
                    : NULL;
        word = j && word && code ? bt_node_scalar(g, BT_SCALAR_BIT_OR, word, code) : code;
    }
    return end_panels(l, &p, word, out);
}

/* A value for each block: a scale, or a zero point, of which the bias is taken. */
static int add_blocks(const struct looking *l, const bt_node *node, int64_t block,
                      int64_t bias, uint32_t *out)
{
    bt_graph *g = l->graph;
    struct panels p;
    if (!begin_panels(l, &p, BT_FLOAT32, bt_ceildiv_int64(l->depth, block)))
        return 0;
    node = placed(l, node, p.column, bt_node_linear(g, 0, 1, &p.row, &block));
    node = node ? bt_node_cast(g, BT_FLOAT32, node) : NULL;
    if (node && bias)
        node = bt_node_scalar(g, BT_SCALAR_SUB, node,
                              bt_node_float(g, BT_FLOAT32, (double)bias));
    return end_panels(l, &p, node, out);
}

/* X as the primitive takes it. */
static int add_rows(const struct looking *l, const bt_node *x, uint32_t *out)
{
    bt_graph *g = l->graph;
    bt_array array = { .name = "factor", .dtype = BT_FLOAT32, .rank = 2 };
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, 2), *at[2];
    if (!extents)
        return 0;
    extents[0] = bt_node_int(g, l->rows);
    extents[1] = bt_node_int(g, l->depth);
    at[0] = bt_node_index(g, 0, extents[0]);
    at[1] = bt_node_index(g, 1, extents[1]);
    struct looking rows = *l;
    rows.n = l->m;
    x = placed(&rows, x, at[0], at[1]);
    array.extents = extents;
    array.body = x ? bt_node_scalar(g, BT_SCALAR_MUL, x,
                                    bt_node_float(g, BT_FLOAT32, 1 / CPU_NIBBLES_MORE))
                   : NULL;
    return array.body && bt_graph_add_array(g, &array, out);
}

/* ---- all of a stage ---- */

/* Columns, terms and few rows: numbers all of them. */
static int look_at_dims(const struct cpu_tiling *p, struct looking *l,
                        struct cpu_nibbles *out)
{
    const bt_node *reduce = p->view.reduce;
    int32_t dims[3] = { -1, -1, -1 }; /* columns, terms, rows */
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        const uint32_t of = dim->is_k ? 1 : d == p->n ? 0 : 2;
        if (dims[of] >= 0 || dim->scale != 1 || dim->carries ||
            bt_node_number(dim->extent) < 1)
            return 0;
        dims[of] = (int32_t)d;
    }
    if (dims[0] < 0 || dims[1] < 0 || !bt_node_is_true(reduce->args[0]))
        return 0;
    out->m = dims[2];
    out->depth = bt_node_number(p->view.dims[dims[1]].extent);
    l->n = p->view.dims[dims[0]].index;
    l->k = p->view.dims[dims[1]].index;
    l->m = dims[2] < 0 ? BT_MAX_INDEX - 1 : p->view.dims[dims[2]].index;
    l->count = bt_node_number(p->view.dims[dims[0]].extent);
    l->depth = out->depth;
    l->rows = dims[2] < 0 ? 1 : bt_node_number(p->view.dims[dims[2]].extent);
    return l->depth % CPU_NIBBLES_WORD == 0;
}

/* Axes of one place are no dims of the view. */
static const bt_node *without_ones(bt_graph *g, const bt_array *stage,
                                   const bt_node *reduce, const bt_node *factor)
{
    for (uint32_t i = 0; i < stage->rank && factor; i++) {
        if (cpu_is_size(stage->extents[i], 1))
            factor = bt_node_substitute(g, factor, i, bt_node_int(g, 0));
    }
    for (uint32_t i = 0; i < reduce->nindex && factor; i++) {
        if (cpu_is_size(reduce->args[2 + i], 1))
            factor = bt_node_substitute(g, factor, reduce->first + i, bt_node_int(g, 0));
    }
    return factor;
}

/* Whether codes are what they stand for, but for the scale. */
static int has_no_zero(const struct weights *w)
{
    const bt_node *zero = w->zero;
    while (zero->kind == BT_NODE_CAST)
        zero = zero->args[0];
    return zero->kind == BT_NODE_CONST &&
           (bt_dtype_is_float(zero->dtype) ? zero->value.f == (double)w->bias
                                           : zero->value.i == w->bias);
}

static bt_status make_arrays(const struct looking *l, const struct weights *w,
                             const bt_node *x, struct cpu_nibbles *out)
{
    bt_graph *g = l->graph;
    out->block = w->block;
    out->has_zeros = !has_no_zero(w);
    if (!add_rows(l, x, &out->x) || !add_words(l, w, &out->words) ||
        !add_blocks(l, w->scale, w->block, 0, &out->scales) ||
        (out->has_zeros && !add_blocks(l, w->zero, w->block, w->bias, &out->zeros)))
        return g->status ? g->status : bt_no_memory();
    if (!out->has_zeros)
        out->zeros = out->scales;
    return NULL;
}

bt_status cpu_contract_nibbles(bt_graph *g, const bt_array *stage,
                               const struct cpu_config *config,
                               const struct cpu_tiling *p, struct cpu_nibbles *out)
{
    // an element of float32 takes so long that caches do not keep
    enum { MEMORY_PS = 240 };
    const bt_node *reduce = p->view.reduce;
    struct looking l = { .graph = g, .config = config };
    *out = (struct cpu_nibbles){ .by = NULL };
    const struct cpu_callee *by = cpu_row_of(config, "nibbles.float32");
    if (!by || !config->is_constant || p->view.dtype != BT_FLOAT32 || p->is_turned ||
        !look_at_dims(p, &l, out) || l.rows * by->ps > MEMORY_PS)
        return NULL;
    for (uint32_t i = 0; i < 2 && !out->by && !g->status; i++) {
        const bt_node *args[2];
        struct weights w;
        for (uint32_t k = 0; k < 2; k++)
            args[k] = without_ones(g, stage, reduce, reduce->args[1]->args[k]);
        if (!args[0] || !args[1] || (args[1 - i]->free & bt_index_bit(l.n)) ||
            !look_at_weights(&l, args[i], &w))
            continue;
        BT_TRY(make_arrays(&l, &w, args[1 - i], out));
        out->ns = (double)(l.rows * l.count) * (double)l.depth * by->ps / 1000;
        out->by = by;
    }
    return g->status;
}

/* ---- the nest ---- */

int cpu_emit_nibbles(bt_loops *loops, const struct cpu_tiling *p,
                     const struct cpu_nibbles *by, const struct cpu_config *config,
                     const struct cpu_epilogue *epilogue, bt_stmts *out)
{
    // of a call: groups of panels, of which threads have several
    enum { GROUP = 4 * CPU_NIBBLES_WIDTH, CALLS = 8, MOST = 16 };
    bt_graph *g = loops->graph;
    struct cpu_emitter e = { loops, out, CPU_FIRST_INDEX };
    const struct cpu_dim *n = &p->view.dims[p->n];
    const struct cpu_dim *m = by->m < 0 ? NULL : &p->view.dims[by->m];
    const bt_node *zero = bt_node_int(g, 0), *one = bt_node_int(g, 1);
    const bt_node *rows = m ? m->extent : one, *values[CPU_DIMS] = { NULL };
    const int64_t count = bt_node_number(n->extent), depth = by->depth;
    const int is_direct = cpu_is_sum_stored(p, epilogue);
    int64_t group = count / (GROUP * CALLS * (int64_t)config->nthread);
    group = GROUP * (group < 1 ? 1 : group > MOST ? MOST : group);
    const int64_t nblock = bt_ceildiv_int64(depth, by->block), width = CPU_NIBBLES_WIDTH;
    uint32_t sums = epilogue->store->buffer;
    if ((!is_direct &&
         !cpu_emit_buffer(loops, BT_BUFFER_LOCAL, BT_FLOAT32,
                          bt_node_int(g, group * bt_node_number(rows)), &sums)) ||
        (epilogue->store->buffer != epilogue->sums &&
         !cpu_shrink_sums(loops, epilogue->sums, one)))
        return 0;
    const bt_node *block =
        cpu_emit_loop(&e, bt_node_int(g, bt_ceildiv_int64(count, group)), 1);
    const bt_node *at = block ? cpu_scaled(g, block, group) : NULL;
    const bt_node *columns =
        at ? cpu_least(g, bt_node_int(g, group), cpu_minus(g, n->extent, at)) : NULL;
    const bt_node *row = !is_direct ? bt_node_int(g, group) : m ? m->c : zero;
    if (!columns)
        return 0;
    const bt_node *scale = cpu_scaled(g, block, group / width * nblock * width);
    const struct cpu_address addresses[CPU_NIBBLES_NPOINTER] = {
        [CPU_NIBBLES_Y] = { sums, is_direct ? at : zero },
        [CPU_NIBBLES_X] = { by->x, zero },
        [CPU_NIBBLES_Q] = { by->words,
                            cpu_scaled(g, block, group * (depth / CPU_NIBBLES_WORD)) },
        [CPU_NIBBLES_S] = { by->scales, scale },
        [CPU_NIBBLES_Z] = { by->zeros, scale },
    };
    const bt_node *integers[CPU_NIBBLES_NINT] = {
        [CPU_NIBBLES_ROWS] = rows,
        [CPU_NIBBLES_COLUMNS] = columns,
        [CPU_NIBBLES_DEPTH] = bt_node_int(g, depth),
        [CPU_NIBBLES_BLOCK] = bt_node_int(g, by->block),
        [CPU_NIBBLES_Y_ROW] = row,
        [CPU_NIBBLES_HAS_ZEROS] = bt_node_int(g, by->has_zeros),
    };
    struct cpu_emitter call = e;
    if (!cpu_emit_call(&call, by->by->name, CPU_NIBBLES_NPOINTER, addresses,
                       CPU_NIBBLES_NINT, integers))
        return 0;
    if (is_direct)
        return 1;
    const bt_node *r = m ? cpu_emit_loop(&e, rows, 0) : zero;
    const bt_node *c = cpu_emit_loop(&e, columns, 0);
    if (!r || !c)
        return 0;
    if (m)
        values[by->m] = r;
    values[p->n] = cpu_plus(g, at, c);
    return cpu_emit_sum_store(&e, p, epilogue, sums, values, cpu_along(g, c, r, row));
}
