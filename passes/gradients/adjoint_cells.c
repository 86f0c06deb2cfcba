/* Cells whose contents have adjoints: which they are, and their way back. */
#include "gradients/adjoint_cells.h"

/* ---- which ones ---- */

bt_status adjoint_is_cell(const struct differentiation *diff, const bt_type *type,
                          int *out)
{
    const struct dims_map m = adjoint_dims_map(diff);
    *out = 0;
    if (!diff->cells.len || !bt_as_ref_type(type))
        return NULL;
    BT_TRY(dims_erase(&m, type, &type));
    *out = bt_map_find(&diff->cells, type) != NULL;
    return NULL;
}

const bt_value *adjoint_cell_of(const bt_value *value, const bt_value **content)
{
    *content = NULL;
    if (value->kind == BT_VALUE_READ)
        return bt_as_read(value)->ref;
    if (value->kind == BT_VALUE_REF) {
        *content = bt_as_ref(value)->content;
        return value;
    }
    if (value->kind == BT_VALUE_WRITE) {
        *content = bt_as_write(value)->content;
        return bt_as_write(value)->ref;
    }
    return NULL;
}

bt_status adjoint_cell_note(struct adjoint *a, const bt_value *old, int *reads)
{
    const struct dims_map m = adjoint_dims_map(a->diff);
    const bt_value *content, *ref = adjoint_cell_of(old, &content);
    const bt_type *key;
    *reads = 0;
    if (!ref)
        return NULL;
    if (!content)
        return adjoint_is_cell(a->diff, ref->type, reads);
    if (!adjoint_is_active(a, content))
        return NULL;
    BT_TRY(dims_erase(&m, ref->type, &key));
    if (bt_map_find(&a->diff->cells, key))
        return NULL;
    return bt_map_put(&a->diff->cells, key, (void *)(uintptr_t)ref->type)
               ? NULL
               : bt_no_memory();
}

/* ---- what touches them ---- */

/* Whether a binding itself makes, reads or writes a cell; where it is asked for writers, whether
 * it writes anything. */
static bt_status does_itself(const struct differentiation *diff, const bt_value *binding,
                             int writes, int *out)
{
    const bt_value *content, *ref = adjoint_cell_of(binding, &content);
    *out = writes && binding->kind == BT_VALUE_WRITE;
    return ref && !writes ? adjoint_is_cell(diff, ref->type, out) : NULL;
}

static bt_status touch(struct differentiation *diff, bt_map *found, const bt_block *block,
                       int *any)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *binding = block->bindings[i];
        const bt_global *global = bt_call_global(diff->module, bt_as_call(binding));
        int does;
        BT_TRY(does_itself(diff, binding, found == &diff->writing, &does));
        does |=
            global && global->kind == BT_GLOBAL_FUNC && bt_map_find(found, global->func);
        for (uint32_t r = 0; r < bt_value_nregion(binding); r++)
            BT_TRY(touch(diff, found, bt_value_region(binding, r), &does));
        if (does && !bt_map_put(found, binding, (void *)1))
            return bt_no_memory();
        *any |= does;
    }
    return NULL;
}

static bt_status touch_all(struct differentiation *diff, bt_map *found)
{
    for (uint32_t n = UINT32_MAX; found->len != n;) {
        n = found->len;
        for (uint32_t g = 0; g < diff->module->nglobal; g++) {
            const bt_global *global = diff->module->globals[g];
            int any = 0;
            if (global->kind != BT_GLOBAL_FUNC)
                continue;
            BT_TRY(touch(diff, found, global->func->block, &any));
            if (any && !bt_map_put(found, global->func, (void *)1))
                return bt_no_memory();
        }
    }
    return NULL;
}

bt_status adjoint_cells_touch(struct differentiation *diff)
{
    if (diff->cells.len)
        BT_TRY(touch_all(diff, &diff->touching));
    return touch_all(diff, &diff->writing);
}

int adjoint_may_write(const struct differentiation *diff, const void *func_or_binding)
{
    return bt_map_find(&diff->writing, func_or_binding) != NULL;
}

