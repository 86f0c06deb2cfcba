/* Trees of index notation as text: what the parser reads back to the same tree. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/formula/ast.h"
#include "value/number.h"

struct printer {
    bt_text *out;
    int places; /* nodes learn where they stand */
};

/* How tightly an expression binds, loosest first, as the parser's rules do. */
enum {
    LEVEL_ELSE,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_COMPARE,
    LEVEL_SUM,
    LEVEL_PRODUCT,
    LEVEL_UNARY,
    LEVEL_PRIMARY
};

static const struct sign {
    const char *name, *sign;
    uint32_t narg, level;
} signs[] = {
    { "or", "||", 2, LEVEL_OR },      { "and", "&&", 2, LEVEL_AND },
    { "eq", "==", 2, LEVEL_COMPARE }, { "ne", "!=", 2, LEVEL_COMPARE },
    { "lt", "<", 2, LEVEL_COMPARE },  { "le", "<=", 2, LEVEL_COMPARE },
    { "add", "+", 2, LEVEL_SUM },     { "sub", "-", 2, LEVEL_SUM },
    { "mul", "*", 2, LEVEL_PRODUCT }, { "div", "/", 2, LEVEL_PRODUCT },
    { "neg", "-", 1, LEVEL_UNARY },   { "truncmod", "%", 2, LEVEL_PRODUCT },
    { "not", "!", 1, LEVEL_UNARY },
};

static const struct sign *sign_of(const bt__ast *ast)
{
    for (uint32_t i = 0; ast->kind == BT__AST_CALL && i < BT_COUNT(signs); i++) {
        if (signs[i].narg == ast->narg && strcmp(signs[i].name, ast->name) == 0)
            return &signs[i];
    }
    return NULL;
}

static uint32_t level_of(const bt__ast *ast)
{
    const struct sign *sign = sign_of(ast);
    return ast->kind == BT__AST_ELSE ? LEVEL_ELSE : sign ? sign->level : LEVEL_PRIMARY;
}

static void print(struct printer *p, const bt__ast *ast, uint32_t level);

/* What names the node in messages; its place is there. */
static void mark(struct printer *p, const bt__ast *ast, const char *word)
{
    struct bt__ast_place place = { (uint32_t)p->out->len, (uint32_t)strlen(word) };
    // nobody else has seen the tree yet
    if (p->places)
        ((bt__ast *)(uintptr_t)ast)->place = place;
    bt_text_addf(p->out, "%s", word);
}

static void print_number(struct printer *p, const bt__ast *ast)
{
    char digits[24];
    size_t start = p->out->len;
    if (ast->kind == BT__AST_INT) {
        snprintf(digits, sizeof(digits), "%" PRId64, ast->integer);
        mark(p, ast, digits);
        return;
    }
    mark(p, ast, "");
    bt__text_add_float(p->out, BT_FLOAT64, ast->number);
    if (isfinite(ast->number) && p->out->at && !strpbrk(p->out->at + start, ".e"))
        bt_text_addf(p->out, ".0");
    if (p->places)
        ((bt__ast *)(uintptr_t)ast)->place.width = (uint32_t)(p->out->len - start);
}

static void print_list(struct printer *p, uint32_t n, const bt__ast *const *args)
{
    for (uint32_t i = 0; i < n; i++) {
        bt_text_addf(p->out, i ? ", " : "");
        print(p, args[i], LEVEL_ELSE);
    }
}

static void print_vars(struct printer *p, uint32_t n, const struct bt__ast_var *vars)
{
    for (uint32_t i = 0; i < n; i++) {
        struct bt__ast_var *var = (struct bt__ast_var *)(uintptr_t)&vars[i];
        bt_text_addf(p->out, i ? ", " : "");
        if (p->places)
            var->place.offset = (uint32_t)p->out->len;
        bt_text_addf(p->out, "%s", var->is_rest ? ".." : var->name);
        if (p->places)
            var->place.width = (uint32_t)p->out->len - var->place.offset;
        if (!var->extent)
            continue;
        bt_text_addf(p->out, " in ");
        print(p, var->extent, LEVEL_ELSE);
    }
}

