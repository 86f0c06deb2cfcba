/*
 * The parts of partial-eval: values of which something is known before the program runs, the
 * blocks of what is left to be run, and the machine that goes through a program and makes
 * these of it. README.md says what stands in which file.
 *
 * C code recurses only where a block is nested in another one of what is left, which a limit
 * bounds. All memory is the arena's, freed after the run.
 */
#ifndef PASSES_PARTIAL_PE_H
#define PASSES_PARTIAL_PE_H

#include <baton/pass.h>

/* ---- types ---- */

/* What variables and opaque dims of a function are in a copy of it. */
struct pe_types {
    bt_map map;
    const struct pe_types *outer; /* of the function around a closure */
    uint32_t is_copy;             /* opaque dims become new ones */
};

/* ---- values ---- */

enum {
    PE_DYNAMIC, /* nothing is known of it */
    PE_CONST,
    PE_GLOBAL, /* a function of the module */
    PE_TUPLE,
    PE_DATA, /* a constructor and its fields */
    PE_CLOSURE,
    PE_CELL /* a reference that is not made, or what it holds is known */
};

struct pe_value {
    uint32_t kind;
    uint32_t is_exact;       /* its parts have the types that its own type gives them */
    const bt_type *type;     /* of the operand */
    const bt_value *operand; /* NULL: not made yet */
    struct pe_block *home;   /* in which it is made; NULL: it belongs to no block */
    const bt_value *like;    /* the binding that it came from, for its name and place */
    uint64_t size; /* tuples, constructors and closures that are in sight in it */
    const bt_object *object;        /* PE_CONST */
    const bt_global *global;        /* PE_GLOBAL */
    const bt_ctor *ctor;            /* PE_DATA */
    uint32_t n;                     /* PE_TUPLE, PE_DATA */
    struct pe_value *const *fields; /* likewise */
    struct pe_group *group;         /* PE_CLOSURE */
    const bt_closure_value *closure;
    struct pe_value *whole; /* PE_DYNAMIC, or NULL: the tuple that it is a field of */
    uint32_t index;
    uint32_t cell;          /* PE_CELL: its number */
    struct pe_value *first; /* likewise: what it held first */
    uint32_t has_cells;     /* it may lead to some */
};

/* Closures that may refer to each other. */
struct pe_group {
    const bt_closure_group *source;
    struct pe_activation *around;
    struct pe_value **values;
};

/* ---- functions ---- */

/* A body that is gone through. */
struct pe_activation {
    const bt_func *func;
    bt_map values; /* old value -> struct pe_value */
    struct pe_types types;
    struct pe_activation *outer; /* of the function around a closure */
    struct pe_activation
        *previous; /* of the same function, which this one is called in */
    struct pe_value *const *args;
    uint32_t nest; /* activations of the same function around it */
};

/* What integers are compared with: a number, or another parameter. */
struct pe_bound {
    uint32_t param;
    int64_t number;
    uint32_t other; /* UINT32_MAX: the number */
};

enum {
    PE_PARAM_DECIDES = 1,  /* a match or a comparison is about it */
    PE_PARAM_DESCENDS = 2, /* calls of itself pass a part of it, or a number made of it */
    PE_PARAM_CHANGES = 4   /* calls of itself pass something else than it */
};
struct pe_facts {
    uint64_t size;  /* bindings, those in nested blocks too */
    uint32_t depth; /* of blocks in its body */
    uint32_t is_recursive, calls_itself;
    uint32_t has_gain; /* something that the pass is for stands in it */
    uint32_t *params;  /* PE_PARAM_... */
    bt_vec(struct pe_bound) bounds;
};

typedef bt_vec(const bt_type *) pe_type_vec;

