/* How long a program takes, run after run. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "tool.h"

struct samples {
    uint32_t n;        /* runs that count */
    uint32_t ndropped; /* in which the system took the processor away */
    double median, least, most, p10, p90; /* ns */
};

/* Runs the program until `nrun` samples are there; 0: for about two seconds. Runs that
 * were interrupted are left out where enough remain without them. */
bt_status take_samples(bt_ctx *, bt_program *, uint32_t nwarm, uint32_t nrun,
                       struct samples *out) BT_MUST_USE;

#endif
