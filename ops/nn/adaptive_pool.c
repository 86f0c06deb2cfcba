/*
 * nn.adaptive_max_pool1d/2d/3d, nn.adaptive_avg_pool1d/2d/3d: pooling whose windows
 * follow from the size of the result.
 *     y[n, c, p, ..] = max(start(p) <= i < end(p), ..: data[n, c, i, ..])
 *     start(p) = floor(p * size / out), end(p) = ceil((p + 1) * size / out)
 * source  Relay's operators of the same names; PyTorch
 */
#include <string.h>

#include "window.h"

struct attrs {
    bt_ints output_size;
    const char *layout, *out_layout;
};
#define ADAPTIVE_ATTRS(layout_)                                                          \
    {                                                                                    \
        BT_ATTR_RANGE(struct attrs, output_size, INTS, "[]", 1, INT32_MAX,               \
                      "extents of the result: one for all axes, one an axis; empty: "    \
                      "those of data"),                                                  \
            BT_ATTR(struct attrs, layout, STRING, layout_, "order of the axes"),         \
            BT_ATTR(struct attrs, out_layout, STRING, "", "empty, or as layout"), { 0 }, \
    }
static const bt_attr attrs1d[] = ADAPTIVE_ATTRS("NCW");
static const bt_attr attrs2d[] = ADAPTIVE_ATTRS("NCHW");
static const bt_attr attrs3d[] = ADAPTIVE_ATTRS("NCDHW");

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, channels, space" },
    { 0 },
};

/* Whether one element a channel is left: that is row major from there on. */
static int is_one(const struct attrs *a)
{
    int is = a->output_size.n != 0;
    for (int64_t i = 0; i < a->output_size.n; i++)
        is &= a->output_size.at[i] == 1;
    return is;
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    uint32_t n = window_nspace(r->op);
    struct layout layout;
    bt_tensor_parts data;
    int64_t sizes[MAX_SPATIAL];
    const bt_type *dims[2 + MAX_SPATIAL], *one = bt_dim(store, 1);
    BT_TRY(pool_layout(s, r, a->layout, a->out_layout, n, &layout));
    BT_TRY(bt_relation_tensor_rank(s, r, 0, n + 2, &data));
    if (a->output_size.n == 0)
        return bt_relation_result_laid(s, r, n + 2, data.dims, data.dtype);
    BT_TRY(space_list(s, r, "output_size", &a->output_size, n, sizes));
    dims[layout.first] = data.dims[layout.first];
    dims[layout.second] = data.dims[layout.second];
    for (uint32_t i = 0; i < n; i++) {
        const bt_type *known;
        BT_TRY(bt_relation_dim(s, r, data.dims[layout.space[i]], &known));
        dims[layout.space[i]] = bt_dim(store, sizes[i]);
        if (!dims[layout.space[i]] || !one)
            return bt_no_memory();
        BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, one, known,
                                   "one element and an axis of data"));
    }
    return is_one(a) ? bt_relation_result_tensor(s, r, n + 2, dims, data.dtype)
                     : bt_relation_result_laid(s, r, n + 2, dims, data.dtype);
}

/* ---- formula ---- */

/* Window p of axis i starts at floordiv(p * size, out) and ends at ceildiv((p + 1) * size,
 * out). */
