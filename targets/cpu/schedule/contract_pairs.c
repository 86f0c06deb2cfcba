/*
 * Sums of float32, one factor of which is a constant, by tiles that multiply bfloat16, and of
 * integers that int16 holds, or 8 bits. An element of either factor is a pair then, of two terms' factors,
 * or a quad of four, and a tile adds so many products at once (tile.avx512bf16.c, tile.amx.c,
 * tile_rows.h):
 *
 *     pairs(&u[...], &w[...])               rows of the constant, when the program is compiled
 *     pairs(&v[c], &x[2 * c])               the data, pairs of channels
 *     tile(&y[...], &u[...], &v[...])       a contraction as any other, of half the channels
 *
 * Under accuracy="fast" factors are rounded to bfloat16. Under accuracy="default", where there is
 * AMX, each factor is the sum of two bfloat16 halves (pairs.h): three products of these are the
 * product of float32 within 2^-16 of it.
 *
 * Quads are codes of data and of constant weights as they are, where the machine multiplies bytes: data
 * without a sign, or made so, weights with one and without a zero point. Of data with zero point z
 *
 *     sum((x - z) * w) = sum(x * w) - z * sum(w)
 *
 * of which the last is a number for each row of weights, made when they are packed (quads.h); what is
 * outside of the data is z. No sum differs from that of pairs.
 */
#include "contract_layout.h"

#include "primitives/pack.h"
#include "primitives/pairs.h"
#include "primitives/quads.h"
#include "vectorise.h"

#include <string.h>

/* ---- which stages ---- */

/* The axis that only dim `d` goes along, all of it; -1: there is none, or more than one. */
static int32_t axis_of(const struct cpu_contraction *c, const struct cpu_operand *o,
                       uint32_t d)
{
    int32_t found = -1;
    for (uint32_t a = 0; a < o->rank; a++) {
        if (!o->coefs[a][d])
            continue;
        if (found >= 0 || o->coefs[a][d] != 1 || o->at[a] || o->guards[a] ||
            bt_node_number(o->extents[a]) != bt_node_number(c->dims[d].extent))
            return -1;
        found = (int32_t)a;
        for (uint32_t i = 0; i < c->ndim; i++) {
            if (i != d && o->coefs[a][i])
                return -1;
        }
    }
    return found;
}

/* The longest dim whose terms may be pairs; -1: there is none. */
static int32_t find_paired(const struct cpu_contraction *c)
{
    int32_t longest = -1;
    for (uint32_t d = 0; d < c->ndim; d++) {
        const int64_t n = bt_node_number(c->dims[d].extent);
        if (c->dims[d].is_k && n >= 2 && axis_of(c, &c->operands[0], d) >= 0 &&
            axis_of(c, &c->operands[1], d) >= 0 &&
            (longest < 0 || n > bt_node_number(c->dims[longest].extent)))
            longest = (int32_t)d;
    }
    return longest;
}

static void swap_dims(struct cpu_contraction *c, uint32_t d, uint32_t e)
{
    const struct cpu_dim dim = c->dims[d];
    c->dims[d] = c->dims[e];
    c->dims[e] = dim;
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t a = 0; a < c->operands[i].rank; a++) {
            int64_t *coefs = c->operands[i].coefs[a];
            const int64_t coef = coefs[d];
            coefs[d] = coefs[e];
            coefs[e] = coef;
        }
    }
}

/* Last of the reduced dims, so that a tile's inner loop goes along it. */
static uint32_t put_last(struct cpu_contraction *c, uint32_t d)
{
    for (uint32_t i = d + 1; i < c->ndim; i++) {
        if (c->dims[i].is_k) {
            swap_dims(c, d, i);
            d = i;
        }
    }
    return d;
}

/* Whether all that 8 bits hold has a sign and fits into them when `zero` is subtracted. */
static int fits_signed(const struct cpu_operand *o)
{
    return o->dtype == BT_INT8 ? o->zero == 0 : o->zero == INT8_MAX + 1;
}

/* Whether quads of the factor are four of its bytes as they lie, none more and none less. */
static int lies_in_quads(const struct cpu_contraction *c, const struct cpu_operand *o,
                         uint32_t d, const bt_node *rows)
{
    return !o->is_signed && o->zero == 0 && axis_of(c, o, d) + 1 == (int32_t)o->rank &&
           cpu_number(c->dims[d].extent) == 4 * cpu_number(rows);
}

