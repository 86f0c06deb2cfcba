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
#include "contract.h"

#include <string.h>

/* ---- which dims occur where ---- */

static int is_in(const struct cpu_operand *o, uint32_t d)
{
    for (uint32_t a = 0; a < o->rank; a++) {
        if (o->coefs[a][d])
            return 1;
    }
    return 0;
}

static int is_only_in(const struct cpu_plan *p, const struct cpu_operand *o, uint32_t d)
{
    return !p->view.dims[d].is_k && is_in(o, d) && !is_in(o == p->a ? p->b : p->a, d);
}

static void strides_of(const struct cpu_operand *o, int64_t *out)
{
    int64_t stride = 1;
    for (uint32_t a = o->rank; a-- > 0;) {
        out[a] = stride;
        stride *= o->extents[a];
    }
}

/* Where it lies: the array's own strides, by dim. */
static void lay_direct(const struct cpu_plan *p, const struct cpu_operand *o, int64_t *at,
                       int64_t *by_dim)
{
    int64_t strides[CPU_AXES];
    strides_of(o, strides);
    *at = 0;
    for (uint32_t a = 0; a < o->rank; a++)
        *at += o->at[a] * strides[a];
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        by_dim[d] = 0;
        for (uint32_t a = 0; a < o->rank; a++)
            by_dim[d] += o->coefs[a][d] * strides[a];
    }
}

static int is_guarded(const struct cpu_operand *o)
{
    for (uint32_t a = 0; a < o->rank; a++) {
        if (o->guards[a])
            return 1;
    }
    return 0;
}

/* ---- roles ---- */

static int choose_tile(struct cpu_plan *p, const struct cpu_config *config)
{
    const struct cpu_operand *o = p->view.operands;
    int second = is_in(&o[1], p->n);
    if (is_in(&o[0], p->n) == second)
        return 0;
    p->b = &o[second];
    p->a = &o[!second];
    p->tile = cpu_tile_find(config->isa, p->a->dtype, p->b->dtype, p->view.dtype);
    return p->tile != NULL;
}

/* Of an index in two parts, the longer one: a transposed convolution with stride 2 has
 * columns of two phases, and in each as many as the data. */
static uint32_t longer_part(const struct cpu_plan *p, uint32_t n)
{
    const struct cpu_operand *o = p->view.operands;
    uint32_t longest = n;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (!dim->is_k && dim->index == p->view.dims[n].index &&
            dim->extent > p->view.dims[longest].extent &&
            is_in(&o[0], d) != is_in(&o[1], d))
            longest = d;
    }
    return longest;
}

/* The innermost dim of the result, then the rows of the tile: the longest of the other
 * factor. */
static int choose_roles(struct cpu_plan *p, const struct cpu_config *config)
{
    int32_t n = -1;
    p->m = p->n0 = -1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (!dim->is_k && (n < 0 || dim->c < p->view.dims[n].c))
            n = (int32_t)d;
    }
    if (n < 0)
        return 0;
    p->n = longer_part(p, (uint32_t)n);
    if (!choose_tile(p, config))
        return 0;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (is_only_in(p, p->a, d) &&
            (p->m < 0 || p->view.dims[d].extent > p->view.dims[p->m].extent))
            p->m = (int32_t)d;
    }
    return 1;
}

/* ---- windows ---- */

