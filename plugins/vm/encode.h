/*
 * Making bytecode of flat functions. A value of a function has a register from the binding
 * that defines it to its last use; registers of one type serve one value after another.
 */
#ifndef VM_ENCODE_H
#define VM_ENCODE_H

#include <baton/op.h>
#include <baton/scalar.h>

#include "bytecode.h"

/* A block, and where in it values are used last: its own, and those from around it that it,
 * or a block in it, uses. */
struct vm_scope {
    const bt_block *block;
    struct vm_scope *outer;
    uint32_t step; /* binding at hand; nbinding: the result */
    bt_map last;   /* value -> its last step + 1 */
};

typedef bt_vec(uint32_t) vm_numbers;

struct vm_encoder {
    bt_ctx *ctx;
    bt_arena *arena;   /* of the program: what is in it stays as it is */
    bt_arena *tables;  /* what grows while functions are encoded */
    bt_arena *scratch; /* of this function */
    struct vm_program *program;
    bt_vec(const bt_global *) globals; /* functions by their number */
    bt_map numbers;                    /* name of a function -> its number + 1 */
    bt_map plain;                      /* tensor -> its constant that kernels read + 1 */
    bt_vec(struct vm_function *) functions;
    bt_vec(struct vm_list) lists;
    bt_vec(struct vm_const) consts;
    bt_vec(struct vm_scalar) scalars;
    bt_vec(struct vm_ctor) ctors;
    bt_vec(struct vm_operator) operators;
    bt_vec(struct vm_shape) shapes;
    bt_vec(struct vm_check) checks;
    bt_vec(struct vm_contents) contents;
    bt_vec(struct vm_launch) launches;
    /* Of the function being encoded: */
    const bt_func *func;
    bt_map scopes;    /* block -> struct vm_scope * */
    bt_map owners;    /* value -> the scope that defines it */
    bt_map read;      /* values, to anything: a tuple that nobody reads is not made */
    bt_map registers; /* value -> register + 1 */
    bt_map dims;      /* type variable, opaque dim -> number + 1 */
    bt_map storages;  /* memory.alloc_storage -> number + 1, of those of the frame */
    bt_map areas;     /* value -> number + 1: tensors in them */
    const bt_value *last_storage; /* the last of these storages: all are got there */
    vm_numbers types[2];   /* of registers: of objects, of scalars */
    vm_numbers unused;     /* registers that hold nothing now */
    vm_numbers words;
    uint32_t begun; /* word: of the last instruction */
    struct vm_scope *scope;
    bt_vec(struct vm_source) sources;
    bt_vec(struct vm_local) locals;
    bt_map holders; /* register + 1 -> the last of locals in it + 1 */
    bt_vec(struct vm_storage) all_storages;
    bt_vec(struct vm_area) all_areas;
};

/* While a function is encoded its scalars' registers are counted from here; objects' come
 * first, and how many these are is known at the end. */
#define VM_SCALAR (UINT32_C(1) << 22)

/* ---- encode.c ---- */

/* A block, whose result goes into the register `target`, in a tail block to the caller. */
bt_status vm_block_write(struct vm_encoder *, const bt_block *, int is_tail,
                         uint32_t target);
#define VM_NO_TARGET UINT32_MAX

/* ---- encode_branch.c ---- */

bt_status vm_if_write(struct vm_encoder *, const bt_if *, int is_tail);
bt_status vm_match_write(struct vm_encoder *, const bt_match *, int is_tail);

/* ---- encode_liveness.c ---- */

/* Scopes of the function's blocks. */
bt_status vm_find_uses(struct vm_encoder *);
/* What a binding reads from the blocks around it: operands, a closure's captures. */
uint32_t vm_noperand(const bt_value *);
const bt_value *vm_operand(const bt_value *, uint32_t index);
const bt_value *vm_behind(const bt_value *);
/* Whether nobody reads the value behind the step at hand. */
int vm_is_last(const struct vm_encoder *, const bt_value *);
/* Whether a block, or one in it, reads it. */
int vm_block_uses(const struct vm_encoder *, const bt_block *, const bt_value *);

/* ---- encode_write.c ---- */

