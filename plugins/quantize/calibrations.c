/*
 * Calibrations: which scales, of what was seen.
 *
 *     global       one range for all activations, as stated; weights by their greatest
 *     max          all that was seen is in range
 *     percentile   all but a small share at each end is; weights by their greatest
 *     mse          the range of least mean squared error: of numbers, and for each channel of
 *                  weights of the sums that they are in
 *     kl           the range whose codes change the histogram of the numbers least, by the
 *                  Kullback-Leibler divergence; weights by their greatest
 *
 * source  Relay 2019, section 4.2; Migacz 2017 (kl); Banner et al. 2019, also on the bias of weights (mse)
 */
#include <math.h>

#include "fit.h"

/* ---- global, max ---- */

struct global_options {
    double range;
};
static const bt_attr global_options[] = {
    BT_ATTR(struct global_options, range, FLOAT, "8f",
            "the greatest number of every activation"),
    { 0 },
};

static bt_status choose_global(bt_ctx *ctx, const void *options,
                               const bt_number_form *form, const bt_statistic *seen,
                               double *scales, int64_t *zeros)
{
    const struct global_options *o = options;
    if (!(o->range > 0) || !isfinite(o->range))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "global: range is %g, and is to be above 0 and finite", o->range);
    if (seen->constant)
        fit_ranges(form, seen, scales, zeros);
    else
        fit_range(form, -o->range, o->range, scales, zeros);
    return NULL;
}

static bt_status choose_max(bt_ctx *ctx, const void *options, const bt_number_form *form,
                            const bt_statistic *seen, double *scales, int64_t *zeros)
{
    (void)ctx;
    (void)options;
    fit_ranges(form, seen, scales, zeros);
    return NULL;
}

/* ---- percentile ---- */

struct percentile_options {
    double percent;
};
static const bt_attr percentile_options[] = {
    BT_ATTR(struct percentile_options, percent, FLOAT, "99.99f",
            "at least this much is not beyond either end"),
    { 0 },
};

/* The number beyond which, at the low or at the high end, at most `beyond` of all lie. */
static double edge(const bt_statistic *seen, double beyond, int from_high)
{
    const double width = (seen->high - seen->low) / seen->nbin;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < seen->nbin; i++) {
        sum += seen->bins[from_high ? seen->nbin - 1 - i : i];
        if ((double)sum > beyond)
            return from_high ? seen->high - i * width : seen->low + i * width;
    }
    return from_high ? seen->high : seen->low;
}

static bt_status choose_percentile(bt_ctx *ctx, const void *options,
                                   const bt_number_form *form, const bt_statistic *seen,
                                   double *scales, int64_t *zeros)
{
    const struct percentile_options *o = options;
    uint64_t all = 0;
    if (!(o->percent > 50 && o->percent <= 100))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "percentile: percent is %g, and is to be above 50, at most 100",
                       o->percent);
    fit_ranges(form, seen, scales, zeros);
    for (uint32_t i = 0; i < seen->nbin; i++)
        all += seen->bins[i];
    const double beyond = (double)all * (1 - o->percent / 100);
    if (all)
        fit_range(form, edge(seen, beyond, 0), edge(seen, beyond, 1), scales, zeros);
    return NULL;
}

/* ---- mse ---- */

enum { TRIES = 64 };

/* Numbers, and how often each is met. */
struct numbers {
    const bt_tensor
        *tensor; /* of these, from `first` on, `nblock` of `block` elements, */
    int64_t first, block, nblock, step; /* each `step` behind the one before */
    const bt_statistic *seen;           /* NULL; else its bins */
    /* What they are multiplied with, one behind the other `stride` elements apart; NULL: that is
     * not known. */
    const bt_statistic *moments;
    int64_t stride;
};

static double loss_of_bins(const bt_statistic *seen, const bt_number_form *form,
                           double scale, int64_t zero)
{
    double sum = 0;
    for (uint32_t i = 0; i < seen->nbin; i++) {
        const double lost =
            seen->bins[i] ? fit_error(form, scale, zero, fit_bin(seen, i)) : 0;
        sum += (double)seen->bins[i] * lost * lost;
    }
    return sum;
}

/* Of weights what counts is the error of the layer's sums: of inputs with variance v and mean m
 * it is sum v e^2 + (sum m e)^2. Where these are not known both are taken as 1, as of inputs that
 * a rectifier gives. By sum e^2 alone, ranges would cut large weights, which makes all sums of a
 * channel smaller: at 4 bits that loses more than wide steps do. */
static double loss_of_weights(const struct numbers *n, const bt_number_form *form,
                              double scale, int64_t zero)
{
    double squares = 0, sum = 0;
    for (int64_t k = 0; k < n->nblock; k++) {
        for (int64_t i = 0; i < n->block; i++) {
            const int64_t at = n->first + k * n->step + i;
            const double x = bt_tensor_get(n->tensor, at),
                         lost = isfinite(x) ? fit_error(form, scale, zero, x) : 0;
            const int64_t f = n->moments ? at / n->stride % n->moments->nmoment : 0;
            squares += lost * lost * (n->moments ? n->moments->moment_variance[f] : 1);
            sum += lost * (n->moments ? n->moments->moment_mean[f] : 1);
        }
    }
    return squares + sum * sum;
}

/* The best of ranges that are shares of low..high. */
static void find_range(const struct numbers *n, const bt_number_form *form, double low,
                       double high, double *scale, int64_t *zero)
{
    double least = INFINITY;
    for (uint32_t i = TRIES; i > TRIES / 8; i--) {
        const double share = (double)i / TRIES;
        double own_scale;
        int64_t own_zero;
        fit_range(form, low * share, high * share, &own_scale, &own_zero);
        const double loss = n->seen ? loss_of_bins(n->seen, form, own_scale, own_zero)
                                    : loss_of_weights(n, form, own_scale, own_zero);
        if (loss < least) {
            least = loss;
            *scale = own_scale;
            *zero = own_zero;
        }
    }
}

