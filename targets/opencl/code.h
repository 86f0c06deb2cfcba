/*
 * The code of a kernel as bytes:
 *
 *     "baton opencl 1 DIGEST\n"   SHA-256 of all behind it
 *     name, ndim, nbuffer         numbers have 4 bytes, or 8 where they are int64; little endian
 *     faults                      their number; each: text, array, axis, extent
 *     launches                    their number; each: text, 1 and the product or 0, arguments, local,
 *                                 groups, local_nbytes
 *
 * A text is its bytes, with the NUL, behind their number; one that is NULL has none.
 */
#ifndef OPENCL_CODE_H
#define OPENCL_CODE_H

#include "launch.h"

struct ocl_code {
    const char *name;
    uint32_t ndim, nbuffer;
    ocl_program program;
};

bt_status ocl_code_write(bt_ctx *, bt_arena *, const struct ocl_code *,
                         bt_kernel_code *out) BT_MUST_USE;
/* Texts are those of the bytes. Any bytes are an error or code whose fields are all in range.
 * errors  BT_ERR_FORMAT */
bt_status ocl_code_read(bt_ctx *, bt_arena *, const void *bytes, size_t nbytes,
                        struct ocl_code *out) BT_MUST_USE;

#endif
