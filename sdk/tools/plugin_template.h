/* Templates of `baton plugin new`, with words in them that stand for others. */
#ifndef PLUGIN_TEMPLATE_H
#define PLUGIN_TEMPLATE_H

#include "tool.h"

/* What stands for @word@ in a template. */
struct words {
    const char *name;   /* of what is written: example.swish */
    const char *ident;  /* its last part as C and files have it: swish */
    const char *plugin; /* that of the plugin: what its tables' names begin with */
    const char *id;     /* of the plugin */
    const char *checks; /* what baton plugin check does with it */
    int has_memory; /* of its own: lines with @own@ before them are written, else @host@ */
};

int template_fail(struct tool *, const char *path, const char *what);
/* All files of a folder. NAME.c becomes swish.c, NAME.baton.json swish.baton.json; beside a plugin
 * that is there (is_added), test.baton swish.test.baton. */
int template_copy(struct tool *, const char *from, const char *to, const struct words *,
                  int is_added);
/* Empties a folder that could not be completed, and removes it unless it was there before. */
void template_remove(struct tool *, const char *folder, int was_there);

#endif
