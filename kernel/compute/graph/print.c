/* The compute graph as text, in the notation as far as it goes. */
#include "compute/graph/print.h"

#include <inttypes.h>
#include <string.h>

#include "compute/graph/bounds.h"
#include "value/decimal.h"

struct printer {
    bt_graph *graph;
    bt_text *out;
    uint32_t rank;    /* of the stage */
    uint32_t is_flat; /* an expression of loops: buffers and indices by their names */
};

static void print(struct printer *, const bt_node *, const struct bt__facts *);

static void print_index(struct printer *p, uint32_t number)
{
    if (number < p->rank || p->is_flat)
        bt_text_addf(p->out, "i%u", number);
    else
        bt_text_addf(p->out, "r%u", number - p->rank);
}

static void print_array(struct printer *p, uint32_t array)
{
    if (p->is_flat)
        bt_text_addf(p->out, "%s", p->graph->arrays[array]->name);
    else if (array < p->graph->ninput)
        bt_text_addf(p->out, "a%u", array);
    else
        bt_text_addf(p->out, "s%u", array - p->graph->ninput);
}

static void print_dtype(struct printer *p, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    bt_text_addf(p->out, "%s", bt_dtype_name(dtype, name, sizeof(name)));
}

/* The least has no literal: numbers are read without their sign. */
static void print_int(struct printer *p, int64_t value)
{
    if (value == INT64_MIN && p->is_flat)
        bt_text_addf(p->out, "(-%" PRId64 " - 1)", INT64_MAX);
    else
        bt_text_addf(p->out, "%" PRId64, value);
}

static void print_number(struct printer *p, const bt_node *node)
{
    if (node->dtype == BT_BOOL)
        bt_text_addf(p->out, "%s", node->value.i ? "true" : "false");
    else if (node->dtype == BT_UINT64)
        bt_text_addf(p->out, "%" PRIu64, (uint64_t)node->value.i);
    else if (!bt_dtype_is_float(node->dtype))
        print_int(p, node->value.i);
    else
        bt__float_write(p->out, node->value.f, bt__float_format_of(BT_FLOAT64));
}

/* In loops nothing else says which dtype a number has. */
static void print_const(struct printer *p, const bt_node *node)
{
    if (!p->is_flat || node->dtype == BT_INT64 || node->dtype == BT_BOOL) {
        print_number(p, node);
        return;
    }
    print_dtype(p, node->dtype);
    bt_text_addf(p->out, "(");
    if (bt_dtype_is_float(node->dtype)) {
        // with a point: -0.0 is not the integer -0
        size_t start = p->out->len;
        print_number(p, node);
        if (!p->out->failed && !strpbrk(p->out->at + start, ".en"))
            bt_text_addf(p->out, ".0");
    } else {
        print_int(p, node->value.i);
    }
    bt_text_addf(p->out, ")");
}

static void print_linear(struct printer *p, const bt_node *node,
                         const struct bt__facts *facts)
{
    const char *sign = "";
    for (uint32_t i = 0; i < node->narg; i++) {
        int64_t coef = node->coefs[i];
        if (coef == INT64_MIN && p->is_flat) {
            bt_text_addf(p->out, "%s", sign);
            print_int(p, coef);
            bt_text_addf(p->out, "*");
            print(p, node->args[i], facts);
            sign = " + ";
            continue;
        }
        bt_text_addf(p->out, "%s", coef < 0 ? (i ? " - " : "-") : sign);
        if (coef != 1 && coef != -1)
            bt_text_addf(p->out, "%" PRIu64 "*",
                         coef < 0 ? -(uint64_t)coef : (uint64_t)coef);
        print(p, node->args[i], facts);
        sign = " + ";
    }
    if (node->value.i == INT64_MIN && p->is_flat) {
        bt_text_addf(p->out, " + ");
        print_int(p, node->value.i);
    } else if (node->value.i)
        bt_text_addf(p->out, " %c %" PRIu64, node->value.i < 0 ? '-' : '+',
                     node->value.i < 0 ? -(uint64_t)node->value.i
                                       : (uint64_t)node->value.i);
}

static void print_args(struct printer *p, const bt_node *node,
                       const struct bt__facts *facts)
{
    for (uint32_t i = 0; i < node->narg; i++) {
        bt_text_addf(p->out, "%s", i ? ", " : "");
        print(p, node->args[i], facts);
    }
}

