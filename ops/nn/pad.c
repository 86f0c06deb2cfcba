/*
 * nn.pad, nn.mirror_pad: more elements at the ends of axes.
 *     nn.pad constant      a a a [a b c] a a a   with a = pad_value
 *     nn.pad edge          a a a [a b c] c c c
 *     nn.pad reflect       b c b [a b c] b a b
 *     nn.mirror_pad        reflect, or
 *                symmetric c b a [a b c] c b a
 * pad_width holds (before, after) of each axis, one axis after another; a negative number
 * cuts elements away.
 * source  Relay's operators of the same names; NumPy, pad
 */
#include <string.h>

#include <baton/op.h>

struct pad_attrs {
    bt_ints pad_width;
    const char *pad_mode;
};
struct mirror_attrs {
    const char *mode;
    bt_ints pad_width;
};
#define WIDTH_DOC "elements before and after each axis"
static const bt_attr pad_attrs[] = {
    BT_ATTR_RANGE(struct pad_attrs, pad_width, INTS, NULL, INT32_MIN, INT32_MAX,
                  WIDTH_DOC),
    BT_ATTR_CHOICE(struct pad_attrs, pad_mode, "constant", "constant|edge|reflect",
                   "what the new elements are"),
    { 0 },
};
static const bt_attr mirror_attrs[] = {
    BT_ATTR_CHOICE(struct mirror_attrs, mode, "SYMMETRIC", "SYMMETRIC|REFLECT",
                   "whether the last element is repeated"),
    BT_ATTR_RANGE(struct mirror_attrs, pad_width, INTS, NULL, INT32_MIN, INT32_MAX,
                  WIDTH_DOC),
    { 0 },
};
static const bt_op_input pad_inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any shape" },
    { .name = "pad_value",
      .type = "u[]",
      .doc = "of mode constant, cast to data's type; 0 when left out",
      .is_optional = 1 },
    { 0 },
};
static const bt_op_input mirror_inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any shape" },
    { 0 },
};

/* ---- types ---- */

/* `needs_element`: new elements are made from old ones. */
static bt_status relate_padded(bt_solver *s, const bt_relation_call *r,
                               const bt_ints *width, int needs_element)
{
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    const bt_type *dims[BT_MAX_RANK], *known, *least, *zero = bt_dim(store, 0);
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (width->n != 2 * (int64_t)data.rank)
        return bt_relation_fail(s, r, -1,
                                "pad_width has %lld numbers; data of rank %u needs %u",
                                (long long)width->n, data.rank, 2 * data.rank);
    for (uint32_t i = 0; i < data.rank; i++) {
        int64_t before = width->at[2 * i], after = width->at[2 * i + 1];
        dims[i] = data.dims[i];
        if (before == 0 && after == 0)
            continue;
        BT_TRY(bt_relation_dim(s, r, data.dims[i], &known));
        dims[i] = bt_dim_scale(store, known, 1, before + after);
        least = bt_dim(store, 1);
        if (!dims[i] || !least || !zero)
            return bt_no_memory();
        if (needs_element)
            BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, least, known,
                                       "one element and an axis that is padded"));
        BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, zero, dims[i],
                                   "nothing and an axis that is cut"));
    }
    return bt_relation_result_laid(s, r, data.rank, dims, data.dtype);
}

static bt_status relate_pad(bt_solver *s, const bt_relation_call *r)
{
    const struct pad_attrs *a = r->attrs;
    return relate_padded(s, r, &a->pad_width, strcmp(a->pad_mode, "constant") != 0);
}

static bt_status relate_mirror(bt_solver *s, const bt_relation_call *r)
{
    const struct mirror_attrs *a = r->attrs;
    return relate_padded(s, r, &a->pad_width, 1);
}

/* ---- formulas ---- */

static void write_axes(bt_formula *f, uint32_t rank)
{
    bt_formula_clear(f, "at");
    bt_formula_clear(f, "y");
    for (uint32_t i = 0; i < rank; i++)
        bt_formula_item(f, "y", "i%u in extent(data, %u) + pad_width[%u] + pad_width[%u]",
                        i, i, 2 * i, 2 * i + 1);
}

/* Mirrored images follow each other with a period of twice the extent, in which the edge
 * is `edge` times; over 0 (one element) the remainder is 0. */
