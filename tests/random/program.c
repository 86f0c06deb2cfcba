#include "program.h"

#include <string.h>

#include <baton/op.h>

/* What a program under construction knows. */
struct maker {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    bt_module *module; /* the functions made so far */
    bt_builder *builder;
    uint64_t random;
    uint32_t budget; /* bindings still wanted; below 1 expressions end at once */
    uint32_t depth;
    const bt_type *dim; /* n of the function at hand */
    bt_vec(const bt_value *) scope;
    const bt_adt_def *list;
    uint32_t nfunction;
};

static uint32_t below(struct maker *m, uint32_t n)
{
    return random_below(&m->random, n);
}

uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((random_next(state) >> 32) * n >> 32);
}

/* ---- types ---- */

enum { NSHAPE = 7 };

static bt_status tensor_type(struct maker *m, bt_dtype dtype, uint32_t shape,
                             const bt_type **out)
{
    const bt_type *two = bt_dim(m->store, 2), *three = bt_dim(m->store, 3), *n = m->dim;
    const bt_type *rows[NSHAPE][2] = { { NULL },       { two }, { three }, { two, three },
                                       { three, two }, { n },   { n, two } };
    static const uint32_t ranks[NSHAPE] = { 0, 1, 1, 2, 2, 1, 2 };
    const bt_type *dims =
        two && three ? bt_type_shape(m->store, ranks[shape], rows[shape]) : NULL;
    const bt_type *element = bt_type_dtype(m->store, dtype);
    *out = dims && element ? bt_type_tensor(m->store, dims, element) : NULL;
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

static bt_status random_tensor_type(struct maker *m, const bt_type **out)
{
    static const bt_dtype dtypes[] = { BT_FLOAT32, BT_FLOAT32, BT_INT64, BT_INT32,
                                       BT_BOOL };
    return tensor_type(m, dtypes[below(m, BT_COUNT(dtypes))], below(m, NSHAPE), out);
}

static bt_status random_type(struct maker *m, uint32_t depth, const bt_type **out)
{
    const bt_type *fields[3];
    uint32_t pick = depth ? below(m, 10) : 9, n = 1 + below(m, 3);
    if (pick > 3)
        return random_tensor_type(m, out);
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(random_type(m, depth - 1, &fields[i]));
    if (pick == 0)
        *out = bt_type_apply(m->store, m->list, 1, fields);
    else if (pick == 1)
        *out = bt_type_func(
            m->store, &(bt_func_type){ .narg = 1, .args = fields, .result = fields[1] });
    else
        *out = bt_type_tuple(m->store, n, fields);
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

static bt_dtype dtype_of(const bt_type *type)
{
    return bt_tensor_dtype(type);
}

/* The same shape with another element. */
static bt_status with_dtype(struct maker *m, const bt_type *type, bt_dtype dtype,
                            const bt_type **out)
{
    const bt_type *element = bt_type_dtype(m->store, dtype);
    *out = element ? bt_type_tensor(m->store, bt_as_tensor_type(type)->shape, element)
                   : NULL;
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

/* ---- expressions ---- */

/* An expression of a type: bindings in the block at hand, and a value in scope there. */
static bt_status make(struct maker *m, const bt_type *type, const bt_value **out);

static bt_status enter_scope(struct maker *m, const bt_value *value)
{
    return BT_PUSH(m->arena, &m->scope, value) ? NULL : bt_no_memory();
}

/* A value of that type bound before, the more likely the later; NULL: none. */
static const bt_value *pick_old(struct maker *m, const bt_type *type)
{
    const bt_value *found = NULL;
    for (uint32_t i = m->scope.len; i-- > 0;) {
        if (m->scope.at[i]->type != type)
            continue;
        found = m->scope.at[i];
        if (below(m, 3))
            break;
    }
    return found;
}

static bt_status call_op(struct maker *m, const char *op, const char *attrs,
                         const bt_value *x, const bt_value *y, const bt_value **out)
{
    const bt_value *args[2] = { x, y };
    return bt_build(m->builder, op, attrs, args, y ? 2 : 1, out);
}

static bt_status make_scalar(struct maker *m, bt_dtype dtype, const bt_value **out)
{
    if (dtype == BT_BOOL)
        return bt_build_scalar(m->builder, dtype, below(m, 2), out);
    double value = (double)below(m, 9) - 4;
    return bt_build_scalar(m->builder, dtype, dtype == BT_FLOAT32 ? value / 4 : value,
                           out);
}

/* A constant tensor; where a dim is symbolic, a splat by `full`. */
static bt_status make_const(struct maker *m, const bt_type *type, const bt_value **out)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_tensor *tensor;
    bt_dtype dtype = dtype_of(type);
    if (!bt_tensor_static(type, &rank, dims)) {
        const bt_value *scalar;
        BT_TRY(make_scalar(m, dtype, &scalar));
        const bt_type *shape = bt_as_tensor_type(type)->shape;
        struct {
            const bt_type *shape, *dtype;
        } attrs = { shape, NULL };
        const bt_op *op;
        BT_TRY(bt_op_get(m->ctx, "full", &op));
        return bt_build_op(m->builder, op, &attrs, 1, &scalar, out);
    }
    BT_TRY(bt_tensor_create(m->ctx, dtype, rank, dims, &tensor));
    for (int64_t i = 0; i < tensor->nelem; i++)
        bt_tensor_set(tensor, i,
                      dtype == BT_BOOL
                          ? below(m, 2)
                          : ((double)below(m, 9) - 4) / (dtype == BT_FLOAT32 ? 4 : 1));
    bt_status status = bt_build_const(m->builder, &tensor->base, out);
    bt_tensor_unref(tensor);
    return status;
}

static bt_status make_unary(struct maker *m, const bt_type *type, const bt_value **out)
{
    static const char *const floats[] = { "tanh", "sigmoid", "negative",
                                          "abs",  "nn.relu", "floor" };
    static const char *const ints[] = { "negative", "abs", "sign", "copy" };
    const bt_value *x;
    bt_dtype dtype = dtype_of(type);
    BT_TRY(make(m, type, &x));
    const char *op = dtype == BT_BOOL      ? "logical_not"
                     : dtype == BT_FLOAT32 ? floats[below(m, BT_COUNT(floats))]
                                           : ints[below(m, BT_COUNT(ints))];
    return call_op(m, op, NULL, x, NULL, out);
}

/* The second operand may be a scalar, which broadcasts. */
static bt_status make_binary(struct maker *m, const bt_type *type, const bt_value **out)
{
    static const char *const numbers[] = { "add", "subtract", "multiply", "maximum",
                                           "minimum" };
    static const char *const bools[] = { "logical_and", "logical_or", "logical_xor" };
    static const char *const compares[] = { "less", "less_equal", "greater", "equal",
                                            "not_equal" };
    const bt_type *operand = type, *other;
    const bt_value *x, *y;
    const char *op = numbers[below(m, BT_COUNT(numbers))];
    if (dtype_of(type) == BT_BOOL && below(m, 2)) {
        op = compares[below(m, BT_COUNT(compares))];
        BT_TRY(with_dtype(m, type, below(m, 2) ? BT_INT64 : BT_FLOAT32, &operand));
    } else if (dtype_of(type) == BT_BOOL) {
        op = bools[below(m, BT_COUNT(bools))];
    }
    other = operand;
    if (below(m, 4) == 0 && !(other = bt_type_scalar(m->store, dtype_of(operand))))
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, operand, &x));
    BT_TRY(make(m, other, &y));
    return call_op(m, op, NULL, x, y, out);
}

