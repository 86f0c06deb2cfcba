/*
 * Formulas from C: the builder of <baton/op.h>, and which way an operator's formula comes.
 *
 * What is built is the tree that the parser makes of text. Once it is whole it is printed,
 * so that messages about it have a line and a caret like those about text.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "compute/formula/ast.h"
#include "compute/formula/lex.h"
#include "compute/graph/reduce.h"

struct bt_formula {
    bt_registry *registry; /* of one with an arena of its own; NULL: of a hook */
    struct bt__maker maker;
    bt_status status; /* the first failure */
};

static void refuse(bt_formula *f, const char *format, ...) BT_PRINTF(2, 3);
static void refuse(bt_formula *f, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!f->status)
        f->status = bt__formula_fail(f->maker.ctx, f->maker.formula, BT_ERR_SYNTAX,
                                     (struct bt__ast_place){ 0 }, "%s", text);
}

static void lack(bt_formula *f)
{
    if (!f->status)
        f->status = bt_no_memory();
}

/* ---- names ---- */

/* A copy, checked to be what the text would call a name. NULL: refused. */
static const char *take_name(bt_formula *f, const char *what, const char *name)
{
    static const char *const words[] = { "in", "else", "inf", "nan" };
    size_t n = name ? strlen(name) : 0;
    struct bt__token token = bt__token_read(name ? name : "", n, 0);
    int is_name = token.kind == BT__TOKEN_NAME && token.place.width == n;
    for (uint32_t i = 0; is_name && i < BT_COUNT(words); i++)
        is_name = strcmp(words[i], name) != 0;
    if (!is_name) {
        refuse(f, "%s cannot be called `%s`", what, name ? name : "");
        return NULL;
    }
    const char *copy = bt_arena_text(f->maker.arena, name, n);
    if (!copy)
        lack(f);
    return copy;
}

/* ---- expressions ---- */

static const bt_expr *finish(bt_formula *f, bt_expr *node)
{
    const bt_expr *out = NULL;
    bt_status status = f->status ? f->status : bt__maker_node(&f->maker, node, &out);
    if (!f->status)
        f->status = status;
    return f->status ? NULL : out;
}

static bt_expr *begin(bt_formula *f, uint32_t kind)
{
    bt_expr *node = f->status ? NULL : BT_NEW(f->maker.arena, bt_expr);
    if (!node) {
        lack(f);
        return NULL;
    }
    node->kind = kind;
    return node;
}

/* 0: one is missing, or no memory. */
static int take_args(bt_formula *f, bt_expr *node, uint32_t n, const bt_expr *const *args)
{
    const bt_expr **copy = BT_NEWS(f->maker.arena, const bt_expr *, n);
    if (!copy)
        lack(f);
    for (uint32_t i = 0; copy && i < n; i++) {
        copy[i] = args[i];
        if (!args[i])
            refuse(f, "an expression is missing");
    }
    node->narg = n;
    node->args = copy;
    return !f->status;
}

static const bt_expr *named(bt_formula *f, uint32_t kind, const char *what,
                            const char *name, uint32_t n, const bt_expr *const *args)
{
    bt_expr *node = begin(f, kind);
    if (!node || !(node->name = take_name(f, what, name)) || !take_args(f, node, n, args))
        return NULL;
    return finish(f, node);
}

const bt_expr *bt_expr_name(bt_formula *f, const char *name)
{
    return named(f, BT__AST_NAME, "anything", name, 0, NULL);
}

const bt_expr *bt_expr_read(bt_formula *f, const char *array, uint32_t n,
                            const bt_expr *const *indices)
{
    return named(f, BT__AST_INDEX, "an array", array, n, indices);
}

const bt_expr *bt_expr_call(bt_formula *f, const char *name, uint32_t n,
                            const bt_expr *const *args)
{
    return named(f, BT__AST_CALL, "a scalar operator", name, n, args);
}

