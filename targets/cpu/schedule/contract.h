/*
 * Contractions: matrix products and convolutions of any kind, as loops around tiles.
 *
 *     y[o, p, q] = max(sum(c, r, s: x[c, 2*p + r - 1, 2*q + s - 1] * w[o, c, r, s]) + b[o], 0)
 *
 * becomes a packed copy of x, in which q runs over neighbours and windows that hang over
 * the border find zeros, then for every block of rows p and of channels o
 *
 *     tile(&t, &w[...], &packed[...])    on as many columns as it has, all sums complete
 *     y[...] = max(t[...] + b[...], 0)   while t is near; scalar loops, to be vectorised
 *
 * Zeros that stand for elements outside are multiplied too: where the other operand is not
 * finite there, the sum of a convolution is NaN (kernel/compute/formula/notation.md, solved
 * conditions). Of a transposed convolution, which has no zeros around, it is not
 * (contract_finite.c).
 */
#ifndef CPU_CONTRACT_H
#define CPU_CONTRACT_H

#include <baton/loops.h>

#include "config.h"
#include "primitives/tile.h"

/* As bt_loops_lower_with, but stages that tiles serve become loops around those, the
 * outermost one parallel. options may be NULL. */
bt_status cpu_contract(bt_ctx *, bt_arena *, const struct cpu_config *, const char *name,
                       bt_graph *, const bt_lower_options *, bt_loops **out) BT_MUST_USE;

/* ---- between the files of it ---- */

enum { CPU_DIMS = 16, CPU_AXES = 8, CPU_CLASSES = 8 };

/* An index, or a part of one: the groups of channels and the channels of a group. */
struct cpu_dim {
    const bt_node *extent;
    uint32_t is_k;    /* reduced */
    uint32_t index;   /* the index of the graph that it is, or ... */
    int64_t scale;    /* ... of which it is a multiple */
    const bt_node *c; /* its stride in the result */
    /* Not 0: no loop, but a carry, 1 where dim `of` is less than this, else 0. Of an index p of which
     * p + 1 is divided by 3, the parts are  p = 3 * group + rest - 1 + 3 * (rest < 1). */
    int64_t carries;
    uint32_t of;
};

/* A factor of the products: its element on axis a is at[a] + sum of coefs[a][d] * d. */
struct cpu_operand {
    uint32_t array, rank;
    bt_dtype dtype;
    bt_dtype of;     /* where elements are pairs of terms: their type in the array, ... */
    int64_t zero;    /* ... which are differences from it */
    int64_t outside; /* the bits that stand for an element outside of the array */
    /* More than 1: so many elements of the array make one of the operand's, as bytes a quad. */
    int64_t of_each;
    /* Of quads: its terms have a sign, those of the other factor have none. */
    uint32_t is_signed;
    const bt_node *extents[CPU_AXES];
    int64_t at[CPU_AXES], coefs[CPU_AXES][CPU_DIMS];
    uint32_t guards[CPU_AXES]; /* 1: elements below the axis are zeros, 2: above */
};

struct cpu_contraction {
    const bt_node *reduce; /* NULL: it is none */
    uint32_t ndim;
    struct cpu_dim dims[CPU_DIMS];
    struct cpu_operand operands[2];
    bt_dtype dtype; /* of sums */
};

/* An array for a factor of a stage's sum, and the read of it; NULL: there can be none, or
 * failure. `by_index`: over the indices that it depends on, and no other. */
const bt_node *cpu_factor_make(bt_graph *, const bt_array *stage, const bt_node *reduce,
                               const bt_node *factor, bt_dtype, int by_index);

/* A factor that is stored without its zero point, of 8 bits with it: 1, and the operand is these,
 * with what is to be subtracted. */
int cpu_read_codes(const bt_graph *, struct cpu_operand *);

/* ---- sizes: numbers, or expressions of dims; NULL where an argument is ---- */

