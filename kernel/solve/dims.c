/* Dims: equations solved for holes, what is proved, refuted, or left to a run-time check;
 * broadcasting. */
#include "solve/solver.h"

#include "ir/dim.h"
#include "ir/store.h"

/* ---- proofs and checks ---- */

int bt__is_own_call(const struct bt__node *node)
{
    return node->kind == NODE_FLOW && node->u.flow.what == FLOW_ARG && node->slot->callee;
}

static bt_status add_check(bt_solver *s, struct bt__node *node, uint32_t relation,
                           const bt_type *left, const bt_type *right)
{
    // only a call can carry a check; inside its group a function has one type for all
    // calls
    s->left = left;
    s->right = right;
    if (!bt_as_call(node->slot->value) || bt__is_own_call(node)) {
        s->is_undecided = 1;
        return &bt__mismatch;
    }
    struct bt__slot *slot = node->slot;
    for (uint32_t i = 0; i < slot->checks.len; i++) {
        const bt_check *check = &slot->checks.at[i];
        if (check->relation == relation && check->left == left && check->right == right)
            return NULL;
    }
    bt_check check = { .relation = relation, .left = left, .right = right };
    if (s->what && !(check.what = bt_name_of(s->store, s->what)))
        return bt_no_memory();
    return BT_PUSH(s->arena, &slot->checks, check) ? NULL : bt_no_memory();
}

bt_status bt__require(bt_solver *s, struct bt__node *node, uint32_t check,
                      const bt_type *left, const bt_type *right)
{
    uint32_t nlack = s->store->nlack;
    int truth = bt_check_decide(s->store, check, left, right);
    if (truth == 0)
        BT_TRY(bt__store_lacked(s->store, nlack, NULL));
    if (truth > 0)
        return NULL;
    if (truth == 0)
        return add_check(s, node, check, left, right);
    s->left = left;
    s->right = right;
    return &bt__mismatch;
}

/* ---- equations ---- */

struct occurrence {
    const bt_type *term;
    uint32_t found, poison;
};

static bt_status find_term(bt_solver *s, void *self, struct bt__hole *hole)
{
    (void)s;
    struct occurrence *o = self;
    o->found |= hole->term == o->term;
    o->poison |= hole->is_poison;
    return NULL;
}

/* The value of hole terms[i].atom in sum == 0, where it occurs nowhere else. NULL: it
 * does, or its coefficient is not 1 or -1. */
static bt_status solve_for(bt_solver *s, const bt_type *sum, const bt_term *terms,
                           uint32_t n, uint32_t i, const bt_type **out)
{
    *out = NULL;
    int64_t coefficient = terms[i].coefficient;
    struct occurrence o = { .term = terms[i].atom };
    if (coefficient != 1 && coefficient != -1)
        return NULL;
    for (uint32_t k = 0; k < n; k++) {
        if (k != i)
            BT_TRY(bt__holes_in(s, terms[k].atom, find_term, &o));
    }
    if (o.found)
        return NULL;
    // sum = c*h + rest == 0, so h = rest / -c
    const bt_type *own = bt_dim_scale(s->store, terms[i].atom, coefficient, 0);
    const bt_type *rest = own ? bt_dim_sub(s->store, sum, own) : NULL;
    *out = rest ? bt_dim_scale(s->store, rest, -coefficient, 0) : NULL;
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

/* Solves sum == 0 for one of its holes. */
static bt_status solve(bt_solver *s, struct bt__node *node, const bt_type *sum)
{
    bt_dim_sum all;
    struct occurrence o = { 0 };
    BT_TRY(bt__holes_in(s, sum, find_term, &o));
    if (o.poison)
        return NULL;
    bt_dim_linear(sum, &all);
    for (uint32_t i = 0; i < all.n; i++) {
        const bt_type *value;
        struct bt__hole *hole = bt__hole_of(s, all.terms[i].atom);
        if (!hole)
            continue;
        BT_TRY(solve_for(s, sum, all.terms, all.n, i, &value));
        if (value && bt__may_assign(s, node, hole))
            return bt__assign(s, node, hole->term, value);
    }
    return &bt__wait;
}

bt_status bt__unify_dims(bt_solver *s, struct bt__node *node, const bt_type *a,
                         const bt_type *b)
{
    int64_t low, high;
    BT_TRY(bt__resolve(s, a, &a));
    BT_TRY(bt__resolve(s, b, &b));
    if (a == b)
        return NULL;
    if (!((a->has | b->has) & BT_HAS_HOLE))
        return bt__require(s, node, BT_CHECK_EQUAL, a, b);
    if (bt__hole_of(s, a) && bt__hole_of(s, b))
        return bt__alias(s, node, a, b);
    const bt_type *sum = bt_dim_sub(s->store, a, b);
    if (!sum)
        return bt_store_why(s->ctx, s->store);
    bt_dim_bounds(sum, &low, &high);
    bt_status status = low > 0 || high < 0 ? &bt__mismatch : solve(s, node, sum);
    s->left = a;
    s->right = b;
    return status;
}

/* ---- broadcasting ---- */

static int is_unknown(const bt_type *dim)
{
    return (dim->has & (BT_HAS_OPAQUE | BT_HAS_ANONYMOUS)) != 0;
}

static int is_number(const bt_type *dim, int64_t number)
{
    int64_t value;
    return bt_dim_is_const(dim, &value) && value == number;
}

static int is_name(const bt_type *dim)
{
    return dim->kind == BT_TYPE_VAR || dim->kind == BT_TYPE_MAX;
}

static int may_be_one(const bt_type *dim)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    return low <= 1 && high >= 1;
}

