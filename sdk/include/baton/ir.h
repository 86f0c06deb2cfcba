/*
 * The program IR: values, blocks, functions, modules, and how to build, walk and print
 * them. Types are in <baton/type.h>.
 *
 *   module    globals (functions, constants, external functions, gradient
 *             declarations), data types
 *   function  type parameters, parameters, result type, attributes, block
 *   block     bindings in evaluation order, then the result
 *   binding   a value that is computed: call, closure, tuple, projection, if, match, ref,
 *             read, write
 *   operand   parameter | binding | constant | global
 *
 * All nodes are immutable once built, belong to a store, and are allocated by the kernel
 * only, so structs may grow at the end.
 */
#ifndef BATON_IR_H
#define BATON_IR_H

#include <baton/type.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bt_value bt_value;
typedef struct bt_block bt_block;
typedef struct bt_func bt_func;
typedef struct bt_module bt_module;
typedef struct bt_relation bt_relation; /* <baton/op.h> */
typedef struct bt_attr bt_attr;         /* <baton/op.h>: a row of an attribute schema */

/* ---- attributes ---- */

/* A list attribute. n == BT_NONE_LIST: None. */
typedef struct bt_ints {
    int64_t n;
    const int64_t *at;
} bt_ints;
typedef struct bt_floats {
    int64_t n;
    const double *at;
} bt_floats;
typedef struct bt_strings {
    int64_t n;
    const char *const *at; /* interned */
} bt_strings;
#define BT_NONE      INT64_MIN /* an int attribute that is None */
#define BT_NONE_LIST (-1)
#define BT_SINGLE    (-2) /* n of a BT_ATTR_INT_OR_INTS that is one int, not a list */

/* Compares, hashes two attribute structs by their schema. */
BT_API int bt_attrs_equal(const bt_attr *schema, const void *, const void *);
BT_API uint32_t bt_attrs_hash(const bt_attr *schema, const void *);
/* Replaces the type-level terms inside. Returns `attrs` itself if nothing changed. NULL:
 * no memory. */
BT_API const void *bt_attrs_subst(bt_store *, bt_subst *, const bt_attr *schema,
                                  size_t nbytes, const void *attrs);
/* A copy in the store of an author's struct, its lists and texts too. NULL: no memory. */
BT_API const void *bt_attrs_copy(bt_store *, const bt_attr *schema, size_t nbytes,
                                 const void *attrs);

/* Free-form attributes of functions and modules, in order. */
enum {
    BT_DICT_INT,
    BT_DICT_FLOAT,
    BT_DICT_BOOL,
    BT_DICT_TEXT,
    BT_DICT_NONE,
    BT_DICT_LIST
};
typedef struct bt_dict_entry {
    const char *name; /* interned; of an item of a list: the list's */
    uint32_t kind;
    int64_t i; /* of an integer, a bool */
    double f;
    const char *text; /* interned */
    uint32_t n;       /* of a list */
    const struct bt_dict_entry *items;
} bt_dict_entry;
typedef struct bt_dict {
    uint32_t n;
    const bt_dict_entry *at;
} bt_dict;
BT_API const bt_dict_entry *bt_dict_find(const bt_dict *, const char *name); /* or NULL */

/* ---- values ---- */

enum {
#define BT_VALUE(UPPER, lower, type, is_binding, doc) BT_VALUE_##UPPER,
#include <baton/value_kinds.def>
    BT_VALUE_COUNT
};

struct bt_value {
    uint32_t kind;       /* BT_VALUE_... */
    uint32_t id;         /* order of creation in the store: later than its operands' */
    const bt_type *type; /* NULL or with holes before inference */
    const char *name;    /* hint, interned; NULL: none */
    bt_span span;
    bt_prov prov;
    uint32_t device; /* `on N`: what executors make of N is theirs; 0: free */
};
typedef struct bt_param {
    bt_value base;
} bt_param;
typedef struct bt_const {
    bt_value base;
    /* a tensor or a tuple of constants; the store holds a reference */
    const bt_object *object;
} bt_const;
typedef struct bt_global_ref {
    bt_value base; /* base.name is the global's name */
} bt_global_ref;

