/*
 * simplify-expr: algebraic identities, and data movement that moves nothing.
 *     before
 *         def @main(%x: Tensor[(2, 3), float32]) {
 *             %0 = add(%x, 0f);
 *             %1 = transpose(%0, axes=[1, 0]);
 *             transpose(%1, axes=[1, 0])
 *         }
 *     after, with dead-code
 *         def @main(%x: Tensor[(2, 3), float32]) {
 *             %x
 *         }
 * A product with a constant matrix becomes a dense layer.
 * For every value of the dtype, NaN and infinities included, except that x + 0 may turn
 * the sign of a zero. x * 0 and x - x are zero for integers only. An operand that was
 * broadcast is not the result; a call that is checked at run time stays. Rules are a
 * table: operator, function.
 * keeps    no invariant
 * source   Relay's SimplifyExpr; DLVM, section 5 (algebra simplification)
 */
#include <stdio.h>
#include <string.h>

#include <baton/compute.h>

#include "chain.h"

struct site {
    bt_rewrite *rewrite;
    const bt_call *call;
    const bt_value *const *args; /* new values */
};

/* ---- what operands are ---- */

/* All elements are this number. */
static int is_all(const bt_value *value, double number)
{
    const bt_tensor *tensor = bt_const_tensor(value);
    if (!tensor || tensor->nelem == 0 || tensor->nelem > 4096)
        return 0;
    for (int64_t i = 0; i < tensor->nelem; i++) {
        if (bt_tensor_get(tensor, i) != number)
            return 0;
    }
    return 1;
}

static int is_integer(const bt_type *type)
{
    bt_dtype dtype = bt_tensor_dtype(type);
    uint32_t class_ = BT_DTYPE_CLASS(dtype);
    return dtype && (class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT);
}

/* Whether the result is this operand, types included: it must not have been broadcast. */
static int same_type(const struct site *s, const bt_value *operand)
{
    return operand->type == s->call->base.type;
}

/* The operand's own call, if it is of this operator. */
static const bt_call *under(const struct site *s, uint32_t arg, const char *op)
{
    return bt_as_op_call(s->args[arg], op);
}

/* ---- neutral and absorbing operands ---- */

static bt_status keep(const struct site *s, uint32_t arg, const bt_value **out)
{
    if (same_type(s, s->args[arg]))
        *out = s->args[arg];
    return NULL;
}

static bt_status add(const struct site *s, const bt_value **out)
{
    return is_all(s->args[1], 0)   ? keep(s, 0, out)
           : is_all(s->args[0], 0) ? keep(s, 1, out)
                                   : NULL;
}

static bt_status zeros_like_result(const struct site *s, uint32_t arg,
                                   const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(s->rewrite) };
    if (!same_type(s, s->args[arg]))
        return NULL;
    const bt_value *zeros = chain_op1(&c, "zeros_like", NULL, s->args[arg]);
    if (!c.status)
        *out = zeros;
    return c.status;
}

static bt_status subtract(const struct site *s, const bt_value **out)
{
    if (is_all(s->args[1], 0))
        return keep(s, 0, out);
    return s->args[0] == s->args[1] && is_integer(s->args[0]->type)
               ? zeros_like_result(s, 0, out)
               : NULL;
}

static bt_status multiply(const struct site *s, const bt_value **out)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (is_all(s->args[i], 1))
            return keep(s, 1 - i, out);
        if (is_all(s->args[i], 0) && is_integer(s->call->base.type) &&
            same_type(s, s->args[1 - i]))
            return zeros_like_result(s, 1 - i, out);
    }
    return NULL;
}

static bt_status divide(const struct site *s, const bt_value **out)
{
    return is_all(s->args[1], 1) ? keep(s, 0, out) : NULL;
}

static bt_status power(const struct site *s, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(s->rewrite) };
    if (is_all(s->args[1], 1))
        return keep(s, 0, out);
    if (!is_all(s->args[1], 2) || !same_type(s, s->args[0]))
        return NULL;
    const bt_value *square = chain_op2(&c, "multiply", NULL, s->args[0], s->args[0]);
    if (!c.status)
        *out = square;
    return c.status;
}

/* maximum, minimum, logical_and, logical_or, bitwise_and, bitwise_or of a value with
 * itself. */
static bt_status idempotent_pair(const struct site *s, const bt_value **out)
{
    return s->args[0] == s->args[1] ? keep(s, 0, out) : NULL;
}

/* ---- operators applied twice ---- */

/* negative, logical_not, bitwise_not: twice is nothing. */
static bt_status involution(const struct site *s, const bt_value **out)
{
    const bt_call *inner = under(s, 0, s->call->op->name);
    if (inner)
        *out = inner->args[0];
    return NULL;
}

