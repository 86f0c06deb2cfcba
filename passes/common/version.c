#include "common/version.h"

bt_status version_next(bt_ctx *ctx, const bt_module *from, version_fill *fill,
                       void *state, bt_module **out)
{
    bt_module_builder *builder;
    BT_TRY(bt_module_builder_create(ctx, from->store, from, &builder));
    bt_status status = fill(state, builder);
    if (!status)
        return bt_module_builder_finish(builder, 1, out);
    bt_module_builder_destroy(builder);
    return status;
}

bt_status version_create(bt_ctx *ctx, const bt_module *from, version_fill *declare,
                         version_fill *define, void *state, const bt_module **declared,
                         bt_module **out)
{
    bt_module *between;
    BT_TRY(version_next(ctx, from, declare, state, &between));
    *declared = between;
    bt_status status = version_next(ctx, between, define, state, out);
    bt_module_unref(between);
    return status;
}

bt_status version_set_func(bt_module_builder *builder, const bt_global *like,
                           const bt_func *func)
{
    bt_global global = *like;
    global.kind = BT_GLOBAL_FUNC;
    global.func = func;
    global.type = NULL; // that of the function
    return bt_module_builder_set(builder, &global, 0);
}
