/* Loops as text. */
#include <inttypes.h>

#include "compute/graph/print.h"
#include <baton/loops.h>

#include "compute/graph/graph.h"

struct printer {
    const bt_loops *loops;
    bt_text *out;
};

enum { INDENT = 4 };

static void print_block(struct printer *p, const bt_stmts *stmts, int indent);

static const char *buffer_name(const struct printer *p, uint32_t buffer)
{
    return p->loops->graph->arrays[buffer]->name;
}

static void print_node(struct printer *p, const bt_node *node)
{
    bt__node_print(p->loops->graph, node, p->out);
}

static void print_element(struct printer *p, uint32_t buffer, const bt_node *offset)
{
    bt_text_addf(p->out, "%s[", buffer_name(p, buffer));
    print_node(p, offset);
    bt_text_addf(p->out, "]");
}

static void print_take(struct printer *p, const bt_stmt *stmt)
{
    const struct bt__reducer *row = bt__reducer_get(stmt->reducer);
    char of[BT_DTYPE_NAME_SIZE];
    print_element(p, stmt->buffer, stmt->offset);
    if (row->nstate > 1)
        bt_text_addf(p->out, ", %s", buffer_name(p, stmt->buffer2));
    bt_text_addf(p->out, " %s[%s]= ", row->name, bt_dtype_name(stmt->of, of, sizeof(of)));
    print_node(p, stmt->value);
    if (stmt->position) {
        bt_text_addf(p->out, " at ");
        print_node(p, stmt->position);
    }
    bt_text_addf(p->out, "\n");
}

static void print_call(struct printer *p, const bt_stmt *stmt)
{
    bt_text_addf(p->out, "%s(", stmt->callee);
    for (uint32_t i = 0; i < stmt->narg; i++) {
        const bt_call_arg *arg = &stmt->args[i];
        bt_text_addf(p->out, "%s", i ? ", " : "");
        if (arg->is_address) {
            bt_text_addf(p->out, "&");
            print_element(p, arg->buffer, arg->value);
        } else {
            print_node(p, arg->value);
        }
    }
    bt_text_addf(p->out, ")\n");
}

static void print_braced(struct printer *p, const bt_stmts *body, int indent)
{
    bt_text_addf(p->out, " {\n");
    print_block(p, body, indent + INDENT);
    bt_text_addf(p->out, "%*s}", indent, "");
}

static void print_stmt(struct printer *p, const bt_stmt *stmt, int indent)
{
    bt_text_addf(p->out, "%*s", indent, "");
    switch (stmt->kind) {
    case BT_STMT_FOR:
        bt_text_addf(p->out, "%s i%u in ", stmt->is_parallel ? "parallel" : "for",
                     stmt->index);
        print_node(p, stmt->extent);
        print_braced(p, &stmt->body, indent);
        bt_text_addf(p->out, "\n");
        break;
    case BT_STMT_IF:
        bt_text_addf(p->out, "if ");
        print_node(p, stmt->condition);
        print_braced(p, &stmt->body, indent);
        if (stmt->otherwise.len) {
            bt_text_addf(p->out, " else");
            print_braced(p, &stmt->otherwise, indent);
        }
        bt_text_addf(p->out, "\n");
        break;
    case BT_STMT_STORE:
        print_element(p, stmt->buffer, stmt->offset);
        bt_text_addf(p->out, " = ");
        print_node(p, stmt->value);
        bt_text_addf(p->out, "\n");
        break;
    case BT_STMT_TAKE: print_take(p, stmt); break;
    case BT_STMT_CHECK:
        bt_text_addf(p->out, "check ");
        print_node(p, stmt->condition);
        bt_text_addf(p->out, " : %s axis %u of ", stmt->array, stmt->axis);
        print_node(p, stmt->extent);
        bt_text_addf(p->out, "\n");
        break;
    default: print_call(p, stmt); break;
    }
}

/* Nests as deep as loops do: 64 indices, and conditions between them. */
static void print_block(struct printer *p, const bt_stmts *stmts, int indent)
{
    for (uint32_t i = 0; i < stmts->len; i++)
        print_stmt(p, stmts->at[i], indent);
}

/* <n, m in 1..64, k in 8..> */
static void print_dims(struct printer *p)
{
    const bt_graph *g = p->loops->graph;
    for (uint32_t i = 0; i < g->ndim; i++) {
        const bt_graph_dim *dim = g->dims[i];
        bt_text_addf(p->out, "%s%s: Dim", i ? ", " : "<", dim->name);
        if (dim->low > 0 || dim->high < BT_MAX_DIM)
            bt_text_addf(p->out, " in %" PRId64 "..", dim->low);
        if (dim->high < BT_MAX_DIM)
            bt_text_addf(p->out, "%" PRId64, dim->high);
    }
    bt_text_addf(p->out, "%s", g->ndim ? ">" : "");
}

bt_status bt_loops_print(const bt_loops *loops, bt_text *out)
{
    static const char *const roles[] = { "in", "out", "temp", "local" };
    struct printer p = { loops, out };
    char dtype[BT_DTYPE_NAME_SIZE];
    bt_text_addf(out, "loops %s", loops->name);
    print_dims(&p);
    bt_text_addf(out, " {\n");
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        bt_text_addf(out, "%*s%s %s: %s[", INDENT, "", roles[loops->roles.at[i]],
                     buffer_name(&p, i),
                     bt_dtype_name(loops->graph->arrays[i]->dtype, dtype, sizeof(dtype)));
        print_node(&p, loops->graph->arrays[i]->extents[0]);
        bt_text_addf(out, "]\n");
    }
    print_block(&p, &loops->body, INDENT);
    bt_text_addf(out, "}\n");
    return out->failed ? bt_no_memory() : NULL;
}
