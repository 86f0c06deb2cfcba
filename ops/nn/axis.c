#include "axis.h"

uint32_t axis_rank(const bt_formula_call *call, uint32_t arg)
{
    return bt_tensor_shape(call->args[arg])->n;
}

uint32_t axis_front(int64_t axis, uint32_t rank)
{
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

void axis_indices(bt_text *out, uint32_t rank)
{
    axis_indices_but(out, rank, rank, NULL);
}

void axis_indices_but(bt_text *out, uint32_t rank, uint32_t axis, const char *text)
{
    const char *comma = "";
    for (uint32_t i = 0; i < rank; i++) {
        if (i == axis && !text)
            continue;
        if (i == axis)
            bt_text_addf(out, "%s%s", comma, text);
        else
            bt_text_addf(out, "%si%u", comma, i);
        comma = ", ";
    }
}