static bt_status make_cast(struct maker *m, const bt_type *type, const bt_value **out)
{
    static const bt_dtype sources[] = { BT_FLOAT32, BT_INT64, BT_INT32, BT_BOOL };
    char name[BT_DTYPE_NAME_SIZE];
    const bt_type *from;
    const bt_value *x;
    BT_TRY(with_dtype(m, type, sources[below(m, BT_COUNT(sources))], &from));
    BT_TRY(make(m, from, &x));
    bt_text text;
    bt_text_init(&text, m->arena);
    bt_text_addf(&text, "dtype=\"%s\"",
                 bt_dtype_name(dtype_of(type), name, sizeof(name)));
    return text.failed ? bt_no_memory() : call_op(m, "cast", text.at, x, NULL, out);
}

static bt_status make_where(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *condition;
    const bt_value *args[3];
    BT_TRY(with_dtype(m, type, BT_BOOL, &condition));
    BT_TRY(make(m, condition, &args[0]));
    BT_TRY(make(m, type, &args[1]));
    BT_TRY(make(m, type, &args[2]));
    return bt_build(m->builder, "where", NULL, args, 3, out);
}

/* Shapes by other shapes: (2, 3) from (3, 2), a scalar from a vector, a vector from a
 * matrix. */
static bt_status make_moved(struct maker *m, const bt_type *type, const bt_value **out)
{
    static const struct {
        uint32_t to, from;
        const char *op, *attrs;
    } moves[] = {
        { 3, 4, "transpose", "axes=[1, 0]" },
        { 4, 3, "transpose", NULL },
        { 3, 4, "reshape", "newshape=[2, 3]" },
        { 1, 3, "max", "axis=[1]" },
        { 2, 3, "min", "axis=[0]" },
        { 5, 6, "max", "axis=[1]" },
        { 6, 6, "reverse", "axis=0" },
        { 2, 2, "reverse", "axis=0" },
    };
    uint32_t start = below(m, BT_COUNT(moves));
    for (uint32_t i = 0; i < BT_COUNT(moves); i++) {
        uint32_t k = (start + i) % BT_COUNT(moves);
        const bt_type *to, *from;
        const bt_value *x;
        BT_TRY(tensor_type(m, dtype_of(type), moves[k].to, &to));
        if (to != type ||
            (dtype_of(type) == BT_BOOL && strcmp(moves[k].op, "transpose") != 0))
            continue;
        BT_TRY(tensor_type(m, dtype_of(type), moves[k].from, &from));
        BT_TRY(make(m, from, &x));
        return call_op(m, moves[k].op, moves[k].attrs, x, NULL, out);
    }
    return make_unary(m, type, out);
}

