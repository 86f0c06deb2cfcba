/*
 * Reductions over axes: sum, max, mean, argmax, variance, ...
 *     sum(axis=[1])       y[i0, i2] = sum(r1: data[i0, r1, i2])
 *     max(keepdims=True)  y[0, 0] = max(r0, r1: data[r0, r1])
 * axis      axes to reduce over, negative ones from the end; None: all; []: none
 * keepdims  reduced axes stay, with extent 1
 * exclude   reduce over all axes but those listed (not with axis=None)
 * result    dtype of data; int32 for argmax and argmin: the position in the reduced axes,
 *           row major
 * source    Relay's operators of the same names; std and logsumexp are functions of its
 *           Python API
 */
#include "contents.h"
#include "formula.h"

#include <string.h>

/* Every struct of attributes starts with these, in this order. */
struct attrs {
    bt_ints axis;
    int64_t keepdims;
    int64_t exclude;
};
struct spread_attrs {
    bt_ints axis;
    int64_t keepdims;
    int64_t exclude;
    int64_t unbiased;
};
struct arg_attrs {
    bt_ints axis;
    int64_t keepdims;
    int64_t exclude;
    int64_t select_last_index;
};

#define AXIS_ROWS(type)                                                             \
    BT_ATTR(type, axis, INTS, "None", "axes to reduce over; None: all"),            \
        BT_ATTR(type, keepdims, BOOL, "False", "reduced axes stay, with extent 1"), \
        BT_ATTR(type, exclude, BOOL, "False", "reduce over the axes not in `axis`")

static const bt_attr attrs[] = {
    AXIS_ROWS(struct attrs),
    { 0 },
};
static const bt_attr spread_attrs[] = {
    AXIS_ROWS(struct spread_attrs),
    BT_ATTR(struct spread_attrs, unbiased, BOOL, "False",
            "divide by one less than the count"),
    { 0 },
};
static const bt_attr arg_attrs[] = {
    AXIS_ROWS(struct arg_attrs),
    BT_ATTR(struct arg_attrs, select_last_index, BOOL, "False",
            "the last of equal elements, not the first"),
    { 0 },
};

/* ---- contents ---- */

/* The number of elements of a shape is the product of its dims, and so on: a rank-1
 * integer tensor of known contents, reduced to one element. */
static bt_status relate_contents(bt_solver *s, const bt_relation_call *r)
{
    static const struct {
        const char *op;
        const bt_type *(*combine)(bt_store *, const bt_type *, const bt_type *);
    } combines[] = {
        { "sum", bt_dim_add },
        { "prod", bt_dim_mul },
        { "max", bt_dim_max },
        { "min", bt_dim_min },
    };
    contents in;
    const bt_type *all;
    const struct attrs *a = r->attrs;
    // rank 1 and an axis leave one element, if they reduce at all
    if (!contents_possible(s, r, r->narg) || !contents_possible(s, r, 0) ||
        (a->axis.n != BT_NONE_LIST && (a->axis.n == 0) != (a->exclude != 0)))
        return NULL;
    BT_TRY(contents_get(s, r, 0, &in));
    if (in.n < 1)
        return NULL;
    all = in.at[0];
    for (uint32_t i = 0; i < BT_COUNT(combines); i++) {
        if (strcmp(combines[i].op, r->op->name) != 0)
            continue;
        for (int64_t k = 1; all && k < in.n; k++)
            all = combines[i].combine(bt_relation_store(s), all, in.at[k]);
    }
    if (!all || !contents_fit(all, bt_tensor_dtype(bt_relation_arg(s, r, 0))))
        return NULL;
    return bt_relation_set_contents(s, r, 1, &all);
}

/* ---- axes ---- */

/* Lists for every formula here: `y`, axes of the result; `kept`, the same with all of them;
 * `r`, what is reduced over; `at`, indices of data, and `mean`, those of its mean; `count`,
 * to be multiplied: how many elements are reduced to one. */
