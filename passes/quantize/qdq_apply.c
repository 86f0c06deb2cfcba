#include "quantize/qdq_apply.h"

#include <stdio.h>

#include "common/layout.h"
#include "quantize/qdq_product.h"

/* ---- operators on codes with one operand ---- */

/* Codes of one scale, of the type of the result's, as two operands and the result's take. */
static bt_status plain_operand(struct qdq_region *r, const bt_call *call, uint32_t i,
                               struct qdq_value *out, int *is_there)
{
    BT_TRY(qdq_operand(r, call->args[i], out, is_there));
    *is_there = *is_there && qdq_is_number(out->scale) && qdq_is_number(out->zero) &&
                bt_tensor_dtype(out->codes->type) == r->dtype;
    return *is_there ? NULL
                     : qdq_refuse(r, call,
                                  "an operand has no codes of one scale and of the "
                                  "result's type");
}

static const char halves[] = "on codes its halves go to even";

static bt_status apply_twin(struct qdq_region *r, const bt_call *call, const bt_op *twin,
                            const bt_value **out)
{
    struct qdq_value x;
    int is_there;
    if (!qdq_is_to_even(r))
        return qdq_refuse(r, call, halves);
    BT_TRY(plain_operand(r, call, 0, &x, &is_there));
    if (!is_there)
        return NULL;
    const bt_value *args[] = { x.codes, x.scale, x.zero, r->to.scale, r->to.zero };
    return bt_build_op(r->chain.builder, twin, call->attrs, 5, args, out);
}

/* ---- sums and products of elements ---- */

/* Whether each axis of an operand lies on the axis of the result that NumPy gives it. */
static int broadcasts(const struct law *law, const bt_call *call, uint32_t k)
{
    const uint32_t rank = type_rank(call->base.type),
                   own = type_rank(call->args[law->in[k]]->type);
    for (uint32_t i = 0; law->axes[k] && i < own; i++) {
        if (law->axes[k][i] >= 0 && law->axes[k][i] != (int32_t)(i + rank - own))
            return 0;
    }
    return law->axes[k] != NULL;
}

static bt_status apply_elements(struct qdq_region *r, const bt_call *call,
                                const struct law *law, const bt_value **out)
{
    struct qdq_value in[2];
    const uint32_t turned = law->subtracted == 2;
    if (!qdq_is_to_even(r))
        return qdq_refuse(r, call, halves);
    for (uint32_t i = 0; i < 2; i++) {
        int is_there;
        BT_TRY(plain_operand(r, call, law->in[i ^ turned], &in[i], &is_there));
        if (!is_there)
            return NULL;
        if (!broadcasts(law, call, i))
            return qdq_refuse(r, call, "an operand lies along other axes");
    }
    if (law->kind == LAW_MULTIPLY &&
        qdq_most_difference(r, &in[0]) * qdq_most_difference(r, &in[1]) >= 0x1p31)
        return qdq_refuse(r, call, "its products may leave int32");
    const bt_value *args[] = { in[0].codes, in[1].codes, in[0].scale, in[0].zero,
                               in[1].scale, in[1].zero,  r->to.scale, r->to.zero };
    return bt_build(r->chain.builder,
                    law->kind == LAW_MULTIPLY ? "qnn.mul"
                    : law->subtracted         ? "qnn.subtract"
                                              : "qnn.add",
                    NULL, args, 8, out);
}

/* ---- means ---- */

/* How many elements are summed; -1: that is not known. */
static int64_t count_summed(const bt_value *x, uint64_t summed)
{
    const bt_shape_type *shape = bt_tensor_shape(x->type);
    int64_t n = 1, extent;
    for (uint32_t i = 0; shape && i < shape->n; i++) {
        if (!(summed >> i & 1))
            continue;
        if (!bt_dim_is_const(shape->dims[i], &extent) || extent < 1 ||
            extent > INT32_MAX / n)
            return -1;
        n *= extent;
    }
    return n;
}

