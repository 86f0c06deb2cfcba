/*
 * Derivatives of a case: by differences in float64; in fewer bits they are those of float64,
 * rounded; with dims in place of numbers they are the same.
 */
#include "gradient.h"

#include <math.h>
#include <string.h>

#include "gradient_point.h"

/* ---- the same by another program ---- */

/* Differences of elements, in units of the greatest. float16 ends at 65504. */
static double apart(const gradient_vectors *a, const gradient_vectors *b)
{
    double most = 0, largest = 1;
    for (uint32_t i = 0; i < CASE_MAX_LEAF; i++) {
        const bt_tensor *x = a->at[i] ? a->at[i] : b->at[i];
        for (int64_t k = 0; x && k < x->nelem; k++) {
            const double p = a->at[i] ? bt_tensor_get(a->at[i], k) : 0,
                         q = b->at[i] ? bt_tensor_get(b->at[i], k) : 0;
            if (!isfinite(q) ||
                (a->at[i] && a->at[i]->dtype == BT_FLOAT16 && fabs(q) > 30000))
                continue;
            if (!isfinite(p))
                return INFINITY;
            most = fmax(most, fabs(p - q));
            largest = fmax(largest, fabs(q));
        }
    }
    return most / largest;
}

/* The same numbers in the types of the leaves of others. */
static bt_status convert(struct gradient *to, int are_results,
                         const gradient_vectors *from, gradient_vectors *out)
{
    for (uint32_t i = 0; i < CASE_MAX_LEAF; i++) {
        const bt_tensor *t = from->at[i];
        const bt_dtype dtype = !t            ? 0
                               : are_results ? gradient_result(to, i)
                                             : to->c->leaves[i].dtype;
        if (!t || t->dtype == dtype) {
            out->at[i] = t ? bt_tensor_ref(t) : NULL;
            continue;
        }
        BT_TRY(bt_tensor_create(to->w->ctx, dtype, t->rank, t->dims, &out->at[i]));
        for (int64_t k = 0; k < t->nelem; k++)
            bt_tensor_set(out->at[i], k, bt_tensor_get(t, k));
    }
    return NULL;
}

/* Both programs at a point of the one, and in float64 of `wide`. */
static bt_status compare(struct gradient *g, struct gradient *wide, double bound,
                         const char *what)
{
    static const char *const names[] = { "vjp", "jvp" };
    struct gradient_point p = { 0 }, q = { 0 };
    bt_status status = gradient_draw(g->primal ? g : wide, 0, &p);
    if (!status && !p.why)
        status = convert(wide, 0, &p.x, &q.x);
    if (!status)
        status = convert(wide, 1, &p.v, &q.v);
    if (!status)
        status = convert(wide, 0, &p.u, &q.u);
    for (uint32_t i = 0; i < 2 && !status && !p.why && p.is_finite; i++) {
        gradient_vectors a = { 0 }, b = { 0 };
        status = gradient_run(g, i, p.x.at, p.v.at, p.u.at, a.at);
        if (!status)
            status = gradient_run(wide, i, q.x.at, q.v.at, q.u.at, b.at);
        const double is = status ? 0 : apart(&a, &b);
        if (is > bound)
            case_fault(g->w, g->c, "%s: %s is %.3g apart of that in float64", what,
                       names[i], is);
        gradient_drop(&a);
        gradient_drop(&b);
    }
    gradient_leave(&p);
    gradient_leave(&q);
    return status;
}

/* ---- cases ---- */

static const char *const programs[] = { "vjp", "jvp", "jvp of vjp" };

static int is_lost(bt_status status)
{
    return status && status->code == BT_ERR_MEMORY;
}

/* Where all floats are of fewer bits. */
static bt_status check_small(struct op_check *w, const struct call_case *c,
                             struct gradient *wide, struct gradient_tally *tally)
{
    static const bt_dtype dtypes[] = { BT_FLOAT32, BT_FLOAT16, BT_BFLOAT16 };
    for (uint32_t i = 0; i < BT_COUNT(dtypes); i++) {
        struct call_case small;
        struct gradient g;
        uint32_t program;
        BT_TRY(gradient_with_dtype(w, c, dtypes[i], &small));
        bt_status status = gradient_open(w, &small, 0, &g, &program);
        if (status && program != GRADIENT_NPROGRAM && !is_lost(status))
            case_fault(w, &small, "%s: %s", programs[program], case_message(w, status));
        if (!status) {
            status = compare(&g, wide, 8 * bt_dtype_epsilon(dtypes[i]), "rounded");
            if (status)
                case_fault(w, &small, "%s", case_message(w, status));
            gradient_close(&g);
            tally->nsmall++;
        }
        if (is_lost(status))
            return status;
    }
    return NULL;
}

