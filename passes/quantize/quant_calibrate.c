/*
 * quant-calibrate: the scales of all sites, as a calibration chooses them.
 * Of constants it sees what they hold; of others what a file of statistics has, or nothing
 * where none is named. A site of which nothing but zeros was seen has scale 1. Scales that
 * are to be powers of two are those above what was chosen.
 * keeps    no invariant
 * option   by          which calibration, with its options in braces
 * option   statistics  the file
 */
#include <math.h>

#include "quantize/quant_moments.h"
#include "quantize/quant_statistics.h"

struct options {
    const char *by, *statistics;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, by, STRING, "max",
            "which one: baton list calibrations; with options of it: "
            "'percentile{percent=99.9f}'"),
    BT_ATTR(struct options, statistics, STRING, "", "the file; none: of constants alone"),
    { 0 },
};

struct calibrate {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_quant_calibrate *by;
    const void *options;
    struct statistics statistics;
    bt_map chosen;  /* site -> struct chosen * */
    bt_map moments; /* site of a weight -> struct moments * */
};

/* ---- what is known of a site ---- */

/* Which scale an element of a constant has: by the row-major position. */
static uint32_t channel_of(const bt_tensor *t, int32_t axis, int64_t position)
{
    for (uint32_t i = t->rank; i-- > (uint32_t)(axis + 1);)
        position /= t->dims[i];
    return axis < 0 ? 0 : (uint32_t)(position % t->dims[axis]);
}

static bt_status look_at_constant(const struct calibrate *c, const struct site *site,
                                  bt_statistic *out)
{
    double *low = BT_NEWS(c->arena, double, site->nscale),
           *high = BT_NEWS(c->arena, double, site->nscale);
    if (!low || !high)
        return bt_no_memory();
    *out = (bt_statistic){ .site = site->name,
                           .nsample = 1,
                           .nelem = (uint64_t)site->constant->nelem,
                           .nchannel = site->nscale,
                           .channel_low = low,
                           .channel_high = high,
                           .constant = site->constant };
    for (int64_t i = 0; i < site->constant->nelem; i++) {
        const double x = bt_tensor_get(site->constant, i);
        const uint32_t k = channel_of(site->constant, site->form.axis, i);
        out->nbad += !isfinite(x);
        low[k] = isfinite(x) ? fmin(low[k], x) : low[k];
        high[k] = isfinite(x) ? fmax(high[k], x) : high[k];
    }
    for (uint32_t k = 0; k < site->nscale; k++) {
        out->low = fmin(out->low, low[k]);
        out->high = fmax(out->high, high[k]);
    }
    const struct moments *moments = bt_map_find(&c->moments, site->call);
    if (!moments || !moments->data || !c->statistics.npz)
        return NULL;
    out->moment_axis = moments->weight_axis;
    return statistics_moments(c->ctx, c->arena, &c->statistics, site->name, moments->n,
                              out);
}

static bt_status look_at(const struct calibrate *c, const struct site *site,
                         bt_statistic *out)
{
    if (site->constant)
        return look_at_constant(c, site, out);
    *out = (bt_statistic){ .site = site->name };
    if (c->statistics.npz)
        BT_TRY(statistics_find(c->ctx, c->arena, &c->statistics, site->name, out));
    else if (c->by->needs & (BT_STAT_RANGE | BT_STAT_BINS))
        return bt_fail_at(
            c->ctx, BT_ERR_ARGUMENT, c->module->store, site->call->base.span,
            "quant-calibrate: %s wants to know what numbers there are at %s, "
            "and no statistics are given: baton quantize observes them",
            c->by->name, site->name);
    if ((c->by->needs & BT_STAT_BINS) && !out->nbin)
        return bt_fail_at(
            c->ctx, BT_ERR_ARGUMENT, c->module->store, site->call->base.span,
            "quant-calibrate: %s wants to know how often numbers are met at "
            "%s, and %s tells their range alone",
            c->by->name, site->name, c->statistics.path);
    out->nchannel = site->nscale;
    return NULL;
}

/* ---- scales ---- */

static bt_status check_scale(const struct calibrate *c, const struct site *site,
                             double scale, int64_t zero)
{
    if (!(scale > 0) || !isfinite(scale) || zero < site->form.low ||
        zero > site->form.high || (zero && !site->form.is_affine))
        return bt_fail(c->ctx, BT_ERR_PLUGIN,
                       "calibration %s gives %s the scale %g and the zero point %lld: "
                       "scales are above 0 and finite, zero points among the codes "
                       "%lld..%lld, and 0 where the form is not affine",
                       c->by->name, site->name, scale, (long long)zero,
                       (long long)site->form.low, (long long)site->form.high);
    return NULL;
}

