/*
 * What must hold of a call's derivatives at random points, for random adjoints v of its results
 * and tangents u and w of its arguments.
 *     vjp     <vjp v, u> is the difference of <v, f> along u; by the tangent where there is one
 *     jvp     it is that of f, and <v, jvp u> == <vjp v, u>
 *     second  jvp of vjp v along u is the difference of vjp v; <w, H u> == <u, H w>
 *     parts   one adjoint, one seed and one tangent alone give what they do beside others
 * In float64, where the operator takes it.
 */
#include <math.h>
#include <string.h>

#include "gradient_part.h"

/* How differences are taken, by the least exact type that there is: the error of a step with
 * that of half its length is of its fourth power. */
struct precision {
    double step, relative, noise, identity;
};
static const struct precision by_float64 = { 0x1p-13, 1e-7, 1e-11, 1e-12 },
                              by_float32 = { 0x1p-5, 2e-3, 1e-4, 1e-5 },
                              // there are no differences
    by_less = { 0, 0, 0, 0.1 }, by_itself = { 0, 0, 0, 1e-5 };

/* Arguments of so many elements are moved one by one, others along directions. Points of kinks
 * are drawn again. */
enum { MAX_UNIT = 64, NDIRECTION = 8, NTRY = 5 };

struct law {
    struct gradient *g;
    const struct precision *precision;
    struct gradient_point point;
    gradient_vectors bar; /* vjp v */
    uint32_t alone;       /* the leaf of the arguments that is moved; nin: all are */
    const char *fault;
    int is_kink; /* or what is beside the point has no value */
};

/* *size: the sum of its terms' sizes. */
static double dot(const gradient_vectors *a, const gradient_vectors *b, double *size)
{
    double sum = 0;
    for (uint32_t i = 0; i < CASE_MAX_LEAF; i++) {
        for (int64_t k = 0; a->at[i] && b->at[i] && k < a->at[i]->nelem; k++) {
            const double term = bt_tensor_get(a->at[i], k) * bt_tensor_get(b->at[i], k);
            sum += term;
            *size += fabs(term);
        }
    }
    return sum;
}

/* "the adjoint of input 1 (right) comes to", of what is moved. */
static const char *adjoint_words(const struct law *l)
{
    if (l->alone == l->g->nin)
        return "the adjoints of all inputs together come to";
    return gradient_words(l->g, "the adjoint of %s%s comes to",
                          gradient_input_words(l->g, l->alone),
                          l->bar.at[l->alone] ? "" : ", which is not given,");
}

/* ---- differences ---- */

/* x + t*u; tensors that are not moved are those of x. */
static bt_status move(bt_ctx *ctx, const gradient_vectors *x, const gradient_vectors *u,
                      double t, gradient_vectors *out)
{
    for (uint32_t i = 0; i < CASE_MAX_LEAF; i++) {
        const bt_tensor *from = x->at[i];
        if (!from || !u->at[i]) {
            out->at[i] = from ? bt_tensor_ref(from) : NULL;
            continue;
        }
        BT_TRY(bt_tensor_create(ctx, from->dtype, from->rank, from->dims, &out->at[i]));
        for (int64_t k = 0; k < from->nelem; k++)
            bt_tensor_set(out->at[i], k,
                          bt_tensor_get(from, k) + t * bt_tensor_get(u->at[i], k));
    }
    return NULL;
}

/* f(x + t*u), or vjp v there. */
static bt_status value_at(struct law *l, int is_vjp, const gradient_vectors *u, double t,
                          gradient_vectors *out)
{
    struct gradient *g = l->g;
    gradient_vectors x = { 0 };
    bt_status status = move(g->w->ctx, &l->point.x, u, t, &x);
    if (!status)
        status = is_vjp
                     ? gradient_run(g, GRADIENT_VJP, x.at, l->point.v.at, NULL, out->at)
                     : bt_compute_run(g->w->ctx, g->primal, g->nin,
                                      (const bt_tensor *const *)x.at, out->at);
    gradient_drop(&x);
    return status;
}

/* The derivative of one element; `at`: at -1, -1/2, 0, 1/2 and 1 steps. At a kink second
 * differences do not get smaller as the step does. */
