#include "scaled.h"

#include <stdint.h>
#include <stdio.h>

const char *scaled(double value, char out[SCALED_NBYTES])
{
    static const char *const units[] = { "", " k", " M", " G", " T", " P" };
    uint32_t unit = 0;
    while (value >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        unit++;
    }
    snprintf(out, SCALED_NBYTES, unit ? "%.3g%s" : "%.0f%s", value, units[unit]);
    return out;
}