int adjoint_touches(const struct differentiation *diff, const void *func_or_binding)
{
    return bt_map_find(&diff->touching, func_or_binding) != NULL;
}

/* ---- backward ---- */

/* What a cell holds: the content, then an adjoint of each of its leaves that has one. */
static bt_status open_cell(struct copy *c, const bt_value *ref, adjoint_values *out)
{
    const bt_value *held, *field;
    BT_TRY(bt_build_read(c->b, ref, &held));
    for (uint32_t i = 0; i < bt_as_tuple_type(held->type)->n; i++) {
        BT_TRY(bt_build_proj(c->b, held, i, &field));
        if (!BT_PUSH(c->arena, out, field))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status close_cell(struct copy *c, const bt_value *ref,
                            const adjoint_values *fields)
{
    const bt_value *held, *ignored;
    BT_TRY(bt_build_tuple(c->b, fields->len, fields->at, &held));
    return bt_build_write(c->b, ref, held, &ignored);
}

bt_status adjoint_cell_zero(struct adjoint *a, const bt_value *leaf, const bt_type *type,
                            const bt_value **out)
{
    // a reference does not show the dims of what it holds
    return bt_as_tensor_type(type) && type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)
               ? bt_build(a->copy.b, "zeros_like", NULL, &leaf, 1, out)
               : adjoint_zero(a->diff, &a->copy, leaf, type, out);
}

static bt_status reverse_read(struct adjoint *a, const bt_value *old, const bt_value *ref)
{
    const bt_type *content = bt_as_tuple_type(old->type)->at[0];
    const bt_value *const *leaves = adjoint_of(a, old);
    adjoint_values fields = { 0 };
    uint32_t next = 1;
    if (!leaves)
        return NULL;
    BT_TRY(open_cell(&a->copy, ref, &fields));
    for (uint32_t i = 0; i < bt_type_nleaf(content); i++) {
        const bt_type *leaf = adjoint_leaf(content, i);
        if (!adjoint_has(a->diff, leaf))
            continue;
        const bt_value **sum = &fields.at[next++];
        if (leaves[i])
            BT_TRY(adjoint_plus(a->diff, &a->copy, leaf,
                                (const bt_value *[]){ *sum, leaves[i] }, sum));
    }
    return close_cell(&a->copy, ref, &fields);
}

/* Of what is made or written. */
static bt_status reverse_content(struct adjoint *a, const bt_value *old,
                                 const bt_value *ref, const bt_value *content)
{
    const bt_type *type = bt_as_tuple_type(content->type)->at[0];
    adjoint_values fields = { 0 }, now = { 0 };
    uint32_t next = 1;
    BT_TRY(open_cell(&a->copy, ref, &fields));
    BT_TRY(adjoint_split(a, fields.at[0], &now));
    for (uint32_t i = 0; i < now.len; i++) {
        const bt_type *leaf = adjoint_leaf(type, i);
        if (!adjoint_has(a->diff, leaf))
            continue;
        BT_TRY(adjoint_add(a, content, i, fields.at[next]));
        BT_TRY(adjoint_cell_zero(a, now.at[i], leaf, &fields.at[next++]));
    }
    // one that was made is not looked at any more
    return old->kind == BT_VALUE_REF ? NULL : close_cell(&a->copy, ref, &fields);
}

bt_status adjoint_reverse_cell(struct adjoint *a, const bt_value *old)
{
    const bt_value *content, *ref = adjoint_now(a, adjoint_cell_of(old, &content));
    return content ? reverse_content(a, old, ref, content) : reverse_read(a, old, ref);
}

int adjoint_writes(const struct differentiation *diff, const bt_value *now)
{
    const bt_call *call = bt_as_call(now);
    if (now->kind == BT_VALUE_WRITE)
        return 1;
    if (call && call->callee_kind == BT_CALLEE_VALUE &&
        bt_map_find(&diff->writers, call->callee->name))
        return 1;
    for (uint32_t r = 0; r < bt_value_nregion(now); r++) {
        const bt_block *region = bt_value_region(now, r);
        for (uint32_t i = 0; i < region->nbinding; i++) {
            if (adjoint_writes(diff, region->bindings[i]))
                return 1;
        }
    }
    return 0;
}
