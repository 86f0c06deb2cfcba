/*
 * Arithmetic of two tensors: add, multiply, floor_divide, ...
 *     y[..] = f(lhs[..], rhs[..])
 * lhs     numbers
 * rhs     the same dtype; a shape that broadcasts with lhs
 * result  the broadcast shape, that dtype
 * Small integer operands (shapes, axes) have symbolic contents: a dim of n rows times 2
 * is 2*n, not an unknown.
 * source  Relay's operators of the same names; NumPy's broadcasting
 */
#include "contents.h"

#include <string.h>

/* ---- contents of the result ---- */

typedef const bt_type *(*combine_fn)(bt_store *, const bt_type *, const bt_type *);

static int is_natural(const bt_type *dim)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    return low >= 0;
}

/* Quotients that truncate and those that round down agree on natural numbers. */
static const bt_type *truncdiv(bt_store *store, const bt_type *a, const bt_type *b)
{
    int64_t x, y;
    if (bt_dim_is_const(a, &x) && bt_dim_is_const(b, &y) && y != 0 && y != -1)
        return bt_dim(store, x / y);
    return is_natural(a) && is_natural(b) ? bt_dim_floordiv(store, a, b) : NULL;
}

static const bt_type *truncmod(bt_store *store, const bt_type *a, const bt_type *b)
{
    int64_t x, y;
    if (bt_dim_is_const(a, &x) && bt_dim_is_const(b, &y) && y != 0 && y != -1)
        return bt_dim(store, x % y);
    return is_natural(a) && is_natural(b) ? bt_dim_mod(store, a, b) : NULL;
}

static const struct {
    const char *op;
    combine_fn combine;
} combines[] = {
    { "add", bt_dim_add },        { "subtract", bt_dim_sub },
    { "multiply", bt_dim_mul },   { "divide", truncdiv },
    { "trunc_divide", truncdiv }, { "mod", truncmod },
    { "trunc_mod", truncmod },    { "floor_divide", bt_dim_floordiv },
    { "floor_mod", bt_dim_mod },  { "maximum", bt_dim_max },
    { "minimum", bt_dim_min },
};

/* What the shared relation leaves to say: the elements of small integer results. */
static bt_status relate_contents(bt_solver *s, const bt_relation_call *r)
{
    contents a, b;
    combine_fn combine = NULL;
    const bt_type *dims[CONTENTS_MAX];
    bt_dtype dtype = bt_tensor_dtype(bt_relation_arg(s, r, r->narg));
    if (!contents_possible(s, r, r->narg))
        return NULL;
    BT_TRY(contents_get(s, r, 0, &a));
    BT_TRY(contents_get(s, r, 1, &b));
    for (uint32_t i = 0; i < BT_COUNT(combines); i++)
        combine =
            strcmp(combines[i].op, r->op->name) == 0 ? combines[i].combine : combine;
    int64_t n = a.n == 1 ? b.n : a.n;
    if (!combine || a.n < 0 || b.n < 0 || (a.n != b.n && a.n != 1 && b.n != 1))
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        dims[i] =
            combine(bt_relation_store(s), a.at[a.n == 1 ? 0 : i], b.at[b.n == 1 ? 0 : i]);
        // what may wrap, or overflows as a dim, is left to the run
        if (!dims[i] || !contents_fit(dims[i], dtype))
            return NULL;
    }
    return bt_relation_set_contents(s, r, (uint32_t)n, dims);
}

/* ---- facets ---- */

/* (x + y) * s = x * s + y * s */
static const bt_scale_facet sum_scale = { .factors = BT_SCALE_ANY, .is_sum = 1 };

/* ---- rows ---- */

static const bt_op_input number_in[] = {
    { .name = "lhs", .type = "t:number[..]", .doc = "numbers" },
    { .name = "rhs", .type = "t[..]", .doc = "the same dtype; broadcasts with lhs" },
    { 0 },
};
static const bt_op_input integer_in[] = {
    { .name = "lhs", .type = "t:integer[..]", .doc = "integers" },
    { .name = "rhs", .type = "t[..]", .doc = "the same dtype; broadcasts with lhs" },
    { 0 },
};

#define BINARY(name_, inputs_, formula_, cases_, doc_, ...)                    \
    {                                                                          \
        .name = name_, .revision = 1, .doc = doc_ "\nThe shapes broadcast.",   \
        .source = "Relay, " name_, .inputs = inputs_, .relation = "Broadcast", \
        .relate = relate_contents, .formula = "y: t[..] = " formula_,          \
        .facets = BT_FACET_ROWS(BT_CASES(cases_) __VA_ARGS__),                 \
    }
