/*
 * vmap: a function of one example, of each of a batch.
 *     vmap(@f, %x, %w, axes=[0, -1])     y[b, ..] = f(x[b, ..], w)
 * axes    for each argument which axis of its tensors runs over the examples; -1: none, the
 *         argument is the same for all of them; None: axis 0 of all
 *         (data: a list with an element for each example, axis 0)
 * result  what the function gives, each tensor with the examples as a new axis 0
 * What computes it is a function that pass `vmap` makes; there is none to be called.
 * source  JAX, vmap; TensorFlow, vectorized_map (Agarwal 2019)
 */
#include <baton/op.h>

struct attrs {
    bt_ints axes;
};
static const bt_attr attrs[] = {
    BT_ATTR_RANGE(struct attrs, axes, INTS, "None", -1, BT_MAX_RANK - 1,
                  "of each argument, the axis that runs over the examples; -1: none"),
    { 0 },
};

static const bt_op_input inputs[] = {
    { .name = "f", .type = "?", .doc = "a function of one example" },
    { .name = "args", .type = "?", .doc = "its arguments, of all of them", .is_rest = 1 },
    { 0 },
};

/* What is known of the batch: how many examples there are. */
struct batch {
    bt_solver *solver;
    const bt_relation_call *call;
    const bt_type *size; /* NULL: not seen yet */
    int is_data;         /* they are elements of a list */
};

/* ---- arguments ---- */

/* The type of one example of a tensor, whose axis is taken out. */
static bt_status example_tensor(struct batch *b, uint32_t arg, const bt_type *type,
                                uint32_t axis, const bt_type **out)
{
    bt_store *store = bt_relation_store(b->solver);
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    const bt_type *dims[BT_MAX_RANK];
    if (!tensor)
        return bt_relation_fail(b->solver, b->call, (int)arg,
                                "an argument with an axis of examples is a tensor, or a "
                                "tuple of tensors; axis -1 passes it on as it is");
    if (!shape)
        return bt_relation_wait(b->solver);
    if (axis >= shape->n)
        return bt_relation_fail(b->solver, b->call, (int)arg,
                                "axes has axis %u for a tensor of rank %u; -1 says that "
                                "it is the same for all examples",
                                axis, shape->n);
    for (uint32_t i = 0, n = 0; i < shape->n; i++) {
        if (i != axis)
            dims[n++] = shape->dims[i];
    }
    if (b->is_data)
        return bt_relation_fail(
            b->solver, b->call, (int)arg,
            "beside a list of examples all arguments are the same for "
            "all of them, axis -1");
    if (!b->size)
        b->size = shape->dims[axis];
    else
        BT_TRY(bt_relation_unify(b->solver, b->call, b->size, shape->dims[axis],
                                 "numbers of examples"));
    *out = bt_type_tensor(store, bt_type_shape(store, shape->n - 1, dims), tensor->dtype);
    return NULL;
}

/* A list of data, an element for each example: how many there are, only the run knows. */
static bt_status example_data(struct batch *b, uint32_t arg, const bt_type *type,
                              int64_t axis, const bt_type **out)
{
    if (axis || b->size)
        return bt_relation_fail(
            b->solver, b->call, (int)arg,
            "a list of examples has axis 0, and all other arguments are "
            "the same for all examples, axis -1");
    *out = bt_as_apply_type(type)->at[1];
    b->is_data = 1;
    return bt_relation_opaque(b->solver, b->call, 0, &b->size);
}

static bt_status example(struct batch *b, uint32_t arg, const bt_type *type, int64_t axis,
                         const bt_type **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    *out = type;
    if (axis < 0)
        return NULL;
    if (type->kind == BT_TYPE_HOLE)
        return bt_relation_wait(b->solver);
    if (!tuple && bt_as_apply_type(type) && bt_as_apply_type(type)->n == 2)
        return example_data(b, arg, type, axis, out);
    if (!tuple)
        return example_tensor(b, arg, type, (uint32_t)axis, out);
    const bt_type **fields = bt_relation_alloc(b->solver, tuple->n, sizeof(*fields));
    if (!fields)
        return bt_relation_result(b->solver, b->call, NULL);
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(example(b, arg, tuple->at[i], axis, &fields[i]));
    *out = bt_type_tuple(bt_relation_store(b->solver), tuple->n, fields);
    return NULL;
}

/* ---- dims that the function leaves to its callers ---- */

static void find_dims(const bt_type *param, const bt_type *given, const bt_type **terms)
{
    const bt_list_type *fields = bt_as_list_type(param), *others = bt_as_list_type(given);
    const bt_shape_type *shape = bt_tensor_shape(param), *dims = bt_tensor_shape(given);
    for (uint32_t i = 0; fields && others && param->kind == given->kind &&
                         fields->n == others->n && i < fields->n;
         i++)
        find_dims(fields->at[i], others->at[i], terms);
    for (uint32_t i = 0; shape && dims && shape->n == dims->n && i < shape->n; i++)
        find_dims(shape->dims[i], dims->dims[i], terms);
    if (param->kind == BT_TYPE_BOUND && bt_type_kind_of(given) == BT_KIND_DIM) {
        const bt_bound_type *bound = (const bt_bound_type *)(const void *)param;
        if (!bound->depth && !terms[bound->index])
            terms[bound->index] = given;
    }
}

