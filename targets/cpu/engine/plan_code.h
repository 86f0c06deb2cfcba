/* A plan while it is made: its code, and the loops around what is being built. */
#ifndef CPU_PLAN_CODE_H
#define CPU_PLAN_CODE_H

#include "plan_build.h"

typedef bt_vec(uint32_t) plan_words;

/* A register and what a turn adds to it. */
struct plan_step {
    uint32_t reg;
    int64_t by;
};

/* Integer arguments of calls that are the same all through a turn. */
struct plan_arguments {
    uint32_t n, first;
    const bt_node *const *values;
};

/* A loop, or a phase as a whole. */
struct plan_scope {
    struct plan_scope *up;
    uint32_t index, counter; /* of a loop */
    plan_words before, code; /* of a turn */
    bt_vec(struct plan_step) addresses;
    bt_vec(struct plan_step) integers;
    bt_map values; /* node -> its register, from 1 */
    bt_vec(struct plan_arguments) arguments;
};

/* The value of a node that reads memory holds until the statement ends. */
struct plan_known {
    const bt_node *node;
    uint32_t reg;
};

struct plan_builder {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct plan_source *from;
    const bt_loops *loops;
    struct plan plan;
    struct plan_scope *phase, *scope; /* the innermost */
    struct plan_scope *of_index[BT_MAX_INDEX];
    uint32_t nn, np; /* of the phase */
    bt_vec(struct plan_known) known;
    const int64_t *locals; /* where each begins */
    bt_map callee_numbers; /* name -> number, from 1 */
    bt_vec(const char *) callees;
    bt_vec(const struct cpu_callee *) found;
    bt_vec(struct plan_check) checks;
    bt_vec(struct plan_phase) phases;
    plan_words code;
    bt_status status; /* the first failure; then nothing that is built matters */
};

/* ---- plan_code.c ---- */

/* Failures are kept: whoever builds goes on, and looks at the end. */
void plan_fail(struct plan_builder *, bt_status);
/* Fails, and gives register 0. */
uint32_t plan_unsupported(struct plan_builder *, const char *what);
void plan_put(struct plan_builder *, plan_words *to, uint32_t word);
void plan_put_first(struct plan_builder *, plan_words *to, uint32_t instruction,
                    uint32_t a);
void plan_put_integer(struct plan_builder *, plan_words *to, int64_t value);
void plan_put_all(struct plan_builder *, plan_words *to, const plan_words *from);
/* A register that begins each phase with this value. */
void plan_put_set(struct plan_builder *, uint32_t reg, int64_t value);
/* What the end of a turn adds to registers. */
void plan_put_updates(struct plan_builder *, plan_words *to, const struct plan_scope *);
/* Room for the length of a skip, to be filled by plan_skip_to_here. */
uint32_t plan_put_skip(struct plan_builder *, plan_words *to);
void plan_skip_to_here(struct plan_builder *, plan_words *code, uint32_t skip);
/* Makes it the innermost; NULL: no memory, which is kept. */
struct plan_scope *plan_open_scope(struct plan_builder *, uint32_t index);
/* The innermost of the loops on whose indices something depends. */
struct plan_scope *plan_scope_of(const struct plan_builder *, uint64_t indices);
void plan_step_integer(struct plan_builder *, struct plan_scope *, uint32_t reg,
                       int64_t by);
void plan_step_address(struct plan_builder *, struct plan_scope *, uint32_t reg,
                       int64_t by);

/* ---- plan_value.c ---- */

/* The register of a value, which is made where it is not there yet. Expressions nest as
 * deep as those of a graph may. */
uint32_t plan_value_of(struct plan_builder *, const bt_node *);
/* The loop of an index that stands by itself; NULL: it is no index of a loop around. */
struct plan_scope *plan_loop_of(struct plan_builder *, const bt_node *atom);
/* Where a value's code goes: to the turn that its indices are of, or, where it reads
 * memory, to where it is needed. */
plan_words *plan_place_of(struct plan_builder *, const bt_node *);
/* The address of an element in `reg`. */
void plan_put_address(struct plan_builder *, uint32_t buffer, const bt_node *offset,
                      uint32_t reg);

#endif
