/* The nests that fill a packed B, and what all nests of contractions are built with. */
#include "contract_layout.h"

#include "primitives/halo.h"
#include "primitives/pack.h"
#include "vectorise.h"

/* ---- building ---- */

const bt_node *cpu_times(bt_graph *g, const bt_node *a, const bt_node *b)
{
    int64_t x, y, product;
    if (a && b && bt_node_is_const(a, &x) && bt_node_is_const(b, &y) &&
        !bt_mul_int64(x, y, &product))
        return NULL;
    return bt_node_scalar(g, BT_SCALAR_MUL, a, b);
}

void cpu_strides(bt_graph *g, uint32_t rank, const bt_node *const *extents,
                 const bt_node **out)
{
    const bt_node *stride = bt_node_int(g, 1);
    for (uint32_t a = rank; a-- > 0;) {
        out[a] = stride;
        stride = cpu_times(g, stride, extents[a]);
    }
}

const bt_node *cpu_emit_loop(struct cpu_emitter *e, const bt_node *extent,
                             int is_parallel)
{
    const bt_node *index =
        extent ? bt_node_index(e->loops->graph, e->next, extent) : NULL;
    if (index && cpu_is_size(extent, 1))
        return index;
    bt_stmt *loop = index ? bt_stmt_add(e->loops, e->to, BT_STMT_FOR) : NULL;
    if (!loop)
        return NULL;
    loop->index = e->next++;
    loop->extent = extent;
    loop->is_parallel = (uint32_t)is_parallel;
    e->to = &loop->body;
    return index;
}

int cpu_emit_call(struct cpu_emitter *e, const char *callee, uint32_t naddress,
                  const struct cpu_address *addresses, uint32_t ninteger,
                  const bt_node *const *integers)
{
    bt_stmt *call = bt_stmt_add(e->loops, e->to, BT_STMT_CALL);
    bt_call_arg *args = BT_NEWS(e->loops->arena, bt_call_arg, naddress + ninteger);
    if (!call || !args)
        return 0;
    for (uint32_t i = 0; i < naddress; i++) {
        args[i] = (bt_call_arg){ 1, addresses[i].buffer, addresses[i].offset };
        if (!args[i].value)
            return 0;
    }
    for (uint32_t i = 0; i < ninteger; i++) {
        args[naddress + i].value = integers[i];
        if (!integers[i])
            return 0;
    }
    call->callee = callee;
    call->narg = naddress + ninteger;
    call->args = args;
    return 1;
}

/* ---- copies with halos ---- */

/* Elements of one copy of a window's axis: `count` from `lead` on are the array's, the
 * first of these its element `from`. */
struct span {
    const bt_node *lead, *count, *from;
};

/* `from` of no elements is within the array. */
static struct span span_of(bt_graph *g, const struct cpu_window *w, const bt_node *extent,
                           uint32_t class)
{
    const bt_node *zero = bt_node_int(g, 0);
    int64_t first = w->at + class * w->dilation % w->stride;
    int64_t lead = first < 0 ? bt_ceildiv_int64(-first, w->stride) : 0;
    const bt_node *left = bt_node_linear(g, -first, 1, &extent, (int64_t[]){ 1 });
    const bt_node *end =
        cpu_least(g, cpu_ceildiv(g, cpu_most(g, left, zero), w->stride), w->width);
    struct span span = { .lead = cpu_least(g, bt_node_int(g, lead), w->width) };
    span.count = cpu_most(g, cpu_minus(g, end, span.lead), zero);
    span.from = bt_node_select(
        g, bt_node_scalar(g, BT_SCALAR_LT, zero, span.count),
        bt_node_linear(g, first, 1, &span.lead, (int64_t[]){ w->stride }), zero);
    return span;
}

struct filling {
    struct cpu_emitter *e;
    const struct cpu_tiling *tiling;
    uint32_t packed;
    const bt_node *strides[CPU_AXES]; /* of the source */
    const bt_node *to, *from;
    struct span spans[CPU_WINDOWS];
};

static const char *const packs[] = { "pack.1", "pack.2", "pack.4", "pack.8" };

