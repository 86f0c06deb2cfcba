/*
 * The program IR: types, values, blocks, functions, modules, and how to build, walk and
 * print them.
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
 * only, so structs may grow at the end. Types are interned: within one store, equal means
 * the same pointer.
 */
#ifndef BATON_IR_H
#define BATON_IR_H

#include <baton/base.h>
#include <baton/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bt_type bt_type; /* any type-level term: types, shapes, dims, dtypes */
typedef struct bt_value bt_value;
typedef struct bt_block bt_block;
typedef struct bt_func bt_func;
typedef struct bt_module bt_module;
typedef struct bt_op bt_op;             /* <baton/op.h> */
typedef struct bt_relation bt_relation; /* <baton/op.h> */
typedef struct bt_attr bt_attr;         /* <baton/op.h>: a row of an attribute schema */

/* ---- stores ---- */

BT_API bt_store *bt_store_create(bt_registry *); /* NULL: no memory */
BT_API bt_store *bt_store_ref(bt_store *);
BT_API void bt_store_unref(bt_store *); /* accepts NULL */
BT_API bt_arena *bt_store_arena(const bt_store *);
BT_API bt_registry *bt_store_registry(const bt_store *);
/* The store's copy of a name: equal names are the same pointer. NULL: no memory. */
BT_API const char *bt_name(bt_store *, const char *, size_t nbytes);
BT_API const char *bt_name_of(bt_store *, const char *);

/* Why the last constructor of this store gave NULL: no memory, or BT_ERR_LIMIT with what
 * it refused (a dim that overflows, terms nested too deeply, terms of a wrong kind). */
BT_API bt_status bt_store_why(bt_ctx *, const bt_store *) BT_MUST_USE;

/* Spans. A source is a text (or a model, with text NULL); a span a range of it, or a
 * named node of a model. */
BT_API bt_status bt_store_add_source(bt_ctx *, bt_store *, const char *file,
                                     const char *text, size_t nbytes,
                                     uint32_t *out) BT_MUST_USE;
/* A range of a source's text, in bytes. 0: no memory. */
BT_API bt_span bt_span_text(bt_store *, uint32_t source, uint32_t offset,
                            uint32_t nbytes);
BT_API bt_span bt_span_node(bt_store *, uint32_t source, const char *node);
/* A place in a source whose text is not at hand (added with text NULL). Line and column
 * count from 1. */
BT_API bt_span bt_span_line(bt_store *, uint32_t source, uint32_t line, uint32_t column,
                            uint32_t width);
BT_API void bt_span_place(const bt_store *, bt_span, bt_place *out);

/* Provenance: the set of source bindings that a binding came from, interned; 0 is the
 * empty set. At most 16 ids are kept: the smallest. */
typedef uint32_t bt_prov;
BT_API bt_prov bt_prov_new(bt_store *, bt_span); /* a fresh source id; 0: no memory */
BT_API bt_prov bt_prov_join(bt_store *, bt_prov, bt_prov); /* 0 of non-zero: likewise */
/* How many ids the set has, and they themselves, ascending; in the store. */
BT_API uint32_t bt_prov_ids(const bt_store *, bt_prov, const uint32_t **out);
BT_API bt_span bt_prov_span(const bt_store *, uint32_t id);
/* Nodes of a model or lines of a text, for people: "conv1, relu1", "line 3, line 4". */
BT_API void bt_prov_print(const bt_store *, bt_prov, bt_text *out);

/* ---- types ---- */

/* Kinds of type-level terms. */
enum { BT_KIND_TYPE, BT_KIND_SHAPE, BT_KIND_DIM, BT_KIND_DTYPE, BT_KIND_ADT };

enum {
#define BT_TYPE(UPPER, lower, type, doc) BT_TYPE_##UPPER,
#include <baton/type_kinds.def>
    BT_TYPE_COUNT
};

/* What occurs anywhere inside, so that walks can stop early. BOUND: not bound inside.
 * ANONYMOUS: a VAR written `?`, of which nothing is promised but what a run shows. */
enum {
    BT_HAS_HOLE = 1,
    BT_HAS_BOUND = 2,
    BT_HAS_VAR = 4,
    BT_HAS_OPAQUE = 8,
    BT_HAS_ANONYMOUS = 16
};

/* Constructors refuse to nest terms deeper, so that walks over them may recurse. */
#define BT_TYPE_DEPTH 512

