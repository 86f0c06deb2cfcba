/* What is asked of a function before it is copied: its size, how deep it nests, whether it calls
 * itself, and what becomes of its parameters when it does. */
#include "partial/pe.h"

#include <string.h>

bt_status pe_size(struct pe *p, const bt_block *block, uint64_t *out)
{
    uintptr_t known = (uintptr_t)bt_map_find(&p->sizes, block);
    bt_blocks blocks = { 0 };
    if (!known) {
        BT_TRY(bt_block_nested(p->arena, block, &blocks));
        for (uint32_t i = 0; i < blocks.len; i++)
            known += blocks.at[i]->nbinding;
        if (!bt_map_put(&p->sizes, block, (void *)++known))
            return bt_no_memory();
    }
    *out = known - 1;
    return NULL;
}

/* ---- where values come from ---- */

/* What a value is of a parameter: the parameter, or something made of it. */
struct looking {
    struct pe *p;
    struct pe_facts *facts;
    const bt_func *func;
    const bt_global *global;         /* whose function it is, or NULL */
    const bt_closure_value *closure; /* likewise */
    bt_map origins;                  /* value -> 2 * (parameter + 1), + 1: made of it */
    bt_map depths;                   /* block -> its depth + 1 */
};

static bt_status from(struct looking *l, const bt_value *value, uint32_t param, int made)
{
    uintptr_t origin = 2 * ((uintptr_t)param + 1) + (made != 0);
    return bt_map_put(&l->origins, value, (void *)origin) ? NULL : bt_no_memory();
}

/* 0: of none. */
static int origin(const struct looking *l, const bt_value *value, uint32_t *param,
                  int *made)
{
    uintptr_t known = (uintptr_t)bt_map_find(&l->origins, value);
    *param = (uint32_t)(known / 2 - 1);
    *made = known & 1;
    return known != 0;
}

static bt_status vars_from(struct looking *l, const bt_pattern *pattern, uint32_t param,
                           int made)
{
    if (pattern->kind == BT_PATTERN_VAR)
        return from(l, &pattern->var->base, param, made);
    for (uint32_t i = 0; i < pattern->n; i++)
        BT_TRY(vars_from(l, pattern->at[i], param, 1));
    return NULL;
}

/* A match on a value tells of the parameter that it is, and its variables are parts of it. */
static bt_status look_at_data(struct looking *l, const bt_value *data,
                              const bt_pattern *pattern)
{
    const bt_tuple_value *tuple = bt_as_tuple(data);
    uint32_t param;
    int made;
    if (tuple && pattern->kind == BT_PATTERN_TUPLE) {
        for (uint32_t i = 0; i < tuple->nfield; i++)
            BT_TRY(look_at_data(l, tuple->fields[i], pattern->at[i]));
        return NULL;
    }
    if (!origin(l, data, &param, &made))
        return NULL;
    if (!made && pattern->kind == BT_PATTERN_CTOR)
        l->facts->params[param] |= PE_PARAM_DECIDES;
    return vars_from(l, pattern, param, made);
}

static int is_number(const bt_value *value, int64_t *out)
{
    const bt_tensor *tensor = bt_const_number(value);
    if (!tensor || bt_dtype_is_float(tensor->dtype))
        return 0;
    *out = bt_tensor_get_int(tensor, 0);
    return 1;
}

static bt_status add_bound(struct looking *l, const bt_value *value, const bt_value *with)
{
    struct pe_bound bound = { .other = UINT32_MAX };
    int made, other_made = 0;
    if (!origin(l, value, &bound.param, &made) || made)
        return NULL;
    if (!is_number(with, &bound.number) &&
        (!origin(l, with, &bound.other, &other_made) || other_made))
        return NULL;
    l->facts->params[bound.param] |= PE_PARAM_DECIDES;
    return BT_PUSH(l->p->arena, &l->facts->bounds, bound) ? NULL : bt_no_memory();
}

