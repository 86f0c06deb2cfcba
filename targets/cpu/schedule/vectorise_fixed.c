/*
 * Codes of 8 bits of integer sums by fixed point, as Relay's qnn.requantize ends with them, in one call:
 *
 *     uint8(min(max(shift_right(int64(sum) * m + shift_right(shift_left(1, s), 1), s) + zero, low), high))
 *
 * What is added before the shift may be a number, which it is where s is one, or nothing.
 */
#include "lanes.h"

struct fixed {
    const bt_node *sum, *m, *shift; /* m NULL: `times` */
    int64_t times, half, zero, low, high;
};

static int is_scalar(const bt_node *node, uint32_t which)
{
    return node && node->kind == BT_NODE_SCALAR && node->which == which;
}

static int is_wide_sum(const bt_node *node)
{
    return node && node->kind == BT_NODE_CAST && node->dtype == BT_INT64 &&
           node->args[0]->dtype == BT_INT32;
}

/* Of a choice between a node and a number, both; NULL: it is none. */
static const bt_node *take_bound(const struct cpu_part *p, const bt_node *node,
                                 uint32_t which, int64_t *number)
{
    for (uint32_t i = 0; is_scalar(node, which) && i < 2; i++) {
        if (bt_node_is_const(cpu_bare(node->args[i]), number))
            return cpu_once(p, node->args[1 - i]);
    }
    return NULL;
}

/* Whether it is half of 2^s. */
static int is_half(const bt_node *node, const bt_node *shift)
{
    int64_t one, by;
    if (!is_scalar(node, BT_SCALAR_SHIFT_RIGHT) ||
        !bt_node_is_const(node->args[1], &one) || one != 1)
        return 0;
    const bt_node *power = cpu_bare(node->args[0]);
    return is_scalar(power, BT_SCALAR_SHIFT_LEFT) &&
           bt_node_is_const(power->args[0], &by) && by == 1 &&
           cpu_bare(power->args[1]) == cpu_bare(shift);
}

/* A sum by its factor. */
static int read_product(const struct cpu_part *p, const bt_node *node, int64_t coef,
                        struct fixed *out)
{
    node = cpu_once(p, node);
    if (is_wide_sum(node)) {
        out->sum = node->args[0];
        out->times = coef;
        return 1;
    }
    for (uint32_t i = 0; coef == 1 && is_scalar(node, BT_SCALAR_MUL) && i < 2; i++) {
        const bt_node *sum = cpu_once(p, node->args[i]);
        if (is_wide_sum(sum) && cpu_is_varying(p->lanes, sum)) {
            out->sum = sum->args[0];
            out->m = node->args[1 - i];
            return 1;
        }
    }
    return 0;
}

/* What is moved down. */
static int read_number(const struct cpu_part *p, const bt_node *node, struct fixed *out)
{
    bt_linear l;
    if (!node)
        return 0;
    bt_node_as_linear(node, &l);
    out->half = l.constant;
    if (l.n == 1 && l.constant >= 0)
        return read_product(p, l.atoms[0], l.coefs[0], out);
    for (uint32_t i = 0; l.n == 2 && l.constant == 0 && i < 2; i++) {
        if (l.coefs[i] == 1 && is_half(cpu_bare(l.atoms[i]), out->shift)) {
            out->half = -1;
            return read_product(p, l.atoms[1 - i], l.coefs[1 - i], out);
        }
    }
    return 0;
}

static int is_code(int64_t number, bt_dtype dtype)
{
    return dtype == BT_UINT8 ? number >= 0 && number <= UINT8_MAX
                             : number >= INT8_MIN && number <= INT8_MAX;
}

static int match(const struct cpu_part *p, const bt_node *node, struct fixed *out)
{
    const int64_t most_half = INT64_C(1) << 61;
    bt_linear l;
    *out = (struct fixed){ .times = 1 };
    if ((node->dtype != BT_UINT8 && node->dtype != BT_INT8) ||
        node->kind != BT_NODE_CAST || node->args[0]->dtype != BT_INT64)
        return 0;
    const bt_node *rest = cpu_once(p, node->args[0]);
    const int is_least_last = is_scalar(rest, BT_SCALAR_MAX);
    const uint32_t last = is_least_last ? BT_SCALAR_MAX : BT_SCALAR_MIN;
    const uint32_t first = is_least_last ? BT_SCALAR_MIN : BT_SCALAR_MAX;
    rest = take_bound(p, rest, last, is_least_last ? &out->low : &out->high);
    rest = take_bound(p, rest, first, is_least_last ? &out->high : &out->low);
    if (!rest || out->low > out->high || !is_code(out->low, node->dtype) ||
        !is_code(out->high, node->dtype))
        return 0;
    bt_node_as_linear(rest, &l);
    out->zero = l.constant;
    rest = l.n == 1 && l.coefs[0] == 1 ? cpu_once(p, l.atoms[0]) : NULL;
    if (!is_scalar(rest, BT_SCALAR_SHIFT_RIGHT))
        return 0;
    out->shift = rest->args[1];
    return read_number(p, cpu_once(p, rest->args[0]), out) && out->half >= -1 &&
           out->half < most_half && cpu_is_varying(p->lanes, out->sum);
}

/* As int64, one for all or of each lane. */
static int evaluate(struct cpu_part *p, const bt_node *node, int is_strip,
                    struct cpu_value *out)
{
    struct cpu_value value;
    return cpu_eval(p, node, &value) && cpu_convert(p, BT_INT64, is_strip, &value, out);
}

int cpu_make_fixed(struct cpu_part *p, const bt_node *node, const struct cpu_value *to,
                   struct cpu_value *out, int *is_made)
{
    struct fixed f;
    *is_made = match(p, node, &f);
    if (!*is_made)
        return 1;
    bt_graph *g = p->lanes->v->graph;
    const bt_node *m = f.m ? f.m : bt_node_int(g, f.times);
    struct cpu_call call = { .naddress = 4, .ninteger = 4 };
    const int is_strip =
        m && (cpu_is_varying(p->lanes, m) || cpu_is_varying(p->lanes, f.shift));
    if (!m || !cpu_eval(p, f.sum, &call.at[1]) ||
        !evaluate(p, m, is_strip, &call.at[2]) ||
        !evaluate(p, f.shift, is_strip, &call.at[3]))
        return 0;
    cpu_drop(p, f.sum);
    call.integers[0] = bt_node_int(g, f.half);
    call.integers[1] = bt_node_int(g, f.zero);
    call.integers[2] = bt_node_int(g, f.low);
    call.integers[3] = bt_node_int(g, f.high);
    call.name = cpu_strip_name(p->lanes->v,
                               node->dtype == BT_UINT8 ? "fixed_uint8" : "fixed_int8",
                               BT_INT32, is_strip ? "" : ".s");
    if (!call.name || !cpu_place(p, node->dtype, 1, to, out))
        return 0;
    call.at[0] = *out;
    return cpu_emit(p, &call, 1);
}