static const char *name_by_size(bt_dtype dtype, const char *const *names)
{
    uint32_t nbytes = BT_DTYPE_BITS(dtype) / 8;
    return names[nbytes == 1 ? 0 : nbytes == 2 ? 1 : nbytes == 4 ? 2 : 3];
}

/* The last two windows, or the last, as one call; `is_empty`: zeros alone. */
static int fill_plane(struct filling *f, int is_empty)
{
    static const char *const names[] = { "halo.1", "halo.2", "halo.4", "halo.8" };
    bt_graph *g = f->e->loops->graph;
    const struct cpu_tiling *p = f->tiling;
    uint32_t x = p->nwindow - 1;
    const bt_node *zero = bt_node_int(g, 0), *one = bt_node_int(g, 1);
    const struct cpu_window *wx = &p->windows[x], *wy = x ? wx - 1 : NULL;
    const struct span row = { zero, one, zero };
    const struct span *sx = &f->spans[x], *sy = x ? sx - 1 : &row;
    const bt_node *ystride = wy ? f->strides[wy->axis] : zero;
    const bt_node *xstride = f->strides[wx->axis];
    const bt_node *from = zero;
    if (!is_empty)
        from = cpu_along(g, cpu_along(g, f->from, sy->from, ystride), sx->from, xstride);
    const bt_node *integers[CPU_HALO_NINT] = {
        wy ? wy->width : one,
        wx->width,
        is_empty ? zero : sy->lead,
        is_empty ? zero : sy->count,
        sx->lead,
        sx->count,
        cpu_scaled(g, ystride, wy ? wy->stride : 0),
        cpu_scaled(g, xstride, wx->stride),
        bt_node_int(g, p->b->outside),
    };
    struct cpu_address addresses[] = { { f->packed, f->to }, { p->b->array, from } };
    return cpu_emit_call(f->e, name_by_size(p->b->dtype, names), 2, addresses,
                         CPU_HALO_NINT, integers);
}

/* 0 <= a - b */
static const bt_node *is_no_less(bt_graph *g, const bt_node *a, const bt_node *b)
{
    return bt_node_scalar(g, BT_SCALAR_LE, b, a);
}

/* Planes of a window before the last two: some are the array's, the others zeros. */
static int fill_depth(struct filling *f)
{
    const struct cpu_tiling *p = f->tiling;
    const struct cpu_window *w = &p->windows[0];
    const struct span *s = &f->spans[0];
    bt_graph *g = f->e->loops->graph;
    struct filling inner = *f, body;
    struct cpu_emitter at = *f->e;
    inner.e = &at;
    if (p->nwindow < 3)
        return fill_plane(f, 0);
    const bt_node *z = cpu_emit_loop(&at, w->width, 0), *stride = f->strides[w->axis];
    bt_stmt *test = z ? bt_stmt_add(at.loops, at.to, BT_STMT_IF) : NULL;
    if (!test)
        return 0;
    inner.to = cpu_along(g, f->to, z, w->step);
    test->condition =
        bt_node_and(g, is_no_less(g, z, s->lead),
                    bt_node_scalar(g, BT_SCALAR_LT, z, cpu_plus(g, s->lead, s->count)));
    body = inner;
    body.from =
        cpu_along(g, f->from,
                  cpu_along_int(g, s->from, cpu_minus(g, z, s->lead), w->stride), stride);
    at.to = &test->body;
    if (!test->condition || !fill_plane(&body, 0))
        return 0;
    at.to = &test->otherwise;
    return fill_plane(&inner, 1);
}

/* Copies of the windows from number i on. */
static int fill_copies(struct filling *f, uint32_t i)
{
    const struct cpu_tiling *p = f->tiling;
    bt_graph *g = f->e->loops->graph;
    if (i == p->nwindow || i == CPU_WINDOWS)
        return fill_depth(f);
    for (uint32_t k = 0; k < p->windows[i].nclass; k++) {
        struct filling copy = *f;
        copy.spans[i] = span_of(g, &p->windows[i], p->b->extents[p->windows[i].axis], k);
        copy.to = cpu_along_int(g, f->to, p->windows[i].copy, k);
        if (!fill_copies(&copy, i + 1))
            return 0;
    }
    return 1;
}

