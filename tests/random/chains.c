#include "chains.h"

#include <string.h>

#include <baton/graph.h>

#include "compiled.h"
#include "results.h"

const struct random_options known_chain = { .nbinding = 24, .depth = 8, .is_chain = 1 };
static const struct random_options open_chain = {
    .nbinding = 24, .depth = 8, .is_chain = 1, .is_open = 1
};

/* Whether what a function computes is a graph; dims: for which values. */
static bt_status check_composed(bt_ctx *ctx, const bt_func *func,
                                const bt_type_param *dims)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_graph *graph;
    bt_status status =
        arena ? bt_graph_compose_for(ctx, arena, func, dims, &graph) : bt_no_memory();
    if (!status)
        status = bt_graph_verify(ctx, arena, graph);
    bt_arena_destroy(arena);
    return status && status->code == BT_ERR_UNSUPPORTED
               ? NULL
               : bt_note(ctx, status, NULL, 0, "in the graph of %s", func->name);
}

/* All functions of a program, fused by the options; for any dims, and where they are 2. */
static bt_status check_graphs(bt_ctx *ctx, const bt_module *module,
                              const bt_compile_options *options, bt_arena *arena)
{
    bt_module *fused;
    BT_TRY(bt_fuse(ctx, module, options, &fused));
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < fused->nglobal; i++) {
        const bt_func *func = fused->globals[i]->func;
        if (!func || !bt_func_is_primitive(func))
            continue;
        bt_type_param *two = BT_NEWS(arena, bt_type_param, func->nvar);
        for (uint32_t k = 0; two && k < func->nvar; k++) {
            two[k] = bt_as_var_type(func->vars[k])->param;
            (void)bt_type_param_narrow(&two[k], 2, 2, 1);
        }
        status = two ? check_composed(ctx, func, NULL) : bt_no_memory();
        if (!status && func->nvar)
            status = check_composed(ctx, func, two);
    }
    bt_module_unref(fused);
    return status;
}

static bt_status run_graph(bt_ctx *ctx, const bt_module *module,
                           const bt_compile_options *options, uint32_t n,
                           bt_object *const *args, bt_object **out)
{
    const bt_executor *graph;
    void *session;
    BT_TRY(open_compiled(ctx, module, options, &graph, &session));
    // twice: what a call leaves in the session's memory is nothing to the next
    bt_status status = graph->call(ctx, session, "main", n, args, NULL, out);
    if (!status) {
        bt_object_unref(*out);
        status = graph->call(ctx, session, "main", n, args, NULL, out);
    }
    graph->close(session);
    return status;
}

/* But for the sign of a zero: max and min of zeros give either. */
static bt_status same_bits(bt_ctx *ctx, const bt_tensor *got, const bt_tensor *expected)
{
    size_t nbytes = bt_dtype_nbytes(got->dtype);
    if (got->nelem != expected->nelem || got->dtype != expected->dtype)
        return bt_fail(ctx, BT_ERR_INTERNAL, "compiled it gives another type");
    for (int64_t i = 0; i < got->nelem; i++) {
        if (bt_tensor_get(got, i) == 0 && bt_tensor_get(expected, i) == 0)
            continue;
        if (memcmp((const char *)got->data + (size_t)i * nbytes,
                   (const char *)expected->data + (size_t)i * nbytes, nbytes) != 0)
            return bt_fail(ctx, BT_ERR_INTERNAL,
                           "compiled it gives %.17g as element %lld, interp %.17g",
                           bt_tensor_get(got, i), (long long)i,
                           bt_tensor_get(expected, i));
    }
    return NULL;
}

/* How a chain is compiled. */
struct way {
    const char *fuse, *plan;
};

static bt_status compare_chain(bt_ctx *ctx, const bt_module *module, const char *target,
                               const struct way *way, uint32_t n, bt_object *const *args,
                               const bt_object *expected, bt_arena *arena)
{
    const bt_compile_options options = { .targets = target,
                                         .fuse = way->fuse,
                                         .plan = way->plan };
    bt_object *got = NULL;
    bt_status status = check_graphs(ctx, module, &options, arena);
    if (!status)
        status = run_graph(ctx, module, &options, n, args, &got);
    if (!status && strcmp(target, "reference") == 0)
        status = same_bits(ctx, bt_object_as_tensor(got), bt_object_as_tensor(expected));
    else if (!status)
        status = same_result(ctx, got, expected, way->fuse);
    bt_object_unref(got);
    return bt_note(ctx, status, NULL, 0, "on target %s after %s, plan %s", target,
                   way->fuse, way->plan);
}

