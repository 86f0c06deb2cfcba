/*
 * Which stages are contractions: a sum of products of two reads, each index by itself in
 * sums, or as group and rest where a read divides it; conditions leave out elements that
 * are outside of an array, and nothing else.
 */
#include "contract.h"

#include <string.h>

/* An index + at, divided by `by`; 1: it is not, 0: in more than one way. */
struct division {
    int64_t by, at;
};

struct looking {
    bt_graph *graph;
    struct cpu_contraction *c;
    uint32_t rank;
    struct division axes[BT_MAX_INDEX]; /* of the stage, as reads divide them */
};

/* ---- the reduction ---- */

/* The reduction, if it is the only one; *n counts different ones. `seen` by id. */
static void find_reduce(const bt_node *node, uint8_t *seen, const bt_node **found,
                        uint32_t *n)
{
    if (!node->reduces || seen[node->id])
        return;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_REDUCE) {
        *found = node;
        (*n)++;
        return;
    }
    for (uint32_t i = 0; i < node->narg; i++)
        find_reduce(node->args[i], seen, found, n);
}

bt_dtype cpu_computed_in(bt_dtype dtype)
{
    return bt_dtype_is_small_float(dtype) ? BT_FLOAT32 : dtype;
}

static int has_plain_indices(const bt_node *read)
{
    for (uint32_t i = 0; i < read->narg; i++) {
        bt_linear form;
        bt_node_as_linear(read->args[i], &form);
        for (uint32_t k = 0; k < form.n; k++) {
            if (form.atoms[k]->kind != BT_NODE_INDEX)
                return 0;
        }
    }
    return 1;
}

/* A factor as a read: it is one, or an array of this dtype is made for it. NULL: there can
 * be none, or failure. */
static const bt_node *factor_of(bt_graph *g, const bt_array *stage, const bt_node *reduce,
                                const bt_node *node, bt_dtype dtype, int is_plain)
{
    // an integer that int16 holds is the same before it was made wider
    if (dtype == BT_INT16 && node->kind == BT_NODE_CAST &&
        !bt_dtype_is_float(node->args[0]->dtype))
        node = node->args[0];
    if (node->kind == BT_NODE_READ && node->narg <= CPU_AXES && node->dtype == dtype &&
        (!is_plain || has_plain_indices(node)))
        return node;
    return cpu_factor_make(g, stage, reduce, node, dtype, is_plain);
}

/* Whether int16 holds it; of what a stage computes, more is known than its type. */
static int is_short(const bt_graph *g, const bt_node *node)
{
    if (node->kind == BT_NODE_READ && g->arrays[node->which]->body)
        node = g->arrays[node->which]->body;
    return node->low >= INT16_MIN && node->high <= INT16_MAX;
}

/* Products of such integers are done two at a time. */
static bt_dtype factor_dtype(const bt_graph *g, const bt_node *product,
                             const bt_node *factor)
{
    return product->dtype == BT_INT32 && is_short(g, product->args[0]) &&
                   is_short(g, product->args[1])
               ? BT_INT16
               : cpu_computed_in(factor->dtype);
}

/* ---- dims ---- */

static int add_dim(struct looking *l, struct cpu_dim dim)
{
    if (dim.extent && cpu_is_size(dim.extent, 1))
        return 1;
    if (!dim.extent || l->c->ndim == CPU_DIMS || dim.extent->high < 1)
        return 0;
    l->c->dims[l->c->ndim++] = dim;
    return 1;
}

/* A quotient of an index, or what is left of it. 0: the node is neither. */
static int is_division(const bt_node *node, uint32_t *index, struct division *out)
{
    bt_linear l;
    if (node->kind != BT_NODE_SCALAR ||
        (node->which != BT_SCALAR_FLOORDIV && node->which != BT_SCALAR_MOD) ||
        !bt_node_is_const(node->args[1], &out->by) || out->by <= 0)
        return 0;
    bt_node_as_linear(node->args[0], &l);
    out->at = l.constant;
    if (l.n != 1 || l.coefs[0] != 1 || l.atoms[0]->kind != BT_NODE_INDEX || out->at < 0 ||
        out->at >= out->by)
        return 0;
    *index = l.atoms[0]->which;
    return 1;
}