/* ---- work for passes ---- */

/* All elements the same. */
static bt_status make_splat(struct maker *m, const bt_type *type, double value,
                            const bt_value **out)
{
    return bt_build_scalar(m->builder, dtype_of(type), value, out);
}

static bt_status cast_to(struct maker *m, const bt_value *x, const char *dtype,
                         const bt_value **out)
{
    bt_text text;
    bt_text_init(&text, m->arena);
    bt_text_addf(&text, "dtype=\"%s\"", dtype);
    return text.failed ? bt_no_memory() : call_op(m, "cast", text.at, x, NULL, out);
}

/* x + 0, 1 * x and the like; logic for bools. */
static bt_status make_neutral(struct maker *m, const bt_type *type, const bt_value *x,
                              const bt_value **out)
{
    static const struct {
        const char *op;
        double neutral;
        int on_left;
    } rows[] = { { "add", 0, 0 },      { "add", 0, 1 },      { "subtract", 0, 0 },
                 { "multiply", 1, 0 }, { "multiply", 1, 1 }, { "divide", 1, 0 } };
    const bt_value *constant;
    uint32_t pick = below(m, BT_COUNT(rows));
    if (dtype_of(type) == BT_BOOL)
        return call_op(m, below(m, 2) ? "logical_and" : "logical_or", NULL, x, x, out);
    BT_TRY(make_splat(m, type, rows[pick].neutral, &constant));
    return rows[pick].on_left ? call_op(m, rows[pick].op, NULL, constant, x, out)
                              : call_op(m, rows[pick].op, NULL, x, constant, out);
}

/* What is zero for integers only. */
static bt_status make_zero(struct maker *m, const bt_type *type, const bt_value *x,
                           const bt_value **out)
{
    const bt_value *zero;
    if (dtype_of(type) == BT_BOOL)
        return call_op(m, "logical_xor", NULL, x, x, out);
    if (below(m, 2))
        return call_op(m, "subtract", NULL, x, x, out);
    BT_TRY(make_splat(m, type, 0, &zero));
    return call_op(m, "multiply", NULL, x, zero, out);
}

/* Something that a pass may find to be its operand. */
static bt_status make_identity(struct maker *m, const bt_type *type, const bt_value **out)
{
    char name[BT_DTYPE_NAME_SIZE];
    const bt_value *x, *condition;
    BT_TRY(make(m, type, &x));
    bt_dtype_name(dtype_of(type), name, sizeof(name));
    switch (below(m, 7)) {
    case 0: return make_zero(m, type, x, out);
    case 1:
        BT_TRY(call_op(m, "copy", NULL, x, NULL, &x));
        return call_op(m, "copy", NULL, x, NULL, out);
    case 2:
        if (dtype_of(type) == BT_BOOL)
            BT_TRY(call_op(m, "logical_not", NULL, x, NULL, &x));
        else
            BT_TRY(call_op(m, "negative", NULL, x, NULL, &x));
        return call_op(m, dtype_of(type) == BT_BOOL ? "logical_not" : "negative", NULL, x,
                       NULL, out);
    case 3:
        if (dtype_of(type) == BT_INT32)
            BT_TRY(cast_to(m, x, "int64", &x));
        return cast_to(m, x, name, out);
    case 4: {
        const bt_value *args[3] = { NULL, x, x };
        BT_TRY(bt_build_scalar(m->builder, BT_BOOL, below(m, 2), &condition));
        args[0] = condition;
        BT_TRY(make(m, type, &args[2]));
        return bt_build(m->builder, "where", NULL, args, 3, out);
    }
    default: return make_neutral(m, type, x, out);
    }
}

/* The same expression twice. */
static bt_status make_duplicate(struct maker *m, const bt_type *type,
                                const bt_value **out)
{
    const char *op = dtype_of(type) == BT_BOOL ? "logical_not" : "abs";
    const char *join = dtype_of(type) == BT_BOOL ? "logical_and" : "add";
    const bt_value *x, *first, *second;
    BT_TRY(make(m, type, &x));
    BT_TRY(call_op(m, op, NULL, x, NULL, &first));
    BT_TRY(call_op(m, op, NULL, x, NULL, &second));
    return call_op(m, join, NULL, first, second, out);
}

/* An expression that nobody uses comes first. */
static bt_status make_dead(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *dead_type;
    const bt_value *dead;
    uint32_t mark = m->scope.len;
    BT_TRY(random_type(m, 1, &dead_type));
    BT_TRY(make(m, dead_type, &dead));
    m->scope.len = mark;
    return make(m, type, out);
}

/* ---- layers ---- */

/*
 * Small convolutions and dense layers with what follows them in a network. All numbers
 * are such that float32 holds each result exactly: integers of a few bits, powers of two.
 * So a pass that multiplies the weights instead of the result must give the same bits.
 */
