/* Whether arrays are of what a model takes and gives: nothing is lost when they are copied. */
#ifndef TRAIN_DATA_CHECK_H
#define TRAIN_DATA_CHECK_H

#include "train_data.h"

/* errors  BT_ERR_ARGUMENT: complex numbers, floats for integers, integers out of range */
bt_status samples_check(bt_ctx *, const char *path, const struct train_input *,
                        const bt_tensor *) BT_MUST_USE;
/* errors  BT_ERR_ARGUMENT: no axis, no element, complex numbers */
bt_status labels_check(bt_ctx *, const char *path, const bt_tensor *) BT_MUST_USE;
/* errors  BT_ERR_ARGUMENT: a class that is none of so many; `first`: the first one's sample */
bt_status classes_check(bt_ctx *, const bt_tensor *, int64_t first,
                        int64_t nclass) BT_MUST_USE;

#endif
