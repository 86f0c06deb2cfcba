#include "analysis/nesting.h"

#include "analysis/uses.h"

enum { MAX_NESTED = 6 /* in one expression: more is no longer read at a glance */ };

struct nester {
    bt_arena *arena;
    const struct uses *uses;
    bt_map *nested;
    bt_map sizes;                     /* binding -> how many are nested in it */
    bt_vec(const bt_value *) waiting; /* bindings that may be nested in the next */
};

static uintptr_t size_of(const struct nester *n, const bt_value *value)
{
    return (uintptr_t)bt_map_find(&n->sizes, value);
}

/* Used once, and all of its type follows from what is written. */
static int may_be_nested(const struct nester *n, const bt_block *block,
                         const bt_value *value)
{
    const struct use *use = uses_of(n->uses, value);
    const bt_call *call = bt_as_call(value);
    if (!use || use->next || value->device || bt_type_layout(value->type) ||
        value->type->has & BT_HAS_OPAQUE || (call && (call->ncheck || call->contents)))
        return 0;
    if (value == block->result)
        return value->kind != BT_VALUE_CLOSURE && value->kind != BT_VALUE_PROJ;
    return (call || value->kind == BT_VALUE_TUPLE) && size_of(n, value) < MAX_NESTED;
}

/* Operands that stand last and in order are evaluated last and in order. A callee and a
 * tuple of which a field is taken stand by their names. */
static bt_status nest_operands(struct nester *n, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    uint32_t first = call && call->callee_kind == BT_CALLEE_VALUE;
    uintptr_t size = 0;
    if (value->kind == BT_VALUE_PROJ || value->kind == BT_VALUE_CLOSURE)
        return NULL;
    for (uint32_t i = bt_value_noperand(value); i-- > first && n->waiting.len;) {
        const bt_value *operand = bt_value_operand(value, i);
        if (operand != n->waiting.at[n->waiting.len - 1])
            continue;
        n->waiting.len--;
        size += 1 + size_of(n, operand);
        if (!bt_map_put(n->nested, operand, n))
            return bt_no_memory();
    }
    return bt_map_put(&n->sizes, value, (void *)size) ? NULL : bt_no_memory();
}

/* Regions nest no deeper than the verifier lets them. */
static bt_status nest_block(struct nester *n, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        BT_TRY(nest_operands(n, value));
        uint32_t nregion = bt_value_nregion(value);
        for (uint32_t k = 0; k < nregion; k++) {
            n->waiting.len = 0;
            BT_TRY(nest_block(n, bt_value_region(value, k)));
        }
        int is_last = i + 1 == block->nbinding;
        if (!may_be_nested(n, block, value) || (value == block->result && !is_last))
            n->waiting.len = 0;
        else if (value == block->result) {
            n->waiting.len = 0;
            if (!bt_map_put(n->nested, value, n))
                return bt_no_memory();
        } else if (!BT_PUSH(n->arena, &n->waiting, value))
            return bt_no_memory();
    }
    n->waiting.len = 0;
    return NULL;
}

bt_status nesting_compute(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                          const void **out)
{
    bt_map *nested = BT_NEW(arena, bt_map);
    const void *uses;
    if (!nested)
        return bt_no_memory();
    BT_TRY(uses_compute(ctx, module, arena, &uses));
    struct nester n = { .arena = arena, .uses = uses, .nested = nested };
    bt_map_init(nested, arena, 0);
    bt_map_init(&n.sizes, arena, 0);
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(nest_block(&n, module->globals[i]->func->block));
    }
    *out = nested;
    return NULL;
}

bt_status nesting_print(bt_ctx *ctx, const bt_module *module, const void *nested,
                        bt_text *text)
{
    const bt_print_options options = { .nested = nested };
    return bt_print(ctx, module, &options, text);
}
