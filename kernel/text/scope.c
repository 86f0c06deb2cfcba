/* Names of the definition that is parsed: locals, numbered locals, type variables, shared
 * dims. A name's slot stays; its value comes and goes. */
#include "text/parse.h"

struct bt__slot {
    void *value;
    uint32_t epoch; /* of the definition that set it */
};

void bt__scoped_init(bt__parser *p)
{
    for (uint32_t i = 0; i < BT__NSPACE; i++)
        bt_map_init(&p->names[i], p->arena, !p->store);
    p->epoch = 1;
}

void *bt__scoped_find(bt__parser *p, uint32_t space, const char *name)
{
    const struct bt__slot *slot = bt_map_find(&p->names[space], name);
    return slot && slot->epoch == p->epoch ? slot->value : NULL;
}

static struct bt__slot *slot_of(bt__parser *p, uint32_t space, const char *name)
{
    struct bt__slot *slot = bt_map_find(&p->names[space], name);
    if (slot)
        return slot;
    slot = BT_NEW(p->arena, struct bt__slot);
    if (slot && bt_map_put(&p->names[space], name, slot))
        return slot;
    bt__error_memory(p);
    return NULL;
}

int bt__scoped_set_all(bt__parser *p, uint32_t space, const char *name, void *value)
{
    struct bt__slot *slot = slot_of(p, space, name);
    if (!slot)
        return 0;
    *slot = (struct bt__slot){ value, p->epoch };
    return 1;
}

int bt__scoped_set(bt__parser *p, uint32_t space, const char *name, void *value)
{
    struct bt__slot *slot = slot_of(p, space, name);
    if (!slot)
        return 0;
    struct bt__undo before = { slot, slot->value, slot->epoch };
    if (!BT_PUSH(p->arena, &p->undo, before))
        return bt__error_memory(p);
    *slot = (struct bt__slot){ value, p->epoch };
    return 1;
}

uint32_t bt__scoped_mark(const bt__parser *p)
{
    return p->undo.len;
}

void bt__scoped_release(bt__parser *p, uint32_t mark)
{
    while (p->undo.len > mark) {
        const struct bt__undo *before = &p->undo.at[--p->undo.len];
        *before->slot = (struct bt__slot){ before->value, before->epoch };
    }
}

void bt__scoped_clear(bt__parser *p)
{
    p->undo.len = 0;
    p->epoch++;
}
