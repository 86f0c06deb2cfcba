/* Integer arithmetic of programs: that of strips, on one cell. */
#include "integer.h"

#include "primitives/integers.h"

static int64_t narrow(bt_dtype dtype, int64_t value)
{
    switch (dtype) {
    case BT_BOOL: return value != 0;
    case BT_INT8: return (int8_t)value;
    case BT_INT16: return (int16_t)value;
    case BT_INT32: return (int32_t)value;
    case BT_UINT8: return (uint8_t)value;
    case BT_UINT16: return (uint16_t)value;
    case BT_UINT32: return (uint32_t)value;
    default: return value;
    }
}

/* For each classes of scalars.def: INTS where integers have the operator, BOOLS where bool
 * has it and they do not. */
#define CLASSES_F(INTS, BOOLS)
#define CLASSES_FI(INTS, BOOLS)   INTS
#define CLASSES_FIU(INTS, BOOLS)  INTS
#define CLASSES_FIB(INTS, BOOLS)  INTS
#define CLASSES_FIBU(INTS, BOOLS) INTS
#define CLASSES_I(INTS, BOOLS)    INTS
#define CLASSES_IU(INTS, BOOLS)   INTS
#define CLASSES_IB(INTS, BOOLS)   INTS
#define CLASSES_B(INTS, BOOLS)    BOOLS

static int is_integer(bt_dtype dtype)
{
#define BT_STORED(UPPER, name, class_, bits, c_type) \
    if (dtype == BT_##UPPER)                         \
        return !(BT_CLASS_BITS_FLOAT & 1u << (class_));
#include <baton/dtypes.def>
    return 0;
}

int cpu_integer_has(uint32_t scalar, bt_dtype dtype)
{
    if (!is_integer(dtype))
        return 0;
    switch (scalar) {
#define BT_SCALAR(UPPER, name, narg, classes, ...) \
    CLASSES_##classes(case BT_SCALAR_##UPPER:, case BT_SCALAR_##UPPER:)
#include <baton/scalars.def>
        return 1;
    default: return 0;
    }
}

#define CALL_1(type, name) (int64_t) type##_##name((type##_el)a)
#define CALL_2(type, name) (int64_t) type##_##name((type##_el)a, (type##_el)b)

static int64_t eval_uint64(uint32_t scalar, int64_t a, int64_t b)
{
    switch (scalar) {
#define BT_SCALAR(UPPER, name, narg, classes, ...) \
    CLASSES_##classes(case BT_SCALAR_##UPPER : return CALL_##narg(uint64, name);, )
#include <baton/scalars.def>
    default: return a;
    }
}

static int64_t eval_int64(uint32_t scalar, int64_t a, int64_t b)
{
    switch (scalar) {
#define BT_SCALAR(UPPER, name, narg, classes, ...)       \
    CLASSES_##classes(case BT_SCALAR_##UPPER             \
                      : return CALL_##narg(int64, name); \
                      , case BT_SCALAR_##UPPER           \
                      : return CALL_##narg(bool, name);)
#include <baton/scalars.def>
    default: return a;
    }
}

int64_t cpu_integer_eval(uint32_t scalar, bt_dtype dtype, int64_t a, int64_t b)
{
    if (dtype == BT_UINT64)
        return eval_uint64(scalar, a, b);
    if (dtype == BT_BOOL && scalar == BT_SCALAR_BIT_NOT)
        return !a;
    return narrow(dtype, eval_int64(scalar, a, b));
}
