/* Derivatives of which a part is asked. */
#ifndef GRADIENT_PART_H
#define GRADIENT_PART_H

#include "gradient_point.h"

/* A text for messages, in the arena of what checks. */
const char *gradient_words(const struct gradient *, const char *format, ...)
    BT_PRINTF(2, 3);
/* "input 1 (right)", of a leaf of the arguments. */
const char *gradient_input_words(const struct gradient *, uint32_t leaf);

/* A hook is asked for one adjoint alone, and given one seed alone: it gives what it does where
 * all are wanted, and with zeros for the other seeds. `bar`: what vjp gives at the point;
 * `bound`: how far results may be apart, in units of the greatest; *fault: what is wrong, or it
 * stays as it is. */
bt_status gradient_parts(struct gradient *, const struct gradient_point *,
                         const gradient_vectors *bar, double bound,
                         const char **fault) BT_MUST_USE;

#endif
