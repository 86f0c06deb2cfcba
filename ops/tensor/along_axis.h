/* Indices that point along one axis, and lie beside what they point into along the others. */
#ifndef ALONG_AXIS_H
#define ALONG_AXIS_H

#include <baton/op.h>

/* Along other axes than `axis` indices have no more than data, which have the same rank. */
bt_status along_axis_relate(bt_solver *, const bt_relation_call *, uint32_t axis,
                            const bt_tensor_parts *indices,
                            const bt_tensor_parts *data) BT_MUST_USE;

#endif
