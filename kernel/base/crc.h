/* Checksums of zip files and of artifacts. */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 with the reflected polynomial 0xedb88320: of zip files. */
uint32_t bt__crc32(const void *bytes, size_t nbytes);
/* CRC-32C, reflected polynomial 0x82f63b78, of bytes that follow those whose checksum is
 * `crc`; 0 to begin. By the processor's instruction where it has one. */
uint32_t bt__crc32c(uint32_t crc, const void *bytes, size_t nbytes);
/* The same by tables, on any processor. */
uint32_t bt__crc32c_tables(uint32_t crc, const void *bytes, size_t nbytes);

#endif
