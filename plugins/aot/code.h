/* A program with branches as C: what the parts of its writing share. */
#ifndef AOT_CODE_H
#define AOT_CODE_H

#include "bytecode.h"
#include "expr.h"
#include "plain.h"
#include "text.h"
#include "write.h"

struct coder {
    struct output *o;
    struct plan *p;
    const struct vm_program *program;
    struct c_functions scalars, runtime; /* of floats.h and integers.h, of runtime.h */
    struct c_plain_texts plain;
    struct c_text loops; /* of operators that stay calls */
    uint32_t ncall;      /* ... how many */
    struct c_exprs x;
    bt_text *out;
    uint8_t *is_reached; /* functions */
    uint8_t *is_closed;  /* functions that closures are of */
    uint8_t *is_applied; /* types of closures that are called */
    uint32_t *groups;    /* by function: the first of its group (code_tails.c) */
    uint8_t *is_called;  /* ... whether not only its group calls it, by jumps */
    /* Of the function being written: */
    const struct vm_function *f;
    const char **dims;  /* words */
    const char *prefix; /* of its variables and labels; "" where it is a function of C */
    uint32_t number, pc;
};

#define FORM(...) c_form(&c->x, __VA_ARGS__)

/* ---- code.c ---- */

void code_line(struct coder *, const char *format, ...) BT_PRINTF(2, 3);
/* A call that may fail; a look at what it gave. */
void code_attempt(struct coder *, const char *format, ...) BT_PRINTF(2, 3);
void code_check_fault(struct coder *);
/* at NULL: the function. */
bt_status code_refuse(struct coder *, const bt_value *at, const char *what) BT_MUST_USE;
/* The number of a fault with this text, behind the place of a value. */
bt_status code_fault(struct coder *, const bt_value *at, const char *text,
                     uint32_t *out) BT_MUST_USE;
bt_status code_fail_if(struct coder *, const char *condition, const bt_value *at,
                       const char *text) BT_MUST_USE;
/* What the instruction at hand is of. */
const bt_value *code_here(const struct coder *);
int code_is_object(const struct vm_function *, uint32_t operand);
const struct vm_type *code_type_of(const struct coder *, uint32_t operand);
const char *code_name(struct coder *, uint32_t operand);
/* "double ": what a register holds; what a value of a type is passed as. */
const char *code_declared(struct coder *, const struct vm_function *, uint32_t reg);
const char *code_passed(struct coder *, uint32_t type);
/* A reference of an object register, which has none after its last use. */
const char *code_reference(struct coder *, uint32_t operand);
void code_drop_last(struct coder *, uint32_t operand);
/* The element of an object that is a scalar. */
const char *code_element(struct coder *, const char *object, bt_dtype);
/* An operand into a field that is empty; what is in the variable o to a register. */
void code_fill(struct coder *, const char *field, uint32_t operand);
void code_put(struct coder *, uint32_t dst);
struct c_operand code_scalar(struct coder *, uint32_t operand);
uint32_t code_nbytes(bt_dtype);
/* The bytes of a tensor. */
const char *code_size(struct coder *, const char *object, bt_dtype);

/* ---- code_dims.c ---- */

/* The value of a term; UNKNOWN where a dim of it is. */
bt_status code_term(struct coder *, const struct vm_term *, const char **out) BT_MUST_USE;
/* An array of this name, in a block; none for no terms. */
bt_status code_dims(struct coder *, uint32_t n, const struct vm_term *,
                    const char *name) BT_MUST_USE;
/* What a value shows of dims. Recursion is bounded by the depth of types. */
bt_status code_show(struct coder *, const struct vm_shape *, const char *at,
                    int is_checked) BT_MUST_USE;
bt_status code_check(struct coder *, const struct vm_check *) BT_MUST_USE;
bt_status code_contents(struct coder *, const struct vm_contents *,
                        uint32_t operand) BT_MUST_USE;

/* ---- code_calls.c ---- */

