/* One path through a value of the primal: a branch, a clause of a match, a function's body. */
#ifndef PASSES_GRADIENTS_ADJOINT_PATH_H
#define PASSES_GRADIENTS_ADJOINT_PATH_H

#include "gradients/adjoint_paths.h"

/* What the way back gives: it is added to the adjoint of a leaf of a value from outside of the path. */
struct adjoint_output {
    const bt_value *old; /* of the primal */
    uint32_t leaf;
    const bt_value *adjoint; /* NULL: zero */
    uint8_t is_sum;          /* it replaces that adjoint, which it began with */
};
typedef bt_vec(struct adjoint_output) adjoint_outputs;
/* That of a leaf; NULL: there is none. */
struct adjoint_output *adjoint_output_of(const adjoint_outputs *, const bt_value *old,
                                         uint32_t leaf);

struct adjoint_path {
    const bt_block *region;    /* of the primal */
    const bt_pattern *pattern; /* of a match: what takes `data` apart; else NULL */
    const bt_value *data;
    /* Its copy, and behind that its reverse, which is never part of a program: both ways are
     * taken out of it. */
    const bt_block *joint;
    uint32_t nforward;
    const bt_value *result;         /* of the way forward */
    bt_vec(const bt_param *) seeds; /* of each float leaf of the result */
    adjoint_outputs sums; /* leaves that have one sum: a parameter, what it is before */
    adjoint_values kept;  /* what the way back reads of the way forward */
    bt_map live;          /* bindings of the way back that lead to outputs */
    adjoint_outputs outputs;
    bt_map
        around; /* dims that only the run knows, of what is kept, that are not its own */
    const bt_ctor *ctor;
};

bt_status adjoint_path_make(struct adjoint *, const bt_block *region, const bt_pattern *,
                            const bt_value *data, struct adjoint_path *out) BT_MUST_USE;
/* Sums that go on in the path begin as parameters of it (adjoint_sums.c). */
bt_status adjoint_sums_begin(struct adjoint *, struct adjoint_path *) BT_MUST_USE;
/* What the way back gives; finds what it keeps. Outputs of adjoint NULL are dropped. */
bt_status adjoint_path_close(struct adjoint *, struct adjoint_path *) BT_MUST_USE;

/* ---- dims (adjoint_dims.c) ---- */

/* Keeps what shows the dims that the way back needs. */
bt_status adjoint_keep_dims(struct adjoint *, struct adjoint_path *) BT_MUST_USE;
/* Finds which of them come from around the path. */
bt_status adjoint_find_around(struct adjoint *, struct adjoint_path *) BT_MUST_USE;
/* The path's own come back with a kept value of the type; `copy` is into the way back. */
bt_status adjoint_bring_dims(struct copy *, const struct adjoint_path *,
                             const bt_type *) BT_MUST_USE;
/* The adjoint with the dims of that type, which are checked where others follow. */
bt_status adjoint_fit(struct copy *, const bt_value *adjoint, const bt_type *,
                      const bt_value **out) BT_MUST_USE;
/* The type with a variable, which is added to the others, in place of each dim that only the run
 * knows. */
bt_status adjoint_name_dims(struct differentiation *, const bt_type *,
                            const bt_type **out, dims_of_type *vars) BT_MUST_USE;
/* Adds what the dims that only the run knows are of a type that differs from `like` in dims
 * alone. */
bt_status adjoint_dims_given(struct differentiation *, const bt_type *like,
                             const bt_type *given, dims_of_type *out) BT_MUST_USE;
/* What comes into a path whose result's adjoint is of the type: a dim that nothing on the tape
 * shows is the seed's. */
bt_status adjoint_take_seed(struct copy *, const bt_type *, const bt_value *seed,
                            const bt_value **out) BT_MUST_USE;

/* A data type with a constructor for each path that has what the path keeps. *out: the type where
 * type parameters are those of the primal. */
bt_status adjoint_tape_declare(struct differentiation *, const char *name,
                               const bt_func *, bt_adt_def **def,
                               const bt_type **out) BT_MUST_USE;
bt_status adjoint_tape_define(struct differentiation *, bt_adt_def *, const bt_func *,
                              uint32_t npath, struct adjoint_path *paths) BT_MUST_USE;

/* The way forward, its result and its tape, into the block at hand. `c` has what stands for the
 * parameters of the joint block. */
bt_status adjoint_path_forward(struct copy *, const struct adjoint_path *,
                               const bt_type *tape, const bt_value **out) BT_MUST_USE;
/* match (%tape) { each path: the way back }. wanted: what it gives; its `adjoint` is a value that
 * the zeros of a path without such an output are like, or the sum that it leaves. `c` has what stands
 * for the sums. */
bt_status adjoint_path_backward(struct differentiation *, struct copy *,
                                const bt_value *tape, uint32_t npath,
                                const struct adjoint_path *paths,
                                const bt_value *const *seeds, uint32_t nwanted,
                                const struct adjoint_output *wanted,
                                const bt_value **out) BT_MUST_USE;
/* A copy into the same function, or by other type parameters. */
void adjoint_copy_init(struct adjoint *, struct copy *out);

/* ---- values with paths ---- */

/* What a value with paths has kept. */
struct adjoint_taped {
    uint32_t npath;
    struct adjoint_path *paths;
    const struct adjoint_pair *pair; /* of a call; NULL: of a branch or a match */
    const bt_value *tape;
    adjoint_outputs wanted; /* what some path gives */
};

/* *out: the result and the tape (adjoint_call_paths.c). */
bt_status adjoint_call_forward(struct adjoint *, const bt_call *old,
                               const struct adjoint_pair *,
                               const bt_value **out) BT_MUST_USE;
/* *out: what is wanted, which is set. */
bt_status adjoint_call_backward(struct adjoint *, const bt_call *old,
                                struct adjoint_taped *, const adjoint_values *seeds,
                                const bt_value **out) BT_MUST_USE;

#endif
