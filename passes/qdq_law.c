#include "qdq_law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evaluate.h"

#define FLOAT32 "compute_dtype=\"float32\", rounding=\"TOEVEN\""

/* ---- values ---- */

static const bt_tensor *constant_of(const bt_module *module, const bt_value *value)
{
    return bt_const_tensor(bt_module_constant(module, value));
}

const bt_call *qdq_op_call(const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    return call && call->callee_kind == BT_CALLEE_OP ? call : NULL;
}

int qdq_dequantized(const bt_module *module, const bt_value *value, struct qdq_value *out)
{
    const bt_call *call = bt_as_op_call(value, "qnn.dequantize");
    if (!call || bt_tensor_dtype(value->type) != BT_FLOAT32 ||
        call_int(call, "block_size", 0) || !constant_of(module, call->args[1]) ||
        !constant_of(module, call->args[2]) ||
        constant_of(module, call->args[1])->rank > 1 ||
        constant_of(module, call->args[1])->dtype != BT_FLOAT32)
        return 0;
    *out = (struct qdq_value){ call->args[0], call->args[1], call->args[2],
                               call_int(call, "axis", -1) };
    return 1;
}

int qdq_same(const bt_module *module, const bt_value *a, const bt_value *b)
{
    const bt_tensor *x = constant_of(module, a), *y = constant_of(module, b);
    if (a == b)
        return 1;
    if (!x || !y || x->dtype != y->dtype || x->nelem != y->nelem || x->rank != y->rank)
        return 0;
    for (int64_t i = 0; i < x->nelem; i++) {
        const double p = bt_tensor_get(x, i), q = bt_tensor_get(y, i);
        if (!(p == q))
            return 0;
    }
    return 1;
}

static int is_number(const bt_value *value)
{
    const bt_shape_type *shape = bt_tensor_shape(value->type);
    return shape && shape->n == 0 && !shape->rest;
}

static bt_status refuse(struct qdq_region *r, const char *why)
{
    r->why = why;
    return r->chain.status;
}

/* Operand i of a call of the old program, by a number for scale and zero point, or one of
 * scales along an axis where `is_along`. */
static bt_status operand(struct qdq_region *r, const bt_call *call, uint32_t i,
                         int is_along, struct qdq_value *out, int *is_there)
{
    const bt_module *module = bt_rewrite_call(r->rewrite)->module;
    const bt_value *value;
    BT_TRY(bt_rewrite_operand(r->rewrite, call->args[i], &value));
    *is_there = qdq_dequantized(module, value, out) &&
                (is_along || (is_number(out->scale) && is_number(out->zero)));
    return NULL;
}

/* ---- sums and products of elements ---- */

static bt_status apply_elements(struct qdq_region *r, const bt_call *call, const char *op,
                                const bt_value **out)
{
    struct qdq_value x, y;
    int has_x, has_y;
    BT_TRY(operand(r, call, 0, 0, &x, &has_x));
    BT_TRY(operand(r, call, 1, 0, &y, &has_y));
    if (!has_x || !has_y)
        return refuse(r, "an operand has no codes with one scale");
    if (bt_tensor_dtype(x.codes->type) != r->dtype ||
        bt_tensor_dtype(y.codes->type) != r->dtype)
        return refuse(r, "codes of its operands and its result have different types");
    const bt_value *args[] = { x.codes, y.codes, x.scale,     x.zero,
                               y.scale, y.zero,  r->to.scale, r->to.zero };
    return bt_build(r->chain.builder, op, NULL, args, 8, out);
}

/* ---- means ---- */

static bt_status apply_mean(struct qdq_region *r, const bt_call *call,
                            const bt_value **out)
{
    struct qdq_value x;
    const bt_op *op;
    int has_x;
    BT_TRY(operand(r, call, 0, 0, &x, &has_x));
    if (!has_x || bt_tensor_dtype(x.codes->type) != r->dtype)
        return refuse(r, "its operand has no codes of the result's type with one scale");
    const bt_value *args[] = { x.codes, x.scale, x.zero, r->to.scale, r->to.zero };
    if (strcmp(call->op->name, "nn.global_avg_pool2d") == 0) {
        const char *layout = call_text(call, "layout");
        char attrs[160];
        int64_t dims[BT_MAX_RANK];
        const int h = layout_axis(layout, 'H', 4), w = layout_axis(layout, 'W', 4);
        if (h < 0 || w < 0 || !bt_tensor_static(x.codes->type, NULL, dims) || !dims[h] ||
            !dims[w])
            return refuse(r, "the number of elements is not known, or 0");
        snprintf(attrs, sizeof(attrs), "pool_size=[%lld, %lld], layout=\"%s\"",
                 (long long)dims[h], (long long)dims[w], layout);
        return bt_build(r->chain.builder, "qnn.avg_pool2d", attrs, args, 5, out);
    }
    BT_TRY(bt_op_get(bt_rewrite_ctx(r->rewrite), "qnn.avg_pool2d", &op));
    return bt_build_op(r->chain.builder, op, call->attrs, 5, args, out);
}

