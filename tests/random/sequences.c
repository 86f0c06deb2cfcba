/*
 * Loops over a sequence: a sum of products of each of its slices with a matrix. Numbers are
 * such that float32 holds each product exactly, so that products which a pass computes
 * together have the same bits.
 */
#include "maker.h"

#include <stdio.h>

struct sequence {
    int64_t dims[3]; /* lines and units of the result; how much a product sums over */
    int64_t steps, bound;
    uint32_t axis;      /* along which the slices lie */
    int is_backward;    /* the last slice is the first */
    int is_weight_last; /* else the slice is the second operand of the product */
};

static const double integers[] = { -2, -1, 0, 1, 2, 3 };

/* Slices or the matrix: rows of the product's first, or of its second operand. */
static bt_status make_operand(struct maker *m, const struct sequence *s, int is_sequence,
                              const bt_value **out)
{
    int64_t dims[3] = { s->dims[is_sequence != s->is_weight_last], s->dims[2] };
    for (uint32_t i = 2; is_sequence && i > s->axis; i--)
        dims[i] = dims[i - 1];
    if (is_sequence)
        dims[s->axis] = s->steps;
    return make_numbers(m, is_sequence ? 3 : 2, dims, integers, BT_COUNT(integers), out);
}

/* x + product of slice i */
static bt_status make_step(struct maker *m, const struct sequence *s,
                           const bt_value *const *operands, const bt_value *i,
                           const bt_value *x, const bt_value **out)
{
    static const char *const modes[] = { "clip", "wrap" };
    const bt_value *last, *slice, *product;
    char attrs[64];
    snprintf(attrs, sizeof(attrs), "axis=%u, mode=\"%s\"", s->axis, modes[below(m, 2)]);
    if (s->is_backward) {
        BT_TRY(bt_build_scalar(m->builder, BT_INT64, (double)s->steps - 1, &last));
        BT_TRY(call_op(m, "subtract", NULL, last, i, &i));
    }
    BT_TRY(call_op(m, "take", attrs, operands[0], i, &slice));
    BT_TRY(s->is_weight_last
               ? call_op(m, "nn.dense", NULL, slice, operands[1], &product)
               : call_op(m, "nn.dense", NULL, operands[1], slice, &product));
    return call_op(m, "add", NULL, x, product, out);
}

/* loop(i, x) = if (i < bound) { loop(i + 1, step) } else { x } */
static bt_status make_body(struct maker *m, const struct sequence *s,
                           const bt_value *const *operands, const bt_value *loop,
                           const bt_param *const *params, const bt_block **out)
{
    const bt_value *one, *bound, *goes_on, *args[2], *result;
    const bt_block *again, *stop;
    BT_TRY(bt_block_begin(m->builder, 2, params));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, 1, &one));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, (double)s->bound, &bound));
    BT_TRY(call_op(m, "less", NULL, &params[0]->base, bound, &goes_on));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(make_step(m, s, operands, &params[0]->base, &params[1]->base, &args[1]));
    BT_TRY(call_op(m, "add", NULL, &params[0]->base, one, &args[0]));
    BT_TRY(call_value(m, loop, 2, args, &result));
    BT_TRY(bt_block_end(m->builder, result, &again));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(bt_block_end(m->builder, &params[1]->base, &stop));
    BT_TRY(bt_build_if(m->builder, goes_on, again, stop, &result));
    return bt_block_end(m->builder, result, out);
}

/* Matrices of floats whose dims are numbers only. */
bt_status make_sequence(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    struct sequence s = { .dims = { 0, 0, 1 + below(m, 4) },
                          .steps = 1 + below(m, 4),
                          .axis = below(m, 3),
                          .is_backward = (int)below(m, 2),
                          .is_weight_last = (int)below(m, 2) };
    const bt_value *operands[2], *loop, *first, *args[2];
    const bt_param *params[2];
    const bt_block *block;
    if (m->is_chain || dtype_of(type) != BT_FLOAT32 || shape->n != 2 ||
        !bt_dim_is_const(shape->dims[0], &s.dims[0]) ||
        !bt_dim_is_const(shape->dims[1], &s.dims[1]))
        return make_unary(m, type, out);
    s.bound = s.steps + (int64_t)below(m, 5) - 1;
    BT_TRY(make_operand(m, &s, 1, &operands[0]));
    BT_TRY(make_operand(m, &s, 0, &operands[1]));
    BT_TRY(make(m, type, &first));
    BT_TRY(declare_loop(m, type, &loop, params));
    BT_TRY(make_body(m, &s, operands, loop, params, &block));
    BT_TRY(end_loop(m, loop, type, block));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, 0, &args[0]));
    args[1] = first;
    return call_value(m, loop, 2, args, out);
}