/* abs, nn.relu, floor, ceil, round, trunc, sign, copy: twice is once. */
static bt_status projection(const struct site *s, const bt_value **out)
{
    if (under(s, 0, s->call->op->name))
        *out = s->args[0];
    return NULL;
}

/* ---- conversions ---- */

/* Whether every value of `from` is one of `to`. */
static int is_widening(bt_dtype from, bt_dtype to)
{
    uint32_t from_class = BT_DTYPE_CLASS(from), to_class = BT_DTYPE_CLASS(to);
    uint32_t from_bits = BT_DTYPE_BITS(from), to_bits = BT_DTYPE_BITS(to);
    if (from_class == to_class)
        return from_bits <= to_bits;
    if (from_class == BT_CLASS_UINT && to_class == BT_CLASS_INT)
        return from_bits < to_bits;
    return (from_class == BT_CLASS_FLOAT || from_class == BT_CLASS_BFLOAT) &&
           to_class == BT_CLASS_FLOAT && to_bits >= 32 && from_bits <= to_bits;
}

static bt_status cast(const struct site *s, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(s->rewrite) };
    const bt_call *inner = under(s, 0, "cast");
    char name[BT_DTYPE_NAME_SIZE];
    if (same_type(s, s->args[0]))
        return keep(s, 0, out);
    if (!inner || !is_widening(bt_tensor_dtype(inner->args[0]->type),
                               bt_tensor_dtype(s->args[0]->type)))
        return NULL;
    if (inner->args[0]->type == s->call->base.type) {
        *out = inner->args[0];
        return NULL;
    }
    bt_dtype_name(bt_tensor_dtype(s->call->base.type), name, sizeof(name));
    const bt_value *once = chain_op1f(&c, inner->args[0], "cast", "dtype=\"%s\"", name);
    if (!c.status)
        *out = once;
    return c.status;
}

/* ---- movement ---- */

/* A call whose operand and result have one type and which then moves nothing: reshape,
 * broadcast_to, squeeze, ... */
static bt_status identity_by_type(const struct site *s, const bt_value **out)
{
    return keep(s, 0, out);
}

/* Reshapes of a reshape read the original. */
static bt_status reshape(const struct site *s, const bt_value **out)
{
    static const char *const inners[] = { "reshape", "squeeze", "expand_dims",
                                          "nn.batch_flatten" };
    struct chain c = { .builder = bt_rewrite_builder(s->rewrite) };
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_text text;
    if (same_type(s, s->args[0]))
        return keep(s, 0, out);
    const bt_call *inner = NULL;
    for (uint32_t i = 0; i < BT_COUNT(inners) && !inner; i++)
        inner = under(s, 0, inners[i]);
    if (!inner || !bt_tensor_static(s->call->base.type, &rank, dims))
        return NULL;
    if (inner->args[0]->type == s->call->base.type) {
        *out = inner->args[0];
        return NULL;
    }
    bt_text_init(&text, bt_rewrite_call(s->rewrite)->scratch);
    bt_text_addf(&text, "newshape=[");
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] == 0) /* 0 is reshape's code for "as before" */
            return NULL;
        bt_text_addf(&text, "%s%lld", i ? ", " : "", (long long)dims[i]);
    }
    bt_text_addf(&text, "]");
    if (text.failed)
        return bt_no_memory();
    const bt_value *once = chain_op1(&c, "reshape", text.at, inner->args[0]);
    if (!c.status)
        *out = once;
    return c.status;
}

/* The axes of a transpose: 1 and *out filled, or 0 where the rank is not known. */
static int transpose_axes(const bt_call *call, uint32_t rank, uint32_t out[BT_MAX_RANK])
{
    const bt_ints *axes = bt_attr_find(call->op, call->attrs, "axes", BT_ATTR_INTS);
    if (!axes || rank == 0 || rank > BT_MAX_RANK ||
        (axes->n > 0 && (uint64_t)axes->n != rank))
        return 0;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t axis = axes->n > 0 ? axes->at[i] : (int64_t)(rank - 1 - i);
        out[i] = (uint32_t)(axis < 0 ? axis + rank : axis);
        if (out[i] >= rank)
            return 0;
    }
    return 1;
}

