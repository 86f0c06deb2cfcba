/*
 * Adjoints through what has paths of its own: branches, matches, calls of functions.
 *
 *     %r = if (%c) { F1 } else { F2 }
 *  -> %0 = if (%c) { F1; (%r1, Path1(%a, %b)) } else { F2; (%r2, Path2(%d)) }     forward
 *     match (%0.1) { Path1(%a, %b) => { B1; (%dx, %dw) }, Path2(%d) => { .. } }   backward
 *
 * What runs backward on a path reads some values of the way forward: they are kept on a tape, a
 * data type that has a constructor for each path. Of a function it is two new ones,
 *
 *     @f.forward(args) -> (result, tape);  @f.backward(tape, seeds) -> adjoints
 *
 * so that the tape of a function which calls itself is a tree, or a list. A parameter that such
 * a function passes on unchanged has one sum, which all of its calls add to: what there is of it
 * is an argument of @f.backward, behind the seeds, and what it becomes is its adjoint there.
 */
#ifndef PASSES_GRADIENTS_ADJOINT_PATHS_H
#define PASSES_GRADIENTS_ADJOINT_PATHS_H

#include "common/dims.h"
#include "gradients/adjoint.h"

struct tangent_func;
/* A function of the module, and which of its parameters have adjoints. */
struct adjoint_pair {
    const bt_func *primal;
    const uint8_t *wants;
    const char *forward, *backward; /* names of the globals */
    const bt_type *forward_type, *backward_type;
    bt_adt_def *tape;
    uint32_t nseed; /* float leaves of the result */
    int is_again;   /* a call keeps its arguments alone: the way back runs `forward` */
    uint8_t *sums; /* of each parameter: whether its tensors are added to what is given */
};
/* What a declaration takes or gives has the type of the primal: how it is converted. */
enum adjoint_way {
    ADJOINT_FILL,  /* an adjoint -> data of the primal's type, by data that it is of */
    ADJOINT_STRIP, /* such data -> the adjoint */
    ADJOINT_ONES,  /* data -> the adjoint of the sum of all floats in it */
    ADJOINT_NWAY
};
/* A data type of values that have adjoints, for all of its dims. */
struct adjoint_data {
    const bt_type *primal; /* as it was met; once declared, in terms of the parameters */
    struct dims_pattern
        dims;        /* of instances that differ by dims alone, where one is open */
    bt_adt_def *def; /* of the adjoints: Zero, then one for each constructor */
    const char *add; /* global that adds two of them */
    int is_made;     /* `def` and `add`, by the version before */
    uint8_t converts[ADJOINT_NWAY]; /* which are asked for */
    const char *ways[ADJOINT_NWAY]; /* globals that do it */
};
typedef bt_vec(const bt_type *) adjoint_types;
struct differentiation {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_vec(struct adjoint_pair *) all;
    bt_vec(struct tangent_func *) tangents; /* of forward mode (tangent.h) */
    bt_map taken;                           /* names of globals and data types */
    bt_map ctors;                           /* and of constructors */
    bt_map data;   /* data types, or instances of them -> struct adjoint_data */
    bt_map united; /* instances with `?` for their dims -> that of all such */
    bt_vec(struct adjoint_data *) datas; /* each of them once */
    /* Of references (adjoint_cells.h). */
    bt_map
        cells; /* their types with `?` for dims, where contents have adjoints -> one such */
    int has_room; /* all of them are known, and have room for adjoints */
    bt_map made;  /* types of adjoints that there are then: they have no adjoints here */
    bt_map touching; /* functions and bindings that make, read or write such a cell */
    bt_map writing;  /* those that write any reference */
    bt_map writers;  /* names of functions of the way back that write cells */
    bt_module_builder *builder; /* of the version that is made */
};

/* *out: the pair for a call, NULL: it calls something else, or passes on nothing. */
bt_status adjoint_pair_of(const struct adjoint *, const bt_value *old,
                          struct adjoint_pair **out) BT_MUST_USE;
/* Adds what the calls of a function need, whose values have been marked. */
bt_status adjoint_pairs_find(struct adjoint *, const bt_block *) BT_MUST_USE;
/* Marks their functions too, and adds what these call. */
bt_status adjoint_pairs_close(struct differentiation *) BT_MUST_USE;
/* Which parameters have one sum (adjoint_sums.c). */
bt_status adjoint_pairs_sum(struct differentiation *) BT_MUST_USE;
/* Whether a leaf of a parameter is a tensor that has one. */
int adjoint_sums(const struct adjoint_pair *, uint32_t param, uint32_t leaf);
/* Marks what depends on the wanted parameters. */
bt_status adjoint_pair_mark(struct adjoint *, const struct adjoint_pair *) BT_MUST_USE;
/* Types and names, declared; then their functions. */
bt_status adjoint_pairs_declare(struct differentiation *,
                                bt_module_builder *) BT_MUST_USE;
bt_status adjoint_pairs_define(struct differentiation *, bt_module_builder *) BT_MUST_USE;

