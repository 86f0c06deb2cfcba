/*
 * reshape, reshape_like: the same elements, in row-major order, in another shape.
 *     reshape(Tensor[(2, 3, 4)], newshape=[0, -1])    (2, 12)
 *     reshape(Tensor[(n, 6)], newshape=[-1, 2, 3])    (n, 2, 3)
 *     reshape(Tensor[(2, 12)], newshape=[0, -4, 3, -1])    (2, 3, 4)
 * source  Relay; the codes 0, -1 ... -4 are MXNet's
 */
#include "contents.h"
#include "formula.h"
#include "shape_codes.h"
#include "shape_relate.h"

#include <stddef.h>
#include <string.h>

struct attrs {
    const bt_type *newshape;
    int64_t allowzero;
};
static const bt_attr attrs[] = {
    BT_ATTR_RANGE(
        struct attrs, newshape, SHAPE, NULL, BT_SHAPE_ZERO, INT64_MAX,
        "extents, or 0: copy this axis, -1: what remains, -2: copy the axes that "
        "remain, -3: the product of two axes, -4: split an axis in the two that follow, "
        "-5: the extent 0, for a dim that is 0"),
    BT_ATTR(struct attrs, allowzero, BOOL, "False", "0 is an extent, not a code"),
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const bt_shape_type *target = bt_as_shape_type(a->newshape);
    if (!target || target->rest)
        return bt_relation_fail(s, r, -1, "newshape must list its dims");
    BT_TRY(shape_relate(s, r, target->n, target->dims, a->allowzero != 0));
    return contents_copy(s, r, 0);
}

/* The list `target` anew: "newshape[2]", or its number. */
static void write_target(bt_formula *f, const bt_shape_type *target, uint32_t k)
{
    int64_t number;
    bt_formula_clear(f, "target");
    if (bt_dim_is_const(target->dims[k], &number))
        bt_formula_item(f, "target", "%lld", (long long)number);
    else
        bt_formula_item(f, "target", "newshape[%u]", k);
}

/* The axis that has this dim and is not used yet, which it is then; else the rank. */
static uint32_t use_axis(const bt_shape_type *data, const bt_type *dim, uint8_t *is_used)
{
    uint32_t axis = 0;
    while (axis < data->n && (is_used[axis] || !bt_type_equal(data->dims[axis], dim)))
        axis++;
    if (axis < data->n)
        is_used[axis] = 1;
    return axis;
}

/* Extents that are left over, divided by those stated, without what is among both: it may
 * be 0. */
static void write_rest(bt_formula *f, const bt_shape_type *target,
                       const shape_parts *parts, const bt_shape_type *data)
{
    uint8_t is_used[BT_MAX_RANK];
    memcpy(is_used, parts->is_used, sizeof(is_used));
    bt_formula_item(f, "stated", "1");
    for (uint32_t k = 0; k < parts->n; k++) {
        const bt_type *dim = target->dims[parts->at[k].at];
        if (parts->at[k].kind != SHAPE_LITERAL || use_axis(data, dim, is_used) < data->n)
            continue;
        write_target(f, target, parts->at[k].at);
        bt_formula_item(f, "stated", "$target");
    }
    bt_formula_item(f, "left", "1");
    for (uint32_t k = 0; k < data->n; k++) {
        if (!is_used[k])
            bt_formula_item(f, "left", "extent(data, %u)", k);
    }
    bt_formula_add(f, "floordiv($[ * ]left, $[ * ]stated)");
}