static bt_status transpose(const struct site *s, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(s->rewrite) };
    uint32_t rank = type_rank(s->args[0]->type), outer[BT_MAX_RANK],
             inner_axes[BT_MAX_RANK];
    const bt_call *inner = under(s, 0, "transpose");
    const bt_value *source = inner ? inner->args[0] : s->args[0];
    int is_identity = 1;
    bt_text text;
    if (!transpose_axes(s->call, rank, outer) ||
        (inner && !transpose_axes(inner, rank, inner_axes)))
        return NULL;
    bt_text_init(&text, bt_rewrite_call(s->rewrite)->scratch);
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = inner ? inner_axes[outer[i]] : outer[i];
        is_identity &= axis == i;
        bt_text_addf(&text, "%s%u", i ? ", " : "axes=[", axis);
    }
    bt_text_addf(&text, "]");
    if (text.failed)
        return bt_no_memory();
    if (is_identity)
        *out = source;
    if (is_identity || !inner)
        return NULL;
    const bt_value *once = chain_op1(&c, "transpose", text.at, source);
    if (!c.status)
        *out = once;
    return c.status;
}

/* ---- layouts ---- */

/* Relay's form, axes of the tensor itself: twice is once, or nothing. */
static bt_status transform_axes(const struct site *s, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(s->rewrite) };
    const bt_call *inner = under(s, 0, "layout_transform");
    if (!inner || inner->ncheck ||
        strcmp(call_text(inner, "dst_layout"), call_text(s->call, "src_layout")) != 0)
        return NULL;
    if (inner->args[0]->type == s->call->base.type &&
        strcmp(call_text(inner, "src_layout"), call_text(s->call, "dst_layout")) == 0) {
        *out = inner->args[0];
        return NULL;
    }
    const bt_value *once = chain_op1f(
        &c, inner->args[0], "layout_transform", "src_layout=\"%s\", dst_layout=\"%s\"",
        call_text(inner, "src_layout"), call_text(s->call, "dst_layout"));
    if (!c.status)
        *out = once;
    return c.status;
}

/* An operand that a call in another layout takes as it is: it is broadcast, or constant
 * beside one that is laid out. */
static int stays(const bt_call *call, const bt_value *operand)
{
    return !bt_type_layout(operand->type) &&
           (operand->kind == BT_VALUE_CONST ||
            !type_same_shape(operand->type, call->base.type));
}

/* Whether an old value can be had in a layout from before transforms: it is one, or a
 * call that goes element by element on such, used here alone. */
static bt_status can_lie_in(const struct site *s, const bt_layout *layout,
                            const bt_value *old, uint32_t *budget, int *out)
{
    const bt_value *from = laid_from(old);
    const bt_call *call = bt_as_call(old);
    const bt_type *types[2];
    uint32_t nlaid = 0;
    bt_fuse_info info;
    *out = from && bt_type_layout(from->type) == layout;
    if (*out || from || !call || call->callee_kind != BT_CALLEE_OP || call->ncheck ||
        call->narg > 2 || !op_keeps_layout(call->op) || *budget == 0 ||
        bt_rewrite_nuse(s->rewrite, old) != 1 || !bt_rewrite_is_here(s->rewrite, old))
        return NULL;
    --*budget;
    for (uint32_t i = 0; i < call->narg; i++) {
        int can = 0;
        types[i] = call->args[i]->type;
        if (stays(call, call->args[i]))
            continue;
        BT_TRY(can_lie_in(s, layout, call->args[i], budget, &can));
        if (!can)
            return NULL;
        nlaid++;
    }
    bt_formula_call formula = { .op = call->op,
                                .attrs = call->attrs,
                                .narg = call->narg,
                                .args = types,
                                .result = call->base.type };
    BT_TRY(bt_fuse_look(bt_rewrite_ctx(s->rewrite), &formula, &info));
    *out = nlaid > 0 && info.kind <= BT_FUSE_BROADCAST;
    return NULL;
}

/* The new value of what can lie in the layout, in it. */
static bt_status lie_in(const struct site *s, const bt_value *old, const bt_value **out)
{
    const bt_value *from = laid_from(old), *args[2];
    const bt_call *call = bt_as_call(old);
    if (from)
        return bt_rewrite_operand(s->rewrite, from, out);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(stays(call, call->args[i])
                   ? bt_rewrite_operand(s->rewrite, call->args[i], &args[i])
                   : lie_in(s, call->args[i], &args[i]));
    bt_rewrite_from(s->rewrite, old);
    return bt_build_op(bt_rewrite_builder(s->rewrite), call->op, call->attrs, call->narg,
                       args, out);
}

/* A transform of a transform is one, or none; behind what goes element by element it
 * meets those before it. */
static bt_status layout_transform(const struct site *s, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(s->rewrite) };
    const bt_layout *layout = bt_type_layout(s->call->base.type);
    uint32_t budget = 32;
    int can;
    if (same_type(s, s->args[0]))
        return keep(s, 0, out);
    if (!laid_from(&s->call->base))
        return transform_axes(s, out);
    if (laid_from(s->args[0])) {
        const bt_value *now = chain_layout(&c, laid_from(s->args[0]), layout);
        if (!c.status)
            *out = now;
        return c.status;
    }
    BT_TRY(can_lie_in(s, layout, s->call->args[0], &budget, &can));
    return can ? lie_in(s, s->call->args[0], out) : NULL;
}

