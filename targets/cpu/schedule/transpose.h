/* Loops that only exchange axes, as calls of copies by squares (primitives/pack.h). */
#ifndef CPU_SCHEDULE_TRANSPOSE_H
#define CPU_SCHEDULE_TRANSPOSE_H

#include <baton/loops.h>

#include "config.h"

/* Those nests of a program that are such loops. */
bt_status cpu_call_transposes(bt_loops *, const struct cpu_config *) BT_MUST_USE;

#endif
