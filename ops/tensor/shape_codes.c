#include "shape_codes.h"

// clang-format off
const char *const shape_faults[] = {
    "newshape has too many dims",
    "newshape copies an axis that data lacks",
    "newshape splits an axis that data lacks",
    "newshape: -4 needs two dims after it",
    "newshape: -4 needs two positive dims after it, or one and a -1",
    "newshape has -1 twice",
    "newshape: -3 joins two axes, but data has no two left",
    "newshape has what is neither an extent nor one of the codes 0, -1, -2, -3, -4, -5",
    "newshape has too many elements",
    "newshape has a 0, so -1 may be anything",
    "newshape has not as many elements as data",
    "newshape has codes that give another rank than the type has",
    NULL
};
// clang-format on

const char *shape_resolve(int64_t ncode, const int64_t *codes, uint32_t rank,
                          int allow_zero, shape_parts *out)
{
    const int32_t fault = plain_shape_resolve(ncode, codes, rank, allow_zero, out);
    return fault ? shape_faults[fault - 1] : NULL;
}
