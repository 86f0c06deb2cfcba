/*
 * Weights of 4 bits: the primitive gives the bits that its comment says on every instruction set and
 * touches nothing outside of its operands; schedules that call it compute what the evaluator does.
 */
#include "primitives/nibbles.h"
#include "schedule/contract.h"
#include "schedule/schedule.h"
#include "schedule/touch.h"

#include "contraction.h"
#include "guard.h"
#include "strip_run.h"

#include <math.h>

/* ---- the primitive ---- */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*seed * below >> 32);
}

enum { MAX_ROWS = 3, MAX_COLUMNS = 150, MAX_DEPTH = 136, APART = 5 };

struct room {
    struct guarded all[CPU_NIBBLES_NPOINTER];
    void *p[CPU_NIBBLES_NPOINTER];
};

static void fill(struct room *room, int which, int64_t nelem, uint32_t *seed)
{
    room->p[which] = room->all[which].end - nelem * 4;
    for (int64_t i = 0; i < nelem; i++) {
        float *at = (float *)room->p[which] + i;
        if (which == CPU_NIBBLES_Q)
            ((uint32_t *)room->p[which])[i] = draw(seed, 65536) << 16 | draw(seed, 65536);
        else
            *at = which == CPU_NIBBLES_Y   ? -77
                  : which == CPU_NIBBLES_Z ? (float)draw(seed, 16) - 8
                                           : ((float)draw(seed, 20001) / 777 - 12) *
                                                 (which == CPU_NIBBLES_X ? 0x1p-24F : 1);
    }
}

static float expected(const struct room *room, const int64_t *n, int64_t row,
                      int64_t column)
{
    const int64_t depth = n[CPU_NIBBLES_DEPTH], size = n[CPU_NIBBLES_BLOCK];
    const int64_t nblock = (depth + size - 1) / size;
    const int64_t panel = column / CPU_NIBBLES_WIDTH, lane = column % CPU_NIBBLES_WIDTH;
    float y = 0;
    for (int64_t b = 0; b < nblock; b++) {
        const int64_t at = (panel * nblock + b) * CPU_NIBBLES_WIDTH + lane;
        const float zero =
            n[CPU_NIBBLES_HAS_ZEROS] ? ((const float *)room->p[CPU_NIBBLES_Z])[at] : 0;
        float sums[2] = { 0, 0 };
        for (int64_t k = b * size; k < depth && k < (b + 1) * size; k++) {
            const uint32_t word =
                ((const uint32_t *)
                     room->p[CPU_NIBBLES_Q])[(panel * (depth / CPU_NIBBLES_WORD) +
                                              k / CPU_NIBBLES_WORD) *
                                                 CPU_NIBBLES_WIDTH +
                                             lane];
            const int code = (int)(word >> k % CPU_NIBBLES_WORD * 4 & 15);
            const float x = ((const float *)room->p[CPU_NIBBLES_X])[row * depth + k];
            sums[k % 2] = fmaf(x, ((float)(code > 7 ? code - 16 : code) - zero) * 0x1p24F,
                               sums[k % 2]);
        }
        y += (sums[0] + sums[1]) * ((const float *)room->p[CPU_NIBBLES_S])[at];
    }
    return y;
}

