/* Contractions of pairs of bfloat16 or int16: what their schedules compute is what the evaluator
 * does. */
#include "contract_check.h"

/* The numbers are some of these too, so that no sum is rounded. */
static void test_sums_of_pairs(void **state)
{
    (void)state;
    static const struct contraction all[] = {
        // rows of a constant by an image, by neighbours and by steps, odd numbers of channels
        { .inputs = { { "x", "t[b, c, h, g]", BT_FLOAT32, 4, { 2, 33, 9, 35 } },
                      { "w", "t[o, c]", BT_FLOAT32, 2, { 117, 33 } },
                      { "d", "t[o]", BT_FLOAT32, 1, { 117 } } },
          .text = "y: t[b, o, p in 9, q in 35] = max(sum(c: x[b, c, p, q] * w[o, c]) + "
                  "d[o], 0)",
          .is_constant = { 0, 1 },
          .has_pairs = 1 },
        { .inputs = { { "x", "t[b, c, h, g]", BT_FLOAT32, 4, { 1, 48, 12, 40 } },
                      { "w", "t[o, c, u, v]", BT_FLOAT32, 4, { 71, 48, 3, 5 } } },
          .text = "y: t[b, o, p in 12, q in 40] = sum(c, r in 3, s in 5: x[b, c, p + r - "
                  "1, q + s - 2] * w[o, c, r, s] else 0)",
          .is_constant = { 0, 1 },
          .has_pairs = 1 },
        { .inputs = { { "x", "t[b, c, h, g]", BT_FLOAT32, 4, { 1, 63, 15, 70 } },
                      { "w", "t[o, c, u, v]", BT_FLOAT32, 4, { 100, 63, 3, 3 } },
                      { "d", "t[o]", BT_FLOAT32, 1, { 100 } } },
          .text =
              "y: t[b, o, p in 8, q in 35] = sum(c, r in 3, s in 3: x[b, c, 2 * p + r "
              "- 1, 2 * q + s - 1] * w[o, c, r, s] else 0) + d[o]",
          .is_constant = { 0, 1 },
          .has_pairs = 1 },
        // few places, so that they are rows of tiles
        { .inputs = { { "x", "t[b, c, h, g]", BT_FLOAT32, 4, { 1, 65, 7, 7 } },
                      { "w", "t[o, c, u, v]", BT_FLOAT32, 4, { 170, 65, 3, 3 } },
                      { "d", "t[o]", BT_FLOAT32, 1, { 170 } } },
          .text = "y: t[b, o, p in 4, q in 4] = max(sum(c, r in 3, s in 3: x[b, c, 2 * p "
                  "+ r - 1, 2 * q + s - 1] * w[o, c, r, s] else 0) + d[o], 0)",
          .is_constant = { 0, 1 },
          .has_pairs = 1 },
        // so many that products by AMX of two halves take less time, too
        { .inputs = { { "x", "t[b, c, h, g]", BT_FLOAT32, 4, { 1, 96, 9, 35 } },
                      { "w", "t[o, c]", BT_FLOAT32, 2, { 250, 96 } },
                      { "d", "t[o]", BT_FLOAT32, 1, { 250 } } },
          .text = "y: t[b, o, p in 9, q in 35] = max(sum(c: x[b, c, p, q] * w[o, c]) + "
                  "d[o], 0)",
          .is_constant = { 0, 1 },
          .has_pairs = 2 },
        { .inputs = { { "x", "t[b, c, h, g]", BT_FLOAT32, 4, { 2, 60, 9, 19 } },
                      { "w", "t[o, c, u, v]", BT_FLOAT32, 4, { 130, 60, 3, 5 } } },
          .text = "y: t[b, o, p in 9, q in 19] = sum(c, r in 3, s in 5: x[b, c, p + r - "
                  "1, q + s - 2] * w[o, c, r, s] else 0) * 2",
          .is_constant = { 0, 1 },
          .has_pairs = 2 },
        { .inputs = { { "x", "t[b, c, h, g]", BT_FLOAT32, 4, { 1, 64, 23, 37 } },
                      { "w", "t[o, c, u, v]", BT_FLOAT32, 4, { 120, 64, 3, 3 } },
                      { "d", "t[o]", BT_FLOAT32, 1, { 120 } } },
          .text = "y: t[b, o, p in 12, q in 19] = max(sum(c, r in 3, s in 3: x[b, c, 2 * "
                  "p + r - 1, 2 * q + s - 1] * w[o, c, r, s] else 0) + d[o], 0)",
          .is_constant = { 0, 1 },
          .has_pairs = 2 },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 150, 200 } },
                      { "b", "t[n, k]", BT_FLOAT32, 2, { 145, 200 } },
                      { "c", "t[n]", BT_FLOAT32, 1, { 145 } } },
          .text = "y: t[m, n] = max(sum(k: a[m, k] * b[n, k]) + c[n], 0)",
          .is_constant = { 0, 1 },
          .has_pairs = 2 },
        // rows that would be a page apart
        { .inputs = { { "x", "t[b, c, h, g]", BT_FLOAT32, 4, { 1, 2048, 3, 33 } },
                      { "w", "t[o, c]", BT_FLOAT32, 2, { 90, 2048 } } },
          .text = "y: t[b, o, p in 3, q in 33] = sum(c: x[b, c, p, q] * w[o, c])",
          .is_constant = { 0, 1 },
          .has_pairs = 1 },
        // products of matrices, either one a constant, given turned and as they are
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 129, 71 } },
                      { "b", "t[n, k]", BT_FLOAT32, 2, { 145, 71 } },
                      { "c", "t[n]", BT_FLOAT32, 1, { 145 } } },
          .text = "y: t[m, n] = max(sum(k: a[m, k] * b[n, k]) + c[n], 0)",
          .is_constant = { 0, 1 },
          .has_pairs = 1 },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 129, 70 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 70, 145 } } },
          .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n])",
          .is_constant = { 0, 1 },
          .has_pairs = 1 },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 129, 71 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 71, 145 } } },
          .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n])",
          .is_constant = { 1, 0 },
          .has_pairs = 1 },
        // one row
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 1, 701 } },
                      { "b", "t[n, k]", BT_FLOAT32, 2, { 145, 701 } },
                      { "c", "t[n]", BT_FLOAT32, 1, { 145 } } },
          .text = "y: t[m, n] = max(sum(k: a[m, k] * b[n, k]) + c[n], 0)",
          .is_constant = { 0, 1 },
          .has_pairs = 1 },
        // neither is a constant; a dim that is no axis of its own; too few terms
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 129, 71 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 71, 145 } } },
          .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n])" },
        { .inputs = { { "x", "t[c, h]", BT_FLOAT32, 2, { 1, 300 } },
                      { "w", "t[o, c, u]", BT_FLOAT32, 3, { 40, 1, 9 } } },
          .text = "y: t[o, p in 292] = sum(c, r in 9: x[c, p + r] * w[o, c, r])",
          .is_constant = { 0, 1 } },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check_contraction(&all[i]);
    if (cpu_isa_of_machine() < CPU_ISA_AVX512BF16)
        print_message("this machine has no products of pairs of bfloat16\n");
}

