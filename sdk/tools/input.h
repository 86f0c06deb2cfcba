/* Values from the command line: [NAME=]VALUE. */
#ifndef INPUT_H
#define INPUT_H

#include "tool.h"

/* Sets the inputs named by -i; NAME= may be left out where the program has one input. */
int set_inputs(struct tool *, bt_program *, const char *const *texts);

#define INPUT_HELP                                                                       \
    "VALUE is FILE.npy, FILE.npz:KEY, FILE.pb, or [SHAPExDTYPE=]CONTENT, where CONTENT " \
    "is a\n"                                                                             \
    "number (every element) or random:SEED (floats uniform in [0, 1), integers 0 to "    \
    "9). The\n"                                                                          \
    "shape and type may be left out where the program states them: -i "                  \
    "x=1x28x28xfloat32=0.5"

#endif