/* A sum binds less than a product. */
static void print_factor(struct printer *p, const bt_node *node,
                         const struct bt__facts *facts, int is_product)
{
    int is_sum = is_product && node->kind == BT_NODE_LINEAR;
    bt_text_addf(p->out, "%s", is_sum ? "(" : "");
    print(p, node, facts);
    bt_text_addf(p->out, "%s", is_sum ? ")" : "");
}

static void print_infix(struct printer *p, const bt_node *node, const char *sign,
                        const struct bt__facts *facts)
{
    int is_product = *sign == '*' || *sign == '/';
    bt_text_addf(p->out, "(");
    print_factor(p, node->args[0], facts, is_product);
    bt_text_addf(p->out, " %s ", sign);
    print_factor(p, node->args[1], facts, is_product);
    bt_text_addf(p->out, ")");
}

static void print_scalar(struct printer *p, const bt_node *node,
                         const struct bt__facts *facts)
{
    static const struct {
        uint32_t which;
        const char *sign;
    } infixes[] = {
        { BT_SCALAR_ADD, "+" }, { BT_SCALAR_SUB, "-" }, { BT_SCALAR_MUL, "*" },
        { BT_SCALAR_DIV, "/" }, { BT_SCALAR_EQ, "==" }, { BT_SCALAR_NE, "!=" },
        { BT_SCALAR_LT, "<" },  { BT_SCALAR_LE, "<=" }, { BT_SCALAR_AND, "&&" },
        { BT_SCALAR_OR, "||" },
    };
    for (uint32_t i = 0; i < BT_COUNT(infixes); i++) {
        if (infixes[i].which == node->which) {
            print_infix(p, node, infixes[i].sign, facts);
            return;
        }
    }
    bt_text_addf(p->out, "%s(", bt__scalar_get(node->which)->name);
    print_args(p, node, facts);
    bt_text_addf(p->out, ")");
}

static void print_under(struct printer *p, const bt_node *condition, const bt_node *node,
                        const struct bt__facts *facts)
{
    struct bt__facts inner = { .outer = facts };
    if (p->is_flat) {
        print(p, node, NULL);
        return;
    }
    if (!condition || !bt_node_conjuncts(p->graph->arena, condition, &inner.conjuncts))
        p->out->failed = 1;
    print(p, node, &inner);
}

static void print_select(struct printer *p, const bt_node *node,
                         const struct bt__facts *facts)
{
    bt_text_addf(p->out, "select(");
    print(p, node->args[0], facts);
    bt_text_addf(p->out, ", ");
    print_under(p, node->args[0], node->args[1], facts);
    bt_text_addf(p->out, ", ");
    print_under(p, bt_node_scalar(p->graph, BT_SCALAR_NOT, node->args[0], NULL),
                node->args[2], facts);
    bt_text_addf(p->out, ")");
}

static void print_reduce(struct printer *p, const bt_node *node,
                         const struct bt__facts *facts)
{
    bt_text_addf(p->out, "%s(", bt__reducer_get(node->which)->name);
    for (uint32_t i = 0; i < node->nindex; i++) {
        bt_text_addf(p->out, "%s", i ? ", " : "");
        print_index(p, node->first + i);
        bt_text_addf(p->out, " in ");
        print(p, node->args[2 + i], facts);
    }
    if (!bt_node_is_true(node->args[0])) {
        bt_text_addf(p->out, " | ");
        print(p, node->args[0], facts);
    }
    bt_text_addf(p->out, ": ");
    print_under(p, node->args[0], node->args[1], facts);
    bt_text_addf(p->out, ")");
}

static void print_read(struct printer *p, const bt_node *node,
                       const struct bt__facts *facts)
{
    const bt_array *array = p->graph->arrays[node->which];
    int is_proved = 1;
    for (uint32_t i = 0; i < node->narg && !p->is_flat; i++)
        is_proved &= bt__facts_bound(p->graph, facts, node->args[i], array->extents[i]);
    print_array(p, node->which);
    bt_text_addf(p->out, "%s", is_proved ? "[" : "![");
    print_args(p, node, facts);
    bt_text_addf(p->out, "]");
}

