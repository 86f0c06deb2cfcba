/* By ONNX Runtime's arithmetic: integers first, then one multiplication by a float32. */
#include "quantize/qdq_product.h"

#include <math.h>
#include <stdio.h>

#include "common/layout.h"
#include "quantize/quant_proof.h"

/* A product of codes. */
struct product {
    const bt_call *call;
    const struct law *law;
    const bt_op *twin;      /* on codes; NULL: the operator itself, on integers */
    struct qdq_value in[2]; /* as the law has them */
    uint32_t of_channels;   /* the one that may have scales along an axis */
    int32_t channel;        /* that axis, in the result; -1: they are numbers */
};

/* Whether int32 holds all sums. Of 8 bits it does but for more than 33,024 terms; of more, or of
 * wider codes, where that is proved of a constant, channel by channel. */
static bt_status fits_in_int32(const struct qdq_region *r, const struct product *p,
                               int *out)
{
    const struct qdq_value *w = &p->in[p->of_channels];
    const double most_x = qdq_most_difference(r, &p->in[1 - p->of_channels]),
                 most_w = qdq_most_difference(r, w);
    const bt_tensor *codes = qdq_constant(r, w->codes), *zero = qdq_constant(r, w->zero);
    const int32_t axis = p->law->channel[p->of_channels];
    *out = p->law->nterm >= 0 ? most_x * most_w * (double)p->law->nterm < 0x1p31
                              : most_x * most_w < 0x1p16;
    if (*out || !codes || axis < 0 ||
        (zero->nelem != 1 && zero->nelem != codes->dims[axis]))
        return NULL;
    bt_arena *arena = bt_rewrite_call(r->rewrite)->scratch;
    const void *mark = bt_arena_mark(arena);
    const size_t nchannel = (size_t)codes->dims[axis];
    const struct proof proof = { .weight = codes,
                                 .zero = zero,
                                 .axis = (uint32_t)axis,
                                 .low = -(int64_t)most_x,
                                 .high = (int64_t)most_x };
    int64_t *low = BT_NEWS(arena, int64_t, nchannel);
    int64_t *high = BT_NEWS(arena, int64_t, nchannel);
    struct proof_box all;
    if (!low || !high)
        return bt_no_memory();
    proof_all(&proof, &all);
    proof_add(&proof, &all, low, high);
    *out = 1;
    for (size_t i = 0; *out && i < nchannel; i++)
        *out = proof_fits(low[i], high[i], 0, 32);
    bt_arena_release(arena, mark);
    return NULL;
}

/* Whether a bias has the scale of the sums, sx * sw, in each bit. */
static int has_scale_of_sums(const struct qdq_region *r, const struct qdq_value *bias,
                             const struct product *p)
{
    const struct qdq_value *w = &p->in[p->of_channels], *x = &p->in[1 - p->of_channels];
    const bt_tensor *s = qdq_constant(r, bias->scale), *z = qdq_constant(r, bias->zero),
                    *sx = qdq_constant(r, x->scale), *sw = qdq_constant(r, w->scale);
    const int64_t n = s->nelem > sw->nelem ? s->nelem : sw->nelem;
    if (bt_tensor_dtype(bias->codes->type) != BT_INT32)
        return 0;
    for (int64_t i = 0; i < n; i++) {
        const float one = (float)bt_tensor_get(s, s->nelem == 1 ? 0 : i),
                    product = (float)bt_tensor_get(sx, 0) *
                              (float)bt_tensor_get(sw, sw->nelem == 1 ? 0 : i);
        if (one != product)
            return 0;
    }
    for (int64_t i = 0; i < z->nelem; i++) {
        if (bt_tensor_get(z, i) != 0)
            return 0;
    }
    return 1;
}

/* How far the codes of a constant are from it at most; NAN: one has none. */
static double error_of_codes(const struct qdq_region *r, const bt_tensor *bias,
                             const struct product *p)
{
    const bt_tensor *sx = qdq_constant(r, p->in[1 - p->of_channels].scale),
                    *sw = qdq_constant(r, p->in[p->of_channels].scale);
    double error = 0;
    if (sw->nelem > 1 && sw->nelem != bias->nelem)
        return (double)NAN;
    for (int64_t i = 0; i < bias->nelem; i++) {
        const float scale = (float)bt_tensor_get(sx, 0) *
                            (float)bt_tensor_get(sw, sw->nelem == 1 ? 0 : i);
        const double number = bt_tensor_get(bias, i),
                     code = nearbyint((double)((float)number / scale));
        if (!(fabs(code) < 0x1p31))
            return (double)NAN;
        error = fmax(error, fabs(code * (double)scale - number));
    }
    return error;
}

