/*
 * Copies of functions with other types, other values and other calls in them: for passes
 * that make functions out of parts of others, which the rewriting driver does not do.
 * Everything in a copy is new. Only nested blocks recurse, and the builder bounds these.
 */
#ifndef PASSES_COMMON_COPY_H
#define PASSES_COMMON_COPY_H

#include <baton/pass.h>

struct copy {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    bt_builder *b;
    bt_map values; /* old -> new */
    bt_map types;  /* variables and opaque dims -> terms */
    /* What stands for any type, before `types` is asked. May be NULL. */
    bt_status (*type)(struct copy *, const bt_type *, const bt_type **out);
    void *state;
    int is_callee; /* what `operand` is asked for is called */
    int infers;    /* calls of operators: relations may tell more of the new types */
    /* Asked before a binding is copied, of a group of closures for the first of it. Sets
     * *done where it has dealt with it: by copy_put, or by leaving it out. May be NULL. */
    bt_status (*binding)(struct copy *, const bt_value *old, int *done);
    /* Asked for an operand that has no new value and belongs to no block of the copy, or was
     * left out. *out NULL: it stays. `wanted`: the type that the place asks for, where that
     * need not be the operand's, which has type parameters; NULL: the operand's. May be
     * NULL. */
    bt_status (*operand)(struct copy *, const bt_value *old, const bt_type *wanted,
                         const bt_value **out);
    /* Makes the function of a closure, in place of a copy of it. May be NULL. */
    bt_status (*closure)(struct copy *, const bt_func *old, const bt_func **out);
};

/* module: for the types of globals. */
bt_status copy_init(struct copy *, bt_ctx *, bt_arena *, const bt_module *) BT_MUST_USE;
void copy_deinit(struct copy *);
bt_status copy_put(struct copy *, const bt_value *old, const bt_value *now) BT_MUST_USE;
/* The same, where dims of the new one are what those of the old one are elsewhere, too. */
bt_status copy_put_result(struct copy *, const bt_value *old,
                          const bt_value *now) BT_MUST_USE;
bt_status copy_put_type(struct copy *, const bt_type *old,
                        const bt_type *now) BT_MUST_USE;

bt_status copy_type(struct copy *, const bt_type *, const bt_type **out) BT_MUST_USE;
bt_status copy_types(struct copy *, uint32_t n, const bt_type *const *,
                     const bt_type *const **out) BT_MUST_USE;
bt_status copy_attrs(struct copy *, const bt_op *, const void *attrs,
                     const void **out) BT_MUST_USE;
bt_status copy_wheres(struct copy *, uint32_t n, const bt_where *const *,
                      const bt_where *const **out) BT_MUST_USE;
/* Before a block is copied once more: dims that its values have, and none from around it, are
 * other ones in this copy. */
bt_status copy_renew_dims(struct copy *, const bt_block *) BT_MUST_USE;
/* A variable like `old`, a variable or an opaque dim, that is its copy. */
bt_status copy_var(struct copy *, const bt_type *old, const bt_type **out) BT_MUST_USE;
/* Type parameters of its own for a function that is made of another and stands beside it, and
 * what they satisfy: nvar, vars, nwhere, wheres of *out. */
bt_status copy_head(struct copy *, const bt_func *, bt_func *out) BT_MUST_USE;

/* The new value of an old operand, see `operand`. */
bt_status copy_operand(struct copy *, const bt_value *old, const bt_type *wanted,
                       const bt_value **out) BT_MUST_USE;
/* The type that the place of an operand asks for: of an argument of a function or of a
 * constructor. NULL: any. */
bt_status copy_wanted(struct copy *, const bt_value *user, uint32_t index,
                      const bt_type **out) BT_MUST_USE;
/* All operands of a binding, in the order of bt_value_operand. *same_facts: their types are
 * the copies of the old ones. */
bt_status copy_operands(struct copy *, const bt_value *, const bt_value ***out,
                        int *same_facts) BT_MUST_USE;
/* The arguments of a call, without its callee. */
bt_status copy_args(struct copy *, const bt_call *, const bt_value ***out,
                    int *same_facts) BT_MUST_USE;
/* New parameters in place of others. */
bt_status copy_params(struct copy *, uint32_t n, const bt_param *const *,
                      const bt_param ***out) BT_MUST_USE;
/* The copy of a binding, into the block at hand. */
bt_status copy_binding(struct copy *, const bt_value *old) BT_MUST_USE;
/* The bindings of a block, into the block at hand; *result is the new result. wanted: the
 * type that is to be given, in terms of the old function. */
bt_status copy_bindings(struct copy *, const bt_block *, const bt_type *wanted,
                        const bt_value **result) BT_MUST_USE;
bt_status copy_block(struct copy *, const bt_block *, const bt_type *wanted,
                     const bt_block **out) BT_MUST_USE;
/* A call in place of `like`: its fields callee_kind ... type_args are new, what it gives is
 * what `like` gives, and is checked. */
bt_status copy_call(struct copy *, const bt_call *like, const bt_call *fields,
                    int same_facts, const bt_value **out) BT_MUST_USE;
/* A call in place of `like` that is of another function, whose parameters and results have the
 * dims of the first and which gives `type`: it checks what `like` does. */
bt_status copy_call_as(struct copy *, const bt_call *like, const bt_call *fields,
                       const bt_type *type, const bt_value **out) BT_MUST_USE;
/* A closure of a type without type parameters, from one that has them: `types` says what
 * they are. */
bt_status copy_closure(struct copy *, const bt_closure_value *, const bt_type *type,
                       const bt_value **out) BT_MUST_USE;
/* fn (%x: T) { @f[T](%x) } of the type `wanted`, in place of a use of @f: the fields callee
 * and type_args of the call. */
bt_status copy_eta(struct copy *, const bt_value *old, const bt_func *f,
                   const bt_type *wanted, bt_call *call,
                   const bt_value **out) BT_MUST_USE;
/* Closures that may refer to each other. */
bt_status copy_group(struct copy *, const bt_closure_group *) BT_MUST_USE;
/* A pattern whose variables are the parameters of a block that was made for it. */
bt_status copy_pattern(struct copy *, const bt_pattern *old, const bt_block *,
                       const bt_pattern **out) BT_MUST_USE;
/* An `if` or a match on `on`, with blocks in place of the regions of `old`. */
bt_status copy_branch(struct copy *, const bt_value *old, const bt_value *on,
                      const bt_block *const *blocks, const bt_value **out) BT_MUST_USE;
/* A call of a constructor, and a match, of data that is of another type now: `type` says of
 * which one, which has the same constructors in the same order (copy_data.c). */
bt_status copy_ctor(struct copy *, const bt_call *, const bt_value **out) BT_MUST_USE;
bt_status copy_match(struct copy *, const bt_match *, const bt_value **out) BT_MUST_USE;
/* The function again, with the same parameters and attributes. */
bt_status copy_func(struct copy *, const bt_func *, const bt_func **out) BT_MUST_USE;

#endif