static void write_mirrored(bt_formula *f, uint32_t rank, const bt_ints *width, int edge)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (width->at[2 * i] == 0 && width->at[2 * i + 1] == 0) {
            bt_formula_item(f, "at", "i%u", i);
            continue;
        }
        bt_formula_clear(f, "turn");
        bt_formula_item(f, "turn", "mod(i%u - pad_width[%u], 2*(extent(data, %u) - %d))",
                        i, 2 * i, i, 2 - edge);
        bt_formula_item(f, "at",
                        "clamp(min($turn, 2*extent(data, %u) - %d - $turn), 0, "
                        "extent(data, %u) - 1)",
                        i, edge == 2 ? 1 : 2, i);
    }
}

static void write_pad(bt_formula *f, const bt_formula_call *call)
{
    const struct pad_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    write_axes(f, rank);
    for (uint32_t i = 0; i < rank && strcmp(a->pad_mode, "constant") == 0; i++)
        bt_formula_item(f, "at", "i%u - pad_width[%u]", i, 2 * i);
    for (uint32_t i = 0; i < rank && strcmp(a->pad_mode, "edge") == 0; i++)
        bt_formula_item(f, "at", "clamp(i%u - pad_width[%u], 0, extent(data, %u) - 1)", i,
                        2 * i, i);
    if (strcmp(a->pad_mode, "reflect") == 0)
        write_mirrored(f, rank, &a->pad_width, 1);
    bt_formula_add(f, "y: t[$y] = data[$at]");
    if (strcmp(a->pad_mode, "constant") == 0)
        bt_formula_add(f, call->narg > 1 ? " else t(pad_value[])" : " else t(0)");
}

static void write_mirror(bt_formula *f, const bt_formula_call *call)
{
    const struct mirror_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    write_axes(f, rank);
    write_mirrored(f, rank, &a->pad_width, strcmp(a->mode, "REFLECT") == 0 ? 1 : 2);
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

/* New elements are zero, or like others of their channel; none are new channels. */
static int scale_passes(const bt_call *call, int32_t axis)
{
    const struct pad_attrs *a = call->attrs;
    const bt_tensor *value = call->narg == 2 ? bt_const_tensor(call->args[1]) : NULL;
    if (call->narg == 2 && (!value || value->nelem != 1 || bt_tensor_get(value, 0) != 0))
        return 0;
    return axis < 0 || (a->pad_width.n > 2 * axis + 1 && !a->pad_width.at[2 * axis] &&
                        !a->pad_width.at[2 * axis + 1]);
}

static const bt_scale_facet scale = { .factors = BT_SCALE_ANY, .passes = scale_passes };

static const bt_op ops[] = {
    {
        .name = "nn.pad",
        .revision = 1,
        .doc = "Adds elements at the ends of axes.",
        .source = "Relay, nn.pad; NumPy, pad",
        .inputs = pad_inputs,
        .attrs = pad_attrs,
        .attrs_nbytes = sizeof(struct pad_attrs),
        .relate = relate_pad,
        .write_formula = write_pad,
        .facets = BT_FACET_ROWS(
            BT_CASES(
                "float32[2, 3], float32[] | pad_width=[[1, 2], [0, 3]]\n"
                "float32[2, 3] | pad_width=[0, 0, 2, 1]\n"
                "int8[5], float32[] = 3..3 | pad_width=[-1, 2]\n"
                "float32[2, 3] | pad_width=[0, 2, 1, 4], pad_mode=\"edge\"\n"
                "float32[2, 4, 3] | pad_width=[0, 0, 3, 7, 2, 1], pad_mode=\"reflect\"\n"
                "bool[2, 2] | pad_width=[0, 1, 1, 0]\nfloat32[0, 2] | pad_width=[1, 1, "
                "0, "
                "0]\n"
                "float32[] | pad_width=[]"),
            BT_FACET("layout", layout), BT_FACET("scale", scale)),
    },
    {
        .name = "nn.mirror_pad",
        .revision = 1,
        .doc = "Adds mirror images of an axis at its ends.",
        .source = "Relay, nn.mirror_pad; TensorFlow, mirror_pad",
        .inputs = mirror_inputs,
        .attrs = mirror_attrs,
        .attrs_nbytes = sizeof(struct mirror_attrs),
        .relate = relate_mirror,
        .write_formula = write_mirror,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 3] | pad_width=[1, 2, 3, 3]\n"
                     "int8[2, 4] | pad_width=[0, 0, 3, 1], mode=\"REFLECT\"\n"
                     "float32[1, 3] | pad_width=[2, 1, 0, 9]"),
            BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_nn_pad[] = { BT_OPS(ops), { 0 } };
