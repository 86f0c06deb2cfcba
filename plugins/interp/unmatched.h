/* What is said of a value that no clause of a match fits. */
#ifndef UNMATCHED_H
#define UNMATCHED_H

#include <baton/ir.h>

/* The text that the match has once match-tree has made a tree of it: the clauses are gone
 * through in the same order, along the one way that the value takes. */
bt_status unmatched_text(bt_ctx *, const bt_store *, const bt_match *, bt_object *data,
                         bt_text *out);

#endif
