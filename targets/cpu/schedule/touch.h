/* Which buffers the statements of a program have, and which only pack an input. */
#ifndef CPU_TOUCH_H
#define CPU_TOUCH_H

#include <baton/loops.h>

#include "config.h"

/* How a statement has a buffer. */
enum { CPU_TOUCHES = 1, CPU_WRITES = 2 };

/* Of each outermost statement, how it has each buffer. 0: no memory. */
int cpu_touch_all(bt_arena *, const struct cpu_config *, const bt_loops *,
                  uint8_t ***out);

/* Of each statement, whether it makes temps of nothing but numbers, and of temps made so. NULL: no
 * memory. */
uint8_t *cpu_find_makers(bt_arena *, const bt_loops *, uint8_t *const *touched);
/* Marks the statements that do nothing but make temps of this input that no other statement
 * writes, and gives their number. is_taken: those that are left out, of each statement; makers:
 * those whose temps they may read besides; each may be NULL. */
uint32_t cpu_mark_packing(const bt_loops *, uint8_t *const *touched, uint32_t input,
                          const uint8_t *is_taken, const uint8_t *makers,
                          uint8_t *is_packing);
/* Marks those that make temps of constants, of several or of what was made of them, and gives their
 * number. is_done: those that are left out, whose temps they may read, as these are made once. */
uint32_t cpu_mark_constant(const bt_loops *, const uint8_t *is_constant,
                           uint8_t *const *touched, const uint8_t *is_done,
                           uint8_t *is_made);
/* All of these of constant inputs. NULL: no memory. */
uint8_t *cpu_find_packing(bt_arena *, const struct cpu_config *, const bt_loops *,
                          uint8_t *const *touched);

#endif
