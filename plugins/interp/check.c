#include "check.h"

bt_status check_before(struct machine *m, struct env *env, const bt_call *call)
{
    for (uint32_t i = 0; i < call->ncheck; i++) {
        const bt_check *check = &call->checks[i];
        const bt_type *left, *right;
        int64_t a, b;
        BT_TRY(env_resolve(m->ctx, env, m->types, check->left, &left));
        BT_TRY(env_resolve(m->ctx, env, m->types, check->right, &right));
        if (bt_dim_is_const(left, &a) && bt_dim_is_const(right, &b) &&
            !bt_check_holds(check->relation, a, b))
            return bt_check_fail(m->ctx, &call->base, NULL, check, a, b);
    }
    return NULL;
}

bt_status check_after(struct machine *m, struct env *env, const bt_call *call,
                      const bt_object *result)
{
    BT_TRY(check_value(m, env, &call->base, result));
    return check_before(m, env, call);
}

/* ---- contents ---- */

bt_status check_contents(struct machine *m, struct env *env, const bt_call *call,
                         const bt_object *result)
{
    const bt_tensor *tensor = bt_object_as_tensor(result);
    for (uint32_t i = 0; tensor && i < call->contents->n && i < tensor->nelem; i++) {
        const bt_type *known = call->contents->dims[i];
        int64_t expected, found = bt_tensor_get_int(tensor, i);
        if (!bt_dim_is_const(known, &expected))
            BT_TRY(env_resolve(m->ctx, env, m->types, known, &known));
        if (bt_dim_is_const(known, &expected) && expected != found)
            return bt_contents_fail(m->ctx, call, i, found, expected);
    }
    return NULL;
}

/* ---- values ---- */

struct checking {
    struct machine *m;
    struct env *env;
    const bt_value *value;
};

static bt_status fail_kind(const struct checking *c, const bt_type *type,
                           const bt_tensor *tensor)
{
    char dtype[BT_DTYPE_NAME_SIZE];
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(c->m->ctx));
    bt_print_operand(c->value, &text);
    if (tensor)
        bt_text_addf(&text, " has rank %u and dtype %s", tensor->rank,
                     bt_dtype_name(tensor->dtype, dtype, sizeof(dtype)));
    else
        bt_text_addf(&text, " is no tensor");
    bt_text_addf(&text, ", but its type says ");
    bt_print_type(c->m->ctx, type, &text);
    const char *message = bt_text_get(&text);
    return message ? bt_fail_at(c->m->ctx, BT_ERR_RUNTIME, c->m->bytecode->module->store,
                                c->value->span, "%s", message)
                   : bt_no_memory();
}

static bt_status check_dim(const struct checking *c, const bt_type *dim, uint32_t axis,
                           int64_t found)
{
    const bt_type *known = dim;
    int64_t expected;
    if (!bt_dim_is_const(dim, &expected))
        BT_TRY(env_resolve(c->m->ctx, c->env, c->m->types, dim, &known));
    if (!bt_dim_is_const(known, &expected) || expected == found)
        return NULL;
    return bt_dim_fail(c->m->ctx, c->value, axis, dim, found, expected);
}

static bt_status check_tensor(const struct checking *c, const bt_type *type,
                              const bt_tensor *tensor)
{
    const bt_shape_type *shape = bt_as_shape_type(bt_as_tensor_type(type)->shape);
    bt_dtype dtype = bt_tensor_dtype(type);
    if (!tensor || (dtype && dtype != tensor->dtype))
        return fail_kind(c, type, tensor);
    if (!shape)
        return NULL;
    if (shape->rest ? tensor->rank < shape->n : tensor->rank != shape->n)
        return fail_kind(c, type, tensor);
    for (uint32_t i = 0; i < shape->n; i++) {
        uint32_t axis =
            shape->rest && i >= shape->position ? i + tensor->rank - shape->n : i;
        BT_TRY(check_dim(c, shape->dims[i], axis, tensor->dims[axis]));
    }
    return NULL;
}

/* Tuple types have bounded depth. */
static bt_status check_object(const struct checking *c, const bt_type *type,
                              const bt_object *object)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_list_type *fields = bt_as_tuple_type(type);
    if (type->kind == BT_TYPE_TENSOR)
        return check_tensor(c, type, bt_object_as_tensor(object));
    for (uint32_t i = 0; tuple && fields && i < fields->n && i < tuple->nfield; i++)
        BT_TRY(check_object(c, fields->at[i], tuple->fields[i]));
    return NULL;
}

bt_status check_value(struct machine *m, struct env *env, const bt_value *value,
                      const bt_object *object)
{
    struct checking c = { m, env, value };
    if (env)
        BT_TRY(env_bind_value(env, m->types, value->type, object));
    return check_object(&c, value->type, object);
}
