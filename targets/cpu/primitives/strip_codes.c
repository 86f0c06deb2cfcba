/* For any machine. */
#define STRIP_ISA portable
#include "strip_codes.h"