struct bt_type {
    uint32_t kind; /* BT_TYPE_... */
    uint32_t has;  /* BT_HAS_... */
    uint32_t hash; /* by structure: the same in every store where nothing is free in it */
    uint32_t id;   /* order of creation in the store */
    uint16_t depth;  /* levels of terms inside; 0: a leaf */
    uint16_t nloose; /* enclosing function types that its BOUND terms refer to */
    bt_store *store;
};
typedef struct bt_layout bt_layout;
typedef struct bt_tensor_type {
    bt_type base;
    const bt_type *shape;    /* kind Shape */
    const bt_type *dtype;    /* kind DType */
    const bt_layout *layout; /* NULL: row major */
} bt_tensor_type;
/* TUPLE, REF (n = 1), APPLY (at[0] is the handle), and the atoms with arguments. */
typedef struct bt_list_type {
    bt_type base;
    uint32_t n;
    const bt_type *const *at;
} bt_list_type;
/* A type parameter of a function type; its name belongs to whoever prints. */
typedef struct bt_type_param {
    uint32_t kind;     /* BT_KIND_... */
    int64_t low, high; /* of a Dim, inclusive: 0..INT64_MAX when free; low >= 0 */
    int64_t step;      /* of a Dim: multiples of it; 1 when free; given as 0: free */
} bt_type_param;
/* A relation that must hold at every call. `types` are the arguments, then the result. */
typedef struct bt_where {
    const bt_op *op;   /* the operator whose relation it is */
    const void *attrs; /* of the operator's schema */
    uint32_t ntype;
    const bt_type *const *types;
} bt_where;
typedef struct bt_func_type {
    bt_type base;
    uint32_t nparam; /* type parameters: BOUND{depth 0, index} inside */
    const bt_type_param *params;
    uint32_t narg;
    const bt_type *const *args;
    const bt_type *result;
    uint32_t nwhere;
    const bt_where *wheres;
} bt_func_type;
typedef struct bt_ctor {
    const char *name;
    const struct bt_adt_def *adt;
    uint32_t tag;
    uint32_t nfield;
    const bt_type *const *fields; /* mention the definition's variables */
} bt_ctor;
/* `type List[A] { Cons(A, List[A]), Nil, }`. Nominal: the definition is its identity. */
typedef struct bt_adt_def {
    const char *name;
    bt_span span;
    uint32_t nvar;
    const bt_type *const *vars; /* VAR terms */
    uint32_t nctor;
    const bt_ctor *ctors;
    uint32_t is_extern;
} bt_adt_def;
typedef struct bt_adt_type {
    bt_type base;
    const bt_adt_def *def;
} bt_adt_type;
/* A shape that is nothing but a variable is that variable. */
typedef struct bt_shape_type {
    bt_type base;
    uint32_t n;          /* dims, the variable not counted */
    uint32_t position;   /* of the variable: before dims[position] */
    const bt_type *rest; /* kind Shape: VAR, BOUND or HOLE; NULL: the rank is n */
    const bt_type *const *dims;
} bt_shape_type;
typedef struct bt_dtype_type {
    bt_type base;
    bt_dtype dtype;
} bt_dtype_type;
typedef struct bt_var_type {
    bt_type base;
    const char *name; /* hint; not identity */
    bt_type_param param;
    uint32_t is_anonymous; /* made from a `?` in a parameter's type: prints as one */
} bt_var_type;
typedef struct bt_bound_type {
    bt_type base;
    uint32_t depth, index; /* depth 0 = innermost function type with type parameters */
    uint32_t of_kind;
} bt_bound_type;
typedef struct bt_hole_type {
    bt_type base;
    uint32_t of_kind;
    uint32_t number; /* 0: `_` or `?` of an annotation, each occurrence its own; else a
                        solver's hole */
} bt_hole_type;
typedef struct bt_term {
    int64_t coefficient;
    const bt_type *atom;
} bt_term;
/* Normal form: terms sorted by the atoms' ids, no zero coefficient; 1 * atom + 0 is the
 * atom itself. */
typedef struct bt_linear_type {
    bt_type base;
    int64_t constant;
    uint32_t n;
    const bt_term *terms;
} bt_linear_type;
typedef struct bt_opaque_type {
    bt_type base;
    uint32_t number;  /* fresh for each */
    const char *name; /* hint, as in ?a; may be NULL */
} bt_opaque_type;
/* A blocked map from logical to physical axes: NCHW16c of logical NCHW. */
struct bt_layout {
    const char *text; /* interned: "NCHW:NCHW16c" */
    uint32_t nlogical, nphysical;
    const struct bt_layout_axis {
        uint32_t axis;  /* logical */
        int64_t factor; /* size of an inner block; 0: the outer part */
    } * physical;
};

