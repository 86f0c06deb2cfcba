/*
 * Normalisations: nn.batch_norm, nn.layer_norm, nn.instance_norm.
 *     nn.batch_norm      y = (data - moving_mean) / sqrt(moving_var + epsilon) * gamma
 *                            + beta, along axis; gives (y, moving_mean, moving_var)
 *     nn.layer_norm      moments over axis
 *     nn.instance_norm   moments over all axes but the first and axis
 * gamma counts where scale, beta where center is set. momentum says what pass train-mode makes of
 * nn.batch_norm.
 * source  Relay's operators of the same names; Ioffe, Szegedy 2015; Ba et al. 2016;
 *         Ulyanov et al. 2016
 */
#include <stdio.h>
#include <string.h>

#include <baton/op.h>

struct attrs {
    int64_t axis;
    double epsilon;
    int64_t center, scale;
};
struct batch_attrs {
    struct attrs base;
    double momentum;
};
#define NORM_ATTRS(axis_)                                                          \
    BT_ATTR(struct attrs, axis, INT, axis_, "axis that gamma and beta lie along"), \
        BT_ATTR(struct attrs, epsilon, FLOAT, "1e-05", "added to the variance"),   \
        BT_ATTR(struct attrs, center, BOOL, "True", "add beta"),                   \
        BT_ATTR(struct attrs, scale, BOOL, "True", "multiply by gamma")
static const bt_attr batch_attrs[] = {
    NORM_ATTRS("1"),
    BT_ATTR(struct batch_attrs, momentum, FLOAT, "0.1",
            "weight of the batch in new moments, in training"),
    { 0 },
};
static const bt_attr front_attrs[] = { NORM_ATTRS("1"), { 0 } };
static const bt_attr back_attrs[] = { NORM_ATTRS("-1"), { 0 } };

static const bt_op_input batch_inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "at least one axis" },
    { .name = "gamma", .type = "t[c]", .doc = "a factor for each element of axis" },
    { .name = "beta", .type = "t[c]", .doc = "a summand for each element of axis" },
    { .name = "moving_mean", .type = "t[c]", .doc = "means" },
    { .name = "moving_var", .type = "t[c]", .doc = "variances" },
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "at least one axis" },
    { .name = "gamma", .type = "t[c]", .doc = "a factor for each element of axis" },
    { .name = "beta", .type = "t[c]", .doc = "a summand for each element of axis" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data, vector;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    for (uint32_t i = 1; i < r->narg; i++) {
        BT_TRY(bt_relation_tensor_rank(s, r, i, 1, &vector));
        BT_TRY(bt_relation_unify(s, r, data.dims[axis], vector.dims[0],
                                 "the axis of data and the vectors"));
    }
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

static bt_status relate_batch(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data, vector;
    const bt_type *fields[3], *shape;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    for (uint32_t i = 1; i < 5; i++) {
        BT_TRY(bt_relation_tensor_rank(s, r, i, 1, &vector));
        BT_TRY(bt_relation_unify(s, r, data.dims[axis], vector.dims[0],
                                 "the axis of data and the vectors"));
    }
    shape = bt_type_shape(store, data.rank, data.dims);
    fields[0] =
        shape ? bt_type_tensor_layout(store, shape, data.dtype, data.layout) : NULL;
    fields[1] = bt_relation_arg(s, r, 3);
    fields[2] = bt_relation_arg(s, r, 4);
    const bt_type *result =
        fields[0] && fields[1] && fields[2] ? bt_type_tuple(store, 3, fields) : NULL;
    return result ? bt_relation_result(s, r, result) : bt_no_memory();
}

/* "* gamma[i1] + beta[i1]" */
static void write_affine(bt_formula *f, const struct attrs *a, uint32_t axis)
{
    if (a->scale)
        bt_formula_add(f, " * gamma[i%u]", axis);
    if (a->center)
        bt_formula_add(f, " + beta[i%u]", axis);
}

static void write_batch(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_add(f,
                   "y: t[$i] = (data[$i] - moving_mean[i%u]) / sqrt(moving_var[i%u] + "
                   "epsilon)",
                   axis, axis);
    write_affine(f, a, axis);
    bt_formula_add(f, ";\nmean: t[c] = moving_mean[c];\nvariance: t[c] = moving_var[c] "
                      "-> y, mean, variance");
}

/* Whether moments are taken over an axis. */
static int is_reduced(const bt_op *op, uint32_t i, uint32_t axis)
{
    return strcmp(op->name, "nn.layer_norm") == 0 ? i == axis : i != 0 && i != axis;
}

static void write_moments(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]), nreduced = 0;
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_clear(f, "kept");
    for (uint32_t i = 0; i < rank; i++) {
        int reduced = is_reduced(call->op, i, axis);
        bt_formula_item(f, reduced ? "over" : "kept", "i%u", i);
        if (reduced)
            bt_formula_item(f, "count", "extent(data, %u)", i);
        nreduced += (uint32_t)reduced;
    }
    if (nreduced == 0)
        bt_formula_fail(f, BT_ERR_UNSUPPORTED,
                        "data of rank %u has no axis to take moments over", rank);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_item(f, "off", "(float64(data[$i]) - mean[$kept])");
    bt_formula_add(f, "mean: float64[$kept] = sum($over: float64(data[$i])) / "
                      "float64($[ * ]count);\n"
                      "variance: float64[$kept] = sum($over: $off * $off) / "
                      "float64($[ * ]count);\n"
                      "y: t[$i] = t($off / sqrt(variance[$kept] + epsilon))");
    write_affine(f, a, axis);
}