static bt_status check_open(struct op_check *w, const struct call_case *c,
                            struct gradient *wide, struct gradient_tally *tally)
{
    struct gradient g;
    uint32_t program;
    bt_status status = gradient_open(w, c, 1, &g, &program);
    if (status) { // a graph of dims may not be possible, and then there is none of its adjoint
        if (program != GRADIENT_NPROGRAM && status->code != BT_ERR_UNSUPPORTED)
            case_fault(w, c, "with dims: %s: %s", programs[program],
                       case_message(w, status));
        else if (program != GRADIENT_NPROGRAM)
            tally->closed = case_message(w, status);
        return is_lost(status) ? status : NULL;
    }
    if (g.ndim) {
        status = compare(&g, wide, 1e-12, "with dims");
        if (status)
            case_fault(w, c, "with dims: %s", case_message(w, status));
        tally->nopen++;
    }
    gradient_close(&g);
    return is_lost(status) ? status : NULL;
}

/* A failure of the case's derivatives. */
static bt_status refused(struct op_check *w, const struct call_case *c, uint32_t program,
                         bt_status status, struct gradient_tally *tally)
{
    if (is_lost(status))
        return status;
    if (program == GRADIENT_VJP && status->code == BT_ERR_UNSUPPORTED)
        tally->none = case_message(w, status);
    else if (program != GRADIENT_NPROGRAM || !tally->may_refuse)
        case_fault(w, c, "%s: %s",
                   program < GRADIENT_NPROGRAM ? programs[program] : "call",
                   case_message(w, status));
    return NULL;
}

/* What contradicts itself, or the call. */
static void check_facet(struct op_check *w, const struct call_case *c,
                        const bt_gradient_facet *facet)
{
    if (c->narg < 64 && facet->blocked >> c->narg)
        case_fault(w, c, "the facet blocks an argument behind the last one, which is %u",
                   c->narg - 1);
    if (facet->none && (facet->vjp || facet->jvp))
        case_fault(w, c, "the facet says why there is no derivative, and has a hook");
    if ((facet->none && !*facet->none) || (facet->instead && !*facet->instead))
        case_fault(w, c, "the facet's reason is empty");
}

bt_status gradient_check(struct op_check *w, const struct call_case *c,
                         struct gradient_tally *tally)
{
    struct call_case wide;
    struct gradient g;
    const void *facet;
    uint32_t program;
    BT_TRY(bt_op_facet(w->ctx, w->op, "gradient", &facet));
    if (facet)
        check_facet(w, c, facet);
    BT_TRY(gradient_with_dtype(w, c, BT_FLOAT64, &wide));
    bt_status status = gradient_open(w, &wide, 0, &g, &program);
    const int is_wide = !status || program != GRADIENT_NPROGRAM;
    if (!is_wide && !is_lost(status)) // then as it is written
        status = gradient_open(w, c, 0, &g, &program);
    if (status)
        return refused(w, is_wide ? &wide : c, program, status, tally);
    tally->instead = facet ? ((const bt_gradient_facet *)facet)->instead : NULL;
    tally->is_alone |= g.is_unknown[GRADIENT_JVP];
    if (memchr(g.wants, 1, g.nin) && memchr(g.is_real, 1, g.nout)) {
        const uint32_t nfailed = tally->nfailed;
        tally->ncase++;
        status = gradient_laws(&g, tally);
        if (status && !is_lost(status))
            case_fault(w, g.c, "%s", case_message(w, status));
        const int goes_on = !status && is_wide && tally->nfailed == nfailed;
        if (goes_on)
            status = check_small(w, c, &g, tally);
        if (!status && goes_on)
            status = check_open(w, &wide, &g, tally);
    }
    gradient_close(&g);
    return is_lost(status) ? status : NULL;
}
