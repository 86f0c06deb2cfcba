/* Stores: one arena, one interner of names, and what lives exactly as long. */
#include "ir/store.h"

#include <string.h>

/* ---- creating and destroying ---- */

static void destroy(bt_store *store)
{
    bt_registry *registry = store->registry;
    for (uint32_t i = 0; i < store->nobject; i++)
        bt_object_unref(store->objects[i]);
    bt_free(registry, store->objects, store->object_cap * sizeof(*store->objects));
    bt_free(registry, store->sources, store->source_cap * sizeof(*store->sources));
    bt_free(registry, store->spans, store->span_cap * sizeof(*store->spans));
    bt_free(registry, store->prov_spans,
            store->prov_span_cap * sizeof(*store->prov_spans));
    bt_free(registry, store->prov_sets, store->prov_set_cap * sizeof(*store->prov_sets));
    bt__interner_deinit(registry, &store->names);
    bt__interner_deinit(registry, &store->terms);
    bt__interner_deinit(registry, &store->prov_interner);
    bt_arena_destroy(store->scratch);
    bt_arena_destroy(store->arena);
    bt_free(registry, store, sizeof(*store));
    bt_registry_unref(registry);
}

bt_store *bt_store_create(bt_registry *registry)
{
    bt_store *store = bt_alloc(registry, sizeof(*store));
    if (!store)
        return NULL;
    store->registry = bt_registry_ref(registry);
    store->nref = 1;
    store->arena = bt_arena_create(registry);
    store->scratch = bt_arena_create(registry);
    if (!store->arena || !store->scratch) {
        destroy(store);
        return NULL;
    }
    bt_map_init(&store->layouts, store->arena, 0);
    return store;
}

bt_store *bt_store_ref(bt_store *store)
{
    __atomic_add_fetch(&store->nref, 1, __ATOMIC_RELAXED);
    return store;
}

void bt_store_unref(bt_store *store)
{
    if (store && __atomic_sub_fetch(&store->nref, 1, __ATOMIC_ACQ_REL) == 0)
        destroy(store);
}

bt_arena *bt_store_arena(const bt_store *store)
{
    return store->arena;
}

bt_registry *bt_store_registry(const bt_store *store)
{
    return store->registry;
}

bt_status bt_store_why(bt_ctx *ctx, const bt_store *store)
{
    return store->refusal ? bt_fail(ctx, BT_ERR_LIMIT, "%s", store->refusal)
                          : bt_no_memory();
}

const bt_type *bt__refuse(bt_store *store, const char *why)
{
    store->refusal = why;
    store->nlack += !why;
    return NULL;
}

bt_status bt__store_lacked(const bt_store *store, uint32_t nlack, bt_status status)
{
    return store->nlack != nlack ? bt_no_memory() : status;
}

/* ---- names ---- */

struct name {
    size_t nbytes;
    char text[];
};
struct name_key {
    const char *at;
    size_t nbytes;
};

static int same_name(const void *item, const void *key)
{
    const struct name *name = item;
    const struct name_key *wanted = key;
    return name->nbytes == wanted->nbytes &&
           (!wanted->nbytes || memcmp(name->text, wanted->at, wanted->nbytes) == 0);
}

const char *bt_name(bt_store *store, const char *at, size_t nbytes)
{
    struct name_key key = { at, nbytes };
    // Names come from files: seeded, so that nobody can prepare ones that collide.
    uint32_t hash =
        bt__hash_bytes((uintptr_t)store * UINT64_C(0x9e3779b97f4a7c15), at, nbytes);
    const struct name *known = bt__interner_find(&store->names, hash, same_name, &key);
    if (known)
        return known->text;
    size_t size;
    if (!bt_add_size(nbytes, sizeof(struct name) + 1, &size) ||
        !bt__interner_reserve(store->registry, &store->names))
        return NULL;
    struct name *name = bt_arena_alloc(store->arena, 1, size);
    if (!name)
        return NULL;
    name->nbytes = nbytes;
    if (nbytes)
        memcpy(name->text, at, nbytes);
    bt__interner_add(&store->names, hash, name);
    return name->text;
}

const char *bt_name_of(bt_store *store, const char *text)
{
    return bt_name(store, text, strlen(text));
}

/* ---- what belongs to a store ---- */

int bt__store_grow(bt_store *store, void **at, uint32_t *cap, uint32_t len, size_t item)
{
    if (len < *cap)
        return 1;
    if (*cap > UINT32_MAX / 2)
        return 0;
    uint32_t grown = *cap ? *cap * 2 : 16;
    size_t nbytes;
    if (!bt_mul_size(grown, item, &nbytes))
        return 0;
    void *moved = bt_realloc(store->registry, *at, *cap * item, nbytes);
    if (!moved)
        return 0;
    *at = moved;
    *cap = grown;
    return 1;
}

int bt__store_hold(bt_store *store, const bt_object *object)
{
    void *at = (void *)store->objects;
    if (!bt__store_grow(store, &at, &store->object_cap, store->nobject,
                        sizeof(*store->objects)))
        return 0;
    store->objects = at;
    store->objects[store->nobject++] = bt_object_ref(object);
    return 1;
}

void bt__store_give_back(bt_store *store, const bt_map *needed)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < store->nobject; i++) {
        if (bt_map_find(needed, store->objects[i]))
            store->objects[n++] = store->objects[i];
        else
            bt_object_unref(store->objects[i]);
    }
    store->nobject = n;
}

uint32_t bt__store_value_id(bt_store *store)
{
    return ++store->nvalue;
}
