/*
 * @name@: runs programs that are a chain of calls of operators, one after the other, by what the operators compute.
 * What else a program may have is said by .features (<baton/executor.h>); such programs are refused before `open`.
 */
#include <baton/compute.h>
#include <baton/executor.h>

struct session {
    bt_registry *registry;
    bt_module *module;
};

static bt_status open(bt_ctx *ctx, const bt_module *module, const void *options, void **session)
{
    (void)options;
    struct session *s = bt_alloc(bt_ctx_registry(ctx), sizeof(*s));
    if (!s)
        return bt_no_memory();
    s->registry = bt_registry_ref(bt_ctx_registry(ctx));
    s->module = bt_module_ref(module);
    *session = s;
    return NULL;
}

static void close(void *session)
{
    struct session *s = session;
    bt_registry *registry = s->registry;
    bt_module_unref(s->module);
    bt_free(registry, s, sizeof(*s));
    bt_registry_unref(registry);
}

/* Values of one run, by binding and parameter; all are tensors. */
struct run {
    bt_ctx *ctx;
    bt_map values; /* -> bt_tensor *, a reference */
};

static const bt_tensor *value_of(const struct run *r, const bt_value *value)
{
    const bt_tensor *constant = bt_const_tensor(value);
    return constant ? constant : bt_map_find(&r->values, value);
}

static bt_status fail(struct run *r, const char *what)
{
    return bt_fail(r->ctx, BT_ERR_UNSUPPORTED, "executor @name@ runs calls of operators on tensors: %s", what);
}

static bt_status run_call(struct run *r, const bt_call *call)
{
    bt_arena *scratch = bt_ctx_scratch(r->ctx);
    const bt_tensor **in = BT_NEWS(scratch, const bt_tensor *, call->narg);
    bt_formula_call what;
    bt_compute *compute;
    bt_tensor *out;
    if (!in)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        in[i] = value_of(r, call->args[i]);
        if (!in[i])
            return fail(r, call->op->name);
    }
    BT_TRY(bt_call_formula(scratch, call, &what));
    BT_TRY(bt_compute_create(r->ctx, &what, &compute));
    bt_status status = bt_compute_nout(compute) == 1
                           ? bt_compute_run(r->ctx, compute, call->narg, in, &out)
                           : fail(r, "one that gives a tuple");
    bt_compute_destroy(compute);
    if (!status && !bt_map_put(&r->values, call, out)) {
        bt_tensor_unref(out);
        status = bt_no_memory();
    }
    return status;
}

static bt_status run_block(struct run *r, const bt_block *block, uint32_t narg, bt_object *const *args,
                           bt_object **result)
{
    for (uint32_t i = 0; i < narg; i++) {
        const bt_tensor *tensor = bt_object_as_tensor(args[i]);
        if (!tensor)
            return fail(r, "an argument is none");
        if (!bt_map_put(&r->values, block->params[i], bt_tensor_ref(tensor)))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        if (!call || call->callee_kind != BT_CALLEE_OP)
            return fail(r, "a binding is something else");
        BT_TRY(run_call(r, call));
    }
    const bt_tensor *tensor = value_of(r, block->result);
    if (!tensor)
        return fail(r, "the result is none");
    *result = &bt_tensor_ref(tensor)->base;
    return NULL;
}

static bt_status call(bt_ctx *ctx, void *session, const char *entry, uint32_t narg, bt_object *const *args,
                      const bt_run_hook *hook, bt_object **result)
{
    struct session *s = session;
    const bt_global *global;
    struct run r = { .ctx = ctx };
    (void)hook; /* of profiles: to be called after each binding */
    BT_TRY(bt_module_entry(ctx, s->module, entry, &global));
    BT_TRY(bt_check_args(ctx, s->module, global, narg, args, NULL));
    bt_map_init(&r.values, bt_ctx_scratch(ctx), 0);
    bt_status status = run_block(&r, global->func->block, narg, args, result);
    for (uint32_t i = 0; i < r.values.len; i++)
        bt_tensor_unref(r.values.at[i].value);
    return status;
}

static const bt_executor executors[] = {
    {
        .name = "@name@",
        .doc = "Chains of calls of operators, one after the other.",
        .features = BT_FEATURE_DYNAMIC_SHAPES,
        .open = open,
        .close = close,
        .call = call,
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_EXECUTORS(executors), { 0 } };
