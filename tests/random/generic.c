/* Closures that call each other, and functions with type parameters as values. */
#include "maker.h"

/* one(i, x) = if (i < 1) { x } else { other(i - 1, expression of x) }, and the other
 * likewise. */
static bt_status make_member(struct maker *m, const bt_value *self, const bt_value *other,
                             const bt_type *type)
{
    const bt_type *int_type = bt_type_scalar(m->store, BT_INT64);
    const bt_param *params[2];
    const bt_value *one, *done, *result, *args[2];
    const bt_block *stop, *again, *block;
    const bt_func *func;
    uint32_t mark = m->scope.len;
    if (!int_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_build_param(m->builder, "i", int_type, &params[0]));
    BT_TRY(bt_build_param(m->builder, "x", type, &params[1]));
    BT_TRY(bt_block_begin(m->builder, 2, params));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, 1, &one));
    BT_TRY(call_op(m, "less", NULL, &params[0]->base, one, &done));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(bt_block_end(m->builder, &params[1]->base, &stop));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(enter_scope(m, &params[1]->base));
    BT_TRY(call_op(m, "subtract", NULL, &params[0]->base, one, &args[0]));
    BT_TRY(make(m, type, &args[1]));
    BT_TRY(call_value(m, other, 2, args, &result));
    BT_TRY(bt_block_end(m->builder, result, &again));
    BT_TRY(bt_build_if(m->builder, done, stop, again, &result));
    m->scope.len = mark;
    BT_TRY(bt_block_end(m->builder, result, &block));
    BT_TRY(bt_func_create(m->ctx, m->store, &(bt_func){ .result = type, .block = block },
                          &func));
    return bt_build_closure_body(m->builder, self, func);
}

bt_status make_group(struct maker *m, const bt_type *type, const bt_value **out)
{
    static const char *const names[] = { "even", "odd" };
    const bt_type *arg_types[2] = { bt_type_scalar(m->store, BT_INT64), type };
    const bt_value *group[2], *args[2];
    const bt_func_type fields = { .narg = 2, .args = arg_types, .result = type };
    const bt_type *func_type = arg_types[0] ? bt_type_func(m->store, &fields) : NULL;
    const bt_type *types[2] = { func_type, func_type };
    if (!func_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_build_closures(m->builder, 2, names, types, group));
    for (uint32_t i = 0; i < 2; i++)
        BT_TRY(make_member(m, group[i], group[1 - i], type));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, below(m, 4), &args[0]));
    BT_TRY(make(m, type, &args[1]));
    return call_value(m, group[below(m, 2)], 2, args, out);
}

/* fn <A>(%x: A) -> A { %x }, or one that first writes to a reference from around it. */
static bt_status make_generic_closure(struct maker *m, const bt_value **out)
{
    const bt_type *var =
        bt_type_var(m->store, &(bt_type_param){ .kind = BT_KIND_TYPE }, "A");
    const char *name = "generic";
    uint32_t mark;
    const bt_type *tensor;
    const bt_value *cell = NULL, *now;
    const bt_param *param;
    const bt_func *func;
    bt_func fields = { .nvar = 1, .vars = &var, .result = var };
    if (!var)
        return bt_store_why(m->ctx, m->store);
    const bt_type *type = bt_func_type_close(m->store, 1, &var, 1, &var, var, 0, NULL);
    if (!type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(random_tensor_type(m, &tensor));
    if (below(m, 2)) {
        BT_TRY(make(m, tensor, &now));
        BT_TRY(bt_build_ref(m->builder, now, &cell));
    }
    BT_TRY(bt_build_closures(m->builder, 1, &name, &type, out));
    BT_TRY(bt_build_param(m->builder, "x", var, &param));
    BT_TRY(bt_block_begin(m->builder, 1, &param));
    mark = m->scope.len;
    if (cell) {
        BT_TRY(make(m, tensor, &now));
        BT_TRY(bt_build_write(m->builder, cell, now, &now));
    }
    m->scope.len = mark;
    BT_TRY(bt_block_end(m->builder, &param->base, &fields.block));
    BT_TRY(bt_func_create(m->ctx, m->store, &fields, &func));
    return bt_build_closure_body(m->builder, *out, func);
}

/* A function with type parameters is called, or passed to @apply, which is called. */
bt_status make_generic(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_value *apply, *args[2];
    if (below(m, 2))
        BT_TRY(make_generic_closure(m, &args[0]));
    else
        BT_TRY(bt_build_global(m->builder, "same", &args[0]));
    BT_TRY(make(m, type, &args[1]));
    if (below(m, 2))
        return call_value(m, args[0], 1, &args[1], out);
    BT_TRY(bt_build_global(m->builder, "apply", &apply));
    return call_value(m, apply, 2, args, out);
}
