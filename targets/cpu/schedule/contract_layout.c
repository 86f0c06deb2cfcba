/*
 * Where the factors of a contraction lie in memory: as they are, in a copy with margins, in
 * windows, in panels or in rows. A layout is a start and strides by dim.
 */
#include "contract_layout.h"

#include "vectorise.h"

/* Places that are a page apart compete for the same lines of a cache, of which it has 8 or more. */
enum { PAGE_NBYTES = 4096, LINE_NBYTES = 64, FEW_ROWS = 8, DEPTH_IN_CACHE = 64 };

static int64_t nbytes_of(const struct cpu_operand *o, const bt_node *stride)
{
    return cpu_number(stride) * (int64_t)(BT_DTYPE_BITS(o->dtype) / 8);
}

static const bt_node *last_of(bt_graph *g, const struct cpu_dim *dim)
{
    return bt_node_linear(g, -1, 1, &dim->extent, (int64_t[]){ 1 });
}

static void clear(bt_graph *g, const bt_node **strides)
{
    for (uint32_t d = 0; d < CPU_DIMS; d++)
        strides[d] = bt_node_int(g, 0);
}

/* ---- as it is ---- */

/* Where it lies: the array's own strides, by dim. */
void cpu_lay_direct(bt_graph *g, const struct cpu_tiling *p, const struct cpu_operand *o,
                    const bt_node **at, const bt_node **by_dim)
{
    const bt_node *strides[CPU_AXES];
    cpu_strides(g, o->rank, o->extents, strides);
    *at = bt_node_int(g, 0);
    for (uint32_t a = 0; a < o->rank; a++)
        *at = cpu_along_int(g, *at, strides[a], o->at[a]);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        by_dim[d] = bt_node_int(g, 0);
        for (uint32_t a = 0; a < o->rank; a++)
            by_dim[d] = cpu_along_int(g, by_dim[d], strides[a], o->coefs[a][d]);
    }
}

/* ---- windows ---- */

/* Strides of the packed B: other axes, copies, windows. */
int cpu_lay_windows(bt_graph *g, struct cpu_tiling *p)
{
    const struct cpu_operand *o = p->b;
    const bt_node *size = bt_node_int(g, 1);
    clear(g, p->bs);
    for (uint32_t i = p->nwindow; i-- > 0;) {
        p->windows[i].step = size;
        p->bs[p->windows[i].n] = size;
        // a carry moves with the columns, or rows of them, of which it is a part
        for (uint32_t d = 0; d < p->view.ndim; d++) {
            if (p->view.dims[d].carries && o->coefs[p->windows[i].axis][d])
                p->bs[d] = size;
        }
        size = cpu_times(g, size, p->windows[i].width);
    }
    for (uint32_t i = p->nwindow; i-- > 0;) {
        p->windows[i].copy = size;
        size = cpu_times(g, size, bt_node_int(g, p->windows[i].nclass));
    }
    p->b_at = bt_node_int(g, 0);
    for (uint32_t a = o->rank; a-- > 0;) {
        int is_window = 0;
        for (uint32_t i = 0; i < p->nwindow; i++)
            is_window |= p->windows[i].axis == a;
        p->outer[a] = is_window ? NULL : size;
        if (is_window)
            continue;
        p->b_at = cpu_along_int(g, p->b_at, size, o->at[a]);
        for (uint32_t d = 0; d < p->view.ndim; d++)
            p->bs[d] = cpu_along_int(g, p->bs[d], size, o->coefs[a][d]);
        size = cpu_times(g, size, o->extents[a]);
    }
    // tiles may read on for as long as they are wide
    p->nelem = cpu_plus(g, size, bt_node_int(g, p->tile->nr));
    return p->nelem != NULL;
}

/* Taps that find their elements in one copy, at places that are affine. */
static void classify(bt_graph *g, struct cpu_tiling *p, const struct cpu_window *w)
{
    if (w->k < 0)
        return;
    uint32_t k = (uint32_t)w->k;
    int64_t ntap = bt_node_number(p->view.dims[k].extent);
    int64_t period = w->stride / bt_gcd_int64(w->stride, w->dilation);
    p->nclass[k] = w->nclass;
    for (uint32_t i = 0; i < w->nclass; i++) {
        p->classes[k][i] = (struct cpu_class){
            .extent = bt_node_int(g, (ntap - i + period - 1) / period),
            .a_at = cpu_scaled(g, p->as[k], i),
            .a = cpu_scaled(g, p->as[k], period),
            .b_at = cpu_along_int(g, cpu_scaled(g, w->copy, i), w->step,
                                  i * w->dilation / w->stride),
            .b = cpu_scaled(g, w->step, period * w->dilation / w->stride),
        };
    }
}

