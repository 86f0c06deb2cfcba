/*
 * Pooling: nn.max_pool1d/2d/3d, nn.avg_pool1d/2d/3d, nn.global_max_pool2d,
 * nn.global_avg_pool2d.
 *     y[n, c, p, ..] = max(r, ..: data[n, c, p*stride + r*dilation - pad, ..])
 * Elements outside are left out. An average is over the elements inside; with
 * count_include_pad over those in the padding too (as zeros), but never over what
 * ceil_mode reaches beyond it.
 * qnn.avg_pool2d: of codes, x being the sum of those inside without their zero point:
 *     y = limited(round_even(x * (input_scale / (output_scale * count))) + zero), by float32
 * source  Relay's operators of the same names; ONNX MaxPool-12, AveragePool-19
 */
#include <stdio.h>
#include <string.h>

#include "codes.h"
#include "window.h"

struct attrs {
    bt_ints pool_size, strides, padding, dilation;
    const char *layout, *out_layout;
    int64_t ceil_mode, count_include_pad;
};

#define POOL_ATTRS(layout_)                                                          \
    {                                                                                \
        BT_ATTR_RANGE(struct attrs, pool_size, INTS, NULL, 1, INT32_MAX,             \
                      "size of the window"),                                         \
            BT_ATTR_RANGE(struct attrs, strides, INTS, "[1]", 1, INT32_MAX,          \
                          "steps of the window along each axis"),                    \
            BT_ATTR_RANGE(                                                           \
                struct attrs, padding, INTS, "[0]", 0, INT32_MAX,                    \
                "elements around: one number, one an axis, or befores then afters"), \
            BT_ATTR_RANGE(struct attrs, dilation, INTS, "[1]", 1, INT32_MAX,         \
                          "distance between elements of a window"),                  \
            BT_ATTR(struct attrs, layout, STRING, layout_, "order of the axes"),     \
            BT_ATTR(struct attrs, out_layout, STRING, "", "empty, or as layout"),    \
            BT_ATTR(struct attrs, ceil_mode, BOOL, "False",                          \
                    "round the size of the result up"),                              \
            BT_ATTR(struct attrs, count_include_pad, BOOL, "False",                  \
                    "averages count the padding as zeros"),                          \
            { 0 },                                                                   \
    }
static const bt_attr attrs1d[] = POOL_ATTRS("NCW");
static const bt_attr attrs2d[] = POOL_ATTRS("NCHW");
static const bt_attr attrs3d[] = POOL_ATTRS("NCDHW");

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, channels, space" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    uint32_t n = window_nspace(r->op);
    struct layout layout;
    bt_tensor_parts data;
    int64_t size[MAX_SPATIAL], strides[MAX_SPATIAL], dilation[MAX_SPATIAL],
        padding[2 * MAX_SPATIAL];
    const bt_type *dims[2 + MAX_SPATIAL];
    BT_TRY(pool_layout(s, r, a->layout, a->out_layout, n, &layout));
    BT_TRY(space_list(s, r, "pool_size", &a->pool_size, n, size));
    BT_TRY(space_list(s, r, "strides", &a->strides, n, strides));
    BT_TRY(space_list(s, r, "dilation", &a->dilation, n, dilation));
    BT_TRY(space_padding(s, r, &a->padding, n, padding));
    BT_TRY(bt_relation_tensor_rank(s, r, 0, n + 2, &data));
    dims[layout.first] = data.dims[layout.first];
    dims[layout.second] = data.dims[layout.second];
    for (uint32_t i = 0; i < n; i++) {
        struct window w = { .kernel = bt_dim(bt_relation_store(s), size[i]),
                            .stride = strides[i],
                            .dilation = dilation[i],
                            .before = padding[i],
                            .after = padding[n + i],
                            .ceil = a->ceil_mode != 0 };
        if (!w.kernel)
            return bt_no_memory();
        BT_TRY(window_dim(s, r, data.dims[layout.space[i]], &w, &dims[layout.space[i]]));
    }
    return bt_relation_result_laid(s, r, n + 2, dims, data.dtype);
}

/* ---- layout ---- */

static const bt_layout_facet layout_rule = { .choose = pool_layouts_choose };

/* ---- formula ---- */

