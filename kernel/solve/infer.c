/*
 * Whole modules: components of the call graph, those referred to first; in each: visit,
 * solve, write. A component has a solver of its own, so that memory is that of the
 * largest.
 */
#include "solve/solver.h"

#include "ir/builder.h"
#include "ir/store.h"

/* What is known of a global. */
struct bt__global {
    const bt_global *old;
    const bt_type *type;           /* NULL: it failed, or was not inferred yet */
    struct bt__function *function; /* while its component is inferred */
    bt_global typed;
};

struct inference {
    bt_ctx *ctx;
    const bt_module *module;
    bt_arena *arena;
    const bt_callgraph *graph;
    bt_map globals; /* name to struct bt__global */
    bt_module_builder *builder;
    uint64_t seed;
    uint32_t nerror, has_unnamed;
    bt_status first;
};

bt_status bt__global_type(bt_solver *s, const bt_value *value,
                          struct bt__function **function, const bt_type **out)
{
    const struct bt__global *global = bt_map_find(s->globals, value->name);
    *function = NULL;
    if (!global)
        return bt_fail_at(s->ctx, BT_ERR_NAME, s->store, value->span,
                          "there is no global @%s", value->name);
    *function = global->function;
    *out = global->function ? bt__function_inside(s, global->function) : global->type;
    if (!*out)
        *out = bt__poison(s, BT_KIND_TYPE); // its errors have been reported
    return *out ? NULL : bt_no_memory();
}

/* ---- functions ---- */

static bt_status visit_members(bt_solver *s, uint32_t n, struct bt__function **members)
{
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(bt__visit_function(s, members[i]));
    s->function = NULL;
    BT_TRY(bt__end_group(s, n, members));
    // what waits now has no enclosing function that could decide it
    struct bt__level *level = &s->levels[s->level - 1];
    struct bt__node *first = NULL;
    uint32_t before = s->nerror;
    for (uint32_t i = 0; i < level->pending.len; i++) {
        struct bt__node *node = level->pending.at[i];
        if (node->state != STATE_WAITING)
            continue;
        first = first ? first : node;
        BT_TRY(bt__report_pending(s, node));
    }
    return first && s->nerror == before && !s->nerror
               ? bt__report_unknown(s, first->slot, NULL, first)
               : NULL;
}

static bt_status write_members(struct inference *in, bt_solver *s, uint32_t n,
                               struct bt__function **members,
                               struct bt__global *const *globals)
{
    bt_builder *builder;
    BT_TRY(bt__builder_create(in->ctx, s->store, NULL, NULL, &builder));
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < n; i++) {
        struct bt__global *global = globals[i];
        global->typed = *global->old;
        status = bt__write_function(s, builder, members[i], &global->typed.func);
    }
    bt_builder_destroy(builder);
    for (uint32_t i = 0; !status && i < n && !s->nerror; i++) {
        globals[i]->type = globals[i]->typed.type = members[i]->type;
        status = bt_module_builder_set(in->builder, &globals[i]->typed, 0);
    }
    return status;
}

/* The functions of one component. */
static bt_status infer_functions(struct inference *in, bt_solver *s, uint32_t n,
                                 struct bt__global *const *globals)
{
    struct bt__function **members = BT_NEWS(s->arena, struct bt__function *, n);
    if (!members)
        return bt_no_memory();
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < n; i++) {
        status = bt__function_begin(s, globals[i]->old->func, NULL, NULL, &members[i]);
        globals[i]->function = members[i];
    }
    if (!status)
        status = visit_members(s, n, members);
    if (!status && !s->nerror)
        status = write_members(in, s, n, members, globals);
    for (uint32_t i = 0; i < n; i++) {
        // callers go by the annotations of what failed
        if (s->nerror && globals[i]->function)
            globals[i]->type = globals[i]->function->declared;
        globals[i]->function = NULL;
    }
    return status;
}

/* ---- the other globals ---- */

static bt_status infer_const(struct inference *in, bt_solver *s,
                             struct bt__global *global)
{
    const bt_global *old = global->old;
    const bt_type *type = old->value->type;
    if (old->type && old->type != type)
        return bt_fail_at(in->ctx, BT_ERR_TYPE, s->store, old->span,
                          "@%s is annotated as %s, but is %s", old->name,
                          bt__show(s, old->type), bt__show(s, type));
    global->typed = *old;
    global->type = global->typed.type = type;
    return bt_module_builder_set(in->builder, &global->typed, 0);
}

static bt_status infer_extern(struct inference *in, bt_solver *s,
                              struct bt__global *global)
{
    const bt_type *type;
    BT_TRY(bt__extern_type(s, global->old, &type));
    global->typed = *global->old;
    global->type = global->typed.type = type;
    return bt_module_builder_set(in->builder, &global->typed, 0);
}

static bt_status infer_gradient(struct inference *in, bt_solver *s,
                                struct bt__global *global)
{
    const bt_global *old = global->old;
    const bt_type *type;
    const struct bt__global *primal =
        old->primal ? bt_map_find(&in->globals, old->primal) : NULL;
    // the primal's own error has been reported
    if (primal && !primal->type && in->first)
        return NULL;
    BT_TRY(bt__gradient_type(s, old, primal ? primal->type : NULL, &type));
    if (old->type && old->type != type)
        return bt_fail_at(in->ctx, BT_ERR_TYPE, s->store, old->span,
                          "gradient @%s is annotated as %s, but is %s", old->name,
                          bt__show(s, old->type), bt__show(s, type));
    global->typed = *old;
    global->type = global->typed.type = type;
    return bt_module_builder_set(in->builder, &global->typed, 0);
}

