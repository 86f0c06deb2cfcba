#ifndef ONNX_TENSOR_H
#define ONNX_TENSOR_H

#include "model.h"

/* TensorProto.DataType as a dtype; 0 for strings. */
bt_dtype onnx_dtype(int64_t data_type);
/* What the standard calls it, as FLOAT8E4M3FN, and back. "UNKNOWN"; 0: no such type. */
const char *onnx_type_name(int64_t data_type);
int64_t onnx_type_of(const char *name);

/* The files of a model: its own, and those beneath its folder that hold external data,
 * each opened once. Tensors lie within them where they can. */
struct onnx_files {
    const char *path;    /* of the model, for messages */
    const char *folder;  /* NULL: there is no external data */
    bt_file *model;      /* NULL: tensors are copies */
    uint32_t types_only; /* large tensors may hold anything */
    bt_vec(bt_file *) opened;
};
void onnx_files_close(bt_ctx *, struct onnx_files *);
/* Fails where the bytes are what git leaves in the place of a large file that it has not
 * fetched. */
bt_status onnx_refuse_pointer(bt_ctx *, const char *path, const void *bytes,
                              size_t nbytes);
bt_status onnx_tensor_value(bt_ctx *, bt_arena *, struct onnx_files *,
                            const struct onnx_tensor *, bt_tensor **out);

#endif