/* Text has no negative numbers: -3 is neg(3). */
static const bt_expr *negated(bt_formula *f, const bt_expr *positive)
{
    return bt_expr_call(f, "neg", 1, &positive);
}

const bt_expr *bt_expr_int(bt_formula *f, int64_t value)
{
    bt_expr *node = begin(f, BT__AST_INT);
    if (!node)
        return NULL;
    if (value == INT64_MIN) {
        const bt_expr *pair[2] = { bt_expr_int(f, INT64_MIN + 1), bt_expr_int(f, 1) };
        return bt_expr_call(f, "sub", 2, pair);
    }
    node->integer = value < 0 ? -value : value;
    const bt_expr *out = finish(f, node);
    return value < 0 ? negated(f, out) : out;
}

const bt_expr *bt_expr_float(bt_formula *f, double value)
{
    bt_expr *node = begin(f, BT__AST_FLOAT);
    if (!node)
        return NULL;
    int is_negative = !isnan(value) && signbit(value);
    node->number = is_negative ? -value : value;
    const bt_expr *out = finish(f, node);
    return is_negative ? negated(f, out) : out;
}

const bt_expr *bt_expr_rest(bt_formula *f)
{
    bt_expr *node = begin(f, BT__AST_REST);
    return node ? finish(f, node) : NULL;
}

const bt_expr *bt_expr_else(bt_formula *f, const bt_expr *inside, const bt_expr *outside)
{
    const bt_expr *pair[2] = { inside, outside };
    bt_expr *node = begin(f, BT__AST_ELSE);
    return node && take_args(f, node, 2, pair) ? finish(f, node) : NULL;
}

/* NULL: refused, or no memory. `..` is an axis of a stage only. */
static const struct bt__ast_var *take_vars(bt_formula *f, uint32_t n,
                                           const bt_index *indices, int is_axis)
{
    struct bt__ast_var *vars = BT_NEWS(f->maker.arena, struct bt__ast_var, n);
    if (!vars)
        lack(f);
    for (uint32_t i = 0; vars && i < n && !f->status; i++) {
        vars[i].extent = indices[i].extent;
        vars[i].is_rest =
            is_axis && indices[i].name && strcmp(indices[i].name, "..") == 0;
        if (vars[i].is_rest)
            continue;
        vars[i].name = take_name(f, "an index", indices[i].name);
        bt_status status =
            vars[i].name
                ? bt__maker_check_name(&f->maker, "an index", vars[i].name, vars[i].place)
                : NULL;
        if (!f->status)
            f->status = status;
    }
    return f->status ? NULL : vars;
}

const bt_expr *bt_expr_reduce(bt_formula *f, const bt_reduction *fields)
{
    bt_expr *node = begin(f, BT__AST_REDUCE);
    if (!node || !(node->name = take_name(f, "a reducer", fields->reducer)))
        return NULL;
    if (bt__reducer_find(node->name) < 0 || !fields->nindex) {
        refuse(f, fields->nindex ? "no reducer is called `%s`" : "%s has no index",
               node->name);
        return NULL;
    }
    if (fields->dtype && !(node->dtype = take_name(f, "a dtype", fields->dtype)))
        return NULL;
    node->nvar = fields->nindex;
    node->vars = take_vars(f, fields->nindex, fields->indices, 0);
    node->condition = fields->condition;
    return node->vars && take_args(f, node, 1, &fields->body) ? finish(f, node) : NULL;
}

/* ---- stages ---- */

bt_status bt_formula_stage(bt_formula *f, const bt_stage *fields)
{
    struct bt__ast_stage stage = { .naxis = fields->dtype ? fields->naxis : 0 };
    if (f->status)
        return f->status;
    stage.expr = fields->value;
    if (!stage.expr) {
        refuse(f, "a stage has no value");
        return f->status;
    }
    stage.name = take_name(f, "a stage", fields->name);
    if (stage.name && fields->dtype)
        stage.dtype = take_name(f, "a dtype", fields->dtype);
    if (!f->status)
        stage.axes = take_vars(f, stage.naxis, fields->axes, 1);
    if (!f->status)
        f->status = bt__maker_check_name(&f->maker, "a stage", stage.name, stage.place);
    if (!f->status)
        f->status = bt__maker_add_stage(&f->maker, &stage);
    return f->status;
}

