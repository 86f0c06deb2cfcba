/* What operators share that draw numbers by a key. */
#ifndef OPS_RANDOM_DRAW_H
#define OPS_RANDOM_DRAW_H

#include <baton/op.h>

#define KEY_INPUT                                                                    \
    {                                                                                \
        .name = "key", .type = "uint32[two]", .doc = "a key: two words, for one use" \
    }
/* The first rows of attributes of what gives floats. */
#define DRAW_ATTRS(type)                                          \
    BT_ATTR(type, shape, SHAPE, NULL, "the shape of the result"), \
        BT_ATTR(type, dtype, DTYPE, "float32",                    \
                "element type: float16, bfloat16, float32 or float64")

/* The first argument is a key, of two words. */
bt_status key_relate(bt_solver *, const bt_relation_call *) BT_MUST_USE;
/* A result of this shape and dtype, from a key. */
bt_status key_relate_drawn(bt_solver *, const bt_relation_call *, const bt_type *shape,
                           const bt_type *dtype) BT_MUST_USE;
/* A float type that numbers are drawn in; *out is 0 while it is not known. */
bt_status draw_dtype(bt_solver *, const bt_relation_call *, const bt_type *dtype,
                     bt_dtype *out) BT_MUST_USE;

/* Stages word0 and word1 for each element of the result, by its position; list `axes` has the
 * axes, "i0 in shape[0]". */
void draw_write_words(bt_formula *, const bt_type *result);
/* The same, where the axes are those of attribute `shape`. */
void draw_write_shaped(bt_formula *, const bt_type *result);
/* Behind them stage `u`, 0 <= u < 1, in the type that numbers of a dtype are computed in. */
void draw_write_unit(bt_formula *, bt_dtype);
/* That type: float32 or float64. */
const char *draw_wide(bt_dtype);
/* Stage `z` of that type, for each element of a result of attribute `shape`: numbers of the normal
 * distribution between two bounds, which are finite, or -inf and inf. */
void draw_write_normal(bt_formula *, const bt_type *result, double low, double high);

#endif
