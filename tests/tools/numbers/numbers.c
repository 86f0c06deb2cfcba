/* Schemes and calibrations for the tests of baton plugin check: what each does wrong is its
 * name. */
#include <math.h>
#include <string.h>

#include <baton/plugin.h>
#include <baton/quantize.h>

extern const bt_table bt_tests_tools_numbers_numbers[];

/* ---- schemes ---- */

static const bt_number_form int8 = {
    .dtype = BT_INT8, .low = -127, .high = 127, .axis = -1
};

static bt_status form_right(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                            bt_number_form *out)
{
    (void)ctx;
    (void)options;
    (void)site;
    *out = int8;
    return NULL;
}

static bt_status form_low(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                          bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    out->low = -300;
    return NULL;
}

static bt_status form_high(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                           bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    out->high = 300;
    return NULL;
}

static bt_status form_axis(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                           bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    out->axis = 17;
    return NULL;
}

static bt_status form_rounding(bt_ctx *ctx, const void *options,
                               const bt_quant_site *site, bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    out->rounding = 99;
    return NULL;
}

static bt_status form_kind(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                           bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    out->scale_kind = 77;
    return NULL;
}

static bt_status form_float(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                            bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    out->dtype = BT_FLOAT32;
    return NULL;
}

static bt_status form_none(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                           bt_number_form *out)
{
    (void)ctx;
    (void)options;
    (void)site;
    (void)out;
    return NULL;
}

static bt_status form_differs(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                              bt_number_form *out)
{
    static int64_t ncall;
    BT_TRY(form_right(ctx, options, site, out));
    out->high = 127 - ncall++ % 97;
    return NULL;
}

static bt_status form_keeps(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                            bt_number_form *out)
{
    if (!bt_alloc(bt_ctx_registry(ctx), 64))
        return bt_no_memory();
    return form_right(ctx, options, site, out);
}

/* As many calls as a pass makes are even in number. */
static bt_status form_turns(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                            bt_number_form *out)
{
    static int ncall;
    BT_TRY(form_right(ctx, options, site, out));
    out->high = ncall++ % 2 ? 127 : 7;
    return NULL;
}

static bt_status form_behind(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                             bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    memset(out + 1, 0xff, 16);
    return NULL;
}

static bt_status form_affine(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                             bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    out->is_affine = 5;
    return NULL;
}

static bt_status form_signs(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                            bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    *out = (bt_number_form){ .dtype = BT_UINT8, .high = 255, .axis = -1 };
    return NULL;
}

static bt_status form_inner(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                            bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    out->axis = site->role == BT_QUANT_WEIGHT ? 1 : -1;
    return NULL;
}

static bt_status form_wide(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                           bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    *out = (bt_number_form){
        .dtype = BT_INT16, .low = -32768, .high = 32767, .axis = -1
    };
    return NULL;
}

static bt_status form_says(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                           bt_number_form *out)
{
    BT_TRY(form_right(ctx, options, site, out));
    return bt_fail(ctx, BT_ERR_RUNTIME, "no");
}

// clang-format off
static const bt_quant_scheme schemes[] = {
    { .name = "turns", .doc = "Others every second time.", .form = form_turns },
    { .name = "behind", .doc = "Writes behind the form.", .form = form_behind },
    { .name = "affine", .doc = "The 5th kind of zero point.", .form = form_affine },
    { .name = "signs", .doc = "Codes from 0 on without a zero point.", .form = form_signs },
    { .name = "inner", .doc = "Scales along what is summed.", .form = form_inner },
    { .name = "wide", .doc = "Codes of 16 bits on both sides.", .form = form_wide },
    { .name = "says", .doc = "Fails.", .form = form_says },
    { .name = "right", .doc = "Codes of 8 bits.", .form = form_right },
    { .name = "low", .doc = "Codes from -300.", .form = form_low },
    { .name = "high", .doc = "Codes to 300.", .form = form_high },
    { .name = "axis", .doc = "A scale for each element of axis 17.", .form = form_axis },
    { .name = "rounding", .doc = "The 99th rounding.", .form = form_rounding },
    { .name = "kind", .doc = "The 77th kind of scale.", .form = form_kind },
    { .name = "float", .doc = "Codes that are no integers.", .form = form_float },
    { .name = "none", .doc = "No codes.", .form = form_none },
    { .name = "differs", .doc = "Others each time.", .form = form_differs },
    { .name = "keeps", .doc = "Memory that it never frees.", .form = form_keeps },
    { 0 },
};
// clang-format on

