/* Bytecode while it is made: its code, and the loops around what is being built. */
#ifndef CPU_BYTECODE_EMIT_H
#define CPU_BYTECODE_EMIT_H

#include "bytecode_build.h"

typedef bt_vec(uint32_t) bytecode_words;

/* A register and what an iteration adds to it. */
struct bytecode_step {
    uint32_t reg;
    int64_t by;
};

/* Integer arguments of calls that are the same all through an iteration. */
struct bytecode_arguments {
    uint32_t n, first;
    const bt_node *const *values;
};

/* A loop, a phase as a whole, or what a condition of a phase keeps apart. */
struct bytecode_scope {
    struct bytecode_scope *up;
    uint32_t index, counter;     /* of a loop */
    bytecode_words before, code; /* of an iteration */
    bt_vec(struct bytecode_step) addresses;
    bt_vec(struct bytecode_step) integers;
    bt_map values; /* node -> its register, from 1 */
    bt_vec(struct bytecode_arguments) arguments;
};

/* The value of a node that reads memory holds until the statement ends. */
struct bytecode_known {
    const bt_node *node;
    uint32_t reg;
};

struct bytecode_builder {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct bytecode_source *from;
    const bt_loops *loops;
    struct bytecode bytecode;
    struct bytecode_scope *phase; /* or what a condition of it keeps apart */
    struct bytecode_scope *scope; /* the innermost */
    struct bytecode_scope *of_index[BT_MAX_INDEX];
    uint32_t nn, np; /* of the phase */
    bt_vec(struct bytecode_known) known;
    const int64_t *locals; /* where each begins */
    bt_map callee_numbers; /* name -> number, from 1 */
    bt_vec(const char *) callees;
    bt_vec(const struct cpu_callee *) found;
    bt_vec(struct bytecode_check) checks;
    bt_vec(struct bytecode_phase) phases;
    bytecode_words code;
    bt_status status; /* the first failure; then nothing that is built matters */
};

/* ---- bytecode_emit.c ---- */

/* Failures are kept: whoever builds goes on, and looks at the end. */
void bytecode_fail(struct bytecode_builder *, bt_status);
/* Fails, and gives register 0: a schedule has no such thing. It is an error, and not left to
 * the evaluator, where nobody would see that the schedule is wrong. */
uint32_t bytecode_mistake(struct bytecode_builder *, const char *what);
/* The same of what has no bytecode: an index that is computed by floats, as of a resize by a
 * scale that is open. */
uint32_t bytecode_unsupported(struct bytecode_builder *, const char *what);
void bytecode_put(struct bytecode_builder *, bytecode_words *to, uint32_t word);
void bytecode_put_first(struct bytecode_builder *, bytecode_words *to,
                        uint32_t instruction, uint32_t a);
void bytecode_put_integer(struct bytecode_builder *, bytecode_words *to, int64_t value);
void bytecode_put_all(struct bytecode_builder *, bytecode_words *to,
                      const bytecode_words *from);
/* A register that begins each phase with this value. */
void bytecode_put_set(struct bytecode_builder *, uint32_t reg, int64_t value);
/* What the end of an iteration adds to registers. */
void bytecode_put_updates(struct bytecode_builder *, bytecode_words *to,
                          const struct bytecode_scope *);
/* Room for the length of a skip, to be filled by bytecode_skip_to_here. */
uint32_t bytecode_put_skip(struct bytecode_builder *, bytecode_words *to);
void bytecode_skip_to_here(struct bytecode_builder *, bytecode_words *code,
                           uint32_t skip);
/* Makes it the innermost; NULL: no memory, which is kept. */
struct bytecode_scope *bytecode_open_scope(struct bytecode_builder *, uint32_t index);
/* The innermost of the loops on whose indices something depends. */
struct bytecode_scope *bytecode_scope_of(const struct bytecode_builder *,
                                         uint64_t indices);
void bytecode_step_integer(struct bytecode_builder *, struct bytecode_scope *,
                           uint32_t reg, int64_t by);
void bytecode_step_address(struct bytecode_builder *, struct bytecode_scope *,
                           uint32_t reg, int64_t by);

/* ---- bytecode_value.c ---- */

/* The register of a value, which is made where it is not there yet. Expressions nest as
 * deep as those of a graph may. */
uint32_t bytecode_value_of(struct bytecode_builder *, const bt_node *);
/* The loop of an index that stands by itself; NULL: it is no index of a loop around. */
struct bytecode_scope *bytecode_loop_of(struct bytecode_builder *, const bt_node *atom);
/* Where a value's code goes: to the iteration that its indices are of, or, where it reads
 * memory, to where it is needed. */
bytecode_words *bytecode_place_of(struct bytecode_builder *, const bt_node *);
/* The address of an element in `reg`. */
void bytecode_put_address(struct bytecode_builder *, uint32_t buffer,
                          const bt_node *offset, uint32_t reg);

#endif
