/* The list of all strips, from the tables of strip_*.c, and looking them up. */
#include "strips.h"

#include <string.h>

/* A table of each source, compiled for each set. */
#define TABLES(isa)                                                                      \
    extern const bt_strip bt_cpu_float_##isa[], bt_cpu_int_##isa[], bt_cpu_move_##isa[], \
        bt_cpu_reduce_##isa[];                                                           \
    static const bt_strip *const tables_##isa[] = { bt_cpu_float_##isa,                  \
                                                    bt_cpu_int_##isa, bt_cpu_move_##isa, \
                                                    bt_cpu_reduce_##isa, NULL };
TABLES(portable)
#if defined(__x86_64__)
TABLES(avx2)
TABLES(avx512)
#else
#define tables_avx2   tables_portable
#define tables_avx512 tables_portable
#endif

static const bt_strip *const *const tables[CPU_ISA_COUNT] = { tables_portable,
                                                              tables_avx2,
                                                              tables_avx512 };

const bt_strip *bt_cpu_strip_at(enum cpu_isa isa, uint32_t index)
{
    for (const bt_strip *const *table = tables[isa]; *table; table++) {
        for (const bt_strip *row = *table; row->name; row++) {
            if (index-- == 0)
                return row;
        }
    }
    return NULL;
}

const bt_strip *bt_cpu_strip_find_for(const char *name, enum cpu_isa isa)
{
    for (const bt_strip *const *table = tables[isa]; *table; table++) {
        for (const bt_strip *row = *table; row->name; row++) {
            if (strcmp(row->name, name) == 0)
                return row;
        }
    }
    return NULL;
}
