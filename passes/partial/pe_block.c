/* Blocks of what is left to be run. Bindings are made by one builder, outside of any block, and
 * stand in a list until their block ends: so a value that was known, and turns out to be needed
 * in a nested block, is made where it was, in the block around. */
#include "partial/pe.h"

bt_status pe_block_create(struct pe *p, struct pe_block *outer, struct pe_block **out)
{
    *out = BT_NEW(p->arena, struct pe_block);
    if (!*out)
        return bt_no_memory();
    (*out)->outer = outer;
    (*out)->depth = outer ? outer->depth + 1 : 0;
    return NULL;
}

bt_status pe_emit_into(struct pe *p, struct pe_block *block, const bt_value *binding)
{
    return BT_PUSH(p->arena, &block->bindings, binding) ? NULL : bt_no_memory();
}

bt_status pe_emit(struct pe *p, const bt_value *binding)
{
    return pe_emit_into(p, p->block, binding);
}

/* A binding that is there already, as it is. */
static bt_status place(struct pe *p, const bt_value *binding)
{
    const uint32_t noperand = bt_value_noperand(binding);
    const uint32_t nregion = bt_value_nregion(binding);
    const bt_value **operands = BT_NEWS(p->arena, const bt_value *, noperand), *same;
    const bt_block **regions = BT_NEWS(p->arena, const bt_block *, nregion);
    if (!operands || !regions)
        return bt_no_memory();
    for (uint32_t i = 0; i < noperand; i++)
        operands[i] = bt_value_operand(binding, i);
    for (uint32_t i = 0; i < nregion; i++)
        regions[i] = bt_value_region(binding, i);
    return bt_build_again(p->assembler, binding, operands, regions, binding->type, &same);
}

bt_status pe_block_end(struct pe *p, const struct pe_block *block, uint32_t nparam,
                       const bt_param *const *params, const bt_value *result,
                       const bt_block **out)
{
    BT_TRY(bt_block_begin(p->assembler, nparam, params));
    for (uint32_t i = 0; i < block->bindings.len; i++)
        BT_TRY(place(p, block->bindings.at[i]));
    return bt_block_end(p->assembler, result, out);
}
