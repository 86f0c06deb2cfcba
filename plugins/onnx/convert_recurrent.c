/* Recurrent layers: RNN, GRU, LSTM, in one direction or two, as loops over the steps. */
#include "arith.h"

#include <string.h>

#include "loop.h"
#include "recurrent.h"

enum { MAX_DIRECTIONS = 2, MAX_STATES = 2 };

/* What a node says, its data with the steps along axis 0: n steps, b lines, d directions,
 * h hidden elements. */
struct layer {
    enum cell_kind kind;
    uint32_t ndirection, nstate;
    int backward[MAX_DIRECTIONS];
    int batch_first; /* the node has the lines along axis 0 instead */
    int64_t hidden;
    const bt_value *x;                  /* [n, b, ..] */
    const bt_value *count;              /* n, int64[] */
    const bt_value *lengths;            /* [b, 1] int64: steps of each line; NULL: all */
    const bt_value *states[MAX_STATES]; /* [d, b, h] */
    struct cell cells[MAX_DIRECTIONS];
};

/* ---- what the node says ---- */

static void read_direction(bt_onnx_node *n, struct layer *layer)
{
    const char *direction = node_text(n, "direction", "forward");
    layer->ndirection = 1;
    if (strcmp(direction, "bidirectional") == 0) {
        layer->ndirection = 2;
        layer->backward[1] = 1;
    } else if (strcmp(direction, "reverse") == 0) {
        layer->backward[0] = 1;
    } else if (strcmp(direction, "forward") != 0) {
        node_fail(n, BT_ERR_ATTRIBUTE, "direction %s is not known", direction);
    }
}

/* The next number of a list, which has one for each function that takes one. */
static void take_number(const struct onnx_attr *list, uint32_t *at, int takes,
                        double *out)
{
    if (takes && list && *at < list->floats.len)
        *out = (double)list->floats.at[(*at)++];
}

static void read_activations(bt_onnx_node *n, struct layer *layer)
{
    static const char *const defaults[][3] = { [CELL_RNN] = { "Tanh" },
                                               [CELL_GRU] = { "Sigmoid", "Tanh" },
                                               [CELL_LSTM] = { "Sigmoid", "Tanh",
                                                               "Tanh" } };
    static const uint32_t counts[] = { [CELL_RNN] = 1, [CELL_GRU] = 2, [CELL_LSTM] = 3 };
    const struct onnx_attr *names = node_attr(n, "activations", ATTR_STRINGS),
                           *alphas = node_attr(n, "activation_alpha", ATTR_FLOATS),
                           *betas = node_attr(n, "activation_beta", ATTR_FLOATS);
    uint32_t each = counts[layer->kind], wanted = each * layer->ndirection;
    uint32_t alpha = 0, beta = 0;
    int takes_alpha, takes_beta;
    if (names && names->strings.len != wanted)
        node_fail(n, BT_ERR_ATTRIBUTE, "%u activations where %u are needed",
                  names->strings.len, wanted);
    for (uint32_t i = 0; !n->status && i < wanted; i++) {
        struct activation *f = &layer->cells[i / each].functions[i % each];
        f->name = names ? names->strings.at[i] : defaults[layer->kind][i % each];
        activation_defaults(n, f, &takes_alpha, &takes_beta);
        take_number(alphas, &alpha, takes_alpha, &f->alpha);
        take_number(betas, &beta, takes_beta, &f->beta);
    }
}

/* The part of a weight that is for one direction. */
static const bt_value *of_direction(bt_onnx_node *n, const struct layer *layer,
                                    const bt_value *all, uint32_t d)
{
    if (!all)
        return NULL;
    if (layer->ndirection > 1)
        all = sliced(n, all, 0, d, (int64_t)d + 1);
    return without_axis(n, all, 0);
}

