/* Open addressing with linear probing; nothing is ever removed. */
#include "ir/intern.h"

#include <string.h>

#define FIRST_NSLOT 64u

const void *bt__interner_find(const bt__interner *set, uint32_t hash,
                              int (*same)(const void *item, const void *key),
                              const void *key)
{
    if (!set->nslot)
        return NULL;
    uint32_t mask = set->nslot - 1;
    for (uint32_t i = hash & mask; set->slots[i].item; i = (i + 1) & mask) {
        if (set->slots[i].hash == hash && same(set->slots[i].item, key))
            return set->slots[i].item;
    }
    return NULL;
}

static void place(struct bt__interner_slot *slots, uint32_t nslot, uint32_t hash,
                  const void *item)
{
    uint32_t mask = nslot - 1, i = hash & mask;
    while (slots[i].item)
        i = (i + 1) & mask;
    slots[i].item = item;
    slots[i].hash = hash;
}

int bt__interner_reserve(bt_registry *registry, bt__interner *set)
{
    if (set->len < set->nslot / 2)
        return 1;
    if (set->nslot > UINT32_MAX / 2)
        return 0;
    uint32_t nslot = set->nslot ? set->nslot * 2 : FIRST_NSLOT;
    size_t nbytes;
    if (!bt_mul_size(nslot, sizeof(*set->slots), &nbytes))
        return 0;
    struct bt__interner_slot *slots = bt_alloc(registry, nbytes);
    if (!slots)
        return 0;
    for (uint32_t i = 0; i < set->nslot; i++) {
        if (set->slots[i].item)
            place(slots, nslot, set->slots[i].hash, set->slots[i].item);
    }
    bt_free(registry, set->slots, set->nslot * sizeof(*set->slots));
    set->slots = slots;
    set->nslot = nslot;
    return 1;
}

void bt__interner_add(bt__interner *set, uint32_t hash, const void *item)
{
    place(set->slots, set->nslot, hash, item);
    set->len++;
}

void bt__interner_deinit(bt_registry *registry, bt__interner *set)
{
    bt_free(registry, set->slots, set->nslot * sizeof(*set->slots));
    memset(set, 0, sizeof(*set));
}

uint32_t bt__hash_bytes(uint64_t seed, const void *bytes, size_t nbytes)
{
    const unsigned char *at = bytes;
    uint32_t hash = bt__hash_mix((uint32_t)(seed >> 32), seed ^ nbytes);
    uint64_t word;
    for (; nbytes >= sizeof(word); at += sizeof(word), nbytes -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = bt__hash_mix(hash, word);
    }
    word = 0;
    if (nbytes)
        memcpy(&word, at, nbytes);
    return bt__hash_mix(hash, word);
}

uint32_t bt__hash_text(const char *text)
{
    return bt__hash_bytes(0, text, text ? strlen(text) : 0);
}
