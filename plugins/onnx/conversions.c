#include "conversions.h"

#include <string.h>

#include "convert_activation.h"
#include "convert_attention.h"
#include "convert_control.h"
#include "convert_detection.h"
#include "convert_elementwise.h"
#include "convert_grid.h"
#include "convert_image.h"
#include "convert_index.h"
#include "convert_join.h"
#include "convert_loss.h"
#include "convert_matrix.h"
#include "convert_norm.h"
#include "convert_quantize.h"
#include "convert_recurrent.h"
#include "convert_reduce.h"
#include "convert_sequence.h"
#include "convert_shape.h"
#include "convert_window.h"

static const struct conversion *const families[] = {
    convert_activation, convert_elementwise, convert_reduce,    convert_matrix,
    convert_window,     convert_norm,        convert_shape,     convert_join,
    convert_index,      convert_loss,        convert_attention, convert_quantize,
    convert_control,    convert_image,       convert_recurrent, convert_grid,
    convert_detection,  convert_sequence,
};

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
