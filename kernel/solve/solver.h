/*
 * The solver, as its own files see it.
 *
 * Three things: *holes* (what is not known yet), *nodes* (relations in the wide sense: an
 * operator's relation, a call, a flow of a value into a place of a stated type, a
 * projection, a join of branches, ...) and the *queue*. A node is tried until it holds,
 * fails or waits; while it waits, the holes that it saw lead back to it, and assigning
 * one moves it to the front of the queue.
 *
 *     visit.c    walks a function, makes a slot for each value and a node for each
 *                constraint
 *     queue.c    tries nodes; unify.c, dims.c make terms equal
 *     general.c  ends a group of functions: what may be any type becomes a parameter
 *     write.c    builds the typed version
 *
 * Why any order gives the same types. Dims alone can be neither equal nor different
 * (`n` and `m` of two parameters), so what a Dim hole becomes could depend on who comes
 * first. Therefore every hole has at most one *owner*, the node that computes it; as long
 * as any node can proceed, a Dim hole is assigned by its owner alone, as in a network of
 * processes that read and write once. Structure (tuples, ranks, dtypes) is exact and may
 * flow either way into holes without owner. Only when nothing moves is the first node in
 * program order that held back *forced* to assign, and the others go on from there.
 */
#ifndef SOLVE_SOLVER_H
#define SOLVE_SOLVER_H

#include <baton/op.h>

#include "solve/solve.h"

/* Statuses that are not errors: not known enough yet; the two terms noted in the solver
 * differ. They never leave the solver. */
extern const bt_diag bt__wait, bt__mismatch;

struct bt__node;
struct bt__function;

struct bt__edge {
    struct bt__node *node;
    struct bt__edge *next;
};

struct bt__hole {
    const bt_type *term; /* HOLE with this number */
    const bt_type *type; /* what it stands for; NULL: not known */
    uint32_t owner;      /* id of the node that computes it; 0: none */
    uint32_t level;      /* generalised at the end of this nesting of functions */
    uint32_t mark;       /* of the last walk that met it */
    uint32_t is_poison;  /* belongs to a reported error: nothing about it is reported */
    const bt_value *of;  /* the value in whose type it arose, for messages */
    const struct bt__slot *by; /* whose node assigned it */
    struct bt__edge *edges;    /* nodes that wait for it */
};

/* What is known of one parameter or binding. */
struct bt__slot {
    const bt_value *value;
    const bt_type *type;
    struct bt__function *function; /* that holds it */
    struct bt__node *producer;     /* the node that computes it, while it waits */
    const bt_contents *contents;   /* of a small integer tensor; NULL: at run time only */
    uint32_t ntype_arg;            /* of a call */
    const bt_type *const *type_args;
    struct bt__function *callee;  /* a call of one in the same group, at its own types */
    struct bt__function *closure; /* of a closure */
    bt_vec(bt_check) checks;      /* of a call */
    uint64_t order;               /* of its first node */
    const bt_value *typed;        /* in the new version */
};

/* A function being inferred, and the scope of what is in it. */
struct bt__function {
    const bt_func *func;
    struct bt__function *outer;
    struct bt__slot *slot;   /* of the closure; NULL: a global */
    const bt_type **params;  /* types of the parameters */
    const bt_type *result;   /* as annotated, a hole once it was asked for, or NULL */
    const bt_type *declared; /* its polymorphic type, where wholly annotated, else NULL */
    const bt_type *mono;     /* its type inside its group, once asked for */
    const bt_type *type;     /* the final one */
    uint32_t result_owner;   /* id of the node that gives the result */
    bt_vec(const bt_type *) vars; /* declared, for `?` in parameters, generalised */
    bt_vec(const bt_where *) wheres;
    bt__promises promises;
    uint32_t level;
    bt_map names; /* annotations' opaque dims to what they mean here */
    bt_vec(struct bt__node *) assumed; /* nodes that become wheres */
};

enum {
    NODE_OP,
    NODE_CALL,
    NODE_FLOW,
    NODE_PROJ,
    NODE_JOIN,
    NODE_MATCH,
    NODE_READ,
    NODE_RANGE
};
enum { STATE_NEW, STATE_QUEUED, STATE_WAITING, STATE_DONE, STATE_FAILED };

/* Opaque dims and instances that a node made, by what asked for them: the same again when
 * it is tried again. */