/* Biases of the data and of the state lie one after the other. Only GRU needs them apart. */
static void read_cell(bt_onnx_node *n, const struct layer *layer, uint32_t d,
                      struct cell *cell)
{
    int64_t size = cell_gates(layer->kind) * layer->hidden;
    const bt_value *bias = of_direction(n, layer, node_in(n, 3), d);
    cell->kind = layer->kind;
    cell->hidden = layer->hidden;
    cell->clip = node_float(n, "clip", 0);
    cell->input = of_direction(n, layer, node_need(n, 1), d);
    cell->recurrent = of_direction(n, layer, node_need(n, 2), d);
    if (bias) {
        const bt_value *first = sliced(n, bias, 0, 0, size),
                       *second = sliced(n, bias, 0, size, 2 * size);
        cell->bias = layer->kind == CELL_GRU ? second : NULL;
        cell->input_bias = cell->bias ? first : plus(n, first, second);
    }
    if (layer->kind == CELL_LSTM) {
        cell->peephole = of_direction(n, layer, node_in(n, 7), d);
        cell->couples = node_int(n, "input_forget", 0) != 0;
    }
    if (layer->kind == CELL_GRU)
        cell->linear_before_reset = node_int(n, "linear_before_reset", 0) != 0;
}

/* A state at the begin: given, or zeros. */
static const bt_value *read_state(bt_onnx_node *n, const struct layer *layer, uint32_t k)
{
    const bt_value *given = node_in(n, 5 + k);
    if (given)
        return layer->batch_first ? axes_swapped(n, given, 0, 1) : given;
    const bt_type *dims[3] = { dim_number(n, layer->ndirection), dim_of(n, layer->x, 1),
                               dim_number(n, layer->hidden) };
    if (n->status)
        return NULL;
    return emit_shaped(n, "full", "shape=[]", "shape", scalar_like(n, layer->x, 0), 3,
                       dims);
}

static void read_sizes(bt_onnx_node *n, struct layer *layer)
{
    const bt_value *recurrent = node_need(n, 2);
    if (value_rank(n, layer->x) != 3 || value_rank(n, recurrent) != 3)
        node_fail(n, BT_ERR_FORMAT,
                  "data has rank %u, the recurrent weight %u; both need 3",
                  value_rank(n, layer->x), value_rank(n, recurrent));
    layer->hidden = n->status ? 0 : value_dim(n, recurrent, 2);
    if (layer->hidden < 0)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the hidden size, dim 2 of input 2, is symbolic: bind it with --dim");
    else if (layer->hidden < 1 || layer->hidden > INT32_MAX / 8)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the hidden size, dim 2 of input 2, is %lld; 1 to %d is expected",
                  (long long)layer->hidden, INT32_MAX / 8);
    int64_t stated = node_int(n, "hidden_size", layer->hidden);
    if (stated != layer->hidden)
        node_fail(n, BT_ERR_FORMAT, "hidden_size is %lld, the recurrent weight has %lld",
                  (long long)stated, (long long)layer->hidden);
}

static void read_layer(bt_onnx_node *n, struct layer *layer)
{
    const bt_value *lengths = node_in(n, 4);
    layer->x = node_need(n, 0);
    layer->batch_first = node_int(n, "layout", 0) != 0;
    layer->nstate = layer->kind == CELL_LSTM ? 2 : 1;
    read_direction(n, layer);
    read_activations(n, layer);
    read_sizes(n, layer);
    if (n->status)
        return;
    if (layer->batch_first)
        layer->x = axes_swapped(n, layer->x, 0, 1);
    const bt_value *shape = emit1(n, "shape_of", "dtype=\"int64\"", layer->x);
    layer->count = as_scalar(n, sliced(n, shape, 0, 0, 1));
    if (lengths)
        layer->lengths = with_axes(n, cast_to(n, lengths, BT_INT64), 1, 1);
    for (uint32_t k = 0; k < layer->nstate; k++)
        layer->states[k] = read_state(n, layer, k);
    for (uint32_t d = 0; d < layer->ndirection; d++)
        read_cell(n, layer, d, &layer->cells[d]);
}

