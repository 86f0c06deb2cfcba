/* Which versions of globals there are for a batch. */
#include "batches/batching.h"

#include <string.h>

#include "common/wrap.h"

static uint32_t nleaf_of(const bt_func_type *type)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < type->narg; i++)
        n += bt_type_nleaf(type->args[i]);
    return n;
}

static const bt_func_type *type_of(const struct batching_func *f)
{
    return bt_as_func_type(f->of->type);
}

static bt_status check(const struct vmap *v, const bt_global *global)
{
    const bt_func *func = global->func;
    if (global->kind == BT_GLOBAL_CONST)
        return bt_fail_at(v->ctx, BT_ERR_UNSUPPORTED, v->module->store, global->span,
                          "vmap: @%s is no function", global->name);
    for (uint32_t i = 0; func && i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM)
            return bt_fail_at(v->ctx, BT_ERR_UNSUPPORTED, v->module->store, global->span,
                              "vmap: @%s has type parameters besides dims: run pass "
                              "monomorphize before",
                              global->name);
    }
    return NULL;
}

/* Nothing is known of what an external function does with a batch: for one example after another a
 * function calls it. */
static bt_status call_external(struct vmap *v, bt_builder *b, const bt_global *external,
                               const bt_func **out)
{
    const bt_param **params;
    bt_func func;
    BT_TRY(wrap_external(v->ctx, b, v->arena, external, &func, &params));
    BT_TRY(wrap_call(b, external, bt_as_func_type(external->type)->narg, params, &func));
    return bt_func_create(v->ctx, v->module->store, &func, out);
}

static bt_status stand_in(struct vmap *v, const bt_global *external,
                          const bt_global **out)
{
    bt_builder *b;
    bt_global *now;
    if ((*out = bt_map_find(&v->external, external)))
        return NULL;
    if (!batching_is_tensors(bt_as_func_type(external->type)->result))
        return bt_fail_at(v->ctx, BT_ERR_UNSUPPORTED, v->module->store, external->span,
                          "vmap: @%s is external and gives no tensors: nothing is known "
                          "of what it does with a batch",
                          external->name);
    if (!(now = BT_NEW(v->arena, bt_global)))
        return bt_no_memory();
    *now = *external;
    now->kind = BT_GLOBAL_FUNC;
    *out = now;
    BT_TRY(bt_builder_create(v->ctx, v->module->store, v->module, &b));
    bt_status status = call_external(v, b, external, &now->func);
    bt_builder_destroy(b);
    return status                                    ? status
           : bt_map_put(&v->external, external, now) ? NULL
                                                     : bt_no_memory();
}

const char *batching_rule(const struct batching_func *f, const char *name)
{
    for (uint32_t i = 0; i < DERIVATIVE_NRULE; i++) {
        if (f->rules[i] && strcmp(derivative_rules[i], name) == 0)
            return f->rules[i]->name;
    }
    return NULL;
}

static int has_rule(const bt_global *global)
{
    for (uint32_t i = 0; global->func && i < DERIVATIVE_NRULE; i++) {
        if (bt_dict_find(&global->func->attrs, derivative_rules[i]))
            return 1;
    }
    return 0;
}

static bt_status fill(struct vmap *v, const bt_type *type, uint8_t *mask)
{
    uint8_t *full;
    const uint32_t n = bt_type_nleaf(type);
    BT_TRY(batching_full(v, type, &full));
    if (n)
        memcpy(mask, full, n);
    return NULL;
}

/* Gradients are of each example where what they are by is a tensor for each example; so are
 * tangents and seeds, which are of what differs. */
static bt_status add_wanted(struct vmap *v, const struct batching_func *f, uint8_t *mask)
{
    const bt_global *primal = bt_module_find(v->module, f->of->primal);
    const bt_func_type *type = type_of(f), *of = bt_as_func_type(primal->type);
    for (uint32_t i = 0; i < of->narg; i++) {
        const uint32_t n = bt_type_nleaf(type->args[i]);
        if (bt_gradient_spec_is_wrt(&f->of->gradient, i))
            BT_TRY(fill(v, type->args[i], mask));
        mask += n;
    }
    for (uint32_t i = of->narg; i < type->narg; i++) {
        BT_TRY(fill(v, type->args[i], mask));
        mask += bt_type_nleaf(type->args[i]);
    }
    return NULL;
}

/* A function that names its derivatives has those of each example by all of its arguments. */
static bt_status add_given(struct vmap *v, const struct batching_func *f, uint8_t *mask)
{
    const bt_func_type *type = type_of(f);
    for (uint32_t i = 0; i < type->narg; i++) {
        BT_TRY(fill(v, type->args[i], mask));
        mask += bt_type_nleaf(type->args[i]);
    }
    return NULL;
}