/* ---- the adjoint of nn.layer_norm ---- */

/* One `compute` under construction: arrays along all axes, n0, n1 .., or with 1 at the axis. */
struct text {
    bt_builder *builder;
    bt_text text;
    const char *wide; /* what elements are computed in; sums are float64 */
    uint32_t rank, axis, narg;
    const bt_value *args[7];
};

static void begin(struct text *t)
{
    bt_text_init(&t->text, bt_ctx_scratch(bt_builder_ctx(t->builder)));
    t->narg = 0;
}

/* "x: t[n0, n1]", "c: u[n0, 1]" of what is one for a row. */
static void take(struct text *t, const char *name, const bt_value *value, int is_one)
{
    bt_text_addf(&t->text, "%s%s: %s[", t->narg ? ", " : "", name, is_one ? "u" : "t");
    bt_text_each(&t->text, t->rank, "n#", is_one ? t->axis : UINT32_MAX, "1");
    bt_text_addf(&t->text, "]");
    t->args[t->narg++] = value;
}

static void take_vector(struct text *t, const bt_value *value)
{
    bt_text_addf(&t->text, ", w: t[n%u]", t->axis);
    t->args[t->narg++] = value;
}

/* What comes in, and what the normalised data are made of. */
static void take_normal(struct text *t, const bt_adjoint_call *call, const bt_value *c,
                        const bt_value *r)
{
    begin(t);
    take(t, "d", call->seeds[0], 0);
    take(t, "x", call->in[0], 0);
    take(t, "c", c, 1);
    take(t, "r", r, 1);
}

/* An element by index `along` of the axis. */
static void read(struct text *t, const char *array, const char *along)
{
    bt_text_addf(&t->text, "%s(%s[", t->wide, array);
    bt_text_each(&t->text, t->rank, "i#", t->axis, along);
    bt_text_addf(&t->text, "])");
}

/* "stored(d * w)": the same number wherever it is computed, so that what is taken off cancels. */
static void read_scaled(struct text *t, const char *along, int has_vector)
{
    if (has_vector)
        bt_text_addf(&t->text, "stored(");
    read(t, "d", along);
    if (has_vector)
        bt_text_addf(&t->text, " * %s(w[%s]))", t->wide, along);
}

static void read_shifted(struct text *t, const char *along)
{
    bt_text_addf(&t->text, "(");
    read(t, "x", along);
    bt_text_addf(&t->text, " - ");
    read(t, "c", "0");
    bt_text_addf(&t->text, ")");
}

/* What is one for a row, up to the terms of the mean that it is made of, and from there on. */
static void begin_row(struct text *t)
{
    bt_text_addf(&t->text, " => m: %s[", t->wide);
    bt_text_each(&t->text, t->rank, "i# in n#", t->axis, "l in 1");
    bt_text_addf(&t->text, "] = %s(", t->wide);
}

