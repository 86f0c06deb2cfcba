/* A function being lowered: what the files of lowering share. */
#ifndef COMPILE_LOWERER_H
#define COMPILE_LOWERER_H

#include "compile/lower/lower.h"

struct bt__lower_copy {
    uint32_t space;
    const bt_value *of;
};

/* What a kernel that makes temps of inputs alone has made of these. */
struct bt__lower_made {
    const void *of; /* which kernel: the same of those that make the same */
    const bt_type *dims;
    const bt_value *const *in, *const *out;
    uint32_t last;                 /* number of the last invocation that had it */
    struct bt__lower_made *before; /* of the same first input */
};

typedef bt_vec(const bt_value *) bt__lower_values;

/* What the kernels of a call have. */
struct bt__lower_buffers {
    bt__lower_values by_kind[3]; /* BT_BUFFER_... */
};

/* The primitive function's dims are those of the call. */
struct bt__lower_dims {
    const bt_call *call;
    const bt_func *func;
    const bt_type *values; /* a shape of them */
};

struct bt__lowerer {
    struct bt__kernels *kernels;
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_builder *b;
    bt_map values;  /* old -> new */
    uint32_t space; /* where memory is taken: the host's 0, or 1 + a target's number */
    bt_map spaces;  /* tensor -> its space */
    bt_map *copies; /* by space: tensor of another -> its copy there */
    bt_vec(struct bt__lower_copy) copied; /* in order */
    bt_map
        made; /* first input -> the last made of it in the block at hand, or around it */
    bt_vec(struct bt__lower_made *) all_made; /* in order */
    uint32_t ninvoke;                         /* so far */
    uint32_t has_control_flow;
    bt_map apart; /* primitive function -> the function that calls it apart */
    bt_map seen;  /* functions */
    bt_vec(const bt_global *) todo; /* seen, not yet lowered */
};

/* "%x ...: executor interp runs it". */
bt_status bt__lower_refuse(struct bt__lowerer *, const bt_value *,
                           const char *why) BT_FAILURE;
/* What an old value has become. */
const bt_value *bt__lower_now(const struct bt__lowerer *, const bt_value *old);
/* What an operand of a binding, or the result of a block, becomes; a function that is one is
 * lowered, too (control.c). */
bt_status bt__lower_take(struct bt__lowerer *, const bt_value *old,
                         const bt_value **out) BT_MUST_USE;
/* All bindings of a block, fields of tuples behind these (order.c). */
bt_status bt__lower_order(bt_arena *, const bt_block *,
                          const bt_value *const **out) BT_MUST_USE;
/* A nested block, whose parameters stay. */
bt_status bt__lower_region(struct bt__lowerer *, const bt_block *,
                           const bt_block **out) BT_MUST_USE;
/* A binding that is no call of a primitive function. */
bt_status bt__lower_control(struct bt__lowerer *, const bt_value *,
                            const bt_value **out) BT_MUST_USE;
/* Whether the sizes of what the target computes here are found behind the function's head. */
int bt__is_apart(const struct bt__lowerer *, const bt_call *, uint32_t target);
/* A call of a primitive function, or of what is none (call.c). */
bt_status bt__lower_call(struct bt__lowerer *, const bt_call *,
                         const bt_value **out) BT_MUST_USE;
/* For a bt_subst on a struct bt__lower_dims. */
const bt_type *bt__lower_dim_of_call(bt_subst *, const bt_type *leaf);
/* Temps and invocations of a call's kernels (invoke.c). */
bt_status bt__lower_invoke(struct bt__lowerer *, const struct bt__lower_dims *,
                           const struct bt__primitive *,
                           struct bt__lower_buffers *) BT_MUST_USE;
/* Leaves what was made first, so many, and forgets the rest: a block has ended. */
bt_status bt__lower_forget_made(struct bt__lowerer *, uint32_t n) BT_MUST_USE;
/* A call of a primitive function, in a function of its own. */
bt_status bt__lower_apart(struct bt__lowerer *, const bt_call *,
                          const bt_global *primitive, const bt_value **out) BT_MUST_USE;
/* Whether a function only computes scalars from scalars, all of rank 0. */
bt_status bt__func_is_scalar(bt_ctx *, bt_arena *, const bt_func *, int *out) BT_MUST_USE;

/* ---- memory (buffers.c) ---- */

/* A call of an operator that has, beside the attributes of the text, one that is a dim or a shape. */
bt_status bt__lower_build(struct bt__lowerer *, const char *op, const char *text,
                          const char *attr, const bt_type *term, uint32_t narg,
                          const bt_value *const *args, const bt_value **out) BT_MUST_USE;
/* So many bytes. */
bt_status bt__lower_alloc(struct bt__lowerer *, const bt_type *size,
                          const bt_value **out) BT_MUST_USE;
/* A tensor again. */
bt_status bt__lower_copy(struct bt__lowerer *, const bt_value *,
                         const bt_value **out) BT_MUST_USE;
/* A tensor where it is needed; from one target to another by way of the host. */
bt_status bt__lower_in_space(struct bt__lowerer *, const bt_value *, uint32_t space,
                             const bt_value **out) BT_MUST_USE;
/* The same value with all tensors in the host's memory. */
bt_status bt__lower_on_host(struct bt__lowerer *, const bt_value *,
                            const bt_value **out) BT_MUST_USE;
/* Tensors for the leaves of a type, and the value that they make up. owned: by leaf, what
 * it begins with where somebody else's tensor may become it; NULL: it begins empty. */
bt_status bt__lower_alloc_leaves(struct bt__lowerer *, const bt_type *,
                                 const bt_value *const *owned, bt__lower_values *leaves,
                                 const bt_value **out) BT_MUST_USE;
/* Tensors of an argument: fields of tuples are taken one by one. */
bt_status bt__lower_take_leaves(struct bt__lowerer *, const bt_value *,
                                bt__lower_values *leaves) BT_MUST_USE;

#endif