struct bt__fresh {
    const void *key, *other;
    const bt_type *type;
    uint32_t first_hole, end_hole; /* of an instance */
    struct bt__fresh *next;
};

/* What a flow is, for messages. */
enum { FLOW_ARG, FLOW_RESULT, FLOW_ANNOTATION, FLOW_CONDITION, FLOW_CONTENT };

struct bt__node {
    uint32_t kind, state;
    uint32_t id; /* unique; from 1 */
    uint32_t level;
    uint64_t order;              /* position in the program */
    struct bt__slot *slot;       /* whose constraint it is: place of errors and checks */
    const bt_type *result;       /* NULL until it is known or somebody asks */
    uint32_t is_held_back;       /* could assign if it were forced */
    uint32_t is_producer;        /* its result is the slot's type */
    uint32_t asked;              /* behind the arguments, by the relation; 0: nothing */
    uint32_t mark;               /* of the last walk that met it */
    uint32_t is_listed, is_held; /* among the level's pending, held nodes */
    struct bt__fresh *fresh;
    struct bt__edge *waiters;     /* for its contents */
    struct bt__node *waits_for;   /* whose contents it needs; NULL: none */
    struct bt__node *prev, *next; /* in the queue */
    union {
        struct {
            const bt_op *op;
            const void *attrs;
            const bt_call *call; /* NULL: a `where` of a function that is called */
            uint32_t narg;
            const bt_type *const *args;
            const bt_layout *layout; /* asked for of the result */
        } op;
        struct {
            const bt_type *callee;
        } call;
        struct {
            const bt_type *from, *to;
            uint32_t what, index; /* FLOW_...; which argument */
        } flow;
        struct {
            const bt_type *tuple;
            uint32_t index;
        } proj;
        struct {
            uint32_t n, differing; /* the branch that differs from those before it */
            const bt_type *const *branches;
            const bt_type *stated; /* of the result; NULL: nothing */
        } join;
        struct {
            const bt_type *data;
        } match;
        struct {
            const bt_type *ref;
        } read;
        struct {
            const bt_type *dim;
            bt_type_param param;
            uint32_t index; /* of the callee's type parameters */
        } range;
    } u;
};

struct bt_solver {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena; /* everything here; dies with the solver */
    const bt_module *module;
    const bt__promises *promises; /* of the function around a single binding */
    const bt_layout *layout;      /* asked for of the result of that binding */
    const bt_type *stated;        /* the type that it is to have; may be NULL */
    bt_map *globals;   /* name to struct bt__global; NULL: the module is typed */
    bt_map slots;      /* value to slot */
    bt_map ctor_types; /* constructor to function type */
    bt_map sizes;      /* of terms with parts, written out */
    bt_map births;     /* opaque dim to the function in which it arose */
    bt_map relations;  /* by name */
    bt_map row_major;  /* tuple types in which no tensor has a layout */
    bt_map signatures; /* by operator */
    bt_vec(struct bt__hole) holes;
    uint32_t nassigned;     /* of them, by now */
    const bt_type *unknown; /* what relations see when there is no memory */
    uint32_t nnode;
    uint32_t nbinding; /* visited: the high part of a node's order */
    struct bt__node *front, *back;
    struct bt__level {
        bt_vec(struct bt__node *) held;    /* a heap by order: may be forced */
        bt_vec(struct bt__node *) pending; /* waited once; may be done since */
    } * levels;
    uint32_t nlevel, level;
    struct bt__function *function; /* being visited */
    uint32_t depth;                /* of regions */
    uint32_t mark;                 /* of the last walk */
    /* while a node is tried */
    struct bt__node *current;
    struct bt__node *waits_for; /* becomes the node's */
    uint32_t is_held_back;
    uint32_t force; /* 1: holes of level >= force_level may be assigned by any node */
    uint32_t force_level;
    const bt_type *left, *right; /* what differs, after a mismatch */
    const char *what;            /* the relation's name for what it makes equal; NULL */
    uint32_t is_infinite;        /* the mismatch: a type that would contain itself */
    uint32_t is_undecided;       /* or dims that may differ, where no check can stand */
    uint32_t is_escaping;        /* or a dim known only while a function inside runs */
    uint32_t nest;               /* of walks over terms */
    uint32_t has_unnamed;        /* 1: some attribute has a ?a that no type has */
    bt_status failed;            /* of a walk that cannot return one */
    bt_status broken;            /* of a function for relations that cannot return one */
    /* errors */
    uint32_t only_first;            /* 1: errors are returned, not reported */
    uint32_t nerror, nerror_before; /* of this component, of those before it */
    bt_status first;                /* of the module */
    uint64_t seed;                  /* not 0: nodes are tried in an order drawn from it */
};

