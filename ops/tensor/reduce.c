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

typedef struct axes {
    uint32_t rank;
    uint8_t is_reduced[BT_MAX_RANK];
    int keepdims;
} axes;

static bt_status axes_of(bt_ctx *ctx, const bt_formula_call *call, axes *out)
{
    const struct attrs *a = call->attrs;
    int all = a->axis.n == BT_NONE_LIST;
    BT_TRY(formula_rank(ctx, call, 0, &out->rank));
    memset(out->is_reduced, all || a->exclude, sizeof out->is_reduced);
    for (int64_t i = 0; !all && i < a->axis.n; i++)
        out->is_reduced[formula_axis(a->axis.at[i], out->rank)] = !a->exclude;
    out->keepdims = a->keepdims != 0;
    return NULL;
}

/* "i0 in extent(data, 0), k1 in 1": the axes of the result, as the left side of a
 * stage. */
static void write_left(bt_text *out, const axes *x, int keepdims)
{
    int first = 1;
    for (uint32_t k = 0; k < x->rank; k++) {
        if (!x->is_reduced[k]) {
            first = formula_axes(out, first, "i", "data", k, k + 1);
        } else if (keepdims) {
            formula_comma(out, first);
            bt_text_addf(out, "k%u in 1", k);
            first = 0;
        }
    }
}

/* "sum(r1 in extent(data, 1): BODY)", or BODY alone where nothing is reduced over. */
static void write_reducer(bt_text *out, const axes *x, const char *reducer,
                          const char *body)
{
    int first = 1;
    bt_text_addf(out, "%s(", reducer);
    for (uint32_t k = 0; k < x->rank; k++) {
        if (x->is_reduced[k])
            first = formula_axes(out, first, "r", "data", k, k + 1);
    }
    // a reduction needs an index: one of extent 1 stands for none
    bt_text_addf(out, "%s%s)", first ? "r in 1: " : ": ", body);
}

/* data[i0, r1, i2], or mean[i0, 0, i2] with `reduced` = "0". */
static void write_read(bt_text *out, const axes *x, const char *array,
                       const char *reduced)
{
    bt_text_addf(out, "%s[", array);
    for (uint32_t k = 0; k < x->rank; k++) {
        formula_comma(out, k == 0);
        if (!x->is_reduced[k])
            bt_text_addf(out, "i%u", k);
        else if (reduced)
            bt_text_addf(out, "%s", reduced);
        else
            bt_text_addf(out, "r%u", k);
    }
    bt_text_addf(out, "]");
}

static void write_count(bt_text *out, const axes *x)
{
    bt_text_addf(out, "1");
    for (uint32_t k = 0; k < x->rank; k++) {
        if (x->is_reduced[k])
            bt_text_addf(out, " * extent(data, %u)", k);
    }
}

/* A text of its own in the same arena. */
static bt_text piece(const bt_text *out)
{
    bt_text text;
    bt_text_init(&text, out->arena);
    return text;
}

static const char *read_data(const bt_text *out, const axes *x, const char *before,
                             const char *after)
{
    bt_text text = piece(out);
    bt_text_addf(&text, "%s", before);
    write_read(&text, x, "data", NULL);
    bt_text_addf(&text, "%s", after);
    return bt_text_get(&text);
}

/* ---- formulas ---- */

/* The operator's name is its reducer's: sum prod max min all any logsumexp. */
static bt_status write_reduction(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    axes x;
    BT_TRY(axes_of(ctx, call, &x));
    const char *body = read_data(out, &x, "", "");
    if (!body)
        return bt_no_memory();
    bt_text_addf(out, "y: t[");
    write_left(out, &x, x.keepdims);
    bt_text_addf(out, "] = ");
    write_reducer(out, &x, call->op->name, body);
    return formula_end(out);
}

