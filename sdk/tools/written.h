#ifndef WRITTEN_H
#define WRITTEN_H

#include <baton/value.h>

#include "tool.h"

/* A file that a verb is about to write. */
struct written {
    const char *path; /* NULL: it is not written */
    const char *what; /* "the program" */
};

/* Whether two paths are one file, which may not be there yet. */
int is_same_file(const char *a, const char *b);

/* Whether a path is that of a file in this folder itself. */
int is_in_folder(const char *path, const char *folder);

/* Before anything is written: each is another file, and none of those that were read.
 * EXIT_USAGE with a message if not. */
int check_written(const struct tool *, uint32_t n, const struct written *);

/* --target is given only with -o FILE.bta. EXIT_USAGE with a message if not. */
int check_target_used(const struct tool *, const char *path);

#endif
