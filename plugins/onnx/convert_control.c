/* Nodes with graphs of their own: If, Loop, Scan. */
#include "arith.h"

#include <string.h>

#include "loop.h"

static const struct onnx_graph *inner_graph(bt_onnx_node *n, const char *name)
{
    const struct onnx_attr *attr = node_attr(n, name, ATTR_GRAPH);
    if (!attr || !attr->g)
        node_fail(n, BT_ERR_FORMAT, "graph %s is missing", name);
    return n->status ? NULL : attr->g;
}

static const bt_value **new_values(bt_onnx_node *n, size_t count)
{
    const bt_value **out = BT_NEWS(n->im->arena, const bt_value *, count + 1);
    if (!out && !n->status)
        n->status = bt_no_memory();
    return n->status ? NULL : out;
}

static const bt_value *const *convert(bt_onnx_node *n, const struct onnx_graph *graph,
                                      uint32_t narg, const bt_value *const *args)
{
    const bt_value *const *results = NULL;
    if (!n->status)
        n->status = convert_graph(n->im, graph, narg, args, &results);
    return results;
}

/* ---- If ---- */

static void outputs_of(bt_onnx_node *n, const struct onnx_graph *graph,
                       const bt_value *const *results)
{
    for (uint32_t i = 0; !n->status && i < n->proto->outputs.len; i++) {
        if (i >= graph->outputs.len)
            node_fail(n, BT_ERR_FORMAT, "graph %s has %u outputs where %u are needed",
                      graph->name, graph->outputs.len, n->proto->outputs.len);
        else
            node_out(n, i, results[i]);
    }
}

/* The same value with dims that only a run gives: what the branches have in common where
 * their shapes differ. */
static const bt_value *without_dims(bt_onnx_node *n, const bt_value *x,
                                    const bt_value *condition)
{
    const bt_value *shape = emit1(n, "shape_of", "dtype=\"int64\"", x);
    shape = chosen(n, condition, shape, shape);
    return value_rank(n, x) ? emit2(n, "dyn.reshape", "allowzero=True", x, shape) : x;
}

struct branch {
    const struct onnx_graph *graph;
    const bt_block *block;
    const bt_value *result;
};

/* `vague`: per output, whether its dims are to be forgotten; NULL: none. */
static void convert_branch(bt_onnx_node *n, struct branch *branch,
                           const bt_value *condition, const uint8_t *vague)
{
    uint32_t count = branch->graph->outputs.len;
    if (!n->status)
        n->status = bt_block_begin(n->im->builder, 0, NULL);
    const bt_value *const *results = convert(n, branch->graph, 0, NULL);
    const bt_value **fields = new_values(n, count);
    for (uint32_t i = 0; !n->status && i < count; i++)
        fields[i] =
            vague && vague[i] ? without_dims(n, results[i], condition) : results[i];
    branch->result = n->status ? NULL : emit_tuple(n, count, fields);
    if (!n->status)
        n->status = bt_block_end(n->im->builder, branch->result, &branch->block);
}

/* Outputs whose types differ in dims between the branches. */
static uint8_t *find_vague(bt_onnx_node *n, const struct branch *a,
                           const struct branch *b)
{
    const bt_list_type *x = bt_as_tuple_type(a->result->type),
                       *y = bt_as_tuple_type(b->result->type);
    uint8_t *out = BT_NEWS(n->im->arena, uint8_t, x->n + 1u);
    int any = 0;
    if (!out)
        n->status = bt_no_memory();
    for (uint32_t i = 0; out && i < x->n; i++) {
        const bt_shape_type *s = bt_tensor_shape(x->at[i]),
                            *t = bt_tensor_shape(y->at[i]);
        out[i] = s && t && s != t && s->n == t->n;
        any |= out[i];
    }
    return any ? out : NULL;
}

static void branches(bt_onnx_node *n, const bt_value *condition,
                     const struct onnx_graph *yes, const struct onnx_graph *no)
{
    struct branch a = { .graph = yes }, b = { .graph = no };
    const bt_value *both = NULL;
    if (yes->outputs.len != no->outputs.len)
        node_fail(n, BT_ERR_FORMAT, "the branches have %u and %u outputs",
                  yes->outputs.len, no->outputs.len);
    convert_branch(n, &a, condition, NULL);
    convert_branch(n, &b, condition, NULL);
    uint8_t *vague = n->status ? NULL : find_vague(n, &a, &b);
    if (vague) {
        convert_branch(n, &a, condition, vague);
        convert_branch(n, &b, condition, vague);
    }
    if (!n->status)
        n->status = bt_build_if(n->im->builder, condition, a.block, b.block, &both);
    for (uint32_t i = 0; !n->status && i < n->proto->outputs.len; i++) {
        if (i < yes->outputs.len && node_wants(n, i))
            node_out(n, i, emit_proj(n, both, i));
    }
}

