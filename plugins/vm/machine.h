/*
 * The machine: runs verified bytecode. Activations stand one behind another in segments of
 * memory that do not move, so that neither calls nor data of a program cost C stack.
 *
 *     segment   frame, frame, ...         frame   header | registers | dims | memory
 */
#ifndef VM_MACHINE_H
#define VM_MACHINE_H

#include <baton/compute.h>
#include <baton/scalar.h>

#include "bytecode.h"

/* A dim that the run has not come to know. */
#define VM_UNKNOWN INT64_MIN

union vm_word {
    bt_object *object; /* NULL: empty */
    bt_cell cell;
    int64_t dim;
};

/* Memory for tensors of activations, in one space. */
struct vm_block {
    struct vm_block *below, *above; /* above: kept for the next time */
    void *at; /* the host's: an address; else what the target calls it by */
    char *given;
    uint64_t nbytes, used;
};
struct vm_stack {
    struct vm_block *first, *top;
};
/* A storage of an activation. */
struct vm_held {
    struct vm_block *block; /* NULL: not got yet */
    uint64_t offset;
    char *address; /* in the host's memory */
};

struct vm_segment {
    struct vm_segment *below, *above; /* above: kept for the next time */
    size_t nbytes, used;              /* of data */
    union vm_word data[];
};

struct vm_frame {
    struct vm_frame *caller;
    struct vm_segment *segment;
    const struct vm_function *f;
    uint32_t pc;  /* where the function goes on */
    uint32_t dst; /* register of the caller for the result */
    union vm_word r[];
};

/* A scalar at an address that kernels take. */
struct vm_cell {
    uint64_t bits[8];
};

/* What an operator's call computes with; for dims of the function where it depends on
 * them. */
struct vm_computation {
    bt_compute *compute; /* NULL: not yet */
    uint32_t ndim;
    int64_t *dims;
};

struct vm_options {
    int64_t steps, stack;
};

/* Tensors that nobody has, the small and the large ones, by the turn of the next. */
struct vm_spares {
    bt_tensor *at[8];
    uint32_t turn;
};
enum { VM_SMALL_NBYTES = 1 << 16, VM_LARGE_NBYTES = 1 << 20 };

struct vm_machine {
    bt_ctx *ctx; /* of the call in progress */
    struct vm_program *program;
    const struct vm_options *options;
    bt_heap *heap;
    uint64_t collect_at;
    struct vm_computation *computations; /* by operator */
    const bt_run_hook *hook;
    uint64_t elapsed_ns; /* of the last operator */
    uint64_t nstep;
    const uint32_t *stop;       /* of the call in progress */
    struct vm_segment *segment; /* of the top frame */
    struct vm_frame *top;
    uint32_t nframe;
    size_t nbytes;       /* of all segments */
    union vm_word *args; /* room for those of a call */
    bt_object **objects; /* likewise */
    void **buffers;      /* likewise, of a kernel, and its workspace */
    uint64_t *offsets;
    int64_t *dims;
    struct vm_cell *cells;   /* scalars that kernels read */
    char *given_cells;       /* memory in which these lie aligned */
    struct vm_stack *stacks; /* by space */
    int64_t **settled;       /* by function: sizes of memory for its last dims */
    void **queues;           /* by target: opened, of those that have queues */
    void **own_consts;       /* by target and constant: in memory of the target's own */
    struct vm_spares spares[2];
};

bt_status vm_machine_create(bt_ctx *, struct vm_program *, const struct vm_options *,
                            struct vm_machine **out);
void vm_machine_destroy(struct vm_machine *); /* accepts NULL */
/* Runs the function of number 0. dims: of its type parameters, negative where not known. */
bt_status vm_run(bt_ctx *, struct vm_machine *, uint32_t narg, bt_object *const *args,
                 const int64_t *dims, const bt_run_hook *, bt_object **out);

/* ---- machine_frames.c ---- */

/* A frame above all others, registers empty and dims unknown.
 * errors  BT_ERR_LIMIT, which names the budget and the function; BT_ERR_MEMORY */
bt_status vm_push(struct vm_machine *, const struct vm_function *, struct vm_frame **out);
/* Lets go of what the top frame holds. */
void vm_pop(struct vm_machine *);
bt_status vm_fail_limit(struct vm_machine *, const struct vm_function *, const char *what,
                        uint64_t limit);
