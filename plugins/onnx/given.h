/* What the caller fixes by name when a model is imported: symbolic dims, "batch=4", or
 * small inputs, which are then constants, "axes=[1, 2]". */
#ifndef ONNX_GIVEN_H
#define ONNX_GIVEN_H

#include "model.h"

struct given {
    const char *const *texts; /* NULL-terminated, or NULL */
    bt_vec(uint8_t) used;     /* by position in texts */
};

bt_status given_init(bt_ctx *, bt_arena *, const char *const *texts, struct given *out);
/* The text after "name=", or NULL. It then counts as used. */
const char *given_find(struct given *, const char *name);
/* The first text that nothing used, or NULL. */
const char *given_unused(const struct given *);
/* A whole number of at least 0. */
bt_status given_dim(bt_ctx *, const char *name, const char *text, int64_t *out);
/* A number, or a list of them, as a tensor of the input's element type. */
bt_status given_tensor(bt_ctx *, bt_arena *, const struct onnx_value_info *,
                       const char *text, bt_tensor **out);

#endif
