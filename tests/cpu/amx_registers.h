/* Registers of AMX as the processor's manual says (Intel SDM, TDPBF16PS, TDPBUSD,
 * TDPBSUD), and tiles by these: run_pairs_amx and its
 * like of primitives/tile_amx.h. */
#ifndef CPU_AMX_REGISTERS_H
#define CPU_AMX_REGISTERS_H

#include "primitives/tile.h"
#include "primitives/tile_block.h"
#include "primitives/vectors.h"
#include "test.h"

#include <math.h>

static float flushed(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static float of_half(uint32_t half)
{
    const uint32_t bits = half << 16;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return flushed(x);
}

struct shape {
    int64_t nbytes, rows;
};
static struct {
    struct shape shapes[8];
    unsigned char at[8][16][64];
    int is_configured;
} amx;

/* C += A * B of 16 pairs or fewer: terms of even and of odd number apart. */
static float add_products(float c, const uint32_t *a, int64_t a_step, const uint32_t *b,
                          int64_t b_step, int64_t n)
{
    float even = 0, odd = 0;
    for (int64_t k = 0; k < n; k++) {
        const uint32_t x = a[k * a_step], y = b[k * b_step];
        even = flushed(fmaf(of_half(x & 0xffff), of_half(y & 0xffff), even));
        odd = flushed(fmaf(of_half(x >> 16), of_half(y >> 16), odd));
    }
    return flushed(c + flushed(even + odd));
}

/* Quads, of either factor with a sign or without one. */
static uint32_t add_quads(uint32_t c, uint32_t a, int is_a_signed, uint32_t b)
{
    for (int t = 0; t < 4; t++, a >>= 8, b >>= 8)
        c += is_a_signed ? (uint32_t)((int8_t)a * (uint8_t)b)
                         : (uint32_t)((uint8_t)a * (int8_t)b);
    return c;
}

enum { OF_PAIRS = 2 }; /* else whether A of quads has a sign */

static void amx_dot(int c, int a, int b, int kind)
{
    const struct shape *s = amx.shapes;
    assert_true(amx.is_configured && s[c].rows == s[a].rows &&
                s[c].nbytes == s[b].nbytes && s[a].nbytes == 4 * s[b].rows);
    for (int64_t i = 0; i < s[c].rows; i++) {
        for (int64_t j = 0; j < s[c].nbytes / 4; j++) {
            float sum;
            uint32_t rows[16], columns[16];
            memcpy(rows, amx.at[a][i], sizeof(rows));
            for (int64_t k = 0; k < s[b].rows; k++)
                memcpy(&columns[k], amx.at[b][k] + 4 * j, 4);
            for (int64_t k = 0; kind != OF_PAIRS && k < s[b].rows; k++) {
                uint32_t bits;
                memcpy(&bits, amx.at[c][i] + 4 * j, 4);
                bits = add_quads(bits, rows[k], kind, columns[k]);
                memcpy(amx.at[c][i] + 4 * j, &bits, 4);
            }
            if (kind != OF_PAIRS)
                continue;
            memcpy(&sum, amx.at[c][i] + 4 * j, 4);
            sum = add_products(sum, rows, 1, columns, 1, s[b].rows);
            memcpy(amx.at[c][i] + 4 * j, &sum, 4);
        }
    }
}

static void amx_move(int t, unsigned char *at, int64_t stride, int is_store)
{
    assert_true(amx.is_configured && amx.shapes[t].rows > 0);
    for (int64_t i = 0; i < amx.shapes[t].rows; i++) {
        const size_t nbytes = (size_t)amx.shapes[t].nbytes;
        if (is_store)
            memcpy(at + i * stride, amx.at[t][i], nbytes);
        else
            memcpy(amx.at[t][i], at + i * stride, nbytes);
    }
}

#define AMX_CONFIGURE(config)                                                            \
    do {                                                                                 \
        amx.is_configured = (config)->palette == 1;                                      \
        memset(amx.at, 0, sizeof(amx.at));                                               \
        for (int t_ = 0; t_ < 8; t_++)                                                   \
            amx.shapes[t_] = (struct shape){ (config)->nbytes[t_], (config)->rows[t_] }; \
    } while (0)
#define AMX_RELEASE()            (amx.is_configured = 0)
#define AMX_ZERO(t)              memset(amx.at[t], 0, sizeof(amx.at[t]))
#define AMX_LOAD(t, at, stride)  amx_move(t, (unsigned char *)(uintptr_t)(at), stride, 0)
#define AMX_STORE(t, at, stride) amx_move(t, (unsigned char *)(at), stride, 1)
#define AMX_DOT(c, a, b)         amx_dot(c, a, b, OF_PAIRS)
#define AMX_DOT_US(c, a, b)      amx_dot(c, a, b, 0)
#define AMX_DOT_SU(c, a, b)      amx_dot(c, a, b, 1)
#include "primitives/tile_amx.h"

#endif