/* The operands as codes of 8 bits: those with a sign, of weights without zero point, and those of data
 * without one. Where the array ends stands the code of zero then. 0: they are none such. */
static int read_quads(const bt_graph *g, const struct cpu_config *config,
                      struct cpu_contraction *c, int64_t *correction)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (!cpu_read_codes(g, &c->operands[i]))
            return 0;
    }
    const int second = cpu_is_constant(g, config, &c->operands[1]);
    struct cpu_operand *weights = &c->operands[second], *data = &c->operands[!second];
    if (!cpu_is_constant(g, config, weights) || !fits_signed(weights) ||
        cpu_is_guarded(weights))
        return 0;
    const int64_t first = data->dtype == BT_INT8 ? INT8_MIN : 0,
                  code = data->zero - first;
    enum { EACH_BYTE = 0x01010101 };
    if (code < 0 || code > UINT8_MAX)
        return 0;
    weights->is_signed = 1;
    data->zero = first; // what is subtracted of a code
    data->outside = code * EACH_BYTE;
    *correction = -code;
    return 1;
}

/* NULL: the machine has none, or the accuracy allows none. */
static const struct cpu_tile *choose_tile(const bt_graph *g,
                                          const struct cpu_config *config,
                                          const struct cpu_contraction *c, uint32_t way)
{
    const struct cpu_operand *o = c->operands;
    if (o[0].dtype != o[1].dtype)
        return NULL;
    if (way != CPU_PAIRS_OF_TERMS) {
        const int by_amx = way == CPU_QUADS_BY_AMX;
        const enum cpu_isa widest =
            by_amx || config->isa < CPU_ISA_AMX ? config->isa : CPU_ISA_AVX512BF16;
        const int may = o[0].dtype == BT_INT16 && c->dtype == BT_INT32 &&
                        (!by_amx || config->isa == CPU_ISA_AMX);
        return may ? cpu_tile_of_quads(widest, 0) : NULL;
    }
    if (o[0].dtype == BT_INT16 && c->dtype == BT_INT32)
        return cpu_tile_of_pairs(config->isa, BT_INT32, 0);
    return config->accuracy == CPU_EXACT || o[0].dtype != BT_FLOAT32 ||
                   c->dtype != BT_FLOAT32 ||
                   !(cpu_is_constant(g, config, &o[0]) ||
                     cpu_is_constant(g, config, &o[1]))
               ? NULL
               : cpu_tile_of_pairs(config->isa, BT_FLOAT32, config->accuracy != CPU_FAST);
}

/* What makes pairs of the operand's terms. */
static const struct cpu_callee *maker_of(const struct cpu_tiling *p,
                                         const struct cpu_operand *o)
{
    if (p->tile->nterm == 4)
        return p->tile->pairs;
    return p->tile->pairs + (o->of == BT_UINT8  ? CPU_PAIRS_OF_UINT8
                             : o->of == BT_INT8 ? CPU_PAIRS_OF_INT8
                                                : CPU_PAIRS_OF_INT16);
}

/* Rows of pairs, or quads, that a tile reads of so many terms. */
static const bt_node *count_rows(bt_graph *g, const struct cpu_tile *tile,
                                 const bt_node *terms)
{
    const bt_node *npair = cpu_ceildiv(g, terms, tile->nterm);
    if (!tile->depth)
        return npair;
    const int64_t of_step = tile->has_halves ? tile->depth / 2 : tile->depth;
    return npair ? cpu_scaled(g, cpu_ceildiv(g, npair, of_step), tile->depth) : NULL;
}

/* Neither a depthwise convolution nor parts of a row, nor a factor that lies across. */
static int is_plain(const struct cpu_tiling *p)
{
    return !p->is_across && p->beside < 0 && (!p->is_line || p->b_kind == CPU_B_PANELS);
}

/* Whether the sum's rows, or columns, are all that the factor with a sign has beside terms: what
 * corrects it is one number for each then. */
static int is_by_row(const struct cpu_tiling *p)
{
    const struct cpu_operand *o = p->a->is_signed ? p->a : p->b;
    const int32_t by = p->a->is_signed ? p->m : (int32_t)p->n;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (!dim->is_k && (int32_t)d != by && by >= 0 &&
            (cpu_is_in(o, d) || dim->index == p->view.dims[by].index))
            return 0;
    }
    return p->a->is_signed ? p->m >= 0 && p->pairs_nelem : p->b_kind == CPU_B_PANELS;
}

