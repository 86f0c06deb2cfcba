#include "recurrent.h"

#include <string.h>

/* ---- activation functions ---- */

static const bt_value *affine(bt_onnx_node *n, const struct activation *f,
                              const bt_value *x)
{
    return plus_number(n, times_number(n, x, f->alpha), f->beta);
}

static const bt_value *leaky_relu(bt_onnx_node *n, const struct activation *f,
                                  const bt_value *x)
{
    return emit1(n, "nn.leaky_relu", node_format(n, "alpha=%.17g", f->alpha), x);
}

static const bt_value *thresholded_relu(bt_onnx_node *n, const struct activation *f,
                                        const bt_value *x)
{
    const bt_value *above = emit2(n, "greater", NULL, x, scalar_like(n, x, f->alpha));
    return chosen(n, above, x, scalar_like(n, x, 0));
}

static const bt_value *scaled_tanh(bt_onnx_node *n, const struct activation *f,
                                   const bt_value *x)
{
    return times_number(n, applied(n, "tanh", times_number(n, x, f->beta)), f->alpha);
}

static const bt_value *hard_sigmoid(bt_onnx_node *n, const struct activation *f,
                                    const bt_value *x)
{
    return clipped(n, affine(n, f, x), 0, 1);
}

static const bt_value *elu(bt_onnx_node *n, const struct activation *f, const bt_value *x)
{
    const bt_value *zero = scalar_like(n, x, 0);
    const bt_value *below = applied(n, "exp", lesser_of(n, x, zero));
    below = times_number(n, plus_number(n, below, -1), f->alpha);
    return plus(n, greater_of(n, x, zero), below);
}

static const bt_value *softsign(bt_onnx_node *n, const struct activation *f,
                                const bt_value *x)
{
    (void)f;
    return over(n, x, plus_number(n, applied(n, "abs", x), 1));
}

static const bt_value *softplus(bt_onnx_node *n, const struct activation *f,
                                const bt_value *x)
{
    (void)f;
    const bt_value *decay =
        applied(n, "exp", applied(n, "negative", applied(n, "abs", x)));
    const bt_value *rest = applied(n, "log", plus_number(n, decay, 1));
    return plus(n, greater_of(n, x, scalar_like(n, x, 0)), rest);
}

struct function {
    const char *name, *op; /* op: the function is this operator */
    const bt_value *(*apply)(bt_onnx_node *, const struct activation *, const bt_value *);
    int takes_alpha, takes_beta;
    double alpha, beta; /* defaults */
};

// clang-format off
static const struct function functions[] = {
    { "Tanh", "tanh", NULL, 0, 0, 0, 0 }, { "Sigmoid", "sigmoid", NULL, 0, 0, 0, 0 }, { "Relu", "nn.relu", NULL, 0, 0, 0, 0 },
    { "Affine", NULL, affine, 1, 1, 1, 0 }, { "LeakyRelu", NULL, leaky_relu, 1, 0, (double)0.01f, 0 },
    { "ThresholdedRelu", NULL, thresholded_relu, 1, 0, 1, 0 }, { "ScaledTanh", NULL, scaled_tanh, 1, 1, 1, 1 },
    { "HardSigmoid", NULL, hard_sigmoid, 1, 1, (double)0.2f, 0.5 }, { "Elu", NULL, elu, 1, 0, 1, 0 },
    { "Softsign", NULL, softsign, 0, 0, 0, 0 }, { "Softplus", NULL, softplus, 0, 0, 0, 0 },
};
// clang-format on

static const struct function *find_function_row(bt_onnx_node *n, const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(functions); i++) {
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    }
    node_fail(n, BT_ERR_ATTRIBUTE, "activation %s is not known", name);
    return NULL;
}

void activation_defaults(bt_onnx_node *n, struct activation *f, int *takes_alpha,
                         int *takes_beta)
{
    const struct function *row = find_function_row(n, f->name);
    *takes_alpha = row && row->takes_alpha;
    *takes_beta = row && row->takes_beta;
    f->alpha = row ? row->alpha : 0;
    f->beta = row ? row->beta : 0;
}

static const bt_value *activated(bt_onnx_node *n, const struct cell *cell, uint32_t which,
                                 const bt_value *x)
{
    const struct activation *f = &cell->functions[which];
    const struct function *row = find_function_row(n, f->name);
    if (!row)
        return NULL;
    return row->op ? applied(n, row->op, x) : row->apply(n, f, x);
}

static const bt_value *gate_of(bt_onnx_node *n, const struct cell *cell, uint32_t which,
                               const bt_value *sum)
{
    if (cell->clip > 0)
        sum = clipped(n, sum, -cell->clip, cell->clip);
    return activated(n, cell, which, sum);
}

