/* What is flat, as pass verify-flat wants it, and what lowers and encodes programs. */
#include <baton/ir.h>

const bt_call *bt_closure_flat_call(const bt_closure_value *closure)
{
    const bt_block *block = closure->func->block;
    const bt_call *call = block->nbinding == 1 ? bt_as_call(block->bindings[0]) : NULL;
    if (!call || block->result != &call->base || closure->group->n != 1 || call->ncheck ||
        call->callee_kind != BT_CALLEE_VALUE || call->callee->kind != BT_VALUE_GLOBAL ||
        call->narg < block->nparam)
        return NULL;
    uint32_t ncapture = call->narg - block->nparam;
    for (uint32_t i = 0; i < call->narg; i++) {
        const bt_value *arg = call->args[i];
        if (i >= ncapture ? arg != &block->params[i - ncapture]->base
                          : arg == &closure->base)
            return NULL;
        for (uint32_t k = 0; i < ncapture && k < block->nparam; k++) {
            if (arg == &block->params[k]->base)
                return NULL;
        }
    }
    return call;
}

int bt_match_is_flat(const bt_match *match)
{
    const bt_type *type = match->data->type;
    if (!type || !bt_as_apply_type(type))
        return 0;
    for (uint32_t i = 0; i < match->nclause; i++) {
        const bt_pattern *pattern = match->clauses[i]->pattern;
        if (bt_pattern_is_leaf(pattern))
            return i && i + 1 == match->nclause;
        for (uint32_t k = 0; k < pattern->n; k++) {
            if (!bt_pattern_is_leaf(pattern->at[k]))
                return 0;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (match->clauses[k]->pattern->ctor == pattern->ctor)
                return 0;
        }
    }
    return 1;
}