struct layer {
    int64_t nchannel;
    int is_conv; /* two axes of one follow the channels */
};

static bt_status make_numbers(struct maker *m, uint32_t rank, const int64_t *dims,
                              const double *choices, uint32_t n, const bt_value **out)
{
    bt_tensor *tensor;
    BT_TRY(bt_tensor_create(m->ctx, BT_FLOAT32, rank, dims, &tensor));
    for (int64_t i = 0; i < tensor->nelem; i++)
        bt_tensor_set(tensor, i, choices[below(m, n)]);
    bt_status status = bt_build_const(m->builder, &tensor->base, out);
    bt_tensor_unref(tensor);
    return status;
}

static const double integers[] = { -2, -1, 0, 1, 2, 3 };
static const double powers[] = { -2, -1, -0.5, 0.5, 1, 2, 4 };
static const double variances[] = { 0.25, 1, 4 };

/* A number for each channel, as a vector, or so that it broadcasts along the channels. */
static bt_status make_channels(struct maker *m, const struct layer *l, int is_vector,
                               const double *choices, uint32_t n, const bt_value **out)
{
    const int64_t dims[] = { l->nchannel, 1, 1 };
    return make_numbers(m, is_vector || !l->is_conv ? 1 : 3, dims, choices, n, out);
}

static bt_status make_batch_norm(struct maker *m, const struct layer *l,
                                 const bt_value *x, const bt_value **out)
{
    const bt_value *args[5] = { x }, *fields;
    BT_TRY(make_channels(m, l, 1, powers, BT_COUNT(powers), &args[1]));
    BT_TRY(make_channels(m, l, 1, integers, BT_COUNT(integers), &args[2]));
    BT_TRY(make_channels(m, l, 1, integers, BT_COUNT(integers), &args[3]));
    BT_TRY(make_channels(m, l, 1, variances, BT_COUNT(variances), &args[4]));
    BT_TRY(bt_build(m->builder, "nn.batch_norm", "epsilon=0.0", args, 5, &fields));
    return bt_build_proj(m->builder, fields, 0, out);
}

static bt_status make_after_layer(struct maker *m, const struct layer *l,
                                  const bt_value *x, const bt_value **out)
{
    const bt_value *y;
    switch (below(m, 5)) {
    case 0:
        BT_TRY(make_channels(m, l, 1, integers, BT_COUNT(integers), &y));
        return call_op(m, "nn.bias_add", NULL, x, y, out);
    case 1:
        BT_TRY(make_channels(m, l, 0, integers, BT_COUNT(integers), &y));
        return call_op(m, "add", NULL, x, y, out);
    case 2: return make_batch_norm(m, l, x, out);
    case 3:
        BT_TRY(call_op(m, "nn.dropout", NULL, x, NULL, &y));
        return bt_build_proj(m->builder, y, 0, out);
    default:
        BT_TRY(make_channels(m, l, 0, powers, BT_COUNT(powers), &y));
        return call_op(m, "multiply", NULL, x, y, out);
    }
}

static bt_status apply_layer(struct maker *m, const struct layer *l, const bt_value *x,
                             const bt_value **out)
{
    int is_depthwise = l->is_conv && below(m, 3) == 0;
    const int64_t dims[] = { l->nchannel, is_depthwise ? 1 : l->nchannel, 1, 1 };
    const bt_value *weight;
    bt_text attrs;
    BT_TRY(
        make_numbers(m, l->is_conv ? 4 : 2, dims, integers, BT_COUNT(integers), &weight));
    if (!l->is_conv)
        return call_op(m, "nn.dense", NULL, x, weight, out);
    bt_text_init(&attrs, m->arena);
    bt_text_addf(&attrs, "groups=%d", is_depthwise ? (int)l->nchannel : 1);
    return attrs.failed ? bt_no_memory()
                        : call_op(m, "nn.conv2d", attrs.at, x, weight, out);
}

/* Matrices of floats only; the last axis has the channels. */
static bt_status make_layer(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    struct layer l = { .is_conv = (int)below(m, 2) };
    const bt_value *x;
    if (dtype_of(type) != BT_FLOAT32 || shape->n != 2 ||
        !bt_dim_is_const(shape->dims[1], &l.nchannel))
        return make_unary(m, type, out);
    BT_TRY(make(m, type, &x));
    BT_TRY(call_op(m, "clip", "a_min=-4.0, a_max=4.0", x, NULL, &x));
    BT_TRY(call_op(m, "floor", NULL, x, NULL, &x));
    if (l.is_conv)
        BT_TRY(call_op(m, "expand_dims", "axis=2, num_newaxis=2", x, NULL, &x));
    BT_TRY(apply_layer(m, &l, x, &x));
    for (uint32_t i = 1 + below(m, 3); i > 0; i--)
        BT_TRY(make_after_layer(m, &l, x, &x));
    *out = x;
    return l.is_conv ? call_op(m, "squeeze", "axis=[2, 3]", x, NULL, out) : NULL;
}

