/*
 * compute: what a formula says that the call itself brings, in index notation.
 *     compute(a, b, formula="x: t[m, k], w: t[n, k] => y: t[i in m, j in n] =
 *                            sum(k: x[i, k] * w[j, k])")
 *     compute(a, dims=[2 * n], formula="x: t[n], d => y: t[i in d] = x[i / 2]")
 * The formula declares its inputs before `=>`, each as a row of an operator does: a name and
 * what it takes. A name alone is a dim, the next element of `dims`: an extent that no argument
 * has; where one shows the name as well, both are to be equal. `d broadcasts e` is one that is 1 or e,
 * `d == e`, `d <= e` and `d multiple e` what they say, or the call fails. The result is a tensor, or a tuple of those behind `->`.
 * fails   where a read is not in bounds: one that is not proved to be is checked when it runs
 */
#include <baton/op.h>

struct attrs {
    const bt_type *dims;
    const char *formula;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, dims, SHAPE, "[]", "values of the formula's bare names"),
    BT_ATTR(struct attrs, formula, STRING, NULL, "inputs, `=>`, stages"),
    { 0 },
};

static const bt_op_input inputs[] = {
    { .name = "data",
      .type = "?",
      .doc = "the inputs that the formula declares",
      .is_rest = 1 },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "compute",
        .revision = 1,
        .doc = "Computes what its formula says.\n"
               "The formula is in index notation and declares its own inputs; passes "
               "write such calls for what no operator does, as derivatives.",
        .source = "Baton, index notation",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .effects = BT_EFFECT_FAILS, // a read out of bounds
        .formula_attr = "formula",
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3], float32[4, 3] | formula=\"x: t[m, k], w: t[n, k] => "
            "y: t[i in m, j in n] = sum(k: x[i, k] * w[j, k])\"\n"
            "float32[2, 3, 4] | formula=\"x: t[..] => y: t[..] = max(x[..], 0)\"\n"
            "float32[2, 3] | dims=[6], formula=\"x: t[n, m], d => y: t[i in d] = x[i / "
            "m, i % m]\"\n"
            "int32[6] = 0..9 | dims=[2, 3], formula=\"x: t[n], a, b => "
            "y: t[i in a, j in b] = x[b * i + j]; s: t[i in a] = sum(j: y[i, j]) -> y, "
            "s\"\n"
            "float32[5, 3], int32[4] = 0..4 | formula=\"x: t[n, m], p: int32[k] => "
            "y: t[i in k, j in m] = x[clamp(int64(p[i]), 0, n - 1), j]\"\n"
            " | dims=[4], formula=\"d => y: float32[i in d] = float32(i)\" -> [0, 1, 2, "
            "3]")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_compute[] = { BT_OPS(ops), { 0 } };
