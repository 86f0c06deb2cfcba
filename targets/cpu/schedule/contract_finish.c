/*
 * What a tile makes of its sums itself: min(max(sum + bias + residual, low), high), each step if it
 * is there, in this order, as another one would round otherwise.
 */
#include "contract.h"

#include <baton/scalar.h>

#include "vectorise.h"

static int is_scalar(const bt_node *node, uint32_t op)
{
    return node->kind == BT_NODE_SCALAR && node->which == op;
}

/* One number for all elements. */
static int is_bound(const bt_node *node)
{
    int is_one = node->kind == BT_NODE_CONST || node->kind == BT_NODE_READ;
    for (uint32_t i = 0; node->kind == BT_NODE_READ && i < node->narg; i++)
        is_one &= node->args[i]->kind == BT_NODE_CONST;
    return is_one && (node->dtype == BT_FLOAT32 || node->dtype == BT_FLOAT64);
}

/* Of max(a, b) or min(a, b) the bound, and *rest the other one; NULL: it is none of these. */
static const bt_node *take_bound(const bt_node **rest, uint32_t op)
{
    const bt_node *node = cpu_unrounded(*rest);
    for (uint32_t i = 0; is_scalar(node, op) && i < 2; i++) {
        const bt_node *bound = cpu_unrounded(node->args[i]);
        if (is_bound(bound)) {
            *rest = node->args[!i];
            return bound;
        }
    }
    return NULL;
}

/* Of a + b the read, and *rest the other one. */
static const bt_node *take_read(const bt_node **rest, const bt_node *sum)
{
    const bt_node *node = cpu_unrounded(*rest);
    for (uint32_t i = 0; is_scalar(node, BT_SCALAR_ADD) && i < 2; i++) {
        const bt_node *read = cpu_unrounded(node->args[i]);
        if (read->kind == BT_NODE_READ && read != sum && read->dtype == node->dtype) {
            *rest = node->args[!i];
            return read;
        }
    }
    return NULL;
}

int cpu_take_apart(const bt_node *body, const bt_node *sum, struct cpu_chain *out)
{
    const bt_node *node = body;
    *out = (struct cpu_chain){ .low = NULL };
    out->high = take_bound(&node, BT_SCALAR_MIN);
    out->low = take_bound(&node, BT_SCALAR_MAX);
    out->residual = take_read(&node, sum);
    out->bias = take_read(&node, sum);
    if (!out->bias) {
        out->bias = out->residual;
        out->residual = NULL;
    }
    return cpu_unrounded(node) == cpu_unrounded(sum);
}

/* By how many elements the read moves on with dim `d`. */
static int64_t stride_by(const struct cpu_tiling *p, const bt_linear *l, uint32_t d)
{
    return bt_linear_coef(l, p->view.dims[d].index) * p->view.dims[d].scale;
}

/* Whether it is one element for each row, or for each column. */
static int64_t bias_flag(const struct cpu_tiling *p, const bt_node *read)
{
    bt_linear l;
    bt_node_as_linear(read->args[0], &l);
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.atoms[i]->kind != BT_NODE_INDEX)
            return 0;
    }
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if ((p->merged >> d & 1) && stride_by(p, &l, d))
            return 0;
    }
    const int64_t by_row = stride_by(p, &l, (uint32_t)p->m),
                  by_column = stride_by(p, &l, p->n);
    return by_row == 1 && !by_column   ? CPU_TILE_ROW_BIAS
           : by_column == 1 && !by_row ? CPU_TILE_COLUMN_BIAS
                                       : 0;
}

/* The bound as a read, or the bits of a number. */
static void set_bound(const bt_node *bound, const bt_node **read, int64_t *bits)
{
    if (bound->kind == BT_NODE_READ)
        *read = bound;
    else
        bt_cell_store(bits, bound->dtype, bound->value);
}

/* Of one read that is added, whether it is of all elements is told by where it lies. */
static int choose_kind(const struct cpu_tiling *p, const bt_stmt *store,
                       struct cpu_chain *chain, struct cpu_finish *out)
{
    const bt_node *last = chain->residual ? chain->residual : chain->bias;
    if (last && last->args[0] == store->offset) {
        if (!chain->residual)
            chain->bias = NULL;
        chain->residual = last;
        out->flags |= CPU_TILE_ADD_RESIDUAL;
    } else if (chain->residual) {
        return 0;
    }
    if (!chain->bias)
        return 1;
    const int64_t flag = bias_flag(p, chain->bias);
    out->flags |= flag;
    return flag == CPU_TILE_COLUMN_BIAS || (flag && !p->is_turned);
}

const bt_node *cpu_find_sum(const bt_node *node, uint32_t sums)
{
    if (node->kind == BT_NODE_READ)
        return node->which == sums ? node : NULL;
    const bt_node *found = NULL;
    for (uint32_t i = 0; !found && i < node->narg && node->reads; i++)
        found = cpu_find_sum(node->args[i], sums);
    return found;
}

