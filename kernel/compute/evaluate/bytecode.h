/*
 * Bytecode: flat code of one stage, as the reference evaluator runs it.
 *
 * A stage is loops over its axes; at most one index of any nest is a *strip* of up to
 * BT__STRIP elements, and an instruction handles a strip at once. A value that does not
 * depend on the strip is one cell (step 0), any other a vector (step 1). Instructions
 * work on the lanes [from, to) of the machine: guards that are linear in the indices
 * narrow this window or a loop's range instead of testing elements.
 *
 * A *cursor* is an int64 linear in the loops' indices, kept up to date by additions when
 * a loop steps: addresses, guards and index values.
 */
#ifndef COMPUTE_EVALUATE_BYTECODE_H
#define COMPUTE_EVALUATE_BYTECODE_H

#include "compute/graph/graph.h"

enum { BT__STRIP = 256 };

typedef struct bt__machine bt__machine;
typedef struct bt__instr bt__instr;
typedef struct bt__code bt__code;

struct bt__reg {
    bt_cell *at;
    uint32_t step; /* 0: one cell for all lanes */
};

/* cursor + lane * i >= 0 for lane i; `coef` of the loop that it belongs to. */
struct bt__limit {
    uint32_t cursor;
    int64_t lane, coef;
};
struct bt__advance {
    uint32_t cursor;
    int64_t by;
};
typedef bt_vec(bt__instr) bt__instrs;

struct bt__loop {
    uint32_t index;
    int64_t extent;
    uint32_t width; /* elements an iteration: 1, or the strip's */
    bt_vec(struct bt__advance) steps;
    bt_vec(struct bt__limit) limits;  /* narrow the range */
    bt_vec(struct bt__limit) windows; /* narrow the lanes on every iteration */
    bt__instrs body;
};

/* Two branches by a condition. */
struct bt__choice {
    bt_vec(struct bt__limit) limits; /* lanes where all hold take the first branch */
    struct bt__reg condition;        /* or, without limits, one cell */
    bt__instrs branches[2];
};

struct bt__instr {
    int (*run)(bt__machine *, const bt__instr *); /* 0: failed, machine->status */
    struct bt__reg out, a, b, c;
    uint32_t cursor, cursor2;
    int64_t lane, lane2; /* what a lane adds to the cursor */
    int64_t factor;
    uint32_t array, array2;
    bt_dtype from, to;
    bt__strip_fn *strip;
    bt__take_fn *take;
    uint32_t reducer;
    struct bt__loop *loop;
    struct bt__choice *choice;
    const struct bt__check *check;
};

/* What a bounds check at run time says when it fails. */
struct bt__check {
    const char *array;
    uint32_t axis;
    int64_t extent;
};

/* Accumulators of all elements of a scattered reduction. While the stage runs, buffer i
 * is array narray + i of the machine. */
struct bt__buffer {
    int64_t nelem;
    bt_cell start;
};

struct bt__code {
    uint32_t ncursor;
    const int64_t *starts; /* of the cursors */
    bt__instrs body;
    bt_vec(struct bt__buffer) buffers;
    int64_t nelem; /* of the result */
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    uint32_t array;
};

struct bt__bytecode {
    const char *op;
    const bt_graph *graph;
    uint32_t nstage; /* stage i computes array ninput + i */
    struct bt__code *stages;
    uint32_t max_cursor, max_buffer;
};

/* Strides, in elements, of the inputs: of array i at strides[i]. Lives in `arena`. */
bt_status bt__bytecode_create(bt_ctx *, bt_arena *arena, const char *op, bt_graph *,
                              const int64_t *const *strides,
                              struct bt__bytecode **out) BT_MUST_USE;
/* `data` of each array; stages' are written.
 * errors  BT_ERR_RUNTIME, BT_ERR_CANCELLED */
bt_status bt__bytecode_run(bt_ctx *, const struct bt__bytecode *,
                           void *const *data) BT_MUST_USE;

/* ---- instructions (run.c, load.c) ---- */

struct bt__machine {
    bt_ctx *ctx;
    const char *op;
    uint32_t from, to; /* lanes */
    int64_t *cursors;
    char *const *data;
    bt_status status;
    uint32_t patience; /* iterations until cancellation is looked at */
};

int bt__run_loop(bt__machine *, const bt__instr *);   /* loop */
int bt__run_choose(bt__machine *, const bt__instr *); /* choice, by limits */
int bt__run_branch(bt__machine *, const bt__instr *); /* choice, by one condition */
int bt__run_both(bt__machine *, const bt__instr *); /* choice: both branches, all lanes */
int bt__run_strip(bt__machine *, const bt__instr *);     /* out = strip(a, b) */
int bt__run_wrap(bt__machine *, const bt__instr *);      /* out wrapped to `to` */
int bt__run_cast(bt__machine *, const bt__instr *);      /* out = a, from -> to */
int bt__run_select(bt__machine *, const bt__instr *);    /* out = a ? b : c */
int bt__run_move(bt__machine *, const bt__instr *);      /* out = a */
int bt__run_linear(bt__machine *, const bt__instr *);    /* out = cursor */
int bt__run_add_times(bt__machine *, const bt__instr *); /* out = a + factor * b */
/* Accumulators out, b take a; mask c. */
int bt__run_take(bt__machine *, const bt__instr *);
int bt__run_end(bt__machine *, const bt__instr *);   /* out = end(a, b) */
int bt__run_check(bt__machine *, const bt__instr *); /* index a, mask c */
/* Buffers array, array2 take a at element b; mask c. */
int bt__run_scatter(bt__machine *, const bt__instr *);
/* Along an axis of `lane2` elements, `lane` apart, each of the `factor` elements of buffer
 * array takes the one before it; cursor: from the end. */
int bt__run_scan(bt__machine *, const bt__instr *);
/* The `factor` elements of buffer array become results, with array2. */
int bt__run_scatter_end(bt__machine *, const bt__instr *);
/* By dtype, for lane i:
 *     load    out = array[a + cursor + lane * i]
 *     gather  out = array[a] where c
 *     store   array[cursor + lane * i] = a
 *     multiply_add
 *             out += array[a + cursor + lane * i] * array2[b + cursor2 + lane2 * i]; with
 *             `to` the lanes are summed; NULL where there is no such instruction */
int (*bt__run_load(bt_dtype))(bt__machine *, const bt__instr *);
int (*bt__run_gather(bt_dtype))(bt__machine *, const bt__instr *);
int (*bt__run_store(bt_dtype))(bt__machine *, const bt__instr *);
int (*bt__run_multiply_add(bt_dtype))(bt__machine *, const bt__instr *);

/* Lanes that an instruction works on. */
static inline uint32_t bt__lane_from(const bt__machine *m, const struct bt__reg *out)
{
    return out->step ? m->from : 0;
}
static inline uint32_t bt__lane_count(const bt__machine *m, const struct bt__reg *out)
{
    return out->step ? m->to - m->from : 1;
}

#endif