/* What must be found true at run time, because the solver could neither prove nor refute
 * it. */
enum {
#define BT_CHECK(UPPER, word, text) BT_CHECK_##UPPER,
#include <baton/checks.def>
#undef BT_CHECK
    BT_CHECK_COUNT
};
typedef struct bt_check {
    uint32_t relation;           /* BT_CHECK_... */
    const bt_type *left, *right; /* dims over the function's variables and opaque dims */
    const char *what; /* interned: what the relation calls them, "columns of data and of
                         weight"; NULL: it did not say */
} bt_check;
/* Whether a check holds where its sides have these values. */
BT_API int bt_check_holds(uint32_t relation, int64_t left, int64_t right);
/* 1: it holds for every value of its dims, -1: for none, 0: that cannot be decided. */
BT_API int bt_check_decide(bt_store *, uint32_t relation, const bt_type *left,
                           const bt_type *right);
/* What a call of memory.check states, and whose check it is, as errors begin. 0: its relation
 * is none of them, and both outs stay as they are. */
BT_API int bt_check_read(const bt_op *, const void *attrs, bt_check *out,
                         const char **of);
/* The error where it does not, "add: n = 3 was to be equal to m = 2". `of` comes first;
 * NULL: what the call calls. */
BT_API bt_status bt_check_fail(bt_ctx *, const bt_value *at, const char *of,
                               const bt_check *, int64_t left, int64_t right) BT_FAILURE;
/* The error where a value has another dim than its type says. */
BT_API bt_status bt_dim_fail(bt_ctx *, const bt_value *, uint32_t axis,
                             const bt_type *dim, int64_t found,
                             int64_t expected) BT_FAILURE;
/* What a small integer result holds, as dims over the function's variables and opaque
 * dims. */
typedef struct bt_contents {
    uint32_t n;
    const bt_type *const *dims;
} bt_contents;

enum { BT_CALLEE_OP, BT_CALLEE_CTOR, BT_CALLEE_VALUE };
typedef struct bt_call {
    bt_value base;
    uint32_t callee_kind;
    const bt_op *op;        /* BT_CALLEE_OP */
    const bt_ctor *ctor;    /* BT_CALLEE_CTOR */
    const bt_value *callee; /* BT_CALLEE_VALUE: a global or any value of function type */
    const void *attrs;      /* of the operator's schema; never NULL where it has one */
    uint32_t narg;
    const bt_value *const *args;
    uint32_t ntype_arg; /* instantiation of a polymorphic callee; 0 before inference */
    const bt_type *const *type_args;
    uint32_t ncheck;
    const bt_check *checks;
    /* NULL: not a small integer, or known at run time only */
    const bt_contents *contents;
} bt_call;
/* The error where an element of the result is not what the call is stated to hold. */
BT_API bt_status bt_contents_fail(bt_ctx *, const bt_call *, uint32_t index,
                                  int64_t found, int64_t expected) BT_FAILURE;
