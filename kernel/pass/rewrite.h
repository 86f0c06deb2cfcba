/*
 * The rewriting driver's parts.
 *
 *   rewrite.c           walking blocks, asking slots, building again
 *   rewrite_info.c      what is known of the old program: places, uses, births of opaques
 *   rewrite_type.c      types under the substitutions of inlined functions
 *   rewrite_closures.c  groups of closures
 *   rewrite_move.c      emitting a binding before its place
 *   rewrite_inline.c    blocks and functions copied into the current block
 *   rewrite_module.c    all functions of a module, and callers of those that changed type
 */
#ifndef PASS_REWRITE_H
#define PASS_REWRITE_H

#include <baton/pass.h>

#include "ir/builder.h"

/* What is known of a value of the old program. */
struct bt__info {
    const bt_block *block;          /* that binds it; NULL: a constant, a global */
    uint32_t position;              /* of a binding */
    bt_vec(const bt_value *) users; /* NULL: the result of a function */
};

/* What is known of a block of the old program. */
struct bt__block_info {
    const bt_value *owner;    /* whose region it is; NULL: a function's */
    const uint32_t *barriers; /* by position: bindings before it that nothing impure may
                                 cross; NULL until asked for */
};

/* A mapping from old to new. Each copy of an inlined block has one of its own. */
struct bt__scope {
    struct bt__scope *outer; /* for what is not found here */
    bt_map values;           /* old -> new, or `bt__rewrite_dropped` */
    bt_map types;            /* variables and opaque dims -> terms */
    uint32_t is_fresh;       /* everything is copied, even what does not change */
    uint32_t is_plain;       /* no slots; what is not mapped stays */
    bt_prov prov;            /* joined to everything in it */
};

/* A block that is being walked. */
struct bt__cursor {
    struct bt__cursor *outer;
    const bt_block *block;
    uint32_t position; /* in the walk; bindings may have been emitted beyond it */
    uint32_t frame;    /* of the builder, that receives the new bindings */
    struct bt__scope *scope;
};

struct bt_rewrite {
    bt_ctx *ctx;
    bt_pass_call *call;
    const bt_rewriter *rewriter;
    void *state;
    const bt_module *module;
    bt_store *store;
    bt_builder *b;
    bt_arena *arena;       /* of one function */
    bt_arena *stack;       /* marks are taken and released in order */
    bt_arena *kept;        /* of the whole run */
    bt_effects *effects;   /* NULL until asked for */
    const bt_map *retyped; /* names of globals -> their new types; NULL: none */
    bt_map infos, blocks, births;
    struct bt__cursor *cursor;
    bt_vec(const bt_value *) busy; /* whose slots run */
    uint32_t depth;                /* of nested blocks and inlining */
    uint32_t force_depth;          /* of slots that had others emitted first */
    uint32_t is_dropped;           /* said by the slot that runs */
    bt_prov from;                  /* likewise: what the binding also came from */
    const bt_func *begun; /* slot `begin` is to be called for it; NULL: no longer */
};

extern const bt_value bt__rewrite_dropped;

bt_status bt__rewrite_create(bt_ctx *, bt_pass_call *, const bt_rewriter *, void *state,
                             bt_rewrite *out) BT_MUST_USE;
void bt__rewrite_deinit(bt_rewrite *);
bt_status bt__rewrite_func(bt_rewrite *, const bt_func *,
                           const bt_func **out) BT_MUST_USE;
const char *bt__rewrite_pass_name(const bt_rewrite *);

/* ---- the old program ---- */

/* Learns all about a function's block and what it nests, unless known. */
bt_status bt__rewrite_learn(bt_rewrite *, const bt_block *) BT_MUST_USE;
struct bt__info *bt__rewrite_info(const bt_rewrite *, const bt_value *);

/* ---- mapping ---- */

void bt__scope_init(bt_rewrite *, struct bt__scope *, struct bt__scope *outer);
bt_status bt__scope_put(struct bt__scope *, const bt_value *old,
                        const bt_value *now) BT_MUST_USE;
/* The innermost walk of a block; NULL: it is not around the place at hand. */
struct bt__cursor *bt__rewrite_cursor(const bt_rewrite *, const bt_block *);
/* NULL: not mapped (yet), or not around the place at hand. */
const bt_value *bt__rewrite_find(const bt_rewrite *, const bt_value *old);
/* The new value of something that stands before the place at hand. */
bt_status bt__rewrite_map(bt_rewrite *, const bt_value *old,
                          const bt_value **out) BT_MUST_USE;

/* ---- types in the scope at hand ---- */

/* Whether a variable or an opaque dim stands for another term. */
int bt__rewrite_is_substituting(const bt_rewrite *);
/* NULL: no memory, or refused. NULL in, NULL out is not a failure: ask only for types
 * that exist. */
const bt_type *bt__rewrite_type(bt_rewrite *, const bt_type *);
/* Maps all in place of a copy. */
bt_status bt__rewrite_types(bt_rewrite *, uint32_t n, const bt_type *const *types,
                            const bt_type *const **out) BT_MUST_USE;
bt_status bt__rewrite_wheres(bt_rewrite *, uint32_t n, const bt_where *const *,
                             const bt_where *const **out) BT_MUST_USE;
/* What a call holds besides operands, mapped; *same_checks: 0 where a check changed. */
bt_status bt__rewrite_call_parts(bt_rewrite *, const bt_call *, bt__again *,
                                 int *same_checks) BT_MUST_USE;
/* New opaque dims for those that bindings of the block bring forth, and parameters in it. */
bt_status bt__rewrite_rename_opaques(bt_rewrite *, struct bt__scope *,
                                     const bt_block *) BT_MUST_USE;
/* Whether what inference knew of `old` is still all that is known of `now`. */
int bt__rewrite_same_facts(bt_rewrite *, const bt_value *old, const bt_value *now);
/* From here on opaque dims that `old` brought forth are those of `now`: attributes of later
 * calls may name them. */
bt_status bt__rewrite_relate(bt_rewrite *, const bt_value *old,
                             const bt_value *now) BT_MUST_USE;
/* Refuses what a slot puts in place of `old`, unless its type is that of `old`, or says
 * more of its opaque dims. */
bt_status bt__rewrite_check_type(bt_rewrite *, const bt_value *old,
                                 const bt_value *now) BT_MUST_USE;

/* ---- walking ---- */

/* Emits the block's bindings into the frame that the builder has selected; *result is its
 * new result. */
bt_status bt__rewrite_walk(bt_rewrite *, const bt_block *, struct bt__scope *,
                           const bt_value **result) BT_MUST_USE;
/* A nested block. types: of its parameters, NULL: theirs. *out is the old block where
 * nothing changed. */
bt_status bt__rewrite_region(bt_rewrite *, const bt_block *, const bt_type *const *types,
                             const bt_block **out) BT_MUST_USE;
/* Emits a binding, unless it was already. */
bt_status bt__rewrite_visit(bt_rewrite *, const bt_value *old) BT_MUST_USE;
/* Presets the builder for what is built in place of `old`. */
void bt__rewrite_preset(bt_rewrite *, const bt_value *old);
/* Asks the slot of a binding. *out NULL: build it again, unless *dropped. */
bt_status bt__rewrite_ask(bt_rewrite *, const bt_value *old, const bt_value **out,
                          int *dropped) BT_MUST_USE;
bt_status bt__rewrite_group(bt_rewrite *, const bt_closure_group *) BT_MUST_USE;
/* One level deeper, or BT_ERR_LIMIT. */
bt_status bt__rewrite_enter(bt_rewrite *) BT_MUST_USE;

#endif
