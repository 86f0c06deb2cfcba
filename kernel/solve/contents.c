/* The symbolic contents of small integer operands: what a shape computation knows before
 * run time. Dims are int64: elements of uint64 of 2^63 and more are left to the run. */
#include "solve/solver.h"

enum { MAX_CONTENTS = 32, MAX_TUPLE_DEPTH = 8 };

struct gather {
    bt_solver *solver;
    uint32_t n;
    const bt_type *dims[MAX_CONTENTS];
    int is_known;
};

static int gather_dim(struct gather *g, const bt_type *dim)
{
    if (g->n == MAX_CONTENTS)
        return g->is_known = 0;
    g->dims[g->n++] = dim;
    return 1;
}

static bt_status gather_contents(struct gather *g, const bt_contents *contents)
{
    if (!contents)
        g->is_known = 0;
    for (uint32_t i = 0; contents && i < contents->n && gather_dim(g, contents->dims[i]);)
        i++;
    return NULL;
}

static bt_status gather_tensor(struct gather *g, const bt_tensor *tensor)
{
    uint32_t bit = tensor ? 1u << BT_DTYPE_CLASS(tensor->dtype) : 0;
    if (!(bit & BT_CLASS_BITS_INTEGER) || tensor->rank > 1 ||
        tensor->nelem > MAX_CONTENTS) {
        g->is_known = 0;
        return NULL;
    }
    for (int64_t i = 0; i < tensor->nelem && g->is_known; i++) {
        const int64_t element = bt_tensor_get_int(tensor, i);
        const bt_type *dim = bt_dim(g->solver->store, element);
        if (!dim)
            return bt_no_memory();
        g->is_known = element >= 0 || !(bit & BT_CLASS_BITS_UINT);
        gather_dim(g, dim);
    }
    return NULL;
}

/* The tensor that a constant, or a global that is one, holds. */
static const bt_tensor *constant_of(const bt_solver *s, const bt_value *value)
{
    return bt_const_tensor(s->module ? bt_module_constant(s->module, value) : value);
}

/* The value that a projection of a tuple built here gives. */
static const bt_value *through_tuple(const bt_value *value)
{
    const bt_proj *proj = bt_as_proj(value);
    const bt_tuple_value *tuple = proj ? bt_as_tuple(proj->tuple) : NULL;
    return tuple && proj->index < tuple->nfield ? tuple->fields[proj->index] : value;
}

static bt_status gather_value(struct gather *g, const bt_value *value, uint32_t depth)
{
    bt_solver *s = g->solver;
    value = through_tuple(value);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    if (bt_as_const(value) || bt_as_global(value))
        return gather_tensor(g, constant_of(s, value));
    for (uint32_t i = 0; tuple && depth && g->is_known && i < tuple->nfield; i++)
        BT_TRY(gather_value(g, tuple->fields[i], depth - 1));
    if (tuple)
        return NULL;
    const struct bt__slot *slot = bt__slot_of(s, value);
    const bt_call *call = bt_as_call(value);
    if (!slot)
        return gather_contents(g, call ? call->contents : NULL);
    if (!slot->producer || !call)
        return gather_contents(g, slot->contents);
    s->waits_for = slot->producer;
    return &bt__wait;
}

bt_status bt_relation_contents(bt_solver *s, const bt_relation_call *r, uint32_t index,
                               int64_t *n, const bt_type *const **out)
{
    const bt_call *call = s->current->u.op.call;
    struct gather g = { .solver = s, .is_known = call && index < r->narg };
    if (g.is_known)
        BT_TRY(gather_value(&g, call->args[index], MAX_TUPLE_DEPTH));
    const bt_type **dims = BT_NEWS(s->arena, const bt_type *, g.n);
    if (!dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < g.n; i++)
        BT_TRY(bt__resolve(s, g.dims[i], &dims[i]));
    *n = g.is_known ? (int64_t)g.n : BT_NONE_LIST;
    *out = dims;
    return NULL;
}

const bt_tensor *bt_relation_constant(bt_solver *s, const bt_relation_call *r,
                                      uint32_t index)
{
    const bt_call *call = s->current->u.op.call;
    return call && index < r->narg ? constant_of(s, through_tuple(call->args[index]))
                                   : NULL;
}

bt_status bt_relation_set_contents(bt_solver *s, const bt_relation_call *r, uint32_t n,
                                   const bt_type *const *dims)
{
    (void)r;
    bt_arena *arena = bt_store_arena(s->store);
    bt_contents *contents = BT_NEW(arena, bt_contents);
    const bt_type **copy = BT_NEWS(arena, const bt_type *, n);
    if (!contents || !copy)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(bt__resolve(s, dims[i], &copy[i]));
    *contents = (bt_contents){ n, copy };
    if (s->current->u.op.call)
        s->current->slot->contents = contents;
    return NULL;
}
