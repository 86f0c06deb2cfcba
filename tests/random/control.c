/* Expressions of any type: fields of tuples, branches, cells, and blocks for them. */
#include "maker.h"

bt_status make_proj(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_value *fields[3], *tuple;
    uint32_t n = 1 + below(m, 3), at = below(m, n);
    for (uint32_t i = 0; i < n; i++) {
        const bt_type *field = type;
        if (i != at)
            BT_TRY(random_tensor_type(m, &field));
        BT_TRY(make(m, field, &fields[i]));
    }
    BT_TRY(bt_build_tuple(m->builder, n, fields, &tuple));
    BT_TRY(enter_scope(m, tuple));
    return bt_build_proj(m->builder, tuple, at, out);
}

bt_status make_block(struct maker *m, uint32_t nparam, const bt_param *const *params,
                     const bt_type *type, const bt_block **out)
{
    uint32_t mark = m->scope.len;
    const bt_value *result;
    BT_TRY(bt_block_begin(m->builder, nparam, params));
    for (uint32_t i = 0; i < nparam; i++)
        BT_TRY(enter_scope(m, &params[i]->base));
    BT_TRY(make(m, type, &result));
    m->scope.len = mark;
    return bt_block_end(m->builder, result, out);
}

bt_status make_if(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *bool_type = bt_type_scalar(m->store, BT_BOOL);
    const bt_value *condition;
    const bt_block *blocks[2];
    if (!bool_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, bool_type, &condition));
    BT_TRY(make_block(m, 0, NULL, type, &blocks[0]));
    BT_TRY(make_block(m, 0, NULL, type, &blocks[1]));
    return bt_build_if(m->builder, condition, blocks[0], blocks[1], out);
}

bt_status make_ref(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_value *first, *second, *ref, *written;
    BT_TRY(make(m, type, &first));
    BT_TRY(bt_build_ref(m->builder, first, &ref));
    BT_TRY(enter_scope(m, ref));
    if (below(m, 2)) {
        BT_TRY(make(m, type, &second));
        BT_TRY(bt_build_write(m->builder, ref, second, &written));
    }
    return bt_build_read(m->builder, ref, out);
}
