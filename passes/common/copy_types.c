/* Copies of what stands for types: types, attributes, what type parameters satisfy. */
#include "common/copy.h"

#include "common/dims.h"

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

/* ---- dims that only the run knows ---- */

struct renewing {
    struct copy *c;
    bt_map kept; /* those that values from around the block have */
    int is_around;
    bt_status failed;
};

static const bt_type *renew_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct renewing *r = subst->state;
    if (r->failed || leaf->kind != BT_TYPE_OPAQUE || bt_map_find(&r->kept, leaf))
        return NULL;
    if (r->is_around) {
        r->failed = bt_map_put(&r->kept, leaf, r) ? NULL : bt_no_memory();
        return NULL;
    }
    const bt_opaque_type *old = (const bt_opaque_type *)(const void *)leaf;
    const bt_type *now = bt_dim_opaque(r->c->store, old->name);
    r->failed =
        now ? copy_put_type(r->c, leaf, now) : bt_store_why(r->c->ctx, r->c->store);
    // once
    if (!r->failed && !bt_map_put(&r->kept, leaf, r))
        r->failed = bt_no_memory();
    return NULL;
}

static bt_status renew_value(struct renewing *r, const bt_value *value, int is_around)
{
    const bt_call *call = is_around ? NULL : bt_as_call(value);
    bt_subst subst = { .leaf = renew_leaf, .state = r };
    r->is_around = is_around;
    int whole = !(value->type->has & BT_HAS_OPAQUE) ||
                bt_type_subst(r->c->store, &subst, value->type);
    for (uint32_t i = 0; call && call->contents && i < call->contents->n; i++)
        whole &= bt_type_subst(r->c->store, &subst, call->contents->dims[i]) != NULL;
    return r->failed ? r->failed : whole ? NULL : bt_store_why(r->c->ctx, r->c->store);
}

bt_status copy_put_result(struct copy *c, const bt_value *old, const bt_value *now)
{
    const struct dims_map m = { .ctx = c->ctx, .arena = c->arena, .store = c->store };
    dims_of_type was = { 0 }, is = { 0 };
    if (old->type->has & BT_HAS_OPAQUE) {
        BT_TRY(dims_list(&m, old->type, &was));
        BT_TRY(dims_list(&m, now->type, &is));
    }
    for (uint32_t i = 0; was.len == is.len && i < is.len; i++) {
        if (was.at[i]->kind == BT_TYPE_OPAQUE)
            BT_TRY(copy_put_type(c, was.at[i], is.at[i]));
    }
    return copy_put(c, old, now);
}

typedef bt_vec(const bt_value *) values;

/* Parameters and bindings of the block and of those in it, its own parameters first. */
static bt_status list_values(struct copy *c, const bt_block *block, bt_map *places,
                             values *out)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(c->arena, block, &blocks));
    for (uint32_t i = 0; i < blocks.len; i++) {
        const bt_block *b = blocks.at[i];
        for (uint32_t k = 0; k < b->nparam + b->nbinding; k++) {
            const bt_value *value =
                k < b->nparam ? &b->params[k]->base : b->bindings[k - b->nparam];
            if (!BT_PUSH(c->arena, out, value) || !bt_map_put(places, value, out))
                return bt_no_memory();
        }
    }
    return NULL;
}

bt_status copy_renew_dims(struct copy *c, const bt_block *block)
{
    struct renewing r = { .c = c };
    values list = { 0 };
    bt_map inside;
    bt_map_init(&r.kept, c->arena, 0);
    bt_map_init(&inside, c->arena, 0);
    BT_TRY(list_values(c, block, &inside, &list));
    for (uint32_t i = 0; i < list.len; i++) {
        const bt_value *value = list.at[i];
        if (i < block->nparam)
            BT_TRY(renew_value(&r, value, 1));
        for (uint32_t k = 0; k < bt_value_noperand(value); k++) {
            const bt_value *operand = bt_value_operand(value, k);
            if (operand->type && !bt_map_find(&inside, operand))
                BT_TRY(renew_value(&r, operand, 1));
        }
    }
    for (uint32_t i = block->nparam; i < list.len; i++)
        BT_TRY(renew_value(&r, list.at[i], 0));
    return NULL;
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
