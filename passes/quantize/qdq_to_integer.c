/*
 * qdq-to-integer: what stands between qnn.dequantize and qnn.quantize is computed on codes.
 * From what is quantized back to what was dequantized, call by call, by what their formulas
 * say (quant_law.h):
 *     move      reshape, transpose, slices, ...: the same call of codes
 *     order     max-pool: the same call, as quantizing keeps order; bounds: those of codes
 *     join      concatenations, padding: the same call of operands in the result's codes;
 *               constants become codes; a number in the formula has to be its own code
 *     product   convolutions, dense layers, with bias: sums of integers, requantized
 *     sum       qnn.add and others; means: sums of integers, requantized
 *     table     any function of one operand of 8 bits, of several calls, too: its 256 codes
 * The result is that of ONNX's QLinear operators, its sums rounded as qnn.quantize says. Sums of
 * two tensors, and what has an operator on codes of its own, have halves to even alone; what is
 * rounded by chance stays in float, as chance goes by places. A number that a code stands for has
 * that code, where a float32, its quotient by the scale, may lie below it.
 * What no law takes stays in float, and a remark says why. A bias has codes only if its scale is
 * that of the sums in every bit.
 * A product of codes whose result is used as numbers is a sum of integers, too: float32(sums) *
 * (sx * sw), channel by channel, rounded twice, whatever is added to it in float behind that, as
 * ONNX Runtime's MatMulIntegerToFloat has it.
 * Before a call that quantizes nothing, what only moves codes or compares them is computed on
 * codes that stand for the same numbers, so that a product behind it has them.
 * keeps     no invariant
 * errors    scales that are 0, negative, infinite or no number; zero points out of the
 *           range of codes
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "quantize/qdq_apply.h"
#include "quantize/qdq_product.h"
#include "quantize/qdq_table.h"

enum { MAX_DEPTH = 32, MAX_USERS_DEPTH = 4, MAX_USERS = 64 };

/* ---- scales ---- */

static bt_status fail_at(bt_rewrite *rewrite, const bt_call *call, uint32_t index,
                         int64_t element, double value, const char *expected)
{
    return bt_fail_at(bt_rewrite_ctx(rewrite), BT_ERR_ARGUMENT, call->base.type->store,
                      call->base.span, "%s: element %lld of %s is %g; %s", call->op->name,
                      (long long)element, call->op->inputs[index].name, value, expected);
}

/* The scale of sums is a product of scales, and may be too small for a float32. */
static bt_status check_scale(bt_rewrite *rewrite, const bt_call *call, uint32_t index)
{
    const int may_be_0 = index == 1 && strcmp(call->op->name, "qnn.requantize") == 0 &&
                         BT_DTYPE_BITS(bt_tensor_dtype(call->args[0]->type)) > 16;

    const bt_tensor *scale = bt_const_tensor(
        bt_module_constant(bt_rewrite_call(rewrite)->module, call->args[index]));
    for (int64_t i = 0; scale && i < scale->nelem; i++) {
        const double value = bt_tensor_get(scale, i);
        if (!(value > 0 || (may_be_0 && value == 0)) || isinf(value))
            return fail_at(rewrite, call, index, i, value,
                           "scales are finite and above 0");
    }
    return NULL;
}

/* A zero point of the codes of a type, that of a tensor. */
static bt_status check_zero(bt_rewrite *rewrite, const bt_call *call, uint32_t index,
                            const bt_type *of)
{
    const bt_tensor *zero = bt_const_tensor(
        bt_module_constant(bt_rewrite_call(rewrite)->module, call->args[index]));
    const bt_dtype dtype = bt_tensor_dtype(of);
    int64_t least, most;
    if (!zero)
        return NULL;
    bt_dtype_limits(dtype, &least, &most);
    for (int64_t i = 0; !bt_dtype_is_float(dtype) && i < zero->nelem; i++) {
        const double value = bt_tensor_get(zero, i);
        if (value < least || value > most)
            return fail_at(rewrite, call, index, i, value,
                           "a zero point is one of the codes");
    }
    return NULL;
}

/* ---- calls of codes ---- */

static bt_status codes_of(struct qdq_region *r, const bt_value *old, uint32_t depth,
                          const bt_value **out);