static struct division division_of(const bt_node *node, uint32_t index,
                                   struct division known)
{
    struct division found;
    uint32_t of;
    if (!known.by || !(node->free & bt_index_bit(index)))
        return known;
    if (is_division(node, &of, &found))
        return known.by == 1 || (known.by == found.by && known.at == found.at)
                   ? found
                   : (struct division){ 0, 0 };
    for (uint32_t i = 0; i < node->narg; i++)
        known = division_of(node->args[i], index, known);
    return known;
}

static int add_axes(struct looking *l, const bt_array *stage, const bt_node *const *reads)
{
    const bt_node *stride = bt_node_int(l->graph, 1);
    l->rank = stage->rank;
    for (uint32_t i = stage->rank; i-- > 0 && stride;) {
        const bt_node *extent = stage->extents[i];
        const struct division division =
            division_of(reads[1], i, division_of(reads[0], i, (struct division){ 1, 0 }));
        const int64_t by = division.by, known = bt_node_number(extent);
        struct cpu_dim rest = { .extent = extent, .index = i, .scale = 1, .c = stride },
                       group = rest;
        if (!by || (by > 1 && (known < 0 || known % by)))
            return 0;
        l->axes[i] = division;
        if (by > 1) {
            rest.extent = bt_node_int(l->graph, by);
            group.extent = bt_node_int(l->graph, known / by);
            group.scale = by;
            group.c = cpu_times(l->graph, stride, rest.extent);
        }
        struct cpu_dim carry = group;
        carry.extent = bt_node_int(l->graph, 2);
        carry.carries = division.at;
        carry.of = l->c->ndim;
        if (!add_dim(l, rest) || (by > 1 && !add_dim(l, group)) ||
            (division.at && !add_dim(l, carry)))
            return 0;
        stride = cpu_times(l->graph, stride, extent);
    }
    return stride != NULL;
}

static int add_reduced(struct looking *l)
{
    const bt_node *reduce = l->c->reduce;
    for (uint32_t i = 0; i < reduce->nindex; i++) {
        struct cpu_dim dim = { .extent = reduce->args[2 + i],
                               .is_k = 1,
                               .index = reduce->first + i,
                               .scale = 1 };
        if (!add_dim(l, dim))
            return 0;
    }
    return 1;
}

/* ---- reads ---- */

/* Adds to the coefficients and the constant *at coef * an index, or its quotient. */
static int add_index(const struct looking *l, uint32_t index, int is_group, int64_t coef,
                     int64_t *coefs, int64_t *at)
{
    for (uint32_t d = 0; d < l->c->ndim; d++) {
        const struct cpu_dim *dim = &l->c->dims[d];
        int64_t by = is_group ? dim->scale > 1 : dim->scale;
        int64_t less = is_group ? 0 : -dim->carries;
        if (dim->index != index)
            continue;
        if (!bt_mul_int64(by, coef, &by) || !bt_add_int64(coefs[d], by, &coefs[d]) ||
            !bt_mul_int64(less, coef, &less) || !bt_add_int64(*at, less, at))
            return 0;
    }
    return 1;
}

/* Whether dims are the parts that it makes of the index: reduced indices are not divided, and no
 * axis in another way than reads divide it. */
static int has_parts(const struct looking *l, uint32_t index, struct division division)
{
    return index < l->rank && l->axes[index].by == division.by &&
           l->axes[index].at == division.at;
}

/* As add_index for an atom; mod(i + at, by) is i + at - by * floordiv(i + at, by). */
static int add_term(const struct looking *l, const bt_node *atom, int64_t coef,
                    int64_t *coefs, int64_t *at)
{
    struct division division;
    uint32_t index = atom->which;
    int64_t groups, more;
    if (atom->kind == BT_NODE_INDEX)
        return add_index(l, index, 0, coef, coefs, at);
    if (!is_division(atom, &index, &division) || !has_parts(l, index, division))
        return 0;
    if (atom->which == BT_SCALAR_FLOORDIV)
        return add_index(l, index, 1, coef, coefs, at);
    return bt_mul_int64(coef, -division.by, &groups) &&
           bt_mul_int64(coef, division.at, &more) && bt_add_int64(*at, more, at) &&
           add_index(l, index, 0, coef, coefs, at) &&
           add_index(l, index, 1, groups, coefs, at);
}