static void write_axes(bt_formula *f, const bt_formula_call *call,
                       uint8_t is_reduced[BT_MAX_RANK])
{
    const struct attrs *a = call->attrs;
    int all = a->axis.n == BT_NONE_LIST, over = 0;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    memset(is_reduced, all || a->exclude, BT_MAX_RANK);
    for (int64_t i = 0; !all && i < a->axis.n; i++)
        is_reduced[bt_formula_axis(f, a->axis.at[i], rank)] = !a->exclude;
    bt_formula_each(f, "kept", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "mean", 0, rank, "i#");
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_item(f, "count", "1");
    bt_formula_clear(f, "y");
    for (uint32_t k = 0; k < rank; k++) {
        if (!is_reduced[k]) {
            bt_formula_item(f, "y", "i%u in extent(data, %u)", k, k);
            continue;
        }
        over = 1;
        if (a->keepdims)
            bt_formula_item(f, "y", "k%u in 1", k);
        bt_formula_set(f, "kept", k, "k%u in 1", k);
        bt_formula_set(f, "mean", k, "0");
        bt_formula_set(f, "at", k, "r%u", k);
        bt_formula_item(f, "r", "r%u in extent(data, %u)", k, k);
        bt_formula_item(f, "count", "extent(data, %u)", k);
    }
    if (!over) // a reduction needs an index: one of extent 1 stands for none
        bt_formula_item(f, "r", "r in 1");
}

/* ---- formulas ---- */

/* The operator's name is its reducer's: sum prod max min all any logsumexp. The least of
 * truth values is True where all are, the greatest where any is. */
static void write_reduction(bt_formula *f, const bt_formula_call *call)
{
    const char *reducer = call->op->name;
    uint8_t is_reduced[BT_MAX_RANK];
    if (bt_tensor_dtype(call->args[0]) == BT_BOOL && strcmp(reducer, "min") == 0)
        reducer = "all";
    else if (bt_tensor_dtype(call->args[0]) == BT_BOOL && strcmp(reducer, "max") == 0)
        reducer = "any";
    write_axes(f, call, is_reduced);
    bt_formula_add(f, "y: t[$y] = %s($r: data[$at])", reducer);
}

static void write_mean(bt_formula *f, const bt_formula_call *call)
{
    const char *wide = bt_formula_wide(call->args[0]);
    uint8_t is_reduced[BT_MAX_RANK];
    write_axes(f, call, is_reduced);
    bt_formula_add(f,
                   "count = $[ * ]count; "
                   "y: t[$y] = t(sum($r: %s(data[$at])) / %s(count))",
                   wide, wide);
}

/* m = mean; y = sum((data - m)^2) / count, its root for std. Where the mean is an
 * argument, it has extent 1 in the reduced axes. */
static void write_spread(bt_formula *f, const bt_formula_call *call)
{
    const struct spread_attrs *a = call->attrs;
    uint8_t is_reduced[BT_MAX_RANK];
    write_axes(f, call, is_reduced);
    bt_formula_add(f, "count = $[ * ]count; divisor = count - %d; ", a->unbiased ? 1 : 0);
    if (call->narg < 2)
        bt_formula_add(f, "m: float64[$kept] = sum($r: float64(data[$at])) / count; ");
    bt_formula_item(f, "off", "(float64(data[$at]) - float64(%s[$mean]))",
                    call->narg == 2 ? "mean" : "m");
    if (strcmp(call->op->name, "variance") == 0)
        bt_formula_add(f, "y: t[$y] = t(sum($r: $off * $off) / divisor)");
    else // where all elements are equal the root has no derivative, and 0 is the gradient
        bt_formula_add(f, "v: float64[$kept] = sum($r: $off * $off) / divisor; "
                          "y: t[$y] = t(select(v[$mean] == 0, 0, sqrt(v[$mean])))");
}

static void write_arg(bt_formula *f, const bt_formula_call *call)
{
    const struct arg_attrs *a = call->attrs;
    uint8_t is_reduced[BT_MAX_RANK];
    write_axes(f, call, is_reduced);
    bt_formula_add(f, "y: int32[$y] = int32(%s%s($r: data[$at]))", call->op->name,
                   a->select_last_index ? "_last" : "");
}

/* ---- rows ---- */

static const bt_op_input number_in[] = {
    { .name = "data", .type = "t:number[..]", .doc = "what to reduce" },
    { 0 },
};
static const bt_op_input ordered_in[] = {
    { .name = "data", .type = "t:number|bool[..]", .doc = "what to reduce" },
    { 0 },
};
static const bt_op_input bool_in[] = {
    { .name = "data", .type = "t:bool[..]", .doc = "truth values" },
    { 0 },
};
static const bt_op_input float_in[] = {
    { .name = "data", .type = "t:float[..]", .doc = "what to reduce" },
    { 0 },
};
static const bt_op_input variance_in[] = {
    { .name = "data", .type = "t:float[..]", .doc = "what to reduce" },
    { .name = "mean",
      .type = "t[..]",
      .doc = "the mean over the same axes, with keepdims; computed when left out",
      .is_optional = 1 },
    { 0 },
};

