/*
 * Calls apart: memory of a target is got in advance, so tensors in it have sizes that are
 * known where a function begins. What has a dim that is found later is computed there by a
 * function of its own, which has that dim as a parameter:
 *
 *     %y = @fused_add[Dim ?a](%t)   ->   %y = @fused_add_call[Dim ?a](%t)
 *
 *     def @fused_add_call<n: Dim>(%x: Tensor[(n), float32]) { @fused_add[Dim n](%x) }
 */
#include "compile/lower/lowerer.h"
#include "ir/builder.h"

int bt__is_apart(const struct bt__lowerer *l, const bt_call *call, uint32_t target)
{
    uint32_t has = 0;
    for (uint32_t i = 0; i < call->ntype_arg; i++)
        has |= call->type_args[i]->has;
    return l->has_control_flow && l->kernels->targets[target]->space &&
           (has & BT_HAS_OPAQUE);
}

/* A name that no global has; primitive functions have one each, and so these. */
static bt_status name_apart(struct bt__lowerer *l, const char *primitive,
                            const char **out)
{
    bt_text text;
    bt_text_init(&text, l->arena);
    bt_text_addf(&text, "%s_call", primitive);
    while (bt_text_get(&text) && bt_module_find(l->module, bt_text_get(&text)))
        bt_text_addf(&text, "_");
    *out = bt_text_get(&text) ? bt_name_of(l->module->store, bt_text_get(&text)) : NULL;
    return *out ? NULL : bt_no_memory();
}

static bt_status call_primitive(struct bt__lowerer *l, const bt_call *call,
                                const bt_func *func, const bt_param *const *params,
                                const bt_value **out)
{
    const bt_value **args = BT_NEWS(l->arena, const bt_value *, func->block->nparam);
    bt_call fields = *call;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->block->nparam; i++)
        args[i] = &params[i]->base;
    fields.args = args;
    fields.type_args = func->vars;
    bt_builder_type(l->b, func->result);
    return bt_build_call(l->b, &fields, out);
}

static bt_status make_apart(struct bt__lowerer *l, const bt_call *call,
                            const bt_global *primitive, bt_global *out)
{
    bt_func fields = *primitive->func;
    const uint32_t n = fields.block->nparam;
    const bt_param **params = BT_NEWS(l->arena, const bt_param *, n);
    const bt_value *result;
    if (!params)
        return bt_no_memory();
    BT_TRY(name_apart(l, primitive->name, &out->name));
    fields.name = out->name;
    fields.attrs = (bt_dict){ 0 };
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *old = &primitive->func->block->params[i]->base;
        BT_TRY(bt_build_param(l->b, old->name, old->type, &params[i]));
    }
    BT_TRY(bt_block_begin(l->b, n, params));
    bt_builder_like(l->b, &call->base);
    BT_TRY(call_primitive(l, call, primitive->func, params, &result));
    BT_TRY(bt_block_end(l->b, result, &fields.block));
    BT_TRY(bt_func_create(l->ctx, l->module->store, &fields, &out->func));
    out->type = bt_func_type_of(l->module->store, out->func);
    return out->type ? NULL : bt_store_why(l->ctx, l->module->store);
}

/* The function for a primitive one, made where it is met first. */
static bt_status find_apart(struct bt__lowerer *l, const bt_call *call,
                            const bt_global *primitive, const bt_global **out)
{
    bt_global *made = bt_map_find(&l->apart, primitive);
    *out = made;
    if (made)
        return NULL;
    *out = made = BT_NEW(l->arena, bt_global);
    if (!made)
        return bt_no_memory();
    *made = (bt_global){ .kind = BT_GLOBAL_FUNC, .span = primitive->span };
    BT_TRY(make_apart(l, call, primitive, made));
    return bt_map_put(&l->apart, primitive, made) && BT_PUSH(l->arena, &l->todo, made)
               ? NULL
               : bt_no_memory();
}

bt_status bt__lower_apart(struct bt__lowerer *l, const bt_call *call,
                          const bt_global *primitive, const bt_value **out)
{
    const bt_value **args = BT_NEWS(l->arena, const bt_value *, call->narg);
    bt_global_ref *callee = bt__node(l->b, BT_VALUE_GLOBAL, sizeof(*callee));
    const bt_global *global;
    bt_call fields = *call;
    if (!args || !callee)
        return bt_no_memory();
    BT_TRY(find_apart(l, call, primitive, &global));
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(bt__lower_on_host(l, bt__lower_now(l, call->args[i]), &args[i]));
    callee->base.name = global->name;
    callee->base.type = global->type;
    fields.callee = &callee->base;
    fields.args = args;
    bt_builder_like(l->b, &call->base);
    bt_builder_type(l->b, call->base.type);
    return bt_build_call(l->b, &fields, out);
}
