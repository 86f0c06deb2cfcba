/* Compiled modules, however they come about: by compiling, or from an artifact. */
#ifndef COMPILE_COMPILED_H
#define COMPILE_COMPILED_H

#include <baton/compiled.h>

/* Creates a compiled module without kernels; it holds a reference to `targets`. */
bt_status bt__compiled_create(bt_ctx *, const bt_targets *,
                              bt_compiled **out) BT_MUST_USE;
/* A copy of a text that lives as long as it does. */
bt_status bt__compiled_text(bt_compiled *, const char *text,
                            const char **out) BT_MUST_USE;
/* Multiply-adds of all calls in a primitive function, and the bytes of its parameters and
 * result; -1: not known. */
bt_status bt__func_cost(bt_ctx *, const bt_func *, int64_t *multiply_adds,
                        int64_t *nbytes) BT_MUST_USE;

/* Writes what code of a target needs of a machine: what the target says, or which build of
 * it wrote the code. */
bt_status bt__target_compatibility(bt_ctx *, const bt_target_use *,
                                   bt_text *out) BT_MUST_USE;

/* Room for what bt_compiled_constant keeps, and its end. */
bt_status bt__constants_begin(bt_compiled *) BT_MUST_USE;
void bt__constants_free(bt_compiled *);

#endif
