/*
 * Contractions: what their schedules compute is what the evaluator does, to the bit, as
 * the numbers are such that no sum is rounded. Calls are checked against the room that
 * they have.
 */
#include "formula.h"

#include "compute/evaluate/compute.h"

#include "amx_registers.h"
#include "contraction.h"
#include "loops_oracle.h"
#include "primitives/halo.h"
#include "primitives/pack.h"
#include "primitives/pairs.h"
#include "schedule/contract.h"

#include <stdio.h>

/* ---- calls ---- */

struct calls {
    enum cpu_isa isa;
    uint32_t ntile, npair; /* calls of tiles, of those of pairs */
};

static const struct cpu_tile *find_tile(const char *name)
{
    static const struct cpu_tile *const tables[] = {
        cpu_tiles_portable,   cpu_tiles_avx2, cpu_tiles_avx512,
        cpu_tiles_avx512bf16, cpu_tiles_amx,
    };
    for (size_t i = 0; i < BT_COUNT(tables); i++) {
        for (const struct cpu_tile *t = tables[i]; t->block; t++) {
            if (strcmp(t->block->name, name) == 0 ||
                (t->line && strcmp(t->line->name, name) == 0) ||
                (t->across && strcmp(t->across->name, name) == 0) ||
                (t->epilogue && strcmp(t->epilogue->name, name) == 0))
                return t;
        }
    }
    return NULL;
}

static cpu_primitive *find_copy(const char *name, int *is_halo)
{
    static const struct {
        const char *name;
        cpu_primitive *run;
        int is_halo;
    } all[] = {
        { "pack.1", cpu_pack_1, 0 }, { "pack.2", cpu_pack_2, 0 },
        { "pack.4", cpu_pack_4, 0 }, { "pack.8", cpu_pack_8, 0 },
        { "halo.1", cpu_halo_1, 1 }, { "halo.2", cpu_halo_2, 1 },
        { "halo.4", cpu_halo_4, 1 }, { "halo.8", cpu_halo_8, 1 },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++) {
        if (strcmp(all[i].name, name) == 0) {
            *is_halo = all[i].is_halo;
            return all[i].run;
        }
    }
    fail_msg("%s is no primitive", name);
    return NULL;
}

static int64_t furthest(int64_t n, int64_t stride)
{
    return stride > 0 ? (n - 1) * stride : 0;
}

static int64_t furthest_k(const int64_t *n, int stride)
{
    int outer = stride == CPU_TILE_A_K ? CPU_TILE_A_K1 : CPU_TILE_B_K1;
    return furthest(n[CPU_TILE_K], n[stride]) + furthest(n[CPU_TILE_K1], n[outer]) +
           furthest(n[CPU_TILE_K2], n[outer + CPU_TILE_A_K2 - CPU_TILE_A_K1]);
}

/* Of B, from its first element to the first one of the last tile of a call. */
static int64_t furthest_tile(const struct cpu_tile *t, int is_epilogue, const int64_t *n)
{
    return is_epilogue ? (n[CPU_TILE_N] - 1) / t->nr * n[CPU_TILE_B_N] : 0;
}

static void check_tile(const struct cpu_tile *t, int is_line, int is_epilogue,
                       const struct call_value *p, const int64_t *n)
{
    int64_t width = n[CPU_TILE_N], row = furthest(n[CPU_TILE_M], n[CPU_TILE_A_ROW]);
    if (!is_line) {
        assert_in_range(n[CPU_TILE_M], 1, t->mr);
        assert_true(n[CPU_TILE_N] >= 1 &&
                    (t->takes_columns || is_epilogue || n[CPU_TILE_N] <= t->nr));
        assert_true(!t->depth || (n[CPU_TILE_K] % t->depth == 0 && n[CPU_TILE_A_K] == 1));
        if (is_epilogue || !t->takes_columns)
            width = (width - 1) % t->nr + 1;
    }
    if (!t->takes_columns && (n[CPU_TILE_FLAGS] & CPU_TILE_PADDED) && width < t->nr)
        width = t->nr;
    if (n[CPU_TILE_FLAGS] & CPU_TILE_TURNED)
        assert_true(p[0].nelem >=
                    furthest(n[CPU_TILE_N], n[CPU_TILE_C_ROW]) + n[CPU_TILE_M]);
    else
        assert_true(p[0].nelem >=
                    furthest(n[CPU_TILE_M], n[CPU_TILE_C_ROW]) + n[CPU_TILE_N]);
    assert_true(p[1].nelem > (is_line ? 0 : row) + furthest_k(n, CPU_TILE_A_K));
    assert_true(p[2].nelem >= (is_line ? row : furthest_tile(t, is_epilogue, n)) +
                                  furthest_k(n, CPU_TILE_B_K) + width);
}

static void check_epilogue(const struct call_value *p, const int64_t *n)
{
    const int64_t flags = n[CPU_TILE_FLAGS];
    if (flags & (CPU_TILE_ROW_BIAS | CPU_TILE_COLUMN_BIAS))
        assert_true(p[CPU_TILE_BIAS].nelem >=
                    n[flags & CPU_TILE_ROW_BIAS ? CPU_TILE_M : CPU_TILE_N]);
    if (flags & CPU_TILE_ADD_RESIDUAL)
        assert_true(p[CPU_TILE_RESIDUAL].nelem >= p[CPU_TILE_C].nelem);
}

