#include "common/checked.h"

#include <string.h>

#include "common/dims.h"

static bt_status check_dims(const struct copy *c, const bt_type *wanted, bt_call *call)
{
    const struct dims_map m = { .ctx = c->ctx, .arena = c->arena, .store = c->store };
    dims_of_type from = { 0 }, to = { 0 };
    BT_TRY(dims_list(&m, call->base.type, &from));
    BT_TRY(dims_list(&m, wanted, &to));
    if (from.len != to.len)
        return bt_fail(c->ctx, BT_ERR_INTERNAL,
                       "a call is stated to give a type of %u dims, and gives %u", to.len,
                       from.len);
    bt_check *checks = BT_NEWS(c->arena, bt_check, (size_t)call->ncheck + to.len);
    if (!checks)
        return bt_no_memory();
    if (call->ncheck)
        memcpy(checks, call->checks, call->ncheck * sizeof(*checks));
    for (uint32_t i = 0; i < to.len; i++) {
        if (from.at[i] != to.at[i])
            checks[call->ncheck++] = (bt_check){ .relation = BT_CHECK_EQUAL,
                                                 .left = from.at[i],
                                                 .right = to.at[i] };
    }
    call->checks = checks;
    return NULL;
}

/* Inferred in a block of its own, which is dropped. */
bt_status checked_call(struct copy *c, const bt_call *call, const bt_type *wanted,
                       const bt_value **out)
{
    const bt_block *apart;
    BT_TRY(bt_block_begin(c->b, 0, NULL));
    BT_TRY(bt_build_call(c->b, call, out));
    BT_TRY(bt_block_end(c->b, *out, &apart));
    bt_call checked = *bt_as_call(*out);
    if (checked.base.type != wanted)
        BT_TRY(check_dims(c, wanted, &checked));
    bt_builder_like(c->b, *out);
    bt_builder_type(c->b, wanted);
    return bt_build_call(c->b, &checked, out);
}
