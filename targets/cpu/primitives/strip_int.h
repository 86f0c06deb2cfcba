/* Strips of scalar operators on integers and bool. */
#include "integers.h"
#include "strip_loops.h"

/* ---- strips ---- */

#define OUT_SAME(in) in##_at
#define OUT_BOOL(in) bool_at
#define ON(narg, name, result, in) \
    STRIP##narg(strip_##in##_##name, in##_##name, in##_at, OUT_##result(in))
#define ON_INTS(narg, name, result) \
    ON(narg, name, result, int8)    \
    ON(narg, name, result, int16)   \
    ON(narg, name, result, int32)   \
    ON(narg, name, result, int64)   \
    ON(narg, name, result, uint8)   \
    ON(narg, name, result, uint16)  \
    ON(narg, name, result, uint32)  \
    ON(narg, name, result, uint64)
#define MAKE_F(narg, name, result)
#define MAKE_FI(narg, name, result)  ON_INTS(narg, name, result)
#define MAKE_FIU(narg, name, result) ON_INTS(narg, name, result)
#define MAKE_FIB(narg, name, result) \
    ON_INTS(narg, name, result) ON(narg, name, result, bool)
#define MAKE_FIBU(narg, name, result) \
    ON_INTS(narg, name, result) ON(narg, name, result, bool)
#define MAKE_I(narg, name, result)  ON_INTS(narg, name, result)
#define MAKE_IU(narg, name, result) ON_INTS(narg, name, result)
#define MAKE_IB(narg, name, result) \
    ON_INTS(narg, name, result) ON(narg, name, result, bool)
#define MAKE_B(narg, name, result) ON(narg, name, result, bool)
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    MAKE_##classes(narg, name, result)
#include <baton/scalars.def>

/* ---- the table ---- */

enum {
#define BT_STORED(UPPER, name, class_, bits, c_type) dtype_##name = BT_##UPPER,
#include <baton/dtypes.def>
};
#define DTYPE_SAME(in) dtype_##in
#define DTYPE_BOOL(in) BT_BOOL
#undef ON
#define ON(narg, name, result, in)                                            \
    ROW##narg(#name, strip_##in##_##name, dtype_##in, in, DTYPE_##result(in), \
              ps_int_##name)

STRIPS_TABLE(int){
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    MAKE_##classes(narg, name, result)
#include <baton/scalars.def>
    { 0 },
};