/* ---- any type ---- */

static bt_status make_proj(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_value *fields[3], *tuple;
    uint32_t n = 1 + below(m, 3), at = below(m, n);
    for (uint32_t i = 0; i < n; i++) {
        const bt_type *field = type;
        if (i != at)
            BT_TRY(random_tensor_type(m, &field));
        BT_TRY(make(m, field, &fields[i]));
    }
    BT_TRY(bt_build_tuple(m->builder, n, fields, &tuple));
    BT_TRY(enter_scope(m, tuple));
    return bt_build_proj(m->builder, tuple, at, out);
}

/* A block with its own scope whose result has the type. */
static bt_status make_block(struct maker *m, uint32_t nparam,
                            const bt_param *const *params, const bt_type *type,
                            const bt_block **out)
{
    uint32_t mark = m->scope.len;
    const bt_value *result;
    BT_TRY(bt_block_begin(m->builder, nparam, params));
    for (uint32_t i = 0; i < nparam; i++)
        BT_TRY(enter_scope(m, &params[i]->base));
    BT_TRY(make(m, type, &result));
    m->scope.len = mark;
    return bt_block_end(m->builder, result, out);
}

static bt_status make_if(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *bool_type = bt_type_scalar(m->store, BT_BOOL);
    const bt_value *condition;
    const bt_block *blocks[2];
    if (!bool_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, bool_type, &condition));
    BT_TRY(make_block(m, 0, NULL, type, &blocks[0]));
    BT_TRY(make_block(m, 0, NULL, type, &blocks[1]));
    return bt_build_if(m->builder, condition, blocks[0], blocks[1], out);
}

static bt_status make_ref(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_value *first, *second, *ref, *written;
    BT_TRY(make(m, type, &first));
    BT_TRY(bt_build_ref(m->builder, first, &ref));
    BT_TRY(enter_scope(m, ref));
    if (below(m, 2)) {
        BT_TRY(make(m, type, &second));
        BT_TRY(bt_build_write(m->builder, ref, second, &written));
    }
    return bt_build_read(m->builder, ref, out);
}

/* ---- functions ---- */

static bt_status make_closure(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_func_type *func_type = bt_as_func_type(type);
    const bt_param *param;
    const bt_block *block;
    const bt_func *func;
    const char *name = "f";
    BT_TRY(bt_build_closures(m->builder, 1, &name, &type, out));
    BT_TRY(bt_build_param(m->builder, "p", func_type->args[0], &param));
    BT_TRY(make_block(m, 1, &param, func_type->result, &block));
    bt_func fields = { .result = func_type->result, .block = block };
    BT_TRY(bt_func_create(m->ctx, m->store, &fields, &func));
    return bt_build_closure_body(m->builder, *out, func);
}

static bt_status call_value(struct maker *m, const bt_value *callee, uint32_t n,
                            const bt_value *const *args, const bt_value **out)
{
    bt_call call = {
        .callee_kind = BT_CALLEE_VALUE, .callee = callee, .narg = n, .args = args
    };
    return bt_build_call(m->builder, &call, out);
}

static bt_status make_closure_call(struct maker *m, const bt_type *type,
                                   const bt_value **out)
{
    const bt_type *arg_type, *func_type;
    const bt_value *func, *arg;
    BT_TRY(random_type(m, 1, &arg_type));
    func_type = bt_type_func(
        m->store, &(bt_func_type){ .narg = 1, .args = &arg_type, .result = type });
    if (!func_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, func_type, &func));
    BT_TRY(make(m, arg_type, &arg));
    return call_value(m, func, 1, &arg, out);
}

/* loop(i, x) = if (i < 1) { x } else { loop(i - 1, expression of x) }, called with a
 * small i. */
static bt_status make_loop_body(struct maker *m, const bt_value *loop,
                                const bt_param *const *params, const bt_type *type,
                                const bt_block **out)
{
    const bt_value *one, *done, *result, *args[2];
    const bt_block *stop, *again;
    uint32_t mark = m->scope.len;
    BT_TRY(bt_block_begin(m->builder, 2, params));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, 1, &one));
    BT_TRY(call_op(m, "less", NULL, &params[0]->base, one, &done));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(bt_block_end(m->builder, &params[1]->base, &stop));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(enter_scope(m, &params[1]->base));
    BT_TRY(call_op(m, "subtract", NULL, &params[0]->base, one, &args[0]));
    BT_TRY(make(m, type, &args[1]));
    BT_TRY(call_value(m, loop, 2, args, &result));
    BT_TRY(bt_block_end(m->builder, result, &again));
    BT_TRY(bt_build_if(m->builder, done, stop, again, &result));
    m->scope.len = mark;
    return bt_block_end(m->builder, result, out);
}

