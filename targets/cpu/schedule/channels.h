/* Loops over windows of images whose channels are neighbours, as calls (primitives/channels.h). */
#ifndef CPU_SCHEDULE_CHANNELS_H
#define CPU_SCHEDULE_CHANNELS_H

#include <baton/loops.h>

#include "config.h"

/* Those nests of a program that are such loops. */
bt_status cpu_call_channels(bt_loops *, const struct cpu_config *) BT_MUST_USE;

#endif
