/* What the passes of quantization share: sites, which are calls of quant.simulate, and
 * schemes with their options. */
#ifndef PASSES_QUANTIZE_QUANT_SITE_H
#define PASSES_QUANTIZE_QUANT_SITE_H

#include <baton/pass.h>
#include <baton/quantize.h>

#define SITE_OP "quant.simulate"

/* A site that stands in a program. */
struct site {
    const bt_call *call;
    const char *name;
    bt_number_form form;
    uint32_t nscale;
    /* Its constants; NULL: they are none. A scale of 0 is not chosen yet. */
    const bt_tensor *scale, *zero;
    const bt_tensor *constant; /* what it is of; NULL: that is none */
};

/* Whether a value is a site, and what it says. */
int site_read(const bt_module *, const bt_value *, struct site *out);
/* Whether a value is a constant of the module. */
int site_is_constant(const bt_module *, const bt_value *);
/* Whether all scales are chosen. */
int site_is_known(const struct site *);
/* The words of attributes rounding and scale_kind for BT_ROUND_... and BT_SCALE_... */
const char *site_rounding(uint32_t rounding);
const char *site_scale_kind(uint32_t kind);
/* A constant vector, of rank 0 where there is one. */
bt_status site_scales(bt_builder *, bt_dtype, uint32_t n, const double *values,
                      const bt_value **out) BT_MUST_USE;

/* As bt_rewrite_module; an error of what is checked then is one of the pass. */
bt_status rewrite_checked(bt_ctx *, bt_pass_call *, const bt_rewriter *, void *state,
                          bt_status (*check)(bt_ctx *, void *state),
                          bt_module **out) BT_MUST_USE;
/* A scheme with its options, "int8{skip=[\"conv*\"]}"; they live in the module's store. */
bt_status scheme_open(bt_ctx *, const bt_pass_call *, const char *text,
                      const bt_quant_scheme **scheme, const void **options) BT_MUST_USE;

#endif
