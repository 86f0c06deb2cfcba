/* What the tests of executors share: programs of a line, on float32 tensors. */
#ifndef GRAPH_KIT_H
#define GRAPH_KIT_H

#include <stdlib.h>
#include <unistd.h>

#include "failing_allocator.h"

#include <baton/baton.h>
#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/pass.h>

static inline bt_registry *make_registry(const bt_allocator *allocator)
{
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS ":" TEST_MORE,
                                          .ignore_environment = 1,
                                          .allocator = allocator };
    bt_registry *registry = bt_registry_create(&options);
    assert_non_null(registry);
    return registry;
}

static inline bt_ctx *make_ctx(const bt_allocator *allocator)
{
    bt_registry *registry = make_registry(allocator);
    bt_ctx *ctx = bt_ctx_create(registry);
    assert_non_null(ctx);
    bt_registry_unref(registry);
    return ctx;
}

/* A program of `text`, without the version line. */
static inline bt_program *open_text(bt_ctx *ctx, const char *text,
                                    const bt_program_options *options)
{
    char path[] = "/tmp/baton-graph-XXXXXX";
    int fd = mkstemp(path);
    bt_program *program = NULL;
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fprintf(file, "#[version = \"baton 0.1\"]\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    bt_status status = bt_program_open(ctx, path, options, &program);
    unlink(path);
    assert_ok(ctx, status);
    return program;
}

/* The same, run by graph on a target, its calls as they stand. */
static inline bt_program *open_graph(bt_ctx *ctx, const char *text, const char *target)
{
    return open_text(
        ctx, text,
        &(bt_program_options){ .executor = "graph", .target = target, .pipeline = "" });
}

/* first, first + 1, ... */
static inline bt_tensor *count_from(bt_ctx *ctx, int64_t nelem, float first)
{
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, &nelem, &t));
    for (int64_t i = 0; i < nelem; i++)
        ((float *)t->data)[i] = first + (float)i;
    return t;
}

/* Element i is first + i * step. */
static inline void assert_counts(const bt_tensor *t, float first, float step)
{
    assert_non_null(t);
    for (int64_t i = 0; i < t->nelem; i++)
        assert_true(bt_tensor_get(t, i) == (double)(first + (float)i * step));
}

static inline const bt_tensor *output(const bt_program *program, uint32_t index)
{
    const bt_object *object = bt_program_get(program, index);
    return object ? bt_object_as_tensor(object) : NULL;
}

/* A module compiled, one primitive function for each call. */
static inline bt_compiled *compile_text(bt_ctx *ctx, const char *text, const char *target)
{
    char whole[4096];
    bt_module *parsed, *typed, *fused;
    bt_pipeline *pipeline;
    bt_compiled *compiled;
    snprintf(whole, sizeof(whole), "#[version = \"baton 0.1\"]\n%s\n", text);
    assert_ok(ctx, bt_parse(ctx, "test", NULL, whole, strlen(whole), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    assert_ok(ctx, bt_pipeline_read(ctx, "fuse-ops{max-ops=1}", &pipeline));
    assert_ok(ctx, bt_pipeline_run(ctx, pipeline, &(bt_pipeline_options){ .level = 4 },
                                   typed, &fused));
    assert_ok(ctx, bt_compile(ctx, fused, &(bt_compile_options){ .targets = target },
                              &compiled));
    bt_pipeline_destroy(pipeline);
    bt_module_unref(fused);
    bt_module_unref(typed);
    bt_module_unref(parsed);
    return compiled;
}

static inline const bt_executor *find_executor(bt_ctx *ctx, const char *name)
{
    const void *row;
    assert_ok(ctx,
              bt_registry_row(ctx, "baton.executor/1", name, sizeof(bt_executor), &row));
    return row;
}

#endif