#define AXIS_CASES(t)                                                                    \
    t "[2, 3, 4] | axis=[1]\n" t "[2, 3] | axis=[-1], keepdims=True\n" t                 \
      "[2, 3, 4] | axis=[1], exclude=True\n" t "[]\n" t "[2, 3]\n" t "[3] | axis=[]\n" t \
      "[2, 0] | axis=[0]\n"

static const bt_layout_facet layout = { .choose = bt_layout_read };

#define REDUCE(name_, inputs_, relation_, attrs_, write_, relate_, cases_, doc_)         \
    {                                                                                    \
        .name = name_, .revision = 1, .doc = doc_ "\nThe result lacks those axes.",      \
        .source = "Relay, " name_, .inputs = inputs_, .attrs = attrs_,                   \
        .attrs_nbytes = sizeof(struct attrs_), .relation = relation_, .relate = relate_, \
        .write_formula = write_,                                                         \
        .facets = BT_FACET_ROWS(BT_CASES(cases_), BT_FACET("layout", layout)),           \
    }

#define NUMBERS \
    AXIS_CASES("float32") "int8[2, 3]\nuint8[4]\nint64[2, 2] | axis=[0]\nfloat16[8]"
#define ARGUMENTS         \
    AXIS_CASES("float32") \
    "int32[2, 3] = 0..2 | axis=[1], select_last_index=True\nuint8[2, 2, 3]"
#define SPREADS                                                               \
    "float32[2, 3, 4] | axis=[1]\nfloat64[2, 3] | axis=[-1], keepdims=True, " \
    "unbiased=True\nfloat32[4]\nfloat16[2, 8] | axis=[0], exclude=True"

// clang-format off
static const bt_op ops[] = {
    REDUCE("sum", number_in, "Reduce", attrs, write_reduction, relate_contents, NUMBERS "\nfloat32[2, 0]", "Adds up the elements over axes; integers wrap."),
    REDUCE("prod", number_in, "Reduce", attrs, write_reduction, relate_contents, NUMBERS "\nfloat32[2, 0]", "Multiplies the elements over axes; integers wrap."),
    REDUCE("max", ordered_in, "Reduce", attrs, write_reduction, relate_contents, NUMBERS "\nbool[2, 3] | axis=[1]\nbool[1]", "The greatest element over axes; NaN where there is one."),
    REDUCE("min", ordered_in, "Reduce", attrs, write_reduction, relate_contents, NUMBERS "\nbool[2, 3] | axis=[1]\nbool[1]", "The least element over axes; NaN where there is one."),
    REDUCE("mean", number_in, "Reduce", attrs, write_mean, NULL, NUMBERS "\nint8[200]", "The mean over axes; that of integers is truncated."),
    REDUCE("all", bool_in, "Reduce", attrs, write_reduction, NULL, AXIS_CASES("bool"), "Whether all elements over axes are True."),
    REDUCE("any", bool_in, "Reduce", attrs, write_reduction, NULL, AXIS_CASES("bool"), "Whether some element over axes is True."),
    REDUCE("logsumexp", float_in, "Reduce", attrs, write_reduction, NULL, AXIS_CASES("float32"), "log(sum(exp(data))) over axes, without overflow."),
    REDUCE("variance", variance_in, "Reduce", spread_attrs, write_spread, NULL, SPREADS "\nfloat32[2, 3], float32[2, 1] | axis=[1]", "The mean of the squared distances to the mean over axes."),
    REDUCE("std", float_in, "Reduce", spread_attrs, write_spread, NULL, SPREADS, "The standard deviation over axes: the root of the variance."),
    REDUCE("argmax", number_in, "ArgReduce", arg_attrs, write_arg, NULL, ARGUMENTS, "Where the greatest element over axes is; NaN counts as greatest."),
    REDUCE("argmin", number_in, "ArgReduce", arg_attrs, write_arg, NULL, ARGUMENTS, "Where the least element over axes is; NaN counts as least."),
    { 0 },
};
// clang-format on

/* The greatest or least of rounded numbers is one of them. */
static const bt_precision_facet follow = { BT_PRECISION_FOLLOW };
// clang-format off
static const bt_facet precisions[] = {
    { .facet = "precision", .op = "max", .table_nbytes = sizeof(follow), .table = &follow },
    { .facet = "precision", .op = "min", .table_nbytes = sizeof(follow), .table = &follow },
    { 0 },
};
// clang-format on

const bt_table bt_ops_tensor_reduce[] = { BT_OPS(ops), BT_FACETS(precisions), { 0 } };
