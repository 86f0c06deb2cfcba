/*
 * searchsorted, unique, argwhere: where elements stand, and which there are.
 * source  Relay, operators of the same names; NumPy searchsorted, unique, argwhere
 */
#include "line.h"

#include <string.h>

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

static bt_status eval_search(bt_ctx *ctx, const bt_eval_call *call)
{
    const struct search_attrs *a = call->attrs;
    const bt_tensor *sequence = call->in[0], *values = call->in[1];
    int64_t n = sequence->dims[sequence->rank - 1];
    // values that share one sequence: all, or those of a line
    int64_t nshared =
        sequence->rank == 1 ? values->nelem : values->dims[values->rank - 1];
    BT_TRY(bt_tensor_create(ctx, bt_tensor_dtype(call->result), values->rank,
                            values->dims, &call->out[0]));
    for (int64_t i = 0; i < values->nelem; i++) {
        const uint64_t value = line_key(values, i);
        int64_t start = i / nshared * n, low = 0, high = n;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            const uint64_t at = line_key(sequence, start + middle);
            if (at < value || (a->right && at == value))
                low = middle + 1;
            else
                high = middle;
        }
        bt_tensor_set_int(call->out[0], i, low);
    }
    return NULL;
}

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

/* group[j]: the number of the distinct element that element j is, in ascending order;
 * first[g]: where it stands first. Returns how many there are. */
static int64_t group(const line *x, int64_t *groups, int64_t *first)
{
    int64_t n = 0;
    for (int64_t k = 0; k < x->n; k++) {
        int64_t j = x->order[k];
        if (k == 0 || x->keys[x->order[k - 1]] != x->keys[j])
            first[n++] = j;
        groups[j] = n - 1;
    }
    return n;
}

/* Numbers groups by first occurrence instead. */
static void renumber(int64_t nelem, int64_t n, int64_t *groups, int64_t *first,
                     int64_t *number)
{
    int64_t next = 0;
    for (int64_t g = 0; g < n; g++)
        number[g] = -1;
    for (int64_t j = 0; j < nelem; j++) {
        if (number[groups[j]] < 0)
            number[groups[j]] = next++;
        groups[j] = number[groups[j]];
    }
    for (int64_t j = nelem - 1; j >= 0; j--)
        first[groups[j]] = j;
}

static bt_status write_unique(bt_ctx *ctx, const bt_eval_call *call, int64_t n,
                              const int64_t *groups, const int64_t *first)
{
    const bt_tensor *in = call->in[0];
    size_t nbytes = bt_dtype_nbytes(in->dtype);
    const int64_t one = 1;
    bt_tensor **out = call->out;
    BT_TRY(bt_tensor_create(ctx, in->dtype, 1, &n, &out[0]));
    BT_TRY(bt_tensor_create(ctx, BT_INT32, 1, &n, &out[1]));
    BT_TRY(bt_tensor_create(ctx, BT_INT32, 1, in->dims, &out[2]));
    BT_TRY(bt_tensor_create(ctx, BT_INT32, 1, &one, &out[3]));
    if (call->nout == 5)
        BT_TRY(bt_tensor_create(ctx, BT_INT32, 1, &n, &out[4]));
    for (int64_t g = 0; g < n; g++) {
        memcpy((char *)out[0]->data + (size_t)g * nbytes,
               (const char *)in->data + (size_t)first[g] * nbytes, nbytes);
        bt_tensor_set_int(out[1], g, first[g]);
    }
    for (int64_t j = 0; j < in->nelem; j++) {
        bt_tensor_set_int(out[2], j, groups[j]);
        if (call->nout == 5)
            bt_tensor_set_int(out[4], groups[j],
                              bt_tensor_get_int(out[4], groups[j]) + 1);
    }
    bt_tensor_set_int(out[3], 0, n);
    return NULL;
}

static bt_status eval_unique(bt_ctx *ctx, const bt_eval_call *call)
{
    const struct unique_attrs *a = call->attrs;
    const bt_tensor *in = call->in[0];
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    line x;
    bt_status status = line_init(ctx, &x, in, 0, 0, in->dims[0]);
    int64_t *groups = BT_NEWS(scratch, int64_t, (size_t)in->nelem);
    int64_t *first = BT_NEWS(scratch, int64_t, (size_t)in->nelem);
    if (!status && (!groups || !first))
        status = bt_no_memory();
    if (!status) {
        line_sort(&x, 0);
        int64_t n = group(&x, groups, first);
        if (!a->sorted)
            renumber(in->nelem, n, groups, first, x.spare);
        status = write_unique(ctx, call, n, groups, first);
    }
    bt_arena_release(scratch, mark);
    return status;
}

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

static bt_status eval_argwhere(bt_ctx *ctx, const bt_eval_call *call)
{
    const bt_tensor *in = call->in[0];
    int64_t dims[2] = { 0, in->rank }, row = 0;
    for (int64_t i = 0; i < in->nelem; i++)
        dims[0] += bt_tensor_get(in, i) != 0;
    BT_TRY(bt_tensor_create(ctx, BT_INT32, 2, dims, &call->out[0]));
    for (int64_t i = 0; i < in->nelem; i++) {
        if (bt_tensor_get(in, i) == 0)
            continue;
        int64_t rest = i;
        for (uint32_t k = in->rank; k-- > 0; rest /= in->dims[k])
            bt_tensor_set_int(call->out[0], row * in->rank + k, rest % in->dims[k]);
        row++;
    }
    return NULL;
}

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
        .eval = eval_search,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[1], float32[2, 3]\nint8[2, 1], int8[2, 4] | right=True\n"
                     "float64[0], float64[3] | dtype=\"int64\"\nint32[1], int32[]")),
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
        .eval = eval_unique,
        .facets = BT_FACET_ROWS(BT_CASES(
            "int32[9] = 0..4\nint8[9] = 0..4 | sorted=False, return_counts=True\n"
            "float32[0] | return_counts=True\nbool[5]")),
    },
    {
        .name = "argwhere",
        .revision = 1,
        .doc = "The positions of elements that are not 0, one a row.\n"
               "int32[?, rank], in row-major order.",
        .source = "Relay, argwhere; NumPy argwhere",
        .inputs = argwhere_in,
        .relate = relate_argwhere,
        .eval = eval_argwhere,
        .facets = BT_FACET_ROWS(
            BT_CASES("bool[2, 3]\nint8[4] = 0..1\nfloat32[]\nbool[0, 2]\nfloat16[3]")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_search[] = { BT_OPS(ops), { 0 } };