/* ---- hole.c ---- */

bt_status bt__solver_init(bt_solver *, bt_ctx *, bt_store *,
                          const bt_module *) BT_MUST_USE;
void bt__solver_deinit(bt_solver *);
/* A new hole of the kind. NULL: no memory. */
const bt_type *bt__hole_new(bt_solver *, uint32_t kind, uint32_t owner, const bt_value *);
const bt_type *bt__poison(bt_solver *, uint32_t kind);
/* NULL unless the term is a numbered hole. */
struct bt__hole *bt__hole_of(const bt_solver *, const bt_type *);
/* The term with its outermost holes followed. */
const bt_type *bt__head(const bt_solver *, const bt_type *);
/* The term with everything known put in.
 * errors  BT_ERR_LIMIT, BT_ERR_MEMORY */
bt_status bt__resolve(bt_solver *, const bt_type *, const bt_type **out) BT_MUST_USE;
/* Calls visit for each hole without a value in the term. */
typedef bt_status bt__visit_hole(bt_solver *, void *self, struct bt__hole *);
bt_status bt__holes_in(bt_solver *, const bt_type *, bt__visit_hole *,
                       void *self) BT_MUST_USE;
/* Gives a hole its value and wakes the nodes that wait for it.
 * errors  bt__mismatch: it would contain itself, or be a negative dim */
bt_status bt__assign(bt_solver *, struct bt__node *, const bt_type *hole,
                     const bt_type *) BT_MUST_USE;
/* errors  bt__mismatch: the hole occurs in the term */
bt_status bt__check_finite(bt_solver *, const bt_type *hole, const bt_type *) BT_MUST_USE;
/* Whether the node may assign the hole now; notes that it held back if not. */
int bt__may_assign(bt_solver *, const struct bt__node *, const struct bt__hole *);

/* ---- unify.c, dims.c, join.c ---- */

/* Makes a value of type `from` fit a place of type `to`, or both equal.
 * errors  bt__wait, bt__mismatch, fatal ones */
bt_status bt__flow(bt_solver *, struct bt__node *, const bt_type *from,
                   const bt_type *to) BT_MUST_USE;
bt_status bt__unify(bt_solver *, struct bt__node *, const bt_type *,
                    const bt_type *) BT_MUST_USE;
/* Makes two holes one. */
bt_status bt__alias(bt_solver *, struct bt__node *, const bt_type *,
                    const bt_type *) BT_MUST_USE;
bt_status bt__unify_dims(bt_solver *, struct bt__node *, const bt_type *,
                         const bt_type *) BT_MUST_USE;
/* Whether it is an argument of a call of a function without annotation inside its own
 * group. */
int bt__is_own_call(const struct bt__node *);
/* Notes the two for the message. Gives bt__mismatch. */
bt_status bt__differ(bt_solver *, const bt_type *, const bt_type *) BT_MUST_USE;
/* Proves, refutes (bt__mismatch) or records a check of two dims without holes. */
bt_status bt__require(bt_solver *, struct bt__node *, uint32_t check, const bt_type *,
                      const bt_type *) BT_MUST_USE;
bt_status bt__broadcast_dim(bt_solver *, struct bt__node *, const bt_type *,
                            const bt_type *, const bt_type **out) BT_MUST_USE;
bt_status bt__broadcast(bt_solver *, struct bt__node *, const bt_type *, const bt_type *,
                        const bt_type **out) BT_MUST_USE;
/* The opaque dim that this node made for the key. */
bt_status bt__opaque(bt_solver *, struct bt__node *, const void *key, const void *other,
                     const bt_type **out) BT_MUST_USE;
bt_status bt__join(bt_solver *, struct bt__node *) BT_MUST_USE;

/* ---- queue.c ---- */

/* A node for the slot, with an id and its order. */
struct bt__node bt__node_begin(bt_solver *, uint32_t kind, struct bt__slot *);
/* Tries a node. If it waits it is copied to the solver's memory and `*kept` set, else
 * *kept = NULL. Errors of the program are reported and poison the result; what is
 * returned ends the inference. */
