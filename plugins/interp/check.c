#include "check.h"

#include <inttypes.h>

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

static void add_callee(const bt_call *call, bt_text *text)
{
    if (call->callee_kind == BT_CALLEE_OP)
        bt_text_addf(text, "%s", call->op->name);
    else if (call->callee_kind == BT_CALLEE_CTOR)
        bt_text_addf(text, "%s", call->ctor->name);
    else
        bt_print_operand(call->callee, text);
}

static bt_status fail_with(struct machine *m, const bt_value *value, const bt_text *text)
{
    const char *message = bt_text_get(text);
    return message ? bt_fail_at(m->ctx, BT_ERR_RUNTIME, m->bytecode->module->store,
                                value->span, "%s", message)
                   : bt_no_memory();
}

static bt_status fail_check(struct machine *m, const bt_call *call, const bt_check *check,
                            int64_t left, int64_t right)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(m->ctx));
    add_callee(call, &text);
    const char *callee = bt_text_get(&text);
    return callee ? bt_check_fail(m->ctx, &call->base, callee, check, left, right)
                  : bt_no_memory();
}

int check_is_late(const bt_call *call)
{
    for (uint32_t i = 0; i < call->ncheck; i++) {
        if ((call->checks[i].left->has | call->checks[i].right->has) & BT_HAS_OPAQUE)
            return 1;
    }
    return 0;
}

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
            return fail_check(m, call, check, a, b);
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

static bt_status fail_contents(struct machine *m, const bt_call *call, uint32_t index,
                               int64_t found, int64_t expected)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(m->ctx));
    add_callee(call, &text);
    bt_text_addf(&text, ": element %u is %" PRId64 ", but was stated to be ", index,
                 found);
    add_dim(m, &text, call->contents->dims[index], expected);
    return fail_with(m, &call->base, &text);
}

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
            return fail_contents(m, call, i, found, expected);
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
    return fail_with(c->m, c->value, &text);
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
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(c->m->ctx));
    bt_print_operand(c->value, &text);
    bt_text_addf(&text, " has dim %u = %" PRId64 ", but its type says ", axis, found);
    add_dim(c->m, &text, dim, expected);
    return fail_with(c->m, c->value, &text);
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
