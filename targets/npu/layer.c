/* What is computed, and what is refused and why; sizes of buffers. */
#include <inttypes.h>

#include "shape.h"

enum { MOST = 1 << 30 }; /* of any extent: products of two are far from overflow */

#define REFUSE(ctx, ...)   bt_fail(ctx, BT_ERR_UNSUPPORTED, "npu: " __VA_ARGS__)
#define IS_WRONG(ctx, ...) bt_fail(ctx, BT_ERR_ARGUMENT, "npu: " __VA_ARGS__)

/* ---- extents ---- */

static int is_trivial(const struct npu_window *w)
{
    return w->in == w->out && w->taps == 1 && w->stride == 1 && w->before == 0;
}

static bt_status check_window(bt_ctx *ctx, const struct npu_window *w, const char *name)
{
    const int64_t positive[] = { w->in, w->out, w->taps, w->stride, w->dilation };
    for (uint32_t i = 0; i < BT_COUNT(positive); i++) {
        if (positive[i] < 1 || positive[i] > MOST)
            return IS_WRONG(ctx, "%s: %" PRId64 " is no extent", name, positive[i]);
    }
    if (w->before < 0 || w->before > MOST)
        return IS_WRONG(ctx, "%s: padding of %" PRId64, name, w->before);
    return NULL;
}

static bt_status check_channels(bt_ctx *ctx, const struct npu_config *c,
                                const struct npu_layer *l)
{
    const int64_t positive[] = { l->batch, l->in, l->out, l->groups };
    for (uint32_t i = 0; i < BT_COUNT(positive); i++) {
        if (positive[i] < 1 || positive[i] > MOST)
            return IS_WRONG(ctx,
                            "%" PRId64 " images, %" PRId64 " channels to %" PRId64
                            " in %" PRId64 " groups",
                            l->batch, l->in, l->out, l->groups);
    }
    if (l->in % l->groups || l->out % l->groups)
        return IS_WRONG(ctx,
                        "%" PRId64 " channels to %" PRId64 " are no %" PRId64 " groups",
                        l->in, l->out, l->groups);
    if (l->kind != NPU_PRODUCTS && (l->in != l->out || l->groups != 1))
        return IS_WRONG(ctx, "channels stay what they are unless products are summed");
    if (l->groups > 1 && (l->in / l->groups % c->in || l->out / l->groups % c->out))
        return REFUSE(ctx,
                      "groups of %" PRId64 " channels to %" PRId64
                      ": a tile multiplies %" PRIu32 " to %" PRIu32,
                      l->in / l->groups, l->out / l->groups, c->in, c->out);
    return NULL;
}

/* ---- numbers ---- */

static bt_status check_requantize(bt_ctx *ctx, const struct npu_requantize *s,
                                  uint32_t is_there)
{
    if (is_there > 1 || (is_there && (s->low > s->high || s->is_even > 1)))
        return IS_WRONG(ctx, "a requantize to %" PRId32 "..%" PRId32, s->low, s->high);
    return NULL;
}

/* An int8 result must be one: what STORE finds out is a fault of the stream. */
static bt_status check_post_ops(bt_ctx *ctx, const struct npu_layer *l)
{
    int is_int8 = l->kind == NPU_GREATEST || l->kind == NPU_ELEMENT;
    int is_copy = l->kind == NPU_ELEMENT;
    if (l->npost_op > NPU_MAX_POST_OPS || l->is_wide > 1)
        return IS_WRONG(ctx, "%" PRIu32 " post-ops", l->npost_op);
    for (uint32_t i = 0; i < l->npost_op; i++) {
        const struct npu_post_op *s = &l->post_ops[i];
        BT_TRY(check_requantize(ctx, &s->operand_requantize, s->requantizes_operand));
        BT_TRY(check_requantize(ctx, &s->requantize, s->requantizes));
        if (s->has_operand > 1 || (s->requantizes_operand && !s->has_operand))
            return IS_WRONG(ctx, "post-op %" PRIu32 ": a requantize of no operand", i);
        is_copy &= !s->has_operand && !s->requantizes;
        if (s->has_operand)
            is_int8 = 0;
        if (s->requantizes)
            is_int8 = s->requantize.low >= INT8_MIN && s->requantize.high <= INT8_MAX;
    }
    if (is_copy)
        return REFUSE(ctx, "a copy: nothing is computed");
    if (!is_int8 && !l->is_wide)
        return REFUSE(ctx, "results that int8 may not hold");
    return NULL;
}

static bt_status check(bt_ctx *ctx, const struct npu_config *c, const struct npu_layer *l)
{
    if (l->kind > NPU_ELEMENT)
        return IS_WRONG(ctx, "there is no kind %" PRIu32 " of layers", l->kind);
    BT_TRY(check_window(ctx, &l->rows, "rows"));
    BT_TRY(check_window(ctx, &l->columns, "columns"));
    BT_TRY(check_channels(ctx, c, l));
    if (l->kind == NPU_ELEMENT && (!is_trivial(&l->rows) || !is_trivial(&l->columns)))
        return IS_WRONG(ctx, "elements have no window");
    if (l->kind != NPU_PRODUCTS
            ? l->weight_bits != 0
            : l->weight_bits > 8 || !(c->weight_bits >> l->weight_bits & 1))
        return REFUSE(ctx, "weights of %" PRIu32 " bits", l->weight_bits);
    if (l->pad < INT8_MIN || l->pad > INT8_MAX)
        return IS_WRONG(ctx, "padding %" PRId32 " is no int8", l->pad);
    return check_post_ops(ctx, l);
}

/* ---- sizes ---- */

