#include "value/inflate.h"

#ifdef BT_ZLIB
#include <string.h>
#include <zlib.h>

/* Blocks know their size, which freeing asks for. */
static void *take(void *registry, uInt n, uInt size)
{
    size_t nbytes = (size_t)n * size + 16;
    char *block = bt_alloc(registry, nbytes);
    if (!block)
        return NULL;
    memcpy(block, &nbytes, sizeof(nbytes));
    return block + 16;
}

static void give(void *registry, void *at)
{
    size_t nbytes;
    char *block = (char *)at - 16;
    memcpy(&nbytes, block, sizeof(nbytes));
    bt_free(registry, block, nbytes);
}

uint32_t bt__inflate(bt_registry *registry, const void *packed, size_t npacked, void *out,
                     size_t nbytes)
{
    union {
        const void *shown;
        Bytef *own; // zlib does not write to it
    } in = { .shown = packed };
    z_stream z = { .zalloc = take, .zfree = give, .opaque = registry, .next_in = in.own };
    if (npacked > UINT32_MAX || nbytes > UINT32_MAX)
        return BT__INFLATE_DAMAGED;
    z.avail_in = (uInt)npacked;
    z.next_out = out;
    z.avail_out = (uInt)nbytes;
    if (inflateInit2(&z, -15) != Z_OK) // no header
        return BT__INFLATE_MEMORY;
    int code = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return code == Z_MEM_ERROR                                   ? BT__INFLATE_MEMORY
           : code == Z_STREAM_END && !z.avail_in && !z.avail_out ? BT__INFLATE_OK
                                                                 : BT__INFLATE_DAMAGED;
}
#else
uint32_t bt__inflate(bt_registry *registry, const void *packed, size_t npacked, void *out,
                     size_t nbytes)
{
    (void)registry, (void)packed, (void)npacked, (void)out, (void)nbytes;
    return BT__INFLATE_ABSENT;
}
#endif
