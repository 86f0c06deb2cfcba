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

/* ---- values ---- */

struct stated_dims {
    dims_of_type stated, own; /* by place */
    uint32_t next;
};

static bt_status dim_of(void *state, const bt_type *dim, const bt_type **out)
{
    struct stated_dims *d = state;
    const uint32_t place = d->next++;
    *out = d->stated.at[place]->has & BT_HAS_HOLE ? dim : d->stated.at[place];
    return NULL;
}

bt_status checked_type(struct copy *c, const bt_type *own, const bt_type *stated,
                       const bt_type **out)
{
    struct stated_dims d = { 0 };
    const struct dims_map m = { c->ctx, c->arena, c->store, dim_of, &d };
    *out = own;
    if (own == stated)
        return NULL;
    BT_TRY(dims_list(&m, stated, &d.stated));
    BT_TRY(dims_list(&m, own, &d.own));
    return d.stated.len == d.own.len ? dims_replace(&m, own, out) : NULL;
}

bt_status checked_value(struct copy *c, const bt_value *value, const bt_type *wanted,
                        const bt_value **out)
{
    bt_call call = { .callee_kind = BT_CALLEE_OP, .narg = 1, .args = &value };
    *out = wanted == value->type ? value : NULL;
    if (*out || !bt_as_tensor_type(wanted))
        return NULL;
    BT_TRY(bt_op_get(c->ctx, "copy", &call.op));
    return checked_call(c, &call, wanted, out);
}
