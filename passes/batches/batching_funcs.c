/* Functions that are versions of globals for a batch. */
#include "batches/batching.h"
#include "common/names.h"

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
    BT_TRY(batching_full(v, type, &full));
    return batching_type(v, type, size, full, out);
}

/* The type of a version: that of the global with one dim parameter more, the last one. */
static bt_status declare_type(struct vmap *v, const struct batching_func *f,
                              const bt_type **out)
{
    bt_store *store = v->module->store;
    const bt_func_type *type = bt_as_func_type(f->of->type);
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
        BT_TRY(batching_type(v, type->args[i], vars[nvar], mask, &args[i]));
        mask += bt_type_nleaf(type->args[i]);
    }
    BT_TRY(full_type(v, type->result, vars[nvar], &result));
    *out = bt_func_type_close(store, nvar + 1, vars, type->narg, args, result,
                              type->nwhere, type->wheres);
    return *out ? NULL : bt_store_why(v->ctx, store);
}

bt_status batching_declare(struct vmap *v, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < v->all.len; i++) {
        struct batching_func *f = v->all.at[i];
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

static bt_status make_params(struct batching *b, const bt_block *block,
                             const uint8_t *mask, const bt_param ***out)
{
    struct copy *c = b->copy;
    *out = BT_NEWS(c->arena, const bt_param *, block->nparam);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *old = &block->params[i]->base;
        const bt_type *type;
        BT_TRY(copy_type(c, old->type, &type));
        BT_TRY(batching_type(b->vmap, type, b->size, mask, &type));
        mask += bt_type_nleaf(old->type);
        bt_builder_like(c->b, old);
        BT_TRY(bt_build_param(c->b, old->name, type, &(*out)[i]));
        BT_TRY(copy_put(c, old, &(*out)[i]->base));
    }
    bt_builder_name(c->b, NULL);
    return NULL;
}

static bt_status make_block(struct batching *b, const struct batching_func *f,
                            const bt_block *block, const bt_block **out)
{
    const bt_param **params;
    const bt_value *result;
    uint8_t *full;
    BT_TRY(make_params(b, block, f->mask, &params));
    BT_TRY(bt_block_begin(b->copy->b, block->nparam, params));
    if (f->is_each) {
        BT_TRY(batching_each(b, block->result, &result));
        return bt_block_end(b->copy->b, result, out);
    }
    BT_TRY(copy_bindings(b->copy, block, f->of->func->result, &result));
    BT_TRY(batching_full(b->vmap, block->result->type, &full));
    BT_TRY(batching_widen(b, result, batching_mask(b, block->result), full, &result));
    return bt_block_end(b->copy->b, result, out);
}

/* The function as it is, called: what is done for one example after another. */
static bt_status call_block(struct batching *b, const struct batching_func *f,
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

/* The function's attributes; vjp and jvp name versions. One example after another calls the
 * function itself, which has its own. */
static bt_status make_attrs(struct batching *b, const struct batching_func *f,
                            bt_dict *out)
{
    const bt_dict *old = &f->of->func->attrs;
    bt_dict_entry *at = BT_NEWS(b->copy->arena, bt_dict_entry, old->n);
    uint32_t n = 0;
    if (!at)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->n && !f->is_each; i++) {
        const char *name = batching_rule(f, old->at[i].name);
        at[n] = old->at[i];
        if (name)
            at[n].text = name;
        n++;
    }
    *out = (bt_dict){ n, at };
    return NULL;
}

static bt_status make_func(struct batching *b, const struct batching_func *f,
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
    BT_TRY(make_attrs(b, f, &now.attrs));
    const bt_block *block = old->block;
    if (f->is_each)
        BT_TRY(call_block(b, f, &block));
    BT_TRY(batching_mark_params(b, block, f->mask));
    if (!f->is_each)
        BT_TRY(batching_mark(b, block));
    BT_TRY(make_block(b, f, block, &now.block));
    // as calls have it that were made before
    const bt_func_type *declared =
        bt_func_type_open(c->store, bt_as_func_type(f->type), vars);
    if (!declared)
        return bt_store_why(c->ctx, c->store);
    now.result = declared->result;
    return bt_func_create(c->ctx, c->store, &now, out);
}

static bt_status define_func(struct vmap *v, const struct batching_func *f,
                             bt_module_builder *builder)
{
    struct copy copy;
    struct batching b;
    bt_global global = { .name = f->name, .kind = BT_GLOBAL_FUNC, .span = f->of->span };
    BT_TRY(copy_init(&copy, v->ctx, v->arena, v->declared));
    batching_init(&b, v, &copy);
    copy.state = &b;
    copy.binding = batching_binding;
    bt_status status = make_func(&b, f, &global.func);
    copy_deinit(&copy);
    return status ? status : bt_module_builder_set(builder, &global, 0);
}

static bt_status define_gradient(const struct batching_func *f,
                                 bt_module_builder *builder)
{
    bt_global global = *f->of;
    global.name = f->name;
    global.primal = f->base->name;
    global.type = f->type;
    return bt_module_builder_set(builder, &global, 0);
}

bt_status batching_define(struct vmap *v, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < v->all.len; i++) {
        const struct batching_func *f = v->all.at[i];
        BT_TRY(f->base ? define_gradient(f, builder) : define_func(v, f, builder));
    }
    return NULL;
}