static void check_across(const struct call_value *p, const int64_t *n)
{
    int64_t along_b[CPU_TILE_NINT]; // neighbours along k
    memcpy(along_b, n, sizeof(along_b));
    along_b[CPU_TILE_B_K] = 1;
    assert_in_range(n[CPU_TILE_M], 1, CPU_ACROSS_MR);
    assert_true(p[0].nelem >= furthest(n[CPU_TILE_M], n[CPU_TILE_C_ROW]) + n[CPU_TILE_N]);
    assert_true(p[1].nelem >
                furthest(n[CPU_TILE_M], n[CPU_TILE_A_ROW]) + furthest_k(n, CPU_TILE_A_K));
    assert_true(p[2].nelem > furthest(n[CPU_TILE_N], n[CPU_ACROSS_B_COLUMN]) +
                                 furthest_k(along_b, CPU_TILE_B_K));
}

static void check_copy(int is_halo, const struct call_value *p, const int64_t *n)
{
    if (is_halo) {
        assert_true(n[CPU_HALO_TOP] + n[CPU_HALO_HEIGHT] <= n[CPU_HALO_ROWS]);
        assert_true(n[CPU_HALO_LEFT] + n[CPU_HALO_COUNT] <= n[CPU_HALO_WIDTH]);
        assert_true(p[0].nelem >= n[CPU_HALO_ROWS] * n[CPU_HALO_WIDTH]);
        if (n[CPU_HALO_HEIGHT] && n[CPU_HALO_COUNT])
            assert_true(p[1].nelem > furthest(n[CPU_HALO_HEIGHT], n[CPU_HALO_FROM_ROW]) +
                                         furthest(n[CPU_HALO_COUNT], n[CPU_HALO_FROM_X]));
    } else {
        assert_in_range(n[CPU_PACK_N], 0, n[CPU_PACK_WIDTH]);
        assert_true(n[CPU_PACK_ROW] >= n[CPU_PACK_WIDTH]);
        assert_true(p[0].nelem >=
                    furthest(n[CPU_PACK_K], n[CPU_PACK_ROW]) + n[CPU_PACK_WIDTH]);
        assert_true(p[1].nelem > furthest(n[CPU_PACK_K], n[CPU_PACK_K_STRIDE]) +
                                     furthest(n[CPU_PACK_N], n[CPU_PACK_N_STRIDE]));
    }
}

static bt_status run_finite(const struct calls *calls, const char *callee, uint32_t narg,
                            const struct call_value *args)
{
    void *p[] = { args[0].address, args[1].address };
    assert_int_equal(narg, 3);
    assert_true(args[0].nelem == 1 && args[1].nelem == args[2].integer);
    assert_int_equal(cpu_callee_find(calls->isa, callee)->run(p, &args[2].integer), 0);
    return NULL;
}

/* By the instructions, or where there are none by what they do. */
static cpu_primitive *amx_of(const struct cpu_tile *t, int is_epilogue)
{
    static cpu_primitive *const emulated[][2] = {
        { run_pairs_amx, run_pairs_epilogue_amx },
        { run_halves_amx, run_halves_epilogue_amx },
    };
    if (cpu_isa_of_machine() < CPU_ISA_AMX)
        return emulated[t->has_halves][is_epilogue];
    return (is_epilogue ? t->epilogue : t->block)->run;
}

static bt_status run_pairs(const struct cpu_callee *row, uint32_t narg,
                           const struct call_value *args)
{
    void *p[] = { args[CPU_PAIRS_TO].address, args[CPU_PAIRS_FROM].address };
    int64_t n[CPU_PAIRS_NINT];
    assert_int_equal(narg, CPU_PAIRS_NPOINTER + CPU_PAIRS_NINT);
    for (uint32_t i = 0; i < CPU_PAIRS_NINT; i++)
        n[i] = args[CPU_PAIRS_NPOINTER + i].integer;
    const int has_halves = strncmp(row->name, "halves", 6) == 0;
    assert_in_range(n[CPU_PAIRS_K], 0, n[CPU_PAIRS_DEPTH] * (has_halves ? 1 : 2));
    assert_true(!has_halves || n[CPU_PAIRS_DEPTH] % (2 * CPU_PAIRS_OF_HALVES) == 0);
    assert_in_range(n[CPU_PAIRS_N], 1, n[CPU_PAIRS_WIDTH]);
    assert_true(args[0].nelem >= n[CPU_PAIRS_DEPTH] * n[CPU_PAIRS_WIDTH]);
    assert_true(!n[CPU_PAIRS_K] ||
                args[1].nelem > furthest(n[CPU_PAIRS_K], n[CPU_PAIRS_K_STRIDE]) +
                                    furthest(n[CPU_PAIRS_N], n[CPU_PAIRS_N_STRIDE]));
    assert_int_equal(row->run(p, n), 0);
    return NULL;
}

