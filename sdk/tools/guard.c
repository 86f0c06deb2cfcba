#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "guard.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A block, whose pages are followed by one that may not be accessed. */
struct block {
    struct block *next;
    char *map, *at;
    size_t map_nbytes, nbytes;
    unsigned char unused; /* what the bytes beside it are */
};

struct guard {
    bt_allocator allocator;
    pthread_mutex_t lock;
    struct block *blocks;
    int is_on;
    uint32_t nrun;
    uint32_t until; /* the block that is refused, from 1; 0: none */
    int has_failed;
    size_t given,
        asked; /* of a block that came back with another size; equal: none did */
};

/* What is written beside a block is often a value like 0 or -1: it differs from one of
 * these, and what is read there is NaN in the first. */
static const unsigned char fillings[] = { 0xff, 0xa5 };

/* The link to the block that holds the pointer; a link to NULL if none does. */
static struct block **find(struct guard *g, const char *pointer)
{
    struct block **at = &g->blocks;
    while (*at && (pointer < (*at)->at || pointer > (*at)->at + (*at)->nbytes))
        at = &(*at)->next;
    return at;
}

static void *take(struct guard *g, size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
    struct block *block = calloc(1, sizeof(*block));
    if (!block || !bt_add_size(nbytes, 2 * page, &size)) {
        free(block);
        return NULL;
    }
    size -= size % page;
    block->map_nbytes = size;
    block->map =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block->map == MAP_FAILED) {
        free(block);
        return NULL;
    }
    (void)mprotect(block->map + size - page, page, PROT_NONE);
    block->unused = fillings[g->nrun / 2 % BT_COUNT(fillings)];
    memset(block->map, block->unused, size - page);
    block->nbytes = nbytes;
    block->at = block->map + size - page - (nbytes + 15) / 16 * 16;
    block->next = g->blocks;
    g->blocks = block;
    return block->at;
}

static void give_back(struct block **at)
{
    struct block *block = *at;
    *at = block->next;
    (void)munmap(block->map, block->map_nbytes);
    free(block);
}

static void note_size(struct guard *g, const struct block *block, size_t given)
{
    if (g->given != g->asked || block->nbytes == given)
        return;
    g->given = given;
    g->asked = block->nbytes;
}

static void *reallocate(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    struct guard *g = self;
    void *out = NULL;
    (void)pthread_mutex_lock(&g->lock);
    struct block **at = pointer ? find(g, pointer) : NULL;
    int is_own = at && *at;
    const int fails = nbytes && g->until && --g->until == 0;
    g->has_failed |= fails;
    if (fails) {
        out = NULL;
    } else if (nbytes == 0 && is_own) {
        note_size(g, *at, old_nbytes);
        give_back(at);
    } else if (nbytes == 0) {
        free(pointer);
    } else if (!is_own && !(g->is_on && !pointer)) {
        out = realloc(pointer, nbytes);
    } else {
        out = take(g, nbytes);
        if (out && is_own) {
            note_size(g, *find(g, pointer), old_nbytes);
            memcpy(out, pointer, old_nbytes < nbytes ? old_nbytes : nbytes);
            give_back(find(g, pointer));
        }
    }
    (void)pthread_mutex_unlock(&g->lock);
    return out;
}

struct guard *guard_create(void)
{
    struct guard *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    g->allocator = (bt_allocator){ .self = g, .realloc = reallocate };
    (void)pthread_mutex_init(&g->lock, NULL);
    return g;
}

void guard_destroy(struct guard *g)
{
    if (!g)
        return;
    while (g->blocks)
        give_back(&g->blocks);
    (void)pthread_mutex_destroy(&g->lock);
    free(g);
}

const bt_allocator *guard_allocator(struct guard *g)
{
    return &g->allocator;
}

void guard_set(struct guard *g, int is_on)
{
    (void)pthread_mutex_lock(&g->lock);
    g->is_on = is_on;
    g->nrun += is_on != 0;
    (void)pthread_mutex_unlock(&g->lock);
}

int guard_fail(struct guard *g, uint32_t n)
{
    (void)pthread_mutex_lock(&g->lock);
    const int has_failed = g->has_failed;
    g->has_failed = 0;
    g->until = n;
    (void)pthread_mutex_unlock(&g->lock);
    return has_failed;
}

int guard_misfit(struct guard *g, size_t *given, size_t *asked)
{
    (void)pthread_mutex_lock(&g->lock);
    const int is_misfit = g->given != g->asked;
    *given = g->given;
    *asked = g->asked;
    g->given = g->asked = 0;
    (void)pthread_mutex_unlock(&g->lock);
    return is_misfit;
}

uint32_t guard_nblock(struct guard *g)
{
    uint32_t n = 0;
    (void)pthread_mutex_lock(&g->lock);
    for (const struct block *block = g->blocks; block; block = block->next)
        n++;
    (void)pthread_mutex_unlock(&g->lock);
    return n;
}

static int is_untouched(const struct block *block, const char *at, const char *end)
{
    while (at < end && (unsigned char)*at == block->unused)
        at++;
    return at >= end;
}

/* bt_tensor_create takes one block: the head, dims and strides, the elements, and some
 * bytes before and behind these, as they are aligned, which it leaves as they are. */
const char *guard_damage(struct guard *g, const bt_tensor *tensor)
{
    const char *data = tensor->data;
    const struct block *block = tensor->owner ? NULL : *find(g, data);
    if (!block || !bt_tensor_is_dense(tensor))
        return NULL;
    const char *head_end = (const char *)(tensor->strides + tensor->rank);
    const char *end = block->at + (block->nbytes + 15) / 16 * 16;
    if (!is_untouched(block, head_end, data))
        return "before";
    return is_untouched(block, data + bt_tensor_nbytes(tensor), end) ? NULL : "behind";
}
