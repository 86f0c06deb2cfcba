/* Which reductions of float32 are taken in float32, and which in float64. */
#include "accumulator.h"

/* Sums of so many terms lose nothing in float32 that a result would show. */
enum { SHORT_SUM = 64 };

/* Whether an array is read where the index is not all of a place: along a window, which has
 * as many terms whatever the array has. `seen` by id. */
static int is_along_window(const bt_node *node, uint32_t index, uint8_t *seen)
{
    if (!(node->free & bt_index_bit(index)) || !node->reads || seen[node->id])
        return 0;
    seen[node->id] = 1;
    for (uint32_t i = 0; i < node->narg; i++) {
        const bt_node *arg = node->args[i];
        if (is_along_window(arg, index, seen) ||
            (node->kind == BT_NODE_READ && (arg->free & bt_index_bit(index)) &&
             arg->free != bt_index_bit(index)))
            return 1;
    }
    return 0;
}

/* Whether so few terms are summed for any dims. */
static int is_short(bt_arena *arena, const bt_node *reduce)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < reduce->nindex; i++) {
        uint8_t *seen = BT_NEWS(arena, uint8_t, (size_t)reduce->id + 1);
        if (!seen || bt_node_number(reduce->args[2 + i]) < 0 ||
            !is_along_window(reduce->args[1], reduce->first + i, seen) ||
            !bt_mul_int64(n, bt_node_number(reduce->args[2 + i]), &n))
            return 0;
    }
    return n <= SHORT_SUM;
}

int cpu_sums_products(const bt_node *reduce)
{
    const bt_node *body = reduce->args[1];
    while (body->kind == BT_NODE_CAST && body->args[0]->dtype == BT_FLOAT32)
        body = body->args[0];
    return reduce->which == BT_REDUCER_SUM && body->kind == BT_NODE_SCALAR &&
           body->which == BT_SCALAR_MUL && body->args[0] != body->args[1];
}

/* Whether data say which element takes a term: all are in memory at once, and wider ones would take
 * twice the bytes. */
static int is_addressed(const bt_node *condition, uint64_t reduced)
{
    if (condition->kind != BT_NODE_SCALAR || !condition->reads)
        return 0;
    if (condition->which == BT_SCALAR_AND)
        return is_addressed(condition->args[0], reduced) ||
               is_addressed(condition->args[1], reduced);
    if (condition->which != BT_SCALAR_EQ || condition->args[1]->dtype != BT_INT64)
        return 0;
    bt_linear form; // 0 == index - element
    bt_node_as_linear(condition->args[1], &form);
    for (uint32_t i = 0; i < form.n; i++) {
        if (form.atoms[i]->kind == BT_NODE_INDEX && !(form.atoms[i]->free & reduced))
            return 1;
    }
    return 0;
}

static uint64_t indices_of(const bt_node *reduce)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < reduce->nindex; i++)
        all |= bt_index_bit(reduce->first + i);
    return all;
}

int cpu_is_narrow(void *self, const bt_node *reduce)
{
    return reduce->which == BT_REDUCER_SUM || reduce->which == BT_REDUCER_PROD
               ? cpu_sums_products(reduce) || is_short(self, reduce) ||
                     is_addressed(reduce->args[0], indices_of(reduce))
               : 1;
}