static void if_node(bt_onnx_node *n)
{
    const struct onnx_graph *yes = inner_graph(n, "then_branch"),
                            *no = inner_graph(n, "else_branch");
    const bt_value *condition = node_need(n, 0);
    if (n->status)
        return;
    condition = as_scalar(n, condition);
    const bt_tensor *known = n->status ? NULL : known_tensor(n, condition);
    if (known) {
        const struct onnx_graph *taken = bt_tensor_get_int(known, 0) ? yes : no;
        outputs_of(n, taken, convert(n, taken, 0, NULL));
    } else if (!n->status) {
        branches(n, condition, yes, no);
    }
}

/* ---- Loop ---- */

struct graph_loop {
    const struct onnx_graph *graph;
    uint32_t nstate, nrow;
    /* of Scan: what is cut along an axis, one slice an iteration */
    uint32_t nscan;
    const bt_value **scanned;
    const uint32_t *axes;
    const uint8_t *backward;
    const bt_value *count;
};

/* The graph takes iteration, condition and states; it gives condition, states, rows. */
static void loop_body(bt_onnx_node *n, void *self, const bt_value *i,
                      const bt_value *const *states, struct step *out)
{
    const struct graph_loop *loop = self;
    const bt_value **args = new_values(n, 2 + loop->nstate);
    if (n->status)
        return;
    args[0] = i;
    args[1] = emit_scalar(n, BT_BOOL, 1);
    for (uint32_t k = 0; k < loop->nstate; k++)
        args[2 + k] = states[k];
    const bt_value *const *results = convert(n, loop->graph, 2 + loop->nstate, args);
    if (n->status)
        return;
    out->condition = as_scalar(n, results[0]);
    for (uint32_t k = 0; k < loop->nstate; k++)
        out->states[k] = results[1 + k];
    for (uint32_t k = 0; k < loop->nrow; k++)
        out->rows[k] = results[1 + loop->nstate + k];
}

static void loop_node(bt_onnx_node *n)
{
    const struct onnx_graph *graph = inner_graph(n, "body");
    const bt_value *trips = node_in(n, 0), *condition = node_in(n, 1);
    uint32_t nstate = n->ninput > 2 ? n->ninput - 2 : 0;
    if (graph && graph->outputs.len < 1 + nstate)
        node_fail(n, BT_ERR_FORMAT, "graph %s has %u outputs where %u are needed",
                  graph->name, graph->outputs.len, 1 + nstate);
    if (n->status)
        return;
    struct graph_loop self = { .graph = graph,
                               .nstate = nstate,
                               .nrow = graph->outputs.len - 1 - nstate };
    const bt_value **states = new_values(n, nstate), **ends = new_values(n, nstate),
                   **sequences = new_values(n, self.nrow);
    for (uint32_t k = 0; !n->status && k < nstate; k++)
        states[k] = node_need(n, 2 + k);
    if (n->status)
        return;
    struct loop loop = { .trips = trips ? as_scalar(n, trips) : NULL,
                         .condition = condition ? as_scalar(n, condition) : NULL,
                         .nstate = nstate,
                         .nrow = self.nrow,
                         .states = states,
                         .body = loop_body,
                         .self = &self };
    emit_loop(n, &loop, ends, sequences);
    for (uint32_t k = 0; !n->status && k < nstate; k++)
        node_out(n, k, ends[k]);
    for (uint32_t k = 0; !n->status && k < self.nrow; k++)
        node_out(n, nstate + k, sequences[k]);
}

/* ---- Scan ---- */

/* The graph takes states and a slice of each scanned value; it gives states and rows. */
static void scan_body(bt_onnx_node *n, void *self, const bt_value *i,
                      const bt_value *const *states, struct step *out)
{
    const struct graph_loop *loop = self;
    const bt_value **args = new_values(n, (size_t)loop->nstate + loop->nscan);
    if (n->status)
        return;
    for (uint32_t k = 0; k < loop->nstate; k++)
        args[k] = states[k];
    for (uint32_t k = 0; k < loop->nscan; k++) {
        const bt_value *at = i;
        if (loop->backward[k])
            at = minus(n, minus(n, loop->count, emit_int(n, 1)), i);
        args[loop->nstate + k] =
            emit2(n, "take", node_format(n, "axis=%u, mode=\"clip\"", loop->axes[k]),
                  loop->scanned[k], at);
    }
    const bt_value *const *results =
        convert(n, loop->graph, loop->nstate + loop->nscan, args);
    if (n->status)
        return;
    for (uint32_t k = 0; k < loop->nstate; k++)
        out->states[k] = results[k];
    for (uint32_t k = 0; k < loop->nrow; k++)
        out->rows[k] = results[loop->nstate + k];
}

