#include "quantize/quant_law_graph.h"

#include <baton/compute.h>

/* A function of that one call, its arguments parameters and its dims its own. */
struct alone {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    bt_builder *builder;
    bt_map own; /* dim of the function around -> the one that stands for it here */
    bt_vec(const bt_type *) vars;
};

static const bt_type *own_dim(bt_subst *subst, const bt_type *leaf)
{
    struct alone *a = subst->state;
    const bt_type *own = bt_map_find(&a->own, leaf);
    const bt_var_type *var = (const bt_var_type *)(const void *)leaf;
    const bt_type_param any = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    if (own || !bt_type_is_free(leaf))
        return own;
    own = bt_type_var(a->store, leaf->kind == BT_TYPE_VAR ? &var->param : &any,
                      bt_name_of(a->store, "n"));
    return own && BT_PUSH(a->arena, &a->vars, own) &&
                   bt_map_put(&a->own, leaf, (void *)(uintptr_t)own)
               ? own
               : NULL;
}

static bt_status own_type(struct alone *a, const bt_type *type, const bt_type **out)
{
    bt_subst subst = { .leaf = own_dim, .state = a };
    *out = type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)
               ? bt_type_subst(a->store, &subst, type)
               : type;
    return *out ? NULL : bt_store_why(a->ctx, a->store);
}

static bt_status build(struct alone *a, const bt_call *call, const bt_func **out)
{
    const bt_param **params = BT_NEWS(a->arena, const bt_param *, call->narg);
    const bt_value **args = BT_NEWS(a->arena, const bt_value *, call->narg), *value;
    bt_subst subst = { .leaf = own_dim, .state = a };
    bt_func fields = { 0 };
    bt_call own = *call;
    const bt_type *type;
    if (!params || !args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        BT_TRY(own_type(a, call->args[i]->type, &type));
        BT_TRY(bt_build_param(a->builder, "p", type, &params[i]));
        args[i] = &params[i]->base;
    }
    BT_TRY(bt_block_begin(a->builder, call->narg, params));
    own.args = args;
    own.contents = NULL;
    own.attrs = bt_attrs_subst(a->store, &subst, call->op->attrs, call->op->attrs_nbytes,
                               call->attrs);
    if (call->op->attrs && !own.attrs)
        return bt_store_why(a->ctx, a->store);
    BT_TRY(own_type(a, call->base.type, &type));
    bt_builder_type(a->builder, type);
    BT_TRY(bt_build_call(a->builder, &own, &value));
    BT_TRY(bt_block_end(a->builder, value, &fields.block));
    fields.result = value->type;
    fields.nvar = a->vars.len;
    fields.vars = a->vars.at;
    return bt_func_create(a->ctx, a->store, &fields, out);
}

/* A tensor of known rank, row major; where it may be one, a tuple of such. */
static int is_plain_type(const bt_type *type, int may_be_tuple)
{
    const bt_list_type *tuple = may_be_tuple ? bt_as_tuple_type(type) : NULL;
    const bt_shape_type *shape = bt_tensor_shape(type);
    int ok = 1;
    for (uint32_t i = 0; tuple && ok && i < tuple->n; i++)
        ok = is_plain_type(tuple->at[i], 0);
    return ok && (tuple || (shape && !shape->rest && !bt_type_layout(type)));
}

static int is_plain(const bt_call *call)
{
    int ok = call->callee_kind == BT_CALLEE_OP && !call->ncheck &&
             !(call->op->effects & ~(uint32_t)BT_EFFECT_FAILS) &&
             is_plain_type(call->base.type, 0);
    for (uint32_t i = 0; ok && i < call->narg; i++)
        ok = is_plain_type(call->args[i]->type, 1);
    return ok;
}

bt_status law_graph(bt_ctx *ctx, bt_store *store, bt_arena *arena,
                    const bt_module *module, const bt_call *call, bt_graph **out)
{
    struct alone a = { .ctx = ctx, .store = store, .arena = arena };
    const bt_func *func;
    *out = NULL;
    if (!is_plain(call))
        return NULL;
    bt_map_init(&a.own, arena, 0);
    BT_TRY(bt_builder_create(ctx, store, module, &a.builder));
    bt_status status = build(&a, call, &func);
    bt_builder_destroy(a.builder);
    if (!status)
        status = bt_graph_compose(ctx, arena, func, out);
    if (status)
        *out = NULL;
    return status && status->code != BT_ERR_TYPE && status->code != BT_ERR_UNSUPPORTED
               ? status
               : NULL;
}