struct cpu_tiling *cpu_contract_pairs(bt_graph *g, const bt_array *stage,
                                      const struct cpu_config *config,
                                      const struct cpu_tiling *p, uint32_t way)
{
    struct cpu_contraction view = p->view;
    const struct cpu_operand *o = view.operands;
    const struct cpu_tile *tile = choose_tile(g, config, &view, way);
    const int32_t found = tile ? find_paired(&view) : -1;
    int64_t correction = 0;
    int lie[2];
    if (found < 0 || !is_plain(p) ||
        (tile->nterm == 4 && !read_quads(g, config, &view, &correction)))
        return NULL;
    const uint32_t paired = put_last(&view, (uint32_t)found);
    const bt_node *terms = view.dims[paired].extent, *rows = count_rows(g, tile, terms);
    if (!rows)
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        if (tile->c == BT_INT32 && tile->nterm == 2)
            (void)cpu_read_codes(g, &view.operands[i]);
        lie[i] = tile->nterm == 4 && lies_in_quads(&view, &o[i], paired, rows);
        view.operands[i].extents[axis_of(&view, &o[i], paired)] = rows;
        view.operands[i].of = view.operands[i].dtype;
        view.operands[i].dtype = BT_UINT32;
    }
    view.dims[paired].extent = rows;
    struct cpu_tiling *made =
        cpu_contract_paired(g, stage, config, &view, tile, paired, terms);
    if (!made || (tile->depth && !cpu_is_size(made->as[paired], 1)) ||
        (tile->nterm == 4 && !is_by_row(made)))
        return NULL;
    const int64_t a = made->a - made->view.operands;
    made->view.operands[a].of_each = lie[a] ? made->tile->nterm : 1;
    made->correction = correction;
    return made;
}

/* The axis `from` of an operand becomes axis `to`, those between move by one. */
static void move_axis(struct cpu_operand *o, uint32_t from, uint32_t to)
{
    const struct cpu_operand old = *o;
    for (uint32_t a = 0; a < o->rank; a++) {
        const uint32_t rest = a - (a > to); // among the axes but this one
        const uint32_t at = a == to ? from : rest + (rest >= from);
        o->extents[a] = old.extents[at];
        o->at[a] = old.at[at];
        o->guards[a] = old.guards[at];
        memcpy(o->coefs[a], old.coefs[at], sizeof(o->coefs[a]));
    }
}

void cpu_put_pairs_last(struct cpu_tiling *p)
{
    struct cpu_operand *a = &p->view.operands[p->a - p->view.operands];
    p->paired_axis = (uint32_t)axis_of(&p->view, a, p->paired);
    move_axis(a, p->paired_axis, a->rank - 1);
}

const char *cpu_way_of_pairs(const struct cpu_tiling *p)
{
    if (p->tile->nterm == 4)
        return p->tile->takes_columns ? "amx, int8"
               : p->is_turned         ? "int8 quads, turned"
                                      : "int8 quads";
    return p->tile->c == BT_INT32   ? (p->is_turned ? "int16 pairs, turned"
                                       : p->is_line ? "int16 lines"
                                                    : "int16 pairs")
           : p->tile->has_halves    ? "amx, two halves"
           : p->tile->takes_columns ? "amx, bf16"
           : p->is_line             ? "bf16 lines"
           : p->is_turned           ? "bf16 tiles, turned"
                                    : "bf16 tiles";
}

/* Elements of a factor, terms counted as pairs. */
static double count_elements(const struct cpu_operand *o)
{
    double n = 1;
    for (uint32_t a = 0; a < o->rank; a++)
        n *= (double)cpu_iterations(o->extents[a]);
    return n;
}

