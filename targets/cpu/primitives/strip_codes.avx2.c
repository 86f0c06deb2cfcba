/* For machines with AVX2. */
#include "callee.h"

#if defined(__AVX2__)
#define STRIP_ISA avx2
#include "strip_codes.h"
#endif
