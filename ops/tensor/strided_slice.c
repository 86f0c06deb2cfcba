/*
 * strided_slice, slice_like: parts of a tensor.
 *     strided_slice(begin=[1], end=[4])                 y[j] = data[1 + j], 3 elements
 *     strided_slice(begin=[-1], end=[-9], strides=[-1]) reversed
 *     slice_like(data, like)                            the first rows and columns
 * Positions count from the end when negative and are then moved into the axis, as
 * Python's slices do.
 * source  Relay, operators of the same names; ONNX Slice-13
 */
#include "contents.h"
#include "formula.h"
#include "slice_dims.h"

#include <string.h>

struct attrs {
    bt_ints begin, end, strides, axes;
    const char *slice_mode;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, begin, INTS, NULL, "first position along each axis"),
    BT_ATTR(struct attrs, end, INTS, NULL,
            "position to stop before; in mode size: how many, -1 for all that follow"),
    BT_ATTR(struct attrs, strides, INTS, "[1]",
            "step along each axis, 1 where there are fewer; not in mode size"),
    BT_ATTR(struct attrs, axes, INTS, "None",
            "axes of these lists; None: the first ones"),
    BT_ATTR_CHOICE(struct attrs, slice_mode, "end", "end|size", "what `end` means"),
    { 0 },
};

typedef struct cut {
    int64_t begin, end, stride;
    int is_size;
} cut;

/* What the attributes say of entry i. */
static cut cut_at(const struct attrs *a, int64_t i)
{
    cut x = { a->begin.at[i], i < a->end.n ? a->end.at[i] : SLICE_FAR, 1, 0 };
    x.is_size = strcmp(a->slice_mode, "size") == 0;
    if (!x.is_size && i < a->strides.n)
        x.stride = a->strides.at[i];
    return x;
}

/* ---- type ---- */

/* The extent of an axis that was cut, and where it begins; NULL: no memory. */
static const bt_type *length(bt_store *store, const cut *x, const bt_type *extent,
                             const bt_type **begin)
{
    const bt_type *low = bt_dim(store, x->begin), *high = bt_dim(store, x->end);
    *begin = low ? slice_position(store, low, extent, x->stride) : NULL;
    if (!*begin || !high)
        return NULL;
    return x->is_size ? slice_size(store, *begin, high, extent)
                      : slice_length(store, low, high, extent, x->stride);
}

static bt_status axis_of(bt_solver *s, const bt_relation_call *r, int64_t i,
                         uint32_t rank, uint32_t *out)
{
    const struct attrs *a = r->attrs;
    if (a->axes.n != BT_NONE_LIST)
        return bt_relation_axis(s, r, "axes", a->axes.at[i], rank, out);
    if (i >= rank)
        return bt_relation_fail(s, r, -1, "begin has length %lld, but data has rank %u",
                                (long long)a->begin.n, rank);
    *out = (uint32_t)i;
    return NULL;
}

/* A slice of known contents along the only axis. */
static bt_status slice_contents(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    contents data;
    const bt_type *picked[CONTENTS_MAX];
    uint32_t n = 0;
    if (!contents_possible(s, r, r->narg) || a->begin.n > 1)
        return NULL;
    BT_TRY(contents_get(s, r, 0, &data));
    if (data.n < 0 || a->begin.n == 0)
        return contents_copy(s, r, 0);
    bt_store *store = bt_relation_store(s);
    cut x = cut_at(a, 0);
    int64_t begin, count;
    const bt_type *extent = bt_dim(store, data.n), *size, *start;
    size = extent ? length(store, &x, extent, &start) : NULL;
    if (!size)
        return bt_relation_result(s, r, NULL);
    if (!bt_dim_is_const(size, &count) || !bt_dim_is_const(start, &begin))
        return NULL;
    for (int64_t i = 0; i < count; i++)
        picked[n++] = data.at[begin + i * x.stride];
    return bt_relation_set_contents(s, r, n, picked);
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    uint8_t is_cut[BT_MAX_RANK] = { 0 };
    const bt_type *dims[BT_MAX_RANK], *start;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (a->axes.n != BT_NONE_LIST && a->axes.n != a->begin.n)
        return bt_relation_fail(s, r, -1, "axes has length %lld, but begin has %lld",
                                (long long)a->axes.n, (long long)a->begin.n);
    if (a->end.n > a->begin.n || a->begin.n < 0)
        return bt_relation_fail(s, r, -1, "end has length %lld, but begin has %lld",
                                (long long)a->end.n, (long long)a->begin.n);
    for (uint32_t k = 0; k < data.rank; k++)
        dims[k] = data.dims[k];
    for (int64_t i = 0; i < a->begin.n; i++) {
        uint32_t axis;
        cut x = cut_at(a, i);
        BT_TRY(axis_of(s, r, i, data.rank, &axis));
        if (is_cut[axis]++)
            return bt_relation_fail(s, r, -1, "axes lists axis %u twice", axis);
        if (x.stride == 0 || x.stride == INT64_MIN)
            return bt_relation_fail(s, r, -1, "strides has a step of 0");
        BT_TRY(bt_relation_dim(s, r, data.dims[axis], &dims[axis]));
        dims[axis] = length(bt_relation_store(s), &x, dims[axis], &start);
        if (!dims[axis])
            return bt_relation_result(s, r, NULL);
    }
    BT_TRY(bt_relation_result_laid(s, r, data.rank, dims, data.dtype));
    return slice_contents(s, r);
}

