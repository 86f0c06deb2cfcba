/* The nests that fill a packed B, and what all nests of contractions are built with. */
#include "contract.h"

#include "primitives/halo.h"
#include "primitives/pack.h"

/* ---- building ---- */

const bt_node *cpu_emit_loop(struct cpu_emitter *e, int64_t extent, int is_parallel)
{
    const bt_node *turns = bt_node_int(e->loops->graph, extent);
    const bt_node *index = bt_node_index(e->loops->graph, e->next, turns);
    if (extent == 1)
        return index;
    bt_stmt *loop = index ? bt_stmt_add(e->loops, e->to, BT_STMT_FOR) : NULL;
    if (!loop)
        return NULL;
    loop->index = e->next++;
    loop->extent = turns;
    loop->is_parallel = (uint32_t)is_parallel;
    e->to = &loop->body;
    return index;
}

void cpu_sum_add(struct cpu_sum *sum, const bt_node *node, int64_t coef)
{
    if (coef == 0)
        return;
    if (sum->n >= CPU_TERMS) {
        sum->n = CPU_TERMS + 1; // there is no room for it: cpu_sum_node refuses
        return;
    }
    sum->atoms[sum->n] = node;
    sum->coefs[sum->n++] = coef;
}

const bt_node *cpu_sum_node(bt_loops *loops, const struct cpu_sum *sum)
{
    bt_graph *g = loops->graph;
    if (sum->n > CPU_TERMS && !g->status)
        g->status = bt_fail(loops->ctx, BT_ERR_UNSUPPORTED,
                            "%s: an address of a contraction has more than %d terms",
                            loops->name, CPU_TERMS);
    return sum->n > CPU_TERMS
               ? NULL
               : bt_node_linear(g, sum->constant, sum->n, sum->atoms, sum->coefs);
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
    int64_t lead, count, from;
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

static struct span span_of(const struct cpu_window *w, int64_t extent, uint32_t class)
{
    int64_t first = w->at + class * w->dilation % w->stride;
    int64_t lead = first < 0 ? ceil_div(-first, w->stride) : 0;
    int64_t end = extent > first ? ceil_div(extent - first, w->stride) : 0;
    struct span span = { lead < w->width ? lead : w->width, 0, 0 };
    end = end < w->width ? end : w->width;
    span.count = end > span.lead ? end - span.lead : 0;
    span.from = span.count ? first + span.lead * w->stride : 0;
    return span;
}

struct filling {
    struct cpu_emitter *e;
    const struct cpu_plan *plan;
    uint32_t packed;
    int64_t strides[CPU_AXES]; /* of the source */
    struct cpu_sum to, from;
    struct span spans[CPU_WINDOWS];
};

static const char *name_by_size(bt_dtype dtype, const char *const *names)
{
    uint32_t nbytes = BT_DTYPE_BITS(dtype) / 8;
    return names[nbytes == 1 ? 0 : nbytes == 2 ? 1 : nbytes == 4 ? 2 : 3];
}

/* The last two windows, or the last, as one call; `is_empty`: zeros alone. */
static int fill_plane(struct filling *f, int is_empty)
{
    static const char *const names[] = { "halo.1", "halo.2", "halo.4", "halo.8" };
    bt_loops *loops = f->e->loops;
    const struct cpu_plan *p = f->plan;
    uint32_t x = p->nwindow - 1;
    const struct cpu_window *wx = &p->windows[x], *wy = x ? wx - 1 : NULL;
    const struct span one = { 0, 1, 0 }, *sx = &f->spans[x], *sy = x ? sx - 1 : &one;
    int64_t ystride = wy ? f->strides[wy->axis] : 0, xstride = f->strides[wx->axis];
    struct cpu_sum from = { 0 };
    if (!is_empty && sx->count && sy->count) {
        from = f->from;
        from.constant += sy->from * ystride + sx->from * xstride;
    }
    int64_t values[CPU_HALO_NINT] = {
        wy ? wy->width : 1,
        wx->width,
        is_empty ? 0 : sy->lead,
        is_empty || !sx->count ? 0 : sy->count,
        sx->lead,
        sx->count,
        wy ? wy->stride * ystride : 0,
        wx->stride * xstride,
    };
    const bt_node *integers[CPU_HALO_NINT];
    for (uint32_t i = 0; i < CPU_HALO_NINT; i++)
        integers[i] = bt_node_int(loops->graph, values[i]);
    struct cpu_address addresses[] = { { f->packed, cpu_sum_node(loops, &f->to) },
                                       { p->b->array, cpu_sum_node(loops, &from) } };
    return cpu_emit_call(f->e, name_by_size(p->b->dtype, names), 2, addresses,
                         CPU_HALO_NINT, integers);
}

/* Planes of a window before the last two: some are the array's, the others zeros. */
static int fill_depth(struct filling *f)
{
    const struct cpu_plan *p = f->plan;
    const struct cpu_window *w = &p->windows[0];
    const struct span *s = &f->spans[0];
    bt_graph *g = f->e->loops->graph;
    struct filling inner = *f;
    struct cpu_emitter at = *f->e;
    inner.e = &at;
    if (p->nwindow < 3)
        return fill_plane(f, 0);
    const bt_node *z = cpu_emit_loop(&at, w->width, 0);
    bt_stmt *test = z && s->count ? bt_stmt_add(at.loops, at.to, BT_STMT_IF) : NULL;
    if (!z || (s->count && !test))
        return 0;
    cpu_sum_add(&inner.to, z, w->step);
    if (test) {
        struct cpu_sum low = { .constant = -s->lead }, high = { 0 };
        high.constant = s->lead + s->count - 1;
        cpu_sum_add(&low, z, 1);
        cpu_sum_add(&high, z, -1);
        const bt_node *zero = bt_node_int(g, 0);
        test->condition = bt_node_and(
            g, bt_node_scalar(g, BT_SCALAR_LE, zero, cpu_sum_node(at.loops, &low)),
            bt_node_scalar(g, BT_SCALAR_LE, zero, cpu_sum_node(at.loops, &high)));
        struct filling body = inner;
        int64_t stride = f->strides[w->axis];
        body.from.constant += (s->from - s->lead * w->stride) * stride;
        cpu_sum_add(&body.from, z, w->stride * stride);
        at.to = &test->body;
        if (!test->condition || !fill_plane(&body, 0))
            return 0;
        at.to = &test->otherwise;
    }
    return fill_plane(&inner, 1);
}

/* Copies of the windows from number i on. */
static int fill_copies(struct filling *f, uint32_t i)
{
    const struct cpu_plan *p = f->plan;
    if (i == p->nwindow || i == CPU_WINDOWS)
        return fill_depth(f);
    for (uint32_t k = 0; k < p->windows[i].nclass; k++) {
        struct filling copy = *f;
        copy.spans[i] = span_of(&p->windows[i], p->b->extents[p->windows[i].axis], k);
        copy.to.constant += k * p->windows[i].copy;
        if (!fill_copies(&copy, i + 1))
            return 0;
    }
    return 1;
}

static void source_strides(const struct cpu_operand *o, int64_t *out)
{
    int64_t stride = 1;
    for (uint32_t a = o->rank; a-- > 0;) {
        out[a] = stride;
        stride *= o->extents[a];
    }
}

static int fill_halos(struct cpu_emitter *e, const struct cpu_plan *p, uint32_t packed)
{
    struct filling f = { .e = e, .plan = p, .packed = packed };
    uint32_t longest = 0;
    source_strides(p->b, f.strides);
    for (uint32_t a = 0; a < p->b->rank; a++) {
        if (p->outer[a] &&
            (!p->outer[longest] || p->b->extents[a] > p->b->extents[longest]))
            longest = a;
    }
    // the longest other axis outermost, for threads
    for (uint32_t i = 0; i < p->b->rank; i++) {
        uint32_t a = i == 0 ? longest : i <= longest ? i - 1 : i;
        if (!p->outer[a])
            continue;
        const bt_node *index = cpu_emit_loop(e, p->b->extents[a], i == 0);
        if (!index)
            return 0;
        cpu_sum_add(&f.to, index, p->outer[a]);
        cpu_sum_add(&f.from, index, f.strides[a]);
    }
    return fill_copies(&f, 0);
}

/* ---- margins ---- */

int cpu_emit_margins(struct cpu_emitter *at, const struct cpu_plan *p, uint32_t copy)
{
    static const char *const names[] = { "halo.1", "halo.2", "halo.4", "halo.8" };
    struct cpu_emitter e = *at;
    const struct cpu_operand *o = p->a;
    const struct cpu_margin one = { 1, 0, 1, 0 }, *x = &p->margins[p->a_inner];
    const struct cpu_margin *y = p->a_inner ? x - 1 : &one;
    struct cpu_sum to = { 0 }, from = { 0 };
    int64_t strides[CPU_AXES], to_strides[CPU_AXES], size = 1;
    int is_empty = !x->count || !y->count;
    source_strides(o, strides);
    for (uint32_t a = o->rank; a-- > 0;) {
        to_strides[a] = size;
        size *= p->margins[a].extent;
    }
    for (uint32_t a = 0; a + 1 < p->a_inner; a++) {
        const bt_node *index = cpu_emit_loop(&e, o->extents[a], a == 0);
        if (!index)
            return 0;
        cpu_sum_add(&to, index, to_strides[a]);
        cpu_sum_add(&from, index, strides[a]);
    }
    int64_t inner = to_strides[p->a_inner];
    from.constant = is_empty ? 0 : x->from * strides[p->a_inner];
    if (p->a_inner && !is_empty)
        from.constant += y->from * strides[p->a_inner - 1];
    int64_t values[CPU_HALO_NINT] = {
        y->extent,
        x->extent * inner,
        is_empty ? 0 : y->lead,
        is_empty ? 0 : y->count,
        is_empty ? 0 : x->lead * inner,
        is_empty ? 0 : x->count * inner,
        p->a_inner ? strides[p->a_inner - 1] : 0,
        1,
    };
    const bt_node *integers[CPU_HALO_NINT];
    for (uint32_t i = 0; i < CPU_HALO_NINT; i++)
        integers[i] = bt_node_int(e.loops->graph, values[i]);
    struct cpu_address addresses[] = { { copy, cpu_sum_node(e.loops, &to) },
                                       { o->array, cpu_sum_node(e.loops, &from) } };
    return cpu_emit_call(&e, name_by_size(o->dtype, names), 2, addresses, CPU_HALO_NINT,
                         integers);
}

/* ---- panels ---- */

static int fill_panel(struct cpu_emitter *e, const struct cpu_plan *p, uint32_t packed,
                      const bt_node *panel, struct cpu_sum *to, struct cpu_sum *from,
                      const int64_t *by_dim, int32_t k)
{
    static const char *const names[] = { "pack.1", "pack.2", "pack.4", "pack.8" };
    bt_graph *g = e->loops->graph;
    const struct cpu_dim *n = &p->view.dims[p->n];
    struct cpu_sum left = { .constant = n->extent };
    cpu_sum_add(&left, panel, -(int64_t)p->tile->nr);
    const bt_node *width = bt_node_int(g, p->tile->nr);
    const bt_node *integers[CPU_PACK_NINT] = {
        bt_node_int(g, k < 0 ? 1 : p->view.dims[k].extent),
        n->extent % p->tile->nr
            ? bt_node_scalar(g, BT_SCALAR_MIN, width, cpu_sum_node(e->loops, &left))
            : width,
        width,
        bt_node_int(g, k < 0 ? 0 : by_dim[k]),
        bt_node_int(g, by_dim[p->n]),
    };
    struct cpu_address addresses[] = { { packed, cpu_sum_node(e->loops, to) },
                                       { p->b->array, cpu_sum_node(e->loops, from) } };
    return cpu_emit_call(e, name_by_size(p->b->dtype, names), 2, addresses, CPU_PACK_NINT,
                         integers);
}

static int fill_panels(struct cpu_emitter *e, const struct cpu_plan *p, uint32_t packed)
{
    int64_t strides[CPU_AXES], by_dim[CPU_DIMS] = { 0 };
    struct cpu_sum to = { 0 }, from = { 0 };
    int64_t nr = p->tile->nr;
    int32_t inner = -1;
    source_strides(p->b, strides);
    for (uint32_t a = 0; a < p->b->rank; a++) {
        from.constant += p->b->at[a] * strides[a];
        for (uint32_t d = 0; d < p->view.ndim; d++)
            by_dim[d] += p->b->coefs[a][d] * strides[a];
    }
    const bt_node *panel = cpu_emit_loop(e, (p->view.dims[p->n].extent + nr - 1) / nr, 1);
    if (!panel)
        return 0;
    cpu_sum_add(&to, panel, p->bs[p->n] * nr);
    cpu_sum_add(&from, panel, by_dim[p->n] * nr);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        // the last reduced dim is the call's
        if (dim->is_k && p->bs[d] == nr)
            inner = (int32_t)d;
        if (d == p->n || !p->bs[d] || (int32_t)d == inner)
            continue;
        const bt_node *index = cpu_emit_loop(e, dim->extent, 0);
        if (!index)
            return 0;
        cpu_sum_add(&to, index, p->bs[d]);
        cpu_sum_add(&from, index, by_dim[d]);
    }
    return fill_panel(e, p, packed, panel, &to, &from, by_dim, inner);
}

int cpu_emit_packing(struct cpu_emitter *e, const struct cpu_plan *p, uint32_t packed)
{
    struct cpu_emitter inner = *e;
    return p->b_kind == CPU_B_HALO ? fill_halos(&inner, p, packed)
                                   : fill_panels(&inner, p, packed);
}
