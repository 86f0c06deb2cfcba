/* Which expression is made next, and what is in scope for it. */
#include "maker.h"

bt_status enter_scope(struct maker *m, const bt_value *value)
{
    return BT_PUSH(m->arena, &m->scope, value) ? NULL : bt_no_memory();
}

bt_status call_op(struct maker *m, const char *op, const char *attrs, const bt_value *x,
                  const bt_value *y, const bt_value **out)
{
    const bt_value *args[2] = { x, y };
    return bt_build(m->builder, op, attrs, args, y ? 2 : 1, out);
}

/* A value of that type bound before, the more likely the later; NULL: none. */
static const bt_value *pick_old(struct maker *m, const bt_type *type)
{
    const bt_value *found = NULL;
    for (uint32_t i = m->scope.len; i-- > 0;) {
        if (m->scope.at[i]->type != type)
            continue;
        found = m->scope.at[i];
        if (below(m, 3))
            break;
    }
    return found;
}

static make_fn *const any_type[] = {
    make_proj,        make_if,    make_ref,          make_closure_call, make_loop,
    make_global_call, make_match, make_nested_match, make_group,        make_generic
};
static make_fn *const tensors[] = {
    make_unary,     make_unary, make_binary, make_binary,   make_binary,   make_cast,
    make_where,     make_moved, make_const,  make_identity, make_identity, make_dead,
    make_duplicate, make_layer, make_layer,  make_norm,     make_sequence, make_found,
};

static bt_status make_tuple(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_value *fields[3];
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(make(m, tuple->at[i], &fields[i]));
    return bt_build_tuple(m->builder, tuple->n, fields, out);
}

static bt_status make_plain(struct maker *m, const bt_type *type, const bt_value **out)
{
    if (type->kind == BT_TYPE_TUPLE)
        return make_tuple(m, type, out);
    if (type->kind == BT_TYPE_FUNC)
        return make_closure(m, type, out);
    return type->kind == BT_TYPE_APPLY ? make_list(m, type, out)
                                       : make_const(m, type, out);
}

bt_status make(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_value *old = pick_old(m, type);
    int is_tired = m->budget == 0 || m->depth == 0;
    if (old && (is_tired || below(m, 3) == 0)) {
        *out = old;
        return NULL;
    }
    m->budget -= m->budget != 0;
    m->depth -= !is_tired;
    make_fn *pick = make_plain;
    if (!is_tired && below(m, 3) == 0)
        pick = m->is_chain ? make_proj : any_type[below(m, BT_COUNT(any_type))];
    else if (!is_tired && type->kind == BT_TYPE_TENSOR)
        pick = tensors[below(m, BT_COUNT(tensors))];
    BT_TRY(pick(m, type, out));
    m->depth += !is_tired;
    return bt_value_is_binding(*out) ? enter_scope(m, *out) : NULL;
}