static bt_status run_call(void *self, const char *callee, uint32_t narg,
                          const struct call_value *args)
{
    struct calls *calls = self;
    if (strncmp(callee, "finite", 6) == 0)
        return run_finite(calls, callee, narg, args);
    if (strncmp(callee, "depthwise", 9) == 0) {
        run_depthwise(calls->isa, callee, narg, args);
        calls->ntile++;
        return NULL;
    }
    const struct cpu_callee *row = cpu_callee_find(calls->isa, callee);
    if (row && row->form == CPU_PAIRS)
        return run_pairs(row, narg, args);
    const struct cpu_tile *tile = find_tile(callee);
    int is_halo = 0;
    const int is_epilogue = strncmp(callee, "epilogue", 8) == 0;
    uint32_t naddress = is_epilogue ? CPU_TILE_RESIDUAL + 1
                        : tile      ? CPU_TILE_NPOINTER
                                    : 2;
    int is_line = strncmp(callee, "line", 4) == 0;
    int is_across = strncmp(callee, "across", 6) == 0;
    cpu_primitive *run = is_line                            ? tile->line->run
                         : is_across                        ? tile->across->run
                         : tile && tile->isa == CPU_ISA_AMX ? amx_of(tile, is_epilogue)
                         : is_epilogue                      ? tile->epilogue->run
                         : tile                             ? tile->block->run
                                                            : find_copy(callee, &is_halo);
    void *p[CPU_TILE_RESIDUAL + 1];
    int64_t n[CPU_TILE_EPILOGUE_NINT];
    assert_true(narg <= BT_COUNT(p) + BT_COUNT(n));
    for (uint32_t i = 0; i < narg; i++) {
        if (i < naddress)
            p[i] = args[i].address;
        else
            n[i - naddress] = args[i].integer;
    }
    if (is_across)
        check_across(args, n);
    else if (tile)
        check_tile(tile, is_line, is_epilogue, args, n);
    else
        check_copy(is_halo, args, n);
    if (is_epilogue)
        check_epilogue(args, n);
    if (tile)
        assert_ptr_equal(tile->pairs
                             ? cpu_tile_of_pairs(calls->isa, tile->has_halves)
                             : cpu_tile_find(calls->isa, tile->a, tile->b, tile->c),
                         tile);
    calls->ntile += tile != NULL;
    calls->npair += tile && tile->a == BT_UINT32;
    assert_int_equal(run(p, n), 0);
    return NULL;
}

/* ---- one formula ---- */

static void assert_same(const struct contraction *c, const bt_tensor *got,
                        const bt_tensor *expected)
{
    for (int64_t i = 0; i < got->nelem; i++) {
        double a = bt_tensor_get(got, i), b = bt_tensor_get(expected, i);
        if (a != b)
            fail_msg("%s: element %lld is %g, not %g", c->text, (long long)i, a, b);
    }
}

/* AMX is emulated. */
static enum cpu_isa widest_set(void)
{
    const enum cpu_isa here = cpu_isa_of_machine();
    return here == CPU_ISA_AVX512BF16 ? CPU_ISA_AMX : here;
}

static void check_set(struct world *w, struct formula *f, uint32_t n, bt_tensor **in,
                      enum cpu_isa isa, uint32_t accuracy, const struct contraction *c,
                      bt_tensor *got, const bt_tensor *expected)
{
    static const uint32_t threads[] = { 1, 2, 7 };
    const int has_pairs =
        isa >= CPU_ISA_AMX ? c->has_pairs == 2 : c->has_pairs && accuracy == CPU_FAST;
    const int may_have_pairs =
        has_pairs || (isa >= CPU_ISA_AMX && (c->is_constant[0] || c->is_constant[1]));
    for (size_t i = 0; i < BT_COUNT(threads); i++) {
        struct calls calls = { .isa = isa };
        run_schedule(w, f, n, in,
                     &(struct cpu_config){ .isa = isa,
                                           .accuracy = accuracy,
                                           .nthread = threads[i],
                                           .is_constant = c->is_constant },
                     got, run_call, &calls);
        if (!calls.ntile && !c->may_be_plain)
            fail_msg("%s: no tile", c->text);
        if (calls.npair ? !may_have_pairs : has_pairs)
            fail_msg("%s for %s, accuracy %u: %u calls of pairs", c->text,
                     cpu_isa_name(isa), accuracy, calls.npair);
        assert_same(c, got, expected);
    }
}

static void check(const struct contraction *c)
{
    struct world w = world_open();
    struct formula f = { .text = c->text };
    bt_tensor *in[4], *expected, *got;
    uint32_t n = 0;
    for (; n < 4 && c->inputs[n].name; n++) {
        const struct input *i = &c->inputs[n];
        f.inputs[n] = (bt_op_input){ .name = i->name, .type = i->type };
        in[n] = tensor_random(&w, i->dtype, n + 1, i->rank, i->dims);
    }
    expected = formula_run(&w, &f, n, in);
    got = tensor_new(&w, expected->dtype, expected->rank, expected->dims);
    for (enum cpu_isa isa = 0; isa <= widest_set(); isa++) {
        check_set(&w, &f, n, in, isa, CPU_DEFAULT, c, got, expected);
        if (isa >= CPU_ISA_AVX512BF16)
            check_set(&w, &f, n, in, isa, CPU_FAST, c, got, expected);
    }
    bt_tensor_unref(got);
    bt_tensor_unref(expected);
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

/* ---- products of matrices ---- */

static void test_products_of_matrices(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {
        { 9, 5, 7 },     { 14, 32, 16 }, { 29, 71, 33 }, { 1, 33, 40 },   { 3, 17, 1 },
        { 64, 100, 24 }, { 200, 3, 70 }, { 8, 1, 9 },    { 33, 1024, 65 }
    };
    for (size_t i = 0; i < BT_COUNT(sizes); i++) {
        int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        check(&(struct contraction){
            .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { m, k } },
                        { "b", "t[k, n]", BT_FLOAT32, 2, { k, n } } },
            .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n])",
            .may_be_plain = !m || n < 2 || k < 2,
        });
        check(&(struct contraction){
            .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { m, k } },
                        { "b", "t[n, k]", BT_FLOAT32, 2, { n, k } },
                        { "c", "t[n]", BT_FLOAT32, 1, { n } } },
            .text = "y: t[m, n] = max(sum(k: a[m, k] * b[n, k]) + c[n], 0)",
            .may_be_plain = n < 2 || k < 2,
        });
    }
}

