/*
 * Codes of 8 bits, as layers of quantized networks end with them, in one call:
 *
 *     uint8(min(max(round_even(number) + zero, 0), 255))          as ONNX says it
 *     uint8(int32(min(max(round_even(number), low), high)) + zero)
 *
 * Which call it is depends on the number:
 *
 *     float32(sum) * factor                                               requantize_uint8.int32
 *     float32(int32(a) - 3) * 0.5 + float32(int32(b) - 7) * 0.25          sum_codes.uint8
 *     any other one                                                       encode_uint8.float32
 */
#include "lanes.h"

#include <math.h>

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
    for (uint32_t i = 0; cpu_is_scalar(node, which) && i < 2; i++) {
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

/* What is between the number, which is given, and its codes. NULL: it is something else. */
static const bt_node *match_rounded(const struct cpu_part *p, const bt_node *node,
                                    struct cpu_codes *out)
{
    double low, high, zero = 0;
    if ((node->dtype != BT_UINT8 && node->dtype != BT_INT8) || node->kind != BT_NODE_CAST)
        return NULL;
    const bt_node *rest = once(p, node->args[0]);
    const int is_added_last = rest && rest->dtype == BT_INT32;
    if (is_added_last) {
        (void)take_number(p, &rest, BT_SCALAR_ADD, &zero);
        rest = cast_from(rest, BT_FLOAT32) ? once(p, rest->args[0]) : NULL;
    }
    if (!rest || rest->dtype != BT_FLOAT32 ||
        !take_number(p, &rest, BT_SCALAR_MIN, &high) ||
        !take_number(p, &rest, BT_SCALAR_MAX, &low))
        return NULL;
    if (!is_added_last && take_number(p, &rest, BT_SCALAR_ADD, &zero)) {
        low -= zero;
        high -= zero;
    }
    if (!cpu_is_scalar(rest, BT_SCALAR_ROUND_EVEN) || !is_small(low) || !is_small(high) ||
        !is_small(zero) || low > high)
        return NULL;
    *out = (struct cpu_codes){ .low = low, .high = high, .zero = (int64_t)zero };
    out->of_nan = is_added_last ? 0 : -zero;
    // what else the numbers could come to when they are stored in 8 bits
    const double least = node->dtype == BT_UINT8 ? 0 : INT8_MIN;
    return low + zero >= least && high + zero <= least + UINT8_MAX &&
                   out->of_nan >= low && out->of_nan <= high
               ? rest->args[0]
               : NULL;
}

int cpu_match_codes(const struct cpu_part *p, const bt_node *node, struct cpu_codes *out)
{
    const bt_node *number = match_rounded(p, node, out);
    const bt_node *product = number ? once(p, number) : NULL;
    for (uint32_t i = 0; cpu_is_scalar(product, BT_SCALAR_MUL) && i < 2 && !out->sum;
         i++) {
        const bt_node *sum = cast_from(once(p, product->args[i]), BT_INT32);
        if (sum && (!p || cpu_is_varying(p->lanes, sum))) {
            out->sum = sum;
            out->factor = product->args[1 - i];
        }
    }
    return number && out->sum;
}

/* Of zeros of codes, with or without a sign. */
static int is_byte(double number)
{
    return number >= INT8_MIN && number <= UINT8_MAX;
}

static int put_number(struct cpu_part *p, bt_dtype dtype, double number,
                      struct cpu_value *out)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *node = bt_dtype_is_float(dtype)
                              ? bt_node_float(g, dtype, number)
                              : bt_node_cast(g, dtype, bt_node_int(g, (int64_t)number));
    return node && cpu_constant_new(p->lanes->v, node, out);
}

/* The bounds, from operand `at` on, and what is said of NaN and zero. */
static int put_numbers(struct cpu_part *p, const struct cpu_codes *codes,
                       struct cpu_value *at)
{
    return put_number(p, BT_FLOAT32, codes->low, &at[0]) &&
           put_number(p, BT_FLOAT32, codes->high, &at[1]) &&
           put_number(p, BT_FLOAT32, codes->of_nan, &at[2]) &&
           put_number(p, BT_INT32, (double)codes->zero, &at[3]);
}

static const char *name_of(struct cpu_part *p, const bt_node *node, const char *to_uint8,
                           const char *to_int8, bt_dtype dtype, const char *suffix)
{
    return cpu_strip_name(p->lanes->v, node->dtype == BT_UINT8 ? to_uint8 : to_int8,
                          dtype, suffix);
}

static int requantize(struct cpu_part *p, const bt_node *node,
                      const struct cpu_codes *codes, const struct cpu_value *to,
                      struct cpu_value *out)
{
    struct cpu_call call = { .naddress = 7 };
    if (!cpu_eval(p, codes->sum, &call.at[1]) ||
        !cpu_eval(p, codes->factor, &call.at[2]) || !put_numbers(p, codes, &call.at[3]))
        return 0;
    cpu_drop(p, codes->sum);
    cpu_drop(p, codes->factor);
    call.name = name_of(p, node, "requantize_uint8", "requantize_int8", BT_INT32,
                        call.at[2].is_strip ? "" : ".s");
    if (!call.name || !cpu_place(p, node->dtype, 1, to, out))
        return 0;
    call.at[0] = *out;
    return cpu_emit(p, &call, 1);
}

/* ---- sums of codes ---- */