/* The spatial axes of one call, with everything known. */
struct pool {
    uint32_t n;
    struct layout layout;
    int64_t size[MAX_SPATIAL], strides[MAX_SPATIAL], dilation[MAX_SPATIAL],
        padding[2 * MAX_SPATIAL];
    int64_t ceil, count_padding;
};

static void read_pool(const bt_formula_call *call, struct pool *p)
{
    const struct attrs *a = call->attrs;
    p->n = window_nspace(call->op);
    layout_read(a->layout, 'N', 'C', p->n, &p->layout);
    (void)bt_ints_expand(&a->pool_size, p->n, p->size);
    (void)bt_ints_expand(&a->strides, p->n, p->strides);
    (void)bt_ints_expand(&a->dilation, p->n, p->dilation);
    (void)bt_ints_expand(&a->padding, 2 * p->n, p->padding);
    p->ceil = a->ceil_mode;
    p->count_padding = a->count_include_pad;
}

/* Axes and indices in the order of the layout, and scalars o0, o1, ...: the sizes of the
 * result. */
static void write_space(bt_formula *f, const struct pool *p)
{
    const struct layout *l = &p->layout;
    bt_formula_set(f, "y", l->first, "n in extent(data, %u)", l->first);
    bt_formula_set(f, "y", l->second, "c in extent(data, %u)", l->second);
    bt_formula_set(f, "at", l->first, "n");
    bt_formula_set(f, "at", l->second, "c");
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t axis = l->space[i];
        long long rest = (long long)(p->padding[i] + p->padding[p->n + i] -
                                     (p->size[i] - 1) * p->dilation[i] - 1);
        long long stride = (long long)p->strides[i], before = (long long)p->padding[i];
        if (p->ceil)
            bt_formula_add(f,
                           "o%u = min(ceildiv(extent(data, %u) + %lld, %lld), "
                           "floordiv(extent(data, %u) + %lld, %lld)) + 1;\n",
                           i, axis, rest, stride, axis, before - 1, stride);
        else
            bt_formula_add(f, "o%u = floordiv(extent(data, %u) + %lld, %lld) + 1;\n", i,
                           axis, rest, stride);
        bt_formula_set(f, "y", axis, "p%u in o%u", i, i);
        bt_formula_set(f, "at", axis, "p%u*%lld + r%u*%lld - %lld", i, stride, i,
                       (long long)p->dilation[i], before);
        bt_formula_item(f, "r", "r%u in %lld", i, (long long)p->size[i]);
    }
}

/* The least value of the type: what a maximum over nothing is. */
static void write_least(bt_formula *f, bt_dtype dtype)
{
    if (bt_dtype_is_float(dtype))
        bt_formula_item(f, "least", "-inf");
    else if (BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT)
        bt_formula_item(f, "least", "0");
    else
        bt_formula_item(f, "least", "-%llu - 1",
                        (1ull << (BT_DTYPE_BITS(dtype) - 1)) - 1);
}

/* Whether maxima along one axis after the other, the last one first, take less than half
 * as many steps as those of whole windows. */
static int is_separate(const struct pool *p)
{
    double whole = 1, steps = 0, left = 1;
    for (uint32_t i = 0; i < p->n; i++) {
        whole *= (double)p->size[i];
        steps += (double)p->size[i] * left;
        left *= (double)p->strides[i];
    }
    return whole > 2 * steps;
}

/* m1[n, c, h0, p1] = max(r1: data[n, c, h0, ..]), y[n, c, p0, p1] = max(r0: m1[n, c, .., p1]) */
static void write_separate(bt_formula *f, const struct pool *p)
{
    for (uint32_t i = p->n; i-- > 0;) {
        bt_formula_clear(f, "m");
        bt_formula_clear(f, "from");
        bt_formula_set(f, "m", p->layout.first, "n in extent(data, %u)", p->layout.first);
        bt_formula_set(f, "m", p->layout.second, "c in extent(data, %u)",
                       p->layout.second);
        bt_formula_set(f, "from", p->layout.first, "n");
        bt_formula_set(f, "from", p->layout.second, "c");
        for (uint32_t k = 0; k < p->n; k++) {
            uint32_t axis = p->layout.space[k];
            if (k < i)
                bt_formula_set(f, "m", axis, "h%u in extent(data, %u)", k, axis);
            else
                bt_formula_set(f, "m", axis, "p%u in o%u", k, k);
            if (k == i)
                bt_formula_set(f, "from", axis, "p%u*%lld + r%u*%lld - %lld", k,
                               (long long)p->strides[k], k, (long long)p->dilation[k],
                               (long long)p->padding[k]);
            else
                bt_formula_set(f, "from", axis, "%c%u", k < i ? 'h' : 'p', k);
        }
        if (i + 1 == p->n)
            bt_formula_item(f, "source", "data");
        bt_formula_add(f, i ? "m" : "y: ");
        if (i)
            bt_formula_add(f, "%u: ", i);
        bt_formula_add(f, "t[$m] = max(r%u in %lld: $source[$from] else $least)", i,
                       (long long)p->size[i]);
        bt_formula_clear(f, "source");
        bt_formula_item(f, "source", "m%u", i);
        if (i)
            bt_formula_add(f, ";\n");
    }
}