static void test_batches_and_einsum(void **state)
{
    (void)state;
    static const struct contraction all[] = {
        { .inputs = { { "a", "t[i, m, k]", BT_FLOAT32, 3, { 3, 17, 9 } },
                      { "b", "t[i, n, k]", BT_FLOAT32, 3, { 3, 13, 9 } } },
          .text = "y: t[i, m, n] = sum(k: a[i, m, k] * b[i, n, k])" },
        { .inputs = { { "a", "t[i, m, k]", BT_FLOAT32, 3, { 3, 17, 9 } },
                      { "b", "t[i, k, n]", BT_FLOAT32, 3, { 3, 9, 13 } },
                      { "c", "t[m, n]", BT_FLOAT32, 2, { 17, 13 } } },
          .text = "y: t[i, m, n] = sum(k: a[i, m, k] * b[i, k, n]) - c[m, n]" },
        { .inputs = { { "a", "t[i, k, l, m]", BT_FLOAT32, 4, { 2, 5, 3, 19 } },
                      { "b", "t[l, n, k, p]", BT_FLOAT32, 4, { 3, 4, 5, 21 } } },
          .text = "y: t[p, n, i, m] = sum(k, l: a[i, k, l, m] * b[l, n, k, p])" },
        { .inputs = { { "a", "t[m, k, l, o, q]", BT_FLOAT32, 5, { 9, 2, 3, 2, 4 } },
                      { "b", "t[l, q, k, o, n]", BT_FLOAT32, 5, { 3, 4, 2, 2, 40 } } },
          .text = "y: t[m, n] = sum(k, l, o, q: a[m, k, l, o, q] * b[l, q, k, o, n])" },
        { .inputs = { { "a", "t[i, k]", BT_FLOAT32, 2, { 3, 9 } },
                      { "b", "t[i, n, k]", BT_FLOAT32, 3, { 3, 33, 9 } } },
          .text = "y: t[i, n] = max(sum(k: a[i, k] * b[i, n, k]), 0)" },
        { .inputs = { { "a", "t[i, k]", BT_INT8, 2, { 3, 9 } },
                      { "b", "t[i, n, k]", BT_INT8, 3, { 3, 33, 9 } } },
          .text = "y: int32[i, n] = sum(k: int32(a[i, k]) * int32(b[i, n, k])) + 1" },
        // the result read twice, and transposed, by later stages
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 7, 24 } } },
          .text = "x: t[m, n] = sum(k: a[m, k] * b[k, n]);"
                  "y: t[n, m] = x[m, n] + x[m, 0]" },
        // a product of products
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 7, 24 } },
                      { "c", "t[o, n]", BT_FLOAT32, 2, { 18, 24 } } },
          .text = "x: t[m, n] = max(sum(k: a[m, k] * b[k, n]), 0);"
                  "y: t[m, o] = sum(n: x[m, n] * c[o, n])" },
        // an epilogue that is not one store: a read that may fail, or a choice
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 7, 24 } },
                      { "c", "t[h]", BT_FLOAT32, 1, { 30 } } },
          .text = "y: t[m, n] = select(m < 3, sum(k: a[m, k] * b[k, n]),"
                  "                    sum(k: a[m, k] * b[k, n]) * c[n + 2])" },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT32, 2, { 7, 24 } } },
          .text = "y: t[m, n] = select(m < 3, sum(k: a[m, k] * b[k, n]),"
                  "                    sum(k: b[k, n]))",
          .may_be_plain = 1 },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT64, 2, { 20, 7 } },
                      { "b", "t[k, n]", BT_FLOAT64, 2, { 7, 24 } } },
          .text = "y: t[m, n] = min(sum(k: a[m, k] * b[k, n]), 1)" },
        { .inputs = { { "a", "u[m, k]", BT_INT8, 2, { 20, 7 } },
                      { "b", "u[n, k]", BT_INT8, 2, { 24, 7 } },
                      { "c", "t[n]", BT_INT32, 1, { 24 } } },
          .text = "y: t[m, n] = sum(k: int32(a[m, k]) * int32(b[n, k])) + c[n]" },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT16, 2, { 20, 7 } },
                      { "b", "t[n, k]", BT_FLOAT16, 2, { 24, 7 } } },
          .text = "y: t[m, n] = max(sum(k: a[m, k] * b[n, k]), 0)" },
        { .inputs = { { "a", "t[m, k]", BT_BFLOAT16, 2, { 20, 3 } },
                      { "b", "t[k, n]", BT_BFLOAT16, 2, { 3, 24 } } },
          .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n])" },
        { .inputs = { { "a", "int32[m, k]", BT_INT32, 2, { 20, 7 } },
                      { "b", "int32[k, n]", BT_INT32, 2, { 7, 24 } } },
          .text = "y: int32[m, n] = sum(k: a[m, k] * b[k, n])" },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check(&all[i]);
}

/* ---- convolutions ---- */

struct image {
    int64_t batch, channels, height, width, out, rows, columns; /* of the kernel */
    int64_t stride, dilation, top, bottom, left, right, groups;
};

