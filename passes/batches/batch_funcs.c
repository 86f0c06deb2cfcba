/* Versions of globals for a batch. */
#include "batches/batch.h"
#include "common/names.h"

#include <string.h>

/* ---- which ones ---- */

static uint32_t nleaf_of(const bt_func_type *type)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < type->narg; i++)
        n += bt_type_nleaf(type->args[i]);
    return n;
}

static const bt_func_type *type_of(const struct batch_func *f)
{
    return bt_as_func_type(f->of->type);
}

static bt_status check(const struct vmap *v, const bt_global *global)
{
    const bt_func *func = global->func;
    if (global->kind != BT_GLOBAL_FUNC && global->kind != BT_GLOBAL_GRADIENT)
        return bt_fail_at(
            v->ctx, BT_ERR_UNSUPPORTED, v->module->store, global->span,
            "vmap: @%s is no function of the module, so that nothing is known "
            "of what it does with a batch",
            global->name);
    for (uint32_t i = 0; func && i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM)
            return bt_fail_at(v->ctx, BT_ERR_UNSUPPORTED, v->module->store, global->span,
                              "vmap: @%s has type parameters besides dims: run pass "
                              "monomorphize before",
                              global->name);
    }
    return NULL;
}

/* Gradients are of each example where what they are by is a tensor for each example. */
static bt_status add_wanted(struct vmap *v, const struct batch_func *f, uint8_t *mask)
{
    const bt_global *primal = bt_module_find(v->module, f->of->primal);
    const bt_func_type *type = type_of(f), *of = bt_as_func_type(primal->type);
    const bt_ints *wrt = &f->of->gradient.wrt;
    for (uint32_t i = 0; i < of->narg; i++) {
        const uint32_t n = bt_type_nleaf(type->args[i]);
        int is_wanted = wrt->n == BT_NONE_LIST;
        for (int64_t k = 0; k < wrt->n; k++)
            is_wanted |= wrt->at[k] == (int64_t)i;
        if (is_wanted) {
            uint8_t *full;
            BT_TRY(batch_full(v, type->args[i], &full));
            memcpy(mask, full, n);
        }
        mask += n;
    }
    if (f->of->gradient.is_seeded) { // a seed is of a result, all of which differ
        uint8_t *full;
        BT_TRY(batch_full(v, type->args[of->narg], &full));
        memcpy(mask, full, bt_type_nleaf(type->args[of->narg]));
    }
    return NULL;
}

bt_status batch_want(struct vmap *v, const bt_global *global, const uint8_t *mask,
                     struct batch_func **out)
{
    BT_TRY(check(v, global));
    struct batch_func *f = BT_NEW(v->arena, struct batch_func), *base;
    const uint32_t n = nleaf_of(bt_as_func_type(global->type));
    uint8_t *own = BT_NEWS(v->arena, uint8_t, n);
    if (!f || !own)
        return bt_no_memory();
    if (n)
        memcpy(own, mask, n);
    *f = (struct batch_func){ .of = global, .mask = own };
    if (global->kind == BT_GLOBAL_GRADIENT)
        BT_TRY(add_wanted(v, f, own));
    for (uint32_t i = 0; i < v->all.len; i++) {
        *out = v->all.at[i];
        if ((*out)->of == global && memcmp((*out)->mask, own, n) == 0)
            return NULL;
    }
    if (global->kind == BT_GLOBAL_GRADIENT) {
        BT_TRY(batch_want(v, bt_module_find(v->module, global->primal), own, &base));
        f->base = base;
    }
    *out = f;
    return BT_PUSH(v->arena, &v->all, f) ? NULL : bt_no_memory();
}

/* What the version calls; where something in it has no form for a batch, nothing. */
static bt_status close_one(struct vmap *v, struct batch_func *f)
{
    struct batch b;
    const bt_block *block = f->of->func->block;
    const uint32_t n = v->all.len;
    batch_init(&b, v, NULL);
    BT_TRY(batch_mark_params(&b, block, f->mask));
    bt_status status = batch_mark(&b, block);
    if (!status || status->code != BT_ERR_UNSUPPORTED ||
        !batch_is_tensors(f->of->func->result))
        return status;
    v->all.len = n;
    f->is_each = 1;
    return NULL;
}

