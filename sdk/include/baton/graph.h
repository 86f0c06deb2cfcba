/*
 * For authors of targets: the compute graph of a primitive function, in which bias and
 * activation stand behind the sum, and the views by which schedules are chosen.
 * <baton/loops.h> makes loops of it.
 *
 * A graph is what formulas compute for given dtypes and attributes, without names. Dims are
 * numbers, or dims of the graph, which are numbers when it runs.
 * Expressions are nodes, shared where they are equal. Integer arithmetic on int64 is kept
 * as LINEAR over atoms (indices and whatever is not linear), comparisons of it as
 * 0 <= LINEAR and 0 == LINEAR, arguments of commuting operators in one order: two ways of
 * writing a thing give the same node.
 *
 * Indices are numbers: axis a of the stage is a, a reduction takes the numbers after
 * those it is nested in. So equal reductions are equal nodes.
 */
#ifndef BATON_GRAPH_H
#define BATON_GRAPH_H

#include <baton/ir.h>
#include <baton/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- nodes ---- */

/* Scalar operators (BT_SCALAR_ADD, ...) and reducers (BT_REDUCER_SUM, ...). */
enum {
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    BT_SCALAR_##UPPER,
#include <baton/scalars.def>
    BT_SCALAR_COUNT
};
enum {
#define BT_REDUCER(UPPER, name, classes, result, nstate, identity, derivative, doc) \
    BT_REDUCER_##UPPER,
#include <baton/reducers.def>
    BT_REDUCER_COUNT
};
/* "add", "sum". */
BT_API const char *bt_scalar_name(uint32_t which);
BT_API const char *bt_reducer_name(uint32_t which);

enum {
    BT_NODE_CONST,  /* value */
    BT_NODE_INDEX,  /* number `which`, 0 .. high; args[0]: an extent that is no number */
    BT_NODE_DIM,    /* dim `which` of the graph */
    BT_NODE_LINEAR, /* int64: value.i + sum of coefs[k] * args[k] */
    BT_NODE_SCALAR, /* scalar operator `which` */
    BT_NODE_CAST,   /* args[0] as dtype */
    BT_NODE_SELECT, /* args[0] ? args[1] : args[2]; the other one is not evaluated */
    BT_NODE_READ,   /* array `which` at args */
    BT_NODE_REDUCE  /* reducer `which` of args[1] where args[0] holds, over the indices
                        first ... first + nindex - 1 below args[2 ...] */
};

typedef struct bt_node bt_node;
struct bt_node {
    uint32_t kind, which;
    bt_dtype dtype;
    uint32_t id, depth;
    uint32_t reads;   /* 1: reads an array, itself or below */
    uint32_t reduces; /* 1: reduces, likewise */
    uint64_t hash;
    uint64_t free;     /* bit i: depends on index i */
    int64_t low, high; /* of an integer: bounds of its int64 */
    bt_cell value;
    uint32_t narg, nindex, first;
    const bt_node *const *args;
    const int64_t *coefs;
};
enum { BT_MAX_INDEX = 64 };
static inline uint64_t bt_index_bit(uint32_t number)
{
    return UINT64_C(1) << number;
}

/* An integer that is known when the graph runs: low <= it <= high. */
typedef struct bt_graph_dim {
    const char *name;
    int64_t low, high;
    const bt_type
        *term; /* the dim of a type or an attribute, of which it has the value; else
                            NULL */
} bt_graph_dim;
/* The greatest value of a dim, so that sums of dims and indices cannot overflow. Whoever
 * runs a graph refuses greater ones. */
#define BT_MAX_DIM (INT64_C(1) << 48)

/* Inputs first, then stages in order. */
typedef struct bt_array {
    const char *name; /* for messages */
    bt_dtype dtype;
    uint32_t rank;
    const bt_node *const *extents;
    const bt_node *body; /* NULL: an input */
} bt_array;

