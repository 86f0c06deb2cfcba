/*
 * Parser of index notation: recursive descent, one function per rule of notation.md.
 * Operators become calls of the scalar operators they stand for, so that whoever reads
 * the tree meets one form.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "compute/formula/ast.h"
#include "compute/formula/lex.h"
#include "compute/formula/signature.h"
#include "compute/graph/reduce.h"
#include "ir/dim.h"

struct parser {
    struct bt__maker maker;
    bt_ctx *ctx;
    bt_arena *arena;
    const struct bt__formula *formula;
    size_t nbytes;
    struct bt__token token; /* the one to read next */
    uint32_t nesting;
};

static bt_status parse_expr(struct parser *, const bt__ast **out);

static struct bt__token peek(const struct parser *p)
{
    return bt__token_read(p->formula->text, p->nbytes,
                          (size_t)p->token.place.offset + p->token.place.width);
}

static void advance(struct parser *p)
{
    p->token = peek(p);
}

static int at_sign(const struct parser *p, const char *sign)
{
    return bt__token_is(&p->token, sign);
}

static int skip_sign(struct parser *p, const char *sign)
{
    if (!at_sign(p, sign))
        return 0;
    advance(p);
    return 1;
}

static BT_FAILURE bt_status expected(struct parser *p, const char *what)
{
    const struct bt__token *t = &p->token;
    if (t->kind == BT__TOKEN_END)
        return bt__formula_fail(p->ctx, p->formula, BT_ERR_SYNTAX, t->place,
                                "expected %s, found the end of the formula", what);
    return bt__formula_fail(
        p->ctx, p->formula, BT_ERR_SYNTAX, t->place, "expected %s, found `%.*s`",
        t->kind == BT__TOKEN_BAD ? t->fault : what, (int)t->place.width, t->at);
}

static bt_status take_sign(struct parser *p, const char *sign)
{
    char what[8];
    if (skip_sign(p, sign))
        return NULL;
    what[0] = '`';
    size_t n = strlen(sign);
    memcpy(what + 1, sign, n);
    memcpy(what + 1 + n, "`", 2);
    return expected(p, what);
}

static bt_status take_name(struct parser *p, const char *what, const char **out)
{
    if (p->token.kind != BT__TOKEN_NAME)
        return expected(p, what);
    *out = bt_arena_text(p->arena, p->token.at, p->token.place.width);
    advance(p);
    return *out ? NULL : bt_no_memory();
}

/* ---- nodes ---- */

static bt_status make_node(struct parser *p, uint32_t kind, struct bt__ast_place place,
                           uint32_t narg, const bt__ast *const *args, const char *name,
                           const bt__ast **out)
{
    bt__ast *node = BT_NEW(p->arena, bt__ast);
    const bt__ast *const *copy = bt__arena_copy(p->arena, args, narg, sizeof(*args));
    if (!node || !copy)
        return bt_no_memory();
    node->kind = kind;
    node->place = place;
    node->name = name;
    node->narg = narg;
    node->args = copy;
    return bt__maker_node(&p->maker, node, out);
}

/* ---- expressions ---- */

/* A list between brackets, the opening one already read. `..` only among indices. */
static bt_status parse_list(struct parser *p, const char *close, int is_index,
                            uint32_t *narg, const bt__ast ***args)
{
    bt_vec(const bt__ast *) list = { 0 };
    const bt__ast *item;
    if (!at_sign(p, close)) {
        do {
            struct bt__ast_place place = p->token.place;
            if (is_index && skip_sign(p, ".."))
                BT_TRY(make_node(p, BT__AST_REST, place, 0, NULL, NULL, &item));
            else
                BT_TRY(parse_expr(p, &item));
            if (!BT_PUSH(p->arena, &list, item))
                return bt_no_memory();
        } while (skip_sign(p, ","));
    }
    *narg = list.len;
    *args = list.at;
    return take_sign(p, close);
}

static bt_status parse_var(struct parser *p, int is_axis, struct bt__ast_var *out)
{
    *out = (struct bt__ast_var){ .place = p->token.place };
    if (is_axis && skip_sign(p, "..")) {
        out->is_rest = 1;
        return NULL;
    }
    BT_TRY(take_name(p, is_axis ? "an index or `..`" : "an index", &out->name));
    BT_TRY(bt__maker_check_name(&p->maker, "an index", out->name, out->place));
    return skip_sign(p, "in") ? parse_expr(p, &out->extent) : NULL;
}

