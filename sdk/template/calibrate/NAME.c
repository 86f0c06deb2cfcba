/*
 * @name@: a calibration, which chooses the scales of codes of what was seen of their numbers.
 * option   share   of the greatest number that is in range, default 1
 */
#include <baton/quantize.h>

struct options {
    double share;
};
static const bt_attr rows[] = {
    BT_ATTR(struct options, share, FLOAT, "1f", "of the greatest number that is in range"),
    { 0 },
};

/* One scale for each channel, above 0: also of a site of which nothing but zeros was seen. */
static bt_status choose(bt_ctx *ctx, const void *options, const bt_number_form *form,
                        const bt_statistic *seen, double *scales, int64_t *zeros)
{
    const struct options *o = options;
    (void)ctx;
    for (uint32_t i = 0; i < seen->nchannel; i++) {
        const double low = seen->channel_low ? seen->channel_low[i] : seen->low,
                     high = seen->channel_high ? seen->channel_high[i] : seen->high;
        const double most = high > -low ? high : -low;
        scales[i] = most > 0 ? o->share * most / (double)form->high : 1;
        zeros[i] = form->is_affine ? (form->low + form->high + 1) / 2 : 0;
        scales[i] *= form->is_affine ? 2 : 1;
    }
    return NULL;
}

static const bt_quant_calibrate calibrates[] = {
    {
        .name = "@name@",
        .doc = "A share of the range that was seen.",
        .options = rows,
        .options_nbytes = sizeof(struct options),
        .needs = BT_STAT_RANGE,
        .choose = choose,
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_QUANT_CALIBRATES(calibrates), { 0 } };
