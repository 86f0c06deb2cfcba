/* Outputs of a program, for people, for programs, and as files. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "tool.h"

int print_outputs(struct tool *, const bt_program *);
int print_outputs_json(struct tool *, const bt_program *);
/* DIR/NAME.npy for every tensor; DIR is made if need be. */
int save_outputs(struct tool *, const bt_program *, const char *folder);

#endif
