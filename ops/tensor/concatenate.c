/*
 * concatenate, stack, split: tensors to one along an axis, and back.
 *     concatenate((a, b), axis=0)    y[i] = a[i] for i < len a, else b[i - len a]
 *     stack((a, b), axis=0)          y[k, i] = a[i] for k = 0, b[i] for k = 1
 *     split(x, indices_or_sections=[2, 5])    x[0:2], x[2:5], x[5:]
 * source  Relay, operators of the same names
 */
#include <stdio.h>

#include "contents.h"
#include "first_axis.h"
#include "formula.h"

struct attrs {
    int64_t axis;
};
static const bt_attr concatenate_attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "0", "the axis that grows"),
    { 0 },
};
static const bt_attr stack_attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "0", "where the new axis stands in the result"),
    { 0 },
};

/* The fields of the tuple: at least one, one rank, one dtype. */
static bt_status fields_of(bt_solver *s, const bt_relation_call *r, uint32_t *n,
                           const bt_tensor_parts **out)
{
    BT_TRY(bt_relation_tensors(s, r, 0, n, out));
    if (*n == 0)
        return bt_relation_fail(s, r, 0, "expects at least one tensor");
    for (uint32_t i = 1; i < *n; i++) {
        if ((*out)[i].rank != (*out)[0].rank)
            return bt_relation_fail(s, r, 0, "field %u has rank %u, field 0 rank %u", i,
                                    (*out)[i].rank, (*out)[0].rank);
    }
    return NULL;
}

static bt_status unify_axis(bt_solver *s, const bt_relation_call *r, uint32_t n,
                            const bt_tensor_parts *fields, uint32_t k)
{
    for (uint32_t i = 1; i < n; i++)
        BT_TRY(bt_relation_unify(s, r, fields[0].dims[k], fields[i].dims[k],
                                 "dims of the fields"));
    return NULL;
}

static bt_status relate_concatenate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const bt_tensor_parts *fields;
    const bt_type *dims[BT_MAX_RANK], *sum = bt_dim(bt_relation_store(s), 0);
    uint32_t n, axis;
    bt_shape_type open;
    const bt_list_type *tuple = bt_as_tuple_type(bt_relation_arg(s, r, 0));
    if (a->axis == 0 && tuple && tuple->n && first_axis_shape(tuple->at[0], &open))
        return first_axis_join(s, r, tuple);
    BT_TRY(fields_of(s, r, &n, &fields));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, fields[0].rank, &axis));
    for (uint32_t k = 0; k < fields[0].rank; k++) {
        dims[k] = fields[0].dims[k];
        if (k != axis)
            BT_TRY(unify_axis(s, r, n, fields, k));
    }
    for (uint32_t i = 0; sum && i < n; i++) {
        const bt_type *dim;
        BT_TRY(bt_relation_dim(s, r, fields[i].dims[axis], &dim));
        sum = bt_dim_add(bt_relation_store(s), sum, dim);
    }
    if (!sum)
        return bt_relation_result(s, r, NULL);
    dims[axis] = sum;
    for (uint32_t i = 1; i < n; i++) {
        if (fields[i].layout != fields[0].layout)
            return bt_relation_fail(s, r, 0, "fields 0 and %u have different layouts", i);
    }
    bt_store *store = bt_relation_store(s);
    BT_TRY(bt_relation_result(
        s, r,
        bt_type_tensor_layout(store, bt_type_shape(store, fields[0].rank, dims),
                              fields[0].dtype, fields[0].layout)));
    return contents_join(s, r, 0);
}

static bt_status relate_stack(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const bt_tensor_parts *fields;
    const bt_type *dims[BT_MAX_RANK];
    uint32_t n, axis;
    BT_TRY(fields_of(s, r, &n, &fields));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, fields[0].rank + 1, &axis));
    if (fields[0].rank == BT_MAX_RANK)
        return bt_relation_fail(s, r, 0, "the result would have too many dims");
    for (uint32_t k = 0; k < fields[0].rank; k++) {
        BT_TRY(unify_axis(s, r, n, fields, k));
        dims[k + (k >= axis)] = fields[0].dims[k];
    }
    dims[axis] = bt_dim(bt_relation_store(s), n);
    if (!dims[axis])
        return bt_relation_result(s, r, NULL);
    BT_TRY(bt_relation_result_tensor(s, r, fields[0].rank + 1, dims, fields[0].dtype));
    return contents_join(s, r, 0);
}

/* ---- formulas ---- */

typedef struct joined {
    uint32_t rank, axis;
    int is_stack;
} joined;