static bt_status choose_mse(bt_ctx *ctx, const void *options, const bt_number_form *form,
                            const bt_statistic *seen, double *scales, int64_t *zeros)
{
    const bt_tensor *t = seen->constant;
    (void)ctx;
    (void)options;
    fit_ranges(form, seen, scales, zeros);
    if (!t && seen->nbin)
        find_range(&(struct numbers){ .seen = seen }, form, seen->low, seen->high, scales,
                   zeros);
    if (!t)
        return NULL;
    int64_t block = form->axis < 0 ? t->nelem : 1, stride = 1;
    for (uint32_t i = seen->moment_axis + 1; seen->nmoment && i < t->rank; i++)
        stride *= t->dims[i];
    for (uint32_t i = (uint32_t)(form->axis + 1); form->axis >= 0 && i < t->rank; i++)
        block *= t->dims[i];
    for (uint32_t i = 0; i < seen->nchannel; i++) {
        const struct numbers n = {
            .tensor = t,
            .first = i * block,
            .block = block,
            .step = block * seen->nchannel,
            .nblock = block ? t->nelem / (block * seen->nchannel) : 0,
            .moments = seen->nmoment ? seen : NULL,
            .stride = stride,
        };
        find_range(&n, form, seen->channel_low[i], seen->channel_high[i], &scales[i],
                   &zeros[i]);
    }
    return NULL;
}

/* ---- kl ---- */

enum { PARTS = 2048 };

/* How often magnitudes are met, in parts of 0..most. */
static void count_magnitudes(const bt_statistic *seen, double most, double *out)
{
    for (uint32_t i = 0; i < seen->nbin; i++) {
        const double at = fabs(fit_bin(seen, i)) / most * PARTS;
        out[at < PARTS ? (uint32_t)at : PARTS - 1] += (double)seen->bins[i];
    }
}

/* The Kullback-Leibler divergence from the first `n` parts, what is beyond them counted in the last
 * one, to what is left of them in `ncode` codes. */
static double divergence(const double *parts, uint32_t n, uint32_t ncode)
{
    double beyond = 0, all = 0, told = 0, sum = 0;
    for (uint32_t i = n; i < PARTS; i++)
        beyond += parts[i];
    for (uint32_t i = 0; i < n; i++)
        all += parts[i];
    told = all;
    all += beyond;
    for (uint32_t code = 0; code < ncode; code++) {
        const uint32_t from = (uint32_t)((uint64_t)n * code / ncode),
                       to = (uint32_t)((uint64_t)n * (code + 1) / ncode);
        double inside = 0, nmet = 0;
        for (uint32_t i = from; i < to; i++) {
            inside += parts[i];
            nmet += parts[i] > 0;
        }
        for (uint32_t i = from; i < to; i++) {
            const double p = (parts[i] + (i == n - 1 ? beyond : 0)) / all;
            const double q = parts[i] > 0 ? inside / nmet / told : 1e-12;
            sum += p > 0 ? p * log(p / q) : 0;
        }
    }
    return sum;
}

static bt_status choose_kl(bt_ctx *ctx, const void *options, const bt_number_form *form,
                           const bt_statistic *seen, double *scales, int64_t *zeros)
{
    const double most = fmax(fabs(seen->low), fabs(seen->high));
    const uint32_t ncode = form->high < PARTS / 2 ? (uint32_t)form->high : PARTS / 2;
    double least = INFINITY, share = 1;
    (void)options;
    fit_ranges(form, seen, scales, zeros);
    if (seen->constant || !seen->nbin || !(most > 0))
        return NULL;
    bt_arena *arena = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(arena);
    double *parts = BT_NEWS(arena, double, PARTS);
    if (!parts)
        return bt_no_memory();
    count_magnitudes(seen, most, parts);
    parts[0] = parts[1]; // zeros have a code of their own, whatever the scale
    for (uint32_t n = ncode; n <= PARTS; n += PARTS / 256) {
        const double d = divergence(parts, n, ncode);
        if (d < least) {
            least = d;
            share = (double)n / PARTS;
        }
    }
    bt_arena_release(arena, mark);
    fit_range(form, fmax(seen->low, -most * share), fmin(seen->high, most * share),
              scales, zeros);
    return NULL;
}

// clang-format off
static const bt_quant_calibrate calibrates[] = {
    { .name = "global", .doc = "One range for all activations.", .options = global_options,
      .options_nbytes = sizeof(struct global_options), .choose = choose_global },
    { .name = "max", .doc = "All numbers that were seen are in range.",
      .needs = BT_STAT_RANGE, .choose = choose_max },
    { .name = "percentile", .doc = "A share of all numbers is in range.", .options = percentile_options,
      .options_nbytes = sizeof(struct percentile_options),
      .needs = BT_STAT_RANGE | BT_STAT_BINS, .choose = choose_percentile },
    { .name = "mse", .doc = "The range of least mean squared error.",
      .needs = BT_STAT_RANGE | BT_STAT_BINS | BT_STAT_MOMENTS, .choose = choose_mse },
    { .name = "kl", .doc = "The range of least Kullback-Leibler divergence.",
      .needs = BT_STAT_RANGE | BT_STAT_BINS, .choose = choose_kl },
    { 0 },
};
// clang-format on
const bt_table bt_plugins_quantize_calibrations[] = { BT_QUANT_CALIBRATES(calibrates),
                                                      { 0 } };