static void tell_error(const struct qdq_region *r, const bt_call *call, double error)
{
    bt_ctx *ctx = bt_rewrite_ctx(r->rewrite);
    bt_remark(
        ctx, BT_REMARK_CHOICE,
        bt_fail(ctx, BT_ERR_NONE,
                "qdq-to-integer: what is added to %s becomes codes of its sums, with "
                "errors of up to %g",
                call->op->name, error));
}

/* What is added to a product, a vector, as int32 by the scale of the sums; *out NULL: it has
 * no such codes. */
static bt_status codes_of_bias(struct qdq_region *r, const bt_value *old,
                               const struct product *p, const bt_value *scale,
                               const bt_value **out)
{
    struct qdq_value bias;
    const bt_value *value;
    int is_there;
    BT_TRY(bt_rewrite_operand(r->rewrite, old, &value));
    BT_TRY(qdq_dequantized(r, value, &bias, &is_there));
    const bt_tensor *constant = qdq_constant(r, value);
    const double error =
        constant && !is_there ? error_of_codes(r, constant, p) : (double)NAN;
    if (is_there ? !has_scale_of_sums(r, &bias, p) : isnan(error))
        return qdq_refuse(r, p->call,
                          "what is added to it has another scale than the product of its "
                          "operands'");
    if (!is_there)
        tell_error(r, p->call, error);
    *out = is_there ? bias.codes : value;
    if (type_rank((*out)->type) != 1)
        *out = chain_op1(&r->chain, "reshape", "newshape=[-1]", *out);
    const bt_value *args[] = { *out, scale, chain_scalar(&r->chain, BT_INT32, 0) };
    BT_TRY(r->chain.status);
    return is_there ? NULL
                    : bt_build(r->chain.builder, "qnn.quantize",
                               "axis=0, out_dtype=\"int32\"", args, 3, out);
}

/* Codes without their zero point, in int32. */
static const bt_value *centred(struct qdq_region *r, const struct qdq_value *x)
{
    const bt_tensor *zero = qdq_constant(r, x->zero);
    const bt_value *wide = chain_op1(&r->chain, "cast", "dtype=\"int32\"", x->codes),
                   *by = zero->rank
                             ? chain_along(&r->chain, x->zero, type_rank(x->codes->type),
                                           (uint32_t)x->axis)
                             : x->zero;
    return chain_op2(&r->chain, "subtract", NULL, wide,
                     chain_op1(&r->chain, "cast", "dtype=\"int32\"", by));
}

/* The attributes of the call, but that sums have the type that they have. */
static bt_status own_attrs(struct qdq_region *r, const bt_call *call, const void **out)
{
    const void *none = NULL;
    *out = bt_attr_find(call->op, call->attrs, "out_dtype", BT_ATTR_DTYPE)
               ? bt_attrs_with(bt_rewrite_call(r->rewrite)->scratch, call, "out_dtype",
                               &none, sizeof(none))
               : call->attrs;
    return *out || !call->op->attrs ? NULL : bt_no_memory();
}

/* Codes of few bits in a byte each: all targets multiply these, and of constants they are made when
 * the program is compiled. */
static const bt_value *in_bytes(struct qdq_region *r, const struct qdq_value *x)
{
    const bt_dtype dtype = bt_tensor_dtype(x->codes->type);
    const int is_signed = BT_DTYPE_CLASS(dtype) == BT_CLASS_INT;
    if (!bt_dtype_is_packed(dtype))
        return x->codes;
    bt_builder_name(r->chain.builder, NULL); // the name is that of the sums
    return chain_op1(&r->chain, "cast", is_signed ? "dtype=\"int8\"" : "dtype=\"uint8\"",
                     x->codes);
}

static bt_status build_sums(struct qdq_region *r, const struct product *p,
                            const bt_value **out)
{
    const bt_call *call = p->call;
    const bt_value *args[6] = { in_bytes(r, &p->in[0]), in_bytes(r, &p->in[1]),
                                p->in[0].zero,          p->in[1].zero,
                                p->in[0].scale,         p->in[1].scale };
    const void *attrs;
    struct law law;
    BT_TRY(own_attrs(r, call, &attrs));
    BT_TRY(r->chain.status);
    bt_builder_like(r->chain.builder, &call->base);
    if (p->twin)
        return bt_build_op(r->chain.builder, p->twin, attrs, 6, args, out);
    for (uint32_t i = 0; i < 2; i++)
        args[p->law->in[i]] = centred(r, &p->in[i]);
    BT_TRY(r->chain.status);
    const bt_value *sums;
    bt_status status = bt_build_op(r->chain.builder, call->op, attrs, 2, args, &sums);
    if (status)
        return qdq_is_refusal(status) ? qdq_refuse(r, call, "it takes no integers")
                                      : status;
    BT_TRY(qdq_law_of(r, bt_as_call(sums), &law));
    if (law.kind != LAW_CONTRACTION || bt_tensor_dtype(sums->type) != BT_INT32)
        return qdq_refuse(r, call, "it is no product of integers");
    *out = sums;
    return NULL;
}

