/*
 * What cells hold, by their number: a tree of which versions share what did not change, so that the
 * ways of a branch begin with the same one and copy nothing. A cell that nothing outside of the
 * evaluation can reach is not made; one that can is written through, and what it holds is known
 * until something unknown may have written to it: the epoch is another one then.
 */
#include "partial/pe.h"

enum { BITS = 3, FAN = 1 << BITS };

struct pe_node {
    const void *at[FAN]; /* struct pe_node, in the lowest ones struct pe_content */
};

const struct pe_content *pe_store_get(const struct pe_store *s, uint32_t id)
{
    const struct pe_node *node = s->root;
    if (!node || id >> (BITS * (s->height + 1)))
        return NULL;
    for (uint32_t level = s->height; level > 0 && node; level--)
        node = node->at[id >> (BITS * level) & (FAN - 1)];
    return node ? node->at[id & (FAN - 1)] : NULL;
}

static struct pe_node *copy_node(struct pe *p, const struct pe_node *old)
{
    struct pe_node *node = BT_NEW(p->arena, struct pe_node);
    if (node && old)
        *node = *old;
    return node;
}

bt_status pe_store_set(struct pe *p, struct pe_store *s, uint32_t id,
                       const struct pe_content *content)
{
    struct pe_content *kept = BT_NEW(p->arena, struct pe_content);
    struct pe_node *node;
    if (!kept)
        return bt_no_memory();
    *kept = *content;
    while (s->root && id >> (BITS * (s->height + 1))) {
        if (!(node = copy_node(p, NULL)))
            return bt_no_memory();
        node->at[0] = s->root;
        s->root = node;
        s->height++;
    }
    while (!s->root && id >> (BITS * (s->height + 1)))
        s->height++;
    if (!(node = copy_node(p, s->root)))
        return bt_no_memory();
    s->root = node;
    for (uint32_t level = s->height; level > 0; level--) {
        const void **slot = &node->at[id >> (BITS * level) & (FAN - 1)];
        if (!(node = copy_node(p, *slot)))
            return bt_no_memory();
        *slot = node;
    }
    node->at[id & (FAN - 1)] = kept;
    return NULL;
}

/* ---- differences ---- */

struct differing {
    struct pe *p;
    uint32_t ncell; /* those that are older only */
    pe_cells *out;
};

/* No deeper than the tree. */
static bt_status differ(const struct differing *d, const struct pe_node *a,
                        const struct pe_node *b, uint32_t level, uint32_t first)
{
    for (uint32_t i = 0; a != b && i < FAN; i++) {
        const void *left = a ? a->at[i] : NULL, *right = b ? b->at[i] : NULL;
        const uint32_t id = first + (i << (BITS * level));
        if (left == right || id >= d->ncell)
            continue;
        if (level)
            BT_TRY(differ(d, left, right, level - 1, id));
        else if (!BT_PUSH(d->p->arena, d->out, id))
            return bt_no_memory();
    }
    return NULL;
}

bt_status pe_store_differ(struct pe *p, const struct pe_store *before,
                          const struct pe_store *now, uint32_t ncell, pe_cells *out)
{
    const struct differing d = { p, ncell, out };
    const struct pe_node *node = now->root;
    if (!node)
        return NULL;
    // only newer cells stand beside the tree that there was
    for (uint32_t level = now->height; before->root && level > before->height; level--)
        node = node->at[0];
    return before->root ? differ(&d, before->root, node, before->height, 0) : NULL;
}
