/* Calls in a store of their own, in which dims may have become numbers. */
#include "compute/compose/copy.h"

#include <inttypes.h>

#include <baton/graph.h>

#include "ir/attrs.h"

#define VAR(type) ((const bt_var_type *)(const void *)(type))

/* One that has no number becomes a fresh one. */
static const bt_type *copy_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct bt__copying *c = subst->state;
    const bt_type *copy = bt_map_find(&c->leaves, leaf);
    if (copy || !bt_type_is_free(leaf))
        return copy;
    if (leaf->kind == BT_TYPE_VAR)
        copy = bt_type_var(c->store, &VAR(leaf)->param, VAR(leaf)->name);
    else
        copy =
            bt_dim_opaque(c->store, ((const bt_opaque_type *)(const void *)leaf)->name);
    c->failed = !copy || !bt_map_put(&c->leaves, leaf, (void *)(uintptr_t)copy);
    return c->failed ? NULL : copy;
}

/* Why there is no copy of a term. */
static bt_status why(const struct bt__copying *c)
{
    return c->failed ? bt_no_memory() : bt_store_why(c->ctx, c->store);
}

void bt__copying_init(struct bt__copying *c, bt_ctx *ctx, bt_arena *arena,
                      bt_store *store)
{
    *c = (struct bt__copying){ .ctx = ctx, .arena = arena, .store = store };
    bt_map_init(&c->leaves, arena, 0);
    c->subst = (bt_subst){ .leaf = copy_leaf, .state = c };
}

bt_status bt__copying_bind(struct bt__copying *c, const bt_func *func,
                           const int64_t *dims)
{
    const char *name = func->name ? func->name : "a function";
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_type_param *param = &VAR(func->vars[i])->param;
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM)
            return bt_fail(c->ctx, BT_ERR_UNSUPPORTED,
                           "%s: type parameter %" PRIu32 " is no dim", name, i);
        if (dims[i] < param->low || dims[i] > param->high || dims[i] < 0 ||
            dims[i] > BT_MAX_DIM || bt_mod_int64(dims[i], param->step))
            return bt_fail(c->ctx, BT_ERR_ARGUMENT,
                           "%s: dim %s is %" PRId64
                           ", which is not among the values that it may have",
                           name, VAR(func->vars[i])->name, dims[i]);
        const bt_type *number = bt_dim(c->store, dims[i]);
        if (!number || !bt_map_put(&c->leaves, func->vars[i], (void *)(uintptr_t)number))
            return bt_no_memory();
    }
    return NULL;
}

bt_status bt__copying_type(struct bt__copying *c, const bt_type *type,
                           const bt_type **out)
{
    *out = bt_type_copy(c->store, &c->subst, type);
    return *out ? NULL : why(c);
}

static const bt_type *copy_term(bt__attrs_walk *walk, const bt_type *term)
{
    struct bt__copying *c = walk->state;
    return bt_type_copy(c->store, &c->subst, term);
}

bt_status bt__copying_call(struct bt__copying *c, const bt_formula_call *from,
                           bt_formula_call *to)
{
    const bt_type **args = BT_NEWS(c->arena, const bt_type *, from->narg);
    bt__attrs_walk walk = { .map = copy_term, .state = c };
    bt_formula_call copy = *from;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < from->narg; i++)
        BT_TRY(bt__copying_type(c, from->args[i], &args[i]));
    copy.args = args;
    BT_TRY(bt__copying_type(c, from->result, &copy.result));
    if (from->attrs && from->op->attrs) {
        copy.attrs = bt__attrs_copy_to(c->store, &walk, from->op->attrs,
                                       from->op->attrs_nbytes, from->attrs);
        if (!copy.attrs)
            return why(c);
    }
    *to = copy;
    return NULL;
}

bt_status bt__copying_binding(struct bt__copying *c, const bt_call *call,
                              bt_formula_call *to)
{
    bt_formula_call formula;
    for (uint32_t i = 0; i < call->ncheck; i++) {
        const bt_check *check = &call->checks[i];
        const bt_type *left, *right;
        int64_t a, b;
        BT_TRY(bt__copying_type(c, check->left, &left));
        BT_TRY(bt__copying_type(c, check->right, &right));
        if (bt_dim_is_const(left, &a) && bt_dim_is_const(right, &b) &&
            !bt_check_holds(check->relation, a, b))
            return bt_check_fail(c->ctx, &call->base, call->op->name, check, a, b);
    }
    BT_TRY(bt_call_formula(c->arena, call, &formula));
    return bt__copying_call(c, &formula, to);
}
