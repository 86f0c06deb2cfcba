/*
 * Roles and layouts of a contraction: which factor is the tile's B, along which dims its
 * rows and columns run, how B is to lie in memory.
 *
 * Columns are the innermost dim of the result, so that sums are written as the tile has
 * them; the factor in which it occurs is B. In a packed B they are neighbours. Where a
 * window moves by steps of 2, elements at even and at odd places are copied apart: what
 * one tap reads are neighbours again. Rows of columns lie at one distance, so that a tile
 * runs on from row to row, over the few columns between them that nobody wants.
 */
#include "contract_layout.h"

#include <baton/target.h>

#include "vectorise.h"

#include <string.h>

enum { FEW_COLUMNS = 8 };

/* ---- which dims occur where ---- */

static int is_only_in(const struct cpu_tiling *p, const struct cpu_operand *o, uint32_t d)
{
    return !p->view.dims[d].is_k && !p->view.dims[d].carries && cpu_is_in(o, d) &&
           !cpu_is_in(o == p->a ? p->b : p->a, d);
}

/* ---- roles ---- */

/* The tile of quads whose A has a sign if that of the tiling has one. */
static void choose_signs(struct cpu_tiling *p)
{
    if (p->tile->nterm == 4)
        p->tile = cpu_tile_of_quads(p->tile->isa, (int)p->a->is_signed);
}

static int choose_tile(struct cpu_tiling *p, const struct cpu_config *config)
{
    const struct cpu_operand *o = p->view.operands;
    int second = cpu_is_in(&o[1], p->n);
    if (cpu_is_in(&o[0], p->n) == second)
        return 0;
    p->b = &o[second];
    p->a = &o[!second];
    if (!p->terms)
        p->tile = cpu_tile_find(config->isa, p->a->dtype, p->b->dtype, p->view.dtype);
    else
        choose_signs(p);
    return p->tile != NULL;
}

/* Of an index in two parts, the longer one: a transposed convolution with stride 2 has
 * columns of two phases, and in each as many as the data. */
static uint32_t longer_part(const struct cpu_tiling *p, uint32_t n)
{
    const struct cpu_operand *o = p->view.operands;
    uint32_t longest = n;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (!dim->is_k && !dim->carries && dim->index == p->view.dims[n].index &&
            cpu_iterations(dim->extent) > cpu_iterations(p->view.dims[longest].extent) &&
            cpu_is_in(&o[0], d) != cpu_is_in(&o[1], d))
            longest = d;
    }
    return longest;
}

/* The rows of the tile: the longest dim of A alone. */
static void choose_row(struct cpu_tiling *p)
{
    p->m = -1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (is_only_in(p, p->a, d) &&
            (p->m < 0 || cpu_iterations(p->view.dims[d].extent) >
                             cpu_iterations(p->view.dims[p->m].extent)))
            p->m = (int32_t)d;
    }
}

/* The innermost dim of the result, then the rows. */
static int choose_roles(struct cpu_tiling *p, const struct cpu_config *config)
{
    int32_t n = -1;
    p->n0 = -1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (!dim->is_k && n < 0)
            n = (int32_t)d; // axes come from the last to the first
    }
    if (n < 0)
        return 0;
    p->n = longer_part(p, (uint32_t)n);
    if (!choose_tile(p, config))
        return 0;
    choose_row(p);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].carries && !cpu_is_around(p, p->view.dims[d].of))
            return 0;
    }
    return 1;
}

/* ---- windows ---- */

/* A reduced dim that runs against the axis is turned round. */
static void flip(struct cpu_tiling *p, uint32_t d)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct cpu_operand *o = &p->view.operands[i];
        for (uint32_t a = 0; a < o->rank; a++) {
            o->at[a] += o->coefs[a][d] * (bt_node_number(p->view.dims[d].extent) - 1);
            o->coefs[a][d] = -o->coefs[a][d];
        }
    }
}

static uint32_t count_axes(const struct cpu_operand *o, uint32_t d)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < o->rank; a++)
        n += o->coefs[a][d] != 0;
    return n;
}

