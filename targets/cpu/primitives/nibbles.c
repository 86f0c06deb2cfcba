/* For any machine. */
#define STRIP_ISA portable
#include "nibbles_rows.h"
