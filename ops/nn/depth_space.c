/*
 * nn.depth_to_space, nn.space_to_depth: channels become blocks of space, and back.
 *     nn.depth_to_space   y[n, c, h*b + i, w*b + j] = data[n, (i*b + j)*C + c, h, w]
 *                         mode CDR:                   data[n, c*b*b + i*b + j, h, w]
 *     nn.space_to_depth   y[n, (i*b + j)*C + c, h, w] = data[n, c, h*b + i, w*b + j]
 * source  Relay's operators of the same names; ONNX DepthToSpace-13, SpaceToDepth-13
 */
#include <string.h>

#include "window.h"

struct attrs {
    int64_t block_size;
    const char *layout, *mode;
};
#define BLOCK_ATTRS(modes_)                                                           \
    {                                                                                 \
        BT_ATTR_RANGE(struct attrs, block_size, INT, "1", 1, INT16_MAX,               \
                      "extent of a block along both axes of space"),                  \
            BT_ATTR(struct attrs, layout, STRING, "NCHW", "order of the axes"),       \
            BT_ATTR_CHOICE(struct attrs, mode, "DCR", modes_,                         \
                           "what counts fastest along channels: the channel, or the " \
                           "place in the block"),                                     \
            { 0 },                                                                    \
    }
static const bt_attr depth_attrs[] = BLOCK_ATTRS("DCR|CDR");
static const bt_attr space_attrs[] = BLOCK_ATTRS("DCR");

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "batch, channels, height, width" },
    { 0 },
};

static int gives_space(const bt_op *op)
{
    return strcmp(op->name, "nn.depth_to_space") == 0;
}

/* dim divided by `by`, which must divide it. */
static bt_status divided(bt_solver *s, const bt_relation_call *r, const bt_type *dim,
                         int64_t by, const char *what, const bt_type **out)
{
    bt_store *store = bt_relation_store(s);
    const bt_type *known, *divisor = bt_dim(store, by);
    BT_TRY(bt_relation_dim(s, r, dim, &known));
    *out = divisor ? bt_dim_floordiv(store, known, divisor) : NULL;
    return *out ? bt_relation_require(s, r, BT_CHECK_DIVISIBLE, known, divisor, what)
                : bt_no_memory();
}

static bt_status multiplied(bt_solver *s, const bt_relation_call *r, const bt_type *dim,
                            int64_t by, const bt_type **out)
{
    const bt_type *known;
    BT_TRY(bt_relation_dim(s, r, dim, &known));
    *out = bt_dim_scale(bt_relation_store(s), known, by, 0);
    return *out ? NULL : bt_no_memory();
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    struct layout l;
    bt_tensor_parts data;
    const bt_type *dims[4];
    int64_t b = a->block_size;
    BT_TRY(layout_relate(s, r, "layout", a->layout, "NC", 2, &l));
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 4, &data));
    dims[l.first] = data.dims[l.first];
    if (gives_space(r->op)) {
        BT_TRY(divided(s, r, data.dims[l.second], b * b,
                       "channels and the elements of a block", &dims[l.second]));
        for (uint32_t i = 0; i < 2; i++)
            BT_TRY(multiplied(s, r, data.dims[l.space[i]], b, &dims[l.space[i]]));
    } else {
        BT_TRY(multiplied(s, r, data.dims[l.second], b * b, &dims[l.second]));
        for (uint32_t i = 0; i < 2; i++)
            BT_TRY(divided(s, r, data.dims[l.space[i]], b,
                           "an axis of space and block_size", &dims[l.space[i]]));
    }
    return bt_relation_result_tensor(s, r, 4, dims, data.dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    struct layout l;
    long long b = (long long)a->block_size;
    layout_read(a->layout, 'N', 'C', 2, &l);
    bt_formula_set(f, "y", l.first, "n");
    bt_formula_set(f, "at", l.first, "n");
    if (gives_space(call->op)) {
        bt_formula_add(f, "d = floordiv(extent(data, %u), %lld);\n", l.second, b * b);
        bt_formula_set(f, "y", l.second, "c in d");
        if (strcmp(a->mode, "DCR") == 0)
            bt_formula_set(f, "at", l.second,
                           "(mod(p0, %lld)*%lld + mod(p1, %lld))*d + c", b, b, b);
        else
            bt_formula_set(f, "at", l.second,
                           "mod(p0, %lld)*%lld + mod(p1, %lld) + c*%lld", b, b, b, b * b);
        for (uint32_t i = 0; i < 2; i++) {
            bt_formula_set(f, "y", l.space[i], "p%u in extent(data, %u)*%lld", i,
                           l.space[i], b);
            bt_formula_set(f, "at", l.space[i], "floordiv(p%u, %lld)", i, b);
        }
    } else {
        bt_formula_add(f, "d = extent(data, %u);\n", l.second);
        bt_formula_set(f, "y", l.second, "c in d*%lld", b * b);
        bt_formula_set(f, "at", l.second, "mod(c, d)");
        for (uint32_t i = 0; i < 2; i++)
            bt_formula_set(f, "y", l.space[i], "p%u in floordiv(extent(data, %u), %lld)",
                           i, l.space[i], b);
        bt_formula_set(f, "at", l.space[0], "p0*%lld + floordiv(floordiv(c, d), %lld)", b,
                       b);
        bt_formula_set(f, "at", l.space[1], "p1*%lld + mod(floordiv(c, d), %lld)", b, b);
    }
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

static const bt_op ops[] = {
    {
        .name = "nn.depth_to_space",
        .revision = 1,
        .doc = "Lays channels out as blocks of space.",
        .source = "Relay, nn.depth_to_space; ONNX DepthToSpace-13",
        .inputs = inputs,
        .attrs = depth_attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[1, 8, 2, 3] | block_size=2\n"
            "int8[2, 8, 2, 3] | block_size=2, mode=\"CDR\"\n"
            "float32[1, 2, 3, 9] | block_size=3, layout=\"NHWC\"\nbool[1, 2, 2, 2]")),
    },
    {
        .name = "nn.space_to_depth",
        .revision = 1,
        .doc = "Stacks blocks of space as channels.",
        .source = "Relay, nn.space_to_depth; ONNX SpaceToDepth-13",
        .inputs = inputs,
        .attrs = space_attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[1, 2, 4, 6] | block_size=2\n"
            "int8[2, 3, 6, 2] | block_size=3, layout=\"NHWC\"\nbool[1, 2, 2, 2]")),
    },
    { 0 },
};
const bt_table bt_ops_nn_depth_space[] = { BT_OPS(ops), { 0 } };