static double difference(const struct precision *by, const double *at, int *is_kink,
                         double *bound)
{
    const double whole = (at[4] - at[0]) / (2 * by->step),
                 half = (at[3] - at[1]) / by->step;
    const double bend = (at[4] - 2 * at[2] + at[0]) / by->step,
                 half_bend = (at[3] - 2 * at[2] + at[1]) / by->step * 2;
    *bound = by->relative * (fabs(whole) + fabs(half)) +
             by->noise * (1 + fabs(at[2]) + fabs(at[0]));
    *is_kink = !(fabs(bend - 2 * half_bend) <= *bound);
    return (4 * half - whole) / 3;
}

/* Of what is flat, a derivative of a step is often meant. */
static const char *flat_hint(double want)
{
    return want == 0 ? ": what is not the derivative on purpose, as one straight through "
                       "a step, says why in `.instead`"
                     : "";
}

static void compare_leaf(struct law *l, const char *what, uint32_t leaf,
                         const gradient_vectors *f, const bt_tensor *got)
{
    for (int64_t k = 0; k < f[0].at[leaf]->nelem && !l->is_kink; k++) {
        double values[5], bound;
        int is_kink;
        for (int s = 0; s < 5; s++)
            values[s] = bt_tensor_get(f[s].at[leaf], k);
        const double want = difference(l->precision, values, &is_kink, &bound),
                     is = got ? bt_tensor_get(got, k) : 0;
        if (l->fault || fabs(is - want) <= bound)
            continue;
        l->is_kink |= is_kink;
        if (is_kink)
            continue;
        l->fault =
            gradient_words(l->g, "%s %u, element %lld, is %.9g, by differences %.9g%s",
                           what, leaf, (long long)k, is, want, flat_hint(want));
    }
}

/* Differences of f or vjp v along u, element by element, compared with `got`. */
static bt_status compare(struct law *l, int is_vjp, const gradient_vectors *u,
                         const char *what, const gradient_vectors *got)
{
    static const double at[] = { -1, -0.5, 0, 0.5, 1 };
    const uint32_t n = is_vjp ? l->g->nin : l->g->nout;
    const uint8_t *flags = is_vjp ? l->g->wants : l->g->is_real;
    gradient_vectors f[5] = { 0 };
    bt_status status = NULL;
    if (l->precision->step == 0)
        return NULL;
    for (int i = 0; i < 5 && !status; i++)
        status = value_at(l, is_vjp, u, at[i] * l->precision->step, &f[i]);
    for (uint32_t i = 0; i < n && !status; i++) {
        if (!flags[i] || !f[0].at[i])
            continue;
        for (int s = 1; s < 5; s++)
            l->is_kink |= f[s].at[i]->nelem != f[0].at[i]->nelem;
        compare_leaf(l, what, i, f, got->at[i]);
    }
    for (int i = 0; i < 5; i++)
        gradient_drop(&f[i]);
    if (status && status->code == BT_ERR_RUNTIME) {
        l->is_kink = 1;
        status = NULL;
    }
    return status;
}

/* ---- along one direction ---- */

static int agree(const struct law *l, double a, double b, double size)
{
    return l->fault || fabs(a - b) <= l->precision->identity * (size + 1);
}

static bt_status check_first(struct law *l, gradient_vectors *u)
{
    gradient_vectors tangent = { 0 };
    double size = 0;
    bt_status status =
        gradient_run(l->g, GRADIENT_JVP, l->point.x.at, NULL, u->at, tangent.at);
    if (!status)
        status = compare(l, 0, u, "jvp: the tangent of result", &tangent);
    if (!status && !l->is_kink) {
        const double forward = dot(&l->point.v, &tangent, &size),
                     back = dot(&l->bar, u, &size);
        if (!agree(l, forward, back, size))
            l->fault = gradient_words(
                l->g,
                "vjp: along a direction %s %.15g, expected %.15g, as tangents "
                "of results do; where the facet has no jvp, these follow from "
                "the formula: a vjp that is not its derivative needs a jvp "
                "that agrees%s",
                adjoint_words(l), back, forward,
                forward == 0 ? ", and says why in `.instead`" : "");
    }
    gradient_drop(&tangent);
    return status;
}

