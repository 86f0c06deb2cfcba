/* What a crash says before it ends the program. */
#ifndef CRASH_H
#define CRASH_H

#include <baton/base.h>

/* From now on a signal of a fault names the kernel, or the plugin's function, that runs in
 * calls with this context, in a line to standard error; then it does what it did before. NULL: nothing is named. */
void crash_watch(bt_ctx *);

#endif