static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t n = window_nspace(call->op);
    struct layout layout;
    const char *wide = bt_formula_wide(call->args[0]);
    layout_read(a->layout, 'N', 'C', n, &layout);
    bt_formula_set(f, "y", layout.first, "n in extent(data, %u)", layout.first);
    bt_formula_set(f, "y", layout.second, "c in extent(data, %u)", layout.second);
    bt_formula_set(f, "at", layout.first, "n");
    bt_formula_set(f, "at", layout.second, "c");
    bt_formula_clear(f, "length");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t axis = layout.space[i];
        if (a->output_size.n == 0)
            bt_formula_add(f, "o%u = extent(data, %u);\n", i, axis);
        else
            bt_formula_add(f, "o%u = output_size[%u];\n", i,
                           a->output_size.n == 1 ? 0 : i);
        bt_formula_clear(f, "start");
        bt_formula_item(f, "start", "floordiv(p%u * extent(data, %u), o%u)", i, axis, i);
        bt_formula_item(f, "length",
                        "ceildiv((p%u + 1) * extent(data, %u), o%u) - $start", i, axis,
                        i);
        bt_formula_item(f, "r",
                        "r%u in ceildiv((p%u + 1) * extent(data, %u), o%u) - $start", i,
                        i, axis, i);
        bt_formula_set(f, "y", axis, "p%u in o%u", i, i);
        bt_formula_set(f, "at", axis, "$start + r%u", i);
    }
    if (strncmp(call->op->name, "nn.adaptive_max", 15) == 0)
        bt_formula_add(f, "y: t[$y] = max($r: data[$at] else -inf)");
    else
        bt_formula_add(f,
                       "y: t[$y] = t(sum($r: %s(data[$at]) else 0) / %s(1 * ($[) * "
                       "(]length)))",
                       wide, wide);
}

/* ---- layout ---- */

static bt_status choose_layout(bt_ctx *ctx, bt_store *store, const bt_call *call,
                               const bt_layout *const *wanted, const bt_layout **in,
                               const bt_layout **out)
{
    BT_TRY(pool_layouts_choose(ctx, store, call, wanted, in, out));
    *out = is_one(call->attrs) ? NULL : *out;
    return NULL;
}

static const bt_layout_facet layout = { .choose = choose_layout };

/* ---- rows ---- */

// clang-format off
#define SCALE_max BT_SCALE_POSITIVE
#define SCALE_avg BT_SCALE_ANY
#define POOL(kind_, title_, rank_, cases_)                                                \
    {                                                                                     \
        .name = "nn.adaptive_" #kind_ "_pool" #rank_, .revision = 1,                      \
        .source = "Relay, nn.adaptive_" #kind_ "_pool" #rank_ "; PyTorch", .doc = title_, \
        .inputs = inputs, .attrs = attrs##rank_, .attrs_nbytes = sizeof(struct attrs),    \
        .relate = relate, .write_formula = write_formula,                                 \
        .facets = BT_FACET_ROWS(BT_CASES(cases_), BT_FACET("layout", layout),             \
                                BT_SCALE(SCALE_##kind_, "layout")),               \
    }
#define MAX_DOC "The greatest element of each of a given number of windows."
#define AVG_DOC "The mean of each of a given number of windows."
#define CASES1 "float32[2, 3, 7] | output_size=[3]\nfloat32[1, 5, 2] | output_size=[4], layout=\"NWC\"\n" \
               "int8[1, 2, 6] | output_size=[2]\nfloat32[1, 2, 5]"
#define CASES2 "float32[1, 2, 7, 5] | output_size=[3, 4]\nfloat32[2, 3, 4, 4] | output_size=1\n"         \
               "float32[1, 5, 6, 2] | output_size=[7, 2], layout=\"NHWC\"\nfloat32[1, 2, 3, 4]"
#define CASES3 "float32[1, 2, 4, 5, 6] | output_size=[2, 3, 4]\nfloat32[1, 1, 3, 3, 3] | output_size=2"
static const bt_op ops[] = {
    POOL(max, MAX_DOC, 1d, CASES1), POOL(max, MAX_DOC, 2d, CASES2), POOL(max, MAX_DOC, 3d, CASES3),
    POOL(avg, AVG_DOC, 1d, CASES1), POOL(avg, AVG_DOC, 2d, CASES2), POOL(avg, AVG_DOC, 3d, CASES3),
    { 0 },
};
// clang-format on
const bt_table bt_ops_nn_adaptive_pool[] = { BT_OPS(ops), { 0 } };
