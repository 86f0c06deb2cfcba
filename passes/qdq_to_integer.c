/*
 * qdq-to-integer: what stands between qnn.dequantize and qnn.quantize is computed on codes.
 * From operand to operand, by the law of the operator (qdq_law.c):
 *     move      reshape, transpose, max pooling, ...: of the codes, which stand for the same
 *     product   convolutions, dense layers, with bias: sums of integers, requantized
 *     sum       add, subtract, multiply, mean: qnn.add and others
 *     table     any function of one operand of 8 bits: its 256 codes
 *     order     relu and clip of one of these: bounds on codes
 * The result is that of ONNX's QLinear operators. What no law takes stays in float, and a
 * remark says why. A bias has codes only if its scale is that of the sums in every bit.
 * keeps     no invariant
 * errors    scales that are 0, negative, infinite or no number
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "qdq_law.h"

/* ---- scales ---- */

static bt_status check_scale(bt_rewrite *rewrite, const bt_call *call, uint32_t index)
{
    const bt_tensor *scale = bt_const_tensor(
        bt_module_constant(bt_rewrite_call(rewrite)->module, call->args[index]));
    for (int64_t i = 0; scale && i < scale->nelem; i++) {
        const double value = bt_tensor_get(scale, i);
        if (!(value > 0) || isinf(value))
            return bt_fail_at(
                bt_rewrite_ctx(rewrite), BT_ERR_ARGUMENT, call->base.type->store,
                call->base.span,
                "%s: element %lld of %s is %g; scales are finite and above 0",
                call->op->name, (long long)i, call->op->inputs[index].name, value);
    }
    return NULL;
}

/* ---- move ---- */

/* Operators that give elements of their first operand at other places; of maximum pooling
 * some of them: a scale above 0 keeps their order. */
static int is_move(const bt_call *call)
{
    static const char *const names[] = {
        "reshape",       "transpose", "squeeze",          "expand_dims", "copy",
        "strided_slice", "reverse",   "nn.batch_flatten", "broadcast_to"
    };
    int64_t size[2], padding[4];
    for (uint32_t i = 0; call->narg == 1 && i < BT_COUNT(names); i++) {
        if (strcmp(call->op->name, names[i]) == 0)
            return 1;
    }
    if (strcmp(call->op->name, "nn.max_pool2d") != 0 ||
        !bt_call_ints(call, "pool_size", 2, size) ||
        !bt_call_ints(call, "padding", 4, padding))
        return 0;
    // each window has an element inside: what a maximum of none is differs
    return padding[0] < size[0] && padding[2] < size[0] && padding[1] < size[1] &&
           padding[3] < size[1] && call_int(call, "ceil_mode", 0) == 0;
}

static bt_status move(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct qdq_value x;
    const bt_value *operand, *moved;
    BT_TRY(bt_rewrite_operand(rewrite, call->args[0], &operand));
    if (!qdq_dequantized(bt_rewrite_call(rewrite)->module, operand, &x) ||
        type_rank(x.scale->type) || type_rank(x.zero->type) ||
        bt_const_tensor(bt_module_constant(bt_rewrite_call(rewrite)->module, x.codes)))
        return NULL;
    BT_TRY(bt_build_op(bt_rewrite_builder(rewrite), call->op, call->attrs, 1, &x.codes,
                       &moved));
    const bt_value *args[] = { moved, x.scale, x.zero };
    return bt_build(bt_rewrite_builder(rewrite), "qnn.dequantize", NULL, args, 3, out);
}

/* ---- order ---- */

/* Bounds of a relu or a clip, and what they bound, in the old program. */
struct bounds {
    const bt_value *of;
    double low, high;
};

static int read_bounds(const bt_call *call, struct bounds *out)
{
    const double *low, *high;
    if (!call || call->narg != 1)
        return 0;
    *out = (struct bounds){ call->args[0], 0, (double)INFINITY };
    if (strcmp(call->op->name, "nn.relu") == 0)
        return 1;
    low = bt_attr_find(call->op, call->attrs, "a_min", BT_ATTR_FLOAT);
    high = bt_attr_find(call->op, call->attrs, "a_max", BT_ATTR_FLOAT);
    if (strcmp(call->op->name, "clip") != 0 || !low || !high)
        return 0;
    out->low = *low;
    out->high = *high;
    return !isnan(*low) && !isnan(*high);
}

static double code_of(double bound, double scale, double zero)
{
    return nearbyint((double)(float)((float)bound / (float)scale)) + zero;
}

/* Quantizing keeps order: bounds on numbers are those of their codes. */
static const bt_value *bounded(struct qdq_region *r, const struct bounds *b,
                               const bt_value *codes)
{
    const bt_module *module = bt_rewrite_call(r->rewrite)->module;
    const double scale = bt_tensor_get(
                     bt_const_tensor(bt_module_constant(module, r->to.scale)), 0),
                 zero = bt_tensor_get(
                     bt_const_tensor(bt_module_constant(module, r->to.zero)), 0);
    const double range = ldexp(1, (int)BT_DTYPE_BITS(r->dtype)),
                 least = BT_DTYPE_CLASS(r->dtype) == BT_CLASS_INT ? -range / 2 : 0,
                 most = least + range - 1,
                 low = fmax(least, code_of(b->low, scale, zero)),
                 high = fmin(most, code_of(b->high, scale, zero));
    return low <= least && high >= most
               ? codes
               : chain_op1f(&r->chain, codes, "clip", "a_min=%.17g, a_max=%.17g", low,
                            high);
}

