/*
 * nn.dropout: as at inference, where nothing is dropped.
 * nn.dropout_training: elements become 0 by chance, and what is left is the greater for it.
 *     nn.dropout(data)                  (data, ones)
 *     nn.dropout_training(data, key)    (mask * data / (1 - rate), mask), where the mask is
 *                                       random.uniform(key) >= rate
 * The mask is computed from the key where it is needed, also once more: nothing is kept of it.
 * Pass train-mode puts the one in place of the other.
 * source  Relay, nn.dropout; ONNX Dropout-13; Srivastava et al. 2014
 */
#include <baton/op.h>

struct attrs {
    double rate;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, rate, FLOAT, "0.5", "share of elements that training drops"),
    { 0 },
};
static const bt_attr training_attrs[] = {
    BT_ATTR(struct attrs, rate, FLOAT, "0.5",
            "share of elements that is dropped, 0 to 1"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { 0 },
};
static const bt_op_input training_inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { .name = "key", .type = "uint32[two]", .doc = "a key: two words, for one use" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    const bt_type *fields[2] = { bt_relation_arg(s, r, 0), bt_relation_arg(s, r, 0) };
    const bt_type *result =
        fields[0] ? bt_type_tuple(bt_relation_store(s), 2, fields) : NULL;
    return result ? bt_relation_result(s, r, result) : bt_no_memory();
}

static bt_status relate_training(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const bt_type *two = bt_dim(bt_relation_store(s), 2);
    bt_tensor_parts key;
    if (!(a->rate >= 0 && a->rate <= 1))
        return bt_relation_fail(s, r, -1, "rate is %g, which is no share: 0 to 1",
                                a->rate);
    BT_TRY(bt_relation_tensor_rank(s, r, 1, 1, &key));
    if (!two)
        return bt_no_memory();
    BT_TRY(bt_relation_unify(s, r, key.dims[0], two, "the words of a key and 2"));
    return relate(s, r);
}

static void write_training(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    bt_formula_each(f, "axes", 0, bt_formula_rank(f, call->args[0]),
                    "i# in extent(data, #)");
    bt_formula_position(f, call->args[0]);
    bt_formula_threefry(f, "key[0]", "key[1]", "high[$i]", "low[$i]");
    bt_formula_unit(f, 0);
    bt_formula_add(f,
                   "y: t[$i] = select(u[$i] >= rate, data[$i] * %.17g, t(0));\n"
                   "mask: t[$i] = select(u[$i] >= rate, t(1), t(0)) -> y, mask",
                   a->rate < 1 ? 1 / (1 - a->rate) : 0);
}

static const bt_op ops[] = {
    {
        .name = "nn.dropout",
        .revision = 1,
        .doc =
            "Gives (data, mask) as at inference: nothing is dropped, the mask is ones.",
        .source = "Relay, nn.dropout; Srivastava et al. 2014",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .formula = "y: t[..] = data[..]; mask: t[..] = select(data[..] == 0, t(1), t(1)) "
                   "-> y, mask",
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3]\nfloat32[4] | rate=0.1")),
    },
    {
        .name = "nn.dropout_training",
        .revision = 1,
        .doc = "Drops elements by a key, as in training.\nGives (y, mask); what is not "
               "dropped is divided by the share that is left.",
        .source = "ONNX Dropout-13; Srivastava et al. 2014",
        .inputs = training_inputs,
        .attrs = training_attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_training,
        .write_formula = write_training,
        .facets =
            BT_FACET_ROWS(BT_CASES("float32[2, 30], uint32[2] = 0..4294967295\n"
                                   "float64[40], uint32[2] = 0..4294967295 | rate=0.1\n"
                                   "float32[2, 3], uint32[2] = 0..4294967295 | rate=1\n"
                                   "float16[4, 5], uint32[2] = 0..4294967295 | rate=0")),
    },
    { 0 },
};
const bt_table bt_ops_nn_dropout[] = { BT_OPS(ops), { 0 } };