static bt_status parse_vars(struct parser *p, int is_axis, uint32_t *n,
                            const struct bt__ast_var **out)
{
    bt_vec(struct bt__ast_var) vars = { 0 };
    do {
        struct bt__ast_var var;
        BT_TRY(parse_var(p, is_axis, &var));
        if (!BT_PUSH(p->arena, &vars, var))
            return bt_no_memory();
    } while (skip_sign(p, ","));
    *n = vars.len;
    *out = vars.at;
    return NULL;
}

/* Whether a reducer's name starts a reduction rather than a call: `max(a, b)` is a call,
 * `max(i, j: ...)`, `max(i in n: ...)`, `max(i | ...: ...)`, `max[t](...)` are not. */
static int starts_reduction(const struct parser *p)
{
    struct parser ahead = *p;
    advance(&ahead);
    if (skip_sign(&ahead, "[")) {
        advance(&ahead);
        return skip_sign(&ahead, "]") && at_sign(&ahead, "(");
    }
    if (!skip_sign(&ahead, "("))
        return 0;
    while (ahead.token.kind == BT__TOKEN_NAME) {
        advance(&ahead);
        if (at_sign(&ahead, ":") || at_sign(&ahead, "|") || at_sign(&ahead, "in"))
            return 1;
        if (!skip_sign(&ahead, ","))
            return 0;
    }
    return 0;
}

static bt_status parse_reduction(struct parser *p, const bt__ast **out)
{
    bt__ast *node = BT_NEW(p->arena, bt__ast);
    const bt__ast **body = BT_NEWS(p->arena, const bt__ast *, 1);
    if (!node || !body)
        return bt_no_memory();
    node->kind = BT__AST_REDUCE;
    node->place = p->token.place;
    node->args = body;
    BT_TRY(take_name(p, "a reducer", &node->name));
    if (skip_sign(p, "[")) {
        BT_TRY(take_name(p, "a dtype", &node->dtype));
        BT_TRY(take_sign(p, "]"));
    }
    BT_TRY(take_sign(p, "("));
    BT_TRY(parse_vars(p, 0, &node->nvar, &node->vars));
    if (skip_sign(p, "|"))
        BT_TRY(parse_expr(p, &node->condition));
    BT_TRY(take_sign(p, ":"));
    BT_TRY(parse_expr(p, &body[0]));
    node->narg = 1;
    BT_TRY(take_sign(p, ")"));
    return bt__maker_node(&p->maker, node, out);
}

static bt_status parse_named(struct parser *p, const bt__ast **out)
{
    const char *name;
    uint32_t narg;
    const bt__ast **args;
    struct bt__ast_place place = p->token.place;
    BT_TRY(take_name(p, "a name", &name));
    if (skip_sign(p, "(")) {
        BT_TRY(parse_list(p, ")", 0, &narg, &args));
        return make_node(p, BT__AST_CALL, place, narg, args, name, out);
    }
    if (skip_sign(p, "[")) {
        BT_TRY(parse_list(p, "]", 1, &narg, &args));
        return make_node(p, BT__AST_INDEX, place, narg, args, name, out);
    }
    return make_node(p, BT__AST_NAME, place, 0, NULL, name, out);
}

static bt_status parse_number(struct parser *p, const bt__ast **out)
{
    bt__ast *node = BT_NEW(p->arena, bt__ast);
    if (!node)
        return bt_no_memory();
    node->kind = p->token.kind == BT__TOKEN_INT ? BT__AST_INT : BT__AST_FLOAT;
    node->place = p->token.place;
    node->integer = p->token.integer;
    node->number = p->token.number;
    if (at_sign(p, "inf"))
        node->number = INFINITY;
    if (at_sign(p, "nan"))
        node->number = NAN;
    advance(p);
    return bt__maker_node(&p->maker, node, out);
}

static bt_status parse_primary(struct parser *p, const bt__ast **out)
{
    if (p->token.kind == BT__TOKEN_INT || p->token.kind == BT__TOKEN_FLOAT ||
        at_sign(p, "inf") || at_sign(p, "nan"))
        return parse_number(p, out);
    if (p->token.kind == BT__TOKEN_NAME) {
        char name[32];
        size_t n = p->token.place.width < sizeof(name) ? p->token.place.width : 0;
        memcpy(name, p->token.at, n);
        name[n] = 0;
        return bt__reducer_find(name) >= 0 && starts_reduction(p)
                   ? parse_reduction(p, out)
                   : parse_named(p, out);
    }
    if (!skip_sign(p, "("))
        return expected(p, "an expression");
    BT_TRY(parse_expr(p, out));
    return take_sign(p, ")");
}