static void check_image(const struct image *c)
{
    char text[600];
    int64_t height = (c->height + c->top + c->bottom - (c->rows - 1) * c->dilation - 1) /
                         c->stride +
                     1,
            width = (c->width + c->left + c->right - (c->columns - 1) * c->dilation - 1) /
                        c->stride +
                    1;
    static const char *const epilogues[][2] = {
        { "", "" },
        { "max(", " + b[o], 0)" },
        { "clamp(", " + z[n, o, p, q], -1, 2)" },
        { "float32(", " * b[o]) + z[n, 0, 0, q]" },
    };
    for (size_t i = 0; i < BT_COUNT(epilogues); i++) {
        char sum[400];
        snprintf(
            sum, sizeof(sum),
            "sum(i in ci, r in kh, s in kw: x[n, floordiv(o, %lld)*ci + i, "
            "p*%lld + r*%lld - %lld, q*%lld + s*%lld - %lld] * w[o, i, r, s] else 0)",
            (long long)(c->out / c->groups), (long long)c->stride, (long long)c->dilation,
            (long long)c->top, (long long)c->stride, (long long)c->dilation,
            (long long)c->left);
        snprintf(text, sizeof(text), "y: t[n, o, p in ph, q in pw] = %s%s%s",
                 epilogues[i][0], sum, epilogues[i][1]);
        check(&(struct contraction){
            .inputs = { { "x",
                          "t[n, c, h, g]",
                          BT_FLOAT32,
                          4,
                          { c->batch, c->channels, c->height, c->width } },
                        { "w",
                          "t[o, ci, kh, kw]",
                          BT_FLOAT32,
                          4,
                          { c->out, c->channels / c->groups, c->rows, c->columns } },
                        { "b", "t[o]", BT_FLOAT32, 1, { c->out } },
                        { "z",
                          "t[n, o, ph, pw]",
                          BT_FLOAT32,
                          4,
                          { c->batch, c->out, height, width } } },
            .text = text,
            .may_be_plain = width == 1 || c->channels * c->rows * c->columns == c->groups,
        });
    }
}

