/* Products of codes, qnn.conv2d beside nn.conv2d and others: behind data and weight stand
 * their zero points, which are subtracted from them, then their scales, by which nothing is
 * multiplied: those of the result are their products. */
#ifndef OPS_NN_CODES_H
#define OPS_NN_CODES_H

#include <baton/op.h>

/* What a scale is, for docs of inputs. */
#define SCALE_DOC "size of a quantization step"

/* Whether the operator is of codes: its name starts with "qnn.". */
int codes_are(const bt_op *);
/* The type of sums and result: `stated`, else int32 of codes, else that of data. NULL: no
 * memory. */
const bt_type *codes_sums(bt_solver *, const bt_relation_call *, const bt_type *stated,
                          const bt_type *of_data);
/* Argument `index`, a zero point or scale, where there is one: a number, or a vector along
 * `extent` (NULL: no vector). */
bt_status codes_along(bt_solver *, const bt_relation_call *, uint32_t index,
                      const bt_type *extent) BT_MUST_USE;
/* Those of data and weight: vectors of the weight's have an element for each of `rows`. */
bt_status codes_relate(bt_solver *, const bt_relation_call *,
                       const bt_type *rows) BT_MUST_USE;
/* Where the zero point of a factor is. */
struct codes_zero {
    uint32_t index; /* of the argument */
    const char *at; /* the index at which a vector is read */
    uint32_t axis;  /* of matrices the one of the last two axes that has this index */
};
/* A factor of the product, as an item of list `factors`: the element of `array` at the list
 * `indices`, in the type of the sums; of an operator on codes, less its zero point. */
void codes_factor(bt_formula *, const bt_formula_call *, const char *array,
                  const char *indices, const char *dtype, const struct codes_zero *);

/* The inputs behind data and weight. */
// clang-format off
#define CODES_INPUTS(data_, weight_)                                                                                   \
    { .name = data_ "_zero_point", .type = "integer[..]", .doc = "zero point of data: the code of 0" },                         \
    { .name = weight_ "_zero_point", .type = "integer[..]", .doc = "of weight, for all or each channel of the result" },\
    { .name = data_ "_scale", .type = "float32[..]", .doc = "scale of data: " SCALE_DOC, .is_optional = 1 },              \
    { .name = weight_ "_scale", .type = "float32[..]", .doc = "of weight, as its zero point", .is_optional = 1 },      \
    { 0 }
// clang-format on

#endif
