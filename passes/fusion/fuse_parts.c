/* Which products are read in parts, and whether these may be computed with them. */
#include "fusion/fuse_parts.h"

#include "fusion/fuse_union.h"

/* Of a greater result the parts are worth functions of their own. */
enum { SMALL_NBYTES = 256 * 1024 };

/* Whether a user reads a part of the value, to compute with it. */
static int is_part(const struct fuse_block *b, const struct fuse_node *user,
                   const bt_value *whole)
{
    const struct fuse_node *group = &b->nodes[fuse_leader(b, user - b->nodes)];
    const int64_t nbytes = bt_type_nbytes(user->value->type); // -1: not known yet
    return user->kind == BT_FUSE_INJECTIVE && group->group_kind <= BT_FUSE_INJECTIVE &&
           group->nop > 1 && nbytes >= 0 && 2 * nbytes <= bt_type_nbytes(whole->type);
}

/* Whether nothing but parts of a value is read. */
static int is_read_in_parts(const struct fuse_block *b, const struct fuse_node *root)
{
    for (uint32_t i = 0; i < root->users.len; i++) {
        if (!is_part(b, &b->nodes[root->users.at[i]], root->value))
            return 0;
    }
    return root->users.len > 1 && !fuse_escapes(root);
}

/* A small product's group and those that compute with its parts; none: it is not small. */
static bt_status find_parts(struct fuse_block *b, uint32_t leader, struct fuse_union *p)
{
    const struct fuse_node *root = &b->nodes[b->nodes[leader].root];
    const int64_t nbytes = bt_type_nbytes(root->value->type);
    fuse_union_clear(p);
    if (nbytes <= 0 || nbytes > SMALL_NBYTES)
        return NULL;
    BT_TRY(fuse_union_add(b, p, leader));
    for (uint32_t i = 0; is_read_in_parts(b, root) && i < root->users.len; i++)
        BT_TRY(fuse_union_add(b, p, fuse_leader(b, root->users.at[i])));
    return NULL;
}

/* Of the groups outside that use a value of the union, the one that is computed first, or FUSE_NONE. */
static uint32_t first_user(const struct fuse_block *b, const struct fuse_union *p,
                           uint32_t from)
{
    uint32_t first = FUSE_NONE;
    for (uint32_t k = from; k <= p->last; k++) {
        const struct fuse_node *node = &b->nodes[k];
        const int is_member = fuse_union_has(p, fuse_leader(b, k));
        for (uint32_t i = 0; is_member && i < node->users.len; i++) {
            const uint32_t user = fuse_leader(b, node->users.at[i]);
            if (!fuse_union_has(p, user) &&
                (first == FUSE_NONE || b->nodes[user].root < b->nodes[first].root))
                first = user;
        }
    }
    return first;
}

/* What is computed of the parts element by element is taken in, up to the first use of another kind, or to
 * what would keep them apart: where gates are kept for the way back, the state is still computed with them. */
static bt_status follow(struct fuse_block *b, struct fuse_union *p)
{
    if (p->leaders.len < 2)
        return NULL;
    const uint32_t from = b->nodes[p->leaders.at[0]].root;
    const uint32_t part = b->nodes[p->leaders.at[1]].root;
    const bt_shape_type *shape = bt_tensor_shape(b->nodes[part].value->type);
    for (uint32_t user; (user = first_user(b, p, from)) != FUSE_NONE;) {
        const struct fuse_node *group = &b->nodes[user];
        if (group->group_kind > BT_FUSE_BROADCAST || p->nop + group->nop > b->max_ops ||
            bt_tensor_shape(b->nodes[group->root].value->type) != shape)
            break;
        const struct fuse_union before = *p;
        const int was_allowed = fuse_union_is_allowed(b, p);
        BT_TRY(fuse_union_add(b, p, user));
        if (was_allowed && !fuse_union_is_allowed(b, p)) {
            p->leaders.len = before.leaders.len;
            p->last = before.last;
            p->nop = before.nop;
            break;
        }
    }
    return NULL;
}

/* Whether all that uses a node's value reads it element by element for the group. */
static int is_for(const struct fuse_block *b, const struct fuse_union *p, uint32_t node)
{
    const struct fuse_node *n = &b->nodes[node];
    for (uint32_t i = 0; i < n->users.len; i++) {
        const struct fuse_node *user = &b->nodes[n->users.at[i]];
        if (!fuse_union_has(p, fuse_leader(b, n->users.at[i])) ||
            fuse_kind_of_use(user, n->value) != BT_FUSE_ELEMWISE)
            return 0;
    }
    return n->users.len && !fuse_escapes(n);
}

/* What says the place of elements, as one integer does. */
static int is_place(const bt_value *value)
{
    const bt_tensor *t = bt_const_tensor(value);
    return t && t->nelem == 1 && !bt_dtype_is_float(t->dtype);
}

/* Whether a call only picks elements, at a place that the program computes or that is an
 * integer. */
static int is_pick(const struct fuse_node *group)
{
    const bt_call *call = bt_as_call(group->value);
    uint32_t nelse = 0;
    if (!call || group->nop > 1 || group->group_kind != BT_FUSE_INJECTIVE ||
        call->narg < 2)
        return 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        nelse += !bt_const_tensor(call->args[i]);
        if (bt_const_tensor(call->args[i]) && !is_place(call->args[i]))
            return 0;
    }
    return nelse > 0;
}

/* What picks elements for the group goes into it. Integers that say where become parameters of its
 * function: the steps of a loop that is unrolled are calls of one. */
static bt_status take_in(struct fuse_block *b, struct fuse_union *p)
{
    for (uint32_t i = p->last; i-- > 0;) {
        const uint32_t leader = fuse_leader(b, i);
        const struct fuse_node *group = &b->nodes[leader];
        if (fuse_union_has(p, leader) || !is_pick(group) || !is_for(b, p, i) ||
            p->nop + group->nop > b->max_ops)
            continue;
        BT_TRY(fuse_union_add(b, p, leader));
        b->nodes[i].takes_places = 1;
    }
    return NULL;
}

bt_status fuse_places(const struct fuse_block *b, uint32_t node, fuse_values *out)
{
    const bt_call *call = bt_as_call(b->nodes[node].value);
    for (uint32_t i = 0; b->nodes[node].takes_places && i < call->narg; i++) {
        if (is_place(call->args[i]) && !BT_PUSH(b->arena, out, call->args[i]))
            return bt_no_memory();
    }
    return NULL;
}

bt_status fuse_parts(struct fuse_block *b)
{
    struct fuse_union p = { .last = 0 };
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->nodes[i].leader != i || b->nodes[i].group_kind != BT_FUSE_CONTRACTION)
            continue;
        BT_TRY(find_parts(b, i, &p));
        BT_TRY(follow(b, &p));
        if (!fuse_union_is_allowed(b, &p))
            continue;
        BT_TRY(take_in(b, &p));
        fuse_union_join(b, &p);
    }
    return NULL;
}
