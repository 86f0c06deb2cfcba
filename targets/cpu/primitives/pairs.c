/* Pairs of int16: for any machine */
#define PAIRS_TABLE  cpu_pairs_portable
#define PAIRS_SUFFIX "portable"
#include "pairs_rows.h"
