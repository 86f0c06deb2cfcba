/* Where the factors of a contraction lie in memory, for those who choose it (contract_tiling.c)
 * and those who go by it. Functions give 0 where it cannot be, or of a failure, which the graph's
 * status says. */
#ifndef CPU_CONTRACT_LAYOUT_H
#define CPU_CONTRACT_LAYOUT_H

#include "contract.h"

/* Whether the operand moves with the dim. */
static inline int cpu_is_in(const struct cpu_operand *o, uint32_t d)
{
    for (uint32_t a = 0; a < o->rank; a++) {
        if (o->coefs[a][d])
            return 1;
    }
    return 0;
}

/* Whether it is read outside of its array somewhere. */
static inline int cpu_is_guarded(const struct cpu_operand *o)
{
    for (uint32_t a = 0; a < o->rank; a++) {
        if (o->guards[a])
            return 1;
    }
    return 0;
}

static inline int cpu_is_constant(const bt_graph *g, const struct cpu_config *config,
                                  const struct cpu_operand *o)
{
    return config->is_constant && o->array < g->ninput && config->is_constant[o->array];
}

/* Whether several products read it, for all of which it is packed once. */
static inline int cpu_is_shared(const bt_graph *g, const struct cpu_config *config,
                                const struct cpu_operand *o)
{
    return config->is_shared && o->array < g->ninput && config->is_shared[o->array];
}

/* -1: it is open, or there was no memory for it. */
static inline int64_t cpu_number(const bt_node *size)
{
    return size ? bt_node_number(size) : -1;
}

/* Where an operand lies as it is: *at the start, strides by dim. */
void cpu_lay_direct(bt_graph *, const struct cpu_tiling *, const struct cpu_operand *,
                    const bt_node **at, const bt_node **by_dim);
/* B packed: other axes, copies, windows. */
int cpu_lay_windows(bt_graph *, struct cpu_tiling *);
/* A axis by axis as it is, and zeros where it is read outside; or behind axis `longer`, if that is
 * one, zeros that fill a line of a cache. 0 also if too many axes have some. */
int cpu_lay_margins(bt_graph *, struct cpu_tiling *, int32_t longer);
/* Of an A of images that are read in steps, what is read, side by side: all rows of it make one
 * then, which fills tiles where a row does not. */
int cpu_lay_steps(bt_graph *, struct cpu_tiling *);
/* B in panels [other dims][panel][k ...][beside][columns]. */
int cpu_lay_panels(bt_graph *, struct cpu_tiling *);
/* The same with the panels of dim `d`, all of which is done for each block of columns, beside each
 * other: they are read as one. */
int cpu_lay_beside(bt_graph *, struct cpu_tiling *, uint32_t d);
/* A in rows [other dims][rows][k ...], which are no multiples of a page apart; its elements. */
const bt_node *cpu_lay_rows(bt_graph *, struct cpu_tiling *);
/* A in strips [other dims][strip][k ...][rows], of as many rows as a tile has. */
int cpu_lay_strips(bt_graph *, struct cpu_tiling *);
/* The reduced dims by the strides that both have then; taps of a window by its copies. */
void cpu_lay_reduced(bt_graph *, struct cpu_tiling *);

/* The axis of A that is to be longer, as a tile's rows push each other out of the nearest cache;
 * -1: they do not, or are no constant, of which a copy costs no time. */
int32_t cpu_crowded_axis(const bt_graph *, const struct cpu_tiling *,
                         const struct cpu_config *);
/* Whether elements of one column of B, or of one row of A, which lie by these strides, push each
 * other out of the caches. */
int cpu_crowds_cache(const struct cpu_tiling *, const struct cpu_operand *,
                     const bt_node *const *strides);

#endif