static bt_status parse_unary(struct parser *p, const bt__ast **out)
{
    struct bt__ast_place place = p->token.place;
    const char *name = at_sign(p, "-") ? "neg" : at_sign(p, "!") ? "not" : NULL;
    if (!name)
        return parse_primary(p, out);
    const bt__ast *arg;
    advance(p);
    BT_TRY(parse_primary(p, &arg));
    return make_node(p, BT__AST_CALL, place, 1, &arg, name, out);
}

/* Levels of binary operators, loosest first. `swap`: a > b is b < a. */
static const struct binary {
    const char *sign, *name;
    uint32_t level, swap;
} binaries[] = {
    { "||", "or", 0, 0 },      { "&&", "and", 1, 0 }, { "==", "eq", 2, 0 },
    { "!=", "ne", 2, 0 },      { "<", "lt", 2, 0 },   { "<=", "le", 2, 0 },
    { ">", "lt", 2, 1 },       { ">=", "le", 2, 1 },  { "+", "add", 3, 0 },
    { "-", "sub", 3, 0 },      { "*", "mul", 4, 0 },  { "/", "div", 4, 0 },
    { "%", "truncmod", 4, 0 },
};
enum { LEVEL_COMPARE = 2, LEVELS = 5 };

static const struct binary *binary_at(const struct parser *p, uint32_t level)
{
    for (uint32_t i = 0; i < BT_COUNT(binaries); i++) {
        if (binaries[i].level == level && at_sign(p, binaries[i].sign))
            return &binaries[i];
    }
    return NULL;
}

static bt_status parse_binary(struct parser *p, uint32_t level, const bt__ast **out)
{
    const struct binary *op;
    if (level == LEVELS)
        return parse_unary(p, out);
    BT_TRY(parse_binary(p, level + 1, out));
    while ((op = binary_at(p, level))) {
        const bt__ast *pair[2] = { *out, NULL };
        struct bt__ast_place place = p->token.place;
        advance(p);
        BT_TRY(parse_binary(p, level + 1, &pair[1]));
        if (op->swap) {
            pair[0] = pair[1];
            pair[1] = *out;
        }
        BT_TRY(make_node(p, BT__AST_CALL, place, 2, pair, op->name, out));
        if (level == LEVEL_COMPARE && binary_at(p, level))
            return expected(p, "`&&` between comparisons");
    }
    return NULL;
}

static bt_status parse_expr(struct parser *p, const bt__ast **out)
{
    if (++p->nesting > bt_ctx_limits(p->ctx)->depth)
        return bt__formula_fail(p->ctx, p->formula, BT_ERR_LIMIT, p->token.place,
                                "nested deeper than limits.depth = %u",
                                bt_ctx_limits(p->ctx)->depth);
    BT_TRY(parse_binary(p, 0, out));
    struct bt__ast_place place = p->token.place;
    if (skip_sign(p, "else")) {
        const bt__ast *pair[2] = { *out, NULL };
        BT_TRY(parse_expr(p, &pair[1]));
        BT_TRY(make_node(p, BT__AST_ELSE, place, 2, pair, NULL, out));
    }
    p->nesting--;
    return NULL;
}

/* ---- inputs ---- */

/* Whether the formula declares its inputs. */
static int has_inputs(const struct parser *p)
{
    struct parser ahead = *p;
    while (ahead.token.kind != BT__TOKEN_END && !at_sign(&ahead, "=>"))
        advance(&ahead);
    return at_sign(&ahead, "=>");
}

/* "broadcasts e", "== e", ..: what a bare name is to another one. */
static bt_status parse_relation(struct parser *p, struct bt__ast_stage *out)
{
    for (uint32_t i = 0; i < BT_CHECK_COUNT; i++) {
        out->relation = i;
        if (skip_sign(p, bt__check_word(i)))
            return take_name(p, "a name for a dim", &out->other);
    }
    return NULL;
}

/* A bare name is `NAME = dims[k]`, and may have a relation to another one. */
static bt_status add_dim(struct parser *p, const char *name, struct bt__ast_place place)
{
    bt__ast *at = BT_NEW(p->arena, bt__ast);
    const bt__ast *index;
    struct bt__ast_stage stage = { .name = name, .place = place };
    if (!at)
        return bt_no_memory();
    *at = (bt__ast){ .kind = BT__AST_INT,
                     .place = place,
                     .integer = p->maker.formula->ndim++ };
    BT_TRY(bt__maker_node(&p->maker, at, &index));
    BT_TRY(make_node(p, BT__AST_INDEX, place, 1, &index, "dims", &stage.expr));
    BT_TRY(parse_relation(p, &stage));
    return bt__maker_add_stage(&p->maker, &stage);
}

