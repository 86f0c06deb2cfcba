/* Programs compiled, and ready to be called. */
#ifndef RANDOM_COMPILED_H
#define RANDOM_COMPILED_H

#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/plugin.h>

/* Fused and compiled by the options; a session of executor graph, which the caller closes. */
static inline bt_status open_compiled(bt_ctx *ctx, const bt_module *module,
                                      const bt_compile_options *options,
                                      const bt_executor **graph, void **session)
{
    const void *row;
    bt_module *fused;
    bt_compiled *compiled;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    *graph = row;
    BT_TRY(bt_fuse(ctx, module, options, &fused));
    bt_status status = bt_compile(ctx, fused, options, &compiled);
    bt_module_unref(fused);
    BT_TRY(status);
    status = (*graph)->load(ctx, compiled, "main", NULL, session);
    bt_compiled_unref(compiled);
    return status;
}

#endif