/* A reduced dim that runs against the axis is turned round. */
static void flip(struct cpu_plan *p, uint32_t d)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct cpu_operand *o = &p->view.operands[i];
        for (uint32_t a = 0; a < o->rank; a++) {
            o->at[a] += o->coefs[a][d] * (p->view.dims[d].extent - 1);
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
static int as_window(struct cpu_plan *p, uint32_t axis, struct cpu_window *out)
{
    const struct cpu_operand *o = p->b;
    *out = (struct cpu_window){ .axis = axis, .k = -1, .nclass = 1 };
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (!o->coefs[axis][d])
            continue;
        if (count_axes(o, d) > 1)
            return 0;
        if (p->view.dims[d].is_k) {
            if (out->k >= 0)
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
    int64_t ntap = out->k < 0 ? 1 : p->view.dims[out->k].extent;
    int64_t period =
        out->k < 0 ? 1 : out->stride / bt_gcd_int64(out->stride, out->dilation);
    out->nclass = (uint32_t)(period < ntap ? period : ntap);
    out->width = p->view.dims[out->n].extent + (ntap - 1) * out->dilation / out->stride;
    return period <= CPU_CLASSES;
}

/* Whether an axis must be copied to be read along columns. */
static int needs_copy(const struct cpu_plan *p, uint32_t axis)
{
    const struct cpu_operand *o = p->b;
    if (o->guards[axis])
        return 1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (is_only_in(p, o, d) && o->coefs[axis][d] > 1)
            return 1;
    }
    return 0;
}

/* Windows of B, that of the columns last. 0: it cannot be packed so. */
static int find_windows(struct cpu_plan *p)
{
    const struct cpu_operand *o = p->b;
    for (uint32_t a = 0; a < o->rank; a++) {
        struct cpu_window w;
        int has_k = 0, has_n = 0;
        for (uint32_t d = 0; d < p->view.ndim; d++) {
            has_k |= o->coefs[a][d] && p->view.dims[d].is_k;
            has_n |= o->coefs[a][d] && is_only_in(p, o, d);
        }
        if (!needs_copy(p, a) && !(has_k && has_n) && !o->coefs[a][p->n])
            continue;
        if (p->nwindow == CPU_WINDOWS || !as_window(p, a, &w))
            return 0;
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

/* Strides of the packed B: other axes, copies, windows. */
static int lay_windows(struct cpu_plan *p)
{
    const struct cpu_operand *o = p->b;
    int64_t size = 1;
    memset(p->bs, 0, sizeof(p->bs));
    for (uint32_t i = p->nwindow; i-- > 0;) {
        p->windows[i].step = size;
        p->bs[p->windows[i].n] = size;
        if (!bt_mul_int64(size, p->windows[i].width, &size))
            return 0;
    }
    for (uint32_t i = p->nwindow; i-- > 0;) {
        p->windows[i].copy = size;
        if (!bt_mul_int64(size, p->windows[i].nclass, &size))
            return 0;
    }
    p->b_at = 0;
    for (uint32_t a = o->rank; a-- > 0;) {
        int is_window = 0;
        for (uint32_t i = 0; i < p->nwindow; i++)
            is_window |= p->windows[i].axis == a;
        p->outer[a] = is_window ? 0 : size;
        if (is_window)
            continue;
        p->b_at += o->at[a] * size;
        for (uint32_t d = 0; d < p->view.ndim; d++)
            p->bs[d] += o->coefs[a][d] * size;
        if (!bt_mul_int64(size, o->extents[a], &size))
            return 0;
    }
    // tiles may read on for as long as they are wide
    return bt_add_int64(size, p->tile->nr, &p->nelem);
}

/* Taps that find their elements in one copy, at places that are affine. */
static void classify(struct cpu_plan *p, const struct cpu_window *w)
{
    if (w->k < 0)
        return;
    uint32_t k = (uint32_t)w->k;
    int64_t ntap = p->view.dims[k].extent;
    int64_t period = w->stride / bt_gcd_int64(w->stride, w->dilation);
    p->nclass[k] = w->nclass;
    for (uint32_t i = 0; i < w->nclass; i++) {
        p->classes[k][i] = (struct cpu_class){
            .extent = (ntap - i + period - 1) / period,
            .a_at = i * p->as[k],
            .a = period * p->as[k],
            .b_at = i * w->copy + i * w->dilation / w->stride * w->step,
            .b = period * w->dilation / w->stride * w->step,
        };
    }
}

/* ---- margins ---- */

/* A axis by axis as it is, and zeros where it is read outside. 0: too many axes have
 * some. */
static int lay_margins(struct cpu_plan *p)
{
    const struct cpu_operand *o = p->a;
    int64_t size = 1, at[CPU_AXES];
    uint32_t nguarded = 0;
    for (uint32_t a = 0; a < o->rank; a++) {
        int64_t low = o->at[a], high = o->at[a];
        for (uint32_t d = 0; d < p->view.ndim; d++) {
            int64_t last = o->coefs[a][d] * (p->view.dims[d].extent - 1);
            *(last < 0 ? &low : &high) += last;
        }
        low = o->guards[a] ? low : 0;
        high = o->guards[a] ? high : o->extents[a] - 1;
        struct cpu_margin *m = &p->margins[a];
        m->extent = high - low + 1;
        m->from = low > 0 ? low : 0;
        m->lead = low < 0 ? -low : 0;
        m->lead = m->lead < m->extent ? m->lead : m->extent;
        int64_t end = high < o->extents[a] ? high + 1 : o->extents[a];
        m->count = end > m->from ? end - m->from : 0;
        at[a] = o->at[a] - low;
        if (o->guards[a])
            p->a_inner = a;
        nguarded += o->guards[a] != 0;
    }
    p->a_at = 0;
    memset(p->as, 0, sizeof(p->as));
    for (uint32_t a = o->rank; a-- > 0;) {
        p->a_at += at[a] * size;
        for (uint32_t d = 0; d < p->view.ndim; d++)
            p->as[d] += o->coefs[a][d] * size;
        if (!bt_mul_int64(size, p->margins[a].extent, &size))
            return 0;
    }
    p->a_nelem = size;
    return nguarded == 1 || (nguarded == 2 && p->a_inner && o->guards[p->a_inner - 1]);
}

/* ---- panels ---- */

/* Strides of B in panels [other dims][panel][k ...][NR]. */
static int lay_panels(struct cpu_plan *p)
{
    int64_t size = p->tile->nr;
    int64_t npanel = (p->view.dims[p->n].extent + p->tile->nr - 1) / p->tile->nr;
    memset(p->bs, 0, sizeof(p->bs));
    for (uint32_t d = p->view.ndim; d-- > 0;) {
        if (!p->view.dims[d].is_k)
            continue;
        p->bs[d] = size;
        if (!bt_mul_int64(size, p->view.dims[d].extent, &size))
            return 0;
    }
    p->bs[p->n] = size / p->tile->nr; // a panel is NR columns
    if (!bt_mul_int64(size, npanel, &size))
        return 0;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].is_k || d == p->n || !is_in(p->b, d))
            continue;
        p->bs[d] = size;
        if (!bt_mul_int64(size, p->view.dims[d].extent, &size))
            return 0;
    }
    p->b_at = 0;
    p->nelem = size;
    return 1;
}

