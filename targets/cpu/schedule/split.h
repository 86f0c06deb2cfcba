/* Loops cut where their index is divided. */
#ifndef CPU_SPLIT_H
#define CPU_SPLIT_H

#include <baton/loops.h>

/* *nsplit counts what is cut. 0: failure. */
int cpu_split_loops(bt_loops *, uint32_t *nsplit);
/* Whether there may be any to cut. */
int cpu_has_split(bt_loops *);

#endif