typedef struct bt_graph {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_status status; /* the first failure; constructors then give NULL */
    uint32_t nnode, narray, ninput, ndim, nresult;
    bt_array **arrays;
    bt_graph_dim **dims;
    const uint32_t *results; /* arrays */
} bt_graph;                  /* made by bt_graph_create alone, so that more may follow */

/* Everything lives in `arena`. NULL: no memory. */
BT_API bt_graph *bt_graph_create(bt_ctx *, bt_arena *arena);

/* Adds an array; *out: its number. 0: no memory. */
BT_API int bt_graph_add_array(bt_graph *, const bt_array *, uint32_t *out);

/* The same for a dim; bounds beyond 0 and BT_MAX_DIM are moved there. */
BT_API int bt_graph_add_dim(bt_graph *, const bt_graph_dim *, uint32_t *out);

/* Constructors: NULL when an argument is NULL or on failure (graph->status): no memory, or an
 * index, dim, operator or reducer that there cannot be. */
BT_API const bt_node *bt_node_int(bt_graph *, int64_t);
BT_API const bt_node *bt_node_float(bt_graph *, bt_dtype, double);
BT_API const bt_node *bt_node_bool(bt_graph *, int);
/* Of an extent of 1 the constant 0. */
BT_API const bt_node *bt_node_index(bt_graph *, uint32_t number, const bt_node *extent);
BT_API const bt_node *bt_node_dim(bt_graph *, uint32_t which);
/* Of one dtype, accepted by the operator. */
BT_API const bt_node *bt_node_scalar(bt_graph *, uint32_t which, const bt_node *a,
                                     const bt_node *b);
BT_API const bt_node *bt_node_cast(bt_graph *, bt_dtype, const bt_node *);
BT_API const bt_node *bt_node_select(bt_graph *, const bt_node *condition,
                                     const bt_node *a, const bt_node *b);
BT_API const bt_node *bt_node_read(bt_graph *, uint32_t array, bt_dtype, uint32_t rank,
                                   const bt_node *const *indices);
/* As it stands: the condition is not solved. */
BT_API const bt_node *bt_node_reduce(bt_graph *, uint32_t reducer, uint32_t first,
                                     uint32_t nindex, const bt_node *const *extents,
                                     const bt_node *condition, const bt_node *body);
/* A value that a stage of its dtype would store: rounded to it, where it is a float that
 * is computed in more bits. */
BT_API const bt_node *bt_node_round(bt_graph *, const bt_node *);
/* The same operation on other arguments; `first` is that of a reduction. */
BT_API const bt_node *bt_node_again(bt_graph *, const bt_node *like, uint32_t first,
                                    const bt_node *const *args);
/* value + sum of coefs * atoms, in normal form. */
BT_API const bt_node *bt_node_linear(bt_graph *, int64_t constant, uint32_t n,
                                     const bt_node *const *atoms, const int64_t *coefs);

/* An int64 node as constant + terms. */
typedef struct bt_linear {
    int64_t constant;
    uint32_t n;
    const bt_node *const *atoms;
    const int64_t *coefs;
    const bt_node *self[1];
    int64_t one[1];
} bt_linear;
BT_API void bt_node_as_linear(const bt_node *, bt_linear *out);
/* Coefficient of an index in the linear form; 0 where it does not stand by itself. */
BT_API int64_t bt_linear_coef(const bt_linear *, uint32_t index);

static inline int bt_node_is_const(const bt_node *node, int64_t *out)
{
    if (node->kind != BT_NODE_CONST || bt_dtype_is_float(node->dtype))
        return 0;
    *out = node->value.i;
    return 1;
}
/* The number that an extent is; -1: it is known when the graph runs. */
static inline int64_t bt_node_number(const bt_node *extent)
{
    return extent->kind == BT_NODE_CONST ? extent->value.i : -1;
}
static inline int bt_node_is_true(const bt_node *node)
{
    return node->kind == BT_NODE_CONST && node->dtype == BT_BOOL && node->value.i;
}
static inline int bt_node_is_false(const bt_node *node)
{
    return node->kind == BT_NODE_CONST && node->dtype == BT_BOOL && !node->value.i;
}
/* The conjuncts of a condition: those of `and`, else itself, none of true. 0: no
 * memory. */