/* ---- rows of columns ---- */

/* Whether two indices, and no parts of them, make one in all that the body reads: the
 * outer one's stride is that of a row of the inner one. */
static int reads_merge(const bt_graph *g, const bt_node *node,
                       const struct cpu_dim *outer, const struct cpu_dim *inner,
                       uint8_t *seen)
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
    int64_t stride = 1, by_outer = 0, by_inner = 0;
    for (uint32_t a = node->narg; a-- > 0;) {
        bt_linear form;
        bt_node_as_linear(node->args[a], &form);
        for (uint32_t i = 0; i < form.n; i++) {
            if (form.atoms[i]->kind != BT_NODE_INDEX && (form.atoms[i]->free & both))
                return 0;
        }
        by_outer += bt_linear_coef(&form, outer->index) * stride;
        by_inner += bt_linear_coef(&form, inner->index) * stride;
        stride *= g->arrays[node->which].extents[a]->value.i;
    }
    return by_outer == by_inner * inner->extent;
}

static int is_whole(const struct cpu_plan *p, uint32_t d)
{
    for (uint32_t i = 0; i < p->view.ndim; i++) {
        if (i != d && !p->view.dims[i].is_k &&
            p->view.dims[i].index == p->view.dims[d].index)
            return 0;
    }
    return 1;
}

static int can_merge(const bt_graph *g, const bt_array *stage,
                     const struct cpu_dim *outer, const struct cpu_dim *inner)
{
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode + 1);
    return seen && reads_merge(g, stage->body, outer, inner, seen);
}

/* The next dim outwards that goes on where a row ends; -1: none. */
static int32_t find_merge(const struct cpu_plan *p, const bt_graph *g,
                          const bt_array *stage)
{
    const struct cpu_dim *n = &p->view.dims[p->n];
    struct cpu_dim inner = *n;
    inner.extent = p->ncolumn;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (is_only_in(p, p->b, d) && d != p->n && !(p->merged >> d & 1) &&
            p->bs[d] == p->bs[p->n] * p->ncolumn && dim->c == n->c * p->ncolumn &&
            is_whole(p, d) && is_whole(p, p->n) && can_merge(g, stage, dim, &inner))
            return (int32_t)d;
    }
    return -1;
}

