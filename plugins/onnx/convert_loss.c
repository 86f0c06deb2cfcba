/* Losses: negative log likelihood, softmax cross entropy. */
#include "arith.h"

#include <string.h>

/* What a loss is of: log probabilities [n, c, ...] and class numbers [n, ...]. */
struct loss {
    const bt_value *log_prob, *target, *weight; /* weight: [c], or NULL */
};

/* The class numbers with those to be ignored made 0, and a weight for each; NULL: all
 * 1. */
static const bt_value *weigh(bt_onnx_node *n, const struct loss *loss,
                             const bt_value **target)
{
    const bt_value *out = NULL, *ignored = NULL;
    *target = cast_to(n, loss->target, BT_INT64);
    if (node_has(n, "ignore_index")) {
        ignored =
            emit2(n, "equal", NULL, *target, emit_int(n, node_int(n, "ignore_index", 0)));
        *target = chosen(n, ignored, emit_int(n, 0), *target);
    }
    if (loss->weight)
        out = emit2(n, "take", "axis=0, mode=\"fast\"", loss->weight, *target);
    if (ignored)
        out = chosen(n, ignored, scalar_like(n, loss->log_prob, 0),
                     out ? out : scalar_like(n, loss->log_prob, 1));
    return out;
}

static const bt_value *total(bt_onnx_node *n, const bt_value *x)
{
    return emit1(n, "sum", "axis=None", x);
}

static const bt_value *loss_of(bt_onnx_node *n, const struct loss *loss)
{
    const char *reduction = node_text(n, "reduction", "mean");
    const bt_value *target, *weight = weigh(n, loss, &target);
    const bt_value *picked =
        emit2(n, "gather", "axis=1", loss->log_prob, with_axes(n, target, 1, 1));
    const bt_value *out = applied(n, "negative", without_axis(n, picked, 1));
    if (weight)
        out = times(n, out, weight);
    if (strcmp(reduction, "none") == 0)
        return out;
    if (strcmp(reduction, "sum") == 0)
        return total(n, out);
    if (strcmp(reduction, "mean") != 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "reduction %s is not known", reduction);
    return weight ? over(n, total(n, out), total(n, weight))
                  : emit1(n, "mean", "axis=None", out);
}

static void negative_log_likelihood(bt_onnx_node *n)
{
    struct loss loss = { node_need(n, 0), node_need(n, 1), node_in(n, 2) };
    node_out(n, 0, n->status ? NULL : loss_of(n, &loss));
}

static void softmax_cross_entropy(bt_onnx_node *n)
{
    const bt_value *scores = node_need(n, 0);
    struct loss loss = { emit1(n, "nn.log_softmax", "axis=1", scores), node_need(n, 1),
                         node_in(n, 2) };
    node_out(n, 0, n->status ? NULL : loss_of(n, &loss));
    node_out(n, 1, loss.log_prob);
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.NegativeLogLikelihoodLoss-12", negative_log_likelihood, NULL },
    { "ai.onnx.SoftmaxCrossEntropyLoss-12", softmax_cross_entropy, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_loss[] = { BT_ONNX_OPERATORS(operators), { 0 } };