typedef bt_vec(const bt_node *) bt_nodes;
BT_API int bt_node_conjuncts(bt_arena *, const bt_node *, bt_nodes *out);
BT_API const bt_node *bt_node_and(bt_graph *, const bt_node *, const bt_node *);
/* Whether a graph computes scalars from scalars: all its arrays are of rank 0, and no
 * element takes a reduction, an index or a dim. */
BT_API bt_status bt_graph_is_scalar(bt_arena *scratch, const bt_graph *,
                                    int *out) BT_MUST_USE;
/* Checks a graph that was changed, before anything relies on it: every node is of the graph
 * and of dtypes that its operation takes; reads name an array with its dtype and rank;
 * indices are those of axes and reductions around them, with their extents; a stage has a
 * body of its dtype. Stages may come in any order. What is read out of an array's bounds is
 * found when the graph runs.
 * errors  BT_ERR_ARGUMENT, naming the array; the graph's own failure */
BT_API bt_status bt_graph_verify(bt_ctx *, bt_arena *scratch,
                                 const bt_graph *) BT_MUST_USE;
/* Replaces index `number` by `by`; all other numbers stay. */
BT_API const bt_node *bt_node_substitute(bt_graph *, const bt_node *, uint32_t number,
                                         const bt_node *by);

/* The computation of a function whose bindings are calls of operators with formulas,
 * tuples and projections. A stage is computed inside the stages that read it, unless
 * expensive work would then be done more than once: a convolution reads each element many
 * times, so its input is computed before it, but padding is computed inside it. The
 * rounding of such a stage stays as a cast, so that the results have the same bits, except
 * for the sign of a zero that max or min chooses from two zeros. Inputs are the leaves of
 * the function's parameters, results those of its result, as they lie in memory: blocks
 * of a layout that are not full end in zeros.
 * Dims of the function are dims of the graph with the same number. Opaque dims follow, in
 * the order in which the parameters show them.
 * errors BT_ERR_UNSUPPORTED: bindings that are not calls of operators, tuples or
 * projections; operators in plain C; ranks that are not known; layouts of open dims; calls
 * that are checked at run time; constants that are not scalars */
BT_API bt_status bt_graph_compose(bt_ctx *, bt_arena *, const bt_func *,
                                  bt_graph **out) BT_MUST_USE;
/* The same for fewer values of dims: those of each type parameter, some of its own. */
BT_API bt_status bt_graph_compose_for(bt_ctx *, bt_arena *, const bt_func *,
                                      const bt_type_param *dims,
                                      bt_graph **out) BT_MUST_USE;
/* A line for each stage, and one for its view. Names: a0, a1 ... inputs, s0 ... stages,
 * i0 ... axes, r0 ... indices of reductions. A read that is checked at run time has a `!`
 * behind its array. */
BT_API bt_status bt_graph_print(bt_ctx *, bt_graph *, bt_text *out) BT_MUST_USE;
/* What a call of operator `compute` says to do what a graph does, of the graph's inputs. */
typedef struct bt_graph_formula {
    const char *formula;
    uint32_t ndim;
    const bt_type *const
        *dims; /* elements of `dims`: terms of the graph's dims, NULL of one
                                   that has none, and dims of the result's type */
} bt_graph_formula;
/* The canonical formula: equal graphs have equal ones, and instantiated it is the graph again.
 * Names: a0, a1 ... inputs, s0 ... stages, i0 ... axes, r0 ... indices of reductions, d0 ...
 * dims, first those of inputs. result: the type that the call is to have; where it has a dim
 * that no input shows, the formula takes that from `dims`. NULL: extents are written out,
 * which not all can be in a formula for open dims. Everything lives in the arena.
 * errors BT_ERR_LIMIT: a text of more than 1 MiB, as shared nodes are written where they are
 *        used */
