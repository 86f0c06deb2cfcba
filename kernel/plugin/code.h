/* Machine code in memory: what the loader (code.c) shares with the rest of the kernel. */
#ifndef PLUGIN_CODE_H
#define PLUGIN_CODE_H

#include <baton/compiler.h>

#include "plugin/elf.h"

/* Gives addresses of names that no object defines. 0: unknown. */
typedef struct bt__resolver {
    const void *self;
    int (*find)(const void *self, const char *name, uint64_t *address);
} bt__resolver;

/* bt_code_load for code that the registry itself owns: the result holds no reference to
 * it, and must be unloaded before the registry is gone. */
bt_status bt__code_load(bt_ctx *, uint32_t nobject, const bt_code_object *,
                        const bt__resolver *, bt_code **out) BT_MUST_USE;
/* Any definition with external linkage, data too. NULL: none. */
const void *bt__code_data(const bt_code *, const char *name);

/* The functions that are always there: memcpy, ... NULL: it is none of them. */
const bt_function *bt__code_common(const char *name);

/* ---- code_map_posix.c ---- */

/* Memory for code: pages at `base` that become executable, constant and writable in the
 * order of BT__ELF_..., filled through `write` until they are sealed. */
typedef struct bt__mapping {
    unsigned char *base, *write;
    size_t nbytes, nwrite;
    size_t start[BT__ELF_NSEGMENT], end[BT__ELF_NSEGMENT]; /* rounded to pages */
    int file;
} bt__mapping;

/* errors BT_ERR_LIMIT, BT_ERR_IO. On failure nothing is mapped. */
bt_status bt__mapping_create(bt_ctx *, const size_t nbytes[BT__ELF_NSEGMENT],
                             bt__mapping *out) BT_MUST_USE;
/* Gives each part its rights; nothing can be written through `write` any more. On failure
 * nothing is mapped. */
bt_status bt__mapping_seal(bt_ctx *, bt__mapping *) BT_MUST_USE;
void bt__mapping_destroy(bt__mapping *);

#endif
