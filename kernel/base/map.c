/*
 * Maps that keep insertion order: an array of entries, and a table of indices into it,
 * probed linearly and at most three quarters full.
 *
 * Texts come from files, so their hash is SipHash-1-3 keyed by the arena's address:
 * nobody can prepare names that all collide. The order of entries does not depend on it.
 */
#include <baton/base.h>

#include <string.h>

static uint64_t rotate(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
    v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

static uint32_t hash_text(const bt_map *map, const char *text)
{
    uint64_t key0 = (uintptr_t)map->arena, key1 = rotate(key0, 24);
    uint64_t v[4] = { key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du,
                      key0 ^ 0x6c7967656e657261u, key1 ^ 0x7465646279746573u };
    size_t nbytes = strlen(text);
    for (size_t at = 0;; at += 8) {
        size_t left = nbytes - at;
        uint64_t word = left < 8 ? (uint64_t)nbytes << 56 : 0;
        memcpy(&word, text + at, left < 8 ? left : 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
        if (left < 8)
            break;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return (uint32_t)(v[0] ^ v[1] ^ v[2] ^ v[3]);
}

static uint32_t hash_key(const bt_map *map, const void *key)
{
    return map->is_text ? hash_text(map, key)
                        : (uint32_t)((uintptr_t)key * 0x9e3779b97f4a7c15u >> 32);
}

void bt_map_init(bt_map *map, bt_arena *arena, int is_text)
{
    *map = (bt_map){ .arena = arena, .is_text = is_text != 0 };
}

/* The slot of the key's entry, or the empty one where it would go. */
static uint32_t *find_slot(const bt_map *map, const void *key, uint32_t hash)
{
    for (uint32_t i = hash;; i++) {
        uint32_t *slot = &map->slots[i & (map->nslot - 1)];
        if (*slot == 0)
            return slot;
        const bt_map_entry *e = &map->at[*slot - 1];
        if (e->hash == hash &&
            (e->key == key || (map->is_text && strcmp(e->key, key) == 0)))
            return slot;
    }
}

bt_map_entry *bt_map_entry_find(const bt_map *map, const void *key)
{
    if (map->len == 0)
        return NULL;
    uint32_t slot = *find_slot(map, key, hash_key(map, key));
    return slot ? &map->at[slot - 1] : NULL;
}

void *bt_map_find(const bt_map *map, const void *key)
{
    const bt_map_entry *e = bt_map_entry_find(map, key);
    return e ? e->value : NULL;
}

static int grow_slots(bt_map *map)
{
    if (map->nslot > UINT32_MAX / 2)
        return 0;
    uint32_t nslot = map->nslot ? 2 * map->nslot : 8;
    uint32_t *slots = BT_NEWS(map->arena, uint32_t, nslot);
    if (!slots)
        return 0;
    for (uint32_t i = 0; i < map->len; i++) {
        uint32_t at = map->at[i].hash;
        while (slots[at & (nslot - 1)])
            at++;
        slots[at & (nslot - 1)] = i + 1;
    }
    map->slots = slots;
    map->nslot = nslot;
    return 1;
}

int bt_map_put(bt_map *map, const void *key, void *value)
{
    uint32_t hash = hash_key(map, key);
    uint32_t *slot = map->nslot ? find_slot(map, key, hash) : NULL;
    if (slot && *slot) {
        map->at[*slot - 1].value = value;
        return 1;
    }
    if (map->len >= map->nslot / 4 * 3) {
        if (!grow_slots(map))
            return 0;
        slot = find_slot(map, key, hash);
    }
    bt_map_entry entry = { .key = key, .value = value, .hash = hash };
    if (!BT_PUSH(map->arena, map, entry))
        return 0;
    *slot = map->len;
    return 1;
}
