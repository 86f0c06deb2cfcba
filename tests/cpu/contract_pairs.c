/* Contractions of pairs of bfloat16: what their schedules compute is what the evaluator does. */
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sums_of_pairs),
};
TEST_MAIN(tests)
