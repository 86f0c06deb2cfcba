/* CRC-32, eight bytes a step: table[k][b] is what byte b contributes k bytes before the
 * end of the step. The tables are made on each call, which costs as much as a few
 * kilobytes of data. */
#include "value/crc32.h"

enum { STEP = 8 };

static void make_tables(uint32_t table[STEP][256])
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        table[0][b] = crc;
    }
    for (uint32_t k = 1; k < STEP; k++) {
        for (uint32_t b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
    }
}

uint32_t bt__crc32(const void *bytes, size_t nbytes)
{
    const unsigned char *at = bytes;
    uint32_t table[STEP][256], crc = UINT32_MAX;
    make_tables(table);
    for (; nbytes >= STEP; at += STEP, nbytes -= STEP) {
        uint32_t first = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 |
                                (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        crc = table[7][first & 0xff] ^ table[6][first >> 8 & 0xff] ^
              table[5][first >> 16 & 0xff] ^ table[4][first >> 24];
        for (uint32_t k = 4; k < STEP; k++)
            crc ^= table[STEP - 1 - k][at[k]];
    }
    for (; nbytes; at++, nbytes--)
        crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xff];
    return ~crc;
}
