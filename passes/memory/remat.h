/*
 * Rematerialization: when the values of a block are there, by an order of its bindings in which
 * some come twice or more, computed again for those that read them later.
 *
 *     a     b(a)     c(b)     ...     again b     d(b, c)
 *     |------- a lives -------------------|
 *           |-- b --|                     |-----------|
 *
 * A tuple or a projection holds no bytes of its own: who reads it reads what it is made of. What
 * belongs to the result lives on, whatever is done, as does what a closure, a reference or a
 * constructor holds: it is pinned, and counts as nothing.
 */
#ifndef PASSES_MEMORY_REMAT_H
#define PASSES_MEMORY_REMAT_H

#include <baton/compiled.h>
#include <baton/compute.h>
#include <baton/pass.h>

typedef bt_vec(uint32_t) remat_numbers;

/* A binding; its number is its position in the block. */
struct remat_value {
    const bt_value *value;
    int64_t nbytes;    /* while it lives; open dims count at their upper bound, or 256 */
    int64_t nscratch;  /* of its kernels, while it is computed; remat_costs */
    double ns;         /* to compute it; remat_costs */
    uint8_t is_alias;  /* a tuple or a projection */
    uint8_t is_map;    /* it moves elements, or computes each of a few */
    uint8_t may_again; /* it may be computed twice: it has no effects */
    uint8_t is_pinned;
    uint32_t same; /* 1 + the value before it that stands for it; 0: none; remat_merge */
    remat_numbers in;      /* what it reads, through tuples and projections */
    remat_numbers aliases; /* these, in order */
    remat_numbers over; /* of what it reads: in whose bytes it may be made; remat_costs */
};

enum remat_kind {
    REMAT_FIRST, /* where the block has it */
    REMAT_AGAIN, /* one more time */
    REMAT_EARLY  /* the first time, but before the block has it */
};
struct remat_step {
    uint32_t value;
    enum remat_kind kind;
};

/* From the step that computes it to the last that reads it. One whose only reader is a map is
 * computed together with that (pass fuse-ops), and takes no bytes. */
struct remat_life {
    uint32_t value, first, last;
    uint32_t nread;
    uint32_t
        over; /* 1 + the life that ends as it begins, in whose bytes it is made; 0: none */
    uint32_t is_under; /* another one is made in its bytes */
};

struct remat_plan {
    bt_ctx *ctx;
    bt_arena *arena;
    uint32_t n;
    struct remat_value *values; /* what one reads stands before it */
    bt_vec(struct remat_step) steps;
    bt_vec(struct remat_life) lives; /* in order of `first`; remat_find_lives */
    int64_t *nbytes;                 /* by step: that live then */
    int64_t peak;                    /* the most of them, ... */
    uint32_t at;                     /* ... and the first step that has so many */
};

/* What is known of the module. */
struct remat_facts {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_effects *effects;
    const bt_targets *targets; /* NULL: not known */
};

enum { REMAT_ALIGN = 64 }; /* bytes: what storage has its offsets at */

/* Without steps and lives. */
struct remat_plan remat_plan_empty(const struct remat_plan *);
/* Each binding once, as the block has it. */
bt_status remat_plan_create(const struct remat_facts *, const bt_block *,
                            struct remat_plan *out) BT_MUST_USE;
/* Bytes that a life takes. */
int64_t remat_life_nbytes(const struct remat_plan *, const struct remat_life *);
/* Finds lives and the peak. */
bt_status remat_find_lives(struct remat_plan *) BT_MUST_USE;
/* Behind step `at`, those with again[value] are computed anew where they are first read. Finds
 * lives. */
bt_status remat_again(struct remat_plan *, uint32_t at, const uint8_t *again) BT_MUST_USE;
/* Tuples and projections too are made anew where what they are made of was. */
bt_status remat_aliases(struct remat_plan *) BT_MUST_USE;

/* Where the most bytes live, what lives on from there is made as few bytes as can be, by
 * computing maps again (remat_cut.c). Finds lives. */
bt_status remat_cut(struct remat_plan *, int *is_changed) BT_MUST_USE;

/* Each binding once, but what is small as early as it can be (remat_early.c). Finds lives. */
bt_status remat_early(struct remat_plan *, int *is_changed) BT_MUST_USE;

/* One value for those that are the same calls of primitive functions (remat_merge.c). Finds lives. */
bt_status remat_merge(const struct remat_facts *, struct remat_plan *,
                      int *is_changed) BT_MUST_USE;

/* What the calls of primitive functions cost, by their targets, else by their operators' work.
 * Finds lives. */
bt_status remat_costs(const struct remat_facts *, struct remat_plan *) BT_MUST_USE;
/* Of all steps. */
double remat_ns(const struct remat_plan *);
/* Bytes that all lives need, each at an offset of its own, a multiple of REMAT_ALIGN (remat_pack.c). */
bt_status remat_pack(const struct remat_plan *, int64_t *out) BT_MUST_USE;
/* Computes values again until the most bytes are at most so many. *fits 0: that cannot be;
 * the plan is the best that was found (remat_budget.c). */
bt_status remat_fit(struct remat_plan *, int64_t most, int *fits) BT_MUST_USE;

/* Plans every block that is in no primitive function by `plan`, which sets *is_changed where
 * steps were added, and makes the program so (remat_rewrite.c). The pass needs the analysis
 * effects. */
bt_status remat_run(bt_ctx *, bt_pass_call *,
                    bt_status (*plan)(void *state, const struct remat_facts *,
                                      struct remat_plan *, int *is_changed),
                    void *state, bt_module **out) BT_MUST_USE;

#endif
