/*
 * @name@: an operator with derivatives of its own, in place of those that follow from its formula.
 *     y = sqrt(a * a + b * b), with derivatives a / y and b / y, and 0 where y is: the formula's would be 0 / 0 there
 */
#include <baton/op.h>

static const bt_op_input inputs[] = {
    { .name = "a", .type = "t:float[..]", .doc = "one side" },
    { .name = "b", .type = "t:float[..]", .doc = "the other side, of the same shape" },
    { 0 },
};

/* d * x / y, element by element: calls of any operators (bt_build), or of a formula as here. */
static bt_status share(bt_builder *b, const bt_value *d, const bt_value *x, const bt_value *y, const bt_value **out)
{
    const bt_value *args[] = { d, x, y };
    return bt_build_formula(b, NULL, 3, args,
                            "d: t[..], x: t[..], y: t[..] => g: t[..] = select(y[..] > 0, d[..] * x[..] / y[..], 0)", out);
}

/* Backward, of each argument: the adjoint of the result, seeds[0], times the derivative by the argument. to[i] stays NULL, which
 * is zero, where nobody wants it. With several results some seeds may be NULL, zero; one of them is there. */
static bt_status vjp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    for (uint32_t i = 0; i < c->nin; i++) {
        if (c->wants[i])
            BT_TRY(share(b, c->seeds[0], c->in[i], c->out[0], &to[i]));
    }
    return NULL;
}

/* Forward, of the result: the tangents of the arguments times the derivatives, summed. An argument that does not move has no
 * tangent, its seed is NULL. */
static bt_status jvp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    for (uint32_t i = 0; i < c->nin; i++) {
        const bt_value *part;
        if (!c->seeds[i])
            continue;
        BT_TRY(share(b, c->seeds[i], c->in[i], c->out[0], &part));
        const bt_value *sum[] = { to[0], part };
        if (to[0])
            BT_TRY(bt_build(b, "add", NULL, sum, 2, &part));
        to[0] = part;
    }
    return NULL;
}

static const bt_gradient_facet gradient = { .vjp = vjp, .jvp = jvp };

static const bt_op ops[] = {
    {
        .name = "@name@",
        .revision = 1,
        .doc = "The longest side of a right triangle.",
        .inputs = inputs,
        .formula = "y: t[..] = sqrt(a[..] * a[..] + b[..] * b[..])",
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3], float32[2, 3]\nfloat16[4], float16[4]\nfloat32[] = [3], float32[] = [4] -> [5]"),
                                BT_FACET("gradient", gradient)),
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_OPS(ops), { 0 } };
