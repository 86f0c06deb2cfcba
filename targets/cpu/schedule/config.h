/* What schedules are made for. */
#ifndef CPU_CONFIG_H
#define CPU_CONFIG_H

#include "primitives/callee.h"

/* CPU_EXACT: all terms of a sum in float32, in the order that bits.md states; CPU_DEFAULT: where
 * that saves time, in other ways that keep the errors of float32; CPU_FAST: of factors rounded to
 * bfloat16, too. */
enum { CPU_DEFAULT, CPU_EXACT, CPU_FAST };

struct cpu_config {
    enum cpu_isa isa;
    uint32_t accuracy;
    uint32_t has_small_weights; /* 1: no transforms that have more bytes than they */
    uint32_t nthread;           /* no result may depend on it */
    const bt_map *rows; /* of primitives, by name; NULL: there is no index of them */
    const uint8_t *is_constant;       /* of each input; NULL: that is not known */
    const uint8_t *is_shared;         /* ... read by several products; NULL likewise */
    const char *program;              /* which is made; NULL: nobody chooses (choice.h) */
    struct cpu_choices *choices;      /* NULL: nobody asks for them */
    const struct cpu_choices *wanted; /* those taken are to be; NULL: estimates choose */
    const struct cpu_ways *ways;      /* of plugins; NULL: there are none */
    const char *way; /* the one that is taken wherever it has a program; NULL: none is */
};

static inline const struct cpu_callee *cpu_row_of(const struct cpu_config *config,
                                                  const char *name)
{
    return config->rows ? bt_map_find(config->rows, name)
                        : cpu_callee_find(config->isa, name);
}

#endif
