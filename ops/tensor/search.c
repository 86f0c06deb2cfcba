/*
 * searchsorted, unique, argwhere: where elements stand, and which there are.
 * source  Relay, operators of the same names; NumPy searchsorted, unique, argwhere
 */
#include "plain/search.h"
#include "plain.h"

/* ---- searchsorted ---- */

struct search_attrs {
    int64_t right;
    const bt_type *dtype;
};
static const bt_attr search_attrs[] = {
    BT_ATTR(struct search_attrs, right, BOOL, "False",
            "the place after equal elements, not before"),
    BT_ATTR(struct search_attrs, dtype, DTYPE, "int32", "element type of positions"),
    { 0 },
};

/* A sequence for each line of values, or one for all of them. */
static bt_status relate_search(bt_solver *s, const bt_relation_call *r)
{
    const struct search_attrs *a = r->attrs;
    bt_tensor_parts sequence, values;
    BT_TRY(bt_relation_tensor(s, r, 0, &sequence));
    BT_TRY(bt_relation_tensor(s, r, 1, &values));
    if (sequence.rank == 0 || (sequence.rank != 1 && sequence.rank != values.rank))
        return bt_relation_fail(s, r, 0,
                                "sorted_sequence has rank %u, expected 1 or that of "
                                "values, %u",
                                sequence.rank, values.rank);
    for (uint32_t k = 0; k + 1 < sequence.rank; k++)
        BT_TRY(bt_relation_unify(s, r, sequence.dims[k], values.dims[k],
                                 "leading dims of sorted_sequence and of values"));
    return bt_relation_result_tensor(s, r, values.rank, values.dims, a->dtype);
}

static bt_status plain_of_search(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const struct search_attrs *a = call->attrs;
    (void)ctx;
    out[0] = a->right;
    return NULL;
}
static const bt_plain_facet searchsorted = PLAIN(plain_search, NULL, 0, plain_of_search);

/* ---- unique ---- */

struct unique_attrs {
    int64_t sorted, return_counts;
};
static const bt_attr unique_attrs[] = {
    BT_ATTR(struct unique_attrs, sorted, BOOL, "True",
            "in ascending order, not in that of first occurrence"),
    BT_ATTR(struct unique_attrs, return_counts, BOOL, "False", "give their numbers too"),
    { 0 },
};

static bt_status relate_unique(bt_solver *s, const bt_relation_call *r)
{
    const struct unique_attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    const bt_type *count, *one = bt_dim(store, 1),
                          *int32 = bt_type_dtype(store, BT_INT32);
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 1, &data));
    BT_TRY(bt_relation_opaque(s, r, 0, &count));
    const bt_type *extents[5] = { count, count, data.dims[0], one, count }, *fields[5];
    uint32_t n = a->return_counts ? 5 : 4;
    if (!one || !int32)
        return bt_relation_result(s, r, NULL);
    for (uint32_t i = 0; i < n; i++) {
        const bt_type *shape = bt_type_shape(store, 1, &extents[i]);
        fields[i] = shape ? bt_type_tensor(store, shape, i ? int32 : data.dtype) : NULL;
        if (!fields[i])
            return bt_relation_result(s, r, NULL);
    }
    const bt_type *tuple = bt_type_tuple(store, n, fields);
    return bt_relation_result(s, r, tuple);
}

static bt_status plain_of_unique(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const struct unique_attrs *a = call->attrs;
    (void)ctx;
    out[1] = a->sorted;
    return NULL;
}
static const bt_plain_facet unique = PLAIN(plain_unique, NULL, 40, plain_of_unique);

/* ---- argwhere ---- */

static bt_status relate_argwhere(bt_solver *s, const bt_relation_call *r)
{
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    const bt_type *dims[2], *int32 = bt_type_dtype(store, BT_INT32);
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_opaque(s, r, 0, &dims[0]));
    dims[1] = bt_dim(store, data.rank);
    if (!int32 || !dims[1])
        return bt_relation_result(s, r, NULL);
    return bt_relation_result_tensor(s, r, 2, dims, int32);
}

static const bt_plain_facet argwhere = PLAIN(plain_argwhere, NULL, 0, NULL);

/* ---- rows ---- */

static const bt_op_input search_in[] = {
    { .name = "sorted_sequence",
      .type = "t[..]",
      .doc = "ascending along the last axis" },
    { .name = "values", .type = "t[..]", .doc = "what to look for" },
    { 0 },
};
static const bt_op_input unique_in[] = {
    { .name = "data", .type = "t[n]", .doc = "a tensor of rank 1" },
    { 0 },
};
static const bt_op_input argwhere_in[] = {
    { .name = "condition", .type = "t[..]", .doc = "truth values, or numbers: not 0" },
    { 0 },
};

static const bt_gradient_facet places = { .none = "positions are integers" },
                               chosen = { .none = "which elements there are, and how many, "
                                                  "changes where two become equal" };

static const bt_op ops[] = {
    {
        .name = "searchsorted",
        .revision = 1,
        .doc =
            "Where values would be inserted in sorted sequences.\nThe shape of values.",
        .source = "Relay, searchsorted; NumPy searchsorted",
        .inputs = search_in,
        .attrs = search_attrs,
        .attrs_nbytes = sizeof(struct search_attrs),
        .relate = relate_search,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[1], float32[2, 3]\nint8[2, 1], int8[2, 4] | right=True\n"
                     "float64[0], float64[3] | dtype=\"int64\"\nint32[1], int32[]"),
            BT_FACET("plain", searchsorted), BT_FACET("gradient", places)),
    },
    {
        .name = "unique",
        .revision = 1,
        .doc = "The distinct elements of a tensor of rank 1.\n"
               "Gives them, where each stands first, which one each element is, how many "
               "there are (and how often each occurs).",
        .source = "Relay, unique; ONNX Unique-11",
        .inputs = unique_in,
        .attrs = unique_attrs,
        .attrs_nbytes = sizeof(struct unique_attrs),
        .relate = relate_unique,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES(
                "int32[9] = 0..4\nint8[9] = 0..4 | sorted=False, return_counts=True\n"
                "float32[0] | return_counts=True\nbool[5]"),
            BT_FACET("plain", unique), BT_FACET("gradient", chosen)),
    },
    {
        .name = "argwhere",
        .revision = 1,
        .doc = "The positions of elements that are not 0, one a row.\n"
               "int32[?, rank], in row-major order.",
        .source = "Relay, argwhere; NumPy argwhere",
        .inputs = argwhere_in,
        .relate = relate_argwhere,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("bool[2, 3]\nint8[4] = 0..1\nfloat32[]\nbool[0, 2]\nfloat16[3]"),
            BT_FACET("plain", argwhere), BT_FACET("gradient", places)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_search[] = { BT_OPS(ops), { 0 } };
