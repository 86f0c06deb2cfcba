#ifndef ONNX_IMPORT_H
#define ONNX_IMPORT_H

#include "graph.h"

/* The whole model as a module with function main. */
bt_status import_model(bt_ctx *, bt_arena *, const struct onnx_model *,
                       const bt_import_call *, bt_module **out);

#endif
