/* What a function takes and gives. */
#ifndef SIGNATURE_H
#define SIGNATURE_H

#include <jansson.h>

#include <baton/ir.h>

#include "tool.h"

/* A line for each input and output of a function with a body. */
int print_signature(struct tool *, const bt_global *entry);
json_t *inputs_json(struct tool *, const bt_global *entry);
json_t *outputs_json(struct tool *, const bt_global *entry);

#endif
