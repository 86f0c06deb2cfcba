/*
 * Functions that only change the shape, or take what lies in one piece. Their graph is one read, and
 * the read's place in row-major order is the element's own:
 *
 *     s0[i0, i1] = a0[floordiv(i0, 3), mod(i0, 3), i1]      of a0[2, 3, 4], s0[6, 4]
 *     12 * floordiv(i0, 3) + 4 * mod(i0, 3) + i1  =  4 * i0 + i1
 *
 * Both sides are brought to one form: a remainder is what its quotient leaves, quotients
 * of quotients are one, whose last digits are dropped. Where the read's place is so many elements
 * behind the element's own the function takes a slice:
 *
 *     s0[i0, i1] = a0[i0 + 20, i1]                          of a0[700, 8], s0[20, 8]: 160 behind
 */
#include <baton/graph.h>

#include "compile/lower/lower.h"

/* The terms of `e` whose coefficients are multiples of n, divided by n; *rest: what is
 * left. Overflow leaves a term where it is. */
static const bt_node *split(bt_graph *g, const bt_node *e, int64_t n,
                            const bt_node **rest)
{
    bt_linear l;
    bt_node_as_linear(e, &l);
    const bt_node *whole = bt_node_int(g, bt_floordiv_int64(l.constant, n));
    *rest = bt_node_int(g, bt_mod_int64(l.constant, n));
    for (uint32_t i = 0; i < l.n; i++) {
        int divides = l.coefs[i] % n == 0;
        const bt_node **to = divides ? &whole : rest;
        const bt_node *both[] = { *to, l.atoms[i] };
        const int64_t coefs[] = { 1, divides ? l.coefs[i] / n : l.coefs[i] };
        *to = bt_node_linear(g, 0, 2, both, coefs);
    }
    return whole;
}

static int is_below(const bt_node *e, int64_t n)
{
    return e && e->low >= 0 && e->high < n;
}

static const bt_node *add(bt_graph *g, const bt_node *a, const bt_node *b)
{
    const bt_node *both[] = { a, b };
    return bt_node_linear(g, 0, 2, both, (const int64_t[]){ 1, 1 });
}

/* (x + floordiv(y, m)) / n is (m * x + y) / (m * n). */
static const bt_node *join_quotients(bt_graph *g, const bt_node *e, int64_t *n)
{
    bt_linear l;
    int64_t m, by, most;
    bt_node_as_linear(e, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        const bt_node *atom = l.atoms[i];
        if (l.coefs[i] != 1 || atom->kind != BT_NODE_SCALAR ||
            atom->which != BT_SCALAR_FLOORDIV || !bt_node_is_const(atom->args[1], &m) ||
            m <= 0 || !bt_mul_int64(*n, m, &by) || !bt_mul_int64(e->low, m, &most) ||
            !bt_mul_int64(e->high, m, &most))
            continue;
        const bt_node *parts[] = { e, atom, atom->args[0] };
        *n = by;
        return bt_node_linear(g, 0, 3, parts, (const int64_t[]){ m, -m, 1 });
    }
    return e;
}

/* The largest factor of n by which a sum can be divided so that what is left of each term
 * is less than the factor: its last digits. 1: none. */
static int64_t digits(bt_graph *g, const bt_node *e, int64_t n)
{
    int64_t factor = 1;
    bt_linear l;
    bt_node_as_linear(e, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        const bt_node *rest;
        int64_t by = bt_gcd_int64(n, l.coefs[i]);
        if (by > factor && split(g, e, by, &rest) && is_below(rest, by))
            factor = by;
    }
    return factor;
}

/* floordiv(e, n), n > 0: quotients are joined and digits dropped as long as there are. */
static const bt_node *divide(bt_graph *g, const bt_node *e, int64_t n)
{
    const bt_node *sum = bt_node_int(g, 0), *rest, *joined;
    while (e && sum) {
        while ((joined = join_quotients(g, e, &n)) && joined != e)
            e = joined;
        sum = joined ? add(g, sum, split(g, e, n, &rest)) : NULL;
        if (!sum || !rest || is_below(rest, n))
            return sum && rest ? sum : NULL;
        int64_t factor = digits(g, rest, n);
        if (factor == 1)
            return add(g, sum,
                       bt_node_scalar(g, BT_SCALAR_FLOORDIV, rest, bt_node_int(g, n)));
        e = split(g, rest, factor, &rest);
        n /= factor;
    }
    return NULL;
}

