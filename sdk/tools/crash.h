/* What a crash says before it ends the program. */
#ifndef CRASH_H
#define CRASH_H

#include <baton/base.h>
#include <baton/compiled.h>
#include <baton/plugin.h>

/* From now on a signal of a fault names the kernel, or the plugin's function, that runs in
 * calls with this context, in a line to standard error; then it does what it did before.
 * Where a file that lies in memory was shortened meanwhile, that is an error of the input:
 * the program ends with EXIT_INPUT. NULL: nothing is named. */
void crash_watch(bt_ctx *);
/* The part of a plugin that runs in calls with that context; NULL: none. For handlers of signals. */
const bt_running_part *crash_part(void);

/* The file that is mapped at an address: 1, or 0: none, or it cannot be known. For handlers
 * of signals. */
int crash_file(const void *address, char *path, size_t size);

#endif
