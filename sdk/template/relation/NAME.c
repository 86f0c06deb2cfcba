/*
 * @name@: a type relation that operators of any plugin may name, and an operator that does.
 *     @name@(Tensor[(n), t], Tensor[(n), t])  :-  the result is Tensor[(n, 2), t]
 */
#include <baton/op.h>

/* Asked until it holds, fails or waits. It must only depend on what it is given, and never take back what it said. */
static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts a, b;
    const bt_type *dims[2];
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 1, &a)); /* waits until the rank is known */
    BT_TRY(bt_relation_tensor_rank(s, r, 1, 1, &b));
    BT_TRY(bt_relation_unify(s, r, a.dims[0], b.dims[0], "lengths of a and b"));
    dims[0] = a.dims[0];
    dims[1] = bt_dim(bt_relation_store(s), 2);
    if (!dims[1])
        return bt_no_memory();
    return bt_relation_result_tensor(s, r, 2, dims, a.dtype);
}

static const bt_relation relations[] = {
    { .name = "@name@", .doc = "Two vectors of one length give a matrix of two columns.", .relate = relate },
    { 0 },
};

static const bt_op_input inputs[] = {
    { .name = "a", .type = "t[n]", .doc = "the first column" },
    { .name = "b", .type = "t[n]", .doc = "the second column" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "@name@.columns",
        .revision = 1,
        .doc = "A matrix of two columns.",
        .inputs = inputs,
        .relation = "@name@",
        .formula = "y: t[i, j in 2] = select(j == 0, a[i], b[i])",
        .facets = BT_FACET_ROWS(BT_CASES("float32[3], float32[3]\nint8[0], int8[0]")),
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_RELATIONS(relations), BT_OPS(ops), { 0 } };
