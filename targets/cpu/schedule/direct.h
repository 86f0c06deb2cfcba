/* Results computed where they are wanted. */
#ifndef CPU_DIRECT_H
#define CPU_DIRECT_H

#include <baton/loops.h>

/* 0: no memory, or the graph has failed. */
int cpu_compute_directly(bt_loops *);

#endif
