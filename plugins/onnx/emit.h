/* What conversions build. Everything gives NULL after a failure and then does nothing
 * more, so that a conversion may build on and need not look. */
#ifndef ONNX_EMIT_H
#define ONNX_EMIT_H

#include "node.h"

/* A call; attrs as text, NULL: defaults. What follows from small constants alone is a
 * constant at once, so that computed shapes and axes are known; tensors of floats are known, and stay calls. */
const bt_value *emit(bt_onnx_node *, const char *op, const char *attrs, uint32_t narg,
                     const bt_value *const *args);
const bt_value *emit1(bt_onnx_node *, const char *op, const char *attrs,
                      const bt_value *);
const bt_value *emit2(bt_onnx_node *, const char *op, const char *attrs, const bt_value *,
                      const bt_value *);
const bt_value *emit3(bt_onnx_node *, const char *op, const char *attrs, const bt_value *,
                      const bt_value *, const bt_value *);
/* A call whose argument is a tuple. */
const bt_value *emit_list(bt_onnx_node *, const char *op, const char *attrs, uint32_t n,
                          const bt_value *const *fields);
/* A call with a shape attribute that may be symbolic, such as reshape's newshape; `text`
 * gives the attributes (and some shape in the place of this one). */
const bt_value *emit_shaped(bt_onnx_node *, const char *op, const char *text,
                            const char *name, const bt_value *, uint32_t n,
                            const bt_type *const *dims);
const bt_value *emit_tuple(bt_onnx_node *, uint32_t n, const bt_value *const *);
const bt_value *emit_proj(bt_onnx_node *, const bt_value *, uint32_t index);

/* Constants. */
const bt_value *emit_scalar(bt_onnx_node *, bt_dtype, double);
const bt_value *emit_int(bt_onnx_node *, int64_t);                      /* int64 */
const bt_value *emit_ints(bt_onnx_node *, uint32_t n, const int64_t *); /* int64[n] */
const bt_value *emit_const(bt_onnx_node *, bt_tensor *); /* takes the reference */
/* One that is no initializer of the model: training does not learn it. */
const bt_value *emit_table(bt_onnx_node *, bt_tensor *);
/* A scalar of a value's element type. */
const bt_value *scalar_like(bt_onnx_node *, const bt_value *, double);

/* Names output i. */
void node_out(bt_onnx_node *, uint32_t i, const bt_value *);

/* The same for conversions of other plugins. */
extern const bt_onnx_tools onnx_tools;

#endif