/* One form for what is equal. Recursion is bounded by the depth of formulas. */
static const bt_node *normal(bt_graph *g, const bt_node *e)
{
    int64_t n;
    if (!e)
        return NULL;
    if (e->kind == BT_NODE_LINEAR) {
        bt_linear l;
        bt_node_as_linear(e, &l);
        const bt_node *sum = bt_node_int(g, l.constant);
        for (uint32_t i = 0; sum && i < l.n; i++) {
            const bt_node *both[] = { sum, normal(g, l.atoms[i]) };
            sum = bt_node_linear(g, 0, 2, both, (const int64_t[]){ 1, l.coefs[i] });
        }
        return sum;
    }
    if (e->kind != BT_NODE_SCALAR || e->narg != 2 || !bt_node_is_const(e->args[1], &n) ||
        n <= 0)
        return e;
    if (e->which == BT_SCALAR_FLOORDIV)
        return divide(g, normal(g, e->args[0]), n);
    if (e->which == BT_SCALAR_MOD) {
        const bt_node *of = normal(g, e->args[0]), *both[] = { of, divide(g, of, n) };
        return bt_node_linear(g, 0, 2, both, (const int64_t[]){ 1, -n });
    }
    return e;
}

const bt_node *bt__node_position(bt_graph *g, const bt_array *array,
                                 const bt_node *const *indices)
{
    const bt_node *sum = bt_node_int(g, 0);
    int64_t step = 1, extent;
    for (uint32_t i = array->rank; sum && i-- > 0;) {
        const bt_node *both[] = { sum, normal(g, indices[i]) };
        if (!bt_node_is_const(array->extents[i], &extent))
            return NULL;
        sum = bt_node_linear(g, 0, 2, both, (const int64_t[]){ 1, step });
        if (!bt_mul_int64(step, extent, &step))
            return NULL;
    }
    return sum;
}

/* So many elements a read's place is behind the element's own, of as many as there are behind it or
 * more; -1: it is another place. */
static int64_t distance(bt_graph *g, const bt_array *to, const bt_node *read)
{
    const bt_array *from = g->arrays[read->which];
    const bt_node *own[BT_MAX_RANK];
    int64_t extent, nto = 1, nfrom = 1, n;
    if (from->dtype != to->dtype || to->rank > BT_MAX_RANK)
        return -1;
    for (uint32_t i = 0; i < to->rank; i++) {
        if (!bt_node_is_const(to->extents[i], &extent) ||
            !bt_mul_int64(nto, extent, &nto))
            return -1;
        own[i] = bt_node_index(g, i, to->extents[i]);
    }
    for (uint32_t i = 0; i < from->rank; i++) {
        if (!bt_node_is_const(from->extents[i], &extent) ||
            !bt_mul_int64(nfrom, extent, &nfrom))
            return -1;
    }
    const bt_node *there = bt__node_position(g, from, read->args),
                  *here = bt__node_position(g, to, own);
    if (!here || !there)
        return -1;
    const bt_node *both[] = { there, here };
    const bt_node *rest = bt_node_linear(g, 0, 2, both, (const int64_t[]){ 1, -1 });
    return rest && bt_node_is_const(rest, &n) && n >= 0 && n <= nfrom - nto ? n : -1;
}

static int has_one_tensor(const bt_func *func)
{
    const bt_block *block = func->block;
    const bt_type *of = block->nparam == 1 ? block->params[0]->base.type : NULL;
    return of && bt_tensor_shape(of) && bt_tensor_shape(func->result) &&
           bt_tensor_dtype(of) == bt_tensor_dtype(func->result);
}

/* What no function of one tensor can be whose result has another element type, or another
 * size for all that its type says: a planned program shows that views have the size of what
 * they are views of, also where only a check that comes before tells it. */
static int may_be_view(const bt_func *func)
{
    if (!has_one_tensor(func))
        return 0;
    const bt_type *from = bt_tensor_size(func->block->params[0]->base.type),
                  *to = bt_tensor_size(func->result);
    return from && to && bt_dim_equal(to->store, to, from) == 1;
}

/* What of its only tensor a function takes begins so many elements behind; -1: it does not lie in one
 * piece, or is computed. */
static bt_status look(bt_ctx *ctx, bt_arena *arena, const bt_func *func, int64_t *out)
{
    bt_graph *g;
    *out = -1;
    bt_status status = bt_graph_compose(ctx, arena, func, &g);
    if (status) // what cannot be composed is treated as no view
        return status->code == BT_ERR_MEMORY ? status : NULL;
    if (g->nresult != 1)
        return NULL;
    const bt_array *to = g->arrays[g->results[0]];
    if (to->body && to->body->kind == BT_NODE_READ && to->body->which < g->ninput)
        *out = distance(g, to, to->body);
    return g->status && g->status->code == BT_ERR_MEMORY ? g->status : NULL;
}

bt_status bt__func_is_view(bt_ctx *ctx, bt_arena *arena, const bt_func *func, int *out)
{
    int64_t n = -1;
    if (may_be_view(func))
        BT_TRY(look(ctx, arena, func, &n));
    *out = n == 0;
    return NULL;
}

bt_status bt__func_slice(bt_ctx *ctx, bt_arena *arena, const bt_func *func, int64_t *out)
{
    int64_t n = -1;
    *out = -1;
    if (!has_one_tensor(func))
        return NULL;
    BT_TRY(look(ctx, arena, func, &n));
    if (n >= 0 && !bt_mul_int64(n, bt_dtype_nbytes(bt_tensor_dtype(func->result)), out))
        *out = -1;
    return NULL;
}
