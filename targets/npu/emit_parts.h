/* What emit.c and emit_transfers.c share: slots, and where a tile is computed. */
#ifndef NPU_EMIT_PARTS_H
#define NPU_EMIT_PARTS_H

#include "emit.h"

/* Memories that have slots; each slot is a resource of tokens. */
enum {
    NPU_SLOT_INP,
    NPU_SLOT_WGT,
    NPU_SLOT_X,
    NPU_SLOT_PARAMS,
    NPU_SLOT_OPERAND,
    NPU_SLOT_OUT = NPU_SLOT_OPERAND + NPU_MAX_POST_OPS,
    NPU_NSLOT
};
enum { NPU_MAX_SLOTS = 4 };
struct npu_slots {
    uint64_t keys[NPU_MAX_SLOTS];
    uint32_t used[NPU_MAX_SLOTS]; /* when, of a counter; 0: never */
};

struct npu_emitter {
    const struct npu_config *config;
    const struct npu_shape *shape;
    const struct npu_tile *tile;
    struct npu_draft *draft;
    struct npu_slots slots[NPU_NSLOT];
    uint32_t now, ntile; /* ntile: those before the one at hand */
};

/* Where a tile is computed. */
struct npu_place {
    uint32_t group, image, row, column, o; /* blocks and tiles by number */
    uint32_t rows, columns, nout;          /* extents, less at the ends */
    uint32_t chunk;
    struct npu_chunk sum;
};

uint32_t npu_slot_bit(uint32_t memory, uint32_t slot);
/* The slot of what `key` names; the one that is longest unused where it is new. */
uint32_t npu_slot_of(struct npu_emitter *, uint32_t memory, uint64_t key, int *is_new);
/* Keys of the places, and of the results, at hand. */
uint64_t npu_places_key(const struct npu_emitter *, const struct npu_place *);
uint64_t npu_results_key(const struct npu_emitter *, const struct npu_place *);

/* Blocks [block, block + n) of x, as far as the tile reads them. */
void npu_load_x(struct npu_emitter *, const struct npu_place *, uint32_t block,
                uint32_t n, uint8_t memory, uint32_t tile, uint32_t writes);
void npu_load_weights(struct npu_emitter *, const struct npu_place *, uint32_t slot);
/* Loads them unless they are in a slot; which it is. */
uint32_t npu_load_params(struct npu_emitter *, const struct npu_place *);
/* Of post-op `post_op`, the `number`-th that has one; its resource. */
uint32_t npu_load_operand(struct npu_emitter *, const struct npu_place *,
                          uint32_t post_op, uint32_t number, uint32_t *tile);
/* What sums of a window begin with. */
void npu_load_fill(struct npu_emitter *, uint32_t out, int32_t code);
void npu_load_elements(struct npu_emitter *, const struct npu_place *, uint32_t out);
void npu_store(struct npu_emitter *, const struct npu_place *, uint32_t out);

#endif
