/* The protobuf wire format, read in place: fields of a message one after another, nothing
 * copied, nothing recursive. */
#ifndef ONNX_WIRE_H
#define ONNX_WIRE_H

#include <stddef.h>
#include <stdint.h>

struct slice {
    const uint8_t *at;
    size_t nbytes;
};

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct field {
    uint32_t number, type; /* WIRE_... */
    uint64_t value;        /* of the numeric types */
    struct slice bytes;    /* of WIRE_BYTES */
};

/* Takes the next field off the front: 1, 0 at the end, -1 when malformed (groups, which
 * ONNX does not use, included). */
int wire_next(struct slice *rest, struct field *out);
/* Takes one element of a packed list of this type off the front: 1, 0, -1 as above. */
int wire_packed(struct slice *rest, uint32_t type, uint64_t *out);

float wire_float(uint64_t value);   /* of a WIRE_FIXED32 */
double wire_double(uint64_t value); /* of a WIRE_FIXED64 */

#endif
