/* Families: functions of one type that are used as values, which become a data type. */
#ifndef PASSES_LANGUAGE_FAMILIES_H
#define PASSES_LANGUAGE_FAMILIES_H

#include "common/copy.h"
#include "common/dims.h"

/* A function that is used as a value of some type. */
struct maker {
    const char *global;
    const char *name; /* of the constructor */
    uint32_t ncapture;
    const bt_ctor *ctor;
    /* Of the function, whose variables those of this type are. */
    const bt_func_type *type;
    uint32_t nvar;
    const bt_type *const *vars;
    const bt_type *
        *terms; /* what each is in terms of the family's dims; NULL: it is not told */
    uint8_t *is_hidden; /* nor is it by a tensor that the closure holds */
    uint32_t nfield;
    const bt_type **fields; /* of the constructor; old types */
};

/* A type of functions; or types that differ by dims alone, some of which are open. */
struct family {
    const bt_func_type *type; /* in terms of its dims */
    struct dims_pattern dims; /* no variables: it is of one type, which is closed */
    const char *name, *call;
    bt_adt_def *def;
    const bt_type *now; /* for its own dims */
    bt_vec(struct maker *) makers;
    bt_map by_name;
};

/* An instance of a data type that holds functions in its fields; or instances that differ by
 * dims alone, some of which are open. */
struct holder {
    struct dims_pattern of; /* no variables: of one instance, which is closed */
    bt_adt_def *now;
    const char **names; /* of the constructors */
};

struct defun {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module, *declared;
    bt_map families; /* types -> struct family */
    bt_map united;   /* types with `?` for their dims -> the family of all such types */
    bt_vec(struct family *) all;
    bt_map
        holders; /* instances of data types, or these with `?` for dims -> struct holder */
    bt_map holds; /* data types -> whether they hold functions */
    bt_vec(struct holder *) all_holders;
    bt_map known; /* types -> what they become */
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
/* The type of a function, whose arguments and result are mapped, not itself. */
bt_status families_signature(struct defun *, const bt_func_type *,
                             const bt_type **out) BT_MUST_USE;

/* The dims that a type gives its family, as arguments of its data type. */
bt_status families_dims(struct defun *, const struct family *, const bt_type *type,
                        const bt_type *const **out) BT_MUST_USE;
/* What a function value of the program is made by. type: that it is used as, which may be
 * an instance of its own. */
bt_status families_maker(struct defun *, const bt_value *, const bt_type *type,
                         struct maker **out) BT_MUST_USE;
/* One family in place of those of types that differ by dims alone, where one is open; and
 * what their values hold. */
bt_status families_unite(struct defun *) BT_MUST_USE;
/* ---- data types that hold functions in their fields (families_hold.c) ---- */

/* A field of a constructor in an instance of its data type. */
bt_status families_field(struct defun *, const bt_ctor *, uint32_t index,
                         const bt_type *instance, const bt_type **out) BT_MUST_USE;
/* Notes an instance of a data type, where it holds functions, and families in its fields. */
bt_status families_hold(struct defun *, const bt_type *) BT_MUST_USE;
/* One for instances that differ by dims alone, where one is open. */
bt_status families_hold_all(struct defun *) BT_MUST_USE;
/* What an instance becomes; itself where it holds none. */
bt_status families_held_type(struct defun *, const bt_type *,
                             const bt_type **out) BT_MUST_USE;
bt_status families_declare_holders(struct defun *, bt_module_builder *) BT_MUST_USE;
bt_status families_define_holders(struct defun *, bt_module_builder *) BT_MUST_USE;

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
