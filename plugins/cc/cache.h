/* A folder of compiled objects by digest. Any fault of it is a remark, and the compiler
 * then works without it. */
#ifndef CACHE_H
#define CACHE_H

#include <baton/base.h>

struct cache {
    bt_ctx *ctx;
    const char *folder; /* NULL: none is used */
    uint64_t most;      /* bytes of all objects */
};

/* `option`: a folder, "off", or "" for BATON_CACHE or the user's usual one. Makes the
 * folder. */
void cache_open(bt_ctx *, bt_arena *, const char *option, uint64_t most,
                struct cache *out);
/* Appends the object kept under a digest. 0: there is none that may be used. */
int cache_get(const struct cache *, const char *digest, bt_text *object);
void cache_put(const struct cache *, const char *digest, const bt_text *object);

#endif