/* ---- margins ---- */

/* The axis of A that is to be longer, as a tile's rows push each other out of the nearest cache;
 * -1: they do not, or are no constant, of which a copy costs no time. */
int32_t cpu_crowded_axis(const bt_graph *g, const struct cpu_tiling *p,
                         const struct cpu_config *config)
{
    const struct cpu_operand *o = p->a;
    if (p->m < 0 || p->tile->mr <= FEW_ROWS || !cpu_is_constant(g, config, o))
        return -1;
    const int64_t nbytes = nbytes_of(o, p->as[p->m]);
    for (uint32_t a = 0; nbytes > 0 && nbytes % PAGE_NBYTES == 0 && a + 1 < o->rank;
         a++) {
        if (o->coefs[a][p->m] == 1 && cpu_iterations(o->extents[a]) > FEW_ROWS)
            return (int32_t)a + 1;
    }
    return -1;
}

/* A axis by axis as it is, and zeros where it is read outside; or behind axis `longer`, if that is
 * one, zeros that fill a line of a cache. 0: too many axes have some. */
int cpu_lay_margins(bt_graph *g, struct cpu_tiling *p, int32_t longer)
{
    const struct cpu_operand *o = p->a;
    const bt_node *size = bt_node_int(g, 1), *zero = bt_node_int(g, 0), *at[CPU_AXES];
    uint32_t nguarded = 0;
    for (uint32_t a = 0; a < o->rank; a++) {
        const bt_node *low = bt_node_int(g, o->at[a]), *end = cpu_plus(g, low, size);
        for (uint32_t d = 0; d < p->view.ndim && o->guards[a]; d++) {
            const bt_node **side = o->coefs[a][d] < 0 ? &low : &end;
            *side = cpu_along_int(g, *side, last_of(g, &p->view.dims[d]), o->coefs[a][d]);
        }
        low = o->guards[a] ? low : zero;
        end = o->guards[a] ? end : o->extents[a];
        struct cpu_margin *m = &p->margins[a];
        m->step = 1;
        m->extent = cpu_minus(g, end, low);
        m->from = cpu_most(g, low, zero);
        m->lead = cpu_least(g, cpu_most(g, cpu_scaled(g, low, -1), zero), m->extent);
        m->count =
            cpu_most(g, cpu_minus(g, cpu_least(g, end, o->extents[a]), m->from), zero);
        m->from = bt_node_select(g, bt_node_scalar(g, BT_SCALAR_LT, zero, m->count),
                                 m->from, zero);
        at[a] = cpu_minus(g, bt_node_int(g, o->at[a]), low);
        if (o->guards[a] || (int32_t)a == longer) {
            p->a_inner = a;
            nguarded++;
        }
    }
    if (longer >= 0) {
        const bt_node **extent = &p->margins[longer].extent;
        int64_t nbytes = (int64_t)(BT_DTYPE_BITS(o->dtype) / 8);
        for (uint32_t a = (uint32_t)longer + 1; a < o->rank; a++)
            nbytes *= cpu_number(o->extents[a]);
        *extent =
            cpu_plus(g, *extent, bt_node_int(g, bt_ceildiv_int64(LINE_NBYTES, nbytes)));
    }
    p->a_at = zero;
    clear(g, p->as);
    for (uint32_t a = o->rank; a-- > 0;) {
        p->a_at = cpu_along(g, p->a_at, at[a], size);
        for (uint32_t d = 0; d < p->view.ndim; d++)
            p->as[d] = cpu_along_int(g, p->as[d], size, o->coefs[a][d]);
        size = cpu_times(g, size, p->margins[a].extent);
    }
    p->a_nelem = size;
    if (!size)
        return 0;
    return nguarded == 1 || (nguarded == 2 && p->a_inner && o->guards[p->a_inner - 1]);
}

/* What the steps along an axis of A have in common, those of one iteration aside; 0: there are
 * none, or one goes back. */
static int64_t step_of_axis(const struct cpu_tiling *p, uint32_t a)
{
    int64_t step = 0;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (cpu_is_size(p->view.dims[d].extent, 1))
            continue;
        if (p->a->coefs[a][d] < 0)
            return 0;
        step = bt_gcd_int64(step, p->a->coefs[a][d]);
    }
    return step;
}