/* By AMX: what its products of registers take, its calls, and what is done with each sum. */
static double ns_of_amx(const struct cpu_tiling *p)
{
    static const double ns_of_call = 60, ns_of_sum = 0.05;
    enum { SIDE = 16, FEW_ROWS = 7, ROWS = 32, COLUMNS_OF_CALL = 192 };
    double depth = 1, around = 1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const double n = (double)cpu_iterations(p->view.dims[d].extent);
        if (p->view.dims[d].is_k)
            depth *= n;
        else if (cpu_is_around(p, d))
            around *= n;
    }
    int64_t ncolumn = cpu_iterations(p->ncolumn), nrow = cpu_iterations(p->nrow);
    if (p->n0 >= 0)
        ncolumn =
            bt_node_number(p->bs[p->n0]) * cpu_iterations(p->view.dims[p->n0].extent);
    const double ns_of_product = nrow <= FEW_ROWS ? 4 : 7;
    const int64_t of_call = p->b_kind == CPU_B_PANELS ? p->tile->nr : COLUMNS_OF_CALL;
    // of two halves, three products for the rows of two
    const double nproduct = depth / SIDE * (p->tile->has_halves ? 1.5 : 1) *
                            (double)bt_ceildiv_int64(nrow, SIDE) *
                            (double)bt_ceildiv_int64(ncolumn, SIDE);
    const double ncall =
        (double)(bt_ceildiv_int64(nrow, ROWS) * bt_ceildiv_int64(ncolumn, of_call));
    return around * (nproduct * ns_of_product + ncall * ns_of_call +
                     ns_of_sum * (double)(nrow * ncolumn));
}

double cpu_ns_of_pairs(const struct cpu_tiling *p)
{
    // two factors are read and a pair is written
    const double ns_of_pair = p->tile->c == BT_INT32 ? 0.1 : 0.3;
    const struct cpu_operand *data = p->pairs_nelem ? p->b : p->a;
    const double ns = p->tile->takes_columns ? ns_of_amx(p) : cpu_ns_of_tiles(p);
    return ns + ns_of_pair * count_elements(data);
}

/* ---- pairs ---- */

/* The strides of the factor's own elements, by dim. */
static void lay_terms(bt_graph *g, const struct cpu_tiling *p,
                      const struct cpu_operand *o, const bt_node **at,
                      const bt_node **by_dim)
{
    struct cpu_operand terms = *o;
    terms.extents[axis_of(&p->view, o, p->paired)] = p->terms;
    cpu_lay_direct(g, p, &terms, at, by_dim);
}

/* What corrects the sums of so many rows of quads, from number `first` on, which lie at `from`. */
static int fill_corrections(const struct cpu_emitter *at, const struct cpu_tiling *p,
                            const struct cpu_operand *o, uint32_t quads,
                            const bt_node *from, const bt_node *first, int64_t nrow,
                            int64_t row, int64_t k)
{
    struct cpu_emitter e = *at;
    bt_graph *g = e.loops->graph;
    const bt_node *depth = bt_node_int(g, 1);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].is_k)
            depth = cpu_times(g, depth, p->view.dims[d].extent);
    }
    const bt_node *integers[CPU_QUAD_SUMS_NINT] = {
        bt_node_int(g, nrow),          depth, bt_node_int(g, row), bt_node_int(g, k),
        bt_node_int(g, p->correction),
    };
    struct cpu_address addresses[] = { { p->corrections, first }, { quads, from } };
    return !p->correction || !o->is_signed ||
           cpu_emit_call(&e, "quad_sums", CPU_QUAD_SUMS_NPOINTER, addresses,
                         CPU_QUAD_SUMS_NINT, integers);
}

/* Rows of a constant A: each as its dims say. */
static int fill_rows(bt_loops *loops, const struct cpu_tiling *p, uint32_t to,
                     bt_stmts *out)
{
    struct cpu_emitter e = { loops, out, CPU_FIRST_INDEX };
    bt_graph *g = loops->graph;
    const bt_node *strides[CPU_DIMS], *from, *at = p->a_at, *one = bt_node_int(g, 1);
    lay_terms(g, p, p->a, &from, strides);
    const bt_node *row =
        p->m < 0 ? NULL : cpu_emit_loop(&e, p->view.dims[p->m].extent, 1);
    if (p->m >= 0 && !row)
        return 0;
    if (row) {
        from = cpu_along(g, from, row, strides[p->m]);
        at = cpu_along(g, at, row, p->as[p->m]);
    }
    const struct cpu_emitter by_row = e;
    const bt_node *begin = at;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (d == p->paired || (int32_t)d == p->m || !cpu_is_in(p->a, d))
            continue;
        const bt_node *index = cpu_emit_loop(&e, p->view.dims[d].extent, 0);
        from = cpu_along(g, from, index, strides[d]);
        at = cpu_along(g, at, index, p->as[d]);
        if (!from || !at)
            return 0;
    }
    const bt_node *integers[CPU_PAIRS_NINT] = {
        [CPU_PAIRS_K] = p->terms,
        [CPU_PAIRS_N] = one,
        [CPU_PAIRS_DEPTH] = p->view.dims[p->paired].extent,
        [CPU_PAIRS_WIDTH] = one,
        [CPU_PAIRS_K_STRIDE] = strides[p->paired],
        [CPU_PAIRS_N_STRIDE] = one,
        [CPU_PAIRS_ZERO] = bt_node_int(g, p->a->zero),
        [CPU_PAIRS_TURNED] = bt_node_int(g, cpu_is_size(strides[p->paired], 1)),
    };
    struct cpu_address addresses[] = { { to, at }, { p->a->array, from } };
    return cpu_emit_call(&e, maker_of(p, p->a)->name, CPU_PAIRS_NPOINTER, addresses,
                         CPU_PAIRS_NINT, integers) &&
           fill_corrections(&by_row, p, p->a, to, begin, row, 1, 0, 1);
}