/* ---- formula ---- */

/* The scalar `name`k: a position moved into axis k. */
static void write_position(bt_formula *f, const char *name, uint32_t k, int64_t at,
                           int64_t stride)
{
    int shift = stride < 0 ? -1 : 0;
    if (at >= 0)
        bt_formula_add(f, "%s%u = min(%lld, extent(data, %u) + %d); ", name, k,
                       (long long)(at > SLICE_FAR ? SLICE_FAR : at), k, shift);
    else
        bt_formula_add(f, "%s%u = max(extent(data, %u) - %lld, %d); ", name, k, k,
                       (long long)(at < -SLICE_FAR ? SLICE_FAR : -at), shift);
}

/* Where axis k begins, b, and how many positions it keeps, l. */
static void write_scalars(bt_formula *f, const cut *x, uint32_t k)
{
    write_position(f, "b", k, x->begin, x->stride);
    if (x->is_size && x->end < 0) {
        bt_formula_add(f, "l%u = extent(data, %u) - b%u; ", k, k, k);
    } else if (x->is_size) {
        bt_formula_add(f, "l%u = min(%lld, extent(data, %u) - b%u); ", k,
                       (long long)x->end, k, k);
    } else {
        write_position(f, "e", k, x->end, x->stride);
        const char *from = x->stride < 0 ? "e" : "b", *to = x->stride < 0 ? "b" : "e";
        bt_formula_add(f, "l%u = max(ceildiv(%s%u - %s%u, %lld), 0); ", k, to, k, from, k,
                       (long long)(x->stride < 0 ? -x->stride : x->stride));
    }
}

static void write_slice(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, rank, "i#");
    for (int64_t i = 0; i < a->begin.n; i++) {
        cut x = cut_at(a, i);
        int64_t axis = a->axes.n == BT_NONE_LIST ? i : a->axes.at[i];
        uint32_t k = bt_formula_axis(f, axis, rank);
        write_scalars(f, &x, k);
        bt_formula_set(f, "y", k, "i%u in l%u", k, k);
        if (x.stride == 1)
            bt_formula_set(f, "at", k, "i%u + b%u", k, k);
        else
            bt_formula_set(f, "at", k, "i%u * %lld + b%u", k, (long long)x.stride, k);
    }
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

/* ---- layout ---- */

/* That of data, where no block is cut: along an axis with blocks a slice begins with one.
 */
static bt_status choose_layout(bt_ctx *ctx, bt_store *store, const bt_call *call,
                               const bt_layout *const *wanted, const bt_layout **in,
                               const bt_layout **out)
{
    const struct attrs *a = call->attrs;
    const bt_layout *layout = wanted[0];
    BT_TRY(bt_layout_follow(ctx, store, call, wanted, in, out));
    for (int64_t i = 0; layout && i < a->begin.n; i++) {
        cut x = cut_at(a, i);
        uint32_t axis = a->axes.n == BT_NONE_LIST
                            ? (uint32_t)i
                            : bt_axis_front(a->axes.at[i], layout->nlogical);
        int64_t block = 1;
        for (uint32_t k = 0; k < layout->nphysical; k++) {
            if (layout->physical[k].axis == axis && layout->physical[k].factor)
                block *= layout->physical[k].factor;
        }
        if (block > 1 && (x.begin < 0 || x.begin % block || x.stride != 1))
            in[0] = *out = NULL;
    }
    return NULL;
}
static const bt_layout_facet layout = { .choose = choose_layout };

