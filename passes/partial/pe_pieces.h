/*
 * Arguments taken apart, for versions of functions: what is known of them is a key, by which calls
 * share a version; what is not known is passed, piece by piece: what closures hold, fields. Types
 * are part of the key up to the names of their variables and opaque dims, which become type
 * parameters.
 */
#ifndef PASSES_PARTIAL_PE_PIECES_H
#define PASSES_PARTIAL_PE_PIECES_H

#include "partial/pe.h"

struct pe_pieces {
    struct pe *p;
    bt_map met;                     /* value -> its number + 1 */
    bt_vec(struct pe_value *) left; /* those that are passed */
    bt_vec(uintptr_t) key;
    pe_type_vec types; /* what they are of */
    uint32_t is_refused;
};

/* Variables and opaque dims that are parameters of a version, each once, in order. */
struct pe_leaves {
    bt_map number; /* -> its number + 1 */
    uint32_t failed;
};

/* Values of functions around that the closures of a group use, each once, in order. */
typedef bt_vec(const bt_value *) pe_held;
bt_status pe_find_held(struct pe *, const bt_closure_group *, pe_held *out) BT_MUST_USE;

/* Whether what is known of a value, so deep in another one, is part of a version. */
int pe_is_taken_apart(const struct pe_value *, uint32_t depth);
/* keeps: what is known of the value is part of the version. */
bt_status pe_take_apart(struct pe_pieces *, struct pe_value *, int keeps,
                        uint32_t depth) BT_MUST_USE;
bt_status pe_find_leaves(struct pe *, const struct pe_pieces *,
                         struct pe_leaves *out) BT_MUST_USE;
/* Whether the pieces give all leaves their values. */
int pe_all_are_given(const struct pe_pieces *, const struct pe_leaves *);
/* Adds the types to the key. */
bt_status pe_say_types(struct pe *, struct pe_pieces *,
                       const struct pe_leaves *) BT_MUST_USE;
/* A type with these terms in place of others. */
bt_status pe_renamed(struct pe *, bt_map *terms, const bt_type *,
                     const bt_type **out) BT_MUST_USE;

#endif
