/*
 * nn.softmax, nn.log_softmax: normalise exponentials along one axis.
 *     nn.softmax       y[i] = exp(x[i] - max x) / sum_j exp(x[j] - max x)
 *     nn.log_softmax   y[i] = x[i] - max x - log(sum_j exp(x[j] - max x))
 * source  ONNX Softmax-13; shifted form: Blanchard, Higham, Higham 2021
 */
#include <stdio.h>
#include <string.h>

#include <baton/op.h>

struct attrs {
    int64_t axis;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "-1", "axis to normalise along"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "at least one axis" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

/* What elements are computed in: as float32 where that has the digits of the result. Sums
 * and their logarithms are float64 always, for 1 + exp(-20) is not 1. */
static const char *element_name(const bt_formula_call *call)
{
    bt_dtype dtype = bt_tensor_dtype(call->args[0]);
    return dtype == BT_FLOAT64 ? "float64" : "float32";
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const char *element = element_name(call);
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_each(f, "k", 0, rank, "i#");
    bt_formula_set(f, "k", axis, "k");
    bt_formula_each(f, "line", 0, axis, "i#");
    bt_formula_each(f, "line", axis + 1, rank, "i#");
    bt_formula_item(f, "shifted", "%s(data[$i]) - m[$line]", element);
    bt_formula_add(f,
                   "m: %s[$line] = max(k: %s(data[$k]));\n"
                   "e: %s[$i] = exp($shifted);\n"
                   "s: float64[$line] = sum(k: float64(e[$k]));\n",
                   element, element, element);
    bt_formula_add(f,
                   strcmp(call->op->name, "nn.log_softmax") == 0
                       ? "y: t[$i] = t($shifted - %s(log(s[$line])))"
                       : "y: t[$i] = t(e[$i] / %s(s[$line]))",
                   element);
}

#define CASES                                                                \
    "float32[2, 3]\nfloat32[1, 5, 7] | axis=1\nfloat16[4]\nfloat64[2, 3] | " \
    "axis=0\nfloat32[0, 3]"

/* ---- derivatives ---- */

/* A formula of the result y and what comes in, d; s is a sum of these along the axis. */
struct text {
    bt_text text;
    uint32_t rank, axis;
};

static void begin(bt_builder *b, const bt_adjoint_call *c, int has_sum, struct text *out)
{
    const struct attrs *a = c->call->attrs;
    const bt_type *data = c->in[0]->type;
    out->rank = bt_tensor_shape(data)->n;
    out->axis = bt_axis_front(a->axis, out->rank);
    bt_text_init(&out->text, bt_ctx_scratch(bt_builder_ctx(b)));
    bt_text_addf(&out->text, "y: t[");
    bt_text_each(&out->text, out->rank, "n#", UINT32_MAX, NULL);
    bt_text_addf(&out->text, "], d: t[");
    bt_text_each(&out->text, out->rank, "n#", UINT32_MAX, NULL);
    bt_text_addf(&out->text, "]");
    if (has_sum) {
        bt_text_addf(&out->text, ", s: u[");
        bt_text_each(&out->text, out->rank, "n#", out->axis, "1");
        bt_text_addf(&out->text, "]");
    }
    bt_text_addf(&out->text, " => ");
}

static void add_read(struct text *t, const char *cast, const char *array, const char *along)
{
    bt_text_addf(&t->text, "%s(%s[", cast, array);
    bt_text_each(&t->text, t->rank, "i#", t->axis, along);
    bt_text_addf(&t->text, "])");
}

static bt_status build(bt_builder *b, struct text *t, uint32_t narg,
                       const bt_value *const *args, const bt_value **out)
{
    const char *text = bt_text_get(&t->text);
    return text ? bt_build_formula(b, NULL, narg, args, text, out) : bt_no_memory();
}

/*
 *     nn.softmax       s = sum(k: d[k] * y[k]);      y[i] * (d[i] - s)     both vjp and jvp
 *     nn.log_softmax   s = sum(k: d[k]);             d[i] - exp(y[i]) * s
 *     its jvp          s = sum(k: d[k] * exp(y[k])); d[i] - s
 */
static bt_status derive(bt_builder *b, const bt_adjoint_call *c, int is_log, int is_forward,
                        const bt_value **to)
{
    const char *wide = bt_tensor_dtype(c->in[0]->type) == BT_FLOAT64 ? "float64" : "float32";
    const bt_value *args[3] = { c->out[0], c->seeds[0] };
    struct text t;
    char place[24];
    begin(b, c, 0, &t);
    snprintf(place, sizeof(place), "i%u", t.axis);
    bt_text_addf(&t.text, "s: %s[", wide);
    bt_text_each(&t.text, t.rank, "i# in n#", t.axis, "l in 1");
    bt_text_addf(&t.text, "] = sum(k in n%u: ", t.axis);
    add_read(&t, wide, "d", "k");
    if (!is_log || is_forward) {
        bt_text_addf(&t.text, "%s", is_log ? " * exp(" : " * (");
        add_read(&t, wide, "y", "k");
        bt_text_addf(&t.text, ")");
    }
    bt_text_addf(&t.text, ")");
    BT_TRY(build(b, &t, 2, args, &args[2]));
    begin(b, c, 1, &t);
    bt_text_addf(&t.text, "g: t[");
    bt_text_each(&t.text, t.rank, "i# in n#", UINT32_MAX, NULL);
    bt_text_addf(&t.text, "] = t(");
    if (!is_log) {
        add_read(&t, wide, "y", place);
        bt_text_addf(&t.text, " * (");
    }
    add_read(&t, wide, "d", place);
    bt_text_addf(&t.text, " - ");
    if (is_log && !is_forward) {
        bt_text_addf(&t.text, "exp(");
        add_read(&t, wide, "y", place);
        bt_text_addf(&t.text, ") * ");
    }
    add_read(&t, wide, "s", "0");
    bt_text_addf(&t.text, "%s", is_log ? ")" : "))");
    return build(b, &t, 3, args, &to[0]);
}

static bt_status vjp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return derive(b, c, 0, 0, to);
}

static bt_status vjp_of_log(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return derive(b, c, 1, 0, to);
}

static bt_status jvp_of_log(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return derive(b, c, 1, 1, to);
}

static const bt_gradient_facet gradient = { .vjp = vjp, .jvp = vjp },
                               gradient_of_log = { .vjp = vjp_of_log, .jvp = jvp_of_log };

static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op ops[] = {
    {
        .name = "nn.softmax",
        .revision = 1,
        .doc = "Exponentials along an axis, normalised to sum 1.",
        .source = "Relay, nn.softmax; ONNX Softmax-13",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(CASES), BT_FACET("layout", layout),
                                BT_FACET("gradient", gradient)),
    },
    {
        .name = "nn.fast_softmax",
        .revision = 1,
        .doc = "nn.softmax, where a target may trade accuracy for speed.",
        .source = "Relay, nn.fast_softmax",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(CASES), BT_FACET("layout", layout),
                                BT_FACET("gradient", gradient)),
    },
    {
        .name = "nn.log_softmax",
        .revision = 1,
        .doc = "The logarithm of nn.softmax, without overflow or loss.",
        .source = "Relay, nn.log_softmax; ONNX LogSoftmax-13",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(CASES), BT_FACET("layout", layout),
                                BT_FACET("gradient", gradient_of_log)),
    },
    { 0 },
};
const bt_table bt_ops_nn_softmax[] = { BT_OPS(ops), { 0 } };
