/* For any machine. */
#define STRIP_ISA portable
#include "planes_rows.h"
