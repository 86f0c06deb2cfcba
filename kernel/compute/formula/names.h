/* What names of a formula mean in one call: arrays, dims, dtypes, attributes. */
#ifndef COMPUTE_FORMULA_NAMES_H
#define COMPUTE_FORMULA_NAMES_H

#include "compute/formula/instantiate.h"

/* A value under construction. Numbers, and what is computed from dims, attributes and
 * numbers only, take the dtype that they meet. */
struct bt__value {
    const bt_node *node;
    uint32_t adapts;     /* 1: takes any fitting dtype */
    uint32_t is_literal; /* 1: made of numbers in the text: must fit exactly */
};

struct bt__names {
    bt_ctx *ctx;
    const struct bt__instance *in;
    bt_graph *graph;
    bt_map dims;    /* name -> const bt_node * */
    bt_map dtypes;  /* name -> bt_dtype * */
    bt_map scalars; /* scalar stages: name -> struct bt__value * */
};

/* Binds inputs against their patterns; makes the graph's input arrays. */
bt_status bt__names_bind(struct bt__names *, bt_ctx *, bt_graph *,
                         const struct bt__instance *) BT_MUST_USE;
/* Index of the array, -1: none. */
int bt__names_array(const struct bt__names *, const char *name);
int bt__names_add_array(struct bt__names *, const bt_array *); /* 0: no memory */
const struct bt__attr_value *bt__names_attr(const struct bt__names *, const char *name);
/* A dtype by its name, a pattern's name or an attribute; 0: none. */
bt_dtype bt__names_dtype(const struct bt__names *, const char *name);

#endif