static void test_convolutions_of_images(void **state)
{
    (void)state;
    static const struct image all[] = {
        { 1, 3, 9, 9, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1 },
        { 2, 17, 7, 7, 24, 3, 3, 1, 1, 1, 1, 1, 1, 1 },
        { 1, 3, 15, 14, 17, 7, 7, 2, 1, 3, 3, 3, 3, 1 },
        { 1, 4, 13, 5, 6, 1, 1, 1, 1, 0, 0, 0, 0, 1 },
        { 2, 4, 14, 14, 20, 1, 1, 2, 1, 0, 0, 0, 0, 1 },
        { 1, 5, 13, 5, 3, 3, 2, 2, 1, 0, 1, 1, 0, 1 },
        { 1, 2, 20, 19, 3, 3, 3, 1, 2, 2, 2, 2, 2, 1 },
        { 1, 2, 20, 19, 15, 3, 3, 3, 2, 1, 0, 2, 1, 1 },
        { 2, 8, 9, 8, 12, 3, 3, 1, 1, 1, 1, 1, 1, 4 },
        { 1, 6, 9, 8, 6, 3, 3, 2, 1, 1, 1, 1, 1, 6 },
        { 1, 1, 5, 5, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1 },
        { 1, 24, 1, 1, 17, 1, 1, 1, 1, 0, 0, 0, 0, 1 },
        { 1, 3, 6, 40, 16, 3, 5, 1, 1, 0, 0, 0, 0, 1 },
        { 1, 2, 3, 3, 4, 3, 3, 1, 1, 4, 4, 4, 4, 1 },
        { 1, 2, 70, 66, 15, 3, 3, 1, 1, 1, 1, 1, 1, 1 },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check_image(&all[i]);
}

static void test_other_convolutions(void **state)
{
    (void)state;
    static const struct contraction all[] = {
        { .inputs = { { "x", "t[n, c, h]", BT_FLOAT32, 3, { 2, 5, 41 } },
                      { "w", "t[o, c, k]", BT_FLOAT32, 3, { 7, 5, 4 } } },
          .text = "y: t[n, o, p in floordiv(h, 2)] ="
                  "    sum(c, r in k: x[n, c, 2*p + r - 1] * w[o, c, r] else 0)" },
        { .inputs = { { "x", "t[n, c, d, h, g]", BT_FLOAT32, 5, { 2, 3, 5, 6, 7 } },
                      { "w", "t[o, c, k, l, m]", BT_FLOAT32, 5, { 9, 3, 3, 2, 3 } } },
          .text = "y: t[n, o, e in d, p in h, q in g] ="
                  "    sum(c, u in k, r in l, s in m: x[n, c, e + u - 1, p + r - 1,"
                  "        q + s - 1] * w[o, c, u, r, s] else 0)" },
        { .inputs = { { "x", "t[n, c, d, h, g]", BT_FLOAT32, 5, { 1, 3, 9, 6, 7 } },
                      { "w", "t[o, c, k, l, m]", BT_FLOAT32, 5, { 9, 3, 3, 3, 3 } } },
          .text = "y: t[n, o, e in 4, p in 3, q in 4] ="
                  "    sum(c, u in k, r in l, s in m: x[n, c, 2*e + u - 1, 2*p + r - 1,"
                  "        2*q + s - 1] * w[o, c, u, r, s] else 0)" },
        { .inputs = { { "x", "t[n, c, d, h, g]", BT_FLOAT32, 5, { 2, 3, 9, 6, 7 } },
                      { "w", "t[o, c]", BT_FLOAT32, 2, { 9, 3 } } },
          .text = "y: t[n, o, e in 4, p in 3, q in 3] ="
                  "    sum(c: x[n, c, 2*e + 1, 2*p, 2*q] * w[o, c])" },
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 5, 7, 6 } },
                      { "w", "t[c, o, k, l]", BT_FLOAT32, 4, { 5, 6, 4, 3 } } },
          .text = "y: t[n, o, p in h + 1, q in g] ="
                  "    sum(c, r in k, s in l: x[n, c, p + 1 - r, q + 1 - s] *"
                  "        w[c, o, r, s] else 0)" },
        // constant rows that crowd a cache
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 1024, 3, 7 } },
                      { "w", "t[o, c]", BT_FLOAT32, 2, { 17, 1024 } } },
          .is_constant = { 0, 1 },
          .text = "y: t[n, o, p in h, q in g] = sum(c: x[n, c, p, q] * w[o, c])" },
        // steps, by constant weights: what is read of narrow images lies side by side then
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 300, 13, 14 } },
                      { "w", "t[o, c]", BT_FLOAT32, 2, { 64, 300 } },
                      { "b", "t[o]", BT_FLOAT32, 1, { 64 } } },
          .is_constant = { 0, 1, 1 },
          .text = "y: t[n, o, p in 7, q in 7] ="
                  "    max(sum(c: x[n, c, 2*p, 2*q] * w[o, c]) + b[o], 0)" },
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 300, 15, 19 } },
                      { "w", "t[o, c, k]", BT_FLOAT32, 3, { 64, 300, 2 } } },
          .is_constant = { 0, 1 },
          .text = "y: t[n, o, p in 6, q in 6] ="
                  "    sum(c, r in k: x[n, c, 2*p + 3*r + 1, 3*q + 2] * w[o, c, r])" },
        // transposed, with strides: places divide a shifted index
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 5, 7, 6 } },
                      { "w", "t[c, o, k, l]", BT_FLOAT32, 4, { 5, 6, 4, 3 } } },
          .text = "y: t[n, o, p in 2*h, q in 2*g + 1] ="
                  "    sum(c, a in h, b in g, r in k, s in l | 2*a + r - 1 == p &&"
                  "        2*b + s - 1 == q: x[n, c, a, b] * w[c, o, r, s])" },
        { .inputs = { { "x", "t[n, c, h]", BT_FLOAT32, 3, { 1, 6, 11 } },
                      { "w", "t[c, o, k]", BT_FLOAT32, 3, { 6, 9, 7 } } },
          .text = "y: t[n, o, p in 3*h + 1] = max(1 +"
                  "    sum(c, a in h, r in k | 3*a + r - 2 == p: x[n, c, a] * w[c, o, "
                  "r]), 0)" },
        // factors that are computed
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 5, 9, 10 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 6, 5, 3, 3 } },
                      { "b", "t[c]", BT_FLOAT32, 1, { 5 } } },
          .text = "y: t[n, o, p in h, q in g] = sum(c, r in k, s in l:"
                  "    max(x[n, c, p + r - 1, q + s - 1] * b[c] + 1, 0) * w[o, c, r, s]"
                  "    else 0)" },
        { .inputs = { { "x", "t[n, z, h, g]", BT_FLOAT32, 4, { 1, 6, 9, 10 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 6, 3, 3, 3 } },
                      { "b", "t[z]", BT_FLOAT32, 1, { 6 } } },
          .text = "y: t[n, o, p in 5, q in 5] = sum(c, r in k, s in l: neg(b[floordiv(o, "
                  "3) * 3 + c] * x[n, floordiv(o, 3) * 3 + c, 2*p + r - 1, 2*q + s - 1])"
                  "    * (w[o, c, r, s] + 1) else 0)" },
        { .inputs = { { "x", "t[n, c, h]", BT_FLOAT32, 3, { 9, 6, 10 } },
                      { "w", "t[o, k]", BT_FLOAT32, 2, { 17, 60 } } },
          .text = "y: t[n, o] = sum(k: x[n, floordiv(k, 10), k - 10 * floordiv(k, 10)]"
                  "    * w[o, k])" },
        { .inputs = { { "x", "t[h]", BT_FLOAT32, 1, { 60 } },
                      { "w", "t[o, k]", BT_FLOAT32, 2, { 17, 10 } } },
          .text = "y: t[n in 6, o] = sum(k: max(x[10*n + k], 0) * w[o, k])" },
        { .inputs = { { "x", "t[h]", BT_FLOAT32, 1, { 60 } },
                      { "w", "t[o, k]", BT_FLOAT32, 2, { 17, 10 } } },
          .text = "y: t[n in 6, o] = sum(k: float32(n + k) * w[o, k])",
          .may_be_plain = 1 },
        // of integers
        { .inputs = { { "x", "u[n, c, h, g]", BT_INT8, 4, { 1, 5, 9, 10 } },
                      { "w", "u[o, c, k, l]", BT_INT8, 4, { 6, 5, 3, 3 } } },
          .text = "y: int32[n, o, p in h, q in g] = sum(c, r in k, s in l:"
                  "    int32(x[n, c, p + r - 1, q + s - 1]) * int32(w[o, c, r, s])"
                  "    else 0)" },
        // a kernel turned round, as for the gradient of the data
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 5, 9, 10 } },
                      { "w", "t[c, o, k, l]", BT_FLOAT32, 4, { 5, 6, 3, 3 } } },
          .text = "y: t[n, o, p in h, q in g] = sum(c, r in k, s in l:"
                  "    x[n, c, p - r + 1, q - s + 1] * w[c, o, r, s] else 0)" },
        // channels last
        { .inputs = { { "x", "t[n, h, g, c]", BT_FLOAT32, 4, { 2, 9, 10, 5 } },
                      { "w", "t[k, l, c, o]", BT_FLOAT32, 4, { 3, 3, 5, 6 } } },
          .text = "y: t[n, p in 7, q in 8, o] = sum(c, r in k, s in l:"
                  "    x[n, p + r, q + s, c] * w[r, s, c, o])" },
        { .inputs = { { "x", "t[n, h, g, c]", BT_FLOAT32, 4, { 2, 9, 10, 5 } },
                      { "w", "t[k, l, c, o]", BT_FLOAT32, 4, { 3, 3, 5, 6 } } },
          .text = "y: t[n, p in h, q in g, o] = sum(c, r in k, s in l:"
                  "    x[n, p + r - 1, q + s - 1, c] * w[r, s, c, o] else 0)" },
        { .inputs = { { "x", "t[n, h, g, c]", BT_FLOAT32, 4, { 2, 9, 10, 5 } },
                      { "w", "t[k, l, c, o]", BT_FLOAT32, 4, { 3, 2, 5, 6 } } },
          .text = "y: t[n, p in 5, q in 5, o] = max(sum(c, r in k, s in l:"
                  "    x[n, 2*p + r - 1, 2*q + 2*s - 3, c] * w[r, s, c, o] else 0), 0)" },
        { .inputs = { { "x", "t[n, g, c]", BT_FLOAT32, 3, { 2, 10, 5 } },
                      { "w", "t[l, c, o]", BT_FLOAT32, 3, { 2, 5, 6 } } },
          .text = "y: t[n, q in 10, o] = sum(c, s in l:"
                  "    x[n, q + 3*s - 1, c] * w[s, c, o] else 0)" },
        { .inputs = { { "x", "t[n, g, c]", BT_FLOAT32, 3, { 2, 3, 5 } },
                      { "w", "t[l, c, o]", BT_FLOAT32, 3, { 2, 5, 6 } } },
          .text = "y: t[n, q in 4, o] = sum(c, s in l:"
                  "    x[n, q + s + 7, c] * w[s, c, o] else 0)",
          .may_be_plain = 1 },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check(&all[i]);
}