/* Gives back the memory of all segments but the first. */
void vm_trim(struct vm_machine *);
/* Frees references that nothing reaches. */
bt_status vm_collect(struct vm_machine *);

/* ---- machine_areas.c ---- */

/* The activation gets its memory, which goes with it.
 * errors  BT_ERR_LIMIT, BT_ERR_MEMORY, of the target */
bt_status vm_take_memory(struct vm_machine *, struct vm_frame *);
void vm_drop_memory(struct vm_machine *, struct vm_frame *);
void vm_free_memory(struct vm_machine *);
static inline uint32_t vm_nspace(const struct vm_program *p)
{
    return p->compiled ? p->compiled->ntarget : 0;
}

/* The target with that space. */
static inline const bt_target_use *vm_use_of(const struct vm_machine *m, uint32_t space)
{
    return m->program->compiled->targets[space - 1];
}

/* ---- machine_objects.c ---- */

static inline int64_t *vm_dims(const struct vm_frame *frame)
{
    return (int64_t *)(void *)(uintptr_t)&frame->r[frame->f->nreg];
}
static inline struct vm_held *vm_held_of(const struct vm_frame *frame)
{
    return (struct vm_held *)(void *)(vm_dims(frame) + frame->f->ndim);
}
/* Of areas, by their number; where dims have a part in them. */
static inline int64_t *vm_offsets(const struct vm_frame *frame)
{
    return (int64_t *)(void *)(vm_held_of(frame) + frame->f->nstorage);
}
bt_status vm_fail(struct vm_machine *, uint32_t pc, uint32_t code, const char *text);
bt_status vm_fail_empty(struct vm_machine *, const struct vm_frame *) BT_MUST_USE;
/* A scalar as an object, and back; unbox takes the reference. */
bt_status vm_box(struct vm_machine *, uint32_t type, bt_cell, bt_object **out);
bt_cell vm_cell_of(const bt_object *);
/* A new reference to what an operand has, boxed; it is moved out where that is its last
 * use. */
bt_status vm_take(struct vm_machine *, struct vm_frame *, uint32_t operand,
                  bt_object **out);
/* Those of a list into m->objects; none is held after a failure. */
bt_status vm_take_all(struct vm_machine *, struct vm_frame *, uint32_t n,
                      const uint32_t *operands);
void vm_drop_all(struct vm_machine *, uint32_t n);
/* A register gets an object, of which it takes the reference, or its scalar. */
void vm_put(struct vm_frame *, uint32_t reg, bt_object *);

/* ---- machine_dims.c ---- */

bt_status vm_eval_code(struct vm_machine *, const struct vm_frame *,
                       const struct vm_open *, int64_t *out);
/* VM_UNKNOWN where a dim that it is over is not known. */
static inline bt_status vm_eval(struct vm_machine *m, const struct vm_frame *frame,
                                const struct vm_term *term, int64_t *out)
{
    *out = term->number;
    return term->open ? vm_eval_code(m, frame, term->open, out) : NULL;
}
bt_status vm_show_dims(struct vm_machine *, struct vm_frame *, const struct vm_shape *,
                       uint32_t operand, int is_checked);
bt_status vm_check_dims(struct vm_machine *, struct vm_frame *, const struct vm_check *);
bt_status vm_check_contents(struct vm_machine *, struct vm_frame *,
                            const struct vm_contents *, uint32_t operand);

/* ---- machine_operate.c ---- */

bt_status vm_operate(struct vm_machine *, struct vm_frame *, const uint32_t *words);

/* ---- machine_memory.c ---- */

void vm_drop_kept(struct vm_machine *);
bt_status vm_make_tensor(struct vm_machine *, struct vm_frame *, const uint32_t *words);
bt_status vm_make_view(struct vm_machine *, struct vm_frame *, const uint32_t *words);
bt_status vm_own(struct vm_machine *, struct vm_frame *, const uint32_t *words);
bt_status vm_copy(struct vm_machine *, struct vm_frame *, const uint32_t *words);
bt_status vm_load_scalar(struct vm_machine *, struct vm_frame *, const uint32_t *words);
bt_status vm_launch(struct vm_machine *, struct vm_frame *, const uint32_t *words);
void vm_close_queues(struct vm_machine *);

/* ---- machine_args.c ---- */

/* Whether arguments are of the types that code is made for, whatever is inside them; dims
 * excepted. */
bt_status vm_check_args(bt_ctx *, const struct vm_program *, uint32_t narg,
                        bt_object *const *args);

#endif
