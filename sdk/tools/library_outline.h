/* What a library defines. */
#ifndef LIBRARY_OUTLINE_H
#define LIBRARY_OUTLINE_H

#include "tool.h"

/* An import, a type or the head of a function, with the comment above it: it begins where the
 * comment does, or where there is none where the head does. In the scratch arena. */
struct definition {
    const char *comment, *head, *end;
};
typedef void definition_fn(void *self, const bt_provided *library,
                           const struct definition *);

/* Those of a library in the order of its text. */
int library_each(struct tool *, const bt_provided *, definition_fn *, void *self);
/* Prints all of them. */
int print_library(struct tool *, const bt_provided *);

#endif
