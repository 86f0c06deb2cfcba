/* What is said of a match that finds no clause. */
#ifndef VM_MISFIT_H
#define VM_MISFIT_H

#include <baton/base.h>

/* The text of a `match?` (pass match-tree gives each one), with the constructor of the value
 * that no clause fits, and `_` for its fields, in place of each `*`. */
void misfit_text(const char *otherwise, const char *ctor, uint32_t nfield, bt_text *out);

#endif
