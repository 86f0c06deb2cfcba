#include "conversions.h"

#include <string.h>

#include "convert_math.h"
#include "convert_nn.h"
#include "convert_shape.h"

static const struct conversion *const families[] = { convert_math, convert_nn,
                                                     convert_shape };

const struct conversion *find_conversion(const char *domain, const char *op,
                                         int64_t opset)
{
    const struct conversion *best = NULL;
    if (*domain)
        return NULL;
    for (uint32_t i = 0; i < BT_COUNT(families); i++) {
        for (const struct conversion *row = families[i]; row->op; row++) {
            if (row->since <= opset && strcmp(row->op, op) == 0 &&
                (!best || row->since > best->since))
                best = row;
        }
    }
    return best;
}
