/* What the kernel alone sees of a store. */
#ifndef IR_STORE_H
#define IR_STORE_H

#include "base/arena.h"
#include "ir/intern.h"

#include <baton/ir.h>

struct bt__source {
    const char *file; /* interned; NULL: unnamed */
    const char *text; /* a copy in which each line ends in NUL; NULL: a model */
    uint32_t nbytes;
    uint32_t nline;
    const uint32_t *lines; /* offsets of their beginnings */
};
struct bt__span {
    uint32_t source;         /* index */
    uint32_t offset, nbytes; /* of a text; without one, nbytes is the width */
    uint32_t line, column;   /* of a source without text; 0: not known */
    const char *node;        /* interned; NULL: a range of the text */
};
struct bt__prov_set {
    uint32_t handle; /* its own: index + 1 */
    uint32_t n;
    const uint32_t *ids; /* ascending */
};

struct bt_store {
    bt_registry *registry;
    uint32_t nref; /* atomic */
    bt_arena *arena;
    bt_arena *scratch; /* of walks over terms: take a mark, release it */

    bt__interner names;
    bt__interner terms; /* types, shapes, dims, dtypes */
    bt_map layouts;     /* by interned text */
    uint32_t nterm;     /* ids given out */
    uint32_t nopaque;
    uint32_t nvalue;
    const char *refusal; /* why the last constructor gave NULL; NULL: no memory */
    uint32_t nlack;      /* how often there was no memory: see bt__store_lacked */

    const bt_object **objects; /* held until the store dies */
    uint32_t nobject, object_cap;

    struct bt__source *sources;
    uint32_t nsource, source_cap;
    struct bt__span *spans; /* bt_span is index + 1 */
    uint32_t nspan, span_cap;
    bt_span *prov_spans; /* of provenance ids, by id */
    uint32_t nprov_span, prov_span_cap;
    const struct bt__prov_set **prov_sets; /* bt_prov is index + 1 */
    uint32_t nprov_set, prov_set_cap;
    bt__interner prov_interner;
};

/* BT_ERR_MEMORY where terms found no memory since nlack was read, else `status`. What
 * compares or bounds dims cannot tell that from "undecided": who acts on many such
 * answers asks once, in the end. */
bt_status bt__store_lacked(const bt_store *, uint32_t nlack,
                           bt_status status) BT_MUST_USE;
/* Takes a reference to the object, given back when the store dies. 0: no memory. */
int bt__store_hold(bt_store *, const bt_object *) BT_MUST_USE;
/* Gives back now those that are no keys of `needed`. Of the store's modules only those may be
 * used from now on that have no others. */
void bt__store_give_back(bt_store *, const bt_map *needed);
/* The id of the next value: later than all before it. */
uint32_t bt__store_value_id(bt_store *);
/* Room for one more item in an array that belongs to the store but is not in its arena.
 * 0: no memory. */
int bt__store_grow(bt_store *, void **at, uint32_t *cap, uint32_t len, size_t item);
/* What constructors return when they give NULL: remembers why (a static text; NULL: no
 * memory) for bt_store_why. */
const bt_type *bt__refuse(bt_store *, const char *why);

#endif
