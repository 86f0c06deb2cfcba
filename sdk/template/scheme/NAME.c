/*
 * @name@: a scheme of quantization, which says what codes stand for the operands of calls.
 * option   weight-bits   of the codes of weights, default 8
 */
#include <baton/quantize.h>

struct options {
    int64_t weight_bits;
};
static const bt_attr rows[] = {
    BT_ATTR_RANGE(struct options, weight_bits, INT, "8", 2, 8, "of the codes of weights"),
    { 0 },
};

/* What is left as it is, with dtype 0, stays in float. */
static bt_status form(bt_ctx *ctx, const void *options, const bt_quant_site *site, bt_number_form *out)
{
    const struct options *o = options;
    (void)ctx;
    if (site->role != BT_QUANT_WEIGHT) {
        *out = (bt_number_form){ .dtype = BT_UINT8, .high = 255, .is_affine = 1, .axis = -1 };
        return NULL;
    }
    const int64_t most = (INT64_C(1) << (o->weight_bits - 1)) - 1;
    *out = (bt_number_form){ .dtype = BT_INT8, .low = -most, .high = most, .axis = site->channel };
    return NULL;
}

static const bt_quant_scheme schemes[] = {
    {
        .name = "@name@",
        .doc = "Activations with a zero point, weights of a few bits.",
        .options = rows,
        .options_nbytes = sizeof(struct options),
        .form = form,
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_QUANT_SCHEMES(schemes), { 0 } };
