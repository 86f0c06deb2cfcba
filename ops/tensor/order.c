/*
 * sort, argsort, topk, dyn.topk: elements along an axis in order.
 * Equal elements keep their order; NaN counts as greatest, so that it stands last when
 * ascending.
 * source  Relay, operators of the same names; ONNX TopK-11
 */
#include "plain.h"

#include <stdio.h>
#include <string.h>

#include "plain/order.h"

struct sort_attrs {
    int64_t axis, is_ascend;
};
static const bt_attr sort_attrs[] = {
    BT_ATTR(struct sort_attrs, axis, INT, "-1", "the axis to sort along"),
    BT_ATTR(struct sort_attrs, is_ascend, BOOL, "True", "least first"),
    { 0 },
};
struct argsort_attrs {
    int64_t axis, is_ascend;
    const bt_type *dtype;
};
static const bt_attr argsort_attrs[] = {
    BT_ATTR(struct argsort_attrs, axis, INT, "-1", "the axis to sort along"),
    BT_ATTR(struct argsort_attrs, is_ascend, BOOL, "True", "least first"),
    BT_ATTR(struct argsort_attrs, dtype, DTYPE, "int32", "element type of positions"),
    { 0 },
};
/* The struct of dyn.topk is the same without k. */
struct topk_attrs {
    int64_t axis, is_ascend;
    const char *ret_type;
    const bt_type *dtype;
    int64_t k;
};
struct dyn_topk_attrs {
    int64_t axis, is_ascend;
    const char *ret_type;
    const bt_type *dtype;
};
#define TOPK_ROWS(type)                                                                \
    BT_ATTR(type, axis, INT, "-1", "the axis to choose along"),                        \
        BT_ATTR(type, is_ascend, BOOL, "False", "the least ones, not the greatest"),   \
        BT_ATTR_CHOICE(type, ret_type, "both", "both|values|indices", "what to give"), \
        BT_ATTR(type, dtype, DTYPE, "int32", "element type of positions")
static const bt_attr topk_attrs[] = {
    TOPK_ROWS(struct topk_attrs),
    BT_ATTR(struct topk_attrs, k, INT, "1", "how many; below 1: all"),
    { 0 },
};
static const bt_attr dyn_topk_attrs[] = {
    TOPK_ROWS(struct dyn_topk_attrs),
    { 0 },
};

/* ---- types ---- */

static bt_status relate_sort(bt_solver *s, const bt_relation_call *r)
{
    const struct sort_attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    return bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype);
}

static bt_status relate_argsort(bt_solver *s, const bt_relation_call *r)
{
    const struct argsort_attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    return bt_relation_result_tensor(s, r, data.rank, data.dims, a->dtype);
}

/* Values, positions, or both as a tuple, with extent k along the axis. */
static bt_status topk_result(bt_solver *s, const bt_relation_call *r,
                             const struct topk_attrs *a, const bt_tensor_parts *data,
                             uint32_t axis, const bt_type *k)
{
    bt_store *store = bt_relation_store(s);
    const bt_type *dims[BT_MAX_RANK], *both[2], *shape, *tuple;
    for (uint32_t i = 0; i < data->rank; i++)
        dims[i] = i == axis ? k : data->dims[i];
    if (strcmp(a->ret_type, "both") != 0)
        return bt_relation_result_tensor(s, r, data->rank, dims,
                                         strcmp(a->ret_type, "values") == 0 ? data->dtype
                                                                            : a->dtype);
    shape = bt_type_shape(store, data->rank, dims);
    both[0] = shape ? bt_type_tensor(store, shape, data->dtype) : NULL;
    both[1] = shape ? bt_type_tensor(store, shape, a->dtype) : NULL;
    tuple = both[0] && both[1] ? bt_type_tuple(store, 2, both) : NULL;
    return bt_relation_result(s, r, tuple);
}

static bt_status relate_topk(bt_solver *s, const bt_relation_call *r)
{
    const struct topk_attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    const bt_type *k = a->k < 1 ? data.dims[axis] : bt_dim(bt_relation_store(s), a->k);
    if (!k)
        return bt_relation_result(s, r, NULL);
    BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, k, data.dims[axis],
                               "k and the extent of the axis"));
    return topk_result(s, r, a, &data, axis, k);
}

