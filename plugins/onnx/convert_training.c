/* One step of training: Adagrad, Adam, Momentum. Inputs are the rate, the count of steps,
 * then for several tensors all values, all gradients, all states. */
#include "arith.h"

#include <string.h>

enum { MAX_STATES = 2 };

struct step {
    const bt_value *rate, *count; /* of the values' type */
    const bt_value *x, *g;        /* `g`: with what keeps values small */
    const bt_value *state[MAX_STATES];
};

static const bt_value *mixed(bt_onnx_node *n, double a, const bt_value *x, double b,
                             const bt_value *y)
{
    return plus(n, times_number(n, x, a), times_number(n, y, b));
}

static const bt_value *adagrad(bt_onnx_node *n, struct step *s)
{
    const bt_value *rate = over(
        n, s->rate,
        plus_number(n, times_number(n, s->count, node_float(n, "decay_factor", 0)), 1));
    s->state[0] = plus(n, s->state[0], squared(n, s->g));
    const bt_value *root =
        plus_number(n, applied(n, "sqrt", s->state[0]), node_float(n, "epsilon", 1e-6));
    return minus(n, s->x, over(n, times(n, rate, s->g), root));
}

/* 1 - base^count */
static const bt_value *rest_of_power(bt_onnx_node *n, const bt_value *count, double base)
{
    const bt_value *power = emit2(n, "power", NULL, scalar_like(n, count, base), count);
    return minus(n, scalar_like(n, count, 1), power);
}

static const bt_value *adam(bt_onnx_node *n, struct step *s)
{
    double alpha = node_float(n, "alpha", (double)0.9f),
           beta = node_float(n, "beta", (double)0.999f);
    const bt_value *is_later =
        emit2(n, "greater", NULL, s->count, scalar_like(n, s->count, 0));
    s->state[0] = mixed(n, alpha, s->state[0], 1 - alpha, s->g);
    s->state[1] = mixed(n, beta, s->state[1], 1 - beta, squared(n, s->g));
    const bt_value *root =
        plus_number(n, applied(n, "sqrt", s->state[1]), node_float(n, "epsilon", 1e-6));
    const bt_value *factor = over(n, applied(n, "sqrt", rest_of_power(n, s->count, beta)),
                                  rest_of_power(n, s->count, alpha));
    const bt_value *rate = chosen(n, is_later, times(n, s->rate, factor), s->rate);
    const bt_value *x = minus(n, s->x, times(n, rate, over(n, s->state[0], root)));
    return times_number(n, x, 1 - node_float(n, "norm_coefficient_post", 0));
}

static const bt_value *momentum(bt_onnx_node *n, struct step *s)
{
    const char *mode = node_text(n, "mode", "");
    double alpha = node_float(n, "alpha", 0);
    int is_nesterov = strcmp(mode, "nesterov") == 0;
    if (!is_nesterov && strcmp(mode, "standard") != 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "mode %s is not known", mode);
    const bt_value *zero = scalar_like(n, s->count, 0);
    const bt_value *beta =
        chosen(n, emit2(n, "greater", NULL, s->count, zero),
               scalar_like(n, zero, node_float(n, "beta", 1)), scalar_like(n, zero, 1));
    s->state[0] = plus(n, times_number(n, s->state[0], alpha), times(n, beta, s->g));
    const bt_value *by =
        is_nesterov ? plus(n, s->g, times_number(n, s->state[0], alpha)) : s->state[0];
    return minus(n, s->x, times(n, s->rate, by));
}

/* `take` gives the new values, and the new states in place of the old. */
static void give_steps(bt_onnx_node *n, uint32_t nstate,
                       const bt_value *(*take)(bt_onnx_node *, struct step *))
{
    const bt_value *rate = node_need(n, 0), *count = node_need(n, 1);
    uint32_t all = n->ninput > 2 ? n->ninput - 2 : 0, each = 2 + nstate;
    if (!all || all % each || n->noutput != all / each * (1 + nstate))
        node_fail(n, BT_ERR_FORMAT,
                  "%u inputs and %u outputs; for each tensor %u and %u are expected, and "
                  "two inputs before",
                  n->ninput, n->noutput, each, 1 + nstate);
    uint32_t ntensor = all / each;
    for (uint32_t i = 0; !n->status && i < ntensor; i++) {
        struct step s = { .x = node_need(n, 2 + i) };
        bt_dtype dtype = value_dtype(s.x);
        const bt_value *g = node_need(n, 2 + ntensor + i);
        for (uint32_t k = 0; k < nstate; k++)
            s.state[k] = node_need(n, 2 + (2 + k) * ntensor + i);
        if (n->status)
            return;
        s.rate = cast_to(n, as_scalar(n, rate), dtype);
        s.count = cast_to(n, as_scalar(n, count), dtype);
        s.g = plus(n, times_number(n, s.x, node_float(n, "norm_coefficient", 0)), g);
        node_out(n, i, take(n, &s));
        for (uint32_t k = 0; k < nstate; k++)
            node_out(n, (1 + k) * ntensor + i, s.state[k]);
    }
}

static void adagrad_step(bt_onnx_node *n)
{
    give_steps(n, 1, adagrad);
}

static void adam_step(bt_onnx_node *n)
{
    give_steps(n, 2, adam);
}

static void momentum_step(bt_onnx_node *n)
{
    give_steps(n, 1, momentum);
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.preview.training.Adagrad-1", adagrad_step, NULL }, { "ai.onnx.preview.training.Adam-1", adam_step, NULL },
    { "ai.onnx.preview.training.Momentum-1", momentum_step, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_training[] = { BT_ONNX_OPERATORS(operators),
                                                      { 0 } };