/* ---- the loop ---- */

struct pass {
    const struct layer *layer;
    const struct cell *cell;
    int backward;
};

/* Beyond its length a line keeps its state and gives zeros. */
static void step_body(bt_onnx_node *n, void *self, const bt_value *i,
                      const bt_value *const *states, struct step *out)
{
    const struct pass *pass = self;
    const struct layer *layer = pass->layer;
    const bt_value *at =
        pass->backward ? minus(n, minus(n, layer->count, emit_int(n, 1)), i) : i;
    const bt_value *x = emit2(n, "take", "axis=0, mode=\"clip\"", layer->x, at);
    cell_step(n, pass->cell, x, states, out->states);
    out->rows[0] = out->states[0];
    if (!layer->lengths)
        return;
    const bt_value *inside = emit2(n, "less", NULL, at, layer->lengths);
    out->rows[0] = chosen(n, inside, out->rows[0], scalar_like(n, layer->x, 0));
    for (uint32_t k = 0; k < layer->nstate; k++)
        out->states[k] = chosen(n, inside, out->states[k], states[k]);
}

/* *rows: [n, 1, b, h]; ends: [1, b, h]. */
static void run_direction(bt_onnx_node *n, const struct layer *layer, uint32_t d,
                          const bt_value **rows, const bt_value **ends)
{
    struct pass self = { layer, &layer->cells[d], layer->backward[d] };
    const uint8_t prepends = layer->backward[d] != 0;
    const bt_value *states[MAX_STATES];
    for (uint32_t k = 0; k < layer->nstate; k++)
        states[k] = of_direction(n, layer, layer->states[k], d);
    if (n->status)
        return;
    struct loop loop = { .trips = layer->count,
                         .nstate = layer->nstate,
                         .nrow = 1,
                         .states = states,
                         .prepends = &prepends,
                         .body = step_body,
                         .self = &self };
    emit_loop(n, &loop, ends, rows);
    for (uint32_t k = 0; !n->status && k < layer->nstate; k++)
        ends[k] = with_axes(n, ends[k], 0, 1);
    *rows = n->status ? NULL : with_axes(n, *rows, 1, 1);
}

static void convert_layer(bt_onnx_node *n, enum cell_kind kind)
{
    static const int64_t lines_first[] = { 2, 0, 1, 3 };
    struct layer layer = { .kind = kind };
    const bt_value *rows[MAX_DIRECTIONS], *ends[MAX_STATES][MAX_DIRECTIONS],
        *last[MAX_STATES];
    read_layer(n, &layer);
    for (uint32_t d = 0; !n->status && d < layer.ndirection; d++) {
        run_direction(n, &layer, d, &rows[d], last);
        for (uint32_t k = 0; k < layer.nstate; k++)
            ends[k][d] = last[k];
    }
    if (n->status)
        return;
    const bt_value *y = joined(n, 1, layer.ndirection, rows);
    node_out(n, 0, layer.batch_first ? transposed(n, y, 4, lines_first) : y);
    for (uint32_t k = 0; k < layer.nstate; k++) {
        const bt_value *end = joined(n, 0, layer.ndirection, ends[k]);
        node_out(n, 1 + k, layer.batch_first ? axes_swapped(n, end, 0, 1) : end);
    }
}

static void rnn(bt_onnx_node *n)
{
    convert_layer(n, CELL_RNN);
}

static void gru(bt_onnx_node *n)
{
    convert_layer(n, CELL_GRU);
}

static void lstm(bt_onnx_node *n)
{
    convert_layer(n, CELL_LSTM);
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.RNN-1", rnn, NULL }, { "ai.onnx.GRU-1", gru, NULL }, { "ai.onnx.LSTM-1", lstm, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_recurrent[] = { BT_ONNX_OPERATORS(operators),
                                                       { 0 } };
