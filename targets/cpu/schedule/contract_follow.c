/* Nests that go along with the columns of sums, so that a recurrent cell is one loop. */
#include "contract.h"

#include <string.h>

struct following {
    const bt_loops *loops;
    uint32_t whole;
    const bt_node *width;
    const bt_stmts *before;
    const bt_node *index; /* of the nest */
    uint8_t *seen;        /* by id */
};

/* The store of a loop around nothing else; NULL: it is not so. */
static const bt_stmt *store_of_loop(const bt_stmt *nest)
{
    return nest->kind == BT_STMT_FOR && nest->body.len == 1 &&
                   nest->body.at[0]->kind == BT_STMT_STORE
               ? nest->body.at[0]
               : NULL;
}

/* Whether column i of the sums is what is read. */
static int reads_column(const struct following *f, const bt_node *offset)
{
    bt_linear place;
    bt_node_as_linear(offset, &place);
    return place.n == 1 && place.atoms[0] == f->index && place.coefs[0] == 1 &&
           place.constant % bt_node_number(f->width) == 0;
}

/* Whether a buffer is an input, or full before the nests. What nobody stores are the sums of
 * tiles that are still to come. */
static int is_full(const struct following *f, uint32_t buffer)
{
    const uint32_t role = f->loops->roles.at[buffer];
    return role != BT_BUFFER_LOCAL &&
           (role == BT_BUFFER_INPUT ||
            cpu_find_nest(f->loops, buffer) < f->loops->body.len);
}

/* Whether all that a value reads is there. */
static int is_there(struct following *f, const bt_node *node)
{
    if (!node->reads || f->seen[node->id])
        return 1;
    f->seen[node->id] = 1;
    if (node->kind == BT_NODE_READ) {
        int is_before = 0;
        for (uint32_t i = 0; i < f->before->len; i++)
            is_before |= store_of_loop(f->before->at[i])->buffer == node->which;
        if (is_before                 ? node->args[0] != f->index
            : node->which == f->whole ? !reads_column(f, node->args[0])
                                      : !is_full(f, node->which))
            return 0;
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!is_there(f, node->args[i]))
            return 0;
    }
    return 1;
}

/* 1, or 0; -1: failure. */
static int follows(struct following *f, const bt_stmt *nest)
{
    bt_graph *g = f->loops->graph;
    const bt_stmt *store = store_of_loop(nest);
    if (!store || nest->extent != f->width)
        return 0;
    f->index = bt_node_index(g, nest->index, f->width);
    f->seen = BT_NEWS(f->loops->arena, uint8_t, g->nnode + 1);
    if (!f->index || !f->seen)
        return -1;
    return store->offset == f->index && is_there(f, store->value);
}

int cpu_take_followers(bt_loops *loops, uint32_t at, uint32_t whole, const bt_node *width,
                       bt_stmts *out)
{
    struct following f = { loops, whole, width, out, NULL, NULL };
    int does = bt_node_number(width) > 1;
    while (does > 0 && at + 1 < loops->body.len) {
        bt_stmt *nest = loops->body.at[at + 1];
        does = follows(&f, nest);
        if (does > 0 &&
            (!BT_PUSH(loops->arena, out, nest) ||
             !bt_stmts_replace(loops, &loops->body, at + 1, &(bt_stmts){ .len = 0 })))
            return 0;
    }
    return does >= 0;
}
