/* What patterns say about types. */
#ifndef IR_PATTERN_H
#define IR_PATTERN_H

#include <baton/ir.h>

/* The type of a constructor's field, in a value of the data type applied to `args` (as
 * many as it has variables); dims left open there are opaque, others each time. NULL: no
 * memory, or refused. */
const bt_type *bt__ctor_field_type(bt_store *, const bt_ctor *, uint32_t field,
                                   const bt_type *const *args);
/* Types of a pattern's variables where it matches a value of `type`, into out[*next ...];
 * NULL where the pattern does not fit the type. 0: no memory, or refused. */
int bt__pattern_types(bt_store *, const bt_pattern *, const bt_type *,
                      const bt_type **out, uint32_t *next);

#endif
