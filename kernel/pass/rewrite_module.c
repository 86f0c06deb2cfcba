/* Rewriting all functions of a module, then the callers of those whose type changed. */
#include "pass/rewrite.h"

#include "solve/solve.h"

/* A component whose functions call each other is walked until their types no longer
 * change. */
enum { MAX_ROUNDS = 8 };

struct versions {
    bt_rewrite *rw;
    const bt_module *module;
    const bt_func **funcs; /* by position of the global; NULL: not a function */
    const bt_type **types; /* of uses */
    bt_map retyped;        /* name -> type, of those that have another type now */
    uint32_t changed;
};

static const bt_rewriter no_slots = { 0 };

/* ---- one function ---- */

static bt_status set_func(struct versions *v, uint32_t g, const bt_func *func)
{
    const bt_global *global = v->module->globals[g];
    if (func == v->funcs[g])
        return NULL;
    v->funcs[g] = func;
    v->changed = 1;
    const bt_type *type = bt_func_type_of(v->rw->store, func);
    if (!type)
        return bt_store_why(v->rw->ctx, v->rw->store);
    if (type == v->types[g] || !v->module->is_typed)
        return NULL;
    v->types[g] = type;
    return bt_map_put(&v->retyped, global->name, (void *)(uintptr_t)type)
               ? NULL
               : bt_no_memory();
}

static int is_wanted(const struct versions *v, uint32_t g)
{
    const bt_rewriter *r = v->rw->rewriter;
    return v->funcs[g] && (!r->wants || r->wants(v->rw, v->module->globals[g]));
}

static bt_status rewrite_all(struct versions *v)
{
    for (uint32_t g = 0; g < v->module->nglobal; g++) {
        const bt_func *func;
        if (!is_wanted(v, g))
            continue;
        BT_TRY(bt__rewrite_func(v->rw, v->funcs[g], &func));
        BT_TRY(set_func(v, g, func));
    }
    return NULL;
}

/* ---- callers ---- */

static int calls_retyped(const struct versions *v, const bt_callgraph *graph, uint32_t g)
{
    for (uint32_t i = graph->edge_start[g]; i < graph->edge_start[g + 1]; i++) {
        if (bt_map_find(&v->retyped, v->module->globals[graph->edges[i]]->name))
            return 1;
    }
    return 0;
}

/* What the gradient of a function takes and gives follows from the function's type. */
static bt_status retype_gradient(struct versions *v, uint32_t g)
{
    const bt_global *global = v->module->globals[g];
    const bt_type *primal = bt_map_find(&v->retyped, global->primal), *type;
    BT_TRY(bt_gradient_type(v->rw->ctx, v->rw->store, global, primal, &type));
    if (type == v->types[g])
        return NULL;
    v->types[g] = type;
    v->changed = 1;
    return bt_map_put(&v->retyped, global->name, (void *)(uintptr_t)type)
               ? NULL
               : bt_no_memory();
}

static bt_status retype_component(struct versions *v, const bt_callgraph *graph,
                                  uint32_t c)
{
    uint32_t round = 0, before;
    do {
        before = v->changed;
        v->changed = 0;
        for (uint32_t i = graph->member_start[c]; i < graph->member_start[c + 1]; i++) {
            uint32_t g = graph->members[i];
            const bt_func *func;
            if (!calls_retyped(v, graph, g))
                continue;
            if (v->module->globals[g]->kind == BT_GLOBAL_GRADIENT)
                BT_TRY(retype_gradient(v, g));
            if (!v->funcs[g])
                continue;
            BT_TRY(bt__rewrite_func(v->rw, v->funcs[g], &func));
            BT_TRY(set_func(v, g, func));
        }
        if (++round > MAX_ROUNDS)
            return bt_fail(
                v->rw->ctx, BT_ERR_INTERNAL,
                "%s: the types of @%s and what it calls do not settle",
                bt__rewrite_pass_name(v->rw),
                v->module->globals[graph->members[graph->member_start[c]]]->name);
    } while (v->changed && graph->is_recursive[c]);
    v->changed |= before;
    return NULL;
}

/* ---- the next version ---- */

static bt_status set_globals(const struct versions *v, bt_module_builder *builder)
{
    for (uint32_t g = 0; g < v->module->nglobal; g++) {
        bt_global global = *v->module->globals[g];
        if (v->funcs[g] == global.func && v->types[g] == global.type)
            continue;
        global.func = v->funcs[g];
        global.type = v->types[g];
        BT_TRY(bt_module_builder_set(builder, &global, 0));
    }
    return NULL;
}

static bt_status next_version(const struct versions *v, bt_module **out)
{
    bt_module_builder *builder;
    if (!v->changed) {
        *out = bt_module_ref(v->module);
        return NULL;
    }
    BT_TRY(bt_module_builder_create(v->rw->ctx, v->rw->store, v->module, &builder));
    bt_status status = set_globals(v, builder);
    if (!status)
        return bt_module_builder_finish(builder, (int)v->module->is_typed, out);
    bt_module_builder_destroy(builder);
    return status;
}

/* ---- the whole run ---- */

static bt_status retype_callers(struct versions *v)
{
    const bt_callgraph *graph;
    bt_module *now;
    if (!v->retyped.len)
        return NULL;
    // The rewritten functions may call other functions than before.
    BT_TRY(next_version(v, &now));
    bt_status status = bt_callgraph_create(v->rw->ctx, now, v->rw->kept, &graph);
    bt_module_unref(now);
    v->rw->rewriter = &no_slots;
    v->rw->retyped = &v->retyped;
    for (uint32_t c = 0; !status && c < graph->ncomponent; c++)
        status = retype_component(v, graph, c);
    return status;
}

static bt_status run(bt_rewrite *rw, bt_module **out)
{
    const bt_module *module = rw->module;
    struct versions v = {
        .rw = rw,
        .module = module,
        .funcs = BT_NEWS(rw->kept, const bt_func *, module->nglobal),
        .types = BT_NEWS(rw->kept, const bt_type *, module->nglobal),
    };
    if (!v.funcs || !v.types)
        return bt_no_memory();
    bt_map_init(&v.retyped, rw->kept, 1);
    for (uint32_t g = 0; g < module->nglobal; g++) {
        if (module->globals[g]->kind == BT_GLOBAL_FUNC)
            v.funcs[g] = module->globals[g]->func;
        v.types[g] = module->globals[g]->type;
    }
    BT_TRY(rewrite_all(&v));
    BT_TRY(retype_callers(&v));
    return next_version(&v, out);
}

bt_status bt_rewrite_module(bt_ctx *ctx, bt_pass_call *call, const bt_rewriter *rewriter,
                            void *state, bt_module **out)
{
    bt_rewrite rw;
    BT_TRY(bt__rewrite_create(ctx, call, rewriter, state, &rw));
    bt_status status = run(&rw, out);
    bt__rewrite_deinit(&rw);
    return status;
}
