/* What tests of compiled programs share: reading, compiling, running. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "test.h"

#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/op.h>
#include <baton/pass.h>

/* A context that knows the plugins of the build, and that of a manifest. */
static inline bt_ctx *open_plugin(const char *manifest, const bt_allocator *allocator)
{
    const char *const files[] = { manifest, NULL };
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .plugin_files = files,
                                          .allocator = allocator,
                                          .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    assert_non_null(ctx);
    bt_registry_unref(registry);
    return ctx;
}

/* And the targets of the tests. */
static inline bt_ctx *open_targets(const bt_allocator *allocator)
{
    return open_plugin(TEST_TARGETS, allocator);
}

static inline bt_status fuse(bt_ctx *ctx, const bt_module *module, bt_module **out)
{
    bt_pipeline *pipeline;
    const bt_pipeline_options options = { .level = 4 };
    BT_TRY(bt_pipeline_read(ctx, "fuse-ops{max-ops=1}", &pipeline));
    bt_status status = bt_pipeline_run(ctx, pipeline, &options, module, out);
    bt_pipeline_destroy(pipeline);
    return status;
}

/* Text, without its header, to a compiled module. */
static inline bt_status compile_text(bt_ctx *ctx, const char *body, const char *target,
                                     bt_compiled **out)
{
    static char text[1 << 17];
    bt_module *parsed, *typed, *fused;
    snprintf(text, sizeof(text), "#[version = \"baton 0.1\"]\n%s\n", body);
    BT_TRY(bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    bt_status status = bt_infer(ctx, parsed, &typed);
    bt_module_unref(parsed);
    BT_TRY(status);
    status = fuse(ctx, typed, &fused);
    bt_module_unref(typed);
    BT_TRY(status);
    status = bt_compile(ctx, fused, &(bt_compile_options){ .targets = target }, out);
    bt_module_unref(fused);
    return status;
}

/* A float32 tensor of rank 2 whose elements are small numbers. */
static inline bt_tensor *numbers(bt_ctx *ctx, int64_t m, int64_t n)
{
    bt_tensor *out;
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 2, (int64_t[]){ m, n }, &out));
    for (int64_t i = 0; i < m * n; i++)
        bt_tensor_set(out, i, (double)(i % 13) - 5);
    return out;
}

/* One call by the executor graph. */
static inline bt_status run_graph(bt_ctx *ctx, bt_compiled *compiled,
                                  const bt_tensor *input, bt_object **out)
{
    const void *row;
    void *session;
    bt_object *arg = bt_object_ref(&input->base);
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    const bt_executor *graph = row;
    bt_status status = graph->load(ctx, compiled, "main", NULL, &session);
    if (!status) {
        status = graph->call(ctx, session, "main", 1, &arg, NULL, out);
        graph->close(session);
    }
    bt_object_unref(arg);
    return status;
}

/* The n-th binding of @main that calls an operator; NULL: there are not so many. */
static inline const bt_call *find_call(const bt_compiled *c, const char *op, uint32_t n)
{
    const bt_block *block = bt_module_find(c->module, "main")->func->block;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_op_call(block->bindings[i], op);
        if (call && n-- == 0)
            return call;
    }
    return NULL;
}

/* What the n-th kernel call reads. */
static inline const bt_value *input_of(const bt_compiled *c, uint32_t n, uint32_t index)
{
    const bt_call *invoke = find_call(c, "memory.invoke", n);
    assert_non_null(invoke);
    return bt_as_tuple(invoke->args[0])->fields[index];
}

#endif
