/*
 * From a fused module to kernels and their buffers.
 *
 *     lower.c           the functions that an entry reaches, their blocks and bindings
 *     call.c            primitive calls become storage and invocations of kernels
 *     buffers.c         tensors in storage of their own, where they are needed
 *     invoke.c          the kernels of a call; what is made once for several
 *     order.c           the order in which bindings are lowered: fields at once
 *     control.c         branches, calls, closures and what holds values
 *     apart.c           calls whose sizes a run finds, as functions of their own
 *     place.c           which target computes a primitive function, by which kernels
 *     view.c            functions that only change the shape, or take what lies in one piece
 *     parts.c           functions that only lay tensors one after the other
 *     lowering.c        helpers with which a target writes a lowering
 *     kernel_type.c     what a kernel takes
 *     live_ranges.c     when each tensor is needed
 *     plan_check.c      what a planned program must keep to
 *     leaves.c          what executors know the leaves of its values by
 */
#ifndef COMPILE_LOWER_H
#define COMPILE_LOWER_H

#include <baton/compiled.h>
#include <baton/graph.h>

/* A primitive function, lowered. */
struct bt__primitive {
    const bt_func *func;
    uint32_t target;
    const char *why; /* why other targets refused, a line each */
    bt_lowering lowering;
    uint32_t first; /* of its kernels */
    uint32_t
        npart; /* of its only kernel: what it reads, in the order in which it lays ... */
    const uint32_t
        *parts; /* ... all that one after the other; 0: it does something else */
    int64_t
        slice; /* the bytes behind which what it reads has what it gives; -1: likewise */
};

/* Targets of a list that may give a function up: bits of a pointer. */
enum { BT__MAX_GIVEN_UP = 31 };

/* Kernels of a module, in the order in which they were found. */
struct bt__kernels {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_targets *opened;
    uint32_t ntarget;
    const bt_target_use *const *targets; /* its own */
    const char *plan;                    /* pipeline of the lowered program; "": none */
    int64_t memory;                      /* that it may take; 0: any */
    uint32_t form;                       /* of code; 0: any, which is loaded */
    uint32_t has_control_flow;           /* what runs it has branches, calls, scalars */
    uint8_t *refused;  /* by target: it could not make code of what it had taken */
    uint32_t refusing; /* 1 + the target that just did so; 0: none */
    /* Function -> targets, as bits, that found by its constants that they do not compute it;
     * has_given_up: one just did. */
    bt_map *given_up;
    uint32_t has_given_up;
    bt_map primitives; /* global -> struct bt__primitive * */
    bt_vec(const bt_kernel *) kernels;
};

/* How to give the dims that a function has as parameters: ": give numbers for its dims,
 * --dim n=N"; "" where it has none. In the arena; NULL: no memory. */
const char *bt__open_dims(bt_arena *, const bt_func *);

/* Whether a global is lowered: the primitive functions stay as they are. */
static inline int bt__is_lowered(const bt_global *global)
{
    return global->kind == BT_GLOBAL_FUNC && !bt_func_is_primitive(global->func);
}

/* The tensor that is stored, behind views and projections of tuples. */
const bt_value *bt__tensor_of(const bt_value *);
/* Whether an offset is so many bytes behind another one, for all values of the dims. */
int bt__lies_behind(const bt_type *offset, const bt_type *begin, int64_t nbytes);

/* A version of the module in which `entry` is lowered, and with control flow all functions
 * that it reaches, which are to be flat.
 * errors  BT_ERR_UNSUPPORTED: without control flow a binding that is no call of a
 *         primitive function, tuple or projection; with it a function that is not flat;
 *         dims that are not numbers; what the last target refuses */
bt_status bt__lower_entry(struct bt__kernels *, const bt_module *, const bt_global *entry,
                          bt_module **out) BT_MUST_USE;

/* Finds the target of a primitive function, and adds its kernels; once for each function.
 */
bt_status bt__place_primitive(struct bt__kernels *, const bt_store *, const bt_global *,
                              const struct bt__primitive **out) BT_MUST_USE;

/* Whether a function of one tensor gives that tensor's elements, all and in their order:
 * then it needs no kernel. */
bt_status bt__func_is_view(bt_ctx *, bt_arena *, const bt_func *, int *out) BT_MUST_USE;

/* Bytes behind which a function's only tensor has the elements that it gives, in one piece; -1: it is
 * no such function. */
bt_status bt__func_slice(bt_ctx *, bt_arena *, const bt_func *, int64_t *out) BT_MUST_USE;

/* Where an element stands in row-major order, in a form that is one for equal places; NULL: no
 * memory, or not a number. */
const bt_node *bt__node_position(bt_graph *, const bt_array *,
                                 const bt_node *const *indices);

/* The leaves of a function's parameters that its result is made of, one after the other in
 * memory, each once. *n 0: it is no such function. */
bt_status bt__func_parts(bt_ctx *, bt_arena *, const bt_func *, uint32_t *n,
                         const uint32_t **out) BT_MUST_USE;

/* The type of an input or output of a kernel; NULL: of a temp, which has none. */
const bt_type *bt__buffer_type(const bt_func *, const bt_kernel_buffer *);
/* The type of a kernel, as text. */
bt_status bt__kernel_type(bt_ctx *, bt_arena *, const struct bt__primitive *,
                          const bt_kernel *, const char **out) BT_MUST_USE;
/* The same read.
 * errors  of bt_parse_type; BT_ERR_FORMAT: it is of no kernel */
bt_status bt__kernel_type_read(bt_ctx *, bt_store *, const char *text,
                               const bt_func_type **out) BT_MUST_USE;
/* Why memory.invoke does not give a kernel what it takes, for all values of dims; NULL: it
 * does. */
const char *bt__kernel_refuses(const bt_func_type *, const bt_call *);

/* Whether a function is what planning makes of one. kernels: by name, their bt_func_type.
 * errors  BT_ERR_VERIFY */
bt_status bt__planned_check(bt_ctx *, const bt_func *, const bt_map *kernels) BT_MUST_USE;

#endif
