#include "wire.h"

#include <string.h>

static int read_varint(struct slice *rest, uint64_t *out)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        if (!rest->nbytes)
            return 0;
        uint8_t byte = *rest->at++;
        rest->nbytes--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = value;
            return 1;
        }
    }
    return 0;
}

static int read_fixed(struct slice *rest, size_t nbytes, uint64_t *out)
{
    uint64_t value = 0;
    if (rest->nbytes < nbytes)
        return 0;
    for (size_t i = 0; i < nbytes; i++)
        value |= (uint64_t)rest->at[i] << 8 * i;
    rest->at += nbytes;
    rest->nbytes -= nbytes;
    *out = value;
    return 1;
}

static int read_bytes(struct slice *rest, struct slice *out)
{
    uint64_t nbytes;
    if (!read_varint(rest, &nbytes) || nbytes > rest->nbytes)
        return 0;
    *out = (struct slice){ rest->at, (size_t)nbytes };
    rest->at += nbytes;
    rest->nbytes -= (size_t)nbytes;
    return 1;
}

static int read_value(struct slice *rest, uint32_t type, uint64_t *out)
{
    switch (type) {
    case WIRE_VARINT: return read_varint(rest, out);
    case WIRE_FIXED64: return read_fixed(rest, 8, out);
    case WIRE_FIXED32: return read_fixed(rest, 4, out);
    default: return 0;
    }
}

int wire_next(struct slice *rest, struct field *out)
{
    uint64_t tag;
    if (!rest->nbytes)
        return 0;
    if (!read_varint(rest, &tag))
        return rest->nbytes ? -1 : -2;
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return -1;
    *out = (struct field){ .number = (uint32_t)(tag >> 3), .type = (uint32_t)(tag & 7) };
    switch (out->type) {
    case WIRE_BYTES: return read_bytes(rest, &out->bytes) ? 1 : -2;
    case WIRE_FIXED32:
    case WIRE_FIXED64: return read_value(rest, out->type, &out->value) ? 1 : -2;
    default:
        if (read_value(rest, out->type, &out->value))
            return 1;
        return out->type == WIRE_VARINT && !rest->nbytes ? -2 : -1;
    }
}

int wire_packed(struct slice *rest, uint32_t type, uint64_t *out)
{
    if (!rest->nbytes)
        return 0;
    return read_value(rest, type, out) ? 1 : -1;
}

float wire_float(uint64_t value)
{
    uint32_t bits = (uint32_t)value;
    float out;
    memcpy(&out, &bits, sizeof(out));
    return out;
}

double wire_double(uint64_t value)
{
    double out;
    memcpy(&out, &value, sizeof(out));
    return out;
}