static void print(struct printer *p, const bt_node *node, const struct bt__facts *facts)
{
    switch (node->kind) {
    case BT_NODE_CONST: print_const(p, node); break;
    case BT_NODE_INDEX: print_index(p, node->which); break;
    case BT_NODE_DIM:
        bt_text_addf(p->out, "%s", p->graph->dims[node->which]->name);
        break;
    case BT_NODE_LINEAR: print_linear(p, node, facts); break;
    case BT_NODE_SCALAR: print_scalar(p, node, facts); break;
    case BT_NODE_CAST:
        print_dtype(p, node->dtype);
        bt_text_addf(p->out, "(");
        print(p, node->args[0], facts);
        bt_text_addf(p->out, ")");
        break;
    case BT_NODE_SELECT: print_select(p, node, facts); break;
    case BT_NODE_READ: print_read(p, node, facts); break;
    default: print_reduce(p, node, facts); break;
    }
}

void bt__node_print(bt_graph *g, const bt_node *node, bt_text *out)
{
    struct printer p = { .graph = g, .out = out, .is_flat = 1 };
    print(&p, node, NULL);
}

/* ---- views ---- */

static void print_set(struct printer *p, const char *name, uint64_t set)
{
    const char *between = "";
    bt_text_addf(p->out, " %s[", name);
    for (uint32_t i = 0; i < BT_MAX_INDEX; i++) {
        if (!(set & bt_index_bit(i)))
            continue;
        bt_text_addf(p->out, "%s", between);
        print_index(p, i);
        between = ", ";
    }
    bt_text_addf(p->out, "]");
}

static void print_window(struct printer *p, const bt_view_window *w)
{
    bt_text_addf(p->out, " window(");
    print_array(p, w->array);
    bt_text_addf(p->out, ".%u: %" PRId64 "*", w->axis, w->stride);
    print_index(p, w->outer);
    bt_text_addf(p->out, " %c %" PRIu64 "*", w->dilation < 0 ? '-' : '+',
                 w->dilation < 0 ? -(uint64_t)w->dilation : (uint64_t)w->dilation);
    print_index(p, w->inner);
    bt_text_addf(p->out, " %c %" PRIu64 ")", w->offset < 0 ? '-' : '+',
                 w->offset < 0 ? -(uint64_t)w->offset : (uint64_t)w->offset);
}

/* Of a factor whose zero point is subtracted. */
static void print_zero(struct printer *p, const bt_view_factor *f)
{
    if (!f->zero && !f->zeros)
        return;
    bt_text_addf(p->out, " zero(");
    print_array(p, f->read->which);
    bt_text_addf(p->out, ": ");
    if (f->zeros)
        print_array(p, f->zeros->which);
    else
        bt_text_addf(p->out, "%" PRId64, f->zero);
    bt_text_addf(p->out, ")");
}

static void print_view(struct printer *p, const bt_array *stage)
{
    static const char *const kinds[] = { "none", "map", "contraction", "window", "row" };
    bt_view view;
    bt_view_of(p->graph, stage, &view);
    bt_text_addf(p->out, "    view: %s", kinds[view.kind]);
    if (view.is_pointwise)
        bt_text_addf(p->out, " pointwise");
    if (view.kind == BT_VIEW_CONTRACTION) {
        print_set(p, "batch", view.batch);
        print_set(p, "m", view.m);
        print_set(p, "n", view.n);
        print_set(p, "k", view.k);
    }
    for (uint32_t i = 0; view.kind == BT_VIEW_CONTRACTION && i < 2; i++)
        print_zero(p, &view.factors[i]);
    for (uint32_t i = 0; view.kind != BT_VIEW_NONE && i < view.nwindow; i++)
        print_window(p, &view.windows[i]);
    if (view.is_guarded)
        bt_text_addf(p->out, " guarded");
    if (view.has_epilogue)
        bt_text_addf(p->out, " epilogue");
    bt_text_addf(p->out, "\n");
}

bt_status bt_graph_print(bt_ctx *ctx, bt_graph *g, bt_text *out)
{
    (void)ctx;
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        const bt_array *array = g->arrays[i];
        struct printer p = { .graph = g, .out = out, .rank = array->rank };
        print_array(&p, i);
        bt_text_addf(out, ": ");
        print_dtype(&p, array->dtype);
        bt_text_addf(out, "[");
        for (uint32_t a = 0; a < array->rank; a++) {
            bt_text_addf(out, "%s", a ? ", " : "");
            print_index(&p, a);
            bt_text_addf(out, " in ");
            print(&p, array->extents[a], NULL);
        }
        bt_text_addf(out, "] = ");
        print(&p, array->body, NULL);
        bt_text_addf(out, "\n");
        print_view(&p, array);
    }
    return g->status ? g->status : out->failed ? bt_no_memory() : NULL;
}