/* dyn.topk shares the head of the struct. */
static bt_status relate_dyn_topk(bt_solver *s, const bt_relation_call *r)
{
    const struct topk_attrs *a = r->attrs;
    bt_tensor_parts data, count;
    uint32_t axis;
    int64_t n, low, high;
    const bt_type *const *dims, *k;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor(s, r, 1, &count));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    if (count.rank > 1)
        return bt_relation_fail(s, r, 1, "k must be one number, it has rank %u",
                                count.rank);
    BT_TRY(bt_relation_contents(s, r, 1, &n, &dims));
    BT_TRY(bt_relation_opaque(s, r, 0, &k));
    if (n == 1) {
        bt_dim_bounds(dims[0], &low, &high);
        // what may be below 1 may mean all
        if (low >= 1 || high < 1)
            k = low >= 1 ? dims[0] : data.dims[axis];
        if (low >= 1)
            BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, k, data.dims[axis],
                                       "k and the extent of the axis"));
    }
    return topk_result(s, r, a, &data, axis, k);
}

/* ---- runs ---- */

static const char *const faults[] = {
    PLAIN_FAULT(ORDER_FAULT_EXTENT, "k is greater than the extent of the axis"),
    PLAIN_FAULT(ORDER_FAULT_K, "k must be one number"),
    NULL,
};

/* The structs begin alike. */
static void order_attrs(const bt_formula_call *call, int64_t k, int has_values,
                        int has_places, int64_t *out)
{
    const struct sort_attrs *a = call->attrs;
    out[0] = bt_axis_front(a->axis, bt_tensor_shape(call->args[0])->n);
    out[1] = a->is_ascend;
    out[2] = k;
    out[3] = has_values;
    out[4] = has_places;
}

static bt_status plain_of_sort(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    (void)ctx;
    order_attrs(call, 0, 1, 0, out);
    return NULL;
}

static bt_status plain_of_argsort(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    (void)ctx;
    order_attrs(call, 0, 0, 1, out);
    return NULL;
}

static bt_status plain_of_topk(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const struct topk_attrs *a = call->attrs;
    (void)ctx;
    order_attrs(call, call->narg == 2 ? 0 : a->k, strcmp(a->ret_type, "indices") != 0,
                strcmp(a->ret_type, "values") != 0, out);
    return NULL;
}

static const bt_plain_facet sort = PLAIN(plain_order, faults, 24, plain_of_sort),
                            argsort = PLAIN(plain_order, faults, 24, plain_of_argsort),
                            topk = PLAIN(plain_order, faults, 24, plain_of_topk);

/* n log2 n comparisons along each line, counted as multiply-adds. */
static bt_status estimate(bt_ctx *ctx, const bt_formula_call *call,
                          int64_t *multiply_adds, int64_t *nbytes)
{
    const struct sort_attrs *a = call->attrs;
    int64_t dims[BT_MAX_RANK], n = 1, depth = 1;
    uint32_t rank;
    if (!bt_tensor_static(call->args[0], &rank, dims) || rank == 0)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "%s: the shape is open", call->op->name);
    for (uint32_t k = 0; k < rank; k++) {
        if (!bt_mul_int64(n, dims[k], &n))
            return bt_fail(ctx, BT_ERR_LIMIT, "%s: too many elements", call->op->name);
    }
    int64_t along = dims[a->axis < 0 ? a->axis + rank : a->axis];
    for (; along > 2; along = (along + 1) / 2)
        depth++;
    *nbytes = 2 * (int64_t)bt_dtype_nbytes(bt_tensor_dtype(call->args[0])) * n;
    *multiply_adds = depth * n;
    return NULL;
}
static const bt_cost_facet cost = { .estimate = estimate };

/* ---- derivatives ---- */

/* Positions along the axis of the elements that the result has, of its shape. */
static bt_status positions(bt_builder *b, const bt_adjoint_call *c, const bt_value **out)
{
    const struct topk_attrs *a = c->call->attrs;
    const bt_value *indices;
    char text[120];
    if (strcmp(c->call->op->name, "sort") == 0) {
        snprintf(text, sizeof(text), "axis=%lld, is_ascend=%s, dtype=\"int64\"",
                 (long long)a->axis, a->is_ascend ? "True" : "False");
        return bt_build(b, "argsort", text, c->in, 1, out);
    }
    if (c->nout == 2)
        return bt_build(b, "cast", "dtype=\"int64\"", &c->out[1], 1, out);
    snprintf(text, sizeof(text),
             "axis=%lld, is_ascend=%s, ret_type=\"indices\", dtype=\"int64\"",
             (long long)a->axis, a->is_ascend ? "True" : "False");
    if (c->nin == 1)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ", k=%lld",
                 (long long)a->k);
    BT_TRY(bt_build(b, c->call->op->name, text, c->in, c->nin, &indices));
    return bt_build(b, "reshape_like", NULL, (const bt_value *[]){ indices, c->out[0] }, 2,
                    out);
}

