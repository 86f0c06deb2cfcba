/* What the parts of the program generator share: a program under construction, and a
 * function for each way to make an expression. */
#ifndef RANDOM_MAKER_H
#define RANDOM_MAKER_H

#include "program.h"

struct maker {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    bt_module *module; /* the functions made so far */
    bt_builder *builder;
    uint64_t random;
    uint32_t budget; /* bindings still wanted; below 1 expressions end at once */
    uint32_t depth;
    uint32_t is_chain, is_open;
    const bt_type *dim; /* n of the function at hand */
    bt_vec(const bt_value *) scope;
    const bt_adt_def *list;
};

static inline uint32_t below(struct maker *m, uint32_t n)
{
    return random_below(&m->random, n);
}

/* ---- types.c ---- */

/* Shapes: (), (2), (3), (2, 3), (3, 2), (n), (n, 2). */
enum { NSHAPE = 7 };
bt_status tensor_type(struct maker *, bt_dtype, uint32_t shape, const bt_type **out);
bt_status random_tensor_type(struct maker *, const bt_type **out);
/* Any type, at most so many levels of types around its tensors. */
bt_status random_type(struct maker *, uint32_t depth, const bt_type **out);
bt_dtype dtype_of(const bt_type *);
/* The same shape with another element. */
bt_status with_dtype(struct maker *, const bt_type *, bt_dtype, const bt_type **out);

/* ---- maker.c ---- */

/* An expression of the type: bindings in the block at hand, and a value in scope there. */
typedef bt_status make_fn(struct maker *, const bt_type *, const bt_value **out);
make_fn make;
bt_status enter_scope(struct maker *, const bt_value *);
/* y NULL: an operator of one operand. */
bt_status call_op(struct maker *, const char *op, const char *attrs, const bt_value *x,
                  const bt_value *y, const bt_value **out);

/* ---- tensors.c, redundant.c, layers.c, norms.c, sequences.c, found.c: the type
 * is a tensor's ---- */

make_fn make_const, make_unary, make_binary, make_cast, make_where, make_moved;
make_fn make_identity, make_duplicate, make_dead, make_layer, make_norm;
make_fn make_sequence, make_found;
/* A constant of float32 whose elements are some of the choices. */
bt_status make_numbers(struct maker *, uint32_t rank, const int64_t *dims,
                       const double *choices, uint32_t n, const bt_value **out);
bt_status cast_to(struct maker *, const bt_value *, bt_dtype, const bt_value **out);

/* ---- control.c, functions.c, lists.c, patterns.c, generic.c: of any type ---- */

make_fn make_proj, make_if, make_ref, make_closure_call, make_loop, make_global_call;
make_fn make_match, make_nested_match, make_group, make_generic;
/* A call of a function. */
bt_status call_value(struct maker *, const bt_value *callee, uint32_t n,
                     const bt_value *const *args, const bt_value **out);
/* A closure loop(i: int64, x: type) -> type: its body is given to end_loop. */
bt_status declare_loop(struct maker *, const bt_type *, const bt_value **loop,
                       const bt_param **params);
bt_status end_loop(struct maker *, const bt_value *loop, const bt_type *,
                   const bt_block *);
/* The type is a function's, a list's. */
make_fn make_closure, make_list;
/* A block with its own scope whose result has the type. */
bt_status make_block(struct maker *, uint32_t nparam, const bt_param *const *params,
                     const bt_type *, const bt_block **out);

#endif