/* The function's type for these arguments. */
static bt_status open_func(struct batch *b, const bt_func_type **func,
                           const bt_type *const *args)
{
    const bt_func_type *f = *func;
    const bt_type **terms = bt_relation_alloc(b->solver, f->nparam, sizeof(*terms));
    if (!terms)
        return bt_relation_result(b->solver, b->call, NULL);
    for (uint32_t i = 0; i < f->nparam; i++)
        terms[i] = NULL;
    for (uint32_t i = 0; i < f->narg; i++)
        find_dims(f->args[i], args[i], terms);
    for (uint32_t i = 0; i < f->nparam; i++) {
        if (!terms[i])
            return bt_relation_fail(b->solver, b->call, 0,
                                    "the function has a type parameter that its "
                                    "arguments' dims do not show: give a function that "
                                    "calls it with known types, fn (%%x: T) { @f(%%x) }");
    }
    *func = bt_func_type_open(bt_relation_store(b->solver), f, terms);
    return *func ? NULL : bt_relation_result(b->solver, b->call, NULL);
}

/* ---- the result ---- */

static bt_status batched(struct batch *b, const bt_type *type, const bt_type **out)
{
    bt_store *store = bt_relation_store(b->solver);
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    const bt_type *dims[BT_MAX_RANK];
    if (tuple) {
        const bt_type **fields = bt_relation_alloc(b->solver, tuple->n, sizeof(*fields));
        if (!fields)
            return bt_relation_result(b->solver, b->call, NULL);
        for (uint32_t i = 0; i < tuple->n; i++)
            BT_TRY(batched(b, tuple->at[i], &fields[i]));
        *out = bt_type_tuple(store, tuple->n, fields);
        return NULL;
    }
    if (type->kind == BT_TYPE_HOLE || (bt_as_tensor_type(type) && !shape))
        return bt_relation_wait(b->solver);
    if (!shape || shape->n == BT_MAX_RANK)
        return bt_relation_fail(b->solver, b->call, 0,
                                "the function gives tensors, or tuples of them, of at "
                                "most %d dims",
                                BT_MAX_RANK - 1);
    dims[0] = b->size;
    for (uint32_t i = 0; i < shape->n; i++)
        dims[i + 1] = shape->dims[i];
    *out = bt_type_tensor(store, bt_type_shape(store, shape->n + 1, dims),
                          bt_as_tensor_type(type)->dtype);
    return NULL;
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const bt_type *type = bt_relation_arg(s, r, 0), *result;
    const bt_func_type *func = bt_as_func_type(type);
    struct batch b = { .solver = s, .call = r };
    if (type->kind == BT_TYPE_HOLE)
        return bt_relation_wait(s);
    if (!func)
        return bt_relation_fail(s, r, 0,
                                "what is applied to each example is no function");
    if (func->narg != r->narg - 1)
        return bt_relation_fail(s, r, 0,
                                "the function takes %u argument%s, but is given %u",
                                func->narg, func->narg == 1 ? "" : "s", r->narg - 1);
    if (a->axes.n != BT_NONE_LIST && a->axes.n != func->narg)
        return bt_relation_fail(s, r, -1, "axes has %lld elements for %u argument%s",
                                (long long)a->axes.n, func->narg,
                                func->narg == 1 ? "" : "s");
    const bt_type **args = bt_relation_alloc(s, func->narg, sizeof(*args));
    if (!args)
        return bt_relation_result(s, r, NULL);
    for (uint32_t i = 0; i < func->narg; i++)
        BT_TRY(example(&b, i + 1, bt_relation_arg(s, r, i + 1),
                       a->axes.n == BT_NONE_LIST ? 0 : a->axes.at[i], &args[i]));
    if (!b.size)
        return bt_relation_fail(s, r, -1,
                                "no argument has an axis of examples: call the function");
    if (func->nparam)
        BT_TRY(open_func(&b, &func, args));
    for (uint32_t i = 0; i < func->narg; i++)
        BT_TRY(bt_relation_unify(s, r, func->args[i], args[i],
                                 "what the function takes and one example"));
    BT_TRY(bt_relation_call_result(s, r, func, &type));
    BT_TRY(batched(&b, type, &result));
    return bt_relation_result(s, r, result);
}

static const bt_op ops[] = {
    {
        .name = "vmap",
        .revision = 1,
        .doc =
            "Applies a function of one example to each of a batch.\n"
            "The result has the examples as axis 0. Pass `vmap` makes a function for the "
            "whole batch of it: each call has one more index.",
        .source = "JAX, vmap",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .effects = BT_EFFECT_ALL, // those of the function, which is not looked at here
        .relate = relate,
    },
    { 0 },
};
const bt_table bt_ops_function_vmap[] = { BT_OPS(ops), { 0 } };