/* As the program holds it, in float32: what is less than its least normal number is that. */
static double to_scale(const struct site *site, double scale)
{
    if (site->form.scale_kind == BT_SCALE_POWER2)
        scale = exp2(ceil(log2(scale)));
    return fmax((double)(float)scale, 0x1p-126);
}

/* Scales that a calibration leaves out are NaN, and so is what lies behind them. */
enum { BEHIND = 4 };

static bt_status choose(const struct calibrate *c, const struct site *site,
                        double *scales, int64_t *zeros)
{
    const uint32_t n = site->nscale;
    bt_statistic seen;
    int beyond = 0;
    BT_TRY(look_at(c, site, &seen));
    for (uint32_t i = 0; i < n + BEHIND; i++)
        scales[i] = NAN;
    BT_TRY(c->by->choose(c->ctx, c->options, &site->form, &seen, scales, zeros));
    for (uint32_t i = n; i < n + BEHIND; i++)
        beyond |= !isnan(scales[i]) || zeros[i];
    if (beyond)
        return bt_fail(c->ctx, BT_ERR_PLUGIN,
                       "calibration %s gives %s more scales or zero points than the %u "
                       "that its nchannel says",
                       c->by->name, site->name, n);
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(check_scale(c, site, scales[i], zeros[i]));
        scales[i] = to_scale(site, scales[i]);
        BT_TRY(check_scale(c, site, scales[i], zeros[i])); // float32 has an end
    }
    return NULL;
}

/* What is chosen for a site, once. */
struct chosen {
    struct site site;
    double *scales;
    int64_t *zeros;
};

static bt_status choose_once(struct calibrate *c, const bt_value *value,
                             const struct chosen **out)
{
    struct chosen *own;
    struct site site;
    *out = bt_map_find(&c->chosen, value);
    if (*out || !site_read(c->module, value, &site))
        return NULL;
    own = BT_NEW(c->arena, struct chosen);
    if (!own)
        return bt_no_memory();
    own->site = site;
    own->scales = BT_NEWS(c->arena, double, (size_t)site.nscale + BEHIND);
    own->zeros = BT_NEWS(c->arena, int64_t, (size_t)site.nscale + BEHIND);
    if (!own->scales || !own->zeros || !bt_map_put(&c->chosen, value, own))
        return bt_no_memory();
    *out = own;
    return choose(c, &site, own->scales, own->zeros);
}

/* ---- ratios that are powers of two ---- */

/* The site that the codes of a value come from. */
static bt_status find_before(struct calibrate *c, const bt_value *value,
                             const struct chosen **out)
{
    const bt_call *call = bt_as_call(value);
    BT_TRY(choose_once(c, value, out));
    while (!*out && call && call->callee_kind == BT_CALLEE_OP && call->narg == 1) {
        value = call->args[0];
        call = bt_as_call(value);
        BT_TRY(choose_once(c, value, out));
    }
    return NULL;
}

/* The site that makes codes of a value, with nothing on the way but calls of it and of
 * constants. */
static bt_status find_behind(bt_rewrite *rewrite, const bt_value *value,
                             const struct chosen **out)
{
    struct calibrate *c = bt_rewrite_state(rewrite);
    *out = NULL;
    while (!*out && bt_rewrite_nuse(rewrite, value) == 1) {
        const bt_value *user = bt_rewrite_use(rewrite, value, 0);
        const bt_call *call = bt_as_call(user);
        if (!call || call->callee_kind != BT_CALLEE_OP)
            return NULL;
        for (uint32_t i = 0; i < call->narg; i++) {
            if (call->args[i] != value && !site_is_constant(c->module, call->args[i]))
                return NULL;
        }
        BT_TRY(choose_once(c, user, out));
        value = user;
    }
    return NULL;
}

/* Scales of a weight such that in * weight / out is a power of two; none is smaller than it
 * was, so that nothing leaves the codes. Float32 rounds the product: where what it is then
 * divided by gives another number, `out`, which this layer alone makes, is the product. */