/* The axis as a window; 0: it is none that can be packed. */
static int as_window(bt_graph *g, struct cpu_tiling *p, uint32_t axis,
                     struct cpu_window *out)
{
    const struct cpu_operand *o = p->b;
    int64_t ncarry = 0;
    *out = (struct cpu_window){ .axis = axis, .k = -1, .nclass = 1 };
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (!o->coefs[axis][d])
            continue;
        if (p->view.dims[d].carries) {
            ncarry++;
            continue;
        }
        if (count_axes(o, d) > 1)
            return 0;
        if (p->view.dims[d].is_k) {
            if (out->k >= 0 || bt_node_number(p->view.dims[d].extent) < 0)
                return 0;
            if (o->coefs[axis][d] < 0)
                flip(p, d);
            out->k = (int32_t)d;
            out->dilation = o->coefs[axis][d];
        } else {
            if (out->stride || !is_only_in(p, o, d) || o->coefs[axis][d] < 0)
                return 0;
            out->n = d;
            out->stride = o->coefs[axis][d];
        }
    }
    out->at = o->at[axis];
    if (!out->stride)
        return 0;
    int64_t ntap = out->k < 0 ? 1 : bt_node_number(p->view.dims[out->k].extent);
    int64_t period =
        out->k < 0 ? 1 : out->stride / bt_gcd_int64(out->stride, out->dilation);
    out->nclass = (uint32_t)(period < ntap ? period : ntap);
    out->width = bt_node_linear(g, (ntap - 1) * out->dilation / out->stride + ncarry, 1,
                                &p->view.dims[out->n].extent, (int64_t[]){ 1 });
    return period <= CPU_CLASSES;
}

/* Whether columns, or rows of them, go along an axis by steps. */
static int has_steps(const struct cpu_tiling *p, uint32_t axis)
{
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->b->coefs[axis][d] > 1 && is_only_in(p, p->b, d))
            return 1;
    }
    return 0;
}

/* Whether an axis must be copied to be read along columns: one that these, or windows, go
 * along by steps. */
static int needs_copy(const struct cpu_tiling *p, uint32_t axis)
{
    const struct cpu_operand *o = p->b;
    int has_k = 0;
    if (o->guards[axis])
        return 1;
    for (uint32_t d = 0; d < p->view.ndim; d++)
        has_k |= o->coefs[axis][d] && p->view.dims[d].is_k;
    return (has_k && has_steps(p, axis)) || o->coefs[axis][p->n] > 1;
}

/* Windows of B, that of the columns last; where a copy is made, it leaves out what steps pass
 * over on other axes too. 0: it cannot be packed so. */
static int find_windows(bt_graph *g, struct cpu_tiling *p)
{
    const struct cpu_operand *o = p->b;
    for (uint32_t a = 0; a < o->rank; a++) {
        struct cpu_window w;
        int has_k = 0, has_n = 0;
        for (uint32_t d = 0; d < p->view.ndim; d++) {
            has_k |= o->coefs[a][d] && p->view.dims[d].is_k;
            has_n |= o->coefs[a][d] && is_only_in(p, o, d);
        }
        const int is_needed = needs_copy(p, a) || (has_k && has_n) || o->coefs[a][p->n];
        if (!is_needed && !has_steps(p, a))
            continue;
        if (p->nwindow == CPU_WINDOWS || !as_window(g, p, a, &w)) {
            if (is_needed)
                return 0;
            continue;
        }
        p->windows[p->nwindow++] = w;
    }
    for (uint32_t i = 0; i + 1 < p->nwindow; i++) {
        if (p->windows[i].n == p->n) {
            struct cpu_window w = p->windows[i];
            p->windows[i] = p->windows[p->nwindow - 1];
            p->windows[p->nwindow - 1] = w;
        }
    }
    return p->nwindow > 0 && p->windows[p->nwindow - 1].n == p->n;
}

/* ---- rows of columns ---- */

/* Whether two indices, and no parts of them, make one in all that the body reads: the
 * outer one's stride is that of a row of the inner one. */
