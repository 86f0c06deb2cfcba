/*
 * Bytecode: functions as words of 32 bits, and the tables that their operands name rows
 * of. README.md describes the instructions. A program is immutable once it is verified;
 * sessions and threads share it.
 */
#ifndef VM_BYTECODE_H
#define VM_BYTECODE_H

#include <baton/executor.h>

#include "types.h"

enum {
#define VM_INSTRUCTION(UPPER, name, operands, ends, doc) VM_##UPPER,
#include "instructions.def"
    VM_COUNT
};

/* In an operand that is read: nobody reads the register after this, so that its object is
 * moved, and the one who has the only reference to it may know. */
#define VM_LAST     (UINT32_C(1) << 23)
#define VM_REGISTER (VM_LAST - 1)

/* In an operand that is a place: what its number is of; else it is an operand as above. */
#define VM_AREA   (UINT32_C(1) << 30) /* an area of the function */
#define VM_PLAIN  (UINT32_C(1) << 31) /* a constant, row major */
#define VM_NUMBER (VM_AREA - 1)

struct vm_instruction {
    const char *name;
    const char *operands; /* a letter each */
    uint32_t ends;        /* 1: the next instruction is not reached from here */
};
extern const struct vm_instruction vm_instructions[VM_COUNT];

/* The operands of an instruction, lists as their items. */
struct vm_operand {
    char kind; /* its letter; of an item of a list r, j, q */
    uint32_t value;
    uint32_t at; /* the word */
};
struct vm_decoder {
    const uint32_t *words;
    uint32_t nword;
    uint32_t pc;   /* of the instruction */
    uint32_t next; /* of the one behind it */
    uint32_t code; /* VM_... */
    const char *kinds;
    uint32_t left; /* items of a list that are still to come */
    char item;
    uint32_t taken; /* words */
};
/* Begins with the instruction at pc. 0: there is no such. */
int vm_decode(struct vm_decoder *, const uint32_t *words, uint32_t nword, uint32_t pc);
/* The next operand; 0: there is none, or the words end in the middle (`kinds` is not at its
 * end then). */
int vm_decode_operand(struct vm_decoder *, struct vm_operand *out);

/* A dim over dims of a function, whose numbers these are. */
struct vm_open {
    const bt_type *dim;
    bt_dim_code code;
    uint32_t n;
    const uint32_t *dims;
    int64_t factor, add; /* factor * the only dim + add, as most are; 0: it is by code */
};
struct vm_term {
    int64_t number;
    const struct vm_open *open; /* NULL: it is the number */
};
struct vm_list {
    uint32_t n;
    const struct vm_term *terms;
};

/* What a type says of the tensors in a value; a tuple's fields are shapes again. */
struct vm_shape {
    const bt_value *value; /* whose type it is */
    const bt_type *type;
    uint32_t type_number; /* of the table of types */
    uint32_t nfield;
    const struct vm_shape *fields;
    uint32_t rank;
    const struct vm_term *axes; /* of a tensor */
};

struct vm_scalar {
    uint32_t which; /* of scalars.def */
    bt_dtype dtype; /* of the operands */
};
struct vm_ctor {
    const bt_ctor *ctor;
    uint32_t type; /* of the data */
    const uint32_t *fields;
};
struct vm_const {
    const bt_object *object; /* held by the module's store */
    uint32_t type;
    bt_tensor *plain; /* row major, for kernels to read; NULL: none does */
};
struct vm_operator {
    const bt_call *call;
    uint32_t type;        /* of the result */
    const uint32_t *args; /* types */
    uint32_t is_settled;  /* one computation serves all dims */
};
struct vm_check {
    const bt_call *call;
    const char *of; /* what comes first in its message; NULL: the callee */
    bt_check check;
    struct vm_term left, right;
};
struct vm_contents {
    const bt_call *call;
    uint32_t n;
    const struct vm_term *terms;
};