/* Pairs or quads of integers along the last axis: pieces of all places, or where each has as many terms as
 * it can, of one column of all terms. */
static int fill_places(bt_loops *loops, const struct cpu_tiling *p,
                       const struct cpu_operand *o, uint32_t to, const bt_node *places,
                       bt_stmts *out)
{
    enum { PIECE = 1024 };
    struct cpu_emitter e = { loops, out, CPU_FIRST_INDEX };
    bt_graph *g = loops->graph;
    const bt_node *rows = o->extents[o->rank - 1], *one = bt_node_int(g, 1);
    const int64_t nterm = p->tile->nterm;
    const int is_flat = nterm * cpu_number(rows) == cpu_number(p->terms);
    const int64_t most = is_flat ? PIECE : PIECE / (cpu_iterations(rows) + 1) + 1;
    const bt_node *all = is_flat ? cpu_times(g, places, rows) : places;
    const bt_node *piece = cpu_emit_loop(&e, cpu_ceildiv(g, all, most), 1);
    const bt_node *first = piece ? cpu_scaled(g, piece, most) : NULL;
    const bt_node *count = cpu_least(g, bt_node_int(g, most), cpu_minus(g, all, first));
    const bt_node *columns = is_flat ? one : count;
    const bt_node *integers[CPU_PAIRS_NINT] = {
        [CPU_PAIRS_K] = is_flat ? cpu_scaled(g, count, nterm) : p->terms,
        [CPU_PAIRS_N] = columns,
        [CPU_PAIRS_DEPTH] = is_flat ? count : rows,
        [CPU_PAIRS_WIDTH] = columns,
        [CPU_PAIRS_K_STRIDE] = one,
        [CPU_PAIRS_N_STRIDE] = p->terms,
        [CPU_PAIRS_ZERO] = bt_node_int(g, o->zero),
        [CPU_PAIRS_TURNED] = one,
    };
    struct cpu_address addresses[] = {
        { to, is_flat ? first : cpu_times(g, first, rows) },
        { o->array,
          is_flat ? cpu_scaled(g, first, nterm) : cpu_times(g, first, p->terms) },
    };
    return cpu_emit_call(&e, maker_of(p, o)->name, CPU_PAIRS_NPOINTER, addresses,
                         CPU_PAIRS_NINT, integers);
}