/* ---- slice_like ---- */

struct like_attrs {
    bt_ints axes;
};
static const bt_attr like_attrs[] = {
    BT_ATTR(struct like_attrs, axes, INTS, "None",
            "axes to cut to those of shape_like; None: all that shape_like has"),
    { 0 },
};

static bt_status relate_like(bt_solver *s, const bt_relation_call *r)
{
    const struct like_attrs *a = r->attrs;
    bt_tensor_parts data, like;
    const bt_type *dims[BT_MAX_RANK], *whole, *part;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor(s, r, 1, &like));
    for (uint32_t k = 0; k < data.rank; k++)
        dims[k] = data.dims[k];
    int64_t n = a->axes.n == BT_NONE_LIST ? like.rank : a->axes.n;
    for (int64_t i = 0; i < n; i++) {
        uint32_t axis = (uint32_t)i;
        if (a->axes.n != BT_NONE_LIST)
            BT_TRY(bt_relation_axis(s, r, "axes", a->axes.at[i], data.rank, &axis));
        if (axis >= like.rank || axis >= data.rank)
            return bt_relation_fail(s, r, 1, "data has rank %u, shape_like rank %u",
                                    data.rank, like.rank);
        BT_TRY(bt_relation_dim(s, r, data.dims[axis], &whole));
        BT_TRY(bt_relation_dim(s, r, like.dims[axis], &part));
        BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, part, whole,
                                   "dims of shape_like and of data"));
        dims[axis] = part;
    }
    return bt_relation_result_tensor(s, r, data.rank, dims, data.dtype);
}

static void write_like(bt_formula *f, const bt_formula_call *call)
{
    const struct like_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t like = bt_formula_rank(f, call->args[1]);
    int64_t n = a->axes.n == BT_NONE_LIST ? like : a->axes.n;
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "i", 0, rank, "i#");
    for (int64_t i = 0; i < n; i++) {
        int64_t axis = a->axes.n == BT_NONE_LIST ? i : a->axes.at[i];
        uint32_t k = bt_formula_axis(f, axis, rank);
        bt_formula_set(f, "y", k, "i%u in extent(shape_like, %u)", k, k);
    }
    bt_formula_add(f, "y: t[$y] = data[$i]");
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
        .name = "strided_slice",
        .revision = 1,
        .doc = "Takes every n-th slice between two positions along axes.\n"
               "Axes not listed stay whole.",
        .source = "Relay, strided_slice; ONNX Slice-13",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_slice,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[5, 4] | begin=[1], end=[4]\n"
                     "float32[5, 4] | begin=[0, -3], end=[5, -1]\n"
                     "float32[5, 4] | begin=[0], end=[9], strides=[2], axes=[-1]\n"
                     "int8[5, 4] | begin=[-1], end=[-9], strides=[-2]\n"
                     "float32[5, 4] | begin=[1, 1], end=[2, -1], slice_mode=\"size\"\n"
                     "bool[4] | begin=[3], end=[1]\nfloat32[0, 2] | begin=[0], end=[2]\n"
                     "float32[] | begin=[], end=[]"),
            BT_FACET("layout", layout)),
    },
    {
        .name = "slice_like",
        .revision = 1,
        .doc = "Keeps the first slices along axes, as many as another tensor has.\n"
               "Axes not listed stay whole.",
        .source = "Relay, slice_like",
        .inputs = like_inputs,
        .attrs = like_attrs,
        .attrs_nbytes = sizeof(struct like_attrs),
        .relate = relate_like,
        .write_formula = write_like,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[5, 4], int8[3, 2]\nfloat32[5, 4], float32[9, 2] | axes=[-1]\n"
            "bool[3], bool[0]\nfloat32[5, 4, 3], float32[2, 2, 2] | axes=[0, 2]")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_strided_slice[] = { BT_OPS(ops), { 0 } };
