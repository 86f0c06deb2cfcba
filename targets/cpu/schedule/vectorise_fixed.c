/*
 * Codes of 8 bits of integer sums by fixed point, as Relay's qnn.requantize ends with them, in one call:
 *
 *     uint8(min(max(moved + zero, low), high))
 *
 * of one of these (primitives/fixed.h), where x is int64(sum) * m, and half a number or
 * shift_right(shift_left(1, s), 1):
 *
 *     shift_right(x + half, s)
 *     select(x < 0, -shift_right(half - x, s), shift_right(x + half, s))
 *     shift_right(x + half - 1 + bit_and(shift_right(x, s), 1), s)           of one s
 *
 * The second is also of gemmlowp's x, which is rounded and moved down itself.
 */
#include "lanes.h"
#include "primitives/fixed.h"

struct fixed {
    const bt_node *sum, *m, *shift; /* m NULL: `times`; shift NULL: `by` */
    int64_t times, by, half, zero, low, high, rounding;
};

/* What is moved down: a node, so often, and what is added. */
struct number {
    const bt_node *node;
    int64_t times, half; /* -1: half of 2^s */
};

static int is_wide_sum(const bt_node *node)
{
    return node && node->kind == BT_NODE_CAST && node->dtype == BT_INT64 &&
           node->args[0]->dtype == BT_INT32;
}

/* Of an operation of a node and a number, both; NULL: it is none. */
static const bt_node *take_number(const bt_node *node, uint32_t which, int64_t *number)
{
    node = node ? cpu_bare(node) : NULL;
    for (uint32_t i = 0; cpu_is_scalar(node, which) && i < 2; i++) {
        if (bt_node_is_const(cpu_bare(node->args[i]), number))
            return cpu_bare(node->args[1 - i]);
    }
    return NULL;
}

/* Of bounds, the one before the other, what is between them. */
static const bt_node *take_bounds(const bt_node *node, int64_t *low, int64_t *high)
{
    const bt_node *rest = take_number(node, BT_SCALAR_MIN, high);
    if (rest)
        return take_number(rest, BT_SCALAR_MAX, low);
    rest = take_number(node, BT_SCALAR_MAX, low);
    return take_number(rest, BT_SCALAR_MIN, high);
}

/* Whether it is half of 2^s. */
static int is_half(const bt_node *node, const bt_node *shift)
{
    int64_t one, by;
    if (!cpu_is_scalar(node, BT_SCALAR_SHIFT_RIGHT) ||
        !bt_node_is_const(node->args[1], &one) || one != 1)
        return 0;
    const bt_node *power = cpu_bare(node->args[0]);
    return cpu_is_scalar(power, BT_SCALAR_SHIFT_LEFT) &&
           bt_node_is_const(power->args[0], &by) && by == 1 &&
           cpu_bare(power->args[1]) == cpu_bare(shift);
}

/* `sign` times a number, and half of what is moved by. */
static int read_number(const bt_node *node, const bt_node *shift, int64_t sign,
                       struct number *out)
{
    bt_linear l;
    bt_node_as_linear(node, &l);
    *out = (struct number){ .half = l.constant };
    for (uint32_t i = 0; i < l.n; i++) {
        const bt_node *atom = cpu_bare(l.atoms[i]);
        if (l.n == 2 && !l.constant && l.coefs[i] == 1 && is_half(atom, shift)) {
            out->half = -1;
        } else if (!out->node) {
            out->node = atom;
            out->times = sign * l.coefs[i];
        } else {
            return 0;
        }
    }
    return out->node && l.constant >= 0;
}

static const bt_node *moved_down(const bt_node *node)
{
    node = cpu_bare(node);
    return cpu_is_scalar(node, BT_SCALAR_SHIFT_RIGHT) ? node : NULL;
}

