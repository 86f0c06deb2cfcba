/* Builders that type what they build, and calls by their operators' names or by formulas. */
#include "ir/builder.h"

#include "solve/solve.h"

static const bt__typer typer = { .infer = bt__infer_binding, .attrs = bt_attrs_parse };

bt_status bt_builder_create(bt_ctx *ctx, bt_store *store, const bt_module *module,
                            bt_builder **out)
{
    return bt__builder_create(ctx, store, module, &typer, out);
}

bt_status bt_build(bt_builder *b, const char *op_name, const char *attrs,
                   const bt_value *const *args, uint32_t narg, const bt_value **out)
{
    bt_call call = { .callee_kind = BT_CALLEE_OP, .narg = narg, .args = args };
    BT_TRY(bt_op_get(b->ctx, op_name, &call.op));
    BT_TRY(bt__builder_check(b, op_name, narg, args));
    if (call.op->attrs || (attrs && *attrs))
        BT_TRY(
            bt_attrs_parse(b->ctx, b->store, call.op, attrs ? attrs : "", &call.attrs));
    return bt__build_call(b, &call, out);
}

bt_status bt_build_formula(bt_builder *b, const bt_type *dims, uint32_t narg,
                           const bt_value *const *args, const char *formula,
                           const bt_value **out)
{
    bt_store *store = bt_builder_store(b);
    const bt_op *op;
    const struct {
        const bt_type *dims;
        const char *formula;
    } attrs = { dims ? dims : bt_type_shape(store, 0, NULL), bt_name_of(store, formula) };
    if (!attrs.dims || !attrs.formula)
        return bt_store_why(bt_builder_ctx(b), store);
    BT_TRY(bt_op_get(bt_builder_ctx(b), "compute", &op));
    return bt_build_op(b, op, &attrs, narg, args, out);
}
