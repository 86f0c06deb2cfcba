/* The protobuf wire format, written: fields of a message one behind another. A failure sticks to
 * the text. */
#ifndef ONNX_WRITE_PROTO_H
#define ONNX_WRITE_PROTO_H

#include <baton/base.h>

void proto_int(bt_text *, uint32_t field, int64_t);
void proto_float(bt_text *, uint32_t field, double);
void proto_bytes(bt_text *, uint32_t field, const void *, size_t nbytes);
void proto_text(bt_text *, uint32_t field, const char *);
/* A message within one. */
void proto_message(bt_text *, uint32_t field, const bt_text *);

#endif