/* ---- data types (adjoint_data.c) ---- */

/* What a value of the type needs is declared. */
bt_status adjoint_data_want(struct differentiation *, const bt_type *) BT_MUST_USE;
bt_status adjoint_data_declare(struct differentiation *, bt_module_builder *) BT_MUST_USE;
bt_status adjoint_data_define(struct differentiation *, bt_module_builder *) BT_MUST_USE;
/* The type of the adjoint of a leaf. */
bt_status adjoint_type_of(const struct differentiation *, const bt_type *leaf,
                          const bt_type **out) BT_MUST_USE;
/* A tensor of zeros or ones, which needs no value of the type where that says its dims. */
bt_status adjoint_filled(struct copy *, int number, const bt_value *like, const bt_type *,
                         const bt_value **out) BT_MUST_USE;
/* The adjoint zero of a leaf of type `primal`. like: a value of it, for dims that no type says. */
bt_status adjoint_zero(struct differentiation *, struct copy *, const bt_value *like,
                       const bt_type *primal, const bt_value **out) BT_MUST_USE;
/* The sum of two. */
bt_status adjoint_plus(struct differentiation *, struct copy *, const bt_type *primal,
                       const bt_value *const *both, const bt_value **out) BT_MUST_USE;
/* From the adjoint of what a constructor made to those of its fields. */
bt_status adjoint_reverse_ctor(struct adjoint *, const bt_call *old) BT_MUST_USE;
/* From the adjoints of a pattern's variables to that of what it takes apart. */
bt_status adjoint_reverse_pattern(struct adjoint *, const bt_pattern *,
                                  const bt_value *data) BT_MUST_USE;
/* Conversions between data and its adjoint (adjoint_convert.c): those of the data types in a
 * type are declared. */
bt_status adjoint_convert_want(struct differentiation *, const bt_type *,
                               enum adjoint_way) BT_MUST_USE;
bt_status adjoint_convert_declare(struct differentiation *,
                                  bt_module_builder *) BT_MUST_USE;
bt_status adjoint_convert_define(struct differentiation *,
                                 bt_module_builder *) BT_MUST_USE;
/* Data like `like` of its adjoint. */
bt_status adjoint_fill(struct adjoint *, const bt_value *like, const bt_value *adjoint,
                       const bt_value **out) BT_MUST_USE;
/* Adjoints of the leaves of a value, which STRIP or ONES makes of it; NULL: it has none. */
bt_status adjoint_leaves(struct adjoint *, const bt_value *now, enum adjoint_way,
                         adjoint_values *out) BT_MUST_USE;
/* A name that nothing has yet: base.what, base.what_1 ... */
bt_status adjoint_name(struct differentiation *, bt_map *taken, const char *base,
                       const char *what, const char **out) BT_MUST_USE;

/* ---- attributes vjp and jvp (adjoint_rule.c) ---- */

const bt_dict *adjoint_attrs_of(const bt_global *);
/* The attribute of that name of a function; NULL: it has none. */
const bt_dict_entry *adjoint_rule_of(const bt_global *, const char *name);
/* What one of them is to name. */
struct adjoint_rule {
    const char *attr, *example;
    /* what is named has for a function of the type */
    bt_status (*type)(const struct differentiation *, const bt_func_type *,
                      const bt_type **out);
    const char *expects; /* that type in words */
};
/* What the attribute of a function names, which has it.
 * errors  at the function, where it is none, or takes or gives something else */
bt_status adjoint_rule_find(const struct differentiation *, const struct adjoint_rule *,
                            const bt_global *, const bt_global **out) BT_MUST_USE;
/* A function that does nothing but call such a one: what is derived in its place. Another
 * function stays. */
bt_status adjoint_rule_wrap(struct differentiation *, const bt_global *, const char *name,
                            const bt_func **out) BT_MUST_USE;

/* ---- functions that bring their adjoints (adjoint_vjp.c) ---- */

int adjoint_has_vjp(const bt_global *);
int adjoint_calls_vjp(const struct adjoint *, const bt_value *old);
/* What the reverse of such a call needs is declared, and its function has the right type. */
bt_status adjoint_vjp_want(struct adjoint *, const bt_value *old) BT_MUST_USE;
bt_status adjoint_reverse_vjp(struct adjoint *, const bt_value *old) BT_MUST_USE;

/* ---- gradient declarations (adjoint_gradient.c) ---- */

bt_status adjoint_gradient_find(struct differentiation *, const bt_global *) BT_MUST_USE;
bt_status adjoint_gradient_define(struct differentiation *, bt_module_builder *,
                                  const bt_global *) BT_MUST_USE;

/* ---- paths ---- */

/* The copy of a binding with paths that something depends on; *done where it is one. */
bt_status adjoint_forward(struct copy *, const bt_value *old, int *done) BT_MUST_USE;
/* Its reverse. */
bt_status adjoint_backward(struct adjoint *, const bt_value *old) BT_MUST_USE;

#endif
