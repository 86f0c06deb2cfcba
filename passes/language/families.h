/* Families: functions of one type that are used as values, which become a data type. */
#ifndef PASSES_LANGUAGE_FAMILIES_H
#define PASSES_LANGUAGE_FAMILIES_H

#include "common/copy.h"

/* A function that is used as a value of some type. */
struct maker {
    const char *global;
    const char *name; /* of the constructor */
    uint32_t ncapture;
    const bt_type **captures; /* old types */
    const bt_ctor *ctor;
};

/* A type of functions. */
struct family {
    const bt_func_type *type;
    const char *name, *call;
    bt_adt_def *def;
    const bt_type *now;
    bt_vec(struct maker *) makers;
    bt_map by_name;
};

struct defun {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module, *declared;
    bt_map families; /* types -> struct family */
    bt_map known;    /* types -> what they become */
    bt_map taken, taken_ctors;
    bt_map renamed;  /* functions whose type changes -> their new names */
    int is_declared; /* no family is added */
    bt_span span;    /* of the function at hand */
};

/* What a type becomes; types nest at most BT_TYPE_DEPTH deep. Before the data types are
 * declared: itself, and the families are found. */
bt_status families_type(void *state, const bt_type *, const bt_type **out) BT_MUST_USE;
bt_status families_types(struct defun *, uint32_t n, const bt_type *const *,
                         const bt_type ***out) BT_MUST_USE;
/* The type of a function, whose arguments and result are mapped, not itself. first: NULL,
 * or of one more argument. */
bt_status families_signature(struct defun *, const bt_func_type *, const bt_type *first,
                             const bt_type **out) BT_MUST_USE;

/* What a function value of the program is made by. Closures of one function that hold
 * values of other types are told apart. */
bt_status families_maker(struct defun *, const bt_value *,
                         struct maker **out) BT_MUST_USE;
/* Finds all families, from the entry's type on. */
bt_status families_find(struct defun *, const char *entry) BT_MUST_USE;
int families_is_function(const bt_value *);
/* Has no code for its type parameters: copies were made of it, and are used in its place. */
int families_is_left_over(const bt_global *);
int families_is_program(const bt_global *);
/* Declares a gradient that has no type parameters of types. */
int families_is_gradient(const bt_global *);
/* What a function is called now: the same, unless its type changes. */
const char *families_name(const struct defun *, const char *name);

/* Declares the data types and what calls their values; state is a struct defun. */
bt_status families_declare(void *state, bt_module_builder *) BT_MUST_USE;

#endif
