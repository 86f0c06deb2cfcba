/* Runs a program of one operator, from a plugin outside Baton's tree. */
#include <stdio.h>
#include <string.h>

#include <baton/baton.h>
#include <baton/ir.h>
#include <baton/op.h>
#include <baton/pass.h>

static bt_status use(bt_ctx *ctx)
{
    static const char text[] =
        "#[version = \"baton 0.1\"]\n"
        "def @main(%x: Tensor[(3,), float32]) { outside.double(%x) }\n";
    const bt_op *op;
    bt_module *parsed, *typed, *done;
    bt_pipeline *pipeline;
    bt_text out;
    BT_TRY(bt_op_get(ctx, "outside.double", &op));
    printf("%s %s: %s\n", bt_plugin_id(op->plugin), bt_plugin_version(op->plugin),
           op->doc);
    BT_TRY(bt_parse(ctx, "text", NULL, text, strlen(text), &parsed));
    BT_TRY(bt_infer(ctx, parsed, &typed));
    BT_TRY(bt_pipeline_read(ctx, "outside", &pipeline));
    BT_TRY(bt_pipeline_run(ctx, pipeline, NULL, typed, &done));
    bt_text_init(&out, bt_ctx_scratch(ctx));
    BT_TRY(bt_print(ctx, done, NULL, &out));
    printf("%s", bt_text_get(&out));
    bt_pipeline_destroy(pipeline);
    bt_module_unref(parsed);
    bt_module_unref(typed);
    bt_module_unref(done);
    return NULL;
}

int main(void)
{
    bt_ctx *ctx = bt_open();
    bt_status status = ctx ? use(ctx) : bt_no_memory();
    if (status)
        fprintf(stderr, "%s\n", status->message);
    bt_ctx_destroy(ctx);
    return status != NULL;
}
