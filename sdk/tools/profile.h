/* Where the time of a program goes, as a table, as JSON, and as a trace. */
#ifndef PROFILE_H
#define PROFILE_H

#include <jansson.h>

#include "tool.h"

/* A row for each call that ran, what took longest first; then values of open dims, and
 * calls of functions. */
void print_profile(const bt_profile *);
/* The same as an array; NULL: no memory. */
json_t *describe_profile(const bt_profile *);
json_t *describe_dims(const bt_profile *);
json_t *describe_functions(const bt_profile *);
/* Writes a file that Perfetto and chrome://tracing open. */
int write_trace(struct tool *, const bt_profile *, const char *path);

#endif