/* Dims that make one with the columns, then rows of these at one distance. */
static void choose_rows(struct cpu_plan *p, const bt_graph *g, const bt_array *stage)
{
    int32_t d;
    p->ncolumn = p->view.dims[p->n].extent;
    if (p->b_kind == CPU_B_PANELS)
        return;
    while ((d = find_merge(p, g, stage)) >= 0) {
        p->merged |= 1U << d;
        p->ncolumn *= p->view.dims[d].extent;
    }
    for (uint32_t i = 0; i < p->view.ndim && !p->merged; i++) {
        if (is_only_in(p, p->b, i) && i != p->n &&
            (p->is_line || (p->bs[i] >= p->ncolumn && p->bs[i] <= 2 * p->ncolumn)))
            p->n0 = (int32_t)i;
    }
}

/* ---- all ---- */

static void lay_reduced(struct cpu_plan *p)
{
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        p->nclass[d] = 1;
        p->classes[d][0] = (struct cpu_class){ .extent = p->view.dims[d].extent,
                                               .a = p->as[d],
                                               .b = p->bs[d] };
    }
    for (uint32_t i = 0; i < p->nwindow; i++)
        classify(p, &p->windows[i]);
}

static int needs_windows(const struct cpu_plan *p)
{
    for (uint32_t a = 0; a < p->b->rank; a++) {
        if (needs_copy(p, a))
            return 1;
    }
    return 0;
}

static int64_t nrow(const struct cpu_plan *p)
{
    return p->m < 0 ? 1 : p->view.dims[p->m].extent;
}

enum {
    ROWS_FOR_PANELS = 4,
    ROWS_FOR_COPY = 32,
    PAGE_NBYTES = 4096, /* places so far apart compete for the same lines of a cache */
    DEPTH_IN_CACHE = 64
};

/* Whether a column's elements push each other out of the caches. */
static int crowds_cache(const struct cpu_plan *p)
{
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        int64_t nbytes = p->bs[d] * (int64_t)(BT_DTYPE_BITS(p->b->dtype) / 8);
        if (p->view.dims[d].is_k && p->view.dims[d].extent > DEPTH_IN_CACHE && nbytes &&
            nbytes % PAGE_NBYTES == 0)
            return 1;
    }
    return 0;
}

/* 0: not well. */
static int plan(const bt_graph *g, const bt_array *stage, const struct cpu_config *config,
                struct cpu_plan *p)
{
    if (!choose_roles(p, config))
        return 0;
    p->is_line = nrow(p) == 1 && p->tile->line != NULL;
    p->b_kind = needs_windows(p) ? CPU_B_HALO : CPU_B_DIRECT;
    if (p->b_kind == CPU_B_HALO && !find_windows(p))
        return 0;
    lay_direct(p, p->a, &p->a_at, p->as);
    lay_direct(p, p->b, &p->b_at, p->bs);
    if (is_guarded(p->a) && !lay_margins(p))
        return 0;
    if (p->b_kind == CPU_B_DIRECT && p->bs[p->n] != 1) {
        p->b_kind = CPU_B_PANELS;
        // too few rows for what it costs to turn B round
        if (nrow(p) < ROWS_FOR_PANELS)
            return 0;
    }
    if (p->b_kind == CPU_B_DIRECT && nrow(p) >= ROWS_FOR_COPY && crowds_cache(p))
        p->b_kind = CPU_B_PANELS;
    if ((p->b_kind == CPU_B_HALO && !lay_windows(p)) ||
        (p->b_kind == CPU_B_PANELS && !lay_panels(p)))
        return 0;
    lay_reduced(p);
    choose_rows(p, g, stage);
    return 1;
}

bt_status cpu_contract_plan(bt_graph *g, const bt_array *stage,
                            const struct cpu_config *config, struct cpu_plan *p)
{
    memset(p, 0, sizeof(*p));
    BT_TRY(cpu_contraction_of(g, stage, &p->view));
    if (!p->view.reduce || !plan(g, stage, config, p))
        p->tile = NULL;
    return NULL;
}
