/* Dims that only the run knows, or that a caller may not know: the way back is of those that the
 * way forward met, and what shows them is kept. Adjoints have the dims of what they are of. A dim
 * that comes from around a path is the same one on its way back, as what the path gives is added
 * to adjoints from around it; each other one comes back with what is kept. */
#include "common/checked.h"
#include "gradients/adjoint_cells.h"
#include "gradients/adjoint_path.h"

/* What the way back says of such dims, of which some value that is kept must have each. */
struct open_dims {
    bt_arena *arena;
    bt_map dims;       /* dims -> 1; once something shows it, 2 */
    uint32_t kinds;    /* BT_HAS_ of those that are looked for */
    dims_of_type here; /* those that parameters of the blocks at hand show */
    int failed;
};

static int is_shown_here(const struct open_dims *d, const bt_type *dim)
{
    for (uint32_t i = 0; i < d->here.len; i++) {
        if (d->here.at[i] == dim)
            return 1;
    }
    return 0;
}

static const bt_type *note_open(bt_subst *subst, const bt_type *leaf)
{
    struct open_dims *d = subst->state;
    if (leaf->has & d->kinds && bt_type_kind_of(leaf) == BT_KIND_DIM &&
        !bt_map_find(&d->dims, leaf) && !is_shown_here(d, leaf))
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

static bt_status show_here(struct open_dims *d, const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(show_here(d, tuple->at[i]));
    for (uint32_t i = 0; shape && i < shape->n; i++) {
        if (shape->dims[i]->has & d->kinds &&
            !BT_PUSH(d->arena, &d->here, shape->dims[i]))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status note_dims(struct adjoint *a, struct open_dims *d,
                           const bt_value *binding)
{
    const uint32_t nhere = d->here.len;
    BT_TRY(note_binding(a, d, binding));
    for (uint32_t r = 0; r < bt_value_nregion(binding); r++) {
        const bt_block *region = bt_value_region(binding, r);
        for (uint32_t i = 0; i < region->nparam; i++)
            BT_TRY(show_here(d, region->params[i]->base.type));
        for (uint32_t i = 0; i < region->nbinding; i++)
            BT_TRY(note_dims(a, d, region->bindings[i]));
        d->here.len = nhere;
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

/* Who calls a function has the dims that tensors among its parameters show. Those of data alone
 * may be unknown there, as adjoints of closures hide them; and a cell that is kept does not show
 * the dims of what it holds. */
static bt_status show_told(struct adjoint *a, struct open_dims *d)
{
    const bt_block *block = a->func->block;
    for (uint32_t i = 0; !adjoint_touches(a->diff, a->func) && i < block->nparam; i++) {
        const bt_type *type;
        BT_TRY(copy_type(&a->copy, block->params[i]->base.type, &type));
        BT_TRY(show_here(d, type));
    }
    return NULL;
}

bt_status adjoint_keep_dims(struct adjoint *a, struct adjoint_path *path)
{
    const bt_block *joint = path->joint;
    struct open_dims d = { .arena = a->copy.arena, .kinds = BT_HAS_OPAQUE | BT_HAS_VAR };
    bt_map_init(&d.dims, d.arena, 0);
    BT_TRY(show_told(a, &d));
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

/* ---- dims from around a path ---- */

struct around {
    const struct adjoint *a;
    struct adjoint_path *path;
    bt_map inside; /* those that values of the path have first */
    int failed;
};

static const bt_type *note_around(bt_subst *subst, const bt_type *leaf)
{
    struct around *s = subst->state;
    const bt_value *birth = bt_map_find(&s->a->births, leaf);
    if (birth && bt_map_find(&s->inside, leaf) != birth)
        s->failed |= !bt_map_put(&s->path->around, leaf, s->path);
    return NULL;
}

bt_status adjoint_find_around(struct adjoint *a, struct adjoint_path *path)
{
    struct around s = { .a = a, .path = path };
    bt_subst subst = { .leaf = note_around, .state = &s };
    const struct copy *c = &a->copy;
    bt_map_init(&path->around, c->arena, 0);
    if (path->region == a->func->block || !a->births.len)
        return NULL;
    bt_map_init(&s.inside, c->arena, 0);
    BT_TRY(bt_block_births(c->ctx, c->store, c->arena, path->region, &s.inside));
    for (uint32_t i = 0; i < path->kept.len; i++) {
        const bt_type *type = path->kept.at[i]->type;
        if (type->has & BT_HAS_OPAQUE && !bt_type_subst(a->copy.store, &subst, type))
            return bt_store_why(a->copy.ctx, a->copy.store);
    }
    return s.failed ? bt_no_memory() : NULL;
}

struct bringing {
    struct copy *copy;
    const struct adjoint_path *path;
};

static const bt_type *bring_back(bt_subst *subst, const bt_type *leaf)
{
    const struct bringing *b = subst->state;
    struct copy *c = b->copy;
    const bt_type *now = leaf;
    if (leaf->kind != BT_TYPE_OPAQUE || bt_map_find(&c->types, leaf))
        return NULL;
    if (!bt_map_find(&b->path->around, leaf))
        now = bt_dim_opaque(c->store, ((const bt_opaque_type *)(const void *)leaf)->name);
    return now && bt_map_put(&c->types, leaf, (void *)(uintptr_t)now) ? now : NULL;
}

bt_status adjoint_bring_dims(struct copy *c, const struct adjoint_path *path,
                             const bt_type *type)
{
    struct bringing b = { c, path };
    bt_subst subst = { .leaf = bring_back, .state = &b };
    return !(type->has & BT_HAS_OPAQUE) || bt_type_subst(c->store, &subst, type)
               ? NULL
               : bt_store_why(c->ctx, c->store);
}

/* ---- adjoints ---- */

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

bt_status adjoint_name_dims(struct differentiation *diff, const bt_type *type,
                            const bt_type **out, dims_of_type *vars)
{
    const struct dims_map m = adjoint_dims_map(diff);
    return dims_name(&m, type, BT_HAS_OPAQUE, vars, out);
}

bt_status adjoint_dims_given(struct differentiation *diff, const bt_type *like,
                             const bt_type *given, dims_of_type *out)
{
    const struct dims_map m = adjoint_dims_map(diff);
    dims_of_type open = { 0 }, dims = { 0 };
    BT_TRY(dims_list(&m, like, &open));
    BT_TRY(dims_list(&m, given, &dims));
    for (uint32_t i = 0; i < open.len && i < dims.len; i++) {
        if (open.at[i]->has & BT_HAS_OPAQUE && !BT_PUSH(diff->arena, out, dims.at[i]))
            return bt_no_memory();
    }
    return NULL;
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