bt_status bt_formula_result(bt_formula *f, const char *stage)
{
    const char *name = f->status ? NULL : take_name(f, "a result", stage);
    if (name)
        f->status = bt__maker_add_result(&f->maker, name, (struct bt__ast_place){ 0 });
    return f->status;
}

static bt_status complete(bt_formula *f, const struct bt__formula **out)
{
    bt_text text;
    if (f->status)
        return f->status;
    BT_TRY(bt__maker_finish(&f->maker, out));
    if (!*out) {
        refuse(f, "no stage is an array");
        return f->status;
    }
    bt_text_init(&text, f->maker.arena);
    bt__formula_print(f->maker.formula, 1, &text);
    f->maker.formula->text = bt_text_get(&text);
    return f->maker.formula->text ? NULL : bt_no_memory();
}

/* ---- by itself ---- */

bt_status bt_formula_create(bt_ctx *ctx, const char *op, bt_formula **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    bt_formula *f = bt_alloc(registry, sizeof(*f));
    bt_arena *arena = f ? bt_arena_create(registry) : NULL;
    bt_status status = arena ? bt__maker_init(&f->maker, ctx, arena, op) : bt_no_memory();
    if (status) {
        bt_arena_destroy(arena);
        bt_free(registry, f, sizeof(*f));
        return status;
    }
    f->registry = bt_registry_ref(registry);
    *out = f;
    return NULL;
}

void bt_formula_destroy(bt_formula *f)
{
    bt_registry *registry = f ? f->registry : NULL;
    if (!registry)
        return; // a hook's belongs to whoever called it
    bt_arena_destroy(f->maker.arena);
    bt_free(registry, f, sizeof(*f));
    bt_registry_unref(registry);
}

bt_status bt_formula_print(bt_formula *f, bt_text *out)
{
    const struct bt__formula *formula;
    BT_TRY(complete(f, &formula));
    bt_text_addf(out, "%s", formula->text);
    return NULL;
}

/* ---- an operator's ---- */

/* One of the two hooks. */
static bt_status call_hook(bt_ctx *ctx, const bt_formula_call *call, bt_text *text,
                           bt_formula *f)
{
    bt_running_part part = { "the formula hook of", call->op->name, call->op->plugin,
                             NULL };
    bt__part_begin(ctx, &part);
    bt_status status = text ? call->op->write_formula(ctx, call, text)
                            : call->op->build_formula(f, call);
    bt__part_end(ctx, &part);
    return status;
}

static bt_status write(bt_ctx *ctx, bt_arena *arena, const bt_formula_call *call,
                       const char **out)
{
    bt_text *text = BT_NEW(arena, bt_text);
    if (!text)
        return bt_no_memory();
    bt_text_init(text, arena);
    BT_TRY(call_hook(ctx, call, text, NULL));
    *out = bt_text_get(text);
    return *out ? NULL : bt_no_memory();
}

static bt_status build(bt_ctx *ctx, bt_arena *arena, const bt_formula_call *call,
                       const struct bt__formula **out)
{
    bt_formula f = { 0 };
    BT_TRY(bt__maker_init(&f.maker, ctx, arena, call->op->name));
    BT_TRY(call_hook(ctx, call, NULL, &f));
    return complete(&f, out);
}

bt_status bt__formula_of_call(bt_ctx *ctx, bt_arena *arena, const bt_formula_call *call,
                              const struct bt__formula **out)
{
    const char *text = call->op->formula;
    if (!text && call->op->build_formula)
        return build(ctx, arena, call, out);
    if (!text)
        BT_TRY(write(ctx, arena, call, &text));
    return bt__formula_parse(ctx, arena, call->op->name, text, out);
}
