/* Which groups go along the same rows, and may be computed together. */
#include "fusion/fuse_rows.h"

#include "fusion/fuse_union.h"

/* Of a longer row little is left in a near cache when it is read again. */
enum { ROW_NBYTES = 64 * 1024 };

/* The axis of rows: the first that is longer than 1. NULL: it has none. */
static const bt_type *rows_of(const bt_value *value)
{
    const bt_shape_type *shape = bt_tensor_shape(value->type);
    int64_t n;
    for (uint32_t i = 0; shape && i < shape->n; i++) {
        if (!bt_dim_is_const(shape->dims[i], &n) || n != 1)
            return shape->dims[i];
    }
    return NULL;
}

static int has_small_rows(const bt_value *value)
{
    int64_t n = 0;
    const bt_type *rows = rows_of(value);
    return rows && bt_dim_is_const(rows, &n) && n > 0 &&
           bt_type_nbytes(value->type) / n <= ROW_NBYTES;
}

/* Whether a user reads of a value only the row that it computes. */
static int is_read_by_rows(const struct fuse_node *user, const struct fuse_node *used)
{
    const bt_call *call = bt_as_call(user->value);
    if (!call || !user->is_by_rows || !used->is_by_rows ||
        rows_of(user->value) != rows_of(used->value) || !has_small_rows(used->value))
        return 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (call->args[i] == used->value && !(user->row_args >> i & 1))
            return 0;
    }
    return 1;
}

/* Whether all that nodes of a group give each other is read by rows. */
static int goes_along_rows(const struct fuse_block *b, const struct fuse_union *u)
{
    for (uint32_t i = 0; i <= u->last; i++) {
        const struct fuse_node *node = &b->nodes[i];
        if (!fuse_union_has(u, fuse_leader(b, i)))
            continue;
        if (!node->is_by_rows)
            return 0;
        for (uint32_t k = 0; k < node->users.len; k++) {
            const uint32_t user = node->users.at[k];
            if (fuse_union_has(u, fuse_leader(b, user)) &&
                !is_read_by_rows(&b->nodes[user], node))
                return 0;
        }
    }
    return 1;
}

static int has_sum(const struct fuse_block *b, uint32_t node)
{
    return b->nodes[fuse_leader(b, node)].group_kind >= BT_FUSE_REDUCE;
}

static bt_status try_join(struct fuse_block *b, struct fuse_union *u, uint32_t node,
                          uint32_t user)
{
    const uint32_t x = fuse_leader(b, node), y = fuse_leader(b, user);
    if (x == y || !is_read_by_rows(&b->nodes[user], &b->nodes[node]) ||
        !(has_sum(b, node) || has_sum(b, user)))
        return NULL;
    fuse_union_clear(u);
    BT_TRY(fuse_union_add(b, u, x));
    BT_TRY(fuse_union_add(b, u, y));
    if (goes_along_rows(b, u) && fuse_union_is_allowed(b, u))
        fuse_union_join(b, u);
    return NULL;
}

bt_status fuse_rows(struct fuse_block *b)
{
    struct fuse_union u = { .last = 0 };
    for (uint32_t i = 0; i < b->n; i++) {
        for (uint32_t k = 0; b->nodes[i].is_by_rows && k < b->nodes[i].users.len; k++)
            BT_TRY(try_join(b, &u, i, b->nodes[i].users.at[k]));
    }
    return NULL;
}
