/*
 * interp: the reference executor. Runs a source module as it stands, the whole language:
 * closures, data types, match, references, recursion without C stack, tail calls as
 * loops. Operators run by the reference evaluator.
 */
#include <baton/executor.h>

#include "machine.h"

struct options {
    int64_t steps;
};

struct session {
    struct bytecode *bytecode;
    bt_heap *heap;
    struct options options;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, steps, INT, "0", 0, INT64_MAX,
                  "calls of functions in one run; 0: as many as there are"),
    { 0 },
};

static void close_session(void *opaque)
{
    struct session *session = opaque;
    bt_registry *registry = session->bytecode->registry;
    bt_heap_destroy(session->heap);
    bt_registry_ref(registry);
    bytecode_destroy(session->bytecode);
    bt_free(registry, session, sizeof(*session));
    bt_registry_unref(registry);
}

static bt_status open_session(bt_ctx *ctx, const bt_module *module, const void *given,
                              void **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    if (!module->is_typed)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "interp: the module is not typed; infer types first");
    struct session *session = bt_alloc(registry, sizeof(*session));
    if (!session)
        return bt_no_memory();
    if (given)
        session->options = *(const struct options *)given;
    bt_status status = bytecode_create(ctx, module, &session->bytecode);
    if (status) {
        bt_free(registry, session, sizeof(*session));
        return status;
    }
    session->heap = bt_heap_create(registry);
    if (!session->heap) {
        close_session(session);
        return bt_no_memory();
    }
    *out = session;
    return NULL;
}

static bt_status run(bt_ctx *ctx, struct session *session, const bt_global *entry,
                     uint32_t narg, bt_object *const *args, const bt_run_hook *hook,
                     const int64_t *dims, bt_object **out)
{
    const struct code *code;
    BT_TRY(bytecode_code(ctx, session->bytecode, entry, &code));
    struct machine machine = { .ctx = ctx,
                               .bytecode = session->bytecode,
                               .heap = session->heap,
                               .hook = hook,
                               .most_steps = (uint64_t)session->options.steps,
                               .collect_at = 1024,
                               .types = bt_store_create(session->bytecode->registry) };
    if (!machine.types)
        return bt_no_memory();
    bt_object *result = NULL;
    bt_status status = machine_run(&machine, code, narg, args, dims, &result);
    machine_free_stacks(&machine);
    bt_store_unref(machine.types);
    if (!status && bt_heap_nref(session->heap)) {
        status = bt_heap_collect(ctx, session->heap, 1, &result);
        if (status)
            bt_object_unref(result);
    }
    if (!status)
        *out = result;
    return status;
}

static bt_status call(bt_ctx *ctx, void *opaque, const char *name, uint32_t narg,
                      bt_object *const *args, const bt_run_hook *hook, bt_object **out)
{
    struct session *session = opaque;
    const bt_global *entry;
    BT_TRY(bt_module_entry(ctx, session->bytecode->module, name, &entry));
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const uint32_t ndim = entry->kind == BT_GLOBAL_FUNC ? entry->func->nvar : 0;
    int64_t *dims = BT_NEWS(scratch, int64_t, ndim);
    bt_status status = !dims && ndim ? bt_no_memory()
                                     : bt_check_args(ctx, session->bytecode->module,
                                                     entry, narg, args, dims);
    if (!status)
        status = run(ctx, session, entry, narg, args, hook, dims, out);
    bt_arena_release(scratch, mark);
    return status;
}

static const bt_executor executors[] = {
    {
        .name = "interp",
        .doc = "The reference: runs source modules, the whole language, by formulas.",
        .features = BT_FEATURE_ALL,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open_session,
        .close = close_session,
        .call = call,
    },
    { 0 },
};

const bt_table bt_plugins_interp_interp[] = { BT_EXECUTORS(executors), { 0 } };
