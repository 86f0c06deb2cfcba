#include "common/derived_by.h"

bt_status derived_by(bt_arena *arena, const bt_func_type *primal, uint32_t first,
                     bt_gradient_spec *spec)
{
    const int all = spec->wrt.n == BT_NONE_LIST;
    const uint32_t nwrt = bt_gradient_spec_nwrt(spec, primal->narg - first);
    int64_t *at = BT_NEWS(arena, int64_t, nwrt), n = 0;
    if (!at)
        return bt_no_memory();
    for (uint32_t i = 0; i < nwrt; i++) {
        const int64_t param = first + bt_gradient_spec_wrt(spec, i);
        int has_float, has_code;
        BT_TRY(bt_type_holds(arena, primal->args[param], &has_float, &has_code));
        if (!all || (has_float && !has_code))
            at[n++] = param;
    }
    spec->wrt = (bt_ints){ .n = n, .at = at };
    return NULL;
}