static void write_extent(bt_formula *f, const bt_formula_call *call,
                         const bt_shape_type *target, const shape_parts *parts,
                         uint32_t k)
{
    const bt_shape_type *result = call->result ? bt_tensor_shape(call->result) : NULL;
    int64_t number;
    if (result && k < result->n && bt_dim_is_const(result->dims[k], &number)) {
        bt_formula_add(f, "%lld", (long long)number);
        return;
    }
    const shape_part *part = &parts->at[k];
    switch (part->kind) {
    case SHAPE_COPY: bt_formula_add(f, "extent(data, %u)", part->axis); break;
    case SHAPE_PRODUCT:
        bt_formula_add(f, "extent(data, %u) * extent(data, %u)", part->axis,
                       part->axis + 1);
        break;
    case SHAPE_REST: write_rest(f, target, parts, bt_tensor_shape(call->args[0])); break;
    case SHAPE_QUOTIENT:
        write_target(f, target, part->at);
        bt_formula_add(f, "floordiv(extent(data, %u), $target)", part->axis);
        break;
    default: write_target(f, target, part->at); bt_formula_add(f, "$target");
    }
}

static void write_reshape(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const bt_shape_type *target = bt_as_shape_type(a->newshape);
    int64_t codes[BT_MAX_RANK + 2 * BT_MAX_RANK];
    shape_parts parts;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    const char *wrong = target->n > BT_COUNT(codes) ? "too many dims" : NULL;
    for (uint32_t i = 0; i < target->n && !wrong; i++) {
        if (!bt_dim_is_const(target->dims[i], &codes[i]))
            codes[i] = INT64_MAX;
    }
    if (!wrong)
        wrong = shape_resolve(target->n, codes, rank, a->allowzero != 0, &parts);
    if (wrong) {
        bt_formula_fail(f, BT_ERR_INTERNAL, "%s", wrong);
        return;
    }
    // axes copied in place at either end take no part in the arithmetic
    uint32_t low = 0, high = rank, top = parts.n;
    while (low < parts.n && parts.at[low].kind == SHAPE_COPY && parts.at[low].axis == low)
        low++;
    while (high > low && top > low && parts.at[top - 1].kind == SHAPE_COPY &&
           parts.at[top - 1].axis == high - 1)
        high--, top--;
    for (uint32_t k = low; k < top; k++) {
        bt_formula_add(f, "d%u = ", k - low);
        write_extent(f, call, target, &parts, k);
        bt_formula_add(f, "; ");
    }
    formula_reshape(f, rank, low, high, top - low);
}

/* ---- reshape_like ---- */

struct like_attrs {
    int64_t lhs_begin, lhs_end, rhs_begin, rhs_end;
};
static const bt_attr like_attrs[] = {
    BT_ATTR(struct like_attrs, lhs_begin, INT, "0", "first axis of data to replace"),
    BT_ATTR(struct like_attrs, lhs_end, INT, "None", "axis of data to stop before"),
    BT_ATTR(struct like_attrs, rhs_begin, INT, "0", "first axis of shape_like to take"),
    BT_ATTR(struct like_attrs, rhs_end, INT, "None", "axis of shape_like to stop before"),
    { 0 },
};

/* An end of a range of axes, 0 <= end <= rank; -1 where it is outside. */
static int64_t range_end(int64_t end, int64_t absent, uint32_t rank)
{
    end = end == BT_NONE ? absent : end < 0 ? end + rank : end;
    return end >= 0 && end <= rank ? end : -1;
}

typedef struct ranges {
    int64_t lhs_begin, lhs_end, rhs_begin, rhs_end;
} ranges;

static int ranges_of(const struct like_attrs *a, uint32_t rank, uint32_t like,
                     ranges *out)
{
    out->lhs_begin = range_end(a->lhs_begin, 0, rank);
    out->lhs_end = range_end(a->lhs_end, rank, rank);
    out->rhs_begin = range_end(a->rhs_begin, 0, like);
    out->rhs_end = range_end(a->rhs_end, like, like);
    return out->lhs_begin >= 0 && out->lhs_end >= out->lhs_begin && out->rhs_begin >= 0 &&
           out->rhs_end >= out->rhs_begin;
}

