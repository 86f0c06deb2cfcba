/*
 * simplify-expr: algebraic identities, and data movement that has no effect.
 * By rules (rules.md); plugins may add some. Besides, a layout_transform behind calls
 * that go element by element cancels with those before them. A product with a constant
 * matrix becomes a dense layer, whose weight has rows where the matrix has columns: what
 * looks for layers, as patterns of targets do, then finds one form. For every value of the
 * dtype, NaN and infinities included, except that x + 0 may turn the sign of a zero.
 * Zero for integers only are x * 0 and x - x. An operand that was broadcast is not the
 * result; a call that is checked at run time stays.
 * keeps    no invariant
 * option   rule    go by this rule alone, default all
 * source   Relay's SimplifyExpr; DLVM, section 5 (algebra simplification)
 */
#include "common/layout.h"
#include "common/rewrite_slots.h"
#include "simplify/rule.h"

#include <baton/compute.h>

/* ---- layouts ---- */

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
static bt_status can_lie_in(bt_rewrite *rewrite, const bt_layout *layout,
                            const bt_value *old, uint32_t *budget, int *out)
{
    const bt_value *from = laid_from(old);
    const bt_call *call = bt_as_call(old);
    uint32_t nlaid = 0;
    bt_fuse_info info;
    *out = from && bt_type_layout(from->type) == layout;
    if (*out || from || !call || call->callee_kind != BT_CALLEE_OP || call->ncheck ||
        call->narg > 2 || !op_keeps_layout(call->op) || *budget == 0 ||
        !bt_rewrite_is_alone_here(rewrite, old))
        return NULL;
    --*budget;
    for (uint32_t i = 0; i < call->narg; i++) {
        int can = 0;
        if (stays(call, call->args[i]))
            continue;
        BT_TRY(can_lie_in(rewrite, layout, call->args[i], budget, &can));
        if (!can)
            return NULL;
        nlaid++;
    }
    bt_formula_call formula;
    BT_TRY(bt_call_formula(bt_rewrite_call(rewrite)->scratch, call, &formula));
    BT_TRY(bt_fuse_look(bt_rewrite_ctx(rewrite), &formula, &info));
    *out = nlaid > 0 && info.kind <= BT_FUSE_BROADCAST;
    return NULL;
}

/* The new value of what can lie in the layout, in it. */
static bt_status lie_in(bt_rewrite *rewrite, const bt_value *old, const bt_value **out)
{
    const bt_value *from = laid_from(old), *args[2];
    const bt_call *call = bt_as_call(old);
    if (from)
        return bt_rewrite_operand(rewrite, from, out);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(stays(call, call->args[i])
                   ? bt_rewrite_operand(rewrite, call->args[i], &args[i])
                   : lie_in(rewrite, call->args[i], &args[i]));
    bt_rewrite_from(rewrite, old);
    return bt_build_op(bt_rewrite_builder(rewrite), call->op, call->attrs, call->narg,
                       args, out);
}

/* A transform behind calls that go element by element cancels with transforms before
 * them. */
static bt_status move_layout(bt_rewrite *rewrite, const bt_call *call,
                             const bt_value **out)
{
    const bt_layout *layout = bt_type_layout(call->base.type);
    uint32_t budget = 32;
    int can;
    if (!laid_from(&call->base) || call->ncheck)
        return NULL;
    BT_TRY(can_lie_in(rewrite, layout, call->args[0], &budget, &can));
    return can ? lie_in(rewrite, call->args[0], out) : NULL;
}

/* ---- the pass ---- */

static bt_status simplify_call(bt_rewrite *rewrite, const bt_call *call,
                               const bt_value **out)
{
    BT_TRY(rules_apply(bt_rewrite_state(rewrite), rewrite, call, out));
    return *out ? NULL : move_layout(rewrite, call, out);
}

static const bt_rewriter rewriter = { .call_ = simplify_call, .proj_ = rewrite_proj };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct rules *rules;
    BT_TRY(rules_create(ctx, call, &rules));
    return bt_rewrite_module(ctx, call, &rewriter, rules, out);
}

/* ---- the rules ---- */