static bt_status write_mean(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    axes x;
    BT_TRY(axes_of(ctx, call, &x));
    bt_text before = piece(out);
    bt_text_addf(&before, "%s(", formula_wide(call, 0));
    const char *body = bt_text_get(&before) ? read_data(out, &x, before.at, ")") : NULL;
    if (!body)
        return bt_no_memory();
    bt_text_addf(out, "count = ");
    write_count(out, &x);
    bt_text_addf(out, "; y: t[");
    write_left(out, &x, x.keepdims);
    bt_text_addf(out, "] = t(");
    write_reducer(out, &x, "sum", body);
    bt_text_addf(out, " / %s(count))", formula_wide(call, 0));
    return formula_end(out);
}

/* m = mean; y = sum((data - m)^2) / count, its root for std. Where the mean is an
 * argument, it has extent 1 in the reduced axes. */
static bt_status write_spread(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    axes x;
    const struct spread_attrs *a = call->attrs;
    int is_std = strcmp(call->op->name, "std") == 0, has_mean = call->narg == 2;
    BT_TRY(axes_of(ctx, call, &x));
    bt_text mean = piece(out);
    write_read(&mean, &x, has_mean ? "mean" : "m", "0");
    const char *wide = read_data(out, &x, "float64(", ")"), *at = bt_text_get(&mean);
    if (!wide || !at)
        return bt_no_memory();
    bt_text square = piece(out);
    bt_text_addf(&square, "(%s - float64(%s)) * (%s - float64(%s))", wide, at, wide, at);
    if (!bt_text_get(&square))
        return bt_no_memory();

    bt_text_addf(out, "count = ");
    write_count(out, &x);
    bt_text_addf(out, "; divisor = count - %d; ", a->unbiased ? 1 : 0);
    if (!has_mean) {
        bt_text_addf(out, "m: float64[");
        write_left(out, &x, 1);
        bt_text_addf(out, "] = ");
        write_reducer(out, &x, "sum", wide);
        bt_text_addf(out, " / count; ");
    }
    bt_text_addf(out, "y: t[");
    write_left(out, &x, x.keepdims);
    bt_text_addf(out, "] = t(%s", is_std ? "sqrt(" : "");
    write_reducer(out, &x, "sum", bt_text_get(&square));
    bt_text_addf(out, " / divisor%s)", is_std ? ")" : "");
    return formula_end(out);
}

/* Over one axis the reducer's own position; over several that in row-major order. */
static bt_status write_arg(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    axes x;
    const struct arg_attrs *a = call->attrs;
    BT_TRY(axes_of(ctx, call, &x));
    bt_text_addf(out, "count = ");
    write_count(out, &x);
    bt_text_addf(out, "; y: int32[");
    write_left(out, &x, x.keepdims);
    bt_text_addf(out, "] = int32(%s%s(r in count: data[", call->op->name,
                 a->select_last_index ? "_last" : "");
    int is_outermost = 1;
    for (uint32_t k = 0; k < x.rank; k++) {
        formula_comma(out, k == 0);
        if (!x.is_reduced[k]) {
            bt_text_addf(out, "i%u", k);
            continue;
        }
        bt_text inner = piece(out);
        for (uint32_t j = k + 1; j < x.rank; j++) {
            if (x.is_reduced[j])
                bt_text_addf(&inner, "%sextent(data, %u)", inner.len ? " * " : "", j);
        }
        const char *product = bt_text_get(&inner);
        if (!product)
            return bt_no_memory();
        bt_text_addf(out, "%s", is_outermost ? "" : "mod(");
        bt_text_addf(out, product[0] ? "floordiv(r, %s)" : "r%s", product);
        if (!is_outermost)
            bt_text_addf(out, ", extent(data, %u))", k);
        is_outermost = 0;
    }
    bt_text_addf(out, "]))");
    return formula_end(out);
}

/* ---- rows ---- */

static const bt_op_input number_in[] = {
    { .name = "data", .type = "t:number[..]", .doc = "what to reduce" },
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
    REDUCE("max", number_in, "Reduce", attrs, write_reduction, relate_contents, NUMBERS, "The greatest element over axes; NaN where there is one."),
    REDUCE("min", number_in, "Reduce", attrs, write_reduction, relate_contents, NUMBERS, "The least element over axes; NaN where there is one."),
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
const bt_table bt_ops_tensor_reduce[] = { BT_OPS(ops), { 0 } };
