/* Programs with operators: what is accepted gets types, verifies, prints and reads back
 * as itself, goes through the pipeline `default`, and runs on zeros to a result of the
 * same types or to an error. */
#include "program.h"

static void optimise(bt_ctx *ctx, const bt_module *module)
{
    bt_pipeline *pipeline;
    bt_module *out;
    FUZZ_CHECK(!bt_pipeline_read(ctx, "default", &pipeline));
    bt_status status = bt_pipeline_run(
        ctx, pipeline, &(bt_pipeline_options){ .level = -1 }, module, &out);
    fuzz_check_status(ctx, status);
    if (!status) {
        check_module(ctx, out);
        bt_module_unref(out);
    } else if (status->code != BT_ERR_LIMIT && status->code != BT_ERR_ARGUMENT) {
        // BT_ERR_ARGUMENT: a scale or a zero point that is none
        fprintf(stderr, "%s\n", status->message);
        FUZZ_CHECK(!status);
    }
    bt_pipeline_destroy(pipeline);
}

static void use(bt_ctx *ctx, const bt_module *module)
{
    const bt_global *entry;
    check_module(ctx, module);
    optimise(ctx, module);
    bt_ctx_clear_diags(ctx);
    if (!bt_module_entry(ctx, module, NULL, &entry))
        bt_object_unref(run(ctx, module, entry, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    static bt_registry *registry;
    if (!registry)
        registry = fuzz_registry(FUZZ_PLUGINS);
    bt_ctx *ctx = fuzz_context(registry);
    bt_module *parsed = NULL, *typed = NULL;
    bt_status status = bt_parse(ctx, "input", NULL, (const char *)bytes, nbytes, &parsed);
    if (!status)
        status = bt_infer(ctx, parsed, &typed);
    fuzz_check_status(ctx, status);
    if (!status)
        use(ctx, typed);
    bt_module_unref(typed);
    bt_module_unref(parsed);
    bt_ctx_destroy(ctx);
    return 0;
}