struct vm_launch {
    const bt_call *call;
    uint32_t kernel; /* of the compiled module */
    uint32_t space;  /* in which its buffers are; 0: the host's memory */
    uint32_t nbuffer, nread, has_workspace;
    uint32_t has_queue;           /* its target has queues */
    uint32_t is_settled;          /* 1: dims have no part in the next */
    const struct vm_term *nbytes; /* of buffers, of the workspace behind them */
    uint32_t ndim;
    const struct vm_term *dims;
};

/* Memory of an activation, got when it begins, and the areas in it where tensors are that
 * do not outlive it. */
struct vm_storage {
    const bt_call *call;
    uint32_t space; /* 1 + the number of a target with memory of its own; 0: the host's */
    struct vm_term nbytes;
};
struct vm_spot {
    uint32_t storage;
    int64_t offset;
};
struct vm_area {
    uint32_t storage;
    bt_dtype dtype;
    struct vm_term offset, nbytes;
};

/* From a word of the code to what it is of: the last row whose pc is not greater. */
struct vm_source {
    uint32_t pc;
    const bt_value *value;
};
/* A value that is in a register from one word of the code on to another one. */
struct vm_local {
    uint32_t from, to, reg;
    uint32_t is_told; /* a hook is told of it */
    const bt_value *value;
};

struct vm_function {
    const char *name;
    const bt_func *func;
    uint32_t number;
    uint32_t nobject, nreg; /* registers: those of objects, then those of scalars */
    const uint32_t *types;  /* of registers */
    uint32_t ndim;          /* its type parameters, then dims that runs find out */
    uint32_t nvar;
    const bt_type *const *dims; /* type variables and opaque dims */
    uint32_t nparam;
    const uint32_t *params; /* registers */
    uint32_t result;        /* type */
    uint32_t nstorage, narea;
    const struct vm_storage *storages;
    const struct vm_area *areas;
    uint32_t is_settled;         /* 1: dims have no part in areas */
    const struct vm_spot *spots; /* then: where they are, close together */
    uint32_t nword, nsource, nlocal;
    const uint32_t *words;
    const struct vm_source *sources;
    const struct vm_local *locals; /* by their first word */
};

struct vm_program {
    uint32_t nref; /* atomic */
    bt_registry *registry;
    bt_tuple *identity;    /* of closures that its sessions make, which hold it */
    bt_compiled *compiled; /* NULL: no kernels */
    bt_module *module;
    bt_arena *arena;
    struct vm_types types;
    uint32_t most_args, most_dims; /* of a call */
    uint32_t nfunction, nlist, nconst, nscalar, nctor, noperator, nshape, ncheck,
        ncontents, nlaunch;
    const struct vm_function *const *functions;
    const struct vm_list *lists;
    const struct vm_const *consts;
    const struct vm_scalar *scalars;
    const struct vm_ctor *ctors;
    const struct vm_operator *operators;
    const struct vm_shape *shapes;
    const struct vm_check *checks;
    const struct vm_contents *contents;
    const struct vm_launch *launches;
};

/* The code of `entry` and of all functions that it reaches. kernels: those of a lowered
 * module; NULL: it calls none.
 * errors  BT_ERR_UNSUPPORTED: the program is not flat */
bt_status vm_encode(bt_ctx *, const bt_module *, bt_compiled *kernels,
                    const bt_global *entry, struct vm_program **out);
struct vm_program *vm_program_ref(struct vm_program *);
void vm_program_unref(struct vm_program *);
/* Whether code keeps every rule that the machine relies on.
 * errors  BT_ERR_VERIFY */
bt_status vm_verify(bt_ctx *, const struct vm_program *);
/* As text, a line for each instruction. */
void vm_disassemble(const struct vm_program *, bt_text *out);
/* What the instruction at pc is of. */
const bt_value *vm_value_at(const struct vm_function *, uint32_t pc);

#endif