static bt_status fit_ratios(bt_rewrite *rewrite, const bt_call *weight,
                            const struct chosen *own, double *scales)
{
    struct calibrate *c = bt_rewrite_state(rewrite);
    const bt_call *user = bt_rewrite_nuse(rewrite, &weight->base) == 1
                              ? bt_as_call(bt_rewrite_use(rewrite, &weight->base, 0))
                              : NULL;
    const struct chosen *in, *next;
    double power = 1;
    if (!user || user->narg != 2)
        return NULL;
    BT_TRY(find_before(c, user->args[user->args[0] == &weight->base], &in));
    BT_TRY(find_behind(rewrite, &user->base, &next));
    if (!in || !next || in->site.nscale != 1 || next->site.nscale != 1)
        return NULL;
    const double ratio = in->scales[0] / next->scales[0];
    for (uint32_t i = own->site.nscale; i-- > 0;) {
        power = exp2(ceil(log2(scales[i] * ratio)));
        scales[i] = (double)(float)(power / ratio);
    }
    // of the first channel; others differ from it by powers of two
    const float product = (float)in->scales[0] * (float)scales[0];
    if ((double)(product / (float)next->scales[0]) != power && isnormal(product) &&
        next->site.form.scale_kind != BT_SCALE_POWER2)
        next->scales[0] = (double)product / power;
    return NULL;
}

/* ---- the pass ---- */

static bt_status calibrate_call(bt_rewrite *rewrite, const bt_call *call,
                                const bt_value **out)
{
    struct calibrate *c = bt_rewrite_state(rewrite);
    bt_builder *b = bt_rewrite_builder(rewrite);
    const struct chosen *own;
    const bt_value *args[3];
    BT_TRY(choose_once(c, &call->base, &own));
    if (!own)
        return NULL;
    const uint32_t n = own->site.nscale;
    double *scales = BT_NEWS(c->arena, double, n), *whole = BT_NEWS(c->arena, double, n);
    if (!scales || !whole)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        scales[i] = own->scales[i];
        whole[i] = (double)own->zeros[i];
    }
    if (own->site.form.scale_kind == BT_SCALE_RATIO2 && own->site.constant)
        BT_TRY(fit_ratios(rewrite, call, own, scales));
    BT_TRY(bt_rewrite_operand(rewrite, call->args[0], &args[0]));
    BT_TRY(site_scales(b, BT_FLOAT32, n, scales, &args[1]));
    // one zero point says that there is none, whatever the number of scales
    BT_TRY(site_scales(b, BT_INT32, own->site.form.is_affine ? n : 1, whole, &args[2]));
    bt_builder_like(b, &call->base);
    return bt_build_op(b, call->op, call->attrs, 3, args, out);
}

static bt_status begin(bt_rewrite *rewrite, const bt_func *func)
{
    struct calibrate *c = bt_rewrite_state(rewrite);
    return c->by->needs & BT_STAT_MOMENTS
               ? moments_find(c->ctx, c->arena, c->module, func->block, &c->moments)
               : NULL;
}

static const bt_rewriter rewriter = { .begin = begin, .call_ = calibrate_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    struct calibrate c = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    const bt_global *entry;
    const char *name, *given;
    bt_map_init(&c.chosen, call->scratch, 0);
    bt_map_init(&c.moments, call->scratch, 0);
    BT_TRY(bt_named_split(ctx, call->scratch, "calibration", o->by, &name, &given));
    BT_TRY(bt_registry_row(ctx, "quant.calibrate/1", name, sizeof(bt_quant_calibrate),
                           (const void **)&c.by));
    BT_TRY(bt_options_parse(ctx, call->module->store, name, c.by->options,
                            c.by->options_nbytes, given, &c.options));
    if (*o->statistics) {
        BT_TRY(bt_module_entry(ctx, call->module, call->entry, &entry));
        BT_TRY(statistics_read(ctx, o->statistics, statistics_digest(entry->func),
                               &c.statistics));
    }
    bt_status status = bt_rewrite_module(ctx, call, &rewriter, &c, out);
    statistics_close(ctx, &c.statistics);
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "quant-calibrate",
        .doc =
            "The scales of all sites, as a calibration chooses them.\n"
            "before\n"
            "    def @main() { quant.simulate(const[(2), float32]{127, -254}, 0f, 0) }\n"
            "after\n"
            "    def @main() { quant.simulate(const[(2), float32]{127, -254}, 2f, 0) }",
        .level = 0,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};
const bt_table bt_passes_quantize_quant_calibrate[] = { BT_PASSES(passes), { 0 } };