/* Whether a condition says that so many times a node are below 0, of factors by which int32 stays exact. */
static int is_below(const bt_node *node, const struct number *x)
{
    int64_t zero;
    bt_linear l;
    node = cpu_bare(node);
    if (cpu_is_scalar(node, BT_SCALAR_LT))
        return x->times == 1 && cpu_bare(node->args[0]) == x->node &&
               bt_node_is_const(cpu_bare(node->args[1]), &zero) && zero == 0;
    if (!cpu_is_scalar(node, BT_SCALAR_LE) || !bt_node_is_const(node->args[0], &zero) ||
        zero != 0 || x->times <= 0 || x->times > INT32_MAX)
        return 0;
    bt_node_as_linear(node->args[1], &l);
    return l.n == 1 && l.constant == -1 && l.coefs[0] == -1 &&
           cpu_bare(l.atoms[0]) == x->node;
}

/* Of a choice between a number and what it is without its sign, the number; NULL: it is none. */
static const bt_node *read_away(const bt_node *node, struct number *out)
{
    struct number turned;
    bt_linear l;
    if (node->kind != BT_NODE_SELECT)
        return NULL;
    bt_node_as_linear(cpu_bare(node->args[1]), &l);
    const bt_node *above = moved_down(node->args[2]);
    const bt_node *below =
        l.n == 1 && l.constant == 0 && l.coefs[0] == -1 ? moved_down(l.atoms[0]) : NULL;
    return above && below && above->args[1] == below->args[1] &&
                   read_number(above->args[0], above->args[1], 1, out) &&
                   read_number(below->args[0], below->args[1], -1, &turned) &&
                   turned.node == out->node && turned.times == out->times &&
                   turned.half == out->half && is_below(node->args[0], out)
               ? above
               : NULL;
}

/* The number to whose half the last bit that stays is added, moved by one number for all; NULL: it is
 * something else. */
static const bt_node *read_even(const bt_node *node, struct number *out)
{
    int64_t one = 0, by;
    bt_linear l, same;
    if (!bt_node_is_const(node->args[1], &by) || by < 1 || by > 61)
        return NULL;
    bt_node_as_linear(cpu_bare(node->args[0]), &l);
    if (l.n != 2 || l.constant != (INT64_C(1) << (by - 1)) - 1)
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const bt_node *whole = take_number(l.atoms[i], BT_SCALAR_BIT_AND, &one);
        whole = whole && one == 1 && l.coefs[i] == 1 ? moved_down(whole) : NULL;
        if (!whole || cpu_bare(whole->args[1]) != cpu_bare(node->args[1]))
            continue;
        bt_node_as_linear(cpu_bare(whole->args[0]), &same);
        *out = (struct number){ cpu_bare(l.atoms[1 - i]), l.coefs[1 - i], -1 };
        if (same.n == 1 && same.constant == 0 && same.coefs[0] == out->times &&
            cpu_bare(same.atoms[0]) == out->node)
            return node;
    }
    return NULL;
}

/* The sum, or what is made of it, by its factor. */
static const bt_node *read_product(const struct number *x, struct fixed *out)
{
    const bt_node *node = x->node;
    out->times = x->times;
    out->m = NULL;
    for (uint32_t i = 0; x->times == 1 && cpu_is_scalar(node, BT_SCALAR_MUL) && i < 2;
         i++) {
        const bt_node *of = cpu_bare(node->args[i]);
        if (is_wide_sum(of) || cpu_is_scalar(of, BT_SCALAR_MIN) ||
            cpu_is_scalar(of, BT_SCALAR_MAX)) {
            out->m = node->args[1 - i];
            return of;
        }
    }
    return node;
}

/* Whether a node is max(sign * s - sign * 31, 0) of *s, which is found where it is NULL. */
static int is_beyond_31(const bt_node *node, int64_t sign, const bt_node **s)
{
    int64_t zero = -1;
    bt_linear l;
    const bt_node *beyond = take_number(node, BT_SCALAR_MAX, &zero);
    if (!beyond || zero != 0)
        return 0;
    bt_node_as_linear(beyond, &l);
    if (l.n != 1 || l.coefs[0] != sign || l.constant != -31 * sign)
        return 0;
    *s = *s ? *s : cpu_bare(l.atoms[0]);
    return cpu_bare(l.atoms[0]) == *s;
}