/* ---- calibrations ---- */

static void fill(const bt_statistic *seen, double *scales, double scale)
{
    for (uint32_t i = 0; i < seen->nchannel; i++)
        scales[i] = scale;
}

#define CALIBRATE(name, statements)                                                      \
    static bt_status choose_##name(bt_ctx *ctx, const void *options,                     \
                                   const bt_number_form *form, const bt_statistic *seen, \
                                   double *scales, int64_t *zeros)                       \
    {                                                                                    \
        (void)ctx;                                                                       \
        (void)options;                                                                   \
        (void)form;                                                                      \
        (void)zeros;                                                                     \
        fill(seen, scales, 1);                                                           \
        statements;                                                                      \
        return NULL;                                                                     \
    }

CALIBRATE(fixed, (void)0)
CALIBRATE(least, fill(seen, scales, 0x1p-1000))
CALIBRATE(useless, fill(seen, scales, 1e30))
CALIBRATE(zero, fill(seen, scales, 0))
CALIBRATE(below, fill(seen, scales, -1))
CALIBRATE(nan, fill(seen, scales, NAN))
CALIBRATE(great, fill(seen, scales, 1e300))
CALIBRATE(beyond, scales[seen->nchannel] = 1)
CALIBRATE(outside, zeros[0] = form->is_affine ? form->high + 1 : 0)

static bt_status choose_unset(bt_ctx *ctx, const void *options,
                              const bt_number_form *form, const bt_statistic *seen,
                              double *scales, int64_t *zeros)
{
    (void)ctx;
    (void)options;
    (void)form;
    (void)seen;
    (void)zeros;
    scales[0] = 1;
    return NULL;
}

static double counted(void)
{
    static int ncall;
    return 1 + ncall++ % 97;
}
CALIBRATE(varies, fill(seen, scales, counted()))
CALIBRATE(holds, fill(seen, scales, bt_alloc(bt_ctx_registry(ctx), 64) ? 1 : 2))
/* The range of the site before; of the first one, which a program begins with, its own. */
static double before(const bt_statistic *seen)
{
    static double last;
    const double own = seen->high > 0 ? seen->high / 127 : 1,
                 out = strcmp(seen->site, "both_signs") == 0 ? own : last;
    last = own;
    return out > 0 ? out : own;
}
CALIBRATE(neighbour, fill(seen, scales, before(seen)))
static volatile int is_endless = 1;
CALIBRATE(zz_endless, while (is_endless){})

#define ROW(n, sentence, need)                                           \
    {                                                                    \
        .name = #n, .doc = sentence, .needs = need, .choose = choose_##n \
    }
static const bt_quant_calibrate calibrates[] = {
    ROW(fixed, "Every scale is 1.", 0),
    ROW(least, "Every scale is less than float32 has.", 0),
    ROW(useless, "Every scale is greater than any number.", 0),
    ROW(neighbour, "Scales of the site before.", 0),
    ROW(zero, "Every scale is 0.", 0),
    ROW(below, "Every scale is below 0.", 0),
    ROW(nan, "Every scale is NaN.", 0),
    ROW(great, "Every scale is more than float32 has.", 0),
    ROW(beyond, "More scales than there are channels.", 0),
    ROW(outside, "Zero points that are no codes.", 0),
    ROW(unset, "The first scale alone.", 0),
    ROW(varies, "Another scale each time.", 0),
    ROW(holds, "Memory that it never frees.", 0),
    { .name = "unknown",
      .doc = "Statistics that there are not.",
      .needs = 4097,
      .choose = choose_fixed },
    ROW(zz_endless, "Never.", 0),
    { 0 },
};
const bt_table bt_tests_tools_numbers_numbers[] = { BT_QUANT_SCHEMES(schemes),
                                                    BT_QUANT_CALIBRATES(calibrates),
                                                    { 0 } };
