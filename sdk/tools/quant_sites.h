/* What a calibration is tried on: sites of constants, each with a range of its own. */
#ifndef QUANT_SITES_H
#define QUANT_SITES_H

#include <baton/ir.h>

enum { QUANT_NSITE = 8 };

/* A program of the sites of these numbers, in this order; in the arena. NULL: no memory. */
const char *quant_sites_text(bt_arena *, uint32_t n, const uint32_t *order);

/* Whether each site of `part` has the scales and zero points that it has in `all`; else an error that
 * names the first, and `how` the sites stand in `part`. */
bt_status quant_sites_compare(bt_ctx *, const char *name, const bt_module *all,
                              const bt_module *part, const char *how) BT_MUST_USE;
/* Whether codes of ordinary ranges tell their numbers apart: a scale is an error by which all of them
 * become 0, or nearly all the least or the greatest code. */
bt_status quant_sites_check(bt_ctx *, const char *name, const bt_module *) BT_MUST_USE;
/* Whether scales of weights stand along their channels. */
bt_status quant_sites_check_axes(bt_ctx *, const char *name,
                                 const bt_module *) BT_MUST_USE;
/* Whether codes are where a scheme's constants are: without a zero point none stands for what is below
 * 0 where they begin at 0. */
bt_status quant_sites_check_signs(bt_ctx *, const char *name,
                                  const bt_module *) BT_MUST_USE;
/* Whether something is a product of codes. */
bt_status quant_sites_check_products(bt_ctx *, const char *name,
                                     const bt_module *) BT_MUST_USE;

#endif