static int reads_merge(bt_graph *g, const bt_node *node, const struct cpu_dim *outer,
                       const struct cpu_dim *inner, uint8_t *seen)
{
    uint64_t both = bt_index_bit(outer->index) | bt_index_bit(inner->index);
    if (!(node->free & both) || node->kind == BT_NODE_REDUCE || seen[node->id])
        return 1;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_INDEX)
        return 0;
    if (node->kind != BT_NODE_READ) {
        for (uint32_t i = 0; i < node->narg; i++) {
            if (!reads_merge(g, node->args[i], outer, inner, seen))
                return 0;
        }
        return 1;
    }
    const bt_node *stride = bt_node_int(g, 1), *by_outer = bt_node_int(g, 0);
    const bt_node *by_inner = by_outer;
    for (uint32_t a = node->narg; a-- > 0;) {
        bt_linear form;
        bt_node_as_linear(node->args[a], &form);
        for (uint32_t i = 0; i < form.n; i++) {
            if (form.atoms[i]->kind != BT_NODE_INDEX && (form.atoms[i]->free & both))
                return 0;
        }
        by_outer =
            cpu_along_int(g, by_outer, stride, bt_linear_coef(&form, outer->index));
        by_inner =
            cpu_along_int(g, by_inner, stride, bt_linear_coef(&form, inner->index));
        stride = cpu_times(g, stride, g->arrays[node->which]->extents[a]);
    }
    return by_outer && by_outer == cpu_times(g, by_inner, inner->extent);
}

static int is_whole(const struct cpu_tiling *p, uint32_t d)
{
    for (uint32_t i = 0; i < p->view.ndim; i++) {
        if (i != d && !p->view.dims[i].is_k &&
            p->view.dims[i].index == p->view.dims[d].index)
            return 0;
    }
    return 1;
}

static int can_merge(bt_graph *g, const bt_array *stage, const struct cpu_dim *outer,
                     const struct cpu_dim *inner)
{
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode + 1);
    if (!seen && !g->status)
        g->status = bt_no_memory();
    return seen && reads_merge(g, stage->body, outer, inner, seen);
}

/* What runs along dim `d` of operand `of`, which lies by `strides`: so many elements, of several
 * dims if they make one. */
struct run {
    const struct cpu_operand *of;
    const bt_node *const *strides;
    uint32_t d;
    const bt_node *extent;
};

/* The next dim outwards that goes on where a run ends; -1: none. */
static int32_t find_merge(const struct cpu_tiling *p, bt_graph *g, const bt_array *stage,
                          const struct run *run)
{
    const struct cpu_dim *first = &p->view.dims[run->d];
    struct cpu_dim inner = *first;
    inner.extent = run->extent;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (is_only_in(p, run->of, d) && d != run->d && !(p->merged >> d & 1) &&
            run->strides[d] == cpu_times(g, run->strides[run->d], run->extent) &&
            dim->c == cpu_times(g, first->c, run->extent) && is_whole(p, d) &&
            is_whole(p, run->d) && can_merge(g, stage, dim, &inner))
            return (int32_t)d;
    }
    return -1;
}

/* As many elements as the run has with all dims that go on where it ends. */
static const bt_node *merge_run(struct cpu_tiling *p, bt_graph *g, const bt_array *stage,
                                struct run run)
{
    int32_t d;
    while ((d = find_merge(p, g, stage, &run)) >= 0) {
        p->merged |= 1U << d;
        run.extent = cpu_times(g, run.extent, p->view.dims[d].extent);
    }
    return run.extent;
}

/* Dims that make one with the columns, then rows of these at one distance: of the longest
 * dim whose length is known, as one that is open may be 1. */
