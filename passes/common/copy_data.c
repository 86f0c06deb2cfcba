/* Copies of constructors and matches of data that is of another type now, which has the same
 * constructors with other fields. */
#include "common/copy.h"

bt_status copy_ctor(struct copy *c, const bt_call *old, const bt_value **out)
{
    const bt_value **operands;
    const bt_type *type;
    bt_call call = *old;
    int same_facts;
    BT_TRY(copy_type(c, old->base.type, &type));
    BT_TRY(copy_operands(c, &old->base, &operands, &same_facts));
    const bt_list_type *apply = bt_as_apply_type(type);
    call.ctor =
        ((const bt_adt_type *)(const void *)apply->at[0])->def->ctors[old->ctor->tag];
    call.args = operands;
    call.ntype_arg = apply->n - 1;
    call.type_args = apply->at + 1;
    return copy_call(c, old, &call, same_facts, out);
}

/* A pattern of a value of another type; its variables are the parameters of a block. */
static bt_status pattern_of(struct copy *c, const bt_pattern *old, const bt_type *type,
                            const bt_block *block, uint32_t *next, const bt_pattern **out)
{
    const bt_pattern **at = BT_NEWS(c->arena, const bt_pattern *, old->n);
    const bt_list_type *list = bt_as_list_type(type);
    bt_pattern now = *old;
    if (!at)
        return bt_no_memory();
    if (old->kind == BT_PATTERN_VAR)
        now.var = block->params[(*next)++];
    if (old->kind == BT_PATTERN_CTOR)
        now.ctor =
            ((const bt_adt_type *)(const void *)list->at[0])->def->ctors[old->ctor->tag];
    for (uint32_t i = 0; i < old->n; i++) {
        const bt_type *field = list->at[i];
        if (old->kind == BT_PATTERN_CTOR &&
            !(field = bt_ctor_field_type(c->store, now.ctor, i, list->at + 1)))
            return bt_store_why(c->ctx, c->store);
        BT_TRY(pattern_of(c, old->at[i], field, block, next, &at[i]));
    }
    now.at = at;
    *out = bt_pattern_create(c->store, &now);
    return *out ? NULL : bt_no_memory();
}

bt_status copy_match(struct copy *c, const bt_match *old, const bt_value **out)
{
    bt_clause *clauses = BT_NEWS(c->arena, bt_clause, old->nclause);
    const bt_value *data;
    const bt_type *type;
    if (!clauses)
        return bt_no_memory();
    BT_TRY(copy_operand(c, old->data, NULL, &data));
    for (uint32_t i = 0; i < old->nclause; i++) {
        const bt_clause *clause = old->clauses[i];
        uint32_t next = 0;
        BT_TRY(copy_block(c, clause->block, old->base.type, &clauses[i].block));
        BT_TRY(pattern_of(c, clause->pattern, data->type, clauses[i].block, &next,
                          &clauses[i].pattern));
    }
    BT_TRY(copy_type(c, old->base.type, &type));
    bt_builder_like(c->b, &old->base);
    bt_builder_type(c->b, type);
    return bt_build_match(c->b, data, old->nclause, clauses, old->otherwise, out);
}