static bt_status make_loop(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *arg_types[2] = { bt_type_scalar(m->store, BT_INT64), type };
    const bt_param *params[2];
    const bt_value *loop, *args[2];
    const bt_block *block;
    const bt_func *func;
    const char *name = "loop";
    const bt_type *func_type =
        arg_types[0] ? bt_type_func(m->store, &(bt_func_type){ .narg = 2,
                                                               .args = arg_types,
                                                               .result = type })
                     : NULL;
    if (!func_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_build_closures(m->builder, 1, &name, &func_type, &loop));
    BT_TRY(bt_build_param(m->builder, "i", arg_types[0], &params[0]));
    BT_TRY(bt_build_param(m->builder, "x", type, &params[1]));
    BT_TRY(make_loop_body(m, loop, params, type, &block));
    BT_TRY(bt_func_create(m->ctx, m->store, &(bt_func){ .result = type, .block = block },
                          &func));
    BT_TRY(bt_build_closure_body(m->builder, loop, func));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, below(m, 4), &args[0]));
    BT_TRY(make(m, type, &args[1]));
    return call_value(m, loop, 2, args, out);
}

/* A global made before whose result has the type; @choose or @second, which take any,
 * where there is none. */
static bt_status make_global_call(struct maker *m, const bt_type *type,
                                  const bt_value **out)
{
    const bt_value *callee, *args[4];
    const bt_global *found = NULL;
    for (uint32_t i = 0; i < m->module->nglobal; i++) {
        const bt_func_type *func = bt_as_func_type(m->module->globals[i]->type);
        if (func && !func->nparam && func->narg <= 4 && func->result == type &&
            (!found || below(m, 2)))
            found = m->module->globals[i];
    }
    const bt_func_type *func = found ? bt_as_func_type(found->type) : NULL;
    if (!func) {
        const bt_type *bool_type = bt_type_scalar(m->store, BT_BOOL);
        if (!bool_type)
            return bt_store_why(m->ctx, m->store);
        BT_TRY(make(m, bool_type, &args[0]));
        BT_TRY(make(m, type, &args[1]));
        BT_TRY(make(m, type, &args[2]));
        BT_TRY(bt_build_global(m->builder, below(m, 2) ? "choose" : "second", &callee));
        return call_value(m, callee, 3, args, out);
    }
    for (uint32_t i = 0; i < func->narg; i++)
        BT_TRY(make(m, func->args[i], &args[i]));
    BT_TRY(bt_build_global(m->builder, found->name, &callee));
    return call_value(m, callee, func->narg, args, out);
}

/* ---- lists ---- */

static bt_status make_list(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *element = bt_as_apply_type(type)->at[1];
    bt_call nil = { .callee_kind = BT_CALLEE_CTOR,
                    .ctor = &m->list->ctors[1],
                    .ntype_arg = 1,
                    .type_args = &element };
    BT_TRY(bt_build_call(m->builder, &nil, out));
    for (uint32_t i = below(m, 3); i > 0; i--) {
        const bt_value *args[2] = { NULL, *out };
        BT_TRY(make(m, element, &args[0]));
        bt_call cons = { .callee_kind = BT_CALLEE_CTOR,
                         .ctor = &m->list->ctors[0],
                         .narg = 2,
                         .args = args };
        BT_TRY(bt_build_call(m->builder, &cons, out));
    }
    return NULL;
}

static const bt_pattern *var_pattern(struct maker *m, const bt_param *param)
{
    return bt_pattern_create(m->store,
                             &(bt_pattern){ .kind = BT_PATTERN_VAR, .var = param });
}

/* match (list) { Cons(%head, %rest) => ..., Nil => ... } */
static bt_status make_match(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *element, *list;
    const bt_value *data;
    const bt_param *params[2];
    const bt_pattern *fields[2];
    bt_clause clauses[2];
    BT_TRY(random_tensor_type(m, &element));
    list = bt_type_apply(m->store, m->list, 1, &element);
    if (!list)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, list, &data));
    BT_TRY(bt_build_param(m->builder, "head", element, &params[0]));
    BT_TRY(bt_build_param(m->builder, "rest", list, &params[1]));
    for (uint32_t i = 0; i < 2; i++) {
        if (!(fields[i] = var_pattern(m, params[i])))
            return bt_no_memory();
    }
    bt_pattern cons = {
        .kind = BT_PATTERN_CTOR, .ctor = &m->list->ctors[0], .n = 2, .at = fields
    };
    bt_pattern nil = { .kind = BT_PATTERN_CTOR, .ctor = &m->list->ctors[1] };
    if (below(m, 2))
        nil = (bt_pattern){ .kind = BT_PATTERN_WILDCARD };
    clauses[0].pattern = bt_pattern_create(m->store, &cons);
    clauses[1].pattern = bt_pattern_create(m->store, &nil);
    if (!clauses[0].pattern || !clauses[1].pattern)
        return bt_no_memory();
    BT_TRY(make_block(m, 2, params, type, &clauses[0].block));
    BT_TRY(make_block(m, 0, NULL, type, &clauses[1].block));
    return bt_build_match(m->builder, data, 2, clauses, 0, out);
}

/* ---- choosing ---- */

typedef bt_status (*make_fn)(struct maker *, const bt_type *, const bt_value **);

