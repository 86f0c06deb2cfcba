#include "formula.h"

void formula_extents(bt_formula *f, const char *list, const char *array, uint32_t low,
                     uint32_t high)
{
    bt_formula_clear(f, list);
    if (low >= high)
        bt_formula_item(f, list, "1");
    bt_formula_each(f, list, low, high, "extent(%s, #)", array);
}

void formula_flat(bt_formula *f, const char *list, const char *array, uint32_t rank,
                  uint32_t low, uint32_t high, const char *at)
{
    bt_formula_clear(f, list);
    bt_formula_each(f, list, 0, low, "i#");
    for (uint32_t k = low; k < high; k++) {
        // position / inner extents % own extent; the outermost needs no remainder
        bt_formula_clear(f, "outer");
        formula_extents(f, "inner", array, k + 1, high);
        bt_formula_item(f, "outer", k + 1 < high ? "floordiv(%s, $[ * ]inner)" : "%s",
                        at);
        if (k > low)
            bt_formula_item(f, list, "mod($outer, extent(%s, %u))", array, k);
        else
            bt_formula_item(f, list, "$outer");
    }
    bt_formula_each(f, list, high, rank, "i#");
}

void formula_reshape(bt_formula *f, uint32_t rank, uint32_t low, uint32_t high,
                     uint32_t nnew)
{
    bt_formula_each(f, "y", 0, low, "i# in extent(data, #)");
    bt_formula_each(f, "y", 0, nnew, "m# in d#");
    bt_formula_each(f, "y", high, rank, "i# in extent(data, #)");
    // row-major position within the new axes: ((m0 * d1) + m1) * d2 + m2
    bt_formula_item(f, "position", nnew ? "m0" : "0");
    for (uint32_t k = 1; k < nnew; k++)
        bt_formula_set(f, "position", 0, "($position) * d%u + m%u", k, k);
    formula_flat(f, "at", "data", rank, low, high, "$position");
    bt_formula_add(f, "y: t[$y] = data[$at]");
}
