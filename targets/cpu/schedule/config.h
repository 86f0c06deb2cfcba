/* What schedules are made for. */
#ifndef CPU_CONFIG_H
#define CPU_CONFIG_H

#include <stdint.h>

#include "primitives/isa.h"

struct cpu_config {
    enum cpu_isa isa;
    uint32_t nthread; /* no result may depend on it */
};

#endif
