/* Lists of numbers on the command line: [1, 2, -3], [[1, 2], [3, 4]]. */
#ifndef LIST_VALUE_H
#define LIST_VALUE_H

#include <baton/value.h>

struct list_value {
    uint32_t rank; /* of nesting: 0 for a number alone */
    int64_t dims[BT_MAX_RANK];
    bt_vec(const char *) numbers; /* where each begins in the text */
};

/* true, false, True, False. */
int list_value_is_truth(const char *text);
/* Reads a list, or a number alone, which must be all there is. errors BT_ERR_ARGUMENT:
 * malformed, or rows of different lengths */
bt_status list_value_read(bt_ctx *, const char *text, struct list_value *out) BT_MUST_USE;
/* Element i of the tensor from the number that begins at `text`. errors BT_ERR_ARGUMENT:
 * the dtype does not hold it */
bt_status list_value_set(bt_ctx *, bt_tensor *, int64_t i, const char *text) BT_MUST_USE;

#endif
