/* The tiles of elements of 32 bits with sums in float32; included by who says MULTIPLY_ADD, SPREAD
 * and NAME of tile_float.h. */
#define REAL       float
#define VECTOR     float_vector
#define LOAD_PART  float_load_part
#define STORE_PART float_store_part
#define AT_LEAST   float_at_least
#define AT_MOST    float_at_most
#define TURN       turn_square_4
#define LOAD_RUNS  load_runs_4
#define LOAD_APART load_runs_apart_4
#include "tile_float.h"