/* Noun constructors. All terms given must be of the same store. NULL: no memory, or
 * refused: a dim that overflows int64, a nesting beyond BT_TYPE_DEPTH, a wrong kind; see
 * bt_store_why. Of a NULL term they give NULL for the same reason, so that they nest. */
BT_API const bt_type *bt_type_tensor(bt_store *, const bt_type *shape,
                                     const bt_type *dtype);
BT_API const bt_type *bt_type_tensor_layout(bt_store *, const bt_type *shape,
                                            const bt_type *dtype, const bt_layout *);
BT_API const bt_type *bt_type_tensor_of(bt_store *, bt_dtype, uint32_t rank,
                                        const int64_t *dims);
BT_API const bt_type *bt_type_scalar(bt_store *, bt_dtype);
BT_API const bt_type *bt_type_tuple(bt_store *, uint32_t n, const bt_type *const *fields);
BT_API const bt_type *bt_type_ref(bt_store *, const bt_type *content);
BT_API const bt_type *bt_type_adt(bt_store *, const bt_adt_def *);
BT_API const bt_type *bt_type_apply(bt_store *, const bt_adt_def *, uint32_t n,
                                    const bt_type *const *args);
/* A copy of the fields; `base` is ignored. */
BT_API const bt_type *bt_type_func(bt_store *, const bt_func_type *fields);
BT_API const bt_type *bt_type_shape(bt_store *, uint32_t n, const bt_type *const *dims);
BT_API const bt_type *bt_type_shape_rest(bt_store *, uint32_t n,
                                         const bt_type *const *dims, uint32_t position,
                                         const bt_type *rest);
BT_API const bt_type *bt_type_dtype(bt_store *, bt_dtype);
/* Fresh each time; name may be NULL. */
BT_API const bt_type *bt_type_var(bt_store *, const bt_type_param *, const char *name);
BT_API const bt_type *bt_type_var_anonymous(bt_store *, const bt_type_param *);
BT_API const bt_type *bt_type_bound(bt_store *, uint32_t kind, uint32_t depth,
                                    uint32_t index);
BT_API const bt_type *bt_type_hole(bt_store *, uint32_t kind); /* number 0 */
BT_API const bt_type *bt_type_hole_numbered(bt_store *, uint32_t kind, uint32_t number);
/* NULL: malformed, or no memory. */
BT_API const bt_layout *bt_layout_parse(bt_store *, const char *text);

/* Dims, kept in normal form. What is computed from `?` (hole 0) is `?`. NULL also beyond
 * 256 terms of a sum, 32 factors of a product or 32 arguments of min and max. */
BT_API const bt_type *bt_dim(bt_store *, int64_t);
BT_API const bt_type *bt_dim_opaque(bt_store *, const char *name); /* fresh each time */
BT_API const bt_type *bt_dim_add(bt_store *, const bt_type *, const bt_type *);
BT_API const bt_type *bt_dim_sub(bt_store *, const bt_type *, const bt_type *);
BT_API const bt_type *bt_dim_mul(bt_store *, const bt_type *, const bt_type *);
BT_API const bt_type *bt_dim_scale(bt_store *, const bt_type *, int64_t coefficient,
                                   int64_t add);
BT_API const bt_type *bt_dim_floordiv(bt_store *, const bt_type *, const bt_type *);
BT_API const bt_type *bt_dim_ceildiv(bt_store *, const bt_type *, const bt_type *);
BT_API const bt_type *bt_dim_mod(bt_store *, const bt_type *, const bt_type *);
BT_API const bt_type *bt_dim_min(bt_store *, const bt_type *, const bt_type *);
BT_API const bt_type *bt_dim_max(bt_store *, const bt_type *, const bt_type *);
/* 1 and *out set when the dim is a number. */
BT_API int bt_dim_is_const(const bt_type *, int64_t *out);
/* Bounds that hold for every value of its variables (dims are >= 0, parameters have
 * ranges). */
BT_API void bt_dim_bounds(const bt_type *, int64_t *low, int64_t *high);
/* 1: equal for every value, -1: for none, 0: cannot be decided; of `?` always 0. */
BT_API int bt_dim_equal(bt_store *, const bt_type *, const bt_type *);
/* The dim as constant + terms, whatever its form; terms may point to `single`. */
BT_API void bt_dim_linear(const bt_type *, bt_term *single, int64_t *constant,
                          uint32_t *n, const bt_term **terms);

