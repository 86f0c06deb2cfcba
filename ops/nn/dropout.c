/*
 * nn.dropout: as at inference, where nothing is dropped.
 *     nn.dropout(data)    (data, ones)
 * source  Relay, nn.dropout; Srivastava et al. 2014
 */
#include <baton/op.h>

struct attrs {
    double rate;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, rate, FLOAT, "0.5", "share of elements that training drops"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
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
    { 0 },
};
const bt_table bt_ops_nn_dropout[] = { BT_OPS(ops), { 0 } };
