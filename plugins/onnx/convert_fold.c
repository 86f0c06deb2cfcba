/* Elements put back where a window took them from: Col2Im, MaxUnpool. */
#include "window.h"

enum { MAX_NELEM = 1 << 24 }; /* of places that are counted here */

/* What is scattered: places of the result by the elements of the data. */
struct places {
    uint32_t n; /* axes of the image */
    int64_t image[MAX_SPATIAL], block[MAX_SPATIAL], count[MAX_SPATIAL];
    int64_t strides[MAX_SPATIAL], dilations[MAX_SPATIAL], pads[2 * MAX_SPATIAL];
};

static int64_t product(uint32_t n, const int64_t *numbers)
{
    int64_t out = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (!bt_mul_int64(out, numbers[i], &out))
            return INT64_MAX;
    }
    return out;
}

/* A list of sizes that an input holds. */
static uint32_t read_sizes(bt_onnx_node *n, uint32_t input, const char *what,
                           uint32_t most, int64_t *out)
{
    int64_list list = { 0 };
    const bt_value *x = node_need(n, input);
    if (!n->status && !value_ints(n, x, &list))
        node_unknown(n, what, x);
    if (list.len > most)
        node_fail(n, BT_ERR_UNSUPPORTED, "input %u has %u sizes; up to %u are supported",
                  input, list.len, most);
    for (uint32_t i = 0; !n->status && i < list.len; i++) {
        out[i] = list.at[i];
        if (out[i] < 1 || out[i] > INT32_MAX)
            node_fail(n, BT_ERR_FORMAT,
                      "input %u has %lld as the size of axis %u; 1 to %d is expected",
                      input, (long long)out[i], i, INT32_MAX);
    }
    return n->status ? 0 : list.len;
}

static void read_places(bt_onnx_node *n, struct places *p)
{
    p->n = read_sizes(n, 1, "image_shape is", MAX_SPATIAL, p->image);
    if (read_sizes(n, 2, "block_shape is", MAX_SPATIAL, p->block) != p->n)
        node_fail(n, BT_ERR_FORMAT, "image and blocks have different ranks");
    read_list(n, "strides", p->n, 1, p->strides);
    read_list(n, "dilations", p->n, 1, p->dilations);
    read_list(n, "pads", 2 * p->n, 0, p->pads);
    for (uint32_t i = 0; !n->status && i < p->n; i++) {
        const int64_t own[4] = { p->strides[i], p->dilations[i], p->pads[i] + 1,
                                 p->pads[p->n + i] + 1 };
        for (uint32_t k = 0; k < 4; k++) {
            if (own[k] < 1 || own[k] > INT16_MAX)
                node_fail(n, BT_ERR_ATTRIBUTE,
                          "axis %u: strides and dilations must be numbers from 1 to %d, "
                          "pads from 0",
                          i, INT16_MAX);
        }
        if (n->status)
            return;
        int64_t room = p->image[i] + p->pads[i] + p->pads[p->n + i] -
                       p->dilations[i] * (p->block[i] - 1) - 1;
        p->count[i] = room < 0 ? 0 : room / p->strides[i] + 1;
    }
}

/* The place of element `block` of the blocks' `at`-th; `none`: outside the image. */
static int64_t place_of(const struct places *p, int64_t block, int64_t at, int64_t none)
{
    int64_t out = 0, step = 1;
    for (uint32_t i = p->n; i-- > 0;) {
        int64_t x = at % p->count[i] * p->strides[i] +
                    block % p->block[i] * p->dilations[i] - p->pads[i];
        if (x < 0 || x >= p->image[i])
            return none;
        out += x * step;
        step *= p->image[i];
        at /= p->count[i];
        block /= p->block[i];
    }
    return out;
}

