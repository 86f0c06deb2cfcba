/* Derivatives of simulated codes: straight through, as if data were not rounded. */
#ifndef OPS_QUANT_STRAIGHT_H
#define OPS_QUANT_STRAIGHT_H

#include <baton/op.h>

#define STRAIGHT_THROUGH                                                               \
    "straight through: what is rounded passes where it is in the range of the codes, " \
    "beyond it nothing does (Bengio et al. 2013)"

/* What the formula of an element's derivative reads: `d` of the shape of data, which passes, data
 * `x`, scale `s` and zero point `z`, each one, one an index of the axis, or one an element. */
struct straight {
    const bt_value *data, *scale, *zero;
    int64_t axis;
    const bt_value *kind; /* a number `k`: what the codes are; NULL: there is none */
};
/* Inputs, and the result up to its `=`. */
void straight_head(const struct straight *, bt_text *);
void straight_item(const struct straight *, bt_text *);  /* d[..] */
void straight_scale(const struct straight *, bt_text *); /* s[..] */
void straight_code(const struct straight *,
                   bt_text *); /* the code before it is rounded */
bt_status straight_build(bt_builder *, const struct straight *, const bt_value *d,
                         bt_text *, const bt_value **out) BT_MUST_USE;

#endif