/* The closures of a group stand one after another in a block; each may refer to all. */
typedef struct bt_closure_group {
    uint32_t n;
    const struct bt_closure_value *const *at;
} bt_closure_group;
typedef struct bt_closure_value {
    bt_value base;
    const bt_func *func;
    const bt_closure_group *group; /* never NULL */
} bt_closure_value;
typedef struct bt_tuple_value {
    bt_value base;
    uint32_t nfield;
    const bt_value *const *fields;
} bt_tuple_value;
typedef struct bt_proj {
    bt_value base;
    const bt_value *tuple;
    uint32_t index;
} bt_proj;
typedef struct bt_if {
    bt_value base;
    const bt_value *condition;
    const bt_block *then_block, *else_block;
} bt_if;
enum { BT_PATTERN_WILDCARD, BT_PATTERN_VAR, BT_PATTERN_CTOR, BT_PATTERN_TUPLE };
typedef struct bt_pattern {
    uint32_t kind;
    const bt_param *var; /* BT_PATTERN_VAR: also a parameter of the clause's block */
    const bt_ctor *ctor; /* BT_PATTERN_CTOR */
    uint32_t n;
    const struct bt_pattern *const *at;
    bt_span span;
    uint32_t nvar, depth; /* set by bt_pattern_create */
} bt_pattern;
typedef struct bt_clause {
    const bt_pattern *pattern;
    const bt_block *block; /* its parameters are the pattern's variables, left to right */
} bt_clause;
typedef struct bt_match {
    bt_value base;
    const bt_value *data;
    uint32_t nclause;
    const bt_clause *const *clauses;
    /* `match?`, which need not be exhaustive: what the error says of a value that fits no
     * clause, with `*` for the constructor that was looked at last; "": the value and the
     * clauses. NULL: `match`. Interned */
    const char *otherwise;
} bt_match;
typedef struct bt_ref_value {
    bt_value base;
    const bt_value *content;
} bt_ref_value;
typedef struct bt_read {
    bt_value base;
    const bt_value *ref;
} bt_read;
typedef struct bt_write {
    bt_value base;
    const bt_value *ref, *content;
} bt_write;

struct bt_block {
    uint32_t nparam; /* function parameters or pattern variables */
    const bt_param *const *params;
    uint32_t nbinding;
    const bt_value *const *bindings;
    const bt_value *result;
};
struct bt_func {
    const char *name; /* of the global or hint of the closure; may be NULL */
    bt_span span;
    uint32_t nvar; /* type parameters, as rigid variables */
    const bt_type *const *vars;
    uint32_t nwhere; /* relations over the variables that callers must satisfy */
    const bt_where *const *wheres;
    const bt_type *result; /* NULL or with holes before inference */
    bt_dict attrs;
    const bt_block *block; /* its parameters are the function's */
};

/* Checked downcasts: bt_as_call(v) is v as a bt_call, or NULL if it is something else (or
 * NULL). */
#define BT_VALUE(UPPER, lower, type, is_binding, doc)                                   \
    static inline const type *bt_as_##lower(const bt_value *v)                          \
    {                                                                                   \
        return v && v->kind == BT_VALUE_##UPPER ? (const type *)(const void *)v : NULL; \
    }
#include <baton/value_kinds.def>
BT_API int bt_value_is_binding(const bt_value *);
BT_API const char *bt_value_kind_name(uint32_t kind);
/* A call of the operator of that name. */
BT_API const bt_call *bt_as_op_call(const bt_value *, const char *op_name);
/* Whether checks of a call are about its result, which does not have to be in its type:
 * %y: Tensor[(4), float32] = f(%x) check ? == 4. */
BT_API int bt_call_checks_result(const bt_call *);
/* The tensor of a constant operand, NULL if it is anything else. */
BT_API const bt_tensor *bt_const_tensor(const bt_value *);
/* The same of one element that can be computed with: it is a part of what takes it, not an
 * operand that is passed in. */
static inline const bt_tensor *bt_const_number(const bt_value *v)
{
    const bt_tensor *t = bt_const_tensor(v);
    return t && t->nelem == 1 && !bt_dtype_is_moved(t->dtype) ? t : NULL;
}
/* The call of a global that is all that a closure does: what it holds comes first among the
 * arguments, its parameters follow, in order. NULL: it does something else. */
BT_API const bt_call *bt_closure_flat_call(const bt_closure_value *);
/* Whether a match is of a data type, and its patterns are constructors of variables and
 * wildcards, each once, and a variable or a wildcard at most at the end. */
BT_API int bt_match_is_flat(const bt_match *);
static inline int bt_pattern_is_leaf(const bt_pattern *pattern)
{
    return pattern->kind == BT_PATTERN_WILDCARD || pattern->kind == BT_PATTERN_VAR;
}

/* Operands and regions of any value, in evaluation order: what walkers need, in one
 * place. Callee values count first. */
