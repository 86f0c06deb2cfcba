#include "simplify/scale_axis.h"

#include <float.h>
#include <math.h>

#include "common/layout.h"

/* ---- factors ---- */

static int is_float(const bt_type *type)
{
    return bt_dtype_is_float(bt_tensor_dtype(type));
}

/* 0: some number is infinite or NaN. */
static int read_signs(const bt_tensor *tensor, struct scale *out)
{
    out->is_positive = out->is_nonzero = 1;
    out->most = 0;
    out->least = INFINITY;
    for (int64_t i = 0; i < tensor->nelem; i++) {
        double number = bt_tensor_get(tensor, i);
        if (!isfinite(number))
            return 0;
        out->is_positive &= number > 0;
        out->is_nonzero &= number != 0;
        out->most = fmax(out->most, fabs(number));
        out->least = number != 0 ? fmin(out->least, fabs(number)) : out->least;
    }
    return 1;
}

int scale_of(const bt_call *call, struct scale *out)
{
    uint32_t rank = type_rank(call->base.type);
    if (!bt_as_op_call(&call->base, "multiply") || call->ncheck || !rank ||
        call->args[0]->type != call->base.type)
        return 0;
    const bt_tensor *tensor = bt_const_tensor(call->args[1]);
    if (!tensor || tensor->nelem == 0 || tensor->rank > rank)
        return 0;
    *out = (struct scale){ .n = tensor->nelem };
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] != 1)
            out->axis = i + (rank - tensor->rank);
    }
    return is_per_channel(call->args[1], rank, out->axis) && read_signs(tensor, out);
}

static const bt_value *as_vector(struct chain *c, const bt_value *constant)
{
    return chain_op1(c, "reshape",
                     bt_const_tensor(constant)->nelem == 1 ? "newshape=[1]"
                                                           : "newshape=[-1]",
                     constant);
}

int scale_build(struct chain *c, const bt_call *call, struct scale *out)
{
    if (!scale_of(call, out))
        return 0;
    out->vector = as_vector(c, call->args[1]);
    return 1;
}

static double greatest(bt_dtype dtype)
{
    return bt_dtype_is_small_float(dtype) ? bt_dtype_most(dtype)
           : dtype == BT_FLOAT64          ? DBL_MAX
                                          : FLT_MAX / 2;
}

/* Whether a constant times numbers of at most this magnitude stays finite in its type.
 * Factors that are not huge leave the wide types alone: then large weights need not be
 * looked at. */
static int stays_finite(const bt_tensor *tensor, double most)
{
    double room = greatest(tensor->dtype) / most;
    if (BT_DTYPE_BITS(tensor->dtype) > 16 && most < 1e9)
        return 1;
    for (int64_t i = 0; i < tensor->nelem; i++) {
        if (!(fabs(bt_tensor_get(tensor, i)) <= room))
            return 0;
    }
    return 1;
}

int scale_product_fits(const struct scale *a, const struct scale *b, const bt_type *type)
{
    return a->most * b->most <= greatest(bt_tensor_dtype(type));
}

int scale_is_along(const struct scale *s, const bt_value *constant, uint32_t rank,
                   int divides)
{
    const bt_tensor *tensor = bt_const_tensor(constant);
    if (!tensor || !stays_finite(tensor, divides ? 1 / s->least : s->most))
        return 0;
    return s->n == 1 ? tensor->rank <= rank && tensor->nelem > 0
                     : is_per_channel(constant, rank, s->axis);
}

const bt_value *scale_constant(struct chain *c, const char *op, const bt_value *constant,
                               const struct scale *s, uint32_t rank)
{
    return chain_op2(c, op, NULL, constant,
                     s->n == 1 ? s->vector : chain_along(c, s->vector, rank, s->axis));
}

/* ---- what a factor passes through ---- */

/* The table of a facet; NULL: the operator has none, or the status says why not. */
static const void *facet_of(struct traits *t, const bt_call *call, const char *name)
{
    const void *facet = NULL;
    if (t->status || call->callee_kind != BT_CALLEE_OP || call->ncheck ||
        call->narg == 0 || !type_rank(call->base.type))
        return NULL;
    t->status = bt_op_facet(t->ctx, call->op, name, &facet);
    return t->status ? NULL : facet;
}

static const bt_scale_facet *scale_facet(struct traits *t, const bt_call *call)
{
    return call->narg && is_float(call->base.type) &&
                   bt_tensor_dtype(call->args[0]->type) ==
                       bt_tensor_dtype(call->base.type)
               ? facet_of(t, call, "scale")
               : NULL;
}

int scale_is_sum(struct traits *t, const bt_call *call)
{
    const bt_scale_facet *facet = scale_facet(t, call);
    return facet && facet->is_sum && call->narg == 2 &&
           call->args[0]->type == call->base.type;
}

