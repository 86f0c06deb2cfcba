/*
 * Which calls of a block are computed together.
 *
 *       conv2d            A value's post-dominator is the first binding that all its uses
 *       /    \            come through: of conv2d it is add. A group grows from a value to
 *     tanh   relu         its post-dominator, taking in all that lies between, where the
 *       \    /            kinds on the way allow it.
 *        add
 *
 * What lays tensors one after the other is left alone where it could compute few of them (fuse_laid.h).
 * At last a product that is read in parts, as the gates of a recurrent cell are, takes in what
 * is computed of these (fuse_parts.c), and groups that go along the same rows become one
 * (fuse_rows.c). Only such groups have more than one value that leaves them.
 *
 * source   Relay 2018, section 5.3; Roesch et al., "Relay: A High-Level Compiler for Deep
 *          Learning", 2019, section 4.4
 */
#ifndef PASSES_FUSION_FUSE_GROUPS_H
#define PASSES_FUSION_FUSE_GROUPS_H

#include <baton/compute.h>
#include <baton/pass.h>

enum { FUSE_TUPLE = BT_FUSE_OPAQUE + 1 }; /* kind of a tuple or projection */

/* A call, tuple or projection that may be joined with others; or what may not. */
struct fuse_node {
    const bt_value *value;
    uint32_t kind;       /* BT_FUSE_..., FUSE_TUPLE */
    uint32_t is_slow;    /* dear to compute twice */
    uint32_t is_packed;  /* made of constants of few bits */
    uint32_t is_by_rows; /* as bt_fuse_info says, and which arguments */
    uint64_t row_args;
    uint32_t is_laid;       /* fuse_laid.h */
    bt_vec(uint32_t) users; /* nodes, all later */
    /* Nodes before the first use that is by no node, or as the block's result; FUSE_NONE: there
     * is no such use. */
    uint32_t first_escape;
    /* Post-dominator: */
    uint32_t parent; /* node, FUSE_NONE */
    uint32_t depth;
    uint32_t pattern; /* the greatest kind on the way there */
    /* Group: */
    uint32_t leader; /* union-find */
    uint32_t root;   /* of a leader: the last node, whose value leaves the group */
    uint32_t group_kind, nop;
    uint32_t walk; /* the last one that came here */
    uint32_t
        takes_places; /* 1: constants among its operands are its function's parameters */
};
#define FUSE_NONE UINT32_MAX
static inline int fuse_escapes(const struct fuse_node *node)
{
    return node->first_escape != FUSE_NONE;
}

struct fuse_block {
    bt_arena *arena;
    uint32_t n;
    struct fuse_node *nodes; /* in order of the block */
    uint32_t max_ops;
    uint32_t nwalk; /* so far; 0 at first */
    bt_vec(uint32_t) queue;
};

/* Fills parents and groups from values, kinds and users. */
bt_status fuse_groups(struct fuse_block *);
uint32_t fuse_leader(const struct fuse_block *, uint32_t node);
/* Makes the groups of two nodes one. */
void fuse_join(struct fuse_block *, uint32_t x, uint32_t y);
/* What a user does with a value: a kind. */
uint32_t fuse_kind_of_use(const struct fuse_node *user, const bt_value *operand);
/* Whether a value of a group is used outside of it. */
int fuse_leaves(const struct fuse_block *, uint32_t node);

#endif