/* Columns of blocks, [batch, channels * block, places], added up. */
static void col2im(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    struct places p = { 0 };
    read_places(n, &p);
    if (n->status)
        return;
    int64_t block = product(p.n, p.block), count = product(p.n, p.count),
            all = product(p.n, p.image), have = value_dim(n, x, 2);
    int64_t channels = value_rank(n, x) == 3 ? value_dim(n, x, 1) : -1;
    if (channels < 0 || channels % block || (have >= 0 && have != count))
        node_fail(n, BT_ERR_FORMAT,
                  "data is not [batch, channels * %lld, %lld], as blocks and image are",
                  (long long)block, (long long)count);
    if (count < 1 || block > MAX_NELEM / count || all > MAX_NELEM)
        node_fail(n, BT_ERR_LIMIT,
                  "%lld blocks of %lld elements, in an image of %lld: up to %d are "
                  "supported",
                  (long long)count, (long long)block, (long long)all, MAX_NELEM);
    bt_tensor *places = NULL;
    int64_t nplace = block * count;
    if (!n->status)
        n->status = bt_tensor_create(n->im->ctx, BT_INT64, 1, &nplace, &places);
    if (n->status)
        return;
    for (int64_t i = 0; i < nplace; i++)
        bt_tensor_set_int(places, i, place_of(&p, i / count, i % count, all));
    const bt_type *dims[2 + MAX_SPATIAL] = { dim_of(n, x, 0),
                                             dim_number(n, channels / block),
                                             dim_number(n, nplace) };
    const bt_value *at = broadcast(n, emit_const(n, places), 3, dims);
    x = reshaped(n, x, 3, dims);
    dims[2] = dim_number(n, all + 1); // the last one: what lies outside
    const bt_value *y = emit3(n, "scatter_elements", "axis=2, reduction=\"add\"",
                              broadcast(n, scalar_like(n, x, 0), 3, dims), at, x);
    for (uint32_t i = 0; i < p.n; i++)
        dims[2 + i] = dim_number(n, p.image[i]);
    node_out(n, 0, reshaped(n, sliced(n, y, 2, 0, all), 2 + p.n, dims));
}

/* The shape that MaxPool had this of: windows side by side, without pads. */
static uint32_t unpooled_shape(bt_onnx_node *n, const bt_value *x, int64_t *out)
{
    struct window w;
    uint32_t rank = value_rank(n, x);
    read_window(n, x, NULL, &w);
    for (uint32_t i = 0; !n->status && i < rank; i++) {
        int64_t have = value_dim(n, x, i);
        out[i] = have;
        if (i >= 2)
            out[i] = (have - 1) * w.strides[i - 2] + w.kernel[i - 2] - w.pads[i - 2] -
                     w.pads[w.n + i - 2];
        if (have < 1)
            node_fail(n, BT_ERR_UNSUPPORTED,
                      "axis %u of the data is empty or symbolic: bind it with --dim", i);
        else if (out[i] < 1 || out[i] > INT32_MAX)
            node_fail(n, BT_ERR_UNSUPPORTED,
                      "axis %u of the result has size %lld; 1 to %d is expected", i,
                      (long long)out[i], INT32_MAX);
    }
    return n->status ? 0 : rank;
}

/* A stated shape is larger: zeros behind what there is. */
static const bt_value *grown(bt_onnx_node *n, const bt_value *y, uint32_t rank,
                             const int64_t *shape)
{
    int64_t wanted[2 + MAX_SPATIAL], width[2 * (2 + MAX_SPATIAL)] = { 0 };
    if (!node_in(n, 2))
        return y;
    if (read_sizes(n, 2, "output_shape is", 2 + MAX_SPATIAL, wanted) != rank)
        node_fail(n, BT_ERR_FORMAT, "output_shape is not of rank %u", rank);
    for (uint32_t i = 0; !n->status && i < rank; i++) {
        width[2 * i + 1] = wanted[i] - shape[i];
        if (width[2 * i + 1] < 0)
            node_fail(n, BT_ERR_UNSUPPORTED,
                      "output_shape has %lld at axis %u, where windows need %lld",
                      (long long)wanted[i], i, (long long)shape[i]);
    }
    return emit1(n, "nn.pad",
                 node_format(n, "pad_width=%s", format_ints(n, 2 * rank, width)), y);
}

/* Elements at the places of the whole tensor that MaxPool gave beside them. */
static void max_unpool(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *places = node_need(n, 1);
    int64_t shape[2 + MAX_SPATIAL];
    uint32_t rank = unpooled_shape(n, x, shape);
    if (n->status)
        return;
    int64_t all = product(rank, shape);
    if (all > INT32_MAX)
        node_fail(n, BT_ERR_LIMIT, "the result has %lld elements; up to %d are supported",
                  (long long)all, INT32_MAX);
    const bt_type *flat = dims_product(n, x, 0, rank), *total = dim_number(n, all),
                  *dims[2 + MAX_SPATIAL];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = dim_number(n, shape[i]);
    const bt_value *y = n->status ? NULL : broadcast(n, scalar_like(n, x, 0), 1, &total);
    y = emit3(n, "scatter_elements", "axis=0", y, reshaped(n, places, 1, &flat),
              reshaped(n, x, 1, &flat));
    node_out(n, 0, grown(n, reshaped(n, y, rank, dims), rank, shape));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.Col2Im-18", col2im, NULL }, { "ai.onnx.MaxUnpool-9", max_unpool, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_fold[] = { BT_ONNX_OPERATORS(operators), { 0 } };
