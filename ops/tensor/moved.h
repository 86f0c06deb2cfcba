/* Derivatives of operators in plain C that put elements elsewhere. */
#ifndef MOVED_H
#define MOVED_H

#include <baton/op.h>

/* Facets of those of which each element of the result is one of an argument, or of one other:
 * moved_0_2 of arguments 0 and 2. Such an operator moves positions as it does elements. */
extern const bt_gradient_facet moved_0, moved_0_1, moved_0_2, moved_1_2, moved_2_3;
/* Of those that give the same elements in another shape. */
extern const bt_gradient_facet moved_as_they_are;

#endif
