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
/* Writes all of it to an open file. 0: errno says why not. */
int bt__file_write_all(int fd, const void *bytes, size_t nbytes);

#endif
