/* Relations over type parameters: they cannot be run, but the callers promise that they
 * hold. */
#include "solve/solver.h"

struct bt__promise {
    const bt_where *where;
    const struct bt__promise *next; /* with the same first type */
};

bt_status bt__promises_init(bt__promises *promises, bt_arena *arena, const bt_func *func,
                            const bt__promises *outer)
{
    promises->outer = outer;
    bt_map_init(&promises->by_type, arena, 0);
    for (uint32_t i = 0; i < func->nwhere; i++) {
        const bt_where *where = func->wheres[i];
        struct bt__promise *promise = BT_NEW(arena, struct bt__promise);
        if (!promise)
            return bt_no_memory();
        promise->where = where;
        promise->next = bt_map_find(&promises->by_type, where->types[0]);
        if (!bt_map_put(&promises->by_type, where->types[0], promise))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status try_promise(bt_solver *s, struct bt__node *node, const bt_where *where,
                             int *holds)
{
    const bt_type *arg;
    *holds = 0;
    if (where->op != node->u.op.op || where->ntype != node->u.op.narg + 1)
        return NULL;
    if (where->op->attrs &&
        !bt_attrs_equal(where->op->attrs, where->attrs, node->u.op.attrs))
        return NULL;
    for (uint32_t i = 0; i < node->u.op.narg; i++) {
        BT_TRY(bt__resolve(s, node->u.op.args[i], &arg));
        if (arg != where->types[i])
            return NULL;
    }
    *holds = 1;
    return bt__give(s, node, where->types[node->u.op.narg]);
}

bt_status bt__try_promises(bt_solver *s, struct bt__node *node, int *holds)
{
    const struct bt__function *f = node->slot->function;
    const bt__promises *promises = f ? &f->promises : s->promises;
    const bt_type *first = NULL;
    *holds = 0;
    for (; promises && node->u.op.narg && !*holds; promises = promises->outer) {
        if (!promises->by_type.len)
            continue;
        if (!first)
            BT_TRY(bt__resolve(s, node->u.op.args[0], &first));
        const struct bt__promise *promise = bt_map_find(&promises->by_type, first);
        for (; promise && !*holds; promise = promise->next)
            BT_TRY(try_promise(s, node, promise->where, holds));
    }
    return NULL;
}
