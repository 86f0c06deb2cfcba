/* What a long call is doing, on a line of the terminal that goes when it is done. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "tool.h"

/* Does nothing where standard error is no terminal. */
void begin_progress(struct tool *);
void end_progress(struct tool *);
/* The same for who counts by himself. */
void say_progress(const char *format, ...) BT_PRINTF(1, 2);
void clear_progress(void);

#endif