/* Where there is no tangent: <vjp v, u> against differences of <v, f> along u. */
static bt_status check_alone(struct law *l, const gradient_vectors *u)
{
    double at[5] = { 0 }, size = 0, bound;
    int is_kink;
    const double is = dot(&l->bar, u, &size);
    bt_status status = NULL;
    for (int i = 0; i < 5 && !status && !l->is_kink; i++) {
        gradient_vectors f = { 0 };
        status = value_at(l, 0, u, (i - 2) / 2.0 * l->precision->step, &f);
        if (status && status->code == BT_ERR_RUNTIME) {
            l->is_kink = 1;
            status = NULL;
        }
        at[i] = dot(&l->point.v, &f, &size);
        gradient_drop(&f);
    }
    if (status || l->is_kink || l->precision->step == 0)
        return status;
    const double want = difference(l->precision, at, &is_kink, &bound);
    if (l->fault || fabs(is - want) <= bound + l->precision->noise * size)
        return NULL;
    l->is_kink = is_kink;
    if (!is_kink)
        l->fault =
            gradient_words(l->g, "vjp: along a direction %s %.9g, by differences %.9g%s",
                           adjoint_words(l), is, want, flat_hint(want));
    return NULL;
}

static bt_status check_second(struct law *l, gradient_vectors *u, gradient_vectors *w)
{
    gradient_vectors hu = { 0 }, hw = { 0 };
    bt_tensor *const *x = l->point.x.at, *const *v = l->point.v.at;
    double size = 0;
    bt_status status = gradient_run(l->g, GRADIENT_SECOND, x, v, u->at, hu.at);
    if (!status)
        status = gradient_run(l->g, GRADIENT_SECOND, x, v, w->at, hw.at);
    if (!status)
        status = compare(l, 1, u, "jvp of vjp: the tangent of the adjoint of input", &hu);
    if (!status && !l->is_kink) {
        const double a = dot(w, &hu, &size), b = dot(u, &hw, &size);
        if (!agree(l, a, b, size))
            l->fault =
                gradient_words(l->g,
                               "jvp of vjp: second derivatives along two directions are "
                               "%.15g and, the other way round, %.15g",
                               a, b);
    }
    gradient_drop(&hu);
    gradient_drop(&hw);
    return status;
}

/* Direction number n. Where elements are few it moves one of them; else one leaf, and those
 * behind the last leaf move all. */
static bt_status direction(struct law *l, int64_t n, int is_unit, gradient_vectors *u)
{
    const struct gradient *g = l->g;
    const gradient_vectors *x = &l->point.x;
    BT_TRY(gradient_random_like(g->w->ctx, g->nin, g->wants, x, 7 + (uint64_t)n, u));
    for (l->alone = 0; l->alone < g->nin; l->alone++) {
        const int64_t nown = !g->wants[l->alone] ? 0
                             : is_unit           ? x->at[l->alone]->nelem
                                                 : 1;
        if (n < nown)
            break;
        n -= nown;
    }
    for (uint32_t i = 0; i < g->nin && l->alone < g->nin; i++) {
        for (int64_t k = 0; g->wants[i] && k < x->at[i]->nelem; k++) {
            if (is_unit || i != l->alone)
                bt_tensor_set(u->at[i], k, i == l->alone && k == n);
        }
    }
    return NULL;
}

/* The first derivatives before the second: where those are wrong, these disagree as well. */
static bt_status check_directions(struct law *l)
{
    struct gradient *g = l->g;
    const gradient_vectors *x = &l->point.x;
    gradient_vectors u = { 0 };
    int64_t nelem = 0, nleaf = 0;
    for (uint32_t i = 0; i < g->nin; i++) {
        nelem += g->wants[i] ? x->at[i]->nelem : 0;
        nleaf += g->wants[i];
    }
    const int is_unit = nelem <= MAX_UNIT;
    const int64_t n = is_unit ? nelem : nleaf + NDIRECTION;
    bt_status status = NULL;
    for (int64_t i = 0; i < n && !status && !l->is_kink && !l->fault; i++) {
        status = direction(l, i, is_unit, &u);
        if (!status)
            status =
                g->is_unknown[GRADIENT_JVP] ? check_alone(l, &u) : check_first(l, &u);
        gradient_drop(&u);
    }
    if (status || !n || l->is_kink || l->fault || g->is_unknown[GRADIENT_SECOND])
        return status;
    status = gradient_random_like(g->w->ctx, g->nin, g->wants, x, 7, &u);
    if (!status)
        status = check_second(l, &u, &l->point.u);
    gradient_drop(&u);
    return status;
}