void cpu_match_finish(bt_graph *g, const struct cpu_tiling *p,
                      const struct cpu_epilogue *epilogue, struct cpu_finish *out)
{
    const bt_stmt *store = epilogue->store;
    const bt_node *sum = cpu_find_sum(store->value, epilogue->sums);
    struct cpu_chain chain;
    struct cpu_finish found = { .is_all = 1 };
    *out = (struct cpu_finish){ .is_all = 0 }; // with no flag of what has been found on the way
    if (!p->tile->epilogue || p->m < 0 || p->is_line || p->is_across || p->n0 >= 0 ||
        p->beside >= 0 || !sum || sum->args[0] != store->offset ||
        !cpu_is_size(p->view.dims[p->is_turned ? (uint32_t)p->m : p->n].c, 1) ||
        !cpu_take_apart(store->value, sum, &chain) || cpu_count_levels(g, p) > 3 ||
        store->value->dtype != p->tile->c || !choose_kind(p, store, &chain, &found))
        return;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (p->nclass[d] > 1)
            return;
    }
    found.bias = chain.bias;
    found.residual = chain.residual;
    if (chain.low) {
        found.flags |= CPU_TILE_AT_LEAST;
        set_bound(chain.low, &found.low_at, &found.low);
    }
    if (chain.high) {
        found.flags |= CPU_TILE_AT_MOST;
        set_bound(chain.high, &found.high_at, &found.high);
    }
    found.flags |=
        (found.low_at ? CPU_TILE_LOW_IS_AT : 0) | (found.high_at ? CPU_TILE_HIGH_IS_AT : 0);
    *out = found;
}

/* ---- codes ---- */

/* Whether there is such a node in this one. */
static int has_node(const bt_node *node, const bt_node *wanted)
{
    int has = node == wanted;
    for (uint32_t i = 0; !has && i < node->narg && node->reads; i++)
        has = has_node(node->args[i], wanted);
    return has;
}

/* Whether integers are added to the sum, and nothing else is done with it. */
static int is_sum_plus(const bt_node *node, const bt_node *sum)
{
    node = cpu_unrounded(node);
    if (node == cpu_unrounded(sum))
        return 1;
    const int is_less = is_scalar(node, BT_SCALAR_SUB);
    if (node->dtype != BT_INT32 || (!is_less && !is_scalar(node, BT_SCALAR_ADD)))
        return 0;
    for (uint32_t i = 0; i < (is_less ? 1 : 2); i++) {
        if (!has_node(node->args[1 - i], sum) && is_sum_plus(node->args[i], sum))
            return 1;
    }
    return 0;
}

static int is_of_codes(const bt_node *body, const bt_node *sum, struct cpu_codes *out)
{
    return cpu_match_codes(NULL, body, out) && is_sum_plus(out->sum, sum) &&
           !has_node(out->factor, sum);
}

int cpu_is_epilogue(const bt_node *body, const bt_node *sum)
{
    struct cpu_chain chain;
    struct cpu_codes codes;
    return cpu_take_apart(body, sum, &chain) || is_of_codes(body, sum, &codes);
}

/* What a node goes along but for the read of the sums. */
static uint64_t indices_of(const bt_node *node, uint32_t sums)
{
    if (node->kind == BT_NODE_READ && node->which == sums)
        return 0;
    if (!node->reads)
        return node->free;
    uint64_t all = node->kind == BT_NODE_INDEX ? node->free : 0;
    for (uint32_t i = 0; i < node->narg; i++)
        all |= indices_of(node->args[i], sums);
    return all;
}

void cpu_match_finish_codes(bt_graph *g, const struct cpu_tiling *p,
                            const struct cpu_epilogue *epilogue,
                            struct cpu_finish_codes *out)
{
    const bt_node *value = epilogue->store->value;
    const bt_node *sum = cpu_find_sum(value, epilogue->sums);
    struct cpu_codes codes;
    *out = (struct cpu_finish_codes){ .is_all = 0 };
    const uint32_t m = p->is_turned ? p->n : (uint32_t)p->m,
                   n = p->is_turned ? (uint32_t)p->m : p->n;
    if (!p->tile->codes || p->m < 0 || p->is_line || p->is_across || p->beside >= 0 ||
        !sum || sum->args[0] != epilogue->store->offset ||
        !cpu_is_size(p->view.dims[n].c, 1) || !is_of_codes(value, sum, &codes))
        return;
    uint32_t is_apart = p->is_turned || cpu_count_levels(g, p) > 3;
    for (uint32_t d = 0; d < p->view.ndim; d++)
        is_apart |= p->nclass[d] > 1;
    const uint64_t by =
        indices_of(codes.sum, epilogue->sums) | indices_of(codes.factor, epilogue->sums);
    // rows of several dims are no index by which there could be one for each; what corrects sums goes
    // into what is added, so it is by rows or columns as that is
    const int is_by_either = p->is_turned || !p->correction;
    const int has_rows =
        (p->is_turned || !p->merged) && (is_by_either || p->a->is_signed);
    const int has_columns =
        p->n0 < 0 && (!p->merged || (p->b_kind == CPU_B_PANELS && !p->is_turned)) &&
        (is_by_either || !p->a->is_signed);
    const int is_row = has_rows && !(by & ~bt_index_bit(p->view.dims[m].index)) &&
                       cpu_has_own_index(p, m);
    const int is_column = has_columns && !(by & ~bt_index_bit(p->view.dims[n].index)) &&
                          cpu_has_own_index(p, n);
    if (!is_row && !is_column)
        return;
    *out = (struct cpu_finish_codes){
        .is_all = !is_apart,
        .is_apart = is_apart,
        .by = (int32_t)(is_row ? m : n),
        .flags = is_row ? CPU_TILE_ROW_BIAS : CPU_TILE_COLUMN_BIAS,
        .zero = codes.zero,
        .sum = codes.sum,
        .factor = codes.factor,
    };
    bt_cell_store(&out->low, BT_FLOAT32, (bt_cell){ .f = codes.low });
    bt_cell_store(&out->high, BT_FLOAT32, (bt_cell){ .f = codes.high });
    bt_cell_store(&out->of_nan, BT_FLOAT32, (bt_cell){ .f = codes.of_nan });
}