/* Operands, and where their scales lie. */
static bt_status read_product(struct qdq_region *r, const bt_call *call,
                              const struct law *law, struct product *out, int *is_there)
{
    *out = (struct product){ .call = call, .law = law, .of_channels = 1, .channel = -1 };
    for (uint32_t i = 0; i < 2; i++) {
        BT_TRY(qdq_operand(r, call->args[law->in[i]], &out->in[i], is_there));
        *is_there =
            *is_there && BT_DTYPE_BITS(bt_tensor_dtype(out->in[i].codes->type)) <= 16;
        if (!*is_there)
            return qdq_refuse(r, call, "an operand has no codes");
        const int is_one =
            qdq_is_number(out->in[i].scale) && qdq_is_number(out->in[i].zero);
        *is_there = is_one || (out->channel < 0 && law->channel[i] == out->in[i].axis);
        if (!*is_there)
            return qdq_refuse(r, call, "the scales of an operand lie along no channels");
        if (!is_one) {
            out->of_channels = i;
            out->channel = law->channel_of_result[i];
        }
    }
    if (out->of_channels == 1 && law->in[1] == 1)
        BT_TRY(qdq_twin(r, call, 6, &out->twin));
    *is_there = 0;
    if (call->narg == 2)
        BT_TRY(fits_in_int32(r, out, is_there));
    return *is_there ? NULL
                     : qdq_refuse(r, call,
                                  call->narg == 2 ? "its sums may leave int32"
                                                  : "it has other operands, too");
}

bt_status qdq_product(struct qdq_region *r, const bt_call *call, const struct law *law,
                      const bt_value *bias, int32_t axis, const bt_value **out)
{
    char attrs[160], dtype[BT_DTYPE_NAME_SIZE];
    const bt_value *codes = NULL, *sums = NULL;
    struct product p;
    int is_there;
    BT_TRY(read_product(r, call, law, &p, &is_there));
    if (!is_there)
        return NULL;
    const bt_value *scale =
        chain_op2(&r->chain, "multiply", NULL, p.in[0].scale, p.in[1].scale);
    BT_TRY(r->chain.status);
    if (bias && axis >= 0 && p.channel >= 0 && axis != p.channel)
        return qdq_refuse(r, call, "what is added to it does not lie along its channels");
    if (bias) {
        BT_TRY(codes_of_bias(r, bias, &p, scale, &codes));
        if (!codes)
            return NULL;
    }
    BT_TRY(build_sums(r, &p, &sums));
    if (!sums)
        return NULL;
    snprintf(attrs, sizeof(attrs), "axis=%d", axis);
    if (codes)
        sums = chain_op2(&r->chain, axis < 0 ? "add" : "nn.bias_add",
                         axis < 0 ? NULL : attrs, sums, codes);
    snprintf(attrs, sizeof(attrs), "axis=%d, " QDQ_REQUANTIZE, p.channel, r->rounding,
             bt_dtype_name(r->dtype, dtype, sizeof(dtype)));
    const bt_value *args[] = { sums, scale, chain_scalar(&r->chain, BT_INT32, 0),
                               r->to.scale, r->to.zero };
    BT_TRY(r->chain.status);
    return bt_build(r->chain.builder, "qnn.requantize", attrs, args, 5, out);
}

bt_status qdq_product_numbers(struct qdq_region *r, const bt_call *call,
                              const struct law *law, const bt_value **out)
{
    char attrs[32];
    const bt_value *sums = NULL;
    struct product p;
    int is_there;
    BT_TRY(read_product(r, call, law, &p, &is_there));
    if (is_there)
        BT_TRY(build_sums(r, &p, &sums));
    if (!sums)
        return NULL;
    const bt_value *args[] = {
        sums, chain_op2(&r->chain, "multiply", NULL, p.in[0].scale, p.in[1].scale),
        chain_scalar(&r->chain, BT_INT32, 0)
    };
    BT_TRY(r->chain.status);
    snprintf(attrs, sizeof(attrs), "axis=%d", p.channel);
    return bt_build(r->chain.builder, "qnn.dequantize", attrs, args, 3, out);
}

bt_status qdq_is_product(struct qdq_region *r, const bt_call *call, const struct law *law,
                         int *out)
{
    const bt_op *twin = NULL;
    if (law->kind == LAW_MULTIPLY)
        BT_TRY(qdq_twin(r, call, 6, &twin));
    *out = law->kind == LAW_CONTRACTION || twin;
    return NULL;
}