static inline const bt_node *cpu_plus(bt_graph *g, const bt_node *a, const bt_node *b)
{
    return bt_node_scalar(g, BT_SCALAR_ADD, a, b);
}

static inline const bt_node *cpu_minus(bt_graph *g, const bt_node *a, const bt_node *b)
{
    return bt_node_scalar(g, BT_SCALAR_SUB, a, b);
}

/* NULL also where it is a number that an int64 does not hold. */
const bt_node *cpu_times(bt_graph *, const bt_node *a, const bt_node *b);

static inline const bt_node *cpu_least(bt_graph *g, const bt_node *a, const bt_node *b)
{
    return bt_node_scalar(g, BT_SCALAR_MIN, a, b);
}

static inline const bt_node *cpu_most(bt_graph *g, const bt_node *a, const bt_node *b)
{
    return bt_node_scalar(g, BT_SCALAR_MAX, a, b);
}

/* at + n * stride */
static inline const bt_node *cpu_along(bt_graph *g, const bt_node *at, const bt_node *n,
                                       const bt_node *stride)
{
    return cpu_plus(g, at, cpu_times(g, n, stride));
}

static inline const bt_node *cpu_along_int(bt_graph *g, const bt_node *at,
                                           const bt_node *n, int64_t stride)
{
    return bt_node_linear(g, 0, 2, (const bt_node *[]){ at, n },
                          (int64_t[]){ 1, stride });
}

static inline const bt_node *cpu_scaled(bt_graph *g, const bt_node *a, int64_t b)
{
    return bt_node_linear(g, 0, 1, &a, &b);
}

static inline const bt_node *cpu_ceildiv(bt_graph *g, const bt_node *a, int64_t b)
{
    return bt_node_scalar(g, BT_SCALAR_CEILDIV, a, bt_node_int(g, b));
}

/* Where an element of an operand begins in its array. */
static inline const bt_node *cpu_at_element(bt_graph *g, const struct cpu_operand *o,
                                            const bt_node *element)
{
    return o->of_each > 1 ? cpu_scaled(g, element, o->of_each) : element;
}

static inline int cpu_is_size(const bt_node *node, int64_t number)
{
    return node->kind == BT_NODE_CONST && node->value.i == number;
}

/* Strides of an array that lies row by row. */
void cpu_strides(bt_graph *, uint32_t rank, const bt_node *const *extents,
                 const bt_node **out);

/* What is known of a stage, which is not one of the graph's own arrays, as these may move
 * where factors become more. */
bt_status cpu_contraction_of(bt_graph *, const bt_array *stage,
                             struct cpu_contraction *) BT_MUST_USE;
/* Of reduced dims, leaves out iterations that find no element of a factor for any place. 0: failure. */
int cpu_leave_out_taps(bt_graph *, struct cpu_contraction *);
/* The only sum in a stage; *out NULL: there is none, or more than one reduction. */
bt_status cpu_sum_of(bt_graph *, const bt_array *stage, const bt_node **out) BT_MUST_USE;
/* What sums of products of this type are computed in. */
bt_dtype cpu_computed_in(bt_dtype);

/* A sum whose places divide a shifted index, as an array of its own, the last one then, in
 * which they divide the index itself, over full blocks. *out: the read of it in the
 * place of the sum; NULL: no index is divided so. */
bt_status cpu_contract_shift(bt_graph *, const bt_array *stage, const bt_node *sum,
                             const bt_node **out) BT_MUST_USE;

struct cpu_tiling;
/* A stage as an array of its sums that is better made, with axis order[i] of the stage as axis i; without
 * a body where it is better as it is. `p`: the stage's tiling. */
bt_status cpu_order_sums(bt_graph *, const bt_array *stage, const struct cpu_config *,
                         const struct cpu_tiling *p, uint32_t *order,
                         bt_array *out) BT_MUST_USE;