static bt_status concatenate(const struct site *s, const bt_value **out)
{
    const bt_tuple_value *tuple = bt_as_tuple(s->args[0]);
    if (tuple && tuple->nfield == 1)
        *out = tuple->fields[0];
    return NULL;
}

static bt_status where(const struct site *s, const bt_value **out)
{
    if (is_all(s->args[0], 1))
        return keep(s, 1, out);
    if (is_all(s->args[0], 0))
        return keep(s, 2, out);
    return s->args[1] == s->args[2] ? keep(s, 1, out) : NULL;
}

/* ---- products ---- */

/* By a constant matrix: a dense layer, whose weight has rows where the matrix has columns.
 * What looks for layers (patterns of targets, say) then finds one form. */
static bt_status matmul(const struct site *s, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(s->rewrite) };
    const bt_value *weight = s->args[1];
    bt_dtype dtype = bt_tensor_dtype(s->call->base.type);
    char attrs[32] = "", name[BT_DTYPE_NAME_SIZE];
    if (weight->kind != BT_VALUE_CONST || type_rank(weight->type) != 2 ||
        call_int(s->call, "transpose_a", 0))
        return NULL;
    if (!call_int(s->call, "transpose_b", 0))
        weight = chain_op1(&c, "transpose", "axes=[1, 0]", weight);
    if (dtype != bt_tensor_dtype(s->args[0]->type))
        snprintf(attrs, sizeof(attrs), "out_dtype=\"%s\"",
                 bt_dtype_name(dtype, name, sizeof(name)));
    const bt_value *layer = chain_op2(&c, "nn.dense", attrs, s->args[0], weight);
    if (!c.status)
        *out = layer;
    return c.status;
}

/* ---- the table ---- */

static const struct rule {
    const char *op;
    uint32_t narg;
    bt_status (*rewrite)(const struct site *, const bt_value **out);
} rules[] = {
    { "add", 2, add },
    { "subtract", 2, subtract },
    { "multiply", 2, multiply },
    { "divide", 2, divide },
    { "power", 2, power },
    { "maximum", 2, idempotent_pair },
    { "minimum", 2, idempotent_pair },
    { "logical_and", 2, idempotent_pair },
    { "logical_or", 2, idempotent_pair },
    { "bitwise_and", 2, idempotent_pair },
    { "bitwise_or", 2, idempotent_pair },
    { "negative", 1, involution },
    { "logical_not", 1, involution },
    { "bitwise_not", 1, involution },
    { "abs", 1, projection },
    { "nn.relu", 1, projection },
    { "floor", 1, projection },
    { "ceil", 1, projection },
    { "round", 1, projection },
    { "trunc", 1, projection },
    { "sign", 1, projection },
    { "copy", 1, identity_by_type },
    { "cast", 1, cast },
    { "reshape", 1, reshape },
    { "broadcast_to", 1, identity_by_type },
    { "squeeze", 1, identity_by_type },
    { "nn.batch_flatten", 1, identity_by_type },
    { "transpose", 1, transpose },
    { "layout_transform", 1, layout_transform },
    { "concatenate", 1, concatenate },
    { "where", 3, where },
    { "nn.matmul", 2, matmul },
};

static bt_status simplify_call(bt_rewrite *rewrite, const bt_call *call,
                               const bt_value **out)
{
    const bt_value *args[3];
    struct site site = { rewrite, call, args };
    for (uint32_t i = 0; i < BT_COUNT(rules); i++) {
        if (call->callee_kind != BT_CALLEE_OP || call->ncheck ||
            call->narg != rules[i].narg || strcmp(call->op->name, rules[i].op) != 0)
            continue;
        for (uint32_t k = 0; k < call->narg; k++)
            BT_TRY(bt_rewrite_operand(rewrite, call->args[k], &args[k]));
        return rules[i].rewrite(&site, out);
    }
    return NULL;
}

static const bt_rewriter rewriter = { .call_ = simplify_call, .proj_ = rewrite_proj };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "simplify-expr",
        .doc = "Algebraic identities, and data movement that moves nothing.\n"
               "before\n"
               "    def @main(%x: Tensor[(2, 3), float32]) {\n"
               "        %0 = add(%x, 0f);\n"
               "        %1 = transpose(%0, axes=[1, 0]);\n"
               "        transpose(%1, axes=[1, 0])\n"
               "    }\n"
               "after, with dead-code\n"
               "    def @main(%x: Tensor[(2, 3), float32]) {\n"
               "        %x\n"
               "    }",
        .level = 1,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_expr[] = { BT_PASSES(passes), { 0 } };
