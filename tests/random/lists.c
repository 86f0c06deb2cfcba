/* The data type List: its values, and matches of them. */
#include "maker.h"

bt_status make_list(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *element = bt_as_apply_type(type)->at[1];
    bt_call nil = { .callee_kind = BT_CALLEE_CTOR,
                    .ctor = m->list->ctors[1],
                    .ntype_arg = 1,
                    .type_args = &element };
    BT_TRY(bt_build_call(m->builder, &nil, out));
    for (uint32_t i = below(m, 3); i > 0; i--) {
        const bt_value *args[2] = { NULL, *out };
        BT_TRY(make(m, element, &args[0]));
        bt_call cons = { .callee_kind = BT_CALLEE_CTOR,
                         .ctor = m->list->ctors[0],
                         .narg = 2,
                         .args = args };
        BT_TRY(bt_build_call(m->builder, &cons, out));
    }
    return NULL;
}

static const bt_pattern *var_pattern(struct maker *m, const bt_param *param)
{
    return bt_pattern_create(m->store,
                             &(bt_pattern){ .kind = BT_PATTERN_VAR, .var = param });
}

/* match (list) { Cons(%head, %rest) => ..., Nil => ... } */
bt_status make_match(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *element, *list;
    const bt_value *data;
    const bt_param *params[2];
    const bt_pattern *fields[2];
    bt_clause clauses[2];
    BT_TRY(random_tensor_type(m, &element));
    list = bt_type_apply(m->store, m->list, 1, &element);
    if (!list)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, list, &data));
    BT_TRY(bt_build_param(m->builder, "head", element, &params[0]));
    BT_TRY(bt_build_param(m->builder, "rest", list, &params[1]));
    for (uint32_t i = 0; i < 2; i++) {
        if (!(fields[i] = var_pattern(m, params[i])))
            return bt_no_memory();
    }
    bt_pattern cons = {
        .kind = BT_PATTERN_CTOR, .ctor = m->list->ctors[0], .n = 2, .at = fields
    };
    bt_pattern nil = { .kind = BT_PATTERN_CTOR, .ctor = m->list->ctors[1] };
    if (below(m, 2))
        nil = (bt_pattern){ .kind = BT_PATTERN_WILDCARD };
    clauses[0].pattern = bt_pattern_create(m->store, &cons);
    clauses[1].pattern = bt_pattern_create(m->store, &nil);
    if (!clauses[0].pattern || !clauses[1].pattern)
        return bt_no_memory();
    BT_TRY(make_block(m, 2, params, type, &clauses[0].block));
    BT_TRY(make_block(m, 0, NULL, type, &clauses[1].block));
    return bt_build_match(m->builder, data, 2, clauses, NULL, out);
}
