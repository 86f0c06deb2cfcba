/* References: cells that are not made as long as what they hold is known. */
#include "partial/pe_pieces.h"

int pe_is_valid(const struct pe_store *store, const struct pe_content *c)
{
    return c->value && (!c->escaped || c->epoch == store->epoch);
}

void pe_forget(struct pe *p)
{
    p->store_now.epoch = ++p->nepoch;
}

static bt_status set(struct pe *p, const struct pe_value *cell, struct pe_value *value,
                     int escaped)
{
    const struct pe_content content = { value, p->store_now.epoch, escaped != 0 };
    return pe_store_set(p, &p->store_now, cell->cell, &content);
}

/* ---- bindings ---- */

static bt_status run_ref(struct pe *p, struct pe_activation *at, const bt_ref_value *old)
{
    struct pe_value *content, *cell;
    const bt_value *operand, *now;
    const bt_type *type;
    BT_TRY(pe_get(p, at, old->content, &content));
    BT_TRY(pe_type(p, &at->types, old->base.type, &type));
    if (bt_as_ref_type(type)->at[0] != content->type) {
        BT_TRY(pe_operand(p, content, &operand));
        pe_like(p, &old->base);
        BT_TRY(bt_build_ref(p->maker, operand, &now));
        BT_TRY(pe_emit(p, now));
        BT_TRY(pe_dynamic(p, now, &cell));
        return pe_deliver(p, at, &old->base, cell);
    }
    BT_TRY(pe_cell(p, &old->base, type, content, &cell));
    BT_TRY(set(p, cell, content, 0));
    return pe_deliver(p, at, &old->base, cell);
}

static bt_status run_read(struct pe *p, struct pe_activation *at, const bt_read *old)
{
    struct pe_value *cell, *value;
    const bt_value *operand, *now;
    BT_TRY(pe_get(p, at, old->ref, &cell));
    const struct pe_content *c =
        cell->kind == PE_CELL ? pe_store_get(&p->store_now, cell->cell) : NULL;
    if (c && pe_is_valid(&p->store_now, c)) {
        p->ngain++;
        return pe_deliver(p, at, &old->base, c->value);
    }
    BT_TRY(pe_operand(p, cell, &operand));
    pe_like(p, &old->base);
    BT_TRY(bt_build_read(p->maker, operand, &now));
    BT_TRY(pe_emit(p, now));
    BT_TRY(pe_dynamic(p, now, &value));
    if (c)
        BT_TRY(set(p, cell, value, 1));
    return pe_deliver(p, at, &old->base, value);
}

static bt_status run_write(struct pe *p, struct pe_activation *at, const bt_write *old)
{
    struct pe_value *cell, *content, *value;
    const bt_value *operands[2], *now;
    BT_TRY(pe_get(p, at, old->ref, &cell));
    BT_TRY(pe_get(p, at, old->content, &content));
    const struct pe_content *c =
        cell->kind == PE_CELL ? pe_store_get(&p->store_now, cell->cell) : NULL;
    if (c && !c->escaped && bt_as_ref_type(cell->type)->at[0] == content->type) {
        p->ngain++;
        BT_TRY(set(p, cell, content, 0));
        BT_TRY(pe_tuple(p, &old->base, 0, NULL, &value));
        return pe_deliver(p, at, &old->base, value);
    }
    BT_TRY(pe_operand(p, cell, &operands[0]));
    BT_TRY(pe_operand(p, content, &operands[1]));
    pe_like(p, &old->base);
    BT_TRY(bt_build_write(p->maker, operands[0], operands[1], &now));
    BT_TRY(pe_emit(p, now));
    if (c) // what it is written to may be known by another name, too
        pe_forget(p);
    if (c && bt_as_ref_type(cell->type)->at[0] == content->type)
        BT_TRY(set(p, cell, content, 1));
    if (!c)
        pe_forget(p);
    BT_TRY(pe_dynamic(p, now, &value));
    return pe_deliver(p, at, &old->base, value);
}

bt_status pe_run_cell(struct pe *p, struct pe_activation *at, const bt_value *old)
{
    if (old->kind == BT_VALUE_REF)
        return run_ref(p, at, bt_as_ref(old));
    return old->kind == BT_VALUE_READ ? run_read(p, at, bt_as_read(old))
                                      : run_write(p, at, bt_as_write(old));
}

/* ---- cells that something else reaches ---- */

typedef bt_vec(struct pe_value *) values;

/* What a cell holds is written where it is made; but that it holds first is there then. */
static bt_status escape(struct pe *p, struct pe_value *cell, values *stack)
{
    const struct pe_content *c = pe_store_get(&p->store_now, cell->cell);
    if (!c || c->escaped)
        return NULL;
    const struct pe_write write = { cell, c->value };
    p->nescaped++;
    BT_TRY(set(p, cell, c->value, 1));
    return BT_PUSH(p->arena, stack, cell->first) &&
                   BT_PUSH(p->arena, stack, write.value) &&
                   (write.value == cell->first || BT_PUSH(p->arena, &p->writes, write))
               ? NULL
               : bt_no_memory();
}

static bt_status add_held(struct pe *p, const struct pe_value *closure, values *stack)
{
    pe_held held = { 0 };
    struct pe_value *value;
    BT_TRY(pe_find_held(p, closure->group->source, &held));
    for (uint32_t i = 0; i < held.len; i++) {
        BT_TRY(pe_get(p, closure->group->around, held.at[i], &value));
        if (value->has_cells && !BT_PUSH(p->arena, stack, value))
            return bt_no_memory();
    }
    return NULL;
}

bt_status pe_escape_from(struct pe *p, struct pe_value *from)
{
    values stack = { 0 };
    bt_map seen;
    bt_map_init(&seen, p->arena, 0);
    if (!BT_PUSH(p->arena, &stack, from))
        return bt_no_memory();
    while (stack.len) {
        struct pe_value *v = stack.at[--stack.len];
        if (!v->has_cells || bt_map_find(&seen, v))
            continue;
        p->work++;
        if (!bt_map_put(&seen, v, p))
            return bt_no_memory();
        if (v->kind == PE_CELL)
            BT_TRY(escape(p, v, &stack));
        if (v->kind == PE_CLOSURE)
            BT_TRY(add_held(p, v, &stack));
        for (uint32_t i = 0; i < v->n; i++) {
            if (!BT_PUSH(p->arena, &stack, v->fields[i]))
                return bt_no_memory();
        }
    }
    return NULL;
}
