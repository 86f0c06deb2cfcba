/* A group is computed where its last node stands: nothing before may use what leaves it. */
#include "fusion/fuse_union.h"

void fuse_union_clear(struct fuse_union *u)
{
    u->leaders.len = u->last = u->nop = 0;
}

int fuse_union_has(const struct fuse_union *u, uint32_t leader)
{
    for (uint32_t i = 0; i < u->leaders.len; i++) {
        if (u->leaders.at[i] == leader)
            return 1;
    }
    return 0;
}

bt_status fuse_union_add(struct fuse_block *b, struct fuse_union *u, uint32_t leader)
{
    if (fuse_union_has(u, leader))
        return NULL;
    u->nop += b->nodes[leader].nop;
    if (b->nodes[leader].root > u->last)
        u->last = b->nodes[leader].root;
    return BT_PUSH(b->arena, &u->leaders, leader) ? NULL : bt_no_memory();
}

/* Whether a node's value may leave the group that is to be, or does not. */
static int may_leave(const struct fuse_block *b, const struct fuse_union *u,
                     uint32_t node)
{
    const struct fuse_node *n = &b->nodes[node];
    int leaves = fuse_escapes(n);
    if (n->first_escape <= u->last)
        return 0;
    for (uint32_t i = 0; i < n->users.len; i++) {
        const uint32_t user = fuse_leader(b, n->users.at[i]);
        if (fuse_union_has(u, user))
            continue;
        if (b->nodes[user].root <= u->last)
            return 0;
        leaves = 1;
    }
    return !leaves || n->kind != FUSE_TUPLE;
}

int fuse_union_is_allowed(const struct fuse_block *b, const struct fuse_union *u)
{
    int is_one = u->leaders.len > 0 && u->nop <= b->max_ops;
    for (uint32_t k = 0; is_one && k <= u->last; k++)
        is_one = !fuse_union_has(u, fuse_leader(b, k)) || may_leave(b, u, k);
    return is_one;
}

void fuse_union_join(struct fuse_block *b, const struct fuse_union *u)
{
    for (uint32_t k = 1; k < u->leaders.len; k++)
        fuse_join(b, u->leaders.at[k], u->leaders.at[0]);
}
