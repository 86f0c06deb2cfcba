/* Drafts: making them, linking them into blocks, noting where graph nodes are used. */
#include "text/draft.h"

bt__draft *bt__draft_new(bt__parser *p, uint32_t kind, uint32_t offset)
{
    bt__module_draft *module = p->module;
    if (module->nserial >= bt_ctx_limits(p->ctx)->nodes) {
        bt__error(p, BT_ERR_LIMIT, offset, 1, "more than %u nodes (limits.nodes)",
                  (unsigned)bt_ctx_limits(p->ctx)->nodes);
        p->stop = 1;
        return NULL;
    }
    bt__draft *draft = BT_NEW(p->arena, bt__draft);
    if (!draft) {
        bt__error_memory(p);
        return NULL;
    }
    draft->kind = kind;
    draft->serial = module->nserial++;
    draft->place.offset = offset;
    draft->place.nbytes = p->end > offset ? p->end - offset : 1;
    return draft;
}

bt__draft *bt__draft_append(bt__parser *p, bt__draft *draft)
{
    bt__draft_block *block = p->module->block;
    uint32_t offset = draft->place.offset;
    draft->place.nbytes = p->end > offset ? p->end - offset : 1;
    draft->block = block;
    if (block->last)
        block->last->next = draft;
    else
        block->first = draft;
    block->last = draft;
    return draft;
}

int bt__draft_use(bt__parser *p, const bt__draft *used)
{
    bt__draft_group *group = used->block ? used->block->group : NULL;
    if (!group)
        return 1;
    bt__draft *use = bt__draft_new(p, BT__DRAFT_MARK, p->token.offset);
    return use && bt__draft_append(p, use) &&
           (BT_PUSH(p->arena, &group->uses, use) || bt__error_memory(p));
}

int bt__draft_operands(bt__parser *p, bt__draft *draft, uint32_t n,
                       bt__draft *const *operands)
{
    draft->operands = BT_NEWS(p->arena, bt__draft *, n);
    if (!draft->operands)
        return bt__error_memory(p);
    draft->noperand = n;
    for (uint32_t i = 0; i < n; i++)
        draft->operands[i] = operands[i];
    return 1;
}

bt__draft_block *bt__draft_block_new(bt__parser *p, bt__draft *parent)
{
    bt__draft_block *block = BT_NEW(p->arena, bt__draft_block);
    if (block)
        block->parent = parent;
    else
        bt__error_memory(p);
    return block;
}

int bt__draft_region(bt__parser *p, bt__draft *draft, bt__draft_block *block)
{
    return BT_PUSH(p->arena, &draft->regions, block) || bt__error_memory(p);
}

bt__draft *bt__draft_const(bt__parser *p, uint32_t offset, const bt_object *object)
{
    bt__draft *draft = bt__draft_new(p, BT_VALUE_CONST, offset);
    if (draft)
        draft->u.object = (bt_object *)(uintptr_t)object;
    return draft;
}

const bt_object *bt__draft_keep(bt__parser *p, bt_object *object)
{
    if (BT_PUSH(p->arena, &p->module->objects, object))
        return object;
    bt_object_unref(object);
    bt__error_memory(p);
    return NULL;
}