BT_API uint32_t bt_value_noperand(const bt_value *);
BT_API const bt_value *bt_value_operand(const bt_value *, uint32_t index);
BT_API uint32_t bt_value_nregion(const bt_value *);
BT_API const bt_block *bt_value_region(const bt_value *, uint32_t index);
/* A block and all that are nested in it, bodies of closures too, each behind the one around
 * it: added to *out, in the arena. */
typedef bt_vec(const bt_block *) bt_blocks;
BT_API bt_status bt_block_nested(bt_arena *, const bt_block *,
                                 bt_blocks *out) BT_MUST_USE;
/* Dims that only the run knows -> the parameter or binding of the block, or of those nested in
 * it, that has them first, in its type or in what is known of its elements: added to *births, but
 * for those that are there. A closure has none of its own. */
BT_API bt_status bt_block_births(bt_ctx *, bt_store *, bt_arena *, const bt_block *,
                                 bt_map *births) BT_MUST_USE;

/* ---- modules ---- */

/* What is differentiated of a function, and by what. Reverse mode gives the gradients in the
 * order of `wrt`, then the results of `keep`; one alone is no tuple. Forward mode, `jvp`, takes
 * tangents of `wrt` behind the arguments, and gives the result and its tangent; `from`, `keep`
 * and `is_seeded` are 0 then. */
typedef struct bt_gradient_spec {
    uint32_t from;      /* index of the result that is differentiated */
    bt_ints wrt, keep;  /* argument indices (n = BT_NONE_LIST: all), results to keep */
    uint32_t is_seeded; /* the adjoint of the result is passed behind the arguments */
    uint32_t is_forward;
} bt_gradient_spec;
BT_API int bt_gradient_spec_equal(const bt_gradient_spec *, const bt_gradient_spec *);
/* How many parameters `wrt` names of a function that has nparam, and which one is the index-th. Where
 * it names none, they are all parameters: those that hold no floats have no derivative. */
BT_API uint32_t bt_gradient_spec_nwrt(const bt_gradient_spec *, uint32_t nparam);
BT_API int64_t bt_gradient_spec_wrt(const bt_gradient_spec *, uint32_t index);
/* Whether a parameter is among them. */
BT_API int bt_gradient_spec_is_wrt(const bt_gradient_spec *, uint32_t param);

enum { BT_GLOBAL_FUNC, BT_GLOBAL_CONST, BT_GLOBAL_EXTERN, BT_GLOBAL_GRADIENT };
typedef struct bt_global {
    const char *name; /* interned, without @ */
    uint32_t kind;
    bt_span span;
    const bt_type *type; /* of a use; NULL before inference where nothing is annotated */
    const bt_func *func; /* BT_GLOBAL_FUNC */
    const bt_value *value; /* BT_GLOBAL_CONST: a bt_const */
    bt_dict attrs;         /* of an external function */
    /* BT_GLOBAL_GRADIENT: of @primal, DLVM's declaration. */
    const char *primal;
    bt_gradient_spec gradient;
} bt_global;

/* One version: immutable, refcounted, sharing what did not change with the version it
 * came from. */
struct bt_module {
    bt_store *store;
    uint32_t nref; /* atomic */
    uint32_t is_typed;
    uint32_t nadt;
    const bt_adt_def *const *adts;
    uint32_t nglobal;
    const bt_global *const *globals; /* in order of definition */
    bt_dict attrs;
    const void *index; /* by name; the kernel's */
};
BT_API bt_module *bt_module_ref(const bt_module *);
BT_API void bt_module_unref(const bt_module *); /* accepts NULL */
/* By name; NULL: none. */
BT_API const bt_global *bt_module_find(const bt_module *, const char *name);
BT_API const bt_adt_def *bt_module_find_adt(const bt_module *, const char *name);
BT_API const bt_ctor *bt_module_find_ctor(const bt_module *, const char *name);
/* Where it stands in `globals`, which call graphs go by; nglobal: it is none of them. */
BT_API uint32_t bt_module_position(const bt_module *, const bt_global *);
/* The global that a value is, NULL: it is another value, or NULL. */
BT_API const bt_global *bt_module_global(const bt_module *, const bt_value *);
/* What a value is: a global that is a constant is that constant, any other value itself.
 * NULL in, NULL out. */
