/* Dims that only the run knows: the way back is of those that the way forward met, and what shows
 * them is kept. Adjoints have the dims of what they are of. */
#include "common/checked.h"
#include "gradients/adjoint_cells.h"
#include "gradients/adjoint_path.h"

/* What the way back says of such dims, of which some value that is kept must have each. */
struct open_dims {
    bt_arena *arena;
    bt_map dims;    /* dims -> 1; once something shows it, 2 */
    uint32_t kinds; /* BT_HAS_ of those that are looked for */
    int failed;
};

static const bt_type *note_open(bt_subst *subst, const bt_type *leaf)
{
    struct open_dims *d = subst->state;
    if (leaf->has & d->kinds && bt_type_kind_of(leaf) == BT_KIND_DIM &&
        !bt_map_find(&d->dims, leaf))
        d->failed |= !bt_map_put(&d->dims, leaf, (void *)1);
    return NULL;
}

static bt_status note_type(struct adjoint *a, struct open_dims *d, const bt_type *type)
{
    bt_subst subst = { .leaf = note_open, .state = d };
    if (type->has & d->kinds && !bt_type_subst(a->copy.store, &subst, type))
        return bt_store_why(a->copy.ctx, a->copy.store);
    return d->failed ? bt_no_memory() : NULL;
}

/* What a run asks of a call: its attributes, what its function is called for, its checks. */
static bt_status note_call(struct adjoint *a, struct open_dims *d, const bt_call *call)
{
    bt_subst subst = { .leaf = note_open, .state = d };
    const bt_op *op = call->callee_kind == BT_CALLEE_OP ? call->op : NULL;
    if (op && op->attrs && call->attrs &&
        !bt_attrs_subst(a->copy.store, &subst, op->attrs, op->attrs_nbytes, call->attrs))
        return bt_store_why(a->copy.ctx, a->copy.store);
    for (uint32_t i = 0; i < call->ntype_arg; i++)
        BT_TRY(note_type(a, d, call->type_args[i]));
    for (uint32_t i = 0; i < call->ncheck; i++) {
        BT_TRY(note_type(a, d, call->checks[i].left));
        BT_TRY(note_type(a, d, call->checks[i].right));
    }
    return d->failed ? bt_no_memory() : NULL;
}

static bt_status note_binding(struct adjoint *a, struct open_dims *d,
                              const bt_value *binding)
{
    BT_TRY(note_type(a, d, binding->type));
    return bt_as_call(binding) ? note_call(a, d, bt_as_call(binding)) : NULL;
}

static bt_status note_dims(struct adjoint *a, struct open_dims *d,
                           const bt_value *binding)
{
    bt_blocks blocks = { 0 };
    BT_TRY(note_binding(a, d, binding));
    for (uint32_t r = 0; r < bt_value_nregion(binding); r++)
        BT_TRY(bt_block_nested(a->copy.arena, bt_value_region(binding, r), &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            BT_TRY(note_binding(a, d, blocks.at[b]->bindings[i]));
    }
    return NULL;
}

/* What a value of that type shows is marked: whether nothing did so before for some of it. */
static int mark_shown(struct open_dims *d, const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    int any = 0;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        any |= mark_shown(d, tuple->at[i]);
    for (uint32_t i = 0; shape && i < shape->n; i++) {
        bt_map_entry *entry = bt_map_entry_find(&d->dims, shape->dims[i]);
        if (!entry || entry->value != (void *)1)
            continue;
        entry->value = (void *)2;
        any = 1;
    }
    return any;
}

bt_status adjoint_keep_dims(struct adjoint *a, struct adjoint_path *path)
{
    const bt_block *joint = path->joint;
    struct open_dims d = { .arena = a->copy.arena, .kinds = BT_HAS_OPAQUE };
    // a cell that is kept does not show the dims of what it holds, those with names neither
    if (adjoint_touches(a->diff, a->func))
        d.kinds |= BT_HAS_VAR;
    bt_map_init(&d.dims, d.arena, 0);
    for (uint32_t i = path->nforward + 1; i < joint->nbinding; i++) {
        if (bt_map_find(&path->live, joint->bindings[i]))
            BT_TRY(note_dims(a, &d, joint->bindings[i]));
    }
    for (uint32_t i = 0; i < path->kept.len; i++)
        mark_shown(&d, path->kept.at[i]->type);
    for (uint32_t i = 0; d.dims.len && i < joint->nparam + path->nforward; i++) {
        const bt_value *value = i < joint->nparam ? &joint->params[i]->base
                                                  : joint->bindings[i - joint->nparam];
        if (mark_shown(&d, value->type) && !BT_PUSH(a->copy.arena, &path->kept, value))
            return bt_no_memory();
    }
    return NULL;
}

bt_status adjoint_fit(struct copy *c, const bt_value *adjoint, const bt_type *type,
                      const bt_value **out)
{
    bt_call call = { .callee_kind = BT_CALLEE_OP, .narg = 1, .args = &adjoint };
    *out = adjoint;
    if (adjoint->type == type || !bt_as_tensor_type(type))
        return NULL;
    BT_TRY(bt_op_get(c->ctx, "copy", &call.op));
    return checked_call(c, &call, type, out);
}

bt_status adjoint_take_seed(struct copy *c, const bt_type *type, const bt_value *seed,
                            const bt_value **out)
{
    const struct dims_map m = { .ctx = c->ctx, .arena = c->arena, .store = c->store };
    dims_of_type dims = { 0 }, now = { 0 };
    BT_TRY(dims_list(&m, type, &dims));
    BT_TRY(dims_list(&m, seed->type, &now));
    for (uint32_t i = 0; dims.len == now.len && i < dims.len; i++) {
        if (dims.at[i]->kind == BT_TYPE_OPAQUE && !bt_map_find(&c->types, dims.at[i]))
            BT_TRY(copy_put_type(c, dims.at[i], now.at[i]));
    }
    BT_TRY(copy_type(c, type, &type));
    return adjoint_fit(c, seed, type, out);
}
