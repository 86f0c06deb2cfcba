/* Checksums by tables, eight bytes a step: table[k][b] is what byte b contributes k bytes
 * before the end of the step. The tables are made on each call, which costs as much as a
 * few kilobytes of data. */
#include "base/crc.h"

#include <string.h>

enum { STEP = 8 };
static const uint32_t zip_polynomial = 0xedb88320u, castagnoli = 0x82f63b78u;

static void make_tables(uint32_t polynomial, uint32_t table[STEP][256])
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
        table[0][b] = crc;
    }
    for (uint32_t k = 1; k < STEP; k++) {
        for (uint32_t b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
    }
}

static uint32_t by_tables(uint32_t polynomial, uint32_t crc, const void *bytes,
                          size_t nbytes)
{
    const unsigned char *at = bytes;
    uint32_t table[STEP][256];
    make_tables(polynomial, table);
    crc = ~crc;
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

uint32_t bt__crc32(const void *bytes, size_t nbytes)
{
    return by_tables(zip_polynomial, 0, bytes, nbytes);
}

uint32_t bt__crc32c_tables(uint32_t crc, const void *bytes, size_t nbytes)
{
    return by_tables(castagnoli, crc, bytes, nbytes);
}

#if defined(__x86_64__) && defined(__GNUC__)

/* An instruction waits for the one before: three runs of bytes side by side take as long as one.
 * What a checksum becomes by the zeros of a run is linear: shift[i] is that of bit i. */
enum { RUN = 1 << 16, NRUN = 3, RUN_BITS_LOG2 = 19 };

static uint32_t times(const uint32_t *shift, uint32_t crc)
{
    uint32_t sum = 0;
    for (int i = 0; i < 32; i++)
        sum ^= crc >> i & 1 ? shift[i] : 0;
    return sum;
}

static void make_shift(uint32_t *shift)
{
    uint32_t twice[32];
    shift[0] = castagnoli; // by one bit
    for (int i = 1; i < 32; i++)
        shift[i] = 1U << (i - 1);
    for (int n = 0; n < RUN_BITS_LOG2; n++) {
        for (int i = 0; i < 32; i++)
            twice[i] = times(shift, shift[i]);
        memcpy(shift, twice, sizeof(twice));
    }
}

__attribute__((target("sse4.2"))) static uint64_t
three_runs(uint64_t wide, const unsigned char *at, const uint32_t *shift)
{
    uint64_t first = wide, second = 0, third = 0, words[NRUN];
    for (size_t i = 0; i < RUN; i += sizeof(*words)) {
        memcpy(&words[0], at + i, sizeof(*words));
        memcpy(&words[1], at + RUN + i, sizeof(*words));
        memcpy(&words[2], at + 2 * RUN + i, sizeof(*words));
        first = __builtin_ia32_crc32di(first, words[0]);
        second = __builtin_ia32_crc32di(second, words[1]);
        third = __builtin_ia32_crc32di(third, words[2]);
    }
    second ^= times(shift, (uint32_t)first);
    return third ^ times(shift, (uint32_t)second);
}

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t crc, const void *bytes, size_t nbytes)
{
    const unsigned char *at = bytes;
    uint64_t wide = ~crc, word;
    uint32_t shift[32];
    if (nbytes >= NRUN * RUN)
        make_shift(shift);
    for (; nbytes >= NRUN * RUN; at += NRUN * RUN, nbytes -= NRUN * RUN)
        wide = three_runs(wide, at, shift);
    for (; nbytes >= sizeof(word); at += sizeof(word), nbytes -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; nbytes; at++, nbytes--)
        crc = __builtin_ia32_crc32qi(crc, *at);
    return ~crc;
}

uint32_t bt__crc32c(uint32_t crc, const void *bytes, size_t nbytes)
{
    return __builtin_cpu_supports("sse4.2") ? by_instruction(crc, bytes, nbytes)
                                            : bt__crc32c_tables(crc, bytes, nbytes);
}

#else

uint32_t bt__crc32c(uint32_t crc, const void *bytes, size_t nbytes)
{
    return bt__crc32c_tables(crc, bytes, nbytes);
}

#endif
