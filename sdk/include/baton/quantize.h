/*
 * For authors of quantization: schemes, which say what numbers stand for the operands of a
 * program's calls, and calibrations, which choose the scales from what was seen of them.
 *
 *     quant-annotate   puts quant.simulate on each operand (a site) that a scheme gives codes
 *     quant-skip       takes it away again: of the layers of a list, which compute in float
 *     quant-observe    a function that gives what is seen of every site, by phases: ranges, then
 *                      counts of parts of them and moments; errors, once scales are chosen
 *     quant-calibrate  fills in the scales that a calibration chooses
 *     quant-realize    qnn.quantize and qnn.dequantize in place of quant.simulate
 *     qdq-to-integer   calls on codes in place of the calls between these two
 *     quant-accumulate sums of products that are proved to stay in their accumulator
 *
 * A code q stands for (q - zero) * scale.
 */
#ifndef BATON_QUANTIZE_H
#define BATON_QUANTIZE_H

#include <baton/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How numbers become whole. */
enum {
    BT_ROUND_EVEN, /* to the nearest, halves to even */
    BT_ROUND_AWAY, /* halves away from zero */
    BT_ROUND_UP,   /* floor(x + 1/2) */
    BT_ROUND_FLOOR,
    BT_ROUND_CEIL,
    /* floor(x + u), u from 0 to 1 by a key of the site and the element's place: the mean of
     * the codes is the number. Of inputs; weights are rounded by it when compiling. */
    BT_ROUND_STOCHASTIC
};
/* What scales there may be. */
enum {
    BT_SCALE_FREE,
    BT_SCALE_POWER2, /* powers of two */
    /* Of a weight: such that in * weight / out is a power of two, for the scales of what the
     * call takes and what is made of its result; each alone is free. */
    BT_SCALE_RATIO2
};

/* The codes of a site. */
typedef struct bt_number_form {
    bt_dtype dtype;                /* an integer type; 0: the site stays in float */
    int64_t low, high;             /* codes in use: -127..127, -64..63, 0..255 */
    uint32_t is_affine;            /* a zero point is chosen; 0: zero is the code 0 */
    uint32_t scale_kind, rounding; /* BT_SCALE_..., BT_ROUND_... */
    int32_t axis;                  /* one scale for each of its elements; -1: one scale */
} bt_number_form;

/* What an operand is to its call. */
enum { BT_QUANT_INPUT, BT_QUANT_WEIGHT };

/* An operand of a call that may get codes. */
typedef struct bt_quant_site {
    const bt_call *call;
    uint32_t operand, role; /* BT_QUANT_INPUT, BT_QUANT_WEIGHT */
    /* Of the call: its binding's name, else that of the model's node, else the operator's. */
    const char *name;
    uint32_t rank;  /* of the operand */
    uint32_t layer; /* how many products (convolutions, matrices) stand before this one */
    /* The operand's axis of the call's output channels; -1: it has none, or cannot tell. */
    int32_t channel;
} bt_quant_site;

/* A table row { "quant.scheme/1", sizeof(bt_quant_scheme), rows }. */
typedef struct bt_quant_scheme {
    const char *name; /* "int8" */
    const char *doc;  /* first line: one sentence */
    const bt_attr *options;
    size_t options_nbytes;
    /* The form of a site. *out comes with dtype 0 (stays in float) and axis -1 (one scale); set
     * what differs. */
    bt_status (*form)(bt_ctx *, const void *options, const bt_quant_site *,
                      bt_number_form *out);
    /* The type of the sums of a call on codes, qnn.dense and others: BT_INT16 or BT_INT32.
     * Sums that it may not hold are cut into parts that it does, each widened to int32; none
     * saturates, as that would depend on the order of terms. NULL: int32. */
    bt_status (*accumulator)(bt_ctx *, const void *options, const bt_call *,
                             bt_dtype *out);
    /* optional: fails where options name calls that there are not. Gets a site of each call
     * whose form was asked for. */
    bt_status (*check)(bt_ctx *, const void *options, uint32_t n,
                       const bt_quant_site *sites);
} bt_quant_scheme;
#define BT_QUANT_SCHEMES(array)                            \
    {                                                      \
        "quant.scheme/1", sizeof(bt_quant_scheme), (array) \
    }

/* What a calibration wants to see of a site. */
enum {
    BT_STAT_RANGE = 1,  /* low, high */
    BT_STAT_BINS = 2,   /* bins, of sites with one scale */
    BT_STAT_MOMENTS = 4 /* of weights: of what they are multiplied with */
};

/* What was seen of one site over all samples; of a constant what it holds, always. */
typedef struct bt_statistic {
    const char *site;
    uint64_t nsample, nelem;
    uint64_t nbad;     /* NaN and infinities: counted, and in no range */
    double low, high;  /* 0, 0 where nothing was seen */
    uint32_t nchannel; /* scales that are to be chosen */
    /* Of a constant, nchannel of each; NULL of everything else. */
    const double *channel_low, *channel_high;
    uint32_t nbin;             /* 0: they were not asked for, or are not there */
    const uint64_t *bins;      /* elements of each part of low..high, all as wide */
    const bt_tensor *constant; /* NULL: the operand is none */
    /* Of a weight: mean and variance of what its elements are multiplied with, for each place
     * along an axis of the weight; nmoment 0: they are not known. */
    uint32_t nmoment, moment_axis;
    const double *moment_mean, *moment_variance;
} bt_statistic;

/* A table row { "quant.calibrate/1", sizeof(bt_quant_calibrate), rows }. */
typedef struct bt_quant_calibrate {
    const char *name; /* "max" */
    const char *doc;  /* first line: one sentence */
    const bt_attr *options;
    size_t options_nbytes;
    uint32_t needs; /* BT_STAT_... */
    /* Chooses statistic->nchannel scales, each above 0 and finite, and zero points within
     * low..high of the form, which are 0 before and stay so unless it is affine. */
    bt_status (*choose)(bt_ctx *, const void *options, const bt_number_form *,
                        const bt_statistic *, double *scales, int64_t *zeros);
} bt_quant_calibrate;
#define BT_QUANT_CALIBRATES(array)                               \
    {                                                            \
        "quant.calibrate/1", sizeof(bt_quant_calibrate), (array) \
    }

#ifdef __cplusplus
}
#endif
#endif
