/*
 * Runs schedules of contractions by their calls, each of which is checked against the room that it
 * has, and compares what comes out with the evaluator, to the bit: the numbers are such that no sum
 * is rounded.
 */
#ifndef CONTRACT_CHECK_H
#define CONTRACT_CHECK_H

#include "formula.h"

#include "compute/evaluate/compute.h"

#include "amx_registers.h"
#include "contraction.h"
#include "loops_oracle.h"
#include "primitives/halo.h"
#include "primitives/pack.h"
#include "primitives/pairs.h"
#include "primitives/quads.h"
#include "primitives/tile_codes.h"
#include "schedule/choice.h"
#include "schedule/contract.h"

#include <math.h>

/* ---- calls ---- */

struct calls {
    enum cpu_isa isa;
    uint32_t ntile, npair, nshort,
        nquad; /* calls of tiles, of those of pairs of floats, of int16, of quads */
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
                (t->epilogue && strcmp(t->epilogue->name, name) == 0) ||
                (t->codes && strcmp(t->codes->name, name) == 0))
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

/* All of a tile that makes codes of its sums, in the room that they have. */
static void check_codes(const struct cpu_tile *t, const struct call_value *p,
                        const int64_t *n)
{
    const int64_t columns = n[CPU_TILE_N], last = (columns - 1) / n[CPU_CODES_GROUP];
    const int64_t width = n[CPU_TILE_FLAGS] & CPU_TILE_PADDED && !t->takes_columns
                              ? t->nr
                              : (columns - 1) % t->nr + 1;
    const int by_row = (n[CPU_TILE_FLAGS] & CPU_TILE_ROW_BIAS) != 0;
    assert_in_range(n[CPU_TILE_M], 1, t->mr);
    assert_true(columns >= 1 && n[CPU_CODES_WIDTH] <= n[CPU_CODES_GROUP]);
    assert_true(!t->depth || (n[CPU_TILE_K] % t->depth == 0 && n[CPU_TILE_A_K] == 1));
    assert_true(p[CPU_TILE_C].nelem >= furthest(n[CPU_TILE_M], n[CPU_TILE_C_ROW]) +
                                           last * n[CPU_CODES_C_GROUP] + columns -
                                           last * n[CPU_CODES_GROUP]);
    assert_true(p[CPU_TILE_A].nelem >
                furthest(n[CPU_TILE_M], n[CPU_TILE_A_ROW]) + furthest_k(n, CPU_TILE_A_K));
    assert_true(p[CPU_TILE_B].nelem >= (columns - 1) / t->nr * n[CPU_CODES_B_N] +
                                           furthest_k(n, CPU_TILE_B_K) + width);
    for (uint32_t i = CPU_TILE_BIAS; i < CPU_CODES_NEXT; i++)
        assert_true(p[i].nelem >= (by_row ? n[CPU_TILE_M] : columns));
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
static int32_t run_codes_us_emulated(void *const *p, const int64_t *n)
{
    return run_codes(run_quads_us_epilogue_amx, AMX_WIDTH, p, n);
}

static int32_t run_codes_su_emulated(void *const *p, const int64_t *n)
{
    return run_codes(run_quads_su_epilogue_amx, AMX_WIDTH, p, n);
}

static cpu_primitive *amx_of(const struct cpu_tile *t, int form)
{
    static cpu_primitive *const emulated[][3] = {
        { run_pairs_amx, run_pairs_epilogue_amx, NULL },
        { run_halves_amx, run_halves_epilogue_amx, NULL },
        { run_quads_us_amx, run_quads_us_epilogue_amx, run_codes_us_emulated },
        { run_quads_su_amx, run_quads_su_epilogue_amx, run_codes_su_emulated },
    };
    const struct cpu_callee *const rows[] = { t->block, t->epilogue, t->codes };
    if (!cpu_isa_request(CPU_ISA_AMX))
        return emulated[t - cpu_tiles_amx][form];
    return rows[form]->run;
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
    const int is_quads = strncmp(row->name, "quads", 5) == 0;
    assert_in_range(n[CPU_PAIRS_K], 0,
                    n[CPU_PAIRS_DEPTH] * (has_halves ? 1
                                          : is_quads ? 4
                                                     : 2));
    assert_true(!has_halves || n[CPU_PAIRS_DEPTH] % (2 * CPU_PAIRS_OF_HALVES) == 0);
    assert_in_range(n[CPU_PAIRS_N], 1, n[CPU_PAIRS_WIDTH]);
    assert_true(args[0].nelem >= n[CPU_PAIRS_DEPTH] * n[CPU_PAIRS_WIDTH]);
    assert_true(!n[CPU_PAIRS_K] ||
                args[1].nelem > furthest(n[CPU_PAIRS_K], n[CPU_PAIRS_K_STRIDE]) +
                                    furthest(n[CPU_PAIRS_N], n[CPU_PAIRS_N_STRIDE]));
    assert_int_equal(row->run(p, n), 0);
    return NULL;
}

static bt_status run_quad_sums(const struct cpu_callee *row, uint32_t narg,
                               const struct call_value *args)
{
    void *p[] = { args[0].address, args[1].address };
    int64_t n[CPU_QUAD_SUMS_NINT];
    assert_int_equal(narg, CPU_QUAD_SUMS_NPOINTER + CPU_QUAD_SUMS_NINT);
    for (uint32_t i = 0; i < CPU_QUAD_SUMS_NINT; i++)
        n[i] = args[CPU_QUAD_SUMS_NPOINTER + i].integer;
    assert_true(args[0].nelem >= n[CPU_QUAD_SUMS_ROWS]);
    assert_true(args[1].nelem > furthest(n[CPU_QUAD_SUMS_ROWS], n[CPU_QUAD_SUMS_ROW]) +
                                    furthest(n[CPU_QUAD_SUMS_DEPTH], n[CPU_QUAD_SUMS_K]));
    assert_int_equal(row->run(p, n), 0);
    return NULL;
}

static bt_status run_codes_of_sums(const struct cpu_callee *row, uint32_t narg,
                                   const struct call_value *args)
{
    enum { VECTOR = 16 };
    void *p[CPU_SUMS_CODES_NPOINTER];
    int64_t n[CPU_CODES_NINT];
    assert_int_equal(narg, CPU_SUMS_CODES_NPOINTER + CPU_CODES_NINT);
    for (uint32_t i = 0; i < CPU_SUMS_CODES_NPOINTER; i++)
        p[i] = args[i].address;
    for (uint32_t i = 0; i < CPU_CODES_NINT; i++)
        n[i] = args[CPU_SUMS_CODES_NPOINTER + i].integer;
    const int64_t columns = n[CPU_TILE_N], last = (columns - 1) / n[CPU_CODES_GROUP];
    const int by_row = (n[CPU_TILE_FLAGS] & CPU_TILE_ROW_BIAS) != 0;
    assert_true(columns >= 1 && n[CPU_CODES_WIDTH] <= n[CPU_CODES_GROUP]);
    assert_true(args[CPU_SUMS_CODES_C].nelem >=
                furthest(n[CPU_TILE_M], n[CPU_TILE_C_ROW]) + last * n[CPU_CODES_C_GROUP] +
                    columns - last * n[CPU_CODES_GROUP]);
    assert_true(args[CPU_SUMS_CODES_SUMS].nelem >=
                furthest(n[CPU_TILE_M], n[CPU_SUMS_CODES_ROW]) +
                    (columns + VECTOR - 1) / VECTOR * VECTOR);
    for (uint32_t i = CPU_SUMS_CODES_BIAS; i < CPU_SUMS_CODES_NPOINTER; i++)
        assert_true(args[i].nelem >= (by_row ? n[CPU_TILE_M] : columns));
    const int is_emulated =
        strcmp(row->name, "sums_codes_amx") == 0 && !cpu_isa_request(CPU_ISA_AMX);
    assert_int_equal((is_emulated ? run_sums_codes : row->run)(p, n), 0);
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
    if (row && row->form == CPU_SUMS_CODES)
        return run_codes_of_sums(row, narg, args);
    if (row && row->form == CPU_QUAD_SUMS)
        return run_quad_sums(row, narg, args);
    const struct cpu_tile *tile = find_tile(callee);
    int is_halo = 0;
    const int is_epilogue = strncmp(callee, "epilogue", 8) == 0;
    const int is_codes = strncmp(callee, "codes", 5) == 0;
    uint32_t naddress = is_codes      ? CPU_CODES_NPOINTER
                        : is_epilogue ? CPU_TILE_RESIDUAL + 1
                        : tile        ? CPU_TILE_NPOINTER
                                      : 2;
    int is_line = strncmp(callee, "line", 4) == 0;
    int is_across = strncmp(callee, "across", 6) == 0;
    cpu_primitive *run = is_line     ? tile->line->run
                         : is_across ? tile->across->run
                         : tile && tile->isa == CPU_ISA_AMX
                             ? amx_of(tile, is_codes ? 2 : is_epilogue)
                         : is_codes    ? tile->codes->run
                         : is_epilogue ? tile->epilogue->run
                         : tile        ? tile->block->run
                                       : find_copy(callee, &is_halo);
    void *p[CPU_TILE_RESIDUAL + 1];
    int64_t n[CPU_CODES_NINT];
    _Static_assert((int)CPU_CODES_NINT >= CPU_TILE_EPILOGUE_NINT, "of any form");
    assert_true(narg <= BT_COUNT(p) + BT_COUNT(n));
    for (uint32_t i = 0; i < narg; i++) {
        if (i < naddress)
            p[i] = args[i].address;
        else
            n[i - naddress] = args[i].integer;
    }
    if (is_across)
        check_across(args, n);
    else if (is_codes)
        check_codes(tile, args, n);
    else if (tile)
        check_tile(tile, is_line, is_epilogue, args, n);
    else
        check_copy(is_halo, args, n);
    if (is_epilogue)
        check_epilogue(args, n);
    if (tile && tile->nterm == 4)
        assert_true(cpu_isa_multiplies_quads(tile->isa));
    else if (tile)
        assert_ptr_equal(tile->pairs
                             ? cpu_tile_of_pairs(calls->isa, tile->c, tile->has_halves)
                             : cpu_tile_find(calls->isa, tile->a, tile->b, tile->c),
                         tile);
    calls->ntile += tile != NULL;
    calls->npair += tile && tile->pairs && tile->c == BT_FLOAT32;
    calls->nshort += tile && tile->nterm == 2 && tile->c == BT_INT32;
    calls->nquad += tile && tile->nterm == 4;
    assert_int_equal(run(p, n), 0);
    return NULL;
}

/* ---- one formula ---- */

static void assert_same(const struct contraction *c, const bt_tensor *got,
                        const bt_tensor *expected)
{
    for (int64_t i = 0; i < got->nelem; i++) {
        double a = bt_tensor_get(got, i), b = bt_tensor_get(expected, i);
        if (a != b && !(isnan(a) && isnan(b)))
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
        const int has_quads = c->has_shorts == 2 && cpu_tile_of_quads(isa, 0) != NULL;
        if (c->has_shorts && !(has_quads ? calls.nquad : calls.nshort))
            fail_msg("%s for %s: no %s", c->text, cpu_isa_name(isa),
                     has_quads ? "quads" : "pairs of int16");
        assert_same(c, got, expected);
    }
}

/* By each way that there is for the set, whichever is thought the fastest. */
static void check_ways(struct world *w, struct formula *f, uint32_t n, bt_tensor **in,
                       enum cpu_isa isa, const struct contraction *c, bt_tensor *got,
                       const bt_tensor *expected)
{
    bt_arena *arena = bt_arena_create(w->registry);
    struct cpu_choices found = { .arena = arena }, wanted = { .arena = arena };
    struct cpu_config config = { .isa = isa,
                                 .nthread = 2,
                                 .is_constant = c->is_constant,
                                 .program = CPU_OWN_PROGRAM,
                                 .choices = &found };
    struct calls calls = { .isa = isa };
    assert_non_null(arena);
    run_schedule(w, f, n, in, &config, got, run_call, &calls);
    config.choices = NULL;
    config.wanted = &wanted;
    for (uint32_t i = 0; i < found.all.len; i++) {
        struct cpu_choice choice = found.all.at[i];
        choice.is_taken = 1;
        wanted.all.len = 0;
        assert_true(BT_PUSH(arena, &wanted.all, choice));
        run_schedule(w, f, n, in, &config, got, run_call, &calls);
        assert_same(c, got, expected);
    }
    bt_arena_destroy(arena);
}

static void check_contraction(const struct contraction *c)
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
    if (c->has_infinity)
        bt_tensor_set(in[0], in[0]->nelem / 2, INFINITY);
    expected = formula_run(&w, &f, n, in);
    got = tensor_new(&w, expected->dtype, expected->rank, expected->dims);
    for (enum cpu_isa isa = 0; isa <= widest_set(); isa++) {
        check_set(&w, &f, n, in, isa, CPU_DEFAULT, c, got, expected);
        if (c->has_shorts)
            check_ways(&w, &f, n, in, isa, c, got, expected);
        if (isa >= CPU_ISA_AVX512BF16)
            check_set(&w, &f, n, in, isa, CPU_FAST, c, got, expected);
    }
    bt_tensor_unref(got);
    bt_tensor_unref(expected);
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

#endif
