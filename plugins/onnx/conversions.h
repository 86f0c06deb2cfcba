/* Which function converts which operator. */
#ifndef ONNX_CONVERSIONS_H
#define ONNX_CONVERSIONS_H

#include "arith.h"

/* How nodes of one operator become bindings, for operator sets from `since` to before the
 * next row of that name. */
struct conversion {
    const char *op;
    int64_t since;
    void (*convert)(struct node *);
    const char *arg; /* of the function: often Baton's operator */
};

/* The row for an operator of a domain; NULL: unsupported. */
const struct conversion *find_conversion(const char *domain, const char *op,
                                         int64_t opset);

#endif
