#include "width.h"

int outside_width_wide(void)
{
    return OUTSIDE_WIDE;
}