/* ---- gates ---- */

uint32_t cell_gates(enum cell_kind kind)
{
    static const uint32_t gates[] = { [CELL_RNN] = 1, [CELL_GRU] = 3, [CELL_LSTM] = 4 };
    return gates[kind];
}

/* Gates from..to-1 of what has all of them along `axis`. */
static const bt_value *gates(bt_onnx_node *n, const struct cell *cell,
                             const bt_value *all, uint32_t axis, int64_t from, int64_t to)
{
    return all ? sliced(n, all, axis, from * cell->hidden, to * cell->hidden) : NULL;
}

/* state * recurrent^T + bias, for gates from..to-1. */
static const bt_value *from_state(bt_onnx_node *n, const struct cell *cell,
                                  const bt_value *state, int64_t from, int64_t to)
{
    int all = from == 0 && to == cell_gates(cell->kind);
    const bt_value *weight = cell->recurrent, *bias = cell->bias;
    if (!all) {
        weight = gates(n, cell, weight, 0, from, to);
        bias = gates(n, cell, bias, 0, from, to);
    }
    const bt_value *y = emit2(n, "nn.dense", NULL, state, weight);
    return bias ? plus(n, y, bias) : y;
}

static void rnn_step(bt_onnx_node *n, const struct cell *cell, const bt_value *x,
                     const bt_value *h, const bt_value **next)
{
    next[0] = gate_of(n, cell, 0, plus(n, x, from_state(n, cell, h, 0, 1)));
}

/* Gates z (update), r (reset), h. */
static void gru_step(bt_onnx_node *n, const struct cell *cell, const bt_value *x,
                     const bt_value *h, const bt_value **next)
{
    int late = cell->linear_before_reset;
    const bt_value *y = from_state(n, cell, h, 0, late ? 3 : 2);
    const bt_value *update =
                       plus(n, gates(n, cell, x, 1, 0, 1), gates(n, cell, y, 1, 0, 1)),
                   *reset =
                       plus(n, gates(n, cell, x, 1, 1, 2), gates(n, cell, y, 1, 1, 2));
    update = gate_of(n, cell, 0, update);
    reset = gate_of(n, cell, 0, reset);
    const bt_value *old = late ? times(n, reset, gates(n, cell, y, 1, 2, 3))
                               : from_state(n, cell, times(n, reset, h), 2, 3);
    const bt_value *fresh = gate_of(n, cell, 1, plus(n, gates(n, cell, x, 1, 2, 3), old));
    const bt_value *rest = plus_number(n, applied(n, "negative", update), 1);
    next[0] = plus(n, times(n, rest, fresh), times(n, update, h));
}

/* A gate's sum, with what it sees of the cell's content. */
static const bt_value *peeped(bt_onnx_node *n, const struct cell *cell,
                              const bt_value *gate, int64_t which, const bt_value *c)
{
    const bt_value *weight = gates(n, cell, cell->peephole, 0, which, which + 1);
    return weight ? plus(n, gate, times(n, weight, c)) : gate;
}

/* Gates i (input), o (output), f (forget), c (content). */
static void lstm_step(bt_onnx_node *n, const struct cell *cell, const bt_value *x,
                      const bt_value *const *states, const bt_value **next)
{
    const bt_value *h = states[0], *c = states[1];
    const bt_value *all = plus(n, x, from_state(n, cell, h, 0, 4));
    const bt_value *in = peeped(n, cell, gates(n, cell, all, 1, 0, 1), 0, c);
    in = gate_of(n, cell, 0, in);
    const bt_value *forget =
        cell->couples
            ? plus_number(n, applied(n, "negative", in), 1)
            : gate_of(n, cell, 0, peeped(n, cell, gates(n, cell, all, 1, 2, 3), 2, c));
    const bt_value *content = gate_of(n, cell, 1, gates(n, cell, all, 1, 3, 4));
    next[1] = plus(n, times(n, forget, c), times(n, in, content));
    const bt_value *out = peeped(n, cell, gates(n, cell, all, 1, 1, 2), 1, next[1]);
    next[0] = times(n, gate_of(n, cell, 0, out), activated(n, cell, 2, next[1]));
}

void cell_step(bt_onnx_node *n, const struct cell *cell, const bt_value *x,
               const bt_value *const *states, const bt_value **next)
{
    x = emit2(n, "nn.dense", NULL, x, cell->input);
    if (cell->input_bias)
        x = plus(n, x, cell->input_bias);
    switch (cell->kind) {
    case CELL_RNN: rnn_step(n, cell, x, states[0], next); break;
    case CELL_GRU: gru_step(n, cell, x, states[0], next); break;
    case CELL_LSTM: lstm_step(n, cell, x, states, next); break;
    }
}