static void choose_rows(struct cpu_tiling *p, bt_graph *g, const bt_array *stage)
{
    p->ncolumn = p->view.dims[p->n].extent;
    p->nrow = p->m < 0 ? bt_node_int(g, 1) : p->view.dims[p->m].extent;
    if (p->m >= 0 && p->b_kind == CPU_B_PANELS && !p->strip)
        p->nrow =
            merge_run(p, g, stage, (struct run){ p->a, p->as, (uint32_t)p->m, p->nrow });
    if (p->b_kind == CPU_B_PANELS)
        return;
    p->ncolumn = merge_run(p, g, stage, (struct run){ p->b, p->bs, p->n, p->ncolumn });
    for (uint32_t i = 0; i < p->view.ndim && !p->merged && !p->is_across; i++) {
        if (is_only_in(p, p->b, i) && i != p->n &&
            (p->is_line || (cpu_number(p->bs[i]) >= cpu_number(p->ncolumn) &&
                            cpu_number(p->bs[i]) <= 2 * cpu_number(p->ncolumn))) &&
            cpu_number(p->bs[i]) >= 0 && cpu_number(p->ncolumn) >= 0 &&
            (p->n0 < 0 ||
             cpu_number(p->view.dims[i].extent) > cpu_number(p->view.dims[p->n0].extent)))
            p->n0 = (int32_t)i;
    }
}

/* ---- all ---- */

static int needs_windows(const struct cpu_tiling *p)
{
    for (uint32_t a = 0; a < p->b->rank; a++) {
        if (needs_copy(p, a))
            return 1;
    }
    return 0;
}

static int64_t nrow(const struct cpu_tiling *p)
{
    return p->m < 0 ? 1 : cpu_iterations(p->view.dims[p->m].extent);
}

/* Whether an iteration of a reduced dim finds its element of A for some values of loops around and
 * not for others, by the dims that go along this axis. */
static int is_limit(const struct cpu_tiling *p, uint32_t axis, uint32_t d)
{
    uint32_t nguarded = 0;
    for (uint32_t a = 0; a < p->a->rank; a++)
        nguarded += p->a->guards[a] && p->a->coefs[a][d];
    for (uint32_t i = 0; i < p->nwindow; i++) {
        if (p->windows[i].k == (int32_t)d && p->windows[i].nclass > 1)
            return 0;
    }
    for (uint32_t e = 0; e < p->view.ndim; e++) {
        if (e != d && p->a->coefs[axis][e] && !cpu_is_around(p, e))
            return 0;
    }
    return nguarded == 1 && p->view.dims[d].is_k;
}

/* The reduced dims that are so, if no more has to be done for A to be read inside alone. */
static uint32_t find_limits(const struct cpu_tiling *p)
{
    uint32_t all = 0;
    for (uint32_t a = 0; a < p->a->rank; a++) {
        uint32_t found = 0;
        for (uint32_t d = 0; d < p->view.ndim && p->a->guards[a]; d++)
            found |= (uint32_t)(p->a->coefs[a][d] && is_limit(p, a, d)) << d;
        if (p->a->guards[a] && !found)
            return 0;
        all |= found;
    }
    return all;
}

/* Whether the terms of a row of A are further apart than rows, as of weights that have the
 * channels of the data first. */
static int has_rows_between(const struct cpu_tiling *p)
{
    const int64_t row = p->m < 0 ? 0 : cpu_number(p->as[p->m]);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].is_k && row > 1 && cpu_number(p->as[d]) > row)
            return 1;
    }
    return 0;
}

enum { ROWS_FOR_COPY = 32, COLUMNS_FOR_COPY = 64 };

static int has_few_rows(const struct cpu_tiling *p)
{
    const int64_t n = p->m < 0 ? 1 : cpu_number(p->view.dims[p->m].extent);
    return n >= 0 && n <= CPU_ACROSS_MR;
}

static int has_one_row(const struct cpu_tiling *p)
{
    return p->m < 0 ||
           (p->b_kind == CPU_B_PANELS && cpu_is_size(p->view.dims[p->m].extent, 1));
}

/* Whether the terms of a column are neighbours, in their order. */
static int is_across_k(const struct cpu_tiling *p)
{
    const bt_node *innermost = NULL;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].is_k && !cpu_is_size(p->view.dims[d].extent, 1))
            innermost = p->bs[d];
    }
    return innermost && cpu_is_size(innermost, 1);
}