BT_API bt_status bt_graph_text(bt_ctx *, bt_arena *, bt_graph *, const bt_type *result,
                               bt_graph_formula *out) BT_MUST_USE;
/* Adds to a formula what the checks ask of dims, where the call that has it, of these arguments, may
 * speak of them; the others are left out. */
BT_API bt_status bt_graph_text_checks(bt_arena *, uint32_t ncheck, const bt_check *,
                                      const bt_type *result, uint32_t narg,
                                      const bt_value *const *args,
                                      bt_graph_formula *) BT_MUST_USE;
/* A size of such a graph as a dim of the function. errors BT_ERR_UNSUPPORTED: its dims do
 * not express it, as it is known only when the function runs */
BT_API bt_status bt_node_as_dim(bt_ctx *, const bt_func *, const bt_node *size,
                                const bt_type **out) BT_MUST_USE;

/* ---- views ---- */

/*
 * What a stage looks like to fusion, microkernels and cost.
 *
 *     map          no reduction; pointwise where each read is at the element's own place
 *                  (broadcast and transposition allowed)
 *     contraction  a sum of products of two reads; each index has a role: batch in both
 *                  reads and the result, m in the first and the result, n in the second
 *                  and the result, k in both and reduced
 *     window       a reduction of reads along sliding windows
 *     row          a reduction of reads at the element's own place and along the reduced
 *                  indices
 *
 * A contraction may have windows too: that is a convolution. What surrounds the reduction
 * (a bias, an activation) is the epilogue, pointwise or there is no view.
 */
enum { BT_VIEW_NONE, BT_VIEW_MAP, BT_VIEW_CONTRACTION, BT_VIEW_WINDOW, BT_VIEW_ROW };
enum { BT_VIEW_WINDOWS = 8 };

/* Axis `axis` of an array is read at stride * outer + dilation * inner + offset; stride and
 * dilation are not 0. Below 0: the window runs backward, as that of the adjoint by a
 * convolution's data does. It may be in either factor of a contraction, or in both. */
typedef struct bt_view_window {
    uint32_t array, axis;
    uint32_t outer, inner; /* an index of the stage, one of the reduction */
    int64_t stride, dilation, offset;
} bt_view_window;

/* A factor of a contraction: a read, or one of integers without their zero point, as of quantized
 * numbers: int32(x[i, k]) - 3, int16(w[k, o]) - int16(z[o]), each of the exact value. */
typedef struct bt_view_factor {
    const bt_node *read;
    bt_dtype
        dtype; /* of what is read, where casts of it lose nothing; else of the factor */
    int64_t zero;         /* what is subtracted, if it is a number; else 0 */
    const bt_node *zeros; /* what is subtracted, if it is read; NULL: it is not */
} bt_view_factor;

typedef struct bt_view {
    uint32_t kind;         /* BT_VIEW_... */
    uint32_t is_pointwise; /* of a map */
    uint32_t has_epilogue;
    uint32_t is_guarded;   /* the reduction's condition keeps windows inside the array */
    const bt_node *reduce; /* NULL of a map */
    const bt_node *reads[2];   /* of a contraction */
    bt_view_factor factors[2]; /* of these */
    uint64_t batch, m, n, k;   /* of a contraction: sets of indices */
    uint32_t nwindow;
    bt_view_window windows[BT_VIEW_WINDOWS];
} bt_view;

BT_API void bt_view_of(const bt_graph *, const bt_array *stage, bt_view *out);
/* 0: the node is no such factor. */
BT_API int bt_view_factor_of(const bt_node *, bt_view_factor *out);
/* Whether elements say where each term of a stage's reduction goes, in a buffer of fixed strides:
 * loops take one after the other (<baton/loops.h>). -1: failure of the graph, or no memory. */
BT_API int bt_reduce_is_scatter(bt_graph *, const bt_array *stage, const bt_node *reduce);

#ifdef __cplusplus
}
#endif
#endif
