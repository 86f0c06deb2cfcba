#include "emit.h"

#include <string.h>

#include <baton/compute.h>

enum { FOLD_NELEM = 1024, FOLD_NBYTES = 8192 };

/* ---- calls of constants ---- */

/* What would have to be evaluated: a call in a block that nobody keeps. */
struct call {
    const bt_op *op;
    const void *attrs;
    uint32_t narg;
    const bt_value *const *args;
    int is_list; /* the arguments are the fields of one, a tuple */
};

static bt_status build_call(bt_onnx_node *n, const struct call *call,
                            const bt_value **out)
{
    const bt_value *tuple;
    if (!call->is_list)
        return bt_build_op(n->im->builder, call->op, call->attrs, call->narg, call->args,
                           out);
    BT_TRY(bt_build_tuple(n->im->builder, call->narg, call->args, &tuple));
    return bt_build_op(n->im->builder, call->op, call->attrs, 1, &tuple, out);
}

static int is_small(const bt_tensor *tensor)
{
    return tensor && tensor->nelem <= FOLD_NELEM;
}

/* Whether it says something of a type alone. */
static int is_of_type(const struct call *call)
{
    return strcmp(call->op->name, "shape_of") == 0 ||
           strcmp(call->op->name, "ndarray_size") == 0;
}

/* Calls of small constants, and those of types. Codes stay codes: passes
 * look for them. */
static int may_fold(const struct call *call)
{
    if (strcmp(call->op->name, "qnn.dequantize") == 0)
        return 0;
    if (is_of_type(call))
        return 1;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!is_small(bt_const_tensor(call->args[i])))
            return 0;
    }
    return call->narg > 0;
}

/* Whether the result is one tensor of at most FOLD_NBYTES. */
static int result_is_small(const bt_type *type, uint32_t *rank, int64_t dims[BT_MAX_RANK])
{
    int64_t nbytes =
        (bt_dtype_nbits(bt_tensor_dtype(type)) + 7) / 8; // of packed ones more
    if (!nbytes || !bt_tensor_static(type, rank, dims))
        return 0;
    for (uint32_t i = 0; i < *rank; i++) {
        if (!bt_mul_int64(nbytes, dims[i], &nbytes) || nbytes > FOLD_NBYTES)
            return 0;
    }
    return 1;
}

/* *out stays NULL where some element is not a number. */
static bt_status fold_contents(bt_onnx_node *n, const bt_call *call, uint32_t rank,
                               const int64_t *dims, bt_tensor **out)
{
    int64_t value = 0;
    for (uint32_t i = 0; i < call->contents->n; i++) {
        if (!bt_dim_is_const(call->contents->dims[i], &value))
            return NULL;
    }
    BT_TRY(
        bt_tensor_create(n->im->ctx, bt_tensor_dtype(call->base.type), rank, dims, out));
    for (uint32_t i = 0; i < call->contents->n && i < (*out)->nelem; i++) {
        bt_dim_is_const(call->contents->dims[i], &value);
        bt_tensor_set_int(*out, i, value);
    }
    return NULL;
}

/* *out stays NULL where the call fails, as it will at run time, where it stands, and where it takes more
 * than a compiler may. */
static bt_status run_call(bt_onnx_node *n, const struct call *call, const bt_call *built,
                          bt_tensor **out)
{
    const bt_tensor **leaves = BT_NEWS(n->im->arena, const bt_tensor *, call->narg);
    bt_formula_call formula;
    bt_compute *compute;
    if (!leaves)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        leaves[i] = bt_const_tensor(call->args[i]);
    BT_TRY(bt_call_formula(n->im->arena, built, &formula));
    BT_TRY(bt_compute_create(n->im->ctx, &formula, &compute));
    int may_fold = 0;
    bt_status status =
        bt_compute_may_fold(n->im->ctx, compute, call->narg, leaves, &may_fold);
    if (!status && may_fold)
        status = bt_compute_run(n->im->ctx, compute, call->narg, leaves, out);
    bt_compute_destroy(compute);
    return status && status->code == BT_ERR_RUNTIME ? NULL : status;
}

static bt_status fold_built(bt_onnx_node *n, const struct call *call,
                            const bt_value *value, bt_tensor **out)
{
    const bt_call *built = bt_as_call(value);
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    if (!built || !result_is_small(value->type, &rank, dims))
        return NULL;
    if (built->contents)
        BT_TRY(fold_contents(n, built, rank, dims, out));
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!bt_const_tensor(call->args[i]))
            return NULL;
    }
    return *out ? NULL : run_call(n, call, built, out);
}

/* The call's value where it follows from constants; *out stays NULL where it does not. */
static bt_status fold(bt_onnx_node *n, const struct call *call, const bt_value **out)
{
    const bt_value *value;
    const bt_block *block;
    bt_tensor *tensor = NULL;
    BT_TRY(bt_block_begin(n->im->builder, 0, NULL));
    BT_TRY(build_call(n, call, &value));
    BT_TRY(bt_block_end(n->im->builder, value, &block));
    BT_TRY(fold_built(n, call, value, &tensor));
    if (!tensor)
        return NULL;
    bt_status status = bt_build_const(n->im->builder, &tensor->base, out);
    bt_tensor_unref(tensor);
    return status;
}

