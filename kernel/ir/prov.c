/* Provenance: interned sets of at most 16 ids of source bindings. */
#include "ir/store.h"

#include <string.h>

#define MAX_IDS 16u

static int same_set(const void *item, const void *key)
{
    const struct bt__prov_set *a = item, *b = key;
    return a->n == b->n && (!a->n || memcmp(a->ids, b->ids, a->n * sizeof(*a->ids)) == 0);
}

static bt_prov intern(bt_store *store, const struct bt__prov_set *key)
{
    uint32_t hash = bt__hash_bytes(0, key->ids, key->n * sizeof(*key->ids));
    const struct bt__prov_set *known =
        bt__interner_find(&store->prov_interner, hash, same_set, key);
    if (known)
        return known->handle;
    void *at = (void *)store->prov_sets;
    if (!bt__interner_reserve(store->registry, &store->prov_interner) ||
        !bt__store_grow(store, &at, &store->prov_set_cap, store->nprov_set,
                        sizeof(*store->prov_sets)))
        return 0;
    store->prov_sets = at;
    struct bt__prov_set *set = BT_NEW(store->arena, struct bt__prov_set);
    uint32_t *ids = bt__arena_copy(store->arena, key->ids, key->n, sizeof(*ids));
    if (!set || !ids)
        return 0;
    *set = (struct bt__prov_set){ store->nprov_set + 1, key->n, ids };
    store->prov_sets[store->nprov_set++] = set;
    bt__interner_add(&store->prov_interner, hash, set);
    return set->handle;
}

bt_prov bt_prov_new(bt_store *store, bt_span span)
{
    void *at = store->prov_spans;
    if (!bt__store_grow(store, &at, &store->prov_span_cap, store->nprov_span,
                        sizeof(*store->prov_spans)))
        return 0;
    store->prov_spans = at;
    uint32_t id = store->nprov_span;
    bt_prov prov = intern(store, &(struct bt__prov_set){ .n = 1, .ids = &id });
    if (prov)
        store->prov_spans[store->nprov_span++] = span;
    return prov;
}

bt_prov bt_prov_join(bt_store *store, bt_prov left, bt_prov right)
{
    if (left == right || !right)
        return left;
    if (!left)
        return right;
    const uint32_t *a, *b;
    uint32_t na = bt_prov_ids(store, left, &a), nb = bt_prov_ids(store, right, &b);
    uint32_t ids[MAX_IDS], n = 0;
    for (uint32_t i = 0, j = 0; n < MAX_IDS && (i < na || j < nb); n++) {
        uint32_t id = j >= nb || (i < na && a[i] < b[j]) ? a[i] : b[j];
        ids[n] = id;
        i += i < na && a[i] == id;
        j += j < nb && b[j] == id;
    }
    return intern(store, &(struct bt__prov_set){ .n = n, .ids = ids });
}

uint32_t bt_prov_ids(const bt_store *store, bt_prov prov, const uint32_t **out)
{
    *out = NULL;
    if (!prov || prov > store->nprov_set)
        return 0;
    *out = store->prov_sets[prov - 1]->ids;
    return store->prov_sets[prov - 1]->n;
}

bt_span bt_prov_span(const bt_store *store, uint32_t id)
{
    return id < store->nprov_span ? store->prov_spans[id] : 0;
}

void bt_prov_print(const bt_store *store, bt_prov prov, bt_text *out)
{
    const uint32_t *ids;
    uint32_t n = bt_prov_ids(store, prov, &ids);
    bt_place last = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        bt_place place;
        const char *comma = out->len ? ", " : "";
        bt_span_place(store, bt_prov_span(store, ids[i]), &place);
        if (place.node)
            bt_text_addf(out, "%s%s", comma, place.node);
        else if (place.line && place.line != last.line)
            bt_text_addf(out, "%sline %u", comma, place.line);
        last = place;
    }
}