BT_API const bt_value *bt_module_constant(const bt_module *, const bt_value *);
/* The global that a call is of; NULL: it is of something else. NULL in, NULL out. */
BT_API const bt_global *bt_call_global(const bt_module *, const bt_call *);
/* The primitive function that a call is of; NULL: it is of something else. */
BT_API const bt_global *bt_module_primitive(const bt_module *, const bt_call *);
/* The type of a gradient or a jvp that is declared so, from that of the function. */
BT_API bt_status bt_gradient_type(bt_ctx *, bt_store *, const bt_global *gradient,
                                  const bt_type *primal, const bt_type **out) BT_MUST_USE;
/* The global that a gradient is of, or that in turn is a gradient of; NULL: none. Any
 * other global gives itself. */
BT_API const bt_global *bt_module_primal(const bt_module *, const bt_global *);
/* The error where a global is to run that is declared and has no body. */
BT_API bt_status bt_global_fail(bt_ctx *, const bt_module *,
                                const bt_global *) BT_FAILURE;
/* The entry function: `name`, or "main" when NULL, or the only function.
 * errors  BT_ERR_NAME, listing what there is; BT_ERR_UNSUPPORTED: it has no body */
BT_API bt_status bt_module_entry(bt_ctx *, const bt_module *, const char *name,
                                 const bt_global **out) BT_MUST_USE;
/* The program with the names of its outputs settled, as attributes output0, output1, ...
 * of the entry (NULL: main, or the only function), so that no pass changes them: what the
 * attribute says already, else the name of the value, else "output0" ("output" alone); one
 * that is taken gets a number behind it, x_1.
 * errors  BT_ERR_NAME: there is no such function */
BT_API bt_status bt_outputs_name(bt_ctx *, const bt_module *, const char *entry,
                                 bt_module **out) BT_MUST_USE;
/* What such an attribute calls an output; "output0" where there is none. NULL: no memory. */
BT_API const char *bt_output_name(bt_arena *, const bt_func *, uint32_t index);

/* ---- building ---- */

/* A module under construction: from nothing, as parsers, importers and applications do,
 * or from an old version, as passes do. */
typedef struct bt_module_builder bt_module_builder;
/* from: NULL, or a version in the same store whose contents come along. */
BT_API bt_status bt_module_builder_create(bt_ctx *, bt_store *, const bt_module *from,
                                          bt_module_builder **out) BT_MUST_USE;
BT_API void bt_module_builder_destroy(bt_module_builder *); /* accepts NULL */
/* Adds or replaces by name. A type that is NULL is that of the function or the constant.
 * errors  BT_ERR_NAME when `is_new` and the name is taken, BT_ERR_MEMORY */
BT_API bt_status bt_module_builder_set(bt_module_builder *, const bt_global *,
                                       int is_new) BT_MUST_USE;
/* Forgets the global of that name, where there is one. */
BT_API void bt_module_builder_remove(bt_module_builder *, const char *name);
/* Declares a data type so that types may mention it, then defines it. Kinds and names of
 * the variables come first. */
BT_API bt_status bt_module_builder_declare_adt(bt_module_builder *, const char *name,
                                               bt_span, uint32_t nvar,
                                               const bt_type *const *vars,
                                               bt_adt_def **out) BT_MUST_USE;
/* Copies the rows, filling adt and tag.
 * errors  BT_ERR_NAME: a constructor's name is taken */
BT_API bt_status bt_module_builder_define_adt(bt_module_builder *, bt_adt_def *,
                                              uint32_t nctor,
                                              const bt_ctor *ctors) BT_MUST_USE;
BT_API void bt_module_builder_set_attrs(bt_module_builder *, bt_dict);
/* Destroys the builder, whatever it returns. `is_typed`: all bindings have types without
 * holes. */
BT_API bt_status bt_module_builder_finish(bt_module_builder *, int is_typed,
                                          bt_module **out) BT_MUST_USE;

