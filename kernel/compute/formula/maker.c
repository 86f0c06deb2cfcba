/* What makes trees of index notation well-formed. */
#include <string.h>

#include "base/ctx.h"
#include "compute/formula/ast.h"
#include "compute/formula/signature.h"

bt_status bt__formula_fail(bt_ctx *ctx, const struct bt__formula *f, uint32_t code,
                           struct bt__ast_place at, const char *format, ...)
{
    const struct bt__range range = { f->op, f->text, strlen(f->text), at.offset,
                                     at.width };
    va_list args;
    va_start(args, format);
    bt_status status = bt__fail_in(ctx, code, &range, format, args);
    va_end(args);
    return status;
}

bt_status bt__maker_init(struct bt__maker *m, bt_ctx *ctx, bt_arena *arena,
                         const char *op)
{
    static const struct bt__signature none;
    *m = (struct bt__maker){ .ctx = ctx, .arena = arena };
    m->formula = BT_NEW(arena, struct bt__formula);
    if (!m->formula || !(m->formula->op = bt_arena_text(arena, op, strlen(op))))
        return bt_no_memory();
    m->formula->signature = &none;
    return NULL;
}

/* ---- nodes ---- */

struct extent {
    uint32_t depth;
    uint64_t nnode;
};

static void take_part(struct extent *e, const bt__ast *part)
{
    if (!part)
        return;
    e->depth = part->depth > e->depth ? part->depth : e->depth;
    e->nnode += part->nnode;
}

bt_status bt__maker_node(struct bt__maker *m, bt__ast *node, const bt__ast **out)
{
    struct extent e = { 0 };
    uint32_t limit = bt_ctx_limits(m->ctx)->depth;
    take_part(&e, node->condition);
    for (uint32_t i = 0; i < node->narg; i++)
        take_part(&e, node->args[i]);
    for (uint32_t i = 0; i < node->nvar; i++)
        take_part(&e, node->vars[i].extent);
    if (e.depth >= limit)
        return bt__formula_fail(m->ctx, m->formula, BT_ERR_LIMIT, node->place,
                                "nested deeper than limits.depth = %u", limit);
    if (e.nnode >= BT__FORMULA_NODES)
        return bt__formula_fail(m->ctx, m->formula, BT_ERR_LIMIT, node->place,
                                "an expression of more than %d parts", BT__FORMULA_NODES);
    node->depth = e.depth + 1;
    node->nnode = (uint32_t)e.nnode + 1;
    *out = node;
    return NULL;
}

bt_status bt__maker_check_name(struct bt__maker *m, const char *what, const char *name,
                               struct bt__ast_place at)
{
    return strchr(name, '.') ? bt__formula_fail(m->ctx, m->formula, BT_ERR_SYNTAX, at,
                                                "%s cannot be called `%s`", what, name)
                             : NULL;
}

/* ---- stages and results ---- */

bt_status bt__maker_add_stage(struct bt__maker *m, const struct bt__ast_stage *stage)
{
    for (uint32_t i = 0; i < m->stages.len; i++) {
        if (strcmp(m->stages.at[i].name, stage->name) == 0)
            return bt__formula_fail(m->ctx, m->formula, BT_ERR_NAME, stage->place,
                                    "two stages are called `%s`", stage->name);
    }
    return BT_PUSH(m->arena, &m->stages, *stage) ? NULL : bt_no_memory();
}

bt_status bt__maker_add_result(struct bt__maker *m, const char *stage,
                               struct bt__ast_place at)
{
    for (uint32_t i = 0; i < m->stages.len; i++) {
        if (m->stages.at[i].dtype && strcmp(m->stages.at[i].name, stage) == 0)
            return BT_PUSH(m->arena, &m->results, i) ? NULL : bt_no_memory();
    }
    return bt__formula_fail(m->ctx, m->formula, BT_ERR_NAME, at,
                            "no array stage is called `%s`", stage);
}

bt_status bt__maker_finish(struct bt__maker *m, const struct bt__formula **out)
{
    uint32_t last = m->stages.len;
    while (last > 0 && !m->stages.at[last - 1].dtype)
        last--;
    *out = NULL;
    if (!last)
        return NULL;
    if (!m->results.len && !BT_PUSH(m->arena, &m->results, last - 1))
        return bt_no_memory();
    m->formula->nstage = m->stages.len;
    m->formula->stages = m->stages.at;
    m->formula->nresult = m->results.len;
    m->formula->results = m->results.at;
    *out = m->formula;
    return NULL;
}