/* A factor as it lies, with pairs along an axis: what is behind that goes along as columns. */
static int fill_array(bt_loops *loops, const struct cpu_tiling *p,
                      const struct cpu_operand *o, uint32_t to, bt_stmts *out)
{
    enum { SHORT_ROW = 32 };
    struct cpu_emitter e = { loops, out, CPU_FIRST_INDEX };
    bt_graph *g = loops->graph;
    const uint32_t axis = (uint32_t)axis_of(&p->view, o, p->paired);
    const bt_node *one = bt_node_int(g, 1), *rows = o->extents[axis];
    const bt_node *before = one, *columns = one;
    for (uint32_t a = 0; a < o->rank; a++) {
        const bt_node **count = a < axis ? &before : &columns;
        if (a != axis)
            *count = cpu_times(g, *count, o->extents[a]);
    }
    if (p->tile->c == BT_INT32 && axis + 1 == o->rank)
        return fill_places(loops, p, o, to, before, out);
    const int by_rows = columns && cpu_iterations(columns) >= SHORT_ROW;
    const bt_node *outer = cpu_emit_loop(&e, before, 1);
    const bt_node *from = cpu_times(g, outer, cpu_times(g, p->terms, columns));
    const bt_node *at = cpu_times(g, outer, cpu_times(g, rows, columns));
    const bt_node *terms = p->terms;
    if (by_rows) { // those of one step, of which the last has fewer terms, or none
        const int64_t depth = p->tile->has_halves ? p->tile->depth : 1;
        const int64_t most = p->tile->has_halves ? depth : p->tile->nterm;
        const bt_node *step =
            cpu_emit_loop(&e, cpu_ceildiv(g, rows, depth), cpu_is_size(before, 1));
        const bt_node *first = cpu_scaled(g, step, most),
                      *left = cpu_minus(g, terms, first);
        const bt_node *last = bt_node_linear(g, -1, 1, &terms, (int64_t[]){ 1 });
        from = cpu_along(g, from, cpu_least(g, first, last), columns);
        at = cpu_along(g, at, cpu_scaled(g, step, depth), columns);
        terms = cpu_most(g, cpu_least(g, bt_node_int(g, most), left), bt_node_int(g, 0));
        rows = bt_node_int(g, depth);
    }
    const bt_node *integers[CPU_PAIRS_NINT] = {
        [CPU_PAIRS_K] = terms,
        [CPU_PAIRS_N] = columns,
        [CPU_PAIRS_DEPTH] = rows,
        [CPU_PAIRS_WIDTH] = columns,
        [CPU_PAIRS_K_STRIDE] = columns,
        [CPU_PAIRS_N_STRIDE] = one,
        [CPU_PAIRS_ZERO] = bt_node_int(g, o->zero),
        [CPU_PAIRS_TURNED] = bt_node_int(g, 0),
    };
    struct cpu_address addresses[] = { { to, at }, { o->array, from } };
    return cpu_emit_call(&e, maker_of(p, o)->name, CPU_PAIRS_NPOINTER, addresses,
                         CPU_PAIRS_NINT, integers);
}

int cpu_emit_pair_panels(struct cpu_emitter *e, const struct cpu_tiling *p,
                         uint32_t packed)
{
    bt_graph *g = e->loops->graph;
    const struct cpu_dim *n = &p->view.dims[p->n];
    const bt_node *to, *from, *strides[CPU_DIMS];
    const int64_t nr = p->tile->nr;
    lay_terms(g, p, p->b, &from, strides);
    const bt_node *panel = cpu_emit_loop(e, cpu_ceildiv(g, n->extent, nr), 1);
    if (!panel)
        return 0;
    to = cpu_times(g, panel, cpu_scaled(g, p->bs[p->n], nr));
    from = cpu_along(g, from, panel, cpu_scaled(g, strides[p->n], nr));
    const struct cpu_emitter by_panel = *e;
    const bt_node *begin = to;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (d == p->n || d == p->paired || cpu_is_size(p->bs[d], 0))
            continue;
        const bt_node *index = cpu_emit_loop(e, p->view.dims[d].extent, 0);
        to = cpu_along(g, to, index, p->bs[d]);
        from = cpu_along(g, from, index, strides[d]);
        if (!to || !from)
            return 0;
    }
    const bt_node *width = bt_node_int(g, nr);
    const bt_node *integers[CPU_PAIRS_NINT] = {
        [CPU_PAIRS_K] = p->terms,
        [CPU_PAIRS_N] = cpu_least(g, width, cpu_along_int(g, n->extent, panel, -nr)),
        [CPU_PAIRS_DEPTH] = p->view.dims[p->paired].extent,
        [CPU_PAIRS_WIDTH] = width,
        [CPU_PAIRS_K_STRIDE] = strides[p->paired],
        [CPU_PAIRS_N_STRIDE] = strides[p->n],
        [CPU_PAIRS_ZERO] = bt_node_int(g, p->b->zero),
        [CPU_PAIRS_TURNED] = bt_node_int(g, 0),
    };
    struct cpu_address addresses[] = { { packed, to }, { p->b->array, from } };
    return cpu_emit_call(e, maker_of(p, p->b)->name, CPU_PAIRS_NPOINTER, addresses,
                         CPU_PAIRS_NINT, integers) &&
           fill_corrections(&by_panel, p, p->b, packed, begin, cpu_scaled(g, panel, nr),
                            nr, 1, nr);
}

