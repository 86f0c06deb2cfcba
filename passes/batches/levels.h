/*
 * Functions that recurse over data, of many values at once, level by level.
 *
 *     def @f(%w, %t: Tree) { match (%t) { Leaf(%x) => L, Node(%l, %r) => N of @f(%w, %l), @f(%w, %r) } }
 *
 * The values are numbered, and taken apart into tables with a row for each node, one for each
 * constructor: its level, its number, those of the nodes below, and what the fields hold. Results
 * are rows, by the number of the node. Those of a level are computed at once, of the rows of the
 * levels below:
 *
 *     type f.nodes { f.Nodes(top, count, roots, table, field, .., table, ..) }
 *     type f.rows { f.Rows(Tensor[(?, 4), float32], ..) }
 *     def @f.Leaf(%w, %x) { L }              a constructor's side of the match, for one node
 *     def @f.Node(%w, %a, %b) { N of %a, %b }
 *     def @f.number(%t, %first) -> f.nodes   and @f.forest(%list, %first)
 *     def @f.levels(%k, %nodes, %rows, %w) -> f.rows    vmap of the sides, for level k and those above
 */
#ifndef PASSES_BATCHES_LEVELS_H
#define PASSES_BATCHES_LEVELS_H

#include "common/copy.h"

/* A constructor, and what its side of the match takes. */
struct levels_ctor {
    const bt_ctor *ctor;
    const bt_clause *clause;
    const bt_param **vars;  /* of each field: its variable, or NULL */
    const bt_type **fields; /* types of the fields */
    uint8_t *is_below;      /* of each field: the function is called with it */
    uint8_t *is_held;       /* of each field: a tensor that is used */
    uint32_t nbelow, nheld;
    const char *side; /* the global */
};

/* A function that can be computed by levels. */
struct levels {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module, *declared;
    bt_map *taken, *taken_ctors;
    const bt_global *of;
    uint32_t param; /* which one is the data */
    const bt_match *match;
    const bt_list_type *list; /* List[T], of the calls */
    const bt_ctor *cons, *nil;
    uint32_t nctor;
    struct levels_ctor *ctors;
    bt_adt_def *nodes, *rows;
    const char *number, *forest, *loop;
};

/* Whether it can be, else the reason, at its place. */
bt_status levels_find(struct levels *) BT_MUST_USE;

bt_status levels_declare(struct levels *, bt_module_builder *) BT_MUST_USE;
bt_status levels_define(struct levels *, bt_module_builder *) BT_MUST_USE;
/* The results for a list, into the block at hand. args: those of the function, that of the data
 * the list. */
bt_status levels_call(struct levels *, bt_builder *, const bt_type *const *type_args,
                      const bt_value *const *args, const bt_value **out) BT_MUST_USE;

#endif
