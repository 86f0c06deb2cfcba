#include "common/lone_func.h"

struct vars {
    bt_arena *arena;
    bt_vec(const bt_type *) list;
    int failed;
};

static const bt_type *note_var(bt_subst *subst, const bt_type *leaf)
{
    struct vars *vars = subst->state;
    for (uint32_t i = 0; leaf->kind == BT_TYPE_VAR && i < vars->list.len; i++) {
        if (vars->list.at[i] == leaf)
            return NULL;
    }
    if (leaf->kind == BT_TYPE_VAR && !BT_PUSH(vars->arena, &vars->list, leaf))
        vars->failed = 1;
    return NULL;
}

static bt_status note_vars(const struct lone *l, struct vars *vars, const bt_type *type)
{
    bt_subst subst = { .leaf = note_var, .state = vars };
    if (!bt_type_subst(l->store, &subst, type))
        return bt_store_why(l->ctx, l->store);
    return vars->failed ? bt_no_memory() : NULL;
}

static bt_status note_attrs(const struct lone *l, struct vars *vars, const bt_op *op,
                            const void *attrs)
{
    bt_subst subst = { .leaf = note_var, .state = vars };
    if (op->attrs && attrs &&
        !bt_attrs_subst(l->store, &subst, op->attrs, op->attrs_nbytes, attrs))
        return bt_store_why(l->ctx, l->store);
    return vars->failed ? bt_no_memory() : NULL;
}

static bt_status make(const struct lone *l, bt_builder *b, const bt_op *op,
                      const void *attrs, uint32_t narg, const bt_type *const *types,
                      const bt_value *const *args, const bt_func **out)
{
    const bt_param **params = BT_NEWS(l->arena, const bt_param *, narg);
    const bt_value **operands = BT_NEWS(l->arena, const bt_value *, narg), *value;
    struct vars vars = { .arena = l->arena };
    bt_func fields = { 0 };
    uint32_t nparam = 0;
    if (!params || !operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < narg; i++) {
        operands[i] = types[i] ? NULL : args[i];
        if (!types[i])
            continue;
        BT_TRY(note_vars(l, &vars, types[i]));
        BT_TRY(bt_build_param(b, "p", types[i], &params[nparam]));
        operands[i] = &params[nparam++]->base;
    }
    BT_TRY(bt_block_begin(b, nparam, params));
    BT_TRY(bt_build_op(b, op, attrs, narg, operands, &value));
    BT_TRY(bt_block_end(b, value, &fields.block));
    BT_TRY(note_attrs(l, &vars, op, attrs));
    BT_TRY(note_vars(l, &vars, value->type));
    fields.nvar = vars.list.len;
    fields.vars = vars.list.at;
    fields.result = value->type;
    return bt_func_create(l->ctx, l->store, &fields, out);
}

bt_status lone_func(const struct lone *l, const bt_op *op, const void *attrs,
                    uint32_t narg, const bt_type *const *types,
                    const bt_value *const *args, const bt_func **out)
{
    bt_builder *b;
    BT_TRY(bt_builder_create(l->ctx, l->store, l->module, &b));
    bt_status status = make(l, b, op, attrs, narg, types, args, out);
    bt_builder_destroy(b);
    return status;
}

bt_status lone_graph(const struct lone *l, const bt_op *op, const void *attrs,
                     uint32_t narg, const bt_type *const *types,
                     const bt_value *const *args, const bt_type **result, bt_graph **out)
{
    const bt_func *func;
    *out = NULL;
    bt_status status = lone_func(l, op, attrs, narg, types, args, &func);
    if (!status) {
        *result = func->result;
        status = bt_graph_compose(l->ctx, l->arena, func, out);
    }
    if (!status)
        return NULL;
    *out = NULL;
    return status->code == BT_ERR_MEMORY || status->code == BT_ERR_CANCELLED ? status
                                                                             : NULL;
}