/* data.3[i0, j - o3]: field 3 where the joined index is j. */
static void write_field(bt_formula *f, const joined *x, uint32_t field)
{
    bt_formula_clear(f, "at");
    bt_formula_each(f, "at", 0, x->rank, "i#");
    if (!x->is_stack && field)
        bt_formula_set(f, "at", x->axis, "j - o%u", field);
    else if (!x->is_stack)
        bt_formula_set(f, "at", x->axis, "j");
    bt_formula_add(f, "data.%u[$at]", field);
}

/* A choice among fields low..high-1 by halves: its depth is the logarithm of their
 * number, and so is the recursion's. */
static void write_choice(bt_formula *f, const joined *x, uint32_t low, uint32_t high)
{
    if (high - low == 1) {
        write_field(f, x, low);
        return;
    }
    uint32_t middle = low + (high - low) / 2;
    bt_formula_add(f, x->is_stack ? "select(j < %u, " : "select(j < o%u, ", middle);
    write_choice(f, x, low, middle);
    bt_formula_add(f, ", ");
    write_choice(f, x, middle, high);
    bt_formula_add(f, ")");
}

static void write_concatenate(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const bt_list_type *fields = bt_as_tuple_type(call->args[0]);
    joined x = { .rank = bt_formula_rank(f, fields->at[0]) };
    x.axis = bt_formula_axis(f, a->axis, x.rank);
    bt_formula_add(f, "o1 = extent(data.0, %u); ", x.axis);
    for (uint32_t i = 2; i <= fields->n; i++)
        bt_formula_add(f, "o%u = o%u + extent(data.%u, %u); ", i, i - 1, i - 1, x.axis);
    bt_formula_each(f, "y", 0, x.rank, "i# in extent(data.0, #)");
    bt_formula_set(f, "y", x.axis, "j in o%u", fields->n);
    bt_formula_add(f, "y: t[$y] = ");
    write_choice(f, &x, 0, fields->n);
}

static void write_stack(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const bt_list_type *fields = bt_as_tuple_type(call->args[0]);
    joined x = { .is_stack = 1, .rank = bt_formula_rank(f, fields->at[0]) };
    x.axis = bt_formula_axis(f, a->axis, x.rank + 1);
    bt_formula_each(f, "y", 0, x.axis, "i# in extent(data.0, #)");
    bt_formula_item(f, "y", "j in %u", fields->n);
    bt_formula_each(f, "y", x.axis, x.rank, "i# in extent(data.0, #)");
    bt_formula_add(f, "y: t[$y] = ");
    write_choice(f, &x, 0, fields->n);
}

/* ---- layouts ---- */

/* Whether blocks of the joined axis need not be cut: each field but the last fills those
 * that it has. */
static int is_cut_at_blocks(const bt_layout *layout, const bt_type *fields, uint32_t axis)
{
    const bt_list_type *tuple = bt_as_tuple_type(fields);
    int64_t block = 1, dims[BT_MAX_RANK];
    for (uint32_t i = 0; i < layout->nphysical; i++) {
        if (layout->physical[i].axis == axis && layout->physical[i].factor != 0)
            block *= layout->physical[i].factor;
    }
    for (uint32_t i = 0; block > 1 && i + 1 < tuple->n; i++) {
        if (!bt_tensor_static(tuple->at[i], NULL, dims) || dims[axis] % block)
            return 0;
    }
    return 1;
}

/* All fields in the layout that is wanted, unless that cuts blocks. */
static bt_status choose_layout(bt_ctx *ctx, bt_store *store, const bt_call *call,
                               const bt_layout *const *wanted, const bt_layout **in,
                               const bt_layout **out)
{
    (void)ctx;
    (void)store;
    const struct attrs *a = call->attrs;
    const bt_layout *layout = wanted[0];
    if (layout && !is_cut_at_blocks(layout, call->args[0]->type,
                                    bt_axis_front(a->axis, layout->nlogical)))
        layout = NULL;
    in[0] = *out = layout;
    return NULL;
}
static const bt_layout_facet concatenate_layout = { .choose = choose_layout };

/* The same of a tensor that is cut into fields. */
static bt_status choose_split(bt_ctx *ctx, bt_store *store, const bt_call *call,
                              const bt_layout *const *wanted, const bt_layout **in,
                              const bt_layout **out)
{
    const int64_t *axis = bt_attr_find(call->op, call->attrs, "axis", BT_ATTR_INT);
    BT_TRY(bt_layout_follow(ctx, store, call, wanted, in, out));
    if (in[0] &&
        !is_cut_at_blocks(in[0], call->base.type, bt_axis_front(*axis, in[0]->nlogical)))
        in[0] = *out = NULL;
    return NULL;
}
static const bt_layout_facet split_layout = { .choose = choose_split };

