#include "width.h"

#ifdef OUTSIDE_WIDE
#error "the flags of an instruction set are for its own sources"
#endif

int outside_width(void)
{
    return 1;
}
