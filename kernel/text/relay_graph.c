/*
 * Where Relay's graph nodes stand.
 *
 * `%0 = e;` names a node of a graph, wherever it is written: TVM's printer puts the line
 * where a node was first met, and uses may follow in blocks further out. A node goes to
 * the innermost block that encloses all its uses, where the first of them is read: what
 * it does (a write to a reference) happens there. One without uses stays where it was
 * written.
 *
 *     if (%c) { %0 = f(%x); g(%0) } else { h(%0) }
 *  -> %0 = f(%x); if (%c) { g(%0) } else { h(%0) }
 *
 * Nodes are visited from the last to the first, so that the users of each have their
 * block already. Then each block is put in order: what a binding needs comes before it.
 */
#include "text/draft.h"

/* The block in which a binding of this list will stand. */
static bt__draft_block *home_of(bt__draft_block *block)
{
    return block->group ? block->group->home : block;
}

/* The block around the binding whose region this is; NULL at the definition's. */
static bt__draft_block *outer_of(const bt__draft_block *block)
{
    return block->parent ? home_of(block->parent->block) : NULL;
}

static uint32_t depth_of(const bt__draft_block *block)
{
    uint32_t depth = 0;
    while ((block = outer_of(block)))
        depth++;
    return depth;
}

static bt__draft_block *common_block(bt__draft_block *a, bt__draft_block *b)
{
    uint32_t da = depth_of(a), db = depth_of(b);
    for (; da > db; da--)
        a = outer_of(a);
    for (; db > da; db--)
        b = outer_of(b);
    while (a != b) {
        a = outer_of(a);
        b = outer_of(b);
    }
    return a;
}

/* Whether the node's own bindings hold the use: { let %a = f(%x); if (%c) { %a } ... } */
static int is_inside(const bt__draft_group *group, const bt__draft *use)
{
    const bt__draft_block *block = use->block;
    while (block != &group->list && block->parent)
        block = block->parent->block;
    return block == &group->list;
}

static void find_home(bt__draft_group *group)
{
    bt__draft_block *home = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < group->uses.len; i++) {
        if (!is_inside(group, group->uses.at[i]))
            group->uses.at[n++] = group->uses.at[i];
    }
    group->uses.len = n;
    for (uint32_t i = 0; i < n; i++) {
        bt__draft_block *block = home_of(group->uses.at[i]->block);
        home = home ? common_block(home, block) : block;
    }
    group->home = home ? home : home_of(group->mark->block);
}

/* Notes what needs the node in its block: the mark of the use, or the binding in whose
 * regions that is. */
static int note_need(bt__parser *p, bt__draft_group *group, bt__draft *use)
{
    while (home_of(use->block) != group->home)
        use = home_of(use->block)->parent;
    return BT_PUSH(p->arena, &use->needs, group) || bt__error_memory(p);
}

/* ---- order ---- */

/* A list of bindings that is being copied, and the needs of its current one. */
struct frame {
    bt__draft *at;
    uint32_t need;
};
typedef bt_vec(struct frame) frames;

typedef struct order {
    bt__parser *p;
    bt__draft_block *block;
    bt__draft *last; /* of the new list */
    frames stack;
} order;

static void append(order *o, bt__draft *draft)
{
    draft->block = o->block;
    draft->next = NULL;
    if (o->last)
        o->last->next = draft;
    else
        o->block->first = draft;
    o->last = draft;
}

static int enter_list(order *o, bt__draft *first)
{
    struct frame frame = { first, 0 };
    return !first || BT_PUSH(o->p->arena, &o->stack, frame) || bt__error_memory(o->p);
}

static int enter_group(order *o, bt__draft_group *group)
{
    if (group->is_placed)
        return 1;
    group->is_placed = 1;
    return enter_list(o, group->list.first);
}

/* Needs are noted from the last node to the first: they are served backwards. */
static int step(order *o)
{
    struct frame *top = &o->stack.at[o->stack.len - 1];
    bt__draft *draft = top->at;
    if (top->need < draft->needs.len) {
        uint32_t next = draft->needs.len - 1 - top->need++;
        return enter_group(o, draft->needs.at[next]);
    }
    top->need = 0;
    top->at = draft->next;
    if (!top->at)
        o->stack.len--;
    if (draft->kind != BT__DRAFT_MARK)
        append(o, draft);
    else if (draft->u.group && draft->u.group->uses.len == 0)
        return enter_group(o, draft->u.group);
    return 1;
}

static int drain(order *o)
{
    while (o->stack.len) {
        if (!step(o))
            return 0;
    }
    return 1;
}

static int order_block(bt__parser *p, bt__draft_block *block)
{
    order o = { .p = p, .block = block };
    bt__draft *first = block->first;
    block->first = NULL;
    if (!enter_list(&o, first) || !drain(&o))
        return 0;
    block->last = o.last;
    return 1;
}

/* This block, then those of its bindings, without recursion. */
static int order_all(bt__parser *p, bt__draft_block *block)
{
    bt_vec(bt__draft_block *) todo = { 0 };
    if (!BT_PUSH(p->arena, &todo, block))
        return bt__error_memory(p);
    while (todo.len) {
        block = todo.at[--todo.len];
        if (!order_block(p, block))
            return 0;
        for (bt__draft *draft = block->first; draft; draft = draft->next) {
            for (uint32_t i = 0; i < draft->regions.len; i++)
                if (!BT_PUSH(p->arena, &todo, draft->regions.at[i]))
                    return bt__error_memory(p);
        }
    }
    return 1;
}

int bt__place_groups(bt__parser *p, bt__draft_block *block)
{
    bt__module_draft *module = p->module;
    if (module->groups.len == 0)
        return 1;
    for (uint32_t i = module->groups.len; i-- > 0;)
        find_home(module->groups.at[i]);
    for (uint32_t i = module->groups.len; i-- > 0;) {
        bt__draft_group *group = module->groups.at[i];
        for (uint32_t j = 0; j < group->uses.len; j++) {
            if (!note_need(p, group, group->uses.at[j]))
                return 0;
        }
    }
    module->groups.len = 0;
    return order_all(p, block);
}