/* Pairs as they lie with these on their own axis, to where they are the last one. */
static int turn_array(bt_loops *loops, const struct cpu_tiling *p,
                      const struct cpu_operand *o, uint32_t from, uint32_t to,
                      bt_stmts *out)
{
    struct cpu_emitter e = { loops, out, CPU_FIRST_INDEX };
    bt_graph *g = loops->graph;
    const uint32_t axis = p->paired_axis;
    const bt_node *one = bt_node_int(g, 1), *rows = o->extents[axis], *before = one;
    const bt_node *lines = axis + 2 < o->rank ? o->extents[axis + 1] : one,
                  *columns = one;
    for (uint32_t a = 0; a < o->rank; a++) {
        if (a < axis)
            before = cpu_times(g, before, o->extents[a]);
        else if (a > axis && (a > axis + 1 || a + 1 == o->rank))
            columns = cpu_times(g, columns, o->extents[a]);
    }
    const bt_node *outer = cpu_emit_loop(&e, before, cpu_is_size(lines, 1));
    const bt_node *line = cpu_emit_loop(&e, lines, !cpu_is_size(lines, 1));
    const bt_node *all = cpu_times(g, lines, columns), *begin = cpu_times(g, outer, rows);
    begin = cpu_times(g, begin, all);
    const bt_node *integers[CPU_PACK_NINT] = { columns, rows, rows, rows, one, all };
    struct cpu_address addresses[] = {
        { to, cpu_along(g, begin, line, cpu_times(g, columns, rows)) },
        { from, cpu_along(g, begin, line, columns) },
    };
    return cpu_emit_call(&e, "pack.4", CPU_PACK_NPOINTER, addresses, CPU_PACK_NINT,
                         integers);
}

/* ---- the nest ---- */

/* The data of a turned tiling. */
static int emit_turned_factor(bt_loops *loops, struct cpu_tiling *p, const bt_node *nelem,
                              bt_stmts *out)
{
    struct cpu_operand plain = *p->a;
    uint32_t from, to;
    move_axis(&plain, plain.rank - 1, p->paired_axis);
    if (!cpu_emit_buffer(loops, BT_BUFFER_TEMP, BT_UINT32, nelem, &from) ||
        !fill_array(loops, p, &plain, from, out) ||
        !cpu_emit_buffer(loops, BT_BUFFER_TEMP, BT_UINT32, nelem, &to) ||
        !turn_array(loops, p, &plain, from, to, out))
        return 0;
    p->view.operands[p->a - p->view.operands].array = to;
    return 1;
}

/* A temp of pairs in the factor's place, if they are not there. */
static int emit_factor(bt_loops *loops, struct cpu_tiling *p, const struct cpu_operand *o,
                       bt_stmts *out)
{
    const int is_rows = o == p->a && p->pairs_nelem;
    const bt_node *nelem = bt_node_int(loops->graph, 1);
    uint32_t to;
    if (o->of_each > 1)
        return 1;
    for (uint32_t a = 0; a < o->rank; a++)
        nelem = cpu_times(loops->graph, nelem, o->extents[a]);
    if (o == p->a && p->is_turned && p->paired_axis + 1 < o->rank)
        return emit_turned_factor(loops, p, nelem, out);
    if (!cpu_emit_buffer(loops, BT_BUFFER_TEMP, BT_UINT32,
                         is_rows ? p->pairs_nelem : nelem, &to) ||
        !(is_rows ? fill_rows(loops, p, to, out) : fill_array(loops, p, o, to, out)))
        return 0;
    p->view.operands[o - p->view.operands].array = to;
    return 1;
}

int cpu_emit_pairs(bt_loops *loops, const struct cpu_tiling *tiling,
                   const struct cpu_config *config, const struct cpu_epilogue *epilogue,
                   bt_stmts *out)
{
    struct cpu_tiling p;
    cpu_copy_tiling(&p, tiling);
    if (p.correction) {
        bt_graph *g = loops->graph;
        const uint32_t d = p.a->is_signed ? (uint32_t)p.m : p.n;
        const int64_t nr = p.tile->nr; // a panel is whole
        const bt_node *nelem =
            cpu_scaled(g, cpu_ceildiv(g, p.view.dims[d].extent, nr), nr);
        if (!cpu_emit_buffer(loops, BT_BUFFER_TEMP, BT_INT32, nelem, &p.corrections))
            return 0;
    }
    return emit_factor(loops, &p, p.a, out) &&
           (p.b_kind == CPU_B_PANELS || emit_factor(loops, &p, p.b, out)) &&
           cpu_emit_contraction(loops, &p, config, epilogue, out);
}
