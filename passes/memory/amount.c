#include "memory/amount.h"

enum { FEW = 16, MANY = 1024 };

/* In the middle of a range, but at most *state where it may be; a few where the range has
 * no end. */
static const bt_type *sample_of(bt_subst *subst, const bt_type *leaf)
{
    const int64_t most = *(const int64_t *)subst->state;
    int64_t low, high;
    bt_dim_bounds(leaf, &low, &high);
    int64_t sample = high != INT64_MAX ? low + (high - low) / 2 : FEW;
    sample = sample > most ? most : sample;
    return bt_dim(leaf->store, sample < low ? low : sample);
}

/* The product of many dims may overflow for middling ones, and not for a few. */
bt_status amount_of(bt_ctx *ctx, bt_store *store, const bt_type *dim, struct amount *out)
{
    int64_t most = MANY;
    bt_subst subst = { .leaf = sample_of, .state = &most };
    *out = (struct amount){ 0 };
    if (dim && bt_dim_is_const(dim, &out->sample))
        return NULL;
    const bt_type *sample = dim ? bt_type_subst(store, &subst, dim) : NULL;
    most = FEW;
    if (dim && !sample)
        sample = bt_type_subst(store, &subst, dim);
    if (!sample)
        return bt_store_why(ctx, store);
    (void)bt_dim_is_const(sample, &out->sample);
    out->dim = dim;
    return NULL;
}

const bt_type *amount_dim(bt_store *store, struct amount a)
{
    return a.dim ? a.dim : bt_dim(store, a.sample);
}

int amount_add(bt_store *store, struct amount a, struct amount b, struct amount *out)
{
    *out = (struct amount){ 0 };
    if (!bt_add_int64(a.sample, b.sample, &out->sample))
        return 0;
    if (a.dim || b.dim)
        out->dim = bt_dim_add(store, amount_dim(store, a), amount_dim(store, b));
    return out->dim || (!a.dim && !b.dim);
}

int amount_fits(bt_store *store, struct amount a, struct amount b, struct amount c)
{
    struct amount sum;
    int64_t low, high;
    if (!amount_add(store, a, b, &sum) || sum.sample > c.sample)
        return 0;
    if (!sum.dim && !c.dim)
        return 1;
    const bt_type *rest = bt_dim_sub(store, amount_dim(store, c), amount_dim(store, sum));
    if (!rest)
        return 0;
    bt_dim_bounds(rest, &low, &high);
    return low >= 0;
}
