/* Least and greatest of dims: flat lists in which no argument is known to lose. */
#include "ir/dim.h"

#include <string.h>

struct args {
    uint32_t n;
    const bt_type *at[BT__DIM_ARGS];
};

/* Adds one argument, unless one that is there beats it; drops those that it beats. */
static int add_arg(bt_store *store, struct args *args, uint32_t kind, const bt_type *arg)
{
    uint32_t kept = 0, place = 0;
    for (uint32_t i = 0; i < args->n; i++) {
        const bt_type *other = args->at[i];
        const bt_type *low = kind == BT_TYPE_MAX ? arg : other;
        const bt_type *high = kind == BT_TYPE_MAX ? other : arg;
        if (other == arg || bt__dim_exceeds(high, low, 0))
            return 1;
    }
    for (uint32_t i = 0; i < args->n; i++) {
        const bt_type *other = args->at[i];
        const bt_type *low = kind == BT_TYPE_MAX ? other : arg;
        const bt_type *high = kind == BT_TYPE_MAX ? arg : other;
        if (!bt__dim_exceeds(high, low, 0))
            args->at[kept++] = other;
    }
    args->n = kept;
    if (kept == BT__DIM_ARGS) {
        bt__refuse(store, "a dim has too many arguments of min or max");
        return 0;
    }
    while (place < kept && args->at[place]->id < arg->id)
        place++;
    memmove(&args->at[place + 1], &args->at[place], (kept - place) * sizeof(*args->at));
    args->at[place] = arg;
    args->n++;
    return 1;
}

static int add_args(bt_store *store, struct args *args, uint32_t kind, const bt_type *dim)
{
    const bt_list_type *list = bt__dim_args(dim, kind);
    if (!list)
        return add_arg(store, args, kind, dim);
    for (uint32_t i = 0; i < list->n; i++) {
        if (!add_arg(store, args, kind, list->at[i]))
            return 0;
    }
    return 1;
}

static const bt_type *extreme(bt_store *store, uint32_t kind, const bt_type *a,
                              const bt_type *b)
{
    struct args args = { 0 };
    if (!bt__dims_expect(store, a, b))
        return NULL;
    if (bt__dim_absorb(a, b))
        return bt__dim_absorb(a, b);
    if (!add_args(store, &args, kind, a) || !add_args(store, &args, kind, b))
        return NULL;
    return args.n == 1 ? args.at[0] : bt__dim_atom(store, kind, args.n, args.at);
}

const bt_type *bt_dim_min(bt_store *store, const bt_type *a, const bt_type *b)
{
    return extreme(store, BT_TYPE_MIN, a, b);
}

const bt_type *bt_dim_max(bt_store *store, const bt_type *a, const bt_type *b)
{
    return extreme(store, BT_TYPE_MAX, a, b);
}
