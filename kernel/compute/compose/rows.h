/* Calls that go along rows (rows.c). */
#ifndef COMPUTE_COMPOSE_ROWS_H
#define COMPUTE_COMPOSE_ROWS_H

#include <baton/graph.h>

/* *inputs: a bit for each input, of those that are read by rows or not at all. */
bt_status bt__graph_rows(const bt_graph *, uint64_t *inputs,
                         uint32_t *is_by_rows) BT_MUST_USE;

#endif
