/*
 * The type of what comes out of one of several branches. Equal dims stay; where one is
 * known only at run time, or has no name (`?`), or the stated type has such a dim, the
 * result is such a dim; two different known ones are an error otherwise.
 */
#include "solve/solver.h"

struct join {
    bt_solver *solver;
    struct bt__node *node;
    bt_map done; /* left term to struct pair: shared terms are joined once */
    uint32_t depth;
};
struct pair {
    const bt_type *right, *stated, *joined;
};

/* stated: what the result's type is to be, with holes and `?`; NULL: anything. */
static bt_status join(struct join *j, const bt_type *a, const bt_type *b,
                      const bt_type *stated, const bt_type **out);

/* Of a binding that has its type, as a pass left it, a dim that only the run tells stays
 * one, though the branches may tell more by now. */
static int is_kept(const struct join *j, const bt_type *stated)
{
    return !j->solver->globals && stated && (stated->has & BT_HAS_OPAQUE);
}

static bt_status join_dims(struct join *j, const bt_type *a, const bt_type *b,
                           const bt_type *stated, const bt_type **out)
{
    bt_solver *s = j->solver;
    uint32_t has = a->has | b->has | (stated ? stated->has : 0);
    *out = a;
    if (is_kept(j, stated) && stated->kind == BT_TYPE_OPAQUE)
        return bt__opaque(s, j->node, stated, stated, out);
    if (a == b)
        return NULL;
    if ((a->has | b->has) & BT_HAS_HOLE)
        return bt__unify_dims(s, j->node, a, b);
    if (bt_dim_equal(s->store, a, b) == 1)
        return NULL;
    if (has & (BT_HAS_HOLE | BT_HAS_OPAQUE | BT_HAS_ANONYMOUS))
        return bt__opaque(s, j->node, a, b, out);
    return bt__differ(s, a, b);
}

