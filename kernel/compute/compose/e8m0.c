#include "compute/compose/e8m0.h"

#include <math.h>

#include <baton/convert.h>

#include "compute/graph/scalar.h"

/* yes where `which` holds of a and b, else no. */
static const bt_node *choose(bt_graph *g, uint32_t which, const bt_node *a,
                             const bt_node *b, const bt_node *yes, const bt_node *no)
{
    return bt_node_select(g, bt_node_scalar(g, which, a, b), yes, no);
}

static const bt_node *integer(bt_graph *g, bt_dtype dtype, int64_t value)
{
    return bt__node_const(g, dtype, (bt_cell){ .i = value });
}

static const bt_node *real(bt_graph *g, double value)
{
    return bt_node_float(g, BT_FLOAT64, value);
}

/* Only numbers are chosen between, so that nothing is computed twice. */
const bt_node *bt__e8m0_code(bt_graph *g, const bt_node *number)
{
    if (number->kind == BT_NODE_CONST && number->dtype == BT_FLOAT64)
        return integer(g, BT_UINT8, bt_float8_e8m0fnu_from_double(number->value.f));
    number = bt_node_cast(g, BT_FLOAT64, number);
    const bt_node *code = integer(g, BT_INT32, 0);
    const bt_node *rest = bt_node_scalar(g, BT_SCALAR_MUL, number, real(g, 0x1p127));
    for (int bit = 128; bit; bit /= 2) { // rest becomes 1 ... 2
        const bt_node *bound = real(g, ldexp(1, bit));
        code = bt_node_scalar(g, BT_SCALAR_ADD, code,
                              choose(g, BT_SCALAR_LE, bound, rest,
                                     integer(g, BT_INT32, bit), integer(g, BT_INT32, 0)));
        rest = bt_node_scalar(
            g, BT_SCALAR_MUL, rest,
            choose(g, BT_SCALAR_LE, bound, rest, real(g, ldexp(1, -bit)), real(g, 1)));
    }
    code = bt_node_scalar(g, BT_SCALAR_ADD, code,
                          choose(g, BT_SCALAR_LE, real(g, 1.5), rest,
                                 integer(g, BT_INT32, 1), integer(g, BT_INT32, 0)));
    code = bt_node_scalar(g, BT_SCALAR_MIN, code, integer(g, BT_INT32, 254));
    code = bt_node_scalar(g, BT_SCALAR_MAX, code,
                          choose(g, BT_SCALAR_LE, real(g, 0), number,
                                 integer(g, BT_INT32, 0), integer(g, BT_INT32, 255)));
    return bt_node_cast(g, BT_UINT8, code);
}

const bt_node *bt__e8m0_number(bt_graph *g, bt_dtype to, const bt_node *code)
{
    const bt_node *least = real(g, 0x1p-127), *number = least;
    for (int bit = 1; bit <= 128; bit *= 2) {
        const bt_node *set =
            bt_node_scalar(g, BT_SCALAR_BIT_AND, code, integer(g, BT_UINT8, bit));
        number = bt_node_scalar(g, BT_SCALAR_MUL, number,
                                choose(g, BT_SCALAR_EQ, set, integer(g, BT_UINT8, 0),
                                       real(g, 1), real(g, ldexp(1, bit))));
    }
    number = bt_node_scalar(g, BT_SCALAR_MUL, number,
                            choose(g, BT_SCALAR_EQ, code, integer(g, BT_UINT8, 255),
                                   real(g, (double)NAN), real(g, 1)));
    if (!bt_dtype_is_float(to) || to == BT_FLOAT64)
        return bt_node_cast(g, to, number);
    return choose(g, BT_SCALAR_EQ, code, integer(g, BT_UINT8, 0),
                  bt_node_cast(g, to, least), bt_node_cast(g, to, number));
}
