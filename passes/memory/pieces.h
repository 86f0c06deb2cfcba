/*
 * Tensors of one memory, as pieces that are placed.
 *
 *     make    what is computed in place of another one is one piece with it       pieces.c
 *     join    a tensor's parts and it, or one that has some of its elements, become
 *             one piece, where nothing forbids it                                 pieces_join.c
 *     pack    each piece has its offset                                           pieces_pack.c
 */
#ifndef PASSES_MEMORY_PIECES_H
#define PASSES_MEMORY_PIECES_H

#include <baton/compiled.h>

#include "memory/amount.h"

/* How tensors of one memory are placed. */
struct pool {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    int64_t align;           /* of their offsets */
    int64_t largest, stride; /* bytes of a block; block i is at i * stride */
    uint32_t is_limited;     /* 1: a block may be too small for what has no number */
};

/* Tensors laid over one another, or into one another: one piece of memory. */
struct piece {
    struct amount nbytes, offset;
    struct amount taken; /* of nbytes, to the next multiple of the alignment */
    uint32_t first,
        last;        /* from the first tensor's first kernel to the last one's last */
    uint32_t number; /* of the first tensor, ... */
    uint32_t newest; /* ... and of the last */
    uint32_t is_own; /* 1: there is no place for it in what is shared */
    uint32_t joins;  /* 1 + the tensor whose parts are being laid into it; ... */
    int64_t shift;   /* ... where the piece then begins in the one of that tensor */
};

/* The pieces of a space. */
struct layout {
    uint32_t npiece;
    struct piece *pieces; /* one that became part of another ends before it begins */
    struct piece **of;    /* by tensor: its piece, or NULL ... */
    int64_t *at;          /* ... and where in it the tensor begins */
    int64_t size;         /* bytes that all need, for the sample */
};

/* To the next multiple of a step. */
static inline int64_t pieces_round_up(int64_t offset, int64_t step)
{
    return (offset + step - 1) / step * step;
}

/* The memory that a tensor is in. */
const char *pieces_space(const bt_live_range *);
/* Whether it is in a storage of its own to begin with, and lives. */
int pieces_is_placed(const bt_live_range *);

/* Those of a space. Ranges are in the order of the function, in which what is laid over follows.
 * has_slices: nothing is laid over slices, which are to lie where others have their elements. */
bt_status pieces_make(const struct pool *, uint32_t n, const bt_live_range *,
                      const char *space, int has_slices, struct layout *out) BT_MUST_USE;
/* Lays the parts of a tensor into it, all or none. */
bt_status pieces_join(const struct pool *, uint32_t n, const bt_live_range *,
                      uint32_t whole, struct layout *) BT_MUST_USE;
/* Lays a tensor where another one has its elements, or leaves it. */
bt_status pieces_join_slice(const struct pool *, uint32_t n, const bt_live_range *,
                            uint32_t slice, struct layout *) BT_MUST_USE;
/* Places all, by the strategy that takes the fewest bytes. */
bt_status pieces_pack(const struct pool *, struct layout *) BT_MUST_USE;

#endif
