/* Having C text compiled by a compiler that is chosen by name, with options as text. */
#include <string.h>

#include <baton/compiler.h>

#include "base/ctx.h"
#include "plugin/c_compile.h"
#include "plugin/plugins.h"

/* In the order of trying. */
static const char *const defaults[] = { "tcc", "cc" };

static bt_status get_row(bt_ctx *ctx, struct bt__plugins *locked, const char *name,
                         const bt_compiler **out)
{
    const void *row;
    BT_TRY(locked ? bt__plugins_row(ctx, locked, "baton.compiler/1", name,
                                    sizeof(bt_compiler), &row)
                  : bt_registry_row(ctx, "baton.compiler/1", name, sizeof(bt_compiler),
                                    &row));
    *out = row;
    return NULL;
}

/* The compiler's options, in the store, and whether it works here. */
static bt_status prepare(bt_ctx *ctx, struct bt__plugins *locked, bt_store *store,
                         const char *name, const char *text, bt__c_compiler *out)
{
    static const bt_attr none[] = { { 0 } };
    const bt_compiler *row;
    BT_TRY(get_row(ctx, locked, name, &row));
    const bt_op op = { .name = row->name,
                       .attrs = row->options ? row->options : none,
                       .attrs_nbytes = row->options_nbytes };
    BT_TRY(ctx->registry->host->attrs(ctx, store, &op, text ? text : "", &out->options));
    out->row = row;
    return row->probe ? row->probe(ctx, out->options) : NULL;
}

bt_status bt__c_compiler_get(bt_ctx *ctx, struct bt__plugins *locked, const char *name,
                             const char *options, bt__c_compiler *out)
{
    const char *why[BT_COUNT(defaults)];
    bt_status status = NULL;
    *out = (bt__c_compiler){ .store = bt_store_create(ctx->registry) };
    if (!out->store)
        return bt_no_memory();
    for (uint32_t i = 0; i < (name ? 1 : BT_COUNT(defaults)); i++) {
        status =
            prepare(ctx, locked, out->store, name ? name : defaults[i], options, out);
        if (!status)
            return NULL;
        if (status->code == BT_ERR_MEMORY)
            break;
        why[i] = status->message;
    }
    bt_store_unref(out->store);
    if (name || status->code == BT_ERR_MEMORY)
        return status;
    return bt_fail(ctx, BT_ERR_PLUGIN, "no compiler of C works here: %s; %s", why[0],
                   why[1]);
}

void bt__c_compiler_put(bt__c_compiler *compiler)
{
    bt_store_unref(compiler->store);
}

bt_status bt__c_compile(bt_ctx *ctx, const bt__c_compiler *compiler,
                        const bt_c_source *source, bt_text *object)
{
    if (memchr(source->text, 0, source->nbytes))
        return bt_fail(ctx, BT_ERR_SYNTAX, "%s: there is a NUL byte in the C text",
                       source->name);
    return compiler->row->compile(ctx, compiler->options, source, object);
}

bt_status bt_c_compile(bt_ctx *ctx, const char *name, const char *options,
                       const bt_c_source *source, bt_text *object)
{
    bt__c_compiler compiler;
    BT_TRY(bt__c_compiler_get(ctx, NULL, name, options, &compiler));
    bt_status status = bt__c_compile(ctx, &compiler, source, object);
    bt__c_compiler_put(&compiler);
    return status;
}

bt_status bt_c_probe(bt_ctx *ctx, const char *name, const char *options)
{
    bt__c_compiler compiler;
    BT_TRY(bt__c_compiler_get(ctx, NULL, name, options, &compiler));
    bt__c_compiler_put(&compiler);
    return NULL;
}
