/*
 * A planned function, ready to run. Its sizes, offsets and dims stand in one table: numbers,
 * and terms over the entry's dims, which are evaluated when these differ from those of the
 * last call.
 */
#ifndef GRAPH_SESSION_H
#define GRAPH_SESSION_H

#include <baton/executor.h>
#include <baton/op.h>

enum { PLACE_ARG, PLACE_CONST, PLACE_BLOCK };

/* Where a tensor's elements are. */
struct place {
    uint32_t kind;           /* PLACE_... */
    uint32_t index;          /* leaf of the arguments, constant, block */
    uint32_t offset, nbytes; /* in the block: of the table */
};

/* A number of the table that depends on dims. */
struct term {
    bt_dim_code code;
    uint32_t number;
    const bt_value *of;
};

/* What must hold of the dims of a call. */
struct fact {
    const bt_value *value;
    const char *of;
    bt_check check;
    bt_dim_code left, right;
};

struct constant {
    const bt_tensor *given; /* the program's */
    bt_tensor *plain;       /* for the host's kernels; NULL: none of them reads it */
};

struct block {
    uint32_t nbytes;    /* of the table */
    int64_t size;       /* of its memory; -1: it has none */
    uint32_t space;     /* the host's 0, or 1 + a target's number */
    uint32_t ntensor;   /* that lie in it */
    uint32_t result;    /* 1 + the result whose elements it is; 0: of none */
    bt_tensor *memory;  /* of the session; NULL: of a result, or a target's */
    void *own;          /* of a target's memory */
    const bt_value *of; /* the binding that takes it */
};

struct step {
    const bt_value *value;
    uint32_t kernel;         /* COPY: the first buffer's elements go to the second */
    uint32_t nread, nbuffer; /* the first are read, the others written */
    uint32_t space; /* of a kernel's buffers; of a copy: that of the target that copies */
    const struct place *buffers, *workspace; /* NULL: it needs none */
    uint32_t nbytes;                         /* of a copy: of the table */
    uint32_t dims, ndim;                     /* of a kernel: the first, of the table */
    uint32_t queue;                          /* NO_QUEUE: it is done at once */
    uint32_t nwait;
    const uint32_t *waits; /* steps of other queues that it comes after */
};
#define COPY     UINT32_MAX
#define NO_QUEUE UINT32_MAX

/* Of a target's kernels or its copies; number 2 * target, or one more. */
struct queue {
    const char *name; /* "npu kernels" */
    void *opened;     /* NULL: not yet */
    uint32_t nstep;   /* 1 + the step that was put into it last; 0: none in this call */
    uint64_t done;    /* what its counter is known to have come to */
};

/* A leaf of the arguments or of the result. */
struct leaf {
    struct place place; /* of a result */
    uint32_t donor;     /* of a result: 1 + the argument's leaf in whose bytes it may be; 0: none */
    bt_dtype dtype;
    uint32_t rank;
    uint32_t dims; /* the first, of the table */
    /* Of the session: what stands in for a tensor of the caller where kernels cannot work
     * on it. NULL: that was never needed. */
    bt_tensor *own;
};

struct session {
    bt_arena *arena; /* the session itself too */
    bt_compiled *compiled;
    const bt_global *entry;
    uint32_t narg, nresult; /* leaves */
    uint32_t nblock, nconst, nstep, nqueue, most_buffers;
    struct leaf *args, *results;
    struct block *blocks;
    struct constant *consts;
    void *
        *own_consts; /* by space and constant: the module's copy; NULL: not read there */
    struct step *steps;
    struct queue *queues;
    int64_t *table; /* terms are -1 before the first call */
    uint32_t nterm, nfact;
    const struct term *terms;
    const struct fact *facts;
    uint32_t is_settled; /* 1: table and blocks are for the dims of a call */
    /* Of the call in progress: */
    int64_t *dims;        /* of the entry, where they differ from those before */
    const bt_tensor **in; /* what is read for each argument's leaf */
    bt_tensor **out;      /* what each leaf of the result is computed in */
    bt_tensor **made;     /* results of a call that is given no tensors for them */
    void **addresses;     /* of the blocks */
    void **buffers;       /* of one launch */
    uint64_t *offsets;
    uint64_t *values;  /* by step: its event's, if it was put into a queue */
    bt_times *times;   /* ... and when that ran, where a hook wants to know */
    bt_event *events;  /* that one step waits for */
    bt_status failure; /* of the first step that has failed; NULL: none has */
    uint32_t failed;   /* that step */
};

bt_status session_load(bt_ctx *, bt_compiled *, const char *entry, const void *options,
                       void **out);
void session_close(void *);

/* Makes table and blocks for these dims of the entry (session_settle.c). */
bt_status session_settle(bt_ctx *, struct session *, const int64_t *dims);
/* Which results may be computed in an argument's bytes (session_donors.c). */
void session_find_donors(struct session *);
/* Gives back the blocks, and the copies of callers' tensors. */
void session_unsettle(struct session *);
/* 1: of the leaf's type. */
int leaf_admits(const struct session *, const struct leaf *, const bt_tensor *);
/* A new tensor for its elements. */
bt_status leaf_tensor(bt_ctx *, const struct session *, const struct leaf *,
                      bt_tensor **out);

#endif