static void write_max(bt_formula *f, const bt_formula_call *call)
{
    struct pool p;
    read_pool(call, &p);
    write_space(f, &p);
    write_least(f, bt_tensor_dtype(call->result));
    if (is_separate(&p))
        write_separate(f, &p);
    else
        bt_formula_add(f, "y: t[$y] = max($r: data[$at] else $least)");
}

/* How many elements of a window count along one axis: those inside the data, or inside
 * data and padding. */
static void write_count(bt_formula *f, const struct pool *p, uint32_t i)
{
    uint32_t axis = p->layout.space[i];
    long long before = (long long)p->padding[i], after = (long long)p->padding[p->n + i];
    long long low = p->count_padding ? -before : 0, high = p->count_padding ? after : 0;
    bt_formula_clear(f, "place");
    bt_formula_item(f, "place", "p%u*%lld + r%u*%lld - %lld", i, (long long)p->strides[i],
                    i, (long long)p->dilation[i], before);
    bt_formula_item(
        f, "count",
        "sum(r%u in %lld | $place >= %lld && $place < extent(data, %u) + %lld: "
        "1)",
        i, (long long)p->size[i], low, axis, high);
}

static void write_avg(bt_formula *f, const bt_formula_call *call)
{
    struct pool p;
    const char *wide = bt_formula_wide(call->args[0]);
    read_pool(call, &p);
    write_space(f, &p);
    for (uint32_t i = 0; i < p.n; i++)
        write_count(f, &p, i);
    bt_formula_each(f, "o", 0, p.n, "p# in o#");
    bt_formula_each(f, "p", 0, p.n, "p#");
    bt_formula_add(f,
                   "count: int64[$o] = $[ * ]count;\n"
                   "y: t[$y] = t(sum($r: %s(data[$at]) else 0) / %s(count[$p]))",
                   wide, wide);
}

/* ---- averages of codes ---- */

static const bt_op_input code_inputs[] = {
    { .name = "data",
      .type = "t:int8|uint8|int16|uint16[..]",
      .doc = "codes: batch, channels, space" },
    { .name = "input_scale", .type = "float32[]", .doc = "scale of data: " SCALE_DOC },
    { .name = "input_zero_point",
      .type = "integer[]",
      .doc = "zero point of data: the code of 0" },
    { .name = "output_scale", .type = "float32[]", .doc = "of the result" },
    { .name = "output_zero_point", .type = "integer[]", .doc = "of the result" },
    { 0 },
};

/* Whether an int32 may not hold a sum: so many codes there are, the zero point is one of them. */
static int is_long_sum(const struct pool *p, int64_t codes)
{
    int64_t most = codes;
    for (uint32_t i = 0; i < p->n && most <= INT32_MAX; i++)
        most *= p->size[i];
    return most > INT32_MAX;
}

static void write_code_avg(bt_formula *f, const bt_formula_call *call)
{
    int64_t low, high;
    struct pool p;
    bt_dtype_limits(bt_tensor_dtype(call->result), &low, &high);
    read_pool(call, &p);
    write_space(f, &p);
    for (uint32_t i = 0; i < p.n; i++)
        write_count(f, &p, i);
    bt_formula_each(f, "o", 0, p.n, "p# in o#");
    bt_formula_each(f, "p", 0, p.n, "p#");
    bt_formula_item(f, "zero", "int32(output_zero_point[])");
    bt_formula_item(f, "wide", "%s", is_long_sum(&p, high - low + 1) ? "int64" : "int32");
    bt_formula_add(
        f,
        "factor: float32[$o] = input_scale[] / float32(output_scale[] * "
        "float32($[ * ]count));\n"
        "y: t[$y] = t(int32(clamp(round_even(float32(float32(sum($r: "
        "$wide(data[$at]) - $wide(input_zero_point[]) else 0)) * "
        "factor[$p])), float32(%lld - $zero), float32(%lld - $zero))) + $zero)",
        (long long)low, (long long)high);
}

