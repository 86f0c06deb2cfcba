/*
 * Schemes of quantization: which codes stand for the operands of layers.
 *
 *     int8     -128..127 of activations, -127..127 of weights, one scale a channel of these
 *     uint8    the same with 0..255 and a zero point of activations
 *     int4     -7..7 of weights
 *     int16    -32768..32767 of activations, with weights as of int8
 *     global   Relay's: one scale for each tensor, all of them powers of two
 *     shifts   int8 for devices that shift in place of multiplying: the scales of weights are
 *              such that in * weight / out is a power of two
 *
 * Sums are int32, or int16 on demand: 8/32, 8/16 and 16/32 are int8, int8{accumulator="int16"}
 * and int16.
 *
 * source  Jacob et al. 2018; Krishnamoorthi 2018; Relay 2019, section 4.2
 */
#include <string.h>

#include <baton/quantize.h>

struct options {
    bt_strings skip;
    bt_ints skip_layers;
    int64_t per_channel, weight_bits, bits;
    const char *rounding, *accumulator;
};
#define SKIP                                                    \
    BT_ATTR(struct options, skip, STRINGS, "[]",                \
            "calls that stay in float, by name, with * and ?"), \
        BT_ATTR(struct options, skip_layers, INTS, "[]",        \
                "the same by number, counted from 0")
#define PER_CHANNEL(is_) \
    BT_ATTR(struct options, per_channel, BOOL, is_, "one scale a channel of weights")
