/* What the parts of conform_open share: what is tried, and kernels of a target in place of loops. */
#ifndef CONFORM_OPEN_H
#define CONFORM_OPEN_H

#include <baton/compiled.h>
#include <baton/compute.h>

#include "case_run.h"
#include "object.h"

enum { MAX_DIMS = 32, MAX_NELEM = 1 << 12, MAX_TURNS = 1 << 14 };

enum { OPEN_SIZES, OPEN_ONES, OPEN_ALL }; /* above 1; 1; both */

struct trial {
    struct op_check w;
    int what;             /* is open */
    const bt_op *around;  /* "negative" */
    uint64_t random;      /* of sizes; 0: those of cases */
    uint32_t every, nmet; /* of an operator's cases */
    uint32_t nopen, nrun, nchecked, nrefused;
    char why[200]; /* the last was refused */
    // the sizes of the case at hand, and what stands for each
    uint32_t ndim;
    int64_t sizes[MAX_DIMS], values[MAX_DIMS];
    const bt_type *vars[MAX_DIMS];
    int is_open;
    const bt_target_use *target; /* NULL: loops and the evaluator */
    char *memory;                /* for its workspace and temps */
};

/* A function as the target has it. */
struct kernels {
    bt_lowering lowering;
    bt_kernel_code **codes;
    void *loaded;    /* by the target ... */
    bt_code *code;   /* ... or, where that only makes code, by us */
    const char *why; /* the evaluator does it */
};

/* Of that role. */
static inline uint32_t count_buffers(const bt_loops *loops, uint32_t role)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < loops->roles.len; i++)
        n += loops->roles.at[i] == role;
    return n;
}

/* What the target does not do is a reason; so is that no plugin has a random formula, which
 * could be left to the evaluator otherwise. */
bt_status kernels_load(struct trial *, bt_arena *, const bt_func *, struct kernels *out);
void kernels_unload(const struct trial *, struct kernels *);
/* Room for a workspace and temps; 0: none. */
int kernels_memory(struct trial *);
/* All kernels of a function on arrays in the order in which its loops have them. */
bt_status kernels_launch(struct trial *, const struct kernels *, const bt_loops *,
                         void *const *data, const int64_t *dims);
/* By kernels of the target; *is_by_both: it has them with numbers too. */
bt_status kernels_run(struct trial *, bt_arena *, const bt_func *known,
                      const struct kernels *open, const bt_loops *,
                      void *(*data)[CASE_MAX_LEAF + CALL_MAX_OUT], const int64_t *dims,
                      bt_status fault[2], int *is_by_both);

#endif