/* ---- over the whole of space ---- */

struct global_attrs {
    const char *layout, *out_layout;
};
static const bt_attr global_attrs[] = {
    BT_ATTR(struct global_attrs, layout, STRING, "NCHW", "order of the axes"),
    BT_ATTR(struct global_attrs, out_layout, STRING, "", "empty, or as layout"),
    { 0 },
};

static bt_status relate_global(bt_solver *s, const bt_relation_call *r)
{
    const struct global_attrs *a = r->attrs;
    struct layout layout;
    bt_tensor_parts data;
    const bt_type *dims[4], *one = bt_dim(bt_relation_store(s), 1);
    BT_TRY(pool_layout(s, r, a->layout, a->out_layout, 2, &layout));
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 4, &data));
    if (!one)
        return bt_no_memory();
    for (uint32_t i = 0; i < 4; i++)
        dims[i] = i == layout.space[0] || i == layout.space[1] ? one : data.dims[i];
    return bt_relation_result_tensor(s, r, 4, dims, data.dtype);
}

/* One element a channel: row major from here on. */
static bt_status choose_global(bt_ctx *ctx, bt_store *store, const bt_call *call,
                               const bt_layout *const *wanted, const bt_layout **in,
                               const bt_layout **out)
{
    BT_TRY(pool_layouts_choose(ctx, store, call, wanted, in, out));
    *out = NULL;
    return NULL;
}

static const bt_layout_facet global_layout_rule = { .choose = choose_global };

static void write_global(bt_formula *f, const bt_formula_call *call)
{
    const struct global_attrs *a = call->attrs;
    struct layout layout;
    const char *wide = bt_formula_wide(call->args[0]);
    layout_read(a->layout, 'N', 'C', 2, &layout);
    uint32_t h = layout.space[0], w = layout.space[1];
    bt_formula_each(f, "y", 0, 4, "i#");
    bt_formula_set(f, "y", h, "i%u in 1", h);
    bt_formula_set(f, "y", w, "i%u in 1", w);
    bt_formula_each(f, "at", 0, 4, "i#");
    bt_formula_set(f, "at", h, "r");
    bt_formula_set(f, "at", w, "s");
    if (strcmp(call->op->name, "nn.global_max_pool2d") == 0)
        bt_formula_add(f, "y: t[$y] = max(r, s: data[$at])");
    else
        bt_formula_add(f,
                       "y: t[$y] = t(sum(r, s: %s(data[$at])) / %s(extent(data, %u) * "
                       "extent(data, %u)))",
                       wide, wide, h, w);
}

/* ---- rows ---- */

// clang-format off
#define SCALES ", float32[] = 0.02, int32[] = 100, float32[] = 0.015, int32[] = 3"
#define SCALE_max BT_SCALE_POSITIVE
#define SCALE_avg BT_SCALE_ANY
#define POOL(kind_, title_, rank_, cases_)                                                                      \
    {                                                                                                           \
        .name = "nn." #kind_ "_pool" #rank_, .revision = 1, .source = "Relay, nn." #kind_ "_pool" #rank_,          \
        .doc = title_, .inputs = inputs, .attrs = attrs##rank_, .attrs_nbytes = sizeof(struct attrs),             \
        .relate = relate, .write_formula = write_##kind_, .facets = BT_FACET_ROWS(BT_FACET("layout", layout_rule), BT_CASES(cases_), BT_SCALE(SCALE_##kind_, "layout")), \
    }
#define CASES1 "float32[1, 2, 7] | pool_size=[3]\nfloat32[2, 2, 6] | pool_size=[2], strides=[2], padding=[1, 0]"
#define CASES2 "float32[1, 2, 6, 6] | pool_size=[2, 2], strides=[2, 2]\n"                                        \
               "float32[1, 2, 5, 7] | pool_size=[3, 2], strides=[2, 1], padding=[1, 0, 1, 1]\n"                  \
               "float32[1, 2, 6, 6] | pool_size=[3, 3], strides=[2, 2], ceil_mode=True\n"                         \
               "float32[1, 2, 1, 3] | pool_size=[2, 4], strides=[2, 4], ceil_mode=True\n"                         \
               "float32[1, 6, 6, 2] | pool_size=[2, 2], layout=\"NHWC\"\n"                                      \
               "float32[1, 1, 7, 7] | pool_size=[3, 3], dilation=[2, 2]\nfloat32[0, 2, 4, 4] | pool_size=[2, 2]"
