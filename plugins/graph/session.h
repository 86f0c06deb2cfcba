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
    uint32_t ntensor;   /* that lie in it */
    uint32_t is_result; /* 1: the elements of a result, which each call makes anew */
    bt_tensor *memory;  /* of the session; NULL: of a result */
};

struct step {
    const bt_value *value;
    uint32_t kernel, nbuffer;
    const struct place *buffers;
};

struct result {
    struct place place;
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
};

struct session {
    bt_arena *arena; /* the session itself too */
    bt_compiled *compiled;
    const bt_global *entry;
    uint32_t narg; /* leaves */
    uint32_t nblock, nconst, nstep, nresult, most_buffers;
    struct block *blocks;
    bt_tensor **consts;
    struct step *steps;
    struct result *results;
};

bt_status session_load(bt_ctx *, bt_compiled *, const char *entry, void **out);
void session_close(void *);

#endif