static bt_status look_at_op(struct looking *l, const bt_call *call)
{
    static const char *const comparisons[] = { "less",  "less_equal", "greater",
                                               "equal", "not_equal",  "greater_equal" };
    uint32_t param;
    int made;
    int64_t number;
    if (call->narg != 2)
        return NULL;
    for (uint32_t i = 0; i < BT_COUNT(comparisons); i++) {
        if (strcmp(call->op->name, comparisons[i]) != 0)
            continue;
        BT_TRY(add_bound(l, call->args[0], call->args[1]));
        return add_bound(l, call->args[1], call->args[0]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (origin(l, call->args[i], &param, &made) &&
            is_number(call->args[1 - i], &number))
            return from(l, &call->base, param, 1);
    }
    return NULL;
}

static void look_at_self_call(struct looking *l, const bt_call *call)
{
    uint32_t param;
    int made;
    l->facts->calls_itself = 1;
    for (uint32_t i = 0; i < call->narg && i < l->func->block->nparam; i++) {
        if (!origin(l, call->args[i], &param, &made) || param != i)
            l->facts->params[i] |= PE_PARAM_CHANGES;
        else if (made)
            l->facts->params[i] |= PE_PARAM_CHANGES | PE_PARAM_DESCENDS;
    }
}

static bt_status look_at(struct looking *l, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const bt_match *match = bt_as_match(value);
    const bt_proj *proj = bt_as_proj(value);
    uint32_t param;
    int made;
    l->facts->has_gain |= match || value->kind == BT_VALUE_CLOSURE ||
                          value->kind == BT_VALUE_REF ||
                          (call && call->callee_kind != BT_CALLEE_OP);
    if (l->closure) { // one that another of its group refers to may lead back to it
        const bt_closure_group *group = l->closure->group;
        for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
            for (uint32_t k = 0; k < group->n; k++)
                l->facts->is_recursive |=
                    bt_value_operand(value, i) == &group->at[k]->base;
        }
    }
    for (uint32_t i = 0; match && i < match->nclause; i++)
        BT_TRY(look_at_data(l, match->data, match->clauses[i]->pattern));
    if (bt_as_if(value) && origin(l, bt_as_if(value)->condition, &param, &made) && !made)
        l->facts->params[param] |= PE_PARAM_DECIDES;
    if (proj && origin(l, proj->tuple, &param, &made))
        BT_TRY(from(l, value, param, 1));
    if (call && call->callee_kind == BT_CALLEE_OP)
        return look_at_op(l, call);
    if (call && call->callee_kind == BT_CALLEE_VALUE &&
        ((l->global && bt_call_global(l->p->module, call) == l->global) ||
         (l->closure && call->callee == &l->closure->base)))
        look_at_self_call(l, call);
    return NULL;
}

static bt_status look_at_block(struct looking *l, const bt_block *block)
{
    const uintptr_t depth = (uintptr_t)bt_map_find(&l->depths, block);
    if (depth > l->facts->depth)
        l->facts->depth = (uint32_t)depth;
    if (l->closure)
        l->facts->is_recursive |= block->result == &l->closure->base;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        for (uint32_t r = 0; r < bt_value_nregion(value); r++) {
            if (!bt_map_put(&l->depths, bt_value_region(value, r), (void *)(depth + 1)))
                return bt_no_memory();
        }
        BT_TRY(look_at(l, value));
    }
    return NULL;
}

static bt_status look(struct pe *p, const bt_func *func, const bt_global *global,
                      const bt_closure_value *closure, struct pe_facts *facts)
{
    struct looking l = { p, facts, func, global, closure, { 0 }, { 0 } };
    const bt_block *block = func->block;
    bt_blocks blocks = { 0 };
    bt_map_init(&l.origins, p->arena, 0);
    bt_map_init(&l.depths, p->arena, 0);
    facts->params = BT_NEWS(p->arena, uint32_t, block->nparam);
    if (!facts->params)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(from(&l, &block->params[i]->base, i, 0));
    const uint32_t at = bt_module_position(p->module, global);
    if (at < p->module->nglobal)
        facts->is_recursive = p->graph->is_recursive[p->graph->component[at]];
    BT_TRY(pe_size(p, block, &facts->size));
    BT_TRY(bt_block_nested(p->arena, block, &blocks));
    for (uint32_t i = 0; i < blocks.len; i++)
        BT_TRY(look_at_block(&l, blocks.at[i]));
    facts->is_recursive |= facts->calls_itself;
    return NULL;
}

bt_status pe_facts_of(struct pe *p, const bt_func *func, const bt_global *global,
                      const bt_closure_value *closure, const struct pe_facts **out)
{
    struct pe_facts *facts = bt_map_find(&p->facts, func);
    if (!facts) {
        facts = BT_NEW(p->arena, struct pe_facts);
        if (!facts || !bt_map_put(&p->facts, func, facts))
            return bt_no_memory();
        BT_TRY(look(p, func, global, closure, facts));
    }
    *out = facts;
    return NULL;
}