bt_status batch_close(struct vmap *v)
{
    for (uint32_t i = 0; i < v->all.len; i++) {
        if (v->all.at[i]->of->func)
            BT_TRY(close_one(v, v->all.at[i]));
    }
    return NULL;
}

/* ---- declarations ---- */

static bt_status new_size(const struct vmap *v, const bt_type **out)
{
    static const bt_type_param any = { .kind = BT_KIND_DIM,
                                       .high = INT64_MAX,
                                       .step = 1 };
    *out = bt_type_var(v->module->store, &any, "batch");
    return *out ? NULL : bt_store_why(v->ctx, v->module->store);
}

static bt_status full_type(struct vmap *v, const bt_type *type, const bt_type *size,
                           const bt_type **out)
{
    uint8_t *full;
    BT_TRY(batch_full(v, type, &full));
    return batch_type(v, type, size, full, out);
}

/* The type of a version: that of the global with one dim parameter more, the last one. */
static bt_status declare_type(struct vmap *v, const struct batch_func *f,
                              const bt_type **out)
{
    bt_store *store = v->module->store;
    const bt_func_type *type = type_of(f);
    const uint32_t nvar = type->nparam;
    const bt_type **vars = BT_NEWS(v->arena, const bt_type *, nvar + 1),
                  **args = BT_NEWS(v->arena, const bt_type *, type->narg), *result;
    const uint8_t *mask = f->mask;
    if (!vars || !args)
        return bt_no_memory();
    for (uint32_t i = 0; i < nvar; i++) {
        if (!(vars[i] = bt_type_var(store, &type->params[i], "n")))
            return bt_store_why(v->ctx, store);
    }
    BT_TRY(new_size(v, &vars[nvar]));
    if (nvar && !(type = bt_func_type_open(store, type, vars)))
        return bt_store_why(v->ctx, store);
    for (uint32_t i = 0; i < type->narg; i++) {
        BT_TRY(batch_type(v, type->args[i], vars[nvar], mask, &args[i]));
        mask += bt_type_nleaf(type->args[i]);
    }
    BT_TRY(full_type(v, type->result, vars[nvar], &result));
    *out = bt_func_type_close(store, nvar + 1, vars, type->narg, args, result,
                              type->nwhere, type->wheres);
    return *out ? NULL : bt_store_why(v->ctx, store);
}

bt_status batch_declare(struct vmap *v, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < v->all.len; i++) {
        struct batch_func *f = v->all.at[i];
        bt_global global = { .kind = BT_GLOBAL_EXTERN, .span = f->of->span };
        BT_TRY(
            name_new(v->module, v->arena, &v->taken, &f->name, "%s.batch", f->of->name));
        BT_TRY(declare_type(v, f, &global.type));
        global.name = f->name;
        f->type = global.type;
        BT_TRY(bt_module_builder_set(builder, &global, 0));
    }
    return NULL;
}

/* ---- functions ---- */

static bt_status make_params(struct batch *b, const bt_block *block, const uint8_t *mask,
                             const bt_param ***out)
{
    struct copy *c = b->copy;
    *out = BT_NEWS(c->arena, const bt_param *, block->nparam);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *old = &block->params[i]->base;
        const bt_type *type;
        BT_TRY(copy_type(c, old->type, &type));
        BT_TRY(batch_type(b->vmap, type, b->size, mask, &type));
        mask += bt_type_nleaf(old->type);
        bt_builder_like(c->b, old);
        BT_TRY(bt_build_param(c->b, old->name, type, &(*out)[i]));
        BT_TRY(copy_put(c, old, &(*out)[i]->base));
    }
    bt_builder_name(c->b, NULL);
    return NULL;
}