/* Whether A is worth a copy in strips: its terms push each other out of the caches, as in the
 * gradient of a weight, whose rows are columns of an array, and many columns read each again. */
static int wants_strips(const struct cpu_tiling *p)
{
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].carries)
            return 0;
    }
    return p->m >= 0 && !p->a_nelem && !p->terms && !p->is_line && !p->is_across &&
           !cpu_is_guarded(p->a) && p->a->of_each <= 1 && p->tile->epilogue &&
           cpu_number(p->view.dims[p->m].extent) > p->tile->mr &&
           cpu_iterations(p->view.dims[p->n].extent) >= COLUMNS_FOR_COPY &&
           cpu_crowds_cache(p, p->a, p->as);
}

/* 0: not well. */
static int find_tiling(bt_graph *g, const bt_array *stage,
                       const struct cpu_config *config, struct cpu_tiling *p)
{
    if (!choose_roles(p, config))
        return 0;
    p->b_kind = needs_windows(p) ? CPU_B_HALO : CPU_B_DIRECT;
    if (p->b_kind == CPU_B_HALO && !find_windows(g, p))
        return 0;
    cpu_lay_direct(g, p, p->a, &p->a_at, p->as);
    cpu_lay_direct(g, p, p->b, &p->b_at, p->bs);
    if (g->status)
        return 0;
    p->limited = p->terms ? 0 : find_limits(p);
    const int is_guarded = cpu_is_guarded(p->a) && !p->limited;
    if (p->terms && cpu_is_constant(g, config, p->a) && !is_guarded)
        p->pairs_nelem = cpu_lay_rows(g, p);
    const int is_across = p->b_kind == CPU_B_DIRECT && !cpu_is_guarded(p->a) &&
                          !cpu_is_size(p->bs[p->n], 1);
    p->is_column =
        is_across && p->m < 0 && cpu_is_size(stage->extents[stage->rank - 1], 1);
    if (p->is_column)
        return 0;
    p->is_across = is_across && p->tile->across && has_few_rows(p) && is_across_k(p) &&
                   !cpu_is_constant(g, config, p->b);
    p->has_rows = !is_guarded && !p->terms && !p->is_across && has_rows_between(p) &&
                  cpu_is_constant(g, config, p->a);
    const int32_t longer = cpu_is_guarded(p->a) || p->has_rows || p->pairs_nelem
                               ? -1
                               : cpu_crowded_axis(g, p, config);
    if (p->has_rows)
        p->a_nelem = cpu_lay_rows(g, p);
    if (g->status || ((is_guarded || longer >= 0) && !cpu_lay_margins(g, p, longer)))
        return 0;
    if (p->b_kind == CPU_B_DIRECT && !p->is_across &&
        (!cpu_is_size(p->bs[p->n], 1) || p->b->is_signed ||
         (nrow(p) * (cpu_is_shared(g, config, p->b) ? BT_SHARED_LEAST : 1) >=
              ROWS_FOR_COPY &&
          cpu_crowds_cache(p, p->b, p->bs))))
        p->b_kind = CPU_B_PANELS;
    p->is_line = has_one_row(p) && p->tile->line && !p->is_across;
    if (wants_strips(p) && !cpu_lay_strips(g, p))
        return 0;
    if ((p->b_kind == CPU_B_HALO && !cpu_lay_windows(g, p)) ||
        (p->b_kind == CPU_B_PANELS && !cpu_lay_panels(g, p)))
        return 0;
    cpu_lay_reduced(g, p);
    choose_rows(p, g, stage);
    return !g->status;
}

/* ---- turned ---- */

/* Whether terms are summed in the order of the reduced dims. */
static int is_in_order(const struct cpu_tiling *p)
{
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->nclass[d] > 1)
            return 0;
    }
    return 1;
}

/* Whether columns leave most lanes of a tile empty, as the few taps do along which the weights'
 * adjoint of a convolution ends. */
static int has_few_columns(const struct cpu_tiling *p)
{
    const int64_t n = bt_node_number(p->view.dims[p->n].extent);
    return n >= 0 && n <= FEW_COLUMNS;
}

