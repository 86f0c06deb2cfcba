/* Calls of operators: run-time checks, computations that depend on the environment,
 * tuples flattened and built. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "operate.h"

#include <time.h>

static bt_status fail(struct machine *m, const bt_value *value, bt_status status,
                      const char *name)
{
    return bt_note(m->ctx, status, m->program->module->store, value->span,
                   "in this call of %s", name);
}

static bt_status check_dims(struct machine *m, struct env *env, const bt_call *call)
{
    for (uint32_t i = 0; i < call->ncheck; i++) {
        const bt_check *check = &call->checks[i];
        const bt_type *left, *right;
        int64_t a, b;
        BT_TRY(env_resolve(env, m->types, check->left, &left));
        BT_TRY(env_resolve(env, m->types, check->right, &right));
        if (!bt_dim_is_const(left, &a) || !bt_dim_is_const(right, &b))
            return bt_fail_at(m->ctx, BT_ERR_INTERNAL, m->program->module->store,
                              call->base.span, "a dim of %s is not known at run time",
                              call->op->name);
        int holds = check->relation == BT_CHECK_EQUAL        ? a == b
                    : check->relation == BT_CHECK_LESS_EQUAL ? a <= b
                                                             : bt_mod_int64(a, b) == 0;
        static const char *const texts[] = { "equal", "at most", "divisible by" };
        if (!holds)
            return bt_fail_at(m->ctx, BT_ERR_RUNTIME, m->program->module->store,
                              call->base.span, "%s: %lld was to be %s %lld",
                              call->op->name, (long long)a, texts[check->relation],
                              (long long)b);
    }
    return NULL;
}

static const bt_type *resolve_in_copy(struct bt_subst *subst, const bt_type *leaf)
{
    const bt_type *out;
    void **state = subst->state;
    return env_resolve(state[0], state[1], leaf, &out) ? NULL : out;
}

/* A computation for this call only: its types or attributes depend on the environment. */
static bt_status create_compute(struct machine *m, struct env *env, const bt_call *call,
                                bt_compute **out)
{
    const bt_type **types = BT_NEWS(bt_ctx_scratch(m->ctx), const bt_type *, call->narg);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(env_resolve(env, m->types, call->args[i]->type, &types[i]));
    const bt_type *result;
    BT_TRY(env_resolve(env, m->types, call->base.type, &result));
    void *state[2] = { env, m->types };
    bt_subst subst = { .leaf = resolve_in_copy, .state = state };
    const void *attrs = call->attrs;
    if (attrs && !(attrs = bt_attrs_subst(m->types, &subst, call->op->attrs,
                                          call->op->attrs_nbytes, attrs)))
        return bt_no_memory();
    bt_formula_call formula = { .op = call->op,
                                .attrs = attrs,
                                .narg = call->narg,
                                .args = types,
                                .result = result };
    return bt_compute_create(m->ctx, &formula, out);
}

typedef bt_vec(const bt_tensor *) leaf_list;

/* Arguments' tensors, depth first; tuples nest no deeper than their types. */
static int flatten(bt_object *object, bt_arena *arena, uint32_t depth, leaf_list *leaves)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    if (tensor)
        return BT_PUSH(arena, leaves, tensor);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    for (uint32_t i = 0; tuple && depth && i < tuple->nfield; i++) {
        if (!flatten(tuple->fields[i], arena, depth - 1, leaves))
            return 0;
    }
    return 1;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bt_status run_compute(struct machine *m, bt_compute *compute, uint32_t narg,
                             bt_object *const *args, int is_tuple, bt_object **out)
{
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    leaf_list leaves = { 0 };
    for (uint32_t i = 0; i < narg; i++) {
        if (!flatten(args[i], scratch, bt_ctx_limits(m->ctx)->depth, &leaves))
            return bt_no_memory();
    }
    uint32_t nout = bt_compute_nout(compute);
    bt_tensor **results = BT_NEWS(scratch, bt_tensor *, nout);
    bt_object **objects = BT_NEWS(scratch, bt_object *, nout);
    if (!results || !objects)
        return bt_no_memory();
    BT_TRY(bt_compute_run(m->ctx, compute, leaves.len, leaves.at, results));
    if (!is_tuple) {
        *out = &results[0]->base;
        return NULL;
    }
    for (uint32_t i = 0; i < nout; i++)
        objects[i] = &results[i]->base;
    bt_tuple *tuple;
    bt_status status = bt_tuple_create(m->ctx, nout, objects, &tuple);
    for (uint32_t i = 0; i < nout; i++)
        bt_object_unref(objects[i]);
    if (!status)
        *out = &tuple->base;
    return status;
}

bt_status operate(struct machine *m, struct env *env, const struct step *step,
                  uint32_t narg, bt_object *const *args, bt_object **out)
{
    const bt_call *call = bt_as_call(step->value);
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_compute *own = NULL;
    bt_status status = check_dims(m, env, call);
    if (!status && !step->compute)
        status = create_compute(m, env, call, &own);
    if (!status) {
        bt_compute *compute = step->compute ? step->compute : own;
        uint64_t start = m->hook ? now() : 0;
        status = run_compute(m, compute, narg, args,
                             call->base.type->kind == BT_TYPE_TUPLE, out);
        if (!status && m->hook)
            m->hook->binding(m->hook->self, step->value, *out, now() - start);
        if (status)
            status = fail(m, step->value, status, call->op->name);
    }
    bt_compute_destroy(own);
    bt_arena_release(scratch, mark);
    return status;
}
