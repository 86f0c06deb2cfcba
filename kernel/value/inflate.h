/* Deflated bytes (RFC 1951), by zlib where Baton was built with it. */
#ifndef VALUE_INFLATE_H
#define VALUE_INFLATE_H

#include <baton/base.h>

/* No deflated bytes stand for more than this many times as many. */
#define BT__INFLATE_MOST 1032u

enum {
    BT__INFLATE_OK,
    BT__INFLATE_DAMAGED, /* or they stand for another number of bytes */
    BT__INFLATE_MEMORY,
    BT__INFLATE_ABSENT /* built without zlib */
};
uint32_t bt__inflate(bt_registry *, const void *packed, size_t npacked, void *out,
                     size_t nbytes);

#endif
