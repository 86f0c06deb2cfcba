/* What the nest of a contraction (contract_nest.c) and the calls within (contract_call.c) share. */
#ifndef CPU_CONTRACT_NEST_H
#define CPU_CONTRACT_NEST_H

#include "contract.h"

/* A place in the nest: the values of dims so far, and where they put the operands. */
struct cpu_nest {
    struct cpu_emitter e;
    const struct cpu_tiling *tiling;
    const struct cpu_epilogue *epilogue;
    struct cpu_blocks blocks;
    uint32_t a, b, c;        /* buffers */
    uint32_t begun;          /* sums of some slices of their terms, ... */
    const bt_node *begun_at; /* ... where those of this block are, ... */
    int64_t begun_row;       /* ... their stride along rows */
    const bt_node *slice;    /* the number of it; NULL: there is one only */
    uint32_t is_last_slice;
    int is_direct;                   /* sums go to their place, else to a block */
    const bt_node *c_row;            /* stride of a block of sums, or of the result */
    const bt_node *values[CPU_DIMS]; /* of loops around */
    const bt_node *a_at, *b_at;
    const bt_node *m, *n;     /* numbers of the block */
    const bt_node *columns;   /* of this block */
    const bt_node *finite;    /* whether B is; NULL: that is not asked */
    uint32_t has_near_halo;   /* B is made in each iteration of the loops around */
    struct cpu_finish finish; /* what calls do beside sums, ... */
    struct cpu_finish_codes codes;
    uint32_t bias, factor; /* ... and what these add and multiply by */
};

static inline bt_graph *cpu_graph(const struct cpu_nest *t)
{
    return t->e.loops->graph;
}

static inline const bt_node *cpu_int(const struct cpu_nest *t, int64_t value)
{
    return bt_node_int(cpu_graph(t), value);
}

/* Columns of sums from row n0 to the next: those of B, but lines are written apart. */
static inline const bt_node *cpu_line_stride(const struct cpu_tiling *p)
{
    return p->is_line ? p->view.dims[p->n].extent : p->bs[p->n0];
}

/* Columns from the block's first to its last, with those between its rows. */
static inline const bt_node *cpu_block_span(const struct cpu_nest *t,
                                            const bt_node *columns)
{
    const struct cpu_tiling *p = t->tiling;
    bt_graph *g = cpu_graph(t);
    return p->n0 < 0 ? columns
                     : cpu_along(g, p->view.dims[p->n].extent,
                                 bt_node_linear(g, -1, 1, &columns, (int64_t[]){ 1 }),
                                 cpu_line_stride(p));
}

/* Rows of the block. */
static inline const bt_node *cpu_rows_here(const struct cpu_nest *t)
{
    bt_graph *g = cpu_graph(t);
    const struct cpu_blocks *b = &t->blocks;
    const bt_node *before = cpu_times(g, t->m, b->rows);
    return b->has_rest ? cpu_least(g, b->rows, cpu_minus(g, b->nrow, before)) : b->rows;
}

/* What corrects a sum is a bias of the tile. */
static inline int64_t cpu_correction_flag(const struct cpu_tiling *p)
{
    return p->a->is_signed ? CPU_TILE_ROW_BIAS : CPU_TILE_COLUMN_BIAS;
}

/* Whether the slice of terms is not the last one, so that sums are not whole after it. */
static inline int cpu_has_more_slices(const struct cpu_nest *t)
{
    return t->slice && !t->is_last_slice;
}

/* What a call that makes codes of so many columns is told beside what tiles are. */
void cpu_set_codes(const struct cpu_nest *, const bt_node *columns,
                   const bt_node **integers);
/* Calls of tiles, or of lines, that cover the block's columns. 0: failure. */
int cpu_emit_columns(const struct cpu_nest *);
/* Whether these do no column again. */
int cpu_is_done_once(const struct cpu_tiling *);

#endif