/* A function or a block under construction. With `infer` set (the default) every value is
 * built with its type, by running relations; a parser or importer clears it and calls
 * bt_infer on the whole module. */
typedef struct bt_builder bt_builder;
/* module: for the types of globals and constructors; may be NULL. */
BT_API bt_status bt_builder_create(bt_ctx *, bt_store *, const bt_module *,
                                   bt_builder **out) BT_MUST_USE;
BT_API void bt_builder_destroy(bt_builder *); /* accepts NULL */
BT_API bt_ctx *bt_builder_ctx(const bt_builder *);
BT_API bt_store *bt_builder_store(const bt_builder *);
BT_API void bt_builder_set_infer(bt_builder *, int infer);

/* What the next bindings get: source position, provenance, name hint (one binding only),
 * device. */
BT_API void bt_builder_at(bt_builder *, bt_span, bt_prov);
BT_API void bt_builder_name(bt_builder *, const char *hint); /* any text; interned */
/* Span, provenance, name and device of a binding. */
BT_API void bt_builder_like(bt_builder *, const bt_value *);
BT_API void bt_builder_device(bt_builder *, uint32_t device); /* until set again */
/* Of the next binding only, which is not inferred. */
BT_API void bt_builder_type(bt_builder *, const bt_type *);
/* How the result of the next binding is to lie in memory, NULL: row major. Heeded where it
 * calls an operator that leaves this to the call (bt_relation_call.layout). */
BT_API void bt_builder_layout(bt_builder *, const bt_layout *);

/* Names the binding built last in the innermost block, or a constant that this builder built, where
 * it has no name yet: for callers that learn a name only after several bindings. A name that is there
 * stays. */
BT_API bt_status bt_build_name(bt_builder *, const bt_value *,
                               const char *name) BT_MUST_USE;