/* Whether tiles of a row of images of so many places have few empty rows. */
static int fills_tiles(const struct cpu_tiling *p, int64_t width)
{
    const int64_t all = bt_ceildiv_int64(width, p->tile->mr) * p->tile->mr;
    return 5 * width > 4 * all;
}

/* Of an A of images that are read in steps, what is read, side by side: all rows of it make one
 * then, which fills tiles where a row does not. 0: it is not so. */
int cpu_lay_steps(bt_graph *g, struct cpu_tiling *p)
{
    const struct cpu_operand *o = p->a;
    const bt_node *size = bt_node_int(g, 1), *zero = bt_node_int(g, 0);
    const int64_t width = cpu_number(p->view.dims[p->m].extent);
    if (p->terms || cpu_is_guarded(o) || o->rank < 2 || width < 1 ||
        fills_tiles(p, width) || step_of_axis(p, o->rank - 1) < 2 ||
        step_of_axis(p, o->rank - 2) < 1 || o->at[o->rank - 1] < 0 ||
        o->at[o->rank - 2] < 0)
        return 0;
    p->a_at = zero;
    clear(g, p->as);
    for (uint32_t a = o->rank; a-- > 0;) {
        const int is_stepped = a + 2 >= o->rank;
        const int64_t step = is_stepped ? step_of_axis(p, a) : 1;
        const bt_node *count = is_stepped ? bt_node_int(g, 1) : o->extents[a];
        if (!is_stepped)
            p->a_at = cpu_along_int(g, p->a_at, size, o->at[a]);
        for (uint32_t d = 0; d < p->view.ndim; d++) {
            const int64_t coef = o->coefs[a][d] / step;
            p->as[d] = cpu_along_int(g, p->as[d], size, coef);
            if (is_stepped)
                count = cpu_along_int(g, count, last_of(g, &p->view.dims[d]), coef);
        }
        p->margins[a] = (struct cpu_margin){
            .extent = count,
            .lead = zero,
            .count = count,
            .from = bt_node_int(g, is_stepped ? o->at[a] : 0),
            .step = step,
        };
        size = cpu_times(g, size, count);
    }
    p->a_inner = o->rank - 1;
    p->a_nelem = size;
    return size != NULL;
}

/* ---- panels ---- */

/* Strides of B in panels [other dims][panel][k ...][beside][columns]. */
int cpu_lay_panels(bt_graph *g, struct cpu_tiling *p)
{
    const bt_node *nr = bt_node_int(g, p->tile->nr);
    const int has_beside = p->beside >= 0 && cpu_is_in(p->b, (uint32_t)p->beside);
    const bt_node *depth =
        has_beside ? p->view.dims[p->beside].extent : bt_node_int(g, 1);
    clear(g, p->bs);
    for (uint32_t d = p->view.ndim; d-- > 0;) {
        if (!p->view.dims[d].is_k)
            continue;
        p->bs[d] = cpu_times(g, depth, nr);
        depth = cpu_times(g, depth, p->view.dims[d].extent);
    }
    p->bs[p->n] = depth; // a panel is as many columns as it is wide
    const bt_node *size =
        cpu_times(g, cpu_times(g, depth, nr),
                  cpu_ceildiv(g, p->view.dims[p->n].extent, p->tile->nr));
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].is_k || d == p->n || !cpu_is_in(p->b, d))
            continue;
        p->bs[d] = (int32_t)d == p->beside ? nr : size;
        if ((int32_t)d != p->beside)
            size = cpu_times(g, size, p->view.dims[d].extent);
    }
    p->b_at = bt_node_int(g, 0);
    p->nelem = size;
    return p->nelem != NULL;
}

/* ---- rows ---- */

/* Strides of A in rows [other dims][rows][k ...], which are no multiples of a page apart. */
const bt_node *cpu_lay_rows(bt_graph *g, struct cpu_tiling *p)
{
    const bt_node *size = bt_node_int(g, 1);
    clear(g, p->as);
    for (uint32_t d = p->view.ndim; d-- > 0;) {
        if (!p->view.dims[d].is_k)
            continue;
        p->as[d] = size;
        size = cpu_times(g, size, p->view.dims[d].extent);
    }
    if (size && nbytes_of(p->a, size) % PAGE_NBYTES == 0)
        size = cpu_plus(g, size, bt_node_int(g, LINE_NBYTES / 4));
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].is_k || !cpu_is_in(p->a, d))
            continue;
        p->as[d] = size;
        size = cpu_times(g, size, p->view.dims[d].extent);
    }
    p->a_at = bt_node_int(g, 0);
    return size;
}