/* The longest axis that is copied as a whole, for threads; an open one, which may be 1, only
 * where no other has enough. */
static uint32_t longest_outer(const struct cpu_tiling *p)
{
    enum { ENOUGH = 16 };
    int64_t (*const counts[])(const bt_node *) = { cpu_iterations_at_least,
                                                   cpu_iterations };
    uint32_t longest = 0;
    int64_t most = -1;
    for (uint32_t i = 0; i < 2 && most < ENOUGH; i++) {
        most = -1;
        for (uint32_t a = 0; a < p->b->rank; a++) {
            if (p->outer[a] && counts[i](p->b->extents[a]) > most) {
                most = counts[i](p->b->extents[a]);
                longest = a;
            }
        }
    }
    return longest;
}

static int fill_halos(struct cpu_emitter *e, const struct cpu_tiling *p, uint32_t packed)
{
    bt_graph *g = e->loops->graph;
    struct filling f = { .e = e, .tiling = p, .packed = packed };
    const uint32_t longest = longest_outer(p);
    f.to = f.from = bt_node_int(g, 0);
    cpu_strides(g, p->b->rank, p->b->extents, f.strides);
    for (uint32_t i = 0; i < p->b->rank; i++) {
        uint32_t a = i == 0 ? longest : i <= longest ? i - 1 : i;
        if (!p->outer[a])
            continue;
        const bt_node *index = cpu_emit_loop(e, p->b->extents[a], i == 0);
        f.to = cpu_along(g, f.to, index, p->outer[a]);
        f.from = cpu_along(g, f.from, index, f.strides[a]);
        if (!f.to || !f.from)
            return 0;
    }
    return fill_copies(&f, 0);
}

/* ---- halos made where they are used ---- */

enum { NEAR_NBYTES = 256 * 1024 }; /* of the second cache, beside the block of sums */

int cpu_has_near_halo(bt_graph *g, const struct cpu_tiling *p,
                      const struct cpu_config *config, const struct cpu_blocks *b,
                      struct cpu_tiling *near)
{
    const uint32_t array = p->b->array;
    *near = *p;
    // a constant is packed once, when the program is compiled
    if (!p->is_line || p->b_kind != CPU_B_HALO || b->by_m || b->parallel < 0 ||
        (config->is_constant && array < g->ninput && config->is_constant[array]))
        return 0;
    for (uint32_t i = 0; i < p->nwindow; i++) {
        if (cpu_is_around(p, p->windows[i].n))
            return 0;
    }
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        for (uint32_t a = 0; a < p->b->rank; a++) {
            if (!p->outer[a] || !p->b->coefs[a][d])
                continue;
            if (!cpu_is_around(p, d))
                return 0;
            near->bs[d] = bt_node_int(g, 0);
        }
    }
    near->b_at = bt_node_int(g, 0);
    near->nelem = cpu_along_int(g, bt_node_int(g, p->tile->nr), p->windows[0].copy,
                                p->windows[0].nclass);
    const int64_t nelem = near->nelem ? bt_node_number(near->nelem) : -1;
    return nelem >= 0 && nelem <= NEAR_NBYTES / (BT_DTYPE_BITS(p->b->dtype) / 8);
}

int cpu_emit_near_halo(const struct cpu_emitter *at, const struct cpu_tiling *near,
                       const bt_node *const *values, uint32_t packed)
{
    struct cpu_emitter e = *at;
    bt_graph *g = e.loops->graph;
    const struct cpu_operand *o = near->b;
    struct filling f = { .e = &e, .tiling = near, .packed = packed };
    f.to = f.from = bt_node_int(g, 0);
    cpu_strides(g, o->rank, o->extents, f.strides);
    for (uint32_t a = 0; a < o->rank; a++) {
        const bt_node *place = near->outer[a] ? bt_node_int(g, o->at[a]) : f.to;
        for (uint32_t d = 0; near->outer[a] && d < near->view.ndim; d++) {
            if (o->coefs[a][d])
                place = cpu_along_int(g, place, values[d], o->coefs[a][d]);
        }
        f.from = cpu_along(g, f.from, place, f.strides[a]);
    }
    return f.from && fill_copies(&f, 0);
}

