/* A planned function, ready to run. */
#ifndef GRAPH_SESSION_H
#define GRAPH_SESSION_H

#include <baton/executor.h>
#include <baton/op.h>

enum { PLACE_ARG, PLACE_CONST, PLACE_BLOCK };

/* Where a tensor's elements are. */
struct place {
    uint32_t kind;  /* PLACE_... */
    uint32_t index; /* leaf of the arguments, constant, block */
    int64_t offset; /* in the block */
};

struct block {
    int64_t nbytes;
    uint32_t space;    /* the host's 0, or 1 + a target's number */
    uint32_t ntensor;  /* that lie in it */
    uint32_t result;   /* 1 + the result whose elements it is; 0: of none */
    bt_tensor *memory; /* of the session; NULL: of a result, or a target's */
    void *own;         /* of a target's memory */
};

struct step {
    const bt_value *value;
    uint32_t kernel; /* COPY: the first buffer's elements go to the second */
    uint32_t nbuffer;
    uint32_t space; /* of a kernel's buffers; of a copy: that of the target that copies */
    const struct place *buffers, *workspace; /* NULL: it needs none */
    size_t nbytes;                           /* of a copy */
};
#define COPY UINT32_MAX

/* A leaf of the arguments or of the result. */
struct leaf {
    struct place place; /* of a result */
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    /* Of the session: what stands in for a tensor of the caller where kernels cannot work
     * on it. NULL: that was never needed. */
    bt_tensor *own;
};

struct session {
    bt_arena *arena; /* the session itself too */
    bt_compiled *compiled;
    const bt_global *entry;
    uint32_t narg, nresult; /* leaves */
    uint32_t nblock, nconst, nstep, most_buffers;
    struct leaf *args, *results;
    struct block *blocks;
    bt_tensor **consts;
    void **own_consts; /* by space and constant: its copy there; NULL: nobody reads it */
    struct step *steps;
    /* Of the call in progress: */
    const bt_tensor **in; /* what is read for each argument's leaf */
    bt_tensor **out;      /* what each leaf of the result is computed in */
    bt_tensor **made;     /* results of a call that is given no tensors for them */
    void **addresses;     /* of the blocks */
    void **buffers;       /* of one launch */
    uint64_t *offsets;
};

bt_status session_load(bt_ctx *, bt_compiled *, const char *entry, const void *options,
                       void **out);
void session_close(void *);

/* 1: of the leaf's type. */
int leaf_admits(const struct leaf *, const bt_tensor *);
/* 1: row major, at an address that kernels take. */
int is_plain(const bt_tensor *);

#endif