/* A constant in codes of the region. */
static bt_status codes_of_constant(struct qdq_region *r, const bt_value *value,
                                   const bt_value **out)
{
    const bt_tensor *tensor = qdq_constant(r, value);
    const bt_value *args[] = { value, r->to.scale, r->to.zero };
    int64_t least, most;
    int is_exact = 1;
    char attrs[64], dtype[BT_DTYPE_NAME_SIZE];
    bt_dtype_limits(r->dtype, &least, &most);
    for (int64_t i = 0; is_exact && !r->quantize && i < tensor->nelem; i++) {
        const double code = qdq_code(r, bt_tensor_get(tensor, i), &is_exact);
        is_exact = is_exact && code >= least && code <= most;
    }
    if (!is_exact || bt_tensor_dtype(value->type) != BT_FLOAT32)
        return qdq_refuse(r, r->left, "a constant has no code");
    if (r->quantize)
        return bt_build_op(r->chain.builder, r->quantize->op, r->quantize->attrs, 3, args,
                           out);
    snprintf(attrs, sizeof(attrs), "out_dtype=\"%s\"",
             bt_dtype_name(r->dtype, dtype, sizeof(dtype)));
    return bt_build(r->chain.builder, "qnn.quantize", attrs, args, 3, out);
}

/* An argument of a call, tensors of which are leaf `leaf` and those behind it: those that are
 * moved in codes. */
static bt_status argument(struct qdq_region *r, const bt_call *call,
                          const struct law *law, const bt_value *old, uint32_t *leaf,
                          uint32_t depth, const bt_value **out)
{
    const bt_tuple_value *tuple = bt_as_tuple(old);
    *out = NULL;
    if (!bt_as_tuple_type(old->type)) {
        const uint32_t at = (*leaf)++;
        return at < law->nleaf && law->moved[at]
                   ? codes_of(r, old, depth + 1, out)
                   : bt_rewrite_operand(r->rewrite, old, out);
    }
    const bt_value **fields = tuple ? BT_NEWS(bt_rewrite_call(r->rewrite)->scratch,
                                              const bt_value *, tuple->nfield)
                                    : NULL;
    if (!tuple)
        return qdq_refuse(r, call, "the tuple that it takes is made elsewhere");
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        BT_TRY(argument(r, call, law, tuple->fields[i], leaf, depth, &fields[i]));
        if (!fields[i])
            return NULL;
    }
    return bt_build_tuple(r->chain.builder, tuple->nfield, fields, out);
}

/* Whether the call of codes does with them what the call did, constants of the formula being
 * the codes of those that were there. */
static bt_status is_alike(struct qdq_region *r, const struct law *law,
                          const bt_value *built, int *out)
{
    const bt_call *call = bt_as_call(built);
    struct law own;
    BT_TRY(qdq_law_of(r, call, &own));
    *out = own.kind == law->kind && own.nconst == law->nconst &&
           bt_tensor_dtype(built->type) == r->dtype;
    for (uint32_t i = 0; *out && i < law->nconst; i++) {
        int is_exact;
        *out = qdq_code(r, law->consts[i], &is_exact) == own.consts[i] &&
               (is_exact || r->quantize);
    }
    return NULL;
}

static bt_status move(struct qdq_region *r, const bt_call *call, const struct law *law,
                      uint32_t depth, const bt_value **out)
{
    const bt_value **args =
        BT_NEWS(bt_rewrite_call(r->rewrite)->scratch, const bt_value *, call->narg);
    const bt_value *built;
    uint32_t leaf = 0;
    int ok;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        BT_TRY(argument(r, call, law, call->args[i], &leaf, depth, &args[i]));
        if (!args[i])
            return NULL;
    }
    bt_status status =
        bt_build_op(r->chain.builder, call->op, call->attrs, call->narg, args, &built);
    if (status)
        return qdq_is_refusal(status)
                   ? qdq_refuse(r, call, "it does not take these codes")
                   : status;
    BT_TRY(is_alike(r, law, built, &ok));
    if (!ok)
        return qdq_refuse(r, call, "of codes it is something else");
    *out = built;
    return NULL;
}

