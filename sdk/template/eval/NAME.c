/*
 * @name@: an operator in plain C, for what no formula states: how much it gives depends on what is in the data.
 *     positions of the elements of a vector that are above a limit
 */
#include <baton/op.h>

struct attrs {
    double limit;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, limit, FLOAT, "0", "elements above it are found"),
    { 0 },
};

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[n]", .doc = "a vector" },
    { 0 },
};

/* The result has a dim that is known at run time only. */
static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const bt_type *found, *dtype = bt_type_dtype(bt_relation_store(s), BT_INT64);
    bt_tensor_parts data;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 1, &data));
    BT_TRY(bt_relation_opaque(s, r, 0, &found));
    return bt_relation_result_tensor(s, r, 1, &found, dtype);
}

/* Inputs are row major. What it allocates it frees; what it returns it creates. */
static bt_status eval(bt_ctx *ctx, const bt_eval_call *call)
{
    const struct attrs *a = call->attrs;
    const bt_tensor *data = call->in[0];
    int64_t n = 0;
    for (int64_t i = 0; i < data->nelem; i++)
        n += bt_tensor_get(data, i) > a->limit;
    BT_TRY(bt_tensor_create(ctx, BT_INT64, 1, &n, &call->out[0]));
    int64_t *found = call->out[0]->data;
    for (int64_t i = 0; i < data->nelem; i++) {
        if (bt_tensor_get(data, i) > a->limit)
            *found++ = i;
    }
    return NULL;
}

static const bt_op ops[] = {
    {
        .name = "@name@",
        .revision = 1,
        .doc = "Positions of elements above a limit.",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .eval = eval,
        .facets = BT_FACET_ROWS(BT_CASES("float32[4] = [1, 5, 2, 7] | limit=3 -> [1, 3]\nfloat64[0]")),
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_OPS(ops), { 0 } };
