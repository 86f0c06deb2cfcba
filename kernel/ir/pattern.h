/* What patterns say about types. */
#ifndef IR_PATTERN_H
#define IR_PATTERN_H

#include <baton/ir.h>

/* Types of a pattern's variables where it matches a value of `type`, into out[*next ...];
 * NULL where the pattern does not fit the type. 0: no memory, or refused. */
int bt__pattern_types(bt_store *, const bt_pattern *, const bt_type *,
                      const bt_type **out, uint32_t *next);

#endif