/* ---- products ---- */

static const struct product {
    const char *op, *codes;
    uint32_t is_conv;
} products[] = {
    { "nn.conv1d", "qnn.conv1d", 1 },       { "nn.conv2d", "qnn.conv2d", 1 },
    { "nn.conv3d", "qnn.conv3d", 1 },       { "nn.dense", "qnn.dense", 0 },
    { "nn.matmul", "qnn.batch_matmul", 0 }, { "nn.batch_matmul", "qnn.batch_matmul", 0 },
};

static const struct product *product_of(const bt_call *call)
{
    for (uint32_t i = 0; call && call->op && i < BT_COUNT(products); i++) {
        if (strcmp(call->op->name, products[i].op) == 0)
            return &products[i];
    }
    return NULL;
}

/* The axes of a product's channels, in its weight and in its result; -1: it has none. */
static void channel_axes(const bt_call *call, const struct product *p, int *of_weight,
                         int *of_result)
{
    const uint32_t rank = type_rank(call->base.type),
                   weight = type_rank(call->args[1]->type);
    const char *data = call_text(call, "data_layout"),
               *out = call_text(call, "out_layout");
    *of_result = p->is_conv ? layout_axis(*out ? out : data, 'C', rank) : (int)rank - 1;
    *of_weight = p->is_conv ? layout_axis(call_text(call, "kernel_layout"), 'O', weight)
                 : strcmp(p->op, "nn.dense") == 0   ? 0
                 : call_int(call, "transpose_b", 0) ? (int)weight - 2
                                                    : (int)weight - 1;
}

/* Whether a bias has the scale of the sums, sx * sw, in each bit. */
static int has_scale_of_sums(const bt_module *module, const struct qdq_value *bias,
                             const struct qdq_value *x, const struct qdq_value *w)
{
    const bt_tensor *s = constant_of(module, bias->scale),
                    *z = constant_of(module, bias->zero),
                    *sx = constant_of(module, x->scale),
                    *sw = constant_of(module, w->scale);
    const int64_t n = s->nelem > sw->nelem ? s->nelem : sw->nelem;
    if (bt_tensor_dtype(bias->codes->type) != BT_INT32 || sx->nelem != 1)
        return 0;
    for (int64_t i = 0; i < n; i++) {
        const double one = bt_tensor_get(s, s->nelem == 1 ? 0 : i),
                     product =
                         bt_tensor_get(sx, 0) * bt_tensor_get(sw, sw->nelem == 1 ? 0 : i);
        if ((float)one != (float)product)
            return 0;
    }
    for (int64_t i = 0; i < z->nelem; i++) {
        if (bt_tensor_get(z, i) != 0)
            return 0;
    }
    return 1;
}

/* Longer than 1 in one axis at most, of those that it has. */
static int is_vector(const bt_tensor *t)
{
    uint32_t nlong = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        nlong += t->dims[i] != 1;
    return t->rank && nlong <= 1;
}

/* Codes of the bias as int32, by the scale of the sums; *out NULL: it is no such vector. */
static bt_status codes_of_bias(struct qdq_region *r, const bt_value *old,
                               const struct qdq_value *x, const struct qdq_value *w,
                               const bt_value *scale, const bt_value **out)
{
    const bt_module *module = bt_rewrite_call(r->rewrite)->module;
    struct qdq_value bias;
    const bt_value *value;
    char attrs[64];
    *out = NULL;
    BT_TRY(bt_rewrite_operand(r->rewrite, old, &value));
    if (type_rank(value->type) == 1 && qdq_dequantized(module, value, &bias)) {
        *out = has_scale_of_sums(module, &bias, x, w) ? bias.codes : NULL;
        return NULL;
    }
    const bt_tensor *constant = constant_of(module, value);
    if (!constant || !is_vector(constant))
        return NULL;
    if (constant->rank != 1)
        value = chain_op1(&r->chain, "reshape", "newshape=[-1]", value);
    snprintf(attrs, sizeof(attrs), "axis=0, out_dtype=\"int32\"");
    const bt_value *zero = chain_scalar(&r->chain, BT_INT32, 0);
    const bt_value *args[] = { value, scale, zero };
    BT_TRY(r->chain.status);
    return bt_build(r->chain.builder, "qnn.quantize", attrs, args, 3, out);
}

