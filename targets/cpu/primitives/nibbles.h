/*
 * Rows by columns of weights of 4 bits, of which every BLOCK terms have a scale:
 *
 *     W[k, c] = (Q[k, c] - Z[k / BLOCK, c]) * S[k / BLOCK, c]      Q in -8..7; no Z: 0
 *     Y[r, c] = sum(k: 2^24 * X[r, k] * W[k, c])
 *
 * Weights lie in panels of 16 columns, and in a panel as 16 words for each 8 terms, term j of which
 * is bits [4 * j, 4 * j + 4) of a word; scales and zero points as 16 floats for each block. So they
 * are read from one end to the other, once for all rows. X is as much less as codes are more where
 * they are the highest byte of an integer.
 *
 * Of a block the sum of its even terms and that of its odd ones are made in their order, with one
 * rounding for each term; both together, times the scale, are added to Y. All instruction sets give
 * the same bits.
 */
#ifndef CPU_NIBBLES_H
#define CPU_NIBBLES_H

enum {
    CPU_NIBBLES_WIDTH = 16,
    CPU_NIBBLES_WORD = 8
}; /* columns of a panel, terms of a word */
#define CPU_NIBBLES_MORE 0x1p24f

enum {
    CPU_NIBBLES_Y,
    CPU_NIBBLES_X, /* row by row */
    CPU_NIBBLES_Q,
    CPU_NIBBLES_S,
    CPU_NIBBLES_Z, /* anything where HAS_ZEROS is 0 */
    CPU_NIBBLES_NPOINTER
};
enum {
    CPU_NIBBLES_ROWS,
    CPU_NIBBLES_COLUMNS, /* the last panel may have less of them */
    CPU_NIBBLES_DEPTH,   /* terms: whole words, as BLOCK */
    CPU_NIBBLES_BLOCK,   /* the last block may be shorter */
    CPU_NIBBLES_Y_ROW,
    CPU_NIBBLES_HAS_ZEROS,
    CPU_NIBBLES_NINT
};

#endif