bt_status bt__submit(bt_solver *, struct bt__node *, struct bt__node **kept) BT_MUST_USE;
/* Tries nodes until all that are left wait. */
bt_status bt__drain(bt_solver *) BT_MUST_USE;
/* Also forces nodes of the innermost level, in program order, until none held back. */
bt_status bt__settle(bt_solver *) BT_MUST_USE;
void bt__wake(bt_solver *, struct bt__node *);
/* States the result, or makes it equal to what was stated. */
bt_status bt__give(bt_solver *, struct bt__node *, const bt_type *) BT_MUST_USE;
/* The result; a hole that the node owns while it is not known. NULL: no memory. */
const bt_type *bt__result_of(bt_solver *, struct bt__node *);
bt_status bt__push_level(bt_solver *) BT_MUST_USE;
int bt__is_fatal(bt_status);
/* Puts a node that waits among those of its level that may be forced. */
bt_status bt__hold_back(bt_solver *, struct bt__node *) BT_MUST_USE;
/* Calls visit for what is not known in what the node reads and gives. */
bt_status bt__node_holes(bt_solver *, struct bt__node *, bt__visit_hole *,
                         void *self) BT_MUST_USE;
bt_status bt__node_poisoned(bt_solver *, struct bt__node *, int *out) BT_MUST_USE;

/* ---- size.c ---- */

/* Parts of a term written out, shared ones each time; at most BT__TYPE_SIZE. */
#define BT__TYPE_SIZE 100000u
bt_status bt__type_size(bt_solver *, const bt_type *, uint32_t *out) BT_MUST_USE;

/* ---- blame.c ---- */

/* Reports an error; what is returned is not NULL once there are too many. */
bt_status bt__report(bt_solver *, bt_status) BT_MUST_USE;
/* The error for a node whose attempt ended in bt__mismatch. */
bt_status bt__blame(bt_solver *, struct bt__node *) BT_MUST_USE;
/* A term as text, in the context's scratch memory. */
const char *bt__show(bt_solver *, const bt_type *);
/* Behind the name of a dtype that does not fit: why, if that is it. */
const char *bt__moved_only(bt_dtype);
const char *bt__show_value(bt_solver *, const bt_value *);
const char *bt__callee_name(bt_solver *, const bt_call *);
/* The error with notes that say where the operands of the slot's binding came from. */
bt_status bt__note_operands(bt_solver *, bt_status, const struct bt__slot *, int first);
/* The error for a node that waits when nothing can proceed, where it waits for a hole
 * that no node computes. */
bt_status bt__report_pending(bt_solver *, struct bt__node *) BT_MUST_USE;
/* The error for a value whose type is too large to be written out. */
bt_status bt__report_large(bt_solver *, const struct bt__slot *) BT_MUST_USE;
/* The error for a value whose type cannot be inferred; hole and node may be NULL. */
bt_status bt__report_unknown(bt_solver *, const struct bt__slot *, struct bt__hole *,
                             const struct bt__node *) BT_MUST_USE;

/* ---- advice.c ---- */

/* The error with a note of what takes any size, where types differ in a dim. */
bt_status bt__advise_sizes(bt_solver *, bt_status, const struct bt__node *) BT_MUST_USE;
/* ", as in `%x: Tensor[(3), float32]`": how the value gets a type. */
void bt__say_annotation(bt_solver *, const bt_value *, bt_text *out);

/* ---- promises.c ---- */

/* Whether the node's relation is one that the functions around it ask of their callers;
 * its result is then stated. */
bt_status bt__try_promises(bt_solver *, struct bt__node *, int *holds) BT_MUST_USE;

/* ---- relation.c, call.c, match.c ---- */

bt_status bt__try_op(bt_solver *, struct bt__node *) BT_MUST_USE;
bt_status bt__try_call(bt_solver *, struct bt__node *) BT_MUST_USE;
bt_status bt__try_match(bt_solver *, struct bt__node *) BT_MUST_USE;
/* The result of a function type as one call of it, by this node, gives it: dims that only the
 * run knows are other ones for each call. */
bt_status bt__result_of_call(bt_solver *, struct bt__node *, const bt_func_type *,
                             const bt_type **out) BT_MUST_USE;
/* The type of a constructor's field with its `?` put in: holes that the node `owner`
 * computes, or, owner 0, opaque dims, the same whenever the node asks for the key. */
bt_status bt__field_type(bt_solver *, struct bt__node *, const void *key, uint32_t owner,
                         const bt_type *, const bt_type **out) BT_MUST_USE;
