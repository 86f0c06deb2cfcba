/* Files in pieces. */
#ifndef VALUE_FILE_H
#define VALUE_FILE_H

#include <baton/value.h>

typedef struct bt__file_part {
    const void *bytes;
    size_t nbytes;
} bt__file_part;

/* bt_file_write of these parts, one after the other. */
bt_status bt__file_write_parts(bt_ctx *, const char *path, uint32_t npart,
                               const bt__file_part *) BT_MUST_USE;

#endif
