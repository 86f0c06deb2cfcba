/* For machines with AVX512. */
#include "callee.h"

#if defined(__AVX512F__)
#define STRIP_ISA avx512
#include "strip_codes.h"
#endif
