/*
 * Arguments come from outside, where nothing knows of the types that code is verified by:
 * they are looked at through and through, once. Dims inside data are compared where a clause
 * binds them.
 */
#include "machine.h"

struct item {
    const bt_object *object;
    uint32_t type;
};

struct checking {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct vm_program *p;
    uint32_t arg;
    bt_vec(struct item) left; /* to be looked at: no C stack for a long list */
    bt_map met;               /* objects that are held more than once -> their type + 1 */
};

static bt_status fail(const struct checking *c, uint32_t type, const char *why)
{
    bt_text text;
    bt_text_init(&text, c->arena);
    vm_type_print(&c->p->types, type, &text);
    const char *name = bt_text_get(&text);
    return name ? bt_fail(c->ctx, BT_ERR_ARGUMENT,
                          "@%s: argument %u holds another value where its type says %s%s",
                          c->p->functions[0]->name, c->arg, name, why)
                : bt_no_memory();
}

static bt_status add_all(struct checking *c, uint32_t n, bt_object *const *objects,
                         const uint32_t *types)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct item item = { objects[i], types[i] };
        if (!BT_PUSH(c->arena, &c->left, item))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status check_closure(struct checking *c, uint32_t number,
                               const bt_closure *closure)
{
    const struct vm_type *type = &c->p->types.at[number];
    if (closure->executor != &c->p->identity->base)
        return fail(c, number, ", made by a session of this program");
    const struct vm_function *f = closure->code;
    const uint32_t ncapture = f->nparam - (type->n - 1);
    int fits = f->nparam >= type->n - 1 && closure->ncapture >= ncapture &&
               f->result == type->at[type->n - 1];
    for (uint32_t i = 0; fits && i + 1 < type->n; i++)
        fits = f->types[f->params[ncapture + i]] == type->at[i];
    return fits ? NULL : fail(c, number, "");
}

static bt_status check_ref(struct checking *c, const struct vm_type *type,
                           const bt_ref *ref)
{
    return ref->content
               ? add_all(c, 1, &ref->content, type->at)
               : bt_fail(
                     c->ctx, BT_ERR_ARGUMENT,
                     "@%s: argument %u holds a reference of a session that was closed",
                     c->p->functions[0]->name, c->arg);
}

static bt_status check_item(struct checking *c, struct item item)
{
    const struct vm_type *type = &c->p->types.at[item.type];
    const bt_object *object = item.object;
    const bt_tensor *tensor = object ? bt_object_as_tensor(object) : NULL;
    const bt_tuple *tuple = object ? bt_object_as_tuple(object) : NULL;
    const bt_adt *adt = object ? bt_object_as_adt(object) : NULL;
    const bt_ref *ref = object ? bt_object_as_ref(object) : NULL;
    const bt_closure *closure = object ? bt_object_as_closure(object) : NULL;
    switch (type->kind) {
    case VM_TYPE_SCALAR:
    case VM_TYPE_TENSOR:
        return tensor && tensor->dtype == type->dtype && tensor->rank == type->rank
                   ? NULL
                   : fail(c, item.type, "");
    case VM_TYPE_TUPLE:
        return tuple && tuple->nfield == type->n
                   ? add_all(c, type->n, tuple->fields, type->at)
                   : fail(c, item.type, "");
    case VM_TYPE_DATA:
        return adt && adt->tag < type->def->nctor && type->ctors &&
                       adt->nfield == type->def->ctors[adt->tag]->nfield
                   ? add_all(c, adt->nfield, adt->fields, type->ctors[adt->tag])
                   : fail(c, item.type, "");
    case VM_TYPE_REF: return ref ? check_ref(c, type, ref) : fail(c, item.type, "");
    default:
        return closure ? check_closure(c, item.type, closure) : fail(c, item.type, "");
    }
}

/* *is_new = 0: it has been looked at. A reference is of one type. */
static bt_status meet(struct checking *c, struct item item, int *is_new)
{
    const int is_ref = item.object && item.object->kind == BT_OBJECT_REF;
    *is_new = 1;
    if (!item.object || item.object->kind == BT_OBJECT_TENSOR ||
        (__atomic_load_n(&item.object->nref, __ATOMIC_RELAXED) == 1 && !is_ref))
        return NULL;
    const uintptr_t type = (uintptr_t)bt_map_find(&c->met, item.object);
    *is_new = type != (uintptr_t)item.type + 1;
    if (type && *is_new)
        return is_ref ? fail(c, item.type, ", and another type elsewhere") : NULL;
    return bt_map_put(&c->met, item.object, (void *)((uintptr_t)item.type + 1))
               ? NULL
               : bt_no_memory();
}

static bt_status check_all(struct checking *c, uint32_t narg, bt_object *const *args)
{
    const struct vm_function *f = c->p->functions[0];
    bt_map_init(&c->met, c->arena, 0);
    for (c->arg = 0; c->arg < narg; c->arg++) {
        int is_new;
        BT_TRY(add_all(c, 1, &args[c->arg], &f->types[f->params[c->arg]]));
        while (c->left.len) {
            const struct item item = c->left.at[--c->left.len];
            BT_TRY(meet(c, item, &is_new));
            if (is_new)
                BT_TRY(check_item(c, item));
        }
    }
    return NULL;
}

bt_status vm_check_args(bt_ctx *ctx, const struct vm_program *p, uint32_t narg,
                        bt_object *const *args)
{
    struct checking c = { .ctx = ctx, .arena = bt_ctx_scratch(ctx), .p = p };
    const void *mark = bt_arena_mark(c.arena);
    bt_status status = check_all(&c, narg, args);
    bt_arena_release(c.arena, mark);
    return status;
}
