/* Whether what a target computes is near enough to what the evaluator does. */
#ifndef CONFORM_CLOSE_H
#define CONFORM_CLOSE_H

#include <math.h>

#include <baton/value.h>

/* Sums are taken in another order and in fewer bits than the evaluator's: 16 units of the
 * last place of an element, and 8 of the largest. Integers are equal; where they are
 * rounded from floats (pixels between pixels), one step apart at most. */
static inline int is_close(const bt_tensor *got, const bt_tensor *want, int64_t step,
                           double *worst)
{
    double epsilon = bt_dtype_epsilon(want->dtype), largest = bt_tensor_largest(want);
    if (got->dtype != want->dtype || got->nelem != want->nelem)
        return 0;
    for (int64_t i = 0; i < want->nelem; i++) {
        double a = bt_tensor_get(got, i), b = bt_tensor_get(want, i);
        if (epsilon == 0) {
            int64_t apart = bt_tensor_get_int(got, i) - bt_tensor_get_int(want, i);
            if (apart > step || apart < -step)
                return 0;
        } else if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) {
            if (!(isnan(a) && isnan(b)) && a != b)
                return 0;
        } else {
            double bound = epsilon * (16 * fabs(b) + 8 * largest), error = fabs(a - b);
            if (error > bound)
                return 0;
            if (bound > 0 && error / bound > *worst)
                *worst = error / bound;
        }
    }
    return 1;
}

#endif
