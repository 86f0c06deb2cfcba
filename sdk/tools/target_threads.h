/* --threads: a number of threads for targets that have some. */
#ifndef TARGET_THREADS_H
#define TARGET_THREADS_H

#include "tool.h"

/* The most of --threads. */
enum { MOST_THREADS = 1024 };

/* The targets that --target and --threads ask for; NULL: neither does. Those of an
 * artifact are its own ones, told how many threads to use now. */
int read_targets(struct tool *, const char **out);

#endif
