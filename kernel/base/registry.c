/* Registries: the allocator hook, and everything else that contexts share. */
#include "base/ctx.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>

static void *libc_realloc(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    (void)self, (void)old_nbytes;
    if (nbytes == 0) {
        free(pointer);
        return NULL;
    }
    void *block = realloc(pointer, nbytes);
    if (block)
        bt__memory_large(block, nbytes);
    return block;
}

static const bt_allocator libc_allocator = { .realloc = libc_realloc };

/* ---- memory ---- */

void bt__memory_trim(const bt_registry *r)
{
    (void)r;
#if defined(__GLIBC__)
    if (r->allocator.realloc == libc_realloc)
        (void)malloc_trim(0);
#endif
}

/* To the hook a size of 0 means free, so an empty block is one byte there. */
static size_t block_nbytes(size_t nbytes)
{
    return nbytes ? nbytes : 1;
}

void *bt_alloc(bt_registry *r, size_t nbytes)
{
    void *block = r->allocator.realloc(r->allocator.self, NULL, 0, block_nbytes(nbytes));
    if (block)
        memset(block, 0, block_nbytes(nbytes));
    return block;
}

void *bt_realloc(bt_registry *r, void *block, size_t old_nbytes, size_t nbytes)
{
    size_t old = block ? block_nbytes(old_nbytes) : 0;
    return r->allocator.realloc(r->allocator.self, block, old, block_nbytes(nbytes));
}

void bt_free(bt_registry *r, void *block, size_t nbytes)
{
    if (block)
        r->allocator.realloc(r->allocator.self, block, block_nbytes(nbytes), 0);
}

/* ---- creating and destroying ---- */

/* 1 and *out a copy in the arena, NULL for NULL; 0: no memory. */
static int copy_text(bt_arena *arena, const char *text, const char **out)
{
    *out = text ? bt_arena_text(arena, text, strlen(text)) : NULL;
    return !text || *out;
}

static int copy_files(bt_arena *arena, const char *const *files, const char *const **out)
{
    size_t nfile = 0;
    if (!files)
        return 1;
    while (files[nfile])
        nfile++;
    const char **copy = BT_NEWS(arena, const char *, nfile + 1);
    if (!copy)
        return 0;
    for (size_t i = 0; i < nfile; i++) {
        if (!copy_text(arena, files[i], &copy[i]))
            return 0;
    }
    *out = copy;
    return 1;
}

static int copy_options(bt_registry *r, const bt_registry_options *options)
{
    r->arena_single = options->arena_single != 0;
    r->ignore_environment = options->ignore_environment != 0;
    r->arena = bt_arena_create(r);
    return r->arena && copy_files(r->arena, options->plugin_files, &r->plugin_files) &&
           copy_text(r->arena, options->plugin_path, &r->plugin_path) &&
           copy_text(r->arena, options->plugin_only, &r->plugin_only) &&
           copy_text(r->arena, options->plugin_use, &r->plugin_use);
}

int bt__options_read(void *own, size_t own_nbytes, const void *given, size_t nbytes)
{
    size_t n = !given ? 0 : nbytes < own_nbytes ? nbytes : own_nbytes;
    memset(own, 0, own_nbytes);
    if (n)
        memcpy(own, given, n);
    for (; given && n < nbytes; n++) {
        if (((const char *)given)[n])
            return 0;
    }
    return 1;
}

bt_status bt__options_take(bt_ctx *ctx, void *own, size_t own_nbytes, const void *given,
                           size_t nbytes)
{
    return bt__options_read(own, own_nbytes, given, nbytes)
               ? NULL
               : bt_fail(ctx, BT_ERR_ARGUMENT,
                         "an option is set behind the %zu bytes that this version of "
                         "libbaton knows: the application was built for a later one",
                         own_nbytes);
}

bt_registry *bt__registry_create(const bt_registry_options *options,
                                 const struct bt__host *host)
{
    const bt_allocator *a = options->allocator ? options->allocator : &libc_allocator;
    bt_registry *r = a->realloc(a->self, NULL, 0, sizeof(*r));
    if (!r)
        return NULL;
    memset(r, 0, sizeof(*r));
    r->allocator = *a;
    r->nref = 1;
    r->host = host;
    if (pthread_mutex_init(&r->lock, NULL) != 0) {
        bt_free(r, r, sizeof(*r));
        return NULL;
    }
    if (!copy_options(r, options)) {
        bt_registry_unref(r);
        return NULL;
    }
    return r;
}

bt_registry *bt_registry_ref(bt_registry *r)
{
    __atomic_add_fetch(&r->nref, 1, __ATOMIC_RELAXED);
    return r;
}

void bt_registry_unref(bt_registry *r)
{
    if (!r || __atomic_sub_fetch(&r->nref, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (r->plugins)
        r->plugins_destroy(r->plugins);
    bt_arena_destroy(r->arena);
    pthread_mutex_destroy(&r->lock);
    bt_free(r, r, sizeof(*r));
}
