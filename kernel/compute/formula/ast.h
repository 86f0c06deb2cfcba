/*
 * Index notation as written: what the parser makes of a text. Names are not looked up yet;
 * every node knows where it stands in the text.
 */
#ifndef COMPUTE_FORMULA_AST_H
#define COMPUTE_FORMULA_AST_H

#include <baton/op.h>

/* A range of the formula's text. */
struct bt__ast_place {
    uint32_t offset, width;
};

enum {
    BT__AST_INT,
    BT__AST_FLOAT,  /* inf and nan too */
    BT__AST_NAME,   /* x, data.0 */
    BT__AST_INDEX,  /* x[args] */
    BT__AST_CALL,   /* name(args): scalar operator or cast; + - * ... under their names */
    BT__AST_REDUCE, /* name[dtype](vars | condition: args[0]) */
    BT__AST_ELSE,   /* args[0] else args[1] */
    BT__AST_REST    /* .. as an index */
};

typedef struct bt__ast bt__ast;

/* An axis of a stage, or an index of a reduction. */
struct bt__ast_var {
    const char *name;
    const bt__ast *extent; /* NULL: inferred */
    uint32_t is_rest;      /* the axis is `..` */
    struct bt__ast_place place;
};

struct bt__ast {
    uint32_t kind;         /* BT__AST_... */
    uint32_t depth, nnode; /* of the tree below: an expression used twice counts twice */
    struct bt__ast_place place;
    const char *name;
    int64_t integer;
    double number;
    uint32_t narg;
    const bt__ast *const *args;
    uint32_t nvar; /* BT__AST_REDUCE */
    const struct bt__ast_var *vars;
    const bt__ast *condition; /* NULL: none */
    const char *dtype;        /* NULL: the body's */
};

struct bt__ast_stage {
    const char *name;
    const char *dtype; /* NULL: a scalar of dims and attributes */
    uint32_t naxis;
    const struct bt__ast_var *axes;
    const bt__ast *expr;
    struct bt__ast_place place;
    uint32_t relation; /* of a bare name: BT_CHECK_.. to `other` */
    const char *other; /* NULL: it may be any */
};

struct bt__signature; /* signature.h */
struct bt__formula {
    const char *op;   /* the operator's name, for messages */
    const char *text; /* copied */
    /* Inputs that it declares itself: those of a call of an operator with formula_attr. */
    const struct bt__signature *signature;
    uint32_t ndim; /* bare names among them: scalar stages that stand before all others */
    uint32_t nstage;
    const struct bt__ast_stage *stages;
    uint32_t nresult;
    const uint32_t *results; /* stages */
};

/* The formula of a call, whichever way its operator states it. It lives as long as `arena`
 * and the context's formulas (cache.h).
 * errors  BT_ERR_SYNTAX at its place in the text, BT_ERR_LIMIT, those of a hook */
bt_status bt__formula_of_call(bt_ctx *, bt_arena *arena, const bt_formula_call *,
                              const struct bt__formula **out) BT_MUST_USE;
bt_status bt__formula_parse(bt_ctx *, bt_arena *arena, const char *op, const char *text,
                            const struct bt__formula **out) BT_MUST_USE;
/* Fails at a place of the formula, naming the operator. */
bt_status bt__formula_fail(bt_ctx *, const struct bt__formula *, uint32_t code,
                           struct bt__ast_place, const char *format, ...) BT_FAILURE
    BT_PRINTF(5, 6);

/* ---- making one (maker.c): for the parser ---- */

enum { BT__FORMULA_NODES = 1 << 20 }; /* of one expression, written out */

struct bt__maker {
    bt_ctx *ctx;
    bt_arena *arena;
    struct bt__formula *formula;
    bt_vec(struct bt__ast_stage) stages;
    bt_vec(uint32_t) results;
};
bt_status bt__maker_init(struct bt__maker *, bt_ctx *, bt_arena *,
                         const char *op) BT_MUST_USE;
/* Completes a node whose parts are set.
 * errors  BT_ERR_LIMIT: nested too deeply, too large */
bt_status bt__maker_node(struct bt__maker *, bt__ast *, const bt__ast **out) BT_MUST_USE;
/* A name that something is bound to: an index, a stage. */
bt_status bt__maker_check_name(struct bt__maker *, const char *what, const char *name,
                               struct bt__ast_place) BT_MUST_USE;
bt_status bt__maker_add_stage(struct bt__maker *,
                              const struct bt__ast_stage *) BT_MUST_USE;
bt_status bt__maker_add_result(struct bt__maker *, const char *stage,
                               struct bt__ast_place) BT_MUST_USE;
/* Without results: the last array stage. *out = NULL where there is none. */
bt_status bt__maker_finish(struct bt__maker *,
                           const struct bt__formula **out) BT_MUST_USE;

#endif