/* ", int64_t d0, struct object *v0" */
void code_params(struct coder *, const struct vm_function *);
/* "static int32_t fn1_main(...)" */
void code_head(struct coder *, const struct vm_function *);
const char *code_function_name(struct coder *, const struct vm_function *);
/* Functions that call a closure of a type. */
void code_apply_head(struct coder *, uint32_t type);
void code_apply(struct coder *, uint32_t type);
/* Whether a closure of a function may be of a type: its last parameters, its result. */
int code_may_be(const struct coder *, const struct vm_function *, uint32_t type);
/* dst UINT32_MAX: a tail call, whose result is the function's own. */
bt_status code_call(struct coder *, uint32_t dst, const char *callee,
                    const uint32_t *closure, const struct vm_list *dims, uint32_t nvar,
                    uint32_t n, const uint32_t *operands) BT_MUST_USE;
/* A function of the same group in tail position, itself at the least: a jump. */
bt_status code_again(struct coder *, uint32_t function, const struct vm_list *dims,
                     uint32_t n, const uint32_t *operands) BT_MUST_USE;

/* ---- code_elements.c ---- */

/* What an operator gives of these registers into o, where a loop over the elements computes
 * it; else *is_done is 0. */
bt_status code_elements(struct coder *, const bt_call *, uint32_t n,
                        const uint32_t *operands, int *is_done) BT_MUST_USE;

/* ---- code_loops.c ---- */

/* The same by loops of target c, where types tell all dims. */
bt_status code_loops(struct coder *, const bt_call *, uint32_t n,
                     const uint32_t *operands, int *is_done) BT_MUST_USE;

/* ---- code_tails.c ---- */

bt_status code_find_groups(struct coder *) BT_MUST_USE;
int code_is_alone(const struct coder *, uint32_t function);
const char *code_prefix(struct coder *, uint32_t function);
void code_tails_head(struct coder *, uint32_t group);
void code_tails_member(struct coder *, uint32_t function);

/* ---- code_objects.c ---- */

enum { MAX_LEVELS = 64 }; /* of a constant */

/* Where the elements of a constant are. */
const char *code_data(struct coder *, const bt_tensor *);
bt_status code_constant(struct coder *, const bt_object *, const char *to,
                        uint32_t depth) BT_MUST_USE;
/* extra: fields that are still to be filled; then the object stays in the variable o. */
void code_fields(struct coder *, uint32_t dst, uint32_t tag, uint32_t extra, uint32_t n,
                 const uint32_t *operands);
bt_status code_closure(struct coder *, const uint32_t *words) BT_MUST_USE;
void code_part(struct coder *, uint32_t dst, uint32_t operand, uint32_t index);
void code_ref_set(struct coder *, const uint32_t *words);

/* ---- code_memory.c ---- */

bt_status code_frame(struct coder *) BT_MUST_USE;
/* of NULL: a new tensor; else a view of it. */
bt_status code_tensor(struct coder *, const uint32_t *words, const char *of) BT_MUST_USE;
/* What a bt_kernel_call named call says of arrays named buffers and dims. */
void code_launch(struct coder *, uint32_t nbuffer, uint32_t ndim);
bt_status code_kernel(struct coder *, const struct vm_launch *, uint32_t n,
                      const uint32_t *operands) BT_MUST_USE;
void code_own(struct coder *, const uint32_t *words);
bt_status code_copy(struct coder *, const uint32_t *words) BT_MUST_USE;
bt_status code_load(struct coder *, const uint32_t *words) BT_MUST_USE;

/* ---- code_plain.c ---- */

bt_status code_plain(struct coder *, const uint32_t *words) BT_MUST_USE;

/* ---- write_code.c ---- */

/* Which functions the entry reaches, which closures are called. */
bt_status code_find_reached(struct coder *) BT_MUST_USE;

/* ---- code_entry.c ---- */

bt_status code_entry(struct coder *) BT_MUST_USE;

#endif