/* The same sums with rows and columns exchanged, B in panels: a constant, or what is packed for
 * tiles that would be nearly empty; 0: not well.
 *
 *     columns: places of the image          turned: channels
 *     y[o, 0..31] += w[o, c] * x[c, 0..31]  y[0..31, i] += x[c, i] * w[0..31, c]
 *
 * A row of 7 places leaves no lanes empty then, and by whatever step a window moves, places are
 * rows, which may lie at any distance; but a tile is turned when it is stored. */
static int turn(bt_graph *g, const bt_array *stage, const struct cpu_config *config,
                const struct cpu_tiling *p, struct cpu_tiling *out)
{
    if (p->m < 0 || p->is_line || p->is_across || !p->tile->epilogue ||
        p->tile->takes_columns ||
        (!cpu_is_constant(g, config, p->a) && (p->terms || !has_few_columns(p))) ||
        cpu_is_guarded(p->a) || !cpu_is_size(p->view.dims[p->n].c, 1) ||
        !is_whole(p, p->n) || (config->accuracy == CPU_EXACT && !is_in_order(p)) ||
        !cpu_is_epilogue(stage->body, p->view.reduce))
        return 0;
    *out = *p;
    out->a = &out->view.operands[p->b - p->view.operands];
    out->b = &out->view.operands[p->a - p->view.operands];
    out->is_turned = 1;
    out->n = (uint32_t)p->m;
    out->m = (int32_t)p->n;
    out->n0 = -1;
    out->merged = 0;
    out->nwindow = 0;
    out->a_nelem = out->pairs_nelem = NULL;
    out->limited = out->has_rows = 0;
    out->strip = 0;
    out->b_kind = CPU_B_PANELS;
    if (out->terms) {
        cpu_put_pairs_last(out);
        choose_signs(out);
    }
    cpu_lay_direct(g, out, out->a, &out->a_at, out->as);
    if (!cpu_is_guarded(out->a) && !cpu_lay_steps(g, out))
        cpu_lay_direct(g, out, out->a, &out->a_at, out->as);
    if (g->status || (cpu_is_guarded(out->a) && !cpu_lay_margins(g, out, -1)) ||
        !cpu_lay_panels(g, out))
        return 0;
    cpu_lay_reduced(g, out);
    choose_rows(out, g, stage);
    return !g->status && cpu_number(out->nrow) > 0 && cpu_count_levels(g, out) <= 3;
}

bt_status cpu_contract_tiling(bt_graph *g, const bt_array *stage,
                              const struct cpu_config *config, struct cpu_tiling *p)
{
    memset(p, 0, sizeof(*p));
    p->beside = -1;
    BT_TRY(cpu_contraction_of(g, stage, &p->view));
    if (!p->view.reduce || !find_tiling(g, stage, config, p))
        p->tile = NULL;
    return g->status;
}

/* NULL: no memory, which the graph says, as without a way there would be another program. */
static struct cpu_tiling *new_tiling(bt_graph *g)
{
    struct cpu_tiling *p = BT_NEW(g->arena, struct cpu_tiling);
    if (!p && !g->status)
        g->status = bt_no_memory();
    return p;
}

struct cpu_tiling *cpu_contract_paired(bt_graph *g, const bt_array *stage,
                                       const struct cpu_config *config,
                                       const struct cpu_contraction *view,
                                       const struct cpu_tile *tile, uint32_t paired,
                                       const bt_node *terms)
{
    struct cpu_tiling *p = new_tiling(g);
    if (!p)
        return NULL;
    p->beside = -1;
    p->view = *view;
    p->tile = tile;
    p->paired = paired;
    p->terms = terms;
    return find_tiling(g, stage, config, p) ? p : NULL;
}

struct cpu_tiling *cpu_contract_turn(bt_graph *g, const bt_array *stage,
                                     const struct cpu_config *config,
                                     const struct cpu_tiling *p)
{
    struct cpu_tiling *turned = new_tiling(g);
    return turned && turn(g, stage, config, p, turned) ? turned : NULL;
}
