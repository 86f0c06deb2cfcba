/*
 * The rows of windows of one instruction set, in the source compiled for it, which says
 * first: ROW_ISA, ROW_TABLE and ROW_SUFFIX, the set, its table and the end of names.
 */
#include "vectors.h"

#include <string.h>

#define REAL         float
#define VECTOR       float_vector
#define MULTIPLY_ADD float_multiply_add
#define NAME(stem)   stem##_f32
#include "row_float.h"

#define REAL         double
#define VECTOR       double_vector
#define MULTIPLY_ADD double_multiply_add
#define NAME(stem)   stem##_f64
#include "row_float.h"

const struct cpu_row ROW_TABLE[] = {
    { "row_f32_" ROW_SUFFIX, BT_FLOAT32, ROW_ISA, depthwise_f32, max_f32, sum_f32 },
    { "row_f64_" ROW_SUFFIX, BT_FLOAT64, ROW_ISA, depthwise_f64, max_f64, sum_f64 },
    { 0 },
};
