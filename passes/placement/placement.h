/*
 * Which target computes what, by what it costs: the computations of a block in their order,
 * and the tensors between them.
 *
 *     work      the sum of what all computations and copies take
 *     makespan  when all is done, if queues go on beside each other
 */
#ifndef PASSES_PLACEMENT_PLACEMENT_H
#define PASSES_PLACEMENT_PLACEMENT_H

#include <baton/compiled.h>

/* A computation. */
struct placed {
    const double *ns;         /* by target; below 0: it is not done there */
    uint32_t target;          /* where it is done */
    uint32_t is_free;         /* it may be done elsewhere */
    bt_vec(uint32_t) in, out; /* numbers of tensors */
};

/* A tensor that computations make and read. Memories have numbers: 0 the host's, 1 + i that of
 * target i. */
struct placed_tensor {
    double nbytes;
    uint32_t from; /* the computation that makes it; PLACED_HOST: the host has it */
    uint32_t is_for_host;   /* the host reads it, too */
    bt_vec(uint32_t) users; /* computations that read it */
};
#define PLACED_HOST UINT32_MAX

struct placement {
    bt_arena *arena;
    uint32_t ntarget;
    const bt_target_use *const *targets;
    bt_vec(struct placed) all;
    bt_vec(struct placed_tensor) tensors;
};

/* The memory that a target's kernels are on. */
uint32_t placement_memory(const struct placement *, uint32_t target);
/* How long a tensor takes from one memory to another, over the host's. */
double placement_copy_ns(const struct placement *, uint32_t from, uint32_t to,
                         double nbytes);
double placement_work_ns(const struct placement *);
bt_status placement_makespan_ns(const struct placement *, double *out);
/* Moves what is free so that the work is least: exactly, of two targets; of more, until no
 * exchange between two of them makes it less (placement_cut.c). */
bt_status placement_cut(struct placement *);

#endif
