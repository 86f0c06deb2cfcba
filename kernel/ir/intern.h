/* A hash set of nodes, each there once: what a store uses to intern names, terms and
 * provenance sets. Holds pointers only; the nodes live in the store's arena. */
#ifndef IR_INTERN_H
#define IR_INTERN_H

#include <baton/base.h>

typedef struct bt__interner {
    struct bt__interner_slot {
        const void *item; /* NULL: free */
        uint32_t hash;
    } * slots;
    uint32_t nslot, len; /* nslot is 0 or a power of two, never more than half full */
} bt__interner;

/* The item with this hash for which same(item, key) holds; NULL: none. */
const void *bt__interner_find(const bt__interner *, uint32_t hash,
                              int (*same)(const void *item, const void *key),
                              const void *key);
/* Makes room for one more item, so that add cannot fail. 0: no memory. */
int bt__interner_reserve(bt_registry *, bt__interner *);
void bt__interner_add(bt__interner *, uint32_t hash, const void *item);
void bt__interner_deinit(bt_registry *, bt__interner *);

uint32_t bt__hash_bytes(uint64_t seed, const void *, size_t nbytes);
uint32_t bt__hash_text(const char *); /* NULL and "" hash alike */

/* Hashes that depend on the order of what is mixed in. */
static inline uint32_t bt__hash_mix(uint32_t hash, uint64_t item)
{
    uint64_t h =
        (item ^ (hash + UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return (uint32_t)(h >> 32);
}

#endif