/* Quantizing keeps order: bounds on numbers are those of their codes. */
static bt_status clip(struct qdq_region *r, const bt_call *call, const struct law *law,
                      uint32_t depth, const bt_value **out)
{
    const bt_value *codes = NULL;
    int64_t least, most;
    int exact[2];
    BT_TRY(codes_of(r, call->args[law->in[0]], depth + 1, &codes));
    if (!codes)
        return NULL;
    bt_dtype_limits(r->dtype, &least, &most);
    const double low = fmin(most, fmax(least, qdq_code(r, law->low, &exact[0]))),
                 high = fmax(least, fmin(most, qdq_code(r, law->high, &exact[1])));
    if (!r->quantize && ((low > least && !exact[0]) || (high < most && !exact[1])))
        return qdq_refuse(r, call, "a bound has no code");
    *out =
        low <= least && high >= most
            ? codes
            : chain_op1f(&r->chain, codes, "clip", "a_min=%.17g, a_max=%.17g", low, high);
    return r->chain.status;
}

/* A call of the old program in codes of the region. */
static bt_status codes_of_call(struct qdq_region *r, const bt_call *call, uint32_t depth,
                               const bt_value **out)
{
    struct law law;
    BT_TRY(qdq_law_of(r, call, &law));
    if (law.kind == LAW_CLIP)
        return clip(r, call, &law, depth, out);
    if (law.kind == LAW_MOVE || law.kind == LAW_ORDER || law.kind == LAW_SELECT)
        return r->quantize || law.is_whole ? move(r, call, &law, depth, out) : NULL;
    if (r->quantize && law.is_function)
        BT_TRY(qdq_table(r, call, out));
    return *out || !r->quantize ? NULL : qdq_apply(r, call, &law, out);
}

/* Whether a value is only quantized, at once or behind calls that move and compare it: then
 * nothing wants it in float. What its users compute alike on codes is equal, and so computed
 * once. */
static bt_status is_only_quantized(struct qdq_region *r, const bt_value *old,
                                   uint32_t depth, uint32_t *nuser, int *out)
{
    const uint32_t n = bt_rewrite_nuse(r->rewrite, old);
    *out = n > 0 && depth < MAX_USERS_DEPTH && *nuser + n <= MAX_USERS;
    *nuser += n;
    for (uint32_t i = 0; *out && i < n; i++) {
        const bt_value *user = bt_rewrite_use(r->rewrite, old, i);
        const bt_call *call = qdq_op_call(user);
        struct law law = { .kind = LAW_NONE };
        if (bt_as_op_call(user, "qnn.quantize"))
            continue;
        if (call)
            BT_TRY(qdq_law_of(r, call, &law));
        *out = bt_as_tuple(user) || law.kind == LAW_MOVE || law.kind == LAW_ORDER ||
               law.kind == LAW_SELECT || law.kind == LAW_CLIP;
        if (*out)
            BT_TRY(is_only_quantized(r, user, depth + 1, nuser, out));
    }
    return NULL;
}

/* A value of the old program in codes of the region; *out NULL: it stays in float. */
static bt_status codes_of(struct qdq_region *r, const bt_value *old, uint32_t depth,
                          const bt_value **out)
{
    const bt_call *call = qdq_op_call(old);
    const bt_value *value;
    struct qdq_value x;
    int is_there;
    *out = NULL;
    BT_TRY(bt_rewrite_operand(r->rewrite, old, &value));
    BT_TRY(qdq_dequantized(r, value, &x, &is_there));
    if (is_there)
        return qdq_recode(r, value, &x, out);
    if (qdq_constant(r, value))
        return codes_of_constant(r, value, out);
    if (!call || strcmp(call->op->name, "qnn.dequantize") == 0)
        return qdq_refuse(r, call, "it has no codes, or scales that are not known");
    int is_free = bt_rewrite_nuse(r->rewrite, old) == 1;
    uint32_t nuser = 0;
    if (r->quantize && !is_free)
        BT_TRY(is_only_quantized(r, old, 0, &nuser, &is_free));
    if (!r->quantize || depth > MAX_DEPTH || !is_free)
        return qdq_refuse(r, call, "its result has other uses");
    return codes_of_call(r, call, depth, out);
}

