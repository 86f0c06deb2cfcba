/*
 * Windows over planes: of a square of SIDE places each, 2 or 3, what it comes to, by steps of 1 or
 * 2 along both axes. Of each of PLANES:
 *
 *     H[r, c] = R(j in SIDE: X[r, LEFT + STEP * c + j])
 *     Y[r, c] = R(i in SIDE: H[TOP + STEP * r + i, c]) / D[r, c]
 *
 * where R is sum or max, which take what is outside of X for 0 or -inf. Rows are reduced first, so
 * that each is once for all windows that it is in: a sum has that order on every instruction set,
 * however planes and rows are cut into calls. There is a divisor where D_ROW is not 0.
 *
 * The adjoint of maxima, of any window: what comes in at a place of the result goes to the first place
 * of its window in X that is the maximum, or not a number. Of each of PLANES:
 *
 *     G[TOP + STEP_Y * r + i, LEFT + STEP_X * c + j] += D[r, c]    the first i, j in SIDE_Y, SIDE_X where
 *                                                                  X is there Y[r, c], or not a number
 *
 * in the order of r and c, from 0; where windows have no place in common, it is D[r, c] itself.
 */
#ifndef CPU_PLANES_H
#define CPU_PLANES_H

enum { CPU_PLANES_Y, CPU_PLANES_X, CPU_PLANES_D, CPU_PLANES_NPOINTER };
enum {
    CPU_PLANES_PLANES,
    CPU_PLANES_ROWS, /* of the result */
    CPU_PLANES_COLUMNS,
    CPU_PLANES_SIDE,
    CPU_PLANES_STEP,
    CPU_PLANES_Y_PLANE, /* strides count elements */
    CPU_PLANES_Y_ROW,
    CPU_PLANES_X_PLANE,
    CPU_PLANES_X_ROW,
    CPU_PLANES_D_ROW,
    CPU_PLANES_HEIGHT, /* of X */
    CPU_PLANES_WIDTH,
    CPU_PLANES_TOP, /* may be outside, as LEFT */
    CPU_PLANES_LEFT,
    CPU_PLANES_NINT
};

enum { CPU_FIRST_G, CPU_FIRST_X, CPU_FIRST_Y, CPU_FIRST_D, CPU_FIRST_NPOINTER };
enum {
    CPU_FIRST_PLANES,
    CPU_FIRST_ROWS, /* of Y and D */
    CPU_FIRST_COLUMNS,
    CPU_FIRST_SIDE_Y,
    CPU_FIRST_SIDE_X,
    CPU_FIRST_STEP_Y,
    CPU_FIRST_STEP_X,
    CPU_FIRST_G_PLANE,
    CPU_FIRST_G_ROW,
    CPU_FIRST_X_PLANE,
    CPU_FIRST_X_ROW,
    CPU_FIRST_Y_PLANE, /* also of D */
    CPU_FIRST_Y_ROW,
    CPU_FIRST_HEIGHT, /* of X and G */
    CPU_FIRST_WIDTH,
    CPU_FIRST_TOP, /* may be outside, as LEFT */
    CPU_FIRST_LEFT,
    CPU_FIRST_NINT
};

#endif