/* ---- points ---- */

static const struct precision *precision_of(const struct gradient *g)
{
    uint32_t bits = 64;
    for (uint32_t i = 0; i < g->nin; i++) {
        if (g->wants[i] && BT_DTYPE_BITS(g->c->leaves[i].dtype) < bits)
            bits = BT_DTYPE_BITS(g->c->leaves[i].dtype);
    }
    for (uint32_t i = 0; i < g->nout; i++) {
        if (g->is_real[i] && BT_DTYPE_BITS(gradient_result(g, i)) < bits)
            bits = BT_DTYPE_BITS(gradient_result(g, i));
    }
    return bits == 64 ? &by_float64 : bits == 32 ? &by_float32 : &by_less;
}

/* What is rounded inside of a formula is not known better than that. */
static bt_status look_inside(struct law *l)
{
    bt_text text;
    bt_text_init(&text, l->g->w->arena);
    if (l->precision != &by_float64 || !bt_op_has_formula(l->g->w->op))
        return NULL;
    BT_TRY(bt_compute_print(l->g->w->ctx, l->g->primal, l->g->nin,
                            (const bt_tensor *const *)l->point.x.at, &text));
    if (strstr(bt_text_get(&text), "float32"))
        l->precision = &by_float32;
    return NULL;
}

static bt_status check_point(struct law *l, uint64_t number)
{
    BT_TRY(gradient_draw(l->g, number, &l->point));
    l->is_kink = !l->point.why && !l->point.is_finite;
    if (l->is_kink || l->point.why)
        return NULL;
    BT_TRY(look_inside(l));
    BT_TRY(
        gradient_run(l->g, GRADIENT_VJP, l->point.x.at, l->point.v.at, NULL, l->bar.at));
    BT_TRY(check_directions(l));
    if (l->is_kink || l->fault)
        return NULL;
    return gradient_parts(l->g, &l->point, &l->bar,
                          fmax(l->precision->noise, l->precision->identity), &l->fault);
}

/* A made case may have no value, or be smooth nowhere: the deviation of one element. */
static void note(struct law *l, uint32_t npoint, uint32_t nkink,
                 struct gradient_tally *tally)
{
    const int is_none = l->point.why || l->is_kink;
    if (is_none && tally->may_refuse) {
        tally->nfailed++;
        return;
    }
    tally->npoint += npoint;
    tally->nredrawn += nkink;
    if (l->point.why)
        case_fault(l->g->w, l->g->c, "%s", case_message(l->g->w, l->point.why));
    else if (l->is_kink)
        case_fault(l->g->w, l->g->c,
                   "it has no derivative at %d random points; where its facet gives "
                   "something else on purpose, `instead` says why",
                   NTRY);
    else if (l->fault)
        case_fault(l->g->w, l->g->c, "%s", l->fault);
}

/* Elements of floats among arguments and results: without, there is nothing to compare. */
static int has_elements(const struct law *l)
{
    int64_t nin = 0, nout = 0;
    for (uint32_t i = 0; i < l->g->nin; i++)
        nin += l->g->wants[i] && l->point.x.at[i] ? l->point.x.at[i]->nelem : 0;
    for (uint32_t i = 0; i < l->g->nout; i++)
        nout += l->g->is_real[i] && l->point.y.at[i] ? l->point.y.at[i]->nelem : 0;
    return nin && nout;
}

bt_status gradient_laws(struct gradient *g, struct gradient_tally *tally)
{
    struct law l = { .g = g,
                     .precision = tally->instead ? &by_itself : precision_of(g),
                     .is_kink = 1 };
    uint32_t npoint = 0, nkink = 0;
    int is_empty = 0;
    bt_status status = NULL;
    while (npoint < NTRY && !status && l.is_kink) {
        status = check_point(&l, npoint++);
        nkink += l.is_kink && l.point.is_finite;
        is_empty = !l.point.why && !has_elements(&l);
        gradient_leave(&l.point);
        gradient_drop(&l.bar);
    }
    if (!status)
        note(&l, npoint, nkink, tally);
    tally->nempty += (uint32_t)is_empty;
    return status;
}