/* Integers are summed, then requantized by sx / (sy * count). */
static bt_status sum_axes(struct qdq_region *r, const bt_call *call,
                          const struct law *law, const struct qdq_value *x,
                          const bt_value **out)
{
    char attrs[160], dtype[BT_DTYPE_NAME_SIZE];
    const double zero = bt_tensor_get(qdq_constant(r, x->zero), 0),
                 scale = bt_tensor_get(qdq_constant(r, r->to.scale), 0);
    size_t used = 0;
    for (uint32_t i = 0; i < type_rank(x->codes->type); i++) {
        if (law->summed >> i & 1)
            used += (size_t)snprintf(attrs + used, sizeof(attrs) - used, "%s%u",
                                     used ? ", " : "axis=[", i);
    }
    snprintf(attrs + used, sizeof(attrs) - used, "], keepdims=%s",
             type_rank(call->base.type) == type_rank(x->codes->type) ? "True" : "False");
    const bt_value *codes = chain_op1(&r->chain, "cast", "dtype=\"int32\"", x->codes);
    if (zero != 0)
        codes = chain_op2(&r->chain, "subtract", NULL, codes,
                          chain_scalar(&r->chain, BT_INT32, zero));
    const bt_value *args[] = { chain_op1(&r->chain, "sum", attrs, codes), x->scale,
                               chain_scalar(&r->chain, BT_INT32, 0),
                               chain_scalar(&r->chain, BT_FLOAT32,
                                            (double)((float)scale * (float)law->count)),
                               r->to.zero };
    BT_TRY(r->chain.status);
    snprintf(attrs, sizeof(attrs), QDQ_REQUANTIZE, r->rounding,
             bt_dtype_name(r->dtype, dtype, sizeof(dtype)));
    return bt_build(r->chain.builder, "qnn.requantize", attrs, args, 5, out);
}

static bt_status apply_mean(struct qdq_region *r, const bt_call *call,
                            const struct law *law, const bt_value **out)
{
    const bt_op *twin = NULL;
    struct qdq_value x;
    int is_there;
    if (!law->summed)
        BT_TRY(qdq_twin(r, call, 5, &twin));
    if (twin)
        return apply_twin(r, call, twin, out);
    BT_TRY(plain_operand(r, call, law->in[0], &x, &is_there));
    if (!is_there)
        return NULL;
    const int64_t n = count_summed(x.codes, law->summed);
    if (!law->summed || !(law->count > 0))
        return qdq_refuse(r, call, "it is no sum over whole axes");
    if (n < 0 || n > (INT64_C(1) << (31 - BT_DTYPE_BITS(r->dtype))) - 1)
        return qdq_refuse(r, call, "how many elements it sums is not known, or too many");
    return sum_axes(r, call, law, &x, out);
}

/* ---- sums with products ---- */

/* The only axis of the result that an operand lies along; -1: it has one element. 0: it lies
 * along several. */
static int lies_along(const struct law *law, const bt_call *call, uint32_t k,
                      int32_t *out)
{
    uint32_t n = 0;
    *out = -1;
    for (uint32_t i = 0; i < type_rank(call->args[law->in[k]]->type); i++) {
        if (law->axes[k][i] < 0)
            continue;
        *out = law->axes[k][i];
        n++;
    }
    return n <= 1;
}

static bt_status apply_sum(struct qdq_region *r, const bt_call *call,
                           const struct law *law, const bt_value **out)
{
    for (uint32_t i = 0; i < 2 && !law->subtracted; i++) {
        const bt_value *of = call->args[law->in[i]];
        const bt_call *inner = qdq_op_call(of);
        struct law own;
        int32_t axis;
        int sums;
        if (!inner || !type_same_shape(of->type, call->base.type) ||
            bt_as_op_call(of, "qnn.dequantize"))
            continue;
        BT_TRY(qdq_law_of(r, inner, &own));
        BT_TRY(qdq_is_product(r, inner, &own, &sums));
        if (!sums || !lies_along(law, call, 1 - i, &axis))
            continue;
        return bt_rewrite_nuse(r->rewrite, of) == 1
                   ? qdq_product(r, inner, &own, call->args[law->in[1 - i]], axis, out)
                   : qdq_refuse(r, inner, "its result has other uses");
    }
    return apply_elements(r, call, law, out);
}

/* ---- all of them ---- */

bt_status qdq_apply(struct qdq_region *r, const bt_call *call, const struct law *law,
                    const bt_value **out)
{
    const bt_op *twin;
    int sums;
    BT_TRY(qdq_is_product(r, call, law, &sums));
    if (sums)
        return qdq_product(r, call, law, NULL, -1, out);
    switch (law->kind) {
    case LAW_ADD: return apply_sum(r, call, law, out);
    case LAW_MULTIPLY: return apply_elements(r, call, law, out);
    case LAW_MEAN: return apply_mean(r, call, law, out);
    default:
        BT_TRY(qdq_twin(r, call, 5, &twin));
        return twin ? apply_twin(r, call, twin, out)
                    : qdq_refuse(r, call, "no law says how it is done on codes");
    }
}
