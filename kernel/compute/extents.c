/* Inferred extents: a search of the tree for reads, before anything is built. */
#include "compute/extents.h"

#include <inttypes.h>
#include <string.h>

struct search {
    struct bt__names *names;
    const char *index; /* the index looked for */
    const bt__node *extent;
    const char *array; /* where the extent is from */
    uint32_t axis;
    struct bt__rest *rest; /* or the rest looked for */
    uint32_t guarded;      /* 1: guarded reads count too */
    bt_status status;
};

static void visit(struct search *, const bt__ast *);

/* Explicit indices behind `..` count from the right. */
static uint32_t axis_of(const bt__ast *read, uint32_t arg, uint32_t rank)
{
    for (uint32_t i = 0; i < arg; i++) {
        if (read->args[i]->kind == BT__AST_REST)
            return rank - (read->narg - arg);
    }
    return arg;
}

static void meet_extent(struct search *s, const struct bt__array *array, uint32_t axis,
                        const bt__ast *read)
{
    int64_t known, other;
    const bt__node *extent = array->extents[axis];
    if (s->extent && bt__node_is_const(s->extent, &known) &&
        bt__node_is_const(extent, &other) && known != other && !s->status)
        s->status = bt__formula_fail(s->names->ctx, s->names->in->formula, BT_ERR_RUNTIME,
                                     read->place,
                                     "dims do not fit: axis %u of %s has extent %" PRId64
                                     ", axis %u of %s has %" PRId64,
                                     s->axis, s->array, known, axis, array->name, other);
    if (!s->extent || !bt__node_is_const(s->extent, &known)) {
        s->extent = extent;
        s->array = array->name;
        s->axis = axis;
    }
}

static void meet_rest(struct search *s, const struct bt__array *array, uint32_t first,
                      uint32_t n, const bt__ast *read)
{
    struct bt__rest *rest = s->rest;
    int64_t known, other;
    rest->is_known = 1;
    // aligned at the right: what is longer moves the others
    if (n > rest->rank) {
        memmove(&rest->extents[n - rest->rank], rest->extents,
                rest->rank * sizeof(*rest->extents));
        for (uint32_t i = 0; i < n - rest->rank; i++)
            rest->extents[i] = NULL;
        rest->rank = n;
    }
    for (uint32_t i = 0; i < n; i++) {
        const bt__node **at = &rest->extents[rest->rank - n + i];
        const bt__node *extent = array->extents[first + i];
        int is_known = *at && bt__node_is_const(*at, &known);
        int is_new = bt__node_is_const(extent, &other);
        if (!*at || (is_known && known == 1) || (!is_known && is_new && other != 1))
            *at = extent;
        else if (is_known && is_new && known != other && other != 1 && !s->status)
            s->status = bt__formula_fail(
                s->names->ctx, s->names->in->formula, BT_ERR_RUNTIME, read->place,
                "dims do not broadcast: %" PRId64 " and %" PRId64 " (axis %u of %s)",
                known, other, first + i, array->name);
    }
}

static void visit_read(struct search *s, const bt__ast *ast)
{
    int number = bt__names_array(s->names, ast->name);
    uint32_t nrest = 0;
    for (uint32_t i = 0; i < ast->narg; i++)
        nrest += ast->args[i]->kind == BT__AST_REST;
    if (number >= 0) {
        const struct bt__array *array = &s->names->graph->arrays[number];
        // a read of another rank is an error that the walk reports
        if (nrest > 1 || (nrest ? ast->narg - 1 > array->rank : ast->narg != array->rank))
            return;
        for (uint32_t i = 0; i < ast->narg; i++) {
            const bt__ast *arg = ast->args[i];
            if (s->rest && arg->kind == BT__AST_REST)
                meet_rest(s, array, i, array->rank - (ast->narg - 1), ast);
            else if (s->index && arg->kind == BT__AST_NAME &&
                     strcmp(arg->name, s->index) == 0)
                meet_extent(s, array, axis_of(ast, i, array->rank), ast);
        }
    }
    for (uint32_t i = 0; i < ast->narg; i++)
        visit(s, ast->args[i]);
}

static int binds(const bt__ast *reduction, const char *name)
{
    for (uint32_t i = 0; name && i < reduction->nvar; i++) {
        if (strcmp(reduction->vars[i].name, name) == 0)
            return 1;
    }
    return 0;
}

static void visit(struct search *s, const bt__ast *ast)
{
    switch (ast->kind) {
    case BT__AST_INDEX: visit_read(s, ast); return;
    case BT__AST_ELSE:
        for (uint32_t i = 0; s->guarded && i < 2; i++)
            visit(s, ast->args[i]);
        return;
    case BT__AST_CALL:
        for (uint32_t i = 0; i < ast->narg; i++) {
            if (i == 0 || s->guarded || strcmp(ast->name, "select") != 0)
                visit(s, ast->args[i]);
        }
        return;
    case BT__AST_REDUCE:
        if (binds(ast, s->index))
            return;
        if (ast->condition)
            visit(s, ast->condition);
        visit(s, ast->args[0]);
        return;
    default: return;
    }
}

bt_status bt__extent_infer(struct bt__names *names, const struct bt__ast_var *var,
                           const bt__ast *body, const bt__ast *condition,
                           const bt__node **out)
{
    struct search s = { .names = names, .index = var->name };
    // what a guarded read says counts where no other read says anything
    for (s.guarded = 0; s.guarded < 2 && !s.extent && !s.status; s.guarded++) {
        visit(&s, body);
        if (condition)
            visit(&s, condition);
    }
    if (s.status)
        return s.status;
    if (!s.extent)
        s.extent = bt_map_find(&names->dims, var->name);
    if (!s.extent)
        return bt__formula_fail(names->ctx, names->in->formula, BT_ERR_TYPE, var->place,
                                "no read is indexed by `%s` alone: state its extent, "
                                "`%s in n`",
                                var->name, var->name);
    *out = s.extent;
    return NULL;
}

bt_status bt__rest_infer(struct bt__names *names, const struct bt__ast_stage *stage,
                         struct bt__rest *out)
{
    struct search s = { .names = names, .rest = out, .guarded = 1 };
    *out = (struct bt__rest){ 0 };
    visit(&s, stage->expr);
    if (s.status)
        return s.status;
    if (!out->is_known)
        return bt__formula_fail(names->ctx, names->in->formula, BT_ERR_TYPE, stage->place,
                                "no read of %s has `..`, so its axes are not known",
                                stage->name);
    return NULL;
}
