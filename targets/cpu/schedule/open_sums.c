/*
 * Which sums have an order that depends on numbers.
 *
 *     sum over k of a[i, k] * b[k, j]     rows and columns: tiles sum it, whatever the numbers are
 *     sum over k of a[i, k] * b[i, k]     neither: never by tiles, so by the rule of plain sums (bits.md)
 *     sum over k of a[k] * (k % m)        a factor that is computed: what lies beside what is not known
 */
#include "open_sums.h"

#include <string.h>

#include "accumulator.h"
#include "contract.h"

enum { MAX_READS = 8 };

struct search {
    bt_graph *graph;
    const bt_array *stage;
    uint8_t *seen, *met; /* by id: nodes of the stage; of one sum */
    /* Along which indices of the result reads of the sum lie, each set once. */
    uint32_t nread;
    uint64_t along[MAX_READS];
    int has_more;
    int is_any; /* products are looked for, whatever takes them */
};

static void add_read(struct search *s, uint64_t along)
{
    for (uint32_t i = 0; i < s->nread; i++) {
        if (s->along[i] == along)
            return;
    }
    if (s->nread == MAX_READS)
        s->has_more = 1;
    else
        s->along[s->nread++] = along;
}

static void add_reads(struct search *s, const bt_node *node, uint64_t indices)
{
    if (!node->reads || s->met[node->id])
        return;
    s->met[node->id] = 1;
    if (node->kind == BT_NODE_READ)
        add_read(s, node->free & indices);
    for (uint32_t i = 0; i < node->narg; i++)
        add_reads(s, node->args[i], indices);
}

/* Whether tiles might sum the products if numbers were known: two factors each lie along something of
 * the result that the other does not. */
static int has_rows_and_columns(struct search *s, const bt_node *reduce)
{
    uint64_t reduced = 0;
    for (uint32_t i = 0; i < reduce->nindex; i++)
        reduced |= bt_index_bit(reduce->first + i);
    memset(s->met, 0, s->graph->nnode);
    s->nread = 0;
    s->has_more = 0;
    add_reads(s, reduce->args[1], ~reduced);
    for (uint32_t i = 0; i < s->nread; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if ((s->along[i] & ~s->along[k]) && (s->along[k] & ~s->along[i]))
                return 1;
        }
    }
    return s->has_more;
}

static int has_computed_factor(const bt_node *reduce)
{
    const bt_node *body = reduce->args[1];
    while (body->kind == BT_NODE_CAST)
        body = body->args[0];
    return !body->args[0]->reads || !body->args[1]->reads;
}

/* Whether the order of the terms shows in the result, and depends on what numbers would be
 * there: products that tiles may sum, prefixes, which become scans, logarithms. What goes
 * to places that elements say is taken one after the other. */
static int depends_on_numbers(struct search *s, const bt_node *reduce)
{
    int is_float = (BT_CLASS_BITS_FLOAT & 1u << BT_DTYPE_CLASS(reduce->dtype)) != 0;
    int is_prefix = 0;
    for (uint32_t i = 0; i < reduce->nindex; i++)
        is_prefix |=
            bt_node_number(reduce->args[2 + i]) < 0 && !bt_node_is_true(reduce->args[0]);
    return is_float &&
           (reduce->which == BT_REDUCER_LOGSUMEXP ||
            (cpu_sums_products(reduce) && (s->is_any || has_computed_factor(reduce) ||
                                           has_rows_and_columns(s, reduce))) ||
            (is_prefix &&
             (reduce->which == BT_REDUCER_SUM || reduce->which == BT_REDUCER_PROD) &&
             bt_reduce_is_scatter(s->graph, s->stage, reduce) != 1));
}

static int has_order(struct search *s, const bt_node *node)
{
    if (!node->reduces || s->seen[node->id])
        return 0;
    s->seen[node->id] = 1;
    if (node->kind == BT_NODE_REDUCE && depends_on_numbers(s, node))
        return 1;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (has_order(s, node->args[i]))
            return 1;
    }
    return 0;
}

static bt_status look(bt_arena *arena, bt_graph *graph, const bt_array *stage, int is_any,
                      int *out)
{
    struct search s = { .graph = graph,
                        .stage = stage,
                        .seen = BT_NEWS(arena, uint8_t, graph->nnode),
                        .met = BT_NEWS(arena, uint8_t, graph->nnode),
                        .is_any = is_any };
    if (!s.seen || !s.met)
        return bt_no_memory();
    *out = has_order(&s, stage->body);
    return NULL;
}

bt_status cpu_has_products(bt_arena *arena, bt_graph *graph, const bt_array *stage,
                           int *out)
{
    return look(arena, graph, stage, 1, out);
}

bt_status cpu_check_open_sums(bt_ctx *ctx, bt_arena *arena,
                              const struct cpu_config *config, const char *name,
                              bt_graph *graph)
{
    const uint32_t narray = graph->narray;
    for (uint32_t i = graph->ninput; i < narray; i++) {
        const bt_array stage = *graph->arrays[i];
        struct cpu_tiling tiling;
        int has_sum;
        BT_TRY(look(arena, graph, &stage, 0, &has_sum));
        if (!has_sum)
            continue;
        BT_TRY(cpu_contract_tiling(graph, &stage, config, &tiling));
        graph->narray = narray; // of factors only the tiling is needed
        if (!tiling.is_column)
            return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                           "%s: dim %s is known at the call only, and the order in which "
                           "floats are summed depends on it",
                           name, graph->dims[0]->name);
    }
    return NULL;
}