#define WEIGHT_BITS(n_) \
    BT_ATTR_RANGE(struct options, weight_bits, INT, #n_, 2, n_, "bits of a weight's code")
#define BITS(n_) \
    BT_ATTR_RANGE(struct options, bits, INT, #n_, 2, 16, "bits of an activation's code")
#define SUMS                                                                      \
    BT_ATTR_CHOICE(                                                               \
        struct options, rounding, "even", "even|away|up|floor|ceil|stochastic",   \
        "how activations are rounded. With stochastic rounding, and for sums of " \
        "two tensors with any rounding but even, arithmetic between the codes "   \
        "stays in float"),                                                        \
        BT_ATTR_CHOICE(struct options, accumulator, "int32", "int32|int16",       \
                       "type of sums; what int16 may not hold is summed in parts")
static const bt_attr int8_options[] = { SKIP,           PER_CHANNEL("True"),
                                        WEIGHT_BITS(8), BITS(8),
                                        SUMS,           { 0 } };
static const bt_attr int4_options[] = { SKIP,           PER_CHANNEL("True"),
                                        WEIGHT_BITS(4), BITS(8),
                                        SUMS,           { 0 } };
static const bt_attr int16_options[] = { SKIP,           PER_CHANNEL("True"),
                                         WEIGHT_BITS(8), BITS(16),
                                         SUMS,           { 0 } };
static const bt_attr global_options[] = { SKIP,           PER_CHANNEL("False"),
                                          WEIGHT_BITS(8), BITS(8),
                                          SUMS,           { 0 } };

/* Whether a name fits a text in which * stands for any letters and ? for one. */
static int fits(const char *pattern, const char *name)
{
    const char *star = NULL, *from = name;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++from;
        } else {
            return 0;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static int is_skipped(const struct options *o, const bt_quant_site *site)
{
    for (int64_t i = 0; i < o->skip.n; i++) {
        if (fits(o->skip.at[i], site->name))
            return 1;
    }
    for (int64_t i = 0; i < o->skip_layers.n; i++) {
        if (o->skip_layers.at[i] == site->layer)
            return 1;
    }
    return 0;
}

/* A call that is none, with the names of those that there are. */
static bt_status fail_skip(bt_ctx *ctx, const char *pattern, uint32_t n,
                           const bt_quant_site *sites)
{
    enum { FEW = 8 };
    bt_arena *arena = bt_ctx_scratch(ctx);
    const char **names = BT_NEWS(arena, const char *, n + 1);
    bt_text some;
    bt_text_init(&some, arena);
    for (uint32_t i = 0; names && i < n; i++) {
        names[i] = sites[i].name;
        if (i < FEW)
            bt_text_addf(&some, "%s%s", i ? ", " : "", names[i]);
    }
    if (!names || !bt_text_get(&some))
        return bt_no_memory();
    const char *nearest = bt_nearest(arena, pattern, names);
    return *nearest ? bt_fail(ctx, BT_ERR_ARGUMENT, "skip: no call fits \"%s\"%s",
                              pattern, nearest)
                    : bt_fail(ctx, BT_ERR_ARGUMENT,
                              "skip: no call fits \"%s\"; there are %s%s", pattern,
                              some.at, n > FEW ? ", ..." : "");
}

/* What is to stay in float is there. */
static bt_status check(bt_ctx *ctx, const void *options, uint32_t n,
                       const bt_quant_site *sites)
{
    const struct options *o = options;
    uint32_t found, last = 0;
    for (int64_t i = 0; i < o->skip.n; i++) {
        found = 0;
        for (uint32_t k = 0; k < n; k++)
            found |= (uint32_t)fits(o->skip.at[i], sites[k].name);
        if (!found)
            return fail_skip(ctx, o->skip.at[i], n, sites);
    }
    for (int64_t i = 0; i < o->skip_layers.n; i++) {
        found = 0;
        for (uint32_t k = 0; k < n; k++) {
            found |= sites[k].layer == o->skip_layers.at[i];
            last = sites[k].layer > last ? sites[k].layer : last;
        }
        if (!found)
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "skip_layers holds %lld: layers are counted from 0, the last "
                           "one is %u",
                           (long long)o->skip_layers.at[i], last);
    }
    return NULL;
}

/* Codes of that many bits; `has_least`: -2^(bits-1) too. */
static void signed_codes(bt_number_form *out, bt_dtype dtype, int64_t bits, int has_least)
{
    out->dtype = dtype;
    out->high = (INT64_C(1) << (bits - 1)) - 1;
    out->low = has_least ? -out->high - 1 : -out->high;
}

static uint32_t rounding_of(const struct options *o)
{
    static const char *const words[] = {
        [BT_ROUND_EVEN] = "even", [BT_ROUND_AWAY] = "away",
        [BT_ROUND_UP] = "up",     [BT_ROUND_FLOOR] = "floor",
        [BT_ROUND_CEIL] = "ceil", [BT_ROUND_STOCHASTIC] = "stochastic",
    };
    uint32_t i = 0;
    while (strcmp(words[i], o->rounding) != 0)
        i++;
    return i;
}

static bt_status signed_form(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                             bt_number_form *out)
{
    const struct options *o = options;
    (void)ctx;
    if (is_skipped(o, site))
        return NULL;
    if (site->role != BT_QUANT_WEIGHT) {
        signed_codes(out, o->bits > 8 ? BT_INT16 : BT_INT8, o->bits, 1);
        out->rounding = rounding_of(o);
        return NULL;
    }
    // weights lie in memory as long as the program does: in as few bits as hold them
    signed_codes(out,
                 o->weight_bits > 4   ? BT_INT8
                 : o->weight_bits > 2 ? BT_INT4
                                      : BT_INT2,
                 o->weight_bits, 0);
    out->axis = o->per_channel ? site->channel : -1;
    return NULL;
}

static bt_status unsigned_form(bt_ctx *ctx, const void *options,
                               const bt_quant_site *site, bt_number_form *out)
{
    const struct options *o = options;
    BT_TRY(signed_form(ctx, options, site, out));
    if (out->dtype && site->role != BT_QUANT_WEIGHT) {
        out->dtype = o->bits > 8 ? BT_UINT16 : BT_UINT8;
        out->low = 0;
        out->high = (INT64_C(1) << o->bits) - 1;
        out->is_affine = 1;
    }
    return NULL;
}

static bt_status global_form(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                             bt_number_form *out)
{
    BT_TRY(signed_form(ctx, options, site, out));
    out->scale_kind = BT_SCALE_POWER2;
    return NULL;
}

static bt_status shifts_form(bt_ctx *ctx, const void *options, const bt_quant_site *site,
                             bt_number_form *out)
{
    BT_TRY(signed_form(ctx, options, site, out));
    if (site->role == BT_QUANT_WEIGHT)
        out->scale_kind = BT_SCALE_RATIO2;
    return NULL;
}

static bt_status accumulator(bt_ctx *ctx, const void *options, const bt_call *call,
                             bt_dtype *out)
{
    const struct options *o = options;
    (void)ctx;
    (void)call;
    *out = strcmp(o->accumulator, "int16") == 0 ? BT_INT16 : BT_INT32;
    return NULL;
}

#define SCHEME(name_, options_, form_, doc_)                       \
    {                                                              \
        .name = (name_), .doc = (doc_), .options = (options_),     \
        .options_nbytes = sizeof(struct options), .form = (form_), \
        .accumulator = accumulator, .check = check,                \
    }
static const bt_quant_scheme schemes[] = {
    SCHEME("int8", int8_options, signed_form,
           "Signed codes, one scale for each channel of weights."),
    SCHEME("uint8", int8_options, unsigned_form,
           "As int8, with unsigned activations that have a zero point."),
    SCHEME("int4", int4_options, signed_form, "Weights of 4 bits, activations of 8."),
    SCHEME("int16", int16_options, signed_form, "Activations of 16 bits, weights of 8."),
    SCHEME("global", global_options, global_form,
           "Relay's: one scale a tensor, all powers of two."),
    SCHEME("shifts", int8_options, shifts_form,
           "int8 whose scales need shifts alone, for devices that do not multiply."),
    { 0 },
};
const bt_table bt_plugins_quantize_schemes[] = { BT_QUANT_SCHEMES(schemes), { 0 } };