/* A function for arguments of which something is known. */
struct pe_version {
    const bt_global *of;
    const char *name;
    const bt_type *type;
    const struct pe_version
        *within; /* whose body called for it first; NULL: no version */
    /* Of the first call for which it was wanted. */
    struct pe_value *const *args;
    const uint8_t *keeps; /* by argument: what is known of it is part of the version */
    uint32_t nkey;
    const uintptr_t *key;
    bt_map terms; /* variables and opaque dims there -> its type parameters */
    struct pe_types types;
    uint32_t nvar, npiece;
    const bt_type *const *vars, *const *pieces; /* type parameters, types of parameters */
    const bt_type *result;
    uint32_t is_wanted;  /* something that is left calls it */
    const bt_func *func; /* NULL: not made yet */
};

/* ---- cells ---- */

/* What one holds. */
struct pe_content {
    struct pe_value *value; /* NULL: that is not known */
    uint64_t epoch;         /* of one that escaped: in which it is known */
    uint32_t escaped; /* something else may reach it: it is made, and written through */
};
struct pe_store {
    const struct pe_node *root;
    uint32_t height;
    uint64_t epoch;
};
typedef bt_vec(uint32_t) pe_cells;
struct pe_write {
    struct pe_value *cell, *value;
};
typedef bt_vec(struct pe_write) pe_writes;

/* ---- what is left ---- */

struct pe_block {
    struct pe_block *outer; /* NULL: a function's */
    uint32_t depth;
    bt_vec(const bt_value *) bindings;
};

/* A place in a body. */
struct pe_step {
    const bt_block *block;
    uint32_t next;
    struct pe_activation *at;
    const bt_value *target; /* what the block's result is, in `to`; NULL: the run ends */
    struct pe_activation *to;
    uint32_t is_call; /* the activation ends with it */
};

struct pe_options {
    int64_t max_factor, max_bindings, max_unfold, max_nbytes, numbers;
};

struct pe {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_pass_call *call;
    const struct pe_options *options;
    const bt_module *module;
    bt_store *store;
    const bt_callgraph *graph;
    bt_builder *maker;     /* of bindings, which stand in no block yet */
    bt_builder *assembler; /* of blocks */
    bt_map facts;          /* bt_func -> struct pe_facts */
    bt_map sizes;          /* bt_block -> its bindings + 1 */
    bt_map active;         /* bt_func -> the latest struct pe_activation */
    bt_map blocked;        /* functions that are not unfolded: a copy has no type */
    bt_map whole;          /* functions of which there are no versions, likewise */
    bt_map equal;          /* hash -> the first closure that has it */
    bt_map taken;          /* names of versions */
    bt_vec(struct pe_version *) versions;
    const struct pe_version *made; /* at hand; NULL: it is no version */
    bt_vec(struct pe_step) steps;
    struct pe_block *block; /* at hand */
    struct pe_store store_now;
    bt_vec(struct pe_value *) cells; /* by number */
    pe_writes writes;                /* to cells that escape, not left yet */
    uint64_t nepoch, nescaped;
    uint32_t nbody;    /* bodies of closures that are made, each for the one before */
    const bt_func *at; /* whose body is gone through, when something fails */
    /* Bindings that there may be, with those that have not been reached yet. */
    uint64_t reserved, limit, base; /* base: that there were */
    uint64_t work, most_work;
    uint32_t max_depth;
    uint64_t ngain; /* things that were known */
    /* Of the function at hand: a call stayed for lack of room; one might not stay where others
     * have changed. */
    uint32_t met_limit, may_differ;
};

/* pe_types.c */
bt_status pe_type(struct pe *, struct pe_types *, const bt_type *,
                  const bt_type **out) BT_MUST_USE;
/* Of dims alone: a hole is one that nothing stands for yet. */
bt_status pe_type_stated(struct pe *, struct pe_types *, const bt_type *,
                         const bt_type **out) BT_MUST_USE;
bt_status pe_type_list(struct pe *, struct pe_types *, uint32_t n, const bt_type *const *,
                       const bt_type *const **out) BT_MUST_USE;
bt_status pe_type_attrs(struct pe *, struct pe_types *, const bt_op *, const void *attrs,
                        const void **out) BT_MUST_USE;
/* From now on opaque dims of the old type are what stands for them in the new one. */
bt_status pe_type_bind(struct pe *, struct pe_types *, const bt_type *old,
                       const bt_type *now) BT_MUST_USE;
