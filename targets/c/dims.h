/* Dims as C: numbers, or calls of functions that stay at INT64_MAX or -INT64_MAX where a number
 * would be beyond. */
#ifndef C_DIMS_H
#define C_DIMS_H

#include <baton/ir.h>

#include "functions.h"

/* Words of C for the dims that a size may be over. */
struct c_dim_names {
    uint32_t n;
    const bt_type *const *dims;
    const char *const *words;
};

/* An expression over the words. errors  BT_ERR_UNSUPPORTED: a dim that has none */
bt_status c_dim_text(bt_ctx *, const struct c_dim_names *, const bt_type *dim,
                     bt_text *out) BT_MUST_USE;
/* The functions that such expressions may call (dim_functions.h), as c_function_blocks. */
extern const char *const c_dim_blocks[];
/* Those that `body` calls. */
void c_dim_functions(const bt_text *body, bt_text *out);

#endif
