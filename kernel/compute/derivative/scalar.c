/* Derivatives of scalar operators, as their rows state them. */
#include "compute/derivative/derivative.h"

#include <math.h>
#include <string.h>

#include "compute/formula/ast.h"

/* What a row says of one argument: "1 / b; -y / b" has two parts. NULL: nothing. */
static const char *part_of(uint32_t which, uint32_t arg, size_t *length)
{
    const char *at = bt__scalar_get(which)->derivative;
    for (; arg && *at; arg--) {
        at += strcspn(at, ";");
        at += *at == ';';
    }
    at += strspn(at, " ");
    *length = strcspn(at, ";");
    return *length && strncmp(at, "0", *length) != 0 ? at : NULL;
}

int bt__node_passes(const bt_node *node, uint32_t arg)
{
    size_t length;
    if (!bt_dtype_is_float(node->dtype))
        return 0;
    switch (node->kind) {
    case BT_NODE_SCALAR:
        return bt_dtype_is_float(node->args[arg]->dtype) &&
               part_of(node->which, arg, &length) != NULL;
    case BT_NODE_CAST: return bt_dtype_is_float(node->args[0]->dtype);
    case BT_NODE_SELECT: return arg > 0;
    case BT_NODE_REDUCE: return arg == 1;
    default: return 0;
    }
}

static const bt_node *write(const struct bt__row *r, const bt__ast *ast)
{
    static const struct {
        const char *name;
        size_t offset;
    } names[] = { { "a", offsetof(struct bt__row, a) },
                  { "b", offsetof(struct bt__row, b) },
                  { "y", offsetof(struct bt__row, y) },
                  { "tie", offsetof(struct bt__row, tie) } };
    const bt_node *args[3] = { 0 };
    int which;
    if (ast->kind == BT__AST_INT)
        return bt_node_float(r->graph, r->dtype, (double)ast->integer);
    if (ast->kind == BT__AST_FLOAT)
        return bt_node_float(r->graph, r->dtype, ast->number);
    for (size_t i = 0; ast->kind == BT__AST_NAME && i < BT_COUNT(names); i++) {
        if (strcmp(ast->name, names[i].name) == 0)
            return *(const bt_node *const *)(const void *)((const char *)r +
                                                           names[i].offset);
    }
    for (uint32_t i = 0; ast->kind == BT__AST_CALL && i < ast->narg && i < 3; i++)
        args[i] = write(r, ast->args[i]);
    if (ast->kind == BT__AST_CALL && strcmp(ast->name, "select") == 0)
        return bt_node_select(r->graph, args[0], args[1], args[2]);
    which = ast->kind == BT__AST_CALL ? bt__scalar_find(ast->name) : -1;
    if (which >= 0)
        return bt_node_scalar(r->graph, (uint32_t)which, args[0], args[1]);
    r->graph->status = bt_fail(r->graph->ctx, BT_ERR_INTERNAL, "`%s` in a derivative",
                               ast->name ? ast->name : "?");
    return NULL;
}

const bt_node *bt__row_derivative(const struct bt__row *r, const char *part,
                                  size_t length)
{
    bt_graph *g = r->graph;
    const struct bt__formula *formula;
    bt_text text;
    bt_text_init(&text, g->arena);
    bt_text_addf(&text, "d: float64[] = %.*s", (int)length, part);
    const char *written = bt_text_get(&text);
    bt_status status =
        written ? bt__formula_parse(g->ctx, g->arena, "derivative", written, &formula)
                : bt_no_memory();
    if (status) {
        g->status = status;
        return NULL;
    }
    return write(r, formula->stages[0].expr);
}

/* Where both arguments of max are equal, which one the result follows is not defined: one that is
 * computed gets all against a constant's nothing, so that relu'(0) is 0, and half against another. */
static double tie_of(const bt_node *other)
{
    return other && !other->reads ? 0 : 0.5;
}

const bt_node *bt__scalar_derive(bt_graph *g, const bt_node *node, const bt_node *y,
                                 uint32_t arg, const bt_node *bar)
{
    size_t length;
    const char *part = part_of(node->which, arg, &length);
    const bt_node *other = node->narg > 1 ? node->args[1 - arg] : NULL;
    const struct bt__row r = { .graph = g,
                               .dtype = node->dtype,
                               .a = node->args[0],
                               .b = node->narg > 1 ? node->args[1] : NULL,
                               .y = y,
                               .tie = bt_node_float(g, node->dtype, tie_of(other)) };
    const bt_node *d = r.tie && part ? bt__row_derivative(&r, part, length) : NULL;
    if (!d)
        return NULL;
    if (d->kind == BT_NODE_CONST && d->value.f == 1)
        return bar;
    if (d->kind == BT_NODE_CONST && d->value.f == -1)
        return bt_node_scalar(g, BT_SCALAR_NEG, bar, NULL);
    const int has_poles = bt__scalar_get(node->which)->has_poles &&
                          !(d->kind == BT_NODE_CONST && isfinite(d->value.f));
    return bt_node_scalar(g, has_poles ? BT_SCALAR_ZMUL : BT_SCALAR_MUL, bar, d);
}
