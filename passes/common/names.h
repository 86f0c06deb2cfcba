/* Names of what passes make. */
#ifndef PASSES_COMMON_NAMES_H
#define PASSES_COMMON_NAMES_H

#include <baton/pass.h>

/* A name that neither the module nor `taken` has, which then has it: that of the format, else the
 * same with _1, _2, ... behind it. Functions, data types and constructors share none. */
bt_status name_new(const bt_module *, bt_arena *, bt_map *taken, const char **out,
                   const char *format, ...) BT_PRINTF(5, 6) BT_MUST_USE;
/* Whether a list has a name. */
int name_is_in(const bt_strings *, const char *name);

#endif