/* Operands, which belong to no block. */
/* Takes a reference. */
BT_API bt_status bt_build_const(bt_builder *, const bt_object *,
                                const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_scalar(bt_builder *, bt_dtype, double,
                                 const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_global(bt_builder *, const char *name,
                                 const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_param(bt_builder *, const char *name, const bt_type *,
                                const bt_param **out) BT_MUST_USE;

/* Blocks nest: begin, bindings, end. The parameters become the block's. */
BT_API bt_status bt_block_begin(bt_builder *, uint32_t nparam,
                                const bt_param *const *params) BT_MUST_USE;
BT_API bt_status bt_block_end(bt_builder *, const bt_value *result,
                              const bt_block **out) BT_MUST_USE;

/* Bindings, appended to the innermost open block. `attrs`: the author's struct, copied;
 * NULL: all defaults. */
BT_API bt_status bt_build_op(bt_builder *, const bt_op *, const void *attrs,
                             uint32_t narg, const bt_value *const *args,
                             const bt_value **out) BT_MUST_USE;
/* By name, attributes as text:
 *     bt_build(b, "nn.dense", "units=10", (const bt_value *[]){ x, w }, 2, &y) */
BT_API bt_status bt_build(bt_builder *, const char *op_name, const char *attrs,
                          const bt_value *const *args, uint32_t narg,
                          const bt_value **out) BT_MUST_USE;
/* Any call, as described by the fields callee_kind ... type_args of `call`; checks and
 * contents too where its type is given by bt_builder_type, else they are inferred, and
 * type arguments if there are none. */
BT_API bt_status bt_build_call(bt_builder *, const bt_call *call,
                               const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_tuple(bt_builder *, uint32_t n, const bt_value *const *fields,
                                const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_proj(bt_builder *, const bt_value *tuple, uint32_t index,
                               const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_if(bt_builder *, const bt_value *condition,
                             const bt_block *then_block, const bt_block *else_block,
                             const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_match(bt_builder *, const bt_value *data, uint32_t nclause,
                                const bt_clause *, const char *otherwise,
                                const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_ref(bt_builder *, const bt_value *content,
                              const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_read(bt_builder *, const bt_value *ref,
                               const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_write(bt_builder *, const bt_value *ref,
                                const bt_value *content,
                                const bt_value **out) BT_MUST_USE;
/* Closures: declare a group (values exist, so that bodies may refer to them; types NULL =
 * to be inferred), then give each its function. The group is appended where it is
 * declared. out: n values. */
BT_API bt_status bt_build_closures(bt_builder *, uint32_t n, const char *const *names,
                                   const bt_type *const *types,
                                   const bt_value **out) BT_MUST_USE;
BT_API bt_status bt_build_closure_body(bt_builder *, const bt_value *closure,
                                       const bt_func *) BT_MUST_USE;
/* Any binding again with other operands and regions (in the order of bt_value_operand and
 * _region); type NULL: inferred anew when infer is set. The value itself, appended, when
 * nothing differs. */
BT_API bt_status bt_build_again(bt_builder *, const bt_value *,
                                const bt_value *const *operands,
                                const bt_block *const *regions, const bt_type *type,
                                const bt_value **out) BT_MUST_USE;

/* A function node from its fields, copied to the store. */
BT_API bt_status bt_func_create(bt_ctx *, bt_store *, const bt_func *fields,
                                const bt_func **out) BT_MUST_USE;
/* Whether a call of it is computed as a whole, by a kernel of a target: it has the attribute
 * `primitive`, or `target`, which names the one. */
BT_API int bt_func_is_primitive(const bt_func *);
/* The function's type: its variables become type parameters. NULL: no memory. */
BT_API const bt_type *bt_func_type_of(bt_store *, const bt_func *);
/* A pattern in the store. NULL: no memory, or nested deeper than 256. */
BT_API const bt_pattern *bt_pattern_create(bt_store *, const bt_pattern *fields);
BT_API uint32_t bt_pattern_nvar(const bt_pattern *);

/* ---- whole programs ---- */

/* Infers every type: a new, typed version (of a typed one: verified, itself). Reports up
 * to limits.errors errors and returns the first. */
BT_API bt_status bt_infer(bt_ctx *, const bt_module *, bt_module **out) BT_MUST_USE;
/* Checks every invariant of a module; typed ones down to re-running relations.
 * errors  BT_ERR_VERIFY */
BT_API bt_status bt_verify(bt_ctx *, const bt_module *) BT_MUST_USE;
/* Up to names of local variables and type parameters, spans and provenance; across
 * stores. 0 also when there is no memory to compare with. */
BT_API int bt_func_equal(bt_registry *, const bt_func *, const bt_func *);
BT_API int bt_module_equal(const bt_module *, const bt_module *);
BT_API uint64_t bt_func_hash(const bt_func *);

/* Parses Baton text or, headed 0.0.5, Relay text. `file` names it in messages; weights
 * are read beside `folder` (NULL: none allowed). The module is untyped as far as the text
 * is. Reports several errors, returns the first. */
BT_API bt_status bt_parse(bt_ctx *, const char *file, const char *folder,
                          const char *text, size_t nbytes, bt_module **out) BT_MUST_USE;
/* A type by itself.
 * errors  BT_ERR_SYNTAX, BT_ERR_NAME, BT_ERR_KIND, BT_ERR_LIMIT */
BT_API bt_status bt_parse_type(bt_ctx *, bt_store *, const char *text,
                               const bt_type **out) BT_MUST_USE;

typedef struct bt_print_options {
    uint32_t spans;      /* 1: print spans and provenance */
    const char *weights; /* file name for constants above 64 elements; NULL: print them in
                            place */
    bt_npz **npz;        /* with weights: receives the constants; caller destroys */
    /* Bindings (as keys) that are printed in place of their names: each used once, and
     * nothing that it may not change places with stands between it and its use. Types of
     * the others are printed, but not #[typed]. NULL: none. */
    const bt_map *nested;
    /* Names of globals that are printed as others, wherever they stand. NULL: none. */
    const bt_map *renamed;
} bt_print_options;
BT_API bt_status bt_print_sized(bt_ctx *, const bt_module *, const bt_print_options *,
                                size_t nbytes, bt_text *out) BT_MUST_USE;
BT_MUST_USE static inline bt_status bt_print(bt_ctx *ctx, const bt_module *module,
                                             const bt_print_options *options,
                                             bt_text *out)
{
    return bt_print_sized(ctx, module, options, sizeof(*options), out);
}
/* Parts of functions as bt_print writes them, for other views of a program. */
typedef struct bt_printer bt_printer;
BT_API bt_status bt_printer_create(bt_ctx *, const bt_module *, bt_text *text,
                                   bt_printer **out) BT_MUST_USE;
BT_API void bt_printer_destroy(bt_printer *); /* accepts NULL */
/* From now on it prints parts of this function: all that is in it gets a name. */
BT_API bt_status bt_printer_begin(bt_printer *, const bt_func *) BT_MUST_USE;
/* Type parameters, parameters and result. */
BT_API void bt_printer_head(bt_printer *, const bt_func *);
BT_API void bt_printer_name(bt_printer *, const bt_value *);  /* %x */
BT_API void bt_printer_param(bt_printer *, const bt_value *); /* %x: float32 */
/* What stands behind the `=` of a binding that is no closure. */
BT_API void bt_printer_expr(bt_printer *, const bt_value *);
BT_API void bt_printer_pattern(bt_printer *, const bt_pattern *);
BT_API void bt_print_type(bt_ctx *, const bt_type *, bt_text *out);
/* A value as errors name it: "%x", "@main", "nn.dense". */
BT_API void bt_print_operand(const bt_value *, bt_text *out);

/* Effects of a binding, BT_EFFECT_..., from operators' rows and a fixpoint over calls. */
enum {
    BT_EFFECT_READS = 1,
    BT_EFFECT_WRITES = 2,
    BT_EFFECT_ALLOCATES = 4, /* may be dropped, not merged */
    BT_EFFECT_RANDOM = 8,
    BT_EFFECT_IO = 16,
    BT_EFFECT_FAILS = 32,    /* may be dropped and merged, not moved across a branch */
    BT_EFFECT_DIVERGES = 64, /* likewise */
    BT_EFFECT_ALL = 127,
    /* Effects that keep a binding which is not used. */
    BT_EFFECT_KEEPS = BT_EFFECT_WRITES | BT_EFFECT_RANDOM | BT_EFFECT_IO,
    /* Effects that keep two equal bindings apart. */
    BT_EFFECT_UNMERGED = BT_EFFECT_KEEPS | BT_EFFECT_READS | BT_EFFECT_ALLOCATES
};
typedef struct bt_effects bt_effects; /* lives in the arena it was made in */
BT_API bt_status bt_effects_create(bt_ctx *, const bt_module *, bt_arena *,
                                   bt_effects **out) BT_MUST_USE;
BT_API uint32_t bt_effects_of(const bt_effects *, const bt_value *);

/* Which globals refer to which, and the strongly connected components of that. Globals
 * are named by their position in the module. */
typedef struct bt_callgraph {
    uint32_t nglobal;
    /* nglobal + 1: global g refers to edges[edge_start[g]..] */
    const uint32_t *edge_start;
    const uint32_t *edges; /* each once, in order of first use */
    uint32_t ncomponent;
    const uint32_t *component;    /* of each global */
    const uint32_t *member_start; /* ncomponent + 1 */
    const uint32_t *members; /* components: those referred to first; in one: as defined */
    const uint8_t *is_recursive; /* of each component: some member refers to a member */
} bt_callgraph;
/* The result lives in the arena. Names without a definition are left out. */
BT_API bt_status bt_callgraph_create(bt_ctx *, const bt_module *, bt_arena *,
                                     const bt_callgraph **out) BT_MUST_USE;
/* By position: 1 for the global `from`, which is one of the module's, and for those that it
 * leads to by one reference or several. They live in the arena. */
BT_API bt_status bt_callgraph_reach(const bt_callgraph *, const bt_module *,
                                    const bt_global *from, bt_arena *,
                                    const uint8_t **out) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