static bt_status vjp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    const struct sort_attrs *a = c->call->attrs;
    const bt_shape_type *shape = bt_tensor_shape(c->in[0]->type);
    const uint32_t rank = shape->n, axis = bt_axis_front(a->axis, rank);
    const bt_value *args[2] = { c->seeds[0] };
    bt_text text;
    if (!c->seeds[0])
        return NULL;
    BT_TRY(positions(b, c, &args[1]));
    bt_text_init(&text, bt_ctx_scratch(bt_builder_ctx(b)));
    bt_text_addf(&text, "d: t[");
    bt_text_each(&text, rank, "e#", axis, "k");
    bt_text_addf(&text, "], p: int64[");
    bt_text_each(&text, rank, "e#", axis, "k");
    bt_text_addf(&text, "], n => g: t[");
    bt_text_each(&text, rank, "i# in e#", axis, "q in n");
    bt_text_addf(&text, "] = sum(j in k | p[");
    bt_text_each(&text, rank, "i#", axis, "j");
    bt_text_addf(&text, "] == q: d[");
    bt_text_each(&text, rank, "i#", axis, "j");
    bt_text_addf(&text, "])");
    const char *formula = bt_text_get(&text);
    const bt_type *dims = bt_type_shape(bt_builder_store(b), 1, &shape->dims[axis]);
    if (!formula || !dims)
        return bt_no_memory();
    return bt_build_formula(b, dims, 2, args, formula, &to[0]);
}

static bt_status jvp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    const struct sort_attrs *a = c->call->attrs;
    const bt_value *at;
    char text[40];
    BT_TRY(positions(b, c, &at));
    snprintf(text, sizeof(text), "axis=%lld", (long long)a->axis);
    return bt_build(b, "gather", text, (const bt_value *[]){ c->seeds[0], at }, 2, &to[0]);
}
static const bt_gradient_facet gradient = { .vjp = vjp, .jvp = jvp },
                               places = { .none = "positions are integers" };

/* ---- rows ---- */

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "what to put in order; rank 1 or more" },
    { 0 },
};
static const bt_op_input dyn_inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "what to choose from; rank 1 or more" },
    { .name = "k", .type = "u:integer[..]", .doc = "how many, one number; below 1: all" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "sort",
        .revision = 1,
        .doc = "Sorts along an axis.\nThe type stays.",
        .source = "Relay, sort",
        .inputs = inputs,
        .attrs = sort_attrs,
        .attrs_nbytes = sizeof(struct sort_attrs),
        .relate = relate_sort,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 5]\nint8[4, 3] | axis=0\nuint64[6] | is_ascend=False\n"
                     "float16[3, 0]\nint32[9] = 0..3 | axis=-1"),
            BT_FACET("cost", cost), BT_FACET("plain", sort),
            BT_FACET("gradient", gradient)),
    },
    {
        .name = "argsort",
        .revision = 1,
        .doc = "The positions that sort along an axis.\nThe shape stays.",
        .source = "Relay, argsort",
        .inputs = inputs,
        .attrs = argsort_attrs,
        .attrs_nbytes = sizeof(struct argsort_attrs),
        .relate = relate_argsort,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 5]\nint8[4, 3] | axis=0, dtype=\"int64\"\n"
                     "uint64[6] = 0..2 | is_ascend=False\nfloat64[0]\nbool[5]"),
            BT_FACET("cost", cost), BT_FACET("plain", argsort),
            BT_FACET("gradient", places)),
    },
    {
        .name = "topk",
        .revision = 1,
        .doc = "The k greatest elements along an axis, in order, and their positions.\n"
               "ret_type chooses a tuple of both or one of them.",
        .source = "Relay, topk; ONNX TopK-11",
        .inputs = inputs,
        .attrs = topk_attrs,
        .attrs_nbytes = sizeof(struct topk_attrs),
        .relate = relate_topk,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 5] | k=3\nint8[4, 3] | k=2, axis=0, is_ascend=True\n"
                     "uint8[6] = 0..2 | k=0, ret_type=\"values\"\n"
                     "float64[2, 4] | ret_type=\"indices\", dtype=\"int64\"\nfloat32[0] "
                     "| k=0\n"
                     "float32[2, 200] | k=9\nint32[3, 90] = 0..9 | k=7, is_ascend=True"),
            BT_FACET("plain", topk), BT_FACET("gradient", gradient)),
    },
    {
        .name = "dyn.topk",
        .revision = 1,
        .doc = "The k greatest elements along an axis; k is a value.\nAs topk.",
        .source = "Relay, dyn.topk",
        .inputs = dyn_inputs,
        .attrs = dyn_topk_attrs,
        .attrs_nbytes = sizeof(struct dyn_topk_attrs),
        .effects = BT_EFFECT_FAILS,
        .relate = relate_dyn_topk,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 5], int64[] = 1..4\n"
                     "int8[4, 3], int32[1] = 1..4 | axis=0, ret_type=\"values\""),
            BT_FACET("plain", topk), BT_FACET("gradient", gradient)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_order[] = { BT_OPS(ops), { 0 } };