/* A sum of one row, read by others only in parts of `width` columns, as rows of these, so that
 * what belongs together is computed together:
 *
 *     s[0, n], n in 4*w;  y[i] = f(s[0, i], s[0, i + w], ...)
 *  -> s[g, i], g in 4, i in w;  y[i] = f(s[0, i], s[1, i], ...)
 *
 * What the array is then, without a body where it is not read so; and the change of it and of
 * all that read it, among which are the arrays that were made since. */
bt_status cpu_parts_find(bt_graph *, uint32_t array, bt_array *out) BT_MUST_USE;
bt_status cpu_parts_split(bt_graph *, uint32_t array, const bt_array *rows) BT_MUST_USE;

/* Takes nests behind number `at` out of the program that compute element i from what is there
 * when column i of the sums in `whole`, of so many columns, and what those before them store at
 * i are. 0: failure. */
int cpu_take_followers(bt_loops *, uint32_t at, uint32_t whole, const bt_node *width,
                       bt_stmts *out);
/* The first nest that stores to a buffer; so many as there are: none does. */
uint32_t cpu_find_nest(const bt_loops *, uint32_t buffer);

/* What is done where a stage is right by tiles only if factors are finite. */
struct cpu_finite {
    uint32_t exact;               /* an array: the stage with its own sum */
    uint32_t nfactor, factors[2]; /* those that must be finite; 0: there is no `exact` */
};
/* The nest of `exact`, which is number `at`, stores to `stage`, and where a factor is not
 * finite only. 0: failure. */
int cpu_emit_finite(bt_loops *, const struct cpu_finite *, uint32_t stage, uint32_t at);

/* How B is read: where it lies, as a copy with zeros around, in panels of the tile's
 * columns. */
enum { CPU_B_DIRECT, CPU_B_HALO, CPU_B_PANELS };
enum { CPU_WINDOWS = 3 };

/* An axis of B that windows go along: stride * n + dilation * k + at. */
struct cpu_window {
    uint32_t axis, n;
    int32_t k; /* -1: none */
    int64_t stride, dilation, at;
    const bt_node *width; /* elements of the copy */
    uint32_t nclass;      /* copies: of the places that differ modulo the stride */
    const bt_node *copy;  /* strides in the packed B: from copy to copy, ... */
    const bt_node *step;  /* ... along the axis */
};

/* Some iterations of a reduced dim: those t of `extent` with elements at affine places. */
struct cpu_class {
    const bt_node *extent, *a_at, *a, *b_at, *b;
};

/* An axis of A in a copy: `extent` elements, of which `count` from `lead` on are the
 * array's from `from` on, each `step` further. */
struct cpu_margin {
    const bt_node *extent, *lead, *count, *from;
    int64_t step;
};

/* Roles of the dims: the tile's m and n; rows n0 of columns n, if any; all that is left
 * are loops around, or reduced. */
struct cpu_tiling {
    struct cpu_contraction view;
    const struct cpu_tile *tile; /* NULL: tiles do not serve it, or not well */
    const struct cpu_operand *a, *b;
    uint32_t is_column; /* 1: no tile, but sums of rows by lanes, for any extents */
    uint32_t is_line;   /* 1: A has one row: lines, not tiles; n0 are the lines */
    uint32_t is_across; /* 1: few rows of A go along B's columns as they lie */
    /* 1: rows are neighbours in the result, and B's columns, of panels, are not */
    uint32_t is_turned;
    /* Of a line along panels, a dim of B alone, all of which is done for each block of columns;
     * -1: none. */
    int32_t beside;
    uint32_t b_kind;
    uint32_t n;
    int32_t n0, m;                                            /* -1: none */
    const bt_node *a_at, *b_at, *as[CPU_DIMS], *bs[CPU_DIMS]; /* strides by dim */
    uint32_t nclass[CPU_DIMS];
    struct cpu_class classes[CPU_DIMS][CPU_CLASSES];
    uint32_t merged; /* bits: dims that are part of n, or with panels of m */
    const bt_node *nrow, *ncolumn; /* of m, of n, and those */
    /* Bits: reduced dims of which only those iterations are done that find elements of A, for the
     * values that loops around have. */
    uint32_t limited;
    /* of a copy of A, in rows of terms, or with zeros around or behind each row; NULL: it is read
     * where it lies */
    const bt_node *a_nelem;
    uint32_t has_rows;
    /* Not 0: the copy is strips of so many rows, those of a tile, term by term. */
    int64_t strip;
    struct cpu_margin margins[CPU_AXES];
    uint32_t a_inner; /* the last axis with zeros */
    /* of a packed B */
    const bt_node *nelem;
    uint32_t nwindow;
    struct cpu_window windows[CPU_WINDOWS];
    const bt_node *outer[CPU_AXES]; /* strides of the other axes; NULL: a window */
    /* Of dim `paired` each iteration is a pair of so many terms, or of halves of them; NULL: there
     * are no pairs, and the view is what the stage says. */
    const bt_node *terms;
    uint32_t paired;
    uint32_t paired_axis; /* of A: which one its pairs were, that are the last one */
    const bt_node *pairs_nelem; /* of A in rows of pairs; NULL: they lie as elements do */
    /* Of quads, what a sum is to be added of: so many times the terms of the factor with a sign. Not 0:
     * a buffer has it for each row, or column of a turned one, once these are packed. */
    int64_t correction;
    uint32_t corrections;
};

