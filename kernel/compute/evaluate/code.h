/*
 * Making code for the reference evaluator: a stage's expression as blocks of
 * instructions.
 *
 * A block stands in loops (those of its parents) and perhaps behind a guard. A value goes
 * to the outermost block that binds its indices; one that reads what only a guard proves
 * to be in bounds stays behind that guard. Blocks are filled inside out: an instruction
 * that moves outward comes before the loop that is still being built, because a loop is
 * added to its parent when it is complete.
 */
#ifndef COMPUTE_EVALUATE_CODE_H
#define COMPUTE_EVALUATE_CODE_H

#include "compute/evaluate/bytecode.h"
#include "compute/evaluate/strips.h"
#include "compute/graph/bounds.h"

struct bt__block {
    struct bt__block *parent;
    bt__instrs *code;
    struct bt__loop *loop;       /* whose turn it is; NULL: the parent's */
    uint64_t bound;              /* indices that have a value */
    int strip;                   /* index in lanes, -1: none */
    uint32_t width;              /* lanes */
    uint32_t is_guard;           /* what relies on the facts must stay */
    struct bt__facts facts;      /* hold on all lanes that run */
    struct bt__facts mask_facts; /* hold where the mask is set */
    struct bt__reg mask;         /* lanes to read for; at NULL: all */
    bt_map values;               /* node -> struct bt__reg * */
};

struct bt__coder {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_graph *graph;
    struct bt__strips strips;
    struct bt__code *code;  /* being made */
    bt_vec(int64_t) starts; /* of cursors */
    bt_map scattered;       /* reduction -> struct bt__scattered * (code_scatter.c) */
};

/* A nest of loops. */
struct bt__nest {
    uint32_t n, indices[BT_MAX_INDEX]; /* outermost first */
    int64_t extents[BT_MAX_INDEX];
    int strip; /* the innermost loop's index, where that is a strip; else -1 */
    struct bt__loop *loops[BT_MAX_INDEX];
    struct bt__block *blocks; /* of the loops' bodies */
    struct bt__block *parent, *innermost;
};

/* Instructions behind a condition on elements. */
struct bt__masked {
    struct bt__block block;
    struct bt__choice *choice;
    struct bt__reg mask; /* at NULL: decided for all lanes at once */
};

/* The failure behind a graph constructor's NULL. */
bt_status bt__code_why(const struct bt__coder *);

/* ---- code_block.c ---- */

void bt__block_open(struct bt__coder *, struct bt__block *, struct bt__block *parent,
                    bt__instrs *code);
bt_status bt__block_push(struct bt__coder *, struct bt__block *, bt__instr) BT_MUST_USE;
/* A register with a cell (step 0), or one for each lane of the block. */
bt_status bt__reg_new(struct bt__coder *, const struct bt__block *, uint32_t step,
                      struct bt__reg *out) BT_MUST_USE;
/* The step of a register for the value of a node in the block. */
uint32_t bt__block_varies(const struct bt__block *, const bt_node *);
bt_status bt__reg_const(struct bt__coder *, bt_cell, struct bt__reg *out) BT_MUST_USE;
/* A cursor for the linear form's indices as they run in the block; *lane gets what the
 * strip's lanes add. Other atoms are left out. */
bt_status bt__cursor_new(struct bt__coder *, struct bt__block *, const bt_linear *,
                         uint32_t *cursor, int64_t *lane) BT_MUST_USE;
/* What must be at least 0 for the conjunct to hold, in one or two linear forms of
 * indices; 0: it is of another kind. */
uint32_t bt__limit_terms(struct bt__coder *, const bt_node *conjunct,
                         const bt_node *terms[2]);
/* Opens loops for indices and extents in `nest`, inside `parent`; the body goes to
 * nest->innermost. */
bt_status bt__nest_open(struct bt__coder *, struct bt__block *parent,
                        struct bt__nest *) BT_MUST_USE;
/* Limits the loops by a condition; conjuncts that elements decide go to `masks`. */
bt_status bt__nest_limit(struct bt__coder *, struct bt__nest *, const bt_node *condition,
                         bt_nodes *masks) BT_MUST_USE;
/* Adds the loops to their parents, once bodies are complete. */
bt_status bt__nest_close(struct bt__coder *, struct bt__nest *) BT_MUST_USE;

/* ---- code_value.c, code_read.c, code_select.c, code_reduce.c, code_scatter.c ---- */

/* Code for a value that is needed in the block. */
bt_status bt__emit(struct bt__coder *, struct bt__block *, const bt_node *,
                   struct bt__reg *out) BT_MUST_USE;
bt_status bt__emit_read(struct bt__coder *, struct bt__block *, const bt_node *,
                        struct bt__reg *out) BT_MUST_USE;
bt_status bt__emit_select(struct bt__coder *, struct bt__block *, const bt_node *,
                          struct bt__reg *out) BT_MUST_USE;
bt_status bt__emit_reduce(struct bt__coder *, struct bt__block *, const bt_node *,
                          struct bt__reg *out) BT_MUST_USE;
/* out += read * read. *done = 0: not by one instruction. */
bt_status bt__emit_multiply_add(struct bt__coder *, struct bt__block *,
                                const bt_node *const reads[2], struct bt__reg out,
                                int is_dot, int *done) BT_MUST_USE;
/* What follows is for lanes, or iterations, where all conjuncts hold. */
bt_status bt__masked_open(struct bt__coder *, struct bt__block *, const bt_nodes *,
                          struct bt__masked *out) BT_MUST_USE;
bt_status bt__masked_close(struct bt__coder *, struct bt__masked *) BT_MUST_USE;
/* Emits the scatter reductions of the stage's expression, which come first. */
bt_status bt__scatter_all(struct bt__coder *, struct bt__block *root,
                          const bt_array *) BT_MUST_USE;
/* The value of a scattered reduction; *done = 0: it is none. */
bt_status bt__emit_scattered(struct bt__coder *, struct bt__block *, const bt_node *,
                             struct bt__reg *out, int *done) BT_MUST_USE;

#endif
