/* Loops over windows of planes as calls (primitives/planes.h). */
#ifndef CPU_SCHEDULE_PLANES_H
#define CPU_SCHEDULE_PLANES_H

#include <baton/loops.h>

#include "config.h"

/* Those nests of a program that are such loops. */
bt_status cpu_call_planes(bt_loops *, const struct cpu_config *) BT_MUST_USE;
/* Pairs of nests that are the adjoint of maxima over such windows (planes_first.c). */
bt_status cpu_call_planes_first(bt_loops *, const struct cpu_config *) BT_MUST_USE;

#endif