static void print_call(struct printer *p, const bt__ast *ast)
{
    const struct sign *sign = sign_of(ast);
    if (!sign) {
        mark(p, ast, ast->name);
        bt_text_addf(p->out, "(");
        print_list(p, ast->narg, ast->args);
        bt_text_addf(p->out, ")");
    } else if (sign->narg == 1) {
        mark(p, ast, sign->sign);
        print(p, ast->args[0], LEVEL_PRIMARY);
    } else {
        // comparisons do not chain, all else is read from the left
        print(p, ast->args[0], sign->level + (sign->level == LEVEL_COMPARE));
        bt_text_addf(p->out, " ");
        mark(p, ast, sign->sign);
        bt_text_addf(p->out, " ");
        print(p, ast->args[1], sign->level + 1);
    }
}

static void print_reduction(struct printer *p, const bt__ast *ast)
{
    mark(p, ast, ast->name);
    if (ast->dtype)
        bt_text_addf(p->out, "[%s]", ast->dtype);
    bt_text_addf(p->out, "(");
    print_vars(p, ast->nvar, ast->vars);
    if (ast->condition) {
        bt_text_addf(p->out, " | ");
        print(p, ast->condition, LEVEL_ELSE);
    }
    bt_text_addf(p->out, ": ");
    print(p, ast->args[0], LEVEL_ELSE);
    bt_text_addf(p->out, ")");
}

static void print_bare(struct printer *p, const bt__ast *ast)
{
    switch (ast->kind) {
    case BT__AST_INT:
    case BT__AST_FLOAT: print_number(p, ast); break;
    case BT__AST_NAME: mark(p, ast, ast->name); break;
    case BT__AST_REST: mark(p, ast, ".."); break;
    case BT__AST_INDEX:
        mark(p, ast, ast->name);
        bt_text_addf(p->out, "[");
        print_list(p, ast->narg, ast->args);
        bt_text_addf(p->out, "]");
        break;
    case BT__AST_CALL: print_call(p, ast); break;
    case BT__AST_REDUCE: print_reduction(p, ast); break;
    default: // BT__AST_ELSE
        print(p, ast->args[0], LEVEL_OR);
        bt_text_addf(p->out, " ");
        mark(p, ast, "else");
        bt_text_addf(p->out, " ");
        print(p, ast->args[1], LEVEL_ELSE);
        break;
    }
}

/* In parentheses where it binds more loosely than its place asks for. The tree's depth is
 * limited. */
static void print(struct printer *p, const bt__ast *ast, uint32_t level)
{
    int inside = level_of(ast) < level;
    bt_text_addf(p->out, inside ? "(" : "");
    print_bare(p, ast);
    bt_text_addf(p->out, inside ? ")" : "");
}

static void print_stage(struct printer *p, struct bt__ast_stage *stage)
{
    if (p->places)
        stage->place = (struct bt__ast_place){ (uint32_t)p->out->len,
                                               (uint32_t)strlen(stage->name) };
    bt_text_addf(p->out, "%s", stage->name);
    if (stage->dtype) {
        bt_text_addf(p->out, ": %s[", stage->dtype);
        print_vars(p, stage->naxis, stage->axes);
        bt_text_addf(p->out, "]");
    }
    bt_text_addf(p->out, " = ");
    print(p, stage->expr, LEVEL_ELSE);
}

void bt__formula_print(struct bt__formula *f, int places, bt_text *out)
{
    struct printer p = { out, places };
    for (uint32_t i = 0; i < f->nstage; i++) {
        bt_text_addf(out, i ? ";\n" : "");
        print_stage(&p, (struct bt__ast_stage *)(uintptr_t)&f->stages[i]);
    }
    bt_text_addf(out, "\n-> ");
    for (uint32_t i = 0; i < f->nresult; i++)
        bt_text_addf(out, "%s%s", i ? ", " : "", f->stages[f->results[i]].name);
}
