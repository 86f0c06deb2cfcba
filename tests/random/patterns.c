/* Matches whose patterns nest, overlap, and take tuples apart. */
#include "maker.h"

/* Variables of the clause at hand. */
struct vars {
    uint32_t n;
    const bt_param *at[16];
};

static bt_status make_pattern(struct maker *m, const bt_type *type, uint32_t depth,
                              struct vars *vars, const bt_pattern **out)
{
    const bt_list_type *list = bt_as_list_type(type);
    const bt_pattern *fields[3];
    bt_pattern pattern = { .kind = BT_PATTERN_WILDCARD, .at = fields };
    int is_tuple = type->kind == BT_TYPE_TUPLE, is_list = type->kind == BT_TYPE_APPLY;
    if ((is_tuple || is_list) && depth && below(m, 4)) {
        pattern.ctor = is_list ? m->list->ctors[below(m, 3) == 0] : NULL;
        pattern.kind = is_list ? BT_PATTERN_CTOR : BT_PATTERN_TUPLE;
        pattern.n = is_list ? pattern.ctor->nfield : list->n;
        for (uint32_t i = 0; i < pattern.n; i++) {
            const bt_type *field = is_tuple ? list->at[i] : i ? type : list->at[1];
            BT_TRY(make_pattern(m, field, depth - 1, vars, &fields[i]));
        }
    } else if (vars->n < BT_COUNT(vars->at) && below(m, 2)) {
        BT_TRY(bt_build_param(m->builder, "v", type, &vars->at[vars->n]));
        pattern.kind = BT_PATTERN_VAR;
        pattern.var = vars->at[vars->n++];
    }
    *out = bt_pattern_create(m->store, &pattern);
    return *out ? NULL : bt_no_memory();
}

/* Two lists, one of them in a tuple with what it holds. */
static bt_status data_type(struct maker *m, const bt_type **out)
{
    const bt_type *element, *list, *fields[2];
    BT_TRY(random_tensor_type(m, &element));
    list = bt_type_apply(m->store, m->list, 1, &element);
    if (!list)
        return bt_store_why(m->ctx, m->store);
    fields[0] = list;
    fields[1] = below(m, 2) ? list : element;
    *out = below(m, 2) ? list : bt_type_tuple(m->store, 2, fields);
    if (*out && below(m, 3) == 0) {
        fields[1] = *out;
        *out = bt_type_tuple(m->store, 2, fields);
    }
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

/* match (data) { patterns => ..., _ => ... } */
bt_status make_nested_match(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *data_is;
    const bt_value *data;
    bt_clause clauses[5];
    uint32_t n = 2 + below(m, 4);
    BT_TRY(data_type(m, &data_is));
    BT_TRY(make(m, data_is, &data));
    for (uint32_t i = 0; i < n; i++) {
        struct vars vars = { 0 };
        uint32_t depth = i + 1 < n ? 3 : 0;
        BT_TRY(make_pattern(m, data_is, depth, &vars, &clauses[i].pattern));
        BT_TRY(make_block(m, vars.n, vars.at, type, &clauses[i].block));
    }
    return bt_build_match(m->builder, data, n, clauses, NULL, out);
}