// clang-format off
#define RULE(name_, doc_, text_) { .name = name_, .doc = doc_, .pass = "simplify-expr", .text = text_ }
#define MOVES "reshape|squeeze|expand_dims|nn.batch_flatten"
static const bt_rule rules[] = {
    RULE("add-zero",         "A summand of zero.",              "add(x, 0) => x"),
    RULE("subtract-zero",    "Zero at the right.",              "subtract(x, 0) => x"),
    RULE("subtract-itself",  "A difference of equals.",         "subtract(x, x) => zeros_like(x) if integer(x)"),
    RULE("multiply-one",     "A factor of one.",                "multiply(x, 1) => x"),
    RULE("multiply-zero",    "A factor of zero.",               "multiply(x, 0) => zeros_like(x) if integer(x)"),
    RULE("divide-one",       "One at the right.",               "divide(x, 1) => x"),
    RULE("power-zero",       "Anything to the power of 0 is 1.", "power(x, 0) => ones_like(x)"),
    RULE("power-one",        "The first power.",                "power(x, 1) => x"),
    RULE("power-two",        "A product in place of a square.", "power(x, 2) => multiply(x, x)"),
    RULE("zero-subtract",    "Zero at the left.",               "subtract(0, x) => negative(x)"),
    RULE("multiply-minus-one", "A factor of minus one.",        "multiply(x, -1) => negative(x)"),
    RULE("divide-minus-one", "A divisor of minus one.",         "divide(x, -1) => negative(x)"),
    RULE("add-negative",     "A negative summand.",             "add(x, negative(y)) => subtract(x, y)"),
    RULE("subtract-negative", "A negative subtrahend.",         "subtract(x, negative(y)) => add(x, y)"),
    RULE("negative-difference", "A difference the other way round.", "negative(subtract(x, y)) => subtract(y, x)"),
    RULE("multiply-negatives", "A product of two negatives.",   "multiply(negative(x), negative(y)) => multiply(x, y)"),
    RULE("divide-negatives", "A quotient of two negatives.",    "divide(negative(x), negative(y)) => divide(x, y) if float(x)"),
    RULE("multiply-negative", "The constant factor takes the sign.", "multiply(negative(x), const c) => multiply(x, negative(c))"),
    RULE("divide-negative",  "The constant divisor takes the sign.", "divide(negative(x), const c) => divide(x, negative(c)) if float(x)"),
    RULE("negative-multiply", "The constant factor takes the sign.", "negative(multiply(x, const c)) => multiply(x, negative(c))"),
    RULE("abs-negative",     "A magnitude has no sign.",        "abs(negative(x)) => abs(x) if float(x)"),
    RULE("abs-square",       "A square has no sign.",           "abs(y: multiply(x, x)) => y if float(x)"),
    RULE("cos-negative",     "An even function.",               "cos(negative(x)) => cos(x)"),
    RULE("cosh-negative",    "An even function.",               "cosh(negative(x)) => cosh(x)"),
    RULE("divide-power",     "A product in place of a quotient by a power of two.", "divide(x, const c) => multiply(x, power(c, scalar(-1, c))) if float(x) and power_of_two(c)"),
    RULE("floor-divide-one", "A divisor of one.",               "floor_divide(x, 1) => x if integer(x)"),
    RULE("floor-mod-one",    "A remainder of nothing.",         "floor_mod(x, 1) => zeros_like(x) if integer(x)"),
    RULE("floor-mod-power",  "Low bits in place of a remainder.", "floor_mod(x, const c) => bitwise_and(x, subtract(c, ones_like(c))) if integer(x) and power_of_two(c)"),
    RULE("add-constants",    "Two constant summands are one.",  "add(add(x, const c), const d) => add(x, add(c, d)) if integer(x)"),
    RULE("add-subtract-constants", "Two constant summands are one.", "add(subtract(x, const c), const d) => add(x, subtract(d, c)) if integer(x)"),
    RULE("subtract-add-constants", "Two constant summands are one.", "subtract(add(x, const c), const d) => add(x, subtract(c, d)) if integer(x)"),
    RULE("subtract-constants", "Two constant subtrahends are one.", "subtract(subtract(x, const c), const d) => subtract(x, add(c, d)) if integer(x)"),
    RULE("multiply-constants", "Two constant factors are one.", "multiply(multiply(x, const c), const d) => multiply(x, multiply(c, d)) if integer(x)"),
    RULE("power-three",      "Products in place of a cube.",    "power(x, 3) => multiply(multiply(x, x), x) if integer(x)"),
    RULE("and-zero",         "No bits.",                        "bitwise_and(x, 0) => zeros_like(x)"),
    RULE("or-zero",          "No bits more.",                   "bitwise_or(x, 0) => x"),
    RULE("xor-zero",         "No bits turned.",                 "bitwise_xor(x, 0) => x"),
    RULE("xor-itself",       "All bits turned back.",           "bitwise_xor(x, x) => zeros_like(x)"),
    RULE("shift-zero",       "A shift by nothing.",             "left_shift|right_shift(x, 0) => x"),
    RULE("and-true",         "A neutral truth value.",          "logical_and(x, True) => x"),
    RULE("and-false",        "An absorbing truth value.",       "logical_and(x, False) => zeros_like(x)"),
    RULE("or-false",         "A neutral truth value.",          "logical_or(x, False) => x"),
    RULE("or-true",          "An absorbing truth value.",       "logical_or(x, True) => ones_like(x)"),
    RULE("not-equal",        "The opposite comparison.",        "logical_not(equal(x, y)) => not_equal(x, y)"),
    RULE("equal-not",        "The opposite comparison.",        "logical_not(not_equal(x, y)) => equal(x, y)"),
    RULE("not-less",         "The opposite comparison.",        "logical_not(less(x, y)) => greater_equal(x, y) if integer(x)"),
    RULE("not-greater",      "The opposite comparison.",        "logical_not(greater(x, y)) => less_equal(x, y) if integer(x)"),
    RULE("less-itself",      "Nothing is less than itself.",    "less|greater(x, x) => zeros(shape=shape(result), dtype=dtype(result))"),
    RULE("equal-itself",     "A value is itself.",              "equal|less_equal|greater_equal(x, x) => ones(shape=shape(result), dtype=dtype(result)) if integer(x)"),
    RULE("not-equal-itself", "A value is itself.",              "not_equal(x, x) => zeros(shape=shape(result), dtype=dtype(result)) if integer(x)"),
    RULE("reverse-back",     "An axis turned round and back.",  "reverse(reverse(x, axis=a), axis=a) => x"),
    RULE("broadcast-left",   "What is broadcast anyway.",       "F(broadcast_to(x, ..), y) => F(x, y) if broadcasts(F)"),
    RULE("broadcast-right",  "What is broadcast anyway.",       "F(x, broadcast_to(y, ..)) => F(x, y) if broadcasts(F)"),
    RULE("narrow-left",      "Equal elements along an axis are one, which is broadcast.", "F(const c, x) => F(narrow(c), x) if broadcasts(F)"),
    RULE("narrow-right",     "Equal elements along an axis are one, which is broadcast.", "F(x, const c) => F(x, narrow(c)) if broadcasts(F)"),
    RULE("of-itself",        "Maximum, minimum, and, or of a value with itself.", "F(x, x) => x if idempotent(F)"),
    RULE("twice-is-once",    "nn.relu, floor, abs and others of their own result.", "F(y: F(x)) => y if idempotent(F)"),
    RULE("twice-is-nothing", "negative, logical_not and others of their own result.", "F(F(x)) => x if involution(F)"),
    RULE("copy",             "The value itself.",               "copy(x) => x"),
    RULE("cast-to-same",     "A cast to the type that it has.", "cast(x, ..) => x"),
    RULE("cast-back",        "A cast forth and back.",          "cast(cast(x, dtype=d), ..) => x if widens(x, d)"),
    RULE("cast-twice",       "Two casts, the first without loss.", "cast(cast(x, dtype=d), dtype=e) => cast(x, dtype=e) if widens(x, d)"),
    RULE("reshape-to-same",  "A reshape to the shape that it has.", "reshape|broadcast_to|squeeze|nn.batch_flatten(x, ..) => x"),
    RULE("reshape-back",     "A reshape forth and back.",       "reshape(" MOVES "(x, ..), ..) => x"),
    RULE("reshape-twice",    "Two reshapes.",                   "reshape(" MOVES "(x, ..), ..) => reshape(x, newshape=shape(result))"),
    RULE("transpose-nothing", "A transpose that keeps the axes in order.", "transpose(x, axes=a) => x if in_order(order(a, x))"),
    RULE("transpose-back",   "A transpose forth and back.",     "transpose(transpose(x, axes=a), axes=b) => x if in_order(compose(a, b, x))"),
    RULE("transpose-twice",  "Two transposes.",                 "transpose(transpose(x, axes=a), axes=b) => transpose(x, axes=compose(a, b, x))"),
    RULE("layout-to-same",   "A transform to the layout that it has.", "layout_transform(x, src_layout=a, dst_layout=a) => x"),
    RULE("layout-back",      "A transform forth and back.",     "layout_transform(layout_transform(x, src_layout=a, dst_layout=b), src_layout=b, dst_layout=a) => x"),
    RULE("layout-twice",     "Two transforms.",                 "layout_transform(layout_transform(x, src_layout=a, dst_layout=b), src_layout=b, dst_layout=c) => layout_transform(x, src_layout=a, dst_layout=c)"),
    RULE("concatenate-one",  "One tensor alone.",               "concatenate((x), ..) => x"),
    RULE("where-true",       "Always the first.",               "where(True, x, y) => x"),
    RULE("where-false",      "Always the second.",              "where(False, x, y) => y"),
    RULE("where-same",       "Both are the same.",              "where(c, x, x) => x"),
    RULE("matmul-columns",   "A product with a constant matrix is a dense layer.", "nn.matmul(x, const w, units=u, out_dtype=d) => nn.dense(x, transpose(w, axes=[1, 0]), units=u, out_dtype=d) if rank(w, 2)"),
    RULE("matmul-rows",      "A product with a constant matrix is a dense layer.", "nn.matmul(x, const w, units=u, out_dtype=d, transpose_b=True) => nn.dense(x, w, units=u, out_dtype=d) if rank(w, 2)"),
    { 0 },
};
// clang-format on

static const bt_attr options[] = { RULES_OPTION, { 0 } };

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
        .options = options,
        .options_nbytes = sizeof(struct rules_options),
        .run = run,
        .reads_rules = 1,
    },
    { 0 },
};

const bt_table bt_passes_simplify_simplify_expr[] = { BT_PASSES(passes),
                                                      BT_RULES(rules),
                                                      { 0 } };
