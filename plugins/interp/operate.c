/* Calls of operators: run-time checks, computations that depend on the environment,
 * tuples flattened and built. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "operate.h"

#include <inttypes.h>
#include <time.h>

static bt_status fail(struct machine *m, const bt_value *value, bt_status status,
                      const char *name)
{
    return bt_note(m->ctx, status, m->program->module->store, value->span,
                   "in this call of %s", name);
}

/* Whether a check that is known to hold or fail holds. */
static int check_holds(uint32_t relation, int64_t left, int64_t right)
{
    switch (relation) {
    case BT_CHECK_EQUAL: return left == right;
    case BT_CHECK_LESS_EQUAL: return left <= right;
    case BT_CHECK_DIVISIBLE: return bt_mod_int64(left, right) == 0;
    default: return left == 1 || left == right; // BT_CHECK_BROADCAST
    }
}

/* "n + 1 = 5": what a dim is called and what it is. */
static void add_dim(struct machine *m, bt_text *text, const bt_type *dim, int64_t value)
{
    int64_t number;
    if (!bt_dim_is_const(dim, &number)) {
        bt_print_type(m->ctx, dim, text);
        bt_text_addf(text, " = ");
    }
    bt_text_addf(text, "%" PRId64, value);
}

static bt_status fail_check(struct machine *m, const bt_call *call, const bt_check *check,
                            int64_t left, int64_t right)
{
    static const char *const texts[] = { "be equal to", "be at most", "be a multiple of",
                                         "be 1 or equal to" };
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(m->ctx));
    add_dim(m, &text, check->left, left);
    bt_text_addf(&text, " was to %s ", texts[check->relation]);
    add_dim(m, &text, check->right, right);
    const char *message = bt_text_get(&text);
    return message ? bt_fail_at(m->ctx, BT_ERR_RUNTIME, m->program->module->store,
                                call->base.span, "%s: %s", call->op->name, message)
                   : bt_no_memory();
}

/* Checks what can be checked by now: dims that the call itself determines are known once
 * its result is. *nopen counts the others. */
static bt_status check_dims(struct machine *m, struct env *env, const bt_call *call,
                            uint32_t *nopen)
{
    *nopen = 0;
    for (uint32_t i = 0; i < call->ncheck; i++) {
        const bt_check *check = &call->checks[i];
        const bt_type *left, *right;
        int64_t a, b;
        BT_TRY(env_resolve(env, m->types, check->left, &left));
        BT_TRY(env_resolve(env, m->types, check->right, &right));
        if (!bt_dim_is_const(left, &a) || !bt_dim_is_const(right, &b))
            ++*nopen;
        else if (!check_holds(check->relation, a, b))
            return fail_check(m, call, check, a, b);
    }
    return NULL;
}

/* The checks that waited for the result. */
static bt_status check_result(struct machine *m, struct env *env, const bt_call *call,
                              const bt_object *result)
{
    uint32_t nopen;
    BT_TRY(env_bind_value(env, m->types, call->base.type, result));
    BT_TRY(check_dims(m, env, call, &nopen));
    return nopen ? bt_fail_at(m->ctx, BT_ERR_INTERNAL, m->program->module->store,
                              call->base.span, "a dim of %s is not known at run time",
                              call->op->name)
                 : NULL;
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
    bt_object *result = NULL;
    uint32_t nopen;
    bt_status status = check_dims(m, env, call, &nopen);
    if (!status && !step->compute)
        status = create_compute(m, env, call, &own);
    if (!status) {
        bt_compute *compute = step->compute ? step->compute : own;
        uint64_t start = m->hook ? now() : 0;
        status = run_compute(m, compute, narg, args,
                             call->base.type->kind == BT_TYPE_TUPLE, &result);
        uint64_t end = m->hook ? now() : 0;
        if (status)
            status = fail(m, step->value, status, call->op->name);
        else if (nopen)
            status = check_result(m, env, call, result);
        if (!status && m->hook)
            m->hook->binding(m->hook->self, step->value, result, end - start);
    }
    if (status)
        bt_object_unref(result);
    else
        *out = result;
    bt_compute_destroy(own);
    bt_arena_release(scratch, mark);
    return status;
}
