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

struct attrs {
    const bt_type *newshape;
    int64_t allowzero;
};
static const bt_attr attrs[] = {
    BT_ATTR(
        struct attrs, newshape, SHAPE, NULL,
        "extents, or 0: copy this axis, -1: what remains, -2: copy the axes that "
        "remain, -3: the product of two axes, -4: split an axis in the two that follow"),
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

/* "newshape[2]", or its number. */
static void write_target(bt_text *out, const bt_shape_type *target, uint32_t k)
{
    int64_t number;
    if (bt_dim_is_const(target->dims[k], &number))
        bt_text_addf(out, "%lld", (long long)number);
    else
        bt_text_addf(out, "newshape[%u]", k);
}

/* Extents that are left over, divided by those stated. */
static void write_rest(bt_text *out, const bt_shape_type *target,
                       const shape_parts *parts, uint32_t rank)
{
    bt_text_addf(out, "floordiv(1");
    for (uint32_t k = 0; k < rank; k++) {
        if (!parts->is_used[k])
            bt_text_addf(out, " * extent(data, %u)", k);
    }
    bt_text_addf(out, ", 1");
    for (uint32_t k = 0; k < parts->n; k++) {
        if (parts->at[k].kind == SHAPE_LITERAL) {
            bt_text_addf(out, " * ");
            write_target(out, target, parts->at[k].at);
        }
    }
    bt_text_addf(out, ")");
}

static void write_extent(bt_text *out, const bt_shape_type *target,
                         const shape_parts *parts, uint32_t k, uint32_t rank)
{
    const shape_part *part = &parts->at[k];
    switch (part->kind) {
    case SHAPE_COPY: bt_text_addf(out, "extent(data, %u)", part->axis); break;
    case SHAPE_PRODUCT: formula_product(out, "data", part->axis, part->axis + 2); break;
    case SHAPE_REST: write_rest(out, target, parts, rank); break;
    case SHAPE_QUOTIENT:
        bt_text_addf(out, "floordiv(extent(data, %u), ", part->axis);
        write_target(out, target, part->at);
        bt_text_addf(out, ")");
        break;
    default: write_target(out, target, part->at);
    }
}

static bt_status write_reshape(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    const struct attrs *a = call->attrs;
    const bt_shape_type *target = bt_as_shape_type(a->newshape);
    shape_parts parts;
    uint32_t rank;
    BT_TRY(formula_rank(ctx, call, 0, &rank));
    int64_t *codes = BT_NEWS(out->arena, int64_t, target->n);
    if (!codes)
        return bt_no_memory();
    for (uint32_t i = 0; i < target->n; i++) {
        if (!bt_dim_is_const(target->dims[i], &codes[i]))
            codes[i] = INT64_MAX;
    }
    const char *wrong = shape_resolve(target->n, codes, rank, a->allowzero != 0, &parts);
    if (wrong)
        return bt_fail(ctx, BT_ERR_INTERNAL, "reshape: %s", wrong);

    // axes copied in place at either end take no part in the arithmetic
    uint32_t low = 0, high = rank, top = parts.n;
    while (low < parts.n && parts.at[low].kind == SHAPE_COPY && parts.at[low].axis == low)
        low++;
    while (high > low && top > low && parts.at[top - 1].kind == SHAPE_COPY &&
           parts.at[top - 1].axis == high - 1)
        high--, top--;
    for (uint32_t k = low; k < top; k++) {
        bt_text_addf(out, "d%u = ", k - low);
        write_extent(out, target, &parts, k, rank);
        bt_text_addf(out, "; ");
    }
    formula_reshape(out, rank, low, high, top - low);
    return formula_end(out);
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

static bt_status write_like(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    uint32_t rank, like;
    ranges x;
    BT_TRY(formula_rank(ctx, call, 0, &rank));
    BT_TRY(formula_rank(ctx, call, 1, &like));
    if (!ranges_of(call->attrs, rank, like, &x))
        return bt_fail(ctx, BT_ERR_INTERNAL, "reshape_like: ranges of axes");
    for (int64_t k = x.rhs_begin; k < x.rhs_end; k++)
        bt_text_addf(out, "d%d = extent(shape_like, %d); ", (int)(k - x.rhs_begin),
                     (int)k);
    formula_reshape(out, rank, (uint32_t)x.lhs_begin, (uint32_t)x.lhs_end,
                    (uint32_t)(x.rhs_end - x.rhs_begin));
    return formula_end(out);
}

/* ---- rows ---- */

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor" },
    { 0 },
};
static const bt_op_input like_inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor" },
    { .name = "shape_like", .type = "u[..]", .doc = "only its shape is used" },
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