/* Strides of places in blocks; 0: beyond 32 bits. */
static int strides(uint32_t tile, int64_t rows, int64_t columns, uint64_t nblock,
                   uint64_t groups, uint64_t images, struct npu_strides *s,
                   uint64_t *nbytes)
{
    size_t n = tile;
    s->tile = tile;
    int ok = bt_mul_size(n, (size_t)columns, &n);
    s->row = n;
    ok = ok && bt_mul_size(n, (size_t)rows, &n);
    s->block = n;
    ok = ok && bt_mul_size(n, nblock, &n);
    s->group = n;
    ok = ok && bt_mul_size(n, groups, &n);
    s->image = n;
    ok = ok && bt_mul_size(n, images, &n);
    *nbytes = n;
    return ok && n <= UINT32_MAX;
}

static uint32_t blocks(int64_t n, uint32_t size)
{
    return (uint32_t)((n + size - 1) / size);
}

static int measure(const struct npu_config *c, struct npu_shape *s)
{
    const struct npu_layer *l = s->layer;
    const int is_product = l->kind == NPU_PRODUCTS;
    const uint32_t wide = npu_tile_nbytes(c, NPU_ACC), narrow = wide / 4;
    uint64_t *n = s->nbytes;
    size_t nweight = s->weight_nbytes, nparam = wide;
    int ok = strides(is_product ? npu_tile_nbytes(c, NPU_INP) : narrow, l->rows.in,
                     l->columns.in, is_product ? s->nin : s->nout, s->groups, s->images,
                     &s->x, &n[NPU_BUFFER_X]);
    ok = ok && strides(l->is_wide ? wide : narrow, l->rows.out, l->columns.out, s->nout,
                       s->groups, s->images, &s->y, &n[NPU_BUFFER_Y]);
    for (uint32_t i = 0; i < l->npost_op; i++) {
        if (l->post_ops[i].has_operand)
            ok = ok && strides(narrow, l->rows.out, l->columns.out, s->nout, s->groups,
                               s->images, &s->operand, &n[NPU_BUFFER_OPERAND + i]);
    }
    ok = ok && bt_mul_size(nweight, (size_t)s->nout * s->groups, &nweight) &&
         bt_mul_size(nweight, s->nin, &nweight) &&
         bt_mul_size(nweight, (size_t)(l->rows.taps * l->columns.taps), &nweight) &&
         nweight <= UINT32_MAX;
    ok = ok && bt_mul_size(nparam, (size_t)s->nout * s->groups, &nparam) &&
         bt_mul_size(nparam, (size_t)s->nrequantize * s->nparam, &nparam) &&
         nparam <= UINT32_MAX;
    n[NPU_BUFFER_WEIGHTS] = nweight;
    n[NPU_BUFFER_PARAMETERS] = nparam;
    return ok;
}

/* Images of a dense layer are rows; rows that no window meets are passed over. */
static void simplify(struct npu_shape *s)
{
    const struct npu_layer *l = s->layer;
    if (s->images > 1 && is_trivial(&l->rows) && is_trivial(&l->columns) &&
        l->rows.in == 1 && l->columns.in == 1) {
        s->rows.in = s->rows.out = s->images;
        s->x.row = s->x.image;
        s->y.row = s->y.image;
        s->operand.row = s->operand.image;
        s->images = 1;
    }
    if (s->rows.taps == 1 && s->rows.stride > 1 && !s->rows.before &&
        (s->rows.out - 1) * s->rows.stride < s->rows.in) {
        s->x.row *= (uint64_t)s->rows.stride;
        s->rows.in = s->rows.out;
        s->rows.stride = 1;
    }
}

bt_status npu_shape_of(bt_ctx *ctx, const struct npu_config *c, const struct npu_layer *l,
                       struct npu_shape *out)
{
    struct npu_shape s = { .layer = l };
    BT_TRY(check(ctx, c, l));
    s.images = blocks(l->batch, c->batch);
    s.groups = (uint32_t)l->groups;
    s.nin = l->kind == NPU_PRODUCTS ? blocks(l->in / l->groups, c->in) : 1;
    s.nout = blocks(l->out / l->groups, c->out);
    s.rows = l->rows;
    s.columns = l->columns;
    s.nparam = c->has_multiplier ? 3 : 2;
    for (uint32_t i = 0; i < l->npost_op; i++)
        s.nrequantize += l->post_ops[i].requantizes + l->post_ops[i].requantizes_operand;
    if (l->kind == NPU_PRODUCTS)
        s.weight_nbytes = npu_tile_nbytes(c, NPU_WGT) * l->weight_bits / 8;
    uint64_t sum = 0;
    if (!measure(c, &s))
        return bt_fail(ctx, BT_ERR_LIMIT,
                       "npu: a tensor of more bytes than 32 bits number");
    for (uint32_t i = 0; i < NPU_NBUFFER; i++)
        sum += s.nbytes[i];
    if (sum > c->dram_nbytes)
        return bt_fail(ctx, BT_ERR_LIMIT,
                       "npu: tensors of %" PRIu64 " bytes, and main memory has %" PRIu64,
                       sum, c->dram_nbytes);
    simplify(&s);
    *out = s;
    return NULL;
}

bt_status npu_layer_nbytes(bt_ctx *ctx, const struct npu_config *config,
                           const struct npu_layer *layer, uint64_t out[NPU_NBUFFER])
{
    struct npu_shape shape;
    BT_TRY(npu_shape_of(ctx, config, layer, &shape));
    for (uint32_t i = 0; i < NPU_NBUFFER; i++)
        out[i] = shape.nbytes[i];
    return NULL;
}
