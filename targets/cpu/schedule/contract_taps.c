/*
 * Taps that no place has: of an image of one place, all of a window of 3 x 3 but the one in the middle
 * find zeros.
 *
 *     sum(c, r in 3: x[c, p + r - 1] * w[o, c, r] else 0), p in 1  ->  sum(c: x[c, p] * w[o, c, 1])
 *
 * They would be packed and multiplied as others are. Sizes that are open leave them in.
 */
#include "contract.h"

#include "vectorise.h"

#include <string.h>

/* Numbers from first to last. */
struct range {
    int64_t first, last;
};

/* Places along the axis that others than dim `but` give; 0: they are not known. */
static int places_of(const struct cpu_contraction *c, const struct cpu_operand *o,
                     uint32_t a, uint32_t but, struct range *out)
{
    *out = (struct range){ o->at[a], o->at[a] };
    for (uint32_t d = 0; d < c->ndim; d++) {
        const int64_t extent = bt_node_number(c->dims[d].extent);
        int64_t way, *end = o->coefs[a][d] < 0 ? &out->first : &out->last;
        if (!o->coefs[a][d] || d == but)
            continue;
        if (c->dims[d].carries || extent < 1 ||
            !bt_mul_int64(o->coefs[a][d], extent - 1, &way) ||
            !bt_add_int64(*end, way, end))
            return 0;
    }
    return 1;
}

/* Iterations of the dim at which something is inside of the axis for some place; all of them where
 * that is not known, or where there are none. */
static struct range find_taps(const struct cpu_contraction *c,
                              const struct cpu_operand *o, uint32_t a, uint32_t d)
{
    const int64_t by = o->coefs[a][d], size = bt_node_number(o->extents[a]);
    const struct range all = { 0, bt_node_number(c->dims[d].extent) - 1 };
    struct range places, taps = all;
    int64_t below, above;
    if (o->guards[a] != 3 || size < 1 || !by || by == INT64_MIN ||
        !places_of(c, o, a, d, &places) || !bt_mul_int64(places.last, -1, &below) ||
        !bt_mul_int64(places.first, -1, &above) || !bt_add_int64(above, size - 1, &above))
        return all;
    // below <= by * tap <= above
    taps.first = by > 0 ? bt_ceildiv_int64(below, by) : bt_ceildiv_int64(-above, -by);
    taps.last = by > 0 ? bt_floordiv_int64(above, by) : bt_floordiv_int64(-below, -by);
    taps.first = taps.first > 0 ? taps.first : 0;
    taps.last = taps.last < all.last ? taps.last : all.last;
    return taps.first > taps.last ? all : taps;
}

/* Leaves out the guards of an axis that nothing passes any more. */
static void drop_guards(const struct cpu_contraction *c, struct cpu_operand *o,
                        uint32_t a)
{
    struct range places;
    if (!places_of(c, o, a, CPU_DIMS, &places))
        return;
    if (places.first >= 0)
        o->guards[a] &= ~1U;
    if (places.last < bt_node_number(o->extents[a]))
        o->guards[a] &= ~2U;
}

static void keep_taps(bt_graph *g, struct cpu_contraction *c, uint32_t d,
                      struct range taps)
{
    const bt_node *extent = bt_node_int(g, taps.last - taps.first + 1);
    if (!extent)
        return;
    c->dims[d].extent = extent;
    for (uint32_t i = 0; i < 2; i++) {
        struct cpu_operand *o = &c->operands[i];
        for (uint32_t a = 0; a < o->rank; a++)
            o->at[a] += o->coefs[a][d] * taps.first;
        for (uint32_t a = 0; a < o->rank; a++) {
            if (o->coefs[a][d] && o->guards[a])
                drop_guards(c, o, a);
        }
    }
}

/* A view has no dims of one iteration. */
static void drop_dim(struct cpu_contraction *c, uint32_t d)
{
    const size_t behind = --c->ndim - d;
    memmove(&c->dims[d], &c->dims[d + 1], behind * sizeof(*c->dims));
    for (uint32_t i = 0; i < c->ndim; i++)
        c->dims[i].of -= c->dims[i].carries && c->dims[i].of > d;
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t a = 0; a < c->operands[i].rank; a++) {
            int64_t *coefs = c->operands[i].coefs[a];
            memmove(&coefs[d], &coefs[d + 1], behind * sizeof(*coefs));
            coefs[c->ndim] = 0;
        }
    }
}

int cpu_leave_out_taps(bt_graph *g, struct cpu_contraction *c)
{
    for (uint32_t d = c->ndim; d-- > 0;) {
        if (!c->dims[d].is_k || bt_node_number(c->dims[d].extent) < 2)
            continue;
        for (uint32_t i = 0; i < 2; i++) {
            const struct cpu_operand *o = &c->operands[i];
            for (uint32_t a = 0; a < o->rank; a++) {
                const struct range taps = find_taps(c, o, a, d);
                if (taps.last - taps.first + 1 < bt_node_number(c->dims[d].extent))
                    keep_taps(g, c, d, taps);
                if (g->status)
                    return 0;
            }
        }
        if (cpu_is_size(c->dims[d].extent, 1))
            drop_dim(c, d);
    }
    return 1;
}