/* Makes slots for the variables of a match's patterns, which its node will type. */
bt_status bt__match_begin(bt_solver *, const struct bt__node *) BT_MUST_USE;
/* A polymorphic function type with fresh holes for its parameters, the same whenever this
 * node asks; its wheres become nodes. */
bt_status bt__instance(bt_solver *, struct bt__node *, const bt_type *,
                       const bt_type **out) BT_MUST_USE;
/* The polymorphic type of a constructor. NULL: no memory. */
const bt_type *bt__ctor_type(bt_solver *, const bt_ctor *);

/* ---- exhaust.c ---- */

/* Reports values that no clause covers and clauses that never match. */
bt_status bt__check_match(bt_solver *, const bt_match *) BT_MUST_USE;

/* ---- annotate.c ---- */

/* What an annotation means in its function: `?` in a parameter is a new variable of it,
 * elsewhere a hole that the node `owner` computes. NULL annotation: NULL. TERM: a type
 * argument, of any kind. ATTR: an attribute's, in which `?a` is what annotations say it is. */
enum { ANNOTATE_PARAM, ANNOTATE_VALUE, ANNOTATE_DECLARED, ANNOTATE_TERM, ANNOTATE_ATTR };
bt_status bt__annotate(bt_solver *, struct bt__function *, const bt_type *, uint32_t how,
                       uint32_t owner, const bt_value *of,
                       const bt_type **out) BT_MUST_USE;
/* A function from its annotations. */
bt_status bt__function_begin(bt_solver *, const bt_func *, struct bt__function *outer,
                             struct bt__slot *, struct bt__function **out) BT_MUST_USE;
/* The type of a function for uses inside its group. NULL: no memory. */
const bt_type *bt__function_inside(bt_solver *, struct bt__function *);

/* ---- kinds.c, globals.c ---- */

bt_status bt__check_adt(bt_solver *, const bt_adt_def *) BT_MUST_USE;
/* Each dim parameter must be a dim of some parameter's shape. */
bt_status bt__check_dim_params(bt_solver *, const struct bt__function *) BT_MUST_USE;
bt_status bt__extern_type(bt_solver *, const bt_global *,
                          const bt_type **out) BT_MUST_USE;
/* Of a gradient declaration, from its primal's type (NULL: not known). */
bt_status bt__gradient_type(bt_solver *, const bt_global *, const bt_type *primal,
                            const bt_type **out) BT_MUST_USE;

/* ---- visit.c ---- */

/* NULL: no memory. */
struct bt__slot *bt__slot_new(bt_solver *, const bt_value *);
struct bt__slot *bt__slot_of(const bt_solver *, const bt_value *); /* may be NULL */
/* The type of an operand. */
bt_status bt__type_of(bt_solver *, const bt_value *, const bt_type **out) BT_MUST_USE;
bt_status bt__visit_binding(bt_solver *, const bt_value *) BT_MUST_USE;
bt_status bt__visit_function(bt_solver *, struct bt__function *) BT_MUST_USE;

/* ---- general.c ---- */

/* Ends a group of functions that refer to each other: solves what can be solved, makes
 * what is left in their types parameters and relations, sets their final types. */
bt_status bt__end_group(bt_solver *, uint32_t n,
                        struct bt__function *const *) BT_MUST_USE;

/* ---- attrs.c ---- */

/* What becomes of what attributes refer to: a global; a term with opaque dims. */
typedef struct bt__attr_map {
    bt_status (*global)(void *self, const bt_value *, const bt_value **out);
    bt_status (*term)(void *self, const bt_type *, const bt_type **out);
    void *self;
} bt__attr_map;
/* A call's attributes mapped; the same where there is nothing to map. */
bt_status bt__map_attrs(bt_solver *, const bt_call *, const bt__attr_map *,
                        const void **out) BT_MUST_USE;

/* ---- write.c ---- */

/* The typed function; a type that is not known is reported. */
bt_status bt__write_function(bt_solver *, bt_builder *, struct bt__function *,
                             const bt_func **out) BT_MUST_USE;

/* ---- infer.c ---- */

/* The type of a global, for a use in the component at hand; *function is set if it is a
 * member of that. */
bt_status bt__global_type(bt_solver *, const bt_value *, struct bt__function **function,
                          const bt_type **out) BT_MUST_USE;

#endif