/* ---- regions ---- */

static const char no_operator[] = "there is no operator on codes of these types";

/* Of a product that is computed on codes all the same, only what follows is in float. */
static bt_status tell(bt_rewrite *rewrite, const bt_call *call, const char *why)
{
    bt_ctx *ctx = bt_rewrite_ctx(rewrite);
    struct qdq_known *known = bt_rewrite_state(rewrite);
    const bt_value *now;
    if (bt_map_find(&known->told, call))
        return NULL;
    if (!bt_map_put(&known->told, call, (void *)1))
        return bt_no_memory();
    BT_TRY(bt_rewrite_operand(rewrite, &call->base, &now));
    law_tell(ctx, "qdq-to-integer", call,
             bt_as_op_call(now, "qnn.dequantize") ? "ends" : "stays", why);
    return NULL;
}

static bt_status start(bt_rewrite *rewrite, const bt_call *call, struct qdq_region *r,
                       int *is_region)
{
    bt_value const *args[2];
    *r = (struct qdq_region){ .rewrite = rewrite,
                              .quantize = call,
                              .chain = { .builder = bt_rewrite_builder(rewrite) },
                              .dtype = bt_tensor_dtype(call->base.type),
                              .rounding = bt_call_text(call, "rounding") };
    for (uint32_t i = 0; i < 2; i++) {
        BT_TRY(bt_rewrite_operand(rewrite, call->args[1 + i], &args[i]));
        const bt_tensor *tensor = qdq_constant(r, args[i]);
        *is_region = tensor && tensor->nelem == 1 && tensor->rank <= 1 &&
                     (i || tensor->dtype == BT_FLOAT32);
        if (!*is_region)
            return NULL;
        if (tensor->rank)
            args[i] = chain_scalar(&r->chain, tensor->dtype, bt_tensor_get(tensor, 0));
        BT_TRY(r->chain.status);
    }
    r->to.scale = args[0];
    r->to.zero = args[1];
    *is_region = BT_DTYPE_BITS(r->dtype) <= 16 && !bt_dtype_is_float(r->dtype) &&
                 bt_call_int(call, "block_size", 0) == 0;
    return NULL;
}

static bt_status quantize(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    const bt_call *inner = qdq_op_call(call->args[0]);
    struct qdq_region r;
    int is_region;
    if (!inner)
        return NULL;
    BT_TRY(start(rewrite, call, &r, &is_region));
    if (!is_region)
        return NULL;
    if (strcmp(r.rounding, "STOCHASTIC") == 0)
        return strcmp(inner->op->name, "qnn.dequantize") == 0
                   ? NULL
                   : tell(rewrite, inner, "its codes are rounded by chance");
    bt_status status = codes_of(&r, call->args[0], 0, out);
    if (qdq_is_refusal(status) || qdq_is_refusal(r.chain.status)) {
        r.chain.status = status = NULL;
        *out = NULL;
        BT_TRY(qdq_refuse(&r, inner, no_operator));
    }
    BT_TRY(status);
    BT_TRY(r.chain.status);
    return *out || strcmp(inner->op->name, "qnn.dequantize") == 0
               ? NULL
               : tell(rewrite, r.left ? r.left : inner, r.why);
}

/* ---- codes behind moves ---- */

/* Of the tensors that a value holds: the first that is dequantized, and whether there is one
 * that is not known when compiling. */
static bt_status find_codes(struct qdq_region *r, const bt_value *old,
                            struct qdq_value *first, int *varies)
{
    const bt_tuple_value *tuple = bt_as_tuple(old);
    const bt_value *value;
    struct qdq_value x;
    int is_there;
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(find_codes(r, tuple->fields[i], first, varies));
    if (tuple)
        return NULL;
    BT_TRY(bt_rewrite_operand(r->rewrite, old, &value));
    BT_TRY(qdq_dequantized(r, value, &x, &is_there));
    *varies |= !qdq_constant(r, is_there ? x.codes : value);
    if (is_there && !first->codes && qdq_is_number(x.scale) && qdq_is_number(x.zero))
        *first = x;
    return NULL;
}