/* ---- strips ---- */

int cpu_lay_strips(bt_graph *g, struct cpu_tiling *p)
{
    const int64_t nrow = bt_node_number(p->view.dims[p->m].extent);
    p->strip = cpu_rows_of_tile(nrow, p->tile->mr);
    const bt_node *depth = bt_node_int(g, 1);
    clear(g, p->as);
    for (uint32_t d = p->view.ndim; d-- > 0;) {
        if (!p->view.dims[d].is_k)
            continue;
        p->as[d] = cpu_scaled(g, depth, p->strip);
        depth = cpu_times(g, depth, p->view.dims[d].extent);
    }
    p->as[p->m] = depth; // a strip is as many rows as it is wide
    const bt_node *size =
        cpu_scaled(g, depth, bt_ceildiv_int64(nrow, p->strip) * p->strip);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].is_k || (int32_t)d == p->m || !cpu_is_in(p->a, d))
            continue;
        p->as[d] = size;
        size = cpu_times(g, size, p->view.dims[d].extent);
    }
    p->a_at = bt_node_int(g, 0);
    p->a_nelem = size;
    return size != NULL;
}

/* ---- all ---- */

void cpu_lay_reduced(bt_graph *g, struct cpu_tiling *p)
{
    const bt_node *zero = bt_node_int(g, 0);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        p->nclass[d] = 1;
        p->classes[d][0] = (struct cpu_class){ .extent = p->view.dims[d].extent,
                                               .a_at = zero,
                                               .a = p->as[d],
                                               .b_at = zero,
                                               .b = p->bs[d] };
    }
    for (uint32_t i = 0; i < p->nwindow; i++)
        classify(g, p, &p->windows[i]);
}

/* The iterations i with  0 <= below + step * i  and  step * i <= above. */
struct cpu_class cpu_iterations_inside(bt_graph *g, const struct cpu_tiling *p,
                                       const bt_node *const *values, uint32_t d,
                                       const struct cpu_class *all)
{
    const struct cpu_operand *o = p->a;
    const bt_node *zero = bt_node_int(g, 0);
    struct cpu_class inside = *all;
    uint32_t a = 0;
    if (!(p->limited >> d & 1))
        return inside;
    while (!o->guards[a] || !o->coefs[a][d])
        a++;
    const int64_t coef = o->coefs[a][d], step = coef < 0 ? -coef : coef;
    const bt_node *first = bt_node_int(g, o->at[a]);
    for (uint32_t e = 0; e < p->view.ndim; e++) {
        if (e != d && o->coefs[a][e])
            first = cpu_along_int(g, first, values[e], o->coefs[a][e]);
    }
    const bt_node *behind =
        cpu_along_int(g, cpu_minus(g, o->extents[a], bt_node_int(g, 1)), first, -1);
    const bt_node *below = coef < 0 ? behind : first, *above = coef < 0 ? first : behind;
    const bt_node *from =
        cpu_ceildiv(g, cpu_most(g, zero, cpu_minus(g, zero, below)), step);
    const bt_node *end =
        bt_node_scalar(g, BT_SCALAR_FLOORDIV,
                       cpu_most(g, zero, cpu_plus(g, above, bt_node_int(g, step))),
                       bt_node_int(g, step));
    inside.extent = cpu_most(g, zero, cpu_minus(g, cpu_least(g, end, all->extent), from));
    inside.a_at = cpu_along(g, all->a_at, from, all->a);
    inside.b_at = cpu_along(g, all->b_at, from, all->b);
    return inside;
}

/* Those at one distance from each other within pages share so many places less than elements side
 * by side have. */
int cpu_crowds_cache(const struct cpu_tiling *p, const struct cpu_operand *o,
                     const bt_node *const *strides)
{
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const int64_t nbytes = nbytes_of(o, strides[d]);
        if (!p->view.dims[d].is_k || nbytes <= 0)
            continue;
        const int64_t nplace = PAGE_NBYTES / bt_gcd_int64(nbytes, PAGE_NBYTES);
        if (cpu_iterations(p->view.dims[d].extent) > DEPTH_IN_CACHE * nplace)
            return 1;
    }
    return 0;
}

int cpu_lay_beside(bt_graph *g, struct cpu_tiling *p, uint32_t d)
{
    p->beside = (int32_t)d;
    if (!cpu_lay_panels(g, p))
        return 0;
    cpu_lay_reduced(g, p);
    return !g->status;
}
