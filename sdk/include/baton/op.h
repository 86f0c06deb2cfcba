/*
 * For authors of operators and type relations. An operator is one file: doc, attributes,
 * type relation, formula, facets (gradient, quantization, ..., test cases). Every
 * executor, target and test gets it from there.
 *
 *     static const bt_op ops[] = { { .name = "nn.relu", ... }, { 0 } };
 *     const bt_table bt_ops_nn_relu[] = { BT_OPS(ops), { 0 } };
 *
 * That table stands in ops/nn/relu.c: its name follows the file's.
 */
#ifndef BATON_OP_H
#define BATON_OP_H

#include <baton/ir.h>
#include <baton/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bt_solver bt_solver;
typedef struct bt_relation_call bt_relation_call;
typedef struct bt_formula_call bt_formula_call;
typedef struct bt_formula bt_formula;
typedef struct bt_eval_call bt_eval_call;

/* ---- attributes ---- */

/* Attributes arrive in a struct of the author's whose members stand in the order of the
 * schema's rows and are 8 bytes each (lists 16), so that the schema alone gives the
 * layout. Text form: name=value. */
enum {
    BT_ATTR_INT = 1, /* int64_t; None where the default is BT_NONE: axis=1 */
    BT_ATTR_FLOAT,   /* double: epsilon=1e-05f */
    BT_ATTR_BOOL,    /* int64_t, 0 or 1: keepdims=True */
    BT_ATTR_STRING,  /* const char *, interned; never NULL: layout="NCHW" */
    BT_ATTR_INTS, /* bt_ints: strides=[1, 1]; a single int is a list of one: strides=2 */
    BT_ATTR_FLOATS,  /* bt_floats */
    BT_ATTR_STRINGS, /* bt_strings */
    BT_ATTR_DTYPE,   /* const bt_type *, kind DType; NULL = None: dtype="float32" */
    BT_ATTR_DIM,     /* const bt_type *, kind Dim: depth=n */
    BT_ATTR_SHAPE, /* const bt_type *, kind Shape: shape=[n, 4]; where `low` is below 0, it
                      may hold codes, such as reshape's 0, -1 ... -5; NULL = None */
    BT_ATTR_TYPE,  /* const bt_type *, kind Type; NULL = None */
    BT_ATTR_FUNC,  /* const bt_value *: a global of function type; NULL = None */
    BT_ATTR_INT_OR_INTS /* bt_ints, where a single int differs from a list of one: it has
                           n == BT_SINGLE and stands at[0]: indices_or_sections=2 */
};
/* Among a shape's codes: the extent 0. A dim that gets the value 0 becomes this, for 0 is a
 * code. */
#define BT_SHAPE_ZERO (-5)
struct bt_attr {
    const char *name;
    uint32_t kind;       /* BT_ATTR_... */
    uint32_t offset;     /* in the author's struct */
    const char *preset;  /* the default, as text ("1", "[1, 1]", "None", "NCHW"); NULL:
                            must be given */
    int64_t low, high;   /* of ints and their elements, inclusive; both 0: any */
    const char *choices; /* of a string: "NCHW|NHWC"; NULL: any */
    const char *doc;
};
#define BT_ATTR(type, member, kind_, preset_, doc_) \
    BT_ATTR_RANGE(type, member, kind_, preset_, 0, 0, doc_)