/* ---- parts ---- */

/* A row by a constant, read in parts by stages that go block by block with it, or do not: the
 * last one also reads what stands beside. */
static void test_a_row_is_read_in_parts(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 2, 5, 7 },   { 3, 33, 9 },  { 4, 64, 16 },
                                        { 5, 40, 3 },  { 6, 2, 3 },   { 8, 31, 5 },
                                        { 4, 130, 2 }, { 3, 200, 11 } };
    for (size_t i = 0; i < 2 * BT_COUNT(sizes); i++) {
        const int64_t *size = sizes[i / 2], h = size[1], k = size[2], n = size[0] * h;
        const bt_dtype dtype = i % 2 ? BT_FLOAT64 : BT_FLOAT32;
        char text[512];
        snprintf(text, sizeof(text),
                 "s: t[m, n] = max(sum(k: a[m, k] * b[n, k]) + d[n], 1);"
                 "x: t[m, i in h] = c[m, i] * s[m, i] + s[m, i + %lld];"
                 "z: t[m, i in h] = x[m, i] - s[m, i + %lld];"
                 "y: t[m, i in h] = z[m, i] * x[m, i] + x[m, %lld - i]",
                 (long long)h, (long long)(n - h), (long long)(h - 1));
        check(&(struct contraction){
            .inputs = { { "a", "t[m, k]", dtype, 2, { 1, k } },
                        { "b", "t[n, k]", dtype, 2, { n, k } },
                        { "c", "t[m, h]", dtype, 2, { 1, h } },
                        { "d", "t[n]", dtype, 1, { n } } },
            .is_constant = { 0, 1 },
            .text = text,
        });
    }
}

/* ---- cuts ---- */

static void fill_uneven(bt_tensor *t, uint64_t seed)
{
    for (int64_t i = 0; i < t->nelem; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bt_tensor_set(t, i, (double)(int64_t)(seed >> 20) / (1LL << 43) - 1);
    }
}

/* Sums are rounded here, and in the same way whatever the blocks. */
static void check_cuts(const struct contraction *c)
{
    struct world w = world_open();
    struct formula f = { .text = c->text };
    bt_tensor *in[4], *first, *got;
    uint32_t n = 0;
    for (; n < 4 && c->inputs[n].name; n++) {
        const struct input *i = &c->inputs[n];
        f.inputs[n] = (bt_op_input){ .name = i->name, .type = i->type };
        in[n] = tensor_new(&w, i->dtype, i->rank, i->dims);
        fill_uneven(in[n], n + 1);
    }
    first = formula_run(&w, &f, n, in);
    got = tensor_new(&w, first->dtype, first->rank, first->dims);
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        for (uint32_t nthread = 1; nthread <= 16; nthread *= 2) {
            struct calls calls = { .isa = isa };
            const struct cpu_config config = { .isa = isa, .nthread = nthread };
            run_schedule(&w, &f, n, in, &config, nthread == 1 ? first : got, run_call,
                         &calls);
            assert_true(calls.ntile > 0);
            if (nthread > 1)
                assert_memory_equal(got->data, first->data,
                                    (size_t)got->nelem * bt_dtype_nbytes(got->dtype));
        }
    }
    bt_tensor_unref(got);
    bt_tensor_unref(first);
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