int scale_passes(struct traits *t, const bt_call *call, const struct scale *s)
{
    const bt_scale_facet *facet = scale_facet(t, call);
    int axis = s->n == 1 ? -1 : (int)s->axis;
    if (!facet || facet->is_sum ||
        (facet->factors == BT_SCALE_POSITIVE && !s->is_positive))
        return 0;
    if (facet->layout && axis >= 0 &&
        layout_axis(bt_call_text(call, facet->layout), 'C', type_rank(call->base.type)) !=
            axis)
        return 0;
    return !facet->passes || facet->passes(call, axis);
}

/* ---- layers ---- */

const bt_channels_facet *layer_of(struct traits *t, const bt_call *call, int is_input,
                                  struct channels *out)
{
    const bt_channels_facet *facet = facet_of(t, call, "channels");
    uint32_t rank = type_rank(call->base.type);
    if (!facet || call->narg != 2 || !type_rank(call->args[0]->type) ||
        !type_rank(call->args[1]->type))
        return NULL;
    *out = (struct channels){ (int)rank - 1, 1, 0, 1, 0 };
    if (!facet->data)
        return facet;
    const char *data = bt_call_text(call, facet->data);
    const char *result = facet->result ? bt_call_text(call, facet->result) : "";
    const char *weight = bt_call_text(call, facet->weight);
    out->axis = layout_axis(is_input || !*result ? data : result, 'C', rank);
    out->in = layout_axis(weight, 'I', rank);
    out->out = layout_axis(weight, 'O', rank);
    out->groups = facet->groups ? bt_call_int(call, facet->groups, 1) : 1;
    out->is_in_group = out->groups != 1 && (int)facet->is_grouped_out == !is_input;
    return out->axis >= 0 && out->in >= 0 && out->out >= 0 ? facet : NULL;
}

int scale_layer_takes(struct traits *t, const bt_call *call, const struct scale *s,
                      int is_input)
{
    struct channels at;
    return layer_of(t, call, is_input, &at) && bt_const_tensor(call->args[1]) &&
           stays_finite(bt_const_tensor(call->args[1]), s->most) &&
           (s->n == 1 || (uint32_t)at.axis == s->axis) &&
           bt_tensor_dtype(call->args[1]->type) == bt_tensor_dtype(call->base.type) &&
           bt_tensor_dtype(call->args[0]->type) == bt_tensor_dtype(call->base.type);
}

/* The factor of a grouped weight whose axis `part` has the channels of one group, while
 * axis `whole` has those of all: element [w, p] is that of channel p of w's group. */
static const bt_value *spread(struct chain *c, const bt_tensor *weight, long long groups,
                              const struct scale *s, uint32_t whole, uint32_t part)
{
    long long columns = weight->dims[part];
    long long rows = weight->dims[whole] / groups;
    bt_arena *scratch = bt_ctx_scratch(bt_builder_ctx(c->builder));
    const void *mark = bt_arena_mark(scratch);
    bt_text dims;
    const bt_value *v =
        chain_op1f(c, s->vector, "reshape", "newshape=[%lld, 1, %lld]", groups, columns);
    v = chain_op1f(c, v, "broadcast_to", "shape=[%lld, %lld, %lld]", groups, rows,
                   columns);
    v = chain_op1f(c, v, "reshape", "newshape=[-1, %lld]", columns);
    if (whole > part)
        v = chain_op1(c, "transpose", "axes=[1, 0]", v);
    bt_text_init(&dims, scratch);
    for (uint32_t i = 0; i < weight->rank; i++)
        bt_text_addf(&dims, "%s%lld", i ? ", " : "",
                     i == whole || i == part ? (long long)weight->dims[i] : 1LL);
    if (!bt_text_get(&dims) && !c->status)
        c->status = bt_no_memory();
    if (!c->status)
        v = chain_op1f(c, v, "reshape", "newshape=[%s]", bt_text_get(&dims));
    bt_arena_release(scratch, mark);
    return v;
}

const bt_value *scale_weight(struct chain *c, const bt_call *call, const bt_value *weight,
                             const struct scale *s, int is_input)
{
    struct channels at;
    struct traits t = { .ctx = bt_builder_ctx(c->builder) };
    if (c->status || !layer_of(&t, call, is_input, &at)) {
        c->status = c->status ? c->status : t.status;
        return NULL;
    }
    uint32_t rank = type_rank(call->args[1]->type);
    uint32_t along = (uint32_t)(is_input ? at.in : at.out);
    const bt_value *factor = s->vector;
    if (s->n != 1)
        factor = at.is_in_group ? spread(c, bt_const_tensor(call->args[1]), at.groups, s,
                                         (uint32_t)(is_input ? at.out : at.in), along)
                                : chain_along(c, factor, rank, along);
    return chain_op2(c, "multiply", NULL, weight, factor);
}