/* ... times -r^power, if there is a power of r */
static void begin_mean(struct text *t, uint32_t power)
{
    begin_row(t);
    for (uint32_t i = 0; i < power; i++) {
        bt_text_addf(&t->text, "%sfloat64(", i ? "" : "-");
        read(t, "r", "0");
        bt_text_addf(&t->text, ") * ");
    }
    bt_text_addf(&t->text, "sum(k in n%u: float64(", t->axis);
}

static bt_status build(struct text *t, const bt_type *dims, const bt_value **out)
{
    const char *text = bt_text_get(&t->text);
    return text ? bt_build_formula(t->builder, dims, t->narg, t->args, text, out)
                : bt_no_memory();
}

static bt_status end_mean(struct text *t, const bt_value **out)
{
    bt_text_addf(&t->text, ")) / float64(n%u))", t->axis);
    return build(t, NULL, out);
}

/* c, the mean of a row, and r, 1 / sqrt(variance + epsilon). */
static bt_status build_moments(struct text *t, const bt_value *data, double epsilon,
                               const bt_value **c, const bt_value **r)
{
    begin(t);
    take(t, "x", data, 0);
    begin_mean(t, 0);
    read(t, "x", "k");
    BT_TRY(end_mean(t, c));
    begin(t);
    take(t, "x", data, 0);
    take(t, "c", *c, 1);
    begin_row(t);
    bt_text_addf(&t->text, "1 / sqrt(sum(k in n%u: float64(", t->axis);
    read_shifted(t, "k");
    bt_text_addf(&t->text, " * ");
    read_shifted(t, "k");
    bt_text_addf(&t->text, ")) / float64(n%u) + %.17g))", t->axis, epsilon);
    return build(t, NULL, r);
}

/* dx = r * (g - a + (x - c) * b), g = d * w, a = mean g, b = -r^2 * mean(g * (x - c)). What all g
 * have in common is taken off before r makes it large: of a row of one element nothing is left. */
static bt_status build_data(struct text *t, const bt_adjoint_call *call,
                            const bt_value *w, const bt_value *c, const bt_value *r,
                            const bt_value **out)
{
    const bt_value *a, *b;
    char place[24];
    begin(t);
    take(t, "d", call->seeds[0], 0);
    if (w)
        take_vector(t, w);
    begin_mean(t, 0);
    read_scaled(t, "k", w != NULL);
    BT_TRY(end_mean(t, &a));
    take_normal(t, call, c, r);
    if (w)
        take_vector(t, w);
    begin_mean(t, 2);
    read_scaled(t, "k", w != NULL);
    bt_text_addf(&t->text, " * ");
    read_shifted(t, "k");
    BT_TRY(end_mean(t, &b));
    take_normal(t, call, c, r);
    take(t, "a", a, 1);
    take(t, "b", b, 1);
    if (w)
        take_vector(t, w);
    snprintf(place, sizeof(place), "i%u", t->axis);
    bt_text_addf(&t->text, " => g: t[");
    bt_text_each(&t->text, t->rank, "i# in n#", UINT32_MAX, NULL);
    bt_text_addf(&t->text, "] = t(");
    read(t, "r", "0");
    bt_text_addf(&t->text, " * (");
    read_scaled(t, place, w != NULL);
    bt_text_addf(&t->text, " - ");
    read(t, "a", "0");
    bt_text_addf(&t->text, " + ");
    read_shifted(t, place);
    bt_text_addf(&t->text, " * ");
    read(t, "b", "0");
    bt_text_addf(&t->text, "))");
    return build(t, NULL, out);
}

/* dgamma = sum(rows: d * z), dbeta = sum(rows: d); of the vector's own dim where only the run
 * knows that it is the axis of data. */