/* ---- calls ---- */

/* The contents of a value as a constant where types tell them all: one dim of a shape
 * may be known though another one is symbolic. *out stays NULL where they do not. */
static bt_status known_contents(bt_onnx_node *n, const bt_value *value,
                                const bt_value **out)
{
    const bt_call *call = bt_as_call(value);
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_tensor *tensor = NULL;
    if (!call || !call->contents || !result_is_small(value->type, &rank, dims))
        return NULL;
    BT_TRY(fold_contents(n, call, rank, dims, &tensor));
    if (!tensor)
        return NULL;
    bt_status status = bt_build_const(n->im->builder, &tensor->base, out);
    bt_tensor_unref(tensor);
    return status;
}

/* ---- floats that training learns ---- */

/* Tensors of floats are what a model learns: one that is made from others, or from sizes, is none of
 * those that its file has, and stays a call. */
static int may_be_learned(const bt_value *value)
{
    const bt_tensor *tensor = bt_const_tensor(value);
    return tensor && tensor->rank && bt_dtype_is_float(tensor->dtype);
}

const bt_tensor *known_tensor(const bt_onnx_node *n, const bt_value *value)
{
    const bt_value *known = value ? bt_map_find(&n->im->known, value) : NULL;
    return bt_const_tensor(known ? known : value);
}

/* The call, and what it is known to be for conversions that ask. */
static bt_status keep_call(bt_onnx_node *n, const struct call *call,
                           const bt_value *known, const bt_value **out)
{
    BT_TRY(build_call(n, call, out));
    return bt_map_put(&n->im->known, *out, (void *)(uintptr_t)known) ? NULL
                                                                     : bt_no_memory();
}

/* Folds where every argument is a constant or is known: to a constant, unless it depends on floats
 * that may be learned, or would be such itself. */
static bt_status fold_known(bt_onnx_node *n, struct call call, const bt_value **out)
{
    const struct call given = call;
    const bt_value **args = BT_NEWS(n->im->arena, const bt_value *, call.narg), *value;
    int is_kept = 0;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call.narg; i++) {
        const bt_value *known = bt_map_find(&n->im->known, call.args[i]);
        args[i] = known ? known : call.args[i];
        is_kept |= known || may_be_learned(args[i]);
        if (!known)
            BT_TRY(known_contents(n, call.args[i], &args[i]));
    }
    call.args = args;
    if (!may_fold(&call))
        return NULL;
    value = NULL;
    BT_TRY(fold(n, &call, &value));
    if (!value)
        return NULL;
    if (may_be_learned(value) || (is_kept && !is_of_type(&call)))
        return keep_call(n, &given, value, out);
    *out = value;
    return NULL;
}

static const bt_value *emit_call(bt_onnx_node *n, const struct call *call)
{
    const bt_value *out = NULL;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!call->args[i])
            node_fail(n, BT_ERR_FORMAT, "an input is missing");
    }
    if (!n->status)
        n->status = fold_known(n, *call, &out);
    if (!n->status && !out)
        n->status = build_call(n, call, &out);
    return n->status ? NULL : out;
}

/* Attributes as text; the call's op and attrs are set. */
static void parse_attrs(bt_onnx_node *n, const char *op, const char *attrs,
                        struct call *call)
{
    if (!n->status)
        n->status = bt_op_get(n->im->ctx, op, &call->op);
    if (!n->status && attrs)
        n->status =
            bt_attrs_parse(n->im->ctx, n->im->store, call->op, attrs, &call->attrs);
}

const bt_value *emit(bt_onnx_node *n, const char *op, const char *attrs, uint32_t narg,
                     const bt_value *const *args)
{
    struct call call = { .narg = narg, .args = args };
    parse_attrs(n, op, attrs, &call);
    return emit_call(n, &call);
}

const bt_value *emit_list(bt_onnx_node *n, const char *op, const char *attrs,
                          uint32_t count, const bt_value *const *fields)
{
    struct call call = { .narg = count, .args = fields, .is_list = 1 };
    parse_attrs(n, op, attrs, &call);
    return emit_call(n, &call);
}

const bt_value *emit1(bt_onnx_node *n, const char *op, const char *attrs,
                      const bt_value *x)
{
    return emit(n, op, attrs, 1, &x);
}

const bt_value *emit2(bt_onnx_node *n, const char *op, const char *attrs,
                      const bt_value *x, const bt_value *y)
{
    const bt_value *args[2] = { x, y };
    return emit(n, op, attrs, 2, args);
}

const bt_value *emit3(bt_onnx_node *n, const char *op, const char *attrs,
                      const bt_value *x, const bt_value *y, const bt_value *z)
{
    const bt_value *args[3] = { x, y, z };
    return emit(n, op, attrs, 3, args);
}

