/*
 * Arenas: objects are laid one behind the other in chunks that double in size, and all of
 * them are freed at once, or down to a mark.
 *
 *     top -> [head | used ...... | free ]     a mark is an address in some chunk's used
 *     below  [head | used .............. ]    part, or NULL for the empty arena
 *
 * Where the registry asks for single objects each chunk holds exactly one; all else is
 * the same, so failures and overruns of single objects can be seen by the allocator.
 */
#include "base/arena.h"

#include <string.h>

#include "base/ctx.h"

enum { ALIGN = 16, FIRST_NBYTES = 4096, LAST_NBYTES = 1 << 20 };

struct chunk {
    struct chunk *below;
    size_t nbytes; /* of the space behind this head */
    size_t used;
    size_t unused; /* keeps the head a multiple of 16 */
};

struct bt_arena {
    bt_registry *registry;
    struct chunk *top;
    /* one that release emptied: a loop of mark and release keeps it */
    struct chunk *spare;
    size_t next_nbytes;
    uint32_t has_failed; /* some request for memory was refused */
};

static unsigned char *chunk_at(struct chunk *c)
{
    return (unsigned char *)(c + 1);
}

static void chunk_free(bt_arena *arena, struct chunk *c)
{
    if (c)
        bt_free(arena->registry, c, sizeof(*c) + c->nbytes);
}

bt_arena *bt_arena_create(bt_registry *r)
{
    bt_arena *arena = bt_alloc(r, sizeof(*arena));
    if (!arena)
        return NULL;
    arena->registry = r;
    arena->next_nbytes = FIRST_NBYTES;
    return arena;
}

void bt_arena_destroy(bt_arena *arena)
{
    if (!arena)
        return;
    while (arena->top) {
        struct chunk *below = arena->top->below;
        chunk_free(arena, arena->top);
        arena->top = below;
    }
    chunk_free(arena, arena->spare);
    bt_free(arena->registry, arena, sizeof(*arena));
}

/* 1 and a chunk on top with room for `nbytes`, or 0. */
static int push_chunk(bt_arena *arena, size_t nbytes)
{
    struct chunk *c = arena->spare;
    if (c && c->nbytes >= nbytes) {
        arena->spare = NULL;
    } else {
        size_t space = nbytes, total;
        if (!arena->registry->arena_single && space < arena->next_nbytes - sizeof(*c))
            space = arena->next_nbytes - sizeof(*c);
        if (!bt_add_size(space, sizeof(*c), &total))
            return 0;
        c = bt_realloc(arena->registry, NULL, 0, total);
        if (!c)
            return 0;
        c->nbytes = space;
        if (arena->next_nbytes < LAST_NBYTES)
            arena->next_nbytes *= 2;
    }
    c->used = 0;
    c->below = arena->top;
    arena->top = c;
    return 1;
}

/* 1 and *out `nbytes` rounded up to the alignment, or 0. */
static int round_up(size_t nbytes, size_t *out)
{
    if (!bt_add_size(nbytes, ALIGN - 1, out))
        return 0;
    *out &= ~(size_t)(ALIGN - 1);
    return 1;
}

void *bt_arena_alloc(bt_arena *arena, size_t count, size_t nbytes)
{
    size_t total, space;
    if (!bt_mul_size(count, nbytes, &total) || !round_up(total, &space)) {
        arena->has_failed = 1;
        return NULL;
    }
    if (arena->registry->arena_single)
        space = total;
    struct chunk *top = arena->top;
    if (!top || arena->registry->arena_single || space > top->nbytes - top->used) {
        if (!push_chunk(arena, space)) {
            arena->has_failed = 1;
            return NULL;
        }
        top = arena->top;
    }
    void *out = chunk_at(top) + top->used;
    top->used += space;
    return memset(out, 0, total);
}

int bt_arena_has_failed(const bt_arena *arena)
{
    return (int)arena->has_failed;
}

const char *bt_arena_text(bt_arena *arena, const char *text, size_t nbytes)
{
    size_t total;
    char *out = bt_add_size(nbytes, 1, &total) ? bt_arena_alloc(arena, total, 1) : NULL;
    if (out && nbytes)
        memcpy(out, text, nbytes);
    return out;
}

/* Tries to make the arena's last block longer where it stands. */
static int extend(bt_arena *arena, void *at, size_t old_nbytes, size_t nbytes)
{
    size_t old, space;
    struct chunk *top = arena->top;
    if (!at || !top || arena->registry->arena_single || !round_up(old_nbytes, &old) ||
        !round_up(nbytes, &space) || space < old || old > top->used ||
        chunk_at(top) + top->used - old != (unsigned char *)at ||
        space - old > top->nbytes - top->used)
        return 0;
    top->used += space - old;
    memset((unsigned char *)at + old_nbytes, 0, nbytes - old_nbytes);
    return 1;
}

void *bt__arena_grow(bt_arena *arena, void *at, size_t old_nbytes, size_t nbytes)
{
    if (extend(arena, at, old_nbytes, nbytes))
        return at;
    void *out = bt_arena_alloc(arena, nbytes, 1);
    if (out && old_nbytes)
        memcpy(out, at, old_nbytes);
    return out;
}

const void *bt_arena_mark(bt_arena *arena)
{
    return arena->top ? chunk_at(arena->top) + arena->top->used : NULL;
}

static int holds_mark(struct chunk *c, const unsigned char *mark)
{
    return mark >= chunk_at(c) && mark <= chunk_at(c) + c->used;
}

void bt_arena_release(bt_arena *arena, const void *mark)
{
    while (arena->top && !(mark && holds_mark(arena->top, mark))) {
        struct chunk *c = arena->top;
        arena->top = c->below;
        if (arena->spare || arena->registry->arena_single || c->nbytes > LAST_NBYTES)
            chunk_free(arena, c);
        else
            arena->spare = c;
    }
    if (arena->top)
        arena->top->used = (size_t)((const unsigned char *)mark - chunk_at(arena->top));
}

void *bt__arena_copy(bt_arena *arena, const void *items, size_t count, size_t nbytes)
{
    void *copy = bt_arena_alloc(arena, count, nbytes);
    if (copy && count)
        memcpy(copy, items, count * nbytes);
    return copy;
}
