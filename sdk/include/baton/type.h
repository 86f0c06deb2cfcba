/*
 * Stores, where programs live with their names and places, and types: all type-level terms
 * (types, shapes, dims, element types), symbolic or not, and the algebra of dims.
 *
 * Terms are interned: within one store, equal means the same pointer.
 */
#ifndef BATON_TYPE_H
#define BATON_TYPE_H

#include <baton/base.h>
#include <baton/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bt_op bt_op;     /* <baton/op.h> */
typedef struct bt_type bt_type; /* any type-level term: types, shapes, dims, dtypes */

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
 * ANONYMOUS: a VAR written `?`, whose value only a run shows. */
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
    const bt_where *const *wheres;
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
    const bt_ctor *const *ctors;
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
/* times * the product of all. */
BT_API const bt_type *bt_dim_product(bt_store *, int64_t times, uint32_t n,
                                     const bt_type *const *dims);
/* Whether it is a variable or an opaque dim: what a call or a run gives a value. */
static inline int bt_type_is_free(const bt_type *t)
{
    return t->kind == BT_TYPE_VAR || t->kind == BT_TYPE_OPAQUE;
}
/* 1 and *out set when the dim is a number. */
BT_API int bt_dim_is_const(const bt_type *, int64_t *out);
/* Bounds that hold for every value of its variables (dims are >= 0, parameters have
 * ranges). */
BT_API void bt_dim_bounds(const bt_type *, int64_t *low, int64_t *high);
/* Of one kind and range. */
BT_API int bt_type_param_equal(const bt_type_param *, const bt_type_param *);
/* Of the values of a Dim parameter, those from low to high that are multiples of step;
 * where that is one, the step is 1. 0: it has none of them, and stays as it is. */
BT_API int bt_type_param_narrow(bt_type_param *, int64_t low, int64_t high, int64_t step);
/* 1: equal for every value, -1: for none, 0: cannot be decided; of `?` always 0. */
BT_API int bt_dim_equal(bt_store *, const bt_type *, const bt_type *);
/* The dim as constant + terms, whatever its form. */
typedef struct bt_dim_sum {
    int64_t constant;
    uint32_t n;
    const bt_term *terms; /* of a dim that is no sum: `single` */
    bt_term single;
} bt_dim_sum;
BT_API void bt_dim_linear(const bt_type *, bt_dim_sum *out);

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
/* The first of them that is in a tuple's field; 0 of any other type. */
BT_API uint32_t bt_type_first_leaf(const bt_type *, uint32_t field);
/* Whether there are floats in values of the type, which a dtype that is not known may be, and whether there
 * is code: functions or references. Fields of data are looked at, too. */
BT_API bt_status bt_type_holds(bt_arena *, const bt_type *, int *has_float,
                               int *has_code) BT_MUST_USE;
BT_API const bt_list_type *bt_as_ref_type(const bt_type *);
BT_API const bt_list_type *bt_as_apply_type(const bt_type *);
BT_API const bt_func_type *bt_as_func_type(const bt_type *);
BT_API const bt_shape_type *bt_as_shape_type(const bt_type *);
BT_API const bt_var_type *bt_as_var_type(const bt_type *);
/* Of any kind whose struct is bt_list_type. */
BT_API const bt_list_type *bt_as_list_type(const bt_type *);
/* Of a tensor type: 0 / NULL when it is not one, or the part is not known. */
BT_API bt_dtype bt_tensor_dtype(const bt_type *);
/* NULL unless the rank is known. */
BT_API const bt_shape_type *bt_tensor_shape(const bt_type *);
/* 1 when every dim is a number; writes them if `dims` has room for the rank. */
BT_API int bt_tensor_static(const bt_type *, uint32_t *rank, int64_t dims[BT_MAX_RANK]);
/* Whether it is a tensor of rank 0 whose element memory can hold. */
BT_API int bt_type_is_scalar(const bt_type *);
/* As bt_tensor_static, of the tensor as it lies in memory, row major: the dims of its layout, blocks
 * whole. Without a layout: its own. */
BT_API int bt_tensor_physical(const bt_type *, uint32_t *rank, int64_t dims[BT_MAX_RANK]);
/* The same shape with dims that need not be numbers, and the bytes in it. NULL: the rank
 * or the element type is not known; no memory, or refused, see bt_store_why. */
BT_API const bt_shape_type *bt_tensor_memory(const bt_type *);
BT_API const bt_type *bt_tensor_size(const bt_type *);
/* Bytes of a row-major tensor. */
BT_API const bt_type *bt_dims_nbytes(bt_store *, bt_dtype, uint32_t n,
                                     const bt_type *const *dims);

/* Substitution. The map gives a term for a VAR, HOLE, OPAQUE or (depth 0) BOUND leaf,
 * NULL to keep it. Walks attributes of where-relations too. Normal forms are kept. NULL:
 * no memory, overflow. */
typedef struct bt_subst {
    const bt_type *(*leaf)(struct bt_subst *, const bt_type *leaf);
    void *state;
    bt_map *memo; /* NULL or a map of this substitution: shared terms are walked once */
} bt_subst;
BT_API const bt_type *bt_type_subst(bt_store *, bt_subst *, const bt_type *);
/* The type of a constructor's field where the definition's variables are `args`; dims that it
 * leaves open stay so. NULL: as bt_type_subst. */
BT_API const bt_type *bt_ctor_field_type(bt_store *, const bt_ctor *, uint32_t field,
                                         const bt_type *const *args);
/* The body of a function type with its parameters replaced; wheres too. */
BT_API const bt_func_type *bt_func_type_open(bt_store *, const bt_func_type *,
                                             const bt_type *const *args);
/* Replaces the n rigid variables by parameters 0..n-1 of a new function type. */
BT_API const bt_type *bt_func_type_close(bt_store *, uint32_t n,
                                         const bt_type *const *vars, uint32_t narg,
                                         const bt_type *const *args,
                                         const bt_type *result, uint32_t nwhere,
                                         const bt_where *const *wheres);
/* Equality across stores; data types by name, free variables and opaque dims equal only
 * themselves. 0 also when there is no memory to tell. */
BT_API int bt_type_equal(const bt_type *, const bt_type *);
/* A copy of a term in another store; handles of data types and free variables are mapped
 * by `leaf` of the substitution, which must have a term for each. subst: NULL where there
 * are none. NULL: no memory, or refused. */
BT_API const bt_type *bt_type_copy(bt_store *to, bt_subst *, const bt_type *);

#ifdef __cplusplus
}
#endif

#endif