/* Replaces one shape among the attributes: no text could state a symbolic one. */
static bt_status set_shape(struct onnx_import *im, const char *name, const bt_type *shape,
                           struct call *call)
{
    char *copy = bt_arena_alloc(im->arena, 1, call->op->attrs_nbytes);
    if (!copy)
        return bt_no_memory();
    memcpy(copy, call->attrs, call->op->attrs_nbytes);
    const char *member = bt_attr_find(call->op, copy, name, BT_ATTR_SHAPE);
    if (!member)
        return bt_fail(im->ctx, BT_ERR_INTERNAL, "%s has no attribute %s", call->op->name,
                       name);
    memcpy(copy + (member - copy), &shape, sizeof(shape));
    call->attrs = copy;
    return NULL;
}

const bt_value *emit_shaped(bt_onnx_node *n, const char *op, const char *attrs,
                            const char *name, const bt_value *x, uint32_t count,
                            const bt_type *const *dims)
{
    struct call call = { .narg = 1, .args = &x };
    const bt_type *shape = NULL;
    parse_attrs(n, op, attrs, &call);
    if (!n->status && !(shape = bt_type_shape(n->im->store, count, dims)))
        n->status = bt_store_why(n->im->ctx, n->im->store);
    if (!n->status)
        n->status = set_shape(n->im, name, shape, &call);
    return emit_call(n, &call);
}

const bt_value *emit_tuple(bt_onnx_node *n, uint32_t count, const bt_value *const *fields)
{
    const bt_value *out = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!fields[i])
            node_fail(n, BT_ERR_FORMAT, "an input is missing");
    }
    if (!n->status)
        n->status = bt_build_tuple(n->im->builder, count, fields, &out);
    return out;
}

const bt_value *emit_proj(bt_onnx_node *n, const bt_value *tuple, uint32_t index)
{
    const bt_value *out = NULL;
    if (!n->status)
        n->status = bt_build_proj(n->im->builder, tuple, index, &out);
    return out;
}

/* ---- constants ---- */

const bt_value *emit_scalar(bt_onnx_node *n, bt_dtype dtype, double value)
{
    const bt_value *out = NULL;
    if (!n->status)
        n->status = bt_build_scalar(n->im->builder, dtype, value, &out);
    return out;
}

const bt_value *emit_const(bt_onnx_node *n, bt_tensor *tensor)
{
    const bt_value *out = NULL;
    if (!n->status)
        n->status = bt_build_const(n->im->builder, &tensor->base, &out);
    bt_tensor_unref(tensor);
    return out;
}

const bt_value *emit_table(bt_onnx_node *n, bt_tensor *tensor)
{
    const bt_value *constant = emit_const(n, tensor), *out = NULL;
    struct call call = { .narg = 1, .args = &constant };
    if (n->status || !may_be_learned(constant))
        return constant;
    parse_attrs(n, "stop_gradient", NULL, &call);
    if (!n->status)
        n->status = keep_call(n, &call, constant, &out);
    return out;
}

const bt_value *emit_int(bt_onnx_node *n, int64_t value)
{
    bt_tensor *tensor = NULL;
    if (!n->status)
        n->status = bt_tensor_scalar_int(n->im->ctx, BT_INT64, value, &tensor);
    return emit_const(n, tensor);
}

const bt_value *emit_ints(bt_onnx_node *n, uint32_t count, const int64_t *values)
{
    bt_tensor *tensor = NULL;
    if (!n->status)
        n->status =
            bt_tensor_create(n->im->ctx, BT_INT64, 1, &(int64_t){ count }, &tensor);
    for (uint32_t i = 0; !n->status && i < count; i++)
        bt_tensor_set_int(tensor, i, values[i]);
    return emit_const(n, tensor);
}

const bt_value *scalar_like(bt_onnx_node *n, const bt_value *x, double value)
{
    return emit_scalar(n, value_dtype(x), value);
}

/* ---- results ---- */

void node_out(bt_onnx_node *n, uint32_t i, const bt_value *value)
{
    if (n->status || !node_wants(n, i))
        return;
    const char *name = n->proto->outputs.at[i];
    if (!value)
        node_fail(n, BT_ERR_INTERNAL, "output %u was not made", i);
    else if (bt_map_entry_find(&n->im->scope->values, name) ||
             bt_map_find(&n->im->scope->initializers, name))
        node_fail(n, BT_ERR_NAME, "the value %s is given twice", name);
    if (!n->status)
        n->status = bt_build_name(n->im->builder, value, name);
    if (!n->status && !bt_map_put(&n->im->scope->values, name, (void *)(uintptr_t)value))
        n->status = bt_no_memory();
}

/* ---- for other plugins ---- */

static const bt_value *tool_constant(bt_onnx_node *n, bt_tensor *tensor)
{
    return tensor ? emit_const(n, tensor) : NULL;
}

const bt_onnx_tools onnx_tools = {
    .nbytes = sizeof(bt_onnx_tools),
    .input = node_in,
    .has = node_has,
    .get_int = node_int,
    .get_float = node_float,
    .get_text = node_text,
    .get_ints = node_ints,
    .call = emit,
    .tuple = emit_tuple,
    .field = emit_proj,
    .constant = tool_constant,
    .number = scalar_like,
    .format = node_format,
    .give = node_out,
    .fail = node_fail,
};
