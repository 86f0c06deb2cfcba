/* The tiles of elements that are two int16 each, or quads (pairs.h), with sums in int32, which wrap; included by
 * who says MULTIPLY_ADD and NAME of tile_float.h. */
#define REAL        uint32_t
#define VECTOR      bits_vector
#define SPREAD(at)  (*(at) - (bits_vector){ 0 })
#define IS_ZERO(at) (*(at) == 0)
#define LOAD_PART   bits_load_part
#define STORE_PART  bits_store_part
#define AT_LEAST    int_at_least
#define AT_MOST     int_at_most
#define TURN        turn_square_4
#define LOAD_APART  bits_load_apart
#define TILE_GOES_NOT_ACROSS
#include "tile_float.h"
#undef TILE_GOES_NOT_ACROSS
