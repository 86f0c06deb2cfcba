/* Loops over the elements of short rows as one. */
#ifndef CPU_JOIN_H
#define CPU_JOIN_H

#include <baton/loops.h>

/* *njoined counts those that were made one. 0: no memory, or the graph has failed. */
int cpu_join_rows(bt_loops *, uint32_t *njoined);

#endif
