/* Operators, relations and facets (operators.c) for the list of kinds (kinds.c). */
#ifndef KINDS_KINDS_H
#define KINDS_KINDS_H

#include "plugin/plugins.h"

extern const bt__shape bt__doc_shape;
extern const bt__shape bt__op_shape, bt__facet_shape;

#define BT__FACET_MAX_NBYTES (1u << 20)
#define BT__FACET_ROOM       256u

int bt__copy_op(const bt__copier *, void *row);
const char *bt__check_op(bt_arena *, const void *row);
int bt__describe_op(const void *row, json_t *item);
const char *bt__check_relation(bt_arena *, const void *row);
int bt__copy_facet(const bt__copier *, void *row);
const char *bt__check_facet(bt_arena *, const void *row);
int bt__describe_facet(const void *row, json_t *item);

#endif
