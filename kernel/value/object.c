/*
 * Objects: reference counts, tuples, constructors, closures.
 *
 * A container's memory starts with a cell that its users do not see:
 *
 *     [cell: dead, nbytes | bt_tuple | fields ...]
 *                         ^ the object
 *
 * When a container dies it joins a list through `dead`, and so does every container that
 * dies with it: a chain of a million takes no C stack.
 */
#include "value/object.h"

#include <string.h>

#include "base/ctx.h"

struct cell {
    bt_object *dead; /* next of the list of the dead */
    size_t nbytes;   /* of the whole block */
};

static struct cell *cell_of(bt_object *o)
{
    return (struct cell *)(void *)o - 1;
}

void bt__object_init(bt_object *o, uint32_t kind, bt_registry *r,
                     void (*destroy)(bt_object *))
{
    o->kind = kind;
    o->nref = 1;
    o->registry = bt_registry_ref(r);
    o->destroy = destroy;
}

/* The count is no part of the value: no object is const itself. */
static bt_object *mutable(const bt_object *object)
{
    bt_object *o;
    memcpy(&o, &object, sizeof(o));
    return o;
}

bt_object *bt_object_ref(const bt_object *object)
{
    bt_object *o = mutable(object);
    __atomic_add_fetch(&o->nref, 1, __ATOMIC_RELAXED);
    return o;
}

/* Nobody but its one holder can add to a count of 1: no atomic subtraction, which is slow. */
static int drop(bt_object *o)
{
    return __atomic_load_n(&o->nref, __ATOMIC_ACQUIRE) == 1 ||
           __atomic_sub_fetch(&o->nref, 1, __ATOMIC_ACQ_REL) == 0;
}

void bt_object_unref(const bt_object *object)
{
    bt_object *o = mutable(object);
    if (o && drop(o))
        o->destroy(o);
}

/* ---- containers ---- */

bt__fields bt__object_fields(const bt_object *o)
{
    const void *object = o;
    switch (o->kind) {
    case BT_OBJECT_TUPLE: {
        const bt_tuple *t = object;
        return (bt__fields){ t->fields, t->nfield };
    }
    case BT_OBJECT_ADT: {
        const bt_adt *a = object;
        return (bt__fields){ a->fields, a->nfield };
    }
    case BT_OBJECT_CLOSURE: {
        const bt_closure *c = object;
        return (bt__fields){ c->captures, c->ncapture + 1 }; // and the executor
    }
    case BT_OBJECT_REF: {
        const bt_ref *ref = object;
        return (bt__fields){ &ref->content, 1 };
    }
    }
    return (bt__fields){ 0 };
}

static void container_destroy(bt_object *);

void *bt__container_alloc(bt_ctx *ctx, uint32_t kind, size_t nbytes)
{
    size_t total;
    if (!bt_add_size(nbytes, sizeof(struct cell), &total))
        return NULL;
    struct cell *cell = bt_alloc(ctx->registry, total);
    if (!cell)
        return NULL;
    cell->nbytes = total;
    bt_object *o = (bt_object *)(void *)(cell + 1);
    bt__object_init(o, kind, ctx->registry, container_destroy);
    return o;
}

/* Drops what a dead container holds; containers among it that die are put on the list. */
static bt_object *drop_fields(bt_object *o, bt_object *list)
{
    bt__fields fields = bt__object_fields(o);
    for (uint32_t i = 0; i < fields.len; i++) {
        bt_object *field = fields.at[i];
        if (!field || !drop(field))
            continue;
        if (field->destroy != container_destroy) {
            field->destroy(field);
            continue;
        }
        cell_of(field)->dead = list;
        list = field;
    }
    return list;
}

/* Frees containers and all that dies with them without recursion. */
static void container_destroy(bt_object *o)
{
    cell_of(o)->dead = NULL;
    while (o) {
        bt_object *list = drop_fields(o, cell_of(o)->dead);
        bt_registry *r = o->registry;
        if (o->kind == BT_OBJECT_REF)
            bt__ref_unlink((bt_ref *)(void *)o);
        bt_free(r, cell_of(o), cell_of(o)->nbytes);
        bt_registry_unref(r);
        o = list;
    }
}

/* A container of `head` bytes, with room for fields and then `tail` bytes behind it; the
 * fields are filled in, with references of their own. */
static void *container_with(bt_ctx *ctx, uint32_t kind, size_t head, uint32_t nfield,
                            bt_object *const *fields, size_t tail, bt_object ***out)
{
    size_t nbytes;
    if (!bt_mul_size(nfield, sizeof(*fields), &nbytes) ||
        !bt_add_size(nbytes, head, &nbytes) || !bt_add_size(nbytes, tail, &nbytes))
        return NULL;
    char *object = bt__container_alloc(ctx, kind, nbytes);
    if (!object)
        return NULL;
    *out = (bt_object **)(void *)(object + head);
    for (uint32_t i = 0; i < nfield; i++)
        (*out)[i] = fields[i] ? bt_object_ref(fields[i]) : NULL;
    return object;
}

bt_status bt_tuple_create(bt_ctx *ctx, uint32_t nfield, bt_object *const *fields,
                          bt_tuple **out)
{
    bt_object **own;
    bt_tuple *t =
        container_with(ctx, BT_OBJECT_TUPLE, sizeof(*t), nfield, fields, 0, &own);
    if (!t)
        return bt_no_memory();
    t->nfield = nfield;
    t->fields = own;
    *out = t;
    return NULL;
}

bt_status bt_adt_create(bt_ctx *ctx, uint32_t tag, const char *name, uint32_t nfield,
                        bt_object *const *fields, bt_adt **out)
{
    bt_object **own;
    size_t name_nbytes = strlen(name) + 1;
    bt_adt *a =
        container_with(ctx, BT_OBJECT_ADT, sizeof(*a), nfield, fields, name_nbytes, &own);
    if (!a)
        return bt_no_memory();
    a->tag = tag;
    a->nfield = nfield;
    a->fields = own;
    a->name = memcpy(own + nfield, name, name_nbytes);
    *out = a;
    return NULL;
}

/* The executor is behind the captures. */
bt_status bt_closure_create(bt_ctx *ctx, bt_object *executor, const void *code,
                            uint32_t ncapture, bt_object *const *captures,
                            bt_closure **out)
{
    bt_object **own;
    bt_closure *c = container_with(ctx, BT_OBJECT_CLOSURE, sizeof(*c), ncapture, captures,
                                   sizeof(*own), &own);
    if (!c)
        return bt_no_memory();
    own[ncapture] = bt_object_ref(executor);
    c->executor = executor;
    c->code = code;
    c->ncapture = ncapture;
    c->captures = own;
    *out = c;
    return NULL;
}

/* ---- downcasts ---- */

const bt_tensor *bt_object_as_tensor(const bt_object *o)
{
    return o && o->kind == BT_OBJECT_TENSOR ? (const void *)o : NULL;
}

const bt_tuple *bt_object_as_tuple(const bt_object *o)
{
    return o && o->kind == BT_OBJECT_TUPLE ? (const void *)o : NULL;
}

const bt_adt *bt_object_as_adt(const bt_object *o)
{
    return o && o->kind == BT_OBJECT_ADT ? (const void *)o : NULL;
}

const bt_closure *bt_object_as_closure(const bt_object *o)
{
    return o && o->kind == BT_OBJECT_CLOSURE ? (const void *)o : NULL;
}

bt_ref *bt_object_as_ref(const bt_object *o)
{
    return o && o->kind == BT_OBJECT_REF ? (bt_ref *)(void *)mutable(o) : NULL;
}