/* (code - zero) * factor */
struct term {
    const bt_node *code;
    double by;
    int64_t zero;
};

/* Rounded to float64 and back, a float32 stays what it is. */
static const bt_node *without_wide(const struct cpu_part *p, const bt_node *node)
{
    const bt_node *wide = cast_from(node, BT_FLOAT64) ? once(p, node->args[0]) : NULL;
    const bt_node *same = cast_from(wide, BT_FLOAT32) ? once(p, wide->args[0]) : NULL;
    return same ? same : node;
}

static int read_term(const struct cpu_part *p, const bt_node *node, int is_less,
                     struct term *out)
{
    double zero = 0;
    *out = (struct term){ .by = 1 };
    node = node ? without_wide(p, node) : NULL;
    (void)take_number(p, &node, BT_SCALAR_MUL, &out->by);
    out->by = is_less ? -out->by : out->by;
    if (!node || node->dtype != BT_FLOAT32 || node->kind != BT_NODE_CAST ||
        node->args[0]->dtype != BT_INT32)
        return 0;
    node = once(p, node->args[0]);
    if (cpu_is_scalar(node, BT_SCALAR_SUB)) {
        const bt_node *at = cpu_bare(node->args[1]);
        zero = at->kind == BT_NODE_CONST ? (double)at->value.i : INFINITY;
        node = once(p, node->args[0]);
    }
    if (!node || node->kind != BT_NODE_CAST || node->dtype != BT_INT32)
        return 0;
    out->code = node->args[0];
    out->zero = (int64_t)(is_byte(zero) ? zero : 0);
    // of factors like these no product is infinite
    return is_byte(zero) && out->by > -1e30 && out->by < 1e30 &&
           (out->code->dtype == BT_UINT8 || out->code->dtype == BT_INT8) &&
           cpu_is_varying(p->lanes, out->code);
}

static int match_sum(const struct cpu_part *p, const bt_node *number, struct term *terms)
{
    const bt_node *sum = once(p, number);
    return (cpu_is_scalar(sum, BT_SCALAR_ADD) || cpu_is_scalar(sum, BT_SCALAR_SUB)) &&
           read_term(p, once(p, sum->args[0]), 0, &terms[0]) &&
           read_term(p, once(p, sum->args[1]), sum->which == BT_SCALAR_SUB, &terms[1]);
}

static int add(struct cpu_part *p, const bt_node *node, const struct cpu_codes *codes,
               const struct term *terms, const struct cpu_value *to,
               struct cpu_value *out)
{
    bt_graph *g = p->lanes->v->graph;
    struct cpu_call call = { .naddress = 7, .ninteger = 4 };
    int64_t signs = 0;
    for (uint32_t i = 0; i < 2; i++) {
        signs |= (int64_t)(terms[i].code->dtype == BT_INT8) << i;
        call.integers[i] = bt_node_int(g, terms[i].zero);
        if (!cpu_eval(p, terms[i].code, &call.at[1 + i]) ||
            !put_number(p, BT_FLOAT32, terms[i].by, &call.at[3 + i]))
            return 0;
    }
    call.integers[2] = bt_node_int(g, codes->zero);
    call.integers[3] = bt_node_int(g, signs);
    if (!put_number(p, BT_FLOAT32, codes->low, &call.at[5]) ||
        !put_number(p, BT_FLOAT32, codes->high, &call.at[6]))
        return 0;
    cpu_drop(p, terms[0].code);
    cpu_drop(p, terms[1].code);
    call.name = cpu_strip_name(p->lanes->v, "sum_codes", node->dtype, "");
    if (!call.name || !cpu_place(p, node->dtype, 1, to, out))
        return 0;
    call.at[0] = *out;
    return cpu_emit(p, &call, 1);
}

/* ---- all ---- */

static int encode(struct cpu_part *p, const bt_node *node, const bt_node *number,
                  const struct cpu_codes *codes, const struct cpu_value *to,
                  struct cpu_value *out)
{
    struct cpu_call call = { .naddress = 6 };
    if (!cpu_eval(p, number, &call.at[1]) || !put_numbers(p, codes, &call.at[2]))
        return 0;
    cpu_drop(p, number);
    call.name = name_of(p, node, "encode_uint8", "encode_int8", BT_FLOAT32, "");
    if (!call.name || !cpu_place(p, node->dtype, 1, to, out))
        return 0;
    call.at[0] = *out;
    return cpu_emit(p, &call, 1);
}

/* Whether int16 holds all that codes go through. */
static int is_short(const struct cpu_codes *codes)
{
    return codes->low >= INT16_MIN && codes->high <= INT16_MAX &&
           codes->zero >= INT16_MIN && codes->zero <= INT16_MAX;
}

int cpu_make_codes(struct cpu_part *p, const bt_node *node, const struct cpu_value *to,
                   struct cpu_value *out, int *is_made)
{
    struct cpu_codes codes;
    struct term terms[2];
    *is_made = 1;
    if (cpu_match_codes(p, node, &codes))
        return requantize(p, node, &codes, to, out);
    const bt_node *number = match_rounded(p, node, &codes);
    if (number && is_short(&codes) && match_sum(p, number, terms))
        return add(p, node, &codes, terms, to, out);
    if (number && cpu_is_varying(p->lanes, number))
        return encode(p, node, number, &codes, to, out);
    return cpu_make_fixed(p, node, to, out, is_made);
}
