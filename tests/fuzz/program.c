/* Programs with operators: what is accepted gets types, verifies, prints and reads back
 * as itself, goes through the pipeline `default`, and runs on zeros to a result of the
 * same types or to an error. */
#include <string.h>

#include <baton/executor.h>
#include <baton/pass.h>

#include "fuzz.h"

enum { MOST_ARGS = 8, MOST_BINDINGS = 1000 };

static const char *print(bt_ctx *ctx, const bt_module *module, bt_text *out)
{
    bt_text_init(out, bt_ctx_scratch(ctx));
    FUZZ_CHECK(!bt_print(ctx, module, &(bt_print_options){ 0 }, out));
    return bt_text_get(out);
}

/* 1: the status is none, or a limit that what Baton writes itself may meet. */
static int is_ok(bt_ctx *ctx, bt_status status, const char *text)
{
    fuzz_check_status(ctx, status);
    if (status && status->code != BT_ERR_LIMIT)
        fprintf(stderr, "%s\n%s\n", text, status->message);
    FUZZ_CHECK(!status || status->code == BT_ERR_LIMIT);
    return !status;
}

static void check_module(bt_ctx *ctx, const bt_module *module)
{
    bt_text first, second;
    bt_module *again = NULL;
    const char *text = print(ctx, module, &first);
    FUZZ_CHECK(is_ok(ctx, bt_verify(ctx, module), text));
    bt_status status = bt_parse(ctx, "printed", NULL, first.at, first.len, &again);
    if (!is_ok(ctx, status, text))
        return;
    if (strcmp(text, print(ctx, again, &second)) != 0)
        fprintf(stderr, "%s\n%s\n", text, second.at);
    FUZZ_CHECK(strcmp(text, second.at) == 0);
    FUZZ_CHECK(bt_module_equal(module, again));
    bt_module_unref(again);
}

/* ---- running ---- */

struct run {
    bt_ctx *ctx;
    uint32_t nbinding;
};

/* A program may run for ever: this one may not. */
static void count_binding(void *self, const bt_value *value, const bt_object *result,
                          uint64_t elapsed_ns)
{
    struct run *run = self;
    (void)value;
    (void)result;
    (void)elapsed_ns;
    if (++run->nbinding > MOST_BINDINGS)
        bt_ctx_cancel(run->ctx);
}

/* Zeros for the parameters; 0: some parameter is no tensor of known dims. */
static int make_args(bt_ctx *ctx, const bt_func *func, bt_object **args)
{
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    if (func->block->nparam > MOST_ARGS)
        return 0;
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        const bt_type *type = func->block->params[i]->base.type;
        bt_tensor *zeros;
        if (!bt_tensor_static(type, &rank, dims) ||
            !bt_dtype_is_stored(bt_tensor_dtype(type)) ||
            bt_tensor_create(ctx, bt_tensor_dtype(type), rank, dims, &zeros))
            return 0;
        args[i] = &zeros->base;
    }
    return 1;
}

static void run(bt_ctx *ctx, const bt_module *module, const bt_global *entry)
{
    const bt_executor *interp;
    void *session;
    bt_object *args[MOST_ARGS] = { 0 }, *result;
    struct run run = { .ctx = ctx };
    bt_run_hook hook = { .self = &run, .binding = count_binding };
    FUZZ_CHECK(!bt_registry_row(ctx, "baton.executor/1", "interp", sizeof(*interp),
                                (const void **)&interp));
    if (make_args(ctx, entry->func, args) &&
        is_ok(ctx, interp->open(ctx, module, NULL, &session), entry->name)) {
        bt_status status = interp->call(ctx, session, entry->name,
                                        entry->func->block->nparam, args, &hook, &result);
        fuzz_check_status(ctx, status);
        if (!status)
            bt_object_unref(result);
        interp->close(session);
    }
    for (uint32_t i = 0; i < MOST_ARGS; i++)
        bt_object_unref(args[i]);
}

/* ---- a program ---- */

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
    } else if (status->code != BT_ERR_LIMIT) {
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
        run(ctx, module, entry);
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
