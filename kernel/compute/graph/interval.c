/*
 * Bounds of integer expressions. INT64_MIN and INT64_MAX as bounds mean "not known"; a
 * known bound is computed without overflow. uint64 is never known: its int64 is not its
 * value.
 */
#include "compute/graph/interval.h"

struct range {
    int64_t low, high;
};

int bt__is_bounded(const bt_node *node)
{
    return node->low != INT64_MIN && node->high != INT64_MAX;
}

static int add_scaled(struct range *to, const bt_node *node, int64_t factor)
{
    int64_t low, high;
    if (!bt__is_bounded(node) ||
        !bt_mul_int64(factor, factor < 0 ? node->high : node->low, &low) ||
        !bt_mul_int64(factor, factor < 0 ? node->low : node->high, &high))
        return 0;
    return bt_add_int64(to->low, low, &to->low) &&
           bt_add_int64(to->high, high, &to->high);
}

static int linear_range(const bt_node *node, struct range *out)
{
    *out = (struct range){ node->value.i, node->value.i };
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!add_scaled(out, node->args[i], node->coefs[i]))
            return 0;
    }
    return 1;
}

static int product_range(const bt_node *a, const bt_node *b, struct range *out)
{
    const int64_t x[2] = { a->low, a->high }, y[2] = { b->low, b->high };
    for (uint32_t i = 0; i < 4; i++) {
        int64_t p;
        if (!bt_mul_int64(x[i / 2], y[i % 2], &p))
            return 0;
        out->low = i == 0 || p < out->low ? p : out->low;
        out->high = i == 0 || p > out->high ? p : out->high;
    }
    return 1;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Quotients and remainders by a positive constant. */
static int quotient_range(uint32_t which, const bt_node *a, int64_t by, struct range *out)
{
    switch (which) {
    case BT_SCALAR_FLOORDIV:
        *out = (struct range){ bt_floordiv_int64(a->low, by),
                               bt_floordiv_int64(a->high, by) };
        return 1;
    case BT_SCALAR_CEILDIV:
        *out =
            (struct range){ bt_ceildiv_int64(a->low, by), bt_ceildiv_int64(a->high, by) };
        return 1;
    case BT_SCALAR_DIV:
    case BT_SCALAR_TRUNCDIV: *out = (struct range){ a->low / by, a->high / by }; return 1;
    case BT_SCALAR_MOD: *out = (struct range){ 0, by - 1 }; return 1;
    case BT_SCALAR_TRUNCMOD:
        *out = (struct range){ a->low < 0 ? 1 - by : 0, a->high > 0 ? by - 1 : 0 };
        return 1;
    default: return 0;
    }
}

static int scalar_range(const bt_node *node, struct range *out)
{
    const bt_node *a = node->args[0], *b = node->narg > 1 ? node->args[1] : NULL;
    int64_t by;
    // max and min know something of one known side
    if (node->which == BT_SCALAR_MAX || node->which == BT_SCALAR_MIN) {
        int is_max = node->which == BT_SCALAR_MAX;
        *out =
            (struct range){ is_max ? most(a->low, b->low) : least(a->low, b->low),
                            is_max ? most(a->high, b->high) : least(a->high, b->high) };
        return 1;
    }
    if (b && bt_node_is_const(b, &by) && by > 0 && node->which == BT_SCALAR_MOD)
        return quotient_range(node->which, a, by, out);
    if (!bt__is_bounded(a) || (b && !bt__is_bounded(b)))
        return 0;
    if (b && bt_node_is_const(b, &by) && by > 0 &&
        quotient_range(node->which, a, by, out))
        return 1;
    switch (node->which) {
    case BT_SCALAR_ADD:
        *out = (struct range){ 0, 0 };
        return add_scaled(out, a, 1) && add_scaled(out, b, 1);
    case BT_SCALAR_SUB:
        *out = (struct range){ 0, 0 };
        return add_scaled(out, a, 1) && add_scaled(out, b, -1);
    case BT_SCALAR_MUL: return product_range(a, b, out);
    case BT_SCALAR_BIT_AND: // no bits are there that either has not
        *out = (struct range){ 0, a->low < 0   ? b->high
                                  : b->low < 0 ? a->high
                                               : least(a->high, b->high) };
        return a->low >= 0 || b->low >= 0;
    case BT_SCALAR_SHIFT_RIGHT:
        if (!bt_node_is_const(b, &by) || by < 0 || by > 63)
            return 0;
        *out = (struct range){ a->low >> by, a->high >> by };
        return 1;
    case BT_SCALAR_WRAP:
        *out = (struct range){ 0, 0 };
        if (!add_scaled(out, a, 1) || !add_scaled(out, b, 1))
            return 0;
        out->low = least(out->low, most(a->low, 0));
        out->high = most(a->high, a->low < 0 ? least(out->high, b->high - 1) : 0);
        return 1;
    default: return 0;
    }
}

static int reduce_range(const bt_node *node, struct range *out)
{
    uint32_t result = bt__reducer_get(node->which)->result;
    if (result != BT__RESULT_INT64)
        return 0;
    *out = (struct range){ -1, 1 };
    for (uint32_t i = 0; i < node->nindex; i++) {
        if (node->args[2 + i]->high < 0 ||
            !bt_mul_int64(out->high, node->args[2 + i]->high, &out->high))
            return 0;
    }
    out->high--;
    return 1;
}

void bt__interval_set(bt_node *node)
{
    struct range r = { 0 };
    int known = 0;
    if (bt_dtype_is_float(node->dtype))
        return;
    struct range all = { bt__dtype_low(node->dtype), bt__dtype_high(node->dtype) };
    if (node->dtype == BT_UINT64)
        all = (struct range){ INT64_MIN, INT64_MAX };
    switch (node->kind) {
    case BT_NODE_CONST:
        r = (struct range){ node->value.i, node->value.i };
        known = node->dtype != BT_UINT64;
        break;
    case BT_NODE_INDEX:
    case BT_NODE_DIM: return; // they were given
    case BT_NODE_LINEAR: known = linear_range(node, &r); break;
    case BT_NODE_SCALAR:
        known =
            node->dtype != BT_BOOL && node->dtype != BT_UINT64 && scalar_range(node, &r);
        break;
    case BT_NODE_CAST:
        r = (struct range){ node->args[0]->low, node->args[0]->high };
        known = !bt_dtype_is_float(node->args[0]->dtype) &&
                node->args[0]->dtype != BT_UINT64 && node->dtype != BT_UINT64;
        break;
    case BT_NODE_SELECT:
        r = (struct range){ least(node->args[1]->low, node->args[2]->low),
                            most(node->args[1]->high, node->args[2]->high) };
        known = 1;
        break;
    case BT_NODE_REDUCE: known = reduce_range(node, &r); break;
    default: break;
    }
    // what leaves the dtype wraps
    if (!known || r.low < all.low || r.high > all.high)
        r = all;
    node->low = r.low;
    node->high = r.high;
}

int bt__interval_difference(const bt_node *a, const bt_node *b, int64_t *low,
                            int64_t *high)
{
    struct range r = { 0, 0 };
    if (!add_scaled(&r, a, 1) || !add_scaled(&r, b, -1) || r.low < -(INT64_MAX / 2) ||
        r.high > INT64_MAX / 2)
        return 0;
    *low = r.low;
    *high = r.high;
    return 1;
}

const bt_node *bt__interval_simplify(bt_graph *g, uint32_t which, const bt_node *a,
                                     const bt_node *b)
{
    int64_t by;
    if (!bt__dtype_is_integer(a->dtype) || a->dtype == BT_UINT64 || !b)
        return NULL;
    int divides = bt_node_is_const(b, &by) && by > 0;
    switch (which) {
    case BT_SCALAR_MAX:
        return a->low >= b->high ? a : b->low >= a->high ? b : a == b ? a : NULL;
    case BT_SCALAR_MIN:
        return a->high <= b->low ? a : b->high <= a->low ? b : a == b ? a : NULL;
    case BT_SCALAR_DIV:
    case BT_SCALAR_TRUNCDIV:
    case BT_SCALAR_FLOORDIV: return divides && by == 1 ? a : NULL;
    case BT_SCALAR_CEILDIV:
        return divides && by == 1               ? a
               : !divides || !bt__is_bounded(a) ? NULL
               : bt_ceildiv_int64(a->low, by) == bt_ceildiv_int64(a->high, by)
                   ? bt_node_int(g, bt_ceildiv_int64(a->low, by))
                   : NULL;
    case BT_SCALAR_MOD:
    case BT_SCALAR_TRUNCMOD: return divides && a->low >= 0 && a->high < by ? a : NULL;
    case BT_SCALAR_WRAP: return a->low >= 0 ? a : NULL;
    default: return NULL;
    }
}