/* What a gradient's function takes of each example, the gradient does. */
static bt_status add_base(struct vmap *v, struct batching_func *f, uint8_t *mask)
{
    struct batching_func *base;
    const bt_global *primal = bt_module_find(v->module, f->of->primal);
    const uint32_t n = nleaf_of(bt_as_func_type(primal->type));
    BT_TRY(add_wanted(v, f, mask));
    BT_TRY(batching_want(v, primal, mask, &base));
    if (n)
        memcpy(mask, base->mask, n);
    f->base = base;
    return NULL;
}

bt_status batching_want(struct vmap *v, const bt_global *global, const uint8_t *mask,
                        struct batching_func **out)
{
    const int is_external = global->kind == BT_GLOBAL_EXTERN;
    if (is_external)
        BT_TRY(stand_in(v, global, &global));
    BT_TRY(check(v, global));
    struct batching_func *f = BT_NEW(v->arena, struct batching_func);
    const uint32_t n = nleaf_of(bt_as_func_type(global->type));
    uint8_t *own = BT_NEWS(v->arena, uint8_t, n);
    if (!f || !own)
        return bt_no_memory();
    if (n)
        memcpy(own, mask, n);
    *f = (struct batching_func){ .of = global,
                                 .mask = own,
                                 .is_each = (uint32_t)is_external };
    if (global->kind == BT_GLOBAL_GRADIENT)
        BT_TRY(add_base(v, f, own));
    if (has_rule(global))
        BT_TRY(add_given(v, f, own));
    for (uint32_t i = 0; i < v->all.len; i++) {
        *out = v->all.at[i];
        if ((*out)->of == global && memcmp((*out)->mask, own, n) == 0)
            return NULL;
    }
    *out = f;
    return BT_PUSH(v->arena, &v->all, f) ? NULL : bt_no_memory();
}

static int is_same(const struct batching_func *a, const struct batching_func *b)
{
    return a->of == b->of && memcmp(a->mask, b->mask, nleaf_of(type_of(a))) == 0;
}

int batching_is_refused(const struct vmap *v, const struct batching_func *f)
{
    for (; f; f = f->base) {
        for (uint32_t i = 0; i < v->refused.len; i++) {
            if (is_same(v->refused.at[i], f))
                return 1;
        }
    }
    return 0;
}

/* The version of what one of those names, if that is a function at all: of all arguments, results
 * and adjoints or tangents. */
static bt_status want_rule(struct vmap *v, struct batching_func *f, uint32_t which)
{
    const bt_dict_entry *entry =
        bt_dict_find(&f->of->func->attrs, derivative_rules[which]);
    const bt_global *rule = entry && entry->kind == BT_DICT_TEXT
                                ? bt_module_find(v->module, entry->text)
                                : NULL;
    const bt_func_type *type = rule ? bt_as_func_type(rule->type) : NULL;
    struct batching_func all = { .of = rule };
    uint8_t *mask;
    if (!type)
        return NULL; // what takes the derivative refuses it
    mask = BT_NEWS(v->arena, uint8_t, nleaf_of(type));
    if (!mask)
        return bt_no_memory();
    BT_TRY(add_given(v, &all, mask));
    BT_TRY(batching_want(v, rule, mask, &f->rules[which]));
    return !batching_is_refused(v, f->rules[which])
               ? NULL
               : bt_fail_at(
                     v->ctx, BT_ERR_UNSUPPORTED, v->module->store, f->of->span,
                     "vmap: what attribute %s of @%s names has no form for a batch",
                     derivative_rules[which], f->of->name);
}

/* What the version calls; where something in it has no form for a batch, nothing. */
static bt_status close_one(struct vmap *v, struct batching_func *f)
{
    struct batching b;
    const bt_block *block = f->of->func->block;
    const uint32_t n = v->all.len;
    batching_init(&b, v, NULL);
    BT_TRY(batching_mark_params(&b, block, f->mask));
    bt_status status = batching_mark(&b, block);
    for (uint32_t i = 0; !status && i < DERIVATIVE_NRULE; i++)
        status = want_rule(v, f, i);
    if (!status || status->code != BT_ERR_UNSUPPORTED ||
        !batching_is_tensors(f->of->func->result))
        return status;
    v->all.len = n;
    f->is_each = 1;
    return NULL;
}

/* One that can be had in no way is left to those that call it; then all are looked at again. */
bt_status batching_close(struct vmap *v)
{
    const uint32_t nwanted = v->all.len;
    for (uint32_t i = 0; i < v->all.len; i++) {
        struct batching_func *f = v->all.at[i];
        bt_status status = f->of->func && !f->is_each ? close_one(v, f) : NULL;
        if (status && (status->code != BT_ERR_UNSUPPORTED || i < nwanted))
            return status;
        if (!status)
            continue;
        if (!BT_PUSH(v->arena, &v->refused, f))
            return bt_no_memory();
        v->all.len = nwanted;
        i = UINT32_MAX; // from the first on
    }
    return NULL;
}