static bt_status parse_inputs(struct parser *p)
{
    struct bt__signature *signature = BT_NEW(p->arena, struct bt__signature);
    bt_vec(struct bt__pattern) inputs = { 0 };
    if (!signature)
        return bt_no_memory();
    do {
        struct bt__pattern input = { 0 };
        struct bt__ast_place place = p->token.place;
        BT_TRY(
            take_name(p, "an input: `x: t[n, ..]`, or a name for a dim", &input.input));
        BT_TRY(bt__maker_check_name(&p->maker, "an input", input.input, place));
        int is_taken = strcmp(input.input, "dims") == 0;
        for (uint32_t i = 0; i < inputs.len; i++)
            is_taken |= strcmp(inputs.at[i].input, input.input) == 0;
        if (is_taken)
            return bt__formula_fail(p->ctx, p->formula, BT_ERR_NAME, place,
                                    "there is another `%s`: call the input otherwise",
                                    input.input);
        if (!skip_sign(p, ":")) {
            BT_TRY(add_dim(p, input.input, place));
            continue;
        }
        BT_TRY(bt__pattern_parse(p->ctx, p->arena, p->formula->op, p->formula->text,
                                 &p->token, &input));
        bt__pattern_join(&input, inputs.len, inputs.at);
        if (!BT_PUSH(p->arena, &inputs, input))
            return bt_no_memory();
    } while (skip_sign(p, ","));
    signature->ninput = inputs.len;
    signature->inputs = inputs.at;
    p->maker.formula->signature = signature;
    return take_sign(p, "=>");
}

/* ---- stages ---- */

static bt_status parse_stage(struct parser *p, struct bt__ast_stage *out)
{
    *out = (struct bt__ast_stage){ .place = p->token.place };
    BT_TRY(take_name(p, "a stage: `y: t[i, j] = ...` or `n = ...`", &out->name));
    BT_TRY(bt__maker_check_name(&p->maker, "a stage", out->name, out->place));
    if (skip_sign(p, ":")) {
        BT_TRY(take_name(p, "a dtype", &out->dtype));
        BT_TRY(take_sign(p, "["));
        if (!at_sign(p, "]"))
            BT_TRY(parse_vars(p, 1, &out->naxis, &out->axes));
        BT_TRY(take_sign(p, "]"));
    }
    BT_TRY(take_sign(p, "="));
    return parse_expr(p, &out->expr);
}

/* `-> a, b` */
static bt_status parse_results(struct parser *p)
{
    do {
        const char *name;
        advance(p);
        struct bt__ast_place place = p->token.place;
        BT_TRY(take_name(p, "the name of a stage", &name));
        BT_TRY(bt__maker_add_result(&p->maker, name, place));
    } while (at_sign(p, ","));
    return NULL;
}

static bt_status parse_formula(struct parser *p, const struct bt__formula **out)
{
    if (has_inputs(p))
        BT_TRY(parse_inputs(p));
    do {
        struct bt__ast_stage stage;
        BT_TRY(parse_stage(p, &stage));
        BT_TRY(bt__maker_add_stage(&p->maker, &stage));
    } while (skip_sign(p, ";") && p->token.kind == BT__TOKEN_NAME);
    if (at_sign(p, "->"))
        BT_TRY(parse_results(p));
    BT_TRY(bt__maker_finish(&p->maker, out));
    if (!*out)
        return expected(p, "a stage that is an array: `y: t[i, j] = ...`");
    return p->token.kind == BT__TOKEN_END ? NULL : expected(p, "`;` or `->`");
}

bt_status bt__formula_parse(bt_ctx *ctx, bt_arena *arena, const char *op,
                            const char *text, const struct bt__formula **out)
{
    size_t nbytes = strlen(text);
    struct parser p = { .ctx = ctx, .arena = arena, .nbytes = nbytes };
    if (nbytes >= UINT32_MAX)
        return bt_fail(ctx, BT_ERR_LIMIT, "%s: a formula of more than 4 GiB", op);
    BT_TRY(bt__maker_init(&p.maker, ctx, arena, op));
    p.maker.formula->text = bt_arena_text(arena, text, nbytes);
    if (!p.maker.formula->text)
        return bt_no_memory();
    p.formula = p.maker.formula;
    p.token = bt__token_read(p.formula->text, nbytes, 0);
    return parse_formula(&p, out);
}