static bt_status join_shapes(struct join *j, const bt_type *a, const bt_type *b,
                             const bt_type *stated, const bt_type **out)
{
    bt_solver *s = j->solver;
    const bt_shape_type *x = bt_as_shape_type(a), *y = bt_as_shape_type(b),
                        *z = stated ? bt_as_shape_type(stated) : NULL;
    const bt_type *dims[BT_MAX_RANK];
    *out = a;
    if (a == b && !is_kept(j, stated))
        return NULL;
    if (!x || !y || x->n != y->n || x->rest != y->rest || x->n > BT_MAX_RANK ||
        (x->rest && x->position != y->position))
        return bt__unify(s, j->node, a, b);
    bt_status waits = NULL;
    for (uint32_t i = 0; i < x->n; i++) {
        const bt_type *dim = z && z->n == x->n && !z->rest ? z->dims[i] : NULL;
        bt_status status = join_dims(j, x->dims[i], y->dims[i], dim, &dims[i]);
        if (status == &bt__wait)
            waits = status;
        else if (status)
            return status;
    }
    if (waits)
        return waits;
    *out = x->rest ? bt_type_shape_rest(s->store, x->n, dims, x->position, x->rest)
                   : bt_type_shape(s->store, x->n, dims);
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

static bt_status join_tensors(struct join *j, const bt_tensor_type *a,
                              const bt_tensor_type *b, const bt_tensor_type *stated,
                              const bt_type **out)
{
    bt_solver *s = j->solver;
    const bt_type *shape;
    if (a->layout != b->layout)
        return bt__differ(s, &a->base, &b->base);
    BT_TRY(bt__unify(s, j->node, a->dtype, b->dtype));
    BT_TRY(join_shapes(j, a->shape, b->shape, stated ? stated->shape : NULL, &shape));
    *out = bt_type_tensor_layout(s->store, shape, a->dtype, a->layout);
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

static bt_status join_tuples(struct join *j, const bt_list_type *a, const bt_list_type *b,
                             const bt_list_type *stated, const bt_type **out)
{
    bt_solver *s = j->solver;
    if (a->n != b->n)
        return bt__differ(s, &a->base, &b->base);
    const bt_type **at = BT_NEWS(s->arena, const bt_type *, a->n);
    if (!at)
        return bt_no_memory();
    for (uint32_t i = 0; i < a->n; i++)
        BT_TRY(join(j, a->at[i], b->at[i], stated && i < stated->n ? stated->at[i] : NULL,
                    &at[i]));
    *out = bt_type_tuple(s->store, a->n, at);
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

/* A polymorphic function as the branch gives it: of some one type. */
static bt_status instantiate(struct join *j, const bt_func_type **func)
{
    const bt_type *instance;
    if (!(*func)->nparam)
        return NULL;
    BT_TRY(bt__instance(j->solver, j->node, &(*func)->base, &instance));
    *func = bt_as_func_type(instance);
    return NULL;
}

/* Arguments must be equal, results are joined. */
static bt_status join_functions(struct join *j, const bt_func_type *a,
                                const bt_func_type *b, const bt_func_type *stated,
                                const bt_type **out)
{
    bt_solver *s = j->solver;
    if (a->narg != b->narg)
        return bt__differ(s, &a->base, &b->base);
    BT_TRY(instantiate(j, &a));
    BT_TRY(instantiate(j, &b));
    bt_func_type fields = *a;
    for (uint32_t i = 0; i < a->narg; i++)
        BT_TRY(bt__unify(s, j->node, a->args[i], b->args[i]));
    BT_TRY(join(j, a->result, b->result, stated ? stated->result : NULL, &fields.result));
    *out = bt_type_func(s->store, &fields);
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

static bt_status join_parts(struct join *j, const bt_type *a, const bt_type *b,
                            const bt_type *stated, const bt_type **out)
{
    if (stated && stated->kind != a->kind)
        stated = NULL;
    switch (a->kind) {
    case BT_TYPE_TENSOR:
        return join_tensors(j, bt_as_tensor_type(a), bt_as_tensor_type(b),
                            stated ? bt_as_tensor_type(stated) : NULL, out);
    case BT_TYPE_TUPLE:
        return join_tuples(j, bt_as_list_type(a), bt_as_list_type(b),
                           stated ? bt_as_list_type(stated) : NULL, out);
    case BT_TYPE_FUNC:
        return join_functions(j, bt_as_func_type(a), bt_as_func_type(b),
                              stated ? bt_as_func_type(stated) : NULL, out);
    default: return bt__unify(j->solver, j->node, a, b);
    }
}

static bt_status join(struct join *j, const bt_type *a, const bt_type *b,
                      const bt_type *stated, const bt_type **out)
{
    bt_solver *s = j->solver;
    BT_TRY(bt__resolve(s, a, &a));
    BT_TRY(bt__resolve(s, b, &b));
    *out = a;
    if (a == b && !is_kept(j, stated))
        return NULL;
    if (a->kind == BT_TYPE_HOLE || b->kind == BT_TYPE_HOLE || a->kind != b->kind)
        return bt__unify(s, j->node, a, b);
    const struct pair *known = bt_map_find(&j->done, a);
    if (known && known->right == b && known->stated == stated) {
        *out = known->joined;
        return NULL;
    }
    struct pair *pair = BT_NEW(s->arena, struct pair);
    if (!pair)
        return bt_no_memory();
    if (j->depth >= BT_TYPE_DEPTH)
        return bt_fail(s->ctx, BT_ERR_LIMIT, "types are nested deeper than %d",
                       BT_TYPE_DEPTH);
    j->depth++;
    BT_TRY(join_parts(j, a, b, stated, out));
    j->depth--;
    *pair = (struct pair){ b, stated, *out };
    return bt_map_put(&j->done, a, pair) ? NULL : bt_no_memory();
}

bt_status bt__join(bt_solver *s, struct bt__node *node)
{
    struct join j = { .solver = s, .node = node };
    const bt_type *type = node->u.join.branches[0];
    bt_map_init(&j.done, s->arena, 0);
    for (uint32_t i = 0; i < node->u.join.n; i++) {
        node->u.join.differing = i;
        BT_TRY(join(&j, type, node->u.join.branches[i], node->u.join.stated, &type));
    }
    return bt__give(s, node, type);
}