static const make_fn any_type[] = { make_proj,         make_if,   make_ref,
                                    make_closure_call, make_loop, make_global_call,
                                    make_match };
static const make_fn tensors[] = { make_unary,    make_unary,    make_binary,
                                   make_binary,   make_binary,   make_cast,
                                   make_where,    make_moved,    make_const,
                                   make_identity, make_identity, make_duplicate,
                                   make_dead,     make_layer,    make_layer };

static bt_status make_tuple(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_value *fields[3];
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(make(m, tuple->at[i], &fields[i]));
    return bt_build_tuple(m->builder, tuple->n, fields, out);
}

static bt_status make_plain(struct maker *m, const bt_type *type, const bt_value **out)
{
    if (type->kind == BT_TYPE_TUPLE)
        return make_tuple(m, type, out);
    if (type->kind == BT_TYPE_FUNC)
        return make_closure(m, type, out);
    return type->kind == BT_TYPE_APPLY ? make_list(m, type, out)
                                       : make_const(m, type, out);
}

static bt_status make(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_value *old = pick_old(m, type);
    int is_tired = m->budget == 0 || m->depth == 0;
    if (old && (is_tired || below(m, 3) == 0)) {
        *out = old;
        return NULL;
    }
    m->budget -= m->budget != 0;
    m->depth -= !is_tired;
    make_fn pick = make_plain;
    if (!is_tired && below(m, 3) == 0)
        pick = any_type[below(m, BT_COUNT(any_type))];
    else if (!is_tired && type->kind == BT_TYPE_TENSOR)
        pick = tensors[below(m, BT_COUNT(tensors))];
    BT_TRY(pick(m, type, out));
    m->depth += !is_tired;
    return bt_value_is_binding(*out) ? enter_scope(m, *out) : NULL;
}

/* ---- modules ---- */

static bt_status add_global(struct maker *m, const bt_func *func)
{
    bt_module_builder *builder;
    bt_module *next;
    bt_global global = { .name = func->name,
                         .kind = BT_GLOBAL_FUNC,
                         .func = func,
                         .type = bt_func_type_of(m->store, func) };
    if (!global.type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_module_builder_create(m->ctx, m->store, m->module, &builder));
    bt_status status = bt_module_builder_set(builder, &global, 1);
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    BT_TRY(bt_module_builder_finish(builder, 1, &next));
    bt_module_unref(m->module);
    m->module = next;
    return NULL;
}

/* def @choose<A>(%c: bool, %a: A, %b: A) -> A { if (%c) { %a } else { %b } }
 * def @second<A>(%c: bool, %a: A, %b: A) -> A { %b } */
static bt_status build_choose(struct maker *m, const char *name, const bt_func **out)
{
    const bt_type *var =
        bt_type_var(m->store, &(bt_type_param){ .kind = BT_KIND_TYPE }, "A");
    const bt_type *bool_type = bt_type_scalar(m->store, BT_BOOL);
    const bt_param *params[3];
    const bt_block *blocks[3];
    const bt_value *result;
    if (!var || !bool_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_build_param(m->builder, "c", bool_type, &params[0]));
    BT_TRY(bt_build_param(m->builder, "a", var, &params[1]));
    BT_TRY(bt_build_param(m->builder, "b", var, &params[2]));
    BT_TRY(bt_block_begin(m->builder, 3, params));
    result = &params[2]->base;
    for (uint32_t i = 0; i < 2; i++) {
        BT_TRY(bt_block_begin(m->builder, 0, NULL));
        BT_TRY(bt_block_end(m->builder, &params[1 + i]->base, &blocks[i]));
    }
    if (strcmp(name, "choose") == 0)
        BT_TRY(bt_build_if(m->builder, &params[0]->base, blocks[0], blocks[1], &result));
    BT_TRY(bt_block_end(m->builder, result, &blocks[2]));
    bt_func fields = { .name = bt_name_of(m->store, name),
                       .nvar = 1,
                       .vars = &var,
                       .result = var,
                       .block = blocks[2] };
    return fields.name ? bt_func_create(m->ctx, m->store, &fields, out) : bt_no_memory();
}

/* A function of up to three parameters; main's are tensors. */
static bt_status build_function(struct maker *m, const char *name, uint32_t nbinding,
                                const bt_func **out)
{
    int is_main = strcmp(name, "main") == 0;
    uint32_t nparam = 1 + below(m, 3);
    const bt_param *params[3];
    const bt_type *result;
    const bt_block *block;
    bt_type_param range = { .kind = BT_KIND_DIM, .low = 1, .high = 4, .step = 1 };
    if (!(m->dim = bt_type_var(m->store, &range, "n")))
        return bt_store_why(m->ctx, m->store);
    for (uint32_t i = 0; i < nparam; i++) {
        const bt_type *type;
        if (i == 0)
            BT_TRY(tensor_type(m, BT_FLOAT32, NSHAPE - 1, &type));
        else if (is_main)
            BT_TRY(random_tensor_type(m, &type));
        else
            BT_TRY(random_type(m, 2, &type));
        BT_TRY(bt_build_param(m->builder, "p", type, &params[i]));
    }
    m->budget = nbinding;
    m->scope.len = 0;
    do
        BT_TRY(random_type(m, 2, &result));
    while (is_main && result->kind == BT_TYPE_FUNC);
    if (is_main && result->kind == BT_TYPE_TUPLE)
        BT_TRY(random_tensor_type(m, &result));
    BT_TRY(make_block(m, nparam, params, result, &block));
    bt_func fields = { .name = bt_name_of(m->store, name),
                       .nvar = 1,
                       .vars = &m->dim,
                       .result = result,
                       .block = block };
    return fields.name ? bt_func_create(m->ctx, m->store, &fields, out) : bt_no_memory();
}