/* Each call alone and fused with others, by patterns and without; in other layouts, by
 * option and as targets want; each
 * tensor in memory of its own, and shared. */
static bt_status check_chain(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                             const char *target, bt_arena *arena)
{
    static const struct way ways[] = {
        { "fuse", "plan" },
        { "fuse", "" },
        { "fuse-ops", "plan" },
        { "partition, fuse-ops{max-ops=2}", "plan" },
        { "partition, fuse-ops{max-ops=1}", "plan" },
        { "fuse-ops{max-ops=1}", "" },
        { "alter-layout{data=NCHW2c}, dead-code, partition, fuse-ops", "plan" },
        { "alter-layout, common-subexpr, dead-code, partition, fuse-ops", "plan" },
        { "alter-layout{data=NCHW2c}, dead-code, fuse-ops{max-ops=1}", "plan" },
    };
    bt_object **args, *expected = NULL;
    uint32_t n;
    BT_TRY(random_arguments(ctx, seed, module, &n, &args, arena));
    bt_status status = run_module(ctx, "interp", module, n, args, &expected);
    for (uint32_t i = 0; !status && i < BT_COUNT(ways); i++)
        status = compare_chain(ctx, module, target, &ways[i], n, args, expected, arena);
    bt_object_unref(expected);
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(args[i]);
    return status;
}

/* On a program of its own: most of what other programs hold is not static. */
bt_status check_known_chain(bt_ctx *ctx, uint64_t seed, const char *target,
                            bt_arena *arena)
{
    bt_module *own;
    BT_TRY(random_program(ctx, seed, &known_chain, &own));
    bt_status status = check_chain(ctx, seed, own, target, arena);
    bt_module_unref(own);
    return status;
}

/* One session on values of the dim as they come. */
static bt_status call_often(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                            const char *target, const bt_executor *graph, void *session,
                            bt_arena *arena)
{
    bt_status status = NULL;
    for (uint32_t k = 0; !status && k < 6; k++) {
        bt_object **args, *expected = NULL, *got = NULL;
        uint32_t n;
        BT_TRY(random_arguments(ctx, seed + k * 7919, module, &n, &args, arena));
        status = run_module(ctx, "interp", module, n, args, &expected);
        if (!status)
            status = graph->call(ctx, session, "main", n, args, NULL, &got);
        if (!status && strcmp(target, "reference") == 0)
            status =
                same_bits(ctx, bt_object_as_tensor(got), bt_object_as_tensor(expected));
        else if (!status)
            status = same_result(ctx, got, expected, "an open dim");
        bt_object_unref(got);
        bt_object_unref(expected);
        for (uint32_t i = 0; i < n; i++)
            bt_object_unref(args[i]);
    }
    return status;
}

static bt_status check_open_chain(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                                  const char *target, const struct way *way,
                                  const char *hot, bt_arena *arena)
{
    const bt_compile_options options = {
        .targets = target, .fuse = way->fuse, .plan = way->plan, .hot = hot
    };
    const bt_executor *graph;
    void *session;
    BT_TRY(check_graphs(ctx, module, &options, arena));
    BT_TRY(open_compiled(ctx, module, &options, &graph, &session));
    bt_status status = call_often(ctx, seed, module, target, graph, session, arena);
    graph->close(session);
    return bt_note(ctx, status, NULL, 0,
                   "on target %s after %s, plan %s, versions for %s", target, way->fuse,
                   way->plan, hot ? hot : "nothing");
}

bt_status check_open_dims(bt_ctx *ctx, uint64_t seed, const char *target, bt_arena *arena)
{
    static const struct way ways[] = { { "fuse", "plan" },
                                       { "fuse-ops{max-ops=1}", "" } };
    bt_module *own;
    BT_TRY(random_program(ctx, seed, &open_chain, &own));
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < BT_COUNT(ways); i++)
        status = check_open_chain(ctx, seed, own, target, &ways[i], NULL, arena);
    if (!status)
        status =
            check_open_chain(ctx, seed, own, target, ways, "n=1,2.. step 2,3", arena);
    bt_module_unref(own);
    return status;
}