/* ---- split ---- */

struct split_attrs {
    bt_ints indices_or_sections;
    int64_t axis;
};
static const bt_attr split_attrs[] = {
    BT_ATTR(struct split_attrs, indices_or_sections, INT_OR_INTS, NULL,
            "a number of equal parts, or the positions to cut at, ascending"),
    BT_ATTR(struct split_attrs, axis, INT, "0", "the axis to cut"),
    { 0 },
};
enum { SPLIT_MAX = 1 << 16 }; /* parts: a bound on what a hostile program may ask for */

static bt_status check_cuts(bt_solver *s, const bt_relation_call *r, const bt_ints *cuts)
{
    if (cuts->n == BT_SINGLE && (cuts->at[0] < 1 || cuts->at[0] > SPLIT_MAX))
        return bt_relation_fail(s, r, -1, "indices_or_sections asks for %lld parts",
                                (long long)cuts->at[0]);
    if (cuts->n >= SPLIT_MAX)
        return bt_relation_fail(s, r, -1, "indices_or_sections has too many positions");
    for (int64_t i = 0; i < cuts->n; i++) {
        if (cuts->at[i] < (i ? cuts->at[i - 1] : 0))
            return bt_relation_fail(
                s, r, -1,
                "positions of indices_or_sections must ascend from 0, "
                "but %lld stands at %lld",
                (long long)cuts->at[i], (long long)i);
    }
    return NULL;
}

/* Extent of part i. */
static bt_status part_extent(bt_solver *s, const bt_relation_call *r, const bt_ints *cuts,
                             int64_t i, const bt_type *whole, const bt_type **out)
{
    bt_store *store = bt_relation_store(s);
    int64_t low = i > 0 && cuts->n > 0 ? cuts->at[i - 1] : 0;
    if (cuts->n == BT_SINGLE) {
        const bt_type *n = bt_dim(store, cuts->at[0]);
        *out = n ? bt_dim_floordiv(store, whole, n) : NULL;
    } else if (i < cuts->n) {
        *out = bt_dim(store, cuts->at[i] - low);
    } else {
        const bt_type *start = bt_dim(store, low);
        if (start)
            BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, start, whole,
                                       "the last position and the axis that it cuts"));
        *out = start ? bt_dim_sub(store, whole, start) : NULL;
    }
    return *out ? NULL : bt_relation_result(s, r, NULL);
}

static bt_status relate_split(bt_solver *s, const bt_relation_call *r)
{
    const struct split_attrs *a = r->attrs;
    const bt_ints *cuts = &a->indices_or_sections;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    uint32_t axis;
    const bt_type *dims[BT_MAX_RANK], *whole;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    BT_TRY(check_cuts(s, r, cuts));
    BT_TRY(bt_relation_dim(s, r, data.dims[axis], &whole));
    int64_t n = cuts->n == BT_SINGLE ? cuts->at[0] : cuts->n + 1;
    if (cuts->n == BT_SINGLE) {
        const bt_type *sections = bt_dim(store, n);
        if (!sections)
            return bt_relation_result(s, r, NULL);
        BT_TRY(bt_relation_require(s, r, BT_CHECK_DIVISIBLE, whole, sections,
                                   "the axis to split and the number of sections"));
    }
    const bt_type **fields = bt_relation_alloc(s, (size_t)n, sizeof(const bt_type *));
    if (!fields)
        return bt_no_memory();
    for (uint32_t k = 0; k < data.rank; k++)
        dims[k] = data.dims[k];
    for (int64_t i = 0; i < n; i++) {
        BT_TRY(part_extent(s, r, cuts, i, whole, &dims[axis]));
        const bt_type *shape = bt_type_shape(store, data.rank, dims);
        fields[i] =
            shape ? bt_type_tensor_layout(store, shape, data.dtype, data.layout) : NULL;
        if (!fields[i])
            return bt_relation_result(s, r, NULL);
    }
    return bt_relation_result(s, r, bt_type_tuple(store, (uint32_t)n, fields));
}