static int set_operand(const struct looking *l, const bt_node *read,
                       struct cpu_operand *out)
{
    const bt_array *array = l->graph->arrays[read->which];
    *out = (struct cpu_operand){ .array = read->which,
                                 .rank = read->narg,
                                 .dtype = cpu_computed_in(array->dtype) };
    for (uint32_t a = 0; a < read->narg; a++) {
        bt_linear form;
        bt_node_as_linear(read->args[a], &form);
        out->extents[a] = array->extents[a];
        out->at[a] = form.constant;
        for (uint32_t i = 0; i < form.n; i++) {
            if (!add_term(l, form.atoms[i], form.coefs[i], out->coefs[a], &out->at[a]))
                return 0;
        }
    }
    return 1;
}

/* ---- conditions ---- */

/* Whether 0 <= constant + what coefs say is that `sign` * (axis a's place) + rest >= 0, a
 * common factor divided out. */
static int says(const struct looking *l, const struct cpu_operand *o, uint32_t a,
                int64_t sign, const bt_node *rest, const bt_node *constant,
                const int64_t *coefs)
{
    int64_t by = 0;
    for (uint32_t d = 0; d < l->c->ndim; d++) {
        int64_t has = sign * o->coefs[a][d];
        if (!has != !coefs[d] || (has && has % coefs[d]))
            return 0;
        if (has && !by)
            by = has / coefs[d];
        if (has && has != by * coefs[d])
            return 0;
    }
    const bt_node *bound =
        bt_node_linear(l->graph, sign * o->at[a], 1, &rest, (int64_t[]){ 1 });
    return by > 0 && constant == bt_node_scalar(l->graph, BT_SCALAR_FLOORDIV, bound,
                                                bt_node_int(l->graph, by));
}

static int add_guard(struct looking *l, const bt_node *term)
{
    int64_t coefs[CPU_DIMS] = { 0 };
    bt_linear form;
    int is_known = 0;
    bt_node_as_linear(term, &form);
    const bt_node *zero = bt_node_int(l->graph, 0), *one = bt_node_int(l->graph, 1);
    const bt_node *constant = zero;
    int64_t at = form.constant;
    for (uint32_t i = 0; i < form.n; i++) {
        if (!form.atoms[i]->free && !form.atoms[i]->reads)
            constant = cpu_along_int(l->graph, constant, form.atoms[i], form.coefs[i]);
        else if (!add_term(l, form.atoms[i], form.coefs[i], coefs, &at))
            return 0;
    }
    constant = bt_node_linear(l->graph, at, 1, &constant, (int64_t[]){ 1 });
    for (uint32_t i = 0; i < 2; i++) {
        struct cpu_operand *o = &l->c->operands[i];
        for (uint32_t a = 0; a < o->rank; a++) {
            const bt_node *last = cpu_along_int(l->graph, o->extents[a], one, -1);
            uint32_t guard = says(l, o, a, 1, zero, constant, coefs)    ? 1
                             : says(l, o, a, -1, last, constant, coefs) ? 2
                                                                        : 0;
            o->guards[a] |= guard;
            is_known |= guard != 0;
        }
    }
    return is_known;
}

static int add_guards(struct looking *l, const bt_node *condition)
{
    int64_t zero;
    if (bt_node_is_true(condition))
        return 1;
    if (condition->kind != BT_NODE_SCALAR)
        return 0;
    if (condition->which == BT_SCALAR_AND)
        return add_guards(l, condition->args[0]) && add_guards(l, condition->args[1]);
    return condition->which == BT_SCALAR_LE && condition->args[0]->dtype == BT_INT64 &&
           bt_node_is_const(condition->args[0], &zero) && zero == 0 &&
           add_guard(l, condition->args[1]);
}

/* Whether it is no less than 0 for all values of dims. Of what is rounded down and
 * subtracted, it is enough to subtract all. */
