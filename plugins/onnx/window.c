#include "window.h"

#include <string.h>

void read_list(bt_onnx_node *n, const char *name, uint32_t count, int64_t absent,
               int64_t *out)
{
    const struct onnx_attr *attr = node_attr(n, name, ATTR_INTS);
    if (attr && attr->ints.len != count)
        node_fail(n, BT_ERR_ATTRIBUTE, "%s has length %u where %u is expected", name,
                  attr->ints.len, count);
    for (uint32_t i = 0; i < count; i++)
        out[i] = attr && attr->ints.len == count ? attr->ints.at[i] : absent;
}

/* SAME_UPPER and SAME_LOWER: as many outputs as strides fit; the odd one at the end, or
 * at the begin. It depends on how many elements are left to the last stride. Where the
 * size is not known, those may be one or all of a stride: if both begin alike, the greater
 * padding is right for every size, because what it has more at the end fills no window. */
static void same_padding(bt_onnx_node *n, const bt_value *x, struct window *w)
{
    int lower = w->auto_pad == PAD_SAME_LOWER;
    for (uint32_t i = 0; !n->status && i < w->n; i++) {
        int64_t size = value_dim(n, x, 2 + i), stride = w->strides[i];
        int64_t reach = (w->kernel[i] - 1) * w->dilations[i] + 1;
        int64_t last = size < 0 ? 1 : size % stride;
        int64_t most = reach - (last ? last : stride);
        int64_t least = size < 0 ? reach - stride : most;
        most = most > 0 ? most : 0;
        least = least > 0 ? least : 0;
        w->pads[i] = (most + lower) / 2;
        w->pads[w->n + i] = most - w->pads[i];
        if (w->pads[i] != (least + lower) / 2)
            node_fail(n, BT_ERR_UNSUPPORTED,
                      "auto_pad=%s with stride %lld: how many elements are added before "
                      "axis %u depends on its size, which is symbolic: bind it with "
                      "--dim",
                      lower ? "SAME_LOWER" : "SAME_UPPER", (long long)stride, 2 + i);
    }
}

static int is_sane(const struct window *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->kernel[i] < 1 || w->strides[i] < 1 || w->dilations[i] < 1 ||
            w->kernel[i] > INT16_MAX || w->strides[i] > INT16_MAX ||
            w->dilations[i] > INT16_MAX || w->pads[i] < 0 || w->pads[w->n + i] < 0 ||
            w->pads[i] > INT32_MAX || w->pads[w->n + i] > INT32_MAX)
            return 0;
    }
    return 1;
}

static enum auto_pad read_auto_pad(bt_onnx_node *n)
{
    static const char *const names[] = { "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER" };
    const char *text = node_text(n, "auto_pad", "NOTSET");
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        if (strcmp(text, names[i]) == 0)
            return (enum auto_pad)i;
    }
    node_fail(n, BT_ERR_ATTRIBUTE,
              "auto_pad is %s; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known", text);
    return PAD_NOTSET;
}

void read_stated_window(bt_onnx_node *n, const bt_value *x, const bt_value *weight,
                        struct window *w)
{
    uint32_t rank = value_rank(n, x);
    *w = (struct window){ .ceil = node_int(n, "ceil_mode", 0) != 0 };
    if (rank < 3 || rank > 2 + MAX_SPATIAL)
        node_fail(n, BT_ERR_UNSUPPORTED, "data of rank %u; 3 to 5 are known", rank);
    if (weight && value_rank(n, weight) != rank)
        node_fail(n, BT_ERR_FORMAT, "data has rank %u, the weight %u", rank,
                  value_rank(n, weight));
    if (n->status)
        return;
    w->n = rank - 2;
    read_list(n, "kernel_shape", w->n, 0, w->kernel);
    read_list(n, "strides", w->n, 1, w->strides);
    read_list(n, "dilations", w->n, 1, w->dilations);
    read_list(n, "pads", 2 * w->n, 0, w->pads);
    for (uint32_t i = 0; weight && i < w->n; i++) {
        if (!w->kernel[i])
            w->kernel[i] = value_dim(n, weight, 2 + i);
    }
    if (!is_sane(w))
        node_fail(n, BT_ERR_ATTRIBUTE,
                  "kernel, strides and dilations must be numbers from 1 to %d, pads not "
                  "negative",
                  INT16_MAX);
    w->auto_pad = read_auto_pad(n);
    if (w->auto_pad == PAD_VALID)
        memset(w->pads, 0, sizeof(w->pads));
}

void read_window(bt_onnx_node *n, const bt_value *x, const bt_value *weight,
                 struct window *w)
{
    read_stated_window(n, x, weight, w);
    if (w->auto_pad >= PAD_SAME_UPPER)
        same_padding(n, x, w);
}

const char *window_attrs(bt_onnx_node *n, const struct window *w)
{
    return node_format(
        n, "strides=%s, padding=%s, dilation=%s", format_ints(n, w->n, w->strides),
        format_ints(n, 2 * w->n, w->pads), format_ints(n, w->n, w->dilations));
}

int64_t window_nelem(const struct window *w)
{
    int64_t out = 1;
    for (uint32_t i = 0; i < w->n; i++)
        out *= w->kernel[i];
    return out;
}

const char *spatial_rank(const struct window *w)
{
    static const char *const names[] = { "1d", "2d", "3d" };
    return names[w->n - 1];
}

const bt_value *pooled(bt_onnx_node *n, const char *kind, const bt_value *x,
                       const struct window *w, int count_padding)
{
    const char *attrs = node_format(n, "pool_size=%s, %s, ceil_mode=%s%s",
                                    format_ints(n, w->n, w->kernel), window_attrs(n, w),
                                    format_bool(w->ceil),
                                    count_padding ? ", count_include_pad=True" : "");
    return emit1(n, node_format(n, "nn.%s_pool%s", kind, spatial_rank(w)), attrs, x);
}