/* No other dim than this one, but for terms, goes along its index. */
static inline int cpu_has_own_index(const struct cpu_tiling *p, uint32_t d)
{
    for (uint32_t i = 0; i < p->view.ndim; i++) {
        if (i != d && !p->view.dims[i].is_k &&
            p->view.dims[i].index == p->view.dims[d].index)
            return 0;
    }
    return p->view.dims[d].scale == 1;
}

/* Results of operators are rounded to their type, which is the tile's. */
static inline const bt_node *cpu_unrounded(const bt_node *node)
{
    while (node->kind == BT_NODE_CAST && node->dtype == node->args[0]->dtype)
        node = node->args[0];
    return node;
}

/* Whether the dim is a loop around all columns and rows. */
static inline int cpu_is_around(const struct cpu_tiling *p, uint32_t d)
{
    return !p->view.dims[d].is_k && !p->view.dims[d].carries && d != p->n &&
           (int32_t)d != p->n0 && (int32_t)d != p->m && (int32_t)d != p->beside &&
           !(p->merged >> d & 1);
}

/* An operand of a tiling is one of its own view. */
static inline void cpu_copy_tiling(struct cpu_tiling *to, const struct cpu_tiling *from)
{
    *to = *from;
    to->a = &to->view.operands[from->a - from->view.operands];
    to->b = &to->view.operands[from->b - from->view.operands];
}

bt_status cpu_contract_tiling(bt_graph *, const bt_array *stage,
                              const struct cpu_config *, struct cpu_tiling *) BT_MUST_USE;

bt_status cpu_contract_finite(bt_graph *, const bt_array *stage,
                              const struct cpu_tiling *,
                              struct cpu_finite *out) BT_MUST_USE;

/* The tiling turned (contract_tiling.c); NULL: it cannot be, or failure. */
struct cpu_tiling *cpu_contract_turn(bt_graph *, const bt_array *stage,
                                     const struct cpu_config *,
                                     const struct cpu_tiling *);
/* The tiling of a view whose dim `paired` goes by pairs of `terms` terms (contract_pairs.c); all
 * pairs of a row of a constant A are neighbours. NULL likewise. */
struct cpu_tiling *cpu_contract_paired(bt_graph *, const bt_array *stage,
                                       const struct cpu_config *,
                                       const struct cpu_contraction *,
                                       const struct cpu_tile *, uint32_t paired,
                                       const bt_node *terms);
/* About how long its tiles take, with one thread. */
double cpu_ns_of_tiles(const struct cpu_tiling *);
/* What it takes to pack panels that are no constant. */
double cpu_ns_of_panels(const struct cpu_tiling *);