/* A dim as bytes, which can be evaluated without its store. */
typedef struct bt_dim_code {
    const uint8_t *at;
    uint32_t nbyte, nvar;
} bt_dim_code;
/* vars: the variables and opaque dims that it may have, by whose positions it then knows
 * them.
 * errors  BT_ERR_UNSUPPORTED: it has another one; BT_ERR_LIMIT: it is too large */
BT_API bt_status bt_dim_compile(bt_ctx *, bt_arena *, const bt_type *dim, uint32_t nvar,
                                const bt_type *const *vars, bt_dim_code *out) BT_MUST_USE;
/* Whether bytes that come from a file are such code. */
BT_API int bt_dim_code_is_valid(const bt_dim_code *);
/* dims: values of the variables. 0: a step overflows 64 bits. */
BT_API int bt_dim_eval(const bt_dim_code *, const int64_t *dims, int64_t *out);

/* The kind of a term: BT_KIND_... */
BT_API uint32_t bt_type_kind_of(const bt_type *);
/* "Type", "Shape", "Dim", "DType", "AdtHandle" */
BT_API const char *bt_kind_name(uint32_t kind);
BT_API const char *bt_type_kind_name(uint32_t type_kind);
/* Checked downcasts: NULL if it is something else. */
BT_API const bt_tensor_type *bt_as_tensor_type(const bt_type *);
BT_API const bt_list_type *bt_as_tuple_type(const bt_type *);
/* The layout of a tensor, or the first of a tuple's; NULL: row major throughout. */
BT_API const bt_layout *bt_type_layout(const bt_type *);
/* Fields of nested tuples that are none themselves; 1 of any other type. */
BT_API uint32_t bt_type_nleaf(const bt_type *);
BT_API const bt_list_type *bt_as_ref_type(const bt_type *);
BT_API const bt_list_type *bt_as_apply_type(const bt_type *);
BT_API const bt_func_type *bt_as_func_type(const bt_type *);
BT_API const bt_shape_type *bt_as_shape_type(const bt_type *);
/* Of any kind whose struct is bt_list_type. */
BT_API const bt_list_type *bt_as_list_type(const bt_type *);
/* Of a tensor type: 0 / NULL when it is not one, or the part is not known. */
BT_API bt_dtype bt_tensor_dtype(const bt_type *);
/* NULL unless the rank is known. */
BT_API const bt_shape_type *bt_tensor_shape(const bt_type *);
/* 1 when every dim is a number; writes them if `dims` has room for the rank. */
BT_API int bt_tensor_static(const bt_type *, uint32_t *rank, int64_t dims[BT_MAX_RANK]);
/* The same of the tensor as it lies in memory, row major: the dims of its layout, blocks
 * whole. Without a layout: its own. */
BT_API int bt_tensor_physical(const bt_type *, uint32_t *rank, int64_t dims[BT_MAX_RANK]);

/* Substitution. The map gives a term for a VAR, HOLE, OPAQUE or (depth 0) BOUND leaf,
 * NULL to keep it. Walks attributes of where-relations too. Normal forms are kept. NULL:
 * no memory, overflow. */
typedef struct bt_subst {
    const bt_type *(*leaf)(struct bt_subst *, const bt_type *leaf);
    void *state;
    bt_map *memo; /* NULL or a map of this substitution: shared terms are walked once */
} bt_subst;
BT_API const bt_type *bt_type_subst(bt_store *, bt_subst *, const bt_type *);
/* The body of a function type with its parameters replaced; wheres too. */
BT_API const bt_func_type *bt_func_type_open(bt_store *, const bt_func_type *,
                                             const bt_type *const *args);
/* Replaces the n rigid variables by parameters 0..n-1 of a new function type. */
BT_API const bt_type *bt_func_type_close(bt_store *, uint32_t n,
                                         const bt_type *const *vars, uint32_t narg,
                                         const bt_type *const *args,
                                         const bt_type *result, uint32_t nwhere,
                                         const bt_where *wheres);
/* Equality across stores; data types by name, free variables and opaque dims equal only
 * themselves. 0 also when there is no memory to tell. */
BT_API int bt_type_equal(const bt_type *, const bt_type *);
/* A copy of a term in another store; handles of data types and free variables are mapped
 * by `leaf` of the substitution, which must have a term for each. subst: NULL where there
 * are none. NULL: no memory, or refused. */
