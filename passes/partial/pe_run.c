/* The machine: goes through bindings in order of evaluation. Blocks of functions that are
 * unfolded, and of branches whose way is known, are places on a stack, so that recursion of any
 * depth costs no stack of C. */
#include "partial/pe.h"

bt_status pe_activation_create(struct pe *p, const bt_func *func,
                               struct pe_activation *outer, struct pe_value *const *args,
                               struct pe_activation **out)
{
    struct pe_activation *a = *out = BT_NEW(p->arena, struct pe_activation);
    if (!a)
        return bt_no_memory();
    a->func = func;
    a->outer = outer;
    a->args = args;
    a->previous = bt_map_find(&p->active, func);
    a->nest = a->previous ? a->previous->nest + 1 : 0;
    a->types.outer = outer ? &outer->types : NULL;
    bt_map_init(&a->values, p->arena, 0);
    bt_map_init(&a->types.map, p->arena, 0);
    return bt_map_put(&p->active, func, a) ? NULL : bt_no_memory();
}

bt_status pe_activation_end(struct pe *p, const struct pe_activation *a)
{
    return bt_map_put(&p->active, a->func, a->previous) ? NULL : bt_no_memory();
}

void pe_give_back(struct pe *p, uint64_t nbinding)
{
    p->reserved -= nbinding < p->reserved ? nbinding : p->reserved;
}

bt_status pe_deliver(struct pe *p, struct pe_activation *at, const bt_value *old,
                     struct pe_value *value)
{
    BT_TRY(pe_type_bind(p, &at->types, old->type, value->type));
    return pe_put(at, old, value);
}

bt_status pe_enter(struct pe *p, const struct pe_step *step)
{
    return BT_PUSH(p->arena, &p->steps, *step) ? NULL : bt_no_memory();
}

/* ---- bindings ---- */

static bt_status run_tuple(struct pe *p, struct pe_activation *at,
                           const bt_tuple_value *tuple)
{
    struct pe_value **fields = BT_NEWS(p->arena, struct pe_value *, tuple->nfield),
                    *value;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++)
        BT_TRY(pe_get(p, at, tuple->fields[i], &fields[i]));
    BT_TRY(pe_tuple(p, &tuple->base, tuple->nfield, fields, &value));
    return pe_deliver(p, at, &tuple->base, value);
}

static bt_status run_proj(struct pe *p, struct pe_activation *at, const bt_proj *proj)
{
    struct pe_value *tuple, *value;
    BT_TRY(pe_get(p, at, proj->tuple, &tuple));
    BT_TRY(pe_field(p, &proj->base, tuple, proj->index, &value));
    p->ngain += tuple->kind == PE_TUPLE && !tuple->operand;
    if (!value->operand && !value->like)
        value->like = &proj->base;
    return pe_deliver(p, at, &proj->base, value);
}

static bt_status run_binding(struct pe *p, struct pe_activation *at, const bt_value *old)
{
    const bt_call *call = bt_as_call(old);
    const bt_closure_value *closure = bt_as_closure(old);
    p->at = at->func;
    p->work++;
    switch (old->kind) {
    case BT_VALUE_CALL:
        return call->callee_kind == BT_CALLEE_VALUE ? pe_run_call(p, at, call)
                                                    : pe_run_op(p, at, call);
    case BT_VALUE_CLOSURE:
        return closure->group->at[0] == closure ? pe_run_closures(p, at, closure->group)
                                                : NULL;
    case BT_VALUE_TUPLE: return run_tuple(p, at, bt_as_tuple(old));
    case BT_VALUE_PROJ: return run_proj(p, at, bt_as_proj(old));
    case BT_VALUE_IF: return pe_run_if(p, at, bt_as_if(old));
    case BT_VALUE_MATCH: return pe_run_match(p, at, bt_as_match(old));
    case BT_VALUE_REF:
    case BT_VALUE_READ:
    case BT_VALUE_WRITE: return pe_run_cell(p, at, old);
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_COUNT: break;
    }
    return NULL;
}

bt_status pe_run(struct pe *p, struct pe_activation *at, const bt_block *block,
                 struct pe_value **out)
{
    const struct pe_step first = { .block = block, .at = at };
    BT_TRY(pe_enter(p, &first));
    for (;;) {
        struct pe_step *top = &p->steps.at[p->steps.len - 1];
        if (top->next < top->block->nbinding) {
            BT_TRY(run_binding(p, top->at, top->block->bindings[top->next++]));
            continue;
        }
        const struct pe_step done = *top;
        struct pe_value *value;
        BT_TRY(pe_get(p, done.at, done.block->result, &value));
        p->steps.len--;
        if (done.is_call)
            BT_TRY(pe_activation_end(p, done.at));
        if (!done.target) {
            *out = value;
            return NULL;
        }
        p->at = done.to->func;
        BT_TRY(pe_deliver(p, done.to, done.target, value));
    }
}
