/* What the rewriting driver and the closures need of a builder. */
#ifndef IR_BUILDER_H
#define IR_BUILDER_H

#include <baton/op.h>

struct bt__promises; /* solve/solve.h */

/* What a builder asks of the rooms above this one. */
typedef struct bt__typer {
    /* The type of a binding whose operands are typed, and all that comes with it. */
    bt_status (*infer)(bt_ctx *, bt_store *, const bt_module *,
                       const struct bt__promises *, const bt_layout *,
                       const bt_type *stated, bt_value *);
    /* Attributes from text, all defaults from "". */
    bt_status (*attrs)(bt_ctx *, bt_store *, const bt_op *, const char *text,
                       const void **out);
} bt__typer;

/* What the next bindings get. */
struct bt__preset {
    bt_span span;
    bt_prov prov;
    uint32_t device;
    const char *name;        /* interned; the next one only */
    const bt_type *type;     /* the next one only */
    const bt_layout *layout; /* likewise */
    const bt_type *stated;   /* likewise */
};

/* A block under construction. */
struct bt__frame {
    uint32_t nparam;
    const bt_param *const *params;
    bt_vec(const bt_value *) bindings;
    uint32_t outer; /* frame that was selected when this one began */
};

struct bt_builder {
    bt_ctx *ctx;
    bt_store *store;
    const bt_module *module;
    bt_arena *arena;
    const bt__typer *typer; /* NULL: types are given, and attributes whole */
    uint32_t infer;
    /* Of the function whose block is built; may be NULL. */
    const struct bt__promises *promises;
    uint32_t failed; /* a call without a status ran out of memory; the next one says so */
    struct bt__preset preset;
    bt_vec(struct bt__frame) frames; /* above `depth`: closed, kept for their memory */
    uint32_t depth;
    uint32_t selected; /* the frame that receives bindings */
    uint32_t nbinding; /* appended so far: limits.nodes bounds them */
};

/* bt_builder_create is in solve/builder.c, where a typer is. */
bt_status bt__builder_create(bt_ctx *, bt_store *, const bt_module *, const bt__typer *,
                             bt_builder **out) BT_MUST_USE;
/* A zeroed node of the kind with an id. NULL: no memory. */
void *bt__node(bt_builder *, uint32_t kind, size_t nbytes);
/* Gives a new binding its preset fields and its type, and appends it. */
bt_status bt__builder_emit(bt_builder *, bt_value *, const bt_value **out) BT_MUST_USE;
/* Appends a binding that exists already. */
bt_status bt__builder_append(bt_builder *, const bt_value *) BT_MUST_USE;
/* Bindings go to this open block (counted from 0, outermost) until the old selection,
 * which is returned, is given back. */
uint32_t bt__builder_select(bt_builder *, uint32_t frame);
/* Refuses a missing one; `what` is whose they are. */
bt_status bt__builder_check(bt_builder *, const char *what, uint32_t n,
                            const bt_value *const *operands) BT_MUST_USE;
/* A call whose attributes are in the store already. */
bt_status bt__build_call(bt_builder *, const bt_call *, const bt_value **out) BT_MUST_USE;
/* Joined provenance; no memory for it makes the builder fail. */
bt_prov bt__builder_join(bt_builder *, bt_prov, bt_prov);
/* The type of a constant. NULL: no memory, or nested too deep. */
const bt_type *bt__const_type(bt_store *, const bt_object *);

/* Ends the innermost block; `old` itself where that has the same parameters, bindings and
 * result. old: NULL, or the block that this one is made from. */
bt_status bt__block_end_as(bt_builder *, const bt_value *result, const bt_block *old,
                           const bt_block **out) BT_MUST_USE;
/* Declares a group whose members are like others: names, spans, provenance, devices. */
bt_status bt__build_closures_like(bt_builder *, uint32_t n, const bt_value *const *like,
                                  const bt_type *const *types,
                                  const bt_value **out) BT_MUST_USE;

/* How a binding is built again: bt_build_again, and copies under a substitution. */
typedef struct bt__again {
    const bt_value *const *operands;
    const bt_block *const *regions;
    const bt_type *type; /* NULL: inferred when infer is set ... */
    /* ... and this, where that says more: the checks for it come along. Its holes are what is
     * inferred. May be NULL. */
    const bt_type *stated;
    const void *attrs; /* of an operator's call */
    const bt_type *const *type_args;
    const bt_check *checks;
    const bt_contents *contents;
} bt__again;
/* Always a new node. */
bt_status bt__build_again(bt_builder *, const bt_value *, const bt__again *,
                          const bt_value **out) BT_MUST_USE;

/* Whether the callee's type parameters all occur in the types of its arguments, so that they can be
 * inferred from these. */
int bt__call_tells(const bt_call *);

#endif
