/* The memory that a compiled program's tensors share. */
#ifndef MEMORY_H
#define MEMORY_H

#include <jansson.h>

#include "tool.h"

int print_memory(struct tool *, const bt_program *);
/* The same as an object; NULL: no memory. */
json_t *describe_memory(struct tool *, const bt_program *);

#endif