#define CASES3 "float32[1, 1, 4, 5, 6] | pool_size=[2, 2, 2], strides=[2, 1, 2]"
static const bt_op ops[] = {
    POOL(max, "The greatest element of each window.", 1d, CASES1),
    POOL(max, "The greatest element of each window.", 2d, CASES2 "\nint8[1, 1, 4, 4] | pool_size=[3, 3], padding=[1, 1]"),
    POOL(max, "The greatest element of each window.", 3d, CASES3),
    POOL(avg, "The mean of each window.", 1d, CASES1),
    POOL(avg, "The mean of each window.", 2d, CASES2
         "\nfloat32[1, 2, 5, 5] | pool_size=[3, 3], padding=[1, 1], count_include_pad=True, ceil_mode=True, strides=[2, 2]"),
    POOL(avg, "The mean of each window.", 3d, CASES3),
    {
        .name = "nn.global_max_pool2d", .revision = 1, .source = "Relay, nn.global_max_pool2d",
        .doc = "The greatest element of each channel.", .inputs = inputs,
        .attrs = global_attrs, .attrs_nbytes = sizeof(struct global_attrs),
        .relate = relate_global, .write_formula = write_global,
        .facets = BT_FACET_ROWS(BT_FACET("layout", global_layout_rule), BT_CASES("float32[2, 3, 4, 5]\nfloat32[1, 4, 5, 2] | layout=\"NHWC\"\nint8[1, 1, 12, 12]"),
                                BT_SCALE(BT_SCALE_POSITIVE, "layout")),
    },
    {
        .name = "nn.global_avg_pool2d", .revision = 1, .source = "Relay, nn.global_avg_pool2d",
        .doc = "The mean of each channel.", .inputs = inputs,
        .attrs = global_attrs, .attrs_nbytes = sizeof(struct global_attrs),
        .relate = relate_global, .write_formula = write_global,
        .facets = BT_FACET_ROWS(BT_FACET("layout", global_layout_rule), BT_CASES("float32[2, 3, 4, 5]\nfloat32[1, 4, 5, 2] | layout=\"NHWC\"\nint8[1, 1, 12, 12]"),
                                BT_SCALE(BT_SCALE_ANY, "layout")),
    },
    {
        .name = "qnn.avg_pool2d", .revision = 1, .source = "Relay, qnn.avg_pool2d",
        .doc = "The mean of each window of what codes stand for, as codes.",
        .inputs = code_inputs, .attrs = attrs2d, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_code_avg,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout_rule), BT_CASES(
            "uint8[1, 2, 6, 6]" SCALES " | pool_size=[2, 2], strides=[2, 2]\n"
            "int8[1, 2, 5, 7]" SCALES " | pool_size=[3, 2], strides=[2, 1], padding=[1, 0, 1, 1]\n"
            "uint8[1, 5, 5, 2]" SCALES " | pool_size=[3, 3], padding=[1, 1], count_include_pad=True, ceil_mode=True, strides=[2, 2], layout=\"NHWC\"")),
    },
    { 0 },
};
// clang-format on

/* The greatest of rounded numbers is one of them. */
static const bt_precision_facet follow = { BT_PRECISION_FOLLOW };
// clang-format off
static const bt_facet precisions[] = {
    { .facet = "precision", .op = "nn.max_pool1d", .table_nbytes = sizeof(follow), .table = &follow },
    { .facet = "precision", .op = "nn.max_pool2d", .table_nbytes = sizeof(follow), .table = &follow },
    { .facet = "precision", .op = "nn.max_pool3d", .table_nbytes = sizeof(follow), .table = &follow },
    { .facet = "precision", .op = "nn.global_max_pool2d", .table_nbytes = sizeof(follow), .table = &follow },
    { 0 },
};
// clang-format on

const bt_table bt_ops_nn_pool[] = { BT_OPS(ops), BT_FACETS(precisions), { 0 } };