/* A call that moves or compares numbers, of their codes, which stand for the same. */
static bt_status forward(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct qdq_region r = { .rewrite = rewrite,
                            .chain = { .builder = bt_rewrite_builder(rewrite) },
                            .rounding = "TOEVEN" };
    const bt_value *codes = NULL;
    int varies = 0;
    if (bt_tensor_dtype(call->base.type) != BT_FLOAT32)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(find_codes(&r, call->args[i], &r.to, &varies));
    if (!r.to.codes || !varies)
        return NULL;
    r.dtype = bt_tensor_dtype(r.to.codes->type);
    if (BT_DTYPE_BITS(r.dtype) > 16)
        return NULL;
    bt_status status = codes_of_call(&r, call, 0, &codes);
    if (qdq_is_refusal(status) || qdq_is_refusal(r.chain.status))
        return NULL;
    BT_TRY(status);
    BT_TRY(r.chain.status);
    const bt_value *args[] = { codes, r.to.scale, r.to.zero };
    return codes ? bt_build(r.chain.builder, "qnn.dequantize", NULL, args, 3, out) : NULL;
}

/* ---- products that are used as numbers ---- */

static bt_status product(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct qdq_region r = { .rewrite = rewrite,
                            .chain = { .builder = bt_rewrite_builder(rewrite) } };
    struct qdq_value x;
    struct law law;
    int has_codes, sums = 0;
    if (bt_tensor_dtype(call->base.type) != BT_FLOAT32 || call->narg < 2)
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        BT_TRY(qdq_operand(&r, call->args[i], &x, &has_codes));
        if (!has_codes)
            return NULL;
    }
    BT_TRY(qdq_law_of(&r, call, &law));
    BT_TRY(qdq_is_product(&r, call, &law, &sums));
    if (!sums)
        return NULL;
    bt_status status = qdq_product_numbers(&r, call, &law, out);
    if (qdq_is_refusal(status) || qdq_is_refusal(r.chain.status)) {
        r.chain.status = status = NULL;
        *out = NULL;
        BT_TRY(qdq_refuse(&r, call, no_operator));
    }
    BT_TRY(status);
    BT_TRY(r.chain.status);
    return *out ? NULL : tell(rewrite, call, r.why);
}

/* ---- the pass ---- */

/* Operands stand first, and their zero points in the same order. */
static bt_status check(bt_rewrite *rewrite, const bt_call *call)
{
    uint32_t operand = 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        const char *name = call->op->inputs[i].name;
        if (strstr(name, "scale"))
            BT_TRY(check_scale(rewrite, call, i));
        if (strstr(name, "zero_point"))
            BT_TRY(check_zero(rewrite, call, i,
                              strncmp(name, "output", 6) == 0
                                  ? call->base.type
                                  : call->args[operand++]->type));
    }
    return NULL;
}

static bt_status rewrite_call(bt_rewrite *rewrite, const bt_call *call,
                              const bt_value **out)
{
    if (!qdq_op_call(&call->base))
        return NULL;
    if (strncmp(call->op->name, "qnn.", 4) != 0) {
        BT_TRY(product(rewrite, call, out));
        return *out ? NULL : forward(rewrite, call, out);
    }
    BT_TRY(check(rewrite, call));
    return strcmp(call->op->name, "qnn.quantize") == 0 ? quantize(rewrite, call, out)
                                                       : NULL;
}

static const bt_rewriter rewriter = { .call_ = rewrite_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct qdq_known known;
    bt_map_init(&known.laws, call->scratch, 0);
    bt_map_init(&known.told, call->scratch, 0);
    return bt_rewrite_module(ctx, call, &rewriter, &known, out);
}

static const bt_pass passes[] = {
    {
        .name = "qdq-to-integer",
        .doc = "What stands between dequantizing and quantizing is computed on codes.\n"
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
               "        qnn.requantize(%1, %0, 0, 2f, 128u8, rounding=\"TOEVEN\", "
               "compute_dtype=\"float32\", out_dtype=\"uint8\")\n"
               "    }",
        .level = 3, /* codes are rounded otherwise than by floats between them */
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_quantize_qdq_to_integer[] = { BT_PASSES(passes), { 0 } };