#define INTEGERS                                                                  \
    "int32[2, 3], int32[2, 3]\nint8[2, 1], int8[3]\nuint8[4], uint8[]\nint64[], " \
    "int64[]\nuint16[0, 2], uint16[2]"
#define NUMBERS                                                                       \
    "float32[2, 3], float32[2, 3]\nfloat32[2, 1], float32[3]\nfloat64[], float64[2, " \
    "2]\n"                                                                            \
    "float16[0, 2], float16[2]\nbfloat16[3], bfloat16[3]\n" INTEGERS
#define QUOTIENTS \
    "float32[2, 3], float32[2, 3] = 0.5..2\nfloat64[3], float64[] = 1..2\n" INTEGERS
#define SHIFTS                                                                          \
    "int32[2, 3], int32[2, 3] = 0..31\nuint8[2, 1], uint8[3] = 0..9\nint64[], int64[] " \
    "= "                                                                                \
    "0..64\nint8[0], int8[1]"

// clang-format off
static const bt_op ops[] = {
    BINARY("add", number_in, "lhs[..] + rhs[..]", NUMBERS, "The sum; integers wrap.", , BT_ALGEBRA(BT_COMMUTATIVE), BT_FACET("scale", sum_scale)),
    BINARY("subtract", number_in, "lhs[..] - rhs[..]", NUMBERS, "The difference; integers wrap.", , BT_FACET("scale", sum_scale)),
    BINARY("multiply", number_in, "lhs[..] * rhs[..]", NUMBERS, "The product; integers wrap.", , BT_ALGEBRA(BT_COMMUTATIVE)),
    BINARY("divide", number_in, "lhs[..] / rhs[..]", QUOTIENTS, "The quotient; that of integers is truncated, and 0 where rhs is 0.", ),
    BINARY("floor_divide", number_in, "floordiv(lhs[..], rhs[..])", QUOTIENTS, "The quotient rounded down; 0 where an integer rhs is 0. That of floats is rounded to the dtype first, as Relay has it: 1 by 0.001 gives 1000, and 999 in NumPy, which takes the remainder first.", ),
    BINARY("floor_mod", number_in, "mod(lhs[..], rhs[..])", QUOTIENTS, "The remainder of a division that rounds down: it has the sign of rhs. That of floats is exact.", ),
    BINARY("trunc_divide", number_in, "truncdiv(lhs[..], rhs[..])", QUOTIENTS, "The quotient rounded toward zero; 0 where an integer rhs is 0.", ),
    BINARY("trunc_mod", number_in, "truncmod(lhs[..], rhs[..])", QUOTIENTS, "The remainder of trunc_divide: it has the sign of lhs.", ),
    BINARY("mod", number_in, "truncmod(lhs[..], rhs[..])", QUOTIENTS, "The remainder of trunc_divide, as in C.", ),
    BINARY("power", number_in, "pow(lhs[..], rhs[..])", "float32[2, 3] = 0.1..3, float32[3]\nfloat64[], float64[]\nint32[2, 2] = 0..5, int32[2, 2] = 0..4\nfloat16[0], float16[1]", "lhs to the power of rhs.", ),
    BINARY("maximum", number_in, "max(lhs[..], rhs[..])", NUMBERS, "The greater one; NaN where either is.", , BT_ALGEBRA(BT_COMMUTATIVE | BT_IDEMPOTENT)),
    BINARY("minimum", number_in, "min(lhs[..], rhs[..])", NUMBERS, "The lesser one; NaN where either is.", , BT_ALGEBRA(BT_COMMUTATIVE | BT_IDEMPOTENT)),
    BINARY("left_shift", integer_in, "shift_left(lhs[..], rhs[..])", SHIFTS, "lhs times 2 to the power of rhs; 0 from the width on.", ),
    BINARY("right_shift", integer_in, "shift_right(lhs[..], rhs[..])", SHIFTS, "lhs shifted right, filled with the sign.", ),
    BINARY("bitwise_and", integer_in, "bit_and(lhs[..], rhs[..])", INTEGERS, "Bits set in both.", , BT_ALGEBRA(BT_COMMUTATIVE | BT_IDEMPOTENT)),
    BINARY("bitwise_or", integer_in, "bit_or(lhs[..], rhs[..])", INTEGERS, "Bits set in either.", , BT_ALGEBRA(BT_COMMUTATIVE | BT_IDEMPOTENT)),
    BINARY("bitwise_xor", integer_in, "bit_xor(lhs[..], rhs[..])", INTEGERS, "Bits set in one of the two.", , BT_ALGEBRA(BT_COMMUTATIVE)),
    { 0 },
};
// clang-format on
const bt_table bt_ops_tensor_arithmetic[] = { BT_OPS(ops), { 0 } };
