/*
 * Operators that no formula gives as freestanding C, for targets and executors that write
 * programs as C (<baton/plain.h>): the facet "plain" of each. What they do is what their
 * own plugin says; the functions are in the headers of this folder.
 */
#include <string.h>

#include <baton/op.h>
#include <baton/plain.h>

extern const char *const plain_blocks[];

static bt_status refuse(bt_ctx *ctx, const bt_formula_call *call, const char *why)
{
    return bt_fail(ctx, BT_ERR_UNSUPPORTED, "%s: %s", call->op->name, why);
}

/* ---- attributes ---- */

static int64_t int_of(const bt_formula_call *call, const char *name, uint32_t kind)
{
    const int64_t *value = bt_attr_find(call->op, call->attrs, name, kind);
    return value ? *value : 0;
}

/* An axis, counted from the first, among those of argument 0 and `more`. */
static int64_t axis_of(const bt_formula_call *call, uint32_t more)
{
    const bt_shape_type *shape = bt_tensor_shape(call->args[0]);
    const int64_t axis = int_of(call, "axis", BT_ATTR_INT);
    return axis < 0 ? axis + shape->n + more : axis;
}

static bt_status order_attrs(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const char *const *ret =
        bt_attr_find(call->op, call->attrs, "ret_type", BT_ATTR_STRING);
    const int is_places = strcmp(call->op->name, "argsort") == 0;
    (void)ctx;
    out[0] = axis_of(call, 0);
    out[1] = int_of(call, "is_ascend", BT_ATTR_BOOL);
    out[2] = int_of(call, "k", BT_ATTR_INT);
    out[3] = ret ? strcmp(*ret, "indices") != 0 : !is_places;
    out[4] = ret ? strcmp(*ret, "values") != 0 : is_places;
    return NULL;
}

static bt_status unique_attrs(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    (void)ctx;
    out[0] = int_of(call, "sorted", BT_ATTR_BOOL);
    return NULL;
}

static bt_status search_attrs(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    (void)ctx;
    out[0] = int_of(call, "right", BT_ATTR_BOOL);
    return NULL;
}

/* The bits of 0 and of 1 in the result's dtype; a value must have that dtype. */
static bt_status fill_attrs(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const bt_dtype dtype = bt_tensor_dtype(call->result);
    bt_tensor *one;
    if (call->narg == 2 && bt_tensor_dtype(call->args[0]) != dtype)
        return refuse(ctx, call, "the value is of another dtype than the result");
    if (strcmp(call->op->name, "dyn.ones") != 0)
        return NULL;
    BT_TRY(bt_tensor_scalar_int(ctx, dtype, 1, &one));
    out[0] = 0;
    memcpy(out, one->data, bt_tensor_nbytes(one)); // the least bytes come first
    bt_tensor_unref(one);
    return NULL;
}

static int is_integer(const bt_type *tensor)
{
    return (1u << BT_DTYPE_CLASS(bt_tensor_dtype(tensor)) & BT_CLASS_BITS_INTEGER) != 0;
}

static int is_float(const bt_type *tensor)
{
    return (1u << BT_DTYPE_CLASS(bt_tensor_dtype(tensor)) & BT_CLASS_BITS_FLOAT) != 0;
}

/* Whether it counts in floats. */
static bt_status range_attrs(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const bt_type *from = call->args[0];
    out[0] = !is_integer(from) || !is_integer(call->result);
    return !out[0] || is_float(call->result)
               ? NULL
               : refuse(ctx, call, "plain C that counts in floats gives no integers");
}

static bt_status hot_attrs(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    out[0] = axis_of(call, 1);
    return bt_tensor_dtype(call->args[1]) == bt_tensor_dtype(call->result)
               ? NULL
               : refuse(ctx, call, "the values are of another dtype than the result");
}

/* ---- rows ---- */

static const char *const order_faults[] = { "k is greater than the extent of the axis",
                                            NULL };
static const char *const fill_faults[] = { "an extent of the shape is below 0", NULL };
static const char *const range_faults[] = { "the step leads nowhere",
                                            "there are too many elements", NULL };
static const char *const hot_faults[] = { "the depth is below 0", NULL };

#define PLAIN(symbol_, workspace_, attrs_, faults_)        \
    {                                                      \
        plain_blocks, symbol_, faults_, workspace_, attrs_ \
    }
static const bt_plain_facet order = PLAIN("plain_order", 16, order_attrs, order_faults),
                            argwhere = PLAIN("plain_argwhere", 0, NULL, NULL),
                            unique = PLAIN("plain_unique", 40, unique_attrs, NULL),
                            search = PLAIN("plain_search", 0, search_attrs, NULL),
                            reinterpret = PLAIN("plain_reinterpret", 0, NULL, NULL),
                            fill = PLAIN("plain_fill", 0, fill_attrs, fill_faults),
                            range = PLAIN("plain_arange", 0, range_attrs, range_faults),
                            one_hot = PLAIN("plain_one_hot", 0, hot_attrs, hot_faults);

#define ROW(op_, table_)                                   \
    {                                                      \
        "plain", op_, 0, sizeof(bt_plain_facet), &(table_) \
    }
static const bt_facet facets[] = {
    ROW("sort", order),          ROW("argsort", order),
    ROW("topk", order),          ROW("dyn.topk", order),
    ROW("argwhere", argwhere),   ROW("unique", unique),
    ROW("searchsorted", search), ROW("reinterpret", reinterpret),
    ROW("dyn.full", fill),       ROW("dyn.zeros", fill),
    ROW("dyn.ones", fill),       ROW("arange", range),
    ROW("dyn.one_hot", one_hot), { 0 },
};

const bt_table bt_plugins_plain_plain[] = { BT_FACETS(facets), { 0 } };
