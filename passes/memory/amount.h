/* Numbers of bytes, of which some are dims that are known when the program runs. */
#ifndef PASSES_MEMORY_AMOUNT_H
#define PASSES_MEMORY_AMOUNT_H

#include <baton/ir.h>

struct amount {
    int64_t sample;     /* for the sample of the dims */
    const bt_type *dim; /* NULL: the sample is the number, whatever the dims are */
};

/* dim NULL: it could not be made, which the store tells. */
bt_status amount_of(bt_ctx *, bt_store *, const bt_type *dim,
                    struct amount *out) BT_MUST_USE;
/* NULL: no memory, or too large. */
const bt_type *amount_dim(bt_store *, struct amount);
/* 0: the sum is too large to be written. */
int amount_add(bt_store *, struct amount, struct amount, struct amount *out);
/* Whether a + b <= c for all values of the dims. */
int amount_fits(bt_store *, struct amount a, struct amount b, struct amount c);

#endif