/* Of the iterations of a reduced dim, if it is limited, those that find elements of A; `values` of
 * the dims that are loops around. Nodes are NULL: failure. */
struct cpu_class cpu_iterations_inside(bt_graph *, const struct cpu_tiling *,
                                       const bt_node *const *values, uint32_t d,
                                       const struct cpu_class *);

/* How many extents k has in a call on the first class of each dim. */
uint32_t cpu_count_levels(bt_graph *, const struct cpu_tiling *);

/* A block is `rows` of A by `columns` of B, which are some of `ncolumn`; or by `columns`
 * rows of columns. Blocks have as many columns whatever the dims that are not known yet. */
struct cpu_blocks {
    const bt_node *nrow, *nm;    /* all, blocks */
    int has_rest;                /* the last block has fewer rows, or may have */
    const bt_node *ncolumn, *nn; /* likewise */
    const bt_node *rows;         /* of a block */
    int64_t most_rows, columns;
    uint32_t by_m;    /* 1: blocks of rows are the parallel loop */
    int32_t parallel; /* else: this dim is, or -1: blocks of columns */
    struct cpu_slices {
        int64_t n, length; /* 1: there is one; iterations of a slice but for the last */
        uint32_t dim;      /* reduced, the outermost one */
        int64_t nrow;      /* of a block of columns, in all that is around */
    } slices;
};

/* How many columns of B a block may have if its terms go by slices; 0: they do not. */
int64_t cpu_columns_of_slices(const struct cpu_tiling *);
/* Slices of a block's terms (contract_slices.c). */
void cpu_choose_slices(const struct cpu_tiling *, struct cpu_blocks *);

/* Rows of one tile, of so many in all: about as many in each. */
static inline int64_t cpu_rows_of_tile(int64_t nrow, int64_t mr)
{
    return bt_ceildiv_int64(nrow, bt_ceildiv_int64(nrow, mr));
}

/* From one row of a tile to the next one, in A. */
static inline const bt_node *cpu_row_step(bt_graph *g, const struct cpu_tiling *p)
{
    return p->strip ? bt_node_int(g, 1) : p->m < 0 ? bt_node_int(g, 0) : p->as[p->m];
}

/* NULL in `nn` or `nm`: failure. */
struct cpu_blocks cpu_choose_blocks(bt_graph *, const struct cpu_tiling *,
                                    const struct cpu_config *);
/* The most columns that a block has: the last one may be the longest. */
int64_t cpu_most_columns(const struct cpu_blocks *);

/* What is done with sums while they are near. */
struct cpu_epilogue {
    uint32_t sums;        /* the array that stands for them */
    const bt_stmt *store; /* of what is made of them */
    bt_stmts followers;   /* nests that are done for the same columns */
};
/* What of that a tile does itself (tile.h). */
struct cpu_finish {
    uint32_t is_all;                 /* 0: not all of it, and so nothing */
    int64_t flags;                   /* CPU_TILE_ROW_BIAS ... */
    const bt_node *bias, *residual;  /* reads; NULL: none */
    const bt_node *low_at, *high_at; /* likewise */
    int64_t low, high;               /* bits of numbers */
};
/* Codes that a tile makes of its sums (tile.h). */
struct cpu_finish_codes {
    uint32_t is_all;   /* 1: tiles make them, with all that becomes of a sum */
    uint32_t is_apart; /* 1: they are made of a block of sums in one call */
    int32_t by;        /* the dim that what is added, and multiplied by, goes along */
    int64_t flags;
    int64_t low, high, of_nan, zero; /* bits of floats, but for zero */
    const bt_node *sum, *factor;     /* with what is added; by what it is multiplied */
};
void cpu_match_finish_codes(bt_graph *, const struct cpu_tiling *,
                            const struct cpu_epilogue *, struct cpu_finish_codes *out);
/* What surrounds a sum, from the outside to the inside, NULL where there is none of it: bounds are
 * one number for all elements, what is added is read. */
