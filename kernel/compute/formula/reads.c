/* Reads in the tree of a formula. */
#include "compute/formula/reads.h"

#include <string.h>

uint32_t bt__read_nindex(const bt__ast *read, int *rest)
{
    uint32_t n = 0;
    *rest = -1;
    for (uint32_t i = 0; i < read->narg; i++) {
        if (read->args[i]->kind == BT__AST_REST)
            *rest = (int)i;
        else
            n++;
    }
    return n;
}

uint32_t bt__read_axis(const bt__ast *read, uint32_t arg, uint32_t rank)
{
    int rest;
    (void)bt__read_nindex(read, &rest);
    // what stands behind `..` counts from the right
    return rest >= 0 && arg > (uint32_t)rest ? rank - (read->narg - arg) : arg;
}

static void search_read(struct bt__read_search *s, const bt__ast *ast)
{
    for (uint32_t i = 0; i < ast->narg; i++) {
        const bt__ast *arg = ast->args[i];
        if (s->index ? arg->kind == BT__AST_NAME && strcmp(arg->name, s->index) == 0
                     : arg->kind == BT__AST_REST)
            s->meet(s, ast, i);
        bt__reads_search(s, arg);
    }
}

static int binds(const bt__ast *reduction, const char *name)
{
    for (uint32_t i = 0; name && i < reduction->nvar; i++) {
        if (strcmp(reduction->vars[i].name, name) == 0)
            return 1;
    }
    return 0;
}

void bt__reads_search(struct bt__read_search *s, const bt__ast *ast)
{
    int is_select = ast->kind == BT__AST_CALL && strcmp(ast->name, "select") == 0;
    switch (ast->kind) {
    case BT__AST_INDEX: search_read(s, ast); return;
    case BT__AST_REDUCE:
        if (binds(ast, s->index))
            return;
        if (ast->condition)
            bt__reads_search(s, ast->condition);
        bt__reads_search(s, ast->args[0]);
        return;
    case BT__AST_ELSE:
    case BT__AST_CALL:
        for (uint32_t i = 0; i < ast->narg; i++) {
            if (s->guarded || (ast->kind == BT__AST_CALL && (!is_select || i == 0)))
                bt__reads_search(s, ast->args[i]);
        }
        return;
    default: return;
    }
}

/* Expressions nest to limits.depth. */
static int is_pointwise(const bt_op *op, const bt__ast *ast)
{
    if (ast->kind == BT__AST_REDUCE)
        return 0;
    if (ast->kind == BT__AST_INDEX)
        return ast->narg == 0 || (ast->narg == 1 && ast->args[0]->kind == BT__AST_REST) ||
               bt_attr_row(op->attrs, ast->name);
    for (uint32_t i = 0; i < ast->narg; i++) {
        if (!is_pointwise(op, ast->args[i]))
            return 0;
    }
    return 1;
}

bt_status bt__formula_is_pointwise(bt_ctx *ctx, const bt_op *op, const void *attrs,
                                   int *out)
{
    const struct bt__formula *f;
    const bt_formula_call call = { .op = op, .attrs = attrs };
    *out = 0;
    if (!op->formula && !op->formula_attr)
        return NULL;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_status status = bt__formula_of_call(ctx, scratch, &call, &f);
    *out = !status;
    for (uint32_t i = 0; !status && i < f->nstage; i++) {
        const struct bt__ast_stage *stage = &f->stages[i];
        if (stage->dtype && (stage->naxis != 1 || !stage->axes[0].is_rest))
            *out = 0;
        *out = *out && is_pointwise(op, stage->expr);
    }
    bt_arena_release(scratch, mark);
    return status;
}