static void check_row(const struct cpu_callee *row, struct room *room, uint32_t *seed)
{
    const int64_t columns = 1 + draw(seed, MAX_COLUMNS), rows = 1 + draw(seed, MAX_ROWS);
    const int64_t depth = CPU_NIBBLES_WORD * (1 + draw(seed, MAX_DEPTH / 8));
    const int64_t size = CPU_NIBBLES_WORD * (1 + draw(seed, MAX_DEPTH / 8));
    const int64_t npanel = (columns + CPU_NIBBLES_WIDTH - 1) / CPU_NIBBLES_WIDTH;
    const int64_t nscale = npanel * CPU_NIBBLES_WIDTH * ((depth + size - 1) / size);
    const int64_t n[CPU_NIBBLES_NINT] = {
        [CPU_NIBBLES_ROWS] = rows,
        [CPU_NIBBLES_COLUMNS] = columns,
        [CPU_NIBBLES_DEPTH] = depth,
        [CPU_NIBBLES_BLOCK] = size,
        [CPU_NIBBLES_Y_ROW] = columns + APART,
        [CPU_NIBBLES_HAS_ZEROS] = draw(seed, 2),
    };
    fill(room, CPU_NIBBLES_Y, (rows - 1) * (columns + APART) + columns, seed);
    fill(room, CPU_NIBBLES_X, rows * depth, seed);
    fill(room, CPU_NIBBLES_Q, npanel * CPU_NIBBLES_WIDTH * depth / CPU_NIBBLES_WORD,
         seed);
    fill(room, CPU_NIBBLES_S, nscale, seed);
    fill(room, CPU_NIBBLES_Z, n[CPU_NIBBLES_HAS_ZEROS] ? nscale : 0, seed);
    assert_int_equal(row->run(room->p, n), 0);
    for (int64_t r = 0; r < rows; r++) {
        const float *y = (const float *)room->p[CPU_NIBBLES_Y] + r * n[CPU_NIBBLES_Y_ROW];
        for (int64_t c = 0; c < columns + (r < rows - 1 ? APART : 0); c++) {
            const float is = c < columns ? expected(room, n, r, c) : -77;
            if (memcmp(&y[c], &is, sizeof(is)) != 0)
                fail_msg(
                    "%lld x %lld of %lld terms in blocks of %lld: %lld %lld is %.9g, "
                    "not %.9g",
                    (long long)rows, (long long)columns, (long long)depth,
                    (long long)size, (long long)r, (long long)c, (double)y[c],
                    (double)is);
        }
    }
}

static void test_sums_have_the_same_bits_on_all_sets(void **state)
{
    (void)state;
    enum { NELEM = MAX_ROWS * (MAX_COLUMNS + APART + 16) * MAX_DEPTH };
    struct room room;
    uint32_t seed = 3;
    for (int i = 0; i < CPU_NIBBLES_NPOINTER; i++)
        room.all[i] = guarded_create(NELEM * sizeof(float));
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        const struct cpu_callee *row = cpu_callee_find(isa, "nibbles.float32");
        assert_non_null(row);
        for (int k = 0; k < 300; k++)
            check_row(row, &room, &seed);
    }
    for (int i = 0; i < CPU_NIBBLES_NPOINTER; i++)
        guarded_destroy(&room.all[i]);
}

/* ---- schedules ---- */

struct calls {
    struct strip_run run;
    uint32_t n; /* of rows by weights of 4 bits */
};

static bt_status run_call(void *self, const char *callee, uint32_t narg,
                          const struct call_value *args)
{
    struct calls *calls = self;
    calls->n += strcmp(callee, "nibbles.float32") == 0;
    return strip_call(&calls->run, callee, narg, args);
}

#define UNSIGNED "int32(bit_and(q[n, k], uint8(15)))"
#define SIGNED   "int32(shift_right(shift_left(int8(q[n, k]), int8(4)), int8(4)))"

struct product {
    int64_t rows, columns, depth, block;
    const char *weight; /* in terms of n and k */
    int is_open;        /* weights are no constant */
    int is_called;
    const char *behind; /* the sum */
};

/* What the program has of a constant is made once, when it is compiled: also of several, and by numbers
 * that strips take from memory. */
static void check_packing(struct world *w, struct formula *f, bt_tensor **in,
                          const struct cpu_config *config)
{
    bt_op op = formula_op(f);
    bt_compute *compute;
    bt_loops *loops;
    bt_arena *arena = bt_arena_create(w->registry);
    uint8_t **touched, *is_packing;
    assert_ok(w->ctx, formula_make(w, f, &op, 4, in, &compute));
    assert_ok(w->ctx,
              cpu_contract(w->ctx, arena, config, "test", compute->graph, NULL, &loops));
    assert_ok(w->ctx, cpu_schedule_loops(loops, config));
    assert_true(cpu_touch_all(arena, config, loops, &touched));
    assert_non_null(is_packing = cpu_find_packing(arena, config, loops, touched));
    for (uint32_t k = 0; k < loops->body.len; k++) {
        for (uint32_t i = 0; i < compute->graph->ninput; i++) {
            if (config->is_constant[i] && touched[k][i])
                assert_true(is_packing[k]);
        }
    }
    bt_arena_destroy(arena);
    bt_compute_destroy(compute);
}