struct cpu_chain {
    const bt_node *high, *low, *residual, *bias;
};
/* 0: something else surrounds it. Of one read that is added, it is the bias. */
int cpu_take_apart(const bt_node *body, const bt_node *sum, struct cpu_chain *);
/* The read of the sums in what is stored; NULL: there is none. */
const bt_node *cpu_find_sum(const bt_node *stored, uint32_t sums);
/* Whether what a stage makes of its sum has the form of it. */
int cpu_is_epilogue(const bt_node *body, const bt_node *sum);
void cpu_match_finish(bt_graph *, const struct cpu_tiling *, const struct cpu_epilogue *,
                      struct cpu_finish *out);
/* The node with the stage's axes as they are in the nest. */
const bt_node *cpu_place_axes(bt_graph *, const struct cpu_tiling *, const bt_node *,
                              const bt_node *const *values);

/* The nests of a contraction, packing first. 0: failure. */
int cpu_emit_contraction(bt_loops *, const struct cpu_tiling *, const struct cpu_config *,
                         const struct cpu_epilogue *, bt_stmts *out);

/* Of the indices that a graph may have, those of nests are behind all axes that a stage may have; its
 * reduced ones are in no nest. A nest has at most a loop for each dim and a few of its own. */
enum { CPU_FIRST_INDEX = 40, CPU_OWN_LOOPS = 8 };
_Static_assert((int)CPU_FIRST_INDEX >= BT_MAX_RANK &&
                   (int)CPU_FIRST_INDEX + (int)CPU_DIMS + CPU_OWN_LOOPS <= BT_MAX_INDEX,
               "a nest needs indices of its own");

/* Loops under construction: where statements go, the next index. */
struct cpu_emitter {
    bt_loops *loops;
    bt_stmts *to;
    uint32_t next;
};

/* A convolution of 3 x 3 taps, by the tiling's dims and these. */
struct cpu_filter {
    const struct cpu_winograd *by; /* NULL: it is a plain sum */
    int32_t c;                     /* channels of the data */
    uint32_t y, tap_y, tap_x;
    int64_t nc, no, ny, nx, height, width; /* of the data and the result */
};
/* 0: it is none, or may be none. */
int cpu_contract_filter(const bt_graph *, const struct cpu_tiling *,
                        const struct cpu_config *, struct cpu_filter *);
double cpu_ns_of_filter(const struct cpu_filter *, const struct cpu_winograd *);
/* As cpu_emit_contraction. */
int cpu_emit_filter(bt_loops *, const struct cpu_tiling *, const struct cpu_filter *,
                    const struct cpu_config *, const struct cpu_epilogue *,
                    bt_stmts *out);

/* A depthwise convolution of 3 x 3 or 5 x 5 taps, by the tiling's dims and these. */
struct cpu_depthwise {
    const struct cpu_callee *by; /* NULL: it is none */
    uint32_t y, tap_y, tap_x;
    int64_t ntap, step; /* along rows, and as many along columns */
};
/* Its data may become what it is made of. */
void cpu_contract_depthwise(const bt_graph *, struct cpu_tiling *,
                            struct cpu_depthwise *);
/* As cpu_emit_contraction. */
int cpu_emit_depthwise(bt_loops *, const struct cpu_tiling *,
                       const struct cpu_depthwise *, const struct cpu_config *,
                       const struct cpu_epilogue *, bt_stmts *out);

/* Few rows by constant weights of 4 bits, in arrays of their own. */
struct cpu_nibbles {
    const struct cpu_callee *by; /* NULL: it is no such product */
    uint32_t x, words, scales, zeros, has_zeros;
    int32_t m; /* a dim of the tiling; -1: there is one row */
    int64_t depth, block;
    double ns;
};
bt_status cpu_contract_nibbles(bt_graph *, const bt_array *stage,
                               const struct cpu_config *, const struct cpu_tiling *,
                               struct cpu_nibbles *) BT_MUST_USE;
