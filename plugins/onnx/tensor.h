#ifndef ONNX_TENSOR_H
#define ONNX_TENSOR_H

#include "model.h"

/* TensorProto.DataType as a dtype; 0 for strings, complex and sub-byte types. */
bt_dtype onnx_dtype(int64_t data_type);
/* The tensor's value. folder: where external data may lie; NULL: nowhere. */
bt_status onnx_tensor_value(bt_ctx *, const char *path, const char *folder,
                            const struct onnx_tensor *, bt_tensor **out);

#endif
