#ifndef VM_MISFIT_H
#define VM_MISFIT_H

#include <baton/ir.h>

/* Says that no clause of a match fits the value: its constructors, and the clauses. */
void misfit_text(const bt_match *, const bt_object *data, bt_text *out);
/* The same of a value of which no more is known than its constructor. */
void misfit_ctor_text(const bt_match *, const bt_ctor *, bt_text *out);

#endif
