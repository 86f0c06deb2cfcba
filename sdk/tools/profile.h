/* Where the time of a program goes, as a table, as JSON, and as a trace. */
#ifndef PROFILE_H
#define PROFILE_H

#include <jansson.h>

#include <baton/compiled.h>

#include "tool.h"

/* What there is to know beside a profile. */
struct profile_facts {
    const bt_compiled *compiled; /* says how functions are computed; NULL: none is compiled */
    double peak;                 /* flop/s of the machine; 0: not known */
};

/* A row for each call that ran, what took longest first, in 120 columns; then values of open
 * dims, and calls of functions. */
void print_profile(const bt_profile *, const struct profile_facts *);
/* The same as an array, with whole names; NULL: no memory. */
json_t *describe_profile(const bt_profile *, const struct profile_facts *);
json_t *describe_dims(const bt_profile *);
json_t *describe_functions(const bt_profile *);
/* Writes a file that Perfetto and chrome://tracing open. */
int write_trace(struct tool *, const bt_profile *, const char *path);

#endif
