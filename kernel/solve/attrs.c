/* What attributes of a call refer to: globals, typed like any other operand, and dims. */
#include "ir/attrs.h"

#include <string.h>

#include "solve/solver.h"

static const bt_value **function_at(void *attrs, const bt_attr *row)
{
    return (const bt_value **)(void *)((char *)attrs + row->offset);
}

struct terms {
    const bt__attr_map *map;
    bt_status failed;
};

static const bt_type *map_term(bt__attrs_walk *walk, const bt_type *term)
{
    struct terms *terms = walk->state;
    const bt_type *out = term;
    if (term->has & BT_HAS_OPAQUE)
        terms->failed = terms->map->term(terms->map->self, term, &out);
    return terms->failed ? NULL : out;
}

bt_status bt__map_attrs(bt_solver *s, const bt_call *call, const bt__attr_map *map,
                        const void **out)
{
    const bt_op *op = call->op;
    struct terms terms = { .map = map };
    bt__attrs_walk walk = { map_term, &terms };
    void *copy = NULL;
    *out = bt__attrs_map(s->store, &walk, op->attrs, op->attrs_nbytes, call->attrs);
    if (terms.failed)
        return terms.failed;
    if (!*out && call->attrs)
        return bt_store_why(s->ctx, s->store);
    for (const bt_attr *row = op->attrs; row && row->name; row++) {
        if (row->kind != BT_ATTR_FUNC)
            continue;
        if (!copy) {
            copy = bt_arena_alloc(bt_store_arena(s->store), 1, op->attrs_nbytes);
            if (!copy)
                return bt_no_memory();
            memcpy(copy, *out, op->attrs_nbytes);
            *out = copy;
        }
        const bt_value **at = function_at(copy, row);
        if (*at)
            BT_TRY(map->global(map->self, *at, at));
    }
    return NULL;
}