static int is_natural(bt_graph *g, const bt_node *sum)
{
    bt_linear parts;
    int64_t by;
    if (!sum || sum->low >= 0)
        return sum != NULL;
    bt_node_as_linear(sum, &parts);
    for (uint32_t i = 0; i < parts.n; i++) {
        const bt_node *atom = parts.atoms[i];
        if (atom->kind == BT_NODE_SCALAR && atom->which == BT_SCALAR_FLOORDIV &&
            bt_node_is_const(atom->args[1], &by) && by > 0 && parts.coefs[i] < 0 &&
            parts.coefs[i] % by == 0)
            return is_natural(
                g, cpu_along_int(g, cpu_along_int(g, sum, atom, -parts.coefs[i]),
                                 atom->args[0], parts.coefs[i] / by));
    }
    return 0;
}

/* Whether every element read is in the array, or guarded. */
static int is_covered(const struct looking *l, const struct cpu_operand *o)
{
    bt_graph *g = l->graph;
    for (uint32_t a = 0; a < o->rank; a++) {
        const bt_node *low = bt_node_int(g, o->at[a]), *high = low;
        for (uint32_t d = 0; d < l->c->ndim; d++) {
            const int64_t coef = o->coefs[a][d];
            const bt_node **end = coef < 0 ? &low : &high;
            const bt_node *last =
                bt_node_linear(g, -1, 1, &l->c->dims[d].extent, (int64_t[]){ 1 });
            if (coef)
                *end = cpu_plus(g, *end, cpu_times(g, last, bt_node_int(g, coef)));
        }
        high = cpu_minus(g, bt_node_linear(g, -1, 1, &o->extents[a], (int64_t[]){ 1 }),
                         high);
        if ((!(o->guards[a] & 1) && !is_natural(g, low)) ||
            (!(o->guards[a] & 2) && !is_natural(g, high)))
            return 0;
    }
    return 1;
}

/* ---- all ---- */

static int has_elements(const bt_array *array)
{
    for (uint32_t i = 0; i < array->rank; i++) {
        if (array->extents[i]->high < 1)
            return 0;
    }
    return 1;
}

/* 0: it is no contraction. `is_plain`: reads at more than sums of indices are made
 * arrays. */
static int look(bt_graph *g, const bt_array *stage, const bt_node *reduce, int is_plain,
                struct cpu_contraction *out)
{
    struct looking l = { .graph = g, .c = out };
    const bt_node *reads[2];
    memset(out, 0, sizeof(*out));
    const bt_node *product = reduce->args[1];
    if (product->kind != BT_NODE_SCALAR || product->which != BT_SCALAR_MUL ||
        product->dtype != reduce->dtype)
        return 0;
    for (uint32_t i = 0; i < 2; i++) {
        const bt_node *factor = product->args[i];
        reads[i] = factor_of(g, stage, reduce, factor, factor_dtype(g, product, factor),
                             is_plain);
        if (!reads[i] || !has_elements(g->arrays[reads[i]->which]))
            return 0;
    }
    out->reduce = reduce;
    out->dtype = cpu_computed_in(product->dtype);
    return add_axes(&l, stage, reads) && add_reduced(&l) &&
           set_operand(&l, reads[0], &out->operands[0]) &&
           set_operand(&l, reads[1], &out->operands[1]) &&
           add_guards(&l, reduce->args[0]) && is_covered(&l, &out->operands[0]) &&
           is_covered(&l, &out->operands[1]) && cpu_leave_out_taps(g, out);
}

bt_status cpu_sum_of(bt_graph *g, const bt_array *stage, const bt_node **out)
{
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode + 1);
    uint32_t n = 0;
    *out = NULL;
    if (!seen)
        return bt_no_memory();
    find_reduce(stage->body, seen, out, &n);
    if (n != 1 || (*out)->which != BT_REDUCER_SUM || (*out)->narg < 2 ||
        !has_elements(stage))
        *out = NULL;
    return NULL;
}

bt_status cpu_contraction_of(bt_graph *g, const bt_array *stage,
                             struct cpu_contraction *out)
{
    const bt_node *reduce;
    uint32_t narray = g->narray;
    out->reduce = NULL;
    BT_TRY(cpu_sum_of(g, stage, &reduce));
    for (int is_plain = 0; reduce && is_plain < 2; is_plain++) {
        if (look(g, stage, reduce, is_plain, out) || g->status)
            return g->status;
        g->narray = narray; // what was made is of no use
    }
    out->reduce = NULL;
    return NULL;
}
