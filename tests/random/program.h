/*
 * Random programs: well typed by construction, ending, free of division. One seed, one
 * program, on every machine. They have control flow, data types, closures (recursive ones
 * too), references, tuples, polymorphic functions, symbolic dims.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <baton/ir.h>

struct random_options {
    uint32_t nfunction; /* besides main */
    uint32_t nbinding;  /* about how many a function has */
    uint32_t depth;     /* of nested expressions and regions */
    /* 1: calls of operators, tuples and projections only, known dims, ... */
    uint32_t is_chain;
    uint32_t is_open; /* ... but for main's parameter n, 1 to 4 */
};

/* A typed module with function main, whose parameters are tensors. */
bt_status random_program(bt_ctx *, uint64_t seed, const struct random_options *,
                         bt_module **out);
/* Arguments for main: the dim n is 1 to 4, by the seed. Each is the caller's to unref. */
bt_status random_arguments(bt_ctx *, uint64_t seed, const bt_module *, uint32_t *n,
                           bt_object ***out, bt_arena *);

/* 0 to n - 1, by splitmix64 (Steele, Lea, Flood 2014). */
uint32_t random_below(uint64_t *state, uint32_t n);

#endif
