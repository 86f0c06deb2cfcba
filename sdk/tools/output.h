/* Outputs of a program, for people, for programs, and as files. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <jansson.h>

#include "tool.h"

int print_outputs(struct tool *, const bt_program *);
/* The same as an array; NULL: no memory. */
json_t *describe_outputs(struct tool *, const bt_program *);
/* An object, which it takes, as text with the shortest numbers that read back; NULL: no
 * memory, or no object. */
const char *json_text(bt_arena *, json_t *);
/* Prints an object, which it takes; NULL: there was no memory for it. */
int print_json(struct tool *, json_t *);
/* EXIT_USAGE with a message where files of save_outputs would replace what was read. For a
 * program that has not run: those of tuples are not looked at. */
int check_saved(struct tool *, const bt_program *, const char *folder);
/* DIR/NAME.npy for every tensor. */
int save_outputs(struct tool *, const bt_program *, const char *folder);

#endif
