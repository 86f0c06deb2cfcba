/*
 * Comparison and logic of two tensors: less, equal, logical_and, ...
 *     y[..] = lhs[..] < rhs[..]
 * result  the broadcast shape, bool; a comparison with NaN is False, not_equal True
 * source  Relay's operators of the same names
 */
#include <baton/op.h>

static const bt_op_input any_in[] = {
    { .name = "lhs", .type = "t[..]", .doc = "any tensor" },
    { .name = "rhs", .type = "t[..]", .doc = "the same dtype; broadcasts with lhs" },
    { 0 },
};
static const bt_op_input bool_in[] = {
    { .name = "lhs", .type = "t:bool[..]", .doc = "truth values" },
    { .name = "rhs", .type = "t[..]", .doc = "truth values; broadcasts with lhs" },
    { 0 },
};

#define COMPARE(name_, sign_, doc_, ...)                                             \
    {                                                                                \
        .name = name_, .revision = 1, .doc = doc_ "\nThe shapes broadcast.",         \
        .source = "Relay, " name_, .inputs = any_in, .relation = "BroadcastComp",    \
        .formula = "y: bool[..] = lhs[..] " sign_ " rhs[..]",                        \
        .facets = BT_FACET_ROWS(BT_CASES(                                            \
            "float32[2, 3], float32[3]\nint8[4] = 0..2, int8[2, 1] = 0..2\nbool[], " \
            "bool[3]\nuint64[2], uint64[2]\nfloat16[0], float16[1]") __VA_ARGS__),   \
    }
#define LOGIC(name_, formula_, doc_, laws_)                                        \
    {                                                                              \
        .name = name_, .revision = 1, .doc = doc_ "\nThe shapes broadcast.",       \
        .source = "Relay, " name_, .inputs = bool_in, .relation = "BroadcastComp", \
        .formula = "y: bool[..] = " formula_,                                      \
        .facets = BT_FACET_ROWS(                                                   \
            BT_CASES("bool[2, 3], bool[3]\nbool[], bool[]\nbool[2, 1], bool[0]"),  \
            BT_ALGEBRA(laws_)),                                                    \
    }

static const bt_op ops[] = {
    COMPARE("equal", "==", "True where lhs is rhs.", , BT_ALGEBRA(BT_COMMUTATIVE)),
    COMPARE("not_equal", "!=", "True where lhs is not rhs.", ,
            BT_ALGEBRA(BT_COMMUTATIVE)),
    COMPARE("less", "<", "True where lhs is below rhs.", ),
    COMPARE("less_equal", "<=", "True where lhs is rhs or below.", ),
    COMPARE("greater", ">", "True where lhs is above rhs.", ),
    COMPARE("greater_equal", ">=", "True where lhs is rhs or above.", ),
    LOGIC("logical_and", "lhs[..] && rhs[..]", "True where both are.",
          BT_COMMUTATIVE | BT_IDEMPOTENT),
    LOGIC("logical_or", "lhs[..] || rhs[..]", "True where either is.",
          BT_COMMUTATIVE | BT_IDEMPOTENT),
    LOGIC("logical_xor", "lhs[..] != rhs[..]", "True where one of the two is.",
          BT_COMMUTATIVE),
    { 0 },
};
const bt_table bt_ops_tensor_compare[] = { BT_OPS(ops), { 0 } };
