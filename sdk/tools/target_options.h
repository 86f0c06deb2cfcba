/* --threads and --tune: options of targets that have them. */
#ifndef TARGET_OPTIONS_H
#define TARGET_OPTIONS_H

#include "tool.h"

/* The most of --threads. */
enum { MAX_THREADS = 1024 };

/* The targets that --target, --threads and --tune ask for; NULL: none does. Those of an
 * artifact are its own ones, told how many threads to use now. */
int read_targets(struct tool *, const char **out);

#endif