static void write_split(bt_formula *f, const bt_formula_call *call)
{
    const struct split_attrs *a = call->attrs;
    const bt_ints *cuts = &a->indices_or_sections;
    int is_even = cuts->n == BT_SINGLE;
    uint32_t n = (uint32_t)(is_even ? cuts->at[0] : cuts->n + 1);
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    if (is_even)
        bt_formula_add(f, "part = floordiv(extent(data, %u), %u); ", axis, n);
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, rank, "i#");
    for (uint32_t i = 0; i < n; i++) {
        long long low = i > 0 && cuts->n > 0 ? (long long)cuts->at[i - 1] : 0;
        if (is_even)
            bt_formula_set(f, "y", axis, "j in part");
        else if (i + 1 < n)
            bt_formula_set(f, "y", axis, "j in %lld", (long long)cuts->at[i] - low);
        else
            bt_formula_set(f, "y", axis, "j in extent(data, %u) - %lld", axis, low);
        if (is_even)
            bt_formula_set(f, "at", axis, "j + %u * part", i);
        else
            bt_formula_set(f, "at", axis, "j + %lld", low);
        bt_formula_add(f, "y%u: t[$y] = data[$at]; ", i);
    }
    bt_formula_each(f, "results", 0, n, "y#");
    bt_formula_add(f, "-> $results");
}

/* Where the parts lie one after the other in memory their adjoints make up that of the whole: as one
 * of `concatenate` they may be laid into it, and who else puts them together has the same. */
static bt_status split_vjp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    const struct split_attrs *a = c->call->attrs;
    const bt_value *tuple;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    int is_whole = bt_tensor_static(c->in[0]->type, &rank, dims) && c->nout > 1 &&
                   !bt_type_layout(c->in[0]->type);
    const uint32_t axis = is_whole ? bt_axis_front(a->axis, rank) : 0;
    for (uint32_t i = 0; is_whole && i < axis; i++)
        is_whole = dims[i] == 1;
    for (uint32_t i = 0; is_whole && i < c->nout; i++)
        is_whole = c->seeds[i] != NULL;
    if (!is_whole)
        return bt_formula_vjp(b, c, to);
    char text[32];
    snprintf(text, sizeof(text), "axis=%u", axis);
    BT_TRY(bt_build_tuple(b, c->nout, c->seeds, &tuple));
    return bt_build(b, "concatenate", text, &tuple, 1, &to[0]);
}

static const bt_gradient_facet gradient_of_split = { .vjp = split_vjp };

/* ---- rows ---- */

static const bt_op_input tuple_in[] = {
    { .name = "data", .type = "(t:any[..]*)", .doc = "tensors of one rank and dtype" },
    { 0 },
};
static const bt_op_input split_in[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor with an axis" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "concatenate",
        .revision = 1,
        .doc = "Joins tensors one after another along an axis.\n"
               "Other axes agree; the result's extent is the sum.",
        .source = "Relay, concatenate",
        .inputs = tuple_in,
        .attrs = concatenate_attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_concatenate,
        .write_formula = write_concatenate,
        .facets = BT_FACET_ROWS(
            BT_CASES("(float32[2, 3], float32[2, 3])\n"
                     "(float32[2, 3], float32[2, 1], float32[2, 4]) | axis=1\n"
                     "(int8[2, 3], int8[0, 3], int8[1, 3]) | axis=-2\n"
                     "(bool[4])\n(int64[0], int64[0])"),
            BT_FACET("layout", concatenate_layout)),
    },
    {
        .name = "stack",
        .revision = 1,
        .doc = "Joins tensors of one shape along a new axis.\n"
               "The axis has as many entries as there are tensors.",
        .source = "Relay, stack",
        .inputs = tuple_in,
        .attrs = stack_attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_stack,
        .write_formula = write_stack,
        .facets = BT_FACET_ROWS(BT_CASES(
            "(float32[2, 3], float32[2, 3])\n(int8[2], int8[2], int8[2]) | axis=1\n"
            "(float32[2, 3], float32[2, 3]) | axis=-1\n(int64[], int64[], int64[])\n"
            "(bool[0, 2])")),
    },
    {
        .name = "split",
        .revision = 1,
        .doc =
            "Cuts a tensor along an axis; gives a tuple.\n"
            "indices_or_sections=3 cuts in three equal parts, [2, 5] before positions 2 "
            "and 5.",
        .source = "Relay, split",
        .inputs = split_in,
        .attrs = split_attrs,
        .attrs_nbytes = sizeof(struct split_attrs),
        .relate = relate_split,
        .write_formula = write_split,
        .facets = BT_FACET_ROWS(
            BT_CASES(
                "float32[6, 2] | indices_or_sections=3\n"
                "int8[2, 5] | indices_or_sections=[2], axis=1\n"
                "float32[2, 6] | indices_or_sections=[0, 2, 2, 5], axis=-1\n"
                "float32[0] | indices_or_sections=2\nbool[3] | indices_or_sections=[]"),
            BT_FACET("layout", split_layout), BT_FACET("gradient", gradient_of_split)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_concatenate[] = { BT_OPS(ops), { 0 } };
