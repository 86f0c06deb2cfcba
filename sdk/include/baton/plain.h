/*
 * Operators as plain C, for programs without Baton: freestanding C99 that includes nothing
 * else of Baton. An operator whose result no formula gives, or whose result has dims that
 * its elements decide, has a facet "plain": the text of a function, which targets and
 * executors put into what they write.
 */
#ifndef BATON_PLAIN_H
#define BATON_PLAIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BT_PLAIN_RANK = 32 }; /* the most axes of a tensor */
typedef struct bt_plain_tensor {
    void *data;      /* row major; of results, none while dims are asked for */
    int64_t *dims;   /* of results they are written */
    uint32_t rank;   /* of results, by their types */
    uint32_t nbytes; /* of an element */
    uint32_t kind;   /* of an element: 'i', 'u' integers, 'b' bool, 'f' IEEE 754, 'g'
                        bfloat16, 'w' float8_e4m3fn, 'x' e4m3fnuz, 'y' e5m2, 'z' e5m2fnuz */
} bt_plain_tensor;

typedef struct bt_plain_call {
    uint32_t nin, nout; /* tuples are flattened */
    const bt_plain_tensor *in;
    bt_plain_tensor *out;
    const int64_t *attrs; /* as the facet has written them */
    void *workspace;      /* as bt_plain_facet.workspace says, aligned to 8 bytes */
    uint32_t is_sizing;   /* 1: the dims of the results are asked for; 0: their elements,
                             the dims are there */
    uint32_t is_sized;    /* of elements: the call before asked for their dims, and the
                             workspace is as it was left */
} bt_plain_call;

/* 0, or k > 0: fault k - 1 of the facet. Allocates nothing. */
typedef int32_t bt_plain_fn(const bt_plain_call *);

/* "plain". The text consists of functions, each a part that calls only those before it and
 * those of <baton/convert.h>, so that who writes it leaves out what is not called. */
enum { BT_PLAIN_ATTRS = 16 };
struct bt_ctx;
struct bt_diag;
struct bt_formula_call;
typedef struct bt_plain_facet {
    const char *const *blocks; /* parts of the text; NULL behind the last */
    const char *symbol;        /* "static int32_t SYMBOL(const bt_plain_call *call)" */
    const char *const *faults; /* texts; NULL behind the last; NULL: it has none */
    uint32_t workspace; /* bytes for each element of input 0 along the axis attrs[0] */
    /* Writes what the function reads of the attributes. NULL: nothing.
     * errors  BT_ERR_UNSUPPORTED: the function does not do this call */
    const struct bt_diag *(*attrs)(struct bt_ctx *, const struct bt_formula_call *,
                                   int64_t out[BT_PLAIN_ATTRS]);
    bt_plain_fn *run; /* the same function, compiled; NULL: there is the text alone */
} bt_plain_facet;

#ifdef __cplusplus
}
#endif
#endif
