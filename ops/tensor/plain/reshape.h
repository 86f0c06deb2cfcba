#include "shape_codes.h"

/* The extents that parts stand for, and how many elements they have. */
static inline int32_t plain_extents(const bt_plain_tensor *in, const int64_t *codes,
                                    const shape_parts *parts, int64_t *dims,
                                    int64_t *nelem)
{
    int64_t left = 1, stated = 1;
    uint32_t k, rest = BT_PLAIN_RANK;
    for (k = 0; k < in->rank; k++)
        left *= parts->is_used[k] ? 1 : in->dims[k];
    for (k = 0; k < parts->n; k++) {
        const shape_part *part = parts->at + k;
        const int64_t code = codes[part->at];
        switch (part->kind) {
        case SHAPE_COPY: dims[k] = in->dims[part->axis]; break;
        case SHAPE_PRODUCT:
            dims[k] = in->dims[part->axis] * in->dims[part->axis + 1];
            break;
        case SHAPE_QUOTIENT: dims[k] = in->dims[part->axis] / code; break;
        case SHAPE_REST: rest = k; break;
        case SHAPE_NOTHING: stated = dims[k] = 0; break;
        default: dims[k] = code; break;
        }
        if (part->kind == SHAPE_LITERAL && code && stated > INT64_MAX / code)
            return SHAPE_FAULT_OVERFLOW;
        stated *= part->kind == SHAPE_LITERAL ? code : 1;
    }
    if (rest < BT_PLAIN_RANK && stated == 0)
        return SHAPE_FAULT_REST;
    if (rest < BT_PLAIN_RANK)
        dims[rest] = left / stated;
    *nelem = 1;
    for (k = 0; k < parts->n; k++) {
        if (dims[k] && *nelem > INT64_MAX / dims[k])
            return SHAPE_FAULT_OVERFLOW;
        *nelem *= dims[k];
    }
    return 0;
}

/* dyn.reshape. attrs: whether 0 is an extent, not a code. It is one, too, where data without
 * elements has no axis that it could copy: a size that is 0 in this run. */
static int32_t plain_reshape(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *shape = call->in + 1;
    int64_t codes[BT_PLAIN_RANK], dims[BT_PLAIN_RANK], nelem, n = plain_count(shape), i;
    int is_extent = call->attrs[0] != 0;
    shape_parts parts;
    for (i = 0; i < n; i++)
        codes[i] = plain_index(shape, i);
    for (;; is_extent = 1) {
        int32_t fault = plain_shape_resolve(n, codes, in->rank, is_extent, &parts);
        if (!fault)
            fault = plain_extents(in, codes, &parts, dims, &nelem);
        if (!fault && nelem != plain_count(in))
            fault = SHAPE_FAULT_NELEM;
        if (!fault)
            break;
        if (is_extent || plain_count(in) != 0)
            return fault;
    }
    if (parts.n != call->out->rank)
        return SHAPE_FAULT_TYPE;
    for (i = 0; call->is_sizing && i < parts.n; i++)
        call->out->dims[i] = dims[i];
    if (!call->is_sizing)
        plain_copy(in, call->out, nelem);
    return 0;
}
