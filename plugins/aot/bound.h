/* The memory of a program with branches that is enough for every run, by the dims of its
 * entry. */
#ifndef AOT_BOUND_H
#define AOT_BOUND_H

#include "code.h"

/* ---- bound_sites.c: which objects there are, and where they may be ---- */

/* An object that an instruction makes; a holder holds one reference: a parameter, what an
 * instruction writes to an object register, the result of a function, a field of an object,
 * the tensor whose elements a view has. */
struct site {
    uint32_t n;             /* axes, fields */
    const bt_type *nbytes;  /* of elements in its own memory, a dim of the entry's */
    const bt_type *ndata;   /* of all its elements; NULL: not known */
    uint32_t first, nfield; /* holders of its fields */
    uint32_t copied;        /* 1 + the holder it may be a copy of */
    uint32_t owner;         /* 1 + the holder of a view's owner */
    uint32_t function, pc;  /* of the instruction */
};
/* What an instruction makes: so many sites from the first on. */
struct born {
    uint32_t first, n;
};
struct link {
    uint32_t holder, site;
};

struct bounds {
    struct coder *c;
    const struct vm_program *program;
    bt_arena *arena;
    bt_vec(struct site) sites;
    bt_vec(struct link) links;
    uint32_t nholder;
    const uint32_t **params;  /* by function: the holders of its parameters, */
    const uint32_t **holders; /* ... by word: that of the register that it names */
    const uint32_t *results;
    struct born *const *born; /* by function, by word */
    bt_store *store;
    const bt_type *varies;       /* a dim that is not the same in all calls */
    const bt_type **const *dims; /* by function: by dims of the entry, or `varies` */
    uint32_t nword;              /* of a set of sites */
    uint64_t *sets;              /* by holder */
    const char *why;             /* no number is known */
    bt_status status;
};

enum { MAX_SET_WORDS = 1 << 22 };

/* 0: `why` or `status` says why not. */
int find_sites(struct bounds *);
int bound_fails(struct bounds *, const struct vm_function *, const char *why);
const uint64_t *set_of(const struct bounds *, uint32_t holder);
int has_site(const uint64_t *set, uint32_t site);
/* The holder of the object register that a word of the function's code names. */
uint32_t holder_of(const struct bounds *, uint32_t function, const uint32_t *word);
/* By dims of the entry. NULL: it is not the same in all calls. */
const bt_type *term_dim(struct bounds *, uint32_t function, const struct vm_term *);

/* ---- bound_holders.c ---- */

/* Of the code of a function. 0: there is no memory. */
int find_holders(struct bounds *, uint32_t function);
/* The object register that is empty behind an instruction which reads it for the last time;
 * UINT32_MAX: none is. */
uint32_t emptied(const struct vm_function *, const struct vm_operand *, uint32_t code);

#endif