/* ---- components ---- */

static bt_status infer_component(struct inference *in, bt_solver *s, uint32_t n,
                                 struct bt__global **globals)
{
    uint32_t nfunc = 0;
    // an external function states its type, also where what its attribute vjp names calls it
    for (uint32_t i = 0; i < n && n > 1; i++) {
        if (globals[i]->old->kind == BT_GLOBAL_EXTERN) {
            BT_TRY(infer_extern(in, s, globals[i]));
            globals[i--] = globals[--n];
        }
    }
    for (uint32_t i = 0; i < n; i++)
        nfunc += globals[i]->old->kind == BT_GLOBAL_FUNC;
    if (nfunc == n)
        return infer_functions(in, s, n, globals);
    for (uint32_t i = 0; i < n && n > 1; i++) {
        if (globals[i]->old->kind != BT_GLOBAL_FUNC)
            return bt_fail_at(in->ctx, BT_ERR_UNSUPPORTED, s->store,
                              globals[i]->old->span,
                              "@%s is needed to type what it is made of: the gradient "
                              "of a function cannot be called by that function; move "
                              "what is differentiated into a function of its own",
                              globals[i]->old->name);
    }
    switch (globals[0]->old->kind) {
    case BT_GLOBAL_CONST: return infer_const(in, s, globals[0]);
    case BT_GLOBAL_EXTERN: return infer_extern(in, s, globals[0]);
    default: return infer_gradient(in, s, globals[0]);
    }
}

static bt_status infer_members(struct inference *in, bt_solver *s, uint32_t component)
{
    uint32_t start = in->graph->member_start[component];
    uint32_t n = in->graph->member_start[component + 1] - start;
    struct bt__global **globals = BT_NEWS(s->arena, struct bt__global *, n);
    if (!globals)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        uint32_t index = in->graph->members[start + i];
        globals[i] = bt_map_find(&in->globals, in->module->globals[index]->name);
    }
    bt_status status = infer_component(in, s, n, globals);
    // what no call is to blame for is reported at the definition
    if (status && !bt__is_fatal(status) && status != s->first && !status->place.file)
        status = bt_fail_at(in->ctx, status->code, s->store, globals[0]->old->span,
                            "@%s: %s", globals[0]->old->name, status->message);
    return status;
}

static bt_status check_adts(struct inference *in, bt_solver *s)
{
    for (uint32_t i = 0; i < in->module->nadt; i++) {
        bt_status status = bt__check_adt(s, in->module->adts[i]);
        if (bt__is_fatal(status))
            return status;
        if (status)
            BT_TRY(bt__report(s, status));
    }
    return NULL;
}

#define CHECK_ADTS UINT32_MAX

/* One component, or, before them, the data types. */
static bt_status solve_component(struct inference *in, uint32_t component)
{
    bt_solver s;
    bt_status status = bt__solver_init(&s, in->ctx, in->module->store, in->module);
    s.globals = &in->globals;
    s.seed = in->seed;
    s.first = in->first;
    s.nerror_before = in->nerror;
    if (!status)
        status = component == CHECK_ADTS ? check_adts(in, &s)
                                         : infer_members(in, &s, component);
    if (status && !bt__is_fatal(status) && status != s.first)
        status = bt__report(&s, status);
    in->nerror += s.nerror;
    in->first = s.first;
    in->has_unnamed |= s.has_unnamed;
    bt__solver_deinit(&s);
    return status;
}

static bt_status begin(struct inference *in)
{
    bt_map_init(&in->globals, in->arena, 1);
    for (uint32_t i = 0; i < in->module->nglobal; i++) {
        struct bt__global *global = BT_NEW(in->arena, struct bt__global);
        if (!global)
            return bt_no_memory();
        global->old = in->module->globals[i];
        if (!bt_map_put(&in->globals, global->old->name, global))
            return bt_no_memory();
    }
    BT_TRY(bt_callgraph_create(in->ctx, in->module, in->arena, &in->graph));
    return bt_module_builder_create(in->ctx, in->module->store, in->module, &in->builder);
}

static bt_status run(struct inference *in, bt_module **out)
{
    uint32_t nlack = in->module->store->nlack;
    bt_status status = begin(in);
    if (!status)
        status = solve_component(in, CHECK_ADTS);
    for (uint32_t i = 0; !status && i < in->graph->ncomponent; i++)
        status = solve_component(in, i);
    if (!status)
        status = in->first;
    status = bt__store_lacked(in->module->store, nlack, status);
    if (!status) {
        bt_module_builder *builder = in->builder;
        in->builder = NULL;
        status = bt_module_builder_finish(builder, 1, out);
    }
    bt_module_builder_destroy(in->builder);
    if (!status && in->has_unnamed && (status = bt_verify(in->ctx, *out))) {
        bt_module_unref(*out); // no value before it has the dim
        *out = NULL;
    }
    return status;
}

bt_status bt__infer_shuffled(bt_ctx *ctx, const bt_module *module, uint64_t seed,
                             bt_module **out)
{
    if (module->is_typed) {
        BT_TRY(bt_verify(ctx, module));
        *out = bt_module_ref(module);
        return NULL;
    }
    struct inference in = { .ctx = ctx, .module = module, .seed = seed };
    in.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = in.arena ? run(&in, out) : bt_no_memory();
    bt_arena_destroy(in.arena);
    return status;
}

bt_status bt_infer(bt_ctx *ctx, const bt_module *module, bt_module **out)
{
    return bt__infer_shuffled(ctx, module, 0, out);
}