/* The error of a program that is not flat, or not lowered, at the value. */
bt_status vm_unsupported(struct vm_encoder *, const bt_value *, const char *why);
bt_status vm_word(struct vm_encoder *, uint32_t);
/* The first word. */
bt_status vm_begin(struct vm_encoder *, uint32_t code, uint32_t first);
/* A register of the type that is free. */
bt_status vm_register_new(struct vm_encoder *, uint32_t type, uint32_t *out);
void vm_register_free(struct vm_encoder *, uint32_t reg);
uint32_t vm_register_type(const struct vm_encoder *, uint32_t reg);
/* The register in which a value is, loaded where it is a constant or a global; with VM_LAST
 * where this is its last use, and no later operand of the binding is the same. */
bt_status vm_read(struct vm_encoder *, const bt_value *, int is_last, uint32_t *out);
/* Likewise, where it may be memory: a place. */
bt_status vm_read_place(struct vm_encoder *, const bt_value *, int is_last,
                        uint32_t *out);
/* The operands of a binding from number `first` on, as vm_read; those of a kernel or a copy
 * as vm_read_place. */
bt_status vm_read_all(struct vm_encoder *, const bt_value *, uint32_t first,
                      uint32_t **out);
/* What is read for the last time has no register from here on. */
void vm_leave(struct vm_encoder *, uint32_t n, const uint32_t *regs);
/* The code from here on is of the value; one before it may have had none. */
bt_status vm_mark_source(struct vm_encoder *, const bt_value *);
/* The value is in the register from here on. */
bt_status vm_begin_local(struct vm_encoder *, const bt_value *, uint32_t reg,
                         uint32_t is_told);
/* The register of a value that is defined. */
bt_status vm_define(struct vm_encoder *, const bt_value *, uint32_t *out);
bt_status vm_constant(struct vm_encoder *, const bt_object *, uint32_t type,
                      uint32_t *out);
bt_status vm_cell(struct vm_encoder *, uint32_t type, bt_cell, uint32_t *out);
bt_status vm_list_words(struct vm_encoder *, uint32_t n, const uint32_t *);

/* ---- encode_dims.c ---- */

bt_status vm_dim_number(struct vm_encoder *, const bt_type *leaf, uint32_t *out);
bt_status vm_term_make(struct vm_encoder *, const bt_type *dim, struct vm_term *out);
/* A list of dims; row 0 is empty. */
bt_status vm_dims_make(struct vm_encoder *, uint32_t n, const bt_type *const *,
                       uint32_t *out);
/* A row for the shape of a tensor in memory, with the number of its type, which rank 0 does
 * not make a scalar. */
bt_status vm_memory_shape(struct vm_encoder *, const bt_value *, struct vm_shape *out);
/* DIMS or SHAPE for a value, where its type says something of the kind. */
bt_status vm_shape_write(struct vm_encoder *, uint32_t code, const bt_value *,
                         uint32_t reg);
/* Those of a call's checks. */
bt_status vm_checks_write(struct vm_encoder *, const bt_call *);
bt_status vm_holds_write(struct vm_encoder *, const bt_call *, uint32_t reg);

/* ---- encode_memory.c ---- */

/* The memory of the function's activations: storage and areas. */
bt_status vm_find_areas(struct vm_encoder *);
bt_status vm_memory_write(struct vm_encoder *, const bt_call *);

/* ---- encode_scalar.c ---- */

/* A call that computes scalars of scalars, as scalar instructions: the registers of its
 * results. *n = 0: it is none. */
bt_status vm_scalar_call(struct vm_encoder *, const bt_call *, const bt_func *callee,
                         uint32_t *n, uint32_t **out);

/* ---- encode_call.c ---- */

/* The number of the function of a global. */
bt_status vm_function_number(struct vm_encoder *, const bt_value *, uint32_t *out);
bt_status vm_call_write(struct vm_encoder *, const bt_call *, int is_tail);
bt_status vm_closure_write(struct vm_encoder *, const bt_closure_value *);
/* The row of a constructor of a value of this type. */
bt_status vm_ctor_number(struct vm_encoder *, const bt_ctor *, uint32_t type,
                         const bt_value *, uint32_t *out);

#endif
