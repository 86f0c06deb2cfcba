/* Calls of operators: computations that depend on the environment, tuples flattened and
 * built. */
#include "operate.h"

#include <string.h>

/* What the values are to blame for is an error of the call; any other fault of the
 * operator stays where it is, in its formula or kernel. */
static bt_status fail(struct machine *m, const bt_value *value, bt_status status,
                      const char *name)
{
    const bt_store *store = m->bytecode->module->store;
    int is_named = strncmp(status->message, name, strlen(name)) == 0;
    if (!status->note && (status->code == BT_ERR_RUNTIME ||
                          status->code == BT_ERR_LIMIT || status->code == BT_ERR_MEMORY ||
                          (status->code == BT_ERR_UNSUPPORTED && !status->place.file)))
        return bt_fail_at(m->ctx, status->code, store, value->span, "%s%s%s",
                          is_named ? "" : name, is_named ? "" : ": ", status->message);
    return bt_note(m->ctx, status, store, value->span, "in this call of %s", name);
}

static const bt_type *resolve_in_copy(struct bt_subst *subst, const bt_type *leaf)
{
    const bt_type *out;
    void **state = subst->state;
    return env_resolve(state[0], state[1], state[2], leaf, &out) ? NULL : out;
}

/* The type of an argument; its value shows what the environment does not know. */
static bt_status find_type(struct machine *m, struct env *env, const bt_value *value,
                           const bt_object *object, const bt_type **out)
{
    const bt_type *shown;
    BT_TRY(env_resolve(m->ctx, env, m->types, value->type, out));
    if (!((*out)->has & BT_HAS_HOLE))
        return NULL;
    BT_TRY(env_type_of(m->types, object, &shown));
    *out = shown ? shown : *out;
    return NULL;
}

static bt_status build_arg(bt_builder *builder, const bt_value *value,
                           const bt_type *type, const bt_value **out)
{
    const bt_param *param;
    if (value->kind == BT_VALUE_CONST)
        return bt_build_const(builder, bt_as_const(value)->object, out);
    BT_TRY(bt_build_param(builder, NULL, type, &param));
    *out = &param->base;
    return NULL;
}

static bt_status relate_with(bt_builder *builder, const bt_call *call,
                             const bt_formula_call *formula, const bt_type **out)
{
    bt_ctx *ctx = bt_builder_ctx(builder);
    const bt_value *result;
    const bt_value **args = BT_NEWS(bt_ctx_scratch(ctx), const bt_value *, formula->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < formula->narg; i++)
        BT_TRY(build_arg(builder, call->args[i], formula->args[i], &args[i]));
    BT_TRY(bt_block_begin(builder, 0, NULL));
    BT_TRY(
        bt_build_op(builder, formula->op, formula->attrs, formula->narg, args, &result));
    *out = result->type;
    return NULL;
}

/* A result type that is a type parameter which only the operator's relation determines:
 * the relation says it for the types at hand. */
static bt_status relate(struct machine *m, const bt_call *call,
                        const bt_formula_call *formula, const bt_type **out)
{
    bt_builder *builder;
    BT_TRY(bt_builder_create(m->ctx, m->types, m->bytecode->module, &builder));
    bt_status status = relate_with(builder, call, formula, out);
    bt_builder_destroy(builder);
    return status ? bt_fail_at(m->ctx, status->code, m->bytecode->module->store,
                               call->base.span, "%s", status->message)
                  : NULL;
}

/* A computation for this call only: its types or attributes depend on the environment. */
static bt_status create_compute(struct machine *m, struct env *env, const bt_call *call,
                                bt_object *const *args, bt_compute **out)
{
    const bt_type **types = BT_NEWS(bt_ctx_scratch(m->ctx), const bt_type *, call->narg);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(find_type(m, env, call->args[i], args[i], &types[i]));
    const bt_type *result;
    BT_TRY(env_resolve(m->ctx, env, m->types, call->base.type, &result));
    void *state[3] = { m->ctx, env, m->types };
    bt_subst subst = { .leaf = resolve_in_copy, .state = state };
    const void *attrs = call->attrs;
    if (attrs && !(attrs = bt_attrs_subst(m->types, &subst, call->op->attrs,
                                          call->op->attrs_nbytes, attrs)))
        return bt_store_why(m->ctx, m->types);
    bt_formula_call formula = {
        .op = call->op, .attrs = attrs, .narg = call->narg, .args = types
    };
    if (result->has & BT_HAS_HOLE)
        BT_TRY(relate(m, call, &formula, &result));
    formula.result = result;
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
    bt_status status = NULL;
    if (!step->compute)
        status = create_compute(m, env, call, args, &own);
    if (status && (status->code == BT_ERR_LIMIT || status->code == BT_ERR_UNSUPPORTED))
        status = fail(m, step->value, status, call->op->name);
    if (!status) {
        bt_compute *compute = step->compute ? step->compute : own;
        uint64_t start = m->hook ? bt_now_ns() : 0;
        status = run_compute(m, compute, narg, args,
                             call->base.type->kind == BT_TYPE_TUPLE, &result);
        uint64_t end = m->hook ? bt_now_ns() : 0;
        if (status)
            status = fail(m, step->value, status, call->op->name);
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