/* As cpu_emit_contraction. */
int cpu_emit_nibbles(bt_loops *, const struct cpu_tiling *, const struct cpu_nibbles *,
                     const struct cpu_config *, const struct cpu_epilogue *,
                     bt_stmts *out);

/* Ways to have pairs, or quads, of terms as elements (contract_pairs.c). */
enum { CPU_PAIRS_OF_TERMS, CPU_QUADS_OF_TERMS, CPU_QUADS_BY_AMX, CPU_WAYS_OF_PAIRS };
/* The sum by these; NULL: terms make none, or may not, or failure. */
struct cpu_tiling *cpu_contract_pairs(bt_graph *, const bt_array *stage,
                                      const struct cpu_config *,
                                      const struct cpu_tiling *, uint32_t way);
/* A's pairs become its last axis: a tile's terms are neighbours then. */
void cpu_put_pairs_last(struct cpu_tiling *);
double cpu_ns_of_pairs(const struct cpu_tiling *);
const char *cpu_way_of_pairs(const struct cpu_tiling *);
/* As cpu_emit_contraction. */
int cpu_emit_pairs(bt_loops *, const struct cpu_tiling *, const struct cpu_config *,
                   const struct cpu_epilogue *, bt_stmts *out);
/* Fills panels with the pairs of a B, and of quads what corrects their sums. 0: failure. */
int cpu_emit_pair_panels(struct cpu_emitter *, const struct cpu_tiling *,
                         uint32_t packed);

/* Whether sums may go straight to where they are stored. */
int cpu_is_sum_stored(const struct cpu_tiling *, const struct cpu_epilogue *);
/* What is made of a sum, which lies at `offset` of a block, stored for these values of the
 * tiling's dims. 0: failure. */
int cpu_emit_sum_store(const struct cpu_emitter *, const struct cpu_tiling *,
                       const struct cpu_epilogue *, uint32_t block,
                       const bt_node *const *values, const bt_node *offset);
/* The array of sums becomes a block of them. 0: failure. */
int cpu_shrink_sums(bt_loops *, uint32_t sums, const bt_node *nelem);

/* A temp or a local. 0: failure. */
int cpu_emit_buffer(bt_loops *, uint32_t role, bt_dtype, const bt_node *nelem,
                    uint32_t *out);

/* A temp of what a node is for each place of a dim, and `beyond` elements of anything. 0: failure. */
int cpu_emit_by_dim(const struct cpu_emitter *, const struct cpu_dim *, int64_t beyond,
                    const bt_node *value, uint32_t *out);

/* A loop that what follows goes into; gives its index. NULL: failure. */
const bt_node *cpu_emit_loop(struct cpu_emitter *, const bt_node *extent,
                             int is_parallel);
/* A call; 0: failure. */
struct cpu_address {
    uint32_t buffer;
    const bt_node *offset;
};
int cpu_emit_call(struct cpu_emitter *, const char *callee, uint32_t naddress,
                  const struct cpu_address *, uint32_t ninteger,
                  const bt_node *const *integers);
/* The test of an input's floats; *is becomes what it finds, and what *is was, if not NULL.
 * 0: failure. */
int cpu_emit_is_finite(struct cpu_emitter *, uint32_t input, const bt_node **is);
/* The nests that fill the packed B, or the copy of A. 0: failure. */
int cpu_emit_copy(struct cpu_emitter *, const struct cpu_tiling *, uint32_t copy);
int cpu_emit_packing(struct cpu_emitter *, const struct cpu_tiling *, uint32_t packed);
/* Whether what one iteration of all loops around the columns reads of B has zeros around it made
 * there, where it stays near: *near is the tiling of a B that has nothing else then. */
int cpu_has_near_halo(bt_graph *, const struct cpu_tiling *, const struct cpu_config *,
                      const struct cpu_blocks *, struct cpu_tiling *near);
/* The calls that make it; `values` of the dims that are loops around. 0: failure. */
int cpu_emit_near_halo(const struct cpu_emitter *, const struct cpu_tiling *near,
                       const bt_node *const *values, uint32_t packed);

#endif