static bt_status apply_product(struct qdq_region *r, const bt_call *call,
                               const struct product *p, const bt_value *bias,
                               int64_t bias_axis, const bt_value **out)
{
    struct qdq_value x, w;
    int has_x, has_w, of_weight, of_result;
    char attrs[160], dtype[BT_DTYPE_NAME_SIZE];
    const bt_op *op;
    BT_TRY(operand(r, call, 0, 0, &x, &has_x));
    BT_TRY(operand(r, call, 1, 1, &w, &has_w));
    if (!has_x || !has_w)
        return refuse(r, "an operand has no codes");
    const uint32_t rank = type_rank(call->base.type),
                   weight = type_rank(call->args[1]->type);
    channel_axes(call, p, &of_weight, &of_result);
    if (!rank || !weight || of_result < 0 || of_weight < 0)
        return refuse(r, "the layout of its channels is not known");
    if (!is_number(w.scale) && (w.axis < 0 ? w.axis + weight : w.axis) != of_weight)
        return refuse(r, "the scales of its weight do not lie along its channels");
    const bt_value *scale = chain_op2(&r->chain, "multiply", NULL, x.scale, w.scale),
                   *codes = NULL,
                   *args[6] = { x.codes, w.codes, x.zero, w.zero, x.scale, w.scale };
    BT_TRY(r->chain.status);
    if (bias) {
        if ((bias_axis < 0 ? bias_axis + rank : bias_axis) != of_result)
            return refuse(r, "its bias does not lie along its channels");
        BT_TRY(codes_of_bias(r, bias, &x, &w, scale, &codes));
        if (!codes)
            return refuse(r,
                          "its bias has another scale than the product of its operands'");
    }
    BT_TRY(bt_op_get(bt_rewrite_ctx(r->rewrite), p->codes, &op));
    const void *none = NULL, *own = bt_attrs_with(bt_rewrite_call(r->rewrite)->scratch,
                                                  call, "out_dtype", &none, sizeof(none));
    if (!own)
        return bt_no_memory();
    const bt_value *sums = NULL;
    BT_TRY(bt_build_op(r->chain.builder, op, own, 6, args, &sums));
    if (codes) {
        snprintf(attrs, sizeof(attrs), "axis=%d", of_result);
        sums = chain_op2(&r->chain, "nn.bias_add", attrs, sums, codes);
    }
    snprintf(attrs, sizeof(attrs), "axis=%d, " FLOAT32 ", out_dtype=\"%s\"", of_result,
             bt_dtype_name(r->dtype, dtype, sizeof(dtype)));
    const bt_value *zero = chain_scalar(&r->chain, BT_INT32, 0);
    const bt_value *all[] = { sums, scale, zero, r->to.scale, r->to.zero };
    BT_TRY(r->chain.status);
    return bt_build(r->chain.builder, "qnn.requantize", attrs, all, 5, out);
}

/* The axis of a product of this rank that a bias lies along: the only one in which it is
 * longer than 1, of (8, 1, 1) the third from the end. */
static int64_t axis_of_bias(const bt_type *bias)
{
    int64_t dims[BT_MAX_RANK], axis = -1;
    uint32_t rank;
    if (!bt_tensor_static(bias, &rank, dims))
        return -1;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] != 1)
            axis = (int64_t)i - rank;
    }
    return axis;
}

/* A product with a bias behind it: by nn.bias_add, or added along an axis. */
static bt_status apply_biased(struct qdq_region *r, const bt_call *call,
                              const bt_value **out)
{
    const bt_call *inner = qdq_op_call(call->args[0]);
    const struct product *p = product_of(inner);
    const int64_t axis = call_int(call, "axis", axis_of_bias(call->args[1]->type));
    if (!p || bt_rewrite_nuse(r->rewrite, call->args[0]) != 1)
        return refuse(r, "what it adds a bias to is no product, or has other uses");
    return apply_product(r, inner, p, call->args[1], axis, out);
}

/* ---- tables ---- */

/* Whether each element follows from that of the only operand at its place. */
static int is_function(const bt_call *call)
{
    return call->narg == 1 && call->op->formula && call->op->relation &&
           strcmp(call->op->relation, "Identity") == 0 && !call->op->effects &&
           strncmp(call->op->formula, "y: t[..] =", 10) == 0;
}