/* A list attribute of Scan, one number for each of its inputs or outputs. */
static int64_t scan_item(bt_onnx_node *n, const char *name, uint32_t count, uint32_t k)
{
    const struct onnx_attr *attr = node_attr(n, name, ATTR_INTS);
    if (attr && attr->ints.len != count)
        node_fail(n, BT_ERR_ATTRIBUTE, "%s has length %u where %u is expected", name,
                  attr->ints.len, count);
    return attr && !n->status ? attr->ints.at[k] : 0;
}

static void read_scanned(bt_onnx_node *n, struct graph_loop *self)
{
    uint32_t *axes = BT_NEWS(n->im->arena, uint32_t, self->nscan);
    uint8_t *backward = BT_NEWS(n->im->arena, uint8_t, self->nscan);
    self->scanned = new_values(n, self->nscan);
    if (!n->status && (!axes || !backward))
        n->status = bt_no_memory();
    for (uint32_t k = 0; !n->status && k < self->nscan; k++) {
        const bt_value *x = node_need(n, self->nstate + k);
        axes[k] = node_axis(n, scan_item(n, "scan_input_axes", self->nscan, k),
                            value_rank(n, x));
        backward[k] = scan_item(n, "scan_input_directions", self->nscan, k) != 0;
        self->scanned[k] = x;
    }
    self->axes = axes;
    self->backward = backward;
    if (n->status)
        return;
    const bt_value *shape = emit1(n, "shape_of", "dtype=\"int64\"", self->scanned[0]);
    self->count = as_scalar(n, sliced(n, shape, 0, axes[0], (int64_t)axes[0] + 1));
}

/* Moves axis 0 to where the sequence is to lie. */
static const bt_value *rows_along(bt_onnx_node *n, const bt_value *sequence, int64_t to)
{
    int64_t axes[BT_MAX_RANK];
    uint32_t rank = value_rank(n, sequence), axis = node_axis(n, to, rank);
    for (uint32_t i = 0; i < rank && i < BT_MAX_RANK; i++)
        axes[i] = i < axis ? (int64_t)i + 1 : i == axis ? 0 : (int64_t)i;
    return n->status ? NULL : axis ? transposed(n, sequence, rank, axes) : sequence;
}

static void scan(bt_onnx_node *n)
{
    const struct onnx_graph *graph = inner_graph(n, "body");
    int64_t nscan = node_int(n, "num_scan_inputs", 0);
    if (nscan < 1 || nscan > n->ninput)
        node_fail(n, BT_ERR_ATTRIBUTE, "num_scan_inputs is %lld of %u inputs",
                  (long long)nscan, n->ninput);
    if (n->status)
        return;
    struct graph_loop self = { .graph = graph,
                               .nstate = n->ninput - (uint32_t)nscan,
                               .nscan = (uint32_t)nscan };
    if (graph->outputs.len < self.nstate)
        node_fail(n, BT_ERR_FORMAT, "graph %s has %u outputs where %u are needed",
                  graph->name, graph->outputs.len, self.nstate);
    self.nrow = n->status ? 0 : graph->outputs.len - self.nstate;
    read_scanned(n, &self);
    const bt_value **states = new_values(n, self.nstate),
                   **ends = new_values(n, self.nstate),
                   **sequences = new_values(n, self.nrow);
    uint8_t *prepends = BT_NEWS(n->im->arena, uint8_t, self.nrow);
    for (uint32_t k = 0; !n->status && k < self.nstate; k++)
        states[k] = node_need(n, k);
    for (uint32_t k = 0; !n->status && prepends && k < self.nrow; k++)
        prepends[k] = scan_item(n, "scan_output_directions", self.nrow, k) != 0;
    if (n->status)
        return;
    struct loop loop = { .trips = self.count,
                         .nstate = self.nstate,
                         .nrow = self.nrow,
                         .states = states,
                         .prepends = prepends,
                         .body = scan_body,
                         .self = &self };
    emit_loop(n, &loop, ends, sequences);
    for (uint32_t k = 0; !n->status && k < self.nstate; k++)
        node_out(n, k, ends[k]);
    for (uint32_t k = 0; !n->status && k < self.nrow; k++)
        node_out(
            n, self.nstate + k,
            rows_along(n, sequences[k], scan_item(n, "scan_output_axes", self.nrow, k)));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.If-1", if_node, NULL }, { "ai.onnx.Loop-1", loop_node, NULL }, { "ai.onnx.Scan-9", scan, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_control[] = { BT_ONNX_OPERATORS(operators),
                                                     { 0 } };