BT_API const bt_type *bt_type_copy(bt_store *to, bt_subst *, const bt_type *);

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
    BT_CHECK_EQUAL,
    BT_CHECK_LESS_EQUAL,
    BT_CHECK_DIVISIBLE, /* left is a multiple of right */
    BT_CHECK_BROADCAST  /* left equals right, or is 1 */
};
typedef struct bt_check {
    uint32_t relation;           /* BT_CHECK_... */
    const bt_type *left, *right; /* dims over the function's variables and opaque dims */
    const char *what; /* interned: what the relation calls them, "columns of data and of
                         weight"; NULL: it did not say */
} bt_check;
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
    const bt_clause *clauses;
    uint32_t is_partial; /* `match?`: need not be exhaustive; fails at run time */
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
    const bt_where *wheres;
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
/* The tensor of a constant operand, NULL if it is anything else. */
BT_API const bt_tensor *bt_const_tensor(const bt_value *);

/* Operands and regions of any value, in evaluation order: what walkers need, in one
 * place. Callee values count first. */
BT_API uint32_t bt_value_noperand(const bt_value *);
BT_API const bt_value *bt_value_operand(const bt_value *, uint32_t index);
BT_API uint32_t bt_value_nregion(const bt_value *);
BT_API const bt_block *bt_value_region(const bt_value *, uint32_t index);

/* ---- modules ---- */

enum { BT_GLOBAL_FUNC, BT_GLOBAL_CONST, BT_GLOBAL_EXTERN, BT_GLOBAL_GRADIENT };
typedef struct bt_global {
    const char *name; /* interned, without @ */
    uint32_t kind;
    bt_span span;
    const bt_type *type; /* of a use; NULL before inference where nothing is annotated */
    const bt_func *func; /* BT_GLOBAL_FUNC */
    const bt_value *value; /* BT_GLOBAL_CONST: a bt_const */
    bt_dict attrs;         /* of an external function */
    /* BT_GLOBAL_GRADIENT: gradient of @primal with respect to arguments, DLVM's
     * declaration. It gives the gradients in the order of `wrt`, then the results of
     * `keep`; one alone is no tuple. */
    const char *primal;
    uint32_t from;     /* index of the result that is differentiated */
    bt_ints wrt, keep; /* argument indices (n = BT_NONE_LIST: all), results to keep */
    uint32_t is_seeded;
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
/* The global that a gradient is of, or that in turn is a gradient of; NULL: none. Any
 * other global gives itself. */
BT_API const bt_global *bt_module_primal(const bt_module *, const bt_global *);
/* The entry function: `name`, or "main" when NULL, or the only function.
 * errors  BT_ERR_NAME, listing what there is */
BT_API bt_status bt_module_entry(bt_ctx *, const bt_module *, const char *name,
                                 const bt_global **out) BT_MUST_USE;

/* ---- building ---- */

/* A module under construction: parsers, importers and applications start here, passes
 * from an old version. */
typedef struct bt_module_builder bt_module_builder;
/* from: NULL, or a version in the same store whose contents come along. */
BT_API bt_status bt_module_builder_create(bt_ctx *, bt_store *, const bt_module *from,
                                          bt_module_builder **out) BT_MUST_USE;
BT_API void bt_module_builder_destroy(bt_module_builder *); /* accepts NULL */
/* Adds or replaces by name.
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

/* Names the binding built last in the innermost block, where it has no name yet: for
 * those who learn a name after a chain of bindings. Others are left alone. */
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
                                const bt_clause *, int is_partial,
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
} bt_print_options;
BT_API bt_status bt_print(bt_ctx *, const bt_module *, const bt_print_options *,
                          bt_text *out) BT_MUST_USE;
BT_API void bt_print_type(bt_ctx *, const bt_type *, bt_text *out);
BT_API void bt_print_func(bt_ctx *, const bt_module *, const bt_func *, bt_text *out);
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
    /* What keeps a binding that nobody uses. */
    BT_EFFECT_KEEPS = BT_EFFECT_WRITES | BT_EFFECT_RANDOM | BT_EFFECT_IO,
    /* What keeps two equal bindings from being one. */
    BT_EFFECT_UNMERGED = BT_EFFECT_KEEPS | BT_EFFECT_READS | BT_EFFECT_ALLOCATES
};
typedef struct bt_effects bt_effects; /* lives in the arena it was made in */
BT_API bt_status bt_effects_create(bt_ctx *, const bt_module *, bt_arena *,
                                   bt_effects **out) BT_MUST_USE;
BT_API uint32_t bt_effects_of(const bt_effects *, const bt_value *);
BT_API uint32_t bt_effects_of_block(const bt_effects *, const bt_block *);

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

#ifdef __cplusplus
}
#endif
#endif
