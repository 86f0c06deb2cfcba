/* Copies of what stands for types: types, attributes, what type parameters satisfy. */
#include "common/copy.h"

static const bt_type *find_leaf(bt_subst *subst, const bt_type *leaf)
{
    const struct copy *c = subst->state;
    return bt_map_find(&c->types, leaf);
}

static int is_substituting(const struct copy *c, const bt_type *type)
{
    return c->types.len && type->has & (BT_HAS_VAR | BT_HAS_OPAQUE);
}

bt_status copy_type(struct copy *c, const bt_type *type, const bt_type **out)
{
    bt_subst subst = { .leaf = find_leaf, .state = c };
    *out = type;
    if (type && c->type)
        BT_TRY(c->type(c, type, &type));
    *out = type;
    if (type && is_substituting(c, type) &&
        !(*out = bt_type_subst(c->store, &subst, type)))
        return bt_store_why(c->ctx, c->store);
    return NULL;
}

bt_status copy_types(struct copy *c, uint32_t n, const bt_type *const *types,
                     const bt_type *const **out)
{
    *out = types;
    if (!n || (!c->types.len && !c->type))
        return NULL;
    const bt_type **now = BT_NEWS(c->arena, const bt_type *, n);
    if (!now)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(copy_type(c, types[i], &now[i]));
    *out = now;
    return NULL;
}

bt_status copy_attrs(struct copy *c, const bt_op *op, const void *attrs, const void **out)
{
    bt_subst subst = { .leaf = find_leaf, .state = c };
    *out = attrs;
    if (!op || !op->attrs || !attrs || !c->types.len)
        return NULL;
    *out = bt_attrs_subst(c->store, &subst, op->attrs, op->attrs_nbytes, attrs);
    return *out ? NULL : bt_store_why(c->ctx, c->store);
}

bt_status copy_wheres(struct copy *c, uint32_t n, const bt_where *const *wheres,
                      const bt_where *const **out)
{
    *out = wheres;
    if (!n || !c->types.len)
        return NULL;
    const bt_where **now = BT_NEWS(c->arena, const bt_where *, n);
    bt_where *rows = BT_NEWS(c->arena, bt_where, n);
    if (!now || !rows)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = *wheres[i];
        now[i] = &rows[i];
        BT_TRY(copy_types(c, rows[i].ntype, rows[i].types, &rows[i].types));
        BT_TRY(copy_attrs(c, rows[i].op, rows[i].attrs, &rows[i].attrs));
    }
    *out = now;
    return NULL;
}

bt_status copy_var(struct copy *c, const bt_type *old, const bt_type **out)
{
    bt_type_param dim = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    const bt_type_param *param = &dim;
    const char *name = NULL;
    if (old->kind == BT_TYPE_VAR) {
        const bt_var_type *var = (const bt_var_type *)(const void *)old;
        param = &var->param;
        name = var->name;
    } else if (old->kind == BT_TYPE_OPAQUE) {
        name = ((const bt_opaque_type *)(const void *)old)->name;
    }
    // dims of `?` meet otherwise than those that have names
    *out = old->kind == BT_TYPE_VAR && !name
               ? bt_type_var_anonymous(c->store, param)
               : bt_type_var(c->store, param, name ? name : "n");
    if (!*out)
        return bt_store_why(c->ctx, c->store);
    return copy_put_type(c, old, *out);
}

bt_status copy_head(struct copy *c, const bt_func *old, bt_func *out)
{
    const bt_type **vars = BT_NEWS(c->arena, const bt_type *, old->nvar);
    if (!vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->nvar; i++)
        BT_TRY(copy_var(c, old->vars[i], &vars[i]));
    out->nvar = old->nvar;
    out->vars = vars;
    out->nwhere = old->nwhere;
    return copy_wheres(c, old->nwhere, old->wheres, &out->wheres);
}
