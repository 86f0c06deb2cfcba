/* The checksum of zip files. */
#ifndef VALUE_CRC32_H
#define VALUE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 with the reflected polynomial 0xedb88320. */
uint32_t bt__crc32(const void *bytes, size_t nbytes);

#endif