static bt_status relate_like(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data, like;
    ranges x;
    const bt_type *dims[BT_MAX_RANK], *have, *want;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor(s, r, 1, &like));
    if (!ranges_of(r->attrs, data.rank, like.rank, &x))
        return bt_relation_fail(s, r, -1,
                                "its ranges of axes are outside ranks %u and %u",
                                data.rank, like.rank);
    int64_t nnew = x.rhs_end - x.rhs_begin, nold = x.lhs_end - x.lhs_begin;
    if (data.rank - nold + nnew > BT_MAX_RANK)
        return bt_relation_fail(s, r, -1, "the result would have too many dims");
    uint32_t n = 0;
    for (int64_t k = 0; k < x.lhs_begin; k++)
        dims[n++] = data.dims[k];
    for (int64_t k = x.rhs_begin; k < x.rhs_end; k++)
        dims[n++] = like.dims[k];
    for (int64_t k = x.lhs_end; k < data.rank; k++)
        dims[n++] = data.dims[k];
    BT_TRY(bt_relation_result_tensor(s, r, n, dims, data.dtype));
    BT_TRY(shape_product(s, r, (uint32_t)nold, data.dims + x.lhs_begin, &have));
    BT_TRY(shape_product(s, r, (uint32_t)nnew, like.dims + x.rhs_begin, &want));
    BT_TRY(bt_relation_unify(s, r, have, want, "elements of data and of shape_like"));
    return contents_copy(s, r, 0);
}

static void write_like(bt_formula *f, const bt_formula_call *call)
{
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    ranges x;
    if (!ranges_of(call->attrs, rank, bt_formula_rank(f, call->args[1]), &x)) {
        bt_formula_fail(f, BT_ERR_INTERNAL, "ranges of axes");
        return;
    }
    for (int64_t k = x.rhs_begin; k < x.rhs_end; k++)
        bt_formula_add(f, "d%d = extent(shape_like, %d); ", (int)(k - x.rhs_begin),
                       (int)k);
    formula_reshape(f, rank, (uint32_t)x.lhs_begin, (uint32_t)x.lhs_end,
                    (uint32_t)(x.rhs_end - x.rhs_begin));
}

/* ---- rows ---- */

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor" },
    { 0 },
};
static const bt_op_input like_inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor" },
    { .name = "shape_like", .type = "u:any[..]", .doc = "only its shape is used" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "reshape",
        .revision = 1,
        .doc = "Puts the elements, in row-major order, in another shape.\n"
               "newshape has as many elements as data, after its codes are replaced.",
        .source = "Relay, reshape; ONNX Reshape-14",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_reshape,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3, 4] | newshape=[4, 6]\n"
                                         "float32[2, 3, 4] | newshape=[0, -1]\n"
                                         "float32[2, 3, 4] | newshape=[-1, 0, 2]\n"
                                         "int8[2, 3, 4] | newshape=[-2, 1]\n"
                                         "float32[2, 3, 4] | newshape=[-3, -2]\n"
                                         "float32[2, 12] | newshape=[0, -4, 3, -1]\n"
                                         "float32[12, 2] | newshape=[-4, 3, 4, 0]\n"
                                         "float32[1] | newshape=[]\n"
                                         "float32[] | newshape=[1, 1]\n"
                                         "bool[0, 3] | newshape=[3, 0], allowzero=True\n"
                                         "float32[0, 3] | newshape=[0, -1]")),
    },
    {
        .name = "reshape_like",
        .revision = 1,
        .doc = "Puts the elements in the shape of another tensor, or in part of it.\n"
               "Axes lhs_begin..lhs_end of data become axes rhs_begin..rhs_end of "
               "shape_like.",
        .source = "Relay, reshape_like",
        .inputs = like_inputs,
        .attrs = like_attrs,
        .attrs_nbytes = sizeof(struct like_attrs),
        .relate = relate_like,
        .write_formula = write_like,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 6], int8[3, 4]\nfloat32[], float32[1, 1]\n"
            "float32[2, 12, 5], float32[9, 3, 4] | lhs_begin=1, lhs_end=2, rhs_begin=1\n"
            "float32[2, 3, 4], float32[6] | lhs_end=-1")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_reshape[] = { BT_OPS(ops), { 0 } };
