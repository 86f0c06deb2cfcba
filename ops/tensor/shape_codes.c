#include "shape_codes.h"

#include "plain.h"

// clang-format off
const char *const shape_faults[] = {
    PLAIN_FAULT(SHAPE_FAULT_RANK, "newshape has too many dims"),
    PLAIN_FAULT(SHAPE_FAULT_COPY, "newshape copies an axis that data lacks"),
    PLAIN_FAULT(SHAPE_FAULT_SPLIT, "newshape splits an axis that data lacks"),
    PLAIN_FAULT(SHAPE_FAULT_SPLIT_END, "newshape: -4 needs two dims after it"),
    PLAIN_FAULT(SHAPE_FAULT_SPLIT_CODES, "newshape: -4 needs two positive dims after it, or one and a -1"),
    PLAIN_FAULT(SHAPE_FAULT_RESTS, "newshape has -1 twice"),
    PLAIN_FAULT(SHAPE_FAULT_JOIN, "newshape: -3 joins two axes, but data has no two left"),
    PLAIN_FAULT(SHAPE_FAULT_CODE, "newshape has what is neither an extent nor one of the codes 0, -1, -2, -3, -4, -5"),
    PLAIN_FAULT(SHAPE_FAULT_OVERFLOW, "newshape has too many elements"),
    PLAIN_FAULT(SHAPE_FAULT_REST, "newshape has a 0, so -1 may be anything"),
    PLAIN_FAULT(SHAPE_FAULT_NELEM, "newshape has not as many elements as data"),
    PLAIN_FAULT(SHAPE_FAULT_TYPE, "newshape has codes that give another rank than the type has"),
    NULL
};
// clang-format on

const char *shape_resolve(int64_t ncode, const int64_t *codes, uint32_t rank,
                          int allow_zero, shape_parts *out)
{
    const int32_t fault = plain_shape_resolve(ncode, codes, rank, allow_zero, out);
    return fault ? shape_faults[fault - 1] : NULL;
}