/* Sums of small whole numbers, none of which is rounded. */
static void check(const struct product *c)
{
    struct world w = world_open();
    char text[512];
    snprintf(text, sizeof(text),
             "w: float32[n, k] = %s; y: float32[m, n] = sum(k: x[m, k] * w[n, k])%s",
             c->weight, c->behind);
    const int64_t nblock = (c->depth + c->block - 1) / c->block;
    const int64_t x_dims[] = { c->rows, c->depth }, q_dims[] = { c->columns, c->depth },
                  s_dims[] = { c->columns, nblock };
    struct formula f = { .text = text,
                         .inputs = { { .name = "x", .type = "float32[m, k]" },
                                     { .name = "q", .type = "uint8[n, k]" },
                                     { .name = "s", .type = "float32[n, b]" },
                                     { .name = "z", .type = "uint8[n, b]" } } };
    bt_tensor *in[] = { tensor_random(&w, BT_FLOAT32, 1, 2, x_dims),
                        tensor_random(&w, BT_UINT8, 2, 2, q_dims),
                        tensor_random(&w, BT_FLOAT32, 3, 2, s_dims),
                        tensor_random(&w, BT_UINT8, 4, 2, s_dims) };
    const uint8_t is_constant[] = { 0, !c->is_open, 1, 1 };
    bt_tensor *expected = formula_run(&w, &f, 4, in);
    bt_tensor *got = tensor_new(&w, BT_FLOAT32, 2, expected->dims);
    for (enum cpu_isa isa = CPU_ISA_AVX2;
         isa <= cpu_isa_of_machine() && isa < CPU_ISA_AMX; isa++) {
        for (uint32_t nthread = 1; nthread < 8; nthread += 6) {
            const struct cpu_config config = { .isa = isa,
                                               .nthread = nthread,
                                               .is_constant = is_constant };
            struct calls calls = { .run = { .ctx = w.ctx, .isa = isa } };
            run_schedule(&w, &f, 4, in, &config, got, run_call, &calls);
            assert_int_equal(calls.n > 0, c->is_called);
            if (!c->is_open)
                check_packing(&w, &f, in, &config);
            for (int64_t e = 0; e < got->nelem; e++) {
                if (bt_tensor_get(got, e) != bt_tensor_get(expected, e))
                    fail_msg("%s: element %lld is %g, not %g", text, (long long)e,
                             bt_tensor_get(got, e), bt_tensor_get(expected, e));
            }
        }
    }
    for (size_t i = 0; i < BT_COUNT(in); i++)
        bt_tensor_unref(in[i]);
    bt_tensor_unref(expected);
    bt_tensor_unref(got);
    world_close(&w);
}

static void test_products_are_those_of_the_evaluator(void **state)
{
    (void)state;
    static const struct product products[] = {
        { 1, 70, 64, 32, "float32(" SIGNED ") * s[n, floordiv(k, 32)]", 0, 1, "" },
        { 1, 16, 40, 32, "s[n, floordiv(k, 32)] * float32(" SIGNED ")", 0, 1, "" },
        { 3, 33, 48, 16,
          "float32(" UNSIGNED " - int32(z[n, floordiv(k, 16)])) * s[n, floordiv(k, 16)]",
          0, 1, "" },
        { 8, 5, 24, 24, "(float32(" UNSIGNED ") - 8) * s[n, 0]", 0, 1, "" },
        { 1, 130, 64, 64, "float32(" UNSIGNED " - int32(z[n, 0])) * s[n, 0]", 0, 1,
          " + x[m, 0]" },
        { 2, 20, 64, 32,
          "(float32(" UNSIGNED ") - float32(z[n, 0])) * s[n, floordiv(k, 32)]", 0, 1,
          "" },
        // more rows, weights that are no constants, terms of no whole words, wider codes
        { 9, 70, 64, 32, "float32(" SIGNED ") * s[n, floordiv(k, 32)]", 0, 0, "" },
        { 1, 70, 64, 32, "float32(" SIGNED ") * s[n, floordiv(k, 32)]", 1, 0, "" },
        { 1, 70, 60, 32, "float32(" SIGNED ") * s[n, floordiv(k, 32)]", 0, 0, "" },
        { 1, 70, 64, 4, "float32(" SIGNED ") * s[n, floordiv(k, 4)]", 0, 0, "" },
        { 1, 70, 64, 32, "float32(int32(q[n, k])) * s[n, floordiv(k, 32)]", 0, 0, "" },
    };
    for (size_t i = 0; i < BT_COUNT(products); i++)
        check(&products[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sums_have_the_same_bits_on_all_sets),
    cmocka_unit_test(test_products_are_those_of_the_evaluator),
};
TEST_MAIN(tests)
