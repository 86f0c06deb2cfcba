/*
 * Normalisations of small integers. What they give is rounded, and a pass that writes them
 * by arithmetic may round elsewhere; so only the sign goes on, which no rounding changes:
 * beta is 0, or greater than anything beside it.
 */
#include "maker.h"

static const double gammas[] = { -2, -1, -0.5, 0.5, 1, 2, 4 };
static const double betas[] = { -16, 0, 0, 16 };
static const double factors[] = { -2, -1, 1, 2 };

static bt_status normalise(struct maker *m, const char *op, const char *attrs,
                           int64_t nchannel, const bt_value *x, const bt_value **out)
{
    const bt_value *args[3] = { x }, *y;
    BT_TRY(make_numbers(m, 1, &nchannel, gammas, BT_COUNT(gammas), &args[1]));
    BT_TRY(make_numbers(m, 1, &nchannel, betas, BT_COUNT(betas), &args[2]));
    BT_TRY(bt_build(m->builder, op, attrs, args, 3, &y));
    return call_op(m, "sign", NULL, y, NULL, out);
}

/* Each element becomes two, so that a sample's channel has moments of its own. */
static bt_status make_instance_norm(struct maker *m, int64_t nchannel, const bt_value *x,
                                    const bt_value **out)
{
    const int64_t dims[] = { nchannel, 2 };
    const bt_value *factor;
    BT_TRY(make_numbers(m, 2, dims, factors, BT_COUNT(factors), &factor));
    BT_TRY(call_op(m, "expand_dims", "axis=2", x, NULL, &x));
    BT_TRY(call_op(m, "multiply", NULL, x, factor, &x));
    BT_TRY(normalise(m, "nn.instance_norm", "axis=1", nchannel, x, &x));
    return call_op(m, "max", "axis=[2]", x, NULL, out);
}

/* Matrices of floats only; the last axis has the channels. */
bt_status make_norm(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t nchannel;
    const bt_value *x;
    if (dtype_of(type) != BT_FLOAT32 || shape->n != 2 ||
        !bt_dim_is_const(shape->dims[1], &nchannel))
        return make_unary(m, type, out);
    BT_TRY(make(m, type, &x));
    BT_TRY(call_op(m, "clip", "a_min=-4.0, a_max=4.0", x, NULL, &x));
    BT_TRY(call_op(m, "floor", NULL, x, NULL, &x));
    switch (below(m, 3)) {
    case 0: return normalise(m, "nn.layer_norm", "axis=-1", nchannel, x, out);
    case 1:
        return normalise(m, "nn.group_norm", "num_groups=1, axis=1", nchannel, x, out);
    default: return make_instance_norm(m, nchannel, x, out);
    }
}