/* Of two names, or results of such broadcasts, one or both may stand for 1: then the other
 * is the result's, as the greater one. 0 beside what is found to be 1 is refused by the run:
 * its result is 0, which no term says for all values. What is computed, as 2*n is, and a name
 * beside it are as long as they say. */
static bt_status broadcast_named(bt_solver *s, struct bt__node *node, const bt_type *a,
                                 const bt_type *b, const bt_type **out)
{
    int are_names = is_name(a) && is_name(b);
    int left = are_names && may_be_one(a), right = are_names && may_be_one(b);
    if (!left && !right)
        return bt__require(s, node, BT_CHECK_EQUAL, a, b);
    *out = !right ? b : !left ? a : bt_dim_max(s->store, a, b);
    if (!*out)
        return bt_store_why(s->ctx, s->store);
    if (left)
        BT_TRY(bt__require(s, node, BT_CHECK_BROADCAST, a, *out));
    return right ? bt__require(s, node, BT_CHECK_BROADCAST, b, *out) : NULL;
}

/* Either may be the 1, and no term says how long the result is. */
static bt_status broadcast_unknown(bt_solver *s, struct bt__node *node, const bt_type *a,
                                   const bt_type *b, const bt_type **out)
{
    BT_TRY(bt__opaque(s, node, a, b, out));
    BT_TRY(bt__require(s, node, BT_CHECK_BROADCAST, a, *out));
    return bt__require(s, node, BT_CHECK_BROADCAST, b, *out);
}

/* Both without holes, different, neither the number 1. Beside what is computed or cannot be
 * 1, what is known only at run time is the 1, if there is one. */
static bt_status broadcast_rigid(bt_solver *s, struct bt__node *node, const bt_type *a,
                                 const bt_type *b, const bt_type **out)
{
    int64_t low, high, number;
    *out = a;
    if (bt_dim_is_const(b, &number) || (is_unknown(a) && !is_unknown(b))) {
        const bt_type *swap = a;
        a = b;
        b = swap;
        *out = a;
    }
    // now only `a` may be a number, and `b` is unknown if one of them is
    if (bt_dim_is_const(a, &number)) {
        bt_dim_bounds(b, &low, &high);
        uint32_t check = low > 1 ? BT_CHECK_EQUAL : BT_CHECK_BROADCAST;
        return bt__require(s, node, check, b, a);
    }
    if (!is_unknown(b))
        return broadcast_named(s, node, a, b, out);
    if (is_unknown(a) || (is_name(a) && may_be_one(a)))
        return broadcast_unknown(s, node, a, b, out);
    return bt__require(s, node, BT_CHECK_BROADCAST, b, a);
}

bt_status bt__broadcast_dim(bt_solver *s, struct bt__node *node, const bt_type *a,
                            const bt_type *b, const bt_type **out)
{
    BT_TRY(bt__resolve(s, a, &a));
    BT_TRY(bt__resolve(s, b, &b));
    if (a == b || is_number(b, 1)) {
        *out = a;
        return NULL;
    }
    if (is_number(a, 1)) {
        *out = b;
        return NULL;
    }
    if ((a->has | b->has) & BT_HAS_HOLE)
        return &bt__wait;
    if (bt_dim_equal(s->store, a, b) == 1) {
        *out = a;
        return NULL;
    }
    return broadcast_rigid(s, node, a, b, out);
}

/* A shape in parts, counted from the right: `post` dims after the variable. */
struct shape {
    uint32_t n, post;
    const bt_type *rest;
    const bt_type *const *dims;
};

static int shape_parts(const bt_type *type, struct shape *out)
{
    const bt_shape_type *shape = bt_as_shape_type(type);
    *out = (struct shape){ 0 };
    if (!shape) {
        out->rest = type;
        return 1;
    }
    *out = (struct shape){ shape->n, shape->n, shape->rest, shape->dims };
    if (shape->rest)
        out->post = shape->n - shape->position;
    return shape->n <= BT_MAX_RANK;
}

/* What is aligned with the dim i from the right; NULL: beyond the end. */
static const bt_type *from_right(const struct shape *shape, uint32_t i)
{
    return i < shape->n ? shape->dims[shape->n - 1 - i] : NULL;
}

bt_status bt__broadcast(bt_solver *s, struct bt__node *node, const bt_type *a,
                        const bt_type *b, const bt_type **out)
{
    struct shape x, y;
    const bt_type *dims[BT_MAX_RANK];
    BT_TRY(bt__resolve(s, a, &a));
    BT_TRY(bt__resolve(s, b, &b));
    s->left = a;
    s->right = b;
    if (!shape_parts(a, &x) || !shape_parts(b, &y))
        return &bt__mismatch;
    const bt_type *rest = x.rest ? x.rest : y.rest;
    // A variable may be longer than any dims beside it, so both sides must agree where it
    // stands: it is the same one, or the other shape ends before it.
    int agrees = x.rest == y.rest ? x.post == y.post
                 : x.rest         ? y.n <= x.post
                                  : x.n <= y.post;
    if (rest && (!agrees || (x.rest && y.rest && x.rest != y.rest))) {
        int is_open =
            (x.rest && bt__hole_of(s, x.rest)) || (y.rest && bt__hole_of(s, y.rest));
        return is_open ? &bt__wait : &bt__mismatch;
    }
    uint32_t n = x.n > y.n ? x.n : y.n, post = x.rest ? x.post : y.post;
    for (uint32_t i = 0; i < n; i++) {
        const bt_type *l = from_right(&x, i), *r = from_right(&y, i);
        if (l && r)
            BT_TRY(bt__broadcast_dim(s, node, l, r, &dims[n - 1 - i]));
        else
            dims[n - 1 - i] = l ? l : r;
    }
    *out = rest ? bt_type_shape_rest(s->store, n, dims, n - post, rest)
                : bt_type_shape(s->store, n, dims);
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}
