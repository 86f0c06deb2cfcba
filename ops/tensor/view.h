/* Copying elements by strides, for operators whose shape only a run can tell. */
#ifndef VIEW_H
#define VIEW_H

#include <baton/op.h>

enum { VIEW_MAX = 2 * BT_MAX_RANK };

/* Axes of a walk over a dense tensor; a stride of 0 repeats, a negative one goes back. */
typedef struct view {
    uint32_t rank;
    int64_t dims[VIEW_MAX], strides[VIEW_MAX];
    int64_t offset;
} view;

/* The tensor's own axes. */
void view_of(const bt_tensor *, view *out);
/* Copies the elements in row-major order of the view into `to`, which has as many. */
void view_copy(const bt_tensor *from, const view *, bt_tensor *to);
/* Writes the elements of `from` to where the view leads in `to`. */
void view_write(const bt_tensor *from, const view *, bt_tensor *to);
/* Keeps every stride-th position of an axis between two that count from the end when
 * negative, as Python's slices do. 0: a step that is none. */
int view_slice(view *, uint32_t axis, int64_t begin, int64_t end, int64_t stride);
/* Keeps `size` positions from one on; all that follow when it is negative. */
void view_take(view *, uint32_t axis, int64_t begin, int64_t size);
/* Reads a small integer tensor of rank <= 1; fails beyond `max` elements. */
bt_status view_ints(bt_ctx *, const bt_eval_call *, uint32_t input, uint32_t max,
                    uint32_t *n, int64_t *out) BT_MUST_USE;

#endif