/* ---- copies of A ---- */

/* What follows only where A is not read outside along other axes than those of dim `but`. */
static int emit_if_inside(struct cpu_emitter *e, const struct cpu_tiling *p,
                          const bt_node *const *values, uint32_t but)
{
    const struct cpu_operand *o = p->a;
    bt_graph *g = e->loops->graph;
    for (uint32_t a = 0; a < o->rank; a++) {
        const bt_node *place = bt_node_int(g, o->at[a]);
        if (!o->guards[a] || o->coefs[a][but])
            continue;
        for (uint32_t d = 0; d < p->view.ndim; d++) {
            if (o->coefs[a][d])
                place = cpu_along_int(g, place, values[d], o->coefs[a][d]);
        }
        bt_stmt *test = place ? bt_stmt_add(e->loops, e->to, BT_STMT_IF) : NULL;
        if (!test)
            return 0;
        test->condition =
            bt_node_and(g, is_no_less(g, place, bt_node_int(g, 0)),
                        bt_node_scalar(g, BT_SCALAR_LT, place, o->extents[a]));
        if (!test->condition)
            return 0;
        e->to = &test->body;
    }
    return 1;
}

/* The longest reduced dim but that one, of which all iterations are done; -1: there is none. */
static int32_t longest_reduced(const struct cpu_tiling *p, uint32_t but)
{
    int32_t longest = -1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (dim->is_k && d != but && !(p->limited >> d & 1) &&
            (longest < 0 ||
             cpu_iterations(dim->extent) > cpu_iterations(p->view.dims[longest].extent)))
            longest = (int32_t)d;
    }
    return longest;
}

/* Terms are neighbours along the last reduced dim; a call takes these of all of another one. */
static int emit_rows(struct cpu_emitter *at, const struct cpu_tiling *p, uint32_t copy)
{
    struct cpu_emitter e = *at;
    bt_graph *g = e.loops->graph;
    const bt_node *zero = bt_node_int(g, 0), *one = bt_node_int(g, 1);
    const bt_node *to = zero, *from, *by_dim[CPU_DIMS], *values[CPU_DIMS] = { 0 };
    int has_loop = 0;
    uint32_t last = 0;
    for (uint32_t d = 0; d < p->view.ndim; d++)
        last = p->view.dims[d].is_k ? d : last;
    const int32_t other = longest_reduced(p, last);
    cpu_lay_direct(g, p, p->a, &from, by_dim);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (cpu_is_size(p->as[d], 0) || d == last || (int32_t)d == other)
            continue;
        values[d] = cpu_emit_loop(&e, p->view.dims[d].extent, !has_loop);
        has_loop = 1;
        to = cpu_along(g, to, values[d], p->as[d]);
        from = cpu_along(g, from, values[d], by_dim[d]);
        if (!to || !from)
            return 0;
    }
    const struct cpu_class terms = cpu_iterations_inside(
        g, p, values, last,
        &(struct cpu_class){ p->view.dims[last].extent, from, by_dim[last], to, one });
    const bt_node *integers[CPU_PACK_NINT] = {
        other < 0 ? one : p->view.dims[other].extent,
        terms.extent,
        terms.extent,
        other < 0 ? terms.extent : p->as[other],
        other < 0 ? zero : by_dim[other],
        terms.a,
    };
    struct cpu_address addresses[] = { { copy, terms.b_at },
                                       { p->a->array, terms.a_at } };
    return emit_if_inside(&e, p, values, last) &&
           cpu_emit_call(&e, name_by_size(p->a->dtype, packs), 2, addresses,
                         CPU_PACK_NINT, integers);
}