static bt_status build_vector(struct text *t, const bt_adjoint_call *call,
                              const bt_value *vector, const bt_value *c,
                              const bt_value *r, const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(vector->type);
    const int has_own =
        shape->dims[0] != bt_tensor_shape(call->in[0]->type)->dims[t->axis];
    if (c) {
        take_normal(t, call, c, r);
    } else {
        begin(t);
        take(t, "d", call->seeds[0], 0);
    }
    if (has_own)
        bt_text_addf(&t->text, ", m => g: t[j in m] = t(sum(");
    else
        bt_text_addf(&t->text, " => g: t[j in n%u] = t(sum(", t->axis);
    for (uint32_t i = 0, n = 0; i < t->rank; i++) {
        if (i != t->axis)
            bt_text_addf(&t->text, "%si%u in n%u", n++ ? ", " : "", i, i);
    }
    bt_text_addf(&t->text, ": ");
    read(t, "d", "j");
    if (c) {
        bt_text_addf(&t->text, " * (");
        read_shifted(t, "j");
        bt_text_addf(&t->text, " * ");
        read(t, "r", "0");
        bt_text_addf(&t->text, ")");
    }
    bt_text_addf(&t->text, "))");
    return build(t, has_own ? &shape->base : NULL, out);
}

static bt_status vjp(bt_builder *b, const bt_adjoint_call *call, const bt_value **to)
{
    const struct attrs *a = call->call->attrs;
    const bt_type *data = call->in[0]->type;
    struct text t = { .builder = b, .rank = bt_tensor_shape(data)->n };
    const bt_value *c, *r;
    t.axis = bt_axis_front(a->axis, t.rank);
    t.wide = bt_tensor_dtype(data) == BT_FLOAT64 ? "float64" : "float32";
    if (t.rank < 2) // a vector has no rows
        return bt_formula_vjp(b, call, to);
    BT_TRY(build_moments(&t, call->in[0], a->epsilon, &c, &r));
    if (call->wants[0])
        BT_TRY(build_data(&t, call, a->scale ? call->in[1] : NULL, c, r, &to[0]));
    if (call->wants[1] && a->scale)
        BT_TRY(build_vector(&t, call, call->in[1], c, r, &to[1]));
    if (call->wants[2] && a->center)
        BT_TRY(build_vector(&t, call, call->in[2], NULL, NULL, &to[2]));
    return NULL;
}

/* By the formula, elements are float64 and each is gone through twice as often. */
static const bt_gradient_facet gradient_of_rows = { .vjp = vjp };

static const bt_layout_facet layout = { .choose = bt_layout_follow };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "nn.batch_norm", .revision = 1, .source = "Relay, nn.batch_norm; Ioffe, Szegedy 2015",
        .doc = "Normalises by given means and variances.\nGives (y, moving_mean, moving_var), as at inference.",
        .inputs = batch_inputs, .attrs = batch_attrs, .attrs_nbytes = sizeof(struct batch_attrs),
        .relate = relate_batch, .write_formula = write_batch,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3, 4], float32[3], float32[3], float32[3], float32[3] = 0.1..2\n"
            "float32[2, 3], float32[3], float32[3], float32[3], float32[3] = 0.1..2 | axis=-1, scale=False\n"
            "float64[2, 3], float64[2], float64[2], float64[2], float64[2] = 0.1..2 | axis=0, center=False, epsilon=0.1"), BT_FACET("layout", layout)),
    },
    {
        .name = "nn.layer_norm", .revision = 1, .source = "Relay, nn.layer_norm; Ba, Kiros, Hinton 2016",
        .doc = "Normalises by the moments along an axis.",
        .inputs = inputs, .attrs = back_attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_moments,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 5], float32[5], float32[5]\n"
                                         "float32[3, 1], float32[1], float32[1]\n"
                                         "float32[2, 3, 4], float32[3], float32[3] | axis=1, scale=False\n"
                                         "float64[3, 4], float64[4], float64[4] | center=False, epsilon=0.01\n"
                                         "float32[5], float32[5], float32[5]"), BT_FACET("layout", layout),
                                BT_FACET("gradient", gradient_of_rows)),
    },
    {
        .name = "nn.instance_norm", .revision = 1, .source = "Relay, nn.instance_norm; Ulyanov et al. 2016",
        .doc = "Normalises each channel of each sample by its own moments.",
        .inputs = inputs, .attrs = front_attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_moments,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3, 4, 5], float32[3], float32[3]\n"
                                         "float32[2, 4, 3], float32[3], float32[3] | axis=2, epsilon=0.01"), BT_FACET("layout", layout)),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_nn_norm[] = { BT_OPS(ops), { 0 } };