/* ---- regions ---- */

static bt_status tell(bt_rewrite *rewrite, const bt_call *call, const char *why)
{
    bt_remark(bt_rewrite_ctx(rewrite), BT_REMARK_DETAIL,
              bt_fail_at(bt_rewrite_ctx(rewrite), BT_ERR_UNSUPPORTED,
                         call->base.type->store, call->base.span,
                         "qdq-to-integer: %s stays in float: %s", call->op->name, why));
    return NULL;
}

static int is_scalar_of(const bt_module *module, const bt_value *value)
{
    const bt_tensor *tensor = bt_const_tensor(bt_module_constant(module, value));
    return tensor && tensor->rank == 0;
}

static bt_status start(bt_rewrite *rewrite, const bt_call *call, struct qdq_region *r,
                       int *is_region)
{
    const bt_module *module = bt_rewrite_call(rewrite)->module;
    *r = (struct qdq_region){ .rewrite = rewrite,
                              .quantize = call,
                              .chain = { .builder = bt_rewrite_builder(rewrite) },
                              .dtype = bt_tensor_dtype(call->base.type) };
    BT_TRY(bt_rewrite_operand(rewrite, call->args[1], &r->to.scale));
    BT_TRY(bt_rewrite_operand(rewrite, call->args[2], &r->to.zero));
    *is_region = is_scalar_of(module, r->to.scale) && is_scalar_of(module, r->to.zero) &&
                 bt_tensor_dtype(r->to.scale->type) == BT_FLOAT32 &&
                 BT_DTYPE_BITS(r->dtype) <= 16 && !bt_dtype_is_float(r->dtype) &&
                 strcmp(call_text(call, "rounding"), "TOEVEN") == 0;
    return NULL;
}

/* Codes that were only taken apart and put together again. */
static bt_status join(struct qdq_region *r, const bt_value **out)
{
    const bt_module *module = bt_rewrite_call(r->rewrite)->module;
    const bt_value *value;
    struct qdq_value x;
    BT_TRY(bt_rewrite_operand(r->rewrite, r->quantize->args[0], &value));
    if (qdq_dequantized(module, value, &x) &&
        bt_tensor_dtype(x.codes->type) == r->dtype &&
        qdq_same(module, x.scale, r->to.scale) && qdq_same(module, x.zero, r->to.zero))
        *out = x.codes;
    return NULL;
}

static bt_status quantize(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct qdq_region r;
    struct bounds bounds;
    int is_region;
    BT_TRY(start(rewrite, call, &r, &is_region));
    if (!is_region)
        return NULL;
    BT_TRY(join(&r, out));
    const bt_call *inner = qdq_op_call(call->args[0]);
    if (*out || !inner || strcmp(inner->op->name, "qnn.dequantize") == 0)
        return NULL;
    const bt_value *codes = NULL;
    const bt_call *under = NULL;
    if (bt_rewrite_nuse(rewrite, call->args[0]) != 1)
        return tell(rewrite, inner, "its result has other uses");
    if (read_bounds(inner, &bounds) && bt_rewrite_nuse(rewrite, bounds.of) == 1)
        under = qdq_op_call(bounds.of);
    if (under && strcmp(under->op->name, "qnn.dequantize") != 0 && !is_move(under)) {
        BT_TRY(qdq_apply(&r, under, &codes));
        *out = codes ? bounded(&r, &bounds, codes) : NULL;
        inner = under;
    } else {
        BT_TRY(qdq_apply(&r, inner, out));
    }
    BT_TRY(r.chain.status);
    return *out ? NULL : tell(rewrite, inner, r.why);
}

static bt_status rewrite_call(bt_rewrite *rewrite, const bt_call *call,
                              const bt_value **out)
{
    if (!qdq_op_call(&call->base))
        return NULL;
    if (strcmp(call->op->name, "qnn.dequantize") == 0)
        return check_scale(rewrite, call, 1);
    if (strcmp(call->op->name, "qnn.quantize") == 0) {
        BT_TRY(check_scale(rewrite, call, 1));
        return quantize(rewrite, call, out);
    }
    return is_move(call) ? move(rewrite, call, out) : NULL;
}

static const bt_rewriter rewriter = { .call_ = rewrite_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "qdq-to-integer",
        .doc =
            "What stands between dequantizing and quantizing is computed on codes.\n"
            "before\n"
            "    def @main(%x: Tensor[(1, 2), uint8], %w: Tensor[(3, 2), int8]) {\n"
            "        %0 = qnn.dequantize(%x, 0.5f, 128u8);\n"
            "        %1 = qnn.dequantize(%w, 0.25f, 0i8);\n"
            "        qnn.quantize(nn.dense(%0, %1), 2f, 128u8, out_dtype=\"uint8\")\n"
            "    }\n"
            "after, with dead-code\n"
            "    def @main(%x: Tensor[(1, 2), uint8], %w: Tensor[(3, 2), int8]) {\n"
            "        %0 = multiply(0.5f, 0.25f);\n"
            "        %1 = qnn.dense(%x, %w, 128u8, 0i8, 0.5f, 0.25f);\n"
            "        qnn.requantize(%1, %0, 0, 2f, 128u8, axis=1, rounding=\"TOEVEN\", "
            "compute_dtype=\"float32\", out_dtype=\"uint8\")\n"
            "    }",
        .level = 3, /* codes are rounded otherwise than by floats between them */
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_qdq_to_integer[] = { BT_PASSES(passes), { 0 } };