/* What the reference evaluator gives for one more call of the chain. */
static bt_status step(struct qdq_region *r, const bt_op *op, const void *attrs,
                      uint32_t n, const bt_value **args)
{
    const bt_pass_call *pass = bt_rewrite_call(r->rewrite);
    const bt_value *built;
    leaf_list leaves = { 0 };
    BT_TRY(bt_build_op(r->chain.builder, op, attrs, n, args, &built));
    for (uint32_t i = 0; i < n; i++) {
        const bt_const *one = bt_as_const(bt_module_constant(pass->module, args[i]));
        if (!one)
            return refuse(r, "a scale or zero point is not known");
        BT_TRY(evaluate_leaves(pass->scratch, one->object, &leaves));
    }
    args[0] = NULL;
    return evaluate_call(r->chain.builder, pass->scratch, bt_as_call(built), &leaves,
                         &args[0]);
}

/* All codes of an 8-bit type, quantized as the call's result would be. */
static bt_status make_table(struct qdq_region *r, const bt_call *call,
                            const struct qdq_value *x, const bt_value **out)
{
    bt_ctx *ctx = bt_rewrite_ctx(r->rewrite);
    const bt_dtype from = bt_tensor_dtype(x->codes->type);
    const int64_t n = 256;
    const bt_op *dequantize;
    bt_tensor *codes;
    BT_TRY(bt_op_get(ctx, "qnn.dequantize", &dequantize));
    BT_TRY(bt_tensor_create(ctx, from, 1, &n, &codes));
    for (int64_t i = 0; i < n; i++)
        bt_tensor_set(codes, i, (double)(from == BT_INT8 ? i - 128 : i));
    const bt_value *args[3] = { NULL, x->scale, x->zero };
    bt_status status = bt_build_const(r->chain.builder, &codes->base, &args[0]);
    bt_tensor_unref(codes);
    BT_TRY(status);
    BT_TRY(step(r, dequantize, NULL, 3, args));
    if (args[0])
        BT_TRY(step(r, call->op, call->attrs, 1, args));
    args[1] = r->to.scale;
    args[2] = r->to.zero;
    if (args[0])
        BT_TRY(step(r, r->quantize->op, r->quantize->attrs, 3, args));
    *out = args[0];
    return NULL;
}

static bt_status apply_table(struct qdq_region *r, const bt_call *call,
                             const bt_value **out)
{
    struct qdq_value x;
    const bt_value *table = NULL;
    int has_x;
    BT_TRY(operand(r, call, 0, 0, &x, &has_x));
    const bt_dtype from = has_x ? bt_tensor_dtype(x.codes->type) : 0;
    if (from != BT_INT8 && from != BT_UINT8)
        return refuse(r, "its operand has no codes of 8 bits with one scale");
    BT_TRY(make_table(r, call, &x, &table));
    if (!table)
        return refuse(r, "its table cannot be computed");
    const bt_value *at = chain_op1(&r->chain, "cast", "dtype=\"int32\"", x.codes);
    if (from == BT_INT8)
        at =
            chain_op2(&r->chain, "add", NULL, at, chain_scalar(&r->chain, BT_INT32, 128));
    *out = chain_op2(&r->chain, "take", "axis=0", table, at);
    return r->chain.status;
}

/* ---- all of them ---- */

bt_status qdq_apply(struct qdq_region *r, const bt_call *call, const bt_value **out)
{
    static const char *const elements[][2] = { { "add", "qnn.add" },
                                               { "subtract", "qnn.subtract" },
                                               { "multiply", "qnn.mul" } };
    const struct product *p = product_of(call);
    if (p)
        return apply_product(r, call, p, NULL, 0, out);
    if (strcmp(call->op->name, "nn.bias_add") == 0)
        return apply_biased(r, call, out);
    if (strcmp(call->op->name, "nn.avg_pool2d") == 0 ||
        strcmp(call->op->name, "nn.global_avg_pool2d") == 0)
        return apply_mean(r, call, out);
    if (strcmp(call->op->name, "add") == 0 && product_of(qdq_op_call(call->args[0])))
        return apply_biased(r, call, out);
    for (uint32_t i = 0; i < BT_COUNT(elements); i++) {
        if (strcmp(call->op->name, elements[i][0]) == 0)
            return apply_elements(r, call, elements[i][1], out);
    }
    return is_function(call) ? apply_table(r, call, out)
                             : refuse(r, "no law says how it is done on codes");
}
