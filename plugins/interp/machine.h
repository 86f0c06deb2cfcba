/* The machine: runs prepared code with its own stacks, so that neither recursion nor
 * nesting of a program costs C stack. */
#ifndef INTERP_MACHINE_H
#define INTERP_MACHINE_H

#include <baton/executor.h>

#include "code.h"
#include "env.h"

/* A block being run. */
struct activation {
    const struct block *block;
    /* the if or match that entered it; NULL: the function's own block */
    const struct step *owner;
    uint32_t next; /* step */
};

/* A function being run. */
struct call_frame {
    const struct code *code;
    const bt_closure *closure; /* whose code it is; NULL for a global */
    bt_object *held;           /* the closure, as a reference; NULL for a global */
    struct env *env;           /* NULL where no type of the function is open */
    const struct step *caller; /* in the frame below; NULL for the first */
    size_t slots;              /* offset of slot 0 */
};

struct machine {
    bt_ctx *ctx;
    struct bytecode *bytecode;
    bt_store *types; /* terms of type environments */
    bt_heap *heap;
    uint64_t collect_at;
    const bt_run_hook *hook;
    uint64_t nstep;      /* calls of functions so far */
    uint64_t most_steps; /* 0: as many as there are */
    bt_object **slots;
    size_t nslot, slot_cap;
    struct call_frame *frames;
    size_t nframe, frame_cap;
    struct activation *activations;
    size_t nactivation, activation_cap;
};

/* Runs one function, dims: of its type parameters, by bt_check_args; leaves the stacks empty
 * whatever happens. */
bt_status machine_run(struct machine *, const struct code *, uint32_t narg,
                      bt_object *const *args, const int64_t *dims, bt_object **out);
void machine_free_stacks(struct machine *);

#endif