/* From two shifts and half of the second one. */
static int read_shifts(const bt_node *left, const bt_node *right, int64_t half,
                       struct fixed *out)
{
    int64_t up, down;
    out->shift = NULL;
    if (!bt_node_is_const(left, &up) || !bt_node_is_const(right, &down))
        return half == -1 && is_beyond_31(left, -1, &out->shift) &&
               is_beyond_31(right, 1, &out->shift);
    out->by = 31 + down - up;
    return up >= 0 && up <= 31 && down >= 0 && down <= 31 && (!up || !down) &&
           (half == -1 || half == INT64_C(1) << down >> 1);
}

/* gemmlowp's number, whose own half has been read. */
static int read_gemmlowp(const struct number *x, const bt_node *right, struct fixed *out)
{
    int64_t by = 0, low = 0, high = 0;
    struct number doubled;
    const bt_node *node = x->times == 1 ? moved_down(x->node) : NULL;
    if (!node || !bt_node_is_const(node->args[1], &by) || by != 31 ||
        !read_number(cpu_bare(node->args[0]), node->args[1], 1, &doubled) ||
        doubled.half != 1 << 30)
        return 0;
    const bt_node *limited = take_bounds(read_product(&doubled, out), &low, &high);
    if (!cpu_is_scalar(limited, BT_SCALAR_SHIFT_LEFT) || low != INT32_MIN ||
        high != INT32_MAX)
        return 0;
    const bt_node *sum = cpu_bare(limited->args[0]);
    out->rounding = CPU_FIXED_GEMMLOWP;
    out->half = -1;
    out->sum = is_wide_sum(sum) ? sum->args[0] : NULL;
    return out->sum &&
           read_shifts(cpu_bare(limited->args[1]), cpu_bare(right), x->half, out);
}

static int read_moved(const bt_node *node, struct fixed *out)
{
    struct number x;
    const bt_node *moved = moved_down(node);
    out->rounding = CPU_FIXED_UP;
    if (!moved) {
        out->rounding = CPU_FIXED_AWAY;
        moved = read_away(cpu_bare(node), &x);
    } else if (!read_number(cpu_bare(moved->args[0]), moved->args[1], 1, &x)) {
        out->rounding = CPU_FIXED_EVEN;
        moved = read_even(moved, &x);
    }
    if (!moved)
        return 0;
    struct fixed gemmlowp = *out;
    if (out->rounding == CPU_FIXED_AWAY && read_gemmlowp(&x, moved->args[1], &gemmlowp)) {
        *out = gemmlowp;
        return 1;
    }
    out->shift = moved->args[1];
    out->half = x.half;
    const bt_node *sum = read_product(&x, out);
    out->sum = is_wide_sum(sum) ? sum->args[0] : NULL;
    return out->sum != NULL;
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
    const bt_node *rest = take_bounds(cpu_once(p, node->args[0]), &out->low, &out->high);
    if (!rest || out->low > out->high || !is_code(out->low, node->dtype) ||
        !is_code(out->high, node->dtype))
        return 0;
    bt_node_as_linear(rest, &l);
    out->zero = l.constant;
    return l.n == 1 && l.coefs[0] == 1 && read_moved(l.atoms[0], out) &&
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
    const bt_node *shift = f.shift ? f.shift : bt_node_int(g, f.by);
    struct cpu_call call = { .naddress = 4, .ninteger = 5 };
    const int is_strip =
        m && (cpu_is_varying(p->lanes, m) || cpu_is_varying(p->lanes, shift));
    if (!m || !shift || !cpu_eval(p, f.sum, &call.at[1]) ||
        !evaluate(p, m, is_strip, &call.at[2]) ||
        !evaluate(p, shift, is_strip, &call.at[3]))
        return 0;
    cpu_drop(p, f.sum);
    const int64_t integers[] = { f.half, f.zero, f.low, f.high, f.rounding };
    for (uint32_t i = 0; i < call.ninteger; i++)
        call.integers[i] = bt_node_int(g, integers[i]);
    call.name = cpu_strip_name(p->lanes->v,
                               node->dtype == BT_UINT8 ? "fixed_uint8" : "fixed_int8",
                               BT_INT32, is_strip ? "" : ".s");
    if (!call.name || !cpu_place(p, node->dtype, 1, to, out))
        return 0;
    call.at[0] = *out;
    return cpu_emit(p, &call, 1);
}