static int emit_margins(struct cpu_emitter *at, const struct cpu_tiling *p, uint32_t copy)
{
    static const char *const names[] = { "halo.1", "halo.2", "halo.4", "halo.8" };
    struct cpu_emitter e = *at;
    bt_graph *g = e.loops->graph;
    const struct cpu_operand *o = p->a;
    const bt_node *zero = bt_node_int(g, 0), *one = bt_node_int(g, 1);
    const struct cpu_margin row = { one, zero, one, zero, 1 },
                            *x = &p->margins[p->a_inner];
    const struct cpu_margin *y = p->a_inner ? x - 1 : &row;
    const bt_node *strides[CPU_AXES], *to_strides[CPU_AXES], *size = one;
    const bt_node *to = zero, *from = zero;
    int has_loop = 0;
    cpu_strides(g, o->rank, o->extents, strides);
    for (uint32_t a = o->rank; a-- > 0;) {
        to_strides[a] = size;
        size = cpu_times(g, size, p->margins[a].extent);
    }
    for (uint32_t a = 0; a + 1 < p->a_inner; a++) {
        const bt_node *index = cpu_emit_loop(&e, o->extents[a], !has_loop);
        has_loop |= !cpu_is_size(o->extents[a], 1);
        to = cpu_along(g, to, index, to_strides[a]);
        from = cpu_along(g, from, index, strides[a]);
        if (!to || !from)
            return 0;
    }
    const bt_node *inner = to_strides[p->a_inner];
    const bt_node *ystride = p->a_inner ? strides[p->a_inner - 1] : zero;
    from =
        cpu_along(g, cpu_along(g, from, x->from, strides[p->a_inner]), y->from, ystride);
    const bt_node *integers[CPU_HALO_NINT] = {
        y->extent,
        cpu_times(g, x->extent, inner),
        y->lead,
        y->count,
        cpu_times(g, x->lead, inner),
        cpu_times(g, x->count, inner),
        cpu_scaled(g, ystride, y->step),
        bt_node_int(g, x->step),
        bt_node_int(g, o->outside),
    };
    struct cpu_address addresses[] = { { copy, to },
                                       { o->array, cpu_at_element(g, o, from) } };
    return cpu_emit_call(&e, name_by_size(o->dtype, names), 2, addresses, CPU_HALO_NINT,
                         integers);
}

/* ---- panels and strips ---- */

enum { TERMS = 16 }; /* whose rows stay in the first cache while all panels take theirs */

/* A factor in panels along dim `of`, `width` of it in each, by these strides. */
struct panels {
    const struct cpu_operand *operand;
    uint32_t of;
    int64_t width;
    const bt_node *const *strides, *row; /* by dim; from one term to the next */
};

/* The dim of which a call packs all terms: the last reduced one; -1: none is. */
static int32_t terms_of(const struct cpu_tiling *p, const struct panels *to_be)
{
    int32_t k = -1;
    for (uint32_t d = 0; d < p->view.ndim; d++)
        k = p->view.dims[d].is_k && to_be->strides[d] == to_be->row ? (int32_t)d : k;
    return k;
}

/* Some of the terms, or all: how many, from which on. */
struct terms {
    const bt_node *first, *count;
};

/* A row of the array has a few elements for each of many panels, and rows push each other out of the
 * caches: some rows go into all panels, then the next ones.
 *
 *     for some terms, in parallel            for panels, in parallel
 *       for panels                             all terms of the panel
 *         these terms of the panel
 */
static int goes_by_terms(const struct cpu_tiling *p, const struct panels *to_be,
                         int32_t k, const bt_node *const *by_dim)
{
    const int64_t panels =
        bt_ceildiv_int64(cpu_iterations(p->view.dims[to_be->of].extent), to_be->width);
    return k >= 0 && cpu_number(by_dim[to_be->of]) == 1 && panels > 1 &&
           cpu_iterations(p->view.dims[k].extent) > TERMS &&
           cpu_number(by_dim[k]) >= 2 * to_be->width;
}

