/* Files in pieces. */
#ifndef VALUE_FILE_H
#define VALUE_FILE_H

#include <baton/value.h>

typedef struct bt__file_part {
    const void *bytes;
    size_t nbytes;
} bt__file_part;

/* Of a stream whose format states no size, such as a text: one without an end is told
 * from it in less than a second. */
#define BT__STREAM_NBYTES ((uint64_t)1 << 28)
/* How many bytes a stream that begins so may have; 0: no more are wanted, and what was
 * read is all of it. */
typedef uint64_t bt__file_most_fn(bt_ctx *, const bt_file *begun);
/* bt_file_read, where `most` is asked of what is no regular file, and has 64 KiB or
 * more. */
bt_status bt__file_read_asking(bt_ctx *, const char *path, bt__file_most_fn *most,
                               bt_file **out) BT_MUST_USE;

/* An open regular file, mapped whatever its size; the descriptor stays open. */
bt_status bt__file_map(bt_ctx *, const char *path, int fd, size_t nbytes,
                       bt_file **out) BT_MUST_USE;

/* BT_ERR_IO of the file: `what`, and the reason of errno. */
bt_status bt__fail_errno(bt_ctx *, const char *path, const char *what) BT_FAILURE;

/* The size of a file by its npy header; 0: it has none. */
uint64_t bt__npy_nbytes(bt_ctx *, const void *begun, size_t nbytes);

/* Looks at a file that is written and has another name still; what it refuses goes away, and
 * the file that was there before stays. */
typedef bt_status bt__file_check_fn(bt_ctx *, const char *written, const void *self);
/* bt_file_write of these parts, one after the other. check: NULL for none; devices and
 * pipes have none. */
bt_status bt__file_write_parts(bt_ctx *, const char *path, uint32_t npart,
                               const bt__file_part *, bt__file_check_fn *check,
                               const void *self) BT_MUST_USE;
/* Writes all of it to an open file. 0: errno says why not. */
int bt__file_write_all(int fd, const void *bytes, size_t nbytes);

#endif
