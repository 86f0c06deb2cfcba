/* Integers compared in the type that they are read in. */
#ifndef CPU_NARROW_H
#define CPU_NARROW_H

#include <baton/loops.h>

/* 0: no memory, or the graph has failed. */
int cpu_narrow_compares(bt_loops *);

#endif
