/* Work that a graph takes. */
#include "compute/cost.h"

static int64_t times(int64_t a, int64_t b)
{
    int64_t out;
    return bt_mul_int64(a, b, &out) ? out : INT64_MAX;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t out;
    return bt_add_int64(a, b, &out) ? out : INT64_MAX;
}

/* Points of the reductions in an expression, for one point around it; *any: there are
 * some. */
static int64_t points(const bt__node *node, int *any)
{
    int64_t sum = 0, each = 1;
    int inner = 0;
    for (uint32_t i = 0; i < node->narg; i++)
        sum = plus(sum, points(node->args[i], &inner));
    *any |= inner;
    if (node->kind != BT__NODE_REDUCE)
        return sum;
    *any = 1;
    for (uint32_t i = 0; i < node->nindex; i++)
        each = times(each, node->coefs[i]);
    return times(each, plus(sum, 1));
}

int64_t bt__graph_cost(const bt__graph *g)
{
    int64_t total = 0;
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        const struct bt__array *array = &g->arrays[i];
        int64_t nelem = 1, extent;
        int any = 0;
        for (uint32_t a = 0; a < array->rank; a++) {
            if (bt__node_is_const(array->extents[a], &extent))
                nelem = times(nelem, extent);
        }
        int64_t each = points(array->body, &any);
        if (!any && array->body->kind != BT__NODE_READ &&
            array->body->kind != BT__NODE_CONST)
            each = 1;
        total = plus(total, times(nelem, each));
    }
    return total;
}