#define BT_ATTR_RANGE(type, member, kind_, preset_, low_, high_, doc_)                  \
    {                                                                                   \
        (#member), BT_ATTR_##kind_, offsetof(type, member), (preset_), (low_), (high_), \
            NULL, (doc_)                                                                \
    }
#define BT_ATTR_CHOICE(type, member, preset_, choices_, doc_)                           \
    {                                                                                   \
        (#member), BT_ATTR_STRING, offsetof(type, member), (preset_), 0, 0, (choices_), \
            (doc_)                                                                      \
    }

/* ---- the operator ---- */

/* An input. `type` says what it accepts and names its parts for the formula:
 *     "t[m, k]"      tensor of rank 2; t, m, k are names: the same name twice means equal
 *     "t[n, c, ..]"  any number of further dims, the rest
 *     "t[..]"        any rank
 *     "int32|int64[]"  a scalar of one of these
 *     "float[..]"    of a class: bool, int, uint, float, integer (int|uint), number
 *                    (integer|float), any
 *     "t:float[n]"   t, restricted to a class
 *     "(t[..]*)"     a tuple of such tensors
 *     "?"            anything
 * An input marked optional may be left out at the end of a call. */
typedef struct bt_op_input {
    const char *name, *type, *doc;
    uint32_t is_optional;
    uint32_t is_rest; /* the last one: takes all further arguments, any number of them. In a
                         formula they are name.0, name.1, ... */
} bt_op_input;

/* An operator: what it takes, its type relation, what it computes. */
struct bt_op {
    const char *name;          /* "nn.conv2d" */
    uint32_t revision;         /* of what it means; from 1 */
    uint32_t effects;          /* BT_EFFECT_... */
    const char *doc;           /* first line: one sentence */
    const char *source;        /* paper or standard: "ONNX Softmax-13" */
    const bt_op_input *inputs; /* ended by a zero name */
    const bt_attr *attrs;      /* ended by a zero name; NULL: none */
    size_t attrs_nbytes;       /* sizeof the author's struct */
    /* The type relation: of its own, or shared by name, or (both absent) derived from the
     * formula. With both, the shared one states the type and its own says more:
     * contents. */
    const char *relation;
    bt_status (*relate)(bt_solver *, const bt_relation_call *);
    /* What it computes: a formula, or a hook that writes one where rank or attributes
     * decide it, or plain C. */
    const char *formula;
    void (*write_formula)(bt_formula *, const bt_formula_call *);
    bt_status (*eval)(bt_ctx *, const bt_eval_call *);
    const struct bt_facet *facets; /* ended by a zero `facet`; NULL: none */
    /* Filled by the host. */
    const struct bt_plugin_handle *plugin;
    /* Or what it computes is stated by each call: the attribute of kind STRING that holds the
     * formula, which declares its own inputs before `=>`, as in
     *     x: t[n, ..], d => y: t[i in d, ..] = x[2 * i, ..]
     * A bare name is a dim: the next element of the call's Shape attribute `dims`. */
    const char *formula_attr;
};
/* Whether a formula says what it computes. */
static inline int bt_op_has_formula(const bt_op *op)
{
    return op->formula || op->write_formula || op->formula_attr;
}
#define BT_OPS(array)                        \
    {                                        \
        "baton.op/1", sizeof(bt_op), (array) \
    }

/* A further aspect of an operator. `op` may stay NULL in an operator's own list; a table
 * of facets may add some to another plugin's operators: BT_FACETS(array), ended by a zero
 * `facet`. Two for one pair need different priorities. */
typedef struct bt_facet {
    const char *facet; /* "gradient", "cases", ... */
    const char *op;
    int32_t priority;
    uint32_t table_nbytes;
    const void *table; /* its type follows from the facet's name */
} bt_facet;
#define BT_FACETS(array)                           \
    {                                              \
        "baton.facet/1", sizeof(bt_facet), (array) \
    }
#define BT_FACET(name_, table_)                     \
    {                                               \
        (name_), NULL, 0, sizeof(table_), &(table_) \
    }
/* .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3]"), BT_FACET("gradient", gradient)) */
#ifndef __cplusplus
#define BT_FACET_ROWS(...) ((const bt_facet[]){ __VA_ARGS__, { 0 } })
#define BT_CASES(text_)    BT_FACET("cases", ((const bt_cases_facet){ text_ }))
#else /* without compound literals: statics of functions that are called at once */
#define BT_FACET_ROWS(...)                                                          \
    ([]() -> const bt_facet * {                                                     \
        static const bt_facet rows[] = { __VA_ARGS__, { NULL, NULL, 0, 0, NULL } }; \
        return rows;                                                                \
    }())
#define BT_CASES(text_)                                                            \
    {                                                                              \
        "cases", NULL, 0, sizeof(bt_cases_facet), []() -> const bt_cases_facet * { \
            static const bt_cases_facet cases = { text_ };                         \
            return &cases;                                                         \
        }()                                                                        \
    }
#endif

/* ---- type relations ---- */

/* A relation others may name in bt_op.relation: Identity, Broadcast, ... */
struct bt_relation {
    const char *name;
    const char *doc;
    bt_status (*relate)(bt_solver *, const bt_relation_call *);
};
#define BT_RELATIONS(array)                              \
    {                                                    \
        "baton.relation/1", sizeof(bt_relation), (array) \
    }

/* A call whose relation is asked. Types are as known now; ask again through
 * bt_relation_arg after a unification. */
struct bt_relation_call {
    const bt_op *op;
    const void *attrs; /* the author's struct; NULL when the operator has none */
    uint32_t narg;     /* arguments given */
    uint32_t id;       /* the kernel's */
    /* Wanted of the result, by its annotation or by bt_builder_layout; NULL: none is.
     * A relation states the result's type with it, or decides the layout by itself. */
    const bt_layout *layout;
};

/* A relation is tried until it holds (returns NULL), fails (any other status), or waits
 * (bt_relation_wait). It must be pure, monotone and idempotent: called again with more
 * known it may only say more. */
BT_API bt_status bt_relation_wait(bt_solver *) BT_FAILURE;
/* Fails, naming the operator and the call: "nn.dense: %x has 3 columns, ...". `arg` is
 * the argument to point at, or -1. */
BT_API bt_status bt_relation_fail(bt_solver *, const bt_relation_call *, int arg,
                                  const char *format, ...) BT_FAILURE BT_PRINTF(4, 5);
BT_API bt_store *bt_relation_store(bt_solver *);
/* The argument's type with everything known put in; it may still hold holes. Index narg
 * is the result. */
BT_API const bt_type *bt_relation_arg(bt_solver *, const bt_relation_call *,
                                      uint32_t index);

/* A tensor whose rank is known; dims and dtype may still be holes. */
typedef struct bt_tensor_parts {
    uint32_t rank;
    const bt_type *const *dims;
    const bt_type *dtype; /* kind DType */
    bt_dtype known;       /* the dtype, 0 while unknown */
    const bt_layout *layout;
} bt_tensor_parts;
/* Waits until argument `index` is a tensor of known rank; fails if it is something else,
 * or has more than BT_MAX_RANK dims. */
BT_API bt_status bt_relation_tensor(bt_solver *, const bt_relation_call *, uint32_t index,
                                    bt_tensor_parts *out) BT_MUST_USE;
/* Also waits for, or checks, the rank / the dtype's class (BT_CLASS_BITS_...). */
BT_API bt_status bt_relation_tensor_rank(bt_solver *, const bt_relation_call *,
                                         uint32_t index, uint32_t rank,
                                         bt_tensor_parts *out) BT_MUST_USE;
BT_API bt_status bt_relation_class(bt_solver *, const bt_relation_call *, uint32_t index,
                                   uint32_t classes) BT_MUST_USE;
/* Waits until argument `index` is a tuple; n tensors of known rank in `out`, which lives
 * as long as the call. */
BT_API bt_status bt_relation_tensors(bt_solver *, const bt_relation_call *,
                                     uint32_t index, uint32_t *n,
                                     const bt_tensor_parts **out) BT_MUST_USE;
/* An axis given as an attribute: -rank <= axis < rank made 0 <= *out < rank. Fails,
 * naming the attribute. */
BT_API bt_status bt_relation_axis(bt_solver *, const bt_relation_call *, const char *attr,
                                  int64_t axis, uint32_t rank, uint32_t *out) BT_MUST_USE;
/* Makes two terms equal: solves holes, or adds a run-time check where that depends on
 * rigid dims. `what` completes the error: "columns of data and of weight". */
BT_API bt_status bt_relation_unify(bt_solver *, const bt_relation_call *, const bt_type *,
                                   const bt_type *, const char *what) BT_MUST_USE;
/* Left <= right for every value, or a run-time check, or an error. */
BT_API bt_status bt_relation_require(bt_solver *, const bt_relation_call *,
                                     uint32_t check, const bt_type *left,
                                     const bt_type *right, const char *what) BT_MUST_USE;
/* Waits if the term is a hole; else a dim without holes. Arithmetic on dims with holes is
 * not possible. */
BT_API bt_status bt_relation_dim(bt_solver *, const bt_relation_call *,
                                 const bt_type *dim, const bt_type **out) BT_MUST_USE;
/* The broadcast of two dims: waits where a hole meets a number other than 1. */
BT_API bt_status bt_relation_broadcast_dim(bt_solver *, const bt_relation_call *,
                                           const bt_type *, const bt_type *,
                                           const bt_type **out) BT_MUST_USE;
/* The broadcast of two shapes; handles shape variables where both sides agree. */
BT_API bt_status bt_relation_broadcast(bt_solver *, const bt_relation_call *,
                                       const bt_type *shape, const bt_type *other,
                                       const bt_type **out) BT_MUST_USE;
/* A dim known only at run time, the same one whenever this call's relation asks for it by
 * `number`. */
BT_API bt_status bt_relation_opaque(bt_solver *, const bt_relation_call *,
                                    uint32_t number, const bt_type **out) BT_MUST_USE;
/* What one call of a function of this type gives: its result, in which dims that only the run
 * knows are this call's own. */
BT_API bt_status bt_relation_call_result(bt_solver *, const bt_relation_call *,
                                         const bt_func_type *,
                                         const bt_type **out) BT_MUST_USE;
/* The contents of a small integer argument (rank <= 1, at most 32 elements) as dims,
 * computed from shapes where needed: waits until known; `*n` is BT_NONE_LIST when it is
 * only known at run time. Of a tuple of such tensors: of its fields, one after
 * another. */
BT_API bt_status bt_relation_contents(bt_solver *, const bt_relation_call *,
                                      uint32_t index, int64_t *n,
                                      const bt_type *const **out) BT_MUST_USE;
/* The argument where it is a constant, of any element type; NULL: it is not. */
BT_API const bt_tensor *bt_relation_constant(bt_solver *, const bt_relation_call *,
                                             uint32_t index);
/* States the contents of the (small integer) result, for others' bt_relation_contents. */
BT_API bt_status bt_relation_set_contents(bt_solver *, const bt_relation_call *,
                                          uint32_t n,
                                          const bt_type *const *dims) BT_MUST_USE;
/* Waits until argument `index` is a function whose type is known: that of its gradient. */
BT_API bt_status bt_relation_gradient(bt_solver *, const bt_relation_call *,
                                      uint32_t index, const bt_gradient_spec *,
                                      const bt_type **out) BT_MUST_USE;
/* States the result's type; NULL, from a constructor without memory, is its error. */
BT_API bt_status bt_relation_result(bt_solver *, const bt_relation_call *,
                                    const bt_type *) BT_MUST_USE;
BT_API bt_status bt_relation_result_tensor(bt_solver *, const bt_relation_call *,
                                           uint32_t rank, const bt_type *const *dims,
                                           const bt_type *dtype) BT_MUST_USE;
/* The same in the layout of argument 0, a tensor of this rank. */
BT_API bt_status bt_relation_result_laid(bt_solver *, const bt_relation_call *,
                                         uint32_t rank, const bt_type *const *dims,
                                         const bt_type *dtype) BT_MUST_USE;
/* Scratch memory that lives as long as the inference. NULL: no memory. */
BT_API void *bt_relation_alloc(bt_solver *, size_t count, size_t nbytes);

/* ---- formulas ---- */

/* What a formula hook may know: attributes and types. The formula it writes names the
 * arguments' dims itself. */
struct bt_formula_call {
    const bt_op *op;
    const void *attrs;
    uint32_t narg;
    const bt_type *const *args; /* without holes */
    const bt_type *result;
};
/* A copy of a call's attributes in the arena with another value, of `nbytes`, for the one of
 * that name. NULL: no memory. */
BT_API void *bt_attrs_with(bt_arena *, const bt_call *, const char *name,
                           const void *value, size_t nbytes);
/* That of a call of an operator; the types' list is in the arena. */
BT_API bt_status bt_call_formula(bt_arena *, const bt_call *,
                                 bt_formula_call *out) BT_MUST_USE;

/* Writing a formula where rank or attributes decide it: text, with lists for what there
 * may be more or less of. `$name` stands for a list's items, with commas between; `#` for
 * the number of an item:
 *
 *     uint32_t rank = bt_formula_rank(f, call->args[0]);
 *     uint32_t axis = bt_formula_axis(f, a->axis, rank);
 *     bt_formula_each(f, "i", 0, rank, "i#");
 *     bt_formula_each(f, "at", 0, rank, "i#");
 *     bt_formula_set(f, "at", axis, "extent(data, %u) - 1 - i%u", axis, axis);
 *     bt_formula_add(f, "y: t[$i] = data[$at]");
 *
 * gives `y: t[i0, i1, i2] = data[i0, extent(data, 1) - 1 - i1, i2]` of rank 3 along axis 1.
 * After the first failure nothing is added, and whoever called the hook is told. */

/* More of the formula; formats are printf's. */
BT_API void bt_formula_add(bt_formula *, const char *format, ...) BT_PRINTF(2, 3);
/* Another item of a list; it may hold other lists. */
BT_API void bt_formula_item(bt_formula *, const char *list, const char *format, ...)
    BT_PRINTF(3, 4);
/* Item `at`, counted from 0, in the place of what stood there. */
BT_API void bt_formula_set(bt_formula *, const char *list, uint32_t at,
                           const char *format, ...) BT_PRINTF(4, 5);
/* An item for each number low <= # < high; none make an empty list. In a text a comma
 * beside an empty list goes with it. `$[ * ]list` has ` * ` between the items. */
BT_API void bt_formula_each(bt_formula *, const char *list, uint32_t low, uint32_t high,
                            const char *format, ...) BT_PRINTF(5, 6);
/* The list without its items. */
BT_API void bt_formula_clear(bt_formula *, const char *list);
/* The hook cannot write a formula of this call: the operator's name, and why. */
BT_API void bt_formula_fail(bt_formula *, uint32_t code, const char *format, ...)
    BT_PRINTF(3, 4);
/* The rank of a tensor; fails where its type leaves it open. */
BT_API uint32_t bt_formula_rank(bt_formula *, const bt_type *);
/* An axis attribute counted from the front; the relation has checked its range. */
BT_API uint32_t bt_formula_axis(bt_formula *, int64_t axis, uint32_t rank);
static inline uint32_t bt_axis_front(int64_t axis, uint32_t rank)
{
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}
/* The dtype in which sums of a tensor's elements are divided: of integers and small floats
 * a wider one, which holds the sum and the number of elements; else "t". */
BT_API const char *bt_formula_wide(const bt_type *);
/* Stages `high` and `low`, uint32: the upper and the lower half of the row-major position of
 * each element of a tensor of that type, whose axes the list `axes` has, "i0 in shape[0]"; the
 * list `i` gets its indices. */
BT_API void bt_formula_position(bt_formula *, const bt_type *tensor);
/* Stages `word0` and `word1`, uint32[$i]: Threefry-2x32-20 of a key and a counter, expressions
 * on uint32, for each element of the list `axes`: random words, the same bits everywhere. */
BT_API void bt_formula_threefry(bt_formula *, const char *key0, const char *key1,
                                const char *high, const char *low);
/* Behind them stage `u`, at least 0 and less than 1: float64 of 52 bits, or float32 of 23. */
BT_API void bt_formula_unit(bt_formula *, int is_double);

/* ---- plain C ---- */

/* Tuples among arguments and results are flattened, depth first. Inputs are dense.
 * Outputs are created by the callee: bt_tensor_create(ctx, ..., &call->out[i]). Static
 * dims of `result` are binding, others are upper bounds or free. */
struct bt_eval_call {
    const bt_op *op;
    const void *attrs;
    uint32_t nin, nout;
    const bt_tensor *const *in;
    bt_tensor **out;
    uint32_t narg;
    /* leaves of each argument: 1 for a tensor, n for a tuple of n */
    const uint32_t *arg_nleaf;
    const bt_type *const *args;
    const bt_type *result;
};
/* What bt_plain_tensor.kind says of a dtype (<baton/plain.h>). */
static inline char bt_plain_kind(bt_dtype dtype)
{
    switch (BT_DTYPE_CLASS(dtype)) {
    case BT_CLASS_INT: return 'i';
    case BT_CLASS_UINT: return 'u';
    case BT_CLASS_BOOL: return 'b';
    case BT_CLASS_BFLOAT: return 'g';
    case BT_CLASS_FLOAT8_E4M3FN: return 'w';
    case BT_CLASS_FLOAT8_E4M3FNUZ: return 'x';
    case BT_CLASS_FLOAT8_E5M2: return 'y';
    case BT_CLASS_FLOAT8_E5M2FNUZ: return 'z';
    default: return 'f';
    }
}
/* Fails, naming the operator. */
BT_API bt_status bt_eval_fail(bt_ctx *, const bt_eval_call *, const char *format,
                              ...) BT_FAILURE BT_PRINTF(3, 4);

/* ---- facets of the kernel ---- */

/* A call that is differentiated. Leaves are the tensors of its arguments, or of its result,
 * tuples flattened depth first. Values belong to the function under construction, in which
 * the call has been computed. */
typedef struct bt_adjoint_call {
    const bt_call *call; /* of the primal: operator, attributes, types, whose dims may be open */
    uint32_t nin, nout;  /* leaves of the arguments, and of the result */
    const bt_value *const *in, *const *out;
    const uint8_t *wants; /* vjp: of each `in`, whether its adjoint is; of floats only */
    /* vjp: the adjoint of each `out`; jvp: the tangent of each `in`. NULL: zero */
    const bt_value *const *seeds;
} bt_adjoint_call;

/* "gradient": derivatives that are better than those that follow from the formula, or of an
 * operator in plain C. Where a hook is NULL, the formula gives them. A hook is called only where
 * a seed is there and, for vjp, something is wanted; it builds bindings without effects.
 * source  DLVM; Relay 2019, section 4 */
typedef struct bt_gradient_facet {
    /* to[i], i < nin: the adjoint of `in` i, of its exact type. All are NULL before, which is
     * zero. */
    bt_status (*vjp)(bt_builder *, const bt_adjoint_call *, const bt_value **to);
    /* to[k], k < nout: the tangent of `out` k, in the same way. */
    bt_status (*jvp)(bt_builder *, const bt_adjoint_call *, const bt_value **to);
    /* Bit i: nothing flows back to argument i. The result does not move with it, which tests
     * compare, or `instead` says why. */
    uint64_t blocked;
    /* Why there is no derivative, "positions are integers"; then there are no hooks. */
    const char *none;
    /* Why what the hooks give is not the derivative, which tests would compare it with:
     * "straight through: rounding has none". NULL: it is. */
    const char *instead;
} bt_gradient_facet;
/* The derivatives of a call, by its facet, else by its formula: all nin of `to`, or nout for
 * jvp, are set, NULL where it is zero.
 * errors  BT_ERR_UNSUPPORTED at the call: it has none, with the reason; BT_ERR_PLUGIN: a facet
 *         that gives something of another type */
BT_API bt_status bt_call_vjp(bt_builder *, const bt_adjoint_call *,
                             const bt_value **to) BT_MUST_USE;
BT_API bt_status bt_call_jvp(bt_builder *, const bt_adjoint_call *,
                             const bt_value **to) BT_MUST_USE;
/* The same by the formula alone: for a hook that leaves some of it. */
BT_API bt_status bt_formula_vjp(bt_builder *, const bt_adjoint_call *,
                                const bt_value **to) BT_MUST_USE;
BT_API bt_status bt_formula_jvp(bt_builder *, const bt_adjoint_call *,
                                const bt_value **to) BT_MUST_USE;

/* A call of operator `compute`, of which hooks make derivatives:
 *     y: t[m, n], d: t[m, n] => g: t[i in m, j in n] = d[i, j] * (1 - y[i, j] * y[i, j])
 * dims: of the formula's bare names, a Shape; NULL: it has none. */
BT_API bt_status bt_build_formula(bt_builder *, const bt_type *dims, uint32_t narg,
                                  const bt_value *const *args, const char *formula,
                                  const bt_value **out) BT_MUST_USE;

/* "cases": calls that tests run on every executor and target, and that the gradient check
 * uses, one a line:
 *     float32[2, 3], float32[3] | axis=1, keepdims=True
 *     float32[4] = 0.1..2
 *     int32[2, 2] = [[1, 2], [3, 4]] | axis=1 -> [3, 7]
 * Values are random; `= lo..hi` after a type narrows them, `= [...]` states them. What
 * stands behind `->` is expected: of each result its elements, a number for a scalar. */
typedef struct bt_cases_facet {
    const char *text;
} bt_cases_facet;

/* "fuse": how a call may be joined with others; without the facet it follows from the
 * formula. The kinds are Relay's operator patterns. source: Relay 2018, section 5.3 */
enum {
    BT_FUSE_ELEMWISE,    /* each element from those at its own place */
    BT_FUSE_BROADCAST,   /* likewise, with broadcast operands */
    BT_FUSE_INJECTIVE,   /* each element from elements anywhere: transpose, take */
    BT_FUSE_REDUCE,      /* each element from many: sum, max_pool2d */
    BT_FUSE_CONTRACTION, /* sums of products: conv2d, dense (Relay: out-elemwise-fusable) */
    BT_FUSE_OPAQUE       /* stands alone */
};
typedef struct bt_fuse_facet {
    uint32_t kind; /* BT_FUSE_... */
} bt_fuse_facet;

/* "precision": what pass mixed-precision makes of a call. Without it this follows from the
 * formula. */
enum {
    BT_PRECISION_ALWAYS = 1, /* it computes in the low type */
    BT_PRECISION_FOLLOW,     /* where all floats that it reads are of that */
    BT_PRECISION_NEVER       /* in float32 */
};
typedef struct bt_precision_facet {
    uint32_t kind; /* BT_PRECISION_... */
} bt_precision_facet;

/* "cost": an estimate from static types. */
typedef struct bt_cost_facet {
    bt_status (*estimate)(bt_ctx *, const bt_formula_call *, int64_t *multiply_adds,
                          int64_t *nbytes);
} bt_cost_facet;

/* "layout": is given the wanted layouts of the inputs, then of the result (NULL = any;
 * one for all fields of a tuple), and states the layouts that the call takes and gives. An
 * operator without the facet and without a pointwise formula takes row major only. */
typedef struct bt_layout_facet {
    bt_status (*choose)(bt_ctx *, bt_store *, const bt_call *,
                        const bt_layout *const *wanted, const bt_layout **in,
                        const bt_layout **out);
} bt_layout_facet;
/* For operators whose result has the layout of their first argument, whatever it is
 * (bt_relation_result_laid); they take the others as wanted. */
BT_API bt_status bt_layout_follow(bt_ctx *, bt_store *, const bt_call *,
                                  const bt_layout *const *wanted, const bt_layout **in,
                                  const bt_layout **out) BT_MUST_USE;
/* Those that take their arguments in any layouts and give row major. */
BT_API bt_status bt_layout_read(bt_ctx *, bt_store *, const bt_call *,
                                const bt_layout *const *wanted, const bt_layout **in,
                                const bt_layout **out) BT_MUST_USE;

/* "algebra": laws that hold for all values of all types. */
enum {
    BT_COMMUTATIVE = 1, /* op(x, y) = op(y, x) */
    BT_IDEMPOTENT = 2,  /* op(x, x) = x; of one operand: op(op(x)) = op(x) */
    BT_INVOLUTION = 4   /* op(op(x)) = x */
};
typedef struct bt_algebra_facet {
    uint32_t laws; /* BT_COMMUTATIVE | ... */
} bt_algebra_facet;
#define BT_ALGEBRA(laws_) BT_FACET("algebra", ((const bt_algebra_facet){ laws_ }))

/* "scale": op(x * s) = op(x) * s for its first operand x, a tensor of floats, and
 * factors s, one number or one for each index of one axis. Of a sum (is_sum) the second
 * operand takes the factor too: op(x * s, y * s) = op(x, y) * s. */
enum { BT_SCALE_ANY, BT_SCALE_POSITIVE };
typedef struct bt_scale_facet {
    uint32_t factors; /* BT_SCALE_...: which ones pass */
    uint32_t is_sum;  /* operand 1 takes the factor as well */
    /* The attribute whose letter C is the only axis that it may lie along; NULL: any. */
    const char *layout;
    /* Whether it holds for factors along `axis` (-1: one number); NULL: always. */
    int (*passes)(const bt_call *, int32_t axis);
} bt_scale_facet;
#define BT_SCALE(factors_, layout_) \
    BT_FACET("scale",               \
             ((const bt_scale_facet){ .factors = (factors_), .layout = (layout_) }))

/* "channels": a layer, a sum of products of its data with its weight (operands 0 and 1), and
 * where the channels are. Attributes by name. */
typedef struct bt_channels_facet {
    /* Layouts of data, weight (letters I and O) and result, NULL or "": as the data's;
     * all NULL: matrices, channels last, whose weight has the axes O, I. */
    const char *data, *weight, *result;
    const char *width;  /* states the channels of the result, may be None */
    const char *groups; /* NULL: there are none */
    /* The weight's axis O counts the channels of one group; 0: its axis I does. */
    uint32_t is_grouped_out;
} bt_channels_facet;

/* ---- the entry of a plugin ---- */

/* What a plugin exports: BT_PLUGIN("org.example.swish", "0.1.0", bt_swish_swish), the
 * tables after id and version. Builds by baton_add_plugin write it themselves. */
#define BT_PLUGIN(id_, version_, ...)                                                   \
    static const bt_table *const bt_plugin_tables[] = { __VA_ARGS__, NULL };            \
    static const bt_plugin bt_plugin_row =                                              \
        BT_PLUGIN_ROW(id_, version_, bt_plugin_tables);                                 \
    BT_EXTERN_C BT_API const bt_plugin *bt_plugin_query(uint32_t major, uint32_t minor, \
                                                        const void *host);              \
    const bt_plugin *bt_plugin_query(uint32_t major, uint32_t minor, const void *host)  \
    {                                                                                   \
        (void)major;                                                                    \
        (void)minor;                                                                    \
        return host == &bt_host_mark ? &bt_plugin_row : NULL;                           \
    }
#define BT_PLUGIN_ROW(id_, version_, tables_)                                   \
    {                                                                           \
        BT_ABI_MAJOR, BT_ABI_MINOR, sizeof(bt_plugin), sizeof(bt_table), (id_), \
            (version_), (tables_), sizeof(bt_attr), sizeof(bt_op_input),        \
            sizeof(bt_facet), 0                                                 \
    }

/* ---- looking up ---- */

/* Opens the plugin that has it; the row lives as long as the registry.
 * errors  BT_ERR_NAME with the nearest names and the plugin that would provide it */
BT_API bt_status bt_op_get(bt_ctx *, const char *name, const bt_op **out) BT_MUST_USE;
BT_API bt_status bt_relation_get(bt_ctx *, const char *name,
                                 const bt_relation **out) BT_MUST_USE;
/* The facet's table with the highest priority; *out = NULL where there is none. */
BT_API bt_status bt_op_facet(bt_ctx *, const bt_op *, const char *facet,
                             const void **out) BT_MUST_USE;
/* Number of inputs, of those that must be given. */
BT_API uint32_t bt_op_ninput(const bt_op *, uint32_t *nrequired);
/* Whether it takes so many arguments. */
BT_API int bt_op_takes(const bt_op *, uint32_t narg);
/* The input that argument `index` is: the rest's row is that of all further ones. NULL: none. */
BT_API const bt_op_input *bt_op_input_at(const bt_op *, uint32_t index);
/* The row of that name; NULL: there is none, or there are no rows. */
BT_API const bt_attr *bt_attr_row(const bt_attr *rows, const char *name);
/* The member of an attribute struct, for those who do not know its type, such as passes:
 * NULL where the operator has no attribute of that name and kind. */
BT_API const void *bt_attr_find(const bt_op *, const void *attrs, const char *name,
                                uint32_t kind);
/* A list as operators of windows read theirs, n numbers long: one number counts for all;
 * of half as many each counts twice, first all, then all again (paddings, befores then
 * afters). 0: it has another length. */
BT_API int bt_ints_expand(const bt_ints *, uint32_t n, int64_t *out);
/* An attribute of a call, for those who do not know its struct: of ints, or of one, read so.
 *     int64_t strides[2], padding[4]; // of nn.conv2d
 *     if (!bt_call_ints(call, "strides", 2, strides) ||
 *         !bt_call_ints(call, "padding", 4, padding))
 *         return bt_fail(ctx, BT_ERR_UNSUPPORTED, "...");
 * 0: it calls no operator with such an attribute, it is None, or has another length. */
BT_API int bt_call_ints(const bt_call *, const char *attr, uint32_t n, int64_t *out);
/* The same of one that is a dim; NULL: there is none of that name. */
BT_API const bt_type *bt_call_dim(const bt_call *, const char *attr);
/* The same of one that is a text; "": there is none of that name. */
BT_API const char *bt_call_text(const bt_call *, const char *attr);
/* The same of one that is an int or a bool. */
BT_API int64_t bt_call_int(const bt_call *, const char *attr, int64_t absent);
/* Parses "axis=1, keepdims=True" against the operator's schema into a struct in the
 * store. */
BT_API bt_status bt_attrs_parse(bt_ctx *, bt_store *, const bt_op *, const char *text,
                                const void **out) BT_MUST_USE;
/* "int8{weight_bits=4}" as users name rows of plugins: the name, and what stands in braces, "" where
 * there are none. `what` it is, in messages: "scheme". */
BT_API bt_status bt_named_split(bt_ctx *, bt_arena *, const char *what, const char *text,
                                const char **name, const char **options) BT_MUST_USE;
/* Options of a row, text as of attributes, into a struct in the store; NULL where it has no schema. */
BT_API bt_status bt_options_parse(bt_ctx *, bt_store *, const char *name,
                                  const bt_attr *schema, size_t nbytes, const char *text,
                                  const void **out) BT_MUST_USE;
/* The reverse of bt_attrs_parse: only what differs from the defaults. Returns whether anything was
 * written. */
BT_API int bt_attrs_print(bt_ctx *, const bt_op *, const void *attrs, bt_text *out);

#ifdef __cplusplus
}
#endif
#endif