static bt_status make_block(struct batch *b, const struct batch_func *f,
                            const bt_block *block, const bt_block **out)
{
    const bt_param **params;
    const bt_value *result;
    uint8_t *full;
    BT_TRY(make_params(b, block, f->mask, &params));
    BT_TRY(bt_block_begin(b->copy->b, block->nparam, params));
    if (f->is_each) {
        BT_TRY(batch_each(b, block->result, &result));
        return bt_block_end(b->copy->b, result, out);
    }
    BT_TRY(copy_bindings(b->copy, block, f->of->func->result, &result));
    BT_TRY(batch_full(b->vmap, block->result->type, &full));
    BT_TRY(batch_widen(b, result, batch_mask(b, block->result), full, &result));
    return bt_block_end(b->copy->b, result, out);
}

/* The function as it is, called: what is done for one example after another. */
static bt_status call_block(struct batch *b, const struct batch_func *f,
                            const bt_block **out)
{
    bt_builder *builder = b->copy->b;
    const bt_func *old = f->of->func;
    const uint32_t n = old->block->nparam;
    const bt_param **params = BT_NEWS(b->copy->arena, const bt_param *, n);
    const bt_value **args = BT_NEWS(b->copy->arena, const bt_value *, n), *value;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = n,
                     .args = args,
                     .ntype_arg = old->nvar,
                     .type_args = old->vars };
    if (!params || !args)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *param = &old->block->params[i]->base;
        BT_TRY(bt_build_param(builder, param->name, param->type, &params[i]));
        args[i] = &params[i]->base;
    }
    BT_TRY(bt_block_begin(builder, n, params));
    bt_builder_at(builder, old->span, 0);
    BT_TRY(bt_build_global(builder, f->of->name, &call.callee));
    BT_TRY(bt_build_call(builder, &call, &value));
    return bt_block_end(builder, value, out);
}

static bt_status make_func(struct batch *b, const struct batch_func *f,
                           const bt_func **out)
{
    struct copy *c = b->copy;
    const bt_func *old = f->of->func;
    const bt_type **vars = BT_NEWS(c->arena, const bt_type *, old->nvar + 1);
    bt_func now = { .name = f->name, .span = old->span };
    if (!vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->nvar; i++)
        BT_TRY(copy_var(c, old->vars[i], &vars[i]));
    BT_TRY(new_size(b->vmap, &vars[old->nvar]));
    b->size = vars[old->nvar];
    now.nvar = old->nvar + 1;
    now.vars = vars;
    now.nwhere = old->nwhere;
    BT_TRY(copy_wheres(c, old->nwhere, old->wheres, &now.wheres));
    const bt_block *block = old->block;
    if (f->is_each)
        BT_TRY(call_block(b, f, &block));
    BT_TRY(batch_mark_params(b, block, f->mask));
    if (!f->is_each)
        BT_TRY(batch_mark(b, block));
    BT_TRY(make_block(b, f, block, &now.block));
    now.result = now.block->result->type;
    return bt_func_create(c->ctx, c->store, &now, out);
}

static bt_status define_func(struct vmap *v, const struct batch_func *f,
                             bt_module_builder *builder)
{
    struct copy copy;
    struct batch b;
    bt_global global = { .name = f->name, .kind = BT_GLOBAL_FUNC, .span = f->of->span };
    BT_TRY(copy_init(&copy, v->ctx, v->arena, v->declared));
    batch_init(&b, v, &copy);
    copy.state = &b;
    copy.binding = batch_binding;
    bt_status status = make_func(&b, f, &global.func);
    copy_deinit(&copy);
    BT_TRY(status);
    global.type = bt_func_type_of(v->module->store, global.func);
    return global.type ? bt_module_builder_set(builder, &global, 0)
                       : bt_store_why(v->ctx, v->module->store);
}

static bt_status define_gradient(const struct batch_func *f, bt_module_builder *builder)
{
    bt_global global = *f->of;
    global.name = f->name;
    global.primal = f->base->name;
    global.type = f->type;
    return bt_module_builder_set(builder, &global, 0);
}

bt_status batch_define(struct vmap *v, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < v->all.len; i++) {
        const struct batch_func *f = v->all.at[i];
        BT_TRY(f->base ? define_gradient(f, builder) : define_func(v, f, builder));
    }
    return NULL;
}
