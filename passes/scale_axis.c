#include "scale_axis.h"

#include <math.h>
#include <string.h>

/* ---- factors ---- */

static int is_float(const bt_type *type)
{
    uint32_t class_ = BT_DTYPE_CLASS(bt_tensor_dtype(type));
    return class_ == BT_CLASS_FLOAT || class_ == BT_CLASS_BFLOAT;
}

/* 0: some number is infinite or NaN. */
static int read_signs(const bt_tensor *tensor, struct scale *out)
{
    out->is_positive = out->is_nonzero = 1;
    for (int64_t i = 0; i < tensor->nelem; i++) {
        double number = bt_tensor_get(tensor, i);
        if (!isfinite(number))
            return 0;
        out->is_positive &= number > 0;
        out->is_nonzero &= number != 0;
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

int scale_is_along(const struct scale *s, const bt_value *constant, uint32_t rank)
{
    const bt_tensor *tensor = bt_const_tensor(constant);
    if (!tensor)
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

enum { ANY_SIGN, POSITIVE };

/* Operators on floats, of one operand besides attributes; `layout`: the attribute that
 * says which axes are not space; NULL: none are. */
static const struct passage {
    const char *op, *layout;
    int sign;
} passages[] = {
    { "nn.relu", NULL, POSITIVE },
    { "nn.leaky_relu", NULL, POSITIVE },
    { "copy", NULL, ANY_SIGN },
    { "negative", NULL, ANY_SIGN },
    { "nn.max_pool1d", "layout", POSITIVE },
    { "nn.max_pool2d", "layout", POSITIVE },
    { "nn.max_pool3d", "layout", POSITIVE },
    { "nn.global_max_pool2d", "layout", POSITIVE },
    { "nn.adaptive_max_pool2d", "layout", POSITIVE },
    { "nn.avg_pool1d", "layout", ANY_SIGN },
    { "nn.avg_pool2d", "layout", ANY_SIGN },
    { "nn.avg_pool3d", "layout", ANY_SIGN },
    { "nn.global_avg_pool2d", "layout", ANY_SIGN },
    { "nn.adaptive_avg_pool2d", "layout", ANY_SIGN },
};

/* Whether the factor lies along the channels, where every axis of space is summed or
 * compared over. */
static int is_along_channels(const bt_call *call, const char *attr, const struct scale *s)
{
    return s->n == 1 || layout_axis(call_text(call, attr), 'C',
                                    type_rank(call->base.type)) == (int)s->axis;
}

static int is_zero(const bt_value *value)
{
    const bt_tensor *tensor = bt_const_tensor(value);
    return tensor && tensor->nelem == 1 && bt_tensor_get(tensor, 0) == 0;
}

/* New elements are zero, or like others of their channel; none are new channels. */
static int passes_pad(const bt_call *call, const struct scale *s)
{
    const bt_ints *width = bt_attr_find(call->op, call->attrs, "pad_width", BT_ATTR_INTS);
    uint32_t at = 2 * s->axis;
    if (!bt_as_op_call(&call->base, "nn.pad") || !width ||
        (call->narg == 2 && !is_zero(call->args[1])))
        return 0;
    return s->n == 1 ||
           (width->n > at + 1 && width->at[at] == 0 && width->at[at + 1] == 0);
}

int scale_passes(const bt_call *call, const struct scale *s)
{
    if (call->callee_kind != BT_CALLEE_OP || call->ncheck || call->narg == 0 ||
        !type_rank(call->base.type) || !is_float(call->base.type) ||
        bt_tensor_dtype(call->args[0]->type) != bt_tensor_dtype(call->base.type))
        return 0;
    for (uint32_t i = 0; i < BT_COUNT(passages); i++) {
        const struct passage *p = &passages[i];
        if (strcmp(call->op->name, p->op) == 0)
            return (p->sign == ANY_SIGN || s->is_positive) &&
                   (!p->layout || is_along_channels(call, p->layout, s));
    }
    return passes_pad(call, s);
}

/* ---- layers ---- */

/* Layers, and the letters of their weights' axes that hold the channels of the data and
 * of the result. */
static const struct layer {
    const char *op;
    char in, out;        /* 0: axes 1 and 0 of a matrix */
    int is_out_in_group; /* with groups, that axis holds the channels of one */
} layers[] = {
    { "nn.conv1d", 'I', 'O', 0 },
    { "nn.conv2d", 'I', 'O', 0 },
    { "nn.conv3d", 'I', 'O', 0 },
    { "nn.conv1d_transpose", 'I', 'O', 1 },
    { "nn.conv2d_transpose", 'I', 'O', 1 },
    { "nn.conv3d_transpose", 'I', 'O', 1 },
    { "nn.dense", 0, 0, 0 },
};

/* Where the channels are: of the tensor that the factor lies along, of the weight. */
struct channels {
    int axis, in, out;
    int is_in_group; /* the weight's axis has the channels of one group */
};

static const struct layer *find_layer(const bt_call *call)
{
    for (uint32_t i = 0; call->callee_kind == BT_CALLEE_OP && i < BT_COUNT(layers); i++) {
        if (strcmp(call->op->name, layers[i].op) == 0)
            return &layers[i];
    }
    return NULL;
}

static int find_channels(const bt_call *call, int is_input, struct channels *out)
{
    const struct layer *layer = find_layer(call);
    uint32_t rank = type_rank(call->base.type);
    if (!layer || !rank || call->ncheck || !type_rank(call->args[0]->type) ||
        !type_rank(call->args[1]->type))
        return 0;
    *out = (struct channels){ (int)rank - 1, 1, 0, 0 };
    if (!layer->in)
        return 1;
    const char *data = call_text(call, "data_layout");
    const char *result = call_text(call, "out_layout");
    const char *kernel = call_text(call, "kernel_layout");
    out->axis = layout_axis(is_input || !*result ? data : result, 'C', rank);
    out->in = layout_axis(kernel, layer->in, rank);
    out->out = layout_axis(kernel, layer->out, rank);
    out->is_in_group =
        call_int(call, "groups", 1) != 1 && layer->is_out_in_group == !is_input;
    return out->axis >= 0 && out->in >= 0 && out->out >= 0;
}

int scale_layer_takes(const bt_call *call, const struct scale *s, int is_input)
{
    struct channels at;
    return find_channels(call, is_input, &at) && bt_const_tensor(call->args[1]) &&
           (s->n == 1 || (uint32_t)at.axis == s->axis) &&
           bt_tensor_dtype(call->args[1]->type) == bt_tensor_dtype(call->base.type) &&
           bt_tensor_dtype(call->args[0]->type) == bt_tensor_dtype(call->base.type);
}

/* The factor of a grouped weight whose axis `part` has the channels of one group, while
 * axis `whole` has those of all: element [w, p] is that of channel p of w's group. */
static const bt_value *spread(struct chain *c, const bt_call *call, const struct scale *s,
                              uint32_t whole, uint32_t part)
{
    const bt_tensor *weight = bt_const_tensor(call->args[1]);
    long long groups = call_int(call, "groups", 1), columns = weight->dims[part];
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
    if (!find_channels(call, is_input, &at))
        return NULL;
    uint32_t rank = type_rank(call->args[1]->type);
    uint32_t along = (uint32_t)(is_input ? at.in : at.out);
    const bt_value *factor = s->vector;
    if (s->n != 1)
        factor = at.is_in_group
                     ? spread(c, call, s, (uint32_t)(is_input ? at.out : at.in), along)
                     : chain_along(c, factor, rank, along);
    return chain_op2(c, "multiply", NULL, weight, factor);
}
