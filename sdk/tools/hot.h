/* Option --hot: values of open dims for which kernels have code of their own. */
#ifndef HOT_H
#define HOT_H

#include "tool.h"

/* What --hot says, "n=1,8 m=64", or its file: results of baton run --profile --json, one
 * after the other. *out: NULL where the option is not given. Gives an exit code. */
int read_hot(struct tool *, const char **out);

#endif
