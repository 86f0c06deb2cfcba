/* baton run --step: a run that stops before bindings. */
#ifndef STEP_H
#define STEP_H

#include "tool.h"

/* Runs the program by commands from standard input. *is_over: it was ended by one. */
int run_steps(struct tool *, bt_program *, int *is_over);

#endif