/* Codes with zero points and without, as formulas say it and as stages before them do. */
static void test_sums_of_codes(void **state)
{
    (void)state;
    static const struct contraction all[] = {
        { .inputs = { { "x", "t[b, c, h, g]", BT_UINT8, 4, { 2, 33, 9, 35 } },
                      { "w", "u[o, c]", BT_INT8, 2, { 117, 33 } } },
          .text = "y: int32[b, o, p in 9, q in 35] = sum(c: (int32(x[b, c, p, q]) - 5) * "
                  "int32(w[o, c]))",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        { .inputs = { { "x", "t[b, c, h, g]", BT_UINT8, 4, { 1, 7, 12, 40 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 31, 7, 3, 5 } },
                      { "d", "v[o]", BT_INT32, 1, { 31 } } },
          .text = "y: int32[b, o, p in 12, q in 40] = sum(c, r in 3, s in 5: (int32(x[b, "
                  "c, p + r - 1, q + s - 2]) - 128) * (int32(w[o, c, r, s]) - 3) else 0) "
                  "+ d[o]",
          .is_constant = { 0, 1 },
          .has_shorts = 1 },
        // by steps, to 8 bits
        { .inputs = { { "x", "t[b, c, h, g]", BT_INT8, 4, { 1, 3, 15, 70 } },
                      { "w", "t[o, c, u, v]", BT_INT8, 4, { 20, 3, 7, 7 } },
                      { "f", "v[o]", BT_FLOAT32, 1, { 20 } } },
          .text = "z: int16[b, c, h, g] = int16(x[b, c, h, g]) + 7;"
                  "y: uint8[b, o, p in 8, q in 35] = uint8(clamp(round_even(float32("
                  "sum(c, r in 7, s in 7: int32(z[b, c, 2 * p + r - 3, 2 * q + s - 3]) * "
                  "int32(w[o, c, r, s]) else 0)) * f[o]), 0, 255))",
          .is_constant = { 0, 1 },
          .has_shorts = 1 },
        // few places, so that they are rows of tiles; zero points by channel
        { .inputs = { { "x", "t[b, c, h, g]", BT_UINT8, 4, { 1, 65, 7, 7 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 70, 65, 3, 3 } },
                      { "z", "u[o]", BT_INT8, 1, { 70 } } },
          .text =
              "y: int32[b, o, p in 4, q in 4] = sum(c, r in 3, s in 3: (int32(x[b, c, "
              "2 * p + r - 1, 2 * q + s - 1]) - 255) * (int32(w[o, c, r, s]) - "
              "int32(z[o])) else 0)",
          .is_constant = { 0, 1, 1 },
          .has_shorts = 1 },
        // the same of several images, and along one axis, pairs of which lie behind all places then
        { .inputs = { { "x", "t[b, c, h, g]", BT_UINT8, 4, { 2, 33, 7, 7 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 70, 33, 3, 3 } },
                      { "d", "v[o]", BT_INT32, 1, { 70 } } },
          .text =
              "y: int32[b, o, p in 7, q in 7] = sum(c, r in 3, s in 3: (int32(x[b, c, "
              "p + r - 1, q + s - 1]) - 9) * int32(w[o, c, r, s]) else 0) + d[o]",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        { .inputs = { { "x", "t[b, c, h]", BT_INT8, 3, { 2, 34, 11 } },
                      { "w", "u[o, c, u]", BT_INT8, 3, { 48, 34, 3 } } },
          .text = "y: int32[b, o, p in 5] = sum(c, r in 3: int32(x[b, c, 2 * p + r]) * "
                  "int32(w[o, c, r]))",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        // products of matrices, either one a constant or none
        { .inputs = { { "a", "t[m, k]", BT_UINT8, 2, { 29, 71 } },
                      { "b", "u[n, k]", BT_UINT8, 2, { 45, 71 } } },
          .text = "y: int32[m, n] = sum(k: (int32(a[m, k]) - 9) * (int32(b[n, k]) - 7))",
          .is_constant = { 0, 1 },
          .has_shorts = 1 },
        { .inputs = { { "a", "t[m, k]", BT_UINT8, 2, { 29, 70 } },
                      { "b", "u[k, n]", BT_INT8, 2, { 70, 45 } } },
          .text = "y: int32[m, n] = sum(k: (int32(a[m, k]) - 9) * int32(b[k, n]))",
          .has_shorts = 1 },
        { .inputs = { { "a", "t[m, k]", BT_INT16, 2, { 29, 71 } },
                      { "b", "t[k, n]", BT_INT16, 2, { 71, 45 } } },
          .text = "y: int32[m, n] = sum(k: int32(a[m, k]) * int32(b[k, n]))",
          .is_constant = { 1, 0 },
          .has_shorts = 1 },
        // one row
        { .inputs = { { "a", "t[m, k]", BT_UINT8, 2, { 1, 701 } },
                      { "b", "u[n, k]", BT_INT8, 2, { 145, 701 } },
                      { "c", "v[n]", BT_INT32, 1, { 145 } } },
          .text = "y: int32[m, n] = sum(k: (int32(a[m, k]) - 1) * int32(b[n, k])) + c[n]",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        // by quads: so many terms that AMX has whole steps; without a sign, with one; codes around
        { .inputs = { { "x", "t[b, c, h, g]", BT_UINT8, 4, { 1, 128, 9, 33 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 40, 128, 3, 3 } },
                      { "f", "v[o]", BT_FLOAT32, 1, { 40 } } },
          .text = "y: uint8[b, o, p in 9, q in 33] = uint8(clamp(round_even(float32("
                  "sum(c, r in 3, s in 3: (int32(x[b, c, p + r - 1, q + s - 1]) - 255) * "
                  "int32(w[o, c, r, s]) else 0)) * f[o]), 0, 255))",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        { .inputs = { { "x", "t[b, c, h, g]", BT_INT8, 4, { 2, 67, 9, 9 } },
                      { "w", "u[o, c, u, v]", BT_UINT8, 4, { 33, 67, 3, 3 } } },
          .text =
              "y: int32[b, o, p in 5, q in 5] = sum(c, r in 3, s in 3: (int32(x[b, c, "
              "2 * p + r - 1, 2 * q + s - 1]) - 127) * (int32(w[o, c, r, s]) - 128) "
              "else 0)",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        { .inputs = { { "a", "t[m, k]", BT_INT8, 2, { 29, 64 } },
                      { "b", "u[k, n]", BT_INT8, 2, { 64, 45 } } },
          .text =
              "y: int32[m, n] = sum(k: (int32(a[m, k]) - (0 - 128)) * int32(b[k, n]))",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        { .inputs = { { "a", "t[m, k]", BT_UINT8, 2, { 1, 70 } },
                      { "b", "u[n, k]", BT_UINT8, 2, { 45, 70 } } },
          .text =
              "y: int32[m, n] = sum(k: (int32(a[m, k]) - 3) * (int32(b[n, k]) - 128))",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        { .inputs = { { "a", "t[m, k]", BT_INT8, 2, { 70, 70 } },
                      { "b", "u[k, n]", BT_UINT8, 2, { 70, 45 } } },
          .text = "y: int32[m, n] = sum(k: int32(a[m, k]) * int32(b[k, n]))",
          .is_constant = { 1, 0 },
          .has_shorts = 2 },
        // to codes that tiles make: of rows or of columns, with gaps between and without, a zero point, a bias
        { .inputs = { { "x", "t[b, c, h, g]", BT_UINT8, 4, { 2, 64, 6, 41 } },
                      { "w", "u[o, c]", BT_INT8, 2, { 37, 64 } },
                      { "f", "v[o]", BT_FLOAT32, 1, { 37 } },
                      { "d", "s[o]", BT_INT32, 1, { 37 } } },
          .text = "y: int8[b, o, p in 6, q in 41] = int8(int32(clamp(round_even(float32("
                  "sum(c: (int32(x[b, c, p, q]) - 3) * int32(w[o, c])) + d[o]) * f[o]), "
                  "-100, 90)) + 5)",
          .is_constant = { 0, 1, 1, 1 },
          .has_shorts = 2 },
        { .inputs = { { "x", "t[b, c, h, g]", BT_INT8, 4, { 1, 40, 19, 19 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 70, 40, 3, 3 } },
                      { "f", "v[o]", BT_FLOAT32, 1, { 70 } },
                      { "d", "s[o]", BT_INT32, 1, { 70 } } },
          .text =
              "y: uint8[b, o, p in 19, q in 19] = uint8(int32(clamp(round_even("
              "float32(sum(c, r in 3, s in 3: (int32(x[b, c, p + r - 1, q + s - 1]) - "
              "7) * int32(w[o, c, r, s]) else 0) + d[o]) * (f[o] / 4)), -120, 130)) + "
              "121)",
          .is_constant = { 0, 1, 1, 1 },
          .has_shorts = 2 },
        { .inputs = { { "a", "t[m, k]", BT_UINT8, 2, { 67, 130 } },
                      { "b", "u[n, k]", BT_INT8, 2, { 45, 130 } },
                      { "f", "v[n]", BT_FLOAT32, 1, { 45 } },
                      { "d", "s[n]", BT_INT32, 1, { 45 } } },
          .text = "y: uint8[m, n] = uint8(int32(clamp(round_even(float32(sum(k: "
                  "(int32(a[m, k]) - 9) * int32(b[n, k])) + d[n]) * f[n]), -11, 244)) + "
                  "11)",
          .is_constant = { 0, 1, 1, 1 },
          .has_shorts = 2 },
        // by steps and of few places, so that codes are made of a block of sums
        { .inputs = { { "x", "t[b, c, h, g]", BT_UINT8, 4, { 2, 20, 15, 37 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 37, 20, 3, 3 } },
                      { "f", "v[o]", BT_FLOAT32, 1, { 37 } },
                      { "d", "s[o]", BT_INT32, 1, { 37 } } },
          .text =
              "y: uint8[b, o, p in 8, q in 19] = uint8(int32(clamp(round_even("
              "float32(sum(c, r in 3, s in 3: (int32(x[b, c, 2 * p + r - 1, 2 * q + s "
              "- 1]) - 7) * int32(w[o, c, r, s]) else 0) + d[o]) * f[o]), -12, 243)) "
              "+ 12)",
          .is_constant = { 0, 1, 1, 1 },
          .has_shorts = 2 },
        { .inputs = { { "x", "t[b, c, h, g]", BT_UINT8, 4, { 1, 128, 5, 5 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 70, 128, 3, 3 } },
                      { "f", "v[o]", BT_FLOAT32, 1, { 70 } } },
          .text = "y: int8[b, o, p in 5, q in 5] = int8(int32(clamp(round_even(float32("
                  "sum(c, r in 3, s in 3: (int32(x[b, c, p + r - 1, q + s - 1]) - 77) * "
                  "int32(w[o, c, r, s]) else 0)) * f[o]), -120, 120)) + 5)",
          .is_constant = { 0, 1, 1 },
          .has_shorts = 2 },
        // channels last: read where they lie, or as whole words of them; rows of places make one
        { .inputs = { { "x", "t[b, p, q, c]", BT_UINT8, 4, { 2, 5, 9, 68 } },
                      { "w", "u[o, c]", BT_INT8, 2, { 37, 68 } },
                      { "f", "v[o]", BT_FLOAT32, 1, { 37 } },
                      { "d", "s[o]", BT_INT32, 1, { 37 } } },
          .text = "y: uint8[b, p, q, o] = uint8(int32(clamp(round_even(float32(sum(c: "
                  "(int32(x[b, p, q, c]) - 3) * int32(w[o, c])) + d[o]) * f[o]), -11, "
                  "244)) + 11)",
          .is_constant = { 0, 1, 1, 1 },
          .has_shorts = 2 },
        { .inputs = { { "x", "t[b, h, g, c]", BT_UINT8, 4, { 2, 7, 7, 128 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 150, 128, 3, 3 } },
                      { "f", "v[o]", BT_FLOAT32, 1, { 150 } } },
          .text = "y: int8[b, p in 7, q in 7, o] = int8(int32(clamp(round_even(float32("
                  "sum(c, r in 3, s in 3: (int32(x[b, p + r - 1, q + s - 1, c]) - 9) * "
                  "int32(w[o, c, r, s]) else 0)) * f[o]), -120, 120)) + 5)",
          .is_constant = { 0, 1, 1 },
          .has_shorts = 2 },
        { .inputs = { { "x", "t[b, h, g, c]", BT_INT8, 4, { 1, 15, 23, 68 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 32, 68, 3, 3 } } },
          .text = "y: int32[b, p in 8, q in 12, o] = sum(c, r in 3, s in 3: (int32(x[b, 2 "
                  "* p + r - 1, 2 * q + s - 1, c]) - 7) * int32(w[o, c, r, s]) else 0)",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        { .inputs = { { "x", "t[b, h, g, c]", BT_INT8, 4, { 1, 13, 91, 3 } },
                      { "w", "u[o, c, u, v]", BT_INT8, 4, { 40, 3, 5, 5 } } },
          .text = "y: int32[b, p in 7, q in 46, o] = sum(c, r in 5, s in 5: (int32(x[b, 2 "
                  "* p + r - 2, 2 * q + s - 2, c]) - 7) * int32(w[o, c, r, s]) else 0)",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        // one factor for all: neither rows, which are several dims, nor columns have their own
        { .inputs = { { "x", "t[b, p, q, c]", BT_UINT8, 4, { 2, 3, 4, 8 } },
                      { "w", "u[o, c]", BT_INT8, 2, { 5, 8 } } },
          .text = "y: uint8[b, p, q, o] = uint8(int32(clamp(round_even(float32(sum(c: "
                  "(int32(x[b, p, q, c]) - 3) * int32(w[o, c]))) * 0.03125), -11, 244)) + "
                  "11)",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        { .inputs = { { "a", "t[m, k]", BT_UINT8, 2, { 9, 40 } },
                      { "b", "u[n, k]", BT_INT8, 2, { 5, 40 } } },
          .text = "y: uint8[m, n] = uint8(clamp(round_even(float32(sum(k: (int32(a[m, k]) "
                  "- 5) * int32(b[n, k]))) * 0.03125), 0, 255))",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        { .inputs = { { "x", "t[b, c, h, g]", BT_UINT8, 4, { 2, 64, 6, 6 } },
                      { "w", "u[o, c]", BT_INT8, 2, { 37, 64 } } },
          .text = "y: uint8[b, o, p in 6, q in 6] = uint8(clamp(round_even(float32(sum(c: "
                  "int32(x[b, c, p, q]) * int32(w[o, c]))) * 0.03125), 0, 255))",
          .is_constant = { 0, 1 },
          .has_shorts = 2 },
        // factors that are no numbers
        { .inputs = { { "a", "t[m, k]", BT_UINT8, 2, { 67, 132 } },
                      { "b", "u[n, k]", BT_INT8, 2, { 145, 132 } },
                      { "f", "v[n]", BT_FLOAT32, 1, { 145 } } },
          .text = "y: uint8[m, n] = uint8(int32(clamp(round_even(float32(sum(k: "
                  "int32(a[m, k]) * int32(b[n, k]))) * sqrt(f[n])), 0, 255)))",
          .is_constant = { 0, 1, 1 },
          .has_shorts = 2 },
        // so far from the codes that int16 does not hold the differences
        { .inputs = { { "a", "t[m, k]", BT_UINT8, 2, { 29, 70 } },
                      { "b", "u[k, n]", BT_INT8, 2, { 70, 45 } } },
          .text = "y: int32[m, n] = sum(k: (int32(a[m, k]) - 40000) * int32(b[k, n]))" },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check_contraction(&all[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sums_of_codes),
    cmocka_unit_test(test_sums_of_pairs),
};
TEST_MAIN(tests)
