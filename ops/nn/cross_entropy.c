/*
 * Losses: nn.cross_entropy, nn.cross_entropy_with_logits, nn.nll_loss.
 *     nn.cross_entropy               -sum(log(predictions) * targets) / rows
 *     nn.cross_entropy_with_logits   -sum(predictions * targets) / rows
 *     nn.nll_loss                    -predictions[n, targets[n]] * weights[targets[n]]
 * The second takes logarithms. The third gives each loss, their sum, or their mean by
 * weights; where a target is ignore_index the loss is 0.
 * source  Relay's operators of the same names; PyTorch, nll_loss
 */
#include <string.h>

#include <baton/op.h>

/* ---- cross entropy ---- */

static const bt_op_input entropy_inputs[] = {
    { .name = "predictions", .type = "t:float[n, c]", .doc = "a row for each sample" },
    { .name = "targets", .type = "t[n, c]", .doc = "the shares that were expected" },
    { 0 },
};

/* ---- negative log likelihood ---- */

struct attrs {
    const char *reduction;
    int64_t ignore_index;
};
static const bt_attr attrs[] = {
    BT_ATTR_CHOICE(struct attrs, reduction, "mean", "mean|sum|none",
                   "what becomes of the losses"),
    BT_ATTR(struct attrs, ignore_index, INT, "-100", "a target that does not count"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "predictions",
      .type = "t:float[..]",
      .doc = "logarithms: samples, classes, any further axes" },
    { .name = "targets", .type = "u:integer[..]", .doc = "classes; axis 1 is missing" },
    { .name = "weights", .type = "t[c]", .doc = "a weight for each class" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts predictions, targets, weights;
    BT_TRY(bt_relation_tensor(s, r, 0, &predictions));
    if (predictions.rank < 2)
        return bt_relation_fail(s, r, 0, "predictions has rank %u; at least 2 is needed",
                                predictions.rank);
    BT_TRY(bt_relation_tensor_rank(s, r, 1, predictions.rank - 1, &targets));
    BT_TRY(bt_relation_tensor_rank(s, r, 2, 1, &weights));
    BT_TRY(bt_relation_unify(s, r, predictions.dims[1], weights.dims[0],
                             "classes of predictions and of weights"));
    for (uint32_t i = 0; i < targets.rank; i++)
        BT_TRY(bt_relation_unify(s, r, targets.dims[i], predictions.dims[i ? i + 1 : 0],
                                 "dims of targets and of predictions"));
    if (strcmp(a->reduction, "none") == 0)
        return bt_relation_result_tensor(s, r, targets.rank, targets.dims,
                                         predictions.dtype);
    return bt_relation_result_tensor(s, r, 0, NULL, predictions.dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_each(f, "i", 0, 1, "i#");
    bt_formula_each(f, "i", 2, rank, "i#");
    // the target here as an index that fails outside of 0 .. classes - 1
    bt_formula_item(f, "class",
                    "wrap(select(targets[$i] < 0, extent(weights, 0), "
                    "index(targets[$i])), extent(weights, 0))");
    bt_formula_item(f, "at", "i0, $class");
    bt_formula_each(f, "at", 2, rank, "i#");
    bt_formula_add(f, "loss: float64[$i] = select(index(targets[$i]) == ignore_index, 0, "
                      "float64(weights[$class]) * -float64(predictions[$at]));\n");
    if (strcmp(a->reduction, "none") == 0)
        bt_formula_add(f, "y: t[..] = t(loss[..])");
    else if (strcmp(a->reduction, "sum") == 0)
        bt_formula_add(f, "y: t[] = t(sum($i: loss[$i]))");
    else
        bt_formula_add(f, "weight: float64[$i] = select(index(targets[$i]) == "
                          "ignore_index, 0, float64(weights[$class]));\n"
                          "y: t[] = t(sum($i: loss[$i]) / sum($i: weight[$i]))");
}

/* ---- rows ---- */

static const bt_op ops[] = {
    {
        .name = "nn.cross_entropy",
        .revision = 1,
        .doc = "The mean cross entropy of rows of probabilities.",
        .source = "Relay, nn.cross_entropy",
        .inputs = entropy_inputs,
        .formula = "y: t[] = t(sum(i, j: log(float64(predictions[i, j])) * "
                   "float64(targets[i, j])) / float64(-n))",
        .facets = BT_FACET_ROWS(BT_CASES("float32[3, 4] = 0.1..1, float32[3, 4] = 0..1\n"
                                         "float64[1, 5] = 0.1..1, float64[1, 5] = 0..1")),
    },
    {
        .name = "nn.cross_entropy_with_logits",
        .revision = 1,
        .doc = "The mean cross entropy of rows of logarithms of probabilities.",
        .source = "Relay, nn.cross_entropy_with_logits",
        .inputs = entropy_inputs,
        .formula = "y: t[] = t(sum(i, j: float64(predictions[i, j]) * "
                   "float64(targets[i, j])) / float64(-n))",
        .facets = BT_FACET_ROWS(BT_CASES("float32[3, 4], float32[3, 4] = 0..1\n"
                                         "float64[1, 5], float64[1, 5] = 0..1")),
    },
    {
        .name = "nn.nll_loss",
        .revision = 1,
        .doc = "The negative of each sample's prediction for its class.\n"
               "A target outside of the classes is an error when it runs.",
        .source = "Relay, nn.nll_loss; PyTorch, nll_loss",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[4, 3], int32[4] = 0..2, float32[3] = 0.5..2\n"
            "float32[2, 3, 2, 5], int64[2, 2, 5] = 0..2, float32[3] | reduction=\"sum\", "
            "ignore_index=1\n"
            "float64[4, 3, 2], uint8[4, 2] = 0..2, float64[3] | reduction=\"none\", "
            "ignore_index=2\n"
            "float32[6, 3], int32[6] = 0..2, float32[3] = 0.5..2 | ignore_index=0")),
    },
    { 0 },
};
const bt_table bt_ops_nn_cross_entropy[] = { BT_OPS(ops), { 0 } };
