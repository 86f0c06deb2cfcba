/*
 * Sums to codes of 8 bits, as layers of quantized networks end with them, in one call:
 *
 *     uint8(min(max(round_even(float32(sum) * factor) + zero, 0), 255))          as ONNX says it
 *     uint8(int32(min(max(round_even(float32(sum) * factor), low), high)) + zero)
 */
#include "lanes.h"

static int is_scalar(const bt_node *node, uint32_t which)
{
    return node && node->kind == BT_NODE_SCALAR && node->which == which;
}

static const bt_node *once(const struct cpu_part *p, const bt_node *node)
{
    return p ? cpu_once(p, node) : cpu_bare(node);
}

/* Of a choice or a sum of float32 with one number, that; *rest: the other operand, of which nothing
 * else is made. NULL: it is none. */
static const bt_node *take_number(const struct cpu_part *p, const bt_node **rest,
                                  uint32_t which, double *number)
{
    const bt_node *node = *rest;
    for (uint32_t i = 0; is_scalar(node, which) && i < 2; i++) {
        const bt_node *at = cpu_bare(node->args[i]);
        const bt_node *other = once(p, node->args[1 - i]);
        if (at->kind == BT_NODE_CONST && other) {
            *number = bt_dtype_is_float(at->dtype) ? at->value.f : (double)at->value.i;
            *rest = other;
            return at;
        }
    }
    return NULL;
}

/* Whole numbers so small that all that is done with them is exact. */
static int is_small(double number)
{
    enum { MOST = 1 << 20 };
    return number >= -MOST && number <= MOST && number == (double)(int32_t)number;
}

static const bt_node *cast_from(const bt_node *node, bt_dtype from)
{
    return node && node->kind == BT_NODE_CAST && node->args[0]->dtype == from
               ? cpu_bare(node->args[0])
               : NULL;
}

int cpu_match_codes(const struct cpu_part *p, const bt_node *node, struct cpu_codes *out)
{
    double low, high, zero = 0;
    if ((node->dtype != BT_UINT8 && node->dtype != BT_INT8) || node->kind != BT_NODE_CAST)
        return 0;
    const bt_node *rest = once(p, node->args[0]);
    const int is_added_last = rest && rest->dtype == BT_INT32;
    if (is_added_last) {
        (void)take_number(p, &rest, BT_SCALAR_ADD, &zero);
        rest = cast_from(rest, BT_FLOAT32) ? once(p, rest->args[0]) : NULL;
    }
    if (!rest || rest->dtype != BT_FLOAT32 ||
        !take_number(p, &rest, BT_SCALAR_MIN, &high) ||
        !take_number(p, &rest, BT_SCALAR_MAX, &low))
        return 0;
    if (!is_added_last && take_number(p, &rest, BT_SCALAR_ADD, &zero)) {
        low -= zero;
        high -= zero;
    }
    const bt_node *product =
        is_scalar(rest, BT_SCALAR_ROUND_EVEN) ? once(p, rest->args[0]) : NULL;
    if (!is_scalar(product, BT_SCALAR_MUL) || !is_small(low) || !is_small(high) ||
        !is_small(zero) || low > high)
        return 0;
    *out = (struct cpu_codes){ .low = low, .high = high, .zero = (int64_t)zero };
    out->of_nan = is_added_last ? 0 : -zero;
    for (uint32_t i = 0; i < 2 && !out->sum; i++) {
        const bt_node *sum = cast_from(once(p, product->args[i]), BT_INT32);
        if (sum && (!p || cpu_is_varying(p->lanes, sum))) {
            out->sum = sum;
            out->factor = product->args[1 - i];
        }
    }
    // what else the numbers could come to when they are stored in 8 bits
    const double least = node->dtype == BT_UINT8 ? 0 : INT8_MIN;
    return out->sum && low + zero >= least && high + zero <= least + UINT8_MAX &&
           out->of_nan >= low && out->of_nan <= high;
}

static int put_number(struct cpu_part *p, bt_dtype dtype, double number,
                      struct cpu_value *out)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *node = bt_node_cast(g, dtype, bt_node_int(g, (int64_t)number));
    return node && cpu_constant_new(p->lanes->v, node, out);
}

int cpu_make_codes(struct cpu_part *p, const bt_node *node, const struct cpu_codes *codes,
                   const struct cpu_value *to, struct cpu_value *out)
{
    struct cpu_call call = { .naddress = 7 };
    if (!cpu_eval(p, codes->sum, &call.at[1]) ||
        !cpu_eval(p, codes->factor, &call.at[2]) ||
        !put_number(p, BT_FLOAT32, codes->low, &call.at[3]) ||
        !put_number(p, BT_FLOAT32, codes->high, &call.at[4]) ||
        !put_number(p, BT_FLOAT32, codes->of_nan, &call.at[5]) ||
        !put_number(p, BT_INT32, (double)codes->zero, &call.at[6]))
        return 0;
    cpu_drop(p, codes->sum);
    cpu_drop(p, codes->factor);
    call.name = cpu_strip_name(
        p->lanes->v, node->dtype == BT_UINT8 ? "requantize_uint8" : "requantize_int8",
        BT_INT32, call.at[2].is_strip ? "" : ".s");
    if (!call.name || !cpu_place(p, node->dtype, 1, to, out))
        return 0;
    call.at[0] = *out;
    return cpu_emit(p, &call, 1);
}