static int fill_panels(const struct cpu_emitter *at, const struct cpu_tiling *p,
                       const struct panels *to_be, uint32_t packed)
{
    struct cpu_emitter e = *at;
    bt_graph *g = e.loops->graph;
    const struct cpu_dim *n = &p->view.dims[to_be->of];
    const bt_node *const *strides = to_be->strides, *row = to_be->row;
    const bt_node *to = bt_node_int(g, 0), *one = bt_node_int(g, 1), *from,
                  *by_dim[CPU_DIMS];
    const int64_t nr = to_be->width;
    const int32_t k = terms_of(p, to_be);
    struct terms terms = { to, k < 0 ? one : p->view.dims[k].extent };
    cpu_lay_direct(g, p, to_be->operand, &from, by_dim);
    const int by_terms = goes_by_terms(p, to_be, k, by_dim);
    if (by_terms) {
        const bt_node *part = cpu_emit_loop(&e, cpu_ceildiv(g, terms.count, TERMS), 1);
        if (!part)
            return 0;
        terms = (struct terms){ cpu_scaled(g, part, TERMS),
                                cpu_least(g, bt_node_int(g, TERMS),
                                          cpu_along_int(g, terms.count, part, -TERMS)) };
    }
    const bt_node *panel = cpu_emit_loop(&e, cpu_ceildiv(g, n->extent, nr), !by_terms);
    if (!panel || !row)
        return 0;
    to = cpu_along(g, to, panel, cpu_scaled(g, strides[to_be->of], nr));
    from = cpu_along(g, from, panel, cpu_scaled(g, by_dim[to_be->of], nr));
    if (by_terms) {
        to = cpu_along(g, to, terms.first, row);
        from = cpu_along(g, from, terms.first, by_dim[k]);
    }
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (d == to_be->of || cpu_is_size(strides[d], 0) || (int32_t)d == k)
            continue;
        const bt_node *index = cpu_emit_loop(&e, p->view.dims[d].extent, 0);
        to = cpu_along(g, to, index, strides[d]);
        from = cpu_along(g, from, index, by_dim[d]);
        if (!to || !from)
            return 0;
    }
    const bt_node *width = bt_node_int(g, nr);
    const bt_node *integers[CPU_PACK_NINT] = {
        terms.count,
        cpu_least(g, width, cpu_along_int(g, n->extent, panel, -nr)),
        width,
        row,
        k < 0 ? bt_node_int(g, 0) : by_dim[k],
        by_dim[to_be->of],
    };
    struct cpu_address addresses[] = { { packed, to }, { to_be->operand->array, from } };
    return cpu_emit_call(&e, name_by_size(to_be->operand->dtype, packs), 2, addresses,
                         CPU_PACK_NINT, integers);
}

static int fill_b(const struct cpu_emitter *e, const struct cpu_tiling *p,
                  uint32_t packed)
{
    bt_graph *g = e->loops->graph;
    struct panels panels = { p->b, p->n, p->tile->nr, p->bs,
                             bt_node_int(g, p->tile->nr) };
    if (p->beside >= 0)
        panels.row = cpu_times(g, panels.row, p->view.dims[p->beside].extent);
    return fill_panels(e, p, &panels, packed);
}

static int fill_strips(const struct cpu_emitter *e, const struct cpu_tiling *p,
                       uint32_t copy)
{
    const struct panels strips = { p->a, (uint32_t)p->m, p->strip, p->as,
                                   bt_node_int(e->loops->graph, p->strip) };
    return fill_panels(e, p, &strips, copy);
}

int cpu_emit_copy(struct cpu_emitter *e, const struct cpu_tiling *p, uint32_t copy)
{
    return p->has_rows ? emit_rows(e, p, copy)
           : p->strip  ? fill_strips(e, p, copy)
                       : emit_margins(e, p, copy);
}

int cpu_emit_packing(struct cpu_emitter *e, const struct cpu_tiling *p, uint32_t packed)
{
    struct cpu_emitter inner = *e;
    return p->b_kind == CPU_B_HALO ? fill_halos(&inner, p, packed)
           : p->terms              ? cpu_emit_pair_panels(&inner, p, packed)
                                   : fill_b(&inner, p, packed);
}
