/* What a schedule has chosen from, for who asks (`baton info --why`). */
#ifndef CPU_CHOICE_H
#define CPU_CHOICE_H

#include <baton/base.h>

/* A way to compute a sum of products. */
struct cpu_choice {
    const char *way;
    uint32_t sum; /* number of the sum in its function, from 1 */
    uint32_t is_taken;
    double ns; /* estimate, to compare ways: the same for all machines */
    double error; /* what the way may change of sums, as a share of the largest; 0: no more
                     than another order of their terms */
};

struct cpu_choices {
    bt_arena *arena;
    bt_vec(struct cpu_choice) all;      /* of the target's own program */
    bt_vec(struct cpu_choice) programs; /* its own, and those of plugins; sum 0 */
};

/* Ways that are to be taken, by name, whatever the estimates: one for each sum. NULL, or one
 * that a sum has not: that of the least estimate. */
struct cpu_wanted {
    uint32_t n;
    const char *const *ways;
};

/* The errors of ways (bits.md). */
#define CPU_ERROR_WINOGRAD 2e-5 /* of larger transforms than F(2,3) */
#define CPU_ERROR_HALVES 2e-5
#define CPU_ERROR_BFLOAT16 1e-2

/* What was taken, in a few words: "tiles, turned + lines"; "strips" where there is no sum of
 * products. NULL: no memory. *error: the largest of these. */
const char *cpu_choices_taken(const struct cpu_choices *, double *error);

#endif