static bt_status add_function(struct maker *m, const char *name, uint32_t nbinding)
{
    const bt_func *func = NULL;
    BT_TRY(bt_builder_create(m->ctx, m->store, m->module, &m->builder));
    int is_given = strcmp(name, "choose") == 0 || strcmp(name, "second") == 0;
    bt_status status = is_given ? build_choose(m, name, &func)
                                : build_function(m, name, nbinding, &func);
    bt_builder_destroy(m->builder);
    return status ? status : add_global(m, func);
}

/* type List[A] { Cons(A, List[A]), Nil } */
static bt_status start_module(struct maker *m)
{
    bt_module_builder *builder;
    bt_adt_def *list;
    const bt_type *var =
        bt_type_var(m->store, &(bt_type_param){ .kind = BT_KIND_TYPE }, "A");
    BT_TRY(bt_module_builder_create(m->ctx, m->store, NULL, &builder));
    bt_status status = var ? bt_module_builder_declare_adt(
                                 builder, bt_name_of(m->store, "List"), 0, 1, &var, &list)
                           : bt_store_why(m->ctx, m->store);
    if (!status) {
        const bt_type *fields[2] = { var, bt_type_apply(m->store, list, 1, &var) };
        const bt_ctor ctors[2] = {
            { .name = bt_name_of(m->store, "Cons"), .nfield = 2, .fields = fields },
            { .name = bt_name_of(m->store, "Nil") }
        };
        status = fields[1] && ctors[0].name && ctors[1].name
                     ? bt_module_builder_define_adt(builder, list, 2, ctors)
                     : bt_no_memory();
    }
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    m->list = list;
    return bt_module_builder_finish(builder, 1, &m->module);
}

static bt_status make_module(struct maker *m, const struct random_options *o)
{
    BT_TRY(start_module(m));
    BT_TRY(add_function(m, "choose", 0));
    BT_TRY(add_function(m, "second", 0));
    for (uint32_t i = 0; i < o->nfunction; i++) {
        bt_text name;
        bt_text_init(&name, m->arena);
        bt_text_addf(&name, "f%u", i);
        if (name.failed)
            return bt_no_memory();
        BT_TRY(add_function(m, name.at, o->nbinding));
    }
    return add_function(m, "main", o->nbinding);
}

bt_status random_program(bt_ctx *ctx, uint64_t seed, const struct random_options *o,
                         bt_module **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    struct maker m = { .ctx = ctx,
                       .store = bt_store_create(registry),
                       .arena = bt_arena_create(registry),
                       .random = seed,
                       .depth = o->depth };
    bt_status status = m.store && m.arena ? make_module(&m, o) : bt_no_memory();
    if (!status)
        *out = bt_module_ref(m.module);
    bt_module_unref(m.module);
    bt_arena_destroy(m.arena);
    bt_store_unref(m.store);
    return status;
}

/* ---- arguments ---- */

static bt_status random_tensor(bt_ctx *ctx, uint64_t *state, const bt_type *type,
                               int64_t n, bt_tensor **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t dims[BT_MAX_RANK];
    bt_dtype dtype = bt_tensor_dtype(type);
    for (uint32_t i = 0; i < shape->n; i++) {
        if (!bt_dim_is_const(shape->dims[i], &dims[i]))
            dims[i] = n;
    }
    BT_TRY(bt_tensor_create(ctx, dtype, shape->n, dims, out));
    for (int64_t i = 0; i < (*out)->nelem; i++) {
        double value = dtype == BT_BOOL ? random_below(state, 2)
                                        : (double)random_below(state, 33) - 16;
        bt_tensor_set(*out, i, dtype == BT_FLOAT32 ? value / 8 : value);
    }
    return NULL;
}

bt_status random_arguments(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                           uint32_t *n, bt_object ***out, bt_arena *arena)
{
    uint64_t state = seed ^ 0x5555;
    int64_t dim = 1 + random_below(&state, 4);
    const bt_block *block = bt_module_find(module, "main")->func->block;
    *n = 0;
    *out = BT_NEWS(arena, bt_object *, block->nparam);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        bt_tensor *tensor;
        BT_TRY(random_tensor(ctx, &state, block->params[i]->base.type, dim, &tensor));
        (*out)[(*n)++] = &tensor->base;
    }
    return NULL;
}