/* The same for variables of a function that is called. */
bt_status pe_type_take(struct pe *, struct pe_types *, const bt_func *,
                       const bt_type *old, const bt_type *now) BT_MUST_USE;
/* Adds what stands for the variables and opaque dims in a type that are known around it. */
bt_status pe_type_terms(struct pe *, const struct pe_types *, const bt_type *,
                        pe_type_vec *out) BT_MUST_USE;
/* The same of the type arguments and the attributes of a call. */
bt_status pe_call_terms(struct pe *, const struct pe_types *, const bt_call *,
                        pe_type_vec *out) BT_MUST_USE;
/* The type of a constructor's field in data of a type. */
bt_status pe_field_type(struct pe *, const bt_type *data, const bt_ctor *, uint32_t field,
                        const bt_type **out) BT_MUST_USE;

/* pe_value.c */
bt_status pe_dynamic(struct pe *, const bt_value *operand,
                     struct pe_value **out) BT_MUST_USE;
bt_status pe_const(struct pe *, const bt_value *operand, const bt_object *,
                   struct pe_value **out) BT_MUST_USE;
bt_status pe_tuple(struct pe *, const bt_value *like, uint32_t n,
                   struct pe_value *const *fields, struct pe_value **out) BT_MUST_USE;
bt_status pe_data(struct pe *, const bt_value *like, const bt_type *, int is_exact,
                  const bt_ctor *, uint32_t n, struct pe_value *const *fields,
                  struct pe_value **out) BT_MUST_USE;
bt_status pe_cell(struct pe *, const bt_value *like, const bt_type *,
                  struct pe_value *first, struct pe_value **out) BT_MUST_USE;
/* Field `index` of a tuple, known or not. */
bt_status pe_field(struct pe *, const bt_value *like, struct pe_value *tuple,
                   uint32_t index, struct pe_value **out) BT_MUST_USE;
/* What an old operand is. */
bt_status pe_get(struct pe *, const struct pe_activation *, const bt_value *old,
                 struct pe_value **out) BT_MUST_USE;
bt_status pe_put(struct pe_activation *, const bt_value *old,
                 struct pe_value *) BT_MUST_USE;
/* The operand that a value is in what is left: made where the value was, if it is not there
 * yet. */
bt_status pe_operand(struct pe *, struct pe_value *, const bt_value **out) BT_MUST_USE;
/* What is made next gets name, place and device of a binding; NULL: none. */
void pe_like(struct pe *, const bt_value *);
/* Whether something is known of it that decides what is done. */
int pe_is_known(const struct pe_value *);
/* An integer or a truth value of no axis. */
int pe_integer(const struct pe_value *, int64_t *out);

/* pe_store.c */
/* NULL: there is none of that number. */
const struct pe_content *pe_store_get(const struct pe_store *, uint32_t id);
bt_status pe_store_set(struct pe *, struct pe_store *, uint32_t id,
                       const struct pe_content *) BT_MUST_USE;
/* Adds the cells below `ncell` that hold something else now. */
bt_status pe_store_differ(struct pe *, const struct pe_store *before,
                          const struct pe_store *now, uint32_t ncell,
                          pe_cells *out) BT_MUST_USE;

/* pe_cell.c */
bt_status pe_run_cell(struct pe *, struct pe_activation *, const bt_value *) BT_MUST_USE;
/* Something unknown may have written to cells that escaped. */
void pe_forget(struct pe *);
/* Whether what a cell holds is known now. */
int pe_is_valid(const struct pe_store *, const struct pe_content *);
/* All cells that a value leads to escape now; what they hold is put into p->writes where it
 * has to be written. */
bt_status pe_escape_from(struct pe *, struct pe_value *) BT_MUST_USE;

/* pe_block.c */
bt_status pe_block_create(struct pe *, struct pe_block *outer,
                          struct pe_block **out) BT_MUST_USE;
