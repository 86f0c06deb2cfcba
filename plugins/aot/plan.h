/*
 * A planned function as what C is written from: where each tensor is, and the steps in
 * order.
 */
#ifndef AOT_PLAN_H
#define AOT_PLAN_H

#include <baton/executor.h>

#include "dims.h"

enum { PLACE_ARG, PLACE_CONST, PLACE_BLOCK };

/* Where a tensor's elements are. */
struct place {
    uint32_t kind;         /* PLACE_... */
    uint32_t index;        /* leaf of the arguments, constant, block */
    const bt_type *offset; /* in the block, a dim; NULL: 0 */
};

/* A leaf of the arguments or of the result. */
struct leaf {
    const char *name; /* a word of C, no two alike */
    const bt_type *type;
    struct place place; /* of a result */
};

struct block {
    const bt_type *nbytes; /* a dim */
    uint32_t ntensor;
    uint32_t result; /* 1 + the result whose elements it is; 0: a part of the frame */
};

enum { STEP_INVOKE, STEP_COPY, STEP_CHECK };
struct step {
    uint32_t kind; /* STEP_... */
    uint32_t kernel;
    bt_span span; /* of an invoke, of a check */
    uint32_t nbuffer;
    const struct place *buffers; /* of a copy: from, to */
    const struct place *workspace;
    uint32_t ndim;
    const bt_type *const *dims; /* of a kernel */
    const bt_type *nbytes;      /* of a copy */
    bt_check check;
    const char *of; /* whose check it is */
};

struct vm_program;

/* Objects of one size that there may be at once. */
struct bound_term {
    uint64_t count;
    uint64_t head;         /* bytes before elements */
    const bt_type *nbytes; /* of elements, by dims of the entry */
};
/* What is enough for every run of a program with branches. */
struct bound {
    int is_known;
    uint64_t base; /* bytes of the workspace: of objects whose sizes are numbers, */
    const bt_type *frames; /* of the calls in progress, */
    uint32_t nterm;        /* of objects by dims */
    const struct bound_term *terms;
    int is_number;   /* it has a limit for all dims: */
    uint64_t nbytes; /* ... this one */
    uint32_t depth;  /* calls in progress */
    const char *why; /* ... it is not known */
};

struct plan {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_compiled *compiled;
    const bt_global *entry;
    const char *name;           /* of the program, a word of C */
    bt_map words;               /* taken */
    bt_map ctors;               /* -> words */
    const char **dims;          /* by type parameter of the entry, words */
    struct c_dim_names names;     /* those at hand */
    struct vm_program *program; /* of an entry with branches; NULL: it is a chain */
    struct bound bound;
    uint32_t has_values; /* its entry takes or gives what is no array of known size: then
                            args are its parameters, and there is one result */
    bt_vec(const char *) texts;        /* of its faults */
    bt_vec(const bt_tensor *) origins; /* its constants as its code names them */
    uint32_t narg, nresult;
    struct leaf *args, *results;
    bt_vec(struct block) blocks;
    bt_vec(const bt_tensor *) consts; /* each once */
    uint32_t ndense;                  /* of them, references of the plan's own */
    bt_vec(struct step) steps;
    bt_leaf_map leaves; /* items: struct place */
    bt_map storages;
};

/* Whether the entry is a chain of kernels, without branches, calls and scalars, on arrays
 * of known size. */
int plan_is_chain(const struct plan *);
/* bt_leaf_map.constant, of a plan. */
bt_status plan_const(void *plan, const bt_tensor *, const void **out) BT_MUST_USE;
/* Reads what the entry takes and gives. */
bt_status plan_read_interface(struct plan *) BT_MUST_USE;
/* Reads a chain. errors BT_ERR_UNSUPPORTED: what is not a chain of kernels */
bt_status plan_read(struct plan *) BT_MUST_USE;
/* A word of C and of C++ that nothing else in the program's functions has (plan_words.c). NULL:
 * no memory. */
const char *plan_word(struct plan *, const char *like);
/* The program's name, with which names of its functions and files begin. NULL: no memory. */
const char *plan_name(struct plan *, const char *like);
/* A dim as C, over the words at hand. errors  BT_ERR_UNSUPPORTED: it depends on elements */
bt_status plan_dim_text(struct plan *, const bt_type *dim, bt_text *out) BT_MUST_USE;
/* The word for a constructor's number. */
const char *plan_ctor_word(struct plan *, const bt_ctor *);

/* Checks of dims (plan_checks.c): the condition under which expressions a and b do not hold;
 * what its fault says: the text of interp and vm (bt_check_fail) without the values. */
void plan_check_fails(uint32_t relation, const char *a, const char *b, bt_text *out);
void plan_check_says(const struct plan *, const char *of, const bt_check *, bt_text *out);
/* What is said of a dim of the entry that is out of its range: the text of the others without
 * the value, up to it; the place is that of the argument which shows the dim. */
bt_span plan_dim_says(const struct plan *, uint32_t dim, bt_text *out);
/* A fault's text behind its place in the source, where one is known. NULL: no memory. */
const char *plan_fault_text(const struct plan *, bt_span, const char *text);

#endif
