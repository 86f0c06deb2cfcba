/* What checks of dims are known to find before any value is there. */
#include "ir/dim.h"

/* 1: left <= right for every value, -1: for none, 0: cannot be decided. */
static int less_equal(bt_store *store, const bt_type *left, const bt_type *right)
{
    int64_t low, high;
    const bt_type *difference = bt_dim_sub(store, right, left);
    if (!difference)
        return 0;
    bt_dim_bounds(difference, &low, &high);
    return low >= 0 ? 1 : high < 0 ? -1 : 0;
}

static int divisible(bt_store *store, const bt_type *left, const bt_type *right)
{
    int64_t number;
    const bt_type *rest = bt_dim_mod(store, left, right);
    return rest && bt_dim_is_const(rest, &number) ? (number == 0 ? 1 : -1) : 0;
}

/* Equal, or left is 1. */
static int broadcasts(bt_store *store, const bt_type *left, const bt_type *right)
{
    int64_t low, high;
    int equal = bt_dim_equal(store, left, right);
    bt_dim_bounds(left, &low, &high);
    if (equal == 1 || (low == 1 && high == 1))
        return 1;
    return equal == -1 && (low > 1 || high < 1) ? -1 : 0;
}

int bt_check_decide(bt_store *store, uint32_t relation, const bt_type *left,
                    const bt_type *right)
{
    switch (relation) {
    case BT_CHECK_EQUAL: return bt_dim_equal(store, left, right);
    case BT_CHECK_LESS_EQUAL: return less_equal(store, left, right);
    case BT_CHECK_DIVISIBLE: return divisible(store, left, right);
    default: return broadcasts(store, left, right);
    }
}

const char *bt__check_word(uint32_t relation)
{
    static const char *const words[] = {
#define BT_CHECK(UPPER, word, text) word,
#include <baton/checks.def>
#undef BT_CHECK
    };
    return relation < BT_COUNT(words) ? words[relation] : "?";
}