bt_status pe_emit(struct pe *, const bt_value *) BT_MUST_USE; /* into the block at hand */
bt_status pe_emit_into(struct pe *, struct pe_block *, const bt_value *) BT_MUST_USE;
bt_status pe_block_end(struct pe *, const struct pe_block *, uint32_t nparam,
                       const bt_param *const *params, const bt_value *result,
                       const bt_block **out) BT_MUST_USE;

/* pe_facts.c */
bt_status pe_facts_of(struct pe *, const bt_func *, const bt_global *,
                      const bt_closure_value *, const struct pe_facts **out) BT_MUST_USE;
/* Bindings of a block, nested ones too. */
bt_status pe_size(struct pe *, const bt_block *, uint64_t *out) BT_MUST_USE;

/* pe_run.c */
bt_status pe_activation_create(struct pe *, const bt_func *, struct pe_activation *outer,
                               struct pe_value *const *args,
                               struct pe_activation **out) BT_MUST_USE;
bt_status pe_activation_end(struct pe *, const struct pe_activation *) BT_MUST_USE;
/* Goes through a block; what is left of it comes into the block at hand. */
bt_status pe_run(struct pe *, struct pe_activation *, const bt_block *,
                 struct pe_value **out) BT_MUST_USE;
/* Goes on with a block, whose result is what `target` is. */
bt_status pe_enter(struct pe *, const struct pe_step *) BT_MUST_USE;
/* A binding is this value. */
bt_status pe_deliver(struct pe *, struct pe_activation *, const bt_value *old,
                     struct pe_value *) BT_MUST_USE;
/* Of blocks that are not gone into. */
void pe_give_back(struct pe *, uint64_t nbinding);

/* pe_op.c */
bt_status pe_run_op(struct pe *, struct pe_activation *, const bt_call *) BT_MUST_USE;
/* A call that stays, of an operator or of a function. */
bt_status pe_call_left(struct pe *, struct pe_activation *, const bt_call *,
                       struct pe_value *callee, struct pe_value *const *args,
                       const bt_value **out) BT_MUST_USE;

/* pe_call.c */
bt_status pe_run_call(struct pe *, struct pe_activation *, const bt_call *) BT_MUST_USE;

/* pe_join.c */
/* One way of a branch that stays. */
struct pe_side {
    struct pe_block *block;
    struct pe_value *value;
    uint32_t nparam;
    const bt_param *const *params;
    struct pe_store store; /* behind it */
};
/* Parts that differ from side to side: of each one, what it is on each side. */
struct pe_join {
    uint32_t nside;
    struct pe_side *sides;
    struct pe_store store; /* before the branch, and the cells that there were */
    uint32_t ncell;
    bt_vec(struct pe_value *const *) parts;
    bt_vec(struct pe_value *) joined;
    pe_cells cells;                 /* that differ */
    bt_vec(struct pe_content) held; /* by these */
    uint64_t ngain;
};
/* What the sides give; what cells hold behind it is in p->store_now. */
bt_status pe_join(struct pe *, struct pe_join *, struct pe_value **out) BT_MUST_USE;

/* pe_branch.c */
bt_status pe_run_if(struct pe *, struct pe_activation *, const bt_if *) BT_MUST_USE;
bt_status pe_run_match(struct pe *, struct pe_activation *, const bt_match *) BT_MUST_USE;

/* pe_closure.c */
bt_status pe_run_closures(struct pe *, struct pe_activation *,
                          const bt_closure_group *) BT_MUST_USE;
bt_status pe_make_closures(struct pe *, struct pe_group *) BT_MUST_USE;

/* pe_special.c */
/* A call of a version of a function for what is known of the arguments that are kept; *out NULL:
 * there is to be none. */
bt_status pe_run_version(struct pe *, struct pe_activation *, const bt_call *,
                         const bt_global *, struct pe_value *const *args,
                         const uint8_t *keeps, const bt_value **out) BT_MUST_USE;
/* The parameters of a version, and in its activation what is known of those of the function. */
bt_status pe_revive(struct pe *, struct pe_version *, struct pe_activation *,
                    const bt_param ***params) BT_MUST_USE;

#endif
