/*
 * What a program of strips costs: a call, and for its work what its row says. Only how ways
 * to do the same compare matters.
 */
#include "lanes.h"

static const double call_ns = 5;

/* Elements far from each other are each in a cache line of its own. */
static double stride_cost(const struct cpu_form *form, const bt_stmt *stmt)
{
    int64_t stride;
    int is_strided = 0;
    for (uint32_t i = 0; i < form->naddress; i++)
        is_strided |= form->operands[i].access == CPU_STRIDED;
    if (!is_strided || !bt_node_is_const(stmt->args[form->naddress + 1].value, &stride))
        return 1;
    return stride > 16 || stride < -16 ? 5 : 1;
}

static double cost_of_call(const struct cpu_config *config, const bt_stmt *stmt)
{
    const struct cpu_callee *row = cpu_row_of(config, stmt->callee);
    const struct cpu_form *form = row ? cpu_form_of(row) : NULL;
    if (!form || form->naddress + form->ninteger != stmt->narg)
        return call_ns; // the check of the program refuses it
    double ns = row->ps * 1e-3;
    for (const int8_t *n = form->work; *n >= 0; n++)
        ns *= (double)stmt->args[form->naddress + (uint32_t)*n].value->high;
    return call_ns + ns * stride_cost(form, stmt);
}

int64_t cpu_iterations(const bt_node *extent)
{
    int64_t known = bt_node_number(extent), by;
    if (extent->kind == BT_NODE_SCALAR && extent->which == BT_SCALAR_CEILDIV &&
        bt_node_is_const(extent->args[1], &by) && by > 0)
        return bt_ceildiv_int64(cpu_iterations(extent->args[0]), by);
    return known >= 0                           ? known
           : extent->low > CPU_OPEN_ITERATIONS  ? extent->low
           : extent->high < CPU_OPEN_ITERATIONS ? extent->high
                                                : CPU_OPEN_ITERATIONS;
}

int64_t cpu_iterations_at_least(const bt_node *extent)
{
    const int64_t known = bt_node_number(extent);
    return known >= 0 ? known : extent->low > 1 ? extent->low : 1;
}

double cpu_cost(const struct cpu_config *config, const bt_stmts *block)
{
    double sum = 0;
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        double yes, no;
        switch (stmt->kind) {
        case BT_STMT_FOR:
            sum += (double)cpu_iterations(stmt->extent) *
                   (1 + cpu_cost(config, &stmt->body));
            break;
        case BT_STMT_IF:
            yes = cpu_cost(config, &stmt->body);
            no = cpu_cost(config, &stmt->otherwise);
            sum += 1 + (yes > no ? yes : no);
            break;
        case BT_STMT_CALL: sum += cost_of_call(config, stmt); break;
        default: sum += 1;
        }
    }
    return sum;
}