static void test_threads_change_no_bit(void **state)
{
    (void)state;
    static const struct contraction all[] = {
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 1, 5, 41, 23 } },
                      { "w", "t[o, c, k, l]", BT_FLOAT32, 4, { 33, 5, 3, 3 } },
                      { "b", "t[o]", BT_FLOAT32, 1, { 33 } } },
          .text =
              "y: t[n, o, p in h, q in g] = max(sum(c, r in k, s in l:"
              "    x[n, c, p + r - 1, q + s - 1] * w[o, c, r, s] else 0) + b[o], 0)" },
        { .inputs = { { "x", "t[n, c, h, g]", BT_FLOAT32, 4, { 2, 3, 19, 23 } },
                      { "w", "t[c, k, l]", BT_FLOAT32, 3, { 3, 3, 3 } } },
          .text = "y: t[n, c, p in 10, q in 12] = sum(r in k, s in l:"
                  "    x[n, c, 2*p + r - 1, 2*q + s - 1] * w[c, r, s] else 0)" },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT32, 2, { 70, 129 } },
                      { "b", "t[n, k]", BT_FLOAT32, 2, { 301, 129 } } },
          .text = "y: t[m, n] = sum(k: a[m, k] * b[n, k])" },
        { .inputs = { { "a", "t[m, k]", BT_FLOAT64, 2, { 70, 129 } },
                      { "b", "t[k, n]", BT_FLOAT64, 2, { 129, 101 } } },
          .text = "y: t[m, n] = sum(k: a[m, k] * b[k, n]) * 3" },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check_cuts(&all[i]);
}

/* ---- pairs of bfloat16 ---- */

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
        check(&all[i]);
    if (cpu_isa_of_machine() < CPU_ISA_AVX512BF16)
        print_message("this machine has no products of pairs of bfloat16\n");
}

/* ---- without memory ---- */

/* 0: something had no memory, and said so. */
static int schedule_with(bt_registry *registry, bt_ctx *ctx, bt_store *store, int64_t c,
                         const struct cpu_config *config)
{
    static const bt_op_input inputs[] = { { .name = "x", .type = "t[n, c, h, g]" },
                                          { .name = "w", .type = "t[o, c, k, l]" },
                                          { .name = "b", .type = "t[u, q]" },
                                          { 0 } };
    static const bt_op op = {
        .name = "test.op",
        .revision = 1,
        .inputs = inputs,
        .formula =
            "y: t[n, o, i in 5, j in 5] = max(sum(c, r in k, s in l: neg(x[n, c, 2*i + "
            "r - 1, 2*j + s - 1]) * w[o, c, r, s] else 0), 0);"
            "z: t[o, u] = sum(q: w[o, q, 0, 0] * b[u, q]) + y[0, o, 0, 0]"
    };
    const bt_type *args[3] = {
        bt_type_tensor_of(store, BT_FLOAT32, 4, (const int64_t[]){ 1, c, 10, 10 }),
        bt_type_tensor_of(store, BT_FLOAT32, 4, (const int64_t[]){ 3 * c + 2, c, 3, 3 }),
        bt_type_tensor_of(store, BT_FLOAT32, 2, (const int64_t[]){ 40, c }),
    };
    return schedule_op(registry, ctx, store, &op, args, config);
}

static int schedule(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    return schedule_with(registry, ctx, store, 5,
                         &(struct cpu_config){ .isa = CPU_ISA_PORTABLE, .nthread = 2 });
}

/* Tiles that are turned then, and finish their sums. */
static int schedule_constants(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    return schedule_with(
        registry, ctx, store, 5,
        &(struct cpu_config){ .isa = CPU_ISA_PORTABLE,
                              .nthread = 2,
                              .is_constant = (const uint8_t[]){ 0, 1, 1 } });
}

/* Of pairs. */
static int schedule_fast(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    return schedule_with(
        registry, ctx, store, 65,
        &(struct cpu_config){ .isa = CPU_ISA_AVX512BF16,
                              .accuracy = CPU_FAST,
                              .nthread = 2,
                              .is_constant = (const uint8_t[]){ 0, 1, 1 } });
}

static int body(const bt_allocator *allocator)
{
    return schedule_by(allocator, schedule);
}

static int body_of_constants(const bt_allocator *allocator)
{
    return schedule_by(allocator, schedule_constants);
}

static int body_of_pairs(const bt_allocator *allocator)
{
    return schedule_by(allocator, schedule_fast);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation(body);
    fail_each_allocation(body_of_constants);
    fail_each_allocation(body_of_pairs);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_products_of_matrices),
    cmocka_unit_test(test_batches_and_einsum),
    cmocka_unit_test(test_convolutions_of_images),
    cmocka_unit_test(test_other_convolutions),
    cmocka_unit_test(test_a_row_is_read_in_parts),
    cmocka_unit_test(test_threads_change_no_bit),
    cmocka_unit_test(test_sums_of_pairs),
    cmocka_unit_test(test_every_allocation_may_fail),
};
TEST_MAIN(tests)
